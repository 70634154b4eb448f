"""Diagnosis of collinearity: how far the effects of the columns of a regression can be separated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thinktime.errors import InputError
from thinktime.stats import arguments
from thinktime.stats.regression.least_squares import LeastSquares


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    r"""Direction in which the columns hardly vary, with its share in the variance of each coefficient."""

    condition_index: float
    """Largest singular value of X, columns scaled to length one, over that of this direction."""
    proportions: tuple[float, ...]
    r"""Fraction of the variance of each coefficient that comes from this direction,

    .. math:: \pi_{kj} = \frac{v_{jk}^2 / \mu_k^2}{\sum_l v_{jl}^2 / \mu_l^2}

    Columns with more than a half at a condition index above 30 depend on each other (Belsley, Kuh and
    Welsch 1980, *Regression Diagnostics*, 3.2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collinearity:
    """Diagnosis of the columns of X."""

    condition_number: float
    """Largest over smallest singular value of X with columns scaled to length one; above 30 is strong
    dependence (Belsley, Kuh and Welsch 1980, *Regression Diagnostics*, 3.2)."""
    variance_inflation: tuple[float, ...]
    """:math:`1 / (1 - R_j^2)` of each column on the others; 1 for the constant."""
    dependencies: tuple[Dependency, ...]
    """By growing condition index; empty where a column is zero throughout."""


def diagnose(rows: LeastSquares, keep: Sequence[int]) -> Collinearity:
    """Condition number, variance inflation and near dependencies of the columns `keep` of `rows`.

    Parameters
    ----------
    rows : LeastSquares
    keep : sequence of int
        Columns, the constant first.

    Raises
    ------
    InputError
        A column does not exist, or no rows were absorbed.
    TypeError
        An argument is of the wrong kind.
    """
    keep = arguments.sequence(keep, "keep", "a list of columns")
    if not keep or not arguments.record(rows, LeastSquares, "rows").n:
        raise InputError("keep is empty, or no rows were absorbed; give columns of rows")
    triangle = rows.triangle(keep)[0]
    lengths = np.linalg.norm(triangle, axis=0)
    if not (lengths > 0.0).all():
        return Collinearity(
            condition_number=float("inf"),
            variance_inflation=tuple(float("inf") for _ in keep),
            dependencies=(),
        )
    _, singular, directions = np.linalg.svd(triangle / lengths)
    singular = np.maximum(singular, np.finfo(np.float64).tiny)
    shares = (directions / singular[:, None]) ** 2
    proportions = shares / shares.sum(axis=0)
    dependencies = tuple(
        Dependency(condition_index=float(singular[0] / value), proportions=tuple(row.tolist()))
        for value, row in zip(singular, proportions, strict=True)
    )
    inflation = [1.0]
    for index in range(1, len(keep)):
        others = [column for place, column in enumerate(keep) if place != index]
        # The last pivot is the length of the component of a column that the columns before it lack.
        left = abs(float(rows.triangle([*others, keep[index]])[0][-1, -1]))
        alone = abs(float(rows.triangle([keep[0], keep[index]])[0][-1, -1]))
        inflation.append((alone / left) ** 2 if left > 0.0 else float("inf"))
    return Collinearity(
        condition_number=dependencies[-1].condition_index,
        variance_inflation=tuple(inflation),
        dependencies=dependencies,
    )
