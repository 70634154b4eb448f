"""Other runs of the same installation, which separate chance from properties of the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinktime.documents.document import Col, Table
from thinktime.studies.bard_1971.records import repeated
from thinktime.studies.bard_1971.regression import cost, fitted
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
    from thinktime.analyses.saturation.frontier_pair import FrontierPair


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a period."""

    period: str
    number: int
    recorded: Recorded
    fit: Overhead
    frontier: Saturation

    def against(self, y: str) -> FrontierPair:
        """Frontier of problem state time and a kind of work."""
        return pair_of(self.frontier, "user_time", y)


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
            yield Run(
                period=period, number=number, recorded=run, fit=fitted(run.log), frontier=_frontier(run)
            )


def _frontier(run: Recorded) -> Saturation:
    from thinktime.analyses.saturation import analysis as saturation

    return applicable(saturation.analyse(run.log, dimensions=DIMENSIONS))


def _table(laboratory: Laboratory) -> Table:
    def text(name: str, of: Callable[[Run], float | None], form: str) -> Col[Run]:
        return Col(name, lambda run: None if (value := of(run)) is None else f"{value:{form}}", scaled=False)

    return Table.of(
        _runs(laboratory),
        Col("run", lambda run: f"{run.period}, run {run.number + 1}"),
        text("VSIO/s", lambda run: run.recorded.response("vsio_per_s"), ".2f"),
        text("pages/s", lambda run: run.recorded.response("page_ios_per_s"), ".2f"),
        text("R squared", lambda run: run.fit.r_squared, ".3f"),
        text("rejected, %", lambda run: 100.0 * run.fit.outliers / (run.fit.n + run.fit.outliers), ".1f"),
        text("VSIO off, %", lambda run: _off(run, "vsio", "vsio_cost_s"), "+.0f"),
        text("page off, %", lambda run: _off(run, "page_io", "page_io_cost_s"), "+.0f"),
        text("most pages/s", lambda run: max(y for _, y in run.against("page_ios").points), ".1f"),
        text("drum to, %", lambda run: _end(run, DRUM, 1), ".0f"),
        text("CPU from, %", lambda run: _end(run, "cpu", 0), ".0f"),
        text("ms a page", lambda run: _price(run, "page_ios"), ".1f"),
        text("ms a VSIO", lambda run: _price(run, "vsio"), ".1f"),
        name="other-months",
        caption="Runs of the periods with three core boxes",
        notes=(
            "VSIO and page off: recovered costs against true ones. Drum and CPU: up to and from which "
            "problem state they limit, along the frontier with page I/O. Prices in problem state, from end "
            "to end.",
        ),
    )


def _end(run: Run, limit: str, end: int) -> float | None:
    """Problem state from which (0) or up to which (1) a resource limits, per cent."""
    ends = region(run.against("page_ios"), limit)
    return None if ends is None else ends[end].value


def _price(run: Run, y: str) -> float | None:
    """Problem state [ms] for one of y, from end to end of the frontier."""
    overall = run.against(y).overall
    return None if overall is None else 1000.0 * overall.rate.value


def _off(run: Run, request: str, true: str) -> float:
    """Error of a recovered cost against the true one, per cent."""
    result = cost(run.fit, request)
    return -100.0 if result is None else 100.0 * (result.seconds.value / run.recorded.response(true) - 1.0)
