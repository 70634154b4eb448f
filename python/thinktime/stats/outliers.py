"""The outlier rule: fit, drop what lies too far off, fit once more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.stats.least_squares import Fit, LeastSquares
from thinktime.stats.refinement import refine

__all__ = ["Trimmed", "absorb_all", "drop_outliers"]

CHUNK_ROWS = 1 << 16

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Trimmed:
    """A fit without outliers.

    Parameters
    ----------
    rows : LeastSquares
        The rows kept.
    fit : Fit
        Of the rows kept.
    residuals : ndarray
        Of all rows against the second fit.
    kept : ndarray of bool
        False for outliers.
    positive : int
        Number of outliers whose residual of the first fit was positive.
    """

    rows: LeastSquares
    fit: Fit
    residuals: Matrix
    kept: NDArray[np.bool_]
    positive: int


def absorb_all(x: Matrix, y: Matrix) -> LeastSquares:
    """All rows of x and y, absorbed in chunks."""
    rows = LeastSquares(x.shape[1])
    for part_x, part_y in _chunks(x, y):
        rows.absorb(part_x, part_y)
    return rows


def _chunks(x: Matrix, y: Matrix) -> Iterator[tuple[Matrix, Matrix]]:
    for first in range(0, len(y), CHUNK_ROWS):
        yield x[first : first + CHUNK_ROWS], y[first : first + CHUNK_ROWS]


def drop_outliers(x: Matrix, y: Matrix, threshold: float = 2.5, *, as_printed: bool = False) -> Trimmed:
    """Fit, drop every row whose residual exceeds `threshold` times s, and fit once on the rest.

    The rule of Bard (1971), with 2.5 s and one refit. It is not repeated: a second pass would
    cut into the body of the distribution.

    Parameters
    ----------
    x, y : arrays
        Columns with the constant, and the target.
    threshold : float
        Multiples of s.
    as_printed : bool
        s with the divisor of equation 6 as printed, see `Fit.residual_deviation`.

    Raises
    ------
    ValueError
        There are no degrees of freedom.
    """
    rows = absorb_all(x, y)
    first = rows.solve()
    residuals = y - _predict(x, first)
    limit = threshold * first.residual_deviation(as_printed=as_printed)
    kept = np.abs(residuals) <= limit
    positive = int(np.count_nonzero(~kept & (residuals > 0)))
    x_kept, y_kept = x[kept], y[kept]
    if not kept.all():
        rows = absorb_all(x_kept, y_kept)
    second = refine(rows, rows.solve(), lambda: _chunks(x_kept, y_kept))
    return Trimmed(rows, second, y - _predict(x, second), kept, positive)


def _predict(x: Matrix, fit: Fit) -> Matrix:
    predicted: Matrix = x @ np.nan_to_num(fit.coefficients, nan=0.0)
    return predicted
