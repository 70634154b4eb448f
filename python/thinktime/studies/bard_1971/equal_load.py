"""The three periods at one common distribution of loads, where alone they can be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thinktime.documents.document import Cell, Column, Table
from thinktime.stats.estimate import NotApplicable
from thinktime.studies.bard_1971.records import PERIODS, record_of
from thinktime.studies.laboratory import Laboratory, remembered

if TYPE_CHECKING:
    from thinktime.analyses.throughput.comparison import ThroughputComparison


PAIR = 2
"""Numbers of active users in a group of Table 10."""
ENOUGH = 20
"""Least observations of a group whose mean is relied on; by Table 10, what the paper relies on has more."""
MEASURES = {
    "user_time": "problem state",
    "system_time": "CP time",
    "idle_time": "wait",
    "vsio": "VSIO",
    "page_ios": "page I/O",
}
TIMES = ("user_time", "system_time", "idle_time")


@remembered
def at_equal_load(laboratory: Laboratory) -> ThroughputComparison | NotApplicable:
    """The three periods at one common distribution of loads."""
    from thinktime.analyses.throughput import comparison as throughput_comparison

    logs = [record_of(laboratory, period).log for period in PERIODS]
    return throughput_comparison.compare(logs, PERIODS, load="active_users", width=PAIR, n_few=ENOUGH)


def equal_load_table(laboratory: Laboratory) -> Table | None:
    """Means at one distribution of loads, and means of whole periods; None where no loads are common."""
    comparison = at_equal_load(laboratory)
    if isinstance(comparison, NotApplicable):
        return None
    rows: list[tuple[Cell, ...]] = []
    for measure in comparison.measures:
        cells = [
            means.get(measure.name)
            for curve in comparison.curves
            for means in (curve.equal_load, curve.whole)
        ]
        rows.append((MEASURES.get(measure.name, measure.label), measure.unit, *cells))
    columns = (
        Column("rate"),
        Column("unit"),
        *(
            Column(f"{curve.name}, {what}", scaled=False)
            for curve in comparison.curves
            for what in ("at equal load", "whole")
        ),
    )
    low, high = comparison.standard[0].low, comparison.standard[-1].high
    note = f"The common distribution of loads is over {low:.0f} to {high:.0f} active users."
    return Table(
        name="equal-load",
        caption="Means at one common distribution of loads",
        columns=columns,
        rows=tuple(rows),
        notes=(note,),
    )
