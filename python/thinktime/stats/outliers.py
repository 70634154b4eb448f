"""The outlier rule: fit, drop what lies too far off, fit once more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.stats.least_squares import Fit, LeastSquares
from thinktime.stats.refinement import Chunks, refine

__all__ = ["Trimmed", "drop_outliers"]

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Trimmed:
    """A fit without outliers, which knows each row again when it comes by once more.

    Parameters
    ----------
    first : Fit
        Of all rows.
    limit : float
        Largest residual of the first fit that is no outlier.
    rows : LeastSquares
        The rows kept.
    fit : Fit
        Of the rows kept.
    outliers, positive : int
        Rows dropped, and how many of them lay above the first fit.
    """

    first: Fit
    limit: float
    rows: LeastSquares
    fit: Fit
    outliers: int
    positive: int

    def kept(self, x: Matrix, y: Matrix) -> NDArray[np.bool_]:
        """Which of these rows are no outliers."""
        result: NDArray[np.bool_] = np.abs(_residuals(self.first, x, y)) <= self.limit
        return result

    def residuals(self, x: Matrix, y: Matrix) -> Matrix:
        """Residuals of these rows, outliers or not, against the second fit."""
        return _residuals(self.fit, x, y)


def drop_outliers(first: Fit, chunks: Chunks, threshold: float = 2.5, *, as_printed: bool = False) -> Trimmed:
    """Drop every row whose residual exceeds `threshold` times s of the first fit, and fit once on the rest.

    The rule of Bard (1971), with 2.5 s and one refit. It is not repeated: a second pass would
    cut into the body of the distribution.

    Parameters
    ----------
    first : Fit
        Of all rows.
    chunks : callable
        Starts a pass over the same rows, with the columns of `first`.
    threshold : float
        Multiples of s.
    as_printed : bool
        s with the divisor of equation 6 as printed, see `Fit.residual_deviation`.

    Raises
    ------
    ValueError
        There are no degrees of freedom, or no row is kept.
    """
    limit = threshold * first.residual_deviation(as_printed=as_printed)
    rows, outliers, positive = LeastSquares(len(first.coefficients)), 0, 0
    for x, y in chunks():
        residuals = _residuals(first, x, y)
        kept = np.abs(residuals) <= limit
        outliers += int(np.count_nonzero(~kept))
        positive += int(np.count_nonzero(residuals > limit))
        rows.absorb(x[kept], y[kept])

    def kept_rows() -> Iterator[tuple[Matrix, Matrix]]:
        for x, y in chunks():
            inside = np.abs(_residuals(first, x, y)) <= limit
            yield x[inside], y[inside]

    return Trimmed(first, limit, rows, refine(rows, rows.solve(), kept_rows), outliers, positive)


def _residuals(fit: Fit, x: Matrix, y: Matrix) -> Matrix:
    found: Matrix = y - x @ np.nan_to_num(fit.coefficients, nan=0.0)
    return found
