"""Iterative refinement: further passes over the rows that restore the digits of a least-squares solution.

QR loses the digits of the condition number, and of its square times the size of the residuals: eight of
sixteen on NIST's Wampler sets. The loss occurs in the rounding of residuals. With residuals in twice the
working precision, corrections by the existing factor restore the digits.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from thinktime.stats.regression.least_squares import Fit, LeastSquares

Matrix = NDArray[np.float64]
Chunks = Callable[[], Iterable[tuple[Matrix, Matrix]]]
"""Starts a pass over all rows: (x, y) a chunk."""

SPLITTER = 134217729.0  # 2^27 + 1
STEPS_MAX = 10
HUGE = 2.0**996
"""Values beyond it would overflow when they are split."""
CONDITION_LEAST = 100.0
"""Below it QR loses at most four of sixteen digits, and further passes would gain next to nothing."""


def refine(rows: LeastSquares, fit: Fit, chunks: Chunks) -> Fit:
    r"""Fit with nearly all digits: `fit`, the unweighted solution of `rows`, corrected by further passes.

    Corrected seminormal equations (Björck 1987, Linear Algebra and its Applications 88, 31) with
    residuals and their products in twice the working precision (as Demmel, Hida, Riedy and Li 2009, ACM
    Transactions on Mathematical Software 35, 28):

    .. math:: R'R\, \delta = X'(y - X b), \qquad b \leftarrow b + \delta

    until a correction is no longer smaller than the one before; usually two passes.

    Parameters
    ----------
    rows : LeastSquares
    fit : Fit
        Solution of `rows` for all columns. It is returned unchanged if columns are aliased, or so far from
        dependent (condition number below 100) that nothing was lost.
    chunks : callable
        Starts a pass over the rows that `rows` absorbed, in any order.
    """
    if fit.aliased or fit.n == 0:
        return fit
    triangle = rows.triangle()[0]
    if np.linalg.cond(triangle / np.linalg.norm(triangle, axis=0)) < CONDITION_LEAST:
        return fit
    best, squares = fit.coefficients, fit.residual_squares
    before = math.inf
    for _ in range(STEPS_MAX):
        gradient, squares_here = _pass(best, chunks)
        if gradient is None:
            return fit
        squares = squares_here
        half = linalg.solve_triangular(triangle, gradient, trans="T")
        step = linalg.solve_triangular(triangle, half)
        size = float(np.max(np.abs(step) / np.maximum(np.abs(best), np.finfo(np.float64).tiny)))
        if not size < before / 2:
            break
        best, before = best + step, size
    return dataclasses.replace(fit, coefficients=best, residual_squares=squares)


def _pass(coefficients: Matrix, chunks: Chunks) -> tuple[Matrix | None, float]:
    """Gradient X'(y - Xb) with an error of one rounding, and the sum of squared residuals."""
    parts: list[list[float]] = [[] for _ in coefficients]
    squares: list[float] = []
    for x, y in chunks():
        if max(np.abs(x).max(initial=0.0), np.abs(y).max(initial=0.0)) > HUGE:
            return None, math.nan
        high, low = _residuals(x, y, coefficients)
        squares.append(float(high @ high))
        for column, terms in zip(x.T, parts, strict=True):
            product, error = _product(column, high)
            terms += _total(product, error + column * low)
    return np.array([math.fsum(terms) for terms in parts]), math.fsum(squares)


def _residuals(x: Matrix, y: Matrix, coefficients: Matrix) -> tuple[Matrix, Matrix]:
    """Residuals y - X b, each the unevaluated sum of two numbers."""
    high, low = y, np.zeros_like(y)
    for column, coefficient in zip(x.T, coefficients, strict=True):
        product, error = _product(column, np.full(len(y), -coefficient))
        high, lost = _sum(high, product)
        low = low + (lost + error)
    return _sum(high, low)


def _total(high: Matrix, low: Matrix) -> tuple[float, float]:
    """Sum of all as two numbers: halves are added to halves, and rounding errors are kept."""
    while len(high) > 1:
        half = len(high) // 2
        rest_high, rest_low = high[2 * half :], low[2 * half :]
        total, lost = _sum(high[:half], high[half : 2 * half])
        high = np.concatenate([total, rest_high])
        low = np.concatenate([low[:half] + low[half : 2 * half] + lost, rest_low])
    return (float(high[0]), float(low[0])) if len(high) else (0.0, 0.0)


def _sum(a: Matrix, b: Matrix) -> tuple[Matrix, Matrix]:
    """Rounded sum and its error (Knuth)."""
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)


def _product(a: Matrix, b: Matrix) -> tuple[Matrix, Matrix]:
    """Rounded product and its error (Dekker)."""
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _halves(a: Matrix) -> tuple[Matrix, Matrix]:
    scaled = SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high
