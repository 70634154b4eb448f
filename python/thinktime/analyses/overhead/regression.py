"""A regression on request rates, with its intervals and diagnoses.

Only sums are kept of the rows: each step is a pass over the log. The passes are over all columns (one
R factor, from which requests are selected), over the residuals of the first fit (a second R factor without
outliers), and over those of the second fit (intervals and diagnoses).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.overhead.design import Design
from thinktime.analyses.overhead.residual_pass import ResidualPass, SubsetFit, subset_fits
from thinktime.analyses.overhead.result import Point
from thinktime.log.observations import ROWS
from thinktime.stats import critical_values
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.stats.hypothesis import SignificanceTest
from thinktime.stats.regression import collinearity, robust
from thinktime.stats.regression.least_squares import LeastSquares
from thinktime.stats.regression.long_run import LongRunErrors, estimated
from thinktime.stats.regression.robust import Trimmed, drop_outliers
from thinktime.stats.regression.separation import Choice, Unchosen, choose, strongest_negative

Array = NDArray[np.float64]

RIVAL = 0.5
"""Share of the variation of a column used that makes a candidate without a row its rival."""
ROWS_PER_COEFFICIENT = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class FitOptions:
    """Settings of a regression."""

    f_to_enter: float | None = None
    """Least F at which a column is taken; by default that at which 5 % of logs have any false cost."""
    threshold: float = 2.5
    """Of `stats.regression.robust.drop_outliers`."""
    as_printed: bool = False
    """Of `stats.regression.robust.drop_outliers`."""
    subsets: int = 4
    """Stretches of the log that are also fitted by themselves."""
    seed: int = 1
    """Of the bootstrap."""
    level: float = 0.95
    """Confidence of the intervals."""
    piece_rows: int = ROWS
    """Largest number of intervals in memory at a time; a longer log is read again for each pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllCandidates:
    """The regression on all candidates that can be separated: those used, then the others."""

    keep: tuple[int, ...]
    coefficients: Array
    reach: Array
    """Half width of the interval of each coefficient."""
    determining: Array
    """Intervals that determine each coefficient, in effect."""
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """A fitted regression; the constant is column 0."""

    design: Design
    """That of the request, with groups of columns that cannot be separated as further columns."""
    keep: tuple[int, ...]
    """Columns of the design used, 0 being the constant, in order of entry."""
    entry_f: tuple[float | None, ...]
    """F at which each entered."""
    choice: Choice | None
    """None where columns were named."""
    rivals: tuple[tuple[int, ...], ...]
    """Candidates without a row that take most of the variation of each column used."""
    everything: AllCandidates | None
    """None where columns were named, or there are too few rows."""
    trimmed: Trimmed
    cosines: int
    """Cosines of the long-run variance."""
    covariance: Array
    """Of the coefficients, by `LongRunErrors`."""
    degrees: Array
    """Equivalent degrees of freedom of each variance of `covariance`."""
    determining: Array
    """Intervals that determine each coefficient, in effect (`LongRunErrors.determining`)."""
    modelled_reach: Array
    """As `robust_reach`, if errors were those of the calibration: `Cost.steady`."""
    error_correlation: float | None
    """Correlation of successive errors, by that of the residuals; None for logs too long to need it."""
    swings: bool
    """Whether the errors swing slowly under a quick noise."""
    block: int
    """Rows in a block of the bootstrap."""
    bootstrap: tuple[Array, Array]
    """Ends of the bootstrap interval."""
    concentration: Array
    """Share of the five heaviest rows in the weights of each coefficient."""
    correlations: Array
    """Of a residual with the later ones, by lag from 1."""
    means: tuple[Estimate, ...]
    """Mean of each column, then of the target, over the rows used."""
    huber: Array
    """Costs by Huber's M-estimate, outliers included."""
    huber_rows: int
    """Rows behind `huber`."""
    points: tuple[Point, ...]
    joined: Array
    """Each cost with 2, 4 and 8 intervals joined."""
    length_tests: tuple[SignificanceTest, ...]
    """Of each cost being the same at every length of the interval."""
    subsets: tuple[SubsetFit, ...]
    """Empty where one of them is too short or cannot separate the costs."""
    level: float

    @property
    def coefficients(self) -> Array:
        """Costs, the constant first."""
        return self.trimmed.fit.coefficients

    def robust_reach(self) -> Array:
        """Half width of the interval that holds for correlated errors of unequal size."""
        return _reach(self.covariance, self.degrees, self.level)

    def cost(self, index: int, unit: str) -> Estimate:
        """Coefficient with the interval of `robust_reach`."""
        return estimated(
            float(self.coefficients[index]),
            float(self.robust_reach()[index]),
            float(self.determining[index]),
            unit=unit,
            n=self.trimmed.fit.n,
            method=f"least squares, long-run variance by {self.cosines} cosines, calibrated",
            level=self.level,
        )

    def textbook_reach(self) -> Array:
        """Half width of the interval for independent errors of one variance."""
        fit = self.trimmed.fit
        return _root(fit.covariance()) * critical_values.student_t(self.level, fit.degrees)

    def diagnosis(self) -> collinearity.Collinearity:
        """Condition number and variance inflation of the columns used."""
        return collinearity.diagnose(self.trimmed.rows, range(len(self.keep)))

    def non_negative(self) -> Array:
        """Costs of the fit that allows none below zero."""
        if (self.coefficients >= 0.0).all():
            return self.coefficients
        return robust.non_negative(self.trimmed.rows)


