"""What the CPU time of an interaction is made of."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from thinktime.documents import charts
from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Column, Figure, Key, Section, Table
from thinktime.documents.wording import capital, ends, listed, range_of, refused, share, users
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.cpu_per_interaction.analysis import Decomposition, Point

__all__ = ["section"]

TITLE = "What is the CPU time of an interaction made of?"
WHOLE = Key("CPU time", colour="plain", shape="circle")
COLOURS = ("user", "memory", "system", "iowait", "queue", "steal")
"""Colours of the parts, in their order; with more they come round again."""
METHOD = (
    "CPU time of each part over interactions completed, at each number of users (Sekino 1969, Figures 1 to "
    "3); intervals: batch means of ratios. Lines: least squares through the points of all numbers of users; "
    "intervals from batches left out in turn, so that errors of events and of times, which go together, are "
    "both in them."
)


def section(result: Decomposition | NotApplicable) -> Section:
    """Section of the decomposition."""
    if isinstance(result, NotApplicable):
        return refused("decomposition", TITLE, result)
    tables = (_times(result), _shares(result), _per_event(result), _lines(result))
    figures = (_bars(result), _against_users(result), _events(result), _against_events(result))
    return Section(
        name="decomposition",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=tuple(table for table in tables if table.rows),
        figures=tuple(figure for figure in figures if figure is not None),
        caveats=result.caveats,
        method=METHOD,
    )


def _solid(result: Decomposition) -> list[Point]:
    return [point for point in result.points if not point.few] or list(result.points)


def _sentences(result: Decomposition) -> list[str]:
    first, last = _solid(result)[0], _solid(result)[-1]
    ends_of = [first] if first is last else [first, last]
    cpu = [f"{shown.estimate(point.cpu)} with {_users(point)}" for point in ends_of]
    found = [f"CPU time of an interaction of {result.of}: {listed(cpu)}."]
    run = [f"{_shown(point.shares[0])} with {_users(point)}" for point in ends_of if point.shares]
    if run:
        found.append(f"Of that, {result.parts[0]} was {listed(run)}.")
    event = result.event or ""
    per_event = first.per_event[1] if len(first.per_event) > 1 else None
    if per_event is not None:
        said = f"A {event} went with {shown.estimate(per_event)} of {result.parts[1]} with {_users(first)}"
        slope = next((line.slope for line in result.lines if line.part == result.parts[1]), None)
        found.append(f"{said}, an added one with {shown.estimate(slope)}." if slope else f"{said}.")
    return found


def _shown(value: Estimate) -> str:
    return shown.estimate(share(value) or value)


def _users(point: Point) -> str:
    return users(range_of(point.users_low, point.users_high))


def _label(point: Point) -> str:
    return range_of(point.users_low, point.users_high) + (" *" if point.few else "")


def _several(result: Decomposition) -> bool:
    return len({point.log for point in result.points}) > 1


def _table(
    result: Decomposition,
    name: str,
    caption: str,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Cell]],
) -> Table:
    """Table with a row a point, after its users and, where there are several, its log."""
    log = (Column("log"),) if _several(result) else ()
    heads = [(_label(point), *((point.log,) if log else ())) for point in result.points]
    return Table(
        name=f"decomposition-{name}",
        caption=caption,
        columns=(Column("users"), *log, *columns),
        rows=tuple((*head, *row) for head, row in zip(heads, rows, strict=True)),
    )


def _times(result: Decomposition) -> Table:
    event = [Column(shown.plural(result.event))] if result.event else []
    columns = [
        Column("interactions"),
        Column("CPU time", unit="s"),
        *(Column(part, unit="s") for part in result.parts),
        *event,
    ]
    rows = [
        (point.n, point.cpu, *point.parts, *((_bare(point.events),) if event else ()))
        for point in result.points
    ]
    return _table(result, "times", f"CPU time an interaction of {result.of}", columns, rows)


def _bare(value: Estimate | None) -> Cell:
    return (
        None
        if value is None
        else Estimate(
            value=value.value, unit="", n=value.n, method=value.method, low=value.low, high=value.high
        )
    )


def _shares(result: Decomposition) -> Table:
    nothing = (None,) * len(result.parts)
    rows = [tuple(map(share, point.shares)) or nothing for point in result.points]
    columns = [Column(part, unit="share") for part in result.parts]
    return _table(result, "shares", "Share of the CPU time of an interaction", columns, rows)


def _per_event(result: Decomposition) -> Table:
    caption = f"What is not {result.parts[0]}, over the number of {shown.plural(result.event or 'event')}"
    columns = [Column(part, unit="s") for part in result.parts[1:]]
    if result.event is None:
        return Table(
            name="decomposition-per-event", caption=caption, columns=(Column("users"), *columns), rows=()
        )
    rows = [point.per_event[1:] for point in result.points]
    return _table(result, "per-event", caption, columns, rows)


def _lines(result: Decomposition) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (capital(line.part), line.slope, line.intercept, line.deviation) for line in result.lines
    ]
    event = result.event or "event"
    columns = (
        Column("part"),
        Column(f"with an added {event}", unit="s"),
        Column(f"without a {event}", unit="s"),
        Column("points off the line", unit="s"),
    )
    return Table(
        name="decomposition-lines",
        caption=f"Lines of CPU time against {shown.plural(event)}, both an interaction",
        columns=columns,
        rows=tuple(rows),
        notes=("Without one is outside what was seen; points off the line is root mean square.",),
    )


def _keys(result: Decomposition) -> tuple[Key, ...]:
    return tuple(
        Key(part, colour=COLOURS[at % len(COLOURS)], shape="circle") for at, part in enumerate(result.parts)
    )


def _bars(result: Decomposition) -> Figure | None:
    """Shares by users, a bar each."""
    rows: list[dict[str, object]] = []
    cells: list[tuple[Cell, ...]] = []
    for point in result.points:
        label = _users(point) + (f", {point.log}" if _several(result) else "")
        at = 0.0
        for part, value in zip(result.parts, point.shares, strict=False):
            end = at + value.value
            text = shown.quantity(value.value, "share")
            rows.append(
                {
                    "label": label,
                    "part": part,
                    "share": value.value,
                    "start": at,
                    "end": end,
                    "shown": text,
                }
            )
            at = end
        cells.append((label, *(value.value for value in point.shares)))
    if not rows or any(not point.shares for point in result.points):
        return None
    columns = (Column("users"), *(Column(part, unit="share") for part in result.parts))
    title = "Shares of the CPU time of an interaction"
    first, last = _solid(result)[0], _solid(result)[-1]
    said = [_divided(result, point) for point in ([first] if first is last else [first, last])]
    return Figure(
        name="decomposition-shares",
        title=title,
        chart=partial(charts.bars, rows, _keys(result), "share of the CPU time"),
        data=Table(name="decomposition-shares-data", caption=title, columns=columns, rows=tuple(cells)),
        alt=f"{'; '.join(said)}.",
        keys=_keys(result),
    )


def _divided(result: Decomposition, point: Point) -> str:
    parts = zip(result.parts, point.shares, strict=True)
    return f"{_users(point)}: {listed([f'{part} {_percent(value)}' for part, value in parts])}"


def _percent(value: Estimate) -> str:
    return shown.quantity(value.value, "share")


def _row(point: Point, series: str, at: float, value: Estimate) -> dict[str, object]:
    low, high = ends(value)
    return {
        "x": at,
        "series": series,
        "value": value.value,
        "low": low,
        "high": high,
        "shown": shown.estimate(value),
        "few": point.few,
    }


def _against_users(result: Decomposition) -> Figure | None:
    if len({point.users for point in result.points}) < 2:
        return None
    keys = (WHOLE, *_keys(result))
    rows = [
        _row(point, key.name, point.users, value)
        for key, at in zip(keys, range(-1, len(result.parts)), strict=True)
        for point in result.points
        for value in [point.cpu if at < 0 else point.parts[at]]
    ]
    return Figure(
        name="decomposition-users",
        title="CPU time of an interaction against users",
        chart=partial(
            charts.curves, rows, keys, charts.Axis("users"), charts.Axis.from_zero("CPU time [s]", rows)
        ),
        data=_data_of(result, "users", keys),
        alt=_course(result, "CPU time", [point.cpu for point in _solid(result)]),
        keys=keys,
        half=True,
    )


def _data_of(result: Decomposition, name: str, keys: Sequence[Key]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (_label(point), point.cpu, *point.parts, _bare(point.events)) for point in result.points
    ]
    columns = (
        Column("users"),
        *(Column(key.name, unit="s") for key in keys),
        Column(shown.plural(result.event or "event")),
    )
    return Table(
        name=f"decomposition-{name}-data",
        caption="CPU time an interaction",
        columns=columns,
        rows=tuple(rows),
    )


def _course(result: Decomposition, what: str, values: Sequence[Estimate | None]) -> str:
    solid = _solid(result)
    first, last = values[0], values[-1]
    if first is None or last is None:
        return f"{what} was not measured."
    said = f"{what} an interaction: {shown.estimate(first)} with {_users(solid[0])}"
    return f"{said}, {shown.estimate(last)} with {_users(solid[-1])}." if len(solid) > 1 else f"{said}."


def _events(result: Decomposition) -> Figure | None:
    if result.event is None or len({point.users for point in result.points}) < 2:
        return None
    name = shown.plural(result.event)
    key = Key(name, colour="memory", shape="circle")
    rows = [
        _row(point, name, point.users, point.events) for point in result.points if point.events is not None
    ]
    cells = tuple((_label(point), _bare(point.events)) for point in result.points)
    title = f"{capital(name)} of an interaction against users"
    return Figure(
        name="decomposition-events",
        title=title,
        chart=partial(charts.curves, rows, (key,), charts.Axis("users"), charts.Axis.from_zero(name, rows)),
        data=Table(
            name="decomposition-events-data",
            caption=title,
            columns=(Column("users"), Column(name)),
            rows=cells,
        ),
        alt=_course(result, capital(name), [point.events for point in _solid(result)]),
        half=True,
    )


def _against_events(result: Decomposition) -> Figure | None:
    """CPU time and its parts against events, points named by their users."""
    if not result.lines or result.event is None:
        return None
    keys = (WHOLE, *_keys(result))
    rows: list[dict[str, object]] = []
    for key, at in zip(keys, range(-1, len(result.parts)), strict=True):
        for point in result.points:
            if point.events is None:
                continue
            value = point.cpu if at < 0 else point.parts[at]
            label = range_of(point.users_low, point.users_high) if at < 0 else ""
            rows.append({**_row(point, key.name, point.events.value, value), "label": label})
    places = [float(str(row["x"])) for row in rows]
    broken = [
        {"x": x, "value": line.intercept.value + line.slope.value * x, "series": line.part}
        for line in result.lines
        for x in (0.0, max(places))
    ]
    name = shown.plural(result.event)
    x, y = charts.Axis(f"{name} an interaction", low=0.0, high=1.02 * max(places)), "CPU time [s]"
    slopes = [f"{line.part} {shown.estimate(line.slope)}" for line in result.lines]
    return Figure(
        name="decomposition-lines",
        title=f"CPU time of an interaction against {name}",
        chart=partial(charts.labelled, rows, broken, keys, x, charts.Axis.from_zero(y, [*rows, *broken])),
        data=_data_of(result, "lines", keys),
        alt=f"With an added {result.event}: {listed(slopes)}. Points are named by their users.",
        keys=keys,
    )
