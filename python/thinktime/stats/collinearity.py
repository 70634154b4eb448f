"""How far the columns of a regression can be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thinktime.stats.least_squares import LeastSquares

__all__ = ["Collinearity", "diagnose"]


@dataclass(frozen=True, slots=True)
class Collinearity:
    """Diagnosis of the columns of X.

    Parameters
    ----------
    condition_number : float
        Largest over smallest singular value of X with columns scaled to length one; above 30 is strong
        dependence (Belsley, Kuh and Welsch 1980, *Regression Diagnostics*, 3.2).
    variance_inflation : tuple of float
        :math:`1 / (1 - R_j^2)` of each column on the others; 1 for the constant.
    """

    condition_number: float
    variance_inflation: tuple[float, ...]


def diagnose(rows: LeastSquares, keep: Sequence[int]) -> Collinearity:
    """Diagnose the columns `keep`, the first of which is the constant."""
    triangle = rows.triangle(keep)[0]
    lengths = np.linalg.norm(triangle, axis=0)
    if not (lengths > 0.0).all():
        return Collinearity(float("inf"), tuple(float("inf") for _ in keep))
    singular = np.linalg.svd(triangle / lengths, compute_uv=False)
    condition = float(singular[0] / singular[-1]) if singular[-1] > 0.0 else float("inf")
    inflation = [1.0]
    for at in range(1, len(keep)):
        others = [column for place, column in enumerate(keep) if place != at]
        # The last pivot is the length of what a column has beyond those before it.
        own = abs(float(rows.triangle([*others, keep[at]])[0][-1, -1]))
        alone = abs(float(rows.triangle([keep[0], keep[at]])[0][-1, -1]))
        inflation.append((alone / own) ** 2 if own > 0.0 else float("inf"))
    return Collinearity(condition, tuple(inflation))
