"""Throughput against load: the mean rates of Table 7, the loads of Table 10, and Figures 1 to 5."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from thinktime.documents.document import Col, Cols, Table
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.studies.bard_1971 import charts
from thinktime.studies.bard_1971.records import DATA_SETS, LOADS, PAPER, PERIODS, RATES, record_of
from thinktime.studies.cells import Cell
from thinktime.studies.laboratory import Laboratory, applicable, remembered
from thinktime.studies.study import Chapter

if TYPE_CHECKING:
    from thinktime.analyses.throughput.analysis import Throughput
    from thinktime.analyses.throughput.comparison import ThroughputComparison
    from thinktime.log import Log


RECORDED = {
    "cp_time": "cp_s",
    "vsio": "vsio",
    "vmio": "vmio",
    "page_io": "page_ios",
    "spool_io": "spool_ios",
    "problem_state_time": "problem_s",
}
"""Columns of the log by what Table 7 calls them."""
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
"""Of these, those that are fractions of real time."""

_SAMPLE = "A period is one sample of users and days: other runs differ by several per cent (other months)."
NOTES = {RATES: (_SAMPLE,), LOADS: (_SAMPLE,)}
"""Why cells miss."""


def chapter(laboratory: Laboratory) -> Chapter:
    """Tables 7 and 10, published and ours, and Figures 1 to 5."""
    summary = (
        "Users, their sessions and their programs were calibrated so that these mean rates and loads come "
        "out; how each rate depends on the number of active users was not.",
        "Means over whole periods must not be compared: their loads differ. At equal load they may.",
    )
    method = (
        "Rates are sums over times. Observations are grouped by pairs of active users; means of groups with "
        "intervals allow for correlation in time. Groups with fewer than "
        f"{ENOUGH} observations are hollow: their means are not relied on."
    )
    results = {period: by_load(laboratory, period) for period in PERIODS}
    comparison = at_equal_load(laboratory)
    return Chapter(
        cells=(*_rates(laboratory), *_loads(laboratory), *_facts(laboratory)),
        summary=summary,
        charts=tuple(charts.by_load(plot, results) for plot in charts.PLOTS),
        tables=() if isinstance(comparison, NotApplicable) else (_equal_load(comparison),),
        notes=NOTES,
        method=method,
    )


@remembered
def by_load(laboratory: Laboratory, period: str) -> Throughput:
    """Means of a period in groups of two active users."""
    from thinktime.analyses.throughput import analysis as throughput

    log = record_of(laboratory, period).log
    return applicable(throughput.analyse(log, load="active_users", width=PAIR, n_few=ENOUGH))


@remembered
def at_equal_load(laboratory: Laboratory) -> ThroughputComparison | NotApplicable:
    """The three periods at one common distribution of loads."""
    from thinktime.analyses.throughput import comparison as throughput_comparison

    logs = [record_of(laboratory, period).log for period in PERIODS]
    return throughput_comparison.compare(logs, PERIODS, load="active_users", width=PAIR, n_few=ENOUGH)


def _rates(laboratory: Laboratory) -> Iterator[Cell]:
    from thinktime.analyses.rates import analysis as rates

    for period, column in DATA_SETS.items():
        log = record_of(laboratory, period).log
        result = applicable(rates.analyse(log))
        means = {item.column: item.mean for item in result.rates}
        for row in PAPER.tables[RATES].rows:
            ours = means[RECORDED[str(row["request_type"])]]
            yield PAPER.simulated(RATES, row, column, ours)


def counted(result: Throughput) -> dict[tuple[int, int], int]:
    """Observations in each group, by its ends."""
    return {(int(group.load_low), int(group.load_high)): group.n for group in result.groups}


def _loads(laboratory: Laboratory) -> Iterator[Cell]:
    for period, column in DATA_SETS.items():
        result = by_load(laboratory, period)
        values = counted(result)
        for row in PAPER.tables[LOADS].rows:
            count = values.get((int(row["active_users_low"]), int(row["active_users_high"])), 0)
            ours = Estimate(value=float(count), unit="observations", n=result.n, method="counted")
            yield PAPER.simulated(LOADS, row, column, ours, total=result.n)


def last_reliable(results: list[dict[tuple[int, int], int]]) -> int:
    """The most active users of a group that has enough observations in all periods."""
    ends = sorted({ends for result in results for ends in result})
    enough = [high for low, high in ends if all(result.get((low, high), 0) >= ENOUGH for result in results)]
    return max(enough, default=0)


def _facts(laboratory: Laboratory) -> Iterator[Cell]:
    ours = last_reliable([counted(by_load(laboratory, period)) for period in PERIODS])
    estimate = Estimate(
        value=float(ours), unit="active users", n=len(PERIODS), method="last group with enough observations"
    )
    yield PAPER.fact("reliable-active-users", estimate)
    printed: list[dict[tuple[int, int], int]] = []
    for column in DATA_SETS.values():
        cells = PAPER.tables[LOADS].printed(column)
        printed.append(
            {
                (int(row["active_users_low"]), int(row["active_users_high"])): int(cell.value)
                for row, cell in cells
            }
        )
    theirs = Estimate(
        value=float(last_reliable(printed)), unit="active users", n=len(printed), method="from Table 10"
    )
    yield PAPER.recomputed_fact("reliable-active-users", theirs)
    lengths = [_mean_length(record_of(laboratory, period).log) for period in PERIODS]
    minutes = Estimate(
        value=sum(lengths) / len(lengths) / 60.0, unit="minutes", n=len(lengths), method="mean length"
    )
    yield PAPER.fact("observation-interval", minutes)


def _mean_length(log: Log) -> float:
    """Mean length of an observation [s]."""
    from thinktime.log import observations

    return float(observations.read(log, []).length_s.mean())


def _equal_load(comparison: ThroughputComparison) -> Table:
    """Means at one distribution of loads, and means of whole periods."""
    low, high = comparison.standard[0].low, comparison.standard[-1].high
    return Table.of(
        comparison.measures,
        Col("rate", lambda measure: MEASURES.get(measure.name, measure.label)),
        Col("unit", lambda measure: measure.unit),
        Cols(
            [f"{curve.name}, {which}" for curve in comparison.curves for which in ("at equal load", "whole")],
            lambda measure: [
                means.get(measure.name)
                for curve in comparison.curves
                for means in (curve.equal_load, curve.whole)
            ],
            scaled=False,
        ),
        name="equal-load",
        caption="Means at one common distribution of loads",
        notes=(f"The common distribution of loads is over {low:.0f} to {high:.0f} active users.",),
    )
