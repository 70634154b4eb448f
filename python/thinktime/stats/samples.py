"""Quantiles, proportions and moments of one sample, with confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from thinktime.errors import InputError
from thinktime.stats import arguments, critical_values
from thinktime.stats.estimate import Estimate

Array = NDArray[np.float64]

GROUPS_MAX = 20
CLEARLY = 3.0
"""Standard errors from zero beyond which a statistic counts as positive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerSums:
    """Power sums of values less their origin, which keeps the digits of values that differ little."""

    n: float
    """Number of values."""
    first: float
    """Sum of x, where x is a value less `origin`."""
    second: float
    """Sum of x^2."""
    third: float
    """Sum of x^3."""
    origin: float
    """What was subtracted from each value: about the mean."""


Statistic = Callable[[PowerSums], float]
"""Function of the power sums of values that are scaled by their mean."""


def quantile(values: ArrayLike, q: float, level: float = 0.95) -> Estimate:
    r"""Quantile `q` of independent observations, with an interval between order statistics.

    The number of observations below the true quantile is binomial (n, q), hence :math:`[x_{(l)}, x_{(u)}]`
    covers it with probability :math:`P(l \le B < u) \ge` `level`, each tail having at most half of the
    rest (David and Nagaraja, *Order Statistics*, 7.1). The interval assumes no distribution. An end that
    would need an order statistic beyond the sample is None: the data cannot bound it. The point is
    interpolated linearly (Hyndman and Fan's definition 7).

    Parameters
    ----------
    values : array of shape (n,)
        Observations, at least one.
    q : float
        From 0 to 1: 0.5 for the median.
    level : float
        Confidence of the interval.

    Raises
    ------
    InputError
        No values, one that is not finite, or `q` or `level` out of range.
    TypeError
        An argument is of the wrong kind: one quantile is computed for one `q`.
    """
    data = np.sort(arguments.sample(values, least=1))
    q, level = arguments.number(q, "q", low=0.0, high=1.0), arguments.level(level)
    n = len(data)
    tail = (1.0 - level) / 2.0
    counts = np.arange(n + 1)
    below = special.bdtr(counts, n, q)  # P(B <= k)
    # Largest l with P(B < l) = P(B <= l - 1) <= tail; smallest u with P(B >= u) <= tail.
    lower = int(np.searchsorted(below, tail, side="right"))
    upper = int(np.searchsorted(below, 1.0 - tail, side="left")) + 1
    low = float(data[lower - 1]) if lower >= 1 else None
    high = float(data[upper - 1]) if upper <= n else None
    value = float(np.quantile(data, q))
    return Estimate(value=value, low=low, high=high, n=n, method="order statistics", level=level)


def proportion(hits: int, n: int, level: float = 0.95) -> Estimate:
    """Proportion of `hits` among `n` independent trials, with Wilson's interval (1927, JASA 22, 209).

    Parameters
    ----------
    hits, n : int
        Successes, and trials: at least one.
    level : float
        Confidence of the interval.

    Raises
    ------
    InputError
        There are no trials, more hits than trials, or `level` is out of range.
    TypeError
        An argument is of the wrong kind.
    """
    n = arguments.whole(n, "n", least=1)
    hits = arguments.whole(hits, "hits", most=n)
    low, high = _wilson(hits / n, n, arguments.level(level))
    return Estimate(value=hits / n, low=low, high=high, n=n, method="proportion, Wilson", level=level)


def proportion_in_blocks(hits: ArrayLike, trials: ArrayLike, level: float = 0.95) -> Estimate:
    r"""Proportion of hits among trials that are correlated within their block.

    Wilson's interval for n / D trials, with the design effect

    .. math:: D = \max\Big(1, \frac{n}{p (1 - p)} \cdot
              \frac{B}{B - 1} \sum_b (h_b - p\, m_b)^2 / n^2\Big)

    of B blocks with h of m hits (Kish 1965, *Survey Sampling*, 8.2). Where all or no trials are hits, the
    data do not show how alike trials are: then a block counts as one trial.

    Parameters
    ----------
    hits, trials : array of shape (blocks,)
        Successes and trials of each block.
    level : float
        Confidence of the interval.

    Raises
    ------
    InputError
        There are no trials, a block has more hits than trials, a number is not whole, or `level` is out of
        range.
    TypeError
        An argument is of the wrong kind.
    """
    h, m = arguments.sample(hits, "hits"), arguments.sample(trials, "trials")
    level = arguments.level(level)
    if h.shape != m.shape:
        raise InputError(f"hits has {len(h)} blocks and trials {len(m)}; give one value of each per block")
    if (h < 0.0).any() or (h > m).any():
        raise InputError("a block has a negative number of hits, or more hits than trials")
    for name, counts in (("hits", h), ("trials", m)):
        if (broken := counts[counts % 1.0 != 0.0]).size:
            raise InputError(f"{name} holds {broken[0]:g}; give whole numbers")
    n = float(m.sum())
    if n < 1:
        raise InputError("trials adds to less than 1; give at least one trial")
    p, blocks = float(h.sum()) / n, len(h)
    effective = float(blocks)
    if blocks > 1 and 0.0 < p < 1.0:
        spread = blocks / (blocks - 1) * float(np.sum((h - p * m) ** 2)) / n
        effective = n / max(1.0, spread / (p * (1.0 - p)))
    low, high = _wilson(p, effective, level)
    return Estimate(value=p, low=low, high=high, n=int(n), method="proportion, Wilson, blocks", level=level)


