"""The frontier of two kinds of work as a curve."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thinktime.stats.pareto import maximal

__all__ = ["area", "chord", "concave_hull", "height", "radius", "slopes", "staircase"]

_Matrix = NDArray[np.float64]


def concave_hull(points: _Matrix) -> _Matrix:
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


def staircase(points: _Matrix) -> _Matrix:
    """Corners of the least falling curve above `points`, x growing: the free disposal hull.

    It takes nothing for possible but what was done, and less of everything (Deprins, Simar and Tulkens
    1984, *The Performance of Public Enterprises*, 243): unlike `concave_hull`, no mixture of two loads.

    Raises
    ------
    ValueError
        There are no points.
    """
    if not len(points):
        raise ValueError("a frontier needs at least one point")
    edge = points[maximal(points)]
    edge = edge[np.argsort(edge[:, 0])]
    start = min(0.0, float(edge[0, 0]))
    x = np.repeat(np.concatenate([[start], edge[:, 0]]), 2)[1:-1]
    corners: _Matrix = np.column_stack([x, np.repeat(edge[:, 1], 2)])
    return corners


def area(curve: _Matrix) -> float:
    """Area between a falling curve and the x axis, from its first x to its last."""
    widths = np.diff(curve[:, 0])
    return float(widths @ (curve[1:, 1] + curve[:-1, 1]) / 2.0)


def height(hull: _Matrix, at: _Matrix) -> _Matrix:
    """Height of the curve at each x of `at`; 0 beyond its end."""
    result: _Matrix = np.interp(at, hull[:, 0], hull[:, 1], right=0.0)
    return result


def slopes(hull: _Matrix) -> _Matrix:
    """Slope dy/dx of each falling piece of the curve: rows (x low, x high, slope)."""
    steps = np.diff(hull, axis=0)
    falling = (steps[:, 1] < 0.0) & (steps[:, 0] > 0.0)
    rows: _Matrix = np.column_stack(
        [
            hull[:-1, 0],
            hull[1:, 0],
            np.divide(steps[:, 1], steps[:, 0], out=np.zeros(len(steps)), where=steps[:, 0] > 0),
        ]
    )[falling]
    return rows


def chord(hull: _Matrix, low: float, high: float) -> float:
    """Fall of the curve per unit of x between `low` and `high`, or its own end: -dy/dx.

    nan where the curve ends before it has gone half of the way.
    """
    end = min(high, float(hull[-1, 0]))
    if not end - low > 0.5 * (high - low):
        return float("nan")
    ends = np.interp([low, end], hull[:, 0], hull[:, 1])
    return float((ends[0] - ends[1]) / (end - low))


def radius(hull: _Matrix, angles: _Matrix) -> _Matrix:
    """Distance from the origin to the curve, in directions between the x axis (0) and the y axis (pi/2).

    The curve is closed by a vertical line at its end. Scale both axes first: an angle has no meaning between
    pages and seconds.
    """
    closed = np.vstack([hull, [hull[-1, 0], 0.0]])
    turned = np.arctan2(closed[:, 1], closed[:, 0])
    # The vertices turn from the y axis to the x axis; the piece that a ray meets ends at the first that is at
    # most as far turned.
    last = np.clip(np.searchsorted(-turned, -angles, side="left"), 1, len(closed) - 1)
    a, step = closed[last - 1], closed[last] - closed[last - 1]
    across = np.cos(angles) * step[:, 1] - np.sin(angles) * step[:, 0]
    met = a[:, 0] * step[:, 1] - a[:, 1] * step[:, 0]
    found: _Matrix = np.divide(met, across, out=np.full(len(angles), np.nan), where=across != 0.0)
    return found
