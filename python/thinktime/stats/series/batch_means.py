"""Means and ratios of series whose observations are not independent, from sums over batches."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinktime.errors import InputError
from thinktime.stats import arguments, critical_values
from thinktime.stats.estimate import Estimate
from thinktime.stats.series import long_run
from thinktime.stats.series.long_run import LongRun

Array = NDArray[np.float64]

LAGS_MAX = 1_000_000
"""Bound that keeps a mistyped number from filling memory."""
KEPT_MOST = 256
"""Sums that are kept of a series: from half as many up in `GrowingBatches`, after that many observations."""


def autocorrelation(series: ArrayLike, lags: int = 1) -> Array:
    r"""Autocorrelation at lags 1 to `lags`.

    .. math:: r_l = \sum_{t>l} (x_t - \bar x)(x_{t-l} - \bar x) / \sum_t (x_t - \bar x)^2

    nan for a series that never changes or is not longer than the lag (Box, Jenkins and Reinsel, *Time
    Series Analysis*, equation 2.1.11).

    Parameters
    ----------
    series : array of shape (n,)
        Observations in the order of time.
    lags : int
        Largest lag.

    Raises
    ------
    InputError
        A value is not finite, or `lags` is less than 1.
    TypeError
        An argument is of the wrong kind.
    """
    values, lags = arguments.sample(series, "series"), arguments.whole(lags, "lags", least=1, most=LAGS_MAX)
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


class Autocorrelation:
    """Autocorrelation of a series with mean zero, streamed: memory of `lags` values.

    As `autocorrelation`, but about zero: residuals of a fit with a constant have that mean.

    Parameters
    ----------
    lags : int
        Largest lag.
    """

    def __init__(self, lags: int) -> None:
        self._products = np.zeros(arguments.whole(lags, "lags", least=1, most=LAGS_MAX) + 1)
        self._tail: Array = np.zeros(0)
        self._largest = 0.0
        self._n = 0

    def absorb(self, values: Array) -> None:
        """Add values that follow those before."""
        lags = len(self._products) - 1
        joined = np.concatenate([self._tail, values])
        for lag in range(min(lags, len(joined) - 1) + 1):
            new = joined[max(len(self._tail), lag) :]
            self._products[lag] += float(new @ joined[len(joined) - len(new) - lag : len(joined) - lag])
        self._largest = max(self._largest, float(np.max(np.abs(values), initial=0.0)))
        self._n += len(values)
        self._tail = joined[len(joined) - min(lags, len(joined)) :]

    def values(self, scale: float) -> Array:
        """Correlations at lags 1 to `lags`; nan where the values are nothing but rounding errors.

        Parameters
        ----------
        scale : float
            Size of the numbers whose differences the values are: it bounds the rounding errors.
        """
        smallest = np.finfo(np.float64).eps * max(scale, self._largest)
        total = self._products[0]
        if total <= self._n * smallest**2 * 4:
            return np.full(len(self._products) - 1, np.nan)
        result: Array = self._products[1:] / total
        return result


def plain_mean(values: ArrayLike, level: float = 0.95) -> Estimate:
    """Mean of independent observations, with Student's t interval; without one for one observation.

    Parameters
    ----------
    values : array of shape (n,)
        At least one.
    level : float
        Confidence of the interval.

    Raises
    ------
    InputError
        No values, one that is not finite, or `level` is out of range.
    TypeError
        An argument is of the wrong kind.
    """
    data, level = arguments.sample(values, least=1), arguments.level(level)
    n = len(data)
    mean = float(data.mean())
    if n < 2:
        return Estimate(value=mean, n=n, method="one observation", level=level)
    reach = critical_values.student_t(level, n - 1) * float(data.std(ddof=1)) / math.sqrt(n)
    return Estimate(
        value=mean, low=mean - reach, high=mean + reach, n=n, method="mean, Student's t", level=level
    )


def batch_ratio(
    amounts: ArrayLike, lengths: ArrayLike | None = None, level: float = 0.95, *, independent: bool = False
) -> Estimate:
    r"""Amount per unit of length, with an interval that holds under autocorrelation.

    .. math:: R = \sum a_i / \sum l_i, \qquad s_R^2 = V(e) / \Big(\sum l_i\Big)^2, \qquad e_i = a_i - R l_i

    with the long-run variance V of `long_run.long_run`, whose number of cosines follows from the
    correlation in the data (for a ratio: Cochran, *Sampling Techniques*, 6.3). Up to 256 observations count
    one by one, more in batches of adjoining ones, all equally long. The interval is :math:`R \pm t s_R`, cut
    at zero where no amount is negative. With equal lengths it is that of the mean. A series that is too short
    for its correlation gets a wider interval and `Estimate.caveat`.

    Parameters
    ----------
    amounts : array of shape (n,)
        Counts or seconds of each interval, in the order of time.
    lengths : array of shape (n,), optional
        Length of each interval, not negative; 1 by default, which gives the mean.
    level : float
        Confidence of the interval.
    independent : bool
        True if the observations are independent, such as replications: Student's t over them.

    Raises
    ------
    InputError
        There is no observation, one is not finite, the lengths do not fit or do not add to more than
        zero, or `level` is out of range.
    TypeError
        An argument is of the wrong kind.
    """
    amount = arguments.sample(amounts, "amounts", least=1)
    length = None if lengths is None else arguments.sample(lengths, "lengths")
    if length is not None and (len(length) != len(amount) or (length < 0.0).any()):
        raise InputError(
            f"lengths has {len(length)} values for {len(amount)} amounts, or a negative one; give one from 0 "
            "up for each amount"
        )
    sums = Batches(len(amount), 1, independent=independent)
    sums.absorb(amount[:, None], length)
    return sums.interval(0, arguments.level(level))


class Batches:
    """`batch_ratio` of several columns over the same lengths, streamed: memory of 256 sums per column.

    For a series whose length is known in advance; `GrowingBatches` is for one whose length is not.

    Parameters
    ----------
    n : int
        Number of observations to come.
    columns : int
        Number of amounts in each.
    independent : bool
        See `batch_ratio`.
    """

    def __init__(self, n: int, columns: int, *, independent: bool = False) -> None:
        batches = n if independent else min(n, KEPT_MOST)
        self._n = n
        self._independent = independent
        self._starts = np.linspace(0, n, batches + 1).astype(np.int64)[:-1]
        self._amounts = np.zeros((batches, columns))
        self._lengths = np.zeros(batches)
        self._negative = np.zeros(columns, dtype=np.bool_)
        self._seen = 0

    @property
    def n(self) -> int:
        """Number of observations so far."""
        return self._seen

    @property
    def length(self) -> float:
        """Sum of the lengths so far."""
        return float(self._lengths.sum())

    @property
    def sums(self) -> tuple[Array, Array]:
        """Sums of the amounts, a row for each column, and of the lengths, by batch."""
        return self._amounts.T, self._lengths

    def absorb(self, amounts: Array, lengths: Array | None = None) -> None:
        """Add observations, a row each; without `lengths` each has the length 1.

        Raises
        ------
        InputError
            There are more than were announced.
        """
        count = len(amounts)
        if self._seen + count > self._n:
            raise InputError(f"{self._seen + count} observations for the {self._n} that were announced")
        if not count:
            return
        first, batch = following(self._starts, self._seen, count)
        length = np.ones(count) if lengths is None else lengths
        self._amounts[batch] += np.add.reduceat(amounts, first, axis=0)
        self._lengths[batch] += np.add.reduceat(length, first)
        self._negative |= (amounts < 0.0).any(axis=0)
        self._seen += count

    def interval(self, column: int, level: float = 0.95) -> Estimate:
        """Amount per unit of length in one column.

        Raises
        ------
        InputError
            There is no observation, or the lengths do not add to more than zero.
        """
        n, total = self._seen, float(self._lengths.sum())
        if n == 0 or total <= 0.0:
            raise InputError("a rate needs at least one observation of positive length")
        negative = bool(self._negative[column])
        amounts = self._amounts[:, column]
        return of_sums(amounts, self._lengths, n, level, negative=negative, independent=self._independent)


def following(
    starts: NDArray[np.int64], seen: int, count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First observation of each batch among the `count` that follow those `seen`, and these batches.

    Parameters
    ----------
    starts : array
        First observation of each batch, ascending from 0.
    seen, count : int
        Observations before, and those that follow: at least one.
    """
    low, high = np.searchsorted(starts, [seen, seen + count])
    first, batch = starts[low:high] - seen, np.arange(low, high)
    if not len(first) or first[0]:
        first, batch = np.append(0, first), np.append(low - 1, batch)
    return first, batch


