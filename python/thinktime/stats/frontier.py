"""Pareto-maximal points: those that no other point equals or exceeds in everything."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinktime import _native

_Matrix = NDArray[np.float64]
_Indices = NDArray[np.int64]

PIECE_BYTES = 1 << 18
"""Points are handed over in pieces that stay in a processor's cache."""


class ParetoSet:
    """The maximal points of a stream, in any number of dimensions (Bard 1971, Figure 6).

    Of equal points the first is kept. Two sets merge into that of both streams. The memory is that of
    about twice the maximal points. A few candidates that dominate most of what came lately are asked
    first; what passes them is joined with the others by divide and conquer, O(n (log n)^(d-2)) at worst
    (Kung, Luccio and Preparata 1975, JACM 22, 469), where Bard's list of candidates takes O(n f) for f
    maximal points.

    Parameters
    ----------
    dimensions : int
        Length of one point.

    Raises
    ------
    ValueError
        `dimensions` is not positive.
    """

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self._set = _native.NativeParetoSet(dimensions)

    @property
    def n(self) -> int:
        """Number of points seen."""
        return self._set.n

    @property
    def points(self) -> _Matrix:
        """Maximal points, in the order of the stream: array of shape (f, dimensions)."""
        return np.frombuffer(self._set.maximal()[0]).reshape(-1, self.dimensions)

    @property
    def positions(self) -> _Indices:
        """Positions in the stream of `points`, growing."""
        return np.frombuffer(self._set.maximal()[1], dtype=np.int64)

    def absorb(self, chunk: ArrayLike) -> None:
        """Add points.

        Raises
        ------
        ValueError
            One holds nan; the points before it have been added.
        """
        data = np.asarray(chunk, dtype=np.float64).reshape(-1, self.dimensions)
        rows = max(1, PIECE_BYTES // (8 * self.dimensions))
        for first in range(0, len(data), rows):
            self._set.absorb(data[first : first + rows].tobytes())

    def merge(self, later: ParetoSet) -> None:
        """Add the points of `later`, whose stream comes after this one."""
        self._set.merge(later._set)


def maximal(points: ArrayLike) -> _Indices:
    """Positions of the Pareto-maximal points, growing; of equal points the first is kept.

    Raises
    ------
    ValueError
        `points` is not a table, or holds nan.
    """
    data = np.asarray(points, dtype=np.float64)
    if data.ndim != 2:
        raise ValueError(f"points must be a table of rows, not of shape {data.shape}")
    if data.shape[1] == 0:
        return np.zeros(min(len(data), 1), dtype=np.int64)
    found = ParetoSet(data.shape[1])
    found.absorb(data)
    return found.positions


def dominated(points: ArrayLike, by: ArrayLike) -> NDArray[np.bool_]:
    """Which `points` are at most equal, in every dimension, to one of `by`.

    Neither may hold nan. O((n + m) (log (n + m))^(d-2)) for n points, m others and d dimensions.

    Raises
    ------
    ValueError
        The two are not tables of points of the same dimensions.
    """
    low, high = (np.asarray(item, dtype=np.float64) for item in (points, by))
    if low.ndim != 2 or high.ndim != 2 or low.shape[1] != high.shape[1] or not low.shape[1]:
        raise ValueError(f"points of shape {low.shape} cannot be compared with those of {high.shape}")
    found = _native.dominated(low.shape[1], low.tobytes(), high.tobytes())
    return np.frombuffer(found, dtype=np.bool_)


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
