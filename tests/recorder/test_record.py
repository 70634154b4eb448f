"""`thinktime record` and the static recorder on this very machine: real kernel, real signals, real logs."""

import contextlib
import json
import os
import random
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl
import pytest
from real_users import sampled_since

from thinktime.log import Log, vocabulary

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "target" / "static" / "thinktime-recorder"
CLI = [sys.executable, "-c", "from thinktime.cli import main; main()"]
PROGRAMS = {"python": [*CLI, "record"], "static": [str(STATIC), "record"]}


@pytest.fixture(params=PROGRAMS)
def program(request):
    if request.param == "static":
        assert STATIC.is_file(), "build it with `make static`"
    return PROGRAMS[request.param]


def run(*arguments, timeout=60):
    return subprocess.run(
        arguments, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=timeout, check=False
    )


def wait_until(condition, recorder, timeout_s=30):
    """Poll until `condition` holds, for `timeout_s` at most; the recorder must live on meanwhile."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert recorder.poll() is None, recorder.stderr.read()
        assert time.monotonic() < deadline, "the condition never held"
        time.sleep(0.02)


def begin(program, log, *options):
    """Start a recorder and return it once its first rows are in the log."""
    before = rows(log)
    recorder = subprocess.Popen(
        [*program, "-o", str(log), "--interval", "0.1s", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_until(lambda: rows(log) > before, recorder)
    return recorder


def rows(log):
    return Log.open(log).samples().collect().height if (log / "manifest.json").is_file() else 0


def end(recorder, with_signal=signal.SIGTERM):
    recorder.send_signal(with_signal)
    began = time.monotonic()
    output, errors = recorder.communicate(timeout=30)
    return time.monotonic() - began, recorder.returncode, output.decode(), errors.decode()


def facts(log):
    return Log.open(log).manifest["sessions"][-1]


def test_every_column_of_the_vocabulary_is_there_or_said_to_be_missing(program, tmp_path):
    done = run(*program, "-o", str(tmp_path / "run"), "--interval", "0.2s", "--duration", "1s")
    assert done.returncode == 0, done.stderr
    log = Log.open(tmp_path / "run")
    samples = log.samples().collect()
    # Samples are 0.2 s apart for a second; a busy machine may miss some deadlines, and then says so.
    assert samples.height + facts(tmp_path / "run")["recorder"]["missed_deadlines"] >= 4
    assert samples.columns == [column.name for column in vocabulary("samples")]
    session = facts(tmp_path / "run")
    missing = session["recorder"]["missing"]
    null = {name for name in samples.columns if samples[name].null_count() == samples.height}
    pressure = {name for name in null if name.startswith("psi_")}
    assert not pressure or any(name.startswith("/proc/pressure") for name in missing)
    # What no kernel of the last ten years lacks.
    assert not {"user_s", "idle_s", "context_switches", "forks", "page_faults_minor", "runnable"} & null
    assert (
        not {"active_users", "processes", "recorder_cpu_s", "recorder_written_bytes", "recorder_delay_s"}
        & null
    )
    assert session["source"] == "linux"
    assert session["machine"]["cpus"] >= 1
    assert session["recorder"]["processes"]["method"]
    assert log.check() == []


def test_without_sampling_of_modes_nothing_interrupts_and_nothing_is_missing(program, tmp_path):
    for name, options in (("with", ()), ("without", ("--no-mode-sampling",))):
        done = run(*program, "-o", str(tmp_path / name), "--interval", "0.2s", "--duration", "1s", *options)
        assert done.returncode == 0, done.stderr
    sampler = "perf_event_open cpu-clock"
    recorder = facts(tmp_path / "without")["recorder"]
    assert recorder["mode_period_s"] is None
    assert sampler not in recorder["missing"]
    samples = Log.open(tmp_path / "without").samples().collect()
    assert samples["system_sampled_s"].null_count() == samples.height > 0
    # With it, either is there: the figures, or the reason for which the kernel does not give them.
    recorder = facts(tmp_path / "with")["recorder"]
    assert (recorder["mode_period_s"] is None) == (sampler in recorder["missing"])
    assert Log.open(tmp_path / "without").check() == []


def test_work_at_low_priority_counts_with_what_comes_and_goes(tmp_path):
    """A shell and its children at nice 19, most of which no sample sees."""
    count = "i=0; while [ $i -lt 500 ]; do /bin/true; i=$((i+1)); done"
    recorder = begin(PROGRAMS["python"], tmp_path / "log")
    before = os.times()
    run("setsid", "--wait", "nice", "-n", "19", "/bin/sh", "-c", count, timeout=240)
    after = os.times()
    time.sleep(0.5)
    recorder.send_signal(signal.SIGINT)
    recorder.communicate(timeout=60)
    used_s = sum(after[2:4]) - sum(before[2:4])
    seen = Log.open(tmp_path / "log").samples().collect()["low_priority_s"].sum()
    # Others at a low priority may run too.
    assert seen >= 0.9 * used_s > 0.1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make a time namespace")
@pytest.mark.skipif(not Path("/proc/self/ns/time").exists(), reason="this kernel has no time namespaces")
def test_clocks_of_a_time_namespace_lose_no_process(tmp_path):
    """Its clocks since boot are days ahead: starts and ends of processes are still those of the interval."""
    days = ["unshare", "--time", "--fork", "--boottime", "500000", "--monotonic", "400000"]
    options = ["--interval", "0.5s", "--duration", "2s", "-o", str(tmp_path / "log")]
    recorder = subprocess.Popen([*days, *PROGRAMS["python"], *options], stderr=subprocess.PIPE)
    while recorder.poll() is None:
        run("/bin/true")
    recorder.communicate()
    assert recorder.returncode == 0
    log = Log.open(tmp_path / "log")
    assert log.check() == []
    ended = log.commands().filter(pl.col("command") == "true").collect()
    assert ended["ended"].sum() > 10
    # Each scan may see one before it becomes `true`: it started as what it was then.
    assert abs(ended["started"].sum() - ended["ended"].sum()) <= len(log.samples().collect()) + 1


def test_states_of_all_cpus_add_up_to_the_time_that_went_by(tmp_path):
    done = run(*PROGRAMS["python"], "-o", str(tmp_path / "run"), "--interval", "0.5s", "--duration", "3s")
    assert done.returncode == 0, done.stderr
    log = Log.open(tmp_path / "run")
    samples = log.samples().collect()
    states = ["user_s", "nice_s", "system_s", "irq_s", "softirq_s", "steal_s", "idle_s", "iowait_s"]
    accounted = sum(samples[state].fill_null(0.0).sum() for state in states)
    capacity = samples["length_s"].sum() * facts(tmp_path / "run")["machine"]["cpus"]
    # Each of the states is cut to 10 ms at both ends, and the two clocks are read one after the other.
    assert abs(accounted - capacity) < 0.03 * capacity + 0.16, (accounted, capacity)


BURN = """
import sys, time
end = time.process_time() + float(sys.argv[1])
while time.process_time() < end: pass
"""


def test_a_users_cpu_time_is_what_the_kernel_charged_also_for_commands_that_came_and_went(tmp_path):
    recorder = begin(PROGRAMS["python"], tmp_path / "run", "--by", "session")
    # A session of its own: half a second of work, then short commands, each gone before it can be seen.
    script = (
        f'{sys.executable} -c "$1" 0.5; for i in 1 2 3 4 5 6 7 8; do {sys.executable} -S -c "$1" 0.02; done'
    )
    worker = subprocess.Popen(["/bin/sh", "-c", script, "sh", BURN], start_new_session=True)
    _, status, usage = os.wait4(worker.pid, 0)
    worker.returncode = os.waitstatus_to_exitcode(status)
    assert worker.returncode == 0
    ended_s = time.time()
    # The last commands are in the books of the shell by the first sample after its end.
    wait_until(lambda: sampled_since(tmp_path / "run", ended_s), recorder)
    end(recorder)
    users = Log.open(tmp_path / "run").users().collect().filter(pl.col("user") == f"session:{worker.pid}")
    used = usage.ru_utime + usage.ru_stime
    counted = users["cpu_exact_s"].sum()
    # 9 commands and a shell, cut to a tick of 10 ms each at worst.
    assert abs(counted - used) < 0.11, (counted, used)
    assert users["page_faults_minor"].sum() > 1000


@pytest.mark.parametrize("with_signal", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it_within_a_second_with_everything_flushed(program, with_signal, tmp_path):
    recorder = begin(program, tmp_path / "run")
    seen = rows(tmp_path / "run")
    took, status, output, errors = end(recorder, with_signal)
    assert status == 0, errors
    assert took < 1.0
    assert "Traceback" not in errors
    assert re.search(r"\d samples? taken: ", output)
    assert rows(tmp_path / "run") >= seen
    assert facts(tmp_path / "run")["end_us"] is not None
    assert not list((tmp_path / "run").glob("journal-*"))


def test_a_signal_is_not_waited_for_until_the_next_sample(program, tmp_path):
    recorder = subprocess.Popen(
        [*program, "-o", str(tmp_path / "run"), "--interval", "1h"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    manifest = tmp_path / "run/manifest.json"
    wait_until(lambda: manifest.is_file() and "recorder" in facts(tmp_path / "run"), recorder)
    took, status, _, errors = end(recorder)
    assert (status, errors) == (0, "")
    assert took < 1.0


def test_hangup_starts_a_new_part(program, tmp_path):
    recorder = begin(program, tmp_path / "run")
    recorder.send_signal(signal.SIGHUP)
    wait_until(lambda: list((tmp_path / "run/samples").glob("part-*.parquet")), recorder)
    seen = rows(tmp_path / "run")
    wait_until(lambda: rows(tmp_path / "run") > seen, recorder)
    assert end(recorder)[1] == 0
    assert len(list((tmp_path / "run/samples").glob("part-*.parquet"))) == 2


def test_two_recorders_cannot_write_one_log(program, tmp_path):
    recorder = begin(program, tmp_path / "run")
    second = run(*program, "-o", str(tmp_path / "run"), "--resume")
    assert second.returncode == 2
    assert f"process {recorder.pid}" in second.stderr
    assert end(recorder)[1] == 0


def test_a_journal_that_is_cut_is_reported_at_once_and_the_log_goes_on(program, tmp_path):
    log = tmp_path / "run"
    recorder = begin(program, log)
    wait_until(lambda: rows(log) >= 3, recorder)
    os.truncate(log / "journal-000001.ttj", 0)
    wait_until(lambda: (log / "journal-000002.ttj").is_file(), recorder)
    _, status, output, errors = end(recorder)
    assert status == 1
    assert "another program shortened journal-000001.ttj" in errors
    account = re.search(r"(\d+) samples? taken: (\d+) in the log, (\d+) lost", output)
    taken, kept, lost = (int(figure) for figure in account.groups())
    assert taken == kept + lost
    assert lost >= 3
    assert kept == rows(log)
    assert Log.open(log).check() == []
    assert facts(log)["recorder"]["samples_taken"] == taken


def test_check_tells_of_a_session_without_an_end_when_nobody_writes_it(tmp_path):
    log = tmp_path / "run"
    recorder = begin(PROGRAMS["python"], log)
    assert "has no end" not in run(*CLI, "check", str(log)).stdout
    recorder.kill()
    recorder.communicate()
    killed = run(*CLI, "check", str(log))
    assert killed.returncode == 0, killed.stderr
    assert "note: " in killed.stdout
    assert "the session has no end, and nobody writes it" in killed.stdout
    assert run(*PROGRAMS["python"], "-o", str(log), "--resume", "--duration", "0.5s").returncode == 0
    assert "has no end" not in run(*CLI, "check", str(log)).stdout


def test_a_stop_is_named_and_no_short_interval_follows_it(tmp_path):
    """SIGSTOP for 2 s, four times: a deadline that is near after that is missed too."""
    log = tmp_path / "run"
    recorder = begin(PROGRAMS["python"], log, "--interval", "0.4s")
    for _ in range(4):
        before = rows(log)
        recorder.send_signal(signal.SIGSTOP)
        time.sleep(2)
        recorder.send_signal(signal.SIGCONT)
        wait_until(lambda: rows(log) >= before + 3, recorder)  # noqa: B023
    _, status, output, _ = end(recorder)
    assert status == 0
    lengths = Log.open(log).samples().collect()["length_s"]
    causes = facts(log)["recorder"]["missed_causes"]
    # Where others have the CPUs, deadlines are missed without a stop, and the log says so.
    others = sum(causes.values()) - causes["stopped"]
    assert 4 <= (lengths > 1.5).sum() <= 4 + others
    assert lengths.min() > 0.19
    assert "while the recorder was stopped" in output
    assert causes["stopped"] >= 12
    missed = [item for item in Log.open(log).manifest["incidents"] if item["kind"] == "missed_deadline"]
    assert sum(item["count"] for item in missed) == sum(causes.values())


@contextlib.contextmanager
def delays_accounted():
    """The kernel accounts the waits of tasks that start meanwhile."""
    switch = Path("/proc/sys/kernel/task_delayacct")
    before = switch.read_text()
    switch.write_text("1")
    try:
        yield
    finally:
        switch.write_text(before)


# Writes through to the disk until the kernel says that it waited for 0.2 s, and prints what the kernel said.
# Status 3: the kernel says that it waited for longer than it has lived; 4: in 20 s, it has waited for less.
WAITS_FOR_A_DISK = """
import os, sys, time

