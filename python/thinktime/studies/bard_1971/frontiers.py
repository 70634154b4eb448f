"""Pictures of saturation: versions II and III in one plot, the points of III by what limits them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from thinktime.documents import charts, document
from thinktime.documents.charts import Axis, Rows, Spec
from thinktime.documents.document import Cell, Column, Key, Table
from thinktime.stats import frontier as hulls

if TYPE_CHECKING:
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
        alt="; ".join(_in_words(period, pair, x_factor, y_factor) for period, pair in pairs.items())
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


def _in_words(period: str, pair: FrontierPair, x_factor: float, y_factor: float) -> str:
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
    rows: list[tuple[Cell, ...]] = [
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
