"""Disk traffic, requests waiting at the disks, and states of the CPU meanwhile."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.disks import drives as drive_figures
from thinktime.analyses.disks import formulas, states
from thinktime.analyses.disks import intervals as sampled_intervals
from thinktime.analyses.disks.drives import ALL_DISKS, DRIVE_COLUMN, TOTALS, Device
from thinktime.analyses.disks.formulas import Array, Piece, Reading
from thinktime.analyses.disks.intervals import Intervals
from thinktime.analyses.disks.result import Amount, Compared, Disks, Period, Swapping
from thinktime.analyses.disks.states import Ticks
from thinktime.errors import InputError
from thinktime.questions.checks import check_level, check_log
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable
from thinktime.stats.series.looks import Request

if TYPE_CHECKING:
    from thinktime.log import Log

CACHE = {
    "block_reads": "reads",
    "read_aheads": "read-aheads",
    "cache_hits": "cache hits",
    "block_writes": "writes",
}
"""Counters of a kernel that distinguishes its block cache from its drives."""
KERNEL = {
    "disk_reads": "reads, all disks",
    "disk_writes": "writes, all disks",
    "disk_read_bytes": "read, all disks",
    "disk_write_bytes": "written, all disks",
    "page_faults_major": "page faults that waited for a disk",
}
"""Counters of a kernel that does not distinguish them."""
TERMINAL = {
    "terminal_in_characters": "terminal characters in",
    "terminal_out_characters": "terminal characters out",
}
SWAPS = {"swap_ins": "swaps in", "swap_outs": "swaps out", "swapped_clicks": "swapped, both ways"}
PAGES = {"swap_in_pages": "pages swapped in", "swap_out_pages": "pages swapped out"}
COUNTERS = {**CACHE, **KERNEL, **TERMINAL, **SWAPS, **PAGES}
PERIODS = 20
"""Lines of the running report if the length of a period is not given."""
SAMPLING = (
    "use a source whose kernel samples the drives at its clock ticks, such as `thinktime simulate unix6`"
)
FEW_INTERVALS = 16
"""Intervals below which correlation cannot be seen."""


def analyse(
    log: Log,
    *,
    session: int | None = None,
    start_s: float = 0.0,
    end_s: float | None = None,
    every_s: float | None = None,
    level: float = 0.95,
) -> Disks | NotApplicable:
    r"""Counters and samples of disk traffic, as iostat of Sixth Edition UNIX printed them (Brachman 1983).

    Amounts are differences of kernel counters over the measured time. Quantities that only the clock
    interrupt observes (is a drive busy, the state of the CPU, the number of requests at the controller) are
    fractions of the ticks; successive ticks are correlated, so confidence intervals allow for their
    past, or come over replications where a simulation made several. Where exact sums are kept
    too, both are given, with their difference: the error of sampling at ticks.

    Parameters
    ----------
    log : Log
    session : int, optional
        Number of one session, from 0; by default all are pooled.
    start_s, end_s : float
        Use only intervals that lie wholly within this stretch of their session [s].
    every_s : float, optional
        Length of a period of the running report [s]; by default a twentieth of the time.
    level : float
        Confidence of the intervals.

    Raises
    ------
    InputError
        There is no such session, or the stretch or the period has no length.
    TypeError
        `log` is not an open log.
    """
    check_log(log)
    check_level(level)
    if every_s is not None and not every_s > 0.0:
        raise InputError(f"every_s is {every_s:g}: a period must be longer than 0 s")
    columns = [column.name for column in log.schema("samples")]
    names = [name for name in columns if DRIVE_COLUMN.fullmatch(name) or name.startswith("ticks")]
    names += [*COUNTERS, *TOTALS.values(), *states.cpu_columns(log)]
    intervals = sampled_intervals.read(log, names, session=session, start_s=start_s, end_s=end_s, level=level)
    if not len(intervals):
        where = "" if session is None and intervals.is_whole else " in the selected stretch"
        return NotApplicable(
            f"the log has no samples{where}", "record with `thinktime record`, or select more"
        )
    intervals, devices = drive_figures.devices(log, intervals)
    ticks = states.read_ticks(intervals)
    if not devices and not ticks.states and not ticks.lengths and not any(map(intervals.has, CACHE)):
        return NotApplicable(
            "the log has no data on disks",
            "record with `thinktime record` where /proc/diskstats exists, or simulate a system with drives",
        )
    return _result(log, intervals, devices, ticks, every_s)


def _result(
    log: Log, intervals: Intervals, devices: tuple[Device, ...], ticks: Ticks, every_s: float | None
) -> Disks:
    makers = drive_figures.makers(log, intervals)
    drives = [
        drive_figures.drive(
            device, intervals, None if device.number is None else ticks.busy(device.number), makers
        )
        for device in devices
    ]
    at_controller = states.queue(log, intervals, ticks)
    at_devices = [states.device_queue(device, intervals) for device in devices]
    queues = [item for item in ([at_controller] if at_controller else at_devices) if item is not None]
    processor, waiting = states.cpu(log, intervals, ticks)
    cache, kernel, terminal, swaps = (
        _amounts(log, intervals, labels) for labels in (CACHE, KERNEL, TERMINAL, SWAPS)
    )
    hit_ratio, swapping = _hit_ratio(intervals), _swapping(log, intervals)
    controller, matrix = (
        states.controller(intervals, ticks, devices),
        states.matrix(intervals, ticks, devices),
    )
    periods = intervals.looks.ask(
        _Periods(intervals, every_s, [item for _, item in queues], [item for _, item in drives], waiting)
    )
    result = Disks(
        sessions=intervals.sessions,
        intervals=len(intervals),
        time_s=intervals.time_s,
        cache=cache()
        or kernel()
        or NotApplicable("the log counts neither reads nor writes", "record /proc/diskstats"),
        hit_ratio=hit_ratio(),
        queues=tuple(item() for item, _ in queues) or NotApplicable("the log has no queue lengths", SAMPLING),
        drives=tuple(item() for item, _ in drives)
        or NotApplicable("the log does not distinguish drives", SAMPLING),
        controller=controller() or NotApplicable("no sample shows whether any drive was busy", SAMPLING),
        cpu=processor()
        or NotApplicable("the log has no CPU time by state", "record with `thinktime record`"),
        matrix=matrix() or NotApplicable("CPU and drives were not sampled at the same instants", SAMPLING),
        terminal=terminal()
        or NotApplicable("the log counts no terminal characters", "simulate a system with a terminal"),
        swapping=swapping(swaps()),
        periods=periods(),
        caveats=(),
    )
    caveats = (*_damage(intervals, devices, ticks), *_sampling(result), *_kernel(result, devices))
    return dataclasses.replace(result, caveats=caveats)


def _damage(intervals: Intervals, devices: Sequence[Device], ticks: Ticks) -> Iterator[Caveat]:
    """Caveats on impossible values, which are left out, and on too few intervals."""
    if intervals.dropped:
        yield Caveat("dropped_rows", rows=intervals.dropped)
    if intervals.negative:
        yield Caveat("negative_counts", counts=intervals.negative)
    if ticks.contradictory:
        yield Caveat("contradictory_ticks", intervals=ticks.contradictory, total=len(intervals))
    for device in devices:
        if device.overfull:
            yield Caveat("overfull", intervals=device.overfull, total=len(intervals), device=device.name)
    if len(intervals) < FEW_INTERVALS and not intervals.is_replicated:
        yield Caveat("few_intervals", intervals=len(intervals))


def _sampling(result: Disks) -> Iterator[Caveat]:
    """Caveats on the error of sampling."""
    queues = () if isinstance(result.queues, NotApplicable) else result.queues
    compared: list[tuple[str, str, Compared]] = [
        ("queue", queue.place, queue.mean) for queue in queues if not queue.is_lower_bound
    ]
    if not isinstance(result.drives, NotApplicable):
        compared += [("drive", drive.name, drive.utilisation) for drive in result.drives]
    if not isinstance(result.cpu, NotApplicable):
        compared += [("cpu", state.name, state.share) for state in result.cpu.states]
    different = tuple(
        (kind, name, both.difference.value)
        for kind, name, both in compared
        if both.differs and both.difference
    )
    if different:
        yield Caveat("sampling_error", differences=different)
    for queue in queues:
        if queue.is_lower_bound:
            yield Caveat("lower_bound", longest=len(queue.distribution) - 1, place=queue.place)


def _kernel(result: Disks, devices: Sequence[Device]) -> Iterator[Caveat]:
    """Caveats on the meaning of a real kernel's counters."""
    if not isinstance(result.cpu, NotApplicable) and result.cpu.is_hint and result.cpu.waiting is not None:
        yield Caveat("iowait")
    counted = [device for device in devices if device.number is None and device.name != ALL_DISKS]
    if any(device.has("busy_s") for device in counted):
        yield Caveat("parallel_requests")
    if any(device.name == ALL_DISKS for device in devices):
        yield Caveat("all_disks")


