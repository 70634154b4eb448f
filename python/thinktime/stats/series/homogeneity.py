"""Tests that samples taken at different times come from one distribution."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable
from typing import Any

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
    """Statistic and p of SciPy's test, on ranks without ties."""
    from scipy import stats

    # SciPy 1.17 renamed the option, and 1.19 is to remove the old one.
    renamed = "variant" in inspect.signature(stats.anderson_ksamp).parameters
    without_ties: dict[str, Any] = {"variant": "continuous"} if renamed else {"midrank": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # p beyond the ends of the table is at its end, as `method` states
        result = stats.anderson_ksamp(ranks, **without_ties)
    return float(result.statistic), float(result.pvalue)


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