def ratio_error(amounts: Array, lengths: Array, *, independent: bool = False) -> tuple[float, LongRun]:
    """Ratio of the sums of at least two batches, and the variance of the ratio: formula of `batch_ratio`."""
    total = float(lengths.sum())
    ratio = float(amounts.sum()) / total
    influences = (amounts - ratio * lengths) / total
    return ratio, long_run.independent(influences) if independent else long_run.long_run(influences)


def of_sums(
    amounts: Array,
    lengths: Array,
    n: int,
    level: float,
    *,
    negative: bool,
    independent: bool = False,
) -> Estimate:
    """Estimate of `batch_ratio` from the sums of the batches.

    Parameters
    ----------
    amounts, lengths : ndarray of shape (batches,)
        Sums over each batch.
    n : int
        Observations in all batches.
    level : float
        Confidence of the interval.
    negative : bool
        True if an amount may be negative: then the interval is not cut at zero.
    independent : bool
        True if the batches are.
    """
    if n < 2 or len(lengths) < 2:
        ratio = float(amounts.sum()) / float(lengths.sum())
        return Estimate(value=ratio, n=n, method="one observation" if n < 2 else "one batch", level=level)
    ratio, variance = ratio_error(amounts, lengths, independent=independent)
    reach = variance.reach(level)
    low = ratio - reach
    if low < 0.0 and not negative:
        low = 0.0
    return Estimate(
        value=ratio,
        low=low,
        high=ratio + reach,
        n=n,
        method=f"long-run variance ({variance.method})",
        level=level,
        caveat=variance.caveat,
    )


