"""Quantiles with intervals that assume no distribution."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from thinktime.stats.series import Interval

__all__ = ["quantile"]


def quantile(values: ArrayLike, q: float, level: float = 0.95) -> Interval:
    r"""Quantile `q` of independent observations, with an interval between order statistics.

    The number of observations below the true quantile is binomial (n, q), hence :math:`[x_{(l)}, x_{(u)}]`
    covers it with probability :math:`P(l \le B < u) \ge` `level`, each tail having at most half of the
    rest (David and Nagaraja, *Order Statistics*, 7.1). An end that would need an order statistic beyond
    the sample is None: the data cannot bound it. The point is interpolated linearly (Hyndman and Fan's
    definition 7).

    Raises
    ------
    ValueError
        No values, or `q` outside 0 to 1.
    """
    data = np.sort(np.asarray(values, dtype=np.float64))
    n = len(data)
    if n == 0 or not 0.0 <= q <= 1.0:
        raise ValueError(f"a quantile {q} of {n} values is not defined")
    tail = (1.0 - level) / 2.0
    counts = np.arange(n + 1)
    below = special.bdtr(counts, n, q)  # P(B <= k)
    # Largest l with P(B < l) = P(B <= l - 1) <= tail; smallest u with P(B >= u) <= tail.
    lower = int(np.searchsorted(below, tail, side="right"))
    upper = int(np.searchsorted(below, 1.0 - tail, side="left")) + 1
    low = float(data[lower - 1]) if lower >= 1 else None
    high = float(data[upper - 1]) if upper <= n else None
    return Interval(float(np.quantile(data, q)), low, high, n, "order statistics", level)
