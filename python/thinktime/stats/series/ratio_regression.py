"""A line through ratios of sums, whose errors on both axes are known from batches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.stats import critical_values
from thinktime.stats.estimate import Estimate
from thinktime.stats.series.batch_means import batches_for

_Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """Sums over batches of adjoining observations of one group.

    Parameters
    ----------
    x, y, count : ndarray
        A batch each: the group's point is (sum of x / sum of count, sum of y / sum of count).
    """

    x: _Array
    y: _Array
    count: _Array

    @property
    def point(self) -> tuple[float, float]:
        """Ratios of all sums."""
        total = float(self.count.sum())
        return float(self.x.sum()) / total, float(self.y.sum()) / total

    def without_each(self) -> tuple[_Array, _Array]:
        """Points with one batch left out, for each batch."""
        rest = self.count.sum() - self.count
        return (self.x.sum() - self.x) / rest, (self.y.sum() - self.y) / rest


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioLine:
    """Least squares through the points of the groups."""

    slope: Estimate
    intercept: Estimate
    deviation: float
    """Root mean square distance of the points from the line, along y; 0 for two points, whatever they are."""


def sums(x: _Array, y: _Array, count: _Array) -> Sums:
    """Lay observations into about as many batches as `series.batch_ratio` does."""
    ends = np.linspace(0, len(x), batches_for(len(x)) + 1).astype(np.int64)[:-1]
    x, y, count = (np.add.reduceat(values, ends) for values in (x, y, count))
    return Sums(x=x, y=y, count=count)


def through(groups: Sequence[Sums], level: float = 0.95) -> RatioLine | None:
    r"""Line through the points of independent groups.

    Every group counts alike, :math:`b = \sum (x_k - \bar x)(y_k - \bar y) / \sum (x_k - \bar x)^2`. The
    interval comes from the jackknife in strata: each batch of each group is left out in turn,

    .. math:: s^2 = \sum_k \frac{B_k - 1}{B_k} \sum_b (b_{(kb)} - \bar b_{(k\cdot)})^2

    (Shao and Tu 1995, *The Jackknife and Bootstrap*, 2.4 and 6.2), with Student's t at the degrees of
    freedom of Satterthwaite. It holds where errors of x and y go together, as those of a count and of the
    time it took do, and under autocorrelation within batches. It is the error of the line through these
    groups; how far they are from a line is `RatioLine.deviation`.

    Returns None where fewer than two groups have different x, or a group has a single batch or one that
    holds all of its count.
    """
    points = np.array([group.point for group in groups])
    if len(points) < 2 or not float(np.ptp(points[:, 0])) > 0.0:
        return None
    if any(len(group.x) < 2 or not (group.count < group.count.sum()).all() for group in groups):
        return None
    whole = _fit(points[:, 0], points[:, 1])
    variances = np.zeros((len(groups), 2))
    for at, group in enumerate(groups):
        x, y = (np.tile(points[:, axis], (len(group.x), 1)) for axis in (0, 1))
        x[:, at], y[:, at] = group.without_each()
        variances[at] = (len(group.x) - 1) * np.var(_fit(x, y), axis=1)
    freedom = np.array([len(group.x) - 1 for group in groups], dtype=np.float64)
    n = sum(round(float(group.count.sum())) for group in groups)
    intercept, slope = (
        _interval(float(value), variances[:, column], freedom, n, level) for column, value in enumerate(whole)
    )
    off = points[:, 1] - whole[0] - whole[1] * points[:, 0]
    # What rounding leaves of two points on their own line is no distance.
    deviation = float(np.sqrt(np.mean(off**2))) if len(points) > 2 else 0.0
    return RatioLine(slope=slope, intercept=intercept, deviation=deviation)


def _fit(x: _Array, y: _Array) -> tuple[_Array, _Array]:
    """Fit intercepts and slopes of lines through points that lie along the last axis."""
    centred = x - x.mean(axis=-1, keepdims=True)
    slope = (centred * y).sum(axis=-1) / (centred**2).sum(axis=-1)
    return y.mean(axis=-1) - slope * x.mean(axis=-1), slope


def _interval(value: float, variances: _Array, freedom: _Array, n: int, level: float) -> Estimate:
    total = float(variances.sum())
    spent = float((variances**2 / freedom).sum())
    degrees = total**2 / spent if spent > 0.0 else float(freedom.sum())
    reach = critical_values.student_t(level, degrees) * math.sqrt(total)
    method = f"least squares, jackknife over {int(freedom.sum()) + len(freedom)} batches"
    return Estimate(value=value, low=value - reach, high=value + reach, n=n, method=method, level=level)
