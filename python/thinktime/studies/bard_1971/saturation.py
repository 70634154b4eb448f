"""Saturation: the most that the machine did, and what limits it there (Figures 6 to 9)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from thinktime.documents.document import Col, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.bard_1971 import charts
from thinktime.studies.bard_1971.records import PAPER, PERIODS, pooled
from thinktime.studies.cells import Cell
from thinktime.studies.estimates import scaled
from thinktime.studies.laboratory import Laboratory, applicable, remembered
from thinktime.studies.paper import ENDS
from thinktime.studies.study import Chapter

if TYPE_CHECKING:
    from thinktime.analyses.saturation.analysis import Saturation
    from thinktime.analyses.saturation.comparison import FrontierComparison
    from thinktime.analyses.saturation.frontier_pair import FrontierPair


DIMENSIONS = ("user_time", "page_ios", "vsio")
DRUM = "drum"
PLOTS = {
    7: ("user_time", "page_ios"),
    8: ("user_time", "vsio"),
    9: ("page_ios", "vsio"),
}
"""The two axes of Figures 7 to 9."""
FIGURE_6 = ((1.0, 1.0), (2.0, 2.5), (3.0, 1.5), (2.5, 3.5), (4.0, 2.0), (5.0, 0.5))
"""Six points with the dominances that are stated for Figure 6: only the order of coordinates matters."""
SECOND, THIRD = "II-3", "III-3"


def chapter(laboratory: Laboratory) -> Chapter:
    """Figures 6 to 9, and the numbers that the text reads off them."""
    summary = (
        "The rate of the drum follows from its revolution and the order in which it serves, which was chosen "
        "by the rate that the paper states. Where the CPU saturates follows from the costs of requests. "
        "Which of the two limits at all depends on how heavy the heaviest programs are, and these were "
        "chosen with Figure 7 in sight; prices on the frontier were not fitted.",
        "Frontiers are those of several runs of each period together: one run of a few months may lack the "
        "few hours in which a resource is used up.",
    )
    method = (
        "Intervals that no other dominates are the frontier (Figure 6); each is labelled by the "
        "resource that was used up in it. The curve, drawn by eye in the paper, is the least concave one "
        "above the points; its slopes are the trade-offs, with intervals by block bootstrap."
    )
    notes = {
        "facts": (
            "A region that is nowhere on the frontier is said to end at 0 and to begin at 100 %; whether it "
            "is there depends on a few heavy hours (other months).",
        )
    }
    pairs = {
        number: {period: pair_of(frontier(laboratory, period), *names) for period in (SECOND, THIRD)}
        for number, names in PLOTS.items()
    }
    return Chapter(
        cells=tuple(_facts(laboratory)),
        summary=summary,
        charts=(
            charts.dominated(FIGURE_6),
            *(charts.frontiers(number, by_period) for number, by_period in pairs.items()),
        ),
        tables=(_trade_offs(laboratory),),
        notes=notes,
        method=method,
    )


@remembered
def frontier(laboratory: Laboratory, period: str) -> Saturation:
    """Frontier of a period in problem state time, page I/O and VSIO: that of all its runs together."""
    from thinktime.analyses.saturation import analysis as saturation

    return applicable(saturation.analyse(pooled(laboratory, period), dimensions=DIMENSIONS))


@remembered
def frontiers_compared(laboratory: Laboratory) -> FrontierComparison:
    """Comparison of the frontiers of versions II and III, with three core boxes each."""
    from thinktime.analyses.saturation import comparison as saturation_comparison

    names = (SECOND, THIRD)
    logs = [pooled(laboratory, name) for name in names]
    return applicable(saturation_comparison.compare(logs, names, dimensions=DIMENSIONS))


def pair_of(result: Saturation, x: str, y: str) -> FrontierPair:
    """Frontier of two kinds of work.

    Raises
    ------
    KeyError
        They were not compared.
    """
    for pair in result.pairs:
        if (pair.x.name, pair.y.name) == (x, y):
            return pair
    raise KeyError(f"{x} and {y} were not compared")


def limited(pair: FrontierPair, *names: str) -> list[tuple[float, float]]:
    """Points of a frontier at which one of some resources was used up."""
    return [point for point, limit in zip(pair.points, pair.limits, strict=True) if str(limit) in names]


def _count(value: float, n: int, unit: str, method: str) -> Estimate:
    return Estimate(value=value, unit=unit, n=n, method=method)


def _facts(laboratory: Laboratory) -> Iterator[Cell]:
    yield from _regions(laboratory)
    yield from _rates(laboratory)
    most = max(100.0 * max(x for x, _ in pages(laboratory, period).points) for period in PERIODS)
    yield PAPER.fact("most-problem-state", _count(most, 3, "percent", "greatest observed"))
    shortest = frontier(laboratory, THIRD).interval_s / 60.0
    minutes = _count(shortest, 1, "minutes", "length of an interval")
    yield PAPER.fact("shortest-saturation", minutes)
    pairs = _count(float(len(frontier(laboratory, THIRD).pairs)), 3, "pairs", "counted")
    yield PAPER.recomputed_fact("saturation-pairs", pairs)


def region(pair: FrontierPair, name: str) -> tuple[Estimate, Estimate] | None:
    """Stretch of problem state [%] in which a resource limits; None where there is none.

    Of several, that with most observations near the curve.
    """
    selected = [index for index, item in enumerate(pair.regions) if item.limit == name]
    if not selected:
        return None
    index = max(selected, key=lambda number: pair.regions[number].n)
    result = pair.regions[index]
    before = pair.regions[index - 1].border if index else None
    low = before or Estimate(value=result.low, n=result.n, method="beginning of the curve")
    high = result.border or Estimate(value=result.high, n=result.n, method="end of the curve")
    return scaled(low, 100.0, "percent"), scaled(high, 100.0, "percent")


def within(pair: FrontierPair, low: float, high: float) -> list[tuple[tuple[float, float], str]]:
    """Points of a frontier between two values of x, with their limits."""
    limits = map(str, pair.limits)
    return [
        (point, limit) for point, limit in zip(pair.points, limits, strict=True) if low <= point[0] <= high
    ]


def pages(laboratory: Laboratory, period: str) -> FrontierPair:
    """Frontier of problem state time and page I/O (Figure 7)."""
    return pair_of(frontier(laboratory, period), "user_time", "page_ios")


def _regions(laboratory: Laboratory) -> Iterator[Cell]:
    """Cells on the regions that the paging drum, the CPU and neither limit (Figure 7)."""
    pair = pages(laboratory, THIRD)
    drum, slack, cpu = (region(pair, name) for name in (DRUM, "none", "cpu"))
    nowhere = _count(0.0, len(pair.points), "percent", "nowhere")
    until = drum[1] if drum else nowhere
    rates = [y for (_, y), _ in within(pair, 0.0, until.value / 100.0)] or [max(y for _, y in pair.points)]
    for end, value in zip(ENDS, (min(rates), max(rates)), strict=True):
        ours = _count(value, len(rates), "pages/s", "frontier, where the drum limits")
        yield PAPER.fact("paging-rate-at-saturation", ours, end=end)
    yield PAPER.fact("paging-saturated-below", until)
    yield PAPER.fact("nothing-saturated", slack[0] if slack else until, end="low")
    upper = slack[1] if slack else cpu[0] if cpu else until
    yield PAPER.fact("nothing-saturated", upper, end="high")
    second = region(pages(laboratory, SECOND), "cpu")
    never = _count(100.0, len(pair.points), "percent", "never")
    yield PAPER.fact("cpu-saturated-above-ii", second[0] if second else never)


def trade_off(laboratory: Laboratory, period: str, x: str, y: str) -> Estimate:
    """Amount of x for one of y along the whole frontier; times in ms."""
    overall = pair_of(frontier(laboratory, period), x, y).overall
    if overall is None:
        return _count(0.0, 1, "", "the frontier is one point: nothing is given up")
    return scaled(overall.rate, 1000.0 if x == "user_time" else 1.0)


def _rates(laboratory: Laboratory) -> Iterator[Cell]:
    prices = (
        ("page-price-ii", SECOND, "user_time", "page_ios"),
        ("page-price-iii", THIRD, "user_time", "page_ios"),
        ("vsio-price", THIRD, "user_time", "vsio"),
        ("vsio-price-in-pages", THIRD, "page_ios", "vsio"),
    )
    for name, period, x, y in prices:
        yield PAPER.fact(name, trade_off(laboratory, period, x, y))


def _trade_offs(laboratory: Laboratory) -> Table:
    return Table.of(
        [(x, y, period) for x, y in PLOTS.values() for period in PERIODS],
        Col("given up", lambda item: f"{item[0].replace('_', ' ')} for one of {item[1].replace('_', ' ')}"),
        Col("data set", lambda item: item[2]),
        Col(
            "ms of problem state, or pages",
            lambda item: trade_off(laboratory, item[2], item[0], item[1]),
            scaled=False,
        ),
        name="trade-offs",
        caption="What one more costs on the frontier, from end to end",
    )
