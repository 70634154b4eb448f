"""Who used what over ssh and sudo: a real sshd on a loopback port, keys, and users made for it.

Needs root. Records of logins, keys and files of the server are in a mount namespace and in temporary folders,
so that nothing is left behind.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import polars as pl
import pytest
from real_users import MOUNT, RECORD, Group, account, has_begun, missing

from thinktime.log import Log

ALLOWED = 0.05
"""Largest error of a user's CPU time, against the counter of the control group of the same work."""
INTERVALS = ("1s", "5s")
WORK = {
    # What comes and goes, what lasts, and both.
    "shell": "i=0; while [ $i -lt 2000 ]; do /bin/true; i=$((i+1)); done",
    "python": "{python} -S -c 'sum(i * i for i in range(30000000))'",
    "find": "i=0; while [ $i -lt 120 ]; do find /usr/lib -maxdepth 2 | sort | wc -l; i=$((i+1)); done",
}
PYTHON = shutil.which("python3", path="/usr/bin:/usr/local/bin:/bin") or sys.executable
SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
CONFIG = """
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host
AuthorizedKeysFile {folder}/%u.pub
PidFile {folder}/pid
StrictModes no
UsePAM no
UseDNS no
PasswordAuthentication no
PrintMotd no
PrintLastLog no
"""

LACKS = missing("ssh", "ssh-keygen", "sudo", "nsenter", "unshare") or ("" if SSHD else "sshd: not installed")
pytestmark = pytest.mark.skipif(bool(LACKS) and os.environ.get("THINKTIME_REQUIRE_ALL") != "1", reason=LACKS)


@contextmanager
def elsewhere():
    """Prefix of commands in a mount namespace with records of logins and folders of logs of its own."""
    mounts = (
        "mount -t tmpfs none /run && mkdir -m 755 /run/sshd && : > /run/utmp && mount -t tmpfs none /var/log"
    )
    line = ["unshare", "--mount", "/bin/sh", "-c", f"{mounts} && echo ready && exec sleep 600"]
    holder = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "ready\n"
        yield ["nsenter", f"--target={holder.pid}", "--mount"]
    finally:
        holder.kill()
        holder.communicate()


