"""Ranges of load: which observations are looked at together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Range", "ranges"]

SINGLE_UP_TO = 12
RANGES_MAX = 20


@dataclass(frozen=True, slots=True)
class Range:
    """Loads from `low` to `high`, both included, and the observations that have them."""

    low: float
    high: float
    rows: NDArray[np.int64]


def ranges(load: NDArray[np.float64], width: int | None = None) -> tuple[Range, ...]:
    """Group observations by load, growing; empty ranges are left out, nan belongs to none.

    Parameters
    ----------
    load : array
        Load of each observation: number of users, rounded to whole ones.
    width : int, optional
        Number of loads in a range: 2 gives 1-2, 3-4, ... (Bard 1971, Table 10). By default 1 up to
        12 users, 2 up to 40, then the first of 5, 10, 20, 50, ... that gives at most 20 ranges. Load 0
        is a range of its own.
    """
    known = np.flatnonzero(~np.isnan(load))
    whole = np.rint(load[known])
    if not len(known):
        return ()
    step = _width(float(whole.max())) if width is None else width
    numbers = np.where(whole < 1, 0, (whole - 1) // step + 1).astype(np.int64)
    groups = []
    for number in np.unique(numbers):
        low = 0.0 if number == 0 else float((number - 1) * step + 1)
        high = 0.0 if number == 0 else low + step - 1
        groups.append(Range(low, high, known[numbers == number]))
    return tuple(groups)


def _width(most: float) -> int:
    if most <= SINGLE_UP_TO:
        return 1
    step, factors, at = 2, (2.5, 2.0, 2.0), 0
    while most / step > RANGES_MAX:
        step = int(step * factors[at % 3])
        at += 1
    return step
