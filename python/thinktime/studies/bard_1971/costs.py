"""True costs of requests against those that the regression finds: only a simulation knows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from thinktime.documents.document import Col, Cols, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.bard_1971 import charts
from thinktime.studies.bard_1971.records import PAPER, PERIODS, REQUESTS, record_of
from thinktime.studies.bard_1971.regression import cost, cp_time
from thinktime.studies.estimates import scaled
from thinktime.studies.laboratory import Laboratory, remembered
from thinktime.studies.study import Chapter

TRUE = {
    "base": "base_cost",
    "vsio": "vsio_cost_s",
    "vmio": "vmio_cost_s",
    "page_io": "page_io_cost_s",
    "spool_io": "spool_io_cost_s",
    "problem_state_time": "problem_cost",
}
"""Responses that say what a request cost, dispatch included."""
WAYS = ("long-run", "bootstrap", "textbook")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """One cost of one period: true, and as the regression finds it [ms]."""

    period: str
    request: str
    true: float
    intervals: dict[str, Estimate]
    """By way of making the interval; the estimate is the same."""

    @property
    def off(self) -> float:
        """Estimate over truth, less one."""
        return self.intervals[WAYS[0]].value / self.true - 1.0

    def covered(self, way: str) -> bool:
        """True if an interval holds the true cost."""
        result = self.intervals[way]
        return result.low is not None and result.high is not None and result.low <= self.true <= result.high

    @property
    def words(self) -> str:
        """Name for a reader."""
        return f"{self.period}, {self.request.replace('_', ' ')}"


@remembered
def recovered(laboratory: Laboratory) -> tuple[Recovered, ...]:
    """True and recovered costs of every request in every period, VMIO included."""
    return tuple(_recovered(laboratory))


def _recovered(laboratory: Laboratory) -> Iterator[Recovered]:
    for period in PERIODS:
        fit = cp_time(laboratory, period)
        for request in REQUESTS:
            item = cost(fit, request)
            if item is None or item.bootstrap is None:
                continue
            kinds = zip(WAYS, (item.seconds, item.bootstrap, item.textbook), strict=True)
            true = 1000.0 * record_of(laboratory, period).response(TRUE[request])
            intervals = {way: scaled(entry, 1000.0, "ms") for way, entry in kinds}
            yield Recovered(period=period, request=request, true=true, intervals=intervals)


def chapter(laboratory: Laboratory) -> Chapter:
    """Chapter on true and recovered costs, with three kinds of interval."""
    every = recovered(laboratory)
    of_requests = [item for item in every if item.request != "base"]
    near = PAPER.amount("costs-recovered", "near")
    count = sum(abs(item.off) <= near for item in of_requests)
    summary = (
        f"Of {len(of_requests)} costs of requests, {count} come out within {100 * near:.0f} % of what the "
        "requests truly cost.",
        *(_in_words(of_requests, way) for way in WAYS),
        "The base of the regression holds unmeasured work too, log-ons and accounting, as far as the "
        "outlier rule leaves it in.",
    )
    caveat = (
        "The true cost of a request is a mean over the period. Requests of complex programs cost more; where "
        "programs of one kind come together, the regression charges a part of that to the requests that "
        "accompany them."
    )
    return Chapter(
        summary=summary,
        charts=tuple(
            charts.recovered(period, [item for item in of_requests if item.period == period])
            for period in PERIODS
        ),
        tables=(_table(every),),
        caveats=(caveat,),
        method=_METHOD,
    )


_METHOD = (
    "True costs are summed by the simulation itself: CP time of a kind of request, dispatch included, over "
    "their number. The textbook interval takes errors to be independent and of one size; that by "
    "long-run variances and that of the moving-block bootstrap do not."
)


def _in_words(every: Sequence[Recovered], way: str) -> str:
    inside = sum(item.covered(way) for item in every)
    return f"The {way} intervals hold the true cost in {inside} of {len(every)} cases."


def _table(every: Sequence[Recovered]) -> Table:
    return Table.of(
        every,
        Col("cost", lambda item: item.words),
        Col("true, ms", lambda item: f"{item.true:.2f}", scaled=False),
        Col("recovered is off, %", lambda item: f"{100 * item.off:+.1f}", scaled=False),
        Cols(
            [f"{way}, ms" for way in WAYS],
            lambda item: [item.intervals[way] for way in WAYS],
            scaled=False,
        ),
        Col("hold the true cost", lambda item: ", ".join(filter(item.covered, WAYS)) or "none"),
        name="true-costs",
        caption="True costs and recovered ones",
        notes=("Per request; of problem state time and of the base per second.",),
    )
