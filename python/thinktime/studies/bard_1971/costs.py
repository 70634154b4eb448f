"""True costs of requests against those that the regression finds: only a simulation knows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from thinktime.documents import document
from thinktime.documents.charts import Axis
from thinktime.documents.document import Cell, Column, Key, Table
from thinktime.documents.series import Point, Series
from thinktime.stats.estimate import Estimate
from thinktime.studies.bard_1971.records import PAPER, PERIODS, REQUESTS, record_of
from thinktime.studies.bard_1971.regression import cost, cp_time
from thinktime.studies.cells import Claim
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
WAYS = ("Newey-West", "bootstrap", "textbook")
SHADES = {"Newey-West": "user", "bootstrap": "memory", "textbook": "system"}
NEAR = 0.10
MISSED_MOST = 2
"""Of 15 intervals at 95 %, more than two miss in 4 of 100 sets if they are what they say."""


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
    """True and recovered costs, with three kinds of interval."""
    every = recovered(laboratory)
    of_requests = [item for item in every if item.request != "base"]
    near = sum(abs(item.off) <= NEAR for item in of_requests)
    summary = (
        f"Of {len(of_requests)} costs of requests, {near} come out within {100 * NEAR:.0f} % of what the "
        "requests truly cost.",
        *(_in_words(of_requests, way) for way in WAYS),
        "The base of the regression holds unmeasured work too, log-ons and accounting, as far as the "
        "outlier rule leaves it in.",
    )
    caveat = (
        "The true cost of a request is a mean over the period. Requests of complex programs cost more; where "
        "programs of one kind come together, the regression charges a part of that to what goes along."
    )
    pictures = tuple(_picture(period, every) for period in PERIODS)
    return Chapter(
        summary=summary,
        charts=pictures,
        tables=(_table(every),),
        caveats=(caveat,),
        method=_METHOD,
    )


_METHOD = (
    "True costs are summed by the simulation itself: CP time of a kind of request, dispatch included, over "
    "their number. The textbook interval takes errors to be independent and of one size; Newey and West's "
    "and that of the moving-block bootstrap do not."
)


def _in_words(every: Sequence[Recovered], way: str) -> str:
    inside = sum(item.covered(way) for item in every)
    return f"The {way} intervals hold the true cost in {inside} of {len(every)} cases."


def claims(laboratory: Laboratory) -> Iterator[Claim]:
    """Claims about recovery and the three kinds of interval."""
    every = [item for item in recovered(laboratory) if item.request != "base"]
    worst = max(every, key=lambda item: abs(item.off))
    near = sum(abs(item.off) <= NEAR for item in every)
    yield PAPER.claim(
        "costs-recovered",
        near == len(every),
        f"{near} of {len(every)} recovered costs of requests are within {100 * NEAR:.0f} % "
        f"of the true ones; "
        f"farthest off is {worst.words}, {100 * worst.off:+.1f} %",
    )
    for way in WAYS:
        out = [item for item in every if not item.covered(way)]
        missed = f"; missed are {'; '.join(item.words for item in out)}" if out else ""
        holds = len(out) <= MISSED_MOST
        robust = way != "textbook"
        yield PAPER.claim(
            f"interval-{way.lower()}",
            holds if robust else not holds,
            f"{len(every) - len(out)} of {len(every)} {way} intervals at 95 % hold the true cost{missed}",
        )


def _table(every: Sequence[Recovered]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for item in every:
        cells = (item.intervals[way] for way in WAYS)
        inside = ", ".join(way for way in WAYS if item.covered(way)) or "none"
        rows.append((item.words, f"{item.true:.2f}", f"{100 * item.off:+.1f}", *cells, inside))
    columns = (
        Column("cost"),
        Column("true, ms", scaled=False),
        Column("recovered is off, %", scaled=False),
        *(Column(f"{way}, ms", scaled=False) for way in WAYS),
        Column("hold the true cost"),
    )
    note = "Per request; of problem state time and of the base per second."
    return Table(
        name="true-costs",
        caption="True costs and recovered ones",
        columns=columns,
        rows=tuple(rows),
        notes=(note,),
    )


def _picture(period: str, every: Sequence[Recovered]) -> document.Figure:
    """Recovered costs of one period over the true ones, with three kinds of interval."""
    selected = [item for item in every if item.period == period and item.request != "base"]
    series = Series(
        [
            Point(
                key=Key(way, colour=SHADES[way], shape="circle"),
                label=item.request.replace("_", " "),
                y=scaled(item.intervals[way], 1.0 / item.true),
            )
            for item in selected
            for way in WAYS
        ]
    )
    name, title = f"recovered-{period.lower()}", f"Recovered over true costs, {period}"
    listed = ", ".join(f"{item.request.replace('_', ' ')} {100 * item.off:+.1f} %" for item in selected)
    return document.Figure(
        name=name,
        title=title,
        chart=series.dots(Axis("recovered cost over the true one"), named=("cost", "interval", "ratio")),
        data=series.table(f"{name}-data", title, "request"),
        alt=f"Recovered less true: {listed}. An interval that does not reach 1 misses the true cost.",
        keys=series.keys,
        half=True,
    )
