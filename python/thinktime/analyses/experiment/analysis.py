"""Effects of the factors of a designed experiment on a response: analysis of variance and contrasts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.experiment.observations import Observations, read
from thinktime.analyses.experiment.result import (
    Cell,
    Contrast,
    Difference,
    Experiment,
    LevelMean,
    PairMean,
    Source,
    Transformed,
)
from thinktime.errors import InputError
from thinktime.log.runs import Runs
from thinktime.stats import critical_values
from thinktime.stats.designs import anova as variance
from thinktime.stats.designs import contrasts as polynomial
from thinktime.stats.designs import effect_sizes, linear_anova, residual_checks, simultaneous
from thinktime.stats.designs.factorial import CellMeans, Factor, Level, Responses
from thinktime.stats.designs.per_effect_error import per_effect_error
from thinktime.stats.designs.transformations import BoxCox, Transformation, box_cox
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable
from thinktime.stats.hypothesis import ALPHA

if TYPE_CHECKING:
    import polars as pl

Array = NDArray[np.float64]

FEW_REPLICATIONS = 4
"""Replications of a cell below which a caveat says that they are few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Terms of the model."""

    order: int | None = None
    """Largest number of factors in an interaction; higher interactions go into the error."""
    degree: int = 2
    """Highest degree of polynomial contrasts."""
    squares: str | None = None
    """``"II"`` or ``"III"`` for unbalanced designs, see `stats.designs.anova.anova`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """Criteria by which an effect counts."""

    significance: float = ALPHA
    """False-alarm rate of each F test."""
    multiple: float = 10.0
    """Multiple of the error mean square from which an effect counts whatever the distribution of errors."""
    level: float = 0.95
    """Confidence of the intervals."""


MODEL, CRITERIA = Model(), Criteria()


