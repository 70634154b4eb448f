"""Limits of this machine on the number of users that can be played, read before anything starts."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from thinktime.errors import InputError

OTHER_FILES = 64
"""Files that the driver, the recorder and Python have open besides one terminal for each user."""
RESIDENT_BYTES = 100_000
"""Least memory of a user's process: its stack, its page tables and the pages it writes at its start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A limit of the machine, in users."""

    name: str
    """Name of the limit, as an administrator knows it."""
    most: int
    """Largest number of users under this limit."""
    remedy: str
    """Command or setting that raises it."""


def check(users: int, array_bytes: int) -> None:
    """Refuse a number of users that this machine cannot start.

    Each user is a process with a terminal, an open file of the driver, and an array. Every figure is the
    least that a user needs, so that what is refused could not have been played.

    Raises
    ------
    InputError
        More users are asked for than a limit allows; the message names the lowest limit.
    """
    limits = sorted(_limits(array_bytes), key=lambda limit: limit.most)
    if limits and users > limits[0].most:
        lowest = limits[0]
        raise InputError(
            f"--users: {users} users were asked for, but {lowest.name} leaves room for "
            f"{max(lowest.most, 0)}; {lowest.remedy}, or give fewer users"
        )


def _limits(array_bytes: int) -> Iterator[Limit]:
    present = sum(name.isdecimal() for name in os.listdir("/proc"))
    for name in ("pid_max", "threads-max"):
        most = _number(Path("/proc/sys/kernel", name))
        if most is not None:
            yield Limit(
                name=f"kernel.{name} = {most}",
                most=most - present,
                remedy=f"raise it with `sysctl kernel.{name}=...`",
            )
    terminals = _number(Path("/proc/sys/kernel/pty/max"))
    taken = _number(Path("/proc/sys/kernel/pty/nr"))
    if terminals is not None:
        yield Limit(
            name=f"kernel.pty.max = {terminals} (terminals)",
            most=terminals - (taken or 0),
            remedy="raise it with `sysctl kernel.pty.max=...`",
        )
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if files != resource.RLIM_INFINITY:
        yield Limit(
            name=f"the hard limit on open files, {files},",
            most=files - OTHER_FILES,
            remedy="raise it with `ulimit -Hn`",
        )
    processes = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    # The kernel does not hold root to this limit.
    if processes != resource.RLIM_INFINITY and os.geteuid() != 0:
        yield Limit(
            name=f"the limit on a user's processes, {processes},",
            most=processes - _processes_of(os.geteuid()),
            remedy="raise it with `ulimit -u`",
        )
    yield from _group_limits()
    available = _available_bytes()
    if available is not None:
        each = RESIDENT_BYTES + array_bytes
        yield Limit(
            name=f"available memory of {available / 1e6:.0f} MB, at {each / 1e6:.1f} MB or more a user,",
            most=available // each,
            remedy="give less with --array, or free memory",
        )


def _group_limits() -> Iterator[Limit]:
    """Limits on the processes of the control group (version 2) of this process, and of those above it."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    path = next((line.removeprefix("0::/") for line in lines if line.startswith("0::/")), None)
    if path is None:
        return
    root = Path("/sys/fs/cgroup")
    folder = root / path
    while folder != root and root in folder.parents:
        most, current = _number(folder / "pids.max"), _number(folder / "pids.current")
        if most is not None and current is not None:
            yield Limit(
                name=f"pids.max = {most} of the control group /{folder.relative_to(root)}",
                most=most - current,
                remedy="raise it (systemd: TasksMax=)",
            )
        folder = folder.parent


def _processes_of(user: int) -> int:
    def is_theirs(entry: Path) -> bool:
        try:
            return entry.stat().st_uid == user
        except OSError:
            return False  # The process ended meanwhile.

    return sum(is_theirs(entry) for entry in Path("/proc").iterdir() if entry.name.isdecimal())


def _available_bytes() -> int | None:
    try:
        text = Path("/proc/meminfo").read_text()
    except OSError:
        return None
    found = {line.partition(":")[0]: line.split()[1] for line in text.splitlines() if len(line.split()) > 1}
    return int(found["MemAvailable"]) * 1024 if "MemAvailable" in found else None


def _number(path: Path) -> int | None:
    """Number in a file; None if there is none, as with a limit of ``max``."""
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None
