"""The ground of a swapping experiment: a device of known speed, and a group with little memory."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from thinktime.errors import InputError, WorkError
from thinktime.sources.swapping import guardian

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
SECTOR_BYTES = 512
NEEDED_BYTES = 2 << 30
"""Least memory that must be available beside that of the group: where memory is short, the kernel would swap
others' pages to the slow device."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is made for an experiment."""

    folder: Path
    """Folder of the file behind the device: on a disk."""
    swap_bytes: int
    """Size of the swap area."""
    files_bytes: int
    """Size of the device for the processes' files."""
    bytes_per_s: int
    """Speed of the device: bytes read in a second, and as many written."""
    memory_bytes: int
    """Most memory of the group."""
    seconds: float
    """Time after which everything is removed, whatever happens."""

    @property
    def file(self) -> Path:
        """File behind the device."""
        return self.folder / f"thinktime-swap-{os.getpid()}"

    @property
    def bytes(self) -> int:
        """Size of that file."""
        return self.swap_bytes + self.files_bytes

    @property
    def group(self) -> str:
        """Name of the control group."""
        return f"thinktime-swap-{os.getpid()}"


def changes(wanted: Wanted) -> Iterator[str]:
    """Everything that `Ground` makes, in the order in which it does, each a phrase."""
    found = guardian.hierarchies()
    version = 1 if "memory" in found else 2
    place = found.get("memory", found.get("unified", "/sys/fs/cgroup"))
    mega = 1e6
    yield f"the file {wanted.file}, {wanted.bytes / mega:.0f} MB"
    yield (
        "three loop devices, the next that are free: one on that file, and two on parts of it, for swapping "
        "and for the processes' files"
    )
    yield (
        f"a limit of {wanted.bytes_per_s / mega:.1f} MB/s for reading and for writing, of that device alone"
        + (f" (in {found['blkio']})" if version == 1 and "blkio" in found else "")
    )
    yield (
        f"a swap area on it, of priority {guardian.PRIORITY}: the kernel may use it for any process meanwhile"
    )
    yield (
        f"the control group {place}/{wanted.group} of version {version}, with at most "
        f"{wanted.memory_bytes / mega:.0f} MB of memory"
    )
    if version == 2 and "unified" in found:
        on = Path(place, "cgroup.subtree_control").read_text().split()
        for name in ("memory", "io"):
            if name not in on:
                yield f"the controller {name} for the groups in {place}, which is switched off again"
    yield f"{guardian.STATE}, a note of all this"


def check(wanted: Wanted) -> None:
    """Refuse a machine on which the experiment cannot be made, or could do harm.

    Raises
    ------
    InputError
        The message names what is missing, and the remedy.
    """
    if sys.platform != "linux" or os.geteuid() != 0:
        raise InputError(
            "this needs root: it makes a swap area and a control group; run it with sudo, on a machine "
            "where that does no harm (--dry-run shows all that it would make)"
        )
    missing = [
        name for name in guardian.TOOLS if shutil.which(name, path=guardian.ENVIRONMENT["PATH"]) is None
    ]
    if missing:
        raise InputError(f"{', '.join(missing)}: not installed; install util-linux")
    if guardian.is_running():
        raise InputError(
            f"{guardian.STATE}: another experiment of this kind runs on this machine; wait until it is over"
        )
    if guardian.left() is not None:
        raise InputError(
            f"{guardian.STATE}: an earlier experiment was not removed, because its guardian was killed; "
            "remove what it left with `thinktime lab swap --clean`"
        )
    _check_groups()
    _check_swap()
    if not Path("/dev/loop-control").exists():
        raise InputError("/dev/loop-control: is missing; load the kernel's module with `modprobe loop`")
    _check_room(wanted)


