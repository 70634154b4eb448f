"""Tests that samples taken at different times come from one distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

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


def same_distribution(samples: Sequence[ArrayLike], *, seed: int = 1) -> SignificanceTest:
    """Test that all samples have one distribution: k-sample Anderson and Darling.

    It sees differences of spread and tail as well as of location (Scholz and Stephens 1987, JASA 82,
    918). p is interpolated in their table, hence between 0.001 and 0.25. Ties are broken at random: the
    test depends on ranks only, and broken ties keep it exact, where with mid-ranks and a coarse clock it
    rejects twice as often as it says.

    Parameters
    ----------
    samples : sequence of array
    seed : int
        Of the order among ties.

    Raises
    ------
    ValueError
        Fewer than two samples, one of fewer than 5 observations, or all observations equal.
    """
    arrays = _checked(samples)
    sizes = np.array([len(part) for part in arrays])
    order = np.argsort(broken(np.concatenate(arrays), seed))
    owner = np.repeat(np.arange(len(arrays)), sizes)[order]
    statistic = _standardized(owner, sizes.astype(np.float64))
    return SignificanceTest(
        hypothesis="all periods have one distribution",
        statistic=statistic,
        p=_tail(statistic, len(arrays) - 1),
        n=len(owner),
        method=f"Anderson and Darling for {len(arrays)} samples (Scholz and Stephens 1987), "
        "0.001 <= p <= 0.25",
    )


def _standardized(owner: NDArray[np.int64], sizes: Array) -> float:
    """Their equations 3 and 4: the statistic less its mean over its standard deviation, without ties."""
    n, k = len(owner), len(sizes)
    at = np.arange(1.0, n)
    total = 0.0
    for sample, size in enumerate(sizes.tolist()):
        below = np.cumsum(owner == sample)[:-1]
        total += float(((n * below - at * size) ** 2 / (at * (n - at))).sum()) / size
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
    """Interpolate in their Table 1: log p as a parabola through the critical values for m = k - 1."""
    critical = TABLE[:, 1] + TABLE[:, 2] / math.sqrt(m) + TABLE[:, 3] / m
    if statistic < critical[0]:
        return float(TABLE[0, 0])
    if statistic > critical[-1]:
        return float(TABLE[-1, 0])
    parabola = np.polyfit(critical, np.log(TABLE[:, 0]), 2)
    return float(np.clip(np.exp(np.polyval(parabola, statistic)), TABLE[-1, 0], TABLE[0, 0]))


def trend(samples: Sequence[ArrayLike]) -> SignificanceTest:
    r"""Test that observations neither grow nor fall from sample to sample.

    Spearman's :math:`\rho` between an observation's rank and the number of its sample, both with shared
    ranks for ties; :math:`\rho \sqrt{n - 1}` is standard normal under the hypothesis (Lehmann,
    *Nonparametrics*, 7.3). `statistic` is :math:`\rho`, `direction` its sign.

    Raises
    ------
    ValueError
        As `same_distribution`.
    """
    arrays = _checked(samples)
    values = np.concatenate(arrays)
    number = np.repeat(np.arange(len(arrays)), [len(part) for part in arrays]).astype(np.float64)
    rho = float(np.corrcoef(shared(values), shared(number))[0, 1])
    n = len(values)
    p = 2.0 * float(special.ndtr(-abs(rho) * np.sqrt(n - 1.0)))
    return SignificanceTest(
        hypothesis="there is no trend over the periods",
        statistic=rho,
        p=p,
        n=n,
        method="Spearman's rank correlation",
        direction=1 if rho > 0 else -1,
    )


def effect(samples: Sequence[ArrayLike]) -> float:
    r"""Part of the variance of ranks that lies between samples, less what chance puts there; 0 to 1.

    .. math:: \epsilon^2 = \max\{0, (H - k + 1) / (n - k)\}

    H being Kruskal and Wallis' statistic: how much it matters, where a test only says whether it is seen.

    Raises
    ------
    ValueError
        As `same_distribution`.
    """
    arrays = _checked(samples)
    values = np.concatenate(arrays)
    ranks = shared(values)
    n, k = len(values), len(arrays)
    edges = np.concatenate([[0], np.cumsum([len(part) for part in arrays])[:-1]])
    sums = np.add.reduceat(ranks, edges)
    sizes = np.array([len(part) for part in arrays], dtype=np.float64)
    between = float((sums**2 / sizes).sum()) - n * (n + 1.0) ** 2 / 4.0
    h = between / float(ranks.var(ddof=1))
    return max(0.0, (h - k + 1.0) / (n - k))


def _checked(samples: Sequence[ArrayLike]) -> list[Array]:
    arrays = [np.asarray(sample, dtype=np.float64) for sample in samples]
    if len(arrays) < 2:
        raise ValueError(f"{len(arrays)} samples cannot be compared; two are needed")
    if min(map(len, arrays)) < N_LEAST:
        raise ValueError(f"a sample of fewer than {N_LEAST} observations cannot be compared")
    if float(np.ptp(np.concatenate(arrays))) == 0.0:
        raise ValueError("all observations are equal")
    return arrays


def shared(values: ArrayLike) -> Array:
    """Ranks from 1; equal observations share their mean rank."""
    _, inverse, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Array = (last - (counts - 1) / 2.0)[inverse]
    return ranks


def broken(values: ArrayLike, seed: int) -> Array:
    """Ranks from 1; equal observations in random order, the same for the same seed."""
    data = np.asarray(values)
    order = np.lexsort((np.random.default_rng(seed).random(len(data)), data))
    ranks = np.empty(len(data))
    ranks[order] = np.arange(1, len(data) + 1)
    return ranks
