"""`thinktime live` and the view of the static recorder in a real terminal: tmux, read row by row."""

import contextlib
import datetime
import json
import os
import pty
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

import thinktime
from thinktime.log import Log, LogWriter

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "target" / "static" / "thinktime-recorder"
PYTHON = [sys.executable, "-c", "from thinktime.cli import main; main()"]
LACKS = "" if shutil.which("tmux") else "tmux: not installed; apt-get install tmux"
pytestmark = pytest.mark.skipif(bool(LACKS) and os.environ.get("THINKTIME_REQUIRE_ALL") != "1", reason=LACKS)
PATIENCE_S = 30
"""A machine that is busy with other tests takes its time."""


class Terminal:
    """A terminal with one program in it, which is left to end by itself."""

    def __init__(self, folder, *command, columns=120, rows=40, **environment):
        self.folder = folder
        self.socket = folder / "tmux"
        given = {"LC_ALL": "C.UTF-8", "TERM": "tmux-256color", "NO_COLOR": "", "COLORTERM": ""} | environment
        assigned = " ".join(f"{name}={shlex.quote(value)}" for name, value in given.items())
        self._run("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), "sh")
        script = (
            f"stty -g > {folder}/before; env {assigned} {shlex.join(map(str, command))}; "
            f"echo status $?; stty -g > {folder}/after; sleep 1000"
        )
        # Cleared before it begins, so that what is typed here is not taken for what the program shows.
        self._run("respawn-pane", "-k", "sh", "-c", script)

    def _run(self, *arguments):
        command = ["tmux", "-S", str(self.socket), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout

    def rows(self):
        return self._run("capture-pane", "-p").rstrip("\n").split("\n")

    def sequences(self):
        """What is on the screen, with the sequences for its colours."""
        return self._run("capture-pane", "-p", "-e")

    def keys(self, *keys):
        self._run("send-keys", *keys)

    def click(self, row, column):
        """Press and release the left button at a place, from 0 on, as a terminal tells it to a program."""
        place = f"0;{column + 1};{row + 1}"
        self._run("send-keys", "-l", f"\x1b[<{place}M\x1b[<{place}m")

    def wheel_down(self, row, column):
        """Turn the wheel by one notch, of which there is no release."""
        self._run("send-keys", "-l", f"\x1b[<65;{column + 1};{row + 1}M")

    def has_mouse(self):
        return self._run("display-message", "-p", "#{mouse_any_flag}").strip() == "1"

    def resize(self, columns, rows):
        self._run("resize-window", "-x", str(columns), "-y", str(rows))

    def wait(self, text):
        """The rows of a whole frame, once one of them has `text`, a regular expression."""
        deadline = time.monotonic() + PATIENCE_S
        before = None
        while True:
            rows = self.rows()
            # tmux may show half of a frame: two readings in a row that are alike are whole.
            if rows == before and any(re.search(text, row) for row in rows):
                return rows
            assert time.monotonic() < deadline, f"{text}:\n" + "\n".join(rows)
            before = rows
            time.sleep(0.03)

    def interval(self, least):
        """Number of the interval on the screen, once it is `least` or later."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            rows = self.rows()
            found = [int(number) for number in re.findall(r"interval (\d+) of", "\n".join(rows))]
            if found and found[0] >= least:
                return found[0]
            assert time.monotonic() < deadline, rows
            time.sleep(0.03)

    def child(self):
        """Process id of the program."""
        shell = self._run("display-message", "-p", "#{pane_pid}").strip()
        found = subprocess.run(["pgrep", "-P", shell], capture_output=True, text=True, check=True)
        return int(found.stdout.split()[0])

    def given_back(self):
        """The exit status, once the program has ended; the terminal must be as it was."""
        rows = self.wait(r"^status \d+$")
        # The alternate screen is left, and the cursor is shown.
        assert self._run("display-message", "-p", "#{alternate_on} #{cursor_flag}").split() == ["0", "1"]
        deadline = time.monotonic() + PATIENCE_S
        while not (self.folder / "after").is_file() or not (self.folder / "after").read_text():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert (self.folder / "after").read_text() == (self.folder / "before").read_text()
        return int(next(row for row in rows if row.startswith("status ")).split()[1])

    def close(self):
        with contextlib.suppress(subprocess.CalledProcessError):
            self._run("kill-server")


@pytest.fixture
def terminal(tmp_path):
    opened = []

    def make(*command, **options):
        folder = tmp_path / f"terminal{len(opened)}"
        folder.mkdir()
        opened.append(Terminal(folder, *command, **options))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Two seconds of this machine, with somebody at work."""
    path = tmp_path_factory.mktemp("live") / "run"
    command = [STATIC, "record", "-o", path, "--interval", "0.4s", "--duration", "2s", "--gauges-every", "1s"]
    recorder = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while recorder.poll() is None:
        sum(range(100_000))
    assert recorder.returncode == 0
    return path


def percent(share):
    if share is None:
        return "-"
    value = 100 * share
    return "0 %" if value == 0 else f"{value:.1f} %" if value < 9.95 else f"{value:.0f} %"


def size(amount):
    if amount is None:
        return "-"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if amount < 999.5:
            return f"{amount:.1f} {unit}" if unit != "B" and amount < 9.95 else f"{amount:.0f} {unit}"
        amount /= 1000
    raise AssertionError(amount)


def figures(row):
    """Figures of a row of users or commands: what stands right of the name, without blanks at the ends."""
    return re.split(r"\s{2,}", row.strip().lstrip("▸ "))


def head(log, number):
    """What the second row must begin with for interval `number`, from 0 on, and what pressure must be."""
    opened = Log.open(log)
    cpus = opened.manifest["sessions"][-1]["machine"]["cpus"]
    sample = opened.samples().collect().row(number, named=True)
    length = sample["length_s"]
    busy = min(sample["cpu_exact_s"] / (cpus * length), 1.0)
    users = sample["active_users"]
    noun = "user" if users == 1 else "users"
    words = f"{users} active {noun} · {percent(busy)} busy of {cpus} CPU{'s' if cpus > 1 else ''}"
    memory = (
        f"{size(sample['memory_available_bytes'])} of {size(sample['memory_total_bytes'])} memory available"
    )
    share = [None if sample[name] is None else min(sample[name] / length, 1.0) for name in PRESSURE]
    cpu, some, full, disk_some, disk_full = map(percent, share)
    pressure = f"pressure  CPU {cpu} · memory {some} (all {full}) · disks {disk_some} (all {disk_full})"
    return f"{words} · {memory}", pressure if any(
        one is not None for one in share
    ) else "pressure  not recorded"


PRESSURE = ("psi_cpu_some_s", "psi_memory_some_s", "psi_memory_full_s", "psi_io_some_s", "psi_io_full_s")


def largest(log, number, table):
    """Names of the rows of an interval, the largest CPU time first, with what the columns must show."""
    opened = Log.open(log)
    sample = opened.samples().collect().row(number, named=True)
    frame = getattr(opened, table)().collect().filter(pl.col("start") == sample["start"])
    found = []
    for row in frame.sort("cpu_exact_s", descending=True).iter_rows(named=True):
        rate = [
            None if row[name] is None else row[name] / sample["length_s"]
            for name in ("cpu_exact_s", "run_delay_s", "io_delay_s", "read_bytes", "write_bytes")
        ]
        shown = [*map(percent, rate[:3]), *map(size, rate[3:])]
        found.append((row["user"], row["command"] if table == "commands" else row["name"], shown))
    return found


def columns(row):
    """Name, and the figures but for memory and processes, which are not of the interval alone."""
    name, cpu, cpu_wait, disk_wait, _, read, write, *_ = figures(row)
    return name.strip(), [cpu, cpu_wait, disk_wait, read, write]


def test_the_screen_shows_the_figures_of_the_log(log, terminal):
    # Wide enough for a first line that has swap in use too.
    shown = terminal(STATIC, "live", log, columns=150)
    shown.wait("USER")
    shown.keys("Home")
    shown.wait("paused")
    for number in range(3):
        rows = shown.wait(rf"interval {number + 1} of ")
        words, pressure = head(log, number)
        assert rows[1].startswith(words)
        assert rows[4].startswith(pressure)
        # Whoever was first is selected: his commands are below.
        user, name, expected = largest(log, number, "users")[0]
        at = next(at for at, row in enumerate(rows) if row.startswith("USER ("))
        assert columns(rows[at + 1]) == (name or user, expected)
        at = next(at for at, row in enumerate(rows) if "COMMANDS of" in row)
        first = next(one for one in largest(log, number, "commands") if one[0] == user)
        assert columns(rows[at + 1]) == first[1:]
        # A wrong canary: the figures of another row are not taken for these. Intervals may be alike.
        assert columns(rows[at + 1])[1] != largest(log, number, "commands")[-1][2]
        shown.keys("Right")
    shown.keys("q")
    assert shown.given_back() == 0


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Four intervals of random figures of control groups, disks and interfaces, some of them null."""
    path = tmp_path_factory.mktemp("written") / "run"
    drawn = random.Random(20)
    begin = datetime.datetime(2026, 3, 5, 13, 45, tzinfo=datetime.timezone.utc)
    starts = [begin + datetime.timedelta(seconds=2 * number) for number in range(4)]

    def some(number):
        return None if drawn.random() < 0.1 else number

    def row(start, kinds):
        sizes = {
            name: some(int(10 ** drawn.uniform(0, 10 if "bytes" in name else 5))) for name in kinds["sizes"]
        }
        return {"start": start} | sizes | {name: some(drawn.uniform(0, 2)) for name in kinds["times"]}

    used = {"sizes": ("read_bytes", "write_bytes"), "times": ("cpu_s", "throttled_s", "psi_cpu_some_s")}
    disk = {
        "sizes": ("reads", "writes", "read_bytes", "write_bytes"),
        "times": ("read_wait_s", "write_wait_s", "busy_s", "queue_s"),
    }
    network = {"sizes": ("bytes_in", "bytes_out", "packets_in", "packets_out", "drops"), "times": ()}
    levels = ("memory_bytes", "memory_limit_bytes", "memory_peak_bytes")
    paths = ["/system.slice", "/system.slice/db.service", "/docker", "/docker/web"]
    groups = [
        row(start, used)
        | {"group": group, "name": group.rsplit("/", 1)[-1]}
        # Memory is read at the first interval alone.
        | {level: int(10 ** drawn.uniform(6, 10)) if number == 0 else None for level in levels}
        for number, start in enumerate(starts)
        for group in paths
    ]
    tables = {
        "samples": [{"start": start, "length_s": 2.0} for start in starts],
        "groups": groups,
        "disks": [row(start, disk) | {"device": name} for start in starts for name in ("sda", "nvme0n1")],
        "interfaces": [row(start, network) | {"interface": name} for start in starts for name in ("eth0",)],
    }
    with LogWriter.open(path, source="linux", start_us=int(begin.timestamp() * 1e6)) as writer:
        for table, rows in tables.items():
            frame = pl.DataFrame(rows, infer_schema_length=None)
            writer.write(table, frame.with_columns(pl.col("start").cast(pl.Datetime("us", "UTC"))))
    return path


def plain(value):
    if value is None:
        return "-"
    return "0" if value == 0 else f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


def duration(seconds):
    if seconds is None:
        return "-"
    for least, factor, unit in ((0.9995, 1, "s"), (0.0009995, 1e3, "ms"), (0, 1e6, "µs")):
        if seconds >= least or seconds == 0:
            value = seconds * factor
            return f"{value:.1f} {unit}" if 0 < value < 9.95 else f"{value:.0f} {unit}"
    raise AssertionError(seconds)


def of_interval(log, table, number):
    """Rows of a table in interval `number`, and its length."""
    sample = log.samples().collect().row(number, named=True)
    rows = log.table(table).filter(pl.col("start") == sample["start"]).collect()
    return rows.iter_rows(named=True), sample


def devices(log, table, number):
    """What the columns of disks or interfaces must show in an interval, by name."""
    rows, sample = of_interval(log, table, number)
    found = {}
    for row in rows:

        def rate(name, row=row):
            return None if row[name] is None else row[name] / sample["length_s"]

        def mean(seconds, requests, row=row):
            if any(row[name] is None for name in seconds + requests):
                return None
            number = sum(row[name] for name in requests)
            return sum(row[name] for name in seconds) / number if number else None

        if table == "disks":
            waits, requests = ("read_wait_s", "write_wait_s"), ("reads", "writes")
            means = [mean(waits, requests), mean(waits[:1], requests[:1]), mean(waits[1:], requests[1:])]
            busy = None if row["busy_s"] is None else min(rate("busy_s"), 1.0)
            figures = [percent(busy), plain(rate("reads")), plain(rate("writes"))]
            figures += [size(rate("read_bytes")), size(rate("write_bytes"))]
            figures += [*map(duration, means), plain(rate("queue_s"))]
        else:
            names = ("packets_in", "packets_out", "errors", "drops")
            figures = [size(rate("bytes_in")), size(rate("bytes_out"))]
            figures += [plain(rate(name)) for name in names]
        found[row["device" if table == "disks" else "interface"]] = figures
    return found


def groups(log, number):
    """What the columns of control groups must show in an interval, by name."""
    rows, sample = of_interval(log, "groups", number)
    with_memory = pl.col("memory_bytes").is_not_null() & (pl.col("start") <= sample["start"])
    readings = log.table("groups").filter(with_memory).collect()
    last = readings.filter(pl.col("start") == readings["start"].max())
    memory = {row["group"]: row for row in last.iter_rows(named=True)}
    found = {}
    for row in rows:
        length = sample["length_s"]
        rate = {name: None if row[name] is None else row[name] / length for name in row if name in USED}
        level = memory.get(row["group"], dict.fromkeys(LEVELS))
        pressure = [None if rate[name] is None else min(rate[name], 1.0) for name in USED[2:5]]
        shown = [percent(rate["cpu_s"]), percent(rate["throttled_s"]), percent(pressure[0])]
        shown += [size(level[name]) for name in LEVELS]
        shown += [percent(pressure[1]), percent(pressure[2])]
        shown += [size(rate["read_bytes"]), size(rate["write_bytes"])]
        found.setdefault(row["name"] or row["group"].rsplit("/", 1)[-1], []).append(shown)
    return found


USED = (
    *("cpu_s", "throttled_s", "psi_cpu_some_s", "psi_memory_some_s", "psi_io_some_s"),
    *("read_bytes", "write_bytes"),
)
LEVELS = ("memory_bytes", "memory_limit_bytes", "memory_peak_bytes")


def lines(rows, title):
    """Names and figures of the lines below the title."""
    at = next(at for at, row in enumerate(rows) if row.startswith(title))
    split = [figures(row) for row in rows[at + 1 :]]
    width = len(split[0])
    return [(row[0], row[1:]) for row in split if len(row) == width]


@pytest.mark.parametrize("which", ["log", "written"])
def test_panels_of_groups_and_devices_show_the_figures_of_the_log(which, request, terminal):
    path = request.getfixturevalue(which)
    log = Log.open(path)
    shown = terminal(STATIC, "live", path, columns=160, rows=60)
    shown.wait(r"\[1 users\]")
    shown.keys("Home")
    compared = 0
    for number in range(3):
        shown.wait(rf"interval {number + 1} of ")
        shown.keys("2")
        found = lines(shown.wait(r"\[2 groups\]"), "GROUP (") if log.has("groups") else []
        for name, expected in groups(log, number).items() if found else ():
            # Groups of one name, such as those of two plays at once, stand in the order of what they used.
            assert sorted(figures_ for other, figures_ in found if other == name) == sorted(expected)
            compared += 1
        shown.keys("3")
        rows = shown.wait(r"\[3 disks\]")
        for table, title in (("disks", "DISK ("), ("interfaces", "INTERFACE (")):
            expected = devices(log, table, number) if log.has(table) else {}
            found = dict(lines(rows, title)) if expected else {}
            assert {name: found.get(name) for name in expected} == expected
            compared += len(expected)
        shown.keys("Right")
    # A machine may have none of these; what was written has all of them.
    assert which == "log" or compared == 3 * (4 + 2 + 1)
    shown.keys("q")
    assert shown.given_back() == 0


def test_users_of_gpus_have_their_columns(tmp_path, terminal):
    path = tmp_path / "run"
    begin = datetime.datetime(2026, 3, 5, 13, 45, tzinfo=datetime.timezone.utc)
    starts = [begin + datetime.timedelta(seconds=2 * number) for number in range(2)]
    used = {"gpu_s": (0.5, 3.0), "gpu_memory_bytes": (1_500_000_000, 40_000_000_000)}
    users = [
        {"start": starts[0], "user": f"uid:{1000 + at}", "name": name, "cpu_exact_s": 1.0}
        | {column: values[at] for column, values in used.items() if at < 2}
        for at, name in enumerate(("ann", "ben", "cleo"))
    ]
    tables = {"samples": [{"start": start, "length_s": 2.0} for start in starts], "users": users}
    with LogWriter.open(path, source="linux", start_us=int(begin.timestamp() * 1e6)) as writer:
        for table, rows in tables.items():
            frame = pl.DataFrame(rows, infer_schema_length=None)
            writer.write(table, frame.with_columns(pl.col("start").cast(pl.Datetime("us", "UTC"))))
    shown = terminal(STATIC, "live", path, "--at", "13:45:00", columns=120, TZ="UTC")
    shown.wait(r"\[1 users\]")
    shown.keys("u")
    rows = shown.wait("GPU▼ ")
    expected = [
        (name, [percent(used["gpu_s"][at] / 2.0), size(used["gpu_memory_bytes"][at])])
        for at, name in ((1, "ben"), (0, "ann"))
    ]
    listed = lines(rows, "USER (")
    assert [(name, values[-2:]) for name, values in listed] == [*expected, ("cleo", ["-", "-"])]
    shown.keys("q")
    assert shown.given_back() == 0


def place(rows, text):
    """Row and column of `text` on the screen."""
    row = next(at for at, row in enumerate(rows) if text in row)
    return row, rows[row].index(text)


def test_the_mouse_is_asked_for_and_given_back(written, terminal):
    shown = terminal(STATIC, "live", written, "--at", "-1s", columns=100, rows=30)
    rows = shown.wait(r"\[1 users\]")
    # Text can be selected until somebody wants the mouse.
    assert not shown.has_mouse()
    shown.keys("M")
    deadline = time.monotonic() + PATIENCE_S
    while not shown.has_mouse():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    shown.click(*place(rows, "2 groups"))
    rows = shown.wait(r"\[2 groups\]")
    shown.click(*place(rows, "db.service"))
    rows = shown.wait("^▸ +db.service")
    shown.click(*place(rows, "MEMORY"))
    rows = shown.wait("MEMORY▼")
    # The timeline begins behind the time of its beginning.
    row, column = place(rows, "13:45:00 ")
    shown.click(row, column + len("13:45:00 "))
    assert "2026-03-05 13:45:02" in shown.wait("13:45:02  2.0 s")[0]
    # There, a notch is an interval.
    shown.wheel_down(row, column)
    shown.wheel_down(row, column + len("13:45:00 "))
    shown.wait("13:45:04  2.0 s")
    shown.keys("q")
    assert shown.given_back() == 0
    assert not shown.has_mouse()


def test_names_are_found_and_any_column_gives_the_order(log, terminal):
    shown = terminal(STATIC, "live", log, "--at", "-1s", columns=100, rows=30)
    shown.wait("USER .*CPU▼")
    for column in ("CPU WAIT", "DISK WAIT", "MEMORY", "READ/s", "WRITE/s", "PROCESSES"):
        shown.keys(">")
        shown.wait(f"USER .* {column}▼")
    shown.keys("r")
    shown.wait("USER .* PROCESSES▲")
    shown.keys("/", "no such user")
    shown.wait("^find users: no such user")
    shown.keys("Enter")
    shown.wait(r"^USER \(0 with no such user\)")
    shown.wait("none of this name")
    shown.keys("Escape")
    shown.wait(r"^USER \(\d+\) ")
    shown.keys("Enter")
    rows = shown.wait("COMMANDS of")
    deadline = time.monotonic() + PATIENCE_S
    while any(row.startswith("USER") for row in rows):
        assert time.monotonic() < deadline
        rows = shown.rows()
    shown.keys("q")
    assert shown.given_back() == 0


def fits(rows, columns, height):
    """True if the first row reaches the right end of the screen, and the keys are in its last row."""
    is_whole = len(rows[0]) == columns and rows[0].endswith("paused")
    return is_whole and len(rows) == height and rows[-1].startswith("q quit")


def test_keys_help_and_sizes(log, terminal):
    shown = terminal(STATIC, "live", log, columns=80, rows=24)
    rows = shown.wait("USER .*CPU▼")
    shown.keys("m")
    shown.wait("USER .*MEMORY▼")
    shown.keys("?")
    assert "Keys" in shown.wait("^Keys$")
    shown.keys("x")
    shown.wait("USER")
    shown.keys("End")
    rows = shown.wait("paused")
    end = Log.open(log).samples().collect().row(-1, named=True)
    ended = end["start"].timestamp() + end["length_s"]
    local = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(ended))
    assert local in rows[0]
    shown.keys("t", "noon", "Enter")
    shown.wait("noon: give a time such as 14:30")
    shown.keys("Escape")
    for size_ in ((120, 40), (60, 16), (80, 24)):
        shown.resize(*size_)
        deadline = time.monotonic() + PATIENCE_S
        while not fits(rows := shown.rows(), *size_):
            assert time.monotonic() < deadline, rows
            time.sleep(0.03)
    shown.resize(50, 10)
    shown.wait("50 x 10 characters are too few")
    shown.keys("C-c")
    assert shown.given_back() == 0


COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9\d)[;m]")


def test_colour_only_where_it_is_wanted(log, terminal):
    plain = terminal(STATIC, "live", log, "--at", "-1s", NO_COLOR="1")
    colourful = terminal(STATIC, "live", log, "--at", "-1s")
    ascii_only = terminal(STATIC, "live", log, "--at", "-1s", LC_ALL="C")
    assert not any(row for row in plain.wait("user .*idle") if "\x1b" in row)
    assert not COLOUR.search(plain.sequences())
    colourful.wait("user .*idle")
    assert COLOUR.search(colourful.sequences())
    # Every state has a character of its own, also without Unicode.
    assert all(row.isascii() for row in ascii_only.wait("# user .*= system .*~ wait .*[.] idle"))


def test_a_running_recorder_is_followed(tmp_path, terminal):
    log = tmp_path / "run"
    command = [STATIC, "record", "-o", log, "--interval", "0.2s", "--no-mode-sampling"]
    recorder = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not (log / "manifest.json").is_file():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        shown = terminal(STATIC, "live", log, columns=150)
        shown.wait("following")
        shown.interval(4)
        shown.keys("Space")
        rows = shown.wait("paused")
        number = shown.interval(4) - 1
        assert rows[1].startswith(head(log, number)[0])
        shown.keys("End")
        shown.wait("following")
        # It goes on while another part is begun, and says when nothing comes any more.
        recorder.send_signal(signal.SIGHUP)
        shown.interval(number + 5)
        recorder.send_signal(signal.SIGSTOP)
        shown.wait("no sample for .* s: the recorder was stopped")
        recorder.send_signal(signal.SIGCONT)
        shown.wait("^q quit")
        shown.keys("q")
        assert shown.given_back() == 0
        assert recorder.poll() is None
    finally:
        recorder.send_signal(signal.SIGCONT)
        recorder.terminate()
        recorder.wait()
    assert Log.open(log).check() == []


def test_it_records_itself_and_ends_with_everything_in_the_log(tmp_path, terminal):
    (tmp_path / "temporary").mkdir()
    options = ["--interval", "0.2s"]
    kept = {name: tmp_path / name for name in ("static", "python")}
    views = {
        "static": terminal(STATIC, "live", "-o", kept["static"], *options),
        "python": terminal(*PYTHON, "live", "-o", kept["python"], *options, "--size-every", "never"),
    }
    forgotten = terminal(STATIC, "live", *options, TMPDIR=str(tmp_path / "temporary"))
    for name, view in views.items():
        view.interval(3)
        os.kill(view.child(), signal.SIGTERM)
        assert view.given_back() == 0
        log = Log.open(kept[name])
        taken = log.samples().collect().height
        account = f"{taken} samples taken: {taken} in the log, 0 lost"
        assert any(account in row for row in view.rows()), view.rows()
        assert log.manifest["sessions"][-1]["end_us"]
        assert log.check() == []
    forgotten.interval(3)
    (folder,) = (tmp_path / "temporary").iterdir()
    assert folder.stat().st_mode & 0o077 == 0
    forgotten.keys("q")
    assert forgotten.given_back() == 0
    assert not list((tmp_path / "temporary").iterdir())


@pytest.mark.parametrize("program", [[str(STATIC)], PYTHON], ids=["static", "python"])
def test_it_ends_with_its_terminal(program, log):
    """Also where that is not the one that controls it, so that no signal comes."""
    master, slave = pty.openpty()
    environment = os.environ | {"TERM": "xterm"}
    viewer = subprocess.Popen(
        [*program, "live", log], stdin=slave, stdout=slave, stderr=slave, env=environment
    )
    try:
        os.close(slave)
        assert os.read(master, 1 << 16)
        assert viewer.poll() is None
        os.close(master)
        viewer.wait(PATIENCE_S)
    finally:
        viewer.kill()
        viewer.wait()


@pytest.mark.parametrize("program", [[str(STATIC)], PYTHON], ids=["static", "python"])
def test_without_a_terminal_one_line_says_so(program, log, tmp_path):
    for arguments in ([str(log)], ["-o", str(tmp_path / "new")]):
        done = subprocess.run(
            [*program, "live", *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        assert done.returncode == 2
        assert done.stdout == ""
        assert done.stderr.count("\n") == 1
        assert "standard output is no terminal" in done.stderr
    # Nothing is recorded for nobody.
    assert not (tmp_path / "new").exists()


def test_what_is_no_log_is_refused_on_the_terminal(tmp_path, terminal):
    shown = terminal(STATIC, "live", tmp_path)
    assert any("is not a thinktime log" in row for row in shown.wait("status"))
    assert shown.given_back() == 2


def test_the_command_says_how_many_users_fit(tmp_path, terminal):
    """The same number as `thinktime size`, from a simulated log, whose interactions are known."""
    path = tmp_path / "sim"
    options = {"users": 5, "length": 600.0, "interval": 10}
    thinktime.simulate("apl360", options, replications=1, seed=1).record(path, trace=True)
    sized = thinktime.size(path)
    assert sized.users is not None
    shown = terminal(*PYTHON, "live", path, "--speed", "600")
    rows = shown.wait(r"users? fit")
    assert rows[2].startswith(f"{sized.users.value:.0f} user")
    assert f"knee at {sized.knee.low:.0f} to {sized.knee.high:.0f}" in rows[2]
    shown.keys("q")
    assert shown.given_back() == 0


def test_the_command_shows_why_it_is_not_known(log):
    from thinktime.cli.live.sizing import predicted

    found = predicted(log)
    assert "needs 30" in found["reason"]
    assert found["is_ended"]
    json.dumps(found)
