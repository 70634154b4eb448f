"""Effects of a treatment on the means of units, as they are, at equal load and at equal work."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.compare.result import Effect, Power
from thinktime.analyses.compare.unit_means import Cell
from thinktime.analyses.compare.variables import ROWS_PER_COEFFICIENT, Question
from thinktime.log.observations import thinned
from thinktime.stats import critical_values
from thinktime.stats.estimate import Estimate
from thinktime.stats.hypothesis import SignificanceTest
from thinktime.stats.randomisation.permutation import Reassignment
from thinktime.stats.randomisation.power import PermutationPower, t_detectable, t_power
from thinktime.stats.series import batch_means

_Array = NDArray[np.float64]

BY_CHANCE_MAX = 2_000
"""Differences by chance in a result: more are thinned evenly."""
COLLINEAR_BELOW = 1e-8
"""Smallest part of the largest singular value at which a direction of the covariates is used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """Assignments of an experiment, and settings of its tests."""

    treated: NDArray[np.bool_]
    """One for each unit."""
    design: Reassignment
    """Assignments that were possible, with the blocks that are removed."""
    others: tuple[Reassignment | None, ...]
    """Those of looser or tighter statements, in the order of `Comparison.allowed`."""
    power: PermutationPower
    difference: float | Mapping[str, float] | None
    """Effect whose power is reported: share of the control's mean, or by quantity in its unit."""
    level: float


def adjusted_means(cells: Sequence[Cell], target: int, covariates: Sequence[int]) -> _Array:
    r"""Means of the units, adjusted to the mean covariates of all.

    .. math:: \bar y_u - b'(\bar x_u - \bar x), \qquad b = \Big(\sum_u S_{xx,u}\Big)^{-1} \sum_u S_{xy,u}

    The slopes b are those within units, which no assignment to whole units changes: the tested response of
    a unit remains fixed, the randomisation test exact, and no degrees of freedom of the few units are
    spent, as in an analysis of covariance of their means.
    """
    means = np.array([cell.mean for cell in cells])
    y: _Array = means[:, target].copy()
    if not covariates:
        return y
    chosen = list(covariates)
    inner: _Array = np.sum([cell.products[np.ix_(chosen, chosen)] for cell in cells], axis=0)
    outer: _Array = np.sum([cell.products[chosen, target] for cell in cells], axis=0)
    x = means[:, chosen]
    adjusted: _Array = y - (x - x.mean(axis=0)) @ slopes_of(inner, outer)
    return adjusted


def cost_rows(cells: Sequence[Cell], target: int, requests: Sequence[int]) -> _Array | None:
    """Coefficients of the overhead regression fitted on each unit by itself, the base first.

    None where a unit has too few observations, or its requests are collinear.
    """
    chosen = list(requests)
    least = ROWS_PER_COEFFICIENT * (len(chosen) + 1)
    rows = []
    for cell in cells:
        inner = cell.products[np.ix_(chosen, chosen)]
        scale = np.sqrt(np.diagonal(inner))
        if cell.n < least or not (scale > 0.0).all():
            return None
        if np.linalg.cond(inner / np.outer(scale, scale)) > 1.0 / COLLINEAR_BELOW:
            return None
        slopes = slopes_of(inner, cell.products[chosen, target])
        base = cell.mean[target] - cell.mean[chosen] @ slopes
        rows.append(np.concatenate([[base], slopes]))
    return np.array(rows)


def slopes_of(inner: _Array, outer: _Array) -> _Array:
    """Slopes of least squares from co-moments, covariates scaled to one; zero for one that never varies."""
    scale = np.sqrt(np.maximum(np.diagonal(inner), 0.0))
    safe = np.where(scale > 0.0, scale, 1.0)
    solved = np.linalg.lstsq(inner / np.outer(safe, safe), outer / safe, rcond=COLLINEAR_BELOW)[0]
    slopes: _Array = np.where(scale > 0.0, solved / safe, 0.0)
    return slopes


def effect(question: Question, y: _Array, experiment: Experiment) -> Effect:
    """Effect of the treatment on the responses `y` of the units."""
    control, treated = (
        _side(y[experiment.treated == chosen], question.unit, experiment.level) for chosen in (False, True)
    )
    design, level = experiment.design, experiment.level
    test, deviation = design.test(y), design.residual_deviation(y)
    n, value = len(y), test.effect
    reach = None
    if deviation is not None:
        reach = critical_values.student_t(level, design.degrees) * deviation / design.length
    inverted = design.interval(y, level)
    p_of_t = design.p_of_t(y)
    return Effect(
        name=question.name,
        label=question.label,
        unit=question.unit,
        kind=question.kind,
        adjusted=question.adjusted,
        adjusted_for=question.adjusted_for,
        values=tuple(y.tolist()),
        control=control,
        treated=treated,
        difference=Estimate(
            value=value,
            unit=question.unit,
            n=n,
            method="least squares on units, Student t",
            low=None if reach is None else value - reach,
            high=None if reach is None else value + reach,
            level=level,
        ),
        inverted=Estimate(
            value=value,
            unit=question.unit,
            n=n,
            method="least squares on units, randomisation test inverted",
            low=inverted.low if math.isfinite(inverted.low) else None,
            high=inverted.high if math.isfinite(inverted.high) else None,
            level=level,
        ),
        relative=value / control.value if control.value else None,
        test=test,
        p_allowed=tuple(None if other is None else other.test(y).p for other in experiment.others),
        t_test=None if p_of_t is None else _student(question, design.t(y), p_of_t, n, value),
        degrees=design.degrees,
        deviation=deviation,
        power=None if deviation is None else _power(question, control.value, value, deviation, experiment),
        by_chance=_by_chance(design.effects(y)),
    )


def _side(values: _Array, unit: str, level: float) -> Estimate:
    return batch_means.plain_mean(values, level).with_unit(unit)


def _student(question: Question, t: float, p: float, n: int, value: float) -> SignificanceTest:
    return SignificanceTest(
        hypothesis=f"{question.label} is the same under both treatments",
        statistic=t,
        p=p,
        n=n,
        method="Student's t on the means of units",
        direction=(value > 0) - (value < 0),
    )


def _power(
    question: Question, control: float, observed: float, deviation: float, experiment: Experiment
) -> Power:
    """Power to detect the difference that was asked about, with units that vary as these did."""
    requested = experiment.difference
    if isinstance(requested, Mapping):
        difference = requested.get(question.name, observed)
    else:
        difference = observed if requested is None else requested * abs(control)
    design = experiment.design
    detectable = t_detectable(deviation, design.length, design.degrees)
    return Power(
        difference=difference,
        by_t=t_power(difference, deviation, design.length, design.degrees),
        by_permutation=experiment.power.power(difference, deviation),
        detectable_by_t=detectable if math.isfinite(detectable) else None,
        detectable_by_permutation=experiment.power.detectable(deviation),
    )


def _by_chance(effects: _Array) -> tuple[float, ...]:
    ordered = np.sort(effects)
    return tuple(ordered[thinned(len(ordered), BY_CHANCE_MAX)].tolist())
