"""Moving-block bootstrap: resampling that keeps the order of adjoining rows."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from thinktime.errors import InputError
from thinktime.stats import arguments, critical_values
from thinktime.stats.regression.least_squares import Fit

Matrix = NDArray[np.float64]

CELLS_MAX = 1 << 15
"""Largest number of cells that have their own sums: 11 MB for six columns."""
BLOCKS_MAX = 1 << 12
"""Largest number of blocks in a resample; more would not improve the estimate of its spread."""
DRAWN_AT_ONCE = 1 << 17
"""Numbers of drawn blocks that are in memory at a time."""


def block_length(n: int) -> int:
    """Length of a block in rows: 2 n^(1/3), the best order for a variance (Künsch 1989)."""
    return max(1, min(math.ceil(2.0 * n ** (1.0 / 3.0)), n // 4)) if n >= 4 else 1


class BlockBootstrap:
    r"""Moving-block bootstrap of least-squares coefficients, streamed.

    Rows (x, y) are drawn in blocks of adjoining rows (Künsch 1989, Annals of Statistics 17, 1217; for
    regressions Fitzenberger 1998, Journal of Econometrics 82, 235). Each replication solves

    .. math:: b^* = b + R^{-1} \Big(\sum z z'\Big)^{-1} \sum z r, \qquad z = R^{-T} x

    on sums over blocks, so that its cost does not depend on n. Sums are kept by cells of adjoining rows:
    of one row each up to `CELLS_MAX` rows, so that any row may start a block; of more rows in a longer
    log, where blocks are whole cells, so that memory does not depend on n either. A block may span a gap
    in the record: the rows on both sides were recorded in that order.

    Parameters
    ----------
    fit : Fit
        Without aliased columns.
    triangle : array
        R of the rows that were fitted.
    rows : int, optional
        Number of rows to come, where they are more than were fitted.
    block : int, optional
        Rows in a block, rounded up to whole cells; see `block_length`.

    Raises
    ------
    InputError
        The rows leave no degrees of freedom, or columns are aliased.
    """

    def __init__(
        self, fit: Fit, triangle: Matrix, *, rows: int | None = None, block: int | None = None
    ) -> None:
        arguments.record(fit, Fit, "fit")
        triangle = arguments.table(triangle, "triangle")
        if fit.aliased or fit.degrees < 1:
            raise InputError("fit has aliased columns or no degrees of freedom; give one without")
        self._fit = fit
        columns = len(fit.coefficients)
        if triangle.shape != (columns, columns):
            raise InputError(f"triangle has the shape {triangle.shape}; give {(columns, columns)}")
        self._inverse = np.linalg.inv(triangle)
        self._n = fit.n if rows is None else rows
        self._cell = math.ceil(self._n / CELLS_MAX)
        cells = math.ceil(self._n / self._cell)
        wanted = block_length(self._n) if block is None else block
        self._held = min(cells, max(math.ceil(wanted / self._cell), math.ceil(cells / BLOCKS_MAX)))
        self._sums = np.zeros((cells, columns * (columns + 1)))
        self._seen = 0

    @property
    def block(self) -> int:
        """Rows in a block."""
        return self._held * self._cell

    def absorb(self, x: Matrix, residuals: Matrix, carried: Matrix | None = None) -> None:
        """Add rows in the order of time.

        Parameters
        ----------
        x : array of shape (rows, columns)
            Zeros in rows that were not fitted.
        residuals : array of shape (rows,)
            Zeros there.
        carried : array of shape (rows, columns), optional
            Further contribution of each row to :math:`x_t r_t`; see `robust.Trimmed.carried`.
        """
        if not len(residuals):
            return
        z = x @ self._inverse
        scores = z * residuals[:, None]
        if carried is not None:
            scores += carried @ self._inverse
        augmented = np.column_stack([z, scores])
        # The rest of a cell that was begun, then whole cells, then the beginning of the next cell.
        first = min(-self._seen % self._cell, len(residuals))
        full = (len(residuals) - first) // self._cell * self._cell
        for rows, cells in (
            (augmented[:first], 1),
            (augmented[first : first + full], full // self._cell),
            (augmented[first + full :], 1),
        ):
            if len(rows):
                self._add(rows.reshape(cells, -1, augmented.shape[1]))

    def _add(self, cells: Matrix) -> None:
        """Add rows of cells: (cells, rows of each, z and z r)."""
        columns = len(self._fit.coefficients)
        z = cells[:, :, :columns]
        squares = z.transpose(0, 2, 1) @ z
        start = self._seen // self._cell
        self._sums[start : start + len(cells), : columns**2] += squares.reshape(len(cells), -1)
        self._sums[start : start + len(cells), columns**2 :] += cells[:, :, columns:].sum(axis=1)
        self._seen += cells.shape[0] * cells.shape[1]

    def replicated(self, replications: int = 999, seed: int = 1) -> Matrix:
        """Coefficients of resampled rows, one row per replication."""
        columns = len(self._fit.coefficients)
        running = np.vstack([np.zeros(self._sums.shape[1]), np.cumsum(self._sums, axis=0)])
        blocks = running[self._held :] - running[: -self._held]
        count = math.ceil(self._n / self.block)
        random = np.random.default_rng(seed)
        drawn = np.zeros((replications, blocks.shape[1]))
        at_once = max(1, DRAWN_AT_ONCE // (count * blocks.shape[1]))
        for first in range(0, replications, at_once):
            rows = drawn[first : first + at_once]
            rows[:] = blocks[random.integers(0, len(blocks), (len(rows), count))].sum(axis=1)
        squares = drawn[:, : columns**2].reshape(replications, columns, columns)
        # A resample may lack all rows that determine a column: the shortest solution then stands for it.
        inverted = np.linalg.pinv(squares, rcond=1e-10, hermitian=True)
        steps = np.einsum("rij,rj->ri", inverted, drawn[:, columns**2 :])
        result: Matrix = self._fit.coefficients + steps @ self._inverse.T
        return result

    def intervals(
        self, level: float = 0.95, *, replications: int = 999, seed: int = 1
    ) -> tuple[Matrix, Matrix]:
        """Lower and upper ends of the coefficients' intervals.

        Percentiles of the replications, each end's distance from the estimate widened by t over z for
        the number of blocks: with few blocks the spread is itself uncertain.
        """
        estimate, replicated = self._fit.coefficients, self.replicated(replications, seed)
        tail = (1.0 - level) / 2.0
        degrees = max(1.0, self._n / self.block - 1.0)
        widening = critical_values.student_t(level, degrees) / critical_values.normal(level)
        widening *= math.sqrt((degrees + 1.0) / degrees)
        low, high = np.quantile(replicated, [tail, 1.0 - tail], axis=0)
        return estimate + (low - estimate) * widening, estimate + (high - estimate) * widening