def _amounts(log: Log, intervals: Intervals, labels: dict[str, str]) -> Callable[[], tuple[Amount, ...]]:
    """Rates and totals of the counters that the log has."""
    units = {column.name: column.unit for column in log.schema("samples")}
    rates = {name: intervals.rate(formulas.column(name), f"{units.get(name, '')}/s") for name in labels}

    def found() -> tuple[Amount, ...]:
        return tuple(
            Amount(name=name, label=labels[name], rate=rate, total=intervals.sum_of(name))
            for name, asked in rates.items()
            if (rate := asked()) is not None
        )

    return found


HITS = Reading(
    formulas.column("cache_hits"),
    formulas.total([formulas.column("cache_hits"), formulas.column("block_reads")]),
)


def _hit_ratio(intervals: Intervals) -> Callable[[], Estimate | NotApplicable]:
    if not intervals.has("cache_hits") or not intervals.has("block_reads"):
        missing = NotApplicable("the log counts no hits of a block cache", "simulate a system that does")
        return lambda: missing
    ratio = intervals.ratio(HITS, "")
    return lambda: ratio() or NotApplicable("no block was read", "select a longer stretch")


def _swapping(log: Log, intervals: Intervals) -> Callable[[tuple[Amount, ...]], Swapping | NotApplicable]:
    """Figures of the swaps, given their amounts."""
    pages = _amounts(log, intervals, PAGES)
    both = formulas.total([formulas.column("swap_ins"), formulas.column("swap_outs")])
    units = {column.name: column.unit for column in log.schema("samples")}
    count = intervals.known({"swaps": both})()["swaps"].count
    size = intervals.ratio(
        Reading(formulas.column("swapped_clicks"), both, n=count), units.get("swapped_clicks", "")
    )
    between = intervals.ratio(Reading(formulas.length_s, both, n=count), "s")

    def found(amounts: tuple[Amount, ...]) -> Swapping | NotApplicable:
        if amounts:
            return Swapping(amounts=amounts, size=size(), between=between())
        if pages():
            return Swapping(amounts=pages(), size=None, between=None)
        return NotApplicable("the log counts no swaps", "record with `thinktime record`")

    return found