def fit(
    design: Design, options: FitOptions, *, select: bool, rows_least: int = 0
) -> Regression | NotApplicable:
    """Regression on the columns of a design, fitted once more without outliers.

    Parameters
    ----------
    design : Design
    options : FitOptions
    select : bool
        Whether columns are chosen by stepwise selection; else all are used that are not combinations of
        others.
    rows_least : int
        Rows below which there is no regression.
    """
    cross = _cross(design)
    if select:
        rows_least = max(rows_least, design.columns + ROWS_PER_COEFFICIENT)
    if cross.n < rows_least:
        return NotApplicable(
            f"a regression needs {rows_least} usable intervals, not {cross.n}",
            "record longer, or with a shorter interval",
        )
    choice = _choice(design, cross, options) if select else None
    keep = tuple(column for column in range(cross.columns) if column not in cross.solve().aliased)
    if choice is not None:
        design, keep = _grouped(design, choice)
        cross = cross if design.columns == cross.columns else _cross(design)

    def chunks() -> Iterator[tuple[Array, Array]]:
        return ((rows.x, rows.y) for rows in design.rows(keep))

    trimmed = drop_outliers(cross.solve(keep), chunks, options.threshold, as_printed=options.as_printed)
    if trimmed.fit.aliased or trimmed.fit.degrees < 1:
        return NotApplicable(
            "without outliers, the costs of the requests cannot be separated",
            "record longer, under mixed load",
        )
    sums = ResidualPass(trimmed, options.subsets)
    for rows in design.rows(keep):
        sums.absorb(rows)
    covariance, degrees = sums.long_run.coefficients()
    enough = trimmed.fit.n >= options.subsets * ROWS_PER_COEFFICIENT * len(keep)
    sample_x, sample_y = sums.sample()
    labels = ["base", *(design.terms[column - 1].label for column in keep[1:])]
    joined, length_tests = sums.joined.tests(
        [f"the cost of {label} is the same at every length of the interval" for label in labels]
    )
    return Regression(
        design=design,
        keep=keep,
        entry_f=(None, *((entry.f for entry in choice.entries) if choice else [None] * (len(keep) - 1))),
        choice=choice,
        rivals=_rivals(cross, keep, choice),
        everything=_everything(design, cross, keep, choice, options) if choice else None,
        trimmed=trimmed,
        cosines=sums.long_run.cosines,
        covariance=covariance,
        degrees=degrees,
        determining=sums.long_run.determining(),
        modelled_reach=_modelled_reach(sums.long_run, covariance, degrees, options.level),
        error_correlation=sums.long_run.correlation(),
        swings=sums.long_run.swings(),
        block=sums.bootstrap.block,
        bootstrap=sums.bootstrap.intervals(options.level, seed=options.seed),
        concentration=sums.concentration(),
        correlations=sums.correlations(),
        means=tuple(sums.means.interval(column, options.level) for column in range(len(keep) + 1)),
        huber=robust.huber(sample_x, sample_y),
        huber_rows=len(sample_y),
        points=sums.points(),
        joined=joined,
        length_tests=length_tests,
        subsets=subset_fits(design, keep, trimmed, sums.stretches) if enough else (),
        level=options.level,
    )


def _cross(design: Design) -> LeastSquares:
    cross = LeastSquares(design.columns)
    for rows in design.rows():
        cross.absorb(rows.x, rows.y)
    return cross


