"""Proportions and quantiles of observations that are correlated in time, by their effective number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinktime.errors import InputError
from thinktime.stats import arguments, critical_values, samples
from thinktime.stats.estimate import Caveat, Estimate
from thinktime.stats.series import long_run
from thinktime.stats.series.batch_means import KEPT_MOST
from thinktime.stats.series.long_run import LongRun

_Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effective:
    """Number of independent observations that show a proportion as well as the correlated ones do."""

    n: float
    degrees: float
    """Degrees of freedom of `n`, which is an estimate."""
    caveat: Caveat | None = None

    def normal(self, level: float) -> float:
        """Number with which a normal critical value reaches as far as Student's t does with `n`."""
        return self.n * (critical_values.normal(level) / critical_values.student_t(level, self.degrees)) ** 2


def effective(n: float, share: float, variance: LongRun) -> Effective:
    r"""Effective number of n observations of which `share` are hits.

    .. math:: n_e = n / D, \qquad D = \max\Big(1, \frac{V}{n\,p\,(1 - p)}\Big)

    with the variance V of the number of hits (the design effect: Kish 1965, *Survey Sampling*, 8.2).
    """
    spread = n * share * (1.0 - share)
    design = max(1.0, variance.variance / spread) if spread > 0.0 else 1.0
    return Effective(n=n / design, degrees=variance.degrees, caveat=variance.caveat)


def proportion_in_time(hits: ArrayLike, level: float = 0.95) -> Estimate:
    """Proportion of hits among trials in the order of time, which may be correlated.

    Wilson's interval with Student's t for the effective number of trials (`effective`, `long_run.long_run`).

    Parameters
    ----------
    hits : array of shape (n,)
        1 for a success, 0 for a failure, at least one.
    level : float
        Confidence of the interval.

    Raises
    ------
    InputError
        There are no trials, one is neither 0 nor 1, or `level` is out of range.
    TypeError
        An argument is of the wrong kind.
    """
    values = arguments.sample(hits, "hits", least=1)
    if not np.isin(values, (0.0, 1.0)).all():
        raise InputError(
            "hits has a value that is neither 0 nor 1; give 1 for each success and 0 for the rest"
        )
    sums, sizes = _batched(values)
    return proportion_in_blocks(sums, sizes, level)


