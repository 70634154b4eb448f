"""Pareto-maximal points, which no other point equals or exceeds in all coordinates, and their frontier."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinktime import _native
from thinktime.errors import InputError
from thinktime.stats import arguments
from thinktime.stats.estimate import Estimate
from thinktime.stats.series.batch_means import ratio_error

_Matrix = NDArray[np.float64]
_Indices = NDArray[np.int64]

POINTS_LEAST = 100
"""Points that a quantile of order alpha needs: with 0.9, ten lie above it."""
BATCHES = 20
"""Stretches of the stream by which the error of a quantile of order alpha is estimated."""
DIMENSIONS_MAX = 1000
PIECE_BYTES = 1 << 18
"""Size of the pieces in which points are passed on: they stay in the cache of a processor."""


class ParetoSet:
    """Maximal points of a stream, in any number of dimensions (Bard 1971, Figure 6).

    Of equal points the first is kept. Two sets merge into that of both streams. The memory is that of
    about twice the maximal points. A new point is first compared with a few candidates that dominate most
    recent points; the others are merged by divide and conquer, O(n (log n)^(d-2)) at worst
    (Kung, Luccio and Preparata 1975, JACM 22, 469), where Bard's list of candidates takes O(n f) for f
    maximal points.

    Parameters
    ----------
    dimensions : int
        Number of coordinates of a point.

    Raises
    ------
    InputError
        `dimensions` is not positive.
    TypeError
        It is no whole number.
    """

    def __init__(self, dimensions: int) -> None:
        self.dimensions = arguments.whole(dimensions, "dimensions", least=1, most=DIMENSIONS_MAX)
        self._set = _native.NativeParetoSet(self.dimensions)

    @property
    def n(self) -> int:
        """Number of points so far."""
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
        InputError
            Points are of other dimensions, or one holds NaN; the points before it have been added.
        TypeError
            `chunk` are not numbers.
        """
        data = arguments.numeric(chunk, "chunk")
        if data.size and (data.ndim > 2 or data.shape[-1] != self.dimensions):
            raise InputError(
                f"chunk has the shape {data.shape}; give points of {self.dimensions} coordinates"
            )
        data = data.reshape(-1, self.dimensions)
        rows = max(1, PIECE_BYTES // (8 * self.dimensions))
        try:
            for first in range(0, len(data), rows):
                self._set.absorb(data[first : first + rows].tobytes())
        except ValueError as error:
            raise InputError(f"{error}; leave out points that were not measured") from None

    def merge(self, later: ParetoSet) -> None:
        """Add the points of `later`, whose stream follows this one.

        Raises
        ------
        InputError
            Its points are of other dimensions.
        TypeError
            `later` is no `ParetoSet`.
        """
        if arguments.record(later, ParetoSet, "later").dimensions != self.dimensions:
            raise InputError(f"later has {later.dimensions} dimensions; give a set of {self.dimensions}")
        self._set.merge(later._set)


def maximal(points: ArrayLike) -> _Indices:
    """Positions of the Pareto-maximal points, growing; of equal points the first is kept.

    Parameters
    ----------
    points : array of shape (n, dimensions)

    Raises
    ------
    InputError
        `points` is no table, or holds NaN.
    TypeError
        They are not numbers.
    """
    data = arguments.numeric(points, "points")
    if data.ndim != 2:
        raise InputError(f"points has the shape {data.shape}; give a table with one point per row")
    if data.shape[1] == 0:
        return np.zeros(min(len(data), 1), dtype=np.int64)
    points_set = ParetoSet(data.shape[1])
    points_set.absorb(data)
    return points_set.positions


def dominated(points: ArrayLike, by: ArrayLike) -> NDArray[np.bool_]:
    """True for each of `points` that is at most equal, in every coordinate, to one of `by`.

    Takes O((n + m) (log (n + m))^(d-2)) for n points, m others and d dimensions.

    Parameters
    ----------
    points, by : array of shape (n, dimensions)

    Raises
    ------
    InputError
        The two are not tables of points of the same dimensions, or hold NaN.
    TypeError
        They are not numbers.
    """
    low, high = arguments.numeric(points, "points"), arguments.numeric(by, "by")
    if low.ndim != 2 or high.ndim != 2 or low.shape[1] != high.shape[1] or not low.shape[1]:
        raise InputError(
            f"points has the shape {low.shape} and by {high.shape}; give two tables with as many columns"
        )
    if np.isnan(low).any() or np.isnan(high).any():
        raise InputError("points or by holds NaN; leave out points that were not measured")
    result = _native.dominated(low.shape[1], low.tobytes(), high.tobytes())
    return np.frombuffer(result, dtype=np.bool_)


def concave_hull(points: ArrayLike) -> _Matrix:
    """Vertices of the least concave, falling curve above `points`, x growing.

    It replaces the curve drawn by eye (Bard 1971, Figures 7 to 9): of two loads that a machine has carried,
    a mixture in time is possible too, hence the frontier of possible loads is concave. The curve begins at
    x = 0 with the greatest y and ends at the greatest x.

    Parameters
    ----------
    points : array of shape (n, 2)
        At least one.

    Raises
    ------
    InputError
        There are no points, or they have not two finite coordinates.
    TypeError
        They are not numbers.
    """
    points = _plane(points, "points")
    edge = points[maximal(points)]
    top = float(edge[:, 1].max())
    edge = edge[np.argsort(edge[:, 0])]
    hull: list[tuple[float, float]] = [(min(0.0, float(edge[0, 0])), top)]
    for x, y in edge.tolist():
        if x == hull[-1][0]:  # the first point, where it lies on the axis
            continue
        while len(hull) >= 2 and _turns_up(hull[-2], hull[-1], (x, y)):
            hull.pop()
        hull.append((x, y))
    return np.array(hull)


def _plane(points: ArrayLike, name: str) -> _Matrix:
    data = arguments.table(points, name, columns=2)
    if not len(data):
        raise InputError(f"{name} is empty; give at least one point")
    return data


def _turns_up(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (b[1] - a[1]) * (c[0] - a[0]) <= (c[1] - a[1]) * (b[0] - a[0])


def staircase(points: ArrayLike) -> _Matrix:
    """Corners of the least falling curve above `points`, x growing: the free disposal hull.

    It assumes that only observed loads and smaller ones are possible (Deprins, Simar and Tulkens 1984, *The
    Performance of Public Enterprises*, 243): unlike `concave_hull`, no mixture of two loads.

    Parameters and errors are those of `concave_hull`.
    """
    points = _plane(points, "points")
    edge = points[maximal(points)]
    edge = edge[np.argsort(edge[:, 0])]
    start = min(0.0, float(edge[0, 0]))
    x = np.repeat(np.concatenate([[start], edge[:, 0]]), 2)[1:-1]
    corners: _Matrix = np.column_stack([x, np.repeat(edge[:, 1], 2)])
    return corners


def order_alpha(points: ArrayLike, x: float, alpha: float = 0.9, level: float = 0.95) -> Estimate | None:
    r"""Height that y exceeds in 1 - alpha of the points that have at least `x`; None if these are too few.

    .. math:: q_\alpha(x) = \inf\{y : P(Y \le y \mid X \ge x) \ge \alpha\}

    (Aragon, Daouia and Thomas-Agnan 2005, Econometric Theory 21, 358). Unlike the frontier itself it neither
    grows with the number of points nor hangs on a few of them: readings with an error of 3 % move it by less
    than 1 %. The interval is Woodruff's (1952, Journal of the American Statistical Association 47, 635): the
    quantiles at alpha plus and minus the error of the share below the estimate, from 20 stretches of the
    stream, so that it holds for points that depend on those before. An end that the points do not bound is
    None.

    Parameters
    ----------
    points : array of shape (n, 2)
        In the order of time.
    x : float
    alpha : float
        Share of the points, between 0 and 1.
    level : float
        Confidence of the interval.

    Raises
    ------
    InputError
        Points have not two finite coordinates, or a number is out of range.
    TypeError
        They are not numbers.
    """
    data = arguments.table(points, "points", columns=2)
    x, level = arguments.number(x, "x"), arguments.level(level)
    alpha = arguments.number(alpha, "alpha", low=0.0, high=1.0)
    on = data[:, 0] >= x
    count = int(np.count_nonzero(on))
    if count < POINTS_LEAST:
        return None
    heights = np.sort(data[on, 1])
    value = float(heights[max(0, math.ceil(alpha * count) - 1)])
    batch = np.arange(len(data)) * BATCHES // len(data)
    below = np.bincount(batch, on & (data[:, 1] <= value), BATCHES).astype(np.float64)
    _, variance = ratio_error(below, np.bincount(batch, on, BATCHES).astype(np.float64), independent=True)
    reach = variance.reach(level)
    first, last = math.floor((alpha - reach) * count) - 1, math.ceil((alpha + reach) * count)
    return Estimate(
        value=value,
        low=float(heights[first]) if first >= 0 else None,
        high=float(heights[last]) if last < count else None,
        n=count,
        method=f"quantile of order {alpha:g}, Woodruff's interval with {BATCHES} batches",
        level=level,
    )


def area(curve: ArrayLike) -> float:
    """Area between a falling curve and the x axis, from its first x to its last."""
    curve = _plane(curve, "curve")
    widths = np.diff(curve[:, 0])
    return float(widths @ (curve[1:, 1] + curve[:-1, 1]) / 2.0)


def height(hull: ArrayLike, x: ArrayLike) -> _Matrix:
    """Height of the curve at each `x`; 0 beyond its end."""
    curve = _plane(hull, "hull")
    result: _Matrix = np.interp(arguments.numeric(x, "x"), curve[:, 0], curve[:, 1], right=0.0)
    return result


def slopes(hull: ArrayLike) -> _Matrix:
    """Slope dy/dx of each falling piece of the curve: rows (x low, x high, slope)."""
    hull = _plane(hull, "hull")
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


def chord(hull: ArrayLike, low: float, high: float) -> float:
    """Mean fall of the curve per unit of x, -dy/dx, from `low` to `high` or to its end.

    nan where the curve ends before half of the way.
    """
    hull = _plane(hull, "hull")
    low, high = arguments.number(low, "low"), arguments.number(high, "high")
    end = min(high, float(hull[-1, 0]))
    if not end - low > 0.5 * (high - low):
        return float("nan")
    ends = np.interp([low, end], hull[:, 0], hull[:, 1])
    return float((ends[0] - ends[1]) / (end - low))


def radius(hull: ArrayLike, angles: ArrayLike) -> _Matrix:
    """Distance from the origin to the curve, in directions between the x axis (0) and the y axis (pi/2).

    The curve is closed by a vertical line at its end. Scale both axes first: an angle between pages and
    seconds has no meaning.
    """
    hull, angles = _plane(hull, "hull"), arguments.sample(angles, "angles")
    closed = np.vstack([hull, [hull[-1, 0], 0.0]])
    turned = np.arctan2(closed[:, 1], closed[:, 0])
    # The vertices turn from the y axis to the x axis; the piece that a ray meets ends at the first vertex
    # that has turned at least as far.
    last = np.clip(np.searchsorted(-turned, -angles, side="left"), 1, len(closed) - 1)
    a, step = closed[last - 1], closed[last] - closed[last - 1]
    across = np.cos(angles) * step[:, 1] - np.sin(angles) * step[:, 0]
    met = a[:, 0] * step[:, 1] - a[:, 1] * step[:, 0]
    result: _Matrix = np.divide(met, across, out=np.full(len(angles), np.nan), where=across != 0.0)
    return result
