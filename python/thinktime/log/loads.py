"""Ranges of load, and the observations in each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SINGLE_UP_TO = 12
"""Largest load up to which each load forms its own range."""
RANGES_MAX = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Loads from `low` to `high`, both included, and the observations with such a load."""

    low: float
    high: float
    rows: NDArray[np.int64]


def ranges(load: NDArray[np.float64], width: int | None = None) -> tuple[Range, ...]:
    """Observations grouped by ascending load; empty ranges and nan loads are omitted.

    Parameters
    ----------
    load : array
        Load of each observation: number of users, rounded to whole ones.
    width : int, optional
        Number of loads in a range: 2 gives 1-2, 3-4, ... (Bard 1971, Table 10). By default that of
        `width_for`, and each range then begins and ends with a load that occurred in it. Load 0 is a
        separate range.
    """
    measured = np.flatnonzero(~np.isnan(load))
    if not len(measured):
        return ()
    step = width_for(float(load[measured].max())) if width is None else width
    range_of = numbers(load[measured], step)
    result = []
    for number in np.unique(range_of):
        rows = measured[range_of == number]
        occurred = np.rint(load[rows])
        low, high = bounds(number, step) if width else (float(occurred.min()), float(occurred.max()))
        result.append(Range(low=low, high=high, rows=rows))
    return tuple(result)


def numbers(load: NDArray[np.float64], width: int) -> NDArray[np.int64]:
    """Number of the range of each load: 0 for no load, 1 for the first `width` loads, ..."""
    rounded = np.rint(load)
    return np.where(rounded < 1, 0, (rounded - 1) // width + 1).astype(np.int64)


def bounds(number: int, width: int) -> tuple[float, float]:
    """Lowest and highest load of range `number`."""
    if number == 0:
        return 0.0, 0.0
    return float((number - 1) * width + 1), float(number * width)


def width_for(most: float) -> int:
    """Width that makes at most 20 ranges of loads up to `most`: 1 up to 12, 2 up to 40, then 5, 10, ..."""
    if np.rint(most) <= SINGLE_UP_TO:
        return 1
    step, factors, index = 2, (2.5, 2.0, 2.0), 0
    while np.rint(most) / step > RANGES_MAX:
        step = int(step * factors[index % 3])
        index += 1
    return step
