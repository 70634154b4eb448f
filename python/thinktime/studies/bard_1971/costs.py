"""True costs of requests against those that the regression finds: only a simulation knows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from thinktime.documents.document import Col, Cols, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.bard_1971 import charts
from thinktime.studies.bard_1971.records import PAPER, PERIODS, REGRESSION, REQUESTS, THETAS, record_of
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """One printed cost beside that of the simulated machine and what the regression finds there [ms]."""

    found: Recovered
    printed: float

    @property
    def machine_off(self) -> float:
        """True cost of the simulated machine over the printed one, less one."""
        return self.found.true / self.printed - 1.0

    @property
    def off(self) -> float:
        """Cost by regression over the printed one, less one."""
        return self.found.intervals[WAYS[0]].value / self.printed - 1.0

    def whose(self, near: float) -> str:
        """What is off by more than `near`: the machine, the method, both or nothing."""
        machine, method = abs(self.machine_off) > near, abs(self.found.off) > near
        return {(False, False): "", (True, False): "machine", (False, True): "method"}.get(
            (machine, method), "both"
        )


VARIANTS = {"III-3": "vmio_included"}
"""Rows of Table 5 with a cost for each request but VMIO; those of version II are adjusted for it."""


def misses(every: Sequence[Recovered]) -> Iterator[Miss]:
    """Printed costs of requests, and what became of each."""
    columns = {request: column for column, request in THETAS.items()}
    for item in every:
        variant = VARIANTS.get(item.period, "adjusted_for_vmio")
        row = {"data_set": item.period, "variant": variant}
        cell = PAPER.tables[REGRESSION].cell(row, columns[item.request])
        if item.request != "base" and cell is not None:
            yield Miss(found=item, printed=cell.value)


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
    compared = list(misses(every))
    apart = [item for item in compared if abs(item.off) > near]
    whose = Counter(item.whose(near) for item in apart)
    summary = (
        f"Of {len(of_requests)} costs of requests, {count} come out within {100 * near:.0f} % of what the "
        "requests truly cost.",
        f"Of {len(compared)} printed costs, the regression misses {len(apart)} by more than "
        f"{100 * near:.0f} %. In {whose['machine']} of these the simulated machine itself differs from the "
        f"print by so much, in {whose['method']} the regression from the machine, in {whose['both']} both; "
        f"in {whose['']} two smaller errors add up.",
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
        tables=(_table(every), _misses(every, near)),
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


def _misses(every: Sequence[Recovered], near: float) -> Table:
    return Table.of(
        misses(every),
        Col("cost", lambda item: item.found.words),
        Col("printed, ms", lambda item: f"{item.printed:.1f}", scaled=False),
        Col("true here, ms", lambda item: f"{item.found.true:.2f}", scaled=False),
        Col("by regression, ms", lambda item: f"{item.found.intervals[WAYS[0]].value:.2f}", scaled=False),
        Col("machine is off, %", lambda item: f"{100 * item.machine_off:+.0f}", scaled=False),
        Col("method is off, %", lambda item: f"{100 * item.found.off:+.0f}", scaled=False),
        Col("off by more than allowed", lambda item: item.whose(near) or "neither"),
        name="whose-miss",
        caption="Printed costs: what the machine misses, and what the method",
        notes=(
            "Machine: the true cost of the simulated machine against the printed one. Method: the regression "
            f"against the true cost. Allowed are {100 * near:.0f} %. The printed cost is itself by "
            "regression: what the method does here, it may have done there.",
        ),
    )
