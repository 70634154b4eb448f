"""Section of the capacity of several configurations, with differences from the first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from thinktime.analyses.capacity import section as single
from thinktime.analyses.capacity.section import METHODS, condition_name, groups, shares_of, unitless
from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Col, Cols, Figure, Section, Table
from thinktime.documents.series import Series
from thinktime.documents.wording import bare, capital, listed, noun, refused, share, worded
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.capacity.comparison import CapacityComparison, Line

TITLE = "How do the configurations use their processors?"
DIFFERENCES = "Differences from the first log; intervals assume independent estimates."
CPUS_ALIKE = 0.01
"""Relative difference of the CPUs of two logs below which shares of them compare as amounts do."""
NAMED_MOST = 3


def _of_logs(caveat: Caveat, names: Sequence[str]) -> str:
    (text,) = worded([caveat], single.WORDS)
    return f"{', '.join(names)}: {text}" if names else text


WORDS: Mapping[str, Callable[..., str]] = {
    "of_logs": _of_logs,
    "many_intervals": lambda: (
        "Each interval holds individually; among many differences, some lie outside their intervals by "
        "chance."
    ),
}


def section(result: CapacityComparison | NotApplicable) -> Section:
    """Section of the capacity of several logs."""
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
    return Section(
        name="capacity",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=tuple(table for table in tables if table.rows),
        figures=(_figure(result),),
        caveats=worded(result.caveats, WORDS),
        method=f"{METHODS[result.metered]} {DIFFERENCES}",
    )


def _sentences(result: CapacityComparison) -> Iterator[str]:
    """Change of useful work and idle time, and the overheads that changed most, for each log."""
    base, first = result.names[0], result.results[0]
    for index, (name, other) in enumerate(zip(result.names[1:], result.results[1:], strict=True)):
        yield (
            f"User programs had {_percent(first.user.value)} of the capacity in {base} and "
            f"{_percent(other.user.value)} in {name} ({_points(result.uses[0].differences[index])})."
        )
        if abs(other.cpus - first.cpus) > CPUS_ALIKE * first.cpus:
            # Of twice the capacity, a smaller share may be more work.
            used = [shown.quantity(each.user.value * each.cpus, "CPU") for each in (first, other)]
            yield f"The capacities differ: that is {used[0]} in {base} and {used[1]} in {name}."
        changed = [line for line in result.states if _is_significant(line.differences[index])]
        changed.sort(key=lambda line: -abs(_value(line.differences[index])))
        if changed:
            parts = [f"{line.label} {_points(line.differences[index])}" for line in changed[:NAMED_MOST]]
            yield f"The greatest changes from {base} to {name}, in shares of the capacity: {listed(parts)}."
        costlier = [line for line in result.overheads if _is_significant(line.differences[index])]
        costlier.sort(
            key=lambda line: -abs(_value(line.differences[index]) / (_value(line.values[0]) or 1.0))
        )
        parts = [
            f"{_name(line)} from {_cost(line.values[0])} to {_cost(line.values[index + 1])}"
            for line in costlier[:NAMED_MOST]
        ]
        if parts:
            yield f"Overhead per event: {listed(parts)}."


def _is_significant(value: Estimate | None) -> bool:
    """True if the interval excludes zero."""
    return (
        value is not None
        and value.low is not None
        and value.high is not None
        and not value.low <= 0.0 <= value.high
    )


def _value(value: Estimate | None) -> float:
    return 0.0 if value is None else value.value


def _percent(value: float) -> str:
    return shown.quantity(value, "share")


def _points(value: Estimate | None) -> str:
    text = shown.cell(share(value)).replace("%", "points")
    return f"+{text}" if _value(value) > 0.0 else text


def _cost(value: Estimate | None) -> str:
    return shown.quantity(_value(value), "s")


def _name(line: Line) -> str:
    return noun(line.name, line.label)


def _settings(result: CapacityComparison) -> Table:
    return Table.of(
        result.settings,
        Col("configuration", lambda item: condition_name(item.label, item.unit)),
        Cols(result.names, lambda item: [unitless(value) for value in item.values]),
        name="capacity-configurations",
        caption="Configurations",
    )


def _pair(
    result: CapacityComparison, name: str, caption: str, lines: Sequence[Line], unit: str
) -> tuple[Table, Table]:
    """Table of values, and table of their differences from the first log."""

    def cell(value: Estimate | None) -> Cell:
        if value is None:
            return None
        return share(value) if unit == "share" else bare(value)

    heading: Col[Line] = Col(
        {"uses": "use", "states": "state"}.get(name, "event"), lambda line: capital(_name(line))
    )
    points = ", in points" if unit == "share" else ""
    return (
        Table.of(
            lines,
            heading,
            Cols(result.names, lambda line: map(cell, line.values), unit=unit),
            name=f"capacity-{name}",
            caption=caption,
        ),
        Table.of(
            [line for line in lines if any(value is not None for value in line.differences)],
            heading,
            Cols(
                [f"{other} less {result.names[0]}" for other in result.names[1:]],
                lambda line: map(cell, line.differences),
                unit=unit,
            ),
            name=f"capacity-{name}-differences",
            caption=f"{caption}: differences{points}",
        ),
    )


def _checks(result: CapacityComparison) -> Table:
    """Total of all states, and largest disagreement of the identity, for each log."""
    differences = [
        round(max((abs(check.product - check.share) for check in one.checks), default=0.0), 9)
        for one in result.results
    ]
    rows = [
        ("All states, of CPUs x time", [one.accounted for one in result.results]),
        ("Overhead / time between against the share: largest difference", differences),
    ]
    return Table.of(
        rows,
        Col("check", lambda row: row[0]),
        Cols(result.names, lambda row: row[1], unit="share"),
        name="capacity-checks",
        caption="Check: the shares of each log add to 100 %",
    )


def _figure(result: CapacityComparison) -> Figure:
    """A bar for each configuration."""
    drawn = [groups(one) for one in result.results]
    title = "CPU time of each configuration"
    series = Series(
        [point for name, items in zip(result.names, drawn, strict=True) for point in shares_of(items, name)],
        unit="share",
    )
    words = []
    for name, items in zip(result.names, drawn, strict=True):
        parts = [f"{group.key.name} {_percent(group.share)}" for group in items]
        words.append(f"{name}: {listed(parts)}")
    return Figure(
        name="capacity-compared",
        title=title,
        chart=series.bars("share of all CPU time", filled=True),
        data=series.table("capacity-compared-data", title, "log"),
        alt=f"{'; '.join(words)}.",
        keys=series.keys,
    )
