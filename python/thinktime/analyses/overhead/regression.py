"""A regression on request rates, with its intervals and diagnoses.

Only sums are kept of the rows: each step is a pass over the log. The passes are over all columns (one
R factor, from which requests are selected), over the residuals of the first fit (a second R factor without
outliers), and over those of the second fit (intervals and diagnoses).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.overhead.design import Design
from thinktime.analyses.overhead.residual_pass import ResidualPass, SubsetFit, subset_fits
from thinktime.analyses.overhead.result import Point
from thinktime.log.observations import ROWS
from thinktime.stats import critical_values
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.stats.regression import collinearity, robust
from thinktime.stats.regression.least_squares import LeastSquares
from thinktime.stats.regression.robust import Trimmed, drop_outliers
from thinktime.stats.regression.selection import Selection, Step, forward

Array = NDArray[np.float64]

ROWS_PER_COEFFICIENT = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class FitOptions:
    """Settings of a regression."""

    f_to_enter: float = 4.0
    """Least F at which a column is taken."""
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
class Regression:
    """A fitted regression; the constant is column 0."""

    keep: tuple[int, ...]
    """Columns of the design used, 0 being the constant, in order of entry."""
    entry_f: tuple[float | None, ...]
    """F at which each entered."""
    selection: Selection
    trimmed: Trimmed
    cosines: int
    """Cosines of the long-run variance."""
    covariance: Array
    """Of the coefficients, by `LongRunErrors`."""
    degrees: Array
    """Equivalent degrees of freedom of each variance of `covariance`."""
    error_correlation: float | None
    """Correlation of successive errors, by that of the residuals; None for logs too long to need it."""
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
    subsets: tuple[SubsetFit, ...]
    """Empty where one of them is too short or cannot separate the costs."""
    level: float

    @property
    def coefficients(self) -> Array:
        """Costs, the constant first."""
        return self.trimmed.fit.coefficients

    def robust_reach(self) -> Array:
        """Half width of the interval that holds for correlated errors of unequal size."""
        critical = [critical_values.student_t(self.level, degrees) for degrees in self.degrees.tolist()]
        return _root(self.covariance) * np.array(critical)

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
        Whether columns are chosen by forward selection; else all are used that are not combinations of
        others.
    rows_least : int
        Rows below which there is no regression.
    """
    cross = LeastSquares(design.columns)
    for rows in design.rows():
        cross.absorb(rows.x, rows.y)
    if cross.n < rows_least:
        return NotApplicable(
            f"{cross.n} usable intervals are too few for a regression: {rows_least} are needed",
            "record longer, or with a shorter interval",
        )
    selection = _selected(cross, options.f_to_enter if select else None)
    keep = (0, *(step.column for step in selection.steps))

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
    return Regression(
        keep=keep,
        entry_f=(None, *(step.f if select else None for step in selection.steps)),
        selection=selection,
        trimmed=trimmed,
        cosines=sums.long_run.cosines,
        covariance=covariance,
        degrees=degrees,
        error_correlation=sums.long_run.correlation(),
        block=sums.bootstrap.block,
        bootstrap=sums.bootstrap.intervals(options.level, seed=options.seed),
        concentration=sums.concentration(),
        correlations=sums.correlations(),
        means=tuple(sums.means.interval(column, options.level) for column in range(len(keep) + 1)),
        huber=robust.huber(sample_x, sample_y),
        huber_rows=len(sample_y),
        points=sums.points(),
        subsets=subset_fits(design, keep, trimmed, sums.stretches) if enough else (),
        level=options.level,
    )


def _selected(cross: LeastSquares, f_to_enter: float | None) -> Selection:
    columns = range(1, cross.columns)
    if f_to_enter is not None:
        return forward(cross, columns, f_to_enter=f_to_enter, positive=True)
    aliased = cross.solve().aliased
    return Selection(
        steps=tuple(Step(column=column, f=np.nan) for column in columns if column not in aliased),
        rejected=(),
    )


def _root(covariance: Array) -> Array:
    result: Array = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    return result
