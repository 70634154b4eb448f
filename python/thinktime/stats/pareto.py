"""Pareto-maximal points: those that no other point equals or exceeds in everything."""

from __future__ import annotations

import bisect

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["ParetoSet", "dominated", "layers", "maximal"]

Matrix = NDArray[np.float64]
Indices = NDArray[np.int64]

PILOTS = 16
CHUNK_ROWS = 1 << 16


def dominated(points: Matrix, by: Matrix) -> NDArray[np.bool_]:
    """Which `points` are at most equal, in every dimension, to one of `by` (Bard 1971, Figure 6)."""
    result = np.zeros(len(points), dtype=np.bool_)
    left = np.arange(len(points))
    # In random order the first few candidates settle most points, whatever order they came in.
    for at in np.random.default_rng(0).permutation(len(by)):
        if not len(left):
            break
        below = (points[left] <= by[at]).all(axis=1)
        if below.any():
            result[left[below]] = True
            left = left[~below]
    return result


def maximal(points: ArrayLike) -> Indices:
    """Positions of the Pareto-maximal points, growing; of equal points the first is kept.

    Two dimensions: sorted, O(n log n). Three: swept in falling order of the first with a staircase of
    the other two, O(n log n) comparisons. More: in falling lexicographic order, so that no later point
    can dominate an earlier one, each against the list of candidates; O(n f) for f maximal points, which
    is slow where most points are maximal. Before that, points below a few large ones are dropped, which
    leaves little of most data: a million uniform points take half a second of CPU in four dimensions.

    Raises
    ------
    ValueError
        `points` is not a table, or holds nan.
    """
    data = np.asarray(points, dtype=np.float64)
    if data.ndim != 2:
        raise ValueError(f"points must be a table of rows, not of shape {data.shape}")
    if np.isnan(data).any():
        raise ValueError("points hold nan; leave out what was not measured")
    if len(data) == 0 or data.shape[1] == 0:
        return np.zeros(min(len(data), 1), dtype=np.int64)
    left = _above_pilots(data)
    inner = data[left]
    dimensions = data.shape[1]
    kept = _plane(inner) if dimensions <= 2 else _space(inner) if dimensions == 3 else _any(inner)
    return np.sort(left[kept])


def layers(points: Matrix, count: int) -> Indices:
    """Positions, growing, of the points in the first `count` layers: maximal, maximal of the rest, ..."""
    left = np.arange(len(points))
    taken = []
    for _ in range(count):
        if not len(left):
            break
        on = maximal(points[left])
        taken.append(left[on])
        left = np.delete(left, on)
    return np.sort(np.concatenate(taken)) if taken else np.zeros(0, dtype=np.int64)


class ParetoSet:
    """The maximal points of a stream (the algorithm of Bard 1971, a chunk at a time).

    Equal points keep the first. Two sets merge into that of both streams.

    Parameters
    ----------
    dimensions : int
        Length of one point.

    Attributes
    ----------
    points : ndarray of shape (f, dimensions)
    positions : ndarray of shape (f,)
        Positions in the stream, growing.
    """

    def __init__(self, dimensions: int) -> None:
        self.points: Matrix = np.zeros((0, dimensions))
        self.positions: Indices = np.zeros(0, dtype=np.int64)
        self.n = 0

    def absorb(self, chunk: ArrayLike) -> None:
        """Add points."""
        data = np.asarray(chunk, dtype=np.float64).reshape(-1, self.points.shape[1])
        for first in range(0, len(data), CHUNK_ROWS):
            part = data[first : first + CHUNK_ROWS]
            self._join(part, np.arange(self.n, self.n + len(part)))
            self.n += len(part)

    def merge(self, later: ParetoSet) -> None:
        """Add the points of `later`, whose stream comes after this one."""
        self._join(later.points, later.positions + self.n)
        self.n += later.n

    def _join(self, points: Matrix, positions: Indices) -> None:
        # Candidates come first, so that of equal points the earlier stays.
        joined = np.vstack([self.points, points])
        kept = maximal(joined)
        self.positions = np.concatenate([self.positions, positions])[kept]
        self.points = joined[kept]


def _above_pilots(data: Matrix) -> Indices:
    """Positions of points that are not clearly below one of a few large ones."""
    if len(data) <= 4 * PILOTS:
        return np.arange(len(data))
    low, high = data.min(axis=0), data.max(axis=0)
    spread = np.where((high > low) & np.isfinite(high - low), high - low, 1.0)
    scaled = np.clip(np.nan_to_num((data - low) / spread), 0.0, 1.0)
    score = (scaled + 1e-3).prod(axis=1)
    left = np.arange(len(data))
    pilots = data[np.argpartition(score, -PILOTS)[-PILOTS:]]
    for pilot in pilots:
        rows = data[left]
        # Strictly below in one dimension: a pilot and what equals it stay for the exact pass.
        below = (rows <= pilot).all(axis=1) & (rows < pilot).any(axis=1)
        left = left[~below]
    return left


def _plane(data: Matrix) -> Indices:
    """One or two dimensions: by falling x, keep what exceeds every y before."""
    x, y = data[:, 0], data[:, -1]
    order = np.lexsort((np.arange(len(data)), -y, -x))
    heights = y[order]
    before = np.concatenate([[-np.inf], np.maximum.accumulate(heights)[:-1]])
    kept = heights > before
    kept[0] = True  # also where y is minus infinity
    return order[kept]


def _space(data: Matrix) -> Indices:
    """Three dimensions: by falling x, against the staircase of (y, z) of all before."""
    order = np.lexsort((np.arange(len(data)), -data[:, 2], -data[:, 1], -data[:, 0]))
    # The staircase: y growing, z falling. A point is dominated if the first step at or beyond its y
    # is at least as high.
    ys: list[float] = []
    zs: list[float] = []
    kept = []
    for at, (y, z) in zip(order.tolist(), data[order, 1:].tolist(), strict=True):
        place = bisect.bisect_left(ys, y)
        if place < len(ys) and zs[place] >= z:
            continue
        kept.append(at)
        end = place + 1 if place < len(ys) and ys[place] == y else place
        first = place
        while first > 0 and zs[first - 1] <= z:
            first -= 1
        ys[first:end] = [y]
        zs[first:end] = [z]
    return np.array(kept, dtype=np.int64)


def _any(data: Matrix) -> Indices:
    """Any number of dimensions: by falling order, against the list of candidates."""
    # In lexicographic order nothing later dominates anything earlier, exactly, unlike by a rounded sum.
    keys = (np.arange(len(data)), *(-data[:, at] for at in reversed(range(data.shape[1]))))
    order = np.lexsort(keys)
    candidates = np.empty((64, data.shape[1]))
    kept: list[int] = []
    for at in order:
        if (candidates[: len(kept)] >= data[at]).all(axis=1).any():
            continue
        if len(kept) == len(candidates):
            candidates = np.vstack([candidates, np.empty_like(candidates)])
        candidates[len(kept)] = data[at]
        kept.append(int(at))
    return np.array(kept, dtype=np.int64)
