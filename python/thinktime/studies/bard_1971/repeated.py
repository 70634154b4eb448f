"""The same installation in other months: what of the results is the machine's, and what was luck."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinktime.documents.document import Cell, Column, Table
from thinktime.studies.bard_1971.records import COLUMNS, repeated
from thinktime.studies.bard_1971.regression import AS_PRINTED, cost
from thinktime.studies.bard_1971.saturation import (
    DIMENSIONS,
    DRUM,
    SECOND,
    THIRD,
    pair_of,
    region,
)
from thinktime.studies.laboratory import Laboratory, Recorded, applicable
from thinktime.studies.study import Chapter

if TYPE_CHECKING:
    from thinktime.analyses.overhead.result import Overhead
    from thinktime.analyses.saturation.analysis import Saturation


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a period."""

    period: str
    number: int
    recorded: Recorded
    fit: Overhead
    frontier: Saturation


def chapter(laboratory: Laboratory) -> Chapter:
    """Other runs of the periods with three core boxes, and the first."""
    summary = (
        "All other sections show the first run of each period, but for saturation, which takes all of them "
        "together. Other runs have the same parameters, and users who come and do what they do by other "
        "random numbers.",
    )
    return Chapter(summary=summary, tables=(_table(laboratory),))


def _runs(laboratory: Laboratory) -> Iterator[Run]:
    for period in (SECOND, THIRD):
        for number, run in enumerate(repeated(laboratory, period)):
            yield Run(period=period, number=number, recorded=run, fit=_fit(run), frontier=_frontier(run))


def _fit(run: Recorded) -> Overhead:
    from thinktime.analyses.overhead import analysis as overhead

    requests = list(COLUMNS.values())
    return applicable(overhead.analyse(run.log, requests=requests, fit_options=AS_PRINTED))


def _frontier(run: Recorded) -> Saturation:
    from thinktime.analyses.saturation import analysis as saturation

    return applicable(saturation.analyse(run.log, dimensions=DIMENSIONS))


def _table(laboratory: Laboratory) -> Table:
    rows = tuple(_row(run) for run in _runs(laboratory))
    names = (
        "VSIO/s",
        "pages/s",
        "R squared",
        "rejected, %",
        "VSIO off, %",
        "page off, %",
        "most pages/s",
        "drum to, %",
        "CPU from, %",
        "ms a page",
        "ms a VSIO",
    )
    columns = (Column("run"), *(Column(name, scaled=False) for name in names))
    note = (
        "VSIO and page off: recovered costs against true ones. Drum and CPU: up to and from which problem "
        "state they limit, along the frontier with page I/O. Prices in problem state, from end to end."
    )
    return Table(
        name="other-months",
        caption="Runs of the periods with three core boxes",
        columns=columns,
        rows=rows,
        notes=(note,),
    )


def _row(run: Run) -> tuple[Cell, ...]:
    pages = pair_of(run.frontier, "user_time", "page_ios")
    vsio = pair_of(run.frontier, "user_time", "vsio")
    drum, cpu = region(pages, DRUM), region(pages, "cpu")
    rejected = 100.0 * run.fit.outliers / (run.fit.n + run.fit.outliers)
    return (
        f"{run.period}, run {run.number + 1}",
        f"{run.recorded.response('vsio_per_s'):.2f}",
        f"{run.recorded.response('page_ios_per_s'):.2f}",
        f"{run.fit.r_squared:.3f}",
        f"{rejected:.1f}",
        f"{_off(run, 'vsio', 'vsio_cost_s'):+.0f}",
        f"{_off(run, 'page_io', 'page_io_cost_s'):+.0f}",
        f"{max(y for _, y in pages.points):.1f}",
        None if drum is None else f"{drum[1].value:.0f}",
        None if cpu is None else f"{cpu[0].value:.0f}",
        *(
            None if pair.overall is None else f"{1000.0 * pair.overall.rate.value:.1f}"
            for pair in (pages, vsio)
        ),
    )


def _off(run: Run, request: str, true: str) -> float:
    """Error of a recovered cost against the true one, per cent."""
    result = cost(run.fit, request)
    return -100.0 if result is None else 100.0 * (result.seconds.value / run.recorded.response(true) - 1.0)
