"""What a recording offers to Prometheus: a real recorder, scraped over loopback and read by its parsers."""

import contextlib
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import polars as pl
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as prometheus

from thinktime.log import Log, vocabulary

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "target" / "static" / "thinktime-recorder"
CLI = [sys.executable, "-c", "from thinktime.cli import main; main()"]
PROGRAMS = {"python": [*CLI, "record"], "static": [str(STATIC), "record"]}
OPENMETRICS = {"Accept": "application/openmetrics-text; version=1.0.0"}
SUBJECTS = {
    "samples": "machine",
    "users": "user",
    "commands": "command",
    "cpus": "cpu",
    "disks": "disk",
    "interfaces": "interface",
    "groups": "group",
}
HOSTILE = 'a"b\\c\nd'


@pytest.fixture(params=PROGRAMS)
def program(request):
    return PROGRAMS[request.param]


@contextlib.contextmanager
def recording(program, log, *options):
    """A recorder, and the address that it says."""
    recorder = subprocess.Popen(
        [*program, "-o", str(log), "--interval", "0.2s", "--listen", "127.0.0.1:0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield recorder, address_of(recorder)
    finally:
        recorder.kill()
        recorder.communicate()


def address_of(recorder):
    said = b""
    deadline = time.monotonic() + 30
    while not (found := re.search(rb"http://127\.0\.0\.1:(\d+)/metrics", said)):
        ready, _, _ = select.select([recorder.stderr], [], [], deadline - time.monotonic())
        assert ready, said
        piece = os.read(recorder.stderr.fileno(), 4096)
        assert piece, said
        said += piece
    return ("127.0.0.1", int(found[1]))


def scrape(address, headers=None, path="/metrics"):
    request = urllib.request.Request(f"http://{address[0]}:{address[1]}{path}", headers=headers or {})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def values(families):
    """Values by name and labels."""
    found = {}
    for family in families:
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in found, key
            found[key] = sample.value
    return found


def samples_in(address):
    return values(openmetrics(scrape(address, OPENMETRICS)[1]))[("thinktime_recorder_samples_total", ())]


def wait_for_samples(address, number):
    deadline = time.monotonic() + 30
    while samples_in(address) < number:
        assert time.monotonic() < deadline
        time.sleep(0.05)


@contextlib.contextmanager
def work(name, seconds):
    """A process of that name that computes."""
    code = f"import ctypes, time; ctypes.CDLL(None).prctl(15, {name.encode()!r}, 0, 0, 0)\n"
    code += f"while time.process_time() < {seconds}: pass\n"
    child = subprocess.Popen([sys.executable, "-c", code])
    try:
        yield
    finally:
        child.kill()
        child.wait()


def expected(log, samples):
    """Sums of every counter of the first `samples` intervals of a log, by metric and labels."""
    opened = Log.open(log)
    starts = opened.samples().collect()["start"].sort().head(samples)
    sums = {}
    for table, subject in SUBJECTS.items():
        columns = vocabulary(table)
        labels = [column.name for column in columns if column.kind == "label"]
        rows = opened.table(table).collect().filter(pl.col("start").is_in(starts.implode()))
        for column in columns:
            # A CPU that was idle throughout has no row.
            is_partial = table == "cpus" and column.role == "idle_time"
            if column.kind != "counter" or is_partial or column.name not in rows.columns:
                continue
            stem = column.name[:-2] + "_seconds" if column.name.endswith("_s") else column.name
            for row in rows.filter(pl.col(column.name).is_not_null()).iter_rows(named=True):
                given = tuple(sorted((name, str(row[name])) for name in labels if row.get(name) is not None))
                key = (f"thinktime_{subject}_{stem}_total", given)
                sums[key] = sums.get(key, 0.0) + row[column.name]
    return sums


def test_every_counter_is_the_sum_of_the_log(program, tmp_path):
    log = tmp_path / "log"
    with work(HOSTILE, 1.0), recording(program, log, "--by", "uid") as (recorder, address):
        wait_for_samples(address, 8)
        kind, text = scrape(address, OPENMETRICS)
        assert kind == "application/openmetrics-text; version=1.0.0; charset=utf-8"
        older_kind, older_text = scrape(address)
        assert older_kind == "text/plain; version=0.0.4; charset=utf-8"
        recorder.send_signal(signal.SIGTERM)
        assert recorder.wait(30) == 0
    scraped = values(openmetrics(text))
    number = int(scraped[("thinktime_recorder_samples_total", ())])
    assert number >= 8
    sums = expected(log, number)
    counters = {key: value for key, value in scraped.items() if key[0].endswith("_total")}
    own = {key for key in counters if key[0].startswith("thinktime_recorder_")}
    # What the log never measured has no metric, and nothing has one that is not in the log.
    assert counters.keys() - own == sums.keys()
    for key, total in sums.items():
        assert counters[key] == pytest.approx(total, rel=1e-9, abs=1e-9), key
    commands = {
        dict(labels).get("command") for name, labels in scraped if name.startswith("thinktime_command")
    }
    assert any(command and '"' in command for command in commands), commands
    # Later by at most a few samples, and in the other format: the same metrics.
    assert {name for name, _ in values(prometheus(older_text))} >= {name for name, _ in scraped}


def test_gauges_are_the_last_readings(tmp_path):
    log = tmp_path / "log"
    with recording(PROGRAMS["static"], log, "--gauges-every", "1s") as (recorder, address):
        wait_for_samples(address, 12)
        text = scrape(address, OPENMETRICS)[1]
        recorder.send_signal(signal.SIGTERM)
        assert recorder.wait(30) == 0
    scraped = values(openmetrics(text))
    number = int(scraped[("thinktime_recorder_samples_total", ())])
    last = Log.open(log).samples().collect().sort("start").row(number - 1, named=True)
    for column in ("memory_available_bytes", "processes", "load_1"):
        if last.get(column) is not None:
            assert scraped[(f"thinktime_machine_{column}", ())] == last[column]
    end_s = last["start"].timestamp() + last["length_s"]
    assert scraped[("thinktime_recorder_last_sample_timestamp_seconds", ())] == pytest.approx(end_s, abs=1e-3)
    assert any(name == "thinktime_user_memory_bytes" for name, _ in scraped)


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b"404"),
        (b"GET /metrics/../etc/passwd HTTP/1.1\r\n\r\n", b"404"),
        (b"POST /metrics HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", b"405"),
        (b"\x16\x03\x01\x02\x00\r\n\r\n", b"400"),
        (b"GET /metrics HTTP/2.0\r\n\r\n", b"400"),
        (b"GET /metrics?" + b"x" * 20_000, b"431"),
        (b"HEAD /metrics HTTP/1.0\r\n\r\n", b"200"),
        (b"GET /metrics HTTP/1.0\r\n\r\n", b"200"),
    ],
)
def test_other_requests_are_refused(served, request_, status):
    with socket.create_connection(served, timeout=10) as client:
        client.sendall(request_)
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := client.recv(65536):
                answer += piece
    assert answer.startswith(b"HTTP/1.1 " + status), answer[:200]
    head, _, body = answer.partition(b"\r\n\r\n")
    is_whole = status == b"200" and request_.startswith(b"GET")
    assert bool(body) == (is_whole or status != b"200")
    if is_whole:
        assert int(re.search(rb"Content-Length: (\d+)", head)[1]) == len(body)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    log = tmp_path_factory.mktemp("served") / "log"
    with recording(PROGRAMS["static"], log) as (_, address):
        wait_for_samples(address, 1)
        yield address