def _choice(design: Design, cross: LeastSquares, options: FitOptions) -> Choice:
    """Columns that enter, by the errors of the regression on all columns but those that compete.

    What competes with the target has a negative coefficient: user time, where every CPU is busy. It is no
    cause, and as a column it would take the place of the causes.
    """
    competing: list[Unchosen] = []
    while True:
        order, errors = _errors(design, cross, [item.column for item in competing])
        worst = strongest_negative(cross, errors, order)
        if worst is None:
            break
        competing.append(worst)
    counts = [column for column in order[1:] if design.terms[column - 1].name != "user_time"]
    choice = choose(cross, errors, order, f_to_enter=options.f_to_enter, summable=counts)
    return dataclasses.replace(choice, rejected=(*choice.rejected, *competing))


def _errors(design: Design, cross: LeastSquares, without: Sequence[int]) -> tuple[list[int], LongRunErrors]:
    """Columns, combinations of others last, and the errors of the regression on all of them."""
    columns = [column for column in range(cross.columns) if column not in without]
    aliased = [columns[place] for place in cross.solve(columns).aliased]
    independent = [column for column in columns if column not in aliased]
    every = cross.solve(independent)
    errors = LongRunErrors(every, cross.n, further=len(aliased))
    for rows in design.rows([*independent, *aliased]):
        x, further = np.hsplit(rows.x, [len(independent)])
        errors.absorb(x, rows.y - x @ every.coefficients, further=further)
    return [*independent, *aliased], errors


def _grouped(design: Design, choice: Choice) -> tuple[Design, tuple[int, ...]]:
    """Design with a column for each group of requests, and the columns to use."""
    groups = [entry.columns for entry in choice.entries if len(entry.columns) > 1]
    added = iter(range(design.columns, design.columns + len(groups)))
    keep = [next(added) if len(entry.columns) > 1 else entry.columns[0] for entry in choice.entries]
    return design.joined(groups), (0, *keep)


def _rivals(cross: LeastSquares, keep: tuple[int, ...], choice: Choice | None) -> tuple[tuple[int, ...], ...]:
    """For each column of `keep`, the candidates that were left out and take most of its variation.

    What varies in a column is what the other columns of `keep` do not explain of it.
    """
    left_out = [item.column for item in choice.rejected if not item.competes] if choice else []

    def left(columns: list[int], column: int) -> float:
        return float(cross.triangle([*columns, column])[0][-1, -1]) ** 2

    rivals: list[tuple[int, ...]] = [()]
    for column in keep[1:]:
        others = [other for other in keep if other != column]
        alone = left(others, column)
        taken = [other for other in left_out if left([*others, other], column) < (1.0 - RIVAL) * alone]
        rivals.append(tuple(taken))
    return tuple(rivals)


def _everything(
    design: Design, cross: LeastSquares, keep: tuple[int, ...], choice: Choice, options: FitOptions
) -> AllCandidates | None:
    """Regression on the columns used and all others that are no combination of them."""
    columns = [*keep, *(item.column for item in choice.rejected if not item.competes)]
    aliased = cross.solve(columns).aliased
    columns = [column for place, column in enumerate(columns) if place not in aliased]
    if cross.n < ROWS_PER_COEFFICIENT * len(columns):
        return None

    def chunks() -> Iterator[tuple[Array, Array]]:
        return ((rows.x, rows.y) for rows in design.rows(columns))

    trimmed = drop_outliers(cross.solve(columns), chunks, options.threshold, as_printed=options.as_printed)
    if trimmed.fit.aliased or trimmed.fit.degrees < 1:
        return None
    errors = LongRunErrors(trimmed.fit, cross.n)
    for x, y in chunks():
        kept = trimmed.kept(x, y)
        errors.absorb(x * kept[:, None], trimmed.residuals(x, y) * kept, trimmed.carried(x, y))
    covariance, degrees = errors.coefficients()
    return AllCandidates(
        keep=tuple(columns),
        coefficients=trimmed.fit.coefficients,
        reach=_reach(covariance, degrees, options.level),
        determining=errors.determining(),
        n=trimmed.fit.n,
    )


def _modelled_reach(errors: LongRunErrors, covariance: Array, degrees: Array, level: float) -> Array:
    """Half widths by the errors of the calibration; those of the intervals where there is none."""
    variances = errors.modelled()
    return _reach(covariance if variances is None else np.diag(variances), degrees, level)


def _reach(covariance: Array, degrees: Array, level: float) -> Array:
    """Half widths by Student's t."""
    critical = [critical_values.student_t(level, freedom) for freedom in degrees.tolist()]
    reach: Array = _root(covariance) * np.array(critical)
    return reach


def _root(covariance: Array) -> Array:
    result: Array = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    return result
