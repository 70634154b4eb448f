"""Charts of ten-minute periods: ours as circles, the published ones laid over them as diamonds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from thinktime.documents import charts
from thinktime.documents import format as shown
from thinktime.documents.charts import Axis, Spec
from thinktime.documents.document import Column, Figure, Key, Table
from thinktime.studies.anderson_sargent_1974.runs import PAPER

COLOURS = ("user", "system", "memory")
MEASURED = Key("measured, published", colour="plain", shape="diamond")
SIMULATED = Key("simulated, published", colour="disk", shape="diamond")


@dataclass(frozen=True, slots=True)
class Points:
    """Periods as points."""

    x: Sequence[float]
    y: Sequence[float]


def published(table: str, x: str, y: str, **levels: object) -> Points:
    """Columns of a published table, of the rows at these levels of its keys."""
    result = PAPER.tables[table]
    rows = [row for row in result.rows if all(row[key] == level for key, level in levels.items())]

    def column(name: str) -> list[float]:
        if name in result.shape.keys:
            return [float(row[name]) for row in rows]
        cells = [result.cell(row, name) for row in rows]
        return [cell.value for cell in cells if cell is not None]

    return Points(column(x), column(y))


def against(
    name: str,
    title: str,
    axes: tuple[str, str],
    ours: Mapping[str, Points],
    theirs: Mapping[Key, Points],
    alt: str,
) -> Figure:
    """One quantity against another.

    Parameters
    ----------
    name : str
    title : str
        With the number of the paper's figure.
    axes : (str, str)
        Names of x and y with their units.
    ours : mapping of str to Points
        By what was simulated.
    theirs : mapping of Key to Points
        By where it was published.
    alt : str
        What is to be seen.
    """
    keys = tuple(Key(label, colour=COLOURS[index], shape="circle") for index, label in enumerate(ours))
    every = [*ours.values(), *theirs.values()]
    x = Axis(axes[0], low=0.0, high=_ceiling([value for item in every for value in item.x]))
    y = Axis(axes[1], low=0.0, high=_ceiling([value for item in every for value in item.y]))
    points = [row for label, item in ours.items() for row in _rows(label, item)]
    over = [row for key, item in theirs.items() for row in _rows(key.name, item)]
    columns = (Column("source"), Column(axes[0], scaled=False), Column(axes[1], scaled=False))
    cells = tuple((str(row["series"]), _float(row["x"]), _float(row["y"])) for row in (*points, *over))
    return Figure(
        name=name,
        title=title,
        chart=partial(_chart, points, over, keys, tuple(theirs), x, y),
        data=Table(name=f"{name}-data", caption=title, columns=columns, rows=cells),
        alt=alt,
        keys=(*keys, *theirs),
        half=True,
    )


def _chart(
    points: Sequence[Mapping[str, object]],
    over: Sequence[Mapping[str, object]],
    keys: Sequence[Key],
    theirs: Sequence[Key],
    x: Axis,
    y: Axis,
) -> Spec:
    return charts.laid_over(charts.scatter(points, [], keys, x, y), over, theirs)


def _rows(label: str, points: Points) -> list[dict[str, object]]:
    return [
        {"series": label, "x": x, "y": y, "shown": f"{shown.number(x)}, {shown.number(y)}"}
        for x, y in zip(points.x, points.y, strict=True)
    ]


def _float(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else math.nan


def _ceiling(values: Sequence[float]) -> float:
    """End of an axis from zero that holds all values."""
    top = max(values)
    step = 10.0 ** math.floor(math.log10(top)) / 2
    return math.ceil(top / step) * step
