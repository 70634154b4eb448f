"""What the factors of a designed experiment do to a response: analysis of variance, effects, contrasts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.experiment.caveats import experiment_caveats
from thinktime.analyses.experiment.data import Data, read
from thinktime.analyses.experiment.result import (
    Cell,
    Contrast,
    Difference,
    Experiment,
    LevelMean,
    Source,
    Transformed,
)
from thinktime.log.runs import Runs
from thinktime.stats import critical_values
from thinktime.stats.designs import anova as variance
from thinktime.stats.designs import contrasts as polynomial
from thinktime.stats.designs import effect_sizes, linear_anova, residual_checks, simultaneous
from thinktime.stats.designs.factorial import CellMeans, Level, Responses
from thinktime.stats.designs.per_effect_error import per_effect_error
from thinktime.stats.designs.transformations import BoxCox, Transformation, box_cox
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.stats.hypothesis import ALPHA

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Experiment", "analyse"]

Array = NDArray[np.float64]

MULTIPLE = 10.0


def analyse(
    runs: Runs | pl.DataFrame,
    *,
    response: str,
    factors: Sequence[str] | Mapping[str, Sequence[Level]] | None = None,
    blocks: str | None = None,
    unit: str = "",
    transformation: Transformation | None = None,
    order: int | None = None,
    degree: int = 2,
    squares: str | None = None,
    significance: float = ALPHA,
    multiple: float = MULTIPLE,
    level: float = 0.95,
) -> Experiment | NotApplicable:
    r"""Analyse a factorial experiment.

    The model is :math:`y = \mu + \text{effects and interactions} + \text{block} + e`. With blocks, the
    analysis is made twice, with their effects taken out of the error and left in it: published analyses
    of blocked designs do not always say which they did (Anderson and Sargent 1974, Tables 5 to 8).

    Parameters
    ----------
    runs : Runs or polars.DataFrame
        A row an observation: columns of the factors, of the blocks, and of responses. Runs bring their
        factors, units, and blocks if they were made with common random numbers.
    response : str
        Column to analyse; rows where it is null are left out and counted in the caveats.
    factors : sequence of str, or mapping of names to levels
        Columns of the factors. Levels are by default those that occur, numbers in growing order, others
        as they first appear.
    blocks : str, optional
        Column that numbers the blocks: ``replication`` where replications of one number have the same
        random numbers in every cell. Blocks that lack a cell which others have are left out.
    unit : str
        Of the response.
    transformation : Transformation, optional
        Applied to each observation before the analysis.
    order : int, optional
        Most factors of an interaction; the others go into the error.
    degree : int
        Highest degree of polynomial contrasts.
    squares : {"II", "III"}, optional
        For unbalanced designs, see `stats.anova.anova`.
    significance : float
        False-alarm rate of each F test.
    multiple : float
        Of the error mean square, from which on an effect counts whatever the distribution of the errors.
    level : float
        Confidence of the intervals.

    Raises
    ------
    InputError
        A column does not exist, a level is not among those given, or the transformation cannot be
        applied.
    """
    if isinstance(runs, Runs):
        factors = runs.factors if factors is None else factors
        blocks = blocks or ("replication" if runs.common_random_numbers else None)
        frame, unit = runs.responses(), unit or runs.units.get(response, "")
    else:
        frame = runs
    data = read(frame, response, factors or (), blocks, transformation)
    if isinstance(data, NotApplicable):
        return data
    used = data.responses
    table = variance.anova(used, order=order, squares=squares)
    if table.error.degrees < 1:
        return NotApplicable(
            f"{used.n} observations leave no degrees of freedom for the error",
            "replicate the cells (--replications), or leave high interactions out of the model (order)",
        )
    if _exhausted(table):
        return NotApplicable(
            f"{response} does not vary between replications of a cell, so nothing can be said of chance",
            "analyse a response that varies, or vary the seed from replication to replication",
        )
    result = _result(data, table, unit, order, degree, squares, _Rule(significance, multiple, level))
    return replace(result, caveats=experiment_caveats(result, data))


@dataclass(frozen=True, slots=True)
class _Rule:
    """When something counts."""

    significance: float
    multiple: float
    level: float


def _exhausted(table: variance.Anova) -> bool:
    """Whether the error is nothing but rounding."""
    return table.error.squares <= 1e-24 * table.total_squares or table.total_squares == 0.0


def _result(
    data: Data,
    table: variance.Anova,
    unit: str,
    order: int | None,
    degree: int,
    squares: str | None,
    rule: _Rule,
) -> Experiment:
    used, blocked = data.responses, data.responses.blocks is not None
    scale = unit if data.transformation is None or data.transformation.power == 1.0 else ""
    left = variance.anova(used, blocks_out=False, order=order, squares=squares) if blocked else None
    known, unknown = _contrasts(used, table, degree, scale, rule)
    offer = box_cox(replace(used, y=data.raw), order=order, level=rule.level)
    rest = linear_anova.errors(used, order).of(used.y)
    counts = used.counts()[used.counts() > 0]
    return Experiment(
        response=data.response,
        unit=unit,
        transformation="y" if data.transformation is None else data.transformation.name,
        factors=used.factors,
        replications=(int(counts.min()), int(counts.max())),
        n=used.n,
        blocked=blocked,
        sources=_against_own_error(used, _sources(table, rule)),
        blocks=None if table.blocks is None else _source(table, table.blocks, rule),
        error=_source(table, table.error, rule),
        total_squares=table.total_squares,
        r_squared=table.r_squared,
        squares=table.squares,
        without_blocks=() if left is None else (*_sources(left, rule), _source(left, left.error, rule)),
        efficiency=variance.relative_efficiency(table) if blocked else None,
        contrasts=known,
        contrasts_unknown=unknown,
        levels=_levels(replace(used, y=data.raw), unit, order, rule.level),
        cells=_cells(replace(used, y=data.raw), unit, rule.level),
        differences=_differences(used, table, scale, rule.level),
        normality=residual_checks.normality(rest),
        equal_variances=residual_checks.equal_variances(used, rest),
        box_cox=offer,
        transformed=_transformed(data, table, offer, order, squares, rule),
        significance=rule.significance,
        multiple=rule.multiple,
        caveats=(),
    )


def _sources(table: variance.Anova, rule: _Rule) -> tuple[Source, ...]:
    return tuple(_source(table, effect, rule) for effect in table.effects)


def _against_own_error(used: Responses, sources: tuple[Source, ...]) -> tuple[Source, ...]:
    if used.blocks is None or not used.balanced or len(np.unique(used.blocks)) < 2:
        return sources
    y = used.array()
    names = [factor.name for factor in used.factors]
    return tuple(
        replace(item, per_effect_error=per_effect_error(y, [names.index(name) for name in item.factors]))
        for item in sources
    )


def _source(table: variance.Anova, effect: variance.Effect, rule: _Rule) -> Source:
    tested = effect.f is not None and effect.p is not None
    sizes = (effect.f or 0.0, effect.degrees, table.error.degrees, table.n, rule.level)
    return Source(
        effect.factors,
        effect.degrees,
        effect.squares,
        effect.mean_square,
        effect.f,
        effect.p,
        effect.p is not None and effect.p < rule.significance,
        tested and effect.counts(table.error_mean_square, rule.multiple),
        effect_sizes.partial_eta_squared(*sizes) if tested else None,
        effect_sizes.partial_omega_squared(*sizes) if tested else None,
    )


def _contrasts(
    used: Responses, table: variance.Anova, degree: int, unit: str, rule: _Rule
) -> tuple[tuple[Contrast, ...], tuple[tuple[str, str], ...]]:
    """Contrasts that can be computed, and the others with the reason."""
    cells = CellMeans(
        factors=used.factors,
        means=used.means(),
        counts=used.counts(),
        error_mean_square=table.error_mean_square,
        error_degrees=table.error.degrees,
    )
    by_block = used.array() if used.blocks is not None and used.balanced else None
    known, unknown = [], []
    for components, found in polynomial.polynomial_contrasts(
        cells, degree=degree, unit=unit, level=rule.level
    ):
        if isinstance(found, NotApplicable):
            unknown.append((" × ".join(part.name for part in components), found.reason))
            continue
        paired = None
        if by_block is not None:
            weights = polynomial.weights(cells, components)
            paired = _student(
                np.tensordot(weights, by_block, axes=weights.ndim), unit, rule.level, "contrast in each block"
            )
        known.append(
            Contrast(
                found.name,
                tuple((part.factor, part.coefficients) for part in components),
                found.estimate,
                paired,
                found.squares,
                found.f,
                found.p,
                found.p < rule.significance,
                found.f >= rule.multiple,
            )
        )
    return tuple(known), tuple(unknown)


def _levels(used: Responses, unit: str, order: int | None, level: float) -> tuple[LevelMean, ...]:
    """Mean at each level: unweighted over the cells that are there, so that none weighs more."""
    # Blocks differ, and a mean is of other blocks next time: their differences belong to its error.
    table = variance.anova(used, blocks_out=False, order=order)
    means, counts = used.means(), used.counts()
    found = []
    for at, factor in enumerate(used.factors):
        for place, label in enumerate(factor.levels):
            n = counts.take(place, axis=at).ravel()
            if not n.any():
                continue
            if used.blocks is not None and used.balanced:
                blocks = used.array().take(place, axis=at).reshape(len(n), -1).mean(axis=0)
                estimate = _student(blocks, unit, level, "mean over blocks")
            else:
                cells = means.take(place, axis=at).ravel()[n > 0]
                spread = float((1.0 / n[n > 0]).sum()) / len(cells) ** 2
                error = math.sqrt(table.error_mean_square * spread)
                reach = critical_values.student_t(level, table.error.degrees) * error
                value = float(cells.mean())
                estimate = Estimate(
                    value=value,
                    unit=unit,
                    n=int(n.sum()),
                    method="unweighted mean of cells, pooled error",
                    low=value - reach,
                    high=value + reach,
                    level=level,
                )
            found.append(LevelMean(factor.name, label, estimate))
    return tuple(found)


def _cells(used: Responses, unit: str, level: float) -> tuple[Cell, ...]:
    of_cell = used.cell_of()
    found = []
    for flat in np.unique(of_cell).tolist():
        places = np.unravel_index(flat, used.shape)
        levels = tuple(factor.levels[int(at)] for factor, at in zip(used.factors, places, strict=True))
        values = used.y[of_cell == flat]
        deviation = float(values.std(ddof=1)) if len(values) > 1 else None
        found.append(Cell(levels, _student(values, unit, level, "mean over replications"), deviation))
    return tuple(found)


def _student(values: Array, unit: str, level: float, method: str) -> Estimate:
    """Mean of independent values with Student's interval."""
    n, value = len(values), float(values.mean())
    if n < 2:
        return Estimate(value=value, unit=unit, n=n, method=method, level=level)
    reach = critical_values.student_t(level, n - 1) * float(values.std(ddof=1)) / math.sqrt(n)
    return Estimate(
        value=value,
        unit=unit,
        n=n,
        method=f"{method}, Student t",
        low=value - reach,
        high=value + reach,
        level=level,
    )


