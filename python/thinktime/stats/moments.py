"""Variance, variation and skewness with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinktime.stats import critical
from thinktime.stats.series import Interval

__all__ = ["Statistic", "coefficient_of_variation", "grouped_jackknife", "skewness", "variance"]

Matrix = NDArray[np.float64]
Statistic = Callable[[Matrix], float]
"""From the sums (n, sum x, sum x^2, sum x^3), x scaled by the mean, to a figure."""

GROUPS_MAX = 40


def variance(sums: Matrix) -> float:
    """Sample variance (divisor n - 1)."""
    n, first, second, _ = sums
    return float(max(0.0, second - first**2 / n) / (n - 1))


def coefficient_of_variation(sums: Matrix) -> float:
    """Return the standard deviation over the mean."""
    return math.sqrt(variance(sums)) * float(sums[0] / sums[1])


def skewness(sums: Matrix) -> float:
    """Third central moment over the cube of the standard deviation (divisor n)."""
    n, first, second, third = sums
    mean = first / n
    spread = max(0.0, second / n - mean**2)
    if spread == 0.0:
        return 0.0
    return float((third / n - 3 * mean * second / n + 2 * mean**3) / spread**1.5)


def grouped_jackknife(
    values: ArrayLike, statistic: Statistic, level: float = 0.95, *, positive: bool = False, power: int = 0
) -> Interval:
    r"""Compute a statistic of power sums, with the interval of the delete-a-group jackknife.

    .. math:: s^2 = \frac{G-1}{G} \sum_g (\theta_{(g)} - \bar\theta)^2

    over G <= 40 groups of adjoining observations, each left out in turn; interval with Student's t and
    G - 1 degrees of freedom (Wolter, *Introduction to Variance Estimation*, 4.2). For a statistic that
    cannot be negative the logarithm is used, which holds better for skewed distributions.

    Parameters
    ----------
    values : array
        Observations, in order of time.
    statistic : callable
        One of this module's, given the power sums.
    level : float
        Confidence.
    positive : bool
        Whether to work on the logarithm.
    power : int
        Power of the values' unit in the statistic (2 for the variance): values are scaled by their mean.

    Raises
    ------
    ValueError
        Fewer than three values.
    """
    data = np.asarray(values, dtype=np.float64)
    n = len(data)
    if n < 3:
        raise ValueError(f"{n} values are too few for a jackknife")
    scale = float(np.mean(np.abs(data))) or 1.0
    x = data / scale
    groups = min(GROUPS_MAX, n)
    starts = np.linspace(0, n, groups + 1).astype(np.int64)[:-1]
    sums = np.add.reduceat(np.column_stack([np.ones(n), x, x**2, x**3]), starts, axis=0)
    total = sums.sum(axis=0)
    value = statistic(total)
    parts = np.array([statistic(total - group) for group in sums])
    factor = scale**power
    method = f"jackknife over {groups} groups"
    on_log = positive and value > 0.0 and bool((parts > 0.0).all())
    if on_log:
        parts = np.log(parts)
    error = math.sqrt((groups - 1) / groups * float(np.sum((parts - parts.mean()) ** 2)))
    reach = critical.student_t(level, groups - 1) * error
    if on_log:
        low, high = value * math.exp(-min(reach, 700.0)), value * math.exp(min(reach, 700.0))
    else:
        low, high = value - reach, value + reach
    return Interval(value * factor, low * factor, high * factor, n, method, level)
