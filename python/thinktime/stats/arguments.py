"""What every method for lifetimes (times of service, of thinking, to failure) asks of its sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def ordered(values: ArrayLike, least: int, purpose: str, *, zeros: bool = False) -> NDArray[np.float64]:
    """Lifetimes in ascending order, fit for use.

    Parameters
    ----------
    values : array
        Lifetimes, not negative.
    least : int
        How many there must be, at least one.
    purpose : str
        What they are for, as it stands in messages: ``"a test of ageing"``.
    zeros : bool
        Whether all may be zero.

    Raises
    ------
    ValueError
        Fewer than `least` values, one that is not finite or negative, or all zero.
    """
    data = np.sort(np.asarray(values, dtype=np.float64))
    n = len(data)
    if n < least:
        raise ValueError(f"{n} values are too few for {purpose}; {least} are needed")
    # What is not a number is sorted to the end.
    for end in (data[0], data[-1]):
        if not 0.0 <= end < np.inf:
            raise ValueError(f"{purpose} needs values that are finite and not negative; one is {end:g}")
    if not zeros and data[-1] == 0.0:
        raise ValueError(f"{purpose} needs values that differ from zero; all {n} are zero")
    return data
