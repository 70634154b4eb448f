"""Tests of a Poisson process: of counts, of gaps, and of the order of the gaps."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from thinktime.errors import InputError
from thinktime.stats import arguments
from thinktime.stats.distributions.lifetime_tests import exponentiality
from thinktime.stats.estimate import Estimate
from thinktime.stats.hypothesis import SignificanceTest
from thinktime.stats.series.batch_means import autocorrelation

Array = NDArray[np.float64]

N_LEAST = 30
"""Arrivals below which the tests are refused."""
PER_CELL = 8.0
"""Mean count in a cell: enough for chi-square (Cochran asks for 5)."""
CELLS_MAX = 200
LAGS_MAX = 10
"""Lags of the Ljung-Box statistic: a common choice; fewer where there are under 100 times."""


def counts_in_cells(arrivals: ArrayLike, start: float, end: float) -> Array:
    """Numbers of arrivals in cells of equal length between `start` and `end`: about 8 in each, at most 200.

    Parameters
    ----------
    arrivals : array of shape (n,)
        Times, 30 or more [s].
    start, end : float
        Ends of the period [s].

    Raises
    ------
    InputError
        Fewer than 30 arrivals, or `end` is not after `start`.
    TypeError
        An argument is of the wrong kind.
    """
    times = arguments.sample(arrivals, "arrivals")
    start, end = arguments.number(start, "start"), arguments.number(end, "end")
    if len(times) < N_LEAST:
        raise InputError(f"{len(times)} arrivals between {start} and {end} are too few; {N_LEAST} are needed")
    if not end > start:
        raise InputError(f"end is {end:g} and start {start:g}; give an end after the start")
    cells = int(min(CELLS_MAX, max(3, len(times) // PER_CELL)))
    counts, _ = np.histogram(times, bins=np.linspace(start, end, cells + 1))
    return counts.astype(np.float64)


def dispersion(counts: ArrayLike, level: float = 0.95) -> Estimate:
    r"""Index of dispersion of counts, variance over mean: 1 for a Poisson process.

    :math:`I = s^2 / \bar c`; :math:`(k - 1) I` is chi-square with k - 1 degrees of freedom when the counts
    are Poisson (Cox and Lewis, *The Statistical Analysis of Series of Events*, 6.3). The interval from it
    is exact about 1, approximate elsewhere.

    Parameters
    ----------
    counts : array of shape (k,)
        Numbers of events in cells of equal length; two cells or more, not all empty.
    level : float
        Confidence of the interval.

    Raises
    ------
    InputError
        Fewer than two cells, a negative count, no events, or `level` is out of range.
    TypeError
        An argument is of the wrong kind.
    """
    values, level = arguments.sample(counts, "counts", least=2), arguments.level(level)
    if (values < 0.0).any() or values.sum() <= 0.0:
        raise InputError(f"counts is {arguments.shown(counts)}; give counts of at least 0, not all 0")
    degrees = len(values) - 1
    index = float(values.var(ddof=1) / values.mean())
    tail = (1.0 - level) / 2.0
    return Estimate(
        value=index,
        low=degrees * index / float(special.chdtri(degrees, tail)),
        high=degrees * index / float(special.chdtri(degrees, 1.0 - tail)),
        n=len(values),
        method="variance over mean of counts, chi-square",
        level=level,
    )


def dispersion_test(counts: ArrayLike) -> SignificanceTest:
    """Two-sided test that counts are Poisson: their index of dispersion against chi-square.

    `direction` is 1 for counts that are more uneven (arrivals in bursts, a rate that changes), -1 for
    more even (a schedule, few users).

    Parameters
    ----------
    counts : array of shape (k,)
        As in `dispersion`.

    Raises
    ------
    InputError, TypeError
        As `dispersion`.
    """
    index = dispersion(counts)
    degrees = index.n - 1
    above = float(special.chdtrc(degrees, degrees * index.value))
    return SignificanceTest(
        hypothesis="counts are Poisson",
        statistic=index.value,
        p=min(1.0, 2.0 * min(above, 1.0 - above)),
        n=index.n,
        method="index of dispersion, chi-square",
        direction=1 if above < 0.5 else -1,
    )


def gaps_test(arrivals: ArrayLike) -> SignificanceTest:
    """Test that the times between arrivals are exponential, see `lifetime_tests.exponentiality`.

    Parameters
    ----------
    arrivals : array of shape (n,)
        Times, 30 or more, in any order [s].

    Raises
    ------
    InputError
        Fewer than 30 arrivals, or all at one time.
    TypeError
        `arrivals` are not numbers.
    """
    return exponentiality(_gaps(arrivals), "times between arrivals")


def order_test(arrivals: ArrayLike) -> SignificanceTest:
    r"""Test that successive gaps are independent: Ljung and Box's Q of their normal scores.

    .. math:: Q = n (n + 2) \sum_{l=1}^{h} r_l^2 / (n - l), \qquad h = \min(10, n / 10)

    chi-square with h degrees of freedom (Ljung and Box 1978, Biometrika 65, 297). The gaps enter by the
    normal scores of their ranks, so that one long pause does not decide it. `direction` is the sign of
    the first correlation.

    Parameters
    ----------
    arrivals : array of shape (n,)
        As in `gaps_test`.

    Raises
    ------
    InputError, TypeError
        As `gaps_test`.
    """
    from scipy import stats

    gaps = _gaps(arrivals)
    n = len(gaps)
    lags = max(1, min(LAGS_MAX, n // 10))
    # Equal gaps have no order: nothing speaks against independence, and everything against the other tests.
    is_constant = bool((gaps == gaps[0]).all())
    scores = special.ndtri(stats.rankdata(gaps) / (n + 1.0))
    r = np.zeros(lags) if is_constant else autocorrelation(scores, lags)
    q = n * (n + 2.0) * float((r**2 / (n - np.arange(1, lags + 1))).sum())
    return SignificanceTest(
        hypothesis="times between arrivals are independent",
        statistic=q,
        p=float(special.chdtrc(lags, q)),
        n=n,
        method=f"Ljung and Box's Q over {lags} lags, normal scores",
        direction=1 if r[0] > 0 else -1,
    )


def _gaps(arrivals: ArrayLike) -> Array:
    times = np.sort(arguments.sample(arrivals, "arrivals"))
    if len(times) < N_LEAST:
        raise InputError(f"{len(times)} arrivals are too few for a test; {N_LEAST} are needed")
    if times[0] == times[-1]:
        raise InputError("all arrivals are at one time; give times that differ")
    return np.diff(times)
