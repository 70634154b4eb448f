"""Section of the timeline: a strip for each series, on one axis of time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from thinktime.documents import format as shown
from thinktime.documents.charts import timelines
from thinktime.documents.charts.axis import Axis, Spec
from thinktime.documents.document import Col, Figure, Section, Table
from thinktime.documents.wording import few_attributed, refused, worded
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.timeline.analysis import Timeline

TITLE = "What happened when?"
TITLE_OF_FIGURE = "Load, CPU, queue, faults and disk over time"
WORDS: Mapping[str, Callable[..., str]] = {
    "few_attributed": few_attributed,
    "gaps": lambda **found: _gaps(**found),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeAxis:
    """Axis of time of a record, in the unit in which it is easy to read."""

    timeline: Timeline
    unit: str
    unit_s: float

    @classmethod
    def of(cls, timeline: Timeline) -> TimeAxis:
        """Axis in seconds, minutes, hours or days, as suits the length of the record."""
        steps = (("s", 1.0, 300.0), ("min", 60.0, 3 * 3600.0), ("h", 3600.0, 3 * 86_400.0))
        span_s = timeline.ends_s[-1] if timeline.ends_s else 0.0
        unit, unit_s = next(
            ((name, seconds) for name, seconds, longest in steps if span_s <= longest), ("d", 86_400.0)
        )
        return cls(timeline=timeline, unit=unit, unit_s=unit_s)

    @property
    def starts(self) -> list[float]:
        """Start of each stretch, in `unit`."""
        return [start / self.unit_s for start in self.timeline.starts_s]

    @property
    def heading(self) -> str:
        """Heading of a column of starts."""
        return f"start [{self.unit}]"

    @property
    def axis(self) -> Axis:
        """Axis of a chart."""
        return Axis(f"time since the start [{self.unit}]")

    def steps(self, values: Sequence[float | None]) -> list[dict[str, Any]]:
        """Data of a chart of steps: a point for each stretch, and one more where a segment ends."""
        segments, starts = self.timeline.segments, self.starts
        rows: list[dict[str, Any]] = []
        for index, value in enumerate(values):
            if value is None:
                continue
            row = {"value": value, "segment": segments[index]}
            rows.append({"t": starts[index], **row})
            following = index + 1
            if (
                following == len(values)
                or segments[following] != segments[index]
                or values[following] is None
            ):
                rows.append({"t": self.timeline.ends_s[index] / self.unit_s, **row})
        return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class _Strip:
    """Series in the form in which it is drawn."""

    name: str
    unit: str
    colour: str
    values: tuple[float | None, ...]


def section(result: Timeline | NotApplicable) -> Section:
    """Section of the samples over time."""
    if isinstance(result, NotApplicable):
        return refused("timeline", TITLE, result)
    time, strips = TimeAxis.of(result), _strips(result)
    table = Table.of(
        range(len(result.starts_s)),
        Col(time.heading, lambda index: round(time.starts[index], 3)),
        *(Col(strip.name, partial(_value, strip), unit=strip.unit) for strip in strips),
        name="timeline-data",
        caption="Means over each stretch of the record, by its start",
    )
    figure = Figure(
        name="timeline",
        title=TITLE_OF_FIGURE if len(strips) > 1 else f"{strips[0].name} over time",
        chart=partial(_chart, time, strips),
        data=table,
        alt=f"{'; '.join(_peak(result, strip) for strip in strips)}.",
    )
    # The steps at the ends of segments are shorter.
    lengths = sorted(end - start for start, end in zip(result.starts_s, result.ends_s, strict=True))
    step = shown.quantity(lengths[len(lengths) // 2], "s")
    sentence = f"The record covers {shown.duration(result.ends_s[-1])}; each step of the figure is {step}."
    return Section(
        name="timeline",
        title=TITLE,
        summary=(sentence,),
        figures=(figure,),
        caveats=worded(result.caveats, WORDS),
    )


def _gaps(gaps: int, seen: int) -> str:
    found = f"The record has {shown.count(gaps, 'gap')}"
    if not seen:
        return f"{found}, too short for the figure to show."
    broken = "a gap" if seen == gaps else f"the {shown.count(seen, 'gap')} long enough to be seen"
    return f"{found}; no line is drawn across {broken}."


def _value(strip: _Strip, index: int) -> float | None:
    return strip.values[index]


def _strips(result: Timeline) -> list[_Strip]:
    """Series that were measured, from top to bottom."""
    looks = {
        "active_users": ("Active users", "user", "users"),
        "sessions": ("Logged-in sessions", "session", "users"),
        "cpu_busy": ("CPU busy", "share" if result.cpus else "CPU", "user"),
        "runnable": ("Tasks running or waiting for a CPU", "task", "queue"),
        "page_faults": ("Page faults", "fault/s", "memory"),
        "disk_operations": ("Disk operations", "operation/s", "disk"),
    }
    return [
        _Strip(name=name, unit=unit, colour=colour, values=result.series[series])
        for series, (name, unit, colour) in looks.items()
        if result.measured(series)
    ]


def _peak(result: Timeline, strip: _Strip) -> str:
    measured = [
        (value, end - start)
        for value, start, end in zip(strip.values, result.starts_s, result.ends_s, strict=True)
        if value is not None
    ]
    mean = sum(value * length for value, length in measured) / sum(length for _, length in measured)
    return (
        f"{strip.name}: mean {shown.quantity(mean, strip.unit)}, "
        f"highest {shown.quantity(max(value for value, _ in measured), strip.unit)}"
    )


def _chart(time: TimeAxis, strips: Sequence[_Strip]) -> Spec:
    drawn = []
    for strip in strips:
        share = strip.unit == "share"
        drawn.append(
            timelines.Strip(
                title=strip.name if share else f"{strip.name} [{shown.plural(strip.unit)}]",
                colour=strip.colour,
                rows=[
                    {**row, "shown": shown.quantity(row["value"], strip.unit)}
                    for row in time.steps(strip.values)
                ],
                format=".0%" if share else "~s",
                high=1.0 if share else None,
            )
        )
    return timelines.strips(drawn, time.axis)
