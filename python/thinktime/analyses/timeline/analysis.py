"""Load, CPU time, faults and disk operations over time: samples as series short enough to draw.

A long record is cut into stretches with equal numbers of intervals: at most `STRETCHES_MAX`, and one more for
each gap that can be seen. Counters become rates per second, weighted by the measured lengths; gauges become
means. A gap in the record starts a new segment, so that no line is drawn across a time in which nothing was
measured; one shorter than the time of the record divided by `STRETCHES_MAX` is too narrow to be drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.log import facts, observations
from thinktime.questions.checks import check_log
from thinktime.results import Result
from thinktime.stats.estimate import Caveat, NotApplicable

if TYPE_CHECKING:
    import polars as pl

    from thinktime.log import Log
    from thinktime.log.observations import Observations

Array = NDArray[np.float64]

STRETCHES_MAX = 240
TICKS = ("user_s", "nice_s", "system_s", "irq_s", "softirq_s")
FAULTS = ("page_faults_minor", "page_faults_major")
DISK_OPERATIONS = ("disk_reads", "disk_writes")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Timeline(Result):
    """Series over time: one value for each stretch, None where the log has none."""

    starts_s: tuple[float, ...]
    """Start of each stretch, since the start of the record."""
    ends_s: tuple[float, ...]
    segments: tuple[int, ...]
    """Number of the segment that each stretch belongs to; a gap that can be seen lies between two."""
    gaps: int = 0
    """Number of gaps in the record, those that are too short to be seen included."""
    series: Mapping[str, tuple[float | None, ...]]
    """Values by name of the series; those of counters per second."""
    cpus: int | None = None
    """Number of CPUs, if the log says it: ``cpu_busy`` is then a share of them."""
    caveats: tuple[Caveat, ...] = ()

    def measured(self, name: str) -> bool:
        """True if any value of this series was measured."""
        return any(value is not None for value in self.series.get(name, ()))

    def _records(self) -> list[dict[str, object]]:
        """Stretches, with a separate column for each series."""
        return [
            {
                "start_s": start,
                "end_s": end,
                "segment": segment,
                **{name: values[index] for name, values in self.series.items()},
            }
            for index, (start, end, segment) in enumerate(
                zip(self.starts_s, self.ends_s, self.segments, strict=True)
            )
        ]


def analyse(log: Log) -> Timeline | NotApplicable:
    """Load, CPU time, faults and disk operations over time.

    The series are ``active_users`` and ``runnable`` (means), ``cpu_busy`` (share of the CPUs, at most 1: what
    the ticks of a short interval exceed it by is their error; number of busy CPUs if the log does not say how
    many there are), ``page_faults`` and ``disk_operations`` (per second). Where nobody counted active users,
    ``sessions`` (mean) are those that were logged in.

    Raises
    ------
    TypeError
        `log` is not a `Log`.
    """
    check_log(log)
    columns = over_time(
        log,
        rates=(*TICKS, "cpu_exact_s", *FAULTS, *DISK_OPERATIONS),
        gauges=("active_users", "sessions", "runnable"),
    )
    if not columns.starts_s:
        return NotApplicable("the log has no samples", "record with `thinktime record`")
    cpus = facts.last_machine(log).whole("cpus", least=1)
    busy = columns.series["cpu_exact_s"] if columns.measured("cpu_exact_s") else _sum(columns, *TICKS)
    seen = len(set(columns.segments)) - 1
    result = replace(
        columns,
        cpus=cpus,
        caveats=(
            *((Caveat("gaps", gaps=columns.gaps, seen=seen),) if columns.gaps else ()),
            *(facts.caveats_of_users(log) if columns.measured("active_users") else ()),
        ),
        series={
            "active_users": columns.series["active_users"],
            **({} if columns.measured("active_users") else {"sessions": columns.series["sessions"]}),
            "cpu_busy": tuple(_share(value, cpus) for value in busy),
            "runnable": columns.series["runnable"],
            "page_faults": _sum(columns, *FAULTS),
            "disk_operations": _sum(columns, *DISK_OPERATIONS),
        },
    )
    if not any(result.measured(name) for name in result.series):
        return NotApplicable("the samples of this log have no column to plot", "")
    return result


def over_time(
    log: Log, rates: Sequence[str], gauges: Sequence[str], stretches_max: int = STRETCHES_MAX
) -> Timeline:
    """Columns of the samples over time: `rates` (counters) per second, `gauges` as means.

    Columns that the log lacks have no value anywhere. The log is read in pieces, so that memory does not grow
    with its length.
    """
    names = {column.name for column in log.schema("samples")}
    cut = Cut(*_extent(log), stretches_max)
    sums = _Sums(cut, [name for name in (*rates, *gauges) if name in names], rates)
    for part in log.in_turn("samples"):
        for frame in _rows(part, sums.names).collect_batches(
            chunk_size=observations.ROWS, maintain_order=True
        ):
            sums.add(frame)
    return replace(sums.cut.timeline(), series={name: sums.series(name) for name in (*rates, *gauges)})


def _rows(part: pl.LazyFrame, names: Sequence[str]) -> pl.LazyFrame:
    return part.select("start", "length_s", *names).drop_nulls(["start", "length_s"])


def _extent(log: Log) -> tuple[int, float]:
    """Number of intervals of a log, and the time from the start of the first to the end of the last [s]."""
    import polars as pl

    parts = [
        _rows(part, ())
        .select(
            n=pl.len(),
            first=pl.col("start").first().to_physical(),
            last=pl.col("start").last().to_physical(),
            length=pl.col("length_s").last().cast(pl.Float64),
            measured=pl.col("length_s").cast(pl.Float64).sum(),
        )
        .collect()
        .row(0, named=True)
        for part in log.in_turn("samples")
    ]
    parts = [part for part in parts if part["n"]]
    if not parts:
        return 0, 0.0
    wall_s = (parts[-1]["last"] - parts[0]["first"]) / 1e6 + parts[-1]["length"]
    # The wall clock may have been set back.
    return sum(part["n"] for part in parts), max(wall_s, sum(part["measured"] for part in parts))


class _Sums:
    """Sums of columns over the stretches of a record."""

    def __init__(self, cut: Cut, names: Sequence[str], rates: Sequence[str]) -> None:
        self.cut = cut
        self.names = tuple(names)
        self._rates = frozenset(rates)
        self._amounts: dict[str, list[tuple[int, Array]]] = {name: [] for name in names}
        self._times: dict[str, list[tuple[int, Array]]] = {name: [] for name in names}

    def add(self, frame: pl.DataFrame) -> None:
        """Add intervals that follow those before."""
        import polars as pl

        if frame.is_empty():
            return
        length = frame["length_s"].cast(pl.Float64).to_numpy()
        stretch = self.cut.add(frame["start"].to_physical().to_numpy(), length)
        first = int(stretch[0])
        for name in self.names:
            column = frame[name].cast(pl.Float64).to_numpy()
            known = ~np.isnan(column)
            place = stretch[known] - first
            amounts = column if name in self._rates else column * length
            self._amounts[name].append((first, np.bincount(place, amounts[known]).astype(np.float64)))
            self._times[name].append((first, np.bincount(place, length[known]).astype(np.float64)))

    def series(self, name: str) -> tuple[float | None, ...]:
        """Values of a column, one for each stretch."""
        if name not in self.names:
            return (None,) * self.cut.count
        amounts, times = (self._added(parts[name]) for parts in (self._amounts, self._times))
        return tuple(
            amount / time if time > 0.0 else None
            for amount, time in zip(amounts.tolist(), times.tolist(), strict=True)
        )

    def _added(self, parts: Sequence[tuple[int, Array]]) -> Array:
        """Sum over the pieces, of which each begins with the stretch in which the one before ended."""
        total = np.zeros(self.cut.count)
        for first, sums in parts:
            total[first : first + len(sums)] += sums
        return total


class Cut:
    """Stretches of a record of n intervals: equally many in each; read a piece at a time.

    None goes across a gap that a drawing of so many stretches can show.
    The wall clock may be set back within a record; the intervals then continue where the last one ended.

    Parameters
    ----------
    n : int
        Number of intervals to come.
    span_s : float
        Time from the start of the first to the end of the last.
    stretches_max : int
        Most stretches of a record without gaps.
    """

    def __init__(self, n: int, span_s: float, stretches_max: int) -> None:
        self._seen_s = span_s / stretches_max
        self._gaps = 0
        self._size = max(math.ceil(n / stretches_max), 1)
        self._origin_us: int | None = None
        self._before = (0.0, 0.0)  # start by the wall clock and length of the last interval
        self._ahead_s = 0.0  # by which this clock is ahead of the wall clock
        self._segment = self._in_segment = 0
        self._starts_s: list[float] = []
        self._ends_s: list[float] = []
        self._segments: list[int] = []

    @classmethod
    def of(cls, pieces: Iterable[Observations], stretches_max: int) -> Cut | None:
        """Stretches of these intervals, which are not yet added; None if there is none."""
        n, first_us, last_us, last_s, measured_s = 0, 0, 0, 0.0, 0.0
        for piece in pieces:
            if len(piece):
                first_us = first_us if n else int(piece.start_us[0])
                last_us, last_s = int(piece.start_us[-1]), float(piece.length_s[-1])
                n, measured_s = n + len(piece), measured_s + float(piece.length_s.sum())
        # The wall clock may have been set back.
        return cls(n, max((last_us - first_us) / 1e6 + last_s, measured_s), stretches_max) if n else None

    @property
    def count(self) -> int:
        """Number of stretches so far."""
        return len(self._starts_s)

    def add(self, starts_us: NDArray[np.int64], lengths_s: Array) -> NDArray[np.int64]:
        """Number of the stretch of each of these intervals, at least one, which follow those before."""
        is_first = self._origin_us is None
        origin = self._origin_us = int(starts_us[0]) if self._origin_us is None else self._origin_us
        wall = (starts_us - origin) / 1e6
        before = np.concatenate([[self._before[0]], wall[:-1]])
        gap = wall - (before + np.concatenate([[self._before[1]], lengths_s[:-1]]))
        gap[0] = 0.0 if is_first else gap[0]
        tolerance = np.maximum(0.25 * lengths_s, 0.05)
        back = gap < -tolerance
        self._gaps += int(np.sum(np.abs(gap) > tolerance))
        breaks = np.abs(gap) > np.maximum(tolerance, self._seen_s)
        starts = wall + self._ahead_s + np.cumsum(np.where(back, -gap, 0.0))
        segments = self._segment + np.cumsum(breaks)
        index = np.arange(len(wall))
        begun = np.maximum.accumulate(np.where(breaks, index, -self._in_segment))
        begins = (index - begun) % self._size == 0
        stretch = self.count - 1 + np.cumsum(begins)
        self._starts_s += starts[begins].tolist()
        self._segments += segments[begins].tolist()
        self._ends_s += [0.0] * int(begins.sum())
        # The last stretch of the piece before may go on in this one.
        is_last = np.append(np.diff(stretch) > 0, True)
        for number, end in zip(
            stretch[is_last].tolist(), (starts + lengths_s)[is_last].tolist(), strict=True
        ):
            self._ends_s[number] = end
        self._before = float(wall[-1]), float(lengths_s[-1])
        self._ahead_s = float(starts[-1] - wall[-1])
        self._segment, self._in_segment = int(segments[-1]), int(index[-1] - begun[-1]) + 1
        return stretch

    def timeline(self) -> Timeline:
        """Timeline without series."""
        return Timeline(
            starts_s=tuple(self._starts_s),
            ends_s=tuple(self._ends_s),
            segments=tuple(self._segments),
            gaps=self._gaps,
            series={},
        )


def _share(busy: float | None, cpus: int | None) -> float | None:
    """Share of the CPUs; the number of busy ones where `cpus` is not known."""
    return min(busy / cpus, 1.0) if cpus and busy is not None else busy


def _sum(columns: Timeline, *names: str) -> tuple[float | None, ...]:
    """Sum of the columns that were measured; None where none was."""
    rows = zip(*(columns.series[name] for name in names), strict=True)
    measured = ([value for value in row if value is not None] for row in rows)
    return tuple(sum(values) if values else None for values in measured)
