"""Tests of a Poisson process: counts, gaps and the order of the gaps, each by itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from thinktime.stats.distributions.lifetime_tests import exponentiality
from thinktime.stats.estimate import Estimate
from thinktime.stats.hypothesis import SignificanceTest
from thinktime.stats.series.batch_means import autocorrelation
from thinktime.stats.series.homogeneity import shared

Array = NDArray[np.float64]

N_LEAST = 30
"""Arrivals below which the tests are refused."""
PER_CELL = 8.0
"""Mean count in a cell: enough for chi-square (Cochran asks for 5)."""
CELLS_MAX = 200
LAGS_MAX = 10


def counts_in_cells(arrivals: ArrayLike, start: float, end: float) -> Array:
    """Arrivals in cells of equal length between `start` and `end`, about 8 in each, at most 200 cells.

    Raises
    ------
    ValueError
        Fewer than 30 arrivals, or no time between the ends.
    """
    times = np.asarray(arrivals, dtype=np.float64)
    if len(times) < N_LEAST or not end > start:
        raise ValueError(f"{len(times)} arrivals between {start} and {end} are too few; {N_LEAST} are needed")
    cells = int(min(CELLS_MAX, max(3, len(times) // PER_CELL)))
    counts, _ = np.histogram(times, bins=np.linspace(start, end, cells + 1))
    return counts.astype(np.float64)


def dispersion(counts: ArrayLike, level: float = 0.95) -> Estimate:
    r"""Index of dispersion of counts, variance over mean: 1 for a Poisson process.

    :math:`I = s^2 / \bar c`; :math:`(k - 1) I` is chi-square with k - 1 degrees of freedom when the counts
    are Poisson (Cox and Lewis, *The Statistical Analysis of Series of Events*, 6.3), which gives the
    interval too: exact about 1, approximate elsewhere.

    Raises
    ------
    ValueError
        Fewer than two cells, or nothing in them.
    """
    values = np.asarray(counts, dtype=np.float64)
    if len(values) < 2 or values.sum() <= 0.0:
        raise ValueError("a dispersion needs two cells and something in them")
    degrees = len(values) - 1
    index = float(values.var(ddof=1) / values.mean())
    tail = (1.0 - level) / 2.0
    low = degrees * index / float(special.chdtri(degrees, tail))
    high = degrees * index / float(special.chdtri(degrees, 1.0 - tail))
    return Estimate(
        value=index,
        low=low,
        high=high,
        n=len(values),
        method="variance over mean of counts, chi-square",
        level=level,
    )


def dispersion_test(counts: ArrayLike) -> SignificanceTest:
    """Test that counts are Poisson: their index of dispersion against chi-square, on both sides.

    `direction` is 1 for counts that are more uneven (arrivals in bursts, a rate that changes), -1 for
    more even (a schedule, few users).

    Raises
    ------
    ValueError
        As `dispersion`.
    """
    index = dispersion(counts)
    degrees = index.n - 1
    chi = degrees * index.value
    above = float(special.chdtrc(degrees, chi))
    p = min(1.0, 2.0 * min(above, 1.0 - above))
    return SignificanceTest(
        hypothesis="counts are Poisson",
        statistic=index.value,
        p=p,
        n=index.n,
        method="index of dispersion, chi-square",
        direction=1 if above < 0.5 else -1,
    )


def gaps_test(arrivals: ArrayLike) -> SignificanceTest:
    """Test that the times between arrivals are exponential (`exponentiality`).

    Raises
    ------
    ValueError
        Fewer than 30 arrivals.
    """
    return exponentiality(_gaps(arrivals), "times between arrivals")


def order_test(arrivals: ArrayLike) -> SignificanceTest:
    r"""Test that successive gaps are independent: Ljung and Box's Q of their normal scores.

    .. math:: Q = n (n + 2) \sum_{l=1}^{h} r_l^2 / (n - l), \qquad h = \min(10, n / 10)

    chi-square with h degrees of freedom (Ljung and Box 1978, Biometrika 65, 297). The gaps enter by the
    normal scores of their ranks, so that one long pause does not decide it. `direction` is the sign of
    the first correlation.

    Raises
    ------
    ValueError
        Fewer than 30 arrivals.
    """
    gaps = _gaps(arrivals)
    n = len(gaps)
    lags = max(1, min(LAGS_MAX, n // 10))
    r = autocorrelation(special.ndtri(shared(gaps) / (n + 1.0)), lags)
    q = n * (n + 2.0) * float((r**2 / (n - np.arange(1, lags + 1))).sum())
    p = float(special.chdtrc(lags, q))
    name = f"Ljung and Box's Q over {lags} lags, normal scores"
    return SignificanceTest(
        hypothesis="times between arrivals are independent",
        statistic=q,
        p=p,
        n=n,
        method=name,
        direction=1 if r[0] > 0 else -1,
    )


def _gaps(arrivals: ArrayLike) -> Array:
    times = np.sort(np.asarray(arrivals, dtype=np.float64))
    if len(times) < N_LEAST:
        raise ValueError(f"{len(times)} arrivals are too few for a test; {N_LEAST} are needed")
    return np.diff(times)
