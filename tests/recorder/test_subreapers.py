"""Who used what below a process that takes orphans in, as the managers of services and of containers do.

Needs root, and leaves nothing behind.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager

import polars as pl
import pytest
from real_users import RECORD, has_begun, missing

from thinktime.log import Log

USERS = {"orphan": (61003, 61004), "left": (61005, 61006)}
"""Who manages and who works, by what happens. Nobody else's here: an account has no need of a name."""
ALLOWED = 0.05
ROUNDS = 4
# One that every user may run; that of the tests may be root's alone.
PYTHON = shutil.which("python3", path="/usr/bin:/usr/local/bin:/bin") or sys.executable
LACKS = missing()
pytestmark = pytest.mark.skipif(bool(LACKS) and os.environ.get("THINKTIME_REQUIRE_ALL") != "1", reason=LACKS)

MANAGE = """
import ctypes, json, os, sys, time
manager, worker, kind, rounds = *map(int, sys.argv[1:3]), sys.argv[3], int(sys.argv[4])
PR_SET_CHILD_SUBREAPER = 36
assert ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
# The manager is a user of its own, so that what counts twice is seen; what it forks becomes root again.
os.setresuid(manager, manager, 0)
used_s = 0

def work():
    kept = [bytearray(b"x") * 4096 for _ in range(5000)]
    end = time.process_time() + 0.7
    while time.process_time() < end:
        sum(range(1000))

for turn in range(rounds):
    shell = os.fork()
    if shell == 0:
        # Between the manager and the work, and of the manager: it waits for nobody but its own child.
        parent = os.fork()
        if parent == 0:
            os.setresuid(0, 0, 0)
            os.setresuid(worker, worker, worker)
            child = os.fork()
            if child == 0:
                work()
                os._exit(0)
            if kind == "left":
                # The child has ended, and nobody waits for it.
                os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
            os._exit(0)
        os.waitpid(parent, 0)
        os._exit(0)
    while True:
        try:
            pid, _, usage = os.wait4(-1, 0)
        except ChildProcessError:
            break
        used_s += usage.ru_utime + usage.ru_stime
    # At different places of an interval.
    time.sleep(0.1 + 0.23 * turn)
print(json.dumps(used_s))
time.sleep(2.5)
"""


@contextmanager
def recorder(log, *prefix):
    """A recorder at work, once it has taken its first sample; ended by SIGTERM."""
    line = [*prefix, *RECORD, "-o", str(log), "--interval", "1s", "--jitter", "0"]
    started = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 60
        while not has_begun(log):
            assert time.monotonic() < deadline
            assert started.poll() is None, started.communicate()
            time.sleep(0.05)
        yield
    finally:
        started.terminate()
        _, errors = started.communicate(timeout=60)
    assert started.returncode == 0, errors


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Logs with and without messages of ends; what the manager's children used, by what happened."""
    assert not LACKS, LACKS
    folder = tmp_path_factory.mktemp("subreapers")
    no_admin = ["setpriv", "--bounding-set", "-net_admin", "--inh-caps", "-net_admin"]
    used_s = {}
    with recorder(folder / "told"), recorder(folder / "untold", *no_admin):
        managers = {}
        for kind, (manager, worker) in USERS.items():
            line = [PYTHON, "-S", "-c", MANAGE, str(manager), str(worker), kind, str(ROUNDS)]
            pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
            managers[kind] = subprocess.Popen(line, cwd="/", **pipes)
        for kind, manager in managers.items():
            told, errors = manager.communicate(timeout=120)
            assert manager.returncode == 0, errors
            used_s[kind] = json.loads(told)
    return {True: folder / "told", False: folder / "untold"}, used_s


@pytest.mark.parametrize("kind", USERS)
@pytest.mark.parametrize("is_told", [True, False], ids=["messages", "without"])
def test_orphans_count_once_for_their_own_user(recorded, kind, is_told):
    logs, all_used_s = recorded
    log, used_s = Log.open(logs[is_told]), all_used_s[kind]
    facts = log.manifest["sessions"][-1]["recorder"]["processes"]["exits"]
    assert (facts == "taskstats") == is_told
    sums = log.users().group_by("user").agg(pl.col("cpu_exact_s").sum()).collect()
    counted = dict(sums.iter_rows())
    manager_s, worker_s = (counted.get(f"uid:{user}", 0.0) for user in USERS[kind])
    print(f"{kind}, told {is_told}: {used_s:.3f} s, worker {worker_s:.3f} s, manager {manager_s:.3f} s")
    assert used_s > 0.6 * ROUNDS
    if is_told:
        assert worker_s == pytest.approx(used_s, rel=ALLOWED)
    # The canary: counted for the manager too, it would be twice as much. What he does himself takes little.
    assert (1 - ALLOWED) * used_s < worker_s + manager_s < (1 + ALLOWED) * used_s + 0.1