def _wilson(share: float, n: float, level: float) -> tuple[float, float]:
    """Ends of Wilson's interval; `n` may be a fraction, an effective number of trials, unlike SciPy's."""
    z = critical_values.normal(level)
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    # At 0 and 1 the end is exactly 0 or 1; rounding must not move it across.
    return 0.0 if share == 0.0 else centre - reach, 1.0 if share == 1.0 else centre + reach


def variance(sums: PowerSums) -> float:
    """Sample variance (divisor n - 1) from power sums."""
    return max(0.0, sums.second - sums.first**2 / sums.n) / (sums.n - 1)


def coefficient_of_variation(sums: PowerSums) -> float:
    """Standard deviation over mean, from power sums."""
    return math.sqrt(variance(sums)) / (sums.origin + sums.first / sums.n)


def skewness(sums: PowerSums) -> float:
    """Third central moment over the cube of the standard deviation (divisor n), from power sums."""
    mean, second, third = (power / sums.n for power in (sums.first, sums.second, sums.third))
    spread = max(0.0, second - mean**2)
    return (third - 3 * mean * second + 2 * mean**3) / spread**1.5 if spread else 0.0


def grouped_jackknife(
    values: ArrayLike, statistic: Statistic, level: float = 0.95, *, positive: bool = False, power: int = 0
) -> Estimate:
    r"""Statistic of power sums, with the interval of the delete-a-group jackknife.

    .. math:: s^2 = \frac{G-1}{G} \sum_g (\theta_{(g)} - \bar\theta)^2

    over G <= 20 groups of adjoining observations, each left out in turn; the interval is Student's t with
    G - 1 degrees of freedom about :math:`G \theta - (G - 1) \bar\theta`, which has less bias (Wolter,
    *Introduction to Variance Estimation*, 4.2). A statistic that is clearly positive is treated on the
    logarithmic scale, which holds better for skewed distributions. `value` is the plain statistic.

    Limitations: no interval covers the tail that is not in the sample. For exponential data a nominal
    95 % interval holds the true variance in 88 to 95 % of samples of 40 to 1000, the true skewness in 78
    to 88 %.

    Parameters
    ----------
    values : array of shape (n,)
        Observations in the order of time, at least three.
    statistic : callable
        `variance`, `coefficient_of_variation`, `skewness` or another function of the power sums.
    level : float
        Confidence of the interval.
    positive : bool
        The statistic cannot be negative.
    power : int
        Power of the values' unit in the statistic (2 for the variance): values are scaled by their mean.

    Raises
    ------
    InputError
        Fewer than three values, one that is not finite, or `level` is out of range.
    TypeError
        An argument is of the wrong kind.
    """
    data, level = arguments.sample(values, least=3), arguments.level(level)
    power = arguments.whole(power, "power", least=-3, most=3)
    if not callable(statistic):
        raise TypeError(f"statistic is {arguments.shown(statistic)}; give a function of power sums")
    n = len(data)
    scale = float(np.mean(np.abs(data))) or 1.0
    origin = float(data.mean())
    x = (data - origin) / scale
    groups = min(GROUPS_MAX, n)
    starts = np.linspace(0, n, groups + 1).astype(np.int64)[:-1]
    sums = np.add.reduceat(np.column_stack([np.ones(n), x, x**2, x**3]), starts, axis=0)
    total = sums.sum(axis=0)

    def of(powers: Array) -> float:
        count, first, second, third = map(float, powers)
        return statistic(PowerSums(n=count, first=first, second=second, third=third, origin=origin / scale))

    value = of(total)
    without = np.array([of(total - group) for group in sums])
    on_log = value > 0.0 and bool((without > 0.0).all())
    on_log = on_log and (positive or value > CLEARLY * _jackknife_error(without))
    if on_log:
        without = np.log(without)
    centre = groups * (math.log(value) if on_log else value) - (groups - 1) * float(without.mean())
    reach = critical_values.student_t(level, groups - 1) * _jackknife_error(without)
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


def _jackknife_error(without: Array) -> float:
    """Standard error from the statistics without each group in turn."""
    groups = len(without)
    return math.sqrt((groups - 1) / groups * float(np.sum((without - without.mean()) ** 2)))
