"""A regression on request rates, with every interval and diagnosis that its figures need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.stats import bootstrap, collinearity, critical, robust, series
from thinktime.stats.covariance import default_lags, newey_west
from thinktime.stats.outliers import Trimmed, absorb_all, drop_outliers
from thinktime.stats.selection import Selection, Step, forward

if TYPE_CHECKING:
    from thinktime.analyses.requests import Design

__all__ = ["Regression", "fit"]

Array = NDArray[np.float64]

QUARTERS = 4
CONCENTRATED_ROWS = 5
ROWS_PER_COEFFICIENT = 5
BOOTSTRAP_ROWS_MAX = 100_000
"""Beyond this the bootstrap takes as many adjoining rows from the middle: its memory grows with the rows."""


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
    x, y : ndarray
        Rows used, outliers left out.
    all_x, all_y : ndarray
        The same with outliers.
    segments : ndarray of int
        Unbroken stretches of time of the rows used.
    trimmed : Trimmed
    lags : int
        Bandwidth of the Newey-West interval.
    level : float
    """

    keep: tuple[int, ...]
    entry_f: tuple[float | None, ...]
    selection: Selection
    x: Array
    y: Array
    all_x: Array
    all_y: Array
    segments: NDArray[np.int64]
    trimmed: Trimmed
    lags: int
    level: float

    @property
    def coefficients(self) -> Array:
        """Costs, the constant first."""
        return self.trimmed.fit.coefficients

    def robust_reach(self) -> Array:
        """Half width of the Newey-West interval, with fixed-b critical value."""
        fit = self.trimmed.fit
        residuals = self.trimmed.residuals[self.trimmed.kept]
        covariance = newey_west(fit, self.x, residuals, self.lags, self.segments, leverage=True)
        reach = critical.fixed_b(self.level, self.lags / fit.n, fit.degrees)
        return _root(covariance) * reach

    def textbook_reach(self) -> Array:
        """Half width of the interval for independent errors of one variance."""
        fit = self.trimmed.fit
        return _root(fit.covariance()) * critical.student_t(self.level, fit.degrees)

    def bootstrap_ends(self, seed: int) -> tuple[Array, Array]:
        """Return the ends of the moving-block bootstrap interval."""
        first = max(0, (len(self.y) - BOOTSTRAP_ROWS_MAX) // 2)
        part = slice(first, first + BOOTSTRAP_ROWS_MAX)
        return bootstrap.coefficient_intervals(self.x[part], self.y[part], self.level, seed=seed)

    def concentration(self) -> Array:
        """Part of what is known of each coefficient that comes from the five rows which tell most."""
        inverse = self.trimmed.fit.unscaled_covariance
        # Column j of X (X'X)^-1 is what each row adds to coefficient j, up to its residual.
        weights = (self.x @ inverse) ** 2
        most = np.sort(weights, axis=0)[-CONCENTRATED_ROWS:].sum(axis=0)
        result: Array = most / weights.sum(axis=0)
        return result

    def diagnosis(self) -> collinearity.Collinearity:
        """Condition number and variance inflation of the columns used."""
        return collinearity.diagnose(self.trimmed.rows, range(len(self.keep)))

    def non_negative(self) -> Array | None:
        """Costs of the fit that allows none below zero; None where none is."""
        if (self.coefficients >= 0.0).all():
            return None
        return robust.non_negative(self.trimmed.rows)

    def huber(self) -> Array:
        """Costs by Huber's M-estimate on all rows."""
        return robust.huber(self.all_x, self.all_y)

    def quarters(self) -> Array:
        """Costs fitted on each quarter of the rows by itself, a row a quarter; empty where too short."""
        least = ROWS_PER_COEFFICIENT * len(self.keep)
        fits = []
        for rows in np.array_split(np.arange(len(self.y)), QUARTERS):
            if len(rows) < least:
                return np.zeros((0, len(self.keep)))
            fits.append(absorb_all(self.x[rows], self.y[rows]).solve().coefficients)
        found = np.array(fits)
        return found if not np.isnan(found).any() else np.zeros((0, len(self.keep)))

    def autocorrelation(self) -> float:
        """Correlation of successive residuals; 0 where it is not defined."""
        value = float(series.autocorrelation(self.trimmed.residuals[self.trimmed.kept])[0])
        return 0.0 if np.isnan(value) else value


def fit(
    design: Design,
    *,
    select: bool,
    f_to_enter: float,
    threshold: float,
    as_printed: bool,
    level: float,
) -> Regression | str:
    """Choose columns, drop outliers, fit once more; or say why that cannot be done.

    Parameters
    ----------
    design : Design
    select : bool
        Whether to choose by forward selection; else all columns are used that are not combinations of
        others.
    f_to_enter : float
        Least F at which a column is taken.
    threshold, as_printed
        See `stats.outliers.drop_outliers`.
    level : float
        Confidence of the intervals.
    """
    x = np.column_stack([np.ones(len(design.rows)), design.rates])
    rows = absorb_all(x, design.target)
    if select:
        selection = forward(rows, range(1, x.shape[1]), f_to_enter=f_to_enter, positive=True)
    else:
        aliased = rows.solve().aliased
        selection = Selection(tuple(Step(at, np.nan) for at in range(1, x.shape[1]) if at not in aliased), ())
    keep = (0, *(step.column for step in selection.steps))
    trimmed = drop_outliers(x[:, keep], design.target, threshold, as_printed=as_printed)
    if trimmed.fit.aliased or trimmed.fit.degrees < 1:
        return "after dropping outliers the requests cannot be told apart"
    entry = tuple(step.f if select else None for step in selection.steps)
    kept = trimmed.kept
    used = design.seen.segments[design.rows][kept]
    lags = default_lags(int(kept.sum()))
    return Regression(
        keep, (None, *entry), selection, x[kept][:, keep], design.target[kept],
        x[:, keep], design.target, used, trimmed, lags, level,
    )  # fmt: skip


def _root(covariance: Array) -> Array:
    result: Array = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    return result
