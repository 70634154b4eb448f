"""How much of everything happened a second."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Column, Section, Table
from thinktime.documents.wording import refused
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.rates.analysis import Rate, Rates

__all__ = ["section"]

TITLE = "How much of everything happened?"


def section(result: Rates | NotApplicable) -> Section:
    """Section of the rates."""
    if isinstance(result, NotApplicable):
        return refused("rates", TITLE, result)
    rates = tuple(item for item in result.rates if item.column not in result.always_zero)
    counters = tuple(item for item in rates if item.kind == "counter")
    gauges = tuple(item for item in rates if item.kind == "gauge")
    sentence = (
        f"{shown.count(len(counters), 'counter')} and {shown.count(len(gauges), 'gauge')} over "
        f"{shown.duration(result.time_s)} in {shown.count(result.intervals, 'interval')}."
    )
    tables = [
        _table("rates-counters", "Counters, a second", counters),
        _table("rates-gauges", "Gauges, as read at the end of each interval", gauges),
        _names("rates-zero", "Counters that never moved", result.always_zero),
    ]
    return Section(
        name="rates",
        title=TITLE,
        summary=(sentence,),
        tables=tuple(table for table in tables if table.rows),
        figures=(),
        caveats=result.caveats,
        method=(
            "Means over measured time; their intervals allow for the correlation of "
            "one interval with the next."
        ),
    )


def _table(name: str, caption: str, rates: tuple[Rate, ...]) -> Table:
    columns = (
        Column("what"),
        Column("mean"),
        Column("lowest"),
        Column("highest"),
        Column("total"),
        Column("correlation"),
    )
    rows: list[tuple[Cell, ...]] = []
    for item in rates:
        unit = item.mean.unit
        total = None if item.total is None else shown.quantity(item.total, unit.removesuffix("/s"))
        rows.append(
            (
                item.column,
                item.mean,
                shown.quantity(item.lowest, unit),
                shown.quantity(item.highest, unit),
                total,
                item.autocorrelation,
            )
        )
    return Table(name=name, caption=caption, columns=columns, rows=tuple(rows), folded=True)


def _names(name: str, caption: str, names: tuple[str, ...]) -> Table:
    return Table(
        name=name,
        caption=caption,
        columns=(Column("column"),),
        rows=tuple((item,) for item in names),
        folded=True,
    )
