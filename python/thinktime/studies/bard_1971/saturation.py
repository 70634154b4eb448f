"""Saturation: the most that the machine did, and what limits it there (Figures 6 to 9)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from thinktime.documents import charts, document
from thinktime.documents.charts import Axis, Rows, Spec
from thinktime.documents.document import Column, Key, Table
from thinktime.stats import frontier as hulls
from thinktime.stats.estimate import Estimate
from thinktime.stats.frontier import ParetoSet, maximal
from thinktime.studies.bard_1971.records import PAPER, PERIODS, pooled
from thinktime.studies.cells import Cell, Claim
from thinktime.studies.estimates import scaled
from thinktime.studies.laboratory import Laboratory, applicable, remembered
from thinktime.studies.study import Chapter

if TYPE_CHECKING:
    from thinktime.analyses.saturation.analysis import Saturation
    from thinktime.analyses.saturation.comparison import FrontierComparison
    from thinktime.analyses.saturation.frontier_pair import FrontierPair


WORDS = {
    "user_time": "problem state, % of real time",
    "page_ios": "page I/O per second",
    "vsio": "VSIO per second",
}
FACTORS = {"user_time": 100.0}
SHADES = ("system", "user")
LIMITS = {
    "drum": Key("limited by the drum", colour="disk", shape="diamond"),
    "cpu": Key("limited by the CPU", colour="memory", shape="diamond"),
    "none": Key("limited by neither", colour="other", shape="diamond"),
}


def picture(number: int, pairs: dict[str, FrontierPair]) -> document.Figure:
    """Frontiers of several periods.

    Parameters
    ----------
    number : int
        Of the paper's figure.
    pairs : dict of str to FrontierPair
        By period; the points of the last are shown.
    """
    last = list(pairs.values())[-1]
    x_factor, y_factor = (FACTORS.get(item.name, 1.0) for item in (last.x, last.y))
    keys = tuple(Key(period, colour=shade, shape="line") for period, shade in zip(pairs, SHADES, strict=True))
    lines = [row for period, pair in pairs.items() for row in _line(period, pair, x_factor, y_factor)]
    points = list(_points(last, x_factor, y_factor))
    over = tuple(key for key in LIMITS.values() if any(row["series"] == key.name for row in points))
    words = WORDS[last.x.name], WORDS[last.y.name]
    x = Axis(words[0], low=0.0)
    # Bands that reach far beyond the curves are cut: they stand in no table, and would press all flat.
    y = Axis.from_zero(words[1], [{"value": value} for value in _heights(pairs.values(), y_factor)])
    name = f"figure-{number}"
    title = f"{words[1].partition(' per ')[0]} against {words[0].partition(',')[0]}"
    return document.Figure(
        name=name,
        title=f"Saturation: {title} (Figure {number})",
        chart=partial(_chart, lines, points, keys, over, x, y),
        data=_data(name, title, words=words, pairs=pairs, factors=(x_factor, y_factor)),
        alt="; ".join(_reach_in_words(period, pair, x_factor, y_factor) for period, pair in pairs.items())
        + f". Lines are concave hulls with bands of resampled ones, diamonds intervals of {list(pairs)[-1]}.",
        keys=(*keys, *over),
        half=True,
    )


def _chart(lines: Rows, points: Rows, keys: Sequence[Key], over: Sequence[Key], x: Axis, y: Axis) -> Spec:
    return charts.laid_over(charts.curves(lines, keys, x, y, dotted=False), points, over)


def _heights(pairs: Iterable[FrontierPair], factor: float) -> list[float]:
    """Greatest heights of frontiers, with some room above."""
    return [1.1 * factor * max(y for _, y in pair.points) for pair in pairs]


def _line(period: str, pair: FrontierPair, x_factor: float, y_factor: float) -> Iterator[dict[str, object]]:
    curve = np.array(pair.curve)
    for x, low, high in pair.band:
        value = float(hulls.height(curve, np.array([x]))[0])
        ends = {"value": value * y_factor, "low": low * y_factor, "high": high * y_factor}
        yield {"series": period, "x": x * x_factor, "shown": f"{value * y_factor:.3g}", **ends}


def _points(pair: FrontierPair, x_factor: float, y_factor: float) -> Iterator[dict[str, object]]:
    for (x, y), limit in zip(pair.points, pair.limits, strict=True):
        key = LIMITS.get(str(limit), LIMITS["none"])
        index = (x * x_factor, y * y_factor)
        yield {"series": key.name, "x": index[0], "y": index[1], "shown": f"{index[0]:.3g}, {index[1]:.3g}"}


def _reach_in_words(period: str, pair: FrontierPair, x_factor: float, y_factor: float) -> str:
    most_x = max(x for x, _ in pair.points) * x_factor
    most_y = max(y for _, y in pair.points) * y_factor
    return f"{period} reaches {most_y:.3g} {WORDS[pair.y.name]} and {most_x:.3g} {WORDS[pair.x.name]}"


def _data(
    name: str,
    title: str,
    words: tuple[str, str],
    pairs: dict[str, FrontierPair],
    factors: tuple[float, float],
) -> Table:
    rows: list[tuple[document.Cell, ...]] = [
        (period, f"{x * factors[0]:.2f}", f"{y * factors[1]:.2f}", str(limit))
        for period, pair in pairs.items()
        for (x, y), limit in zip(pair.points, pair.limits, strict=True)
    ]
    columns = (
        Column("data set"),
        Column(words[0], scaled=False),
        Column(words[1], scaled=False),
        Column("used up"),
    )
    return Table(
        name=f"{name}-data", caption=f"Intervals on the frontier, {title}", columns=columns, rows=tuple(rows)
    )


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
    figures = tuple(_facts(laboratory))
    summary = (
        "What the drum can do follows from its revolution and the order in which it serves, which was chosen "
        "by the rate that the paper states. Where the CPU saturates follows from what requests cost. Which "
        "of the two limits at all depends on how heavy the heaviest programs are, and these were chosen with "
        "Figure 7 in sight; prices on the frontier were not fitted.",
        "Frontiers are those of several runs of each period together: one run of a few months may lack the "
        "few hours in which a resource is used up.",
    )
    method = (
        "Intervals that no other dominates are the frontier (Figure 6); each is labelled by the "
        "resource that was used up in it. The curve, drawn by eye in the paper, is the least concave one "
        "above the points; its slopes are the trade-offs, with intervals by block bootstrap."
    )
    pictures = (_figure_6(), *_pictures(laboratory))
    notes = {
        "facts": (
            "A region that is nowhere on the frontier is said to end at 0 and to begin at 100 %; whether it "
            "is there depends on a few heavy hours (other months).",
        )
    }
    tables = (_trade_offs(laboratory),)
    return Chapter(cells=figures, summary=summary, charts=pictures, tables=tables, notes=notes, method=method)


@remembered
def frontier(laboratory: Laboratory, period: str) -> Saturation:
    """Frontier of a period in problem state time, page I/O and VSIO: that of all its runs together."""
    from thinktime.analyses.saturation import analysis as saturation

    return applicable(saturation.analyse(pooled(laboratory, period), dimensions=DIMENSIONS))


@remembered
def frontiers_compared(laboratory: Laboratory) -> FrontierComparison:
    """The frontiers of versions II and III, with three core boxes each."""
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
    """The stretch of problem state [%] in which a resource limits; None where there is none.

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
    """Where the paging drum, the CPU and neither limit (Figure 7)."""
    pair = pages(laboratory, THIRD)
    drum, slack, cpu = (region(pair, name) for name in (DRUM, "none", "cpu"))
    nowhere = _count(0.0, len(pair.points), "percent", "nowhere")
    until = drum[1] if drum else nowhere
    rates = [y for (_, y), _ in within(pair, 0.0, until.value / 100.0)] or [max(y for _, y in pair.points)]
    for end, value in (("low", min(rates)), ("high", max(rates))):
        ours = _count(value, len(rates), "pages/s", "frontier, where the drum limits")
        yield PAPER.fact("paging-rate-at-saturation", ours, end="low" if end == "low" else "high")
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
    asked = (
        ("page-price-ii", SECOND, "user_time", "page_ios"),
        ("page-price-iii", THIRD, "user_time", "page_ios"),
        ("vsio-price", THIRD, "user_time", "vsio"),
        ("vsio-price-in-pages", THIRD, "page_ios", "vsio"),
    )
    for name, period, x, y in asked:
        yield PAPER.fact(name, trade_off(laboratory, period, x, y))


