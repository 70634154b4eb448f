"""Result of the question about users: users, their commands, control groups, and the largest over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinktime.results import Result
from thinktime.stats.estimate import Caveat

if TYPE_CHECKING:
    from thinktime.analyses.timeline.analysis import Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Resources used by one user over the whole log; None where not measured."""

    user: str
    """As the log identifies it: a uid, a session, a cgroup, or ``nobody``."""
    name: str
    """Readable name; the same as `user` where the log has none."""
    played_as: str | None
    """Name of the synthetic user that this session belonged to, if it was played."""
    cpu_s: float | None
    """CPU time: exact if it was measured, otherwise user and system time by the tick."""
    cpu_share: float
    """Share of the CPU time that was attributed to users."""
    run_delay_s: float | None
    """Time for which the user's tasks were runnable and waited for a CPU."""
    io_delay_s: float | None
    """Time for which they waited for a disk."""
    page_faults: float | None
    read_bytes: float | None
    written_bytes: float | None
    """Bytes that the user's programs changed in the page cache, which reach a disk later, or never."""
    memory_bytes: float | None
    """Most memory at any reading: shared pages divided among those who share them, or counted in each."""
    gpu_s: float | None
    """Time in which engines of graphics devices worked for the user, summed over the engines."""
    gpu_memory_bytes: float | None
    """Most memory of the user's buffers of graphics devices at any reading."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """Resources used by one command of one user over the whole log; None where not measured."""

    command: str
    """Name of the program, or of the script that it interprets; ``(other)`` for those without a row."""
    user: str
    """Readable name of the user."""
    cpu_s: float | None
    cpu_share: float
    """Share of the CPU time of all commands."""
    run_delay_s: float | None
    io_delay_s: float | None
    read_bytes: float | None
    written_bytes: float | None
    started: float | None
    """Processes of this name that were new."""
    memory_bytes: float | None
    """Most memory at any reading, shared pages counted in each process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Resources used by one control group over the whole log, by its counters; None where not measured."""

    name: str
    kind: str
    cpu_s: float | None
    throttled_s: float | None
    psi_cpu_some_s: float | None
    """Time in which some task of the group waited for a CPU."""
    psi_memory_some_s: float | None
    psi_io_some_s: float | None
    memory_bytes: float | None
    """Most memory at any reading."""
    memory_limit_bytes: float | None
    memory_oom_kills: float | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Users(Result):
    """Every user of a log."""

    MAIN = "users"

    users: tuple[User, ...]
    """By falling CPU time."""
    listed: tuple[User, ...]
    """Those that a reader sees one by one: the largest by CPU time, and by wait, memory and data."""
    others: User | None
    """Sum over all users who are not listed; None if there are none."""
    commands: tuple[Command, ...]
    """The largest by CPU time, wait, memory and data; empty where the log does not distinguish commands."""
    groups: tuple[Group, ...]
    """The largest control groups by CPU time; empty where the log has none."""
    over_time: Timeline | None
    """CPUs used by the five largest users, and by all others together, by name."""
    cpus: int | None
    """Number of CPUs, if the log says it."""
    caveats: tuple[Caveat, ...] = ()
