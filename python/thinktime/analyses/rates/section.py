"""Section of the rates: a table of counters and a table of gauges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Col, Section, Table
from thinktime.documents.wording import loads_chosen, refused, there_are_only, worded
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.rates.analysis import Rate, Rates

TITLE = "What is the mean rate of every counter?"
METHOD = "Means over measured time; their intervals allow for the correlation of successive intervals."
WORDS: Mapping[str, Callable[..., str]] = {
    "few_intervals": lambda intervals: (
        f"{there_are_only(intervals, 'interval')}, too few for batches: the confidence intervals assume "
        "independent intervals, which they are not, and are too narrow."
    ),
    "drifting": lambda series, of, above, example: (
        f"one of {of} series, {example}, is strongly autocorrelated (above {above}): its mean depends on the "
        "times at which the log began and ended."
        if series == 1
        else f"{series} of {of} series, {example} among them, are strongly autocorrelated (above {above}): "
        "their means depend on the times at which the log began and ended."
    ),
    "loads_chosen": loads_chosen,
    "no_length": lambda rows: f"{rows} rows without a positive length are left out.",
}


def section(result: Rates | NotApplicable) -> Section:
    """Section of the rates."""
    if isinstance(result, NotApplicable):
        return refused("rates", TITLE, result)
    rates = [item for item in result.rates if item.column not in result.always_zero]
    counters = [item for item in rates if item.kind == "counter"]
    gauges = [item for item in rates if item.kind == "gauge"]
    sentence = (
        f"{shown.count(len(counters), 'counter')} and {shown.count(len(gauges), 'gauge')} over "
        f"{shown.duration(result.time_s)} in {shown.count(result.intervals, 'interval')}."
    )
    tables = (
        _table("rates-counters", "Counters, per second", counters),
        _table("rates-gauges", "Gauges, as read at the end of each interval", gauges),
        Table.of(
            result.always_zero,
            Col("column", str),
            name="rates-zero",
            caption="Counters that never increased",
            folded=True,
        ),
    )
    return Section(
        name="rates",
        title=TITLE,
        summary=(sentence,),
        tables=tuple(table for table in tables if table.rows),
        caveats=worded(result.caveats, WORDS),
        method=METHOD,
    )


def _table(name: str, caption: str, rates: Sequence[Rate]) -> Table:
    return Table.of(
        rates,
        Col("column", lambda item: item.column),
        Col("mean", lambda item: item.mean),
        Col("lowest", lambda item: shown.quantity(item.lowest, item.mean.unit)),
        Col("highest", lambda item: shown.quantity(item.highest, item.mean.unit)),
        Col("total", _total),
        Col("correlation", lambda item: item.autocorrelation),
        name=name,
        caption=caption,
        folded=True,
    )


def _total(item: Rate) -> Cell:
    """Amount over the whole log, in the unit of the column."""
    return None if item.total is None else shown.quantity(item.total, item.mean.unit.removesuffix("/s"))
