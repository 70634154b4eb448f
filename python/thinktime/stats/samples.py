"""Quantiles with intervals that assume no distribution."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from thinktime.stats import critical_values
from thinktime.stats.estimate import Estimate


def quantile(values: ArrayLike, q: float, level: float = 0.95) -> Estimate:
    r"""Quantile `q` of independent observations, with an interval between order statistics.

    The number of observations below the true quantile is binomial (n, q), hence :math:`[x_{(l)}, x_{(u)}]`
    covers it with probability :math:`P(l \le B < u) \ge` `level`, each tail having at most half of the
    rest (David and Nagaraja, *Order Statistics*, 7.1). An end that would need an order statistic beyond
    the sample is None: the data cannot bound it. The point is interpolated linearly (Hyndman and Fan's
    definition 7).

    Raises
    ------
    ValueError
        No values, or `q` outside 0 to 1.
    """
    data = np.sort(np.asarray(values, dtype=np.float64))
    n = len(data)
    if n == 0 or not 0.0 <= q <= 1.0:
        raise ValueError(f"a quantile {q} of {n} values is not defined")
    tail = (1.0 - level) / 2.0
    counts = np.arange(n + 1)
    below = special.bdtr(counts, n, q)  # P(B <= k)
    # Largest l with P(B < l) = P(B <= l - 1) <= tail; smallest u with P(B >= u) <= tail.
    lower = int(np.searchsorted(below, tail, side="right"))
    upper = int(np.searchsorted(below, 1.0 - tail, side="left")) + 1
    low = float(data[lower - 1]) if lower >= 1 else None
    high = float(data[upper - 1]) if upper <= n else None
    return Estimate(
        value=float(np.quantile(data, q)), low=low, high=high, n=n, method="order statistics", level=level
    )


def proportion(hits: int, n: int, level: float = 0.95) -> Estimate:
    """`hits` out of `n` independent trials, with Wilson's interval (1927, JASA 22, 209).

    Raises
    ------
    ValueError
        There are no trials, or more hits than trials.
    """
    if n < 1 or not 0 <= hits <= n:
        raise ValueError(f"{hits} of {n} is no proportion")
    low, high = _wilson(hits / n, n, level)
    return Estimate(value=hits / n, low=low, high=high, n=n, method="proportion, Wilson", level=level)


def in_blocks(hits: ArrayLike, trials: ArrayLike, level: float = 0.95) -> Estimate:
    r"""Part of trials that are alike within their block, with an interval that allows for it.

    Wilson's interval for n / D trials, with the design effect

    .. math:: D = \max\Big(1, \frac{n}{p (1 - p)} \cdot
              \frac{B}{B - 1} \sum_b (h_b - p\, m_b)^2 / n^2\Big)

    of B blocks with h of m hits (Kish 1965, *Survey Sampling*, 8.2). Where all or no trials are hits, nothing
    tells how alike they are: then a block counts as one trial.

    Raises
    ------
    ValueError
        There are no trials.
    """
    h, m = np.asarray(hits, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    n = float(m.sum())
    if n < 1:
        raise ValueError("no trials have no proportion")
    p, blocks = float(h.sum()) / n, len(h)
    worth = float(blocks)
    if blocks > 1 and 0.0 < p < 1.0:
        spread = blocks / (blocks - 1) * float(np.sum((h - p * m) ** 2)) / n
        worth = n / max(1.0, spread / (p * (1.0 - p)))
    low, high = _wilson(p, worth, level)
    return Estimate(value=p, low=low, high=high, n=int(n), method="proportion, Wilson, blocks", level=level)


def _wilson(share: float, n: float, level: float) -> tuple[float, float]:
    z = critical_values.normal(level)
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    # At 0 and 1 the end is exactly 0 or 1; rounding must not move it across.
    return 0.0 if share == 0.0 else centre - reach, 1.0 if share == 1.0 else centre + reach


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
) -> Estimate:
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
    reach = critical_values.student_t(level, groups - 1) * _error(parts)
    low, high = centre - reach, centre + reach
    if on_log:
        low, high = math.exp(low), math.exp(min(high, 700.0))
    # The plain statistic can lie outside an interval about the corrected one.
    low, high = min(low, value), max(high, value)
    factor = scale**power
    return Estimate(
        value=value * factor,
        low=low * factor,
        high=high * factor,
        n=n,
        method=f"jackknife over {groups} groups",
        level=level,
    )


def _error(parts: Matrix) -> float:
    """Jackknife standard error."""
    groups = len(parts)
    return math.sqrt((groups - 1) / groups * float(np.sum((parts - parts.mean()) ** 2)))
