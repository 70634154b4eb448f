"""Line through ratios of sums, whose errors on both axes are known from batches."""

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
class BatchSums:
    """Sums over batches of adjoining observations of one group.

    The group's point is (sum of x / sum of count, sum of y / sum of count).
    """

    x: _Array
    y: _Array
    count: _Array

    @property
    def point(self) -> tuple[float, float]:
        """Point of the whole group."""
        total = float(self.count.sum())
        return float(self.x.sum()) / total, float(self.y.sum()) / total

    def without_each(self) -> tuple[_Array, _Array]:
        """Coordinates of the points without each batch in turn."""
        rest = self.count.sum() - self.count
        return (self.x.sum() - self.x) / rest, (self.y.sum() - self.y) / rest


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioRegression:
    """Line through the points of the groups."""

    slope: Estimate
    intercept: Estimate
    deviation: float
    """Root mean square distance of points from the line, along y; 0 for two points."""


def batch_sums(x: _Array, y: _Array, count: _Array) -> BatchSums:
    """Sums of observations over about as many batches as `batch_ratio` makes."""
    ends = np.linspace(0, len(x), batches_for(len(x)) + 1).astype(np.int64)[:-1]
    x, y, count = (np.add.reduceat(values, ends) for values in (x, y, count))
    return BatchSums(x=x, y=y, count=count)


def fit_line(groups: Sequence[BatchSums], level: float = 0.95) -> RatioRegression | None:
    r"""Least-squares line through the points of independent groups.

    All groups have one weight, :math:`b = \sum (x_k - \bar x)(y_k - \bar y) / \sum (x_k - \bar x)^2`. The
    interval comes from the jackknife in strata: each batch of each group is left out in turn,

    .. math:: s^2 = \sum_k \frac{B_k - 1}{B_k} \sum_b (b_{(kb)} - \bar b_{(k\cdot)})^2

    (Shao and Tu 1995, *The Jackknife and Bootstrap*, 2.4 and 6.2), with Student's t at the degrees of
    freedom of Satterthwaite. It holds where errors of x and y are correlated, as those of a count and of
    its time are, and under autocorrelation within batches. It is the error of the line through these
    groups; their distance from a line is `RatioRegression.deviation`.

    Returns
    -------
    RatioRegression or None
        None where fewer than two groups have different x, or a group has a single batch or one that holds
        all of its count.
    """
    points = np.array([group.point for group in groups])
    if len(points) < 2 or not float(np.ptp(points[:, 0])) > 0.0:
        return None
    if any(len(group.x) < 2 or not (group.count < group.count.sum()).all() for group in groups):
        return None
    total = _fit(points[:, 0], points[:, 1])
    variances = np.zeros((len(groups), 2))
    for index, group in enumerate(groups):
        x, y = (np.tile(points[:, axis], (len(group.x), 1)) for axis in (0, 1))
        x[:, index], y[:, index] = group.without_each()
        variances[index] = (len(group.x) - 1) * np.var(_fit(x, y), axis=1)
    freedom = np.array([len(group.x) - 1 for group in groups], dtype=np.float64)
    n = sum(round(float(group.count.sum())) for group in groups)
    intercept, slope = (
        _interval(float(value), variances[:, column], freedom, n, level) for column, value in enumerate(total)
    )
    residuals = points[:, 1] - total[0] - total[1] * points[:, 0]
    # Two points lie on their line; the rest is rounding.
    deviation = float(np.sqrt(np.mean(residuals**2))) if len(points) > 2 else 0.0
    return RatioRegression(slope=slope, intercept=intercept, deviation=deviation)


def _fit(x: _Array, y: _Array) -> tuple[_Array, _Array]:
    """Intercepts and slopes of lines through points along the last axis."""
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
