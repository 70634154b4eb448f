"""Effects of a treatment on the means of units, as they are, at equal load and at equal work."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.compare.contrasts import ROWS_PER_COEFFICIENT, Asked
from thinktime.analyses.compare.result import Effect, Power
from thinktime.analyses.compare.unit_means import Cell
from thinktime.log.observations import thinned
from thinktime.stats import critical_values
from thinktime.stats.estimate import Estimate
from thinktime.stats.hypothesis import SignificanceTest
from thinktime.stats.randomisation.permutation import Reassignment
from thinktime.stats.randomisation.power import PermutationPower, t_detectable, t_power
from thinktime.stats.series import batch_means

__all__ = ["Bench", "adjusted_means", "cost_rows", "effect", "slopes_of"]

_Array = NDArray[np.float64]

BY_CHANCE_MAX = 2_000
COLLINEAR_BELOW = 1e-8
"""Smallest part of the largest singular value at which a direction of the covariates is used."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What every question is put to: the possible assignments, and how sure to be.

    Parameters
    ----------
    treated : ndarray of bool
        One a unit.
    design : Reassignment
        Assignments that were possible, with the blocks that are taken out.
    others : tuple of Reassignment or None
        Those of looser or tighter statements, in the order of `Comparison.allowed`.
    power : PermutationPower
    difference : float, mapping or None
        Whose chance to be found is stated: part of the control's mean, or by quantity in its unit.
    level : float
    """

    treated: NDArray[np.bool_]
    design: Reassignment
    others: tuple[Reassignment | None, ...]
    power: PermutationPower
    difference: float | Mapping[str, float] | None
    level: float


def adjusted_means(cells: Sequence[Cell], target: int, covariates: Sequence[int]) -> _Array:
    r"""Means of the units, at the mean covariates of all.

    .. math:: \bar y_u - b'(\bar x_u - \bar x), \qquad b = \Big(\sum_u S_{xx,u}\Big)^{-1} \sum_u S_{xy,u}

    The slopes b are those within units, which no assignment to whole units changes: what is tested stays
    a fixed response of the unit, the randomisation test stays exact, and no degrees of freedom of the
    few units are spent, as an analysis of covariance on their means would.
    """
    means = np.array([cell.mean for cell in cells])
    y: _Array = means[:, target].copy()
    if not covariates:
        return y
    at = list(covariates)
    inner: _Array = np.sum([cell.products[np.ix_(at, at)] for cell in cells], axis=0)
    outer: _Array = np.sum([cell.products[at, target] for cell in cells], axis=0)
    slopes = slopes_of(inner, outer)
    x = means[:, at]
    found: _Array = y - (x - x.mean(axis=0)) @ slopes
    return found


def cost_rows(cells: Sequence[Cell], target: int, requests: Sequence[int]) -> _Array | None:
    """Coefficients of the overhead regression fitted on each unit by itself, the base first.

    None where a unit has too few observations, or its requests cannot be told apart.
    """
    at = list(requests)
    least = ROWS_PER_COEFFICIENT * (len(at) + 1)
    found = []
    for cell in cells:
        inner = cell.products[np.ix_(at, at)]
        scale = np.sqrt(np.diagonal(inner))
        if cell.n < least or not (scale > 0.0).all():
            return None
        if np.linalg.cond(inner / np.outer(scale, scale)) > 1.0 / COLLINEAR_BELOW:
            return None
        slopes = slopes_of(inner, cell.products[at, target])
        base = cell.mean[target] - cell.mean[at] @ slopes
        found.append(np.concatenate([[base], slopes]))
    return np.array(found)


def slopes_of(inner: _Array, outer: _Array) -> _Array:
    """Solve least squares from co-moments, covariates scaled to one; one that never varies has no slope."""
    scale = np.sqrt(np.maximum(np.diagonal(inner), 0.0))
    safe = np.where(scale > 0.0, scale, 1.0)
    solved = np.linalg.lstsq(inner / np.outer(safe, safe), outer / safe, rcond=COLLINEAR_BELOW)[0]
    found: _Array = np.where(scale > 0.0, solved / safe, 0.0)
    return found


def effect(asked: Asked, y: _Array, bench: Bench) -> Effect:
    """Compare the responses `y` of the units."""
    control, treated = (
        _side(y[bench.treated == chosen], asked.unit, bench.level) for chosen in (False, True)
    )
    design, level = bench.design, bench.level
    test, deviation = design.test(y), design.residual_deviation(y)
    n, value = len(y), test.effect
    reach = None
    if deviation is not None:
        reach = critical_values.student_t(level, design.degrees) * deviation / design.length
    inverted = design.interval(y, level)
    p_of_t = design.p_of_t(y)
    return Effect(
        name=asked.name,
        label=asked.label,
        unit=asked.unit,
        kind=asked.kind,
        adjusted=asked.adjusted,
        adjusted_for=asked.adjusted_for,
        values=tuple(y.tolist()),
        control=control,
        treated=treated,
        difference=_ended(value, asked.unit, n, "least squares on units, Student t", reach, level),
        inverted=Estimate(
            value=value,
            unit=asked.unit,
            n=n,
            method="least squares on units, randomisation test inverted",
            low=inverted.low if math.isfinite(inverted.low) else None,
            high=inverted.high if math.isfinite(inverted.high) else None,
            level=level,
        ),
        relative=value / control.value if control.value else None,
        test=test,
        p_allowed=tuple(None if other is None else other.test(y).p for other in bench.others),
        t_test=None if p_of_t is None else _student(asked, design.t(y), p_of_t, n, value),
        degrees=design.degrees,
        deviation=deviation,
        power=None if deviation is None else _power(asked, control.value, value, deviation, bench),
        by_chance=_by_chance(design.effects(y)),
    )


def _side(values: _Array, unit: str, level: float) -> Estimate:
    return batch_means.plain_mean(values, level).with_unit(unit)


def _ended(value: float, unit: str, n: int, method: str, reach: float | None, level: float) -> Estimate:
    if reach is None:
        return Estimate(value=value, unit=unit, n=n, method=method, level=level)
    return Estimate(
        value=value, unit=unit, n=n, method=method, low=value - reach, high=value + reach, level=level
    )


def _student(asked: Asked, t: float, p: float, n: int, value: float) -> SignificanceTest:
    return SignificanceTest(
        hypothesis=f"{asked.label} is the same under both treatments",
        statistic=t,
        p=p,
        n=n,
        method="Student's t on the means of units",
        direction=(value > 0) - (value < 0),
    )


def _power(asked: Asked, control: float, seen: float, deviation: float, bench: Bench) -> Power:
    """Chance to find the difference that was asked about, with units that vary as these did."""
    wanted = bench.difference
    if isinstance(wanted, Mapping):
        difference = wanted.get(asked.name, seen)
    else:
        difference = seen if wanted is None else wanted * abs(control)
    design = bench.design
    detectable = t_detectable(deviation, design.length, design.degrees)
    return Power(
        difference,
        t_power(difference, deviation, design.length, design.degrees),
        bench.power.power(difference, deviation),
        detectable if math.isfinite(detectable) else None,
        bench.power.detectable(deviation),
    )


def _by_chance(effects: _Array) -> tuple[float, ...]:
    ordered = np.sort(effects)
    return tuple(ordered[thinned(len(ordered), BY_CHANCE_MAX)].tolist())
