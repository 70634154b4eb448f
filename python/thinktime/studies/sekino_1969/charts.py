"""Charts of the study: ours as curves with intervals, printed numbers laid over them as diamonds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from thinktime.documents import format as shown
from thinktime.documents.charts.axis import Axis, Chart
from thinktime.documents.document import Col, Figure, Key, Table
from thinktime.documents.series import Point, Series
from thinktime.stats.estimate import Estimate

COLOURS = ("system", "user", "memory", "disk")
TOGETHER = 0.03
"""Part of the axis within which names would lie on each other."""

Curves = Mapping[str, Sequence[tuple[float, Estimate | float, str]]]
"""Points by the name of their curve, or by where they are printed: x, y, and x in words (``17 users``).

The n-th of those that are printed has the colour of the n-th curve."""


def curves(
    name: str,
    title: str,
    *,
    axes: tuple[str, str],
    ours: Curves,
    printed: Curves | None = None,
    alt: str,
    log_x: str = "",
) -> Figure:
    """Curves against one quantity, at half the width of a page.

    Parameters
    ----------
    name, title : str
    axes : (str, str)
        Names of x and y with their units.
    ours, printed : Curves
    alt : str
        Description of what the chart shows.
    log_x : str
        Unit of a logarithmic x axis; a linear one without it.
    """
    drawn, over = _series(ours, shape="line"), _series(printed or {}, shape="diamond")
    rows = [*drawn.rows(), *over.rows()]
    x = Axis.logarithmic(axes[0], [row["x"] for row in rows], log_x) if log_x else Axis(axes[0], low=0.0)
    chart = drawn.curves(x, Axis.from_zero(axes[1], rows), over=over)
    figure = _figure(name, title, axes=axes, chart=chart, drawn=drawn, over=over, alt=alt)
    return replace(figure, half=True)


def broken_lines(
    name: str,
    title: str,
    *,
    axes: tuple[str, str],
    ours: Curves,
    lines: Sequence[tuple[float, float]],
    printed: Curves,
    alt: str,
) -> Figure:
    """Points with broken lines through them; those of the first curve are named after their users.

    Parameters
    ----------
    name, title : str
    axes : (str, str)
        Names of x and y with their units.
    ours, printed : Curves
    lines : sequence of (float, float)
        Intercept and slope of each curve.
    alt : str
        Description of what the chart shows.
    """
    drawn, over = _series(ours, shape="circle"), _series(printed, shape="diamond")
    first = drawn.keys[0]
    names = _names(drawn.of(first))
    marked = [
        replace(point, mark=names.get(point.label, "") if point.key == first else "")
        for point in drawn.points
    ]
    last = max(row["x"] for row in (*drawn.rows(), *over.rows()))
    ends = Series(
        [
            Point(key=key, x=place, y=intercept + slope * place)
            for key, (intercept, slope) in zip(drawn.keys, lines, strict=True)
            for place in (0.0, last)
        ]
    )
    y = Axis.from_zero(axes[1], [*drawn.rows(), *ends.rows(), *over.rows()])
    x = Axis(axes[0], low=0.0, high=1.02 * last)
    chart = replace(drawn, points=marked).labelled(x, y, ends, over=over)
    return _figure(name, title, axes=axes, chart=chart, drawn=drawn, over=over, alt=alt)


def _series(points: Curves, *, shape: Literal["line", "circle", "diamond"]) -> Series:
    keys = [Key(name, colour=colour, shape=shape) for name, colour in zip(points, COLOURS, strict=False)]
    return Series(
        [
            Point(key=key, x=x, y=y, label=words, words=f"{shown.cell(y)}, {words}")
            for key in keys
            for x, y, words in points[key.name]
        ],
        order=tuple(keys),
    )


def _figure(
    name: str, title: str, *, axes: tuple[str, str], chart: Chart, drawn: Series, over: Series, alt: str
) -> Figure:
    data = Table.of(
        [*drawn.points, *over.points],
        Col("curve", lambda point: point.key.name),
        Col(axes[0], lambda point: f"{point.x:.4g}", scaled=False),
        Col("at", lambda point: point.label),
        Col(axes[1], _value, scaled=False),
        name=f"{name}-data",
        caption=title,
    )
    return Figure(name=name, title=title, chart=chart, data=data, alt=alt, keys=(*drawn.keys, *over.keys))


def _value(point: Point) -> Estimate | str | None:
    """Estimate of ours, or a printed number as text."""
    return shown.number(point.y) if isinstance(point.y, float) else point.y


def _names(points: Sequence[Point]) -> dict[str, str]:
    """Name of each point, the first word of its label; of points that lie together, one for all."""
    groups: list[list[Point]] = []
    places = {point.label: point.x or 0.0 for point in points}
    last = max(places.values())
    for point in sorted(points, key=lambda point: places[point.label]):
        if groups and places[point.label] - places[groups[-1][0].label] < TOGETHER * last:
            groups[-1].append(point)
        else:
            groups.append([point])
    result = {}
    for group in groups:
        words = sorted((point.label.partition(" ")[0] for point in group), key=float)
        name = words[0] if len(words) == 1 else f"{words[0]} to {words[-1]}"
        result[group[len(group) // 2].label] = name
    return result
