"""Moving-block bootstrap: resampling that keeps what follows what."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from thinktime.stats import critical
from thinktime.stats.least_squares import LeastSquares

__all__ = ["block_length", "block_presence", "coefficient_intervals", "coefficients"]

Matrix = NDArray[np.float64]


def block_length(n: int) -> int:
    """Length of a block: n^(1/3) times two, the order that is best for a variance (Künsch 1989)."""
    return max(1, min(math.ceil(2.0 * n ** (1.0 / 3.0)), n // 4)) if n >= 4 else 1


def coefficients(
    x: Matrix, y: Matrix, *, block: int, replications: int = 999, seed: int = 1
) -> tuple[Matrix, Matrix]:
    r"""Least-squares coefficients of resampled rows.

    Rows (x, y) are drawn in blocks of `block` adjoining rows, any of which may start a block (Künsch
    1989, Annals of Statistics 17, 1217; for regressions Fitzenberger 1998, Journal of Econometrics 82,
    235). Each replication solves

    .. math:: b^* = b + R^{-1} \Big(\sum z z'\Big)^{-1} \sum z r, \qquad z = R^{-T} x

    on sums over blocks, so that its cost does not depend on n.

    Returns
    -------
    (coefficients, replicated) : arrays of shape (columns,) and (replications, columns)

    Raises
    ------
    ValueError
        The rows leave no degrees of freedom or columns are aliased.
    """
    rows = LeastSquares(x.shape[1])
    rows.absorb(x, y)
    fit = rows.solve()
    if fit.aliased or fit.degrees < 1:
        raise ValueError("a bootstrap needs independent columns and more rows than columns")
    inverse = np.linalg.inv(rows.triangle()[0])
    z = x @ inverse
    columns = x.shape[1]
    augmented = np.column_stack([z, y - x @ fit.coefficients])
    products = (z[:, :, None] * augmented[:, None, :]).reshape(len(y), -1)
    running = np.vstack([np.zeros(products.shape[1]), np.cumsum(products, axis=0)])
    blocks = running[block:] - running[:-block]
    count = math.ceil(len(y) / block)
    random = np.random.default_rng(seed)
    sums = np.array([blocks[random.integers(0, len(blocks), count)].sum(axis=0) for _ in range(replications)])
    sums = sums.reshape(replications, columns, columns + 1)
    # A resample may lack all rows that tell a column: the shortest solution then stands for it.
    inverted = np.linalg.pinv(sums[:, :, :-1], rcond=1e-10, hermitian=True)
    steps = np.einsum("rij,rj->ri", inverted, sums[:, :, -1])
    replicated: Matrix = fit.coefficients + steps @ inverse.T
    return fit.coefficients, replicated


def coefficient_intervals(
    x: Matrix,
    y: Matrix,
    level: float = 0.95,
    *,
    block: int | None = None,
    replications: int = 999,
    seed: int = 1,
) -> tuple[Matrix, Matrix]:
    """Lower and upper ends of the coefficients' intervals by moving-block bootstrap.

    Percentiles of the replications, each end's distance from the estimate widened by t over z for the
    number of blocks: a bootstrap of few blocks knows its own spread no better than that.
    """
    block = block_length(len(y)) if block is None else block
    estimate, replicated = coefficients(x, y, block=block, replications=replications, seed=seed)
    tail = (1.0 - level) / 2.0
    degrees = max(1.0, len(y) / block - 1.0)
    widening = critical.student_t(level, degrees) / critical.normal(level)
    widening *= math.sqrt((degrees + 1.0) / degrees)
    low, high = np.quantile(replicated, [tail, 1.0 - tail], axis=0)
    return estimate + (low - estimate) * widening, estimate + (high - estimate) * widening


def block_presence(
    positions: NDArray[np.int64], n: int, block: int, random: np.random.Generator
) -> NDArray[np.bool_]:
    """Which of `positions` (growing, 0 to n - 1) are in one resample of n rows in blocks."""
    starts = np.sort(random.integers(0, max(1, n - block + 1), math.ceil(n / block)))
    # The last block that starts at or before a position holds it if it reaches that far.
    before = np.searchsorted(starts, positions, side="right") - 1
    return (before >= 0) & (positions < starts[np.maximum(before, 0)] + block)
