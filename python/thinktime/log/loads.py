"""Ranges of load: which observations are looked at together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["SINGLE_UP_TO", "Range", "bounds", "numbers", "ranges", "width_for"]

SINGLE_UP_TO = 12
"""Numbers of users that are looked at one by one."""
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
        Number of loads in a range: 2 gives 1-2, 3-4, ... (Bard 1971, Table 10). By default that of
        `width_for`. Load 0 is a range of its own.
    """
    known = np.flatnonzero(~np.isnan(load))
    if not len(known):
        return ()
    step = width_for(float(load[known].max())) if width is None else width
    found = numbers(load[known], step)
    return tuple(Range(*bounds(number, step), known[found == number]) for number in np.unique(found))


def numbers(load: NDArray[np.float64], width: int) -> NDArray[np.int64]:
    """Give each load the number of its range: 0 for no load, 1 for the first `width` whole ones, ..."""
    whole = np.rint(load)
    return np.where(whole < 1, 0, (whole - 1) // width + 1).astype(np.int64)


def bounds(number: int, width: int) -> tuple[float, float]:
    """Lowest and highest load of range `number`."""
    if number == 0:
        return 0.0, 0.0
    return float((number - 1) * width + 1), float(number * width)


def width_for(most: float) -> int:
    """Width for loads up to `most`: 1 up to 12, 2 up to 40, then 5, 10, 20, 50, ...: 20 ranges at most."""
    if np.rint(most) <= SINGLE_UP_TO:
        return 1
    step, factors, at = 2, (2.5, 2.0, 2.0), 0
    while np.rint(most) / step > RANGES_MAX:
        step = int(step * factors[at % 3])
        at += 1
    return step
