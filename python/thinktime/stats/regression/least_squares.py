r"""Least squares on streams of rows, by QR factors that merge.

A chunk of rows enters as the triangular factor of :math:`[X\ y]`; two factors stacked and factored
again give the factor of both. Memory is that of one chunk, chunks may come in any order and from
anywhere, and nothing is squared: the digits lost are those of the condition number, not of its square
(Golub and Van Loan, *Matrix Computations*, 5.3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from thinktime.errors import InputError
from thinktime.stats import arguments

Matrix = NDArray[np.float64]

CACHED_ROWS = 512
ALIASED_BELOW = 1e-13
"""A column of which less than this fraction is left after removing the others adds only rounding error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Least-squares solution."""

    coefficients: Matrix
    """One per column; nan for an aliased column, whose effect cannot be separated from those before it."""
    aliased: tuple[int, ...]
    """Positions of columns that are linear combinations of columns before them, to working precision."""
    n: int
    """Number of rows."""
    residual_squares: float
    """Sum of squared residuals."""
    total_squares: float
    """Sum of squared deviations of y from its mean."""
    unscaled_covariance: Matrix
    """:math:`(X'X)^{-1}`, nan in rows and columns of aliased columns."""

    @property
    def rank(self) -> int:
        """Number of coefficients that were estimated."""
        return len(self.coefficients) - len(self.aliased)

    @property
    def degrees(self) -> int:
        """Degrees of freedom of the residuals: n minus the number of coefficients."""
        return self.n - self.rank

    @property
    def r_squared(self) -> float:
        """1 - residual over total squares (Bard 1971, equation 5); meaningful when a constant is fitted."""
        if self.total_squares <= 0:
            return 0.0
        explained = 1.0 - self.residual_squares / self.total_squares
        # Where the constant is alone, what is left is rounding.
        return explained if abs(explained) > self.n * np.finfo(float).eps else 0.0

    def residual_deviation(self, *, as_printed: bool = False) -> float:
        r"""Standard deviation s of the residuals.

        With m request types besides the constant, :math:`\sqrt{\sum r^2 / (n - m - 1)}`, unbiased for the
        variance. Bard (1971), equation 6, prints :math:`n - m` though m + 1 coefficients are fitted;
        `as_printed` gives that one, for recomputing the paper.

        Raises
        ------
        InputError
            There are no degrees of freedom left.
        """
        degrees = self.degrees + (1 if as_printed else 0)
        if degrees < 1:
            raise InputError(f"{self.n} rows for {self.rank} coefficients leave no degrees of freedom")
        return math.sqrt(self.residual_squares / degrees)

    def covariance(self) -> Matrix:
        """Covariance of the coefficients for independent errors of one variance."""
        scaled: Matrix = self.unscaled_covariance * self.residual_deviation() ** 2
        return scaled


class LeastSquares:
    """Accumulator of rows of X and y that can be solved at any time, for all columns or some.

    Add a column of ones for a constant. Two accumulators of the same columns merge into one of all their
    rows.

    Parameters
    ----------
    columns : int
        Number of columns of X.

    Examples
    --------
    >>> rows = LeastSquares(2)
    >>> rows.absorb([[1, 0], [1, 1], [1, 2]], [1, 3, 5])
    >>> [round(float(value), 9) for value in rows.solve().coefficients]
    [1.0, 2.0]
    """

    def __init__(self, columns: int) -> None:
        self.columns = arguments.whole(columns, "columns")
        self.n = 0
        self._factor: Matrix = np.zeros((0, self.columns + 1))
        self._weight = 0.0
        self._mean = 0.0
        self._squares = 0.0

    @classmethod
    def of(cls, x: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None) -> LeastSquares:
        """Accumulator that has absorbed these rows; see `absorb`."""
        matrix = arguments.numeric(x, "x")
        if matrix.ndim != 2:
            raise InputError(f"x has the shape {matrix.shape}; give a table of two axes")
        rows = cls(matrix.shape[1])
        rows.absorb(matrix, y, weights)
        return rows

    def absorb(self, x: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None) -> None:
        """Add rows.

        Parameters
        ----------
        x : array of shape (rows, columns)
        y : array of shape (rows,)
        weights : array of shape (rows,), optional
            Relative precision of each row: inverse of its error variance.

        Raises
        ------
        InputError
            Shapes do not fit, a value is not finite, or a weight is negative.
        TypeError
            An argument is not made of numbers.
        """
        matrix, target = arguments.numeric(x, "x"), arguments.numeric(y, "y")
        if matrix.ndim != 2 or matrix.shape[1] != self.columns or target.shape != matrix.shape[:1]:
            raise InputError(
                f"x has the shape {matrix.shape} and y {target.shape}; give rows of {self.columns} columns, "
                "and one y for each"
            )
        rows = np.column_stack([matrix, target])
        if not np.isfinite(rows).all():
            raise InputError("x or y holds a value that is not finite; leave out rows that were not measured")
        weight = np.ones(len(target)) if weights is None else arguments.numeric(weights, "weights")
        if weight.shape != target.shape or not ((weight >= 0) & np.isfinite(weight)).all():
            raise InputError("weights is not one finite number of at least 0 per row; give such numbers")
        if not len(target) or not weight.any():
            return
        mean = float(np.average(target, weights=weight))
        squares = float(np.sum(weight * (target - mean) ** 2))
        scaled = rows if weights is None else rows * np.sqrt(weight)[:, None]
        self._join(scaled, len(target), float(weight.sum()), mean, squares)

    def merge(self, other: LeastSquares) -> None:
        """Add all rows that `other` has absorbed.

        Raises
        ------
        InputError
            `other` has another number of columns.
        TypeError
            `other` is no `LeastSquares`.
        """
        arguments.record(other, LeastSquares, "other")
        if other.columns != self.columns:
            raise InputError(f"other has {other.columns} columns; give one of {self.columns} columns")
        if other.n:
            self._join(other._factor, other.n, other._weight, other._mean, other._squares)

    def _join(self, rows: Matrix, n: int, weight: float, mean: float, squares: float) -> None:
        self._factor = _triangle(np.vstack([self._factor, rows]))
        total = self._weight + weight
        self._squares += squares + (mean - self._mean) ** 2 * self._weight * weight / total
        self._mean += (mean - self._mean) * weight / total
        self._weight = total
        self.n += n

    def triangle(self, keep: Sequence[int] | None = None) -> tuple[Matrix, Matrix, float]:
        """R of the columns `keep`, Q'y, and the residual sum of squares of the fit on them.

        A fit, a non-negative fit or a selection on R and Q'y equals the one on all rows.

        Raises
        ------
        InputError
            There is no such column.
        """
        kept = self._kept(keep)
        factor = _triangle(self._factor[:, [*kept, self.columns]])
        size = len(kept)
        padded = np.zeros((size + 1, size + 1))
        padded[: len(factor)] = factor
        return padded[:size, :size], padded[:size, size], float(padded[size, size] ** 2)

    def solve(self, keep: Sequence[int] | None = None) -> Fit:
        """Fit of y on the columns `keep`, all by default; coefficients are in the order of `keep`.

        Raises
        ------
        InputError
            No rows were absorbed, or there is no such column.
        """
        if not self.n:
            raise InputError("there are no rows to fit; absorb some first")
        kept = self._kept(keep)
        present, aliased = self._independent(kept)
        triangle, projected, rest = self.triangle([kept[index] for index in present])
        coefficients = np.full(len(kept), np.nan)
        covariance = np.full((len(kept), len(kept)), np.nan)
        if present:
            coefficients[present] = linalg.solve_triangular(triangle, projected)
            inverse = linalg.solve_triangular(triangle, np.eye(len(present)))
            covariance[np.ix_(present, present)] = inverse @ inverse.T
        return Fit(
            coefficients=coefficients,
            aliased=tuple(aliased),
            n=self.n,
            residual_squares=rest,
            total_squares=self._squares,
            unscaled_covariance=covariance,
        )

    def _kept(self, keep: Sequence[int] | None) -> list[int]:
        if keep is None:
            return list(range(self.columns))
        items = arguments.sequence(keep, "keep", "a list of columns")
        return [arguments.whole(item, "keep", most=self.columns - 1) for item in items]

    def _independent(self, kept: list[int]) -> tuple[list[int], list[int]]:
        """Positions in `kept` of columns independent of those before them, and of the others."""
        factor = self._factor[:, kept]
        lengths = np.linalg.norm(factor, axis=0)
        basis: list[Matrix] = []
        present: list[int] = []
        aliased: list[int] = []
        for index in range(len(kept)):
            if lengths[index] == 0.0:
                aliased.append(index)
                continue
            rest = factor[:, index] / lengths[index]
            for _ in range(2):  # twice is enough for orthogonality to working precision
                for direction in basis:
                    rest = rest - direction * (direction @ rest)
            left = float(np.linalg.norm(rest))
            if left > ALIASED_BELOW and len(present) < len(factor):
                basis.append(rest / left)
                present.append(index)
            else:
                aliased.append(index)
        return present, aliased


def _triangle(rows: Matrix) -> Matrix:
    """Triangular factor of `rows` with a diagonal that is not negative, so that it is unique.

    Many rows are factored in pieces that stay in the cache, and the factors of the pieces together.
    """
    blocks = len(rows) // CACHED_ROWS
    if blocks > 1 and rows.shape[1] < CACHED_ROWS // 4:
        full = rows[: blocks * CACHED_ROWS].reshape(blocks, CACHED_ROWS, rows.shape[1])
        factors = np.asarray(np.linalg.qr(full, mode="r")).reshape(-1, rows.shape[1])
        return _triangle(np.vstack([factors, rows[blocks * CACHED_ROWS :]]))
    factor = np.asarray(np.linalg.qr(rows, mode="r"), dtype=np.float64)
    signs = np.where(np.diagonal(factor) < 0.0, -1.0, 1.0)
    unique: Matrix = factor * signs[:, None]
    return unique
