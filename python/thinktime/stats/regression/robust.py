"""Fits for data on which plain least squares goes wrong: outlier rule, Huber's M-estimate, NNLS."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from thinktime.errors import InputError
from thinktime.stats import arguments
from thinktime.stats.regression.iterative_refinement import Chunks, refine
from thinktime.stats.regression.least_squares import Fit, LeastSquares

Matrix = NDArray[np.float64]

NEAR = 0.2
"""Rows whose residual is within this fraction of the limit give the density of rows there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trimmed:
    """Fit without outliers, which classifies each row in the same way on a later pass."""

    first: Fit
    """Fit of all rows."""
    limit: float
    """Largest residual of the first fit that is no outlier."""
    rows: LeastSquares
    """The rows kept."""
    fit: Fit
    """Fit of the rows kept."""
    outliers: int
    positive: int
    """Rows dropped, and how many of them lay above the first fit."""
    drag: Matrix
    """Matrix D of `carried`: shift of the second fit's :math:`X'r` for a change of the first fit's."""

    def kept(self, x: Matrix, y: Matrix) -> NDArray[np.bool_]:
        """True for each of these rows that is no outlier."""
        result: NDArray[np.bool_] = np.abs(_residuals(self.first, x, y)) <= self.limit
        return result

    def residuals(self, x: Matrix, y: Matrix) -> Matrix:
        """Residuals of these rows, outliers or not, against the second fit."""
        return _residuals(self.fit, x, y)

    def carried(self, x: Matrix, y: Matrix) -> Matrix:
        r"""Contribution of the errors of these rows, outliers too, to the second fit by way of the first.

        The first fit decides which rows the second one uses. To first order the second is

        .. math:: b_2 - \beta = (X_2'X_2)^{-1} \sum \big(x\, r\, 1_{kept} + D\, x\, r_1\big), \qquad
                  D = L \sum_t x_t x_t' \{f_t(L) + f_t(-L)\} \; (X'X)^{-1}

        with L the limit and f the density of a row's error there (as Welsh and Ronchetti 2002, Journal of
        Statistical Planning and Inference 103, 287, for one-step estimators); this is the second term, one
        row for each. Without it intervals ignore that rows were dropped, and are too narrow.
        """
        result: Matrix = (x * _residuals(self.first, x, y)[:, None]) @ self.drag.T
        return result


def drop_outliers(first: Fit, chunks: Chunks, threshold: float = 2.5, *, as_printed: bool = False) -> Trimmed:
    """Fit of the rows whose residual does not exceed `threshold` times s of the first fit.

    The rule of Bard (1971), with 2.5 s and one refit. It is not repeated: a second pass would cut into the
    body of the distribution.

    Parameters
    ----------
    first : Fit
        Fit of all rows.
    chunks : callable
        Starts a pass over the same rows, with the columns of `first`.
    threshold : float
        Multiples of s.
    as_printed : bool
        s with the divisor of equation 6 as printed, see `Fit.residual_deviation`.

    Raises
    ------
    InputError
        There are no degrees of freedom, or no row is kept.
    """
    arguments.record(first, Fit, "first")
    if not callable(chunks):
        raise TypeError(
            f"chunks is {arguments.shown(chunks)}; give a function that starts a pass over the rows"
        )
    threshold = arguments.number(threshold, "threshold", low=0.0)
    limit = threshold * first.residual_deviation(as_printed=as_printed)
    columns = len(first.coefficients)
    rows, outliers, positive, edge = LeastSquares(columns), 0, 0, np.zeros((columns, columns))
    for x, y in chunks():
        residuals = _residuals(first, x, y)
        kept = np.abs(residuals) <= limit
        outliers += int(np.count_nonzero(~kept))
        positive += int(np.count_nonzero(residuals > limit))
        rows.absorb(x[kept], y[kept])
        near = x[np.abs(np.abs(residuals) - limit) < NEAR * limit]
        edge += near.T @ near / (2.0 * NEAR)

    def kept_rows() -> Iterator[tuple[Matrix, Matrix]]:
        for x, y in chunks():
            inside = np.abs(_residuals(first, x, y)) <= limit
            yield x[inside], y[inside]

    fit = refine(rows, rows.solve(), kept_rows)
    return Trimmed(
        first=first,
        limit=limit,
        rows=rows,
        fit=fit,
        outliers=outliers,
        positive=positive,
        drag=edge @ first.unscaled_covariance,
    )


def _residuals(fit: Fit, x: Matrix, y: Matrix) -> Matrix:
    result: Matrix = y - x @ np.nan_to_num(fit.coefficients, nan=0.0)
    return result


HUBER_K = 1.345
"""95 % efficient for normal errors (Huber, *Robust Statistics*, 7.8)."""
STEPS_MAX = 100
STEP_BELOW = 1e-8


def non_negative(rows: LeastSquares, keep: Sequence[int] | None = None) -> Matrix:
    """Coefficients of the least-squares fit under the constraint that none is negative.

    Solved on the triangular factor, which has the same residual squares but for a constant (Lawson and
    Hanson, *Solving Least Squares Problems*, chapter 23).
    """
    from scipy import optimize

    if not arguments.record(rows, LeastSquares, "rows").n:
        raise InputError("rows has no rows to fit; absorb some first")
    triangle, projected, _ = rows.triangle(keep)
    lengths = np.linalg.norm(triangle, axis=0)
    lengths[lengths == 0.0] = 1.0
    result: Matrix = optimize.nnls(triangle / lengths, projected)[0] / lengths
    return result


def huber(x: Matrix, y: Matrix) -> Matrix:
    r"""Huber's M-estimate by iteratively reweighted least squares.

    Weights :math:`\min(1, k s / |r|)` with k = 1.345 and s = median(\|r\|) / 0.6745, so that a single
    interval with unmeasured activity has little influence. The scale is about zero, where statsmodels' RLM
    centres the residuals' median first: coefficients differ by up to 5e-3.

    Parameters
    ----------
    x : array of shape (n, columns)
    y : array of shape (n,)

    Raises
    ------
    InputError
        Shapes do not fit, there are no rows, or a value is not finite.
    TypeError
        An argument is not made of numbers.
    """
    x, y = arguments.numeric(x, "x"), arguments.numeric(y, "y")
    coefficients = LeastSquares.of(x, y).solve().coefficients
    for _ in range(STEPS_MAX):
        residuals = np.abs(y - x @ np.nan_to_num(coefficients))
        scale = float(np.median(residuals)) / float(special.ndtri(0.75))
        if scale == 0.0:
            break
        weights = np.minimum(1.0, HUBER_K * scale / np.maximum(residuals, 1e-300))
        previous, coefficients = coefficients, LeastSquares.of(x, y, weights).solve().coefficients
        change = np.nanmax(np.abs(coefficients - previous) / np.maximum(np.abs(coefficients), 1e-300))
        if change < STEP_BELOW:
            break
    return coefficients