def _differences(used: Responses, table: variance.Anova, unit: str, level: float) -> tuple[Difference, ...]:
    """Pairs of levels of each factor; none where cells are missing: the means would be of unlike cells."""
    found: list[Difference] = []
    counts = used.counts()
    if not counts.all():
        return ()
    means = used.means()
    for at, factor in enumerate(used.factors):
        over = tuple(axis for axis in range(counts.ndim) if axis != at)
        if used.blocks is not None and used.balanced:
            pairs = simultaneous.bonferroni(used.array().mean(axis=over).T, unit=unit, level=level)
        else:
            cells = counts.size // len(factor.levels)
            # Of a mean of cell means: the number of observations that would give it the same variance.
            worth = cells**2 / (1.0 / counts).sum(axis=over)
            pairs = simultaneous.tukey(
                means.mean(axis=over).tolist(),
                worth.tolist(),
                table.error_mean_square,
                table.error.degrees,
                unit=unit,
                level=level,
            )
        found += [
            Difference(
                factor.name,
                factor.levels[pair.first],
                factor.levels[pair.second],
                pair.estimate,
                pair.significant,
            )
            for pair in pairs
        ]
    return tuple(found)


def _transformed(
    data: Data,
    table: variance.Anova,
    offer: BoxCox | NotApplicable,
    order: int | None,
    squares: str | None,
    rule: _Rule,
) -> Transformed | None:
    """Analyse once more on the scale that the errors ask for, unless it is the one at hand."""
    if isinstance(offer, NotApplicable) or offer.offered == (data.transformation or Transformation(1.0)):
        return None
    other = replace(data.responses, y=offer.offered.apply(data.raw))
    again = variance.anova(other, order=order, squares=squares)
    before = {item.name for item in _sources(table, rule) if item.significant}
    after = {item.name for item in _sources(again, rule) if item.significant}
    names = [effect.source for effect in table.effects]
    rest = linear_anova.errors(other, order).of(other.y)
    return Transformed(
        offer.offered.name,
        tuple(name for name in names if name in after - before),
        tuple(name for name in names if name in before - after),
        residual_checks.normality(rest),
        residual_checks.equal_variances(other, rest),
    )