def _check_groups() -> None:
    found = guardian.hierarchies()
    if "unified" not in found and not {"memory", "blkio"} <= set(found):
        raise InputError(
            "control groups: neither version 2 with the controllers memory and io, nor version 1 with "
            "memory and blkio, is mounted; boot with them (in a container: run on the host)"
        )
    root = Path(found.get("memory", found.get("unified", "")))
    if not os.access(root, os.W_OK) or _is_read_only(root):
        raise InputError(f"{root}: no control group can be made there; in a container, run on the host")
    if "memory" in found and not Path(root, "memory.memsw.usage_in_bytes").exists():
        raise InputError(f"{root}: swap is not accounted; boot with swapaccount=1")


def _is_read_only(place: Path) -> bool:
    return bool(os.statvfs(place).f_flag & os.ST_RDONLY)


def _check_swap() -> None:
    for line in Path("/proc/swaps").read_text().splitlines()[1:]:
        name, *_, priority = line.split()
        if int(priority) >= guardian.PRIORITY:
            raise InputError(
                f"{name}: is a swap area of priority {priority}, which the processes would use too; switch "
                f"it off with `swapoff {name}`, or give it a lower priority"
            )
    enabled = Path("/sys/module/zswap/parameters/enabled")
    if "memory" in guardian.hierarchies() and enabled.exists() and enabled.read_text().strip() == "Y":
        raise InputError(
            f"{enabled}: pages would be compressed in memory before they reach the device; switch it off "
            f"with `echo N > {enabled}`"
        )


def _check_room(wanted: Wanted) -> None:
    if not wanted.folder.is_dir():
        raise InputError(f"{wanted.folder}: is not a folder; name one on a disk with --scratch")
    for place, kind, _ in guardian.mounts():
        if kind in ("tmpfs", "ramfs") and _is_on(wanted.folder, place):
            raise InputError(
                f"{wanted.folder}: is on {kind}, where the file behind a swap device must not be (its pages "
                "could be swapped themselves); name a folder on a disk with --scratch"
            )
    free = os.statvfs(wanted.folder)
    if free.f_bavail * free.f_frsize < 2 * wanted.bytes:
        raise InputError(
            f"{wanted.folder}: has no room for a file of {wanted.bytes / 1e6:.0f} MB and as much again; "
            "name another folder with --scratch, or give fewer or smaller processes"
        )
    available = _available_bytes()
    if available < NEEDED_BYTES + wanted.memory_bytes:
        raise InputError(
            f"memory: {available / 1e9:.1f} GB are available, and "
            f"{(NEEDED_BYTES + wanted.memory_bytes) / 1e9:.1f} GB are needed, lest the kernel swap others' "
            "pages to the slow device; run it on a machine with more free memory"
        )


def _is_on(folder: Path, place: str) -> bool:
    """True if the file system mounted at `place` is that of the folder."""
    try:
        return os.stat(place).st_dev == folder.stat().st_dev
    except OSError:
        return False


