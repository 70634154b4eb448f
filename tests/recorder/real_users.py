"""Users and control groups made for a test as root, and removed at its end."""

import fcntl
import itertools
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

from thinktime.errors import InputError
from thinktime.log import Log

RECORD = [sys.executable, "-c", "from thinktime.cli import main; main()", "record"]
MOUNT = Path("/sys/fs/cgroup")
FIRST_NUMBER, NUMBERS_EACH = 100_000, 100
"""Of the accounts of tests: so many for each process that makes some."""
_numbers = itertools.count()
IS_UNIFIED = (MOUNT / "cgroup.controllers").exists()
"""One hierarchy of version 2; otherwise one for each controller, of version 1."""


def has_begun(log):
    """True a second after the tables were declared: the first sample follows that."""
    try:
        declared = (log / "manifest.json").stat().st_mtime
        return Log.open(log).tables != [] and time.time() - declared > 1
    except (OSError, InputError):
        return False


def sampled_since(log, moment_s):
    """True once an interval that began after `moment_s` (Unix time) is in the log."""
    frame = Log.open(log).samples().collect()
    return frame.height > 0 and frame["start"][-1].timestamp() > moment_s


def missing(*programs):
    """What this machine lacks for a test with users of its own; empty for nothing."""
    if os.geteuid() != 0:
        return "users can be made by root only"
    absent = [name for name in ("useradd", "userdel", "setpriv", *programs) if shutil.which(name) is None]
    if absent:
        return f"{', '.join(absent)}: not installed"
    if not (IS_UNIFIED or (MOUNT / "cpuacct/cgroup.procs").exists()):
        return "no control groups at /sys/fs/cgroup"
    return ""


def without(controller):
    """Why no group with limits of this controller can be made; empty where it can."""
    if IS_UNIFIED:
        enabled = (MOUNT / "cgroup.subtree_control").read_text().split()
        return "" if controller in enabled else f"{controller} is not enabled for control groups"
    return "" if (MOUNT / controller / "cgroup.procs").exists() else f"no control groups of {controller}"


class Group:
    """A control group in these hierarchies of version 1, or in that of version 2."""

    def __init__(self, name, *hierarchies):
        parents = [MOUNT] if IS_UNIFIED else [MOUNT / hierarchy for hierarchy in hierarchies or ("cpuacct",)]
        self.folders = [parent / name for parent in parents]
        for folder in self.folders:
            folder.mkdir()
        self.tasks = self.folders[0] / "cgroup.procs"
        self.started = []

    def file(self, *names):
        """The file of the first name that there is."""
        found = [folder / name for name in names for folder in self.folders if (folder / name).exists()]
        return found[0]

    def counts(self, *names):
        """Numbers by key, of a file with a key in each line."""
        lines = (line.split() for line in self.file(*names).read_text().splitlines())
        return {key: int(value) for key, value, *_ in lines}

    def cpu_s(self):
        if IS_UNIFIED:
            return self.counts("cpu.stat")["usage_usec"] * 1e-6
        return int(self.file("cpuacct.usage").read_text()) * 1e-9

    def joined(self, command):
        """Command line that enters the group and becomes ``command``."""
        enter = "; ".join(f"echo 0 > {folder / 'cgroup.procs'}" for folder in self.folders)
        return ["/bin/sh", "-c", f'{enter}; exec "$@"', "sh", *map(str, command)]

    def start(self, command):
        """A process of the group, which ends with it."""
        started = subprocess.Popen(self.joined(command), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.started.append(started)
        return started

    def empty(self):
        """End every task of the group: a process that forks may need several turns."""
        for _ in range(200):
            pids = [pid for folder in self.folders for pid in (folder / "cgroup.procs").read_text().split()]
            if not pids:
                break
            for pid in map(int, pids):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)
        else:
            raise AssertionError(f"{self.folders} are not empty")
        for process in self.started:
            process.wait()

    def remove(self):
        self.empty()
        for folder in self.folders:
            folder.rmdir()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()


@contextmanager
def _accounts_locked():
    """Tests that run at once change the accounts in turn: `useradd` gives up where another is at it."""
    with Path("/run/lock/thinktime-tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def account(name, home=None):
    """A user, removed at the end; his number. A home that is named is the caller's."""
    # No other test has the number, also not later: a recording holds whoever was there.
    number = FIRST_NUMBER + NUMBERS_EACH * (os.getpid() % 10_000) + next(_numbers) % NUMBERS_EACH
    where = [] if home is None else ["--home-dir", str(home)]
    line = ["useradd", "--no-create-home", *where, "--uid", str(number), "--shell", "/bin/sh", name]
    with _accounts_locked():
        subprocess.run(line, check=True, capture_output=True)
    try:
        yield number
    finally:
        with _accounts_locked():
            subprocess.run(["userdel", name], check=True, capture_output=True)
