"""Throughput against load: the mean rates of Table 7, the loads of Table 10, and Figures 1 to 5."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from thinktime.documents import charts, document
from thinktime.documents import format as shown
from thinktime.documents.charts import Axis
from thinktime.documents.document import Column, Key, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.bard_1971.equal_load import ENOUGH, PAIR, equal_load_table
from thinktime.studies.bard_1971.records import LOADS, PAPER, PERIODS, RATES, record_of
from thinktime.studies.cells import Cell
from thinktime.studies.estimates import scaled
from thinktime.studies.laboratory import Laboratory, applicable, remembered
from thinktime.studies.study import Chapter

if TYPE_CHECKING:
    from thinktime.analyses.throughput.analysis import Group, Throughput


COLUMN_OF = {"II-2": "ii_2", "II-3": "ii_3", "III-3": "iii_3"}
SHADES = {"II-2": "memory", "II-3": "system", "III-3": "user"}
RECORDED = {
    "cp_time": "cp_s",
    "vsio": "vsio",
    "vmio": "vmio",
    "page_io": "page_ios",
    "spool_io": "spool_ios",
    "problem_state_time": "problem_s",
}
"""Columns of the log by what Table 7 calls them."""


_SAMPLE = "A period is one sample of users and days: other runs differ by several per cent (other months)."
NOTES = {RATES: (_SAMPLE,), LOADS: (_SAMPLE,)}
"""Why cells miss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """One of Figures 1 to 5."""

    number: int
    measure: str
    title: str
    axis: str
    factor: float


PLOTS = (
    Plot(
        number=1,
        measure="user_time",
        title="Problem state time",
        axis="problem state, % of real time",
        factor=100.0,
    ),
    Plot(number=2, measure="system_time", title="CP time", axis="CP time, % of real time", factor=100.0),
    Plot(number=3, measure="idle_time", title="Wait time", axis="wait time, % of real time", factor=100.0),
    Plot(number=4, measure="vsio", title="VSIO", axis="VSIO per second", factor=1.0),
    Plot(number=5, measure="page_ios", title="Page I/O", axis="page I/O per second", factor=1.0),
)


def chapter(laboratory: Laboratory) -> Chapter:
    """Tables 7 and 10, published and ours, and Figures 1 to 5."""
    figures = (*_rates(laboratory), *_loads(laboratory), *_facts(laboratory))
    summary = (
        "Users, their sessions and their programs were calibrated so that these mean rates and loads come "
        "out; how each rate depends on the number of active users was not.",
        "Means over whole periods must not be compared: their loads differ. At equal load they may.",
    )
    method = (
        "Rates are sums over times. Observations are grouped by pairs of active users; means of groups with "
        "intervals by batch means. Groups with fewer than "
        f"{ENOUGH} observations are hollow: their means are not relied on."
    )
    pictures = tuple(_picture(laboratory, plot) for plot in PLOTS)
    table = equal_load_table(laboratory)
    tables = () if table is None else (table,)
    return Chapter(cells=figures, summary=summary, charts=pictures, tables=tables, notes=NOTES, method=method)


@remembered
def by_load(laboratory: Laboratory, period: str) -> Throughput:
    """Means of a period in groups of two active users."""
    from thinktime.analyses.throughput import analysis as throughput

    log = record_of(laboratory, period).log
    return applicable(throughput.analyse(log, load="active_users", width=PAIR, n_few=ENOUGH))


def _rates(laboratory: Laboratory) -> Iterator[Cell]:
    from thinktime.analyses.rates import analysis as rates

    for period, column in COLUMN_OF.items():
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
    for period, column in COLUMN_OF.items():
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
    for column in COLUMN_OF.values():
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
    interval = [record_of(laboratory, period).log for period in PERIODS]
    lengths = [_mean_length(log) for log in interval]
    minutes = Estimate(
        value=sum(lengths) / len(lengths) / 60.0, unit="minutes", n=len(lengths), method="mean length"
    )
    yield PAPER.fact("observation-interval", minutes)


def _mean_length(log: object) -> float:
    from thinktime.log import Log, observations

    assert isinstance(log, Log)
    return float(observations.read(log, []).length_s.mean())


def _picture(laboratory: Laboratory, plot: Plot) -> document.Figure:
    keys = tuple(Key(period, colour=SHADES[period], shape="line") for period in PERIODS)
    rows: list[dict[str, object]] = []
    cells: list[tuple[document.Cell, ...]] = []
    listed = []
    for period in PERIODS:
        result = by_load(laboratory, period)
        selected = list(_points(result, plot))
        rows += [_row(period, group, mean) for group, mean in selected]
        cells += [(period, _range(group), group.n, mean) for group, mean in selected]
        reliable = [(group, mean) for group, mean in selected if not group.few]
        if reliable:
            (first, start), (last, end) = reliable[0], reliable[-1]
            listed.append(
                f"{period} from {shown.number(start.value)} with {_range(first)} to "
                f"{shown.number(end.value)} with {_range(last)} active users"
            )
    y = Axis.from_zero(plot.axis, rows)
    if plot.factor != 1.0:
        y = replace(y, high=min(y.high or 100.0, 100.0))
    name = f"figure-{plot.number}"
    columns = (Column("data set"), Column("active users"), Column("n"), Column(plot.axis, scaled=False))
    return document.Figure(
        name=name,
        title=f"{plot.title} against active users (Figure {plot.number})",
        chart=partial(charts.curves, rows, keys, Axis("active users", low=0.0), y),
        data=Table(
            name=f"{name}-data", caption=f"{plot.title} by active users", columns=columns, rows=tuple(cells)
        ),
        alt="; ".join(listed) + ". Hollow points rest on few observations.",
        keys=keys,
        half=True,
    )


def _points(result: Throughput, plot: Plot) -> Iterator[tuple[Group, Estimate]]:
    for group in result.groups:
        mean = group.means.get(plot.measure)
        if mean is not None and group.load_low >= 1:
            yield group, scaled(mean, plot.factor)


def _row(period: str, group: Group, mean: Estimate) -> dict[str, object]:
    ends = {"value": mean.value, "low": mean.low, "high": mean.high}
    return {
        "series": period,
        "x": group.load_mean,
        "shown": shown.estimate(mean),
        "few": group.few,
        **ends,
    }


def _range(group: Group) -> str:
    return f"{group.load_low:.0f} to {group.load_high:.0f}"