def _available_bytes() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Counters of a device, from its start."""

    read_bytes: int
    written_bytes: int
    requests: int
    busy_s: float
    """Time with a request under way."""
    waits_s: float
    """Sum over the requests of the time in queue and in service: its rate is their mean number."""

    def since(self, before: Traffic) -> Traffic:
        """Traffic since an earlier reading of the counters."""
        return Traffic(
            read_bytes=self.read_bytes - before.read_bytes,
            written_bytes=self.written_bytes - before.written_bytes,
            requests=self.requests - before.requests,
            busy_s=self.busy_s - before.busy_s,
            waits_s=self.waits_s - before.waits_s,
        )

    @classmethod
    def of(cls, device: str) -> Traffic:
        """Counters of a block device, such as /dev/loop1."""
        text = Path("/sys/block", Path(device).name, "stat").read_text()
        reads, _, read, _, writes, _, written, _, _, busy_ms, waits_ms, *_ = map(int, text.split())
        return cls(
            read_bytes=read * SECTOR_BYTES,
            written_bytes=written * SECTOR_BYTES,
            requests=reads + writes,
            busy_s=busy_ms / 1e3,
            waits_s=waits_ms / 1e3,
        )


class Ground:
    """Swap device and control group, from start to end; a context manager.

    When it exits, or when this process ends in any way, nothing of them remains: a process of its own sees to
    that (`guardian`).

    Raises
    ------
    WorkError
        Something cannot be made; what was made before is removed.
    """

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self._guardian = subprocess.Popen(
            [sys.executable, "-I", "-S", guardian.__file__, f"{wanted.seconds:g}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self.pid = self._guardian.pid
        self.problems: list[str] = []
        """What could not be removed, once the context has exited."""
        try:
            made = self._ask(
                do="make",
                file=str(wanted.file.resolve()),
                swap_bytes=wanted.swap_bytes,
                files_bytes=wanted.files_bytes,
                bytes_per_s=wanted.bytes_per_s,
                name=wanted.group,
            )
        except BaseException:
            self.close()
            raise
        self.swap: str = made["swap"]
        """Device to which the group swaps."""
        self.files = Path(made["files"])
        """Device of the processes' files."""
        self.group = Path(made["group"])
        """Control group of the processes."""
        self.version: int = made["version"]

    def __enter__(self) -> Ground:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def limit(self, memory_bytes: int) -> None:
        """End the processes of the group, and give it this much memory.

        Raises
        ------
        WorkError
            The kernel refuses, or the guardian's time is over.
        """
        self._ask(do="limit", memory_bytes=memory_bytes)

    def close(self) -> None:
        """Remove everything, and wait for it."""
        pipe = self._guardian.stdin
        if pipe is None or pipe.closed:
            return
        pipe.close()
        assert self._guardian.stdout is not None
        for line in self._guardian.stdout:
            self.problems = json.loads(line).get("removed", self.problems)
        self._guardian.stdout.close()
        self._guardian.wait()

    def _ask(self, **asked: object) -> dict[str, Any]:
        assert self._guardian.stdin is not None
        assert self._guardian.stdout is not None
        try:
            self._guardian.stdin.write(json.dumps(asked).encode() + b"\n")
            self._guardian.stdin.flush()
        except BrokenPipeError:
            raise WorkError("the guardian of the swap device has ended: its time was over") from None
        line = self._guardian.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"problem": "the guardian has ended"}
        if "removed" in answer:
            raise WorkError("the guardian of the swap device has ended: its time was over")
        if "problem" in answer:
            raise WorkError(answer["problem"])
        return answer

    def woken(self) -> int:
        """How often processes were woken since `limit` that the kernel had let sleep for want of memory."""
        return int(self._ask(do="count")["woken"])

    def charged_bytes(self) -> int:
        """Memory and swap that the group takes."""
        if self.version == 1:
            return int((self.group / "memory.memsw.usage_in_bytes").read_text())
        return sum(int((self.group / f"memory.{name}.current").read_text()) for name in ("swap",)) + int(
            (self.group / "memory.current").read_text()
        )

    def killed(self) -> int:
        """Processes of the group that the kernel ended for want of memory."""
        name = "memory.oom_control" if self.version == 1 else "memory.events"
        for line in (self.group / name).read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
        return 0

    def strangers_bytes(self) -> int:
        """Pages on the swap device that are not the group's."""
        used = next(
            (
                int(line.split()[3]) * 1024
                for line in Path("/proc/swaps").read_text().splitlines()[1:]
                if line.split()[0] == self.swap
            ),
            0,
        )
        if self.version == 1:
            lines = (self.group / "memory.stat").read_text().splitlines()
            # A page that was read again keeps its place on the device while nobody needs it.
            own = sum(int(line.split()[1]) for line in lines if line.startswith(("swap ", "swapcached ")))
        else:
            cached = (self.group / "memory.stat").read_text().partition("\nswapcached ")[2].split()
            own = int((self.group / "memory.swap.current").read_text()) + int(cached[0] if cached else 0)
        return max(used - own, 0)