def analyse(
    runs: Runs | pl.DataFrame,
    *,
    response: str,
    factors: Sequence[str] | Mapping[str, Sequence[Level]] | None = None,
    blocks: str | None = None,
    unit: str = "",
    transformation: Transformation | None = None,
    model: Model = MODEL,
    criteria: Criteria = CRITERIA,
) -> Experiment | NotApplicable:
    r"""Analysis of variance, effects and contrasts of a factorial experiment.

    The model is :math:`y = \mu + \text{effects and interactions} + \text{block} + e`. With blocks, the
    analysis is made twice, with their effects taken out of the error and left in it: published analyses
    of blocked designs do not always say which they did (Anderson and Sargent 1974, Tables 5 to 8).

    Parameters
    ----------
    runs : Runs or polars.DataFrame
        A row for each observation: columns of the factors, of the blocks, and of responses. Runs bring their
        factors, units, and blocks if they were made with common random numbers.
    response : str
        Column to analyse; rows where it is null are left out and counted in the caveats.
    factors : sequence of str, or mapping of names to levels
        Columns of the factors. Levels are by default those that occur, numbers in ascending order, others
        in order of appearance.
    blocks : str, optional
        Column that numbers the blocks: ``replication`` where replications of one number have the same
        random numbers in every cell. Blocks that lack a cell which others have are left out.
    unit : str
        Of the response.
    transformation : Transformation, optional
        Applied to each observation before the analysis.
    model : Model
        Terms of the model.
    criteria : Criteria
        Criteria by which an effect counts.

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
    table = variance.anova(used, order=model.order, squares=model.squares)
    if table.error.degrees < 1:
        return NotApplicable(
            f"{used.n} observations leave no degrees of freedom for the error",
            "replicate the cells (--replications), or omit high-order interactions from the model (order)",
        )
    if _exhausted(table):
        return NotApplicable(
            f"{response} does not vary between replications of a cell, so chance cannot be estimated",
            "analyse a response that varies, or vary the seed from replication to replication",
        )
    result = _result(data, table, unit, model, criteria)
    return replace(result, caveats=tuple(_caveats(result, data)))


def results(runs: Runs, responses: Sequence[str] = ()) -> dict[str, Experiment | NotApplicable]:
    """Analyses of `responses`, or of those that the design of `runs` names, or of all, by name.

    Raises
    ------
    InputError
        There is no such response, nothing was varied, or nothing was simulated yet.
    """
    if not runs.factors:
        raise InputError(
            f"{runs.path}: is one configuration, in which nothing was varied; run a design instead"
        )
    design = runs.design()
    frame, units = runs.responses(), runs.units
    if not units:
        raise InputError(f"{runs.path}: no cell is finished yet; run the design with --resume")
    names = list(responses) or list(design.responses if design else ()) or list(units)
    if unknown := [name for name in names if name not in units]:
        raise InputError(f"{runs.path}: has no response {unknown[0]!r}; its responses are {', '.join(units)}")
    blocks = "replication" if runs.common_random_numbers else None
    return {
        name: analyse(
            frame,
            response=name,
            factors=runs.factors,
            blocks=blocks,
            unit=units[name],
            transformation=design.transformation(name) if design else None,
        )
        for name in names
    }


def _exhausted(table: variance.Anova) -> bool:
    """True if the error consists of rounding only."""
    return table.error.squares <= 1e-24 * table.total_squares or table.total_squares == 0.0


def _result(
    data: Observations, table: variance.Anova, unit: str, model: Model, criteria: Criteria
) -> Experiment:
    used, blocked = data.responses, data.responses.blocks is not None
    raw = replace(used, y=data.raw)
    scale = unit if data.transformation is None or data.transformation.power == 1.0 else ""
    left_in = (
        variance.anova(used, blocks_out=False, order=model.order, squares=model.squares) if blocked else None
    )
    contrasts, refused = _contrasts(used, table, model.degree, scale, criteria)
    offer = box_cox(raw, order=model.order, level=criteria.level)
    errors = linear_anova.errors(used, model.order).of(used.y)
    counts = used.counts()[used.counts() > 0]
    sources = _against_own_error(used, _sources(table, criteria))
    return Experiment(
        response=data.response,
        unit=unit,
        transformation="y" if data.transformation is None else data.transformation.name,
        factors=used.factors,
        replications=(int(counts.min()), int(counts.max())),
        n=used.n,
        blocked=blocked,
        sources=sources,
        blocks=None if table.blocks is None else _source(table, table.blocks, criteria),
        error=_source(table, table.error, criteria),
        total_squares=table.total_squares,
        r_squared=table.r_squared,
        squares=table.squares,
        without_blocks=()
        if left_in is None
        else (*_sources(left_in, criteria), _source(left_in, left_in.error, criteria)),
        efficiency=variance.relative_efficiency(table) if blocked else None,
        contrasts=contrasts,
        contrasts_unknown=refused,
        levels=_levels(raw, unit, model.order, criteria.level),
        cells=_cells(raw, unit, criteria.level),
        differences=_differences(used, table, scale, criteria.level),
        simple=_simple(used, table, sources, scale, criteria.level),
        pairs=_pairs(raw, sources, unit, model.order, criteria.level),
        normality=residual_checks.normality(errors),
        equal_variances=residual_checks.equal_variances(used, errors),
        box_cox=offer,
        transformed=_transformed(data, table, offer, model, criteria),
        significance=criteria.significance,
        multiple=criteria.multiple,
        caveats=(),
    )


def _sources(table: variance.Anova, criteria: Criteria) -> tuple[Source, ...]:
    return tuple(_source(table, effect, criteria) for effect in table.effects)


def _against_own_error(used: Responses, sources: tuple[Source, ...]) -> tuple[Source, ...]:
    if used.blocks is None or not used.balanced or len(np.unique(used.blocks)) < 2:
        return sources
    y = used.array()
    names = [factor.name for factor in used.factors]
    return tuple(
        replace(item, per_effect_error=per_effect_error(y, [names.index(name) for name in item.factors]))
        for item in sources
    )


def _source(table: variance.Anova, effect: variance.Effect, criteria: Criteria) -> Source:
    tested = effect.f is not None and effect.p is not None
    sizes = (effect.f or 0.0, effect.degrees, table.error.degrees, table.n, criteria.level)
    return Source(
        factors=effect.factors,
        degrees=effect.degrees,
        squares=effect.squares,
        mean_square=effect.mean_square,
        f=effect.f,
        p=effect.p,
        significant=effect.p is not None and effect.p < criteria.significance,
        counts=tested and effect.counts(table.error_mean_square, criteria.multiple),
        eta_squared=effect_sizes.partial_eta_squared(*sizes) if tested else None,
        omega_squared=effect_sizes.partial_omega_squared(*sizes) if tested else None,
    )


def _contrasts(
    used: Responses, table: variance.Anova, degree: int, unit: str, criteria: Criteria
) -> tuple[tuple[Contrast, ...], tuple[tuple[str, str], ...]]:
    """Contrasts that can be computed, and the others with the reason why not."""
    cells = CellMeans(
        factors=used.factors,
        means=used.means(),
        counts=used.counts(),
        error_mean_square=table.error_mean_square,
        error_degrees=table.error.degrees,
    )
    by_block = used.array() if used.blocks is not None and used.balanced else None
    contrasts, refused = [], []
    for components, contrast in polynomial.polynomial_contrasts(
        cells, degree=degree, unit=unit, level=criteria.level
    ):
        if isinstance(contrast, NotApplicable):
            refused.append((" × ".join(item.name for item in components), contrast.reason))
            continue
        paired = None
        if by_block is not None:
            weights = polynomial.weights(cells, components)
            by_blocks = np.tensordot(weights, by_block, axes=weights.ndim)
            paired = _student(by_blocks, unit, criteria.level, "contrast in each block")
        contrasts.append(
            Contrast(
                name=contrast.name,
                coefficients=tuple((item.factor, item.coefficients) for item in components),
                estimate=contrast.estimate,
                paired=paired,
                mean_square=contrast.squares,
                f=contrast.f,
                p=contrast.p,
                significant=contrast.p < criteria.significance,
                counts=contrast.f >= criteria.multiple,
            )
        )
    return tuple(contrasts), tuple(refused)


def _levels(used: Responses, unit: str, order: int | None, level: float) -> tuple[LevelMean, ...]:
    """Mean at each level, unweighted over the cells that have observations."""
    margin = _Margin(used, unit, order, level)
    return tuple(
        LevelMean(factor=factor.name, level=label, mean=mean)
        for axis, factor in enumerate(used.factors)
        for place, label in enumerate(factor.levels)
        if (mean := margin.mean({axis: place})) is not None
    )


def _pairs(
    used: Responses, sources: Sequence[Source], unit: str, order: int | None, level: float
) -> tuple[PairMean, ...]:
    """Means at the levels of each two factors whose interaction is significant."""
    margin = _Margin(used, unit, order, level)
    return tuple(
        PairMean(factors=(first.name, second.name), levels=(one, other), mean=mean)
        for (x, first), (y, second) in _interacting(used, sources)
        for i, one in enumerate(first.levels)
        for j, other in enumerate(second.levels)
        if (mean := margin.mean({x: i, y: j})) is not None
    )


def _interacting(
    used: Responses, sources: Sequence[Source]
) -> Iterator[tuple[tuple[int, Factor], tuple[int, Factor]]]:
    """Each two factors whose interaction is significant, with their axes; the largest effect first."""
    places = {factor.name: (axis, factor) for axis, factor in enumerate(used.factors)}
    found = [item for item in sources if len(item.factors) == 2 and item.significant]
    for item in sorted(found, key=lambda item: -(item.f or 0.0)):
        first, second = (places[name] for name in item.factors)
        yield first, second


class _Margin:
    """Means over all cells at some levels."""

    def __init__(self, used: Responses, unit: str, order: int | None, level: float) -> None:
        # Another experiment has other blocks: their differences belong to the error of a mean.
        self._error = variance.anova(used, blocks_out=False, order=order)
        self._used, self._unit, self._level = used, unit, level

    def mean(self, places: Mapping[int, int]) -> Estimate | None:
        """Mean at a place on each of some axes; None where no cell there has observations."""
        used = self._used
        at = tuple(places.get(axis, slice(None)) for axis in range(len(used.factors)))
        n = used.counts()[at].ravel()
        if not n.any():
            return None
        if used.blocks is not None and used.balanced:
            blocks = used.array()[at].reshape(len(n), -1).mean(axis=0)
            return _student(blocks, self._unit, self._level, "mean over blocks")
        cells = used.means()[at].ravel()[n > 0]
        spread = float((1.0 / n[n > 0]).sum()) / len(cells) ** 2
        error = math.sqrt(self._error.error_mean_square * spread)
        reach = critical_values.student_t(self._level, self._error.error.degrees) * error
        value = float(cells.mean())
        return Estimate(
            value=value,
            unit=self._unit,
            n=int(n.sum()),
            method="unweighted mean of cells, pooled error",
            low=value - reach,
            high=value + reach,
            level=self._level,
        )


def _cells(used: Responses, unit: str, level: float) -> tuple[Cell, ...]:
    of_cell = used.cell_of()
    cells = []
    for flat in np.unique(of_cell).tolist():
        places = np.unravel_index(flat, used.shape)
        levels = tuple(factor.levels[int(place)] for factor, place in zip(used.factors, places, strict=True))
        values = used.y[of_cell == flat]
        deviation = float(values.std(ddof=1)) if len(values) > 1 else None
        mean = _student(values, unit, level, "mean over replications")
        cells.append(Cell(levels=levels, mean=mean, deviation=deviation))
    return tuple(cells)


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
    """Differences between the levels of each factor; none where cells are missing."""
    if not used.counts().all():
        return ()
    return tuple(
        difference
        for place in range(len(used.factors))
        for difference in _compared(used, table, place, {}, unit, level)
    )


def _simple(
    used: Responses, table: variance.Anova, sources: Sequence[Source], unit: str, level: float
) -> tuple[Difference, ...]:
    """Differences between the levels of a factor at each level of one that it interacts with."""
    if not used.counts().all():
        return ()
    differences: list[Difference] = []
    for pair in _interacting(used, sources):
        for (place, _), (other, given) in (pair, pair[::-1]):
            # Bonferroni: the intervals at all levels of the other factor hold together.
            each = 1.0 - (1.0 - level) / len(given.levels)
            for at in range(len(given.levels)):
                differences += _compared(used, table, place, {other: at}, unit, each)
    return tuple(differences)


def _compared(
    used: Responses, table: variance.Anova, place: int, at: Mapping[int, int], unit: str, level: float
) -> Iterator[Difference]:
    """Differences between the levels of one factor, at one level of each factor in `at`."""
    factor, counts = used.factors[place], used.counts()
    held = tuple(at.get(axis, slice(None)) for axis in range(counts.ndim))
    # An axis at one level is gone after indexing: those before it count.
    axis = place - sum(other < place for other in at)
    counts = counts[held]
    over = tuple(other for other in range(counts.ndim) if other != axis)
    if used.blocks is not None and used.balanced:
        pairs = simultaneous.bonferroni(used.array()[held].mean(axis=over).T, unit=unit, level=level)
    else:
        cells = counts.size // len(factor.levels)
        # Number of observations whose plain mean would have the variance of this mean of cell means.
        worth = cells**2 / (1.0 / counts).sum(axis=over)
        pairs = simultaneous.tukey(
            used.means()[held].mean(axis=over).tolist(),
            worth.tolist(),
            table.error_mean_square,
            table.error.degrees,
            unit=unit,
            level=level,
        )
    for pair in pairs:
        yield Difference(
            factor=factor.name,
            first=factor.levels[pair.first],
            second=factor.levels[pair.second],
            estimate=pair.estimate,
            significant=pair.significant,
            within=tuple((used.factors[axis].name, used.factors[axis].levels[at[axis]]) for axis in at),
        )


def _transformed(
    data: Observations,
    table: variance.Anova,
    offer: BoxCox | NotApplicable,
    model: Model,
    criteria: Criteria,
) -> Transformed | None:
    """Analysis on the scale that the errors call for; None where it is the scale of the analysis."""
    if isinstance(offer, NotApplicable) or offer.offered == (data.transformation or Transformation(1.0)):
        return None
    other = replace(data.responses, y=offer.offered.apply(data.raw))
    again = variance.anova(other, order=model.order, squares=model.squares)
    before = {item.name for item in _sources(table, criteria) if item.significant}
    after = {item.name for item in _sources(again, criteria) if item.significant}
    names = [effect.source for effect in table.effects]
    errors = linear_anova.errors(other, model.order).of(other.y)
    return Transformed(
        name=offer.offered.name,
        gained=tuple(name for name in names if name in after - before),
        lost=tuple(name for name in names if name in before - after),
        normality=residual_checks.normality(errors),
        equal_variances=residual_checks.equal_variances(other, errors),
    )


def _caveats(result: Experiment, data: Observations) -> Iterator[Caveat]:
    """Caveats, the gravest first."""
    cells = math.prod(len(factor.levels) for factor in result.factors)
    if missing := cells - len(result.cells):
        yield Caveat("missing_cells", missing=missing, cells=cells)
    if data.not_measured:
        yield Caveat("not_measured", runs=data.not_measured, response=data.response)
    if data.blocks_incomplete:
        yield Caveat("incomplete_blocks", blocks=data.blocks_incomplete)
    if together := tuple(item.name for item in result.sources if item.significant and len(item.factors) > 1):
        yield Caveat("interactions", sources=together)
    uneven, skewed = result.equal_variances, result.normality
    if not isinstance(uneven, NotApplicable) and uneven.rejected():
        yield Caveat("unequal_variances", p=uneven.p, blocked=result.blocked)
    if not isinstance(skewed, NotApplicable) and skewed.rejected():
        yield Caveat("not_normal", p=skewed.p, multiple=result.multiple)
    named = tuple(factor.name for factor in result.factors if not factor.numeric and len(factor.levels) > 2)
    if named:
        yield Caveat("named_levels", factors=named)
    if len(result.sources) >= 4:
        yield Caveat("many_tests", tests=len(result.sources), significance=result.significance)
    if result.replications[0] < FEW_REPLICATIONS:
        yield Caveat("few_replications", replications=result.replications[0])
