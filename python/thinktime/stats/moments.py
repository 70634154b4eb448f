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

GROUPS_MAX = 20
CLEARLY = 3.0
"""Standard errors from zero beyond which a figure is taken as positive."""


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

    over G <= 20 groups of adjoining observations, each left out in turn; the interval is Student's t with
    G - 1 degrees of freedom about :math:`G \theta - (G - 1) \bar\theta`, which has less bias (Wolter,
    *Introduction to Variance Estimation*, 4.2). A figure that is clearly positive is worked on by its
    logarithm, which holds better for skewed distributions. `value` is the plain statistic.

    Limitations: the tail that is not in the sample is in no interval. For exponential data a nominal
    95 % interval holds the true variance in 88 to 95 % of samples of 40 to 1000, the true skewness in 78
    to 88 %.

    Parameters
    ----------
    values : array
        Observations, in order of time.
    statistic : callable
        One of this module's, given the power sums.
    level : float
        Confidence.
    positive : bool
        Whether the statistic cannot be negative.
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
    on_log = value > 0.0 and bool((parts > 0.0).all()) and (positive or value > CLEARLY * _error(parts))
    if on_log:
        parts = np.log(parts)
    centre = groups * (math.log(value) if on_log else value) - (groups - 1) * float(parts.mean())
    reach = critical.student_t(level, groups - 1) * _error(parts)
    low, high = centre - reach, centre + reach
    if on_log:
        low, high = math.exp(low), math.exp(min(high, 700.0))
    # The plain statistic can lie outside an interval about the corrected one.
    low, high = min(low, value), max(high, value)
    factor = scale**power
    return Interval(value * factor, low * factor, high * factor, n, f"jackknife over {groups} groups", level)


def _error(parts: Matrix) -> float:
    """Jackknife standard error."""
    groups = len(parts)
    return math.sqrt((groups - 1) / groups * float(np.sum((parts - parts.mean()) ** 2)))
