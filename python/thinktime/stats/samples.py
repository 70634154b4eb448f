"""Quantiles and proportions of one sample of independent observations, with confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from thinktime.stats import arguments, critical_values
from thinktime.stats.estimate import Caveat, Estimate

ROUNDING = 1e-9
"""Of a place among ordered observations."""


def quantile(values: ArrayLike, q: float, level: float = 0.95) -> Estimate:
    r"""Quantile `q` of independent observations, with an interval between order statistics.

    The number of observations below the true quantile is binomial (n, q), hence :math:`[x_{(l)}, x_{(u)}]`
    covers it with probability :math:`P(l \le B < u) \ge` `level`, each tail having at most half of the
    rest (David and Nagaraja, *Order Statistics*, 7.1). The interval assumes no distribution. An end that
    would need an order statistic beyond the sample is None: the data cannot bound it. The point is
    interpolated linearly (Hyndman and Fan's definition 7), and belongs to the interval (`around`).

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
    places = order_statistics(float(n), q, level)
    value = float(np.quantile(data, q))
    low, high = around(
        value,
        None if places[0] is None else float(data[math.floor(places[0]) - 1]),
        None if places[1] is None else float(data[math.ceil(places[1]) - 1]),
    )
    return Estimate(
        value=value,
        low=low,
        high=high,
        n=n,
        method="order statistics",
        level=level,
        caveat=open_end(n, q, level, (low, high)),
    )


def around(value: float, low: float | None, high: float | None) -> tuple[float | None, float | None]:
    """Ends of the interval of a quantile, moved out to the point where they leave it out.

    A point interpolated between the largest two of a few observations can lie below the lower end, which is
    the largest. A wider interval covers at least as often; one without its point contradicts itself.
    """
    return None if low is None else min(low, value), None if high is None else max(high, value)


def order_statistics(n: float, q: float, level: float) -> tuple[float | None, float | None]:
    r"""Places between 1 and n, among n ordered observations, between which quantile `q` lies.

    The largest l with :math:`P(B \ge l) = I_q(l, n - l + 1) \ge 1 - \alpha/2` and the smallest u with
    :math:`I_q(u, n - u + 1) \le \alpha/2`; n, an effective number, may be a fraction, and so may l and u.
    None where there is no such place.
    """
    tail = (1.0 - level) / 2.0

    def reached(place: float) -> float:
        """P(B >= place), from 1 at place 0 down to q^n at n."""
        return float(special.betainc(place, n - place + 1.0, q))

    low = high = None
    # Rounding must not move a place across a whole number.
    if n >= 1.0 and 0.0 < q < 1.0:
        if reached(1.0) >= 1.0 - tail:
            low = _place(lambda place: reached(place) - (1.0 - tail), 1.0, n) + ROUNDING
        if reached(n) <= tail:
            high = _place(lambda place: reached(place) - tail, 1.0, n) - ROUNDING
    return low, high


def _place(function: Callable[[float], float], low: float, high: float) -> float:
    """Zero of a falling function; an end where it has one sign."""
    if function(low) <= 0.0:
        return low
    return high if function(high) >= 0.0 else critical_values.root(function, low, high)


def open_end(n: float, q: float, level: float, ends: Sequence[float | None]) -> Caveat | None:
    """Caveat where the interval of a quantile has an open end: too few observations lie beyond it."""
    if None not in ends or not 0.0 < q < 1.0:
        return None
    rarest = q if ends[1] is None else 1.0 - q
    if None is ends[0] is ends[1]:
        rarest = max(q, 1.0 - q)
    needed = math.ceil(math.log((1.0 - level) / 2.0) / math.log(rarest))
    return Caveat("open_end", q=q, effective=float(n), needed=needed)


def open_bucket(above: float) -> Caveat:
    """Caveat where the interval of a quantile reaches into a bucket without an upper bound."""
    return Caveat("open_bucket", above=above)


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
    low, high = wilson(hits / n, n, critical_values.normal(arguments.level(level)))
    return Estimate(value=hits / n, low=low, high=high, n=n, method="proportion, Wilson", level=level)


def wilson(share: float, n: float, critical: float) -> tuple[float, float]:
    """Ends of Wilson's interval; `n` may be a fraction, an effective number of trials, unlike SciPy's."""
    centre = (share + critical**2 / (2 * n)) / (1 + critical**2 / n)
    reach = critical / (1 + critical**2 / n) * math.sqrt(share * (1 - share) / n + critical**2 / (4 * n**2))
    # At 0 and 1 the end is exactly 0 or 1; rounding must not move it across.
    return 0.0 if share == 0.0 else centre - reach, 1.0 if share == 1.0 else centre + reach
