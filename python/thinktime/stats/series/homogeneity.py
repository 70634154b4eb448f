"""Tests that samples taken at different times come from one distribution."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from thinktime.errors import InputError
from thinktime.stats import arguments
from thinktime.stats.hypothesis import SignificanceTest

Array = NDArray[np.float64]

N_LEAST = 5
"""Observations that each sample needs."""
TABLE = np.array(
    [
        (0.25, 0.675, -0.245, -0.105),
        (0.1, 1.281, 0.25, -0.305),
        (0.05, 1.645, 0.678, -0.362),
        (0.025, 1.96, 1.149, -0.391),
        (0.01, 2.326, 1.822, -0.396),
        (0.005, 2.573, 2.364, -0.345),
        (0.001, 3.085, 3.615, -0.154),
    ]
)
"""Tail probability, and b0, b1, b2 of its critical value b0 + b1/sqrt(m) + b2/m; Scholz and Stephens 1987."""


def same_distribution(samples: Iterable[ArrayLike], *, seed: int = 1) -> SignificanceTest:
    """Test that all samples have one distribution: k-sample Anderson-Darling.

    Sensitive to differences of spread and tail as well as of location (Scholz and Stephens 1987, JASA 82,
    918). Ties are broken at random: the test depends on ranks only, and broken ties keep it exact, where
    mid-ranks of times from a coarse clock reject twice as often as the nominal rate.

    Limitations: p is interpolated in the published table, hence between 0.001 and 0.25.

    Parameters
    ----------
    samples : sequence of array of shape (n,)
        Two samples or more, of 5 observations or more each.
    seed : int
        Seed of the order among ties.

    Raises
    ------
    InputError
        Fewer than two samples, one of fewer than 5 observations, one that holds a value that is not
        finite, or all observations equal.
    TypeError
        A sample is not made of numbers.
    """
    arrays = _checked(samples)
    sizes = np.array([len(array) for array in arrays])
    order = np.argsort(_broken_ranks(np.concatenate(arrays), arguments.whole(seed, "seed")))
    owner = np.repeat(np.arange(len(arrays)), sizes)[order]
    statistic = _standardised(owner, sizes.astype(np.float64))
    return SignificanceTest(
        hypothesis="all periods have one distribution",
        statistic=statistic,
        p=_tail(statistic, len(arrays) - 1),
        n=len(owner),
        method=f"Anderson and Darling for {len(arrays)} samples (Scholz and Stephens 1987), "
        f"{TABLE[-1, 0]:g} <= p <= {TABLE[0, 0]:g}",
    )


def _broken_ranks(values: Array, seed: int) -> Array:
    """Ranks from 1, equal observations in random order."""
    order = np.lexsort((np.random.default_rng(seed).random(len(values)), values))
    ranks = np.empty(len(values))
    ranks[order] = np.arange(1, len(values) + 1)
    return ranks


def _standardised(owner: NDArray[np.int64], sizes: Array) -> float:
    """Statistic minus its mean over its standard deviation, without ties: their equations 3 and 4.

    Equal to that of `scipy.stats.anderson_ksamp` but for the last digits.
    """
    n, k = len(owner), len(sizes)
    rank = np.arange(1.0, n)
    total = 0.0
    for sample, size in enumerate(sizes.tolist()):
        below = np.cumsum(owner == sample)[:-1]
        total += float(((n * below - rank * size) ** 2 / (rank * (n - rank))).sum()) / size
    harmonic = np.cumsum(1.0 / np.arange(n - 1.0, 1.0, -1.0))
    inverse, h = float((1.0 / sizes).sum()), float(harmonic[-1]) + 1.0
    g = float((harmonic / np.arange(2.0, n)).sum())
    a = (4 * g - 6) * (k - 1) + (10 - 6 * g) * inverse
    b = (2 * g - 4) * k**2 + 8 * h * k + (2 * g - 14 * h - 4) * inverse - 8 * h + 4 * g - 6
    c = (6 * h + 2 * g - 2) * k**2 + (4 * h - 4 * g + 6) * k + (2 * h - 6) * inverse + 4 * h
    d = (2 * h + 6) * k**2 - 4 * h * k
    variance = (a * n**3 + b * n**2 + c * n + d) / ((n - 1.0) * (n - 2.0) * (n - 3.0))
    return (total / n - (k - 1)) / math.sqrt(variance)


def _tail(statistic: float, m: int) -> float:
    """Probability from their Table 1: log p is a parabola through the critical values for m = k - 1."""
    critical = TABLE[:, 1] + TABLE[:, 2] / math.sqrt(m) + TABLE[:, 3] / m
    if statistic < critical[0]:
        return float(TABLE[0, 0])
    if statistic > critical[-1]:
        return float(TABLE[-1, 0])
    parabola = np.polyfit(critical, np.log(TABLE[:, 0]), 2)
    return float(np.clip(np.exp(np.polyval(parabola, statistic)), TABLE[-1, 0], TABLE[0, 0]))


def trend(samples: Iterable[ArrayLike]) -> SignificanceTest:
    r"""Test that observations neither grow nor fall from sample to sample.

    Spearman's :math:`\rho` between an observation's rank and the number of its sample, both with shared
    ranks for ties; :math:`\rho \sqrt{n - 1}` is standard normal under the hypothesis (Lehmann,
    *Nonparametrics*, 7.3). `statistic` is :math:`\rho`, `direction` its sign.

    Parameters
    ----------
    samples : sequence of array of shape (n,)
        As in `same_distribution`, in the order of time.

    Raises
    ------
    InputError, TypeError
        As `same_distribution`.
    """
    from scipy import stats

    arrays = _checked(samples)
    values = np.concatenate(arrays)
    number = np.repeat(np.arange(len(arrays)), [len(array) for array in arrays])
    rho = float(np.corrcoef(stats.rankdata(values), stats.rankdata(number))[0, 1])
    n = len(values)
    return SignificanceTest(
        hypothesis="there is no trend over the periods",
        statistic=rho,
        p=2.0 * float(special.ndtr(-abs(rho) * np.sqrt(n - 1.0))),
        n=n,
        method="Spearman's rank correlation",
        direction=1 if rho > 0 else -1,
    )


def effect(samples: Iterable[ArrayLike]) -> float:
    r"""Fraction of the variance of ranks that lies between samples, less that of chance; 0 to 1.

    .. math:: \epsilon^2 = \max\{0, (H - k + 1) / (n - k)\}

    with Kruskal and Wallis' statistic H: the size of a difference that a test only detects.

    Parameters
    ----------
    samples : sequence of array of shape (n,)
        As in `same_distribution`.

    Raises
    ------
    InputError, TypeError
        As `same_distribution`.
    """
    from scipy import stats

    arrays = _checked(samples)
    ranks = stats.rankdata(np.concatenate(arrays))
    n, k = len(ranks), len(arrays)
    sizes = np.array([len(array) for array in arrays])
    sums = np.add.reduceat(ranks, np.cumsum(sizes) - sizes)
    between = float((sums**2 / sizes).sum()) - n * (n + 1.0) ** 2 / 4.0
    h = between / float(ranks.var(ddof=1))
    return max(0.0, (h - k + 1.0) / (n - k))


def _checked(samples: Iterable[ArrayLike]) -> list[Array]:
    arrays = arguments.samples(samples, "samples", least=2, each=N_LEAST)
    if float(np.ptp(np.concatenate(arrays))) == 0.0:
        raise InputError("all observations are equal; give samples that vary")
    return arrays
