"""Ranks, where several observations may be equal."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["broken", "shared"]

Array = NDArray[np.float64]


def shared(values: ArrayLike) -> Array:
    """Ranks from 1; equal observations share their mean rank."""
    _, inverse, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Array = (last - (counts - 1) / 2.0)[inverse]
    return ranks


def broken(values: ArrayLike, seed: int) -> Array:
    """Ranks from 1; equal observations in random order, the same for the same seed."""
    data = np.asarray(values)
    order = np.lexsort((np.random.default_rng(seed).random(len(data)), data))
    ranks = np.empty(len(data))
    ranks[order] = np.arange(1, len(data) + 1)
    return ranks
