"""Section of the question about the CPU time of an interaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from thinktime.documents import format as shown
from thinktime.documents.charts.axis import Axis
from thinktime.documents.document import Cell, Col, Cols, Figure, Key, Section, Table
from thinktime.documents.series import Point as Mark
from thinktime.documents.series import Series
from thinktime.documents.wording import capital, listed, range_of, refused, share, users, worded
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.cpu_per_interaction.analysis import CpuPerInteraction, Point

TITLE = "What does the CPU time of an interaction consist of?"
WHOLE = Key("CPU time", colour="plain", shape="circle")
COLOURS = ("user", "memory", "system", "iowait", "queue", "steal")
"""Colours of the components, in their order; with more components they repeat."""
METHOD = (
    "CPU time of each component over interactions completed, at each number of users (Sekino 1969, Figures 1 "
    "to 3). Lines: least squares through the points of all numbers of users. Intervals allow for "
    "correlation in time, and those of lines for errors of events and of times, which are correlated."
)
WORDS: dict[str, Callable[..., str]] = {
    "charged_time": lambda: (
        "CPU time is the time charged to the processes that served the interactions: user time is the run "
        "time, system time is all work of the system for them. No meter divides the system time by kind of "
        "event."
    ),
    "whole_machine": lambda: (
        "CPU time and page faults are those of the whole machine, divided by the interactions completed: "
        "they include all other work on it."
    ),
    "few": lambda users: (
        f"Fewer than 30 interactions or 8 intervals with {', '.join(f'{value:.3g}' for value in users)} "
        "users: unreliable there, and left out of the lines."
    ),
    "two_points": lambda: "Two points always lie on a line: nothing is known about further ones.",
    "similar_events": lambda difference: (
        f"Events per interaction differ by {difference:.1%} only: what CPU time comes with an additional one "
        "cannot be told from them."
    ),
    "not_a_line": lambda components: (
        f"Points of {', '.join(components)} lie off the line by more than their errors: the relation is not "
        "linear, and the slope is a mean over the range observed."
    ),
    "slopes_are_associations": lambda: (
        "A slope is the time that comes with an additional event as users are added: it includes whatever "
        "else grows with the number of users."
    ),
}


def section(result: CpuPerInteraction | NotApplicable) -> Section:
    """Section of the result."""
    if isinstance(result, NotApplicable):
        return refused("cpu-per-interaction", TITLE, result)
    tables = (_times(result), _shares(result), _per_event(result), _lines(result))
    figures = (_bars(result), _against_users(result), _events(result), _against_events(result))
    return Section(
        name="cpu-per-interaction",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=tuple(table for table in tables if table.rows),
        figures=tuple(figure for figure in figures if figure is not None),
        caveats=worded(result.caveats, WORDS),
        method=METHOD,
    )


def _ends(result: CpuPerInteraction) -> list[Point]:
    """Reliable points with the fewest and the most users; one where there is no other."""
    reliable = [point for point in result.points if not point.few] or list(result.points)
    return reliable[:1] if len(reliable) == 1 else [reliable[0], reliable[-1]]


def _sentences(result: CpuPerInteraction) -> list[str]:
    ends = _ends(result)
    cpu = [f"{shown.estimate(point.cpu)} with {_users(point)}" for point in ends]
    sentences = [f"CPU time of an interaction of {result.of}: {listed(cpu)}."]
    run = [f"{shown.cell(share(point.shares[0]))} with {_users(point)}" for point in ends if point.shares]
    if run:
        sentences.append(f"Of that, {result.components[0]} was {listed(run)}.")
    per_event = ends[0].per_event[1] if len(ends[0].per_event) > 1 else None
    if per_event is not None and not _may_be_none(per_event):
        component = result.components[1]
        text = (
            f"With {_users(ends[0])}, a {result.event} came with {shown.estimate(per_event)} of {component}"
        )
        slope = next((line.slope for line in result.lines if line.component == component), None)
        known = slope is not None and not _may_be_none(slope)
        sentences.append(
            f"{text}; an additional one came with {shown.estimate(slope)}." if slope and known else f"{text}."
        )
    return sentences


def _may_be_none(value: Estimate) -> bool:
    """True where the interval has zero in it: such a value is in the table, and no sentence."""
    return value.low is not None and value.high is not None and value.low <= 0.0 <= value.high


def _users(point: Point) -> str:
    return users(range_of(point.users_low, point.users_high))


def _label(point: Point) -> str:
    return range_of(point.users_low, point.users_high) + (" *" if point.few else "")


def _several(result: CpuPerInteraction) -> bool:
    return len({point.log for point in result.points}) > 1


def _events_name(result: CpuPerInteraction) -> str:
    return shown.plural(result.event or "event")


def _bare(value: Estimate | None) -> Estimate | None:
    return None if value is None else replace(value, unit="")


def _table(result: CpuPerInteraction, name: str, caption: str, *columns: Col[Point] | Cols[Point]) -> Table:
    """Table with a row for each point, after its users and, where there are several, its log."""
    logs: list[Col[Point]] = [Col("log", lambda point: point.log)] if _several(result) else []
    return Table.of(
        result.points,
        Col("users", _label),
        *logs,
        *columns,
        name=f"cpu-per-interaction-{name}",
        caption=caption,
    )


def _times(result: CpuPerInteraction) -> Table:
    events: list[Col[Point]] = (
        [Col(_events_name(result), lambda point: _bare(point.events))] if result.event else []
    )
    return _table(
        result,
        "times",
        f"CPU time per interaction of {result.of}",
        Col("interactions", lambda point: point.n),
        Col("CPU time", lambda point: point.cpu, unit="s"),
        Cols(result.components, lambda point: point.components, unit="s"),
        *events,
    )


def _shares(result: CpuPerInteraction) -> Table:
    def cells(point: Point) -> list[Cell]:
        return [*map(share, point.shares)] or [None] * len(result.components)

    caption = "Share of the CPU time of an interaction"
    return _table(result, "shares", caption, Cols(result.components, cells, unit="share"))


def _per_event(result: CpuPerInteraction) -> Table:
    caption = f"Time other than {result.components[0]}, over the number of {_events_name(result)}"
    name = "cpu-per-interaction-per-event"
    if result.event is None:
        return Table.of((), name=name, caption=caption)
    return _table(
        result,
        "per-event",
        caption,
        Cols(result.components[1:], lambda point: point.per_event[1:], unit="s"),
    )


def _lines(result: CpuPerInteraction) -> Table:
    event = result.event or "event"
    return Table.of(
        result.lines,
        Col("component", lambda line: capital(line.component)),
        Col(f"with an added {event}", lambda line: line.slope, unit="s"),
        Col(f"without a {event}", lambda line: line.intercept, unit="s"),
        Col("deviation of the points", lambda line: line.deviation, unit="s"),
        name="cpu-per-interaction-lines",
        caption=f"Lines of CPU time against {_events_name(result)}, both per interaction",
        notes=("The value without one is extrapolated; the deviation is the root mean square.",),
    )


def _keys(result: CpuPerInteraction) -> tuple[Key, ...]:
    return Key.each(result.components, COLOURS, "circle")


def _bars(result: CpuPerInteraction) -> Figure | None:
    """Figure of the shares by users, a bar each."""
    if not result.points or any(not point.shares for point in result.points):
        return None
    several = _several(result)
    series = Series(
        [
            Mark(key=key, label=_users(point) + (f", {point.log}" if several else ""), y=value.value)
            for point in result.points
            for key, value in zip(_keys(result), point.shares, strict=True)
        ],
        unit="share",
    )
    title = "Shares of the CPU time of an interaction"
    divided = [f"{_users(point)}: {listed(_percentages(result, point))}" for point in _ends(result)]
    return Figure(
        name="cpu-per-interaction-shares",
        title=title,
        chart=series.bars("share of the CPU time"),
        data=series.table("cpu-per-interaction-shares-data", title, "users"),
        alt=f"{'; '.join(divided)}.",
        keys=_keys(result),
    )


def _percentages(result: CpuPerInteraction, point: Point) -> list[str]:
    shares = zip(result.components, point.shares, strict=True)
    return [f"{name} {shown.quantity(value.value, 'share')}" for name, value in shares]


def _marks(result: CpuPerInteraction, x: Callable[[Point], float], *, named: bool = False) -> list[Mark]:
    """Points of CPU time and its components, at the place `x`; `named` by their users."""
    return [
        Mark(
            key=key,
            x=x(point),
            y=(point.cpu, *point.components)[index],
            few=point.few,
            mark=range_of(point.users_low, point.users_high) if named and index == 0 else "",
        )
        for index, key in enumerate((WHOLE, *_keys(result)))
        for point in result.points
    ]


def _data(result: CpuPerInteraction, name: str) -> Table:
    return Table.of(
        result.points,
        Col("users", _label),
        Cols(("CPU time", *result.components), lambda point: (point.cpu, *point.components), unit="s"),
        Col(_events_name(result), lambda point: _bare(point.events)),
        name=f"cpu-per-interaction-{name}-data",
        caption="CPU time per interaction",
    )


def _course(name: str, points: Sequence[Point], value: Callable[[Point], Estimate | None]) -> str:
    """Sentence on the first and the last value of a curve."""
    values = [(value(point), point) for point in points]
    if any(estimate is None for estimate, _ in values):
        return f"{name} was not measured."
    ends = [f"{shown.cell(estimate)} with {_users(point)}" for estimate, point in values]
    return f"{name} per interaction: {', '.join(ends)}."


def _against_users(result: CpuPerInteraction) -> Figure | None:
    if len({point.users for point in result.points}) < 2:
        return None
    series = Series(_marks(result, lambda point: point.users), unit="s")
    return Figure(
        name="cpu-per-interaction-users",
        title="CPU time of an interaction against users",
        chart=series.curves(Axis("users"), Axis.from_zero("CPU time [s]", series.rows())),
        data=_data(result, "users"),
        alt=_course("CPU time", _ends(result), lambda point: point.cpu),
        keys=series.keys,
        half=True,
    )


def _events(result: CpuPerInteraction) -> Figure | None:
    if result.event is None or len({point.users for point in result.points}) < 2:
        return None
    name = _events_name(result)
    title = f"{capital(name)} of an interaction against users"
    key = Key(name, colour="memory", shape="circle")
    series = Series(
        [
            Mark(key=key, x=point.users, label=_label(point), y=point.events, few=point.few)
            for point in result.points
        ]
    )
    return Figure(
        name="cpu-per-interaction-events",
        title=title,
        chart=series.curves(Axis("users"), Axis.from_zero(name, series.rows())),
        data=Table.of(
            result.points,
            Col("users", _label),
            Col(name, lambda point: _bare(point.events)),
            name="cpu-per-interaction-events-data",
            caption=title,
        ),
        alt=_course(capital(name), _ends(result), lambda point: point.events),
        half=True,
    )


def _against_events(result: CpuPerInteraction) -> Figure | None:
    """Figure of CPU time and its components against events, points named by their users."""
    if not result.lines or result.event is None:
        return None
    counted = replace(result, points=tuple(point for point in result.points if point.events is not None))
    series = Series(
        _marks(counted, lambda point: point.events.value if point.events else 0.0, named=True), unit="s"
    )
    most = max(mark.x or 0.0 for mark in series.points)
    keys = {key.name: key for key in series.keys}
    lines = Series(
        [
            Mark(key=keys[line.component], x=x, y=line.intercept.value + line.slope.value * x)
            for line in result.lines
            for x in (0.0, most)
        ]
    )
    name = _events_name(result)
    slopes = [f"{line.component} {shown.estimate(line.slope)}" for line in result.lines]
    return Figure(
        name="cpu-per-interaction-lines",
        title=f"CPU time of an interaction against {name}",
        chart=series.labelled(
            Axis(f"{name} per interaction", low=0.0, high=1.02 * most),
            Axis.from_zero("CPU time [s]", [*series.rows(), *lines.rows()]),
            lines,
        ),
        data=_data(result, "lines"),
        alt=f"With an additional {result.event}: {listed(slopes)}. Points are named by their users.",
        keys=series.keys,
    )
