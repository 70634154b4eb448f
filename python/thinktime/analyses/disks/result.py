"""Results of the question about disks."""

from __future__ import annotations

from dataclasses import dataclass

from thinktime.results import Result
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """Count of one counter of the samples."""

    name: str
    """Column of the samples."""
    label: str
    rate: Estimate
    """Per second."""
    total: float
    """In all, in the column's unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One quantity measured in two ways; either may be missing."""

    sampled: Estimate | None
    """From readings at clock ticks, or at the ends of the intervals."""
    exact: Estimate | None
    """From sums over time that miss nothing."""
    difference: Estimate | None = None
    """Sampled minus exact, paired by interval (or replication): the error of sampling."""
    differs: bool = False
    """True if the difference is significant, at a false-alarm rate of 1 %."""

    @property
    def best(self) -> Estimate | None:
        """The exact figure where there is one, else the sampled."""
        return self.sampled if self.exact is None else self.exact


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """Requests at a controller or device, those in service included."""

    place: str
    """``controller``, or the name of the device."""
    mean: Compared
    """Mean number."""
    distribution: tuple[Estimate, ...]
    """Fraction of the readings that found 0, 1, 2, ... requests."""
    open_ended: bool
    """True if the last of `distribution` counts all longer queues too."""
    readings: int
    is_lower_bound: bool = False
    """True if the sampled mean underestimates the queue, because the longest were counted together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Maker:
    """Specification of a drive by its maker."""

    access_s: float | None
    """Mean access time: seek and latency [s]."""
    transfer_s: float | None
    """Transfer time of a request of the mean size that was measured [s]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drive:
    """One drive or block device. None is not counted by the source."""

    name: str
    requests: Estimate | None
    """Completed per second."""
    requests_total: float | None
    amount: Estimate | None
    """Bytes moved per second, both ways."""
    amount_total: float | None
    reads: Estimate | None
    writes: Estimate | None
    """Operations per second, where reads and writes are counted separately."""
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
    """Fraction of the time with a request in service."""
    maker: Maker | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuState:
    """Fraction of the CPU time in one state."""

    name: str
    """``user``, ``system``, ``idle``, ``steal``; ``busy`` is user and system together."""
    share: Compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Cpu:
    """CPU time by state, and how much of it was spent waiting for drives."""

    states: tuple[CpuState, ...]
    waiting: Estimate | None
    """Fraction of the CPU time that was idle while a drive was busy."""
    is_hint: bool
    """True if `waiting` is the kernel's iowait: idle while a task of that very CPU waited for a disk, which
    depends on where tasks last ran."""
    stalled: Estimate | None
    """Fraction of the time in which some task was stalled on a disk (PSI)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateMatrix:
    """CPU state by drive state, as sampled at clock ticks."""

    cpu: tuple[str, ...]
    drives: tuple[str, ...]
    shares: tuple[tuple[Estimate, ...], ...]
    """Fraction of the ticks: a row for each CPU state, a column for each drive state."""
    cpu_totals: tuple[Estimate, ...]
    drive_totals: tuple[Estimate, ...]
    ticks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Swapping:
    """Swaps, or pages swapped."""

    amounts: tuple[Amount, ...]
    size: Estimate | None
    """Amount swapped per swap, one way."""
    between: Estimate | None
    """Mean time between swaps, both ways counted [s]."""


@dataclass(frozen=True, slots=True, kw_only=True)
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
    """Mean number of requests, in the order of `Disks.queues`."""
    utilisations: tuple[float | None, ...]
    """In the order of `Disks.drives`."""
    waiting: float | None
    """As `Cpu.waiting`."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Disks(Result):
    """Traffic and utilisation of the disks, requests waiting for them, and states of the CPU."""

    MAIN = "drives"

    sessions: tuple[int, ...]
    """Numbers of the sessions of the log that are used, from 0."""
    intervals: int
    time_s: float
    """Measured time [s], without warm-up and time outside the selected stretch."""
    cache: tuple[Amount, ...] | NotApplicable
    """Blocks read and written, read-aheads, hits: in this order, what the log counts."""
    hit_ratio: Estimate | NotApplicable
    """Cache hits over hits and reads that missed."""
    queues: tuple[Queue, ...] | NotApplicable
    drives: tuple[Drive, ...] | NotApplicable
    controller: Compared | NotApplicable
    """Fraction of the time in which any drive was busy: the controller's utilisation unless seeks overlap."""
    cpu: Cpu | NotApplicable
    matrix: StateMatrix | NotApplicable
    terminal: tuple[Amount, ...] | NotApplicable
    swapping: Swapping | NotApplicable
    periods: tuple[Period, ...]
    caveats: tuple[Caveat, ...]

    def _records(self) -> tuple[Drive, ...]:
        return () if isinstance(self.drives, NotApplicable) else self.drives
