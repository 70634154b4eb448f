"""Waits for a CPU of a program whose threads compete, and whose first thread sleeps."""

import os
import subprocess
import time
from pathlib import Path

import polars as pl
import pytest
from real_users import RECORD, has_begun, missing
from tracing import untraceable

from thinktime.log import Log

HERE = Path(__file__).parent
LENGTH_S = 3.0
THREADS = min(4 * (os.cpu_count() or 1), 64)
"""So many that they wait three quarters of their time, on whatever machine."""
LACKS = missing("cc")
pytestmark = pytest.mark.skipif(bool(LACKS) and os.environ.get("THINKTIME_REQUIRE_ALL") != "1", reason=LACKS)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Logs by way of reading, and CPU time and waits of the threads by their own clocks."""
    assert not LACKS, LACKS
    folder = tmp_path_factory.mktemp("threads")
    program = folder / "loads"
    subprocess.run(["cc", "-O1", "-pthread", "-o", program, HERE / "loads.c"], check=True)
    no_admin = ["setpriv", "--bounding-set", "-net_admin", "--inh-caps", "-net_admin"]
    ways = {"procfs": [], "taskstats": [], "iterator": [], "files": no_admin}
    if untraceable():
        del ways["iterator"]
    recorders, load = {}, None
    try:
        for way, prefix in ways.items():
            method = "procfs" if way == "files" else way
            options = ["-o", str(folder / way), "--interval", "0.5s", "--method", method]
            recorders[way] = subprocess.Popen(
                [*prefix, *RECORD, *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            )
        for way, recorder in recorders.items():
            while not has_begun(folder / way):
                assert recorder.poll() is None, recorder.stderr.read()
        command = [program, "threads", str(THREADS), str(LENGTH_S)]
        load = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        cpu_s, wait_s = map(float, load.stdout.readline().split())
        # Two intervals, so that one of them began after the end.
        time.sleep(1.2)
        for recorder in recorders.values():
            recorder.terminate()
            _, errors = recorder.communicate(timeout=60)
            assert recorder.returncode == 0, errors
    finally:
        for process in (*recorders.values(), load):
            if process is not None:
                process.kill()
                process.wait()
                for pipe in (process.stdout, process.stderr):
                    if pipe is not None:
                        pipe.close()
    return {way: Log.open(folder / way) for way in ways}, cpu_s, wait_s


def told(log):
    """CPU time and waits of the program in a log."""
    rows = log.commands().filter(pl.col("command") == "loads").collect()
    return rows["cpu_exact_s"].sum(), rows["run_delay_s"].sum()


@pytest.mark.parametrize("way", ["procfs", "taskstats", "iterator", "files"])
def test_threads_wait_as_long_as_their_own_clocks_say(recorded, way):
    logs, cpu_s, wait_s = recorded
    if way not in logs:
        pytest.skip(untraceable())
    told_cpu_s, told_wait_s = told(logs[way])
    print(f"{way}: {told_wait_s:.3f} s of {wait_s:.3f} s waited, {told_cpu_s:.3f} s of {cpu_s:.3f} s used")
    # A canary: the first thread alone waits for next to nothing.
    assert wait_s > cpu_s
    # CPU time is counted in ticks. Without rights, what a thread waited since the last of six samples is lost
    # when it ends.
    assert abs(told_cpu_s - cpu_s) < 0.1 * cpu_s
    assert (0.5 if way == "files" else 0.95) * wait_s < told_wait_s < 1.1 * wait_s
    assert logs[way].check() == []


def test_without_rights_no_message_was_read(recorded):
    logs, _, _ = recorded
    facts = {way: log.manifest["sessions"][-1]["recorder"]["processes"] for way, log in logs.items()}
    assert facts["procfs"]["exits"] == "taskstats"
    assert "not permitted" in facts["files"]["exits"]
