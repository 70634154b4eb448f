"""A part of a whole, with its interval."""

from __future__ import annotations

import math

from thinktime.stats import critical
from thinktime.stats.series import Interval

__all__ = ["proportion"]


def proportion(hits: int, n: int, level: float = 0.95) -> Interval:
    """`hits` out of `n` independent trials, with Wilson's interval (1927, JASA 22, 209).

    Raises
    ------
    ValueError
        There are no trials, or more hits than trials.
    """
    if n < 1 or not 0 <= hits <= n:
        raise ValueError(f"{hits} of {n} is no proportion")
    z = critical.normal(level)
    share = hits / n
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    # At 0 and n the end is exactly 0 or 1; rounding must not move it across.
    low = 0.0 if hits == 0 else centre - reach
    high = 1.0 if hits == n else centre + reach
    return Interval(share, low, high, n, "proportion, Wilson", level)
