"""Charts of ten-minute periods: ours as circles, the published ones laid over them as diamonds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from thinktime.documents import format as shown
from thinktime.documents.charts.axis import Axis
from thinktime.documents.document import Col, Figure, Key, Table
from thinktime.documents.series import Point, Series
from thinktime.studies.anderson_sargent_1974.runs import PAPER

MEASURED = Key("measured, published", colour="plain", shape="diamond")
SIMULATED = Key("simulated, published", colour="disk", shape="diamond")


def points(key: Key, x: Iterable[float], y: Iterable[float]) -> list[Point]:
    """Periods as points."""
    return [
        Point(key=key, x=across, y=up, words=f"{shown.number(across)}, {shown.number(up)}")
        for across, up in zip(x, y, strict=True)
    ]


def published(key: Key, table: str, x: str, y: str, **levels: object) -> list[Point]:
    """Columns of a published table as points, of the rows at these levels of its keys."""
    printed = PAPER.tables[table]
    rows = [row for row in printed.rows if all(row[name] == level for name, level in levels.items())]

    def column(name: str) -> list[float]:
        if name in printed.shape.keys:
            return [float(row[name]) for row in rows]
        return [cell.value for row in rows if (cell := printed.cell(row, name)) is not None]

    return points(key, column(x), column(y))


def against(
    name: str, title: str, *, axes: tuple[str, str], ours: Sequence[Point], theirs: Sequence[Point], alt: str
) -> Figure:
    """Chart of one quantity against another.

    Parameters
    ----------
    name : str
    title : str
        With the number of the paper's figure.
    axes : (str, str)
        Names of x and y with their units.
    ours, theirs : sequence of Point
        What was simulated, and what is published.
    alt : str
        Description of what the chart shows.
    """
    drawn, over = Series(ours), Series(theirs)
    every = [*drawn.marks(), *over.marks()]
    x, y = (
        Axis(title, low=0.0, high=_ceiling([row[field] for row in every]))
        for title, field in zip(axes, "xy", strict=True)
    )
    return Figure(
        name=name,
        title=title,
        chart=drawn.scatter(x, y, over=over),
        data=Table.of(
            [*ours, *theirs],
            Col("source", lambda point: point.key.name),
            Col(axes[0], lambda point: point.x, scaled=False),
            Col(axes[1], lambda point: point.y, scaled=False),
            name=f"{name}-data",
            caption=title,
        ),
        alt=alt,
        keys=(*drawn.keys, *over.keys),
        half=True,
    )


def _ceiling(values: Sequence[float]) -> float:
    """End of an axis from zero that holds all values."""
    top = max(values)
    step = 10.0 ** math.floor(math.log10(top)) / 2
    return math.ceil(top / step) * step
