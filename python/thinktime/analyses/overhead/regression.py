"""A regression on request rates, with every interval and diagnosis that its figures need.

Nothing is kept of the rows but sums: each step is a pass over the log. The passes are over all columns
(one R factor, from which requests are selected), over the residuals of the first fit (outliers are left
out of a second R factor), and over those of the second fit (everything that says how sure it is).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.overhead.design import Design
from thinktime.analyses.overhead.residual_pass import Accounts, Point, Subset, accounts, subsets
from thinktime.stats import critical_values
from thinktime.stats.estimate import Estimate
from thinktime.stats.regression import collinearity, robust
from thinktime.stats.regression.covariance import default_lags
from thinktime.stats.regression.least_squares import LeastSquares
from thinktime.stats.regression.robust import Trimmed, drop_outliers
from thinktime.stats.regression.selection import Selection, Step, forward

__all__ = ["Options", "Regression", "fit"]

Array = NDArray[np.float64]

ROWS_PER_COEFFICIENT = 5


@dataclass(frozen=True, slots=True)
class Options:
    """How a regression is made.

    Parameters
    ----------
    select : bool
        Whether to choose by forward selection; else all columns are used that are not combinations of
        others.
    rows_least : int
        Rows without which there is no regression.
    f_to_enter : float
        Least F at which a column is taken.
    threshold, as_printed
        See `stats.outliers.drop_outliers`.
    subsets : int
        Parts of the log that are fitted by themselves.
    seed : int
        Of the bootstrap.
    level : float
        Confidence of the intervals.
    """

    select: bool
    rows_least: int = 0
    f_to_enter: float = 4.0
    threshold: float = 2.5
    as_printed: bool = False
    subsets: int = 4
    seed: int = 1
    level: float = 0.95


@dataclass(frozen=True, slots=True)
class Regression:
    """A fitted regression; the constant is column 0.

    Parameters
    ----------
    keep : tuple of int
        Columns of the design used, 0 being the constant, in order of entry.
    entry_f : tuple of float or None
        F at which each entered.
    selection : Selection
        How they were chosen.
    trimmed : Trimmed
    lags : int
        Bandwidth of the Newey-West interval [rows].
    covariance : ndarray
        Of the coefficients, by Newey and West.
    block : int
        Rows in a block of the bootstrap.
    bootstrap : (ndarray, ndarray)
        Ends of the bootstrap interval.
    concentration : ndarray
        Part of what is known of each coefficient that comes from the five rows which tell most.
    correlations : ndarray
        Of a residual with the later ones, by lag from 1.
    means : tuple of Estimate
        Mean of each column, then of the target, over the rows used.
    huber : ndarray
        Costs by Huber's M-estimate, outliers included.
    huber_rows : int
        Rows that it is of.
    points : tuple of Point
    subsets : tuple of Subset
        Empty where one of them is too short or does not tell the costs apart.
    level : float
    """

    keep: tuple[int, ...]
    entry_f: tuple[float | None, ...]
    selection: Selection
    trimmed: Trimmed
    lags: int
    covariance: Array
    block: int
    bootstrap: tuple[Array, Array]
    concentration: Array
    correlations: Array
    means: tuple[Estimate, ...]
    huber: Array
    huber_rows: int
    points: tuple[Point, ...]
    subsets: tuple[Subset, ...]
    level: float

    @property
    def coefficients(self) -> Array:
        """Costs, the constant first."""
        return self.trimmed.fit.coefficients

    @property
    def autocorrelation(self) -> float:
        """Correlation of successive residuals; 0 where it is not defined."""
        value = float(self.correlations[0])
        return 0.0 if np.isnan(value) else value

    def robust_reach(self) -> Array:
        """Half width of the Newey-West interval, with fixed-b critical value."""
        fit = self.trimmed.fit
        return _root(self.covariance) * critical_values.fixed_b(self.level, self.lags / fit.n, fit.degrees)

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


def fit(design: Design, options: Options) -> Regression | str:
    """Choose columns, drop outliers, fit once more; or say why that cannot be done."""
    cross = LeastSquares(design.columns)
    for rows in design.rows():
        cross.absorb(rows.x, rows.y)
    if cross.n < options.rows_least:
        return f"{cross.n} usable intervals are too few for a regression: {options.rows_least} are needed"
    selection = _selected(cross, options)
    keep = (0, *(step.column for step in selection.steps))

    def chunks() -> Iterator[tuple[Array, Array]]:
        return ((rows.x, rows.y) for rows in design.rows(keep))

    trimmed = drop_outliers(cross.solve(keep), chunks, options.threshold, as_printed=options.as_printed)
    if trimmed.fit.aliased or trimmed.fit.degrees < 1:
        return "after dropping outliers the requests cannot be told apart"
    lags = default_lags(trimmed.fit.n)
    found = accounts(design, keep, trimmed, lags, options.subsets)
    enough = trimmed.fit.n >= options.subsets * ROWS_PER_COEFFICIENT * len(keep)
    parts = subsets(design, keep, trimmed, found.parts) if enough else ()
    entry = tuple(step.f if options.select else None for step in selection.steps)
    return _collected((keep, (None, *entry), selection, trimmed), lags, found, parts, options)


def _selected(cross: LeastSquares, options: Options) -> Selection:
    columns = range(1, cross.columns)
    if options.select:
        return forward(cross, columns, f_to_enter=options.f_to_enter, positive=True)
    aliased = cross.solve().aliased
    return Selection(
        steps=tuple(Step(column=at, f=np.nan) for at in columns if at not in aliased), rejected=()
    )


def _collected(
    chosen: tuple[tuple[int, ...], tuple[float | None, ...], Selection, Trimmed],
    lags: int,
    found: Accounts,
    parts: tuple[Subset, ...],
    options: Options,
) -> Regression:
    keep, entry_f, selection, trimmed = chosen
    sample_x, sample_y = found.sample()
    return Regression(
        keep=keep,
        entry_f=entry_f,
        selection=selection,
        trimmed=trimmed,
        lags=lags,
        covariance=found.newey_west.covariance(),
        block=found.bootstrap.block,
        bootstrap=found.bootstrap.intervals(options.level, seed=options.seed),
        concentration=found.concentration(),
        correlations=found.correlations(),
        means=tuple(found.means.interval(at, options.level) for at in range(len(keep) + 1)),
        huber=robust.huber(sample_x, sample_y),
        huber_rows=len(sample_y),
        points=found.points(),
        subsets=parts,
        level=options.level,
    )


def _root(covariance: Array) -> Array:
    result: Array = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    return result
