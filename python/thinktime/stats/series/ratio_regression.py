"""Line through ratios of sums, whose errors on both axes are known from the observations of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.stats import critical_values
from thinktime.stats.estimate import Estimate
from thinktime.stats.series.batch_means import KEPT_MOST
from thinktime.stats.series.long_run import LongRun, long_run

_Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSums:
    """Observations of one group in the order of time, or sums of batches of them.

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

    def influences(self) -> tuple[_Array, _Array]:
        """Influence of each observation on the coordinates of the point."""
        total, (x, y) = float(self.count.sum()), self.point
        return (self.x - x * self.count) / total, (self.y - y * self.count) / total


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioRegression:
    """Line through the points of the groups."""

    slope: Estimate
    intercept: Estimate
    deviation: float
    """Root mean square distance of points from the line, along y; 0 for two points."""


def group_sums(x: _Array, y: _Array, count: _Array) -> GroupSums:
    """Sums of the observations of a group, at most 256."""
    ends = np.linspace(0, len(x), min(len(x), KEPT_MOST) + 1).astype(np.int64)[:-1]
    x, y, count = (np.add.reduceat(values, ends) for values in (x, y, count))
    return GroupSums(x=x, y=y, count=count)


def fit_line(groups: Sequence[GroupSums], level: float = 0.95) -> RatioRegression | None:
    r"""Least-squares line through the points of independent groups.

    All groups have one weight, :math:`b = \sum (x_k - \bar x)(y_k - \bar y) / \sum (x_k - \bar x)^2`. The
    interval is that of the delta method: an observation i of group k shifts the slope by

    .. math::
        \frac{(x_k - \bar x)\, u_{ki} + (y_k - \bar y - 2 b (x_k - \bar x))\, v_{ki}}
        {\sum (x_k - \bar x)^2}

    where u and v are its influences on the coordinates y and x of its group's point, and the intercept by
    the mean shift of y less that of b x. The variance of a group's sum of shifts is its long-run variance
    (`long_run.long_run`); those of the groups add, with the degrees of freedom of Satterthwaite (1946,
    Biometrics 2, 110). It holds where errors of x and y are correlated, as those of a count and of its time
    are, and under autocorrelation. It is the error of the line through these groups; their distance from a
    line is `RatioRegression.deviation`.

    Returns
    -------
    RatioRegression or None
        None where fewer than two groups have different x, or a group has a single observation or one that
        holds all of its count.
    """
    points = np.array([group.point for group in groups])
    if len(points) < 2 or not float(np.ptp(points[:, 0])) > 0.0:
        return None
    if any(len(group.x) < 2 or not (group.count < group.count.sum()).all() for group in groups):
        return None
    intercept, slope = _fit(points[:, 0], points[:, 1])
    mean_x, mean_y = points.mean(axis=0)
    squares = float(((points[:, 0] - mean_x) ** 2).sum())
    shifts: list[tuple[_Array, _Array]] = []
    for group, (x, y) in zip(groups, points, strict=True):
        across, up = group.influences()
        turn = ((x - mean_x) * up + (y - mean_y - 2.0 * slope * (x - mean_x)) * across) / squares
        shifts.append(((up - slope * across) / len(points) - mean_x * turn, turn))
    n = sum(round(float(group.count.sum())) for group in groups)
    ends = [
        _interval(value, [long_run(shift[column], summed=True) for shift in shifts], n, level)
        for column, value in enumerate((intercept, slope))
    ]
    residuals = points[:, 1] - intercept - slope * points[:, 0]
    # Two points lie on their line; the rest is rounding.
    deviation = float(np.sqrt(np.mean(residuals**2))) if len(points) > 2 else 0.0
    return RatioRegression(slope=ends[1], intercept=ends[0], deviation=deviation)


def _fit(x: _Array, y: _Array) -> tuple[float, float]:
    """Intercept and slope of the line through points."""
    centred = x - x.mean()
    slope = float(centred @ y) / float(centred @ centred)
    return float(y.mean()) - slope * float(x.mean()), slope


def _interval(value: float, parts: Sequence[LongRun], n: int, level: float) -> Estimate:
    total = sum(part.variance for part in parts)
    spent = sum(part.variance**2 / part.degrees for part in parts)
    degrees = total**2 / spent if spent > 0.0 else sum(part.degrees for part in parts)
    reach = critical_values.student_t(level, degrees) * math.sqrt(total)
    return Estimate(
        value=value,
        low=value - reach,
        high=value + reach,
        n=n,
        method=f"least squares, long-run variance of {len(parts)} groups",
        level=level,
        caveat=next((part.caveat for part in parts if part.caveat), None),
    )