def proportion_in_blocks(hits: ArrayLike, trials: ArrayLike, level: float = 0.95) -> Estimate:
    """Proportion of hits among trials that are correlated within their block, and from block to block.

    Wilson's interval with Student's t for the effective number of trials (`effective`), from the long-run
    variance of the blocks' hits about p m (`long_run.long_run`). Where all or no trials are hits, the data do
    not show how alike trials are: then a block counts as one trial.

    Parameters
    ----------
    hits, trials : array of shape (blocks,)
        Successes and trials of each block, in the order of time.
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
    found = Effective(n=float(blocks), degrees=max(1.0, blocks - 1.0))
    if blocks > 1 and 0.0 < p < 1.0:
        found = effective(n, p, long_run.long_run(h - p * m))
    low, high = samples.wilson(p, found.n, critical_values.student_t(level, found.degrees))
    return Estimate(
        value=p,
        low=low,
        high=high,
        n=int(n),
        method="proportion, Wilson, effective number of trials",
        level=level,
        caveat=found.caveat,
    )


def quantile_in_time(values: ArrayLike, q: float, level: float = 0.95) -> Estimate:
    """Quantile `q` of observations in the order of time, which may be correlated.

    The interval is between order statistics, as in `samples.quantile`, for the effective number of
    observations (`effective`): the observations at most as large as the quantile are hits, whose number has
    the long-run variance of `long_run.long_run` (for survey samples: Woodruff 1952, JASA 47, 635).
    Independent observations get the interval of `samples.quantile`, or a somewhat wider one. An end beyond
    the sample is None, and `Estimate.caveat` states how few independent observations there are.

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
        An argument is of the wrong kind.
    """
    data = arguments.sample(values, least=1)
    q, level = arguments.number(q, "q", low=0.0, high=1.0), arguments.level(level)
    value = float(np.quantile(data, q))
    ends = QuantileEnds.of(*_batched((data <= value).astype(np.float64)), q, level)
    ordered = np.sort(data)
    low, high = (None if place is None else float(ordered[place]) for place in ends.places)
    return ends.estimate(value, (low, high))


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileEnds:
    """Order statistics between which a quantile lies: the interval of `quantile_in_time`."""

    q: float
    level: float
    n: int
    number: float
    """Effective number of observations."""
    places: tuple[int | None, int | None]
    """Places of the ends in the ascending order of the observations, from 0; None beyond the sample."""
    caveat: Caveat | None

    @classmethod
    def of(cls, hits: _Array, sizes: _Array, q: float, level: float) -> QuantileEnds:
        """Ends by the observations at most as large as the quantile.

        Parameters
        ----------
        hits, sizes : ndarray of shape (batches,)
            Such observations of each batch, in the order of time, and all of it.
        q, level : float
        """
        n = int(sizes.sum())
        share = float(hits.sum()) / n
        found = Effective(n=float(n), degrees=math.inf)
        if len(hits) > 1 and 0.0 < share < 1.0:
            found = effective(n, share, long_run.long_run(hits - share * sizes))
        # Correlation that cannot be told from none leaves the exact interval of independent observations.
        number = float(n) if found.n >= n else found.normal(level)
        low, high = (
            None if place is None else min(max(round_(place * n / number), 1), n) - 1
            for place, round_ in zip(
                samples.order_statistics(number, q, level), (math.floor, math.ceil), strict=True
            )
        )
        return cls(q=q, level=level, n=n, number=number, places=(low, high), caveat=found.caveat)

    def estimate(self, value: float, ends: tuple[float | None, float | None]) -> Estimate:
        """Estimate with the observations in `places` as ends, and the point between them."""
        low, high = samples.around(value, *ends)
        return Estimate(
            value=value,
            low=low,
            high=high,
            n=self.n,
            method="order statistics, effective number of observations",
            level=self.level,
            caveat=samples.open_end(self.number, self.q, self.level, ends) or self.caveat,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pooled:
    """Observations of several replications, counted in the cells of a common histogram."""

    ends: _Array
    """Upper ends of the cells, ascending."""
    counts: _Array
    """Observations by replication and cell."""
    below: _Array
    """Observations of all replications up to each cell."""

    @classmethod
    def of(cls, histograms: Sequence[Sequence[tuple[float, int]]]) -> Pooled:
        """Observations of the histograms that replications give: upper end of each cell, and its number.

        Raises
        ------
        InputError
            There are no observations.
        """
        tables = [np.array(item, dtype=np.float64).reshape(-1, 2) for item in histograms]
        ends = np.unique(np.concatenate([item[:, 0] for item in tables])) if tables else np.zeros(0)
        counts = np.array([_counted(item, ends) for item in tables]).reshape(len(tables), len(ends))
        if not counts.sum() >= 1.0:
            raise InputError("histograms hold no observation; give at least one")
        return cls(ends=ends, counts=counts, below=np.cumsum(counts.sum(axis=0)))

    @property
    def n(self) -> float:
        """Number of observations."""
        return float(self.below[-1])

    def at(self, place: float) -> float:
        """End of the cell that holds the observation in this place."""
        return float(self.ends[np.searchsorted(self.below, min(max(place, 1.0), self.n))])

    def quantile(self, q: float) -> float:
        """Quantile of all observations together."""
        return self.at(math.ceil(q * self.n))


def quantile_of_replications(
    histograms: Sequence[Sequence[tuple[float, int]]], q: float, level: float = 0.95
) -> Estimate:
    """Quantile `q` of the observations of independent replications together.

    The interval is between cells of the common histogram, as in `quantile_in_time`; the number of hits has
    the variance of the replications' numbers about their share. One replication has no interval.

    Parameters
    ----------
    histograms : sequence of sequence of (float, int)
        Of each replication: upper end of each cell, and observations in it, in order.
    q : float
        From 0 to 1, exclusive.
    level : float
        Confidence of the interval.

    Raises
    ------
    InputError
        There are no observations, or `q` or `level` is out of range.
    TypeError
        An argument is of the wrong kind.
    """
    q, level = arguments.number(q, "q", low=0.0, high=1.0), arguments.level(level)
    pooled = Pooled.of(histograms)
    counts, ends, n = pooled.counts, pooled.ends, pooled.n
    sizes, value = counts.sum(axis=1), pooled.quantile(q)
    if len(counts) < 2:
        return Estimate(value=value, n=round(n), method="one replication", level=level)
    hits = counts[:, ends <= value].sum(axis=1)
    share = float(hits.sum()) / n
    found = Effective(n=float(len(counts)), degrees=len(counts) - 1.0)
    if 0.0 < share < 1.0:
        found = effective(n, share, long_run.independent(hits - share * sizes))
    number = found.normal(level)
    low, high = samples.order_statistics(number, q, level)
    reached = [
        None if place is None else pooled.at(round_(place * n / number))
        for place, round_ in ((low, math.floor), (high, math.ceil))
    ]
    return Estimate(
        value=value,
        low=reached[0],
        high=reached[1],
        n=round(n),
        method=f"quantile of {len(counts)} replications together, effective number of observations",
        level=level,
        caveat=samples.open_end(number, q, level, reached),
    )


def _counted(histogram: _Array, ends: _Array) -> _Array:
    """Observations in the cells with these ends."""
    counts: _Array = np.zeros(len(ends))
    counts[np.searchsorted(ends, histogram[:, 0])] = histogram[:, 1]
    return counts


def _batched(values: _Array) -> tuple[_Array, _Array]:
    """Sums of at most 256 batches, and the observations in each."""
    starts = np.linspace(0, len(values), min(len(values), KEPT_MOST) + 1).astype(np.int64)
    return np.add.reduceat(values, starts[:-1]), np.diff(starts).astype(np.float64)
