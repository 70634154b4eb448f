"""Load, CPU time, faults and disk operations over time: samples as series short enough to draw.

A long record is cut into stretches with equal numbers of intervals: at most `STRETCHES_MAX`, and one more for
each gap that can be seen. Counters become rates per second, weighted by the measured lengths; gauges become
means. A gap in the record starts a new segment, so that no line is drawn across a time in which nothing was
measured; one shorter than the time of the record divided by `STRETCHES_MAX` is too narrow to be drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING

from thinktime.log import facts
from thinktime.questions.checks import check_log
from thinktime.results import Result
from thinktime.stats.estimate import Caveat, NotApplicable

if TYPE_CHECKING:
    from thinktime.log import Log

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

    Columns that the log lacks have no value anywhere.
    """
    samples = log.samples()
    names = samples.collect_schema().names()
    wanted = [name for name in (*rates, *gauges) if name in names]
    frame = samples.select("start", "length_s", *wanted).drop_nulls(["start", "length_s"]).collect()
    lengths_s = frame["length_s"].to_list()
    timeline, stretches = cut(frame["start"].to_physical().to_list(), lengths_s, stretches_max)
    columns = {name: frame[name].to_list() for name in wanted}
    series: dict[str, tuple[float | None, ...]] = {}
    for name in (*rates, *gauges):
        if name not in columns:
            series[name] = (None,) * len(stretches)
        else:
            values, weighted = columns[name], name not in rates
            series[name] = tuple(
                _mean(values, lengths_s, stretch, weighted=weighted) for stretch in stretches
            )
    return replace(timeline, series=series)


def cut(
    starts_us: Sequence[int], lengths_s: Sequence[float], stretches_max: int
) -> tuple[Timeline, list[range]]:
    """Timeline without series for these intervals, and the indices of the intervals of each stretch."""
    starts_s, jumps_s = _clock(starts_us, lengths_s)
    span_s = starts_s[-1] + lengths_s[-1] if starts_s else 0.0
    seen = [abs(jump) > span_s / stretches_max for jump in jumps_s]
    segments = list(accumulate(seen))
    stretches = _stretches(segments, stretches_max)
    timeline = Timeline(
        starts_s=tuple(starts_s[stretch.start] for stretch in stretches),
        ends_s=tuple(starts_s[stretch.stop - 1] + lengths_s[stretch.stop - 1] for stretch in stretches),
        segments=tuple(segments[stretch.start] for stretch in stretches),
        gaps=sum(jump != 0.0 for jump in jumps_s),
        series={},
    )
    return timeline, stretches


def _share(busy: float | None, cpus: int | None) -> float | None:
    """Share of the CPUs; the number of busy ones where `cpus` is not known."""
    return min(busy / cpus, 1.0) if cpus and busy is not None else busy


def _sum(columns: Timeline, *names: str) -> tuple[float | None, ...]:
    """Sum of the columns that were measured; None where none was."""
    rows = zip(*(columns.series[name] for name in names), strict=True)
    measured = ([value for value in row if value is not None] for row in rows)
    return tuple(sum(values) if values else None for values in measured)


def _clock(starts_us: Sequence[int], lengths_s: Sequence[float]) -> tuple[list[float], list[float]]:
    """Seconds since the first start, never decreasing, and by how much each interval does not join the last.

    The wall clock may be set back within a record; the intervals then continue where the last one ended.
    """
    starts_s: list[float] = []
    jumps_s: list[float] = []
    ahead_s = 0.0  # by which this clock is ahead of the wall clock
    for index, start_us in enumerate(starts_us):
        start = (start_us - starts_us[0]) / 1e6 + ahead_s
        jump = 0.0
        if index:
            end = starts_s[-1] + lengths_s[index - 1]
            tolerance = max(0.25 * lengths_s[index], 0.05)
            if abs(start - end) > tolerance:
                jump = start - end
            if jump < 0.0:
                ahead_s -= jump
                start = end
        starts_s.append(start)
        jumps_s.append(jump)
    return starts_s, jumps_s


def _stretches(segments: Sequence[int], stretches_max: int) -> list[range]:
    """Ranges of indices of equally many intervals, each in one segment."""
    length = max(math.ceil(len(segments) / stretches_max), 1)
    stretches: list[range] = []
    first = 0
    for index in range(1, len(segments) + 1):
        full = index - first >= length
        if index == len(segments) or full or segments[index] != segments[first]:
            stretches.append(range(first, index))
            first = index
    return stretches


def _mean(
    column: Sequence[float | None], lengths_s: Sequence[float], stretch: range, *, weighted: bool
) -> float | None:
    """Mean of a gauge, weighted by the lengths of the intervals; of a counter, its amount per second."""
    measured = [(value, lengths_s[index]) for index in stretch if (value := column[index]) is not None]
    time_s = sum(length for _, length in measured)
    if not time_s > 0:
        return None
    return sum(value * length if weighted else value for value, length in measured) / time_s