class GrowingBatches:
    """Sums of columns over batches of adjoining observations; memory does not grow with their number.

    Every observation has a clock, which counts it into a batch, and a slot, its place within the batch.
    One clock for each group gives batches of a group's own observations; one clock for all, with a slot
    for each group, gives stretches of time and what each group did in them. A clock that has filled
    `KEPT_MOST` batches joins them in pairs and goes on with batches twice as long, so that all batches of a
    clock but the last hold equally many observations (Fishman 1978, *Principles of Discrete Event
    Simulation*, 5.5).

    Parameters
    ----------
    clocks, slots, columns : int
        Numbers of each.
    """

    def __init__(self, clocks: int, slots: int, columns: int) -> None:
        self._sums = np.zeros((columns, clocks, KEPT_MOST, slots))
        self._size = np.ones(clocks, dtype=np.int64)
        self._seen = np.zeros(clocks, dtype=np.int64)

    def add(
        self,
        clock: NDArray[np.int64],
        slot: NDArray[np.int64],
        columns: Sequence[tuple[Array, Sequence[int]]],
    ) -> None:
        """Add observations in order.

        Parameters
        ----------
        clock, slot : ndarray of int
            Of each observation.
        columns : sequence of (ndarray, sequence of int)
            Values, and the columns to which they are added: several where they share the values.
        """
        clocks, most, slots = self._sums.shape[1:]
        counts = np.bincount(clock, minlength=clocks)
        for late in np.flatnonzero(self._seen + counts > self._size * most).tolist():
            self._coarsen(late, int(self._seen[late] + counts[late]))
        batch = (self._seen[clock] + _ranks(clock, counts)) // self._size[clock]
        cell = (clock * most + batch) * slots + slot
        for values, targets in columns:
            sums = np.bincount(cell, values, minlength=clocks * most * slots)
            for target in targets:
                self._sums[target] += sums.reshape(clocks, most, slots)
        self._seen += counts

    def _coarsen(self, clock: int, expected: int) -> None:
        """Join batches in pairs until `expected` observations fit."""
        while expected > self._size[clock] * KEPT_MOST:
            sums = self._sums[:, clock]
            pairs = sums[:, 0::2] + sums[:, 1::2]
            self._sums[:, clock] = 0.0
            self._sums[:, clock, : KEPT_MOST // 2] = pairs
            self._size[clock] *= 2

    def sums(self, clock: int) -> Array:
        """Sums of a clock's batches, in order; shape (columns, batches, slots)."""
        used = -(-int(self._seen[clock]) // int(self._size[clock]))
        return self._sums[:, clock, :used]

    def totals(self) -> Array:
        """Sums over all batches; shape (columns, clocks, slots)."""
        totals: Array = self._sums.sum(axis=2)
        return totals


def _ranks(clock: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give each observation its number among those of its clock."""
    if len(counts) == 1:
        return np.arange(len(clock))
    order = np.argsort(clock, kind="stable")
    ranks = np.empty(len(clock), dtype=np.int64)
    ranks[order] = np.arange(len(clock)) - np.repeat(np.cumsum(counts) - counts, counts)
    return ranks


def join_batches(batches: Array, number: int) -> Array:
    """Join adjoining batches (the second axis) into `number` of nearly equal numbers of batches."""
    count = batches.shape[1]
    if number >= count:
        return batches
    starts = np.linspace(0, count, number + 1).astype(np.int64)[:-1]
    result: Array = np.add.reduceat(batches, starts, axis=1)
    return result
