"""Charts of the study: ours as curves with intervals, what is printed laid over them as diamonds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from thinktime.documents import charts
from thinktime.documents import format as shown
from thinktime.documents.charts import Axis, Spec
from thinktime.documents.document import Cell, Column, Figure, Key, Table
from thinktime.stats.estimate import Estimate

COLOURS = ("system", "user", "memory", "disk")
TOGETHER = 0.03
"""Part of the axis within which names would lie on each other."""
_Rows = Sequence[Mapping[str, object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A simulated point of a curve."""

    x: float
    y: Estimate
    words: str
    """Meaning for a reader: ``17 users``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """A point that the paper states or implies."""

    x: float
    y: float
    words: str


def curves(
    name: str,
    title: str,
    axes: tuple[str, str],
    ours: Mapping[str, Sequence[Point]],
    printed: Mapping[str, Sequence[Printed]],
    alt: str,
    log_x: str = "",
) -> Figure:
    """Curves against one quantity.

    Parameters
    ----------
    name, title : str
    axes : (str, str)
        Names of x and y with their units.
    ours : mapping of str to sequence of Point
        By the name of the curve.
    printed : mapping of str to sequence of Printed
        By where the points come from; the n-th has the colour of the n-th curve.
    alt : str
        What is to be seen.
    log_x : str
        Unit of a logarithmic x axis, which is not logarithmic without one.
    """
    keys = tuple(
        Key(label, colour=colour, shape="line") for label, colour in zip(ours, COLOURS, strict=False)
    )
    over = tuple(
        Key(label, colour=colour, shape="diamond") for label, colour in zip(printed, COLOURS, strict=False)
    )
    rows = [_row(label, point) for label, points in ours.items() for point in points]
    marks = _marks(printed)
    places = [
        *(float(str(row["x"])) for row in rows),
        *(point.x for selected in printed.values() for point in selected),
    ]
    x = Axis.logarithmic(axes[0], places, log_x) if log_x else Axis(axes[0], low=0.0)
    y = Axis.from_zero(axes[1], [*rows, *({"value": mark["y"]} for mark in marks)])
    return Figure(
        name=name,
        title=title,
        chart=partial(_chart, rows, marks, keys, over, x, y),
        data=_data(name, title, axes=axes, ours=ours, printed=printed),
        alt=alt,
        keys=(*keys, *over),
        half=True,
    )


def broken_lines(
    name: str,
    title: str,
    axes: tuple[str, str],
    ours: Mapping[str, Sequence[Point]],
    lines: Mapping[str, tuple[float, float]],
    printed: Mapping[str, Sequence[Printed]],
    alt: str,
) -> Figure:
    """Points with broken lines through them, those of the first named after what they stand for.

    Parameters
    ----------
    name, title : str
    axes : (str, str)
        Names of x and y with their units.
    ours : mapping of str to sequence of Point
        By what is drawn.
    lines : mapping of str to (float, float)
        Intercept and slope of each.
    printed : mapping of str to sequence of Printed
        By where the points come from; the n-th has the colour of the n-th line.
    alt : str
        What is to be seen.
    """
    keys = tuple(
        Key(label, colour=colour, shape="circle") for label, colour in zip(ours, COLOURS, strict=False)
    )
    over = tuple(
        Key(label, colour=colour, shape="diamond") for label, colour in zip(printed, COLOURS, strict=False)
    )
    first = next(iter(ours))
    names = _names(ours[first])
    rows = [
        {**_row(label, point), "label": names.get(point.words, "") if label == first else ""}
        for label, points in ours.items()
        for point in points
    ]
    marks = _marks(printed)
    last = max(max(point.x for selected in every.values() for point in selected) for every in (ours, printed))
    ends = [
        {"x": index, "value": start + slope * index, "series": label}
        for label, (start, slope) in lines.items()
        for index in (0.0, last)
    ]
    x = Axis(axes[0], low=0.0, high=1.02 * last)
    y = Axis.from_zero(axes[1], [*rows, *ends, *({"value": mark["y"]} for mark in marks)])
    return Figure(
        name=name,
        title=title,
        chart=partial(_labelled, rows, ends, marks, keys, over, x, y),
        data=_data(name, title, axes=axes, ours=ours, printed=printed),
        alt=alt,
        keys=(*keys, *over),
    )


def _names(points: Sequence[Point]) -> dict[str, str]:
    """Name of each point, the first word of what it stands for; of points that lie together, one for all."""
    groups: list[list[Point]] = []
    last = max(point.x for point in points)
    for point in sorted(points, key=lambda point: point.x):
        if groups and point.x - groups[-1][0].x < TOGETHER * last:
            groups[-1].append(point)
        else:
            groups.append([point])
    result = {}
    for group in groups:
        words = sorted((point.words.partition(" ")[0] for point in group), key=float)
        name = words[0] if len(words) == 1 else f"{words[0]} to {words[-1]}"
        result[group[len(group) // 2].words] = name
    return result


def _marks(printed: Mapping[str, Sequence[Printed]]) -> list[dict[str, object]]:
    return [
        {"series": label, "x": point.x, "y": point.y, "shown": f"{shown.number(point.y)}, {point.words}"}
        for label, points in printed.items()
        for point in points
    ]


def _data(
    name: str,
    title: str,
    axes: tuple[str, str],
    ours: Mapping[str, Sequence[Point]],
    printed: Mapping[str, Sequence[Printed]],
) -> Table:
    cells: list[tuple[Cell, ...]] = [
        (label, f"{point.x:.4g}", point.words, point.y)
        for label, selected in ours.items()
        for point in selected
    ]
    cells += [
        (label, f"{point.x:.4g}", point.words, shown.number(point.y))
        for label, selected in printed.items()
        for point in selected
    ]
    heads = (Column("curve"), Column(axes[0], scaled=False), Column("at"), Column(axes[1], scaled=False))
    return Table(name=f"{name}-data", caption=title, columns=heads, rows=tuple(cells))


def _row(label: str, point: Point) -> dict[str, object]:
    ends = {"value": point.y.value, "low": point.y.low, "high": point.y.high}
    return {"series": label, "x": point.x, "shown": f"{shown.estimate(point.y)}, {point.words}", **ends}


def _chart(rows: _Rows, marks: _Rows, keys: Sequence[Key], over: Sequence[Key], x: Axis, y: Axis) -> Spec:
    spec = charts.curves(rows, keys, x, y)
    return charts.laid_over(spec, marks, over) if over else spec


def _labelled(
    rows: _Rows,
    ends: _Rows,
    marks: _Rows,
    keys: Sequence[Key],
    over: Sequence[Key],
    x: Axis,
    y: Axis,
) -> Spec:
    return charts.laid_over(charts.labelled(rows, ends, keys, x, y), marks, over)
