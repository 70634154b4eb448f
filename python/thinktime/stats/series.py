"""Means of a series whose observations are not independent."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinktime.stats import critical
from thinktime.stats.estimate import Estimate

__all__ = ["Interval", "autocorrelation", "batch_ratio", "plain_mean"]

BATCHES_MAX = 30
BATCHES_MIN = 8
"""Below this many batches a variance is hardly known; then single observations are used and it is said."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A point estimate, its interval (None where the data give none), n and how it was made."""

    value: float
    low: float | None
    high: float | None
    n: int
    method: str
    level: float

    def estimate(self, unit: str) -> Estimate:
        """Give it its unit."""
        return Estimate(self.value, unit, self.n, self.method, self.low, self.high, self.level)


def autocorrelation(series: ArrayLike, lags: int = 1) -> NDArray[np.float64]:
    r"""Autocorrelation at lags 1 to `lags`.

    .. math:: r_l = \sum_{t>l} (x_t - \bar x)(x_{t-l} - \bar x) / \sum_t (x_t - \bar x)^2

    nan for a series that never changes or is not longer than the lag (Box, Jenkins and Reinsel, *Time
    Series Analysis*, equation 2.1.11).
    """
    values = np.asarray(series, dtype=np.float64)
    centred = values - values.mean() if len(values) else values
    total = float(centred @ centred)
    # A constant series leaves rounding errors behind, whose correlation means nothing.
    scale = np.finfo(np.float64).eps * float(np.max(np.abs(values), initial=0.0))
    if total <= len(values) * scale**2 * 4:
        return np.full(lags, np.nan)
    result = np.full(lags, np.nan)
    for lag in range(1, min(lags, len(values) - 1) + 1):
        result[lag - 1] = float(centred[lag:] @ centred[:-lag]) / total
    return result


def plain_mean(values: ArrayLike, level: float = 0.95) -> Interval:
    """Mean with Student's t interval: for independent observations."""
    data = np.asarray(values, dtype=np.float64)
    n = len(data)
    mean = float(data.mean())
    if n < 2:
        return Interval(mean, None, None, n, "one observation", level)
    reach = critical.student_t(level, n - 1) * float(data.std(ddof=1)) / math.sqrt(n)
    return Interval(mean, mean - reach, mean + reach, n, "mean, Student's t", level)


def batch_ratio(
    amounts: ArrayLike, lengths: ArrayLike | None = None, level: float = 0.95, batches: int | None = None
) -> Interval:
    r"""Amount per unit of length, with an interval that holds under autocorrelation.

    .. math:: R = \sum a_i / \sum l_i, \qquad
              s_R^2 = \frac{B}{B-1} \sum_b (A_b - R L_b)^2 / \Big(\sum_b L_b\Big)^2

    over B batches of adjoining observations with sums :math:`A_b, L_b`: batch means (Law, *Simulation
    Modeling and Analysis*, 9.5.3) of a ratio (Cochran, *Sampling Techniques*, 6.3). The interval is
    :math:`R \pm t_{B-1} s_R`, cut at zero where no amount is negative. With equal lengths it is the
    batch-means interval of the mean.

    Parameters
    ----------
    amounts : array
        Counts or seconds of each interval.
    lengths : array, optional
        Length of each interval; 1 by default, which gives the mean.
    level : float
        Confidence.
    batches : int, optional
        B; by default about sqrt(n), from 8 to 30. With fewer than 16 observations each is a batch of its
        own, which protects against nothing, and `Interval.method` says so.

    Raises
    ------
    ValueError
        There is no observation, or the lengths do not add to more than zero.
    """
    amount = np.asarray(amounts, dtype=np.float64)
    length = np.ones(len(amount)) if lengths is None else np.asarray(lengths, dtype=np.float64)
    n, total = len(amount), float(length.sum())
    if n == 0 or total <= 0.0:
        raise ValueError("a rate needs at least one observation of positive length")
    ratio = float(amount.sum()) / total
    if n < 2:
        return Interval(ratio, None, None, n, "one observation", level)
    if batches is None:
        batches = n if n < 2 * BATCHES_MIN else max(BATCHES_MIN, min(BATCHES_MAX, round(math.sqrt(n))))
    starts = np.linspace(0, n, batches + 1).astype(np.int64)[:-1]
    deviations = np.add.reduceat(amount, starts) - ratio * np.add.reduceat(length, starts)
    error = math.sqrt(batches / (batches - 1) * float(deviations @ deviations)) / total
    reach = critical.student_t(level, batches - 1) * error
    method = (
        f"batch means ({batches} batches)" if batches < n else "mean, Student's t (too short for batches)"
    )
    low = ratio - reach
    if low < 0.0 and (amount >= 0.0).all():
        low = 0.0
    return Interval(ratio, low, ratio + reach, n, method, level)
