r"""Tests of lifetimes: against the exponential distribution, and for ageing.

Ageing means that a longer past goes with a shorter future (a rising hazard rate) or with a longer one. The
three statistics for it are linear in the normalized spacings :math:`D_j = (n - j + 1)(X_{(j)} -
X_{(j-1)})`, which are exponential and independent when the X are: :math:`\sum a_j D_j / \sum D_j` then has
known mean, variance and skewness for every n.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from thinktime.stats import arguments
from thinktime.stats.hypothesis import SignificanceTest

Array = NDArray[np.float64]

N_LEAST = 5
"""Observations that the test of the exponential needs."""
N_AGEING = 10
"""Observations that a test of ageing needs: with fewer it has hardly any power, and its size drifts."""
PURPOSE = "a test of ageing"


def exponentiality(values: ArrayLike, what: str = "the values") -> SignificanceTest:
    r"""Anderson-Darling test of the exponential distribution with unknown mean.

    .. math:: A^2 = -n - \frac1n \sum_i (2i - 1) [\ln z_i + \ln(1 - z_{n+1-i})], \qquad
              z_i = 1 - e^{-x_{(i)} / \bar x}

    with Stephens' :math:`A^2 (1 + 0.6/n)` and his approximation of its tail for an estimated mean
    (D'Agostino and Stephens, *Goodness-of-Fit Techniques*, 4.9.3 and Table 4.14). The critical values for
    a known mean, or those of Kolmogorov and Smirnov, would rarely reject.

    Parameters
    ----------
    values : array of shape (n,)
        Independent observations, not negative; 5 or more.
    what : str
        Name of the observations, for the hypothesis.

    Raises
    ------
    InputError
        Fewer than 5 values, one that is not finite or negative, or all zero.
    TypeError
        `values` are not numbers.
    """
    data = arguments.lifetimes(values, N_LEAST, "a test of the exponential")
    n = len(data)
    scaled = data / data.mean()
    # A value of zero (a coarse clock) has no logarithm: it counts as the least positive value.
    least = float(scaled[scaled > 0.0][0])
    below = np.log(-np.expm1(-np.maximum(scaled, least)))
    ranks = np.arange(1, n + 1)
    squared = -n - float(((2 * ranks - 1) * (below - scaled[::-1])).mean())
    statistic = squared * (1.0 + 0.6 / n)
    return SignificanceTest(
        hypothesis=f"{what} are exponential",
        statistic=statistic,
        p=_tail(statistic),
        n=n,
        method="Anderson and Darling's A2, mean estimated (Stephens 1974)",
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


def hazard_rate(values: ArrayLike) -> SignificanceTest:
    r"""Test of a constant against a rising or falling hazard rate (Klefsjö's A2).

    Weights :math:`a_j = \tfrac16 [(n+1)^3 j - 3 (n+1)^2 j^2 + 2 (n+1) j^3]` (Klefsjö 1983, Communications
    in Statistics, Theory and Methods 12, 907); large under a rising hazard. `direction` is 1 for a rising
    and -1 for a falling hazard rate; p is two-sided.

    Parameters
    ----------
    values : array of shape (n,)
        Independent observations, not negative; 10 or more.

    Raises
    ------
    InputError
        Fewer than 10 values, one that is not finite or negative, or all zero.
    TypeError
        `values` are not numbers.
    """
    data = arguments.lifetimes(values, N_AGEING, PURPOSE)
    n = len(data)
    j = np.arange(1.0, n + 1)
    weights = ((n + 1) ** 3 * j - 3 * (n + 1) ** 2 * j**2 + 2 * (n + 1) * j**3) / 6
    return _test(data, weights, "the hazard rate is constant", "Klefsjö's A2 (1983)")


def mean_residual_life(values: ArrayLike) -> SignificanceTest:
    r"""Test of a constant against a rising or falling mean residual life (Hollander and Proschan's V*).

    The statistic estimates :math:`\iint_{s<t} \bar F(s) \bar F(t) [m(s) - m(t)]\, dF(s)\, dF(t)` over the
    mean, as :math:`n^{-4} \sum c_i X_{(i)} / \bar X` with :math:`c_i = \tfrac43 i^3 - 4 n i^2 + 3 n^2 i -
    \tfrac12 n^3 + \tfrac12 n^2 - \tfrac12 i^2 + \tfrac16 i` (Hollander and Proschan 1975, Biometrika 62,
    585). `direction` is 1 where m rises and -1 where it falls; p is two-sided.

    Parameters and errors are those of `hazard_rate`.
    """
    data = arguments.lifetimes(values, N_AGEING, PURPOSE)
    n = len(data)
    i = np.arange(1.0, n + 1)
    order = 4 / 3 * i**3 - 4 * n * i**2 + 3 * n**2 * i - n**3 / 2 + n**2 / 2 - i**2 / 2 + i / 6
    # X_(i) is the sum of D_j / (n - j + 1) over j <= i.
    weights = -np.cumsum(order[::-1])[::-1] / (n - i + 1)
    method = "Hollander and Proschan's V* (1975)"
    return _test(data, weights, "the mean residual life is constant", method)


def used_in_expectation(values: ArrayLike) -> SignificanceTest:
    r"""Test of :math:`m(t) = m(0)` against m(t) being above or below m(0) throughout.

    The cumulative total time on test, equivalent to Hollander and Proschan's K* (1975, Biometrika 62,
    585): :math:`a_j = n - j`. `direction` is 1 where a used item has a longer expected future than a new one
    (new worse than used in expectation) and -1 where it has a shorter one; p is two-sided.

    Parameters and errors are those of `hazard_rate`.
    """
    data = arguments.lifetimes(values, N_AGEING, PURPOSE)
    weights = -np.arange(len(data) - 1.0, -1.0, -1.0)
    method = "cumulative total time on test, Hollander and Proschan's K* (1975)"
    return _test(data, weights, "new and used have the same mean residual life", method)


def _test(data: Array, weights: Array, hypothesis: str, method: str) -> SignificanceTest:
    """Standardise by the exact moments of uniform spacings; one Cornish-Fisher step corrects the skewness."""
    n = len(data)
    spacings = np.diff(data, prepend=0.0) * np.arange(n, 0, -1)
    centred = weights - weights.mean()
    centred /= np.abs(centred).max()  # n^4 twice squared would leave the range of a float
    variance = float(centred @ centred) / (n * (n + 1.0))
    skewness = 2.0 * float((centred**3).sum()) / (n * (n + 1.0) * (n + 2.0)) / variance**1.5
    z = float(spacings @ centred) / float(spacings.sum()) / math.sqrt(variance)
    normal = z - skewness * (z * z - 1.0) / 6.0
    # Far out the correction, a parabola, would turn back.
    normal = math.copysign(max(abs(normal), abs(z) / 2.0), z) if abs(z) > 3.0 else normal
    p = 2.0 * float(special.ndtr(-abs(normal)))
    return SignificanceTest(
        hypothesis=hypothesis, statistic=z, p=p, n=n, method=method, direction=1 if normal > 0 else -1
    )
