"""Pareto-maximal points: those that no other point equals or exceeds in everything."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinktime import _native

__all__ = ["ParetoSet", "dominated", "maximal"]

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
