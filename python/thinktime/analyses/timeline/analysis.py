"""Samples as series over time, short enough to draw.

A long record is cut into at most `BINS` stretches of equally many intervals. Counters become amounts a
second, weighted by the measured lengths; gauges become means. A gap in the record starts a new segment,
so that no line is drawn across time in which nothing was measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = ["BINS", "TimeUnit", "Timeline", "read"]

BINS = 240


@dataclass(frozen=True, slots=True)
class TimeUnit:
    """The unit of a time axis: its name and its length in seconds."""

    name: str
    seconds: float

    @classmethod
    def for_span(cls, span_s: float) -> TimeUnit:
        """Choose the unit in which a record of this length has a readable number of units."""
        steps = (("s", 1.0, 300.0), ("min", 60.0, 3 * 3600.0), ("h", 3600.0, 3 * 86_400.0))
        for name, seconds, longest in steps:
            if span_s <= longest:
                return cls(name, seconds)
        return cls("d", 86_400.0)


@dataclass(frozen=True, slots=True)
class Timeline:
    """Series over time: one value a stretch, None where the source has none."""

    unit: TimeUnit
    starts: tuple[float, ...]
    """Since the start of the record, in `unit`."""
    ends: tuple[float, ...]
    segments: tuple[int, ...]
    values: Mapping[str, tuple[float | None, ...]]
    cpus: int | None = None
    """Number of CPUs, where the log says it."""

    def has(self, name: str) -> bool:
        """Whether any value of this series was measured."""
        return any(value is not None for value in self.values.get(name, ()))

    def drawn(self, name: str) -> list[dict[str, float | int | None]]:
        """Rows for a chart of steps: a row a stretch, and one more where a segment ends."""
        rows: list[dict[str, float | int | None]] = []
        values = self.values[name]
        for at, value in enumerate(values):
            if value is None:
                continue
            rows.append({"t": self.starts[at], "value": value, "segment": self.segments[at]})
            last = (
                at + 1 == len(values) or self.segments[at + 1] != self.segments[at] or values[at + 1] is None
            )
            if last:
                rows.append({"t": self.ends[at], "value": value, "segment": self.segments[at]})
        return rows


RATES = (
    "user_s",
    "nice_s",
    "system_s",
    "irq_s",
    "softirq_s",
    "cpu_exact_s",
    "page_faults_minor",
    "page_faults_major",
    "disk_reads",
    "disk_writes",
)
GAUGES = ("active_users", "runnable")


def analyse(log: Log) -> Timeline:
    """Load, CPU time, faults and disk operations over time."""
    sessions = log.manifest.get("sessions") or [{}]
    cpus = (sessions[-1].get("machine") or {}).get("cpus")
    series = read(log, RATES, GAUGES)
    return replace(series, cpus=cpus if isinstance(cpus, int) and cpus > 0 else None)


def read(log: Log, rates: Sequence[str], gauges: Sequence[str], bins: int = BINS) -> Timeline:
    """Series of `rates` (counters, as amounts a second) and `gauges` of the samples.

    Columns that the log lacks come out without a value.
    """
    samples = log.samples()
    there = samples.collect_schema().names()
    wanted = [name for name in (*rates, *gauges) if name in there]
    frame = samples.select("start", "length_s", *wanted).drop_nulls(["start", "length_s"]).collect()
    starts_us = frame["start"].to_physical().to_list()
    lengths = frame["length_s"].to_list()
    begins, segments = _clock(starts_us, lengths)
    span = begins[-1] + lengths[-1] if begins else 0.0
    unit = TimeUnit.for_span(span)
    stretches = _stretches(segments, bins)
    columns = {name: frame[name].to_list() for name in wanted}
    values: dict[str, tuple[float | None, ...]] = {}
    for name in (*rates, *gauges):
        if name not in columns:
            values[name] = (None,) * len(stretches)
        elif name in rates:
            values[name] = tuple(_rate(columns[name], lengths, stretch) for stretch in stretches)
        else:
            values[name] = tuple(_mean(columns[name], lengths, stretch) for stretch in stretches)
    return Timeline(
        unit,
        tuple(begins[stretch.start] / unit.seconds for stretch in stretches),
        tuple((begins[stretch.stop - 1] + lengths[stretch.stop - 1]) / unit.seconds for stretch in stretches),
        tuple(segments[stretch.start] for stretch in stretches),
        values,
    )


def _clock(starts_us: Sequence[int], lengths: Sequence[float]) -> tuple[list[float], list[int]]:
    """Seconds since the first start, never going back, and the segment of each interval.

    The wall clock may be set back within a record; the intervals then go on where the last one ended.
    """
    begins: list[float] = []
    segments: list[int] = []
    ahead = 0.0  # what the record's own time is ahead of the wall clock
    segment = 0
    for number, start_us in enumerate(starts_us):
        begin = (start_us - starts_us[0]) / 1e6 + ahead
        if number:
            end = begins[-1] + lengths[number - 1]
            tolerance = max(0.25 * lengths[number], 0.05)
            if begin < end - tolerance:
                ahead += end - begin
                begin = end
                segment += 1
            elif begin > end + tolerance:
                segment += 1
        begins.append(begin)
        segments.append(segment)
    return begins, segments


def _stretches(segments: Sequence[int], bins: int) -> list[range]:
    """Index ranges of at most `per` intervals that do not cross a gap."""
    per = max(math.ceil(len(segments) / bins), 1)
    stretches: list[range] = []
    first = 0
    for number in range(1, len(segments) + 1):
        full = number - first >= per
        if number == len(segments) or full or segments[number] != segments[first]:
            stretches.append(range(first, number))
            first = number
    return stretches


def _rate(column: Sequence[float | None], lengths: Sequence[float], stretch: range) -> float | None:
    measured = [(value, lengths[at]) for at in stretch if (value := column[at]) is not None]
    time = sum(length for _, length in measured)
    return sum(value for value, _ in measured) / time if time > 0 else None


def _mean(column: Sequence[float | None], lengths: Sequence[float], stretch: range) -> float | None:
    measured = [(value, lengths[at]) for at in stretch if (value := column[at]) is not None]
    time = sum(length for _, length in measured)
    return sum(value * length for value, length in measured) / time if time > 0 else None