def test_silent_connections_hold_up_neither_scrapes_nor_the_recording(served):
    before = samples_in(served)
    with contextlib.ExitStack() as stack:
        for _ in range(100):
            client = stack.enter_context(socket.create_connection(served, timeout=10))
            client.sendall(b"GET /metr")
        for _ in range(5):
            assert samples_in(served) >= before
        wait_for_samples(served, before + 5)


def test_a_name_that_is_bound_elsewhere_does_not_matter(served):
    # A page of a stranger may ask a browser for this address: the answer is text, and no script.
    kind, _ = scrape(served, {"Host": "evil.example", "Origin": "http://evil.example"})
    assert kind.startswith("text/plain")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        scrape(served, path="/")


def test_a_file_for_the_textfile_collector(program, tmp_path):
    log, file = tmp_path / "log", tmp_path / "thinktime.prom"
    (tmp_path / ".thinktime.prom.next").symlink_to(tmp_path / "victim")
    with recording(program, log, "--textfile", str(file)) as (recorder, address):
        wait_for_samples(address, 3)
        seen = 0
        for _ in range(200):
            # Whenever it is read, it is whole.
            found = values(prometheus(file.read_text()))
            seen = max(seen, found[("thinktime_recorder_samples_total", ())])
        assert seen >= 3
        assert file.stat().st_mode & 0o777 == 0o644
        assert not (tmp_path / "victim").exists()
        recorder.send_signal(signal.SIGTERM)
        assert recorder.wait(30) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--textfile", "passwd"], "must end in .prom"),
        (["--textfile", "no/such/folder/x.prom"], "cannot be written"),
        (["--listen", "nowhere"], "HOST:PORT"),
        (["--listen", "127.0.0.1:99999"], "HOST:PORT"),
        (["--listen", "192.0.2.1:9750"], "cannot be listened on"),
    ],
)
def test_what_cannot_be_offered_is_refused_before_there_is_a_log(program, tmp_path, options, said):
    log = tmp_path / "log"
    done = subprocess.run(
        [*program, "-o", str(log), *options], capture_output=True, text=True, timeout=60, cwd=tmp_path
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert not log.exists()
    assert "Traceback" not in done.stderr


def test_an_address_in_use_is_named(program, tmp_path, served):
    port = str(served[1])
    done = subprocess.run(
        [*program, "-o", str(tmp_path / "log"), "--listen", port], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert f"127.0.0.1:{port}" in done.stderr
    assert not (tmp_path / "log").exists()
