"""The frontier of two kinds of work as a curve."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thinktime.stats.pareto import maximal

__all__ = ["concave_hull", "height", "slopes"]

Matrix = NDArray[np.float64]


def concave_hull(points: Matrix) -> Matrix:
    """Vertices of the least concave, falling curve above `points`, x growing.

    It replaces the curve drawn by eye (Bard 1971, Figures 7 to 9): between two loads that the machine
    has carried, a mixture of both in time is possible too, hence the frontier of what is possible is
    concave. The curve begins at x = 0 with the greatest y and ends at the greatest x.

    Raises
    ------
    ValueError
        There are no points.
    """
    if not len(points):
        raise ValueError("a frontier needs at least one point")
    edge = points[maximal(points)]
    top = float(edge[:, 1].max())
    ordered = edge[np.argsort(edge[:, 0])]
    hull: list[tuple[float, float]] = [(min(0.0, float(ordered[0, 0])), top)]
    for x, y in ordered.tolist():
        if x == hull[-1][0]:  # the first point, where it lies on the axis
            continue
        while len(hull) >= 2 and _turns_up(hull[-2], hull[-1], (x, y)):
            hull.pop()
        hull.append((x, y))
    return np.array(hull)


def _turns_up(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (b[1] - a[1]) * (c[0] - a[0]) <= (c[1] - a[1]) * (b[0] - a[0])


def height(hull: Matrix, at: Matrix) -> Matrix:
    """Height of the curve at each x of `at`; 0 beyond its end."""
    result: Matrix = np.interp(at, hull[:, 0], hull[:, 1], right=0.0)
    return result


def slopes(hull: Matrix) -> Matrix:
    """Slope dy/dx of each falling piece of the curve: rows (x low, x high, slope)."""
    steps = np.diff(hull, axis=0)
    falling = (steps[:, 1] < 0.0) & (steps[:, 0] > 0.0)
    rows: Matrix = np.column_stack(
        [
            hull[:-1, 0],
            hull[1:, 0],
            np.divide(steps[:, 1], steps[:, 0], out=np.zeros(len(steps)), where=steps[:, 0] > 0),
        ]
    )[falling]
    return rows
