"""Tests that samples taken at different times come from one distribution."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from thinktime.stats.hypothesis import SignificanceTest
from thinktime.stats.ranks import broken, shared

__all__ = ["N_LEAST", "effect", "same_distribution", "trend"]

Array = NDArray[np.float64]

N_LEAST = 5
"""Observations that each sample needs."""


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
    from scipy import stats

    sizes = [len(part) for part in arrays]
    edges, n = np.cumsum(sizes)[:-1], sum(sizes)
    with warnings.catch_warnings():
        # Beyond the ends of the table, and about options of other versions of SciPy.
        warnings.simplefilter("ignore")
        found = stats.anderson_ksamp(np.split(broken(np.concatenate(arrays), seed), edges))
    p = float(np.clip(found.pvalue, 0.001, 0.25))
    return SignificanceTest(
        "all periods have one distribution",
        float(found.statistic),
        p,
        n,
        f"Anderson and Darling for {len(arrays)} samples (Scholz and Stephens 1987), 0.001 <= p <= 0.25",
    )


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
        "there is no trend over the periods", rho, p, n, "Spearman's rank correlation", 1 if rho > 0 else -1
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