@contextmanager
def server(folder, inside):
    """A real sshd of this test alone; its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f"]
    subprocess.run([*keygen, str(folder / "host")], check=True)
    (folder / "config").write_text(CONFIG.format(port=port, folder=folder))
    line = [*inside, SSHD, "-D", "-e", "-f", str(folder / "config")]
    daemon = subprocess.Popen(line, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    try:
        deadline = time.monotonic() + 20
        while not (folder / "pid").exists():
            assert daemon.poll() is None, daemon.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield port
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.communicate(timeout=20)


class _Groups:
    """A control group of which users may move themselves into groups below it, one for each."""

    def __init__(self, stack, names):
        self.above = stack.enter_context(Group(f"ttlogin{os.getpid()}"))
        self.below = {name: stack.enter_context(Group(f"ttlogin{os.getpid()}/{name}")) for name in names}
        for group in (self.above, *self.below.values()):
            for folder in group.folders:
                (folder / "cgroup.procs").chmod(0o666)

    def script(self, name, way, work):
        """What the user's shell runs: from its first step on, the group counts the same work.

        He stays for a while, as users do, and is there at some beat.
        """
        # The process of the server that carries a user's terminal is his own too; the one of sudo is root's.
        mine = ("0", "$PPID") if way == "ssh" else ("0",)
        files = [folder / "cgroup.procs" for folder in self.below[name].folders]
        enter = [f"echo {process} > {file}" for file in files for process in mine]
        return "; ".join([*enter, work.format(python=PYTHON), "sleep 3"])


@contextmanager
def recorders(folder, inside):
    """Recorders at each of the intervals, from before the loads to after them."""
    started = {}
    for interval in INTERVALS:
        line = [*inside, *RECORD, "-o", str(folder / interval), "--interval", interval, "--jitter", "0"]
        started[interval] = subprocess.Popen(
            [*line, "--gauges-every", "1s"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
    try:
        deadline = time.monotonic() + 30
        while not all(has_begun(folder / interval) for interval in INTERVALS):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield
        # The longest interval during which something ended is over.
        time.sleep(5.5)
    finally:
        for recorder in started.values():
            recorder.terminate()
        errors = [recorder.communicate(timeout=60)[1] for recorder in started.values()]
    assert [recorder.returncode for recorder in started.values()] == [0] * len(INTERVALS), errors


def ssh(folder, port, name, *options):
    known = ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"]
    only = ["-F", "/dev/null", "-o", "IdentitiesOnly=yes", "-i", str(folder / name), "-p", str(port)]
    return ["ssh", *only, *known, *options, f"{name}@127.0.0.1"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Folder of logs at each interval; number, CPU time and name of each user by way and load."""
    assert not LACKS, LACKS
    logs = tmp_path_factory.mktemp("logins")
    with ExitStack() as stack:
        # Users must be able to enter it.
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="thinktime-ssh-")))
        folder.chmod(0o755)
        loads = [(way, load) for way in ("ssh", "sudo") for load in WORK]
        names = {load: f"tt{load[0]}{load[1]}{os.getpid()}" for load in loads}
        numbers = {load: stack.enter_context(account(name, folder)) for load, name in names.items()}
        groups = _Groups(stack, names.values())
        for name in names.values():
            keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f"]
            subprocess.run([*keygen, str(folder / name)], check=True)
            (folder / f"{name}.pub").chmod(0o644)
            # New accounts are locked, and this server lets nobody in who is; no password is this.
            subprocess.run(["usermod", "--password", "*", name], check=True)
        inside = stack.enter_context(elsewhere())
        port = stack.enter_context(server(folder, inside))
        with recorders(logs, inside):
            started = []
            for (way, load), name in names.items():
                script = groups.script(name, way, WORK[load])
                if way == "sudo":
                    line = [*inside, "sudo", "-u", name, "/bin/sh", "-c", script]
                else:
                    # With a terminal, so that the server records a login.
                    line = [*ssh(folder, port, name, "-tt"), script]
                started.append(
                    subprocess.Popen(
                        line,
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL,
                        stderr=subprocess.PIPE,
                        cwd="/",
                    )
                )
            errors = [process.communicate(timeout=120)[1] for process in started]
            assert [process.returncode for process in started] == [0] * len(started), errors
        used = {load: groups.below[name].cpu_s() for load, name in names.items()}
    return logs, {load: (numbers[load], used[load], names[load]) for load in loads}


def test_every_user_has_what_his_work_used(recorded):
    logs, users = recorded
    wrong = []
    for load, (number, used_s, _) in users.items():
        found = {}
        for interval in INTERVALS:
            rows = Log.open(logs / interval).users().filter(pl.col("user") == f"uid:{number}").collect()
            found[interval] = rows["cpu_exact_s"].sum() / used_s - 1
        print(load, f"{used_s:.3f} s", {interval: f"{error:+.1%}" for interval, error in found.items()})
        assert used_s > 0.3
        wrong += [(load, interval, error) for interval, error in found.items() if abs(error) > ALLOWED]
    assert not wrong


def test_names_and_origins_are_those_of_the_logins(recorded):
    logs, users = recorded
    presence = Log.open(logs / "1s").presence().collect()
    for (way, _), (number, _, name) in users.items():
        mine = presence.filter(pl.col("user") == f"uid:{number}")
        assert set(mine["name"]) == {name}
        assert set(mine["kind"]) == {"person"}
        places = set(mine["terminals"].drop_nulls())
        if way == "sudo":
            # It is no login.
            assert (places, mine["sessions"].max()) == (set(), 0)
            continue
        assert mine["sessions"].max() == 1
        (place,) = places
        assert place.startswith("pts/")
        assert place.endswith(" from 127.0.0.1")


def test_nothing_is_left_behind(recorded):
    """The users, their groups and the server are gone when the logs are there."""
    _, users = recorded
    accounts = Path("/etc/passwd").read_text()
    assert not [name for _, _, name in users.values() if name in accounts]
    assert not list(MOUNT.glob(f"**/ttlogin{os.getpid()}"))
    assert subprocess.run(["pgrep", "-f", "thinktime-ssh-"], capture_output=True).returncode == 1
