"""Sums over batches of a stream whose length nobody knows before its end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST", "Batched", "joined"]

MOST = 256
"""Batches that a clock keeps: from half as many up, when it has had that many observations."""

_Array = NDArray[np.float64]


class Batched:
    """Sums of columns over batches of adjoining observations; memory does not grow with their number.

    Every observation has a clock, which counts it into a batch, and a slot, its place within the batch.
    One clock for each group gives batches of a group's own observations; one clock for all, with a slot
    for each group, gives stretches of time and what each group did in them. A clock that has filled
    `MOST` batches joins them in pairs and goes on with batches twice as long, so that all batches of a
    clock but the last hold equally many observations (Fishman 1978, *Principles of Discrete Event
    Simulation*, 5.5).

    Parameters
    ----------
    clocks, slots, columns : int
        Numbers of each.
    """

    def __init__(self, clocks: int, slots: int, columns: int) -> None:
        self._sums = np.zeros((columns, clocks, MOST, slots))
        self._size = np.ones(clocks, dtype=np.int64)
        self._seen = np.zeros(clocks, dtype=np.int64)

    def add(
        self,
        clock: NDArray[np.int64],
        slot: NDArray[np.int64],
        columns: Sequence[tuple[_Array, Sequence[int]]],
    ) -> None:
        """Add observations in order.

        Parameters
        ----------
        clock, slot : ndarray of int
            Of each observation.
        columns : sequence of (ndarray, sequence of int)
            Values, and the columns to which they are added: several where they share the values.
        """
        clocks, most, slots = self._sums.shape[1:]
        counts = np.bincount(clock, minlength=clocks)
        for late in np.flatnonzero(self._seen + counts > self._size * most).tolist():
            self._coarsen(late, int(self._seen[late] + counts[late]))
        batch = (self._seen[clock] + _ranks(clock, counts)) // self._size[clock]
        cell = (clock * most + batch) * slots + slot
        for values, targets in columns:
            sums = np.bincount(cell, values, minlength=clocks * most * slots)
            for target in targets:
                self._sums[target] += sums.reshape(clocks, most, slots)
        self._seen += counts

    def _coarsen(self, clock: int, expected: int) -> None:
        """Join batches in pairs until `expected` observations fit."""
        while expected > self._size[clock] * MOST:
            sums = self._sums[:, clock]
            pairs = sums[:, 0::2] + sums[:, 1::2]
            self._sums[:, clock] = 0.0
            self._sums[:, clock, : MOST // 2] = pairs
            self._size[clock] *= 2

    def sums(self, clock: int) -> _Array:
        """Return the sums of a clock's batches, in order; shape (columns, batches, slots)."""
        used = -(-int(self._seen[clock]) // int(self._size[clock]))
        return self._sums[:, clock, :used]

    def totals(self) -> _Array:
        """Return the sums over all batches; shape (columns, clocks, slots)."""
        totals: _Array = self._sums.sum(axis=2)
        return totals


def _ranks(clock: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give each observation its number among those of its clock."""
    if len(counts) == 1:
        return np.arange(len(clock))
    order = np.argsort(clock, kind="stable")
    ranks = np.empty(len(clock), dtype=np.int64)
    ranks[order] = np.arange(len(clock)) - np.repeat(np.cumsum(counts) - counts, counts)
    return ranks


def joined(batches: _Array, number: int) -> _Array:
    """Join adjoining batches (the second axis) into `number` of nearly equal numbers of batches."""
    count = batches.shape[1]
    if number >= count:
        return batches
    starts = np.linspace(0, count, number + 1).astype(np.int64)[:-1]
    found: _Array = np.add.reduceat(batches, starts, axis=1)
    return found
