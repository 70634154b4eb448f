"""Who is active: those at a terminal who compute. Run alone, for users of other tests would count too."""

import os
import pty
import signal
import subprocess
import sys
import time

import polars as pl
from real_users import RECORD, has_begun

from thinktime.log import Log

USERS = 3
PATIENCE_S = 60
BURN = "while True: sum(range(100_000))"
IDLE = "import time; time.sleep(1000)"


def at_a_terminal(code):
    """Process and terminal of a user who runs `code`."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-S", "-c", code])
    return pid, terminal


def sessions(users):
    """What the log calls these users."""
    return [f"session:{pid}" for pid, _ in users]


def leave(users):
    for pid, terminal in users:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)


def test_active_users_are_those_at_a_terminal_who_compute(tmp_path):
    log = tmp_path / "run"
    idle = [at_a_terminal(IDLE) for _ in range(USERS)]
    command = [*RECORD, "-o", str(log), "--interval", "0.2s", "--by", "session"]
    recorder = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def active(since):
        """Active users in the intervals that began after `since` (Unix time)."""
        samples = Log.open(log).samples().collect()
        return [
            users
            for start, users in samples.select("start", "active_users").iter_rows()
            if start.timestamp() > since
        ]

    def at_work():
        users = Log.open(log).users().filter(pl.col("cpu_exact_s") > 0).collect()
        return set(users["user"])

    def wait(condition):
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert recorder.poll() is None, recorder.stderr.read()
            assert time.monotonic() < deadline, active(0.0)
            time.sleep(0.05)

    try:
        wait(lambda: has_begun(log))
        busy = [at_a_terminal(BURN) for _ in range(USERS)]
        try:
            wait(lambda: set(sessions(busy)) <= at_work())
        finally:
            leave(busy)
        ended = time.time()
        wait(lambda: len(active(ended)) >= 3)
        recorder.send_signal(signal.SIGTERM)
        _, errors = recorder.communicate(timeout=PATIENCE_S)
        assert recorder.returncode == 0, errors
    finally:
        recorder.kill()
        recorder.communicate()
        leave(idle)
    # Somebody may work at a terminal of this machine, such as who runs this test.
    others = min(active(ended))
    assert others < USERS, "users who did nothing were counted, or others are at work at terminals"
    assert max(active(0.0)) - others >= USERS
    assert Log.open(log).samples().collect()["sessions"].null_count() == 0
