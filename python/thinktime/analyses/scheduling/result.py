"""Result of the question about scheduling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from thinktime.results import Result
from thinktime.stats.estimate import Caveat, Estimate

Source = Literal["events", "histograms"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """Durations of one kind: how many, how long, and what they add up to."""

    name: str
    n: int
    mean: Estimate
    """Exact: sum over number [s]."""
    p50: Estimate
    p90: Estimate
    p99: Estimate
    """Quantiles [s]; of histograms, between the bounds of the buckets."""
    longest_s: float | None
    """Longest; of a histogram, the upper bound of the last bucket with one, None if that has none."""
    share: Estimate
    """Share of the time of all durations of this quantity."""
    rate: Estimate
    """Number per second [1/s]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiter:
    """A command or a user, and how long its tasks waited for a CPU."""

    name: str
    reaction: Durations | None
    """From wake-up to dispatch; None if none of its tasks was woken."""
    waited: Estimate
    """Share of all waiting for a CPU."""
    ran: Estimate | None
    """Share of all CPU time in slices; None if no slice was recorded."""
    cumulative: float
    """Share of all waiting for a CPU of this one and those before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Concentration:
    """Number of commands that make a share of the waiting for a CPU."""

    share: float
    commands: int
    of: int
    """Number of commands that waited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStates:
    """Where the time of tasks goes while they have work.

    Pauses of their own are left out, and so are waits on a futex: a thread without work waits on one, just
    as a thread does for a lock.
    """

    name: str
    """Command; ``all`` for all of them."""
    total_s: float
    """Time of all states, summed over the tasks."""
    cpu: Estimate
    """Share of the time on a CPU."""
    cpu_wait: Estimate
    """Share of the waiting for a CPU."""
    io: Estimate
    """Share of the waiting for block I/O, pages included."""
    uninterruptible: Estimate
    """Share of other uninterruptible waits: locks and memory of the kernel; in a file of perf, disks too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A stretch of the trace."""

    start_s: float
    """Since the beginning [s]."""
    length_s: float
    waiting: float
    """Mean number of tasks that wait for a CPU."""
    running: float
    """Mean number of tasks on a CPU."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Scheduling(Result):
    """Waits for a CPU, slices and other waits of a traced machine."""

    MAIN = "waits_for_cpu"

    source: Source
    length_s: float
    cpus: int | None
    reaction: Durations | None
    """From wake-up to dispatch, of woken and of new tasks; None if there is none."""
    waits_for_cpu: tuple[Durations, ...]
    """By how the wait began: woken, started, preempted."""
    slices: tuple[Durations, ...]
    """By how the slice ended."""
    waits: tuple[Durations, ...]
    """Off the CPU and not ready, by what for."""
    others: tuple[Durations, ...]
    """Requests of disks, and page faults."""
    commands: tuple[Waiter, ...]
    """By decreasing waiting for a CPU."""
    users: tuple[Waiter, ...]
    """The same by user; empty where the trace has no users."""
    concentration: tuple[Concentration, ...]
    states: tuple[TaskStates, ...]
    """All tasks, and the commands with most time; empty if nothing but waits for a CPU was traced."""
    waiting: Estimate
    """Mean number of tasks that wait for a CPU."""
    running: Estimate
    """Mean number of tasks on a CPU."""
    stretches: tuple[Stretch, ...]
    caveats: tuple[Caveat, ...]
