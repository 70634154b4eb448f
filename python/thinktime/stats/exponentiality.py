"""Test of the exponential distribution, whatever its mean."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from thinktime.stats.hypothesis import SignificanceTest
from thinktime.stats.lifetimes import ordered

__all__ = ["N_LEAST", "exponentiality"]

N_LEAST = 5


def exponentiality(values: ArrayLike, what: str = "the values") -> SignificanceTest:
    r"""Test of Anderson and Darling against the exponential distribution of unknown mean.

    .. math:: A^2 = -n - \frac1n \sum_i (2i - 1) [\ln z_i + \ln(1 - z_{n+1-i})], \qquad
              z_i = 1 - e^{-x_{(i)} / \bar x}

    with Stephens' :math:`A^2 (1 + 0.6/n)` and his approximation of its tail for an estimated mean
    (D'Agostino and Stephens, *Goodness-of-Fit Techniques*, 4.9.3 and Table 4.14). The critical values for
    a known mean, or those of Kolmogorov and Smirnov, would hardly ever reject.

    Parameters
    ----------
    values : array
        Independent observations, not negative.
    what : str
        Their name, for the hypothesis.

    Raises
    ------
    ValueError
        Fewer than 5 values, one that is not finite or negative, or all zero.
    """
    data = ordered(values, N_LEAST, "a test of the exponential")
    n = len(data)
    scaled = data / data.mean()
    # A value of zero (a coarse clock) has no logarithm: it counts as the least that is seen.
    least = float(scaled[scaled > 0.0][0])
    below = np.log(-np.expm1(-np.maximum(scaled, least)))
    ranks = np.arange(1, n + 1)
    squared = -n - float(((2 * ranks - 1) * (below - scaled[::-1])).mean())
    statistic = squared * (1.0 + 0.6 / n)
    return SignificanceTest(
        f"{what} are exponential",
        statistic,
        _tail(statistic),
        n,
        "Anderson and Darling's A2, mean estimated (Stephens 1974)",
    )


def _tail(a: float) -> float:
    if a < 0.260:
        return 1.0 - math.exp(-12.2204 + 67.459 * a - 110.3 * a * a)
    if a < 0.510:
        return 1.0 - math.exp(-6.1327 + 20.218 * a - 18.663 * a * a)
    if a < 0.950:
        return math.exp(0.9209 - 3.353 * a + 0.300 * a * a)
    # The last piece is a parabola as well, whose minimum lies at 10.03.
    return math.exp(0.731 - 3.009 * min(a, 10.03) + 0.15 * min(a, 10.03) ** 2)
