"""Figures 1 to 9, and recovered costs over true ones: chart, table and words each from one list of points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from thinktime.documents import format as shown
from thinktime.documents import palette
from thinktime.documents.charts.axis import Axis
from thinktime.documents.document import Col, Figure, Key, Table
from thinktime.documents.series import Point, Series
from thinktime.stats import frontier as hulls
from thinktime.stats.estimate import Estimate
from thinktime.stats.frontier import maximal
from thinktime.studies.estimates import scaled

if TYPE_CHECKING:
    from thinktime.analyses.saturation.frontier_pair import FrontierPair
    from thinktime.analyses.throughput.analysis import Group, Throughput
    from thinktime.studies.bard_1971.costs import Recovered

PERIODS = {"II-2": "memory", "II-3": "system", "III-3": "user"}
"""Colours of the data sets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """One of Figures 1 to 5."""

    number: int
    measure: str
    title: str
    axis: str
    factor: float = 1.0


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
    Plot(number=4, measure="vsio", title="VSIO", axis="VSIO per second"),
    Plot(number=5, measure="page_ios", title="Page I/O", axis="page I/O per second"),
)


def by_load(plot: Plot, results: Mapping[str, Throughput]) -> Figure:
    """Means of one measure by active users, a curve for each period."""
    keys = {period: Key(period, colour=PERIODS[period], shape="line") for period in results}
    listed: list[str] = []
    points: list[Point] = []
    groups: list[Group] = []
    for period, result in results.items():
        selected = list(_means(result, plot))
        points += [
            Point(key=keys[period], x=group.load_mean, y=mean, words=shown.estimate(mean), few=group.few)
            for group, mean in selected
        ]
        groups += [group for group, _ in selected]
        reliable = [(group, mean) for group, mean in selected if not group.few]
        if reliable:
            (first, start), (last, end) = reliable[0], reliable[-1]
            listed.append(
                f"{period} from {shown.number(start.value)} with {_range(first)} to "
                f"{shown.number(end.value)} with {_range(last)} active users"
            )
    series = Series(points, order=tuple(keys.values()))
    y = Axis.from_zero(plot.axis, series.rows())
    if plot.factor != 1.0:
        y = replace(y, high=min(y.high or 100.0, 100.0))
    name = f"figure-{plot.number}"
    return Figure(
        name=name,
        title=f"{plot.title} against active users (Figure {plot.number})",
        chart=series.curves(Axis("active users", low=0.0), y),
        data=Table.of(
            list(zip(points, groups, strict=True)),
            Col("data set", lambda item: item[0].key.name),
            Col("active users", lambda item: _range(item[1])),
            Col("n", lambda item: item[1].n),
            Col(plot.axis, lambda item: item[0].y, scaled=False),
            name=f"{name}-data",
            caption=f"{plot.title} by active users",
        ),
        alt="; ".join(listed) + ". Hollow points rest on few observations.",
        keys=series.keys,
        half=True,
    )


def _means(result: Throughput, plot: Plot) -> Iterator[tuple[Group, Estimate]]:
    for group in result.groups:
        mean = group.means.get(plot.measure)
        if mean is not None and group.load_low >= 1:
            yield group, scaled(mean, plot.factor)


def _range(group: Group) -> str:
    return f"{group.load_low:.0f} to {group.load_high:.0f}"


WORDS = {
    "user_time": "problem state, % of real time",
    "page_ios": "page I/O per second",
    "vsio": "VSIO per second",
}
FACTORS = {"user_time": 100.0}
LIMITS = {
    "drum": palette.state("limited by the drum", "diamond"),
    "cpu": palette.state("limited by the CPU", "diamond"),
    "none": palette.state("limited by neither", "diamond"),
}