def waited_s():
    with open("/proc/self/stat") as file:
        return int(file.read().rpartition(")")[2].split()[39]) / os.sysconf("SC_CLK_TCK")

began = time.monotonic()
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_DSYNC)
while waited_s() < 0.2:
    os.pwrite(file, bytes(4096), 0)
    if time.monotonic() - began > 20:
        sys.exit(4)
if waited_s() > time.monotonic() - began + 0.01:
    sys.exit(3)
time.sleep(0.5)
print(waited_s())
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may switch the accounting of delays on")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv: not installed")
def test_waits_for_a_disk_are_counted_where_the_kernel_accounts_them(tmp_path):
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        Path(folder).chmod(0o777)
        load = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        load += [sys.executable, "-c", WAITS_FOR_A_DISK, f"{folder}/file"]
        with delays_accounted():
            recorder = begin(PROGRAMS["python"], tmp_path / "run", "--interval", "0.2s")
            began = time.monotonic()
            writes = [run(*load)]
            # Some kernels tell of a task that it waited since boot: of one such, nothing is known.
            while writes[-1].returncode == 3 and len(writes) < 10:
                writes.append(run(*load))
            took_s = time.monotonic() - began
            time.sleep(0.5)
            end(recorder)
    if writes[-1].returncode == 4:
        pytest.skip("nobody waits for the disk of /var/tmp")
    assert writes[-1].returncode == 0, writes[-1].stderr
    expected_s = float(writes[-1].stdout)
    users = Log.open(tmp_path / "run").users().collect()
    waited_s = users.filter(pl.col("user") == "uid:65534")["io_delay_s"].sum()
    # The kernel's account is cut to ticks of 10 ms.
    assert expected_s - 0.02 <= waited_s <= took_s
    if len(writes) == 1:
        assert waited_s <= expected_s + 0.02
    commands = Log.open(tmp_path / "run").commands().collect()
    by_command = commands.filter((pl.col("user") == "uid:65534") & (pl.col("command") != "setpriv"))
    assert by_command["io_delay_s"].sum() > 0.9 * waited_s
    page = run(*CLI, "analyse", "users", str(tmp_path / "run")).stdout
    assert "waited longest for disks" in " ".join(page.split())
    # Where it is off, nothing is claimed.
    done = run(*PROGRAMS["python"], "-o", str(tmp_path / "off"), "--interval", "0.2s", "--duration", "0.5s")
    assert done.returncode == 0, done.stderr
    if Path("/proc/sys/kernel/task_delayacct").read_text().strip() == "0":
        off = Log.open(tmp_path / "off").users().collect()
        assert off["io_delay_s"].null_count() == off.height


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_is_told_at_once_and_counted_in_the_log_at_the_end(program, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mount = run("mount", "-t", "tmpfs", "-o", "size=700k", "tmpfs", str(small))
    if mount.returncode:
        pytest.skip(f"no file system can be mounted here: {mount.stderr.strip()}")
    recorder = None
    try:
        recorder = begin(program, small / "run")
        with (small / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
            while True:
                filler.write(bytes(4096))
        ready, _, _ = select.select([recorder.stderr], [], [], 30)
        assert ready, "nothing was said while the disk was full"
        said = os.read(recorder.stderr.fileno(), 4096).decode()
        assert "no room to write" in said
        _, status, output, errors = end(recorder)
        assert status == 1
        assert re.search(r"[1-9]\d* lost", output + errors), output + errors
        kinds = {item["kind"]: item["count"] for item in Log.open(small / "run").manifest["incidents"]}
        assert kinds["disk_full"] >= 1
        assert kinds["rows_lost"] >= 1
        checked = run(*CLI, "check", str(small / "run"))
        assert f"incident: rows lost, {kinds['rows_lost']} time" in checked.stdout
    finally:
        if recorder is not None:
            recorder.kill()
            recorder.wait()
        run("umount", str(small))


def test_a_folder_that_is_moved_ends_it_and_is_named_where_it_is(program, tmp_path):
    recorder = begin(program, tmp_path / "run")
    (tmp_path / "run").rename(tmp_path / "moved")
    output, errors = recorder.communicate(timeout=30)
    assert recorder.returncode == 1, output
    assert f"is in {tmp_path}/moved" in errors.decode()
    assert f"{rows(tmp_path / 'moved')} in the log, 0 lost" in errors.decode()
    assert Log.open(tmp_path / "moved").check() == []


def test_a_duration_below_the_interval_is_one_sample(program, tmp_path):
    began = time.monotonic()
    done = run(*program, "-o", str(tmp_path / "run"), "--interval", "1h", "--duration", "0.3s")
    assert done.returncode == 0, done.stderr
    # Later than asked where others have the CPUs, never sooner.
    length_s = Log.open(tmp_path / "run").samples().collect()["length_s"].item()
    assert 0.29 <= length_s <= time.monotonic() - began


def test_killed_at_any_moment_it_loses_a_sample_at_most_and_the_next_one_goes_on(tmp_path):
    log = tmp_path / "run"
    seen, random_moments = 0, random.Random(1971)
    for _ in range(6):
        recorder = begin(PROGRAMS["static"], log, "--resume")
        # A moment at random within some intervals of 0.1 s, so that it hits each phase of a sample.
        time.sleep(random_moments.uniform(0.0, 0.4))
        before = rows(log)
        recorder.kill()
        recorder.communicate()
        # The row that was seen is still there, and the log can be read.
        assert rows(log) >= before >= seen
        seen = before
    done = run(*PROGRAMS["python"], "-o", str(log), "--resume", "--interval", "0.1s", "--duration", "0.3s")
    assert done.returncode == 0, done.stderr
    manifest = Log.open(log).manifest
    killed = [incident for incident in manifest["incidents"] if incident["kind"] == "killed"]
    assert killed[0]["count"] == 6
    assert len(manifest["sessions"]) == 7
    assert rows(log) > seen


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--interval", "0.01s"], ["--interval", "0.1s"]),
        (["--interval", "soon"], ["--interval", "soon"]),
        (["--root", "/nowhere"], ["--root", "/nowhere", "proc"]),
        (["--keep-days", "0"], ["--keep-days", "above 0"]),
        (["--duration", "0s"], ["--duration"]),
        (["-o", "/proc/run"], ["/proc/run"]),
    ],
)
def test_what_cannot_be_done_is_status_2_and_says_what_would_be_right(program, options, words, tmp_path):
    done = (
        run(*program, "-o", str(tmp_path / "run"), *options)
        if "-o" not in options
        else run(*program, *options)
    )
    assert done.returncode == 2, done.stderr
    assert all(word in done.stderr for word in words), done.stderr
    assert "Traceback" not in done.stderr


