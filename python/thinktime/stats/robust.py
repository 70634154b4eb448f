"""Fits that differ from least squares where least squares can go wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from thinktime.stats.least_squares import LeastSquares

__all__ = ["huber", "non_negative"]

Matrix = NDArray[np.float64]

HUBER_K = 1.345
"""95 % efficient for normal errors (Huber, *Robust Statistics*, 7.8)."""
STEPS_MAX = 100
STEP_BELOW = 1e-8


def non_negative(rows: LeastSquares, keep: Sequence[int] | None = None) -> Matrix:
    """Coefficients of the least-squares fit in which none is negative.

    Solved on the triangular factor, which has the same residuals but for a constant (Lawson and Hanson,
    *Solving Least Squares Problems*, chapter 23).
    """
    from scipy import optimize

    triangle, projected, _ = rows.triangle(keep)
    lengths = np.linalg.norm(triangle, axis=0)
    lengths[lengths == 0.0] = 1.0
    result: Matrix = optimize.nnls(triangle / lengths, projected)[0] / lengths
    return result


def huber(x: Matrix, y: Matrix) -> Matrix:
    r"""Huber's M-estimate by iteratively reweighted least squares.

    Weights :math:`\min(1, k s / |r|)` with k = 1.345 and s = median(\|r\|) / 0.6745, so that one interval
    with unmeasured activity cannot pull a cost far.
    """
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