def frontiers(number: int, pairs: Mapping[str, FrontierPair]) -> Figure:
    """Frontiers of several periods.

    Parameters
    ----------
    number : int
        Of the paper's figure.
    pairs : mapping of str to FrontierPair
        By period; the points of the last are shown.
    """
    last = list(pairs.values())[-1]
    factors = FACTORS.get(last.x.name, 1.0), FACTORS.get(last.y.name, 1.0)
    names = WORDS[last.x.name], WORDS[last.y.name]
    points = {period: list(_points(pair, *factors)) for period, pair in pairs.items()}
    over = points[list(pairs)[-1]]
    used = tuple(key for key in LIMITS.values() if any(point.key == key for point in over))
    hull = Series([point for period, pair in pairs.items() for point in _hull(period, pair, *factors)])
    # Bands that reach far beyond the curves are cut: they stand in no table, and would press all flat.
    heights = [{"value": 1.1 * max(_y(point) for point in of_period)} for of_period in points.values()]
    name = f"figure-{number}"
    title = f"{names[1].partition(' per ')[0]} against {names[0].partition(',')[0]}"
    listed = "; ".join(
        f"{period} reaches {max(map(_y, of_period)):.3g} {names[1]} and "
        f"{max(point.x or 0.0 for point in of_period):.3g} {names[0]}"
        for period, of_period in points.items()
    )
    return Figure(
        name=name,
        title=f"Saturation: {title} (Figure {number})",
        chart=hull.curves(
            Axis(names[0], low=0.0),
            Axis.from_zero(names[1], heights),
            dotted=False,
            over=Series(over, order=used),
        ),
        data=Table.of(
            [(period, point) for period, of_period in points.items() for point in of_period],
            Col("data set", lambda item: item[0]),
            Col(names[0], lambda item: f"{item[1].x:.2f}", scaled=False),
            Col(names[1], lambda item: f"{_y(item[1]):.2f}", scaled=False),
            Col("used up", lambda item: item[1].mark),
            name=f"{name}-data",
            caption=f"Intervals on the frontier, {title}",
        ),
        alt=f"{listed}. Lines are concave hulls with bands of resampled ones, diamonds intervals of "
        f"{list(pairs)[-1]}.",
        keys=(*hull.keys, *used),
        half=True,
    )


def _y(point: Point) -> float:
    assert isinstance(point.y, float)
    return point.y


def _hull(period: str, pair: FrontierPair, x_factor: float, y_factor: float) -> Iterator[Point]:
    key = Key(period, colour=PERIODS[period], shape="line")
    curve = np.array(pair.curve)
    for x, low, high in pair.band:
        value = y_factor * float(hulls.height(curve, np.array([x]))[0])
        y = Estimate(
            value=value, n=len(pair.points), method="concave hull", low=low * y_factor, high=high * y_factor
        )
        yield Point(key=key, x=x * x_factor, y=y, words=f"{value:.3g}")


def _points(pair: FrontierPair, x_factor: float, y_factor: float) -> Iterator[Point]:
    """Intervals on a frontier; the mark is what was used up in each."""
    for place, limit in zip(pair.points, map(str, pair.limits), strict=True):
        x, y = place[0] * x_factor, place[1] * y_factor
        key = LIMITS.get(limit, LIMITS["none"])
        yield Point(key=key, x=x, y=y, words=f"{x:.3g}, {y:.3g}", mark=limit)


def dominated(places: Sequence[tuple[float, float]]) -> Figure:
    """Points of Figure 6, and which of them are maximal."""
    best = set(maximal(np.array(places)).tolist())
    points = [
        Point(
            key=Key(str(index + 1), colour="user" if index in best else "other", shape="circle"),
            x=x,
            y=y,
            words=f"{x:g}, {y:g}",
            mark="maximal" if index in best else "dominated",
        )
        for index, (x, y) in enumerate(places)
    ]
    return Figure(
        name="figure-6",
        title="Six points, three of them maximal (Figure 6)",
        chart=Series(points).curves(
            Axis("first rate", low=0.0, high=6.0), Axis("second rate", low=0.0, high=4.0)
        ),
        data=Table.of(
            points,
            Col("point", lambda point: point.key.name),
            Col("first rate", lambda point: point.x),
            Col("second rate", lambda point: point.y),
            Col("which", lambda point: point.mark),
            name="figure-6-data",
            caption="Six points with the dominances of Figure 6",
        ),
        alt=(
            "Points 4, 5 and 6 are dominated by none. The places are chosen; only their order is the paper's."
        ),
        keys=(
            Key("maximal", colour="user", shape="circle"),
            Key("dominated", colour="other", shape="circle"),
        ),
        half=True,
    )


SHADES = {"long-run": "user", "bootstrap": "memory", "textbook": "system"}
"""Colours of the ways to make an interval."""


def recovered(period: str, items: Sequence[Recovered]) -> Figure:
    """Recovered costs of one period over the true ones, with three kinds of interval."""
    series = Series(
        [
            Point(
                key=Key(way, colour=shade, shape="circle"),
                label=item.request.replace("_", " "),
                y=scaled(item.intervals[way], 1.0 / item.true),
            )
            for item in items
            for way, shade in SHADES.items()
        ]
    )
    name, title = f"recovered-{period.lower()}", f"Recovered over true costs, {period}"
    listed = ", ".join(f"{item.request.replace('_', ' ')} {100 * item.off:+.1f} %" for item in items)
    return Figure(
        name=name,
        title=title,
        chart=series.dots(Axis("recovered cost over the true one"), named=("cost", "interval", "ratio")),
        data=series.table(f"{name}-data", title, "request"),
        alt=f"Recovered less true: {listed}. An interval that does not reach 1 misses the true cost.",
        keys=series.keys,
        half=True,
    )
