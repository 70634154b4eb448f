"""Figures that show how far the costs of the overhead regression can be relied on."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from thinktime.documents import charts
from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Column, Figure, Key, Table
from thinktime.documents.wording import bare, ends, listed, noun, p_value
from thinktime.stats.estimate import Estimate

if TYPE_CHECKING:
    from thinktime.analyses.overhead.analysis import Cost, Overhead

__all__ = ["intervals", "relative", "spread"]

METHODS = (
    Key("Newey-West", colour="regression", shape="circle"),
    Key("block bootstrap", colour="disk", shape="circle"),
    Key("textbook", colour="other", shape="circle"),
    Key("robust", colour="direct", shape="diamond"),
    Key("none negative", colour="memory", shape="square"),
)
FARTHEST = 3.0
"""Relative to the cost, how far from it a figure is drawn; beyond it is cut, and stands in the table."""
PARTS = ("user", "system", "disk", "memory", "net", "iowait", "interrupt", "steal")


def relative(label: str, series: str, value: Estimate, to: float) -> dict[str, object]:
    """Row of a chart: an estimate over a cost, cut where it would press all others together."""
    low, high = sorted(end / to for end in ends(value))
    return {
        "label": label,
        "series": series,
        "value": min(max(value.value / to, 1.0 - FARTHEST), 1.0 + FARTHEST),
        "low": max(low, 1.0 - FARTHEST),
        "high": min(high, 1.0 + FARTHEST),
        "shown": shown.estimate(bare(value)),
    }


def intervals(result: Overhead) -> Figure | None:
    """Each cost with its three intervals and two other fits, relative to the cost."""
    costs = [cost for cost in result.costs if cost.seconds.value > 0.0]
    if not costs:
        return None
    rows = []
    for cost in costs:
        label = noun(cost.request, cost.label)
        for key, value in zip(METHODS, _methods(cost), strict=True):
            if value is not None:
                rows.append(relative(label, key.name, value, cost.seconds.value))
    cells: tuple[tuple[Cell, ...], ...] = tuple(
        (noun(cost.request, cost.label), *(value and bare(value) for value in _methods(cost)))
        for cost in costs
    )
    unit = bare(costs[0].seconds).unit
    table = Table(
        name="overhead-intervals-data",
        caption="Costs by method",
        columns=(Column("request"), *(Column(key.name, unit=unit) for key in METHODS)),
        rows=cells,
    )
    said = [f"{noun(cost.request, cost.label)} {shown.estimate(bare(cost.seconds))}" for cost in costs]
    alt = (
        f"Relative to the cost by least squares; {listed(said)} by Newey and West. A line is an interval; "
        "one that is farther than three times the cost away is cut."
    )
    axis = charts.Axis("relative to the cost by least squares", format=".2~f")
    chart = partial(charts.dots, rows, METHODS, axis)
    return Figure(
        name="overhead-intervals-chart",
        title="How sure is each cost?",
        chart=chart,
        data=table,
        alt=alt,
        keys=METHODS,
    )


def _methods(cost: Cost) -> tuple[Estimate | None, ...]:
    def point(value: float) -> Estimate:
        return Estimate(value=value, unit=cost.seconds.unit, n=cost.seconds.n, method="point only")

    return (cost.seconds, cost.bootstrap, cost.textbook, point(cost.robust), point(cost.non_negative))


def spread(result: Overhead) -> Figure | None:
    """Each cost in each part of the log, relative to that of the whole."""
    if result.stability is None or len(result.stability.parts) > len(PARTS):
        return None
    whole = {cost.request: cost.seconds.value for cost in result.costs if cost.seconds.value > 0.0}
    spreads = [item for item in result.stability.spreads if item.request in whole]
    if not spreads:
        return None
    numbers = range(1, len(result.stability.parts) + 1)
    keys = tuple(Key(f"part {number}", colour=PARTS[number - 1], shape="circle") for number in numbers)
    rows = [
        relative(noun(item.request, item.label), key.name, value, whole[item.request])
        for item in spreads
        for key, value in zip(keys, item.seconds, strict=True)
    ]
    unit = bare(result.costs[0].seconds).unit
    table = Table(
        name="overhead-spread-data",
        caption="Costs in each part of the log",
        columns=(Column("request"), *(Column(key.name, unit=unit) for key in keys)),
        rows=tuple(
            (noun(item.request, item.label), *(bare(value) for value in item.seconds)) for item in spreads
        ),
    )
    named = [
        f"{noun(item.request, item.label)} {shown.number(item.ratio, 2)} times ({p_value(item.robust.p)})"
        for item in spreads
    ]
    alt = (
        f"Spread between parts over the textbook's standard error: {listed(named)}; p allows for "
        "correlated errors."
    )
    axis = charts.Axis("relative to the cost in the whole log", format=".2~f")
    chart = partial(charts.dots, rows, keys, axis)
    title = "Does each part of the log give the same cost?"
    return Figure(name="overhead-spread", title=title, chart=chart, data=table, alt=alt, keys=keys)
