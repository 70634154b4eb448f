"""The answer of the analysis of disks and of who waits for them."""

from __future__ import annotations

from dataclasses import dataclass

from thinktime.stats.estimate import Estimate, NotApplicable

__all__ = [
    "Amount",
    "Compared",
    "Cpu",
    "CpuState",
    "Drive",
    "Iostat",
    "Maker",
    "Period",
    "Queue",
    "StateMatrix",
    "Swapping",
]


@dataclass(frozen=True, slots=True)
class Amount:
    """What one counter counted."""

    name: str
    """Column of the samples."""
    label: str
    rate: Estimate
    """Per second."""
    total: float
    """In all, in the column's unit."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One figure got in two ways; either may be missing."""

    sampled: Estimate | None
    """From readings at clock ticks, or at the ends of the intervals."""
    exact: Estimate | None
    """From sums over time that miss nothing."""
    difference: Estimate | None = None
    """Sampled less exact, each interval (or replication) against itself: what sampling missed."""
    differs: bool = False
    """Whether the difference is more than chance explains, at a false-alarm rate of 1 %."""

    @property
    def best(self) -> Estimate | None:
        """The exact figure where there is one, else the sampled."""
        return self.sampled if self.exact is None else self.exact


@dataclass(frozen=True, slots=True)
class Queue:
    """Requests at a controller or device, those in service included."""

    place: str
    """``controller``, or the name of the device."""
    mean: Compared
    """Mean number."""
    distribution: tuple[Estimate, ...]
    """Part of the readings that found 0, 1, 2, ... requests."""
    open_ended: bool
    """Whether the last of `distribution` counts all longer queues too."""
    readings: int
    is_lower_bound: bool = False
    """Whether the sampled mean takes queues for shorter than they were, because the longest were counted
    together."""


@dataclass(frozen=True, slots=True)
class Maker:
    """What the maker says of a drive."""

    access_s: float | None
    """Mean access time: seek and latency [s]."""
    transfer_s: float | None
    """Transfer time of a request of the mean size that was measured [s]."""


@dataclass(frozen=True, slots=True)
class Drive:
    """One drive or block device. None is what the source does not count."""

    name: str
    requests: Estimate | None
    """Completed per second."""
    requests_total: float | None
    amount: Estimate | None
    """Bytes moved per second, both ways."""
    amount_total: float | None
    reads: Estimate | None
    writes: Estimate | None
    """Operations per second, where they are told apart."""
    seeks: Estimate | None
    """Requests per second for which the arm had to move."""
    bytes_per_request: Estimate | None
    access: Estimate | None
    """Mean seek and latency of a request [s]."""
    transfer: Estimate | None
    """Mean transfer time of a request [s]."""
    service: Estimate | None
    """Busy time over requests [s]: the mean service time where a drive serves one request at a time."""
    response: Estimate | None
    """Mean time from issue to completion, waiting included [s]."""
    utilisation: Compared
    """Part of the time with a request in service, 0 to 1."""
    maker: Maker | None


@dataclass(frozen=True, slots=True)
class CpuState:
    """Part of the CPU time in one state, 0 to 1."""

    name: str
    """``user``, ``system``, ``idle``, ``steal``; ``busy`` is user and system together."""
    share: Compared


@dataclass(frozen=True, slots=True)
class Cpu:
    """CPU time by state, and how much of it was spent waiting for drives."""

    states: tuple[CpuState, ...]
    waiting: Estimate | None
    """Part of the CPU time that was idle while a drive was busy, 0 to 1."""
    is_hint: bool
    """Whether `waiting` is the kernel's iowait: idle while a task of that very CPU waited for a disk, which
    depends on where tasks last ran."""
    stalled: Estimate | None
    """Part of the time in which some task was stalled on a disk (PSI), 0 to 1."""


@dataclass(frozen=True, slots=True)
class StateMatrix:
    """CPU state by drive state, as found at clock ticks."""

    cpu: tuple[str, ...]
    drives: tuple[str, ...]
    shares: tuple[tuple[Estimate, ...], ...]
    """Part of the ticks, a row a CPU state and a column a drive state."""
    cpu_totals: tuple[Estimate, ...]
    drive_totals: tuple[Estimate, ...]
    ticks: int


@dataclass(frozen=True, slots=True)
class Swapping:
    """Swaps, or pages swapped."""

    amounts: tuple[Amount, ...]
    size: Estimate | None
    """Amount swapped per swap, one way."""
    between: Estimate | None
    """Mean time between swaps, both ways counted [s]."""


@dataclass(frozen=True, slots=True)
class Period:
    """One line of a running report. None is not measured, or nothing to divide by."""

    session: int
    start_s: float
    """Since the start of its session [s]."""
    length_s: float
    reads: float | None
    writes: float | None
    """Per second, that reached a drive or (writes) the cache."""
    hit_ratio: float | None
    queues: tuple[float | None, ...]
    """Mean number of requests, in the order of `Iostat.queues`."""
    utilisations: tuple[float | None, ...]
    """In the order of `Iostat.drives`."""
    waiting: float | None
    """As `Cpu.waiting`."""


@dataclass(frozen=True, slots=True)
class Iostat:
    """What the disks did, how many waited for them, and what the CPU did meanwhile."""

    sessions: tuple[int, ...]
    """Numbers of the log's sessions that are looked at, from 0."""
    intervals: int
    time_s: float
    """Measured time, without warm-up and what lies outside the asked stretch."""
    cache: tuple[Amount, ...] | NotApplicable
    """Blocks read and written, read-aheads, hits: in this order, what the log counts."""
    hit_ratio: Estimate | NotApplicable
    """Cache hits over hits and reads that missed."""
    queues: tuple[Queue, ...] | NotApplicable
    drives: tuple[Drive, ...] | NotApplicable
    controller: Compared | NotApplicable
    """Part of the time in which any drive was busy: the controller's utilisation unless seeks overlap."""
    cpu: Cpu | NotApplicable
    matrix: StateMatrix | NotApplicable
    terminal: tuple[Amount, ...] | NotApplicable
    swapping: Swapping | NotApplicable
    periods: tuple[Period, ...]
    caveats: tuple[str, ...]
