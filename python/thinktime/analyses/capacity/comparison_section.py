"""How several configurations use the capacity of their processors, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from thinktime.analyses.capacity.section import METHODS, bars, conditioned, groups, unitless
from thinktime.documents import charts
from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Column, Figure, Section, Table
from thinktime.documents.wording import bare, capital, listed, noun, refused, share
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.capacity.comparison import Comparison, Line

__all__ = ["section"]

TITLE = "How do the configurations use their processors?"
DIFFERENCES = "Differences to the first log: both intervals joined as those of independent estimates."


def section(result: Comparison | NotApplicable) -> Section:
    """Section of several logs' capacity."""
    if isinstance(result, NotApplicable):
        return refused("capacity", TITLE, result)
    tables = (
        _settings(result),
        *_pair(result, "uses", "Share of the capacity, by use", result.uses, "share"),
        *_pair(result, "states", "Share of the capacity, by state", result.states, "share"),
        *(() if result.metered else _pair(result, "shares", "Share, by event", result.shares, "share")),
        *_pair(result, "between", "Mean time between events, per processor", result.between, "s"),
        *_pair(result, "overheads", "Mean overhead per event", result.overheads, "s"),
        _checks(result),
    )
    method = METHODS[result.metered]
    return Section(
        name="capacity",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=tuple(table for table in tables if table.rows),
        figures=(_figure(result),),
        caveats=result.caveats,
        method=f"{method} {DIFFERENCES}",
    )


def _sentences(result: Comparison) -> list[str]:
    """Say what became of useful work and idle time, and which overhead changed most."""
    found = []
    first = result.results[0]
    for at, (name, other) in enumerate(zip(result.names[1:], result.results[1:], strict=True)):
        used = f"User programs had {_percent(first.user)} of the capacity in {result.names[0]} and "
        change = _points(result.uses[0].differences[at])
        found.append(f"{used}{_percent(other.user)} in {name} ({change}).")
        changed = [line for line in result.states if _told(line.differences[at])]
        changed.sort(key=lambda line: -abs(_value(line.differences[at])))
        if changed:
            parts = [f"{line.label} {_points(line.differences[at])}" for line in changed[:3]]
            found.append(f"From {result.names[0]} to {name} changed most: {listed(parts)} of the capacity.")
        costlier = [line for line in result.overheads if _told(line.differences[at])]
        costlier.sort(key=lambda line: -abs(_value(line.differences[at]) / (_value(line.values[0]) or 1.0)))
        parts = [
            f"{_event(line)} {_cost(line.values[0])} to {_cost(line.values[at + 1])}" for line in costlier[:3]
        ]
        if parts:
            found.append(f"Overhead an event: {listed(parts)}.")
    return found


def _told(value: Estimate | None) -> bool:
    """Whether the difference is told from none."""
    return (
        value is not None
        and value.low is not None
        and value.high is not None
        and not value.low <= 0.0 <= value.high
    )


def _value(value: Estimate | None) -> float:
    return 0.0 if value is None else value.value


def _percent(value: Estimate) -> str:
    return shown.quantity(value.value, "share")


def _points(value: Estimate | None) -> str:
    return shown.cell(share(value)).replace("%", "points")


def _cost(value: Estimate | None) -> str:
    return shown.quantity(_value(value), "s")


def _event(line: Line) -> str:
    return noun(line.name, line.label)


def _settings(result: Comparison) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (conditioned(item.label, item.unit), *(unitless(value) for value in item.values))
        for item in result.settings
    ]
    columns = (Column("configuration"), *(Column(name) for name in result.names))
    return Table(name="capacity-configurations", caption="Configurations", columns=columns, rows=tuple(rows))


def _pair(
    result: Comparison, name: str, caption: str, lines: Sequence[Line], unit: str
) -> tuple[Table, Table]:
    """Table of values side by side, and of their differences to the first log."""

    def cell(value: Estimate | None) -> Cell:
        if value is None:
            return None
        return share(value) if unit == "share" else bare(value)

    of = {"uses": "use", "states": "state"}.get(name, "event")
    labels = [capital(_event(line)) for line in lines]
    rows = [(label, *map(cell, line.values)) for label, line in zip(labels, lines, strict=True)]
    changes = [
        (label, *map(cell, line.differences))
        for label, line in zip(labels, lines, strict=True)
        if any(value is not None for value in line.differences)
    ]
    columns = (Column(of), *(Column(each, unit=unit) for each in result.names))
    others = (Column(of), *(Column(f"{each} less {result.names[0]}", unit=unit) for each in result.names[1:]))
    points = ", in points" if unit == "share" else ""
    return (
        Table(name=f"capacity-{name}", caption=caption, columns=columns, rows=tuple(rows)),
        Table(
            name=f"capacity-{name}-differences",
            caption=f"{caption}: differences{points}",
            columns=others,
            rows=tuple(changes),
        ),
    )


def _checks(result: Comparison) -> Table:
    """Largest disagreement of the identity, and what all states add to."""
    off = tuple(
        round(max((abs(check.product - check.share) for check in each.checks), default=0.0), 9)
        for each in result.results
    )
    rows: list[tuple[Cell, ...]] = [
        ("All states, of CPUs x time", *(each.accounted for each in result.results)),
        ("Overhead / time between against the share: largest difference", *off),
    ]
    columns = (Column("check"), *(Column(name, unit="share") for name in result.names))
    return Table(
        name="capacity-checks",
        caption="Check: the shares of each log add to 100 %",
        columns=columns,
        rows=tuple(rows),
    )


def _figure(result: Comparison) -> Figure:
    """One bar a configuration."""
    drawn = [groups(each) for each in result.results]
    keys = tuple({group.key.name: group.key for own in drawn for group in own}.values())
    rows = [
        {**row, "label": name} for name, own in zip(result.names, drawn, strict=True) for row in bars(own)
    ]
    cells: list[tuple[Cell, ...]] = []
    for name, own in zip(result.names, drawn, strict=True):
        shares = {group.key.name: group.share for group in own}
        cells.append((name, *(shares.get(key.name) for key in keys)))
    title = "CPU time of each configuration"
    columns = (Column("log"), *(Column(key.name, unit="share") for key in keys))
    said = []
    for name, own in zip(result.names, drawn, strict=True):
        words = [f"{group.key.name} {shown.quantity(group.share, 'share')}" for group in own]
        said.append(f"{name}: {listed(words)}")
    return Figure(
        name="capacity-compared",
        title=title,
        chart=partial(charts.bars, rows, keys, "share of all CPU time"),
        data=Table(name="capacity-compared-data", caption=title, columns=columns, rows=tuple(cells)),
        alt=f"{'; '.join(said)}.",
        keys=keys,
    )