def test_a_log_is_not_written_over_without_force(program, tmp_path):
    log = tmp_path / "run"
    quick = ["-o", str(log), "--interval", "0.1s", "--duration", "0.3s"]
    assert run(*program, *quick).returncode == 0
    refused = run(*program, *quick)
    assert refused.returncode == 2
    assert "--force" in refused.stderr
    assert run(*program, *quick, "--force").returncode == 0
    assert len(Log.open(log).manifest["sessions"]) == 1


def test_old_parts_go_when_the_log_is_to_stay_small(tmp_path):
    log = tmp_path / "run"
    for _ in range(3):
        quick = [
            "-o",
            str(log),
            "--resume",
            "--interval",
            "0.1s",
            "--duration",
            "0.5s",
            "--keep-bytes",
            "1",
        ]
        assert run(*PROGRAMS["static"], *quick).returncode == 0
    assert len(list((log / "samples").glob("part-*.parquet"))) == 1
    assert any(incident["kind"] == "retired" for incident in Log.open(log).manifest["incidents"])


def test_an_ordinary_user_can_record(tmp_path):
    # As root, become nobody; else this very user is an ordinary one.
    as_nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    tmp_path.chmod(0o777)
    for folder in tmp_path.parents:
        if folder.stat().st_uid == os.geteuid() and folder.is_relative_to(tempfile.gettempdir()):
            folder.chmod(folder.stat().st_mode | 0o011)
    recorder = tmp_path / "recorder"
    recorder.write_bytes(STATIC.read_bytes())
    recorder.chmod(0o755)
    done = subprocess.run(
        [str(recorder), "record", "-o", str(tmp_path / "run"), "-i", "0.2s", "-d", "1s"],
        capture_output=True, text=True, check=False, **as_nobody,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    users = Log.open(tmp_path / "run").users().collect()
    assert users.height > 0
    assert users["cpu_exact_s"].sum() > 0


def test_by_none_looks_at_no_process_and_costs_little(tmp_path):
    log = tmp_path / "run"
    done = run(
        *PROGRAMS["python"], "-o", str(log), "-i", "0.1s", "-d", "1s", "--by", "none", "--format", "json"
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["samples"] + summary["missed_deadlines"] >= 9
    assert Log.open(log).users().collect().height == 0
    samples = Log.open(log).samples().collect()
    assert samples["active_users"].null_count() == samples.height
    assert samples["processes"].min() > 0


@pytest.mark.parametrize(
    ("method", "names", "needs"),
    [
        ("taskstats", ["taskstats, batched"], "CAP_NET_ADMIN"),
        ("iterator", ["walk over threads", "iterator over threads"], "CAP_BPF"),
    ],
)
def test_other_methods_give_the_same_or_say_what_they_need(tmp_path, method, names, needs):
    options = ["-o", str(tmp_path / "run"), "-i", "0.1s", "-d", "1s", "--method", method]
    done = run(*PROGRAMS["static"], *options)
    if done.returncode == 0:
        recorder = facts(tmp_path / "run")["recorder"]
        assert recorder["processes"]["method"] in names
        # What the users used is what the machine used: within a tick for each process that ended.
        users = recorder["users"]
        assert abs(users["unattributed_s"]) < 0.1 * users["exact_s"] + 0.2, users
    else:
        assert done.returncode == 2
        assert needs in done.stderr or "--method auto" in done.stderr


def test_with_few_descriptors_files_are_opened_anew(tmp_path):
    """A hard limit of 40 is enough for the log, not for the processes of any machine."""
    sleepers = [subprocess.Popen(["sleep", "60"]) for _ in range(40)]
    try:
        command = [*PROGRAMS["static"], "-o", str(tmp_path / "run"), "-i", "0.1s", "-d", "1s"]
        done = run("/bin/sh", "-c", 'ulimit -n 40; exec "$@"', "sh", *command)
        assert done.returncode == 0, done.stderr
        samples = Log.open(tmp_path / "run").samples().collect()
        assert samples["processes"].min() >= 40
        assert Log.open(tmp_path / "run").users().collect()["cpu_exact_s"].sum() > 0
    finally:
        for sleeper in sleepers:
            sleeper.kill()
            sleeper.wait()


def test_readiness_and_status_go_to_the_service_manager(tmp_path):
    address = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(address))
        manager.settimeout(20)
        recorder = subprocess.Popen(
            [str(STATIC), "record", "-o", str(tmp_path / "run"), "-i", "0.1s"],
            env=os.environ | {"NOTIFY_SOCKET": str(address)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert manager.recv(200) == b"READY=1"
        assert manager.recv(200).startswith(b"STATUS=")
        assert end(recorder)[1] == 0


def test_the_static_recorder_needs_no_library():
    """An ELF file without an interpreter (PT_INTERP) and without needed libraries (DT_NEEDED)."""
    content = STATIC.read_bytes()
    assert content[:5] == b"\x7fELF\x02", "a 64-bit ELF file"
    start, size, count = (
        struct.unpack_from(form, content, at)[0] for form, at in [("<Q", 32), ("<H", 54), ("<H", 56)]
    )
    headers = [struct.unpack_from("<IIQQQQ", content, start + size * number) for number in range(count)]
    assert not [kind for kind, *_ in headers if kind == 3]
    for kind, _, offset, _, _, length in headers:
        if kind == 2:
            entries = [struct.unpack_from("<QQ", content, offset + at)[0] for at in range(0, length, 16)]
            assert 1 not in entries[: entries.index(0)]
