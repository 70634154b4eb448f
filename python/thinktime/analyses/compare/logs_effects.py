"""Differences of two logs at equal load and at equal work, with errors by the jackknife over pieces."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.compare.contrasts import Asked, questions
from thinktime.analyses.compare.effects import adjusted_means, slopes_of
from thinktime.analyses.compare.logs_result import LogEffect
from thinktime.analyses.compare.unit_means import Cell
from thinktime.analyses.compare.variables import Wanted
from thinktime.stats import critical_values
from thinktime.stats.estimate import Estimate
from thinktime.stats.hypothesis import SignificanceTest
from thinktime.stats.regression.least_squares import LeastSquares
from thinktime.stats.series.standardised import Mean

__all__ = ["Pieces", "adjusted_difference", "at_equal"]

_Array = NDArray[np.float64]

DRIFT_LEAST = 4


@dataclass(frozen=True, slots=True)
class Pieces:
    """Pieces of a log in order of time."""

    cells: tuple[Cell, ...]
    middles_us: NDArray[np.int64]
    piece_s: float
    span_us: tuple[int, int]


def at_equal(
    asked: Wanted, both: Sequence[Pieces], level: float, *, clocks: bool
) -> tuple[tuple[LogEffect, ...], tuple[tuple[str, str], ...]]:
    """Everything at equal load, then overhead at equal work; and what cannot be had, with the reason.

    Means as they are are left out: they are of other loads.
    """
    every, refused = questions(asked, [cell for side in both for cell in side.cells])
    return tuple(_effect(item, both, level, clocks) for item in every if item.adjusted), refused


def _effect(asked: Asked, both: Sequence[Pieces], level: float, clocks: bool) -> LogEffect:
    unit = asked.unit
    y = adjusted_means([cell for side in both for cell in side.cells], asked.target, asked.covariates)
    cut = len(both[0].cells)
    before, after = _mean(y[:cut]), _mean(y[cut:])
    found = adjusted_difference(both[0].cells, both[1].cells, asked.target, asked.covariates)
    drifts = [_drift(part, side, level, unit) for part, side in zip((y[:cut], y[cut:]), both, strict=True)]
    first, second = (side.middles_us for side in both)
    distance = float(second.mean() - first.mean()) / float(first[-1] - first[0])
    return LogEffect(
        name=asked.name,
        label=asked.label,
        unit=unit,
        kind=asked.kind,
        adjusted=asked.adjusted,
        adjusted_for=asked.adjusted_for,
        before=before.estimate(unit, "mean of pieces, Student t", level),
        after=after.estimate(unit, "mean of pieces, Student t", level),
        difference=found.estimate(unit, "difference of means of pieces, jackknife, Welch t", level),
        relative=found.value / before.value if before.value else None,
        test=SignificanceTest(
            hypothesis=f"{asked.label} is the same before and after",
            statistic=found.value / found.error if found.error > 0.0 else math.inf,
            p=found.p,
            n=len(y),
            method="Welch's t, jackknife over pieces",
            direction=(found.value > 0) - (found.value < 0),
        ),
        by_range=None,
        values=(tuple(y[:cut].tolist()), tuple(y[cut:].tolist())),
        drift_before=drifts[0],
        drift_after=drifts[1],
        carried=_times(drifts[0], distance) if clocks and drifts[0] is not None else None,
    )


def adjusted_difference(
    before: Sequence[Cell], after: Sequence[Cell], target: int, covariates: Sequence[int]
) -> Mean:
    r"""After less before, at equal covariates, with its error.

    .. math:: D = \bar y_2 - \bar y_1 - b'(\bar x_2 - \bar x_1), \qquad
              s^2 = \sum_{k=1,2} \frac{B_k - 1}{B_k} \sum_{u \in k} (D_{-u} - \bar D_{-\cdot})^2

    over the means of :math:`B_k` pieces of each log, b being the slopes within pieces. Each piece is left out
    in turn, of the means and of the slopes, so that what the slopes are wrong by is in the error; degrees
    of freedom by Welch and Satterthwaite (Efron and Tibshirani, *An Introduction to the Bootstrap*,
    11.2 and 8.5).
    """
    at = list(covariates)
    sides = [
        (
            np.array([cell.mean[target] for cell in side]),
            np.array([cell.mean[at] for cell in side]).reshape(len(side), len(at)),
        )
        for side in (before, after)
    ]
    inner: _Array = np.sum([cell.products[np.ix_(at, at)] for cell in (*before, *after)], axis=0)
    outer: _Array = np.sum([cell.products[at, target] for cell in (*before, *after)], axis=0)
    (y1, x1), (y2, x2) = ((y.mean(), x.mean(axis=0)) for y, x in sides)
    value = float(y2 - y1 - (x2 - x1) @ slopes_of(inner, outer))
    variances, degrees = [], []
    for k, cells in enumerate((before, after)):
        (y, x), n = sides[k], len(cells)
        sign = 1.0 if k else -1.0
        other_y, other_x = (y1, x1) if k else (y2, x2)
        without = []
        for u, cell in enumerate(cells):
            b = slopes_of(inner - cell.products[np.ix_(at, at)], outer - cell.products[at, target])
            mean_y, mean_x = (y.sum() - y[u]) / (n - 1), (x.sum(axis=0) - x[u]) / (n - 1)
            without.append(sign * (mean_y - other_y - (mean_x - other_x) @ b))
        variances.append((n - 1) / n * float(((np.array(without) - np.mean(without)) ** 2).sum()))
        degrees.append(n - 1)
    total = sum(variances)
    lost = sum(variance**2 / own for variance, own in zip(variances, degrees, strict=True))
    return Mean(
        value=value,
        error=math.sqrt(total),
        degrees=total**2 / lost if lost > 0.0 else float(sum(degrees)),
        n=len(before) + len(after),
    )


def _mean(values: _Array) -> Mean:
    n = len(values)
    return Mean(
        value=float(values.mean()), error=float(values.std(ddof=1)) / math.sqrt(n), degrees=float(n - 1), n=n
    )


def _drift(values: _Array, side: Pieces, level: float, unit: str) -> Estimate | None:
    """Draw a line through the pieces: what changed from the first to the last, with Student's interval."""
    if len(values) < DRIFT_LEAST:
        return None
    time = (side.middles_us - side.middles_us.mean()) / (side.middles_us[-1] - side.middles_us[0])
    rows = LeastSquares(2)
    rows.absorb(np.column_stack([np.ones(len(time)), time]), values)
    fit = rows.solve()
    if fit.aliased or fit.degrees < 1:
        return None
    slope = float(fit.coefficients[1])
    reach = critical_values.student_t(level, fit.degrees) * math.sqrt(max(float(fit.covariance()[1, 1]), 0.0))
    return Estimate(
        value=slope,
        unit=unit,
        n=len(values),
        method="least squares on pieces, over the log",
        low=slope - reach,
        high=slope + reach,
        level=level,
    )


def _times(drift: Estimate, factor: float) -> Estimate:
    """Change in so many times the length of the log."""
    low = None if drift.low is None else drift.low * factor
    high = None if drift.high is None else drift.high * factor
    method = "drift before, carried on"
    return Estimate(
        value=drift.value * factor,
        unit=drift.unit,
        n=drift.n,
        method=method,
        low=low,
        high=high,
        level=drift.level,
    )
