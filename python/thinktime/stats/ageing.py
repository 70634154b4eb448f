r"""Tests of exponentiality against ageing: whether a longer past means a longer or a shorter future.

All three statistics are linear in the normalized spacings :math:`D_j = (n - j + 1)(X_{(j)} - X_{(j-1)})`,
which are exponential and independent when the X are: :math:`\sum a_j D_j / \sum D_j` then has known
mean, variance and skewness for every n.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from thinktime.stats.hypothesis import SignificanceTest
from thinktime.stats.lifetimes import ordered

__all__ = ["N_LEAST", "hazard_rate", "mean_residual_life", "used_in_expectation"]

Array = NDArray[np.float64]

N_LEAST = 10
"""Observations below which the tests are refused: there is hardly any power, and the size drifts."""
PURPOSE = "a test of ageing"


def hazard_rate(values: ArrayLike) -> SignificanceTest:
    r"""Test of a constant against a rising or falling hazard rate (Klefsjö's A2).

    Weights :math:`a_j = \tfrac16 [(n+1)^3 j - 3 (n+1)^2 j^2 + 2 (n+1) j^3]` (Klefsjö 1983, Communications
    in Statistics, Theory and Methods 12, 907); large under a rising hazard. `direction` is 1 for a rising
    and -1 for a falling hazard rate; p is two-sided.

    Raises
    ------
    ValueError
        Fewer than 10 values, one that is not finite or negative, or all zero.
    """
    data = ordered(values, N_LEAST, PURPOSE)
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

    Raises
    ------
    ValueError
        Fewer than 10 values, one that is not finite or negative, or all zero.
    """
    data = ordered(values, N_LEAST, PURPOSE)
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
    585): :math:`a_j = n - j`. `direction` is 1 where what has been served needs more than what is new
    (new worse than used in expectation) and -1 where it needs less; p is two-sided.

    Raises
    ------
    ValueError
        Fewer than 10 values, one that is not finite or negative, or all zero.
    """
    data = ordered(values, N_LEAST, PURPOSE)
    weights = -np.arange(len(data) - 1.0, -1.0, -1.0)
    method = "cumulative total time on test, Hollander and Proschan's K* (1975)"
    return _test(data, weights, "new and used have the same mean residual life", method)


def _test(data: Array, weights: Array, hypothesis: str, method: str) -> SignificanceTest:
    """Standardize by the exact moments of uniform spacings; one Cornish-Fisher step takes the skewness."""
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
    return SignificanceTest(hypothesis, z, p, n, method, 1 if normal > 0 else -1)