class _Periods(Request[Piece, tuple[Period, ...]]):
    """Sums of the intervals by period: each belongs to the period in which it begins."""

    def __init__(
        self,
        intervals: Intervals,
        every_s: float | None,
        queues: Sequence[Reading],
        drives: Sequence[Reading],
        waiting: Reading | None,
    ) -> None:
        self._every_s = every_s
        self._size = math.ceil(len(intervals) / PERIODS)
        self._queues, self._drives = len(queues), len(drives)

        def rate(*names: str) -> Reading:
            name = next((name for name in names if intervals.has(name)), names[0])
            return Reading(formulas.column(name), formulas.length_s)

        of_kernel = [rate("block_reads", "disk_reads"), rate("block_writes", "disk_writes"), HITS]
        self._readings = [
            *of_kernel,
            waiting or Reading(formulas.unknown, formulas.unknown),
            *queues,
            *drives,
        ]
        self._sums: dict[tuple[int, int], Array] = {}
        """Amounts and what they are divided by, by session and period."""
        self._start_s: dict[tuple[int, int], float] = {}
        self._length_s: dict[tuple[int, int], float] = {}
        self._session, self._before = -1, 0
        """Session of the last interval, and the intervals of its session up to it."""

    def _numbers(self, piece: Piece) -> NDArray[np.int64]:
        if self._every_s is not None:
            return np.floor(piece.since_s / self._every_s + 1e-9).astype(np.int64)
        place = np.arange(len(piece))
        begins = np.diff(piece.session, prepend=self._session) != 0
        since = np.maximum.accumulate(np.where(begins, place, -1))
        order = np.where(since >= 0, place - since, place + self._before)
        if len(piece):
            self._session, self._before = int(piece.session[-1]), int(order[-1]) + 1
        return order // self._size

    def absorb(self, piece: Piece) -> None:
        if not len(piece):
            return
        pairs = np.column_stack([piece.session, self._numbers(piece)])
        # Few runs of intervals, rather than all intervals, are sorted.
        begins = np.concatenate([[True], (np.diff(pairs, axis=0) != 0).any(axis=1)])
        unique, run = np.unique(pairs[begins], axis=0, return_inverse=True)
        place, count = run.reshape(-1)[np.cumsum(begins) - 1], len(unique)
        start_s = np.full(count, np.inf)
        np.minimum.at(start_s, place, piece.since_s)
        lengths = np.bincount(place, piece.length_s, minlength=count)
        sums = np.empty((count, len(self._readings), 2))
        for index, reading in enumerate(self._readings):
            amounts, per, known = reading.measured(piece)
            for column_of, values in enumerate((amounts, per)):
                sums[:, index, column_of] = np.bincount(place[known], values, minlength=count)
        for index, (session, number) in enumerate(unique.tolist()):
            key = session, number
            self._sums[key] = self._sums.get(key, 0.0) + sums[index]
            self._start_s[key] = min(self._start_s.get(key, math.inf), float(start_s[index]))
            self._length_s[key] = self._length_s.get(key, 0.0) + float(lengths[index])

    def answer(self) -> tuple[Period, ...]:
        return tuple(self._period(key) for key in sorted(self._sums))

    def _period(self, key: tuple[int, int]) -> Period:
        reads, writes, hits, waiting, *others = (
            amount / per if per > 0 else None for amount, per in self._sums[key].tolist()
        )
        return Period(
            session=key[0],
            start_s=self._start_s[key],
            length_s=self._length_s[key],
            reads=reads,
            writes=writes,
            hit_ratio=hits,
            queues=tuple(others[: self._queues]),
            utilisations=tuple(others[self._queues :]),
            waiting=waiting,
        )
