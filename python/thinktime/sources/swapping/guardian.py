"""The process that makes swap device and control group of an experiment, and removes them whatever happens.

It is started by its path, without the rest of the package, in a session of its own (so that no Ctrl-C reaches
it), and lives until its standard input ends: when the experiment is over, or when its process has died in any
way. It also ends by itself when its time is over. What it has made stands in `STATE`, from which a later call
removes what is left if this process itself was killed (`thinktime lab swap --clean`).

Of the machine it changes nothing but what is listed there: a file, loop devices, a swap area, a control
group, and the throttle of its own loop device.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

STATE = Path("/run/thinktime-lab-swap.json")
"""What was made and is not removed yet; locked by the guardian that made it."""
PRIORITY = 32767
"""Priority of the swap area: the highest, so that its group swaps to no other."""
UNLIMITED = 1 << 62
PATIENCE_S = 30.0
"""Time for which each step of the removal is tried again."""
WAIT_S = 0.05
WAKE_S = 0.005
"""Interval at which it is looked whether processes must be woken."""
NICE = -15
"""As the processes: who wakes them must not come later than they."""
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TOOLS = ("losetup", "mkswap", "swapon", "swapoff")
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}


class FailedError(Exception):
    """A step failed; the message says which and why."""


def tool(*arguments: str) -> str:
    """Output of a program of util-linux.

    Raises
    ------
    FailedError
        It failed.
    """
    try:
        done = subprocess.run(arguments, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    except OSError as error:
        raise FailedError(f"cannot start {arguments[0]}: {error.strerror}") from None
    if done.returncode:
        said = " ".join(done.stderr.split()) or f"status {done.returncode}"
        raise FailedError(f"{' '.join(arguments)}: {said}")
    return done.stdout.strip()


def mounts() -> Iterator[tuple[str, str, str]]:
    """Place, type and options of each mounted file system."""
    for line in Path("/proc/mounts").read_text().splitlines():
        _, place, kind, options, *_ = line.split(" ")
        yield place, kind, options


def hierarchies() -> dict[str, str]:
    """Folders of the control groups: ``memory`` and ``blkio`` of version 1, or ``unified`` of version 2."""
    found: dict[str, str] = {}
    for place, kind, options in mounts():
        if kind == "cgroup":
            found |= {name: place for name in ("memory", "blkio") if name in options.split(",")}
        elif kind == "cgroup2":
            with suppress(OSError):
                names = Path(place, "cgroup.controllers").read_text().split()
                if {"memory", "io"} <= set(names):
                    found["unified"] = place
    return found


class Guardian:
    """What was made, and how it is removed."""

    def __init__(self, made: dict[str, Any], file: Any) -> None:
        self.made = made
        self.limit_bytes = 0
        self.woken = 0
        self._file = file

    def _note(self, **made: object) -> None:
        """Write down what was made, before anything else is."""
        self.made.update(made)
        self._file.seek(0)
        self._file.truncate()
        json.dump(self.made, self._file)
        self._file.flush()

    def make(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Make everything: file, devices, swap area, control group."""
        self._note(pid=os.getpid())
        path = Path(asked["file"])
        if os.path.lexists(path):
            raise FailedError(f"{path}: is there already, and is not this experiment's; remove it")
        self._note(file=str(path))
        swap_bytes, files_bytes = asked["swap_bytes"], asked["files_bytes"]
        _write_zeros(path, swap_bytes + files_bytes)
        disk = tool("losetup", "--find", "--show", "--direct-io=on", str(path))
        self._note(disk=disk)
        if _text(f"/sys/block/{Path(disk).name}/loop/dio") != "1":
            raise FailedError(
                f"{path.parent}: its file system takes no direct requests, and the device would be a cache; "
                "name a folder on a disk"
            )
        self._throttle(asked["bytes_per_s"])
        swap = _part(disk, 0, swap_bytes)
        self._note(swap=swap)
        files = _part(disk, swap_bytes, files_bytes)
        self._note(files=files)
        for device in (disk, swap, files):
            # The kernel would hold back writes where reads take long, as they do on a device that is slow on
            # purpose.
            with suppress(OSError, FailedError):
                _write(Path("/sys/block", Path(device).name, "queue/wbt_lat_usec"), "0")
        tool("mkswap", swap)
        tool("swapon", "--priority", str(PRIORITY), swap)
        self._note(is_swapping=True)
        self._make_group(asked["name"])
        return {name: self.made[name] for name in ("disk", "swap", "files", "group", "version")}

    def _throttle(self, bytes_per_s: int) -> None:
        """Give the device its speed: in the root of version 1, for version 2 has no limits there."""
        found = hierarchies()
        number = _text(f"/sys/block/{Path(self.made['disk']).name}/dev")
        if "unified" in found and "memory" not in found:
            self._note(number=number, bytes_per_s=bytes_per_s)
            return
        root = Path(found["blkio"])
        self._note(number=number, throttle=str(root), bytes_per_s=bytes_per_s)
        for name in ("read", "write"):
            _write(root / f"blkio.throttle.{name}_bps_device", f"{number} {bytes_per_s}")

    def _make_group(self, name: str) -> None:
        found = hierarchies()
        if "memory" in found:
            group = Path(found["memory"], name)
            self._note(group=str(group), version=1)
            group.mkdir()
            # Without it processes would be killed while the device is too slow for the kernel's patience.
            _write(group / "memory.oom_control", "1")
            return
        root = Path(found["unified"])
        switched_on = [
            kind for kind in ("memory", "io") if kind not in _text(root / "cgroup.subtree_control").split()
        ]
        self._note(root=str(root), switched_on=switched_on)
        for kind in switched_on:
            _write(root / "cgroup.subtree_control", f"+{kind}")
        group = root / name
        self._note(group=str(group), version=2)
        group.mkdir()
        speed = self.made["bytes_per_s"]
        _write(group / "io.max", f"{self.made['number']} rbps={speed} wbps={speed}")
        with suppress(FileNotFoundError):
            # Compressed pages in memory would never reach the device.
            _write(group / "memory.zswap.max", "0")

    def limit(self, memory_bytes: int) -> dict[str, Any]:
        """Give the group, which is empty, this much memory."""
        self.clear()
        group, self.woken, swap = Path(self.made["group"]), 0, self.made["swap"]
        # What others have there goes back to memory: a run begins with an empty swap area, and none fills it.
        tool("swapoff", swap)
        tool("swapon", "--priority", str(PRIORITY), swap)
        if self.made["version"] == 1:
            with suppress(OSError, FailedError):
                _write(group / "memory.force_empty", "0")
            _write(group / "memory.limit_in_bytes", str(memory_bytes))
            self.limit_bytes = memory_bytes // PAGE_BYTES * PAGE_BYTES
        else:
            # Above the first, processes wait until pages have reached the device; at the second the kernel
            # kills one, as it would at once where the device is too slow for its patience.
            _write(group / "memory.max", str(2 * memory_bytes))
            _write(group / "memory.high", str(memory_bytes))
        return {}

    def wake(self) -> None:
        """Wake processes that the kernel let sleep when it found no page to take: by a page more, and less.

        Version 1 wakes them when memory of the group is freed, but not when its pages have reached the
        device: most would sleep on while a few that fit have all of the memory.
        """
        group = Path(self.made["group"])
        with suppress(OSError, FailedError):
            if "under_oom 1" in _text(group / "memory.oom_control"):
                self.woken += 1
                _write(group / "memory.limit_in_bytes", str(self.limit_bytes + PAGE_BYTES))
            if int(_text(group / "memory.limit_in_bytes")) > self.limit_bytes:
                _write(group / "memory.limit_in_bytes", str(self.limit_bytes))

    @property
    def must_wake(self) -> bool:
        """True if there are processes that may have to be woken."""
        return self.made.get("version") == 1 and self.limit_bytes > 0

    def clear(self) -> None:
        """End every process of the group."""
        group = Path(self.made["group"])
        _until(lambda: _killed(group), f"processes of {group} do not end")

    def remove(self) -> list[str]:
        """Remove everything that was made, the last first; what could not be removed, in words."""
        problems = []
        for step in (
            self._remove_throttle,
            self._remove_group_processes,
            self._remove_swap,
            self._remove_devices,
            self._remove_group,
            self._remove_file,
        ):
            problem = _problem(step)
            if problem is not None:
                problems.append(problem)
        if not problems:
            with suppress(OSError):
                STATE.unlink()
        return problems

    def _remove_throttle(self) -> None:
        # First: processes that end must not wait for a device that is slow on purpose.
        if "throttle" in self.made:
            for name in ("read", "write"):
                _write(
                    Path(self.made["throttle"], f"blkio.throttle.{name}_bps_device"),
                    f"{self.made['number']} 0",
                )
        elif "bytes_per_s" in self.made and "group" in self.made:
            with suppress(FileNotFoundError):
                _write(Path(self.made["group"], "io.max"), f"{self.made['number']} rbps=max wbps=max")

    def _remove_group_processes(self) -> None:
        if "group" in self.made and Path(self.made["group"]).exists():
            self.clear()

    def _devices(self) -> tuple[list[str], list[str]]:
        """Devices on parts of the disk, and the disk: by what is behind them, for a note may be missing."""
        disks = _loops_on(self.made["file"]) if "file" in self.made else []
        return [part for disk in disks for part in _loops_on(disk)], disks

    def _remove_swap(self) -> None:
        used = {line.split()[0] for line in _text("/proc/swaps").splitlines()[1:]}
        for part in self._devices()[0]:
            if part in used:
                tool("swapoff", part)

    def _remove_devices(self) -> None:
        # Those on top first, each until it is free: a process that ends closes its device a moment later.
        _, disks = self._devices()
        for backing in (*disks, *([self.made["file"]] if disks else [])):
            _until(partial(_freed, backing), f"a loop device stays attached to {backing}")

    def _remove_group(self) -> None:
        if "group" in self.made:
            _until(lambda: _without(Path(self.made["group"])), f"{self.made['group']} stays")
        for kind in self.made.get("switched_on", ()):
            _write(Path(self.made["root"], "cgroup.subtree_control"), f"-{kind}")

    def _remove_file(self) -> None:
        if "file" in self.made:
            Path(self.made["file"]).unlink(missing_ok=True)


