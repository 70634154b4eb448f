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
    ranks = _broken_ranks(np.concatenate(arrays), arguments.whole(seed, "seed"))
    ends = np.cumsum([len(array) for array in arrays])
    statistic, p = _k_sample(np.split(ranks, ends[:-1]))
    return SignificanceTest(
        hypothesis="all periods have one distribution",
        statistic=statistic,
        p=p,
        n=len(ranks),
        method=f"Anderson and Darling for {len(arrays)} samples (Scholz and Stephens 1987), "
        "0.001 <= p <= 0.25",
    )


def _broken_ranks(values: Array, seed: int) -> Array:
    """Ranks from 1, equal observations in random order."""
    order = np.lexsort((np.random.default_rng(seed).random(len(values)), values))
    ranks = np.empty(len(values))
    ranks[order] = np.arange(1, len(values) + 1)
    return ranks


def _k_sample(ranks: list[Array]) -> tuple[float, float]:
    r"""Statistic and p of ranks without ties.

    .. math:: A^2 = \frac{1}{N} \sum_i \frac{1}{n_i} \sum_{j=1}^{N-1} \frac{(N M_{ij} - j n_i)^2}{j (N - j)}

    where M counts the observations of sample i among the j least of all; less its mean, over its standard
    deviation (Scholz and Stephens 1987, equations 3 and 4). M is constant between two observations of a
    sample, so that sums over j come from running sums, and the time does not grow with the number of samples.
    """
    sizes = np.array([len(part) for part in ranks])
    total, m = int(sizes.sum()), len(ranks) - 1
    # Differences of sums over millions of terms: with more digits than they are to have.
    j = np.arange(1, total, dtype=np.longdouble)
    rest = total - j
    terms = (1.0 / (j * rest), 1.0 / rest, j / rest)
    running = [np.concatenate([[0.0], np.cumsum(one)]) for one in terms]
    ordered = [np.sort(part).astype(np.int64) for part in ranks]
    low = np.concatenate([edge for part in ordered for edge in ([1], part)])
    high = np.concatenate([edge for part in ordered for edge in (part, [total])])
    begins = np.cumsum(sizes + 1) - (sizes + 1)
    counted = (np.arange(len(low)) - np.repeat(begins, sizes + 1)).astype(np.longdouble)
    own = np.repeat(sizes, sizes + 1).astype(np.longdouble)
    zeroth, first, second = (sums[high - 1] - sums[low - 1] for sums in running)
    squares = (total * counted) ** 2 * zeroth - 2.0 * total * counted * own * first + own**2 * second
    statistic = float((np.add.reduceat(squares, begins) / sizes).sum() / total)
    standardised = (statistic - m) / math.sqrt(_variance(sizes))
    limits = [b0 + b1 / math.sqrt(m) + b2 / m for b0, b1, b2 in zip(*_LIMITS, strict=True)]
    # By a parabola through the table, as SciPy has it; beyond its ends p is that of the end.
    if not limits[0] <= standardised <= limits[-1]:
        return standardised, _LEVELS[0 if standardised < limits[0] else -1]
    curve = np.polyfit(limits, np.log(_LEVELS), 2)
    return standardised, math.exp(float(np.polyval(curve, standardised)))


_LEVELS = (0.25, 0.1, 0.05, 0.025, 0.01, 0.005, 0.001)
_LIMITS = (
    (0.675, 1.281, 1.645, 1.96, 2.326, 2.573, 3.085),
    (-0.245, 0.25, 0.678, 1.149, 1.822, 2.364, 3.615),
    (-0.105, -0.305, -0.362, -0.391, -0.396, -0.345, -0.154),
)
"""Quantiles at `_LEVELS`, by powers of the number of samples (Scholz and Stephens 1987, Table 2)."""


def _variance(sizes: NDArray[np.int64]) -> float:
    """Variance if all samples have one distribution (Scholz and Stephens 1987, equation 4)."""
    n, k = float(sizes.sum()), len(sizes)
    reciprocals = float((1.0 / sizes).sum())
    harmonic = np.cumsum(1.0 / np.arange(1.0, n))
    h = float(harmonic[-1])
    g = float(((h - harmonic[:-1]) / np.arange(n - 1.0, 1.0, -1.0)).sum())
    a = (4 * g - 6) * (k - 1) + (10 - 6 * g) * reciprocals
    b = (2 * g - 4) * k**2 + 8 * h * k + (2 * g - 14 * h - 4) * reciprocals - 8 * h + 4 * g - 6
    c = (6 * h + 2 * g - 2) * k**2 + (4 * h - 4 * g + 6) * k + (2 * h - 6) * reciprocals + 4 * h
    d = (2 * h + 6) * k**2 - 4 * h * k
    return (a * n**3 + b * n**2 + c * n + d) / ((n - 1.0) * (n - 2.0) * (n - 3.0))


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
    rho = float(stats.spearmanr(values, number).statistic)
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
    n, k = sum(len(array) for array in arrays), len(arrays)
    h = float(stats.kruskal(*arrays).statistic)
    return max(0.0, (h - k + 1.0) / (n - k))


def _checked(samples: Iterable[ArrayLike]) -> list[Array]:
    arrays = arguments.samples(samples, "samples", least=2, each=N_LEAST)
    if float(np.ptp(np.concatenate(arrays))) == 0.0:
        raise InputError("all observations are equal; give samples that vary")
    return arrays
