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
from thinktime.studies.bard_1971.installation import PERIODS, Installation, applicable, scaled
from thinktime.studies.bard_1971.tables import LOADS, PAPER, RATES
from thinktime.studies.cells import Cell, Tolerance
from thinktime.studies.study import Chapter

if TYPE_CHECKING:
    from thinktime.analyses.throughput.analysis import Group, Throughput

__all__ = ["TABLES", "Plot", "by_load", "chapter", "counted", "last_reliable"]

TABLES = (RATES, LOADS, "facts")
FITTED = Tolerance("relative", 0.10)
LOAD_PART = 0.03
"""Part of a period's observations by which a cell of Table 10 may be off."""
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


@dataclass(frozen=True, slots=True)
class Plot:
    """One of Figures 1 to 5."""

    number: int
    measure: str
    title: str
    axis: str
    factor: float


PLOTS = (
    Plot(1, "user_time", "Problem state time", "problem state, % of real time", 100.0),
    Plot(2, "system_time", "CP time", "CP time, % of real time", 100.0),
    Plot(3, "idle_time", "Wait time", "wait time, % of real time", 100.0),
    Plot(4, "vsio", "VSIO", "VSIO a second", 1.0),
    Plot(5, "page_ios", "Page I/O", "page I/O a second", 1.0),
)


def chapter(installation: Installation) -> Chapter:
    """Tables 7 and 10, published beside ours, and Figures 1 to 5."""
    figures = (*_rates(installation), *_loads(installation), *_facts(installation))
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
    pictures = tuple(_picture(installation, plot) for plot in PLOTS)
    table = equal_load_table(installation)
    tables = () if table is None else (table,)
    return Chapter(
        cells=figures, claims=(), summary=summary, charts=pictures, tables=tables, notes=NOTES, method=method
    )


def by_load(installation: Installation, period: str) -> Throughput:
    """Means of a period in groups of two active users."""
    from thinktime.analyses.throughput import analysis as throughput

    log = installation.periods[period].log
    return installation.once(
        f"by load {period}",
        lambda: applicable(throughput.analyse(log, load="active_users", width=PAIR, n_few=ENOUGH)),
    )


def _rates(installation: Installation) -> Iterator[Cell]:
    from thinktime.analyses.rates import analysis as rates

    for period, column in COLUMN_OF.items():
        log = installation.periods[period].log
        found = applicable(rates.analyse(log))
        means = {item.column: item.mean for item in found.rates}
        for row in PAPER.tables[RATES].rows:
            ours = means[RECORDED[str(row["request_type"])]]
            yield PAPER.cell(RATES, row, column, ours, "fitted", FITTED)


def counted(result: Throughput) -> dict[tuple[int, int], int]:
    """Observations in each group, by its ends."""
    return {(int(group.load_low), int(group.load_high)): group.n for group in result.groups}


def _loads(installation: Installation) -> Iterator[Cell]:
    for period, column in COLUMN_OF.items():
        result = by_load(installation, period)
        found = counted(result)
        allowed = Tolerance("absolute", LOAD_PART * result.n)
        for row in PAPER.tables[LOADS].rows:
            count = found.get((int(row["active_users_low"]), int(row["active_users_high"])), 0)
            ours = Estimate(value=float(count), unit="observations", n=result.n, method="counted")
            yield PAPER.cell(LOADS, row, column, ours, "fitted", allowed)


def last_reliable(results: list[dict[tuple[int, int], int]]) -> int:
    """Return the most active users of a group that has enough observations in all periods."""
    ends = sorted({ends for found in results for ends in found})
    enough = [high for low, high in ends if all(found.get((low, high), 0) >= ENOUGH for found in results)]
    return max(enough, default=0)


def _facts(installation: Installation) -> Iterator[Cell]:
    ours = last_reliable([counted(by_load(installation, period)) for period in PERIODS])
    estimate = Estimate(
        value=float(ours), unit="active users", n=len(PERIODS), method="last group with enough observations"
    )
    yield PAPER.fact("B-F07", estimate, "predicted", Tolerance("absolute", float(PAIR)))
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
    yield PAPER.fact("B-F07", theirs, "arithmetic", Tolerance("digits"))
    interval = [installation.periods[period].log for period in PERIODS]
    lengths = [_mean_length(log) for log in interval]
    minutes = Estimate(
        value=sum(lengths) / len(lengths) / 60.0, unit="minutes", n=len(lengths), method="mean length"
    )
    yield PAPER.fact("B-F01", minutes, "fitted", Tolerance("relative", 0.02))


def _mean_length(log: object) -> float:
    from thinktime.log import Log, observations

    assert isinstance(log, Log)
    return float(observations.read(log, []).length_s.mean())


def _picture(installation: Installation, plot: Plot) -> document.Figure:
    keys = tuple(Key(period, colour=SHADES[period], shape="line") for period in PERIODS)
    rows: list[dict[str, object]] = []
    cells: list[tuple[document.Cell, ...]] = []
    said = []
    for period in PERIODS:
        result = by_load(installation, period)
        own = list(_points(result, plot))
        rows += [_row(period, group, mean) for group, mean in own]
        cells += [(period, _range(group), group.n, mean) for group, mean in own]
        reliable = [(group, mean) for group, mean in own if not group.few]
        if reliable:
            (first, start), (last, end) = reliable[0], reliable[-1]
            said.append(
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
        alt="; ".join(said) + ". Hollow points rest on few observations.",
        keys=keys,
        half=True,
    )


def _points(result: Throughput, plot: Plot) -> Iterator[tuple[Group, Estimate]]:
    at = next((at for at, item in enumerate(result.measures) if item.name == plot.measure), None)
    if at is None:
        return
    for group in result.groups:
        mean = group.means[at]
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