def _problem(step: Callable[[], None]) -> str | None:
    """Why a step failed; None if it did not."""
    try:
        step()
    except (FailedError, OSError) as error:
        return str(error)
    return None


def _write_zeros(path: Path, size: int) -> None:
    """Write the file in full: holes would be allocated while the experiment runs."""
    block = bytes(1 << 20)
    try:
        # For root alone from the beginning: others' memory may come to lie there.
        made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(made, "wb") as file:
            for _ in range(-(-size // len(block))):
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise FailedError(f"{path}: cannot be written: {error.strerror}") from None


def _part(disk: str, offset: int, size: int) -> str:
    """Device on a part of the disk."""
    return tool(
        "losetup", "--find", "--show", "--direct-io=on", f"--offset={offset}", f"--sizelimit={size}", disk
    )


def _loops_on(backing: str) -> list[str]:
    """Loop devices on a file or device."""
    found = []
    for path in Path("/sys/block").glob("loop*/loop/backing_file"):
        # A device may be freed between the two looks.
        with suppress(OSError):
            if _text(path).removesuffix(" (deleted)") == backing:
                found.append(f"/dev/{path.parts[3]}")
    return found


def _freed(backing: str) -> bool:
    """True if no loop device is on a file or device; asks for it otherwise."""
    devices = _loops_on(backing)
    for device in devices:
        with suppress(FailedError):
            tool("losetup", "--detach", device)
    return not devices


def _killed(group: Path) -> bool:
    """True if the group is empty; ends its processes otherwise."""
    processes = _text(group / "cgroup.procs").split()
    for number in processes:
        with suppress(ProcessLookupError):
            os.kill(int(number), signal.SIGKILL)
    return not processes


def _without(group: Path) -> bool:
    """True if the group is gone."""
    try:
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        return False
    return True


def _until(done: Callable[[], bool], problem: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not done():
        if time.monotonic() > end:
            raise FailedError(problem)
        time.sleep(WAIT_S)


def _text(path: str | Path) -> str:
    return Path(path).read_text().strip()


def _write(path: Path, text: str) -> None:
    try:
        # Unbuffered: the kernel refuses at the write.
        with path.open("wb", buffering=0) as file:
            file.write(text.encode())
    except FileNotFoundError:
        raise
    except OSError as error:
        raise FailedError(f"{path}: does not take {text!r}: {error.strerror}") from None


def locked() -> Any:
    """`STATE`, open and locked; None while another guardian lives."""
    while True:
        file = STATE.open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(file.fileno()).st_ino == STATE.stat().st_ino:
                return file
        except FileNotFoundError:
            # Removed by its owner between the two calls.
            pass
        except OSError:
            file.close()
            return None
        file.close()


def is_running() -> bool:
    """True while a guardian lives."""
    if not STATE.exists():
        return False
    file = locked()
    if file is None:
        return True
    with file:
        # It may have been removed after the first look, and made anew by the second.
        if not STATE.read_text():
            STATE.unlink(missing_ok=True)
    return False


def left() -> dict[str, Any] | None:
    """What an earlier guardian left because it was killed itself; None if there is nothing."""
    try:
        text = STATE.read_text()
    except OSError:
        return None
    file = locked()
    if file is None:
        return None
    file.close()
    try:
        made = json.loads(text)
    except ValueError:
        return None
    return made if isinstance(made, dict) else None


def clean() -> list[str]:
    """Remove what an earlier guardian left; what could not be removed, in words."""
    made, file = left(), locked()
    if made is None or file is None:
        return []
    with file:
        return Guardian(made, file).remove()


def serve(seconds: float) -> None:
    """Obey the lines of the standard input until it ends or the time is over; then remove everything."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, NICE)
        # The last to be killed where memory is short: it gives memory back.
        Path("/proc/self/oom_score_adj").write_text("-900")
    file = locked()
    if file is None:
        _answer({"problem": "another experiment of this kind runs on this machine"})
        return
    guardian, end = Guardian({}, file), time.monotonic() + seconds
    lines = b""
    try:
        while True:
            left_s = end - time.monotonic()
            if left_s <= 0.0:
                break
            if not select.select([0], [], [], WAKE_S if guardian.must_wake else left_s)[0]:
                if guardian.must_wake:
                    guardian.wake()
                continue
            read = os.read(0, 65536)
            if not read:
                break
            *whole, lines = (lines + read).split(b"\n")
            for line in whole:
                _obey(guardian, json.loads(line))
    finally:
        _answer({"removed": guardian.remove()})


def _obey(guardian: Guardian, asked: dict[str, Any]) -> None:
    try:
        if asked["do"] == "make":
            _answer(guardian.make(asked))
        elif asked["do"] == "limit":
            _answer(guardian.limit(asked["memory_bytes"]))
        elif asked["do"] == "count":
            _answer({"woken": guardian.woken})
    except (FailedError, OSError, KeyError) as error:
        _answer({"problem": str(error)})


def _answer(answer: dict[str, Any]) -> None:
    # Whoever asked may have died.
    with suppress(OSError):
        os.write(1, json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    serve(float(sys.argv[1]))