def dominance() -> Claim:
    """Claim about the example of Figure 6."""
    points = np.array(FIGURE_6)
    count = len(points)
    above = {
        index + 1: [
            other + 1 for other in range(count) if other != index and (points[other] >= points[index]).all()
        ]
        for index in range(count)
    }
    one_by_one = ParetoSet(points.shape[1])
    for point in points:
        one_by_one.absorb(point)
    result = (maximal(points) + 1).tolist()
    listed = "; ".join(f"{index} by {', '.join(map(str, by))}" for index, by in above.items() if by)
    expected = {1: [2, 3, 4, 5], 2: [4], 3: [5], 4: [], 5: [], 6: []}
    agree = result == (one_by_one.positions + 1).tolist() == [4, 5, 6] and above == expected
    return PAPER.claim(
        "dominance",
        agree,
        f"dominated are {listed}; maximal are {', '.join(map(str, result))}, sorted or one by one",
    )


def _figure_6() -> document.Figure:
    best = set(maximal(np.array(FIGURE_6)).tolist())
    shades = [("user" if index in best else "other") for index in range(len(FIGURE_6))]
    keys = tuple(Key(str(index + 1), colour=shade, shape="circle") for index, shade in enumerate(shades))
    rows = [
        {"x": x, "value": y, "low": y, "high": y, "series": keys[index].name, "shown": f"{x:g}, {y:g}"}
        for index, (x, y) in enumerate(FIGURE_6)
    ]
    axes = (Axis("first rate", low=0.0, high=6.0), Axis("second rate", low=0.0, high=4.0))
    columns = (Column("point"), Column("first rate"), Column("second rate"), Column("which"))
    cells = tuple(
        (str(index + 1), x, y, "maximal" if index in best else "dominated")
        for index, (x, y) in enumerate(FIGURE_6)
    )
    legend = (Key("maximal", colour="user", shape="circle"), Key("dominated", colour="other", shape="circle"))
    return document.Figure(
        name="figure-6",
        title="Six points, three of them maximal (Figure 6)",
        chart=partial(charts.curves, rows, keys, *axes),
        data=Table(
            name="figure-6-data",
            caption="Six points with the dominances of Figure 6",
            columns=columns,
            rows=cells,
        ),
        alt=(
            "Points 4, 5 and 6 are dominated by none. The places are chosen; only their order is the paper's."
        ),
        keys=legend,
        half=True,
    )


def _pictures(laboratory: Laboratory) -> Iterator[document.Figure]:
    for number, (x, y) in PLOTS.items():
        yield picture(
            number, {period: pair_of(frontier(laboratory, period), x, y) for period in (SECOND, THIRD)}
        )


def _trade_offs(laboratory: Laboratory) -> Table:
    rows: list[tuple[document.Cell, ...]] = []
    for x, y in PLOTS.values():
        for period in PERIODS:
            ours = trade_off(laboratory, period, x, y)
            rows.append((f"{x.replace('_', ' ')} for one of {y.replace('_', ' ')}", period, ours))
    columns = (Column("given up"), Column("data set"), Column("ms of problem state, or pages", scaled=False))
    return Table(
        name="trade-offs",
        caption="What one more costs on the frontier, from end to end",
        columns=columns,
        rows=tuple(rows),
    )
