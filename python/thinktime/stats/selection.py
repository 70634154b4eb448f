"""Which columns belong into a regression: forward selection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thinktime.stats.least_squares import LeastSquares

__all__ = ["Rejection", "Selection", "Step", "forward"]


@dataclass(frozen=True, slots=True)
class Step:
    """A column that was taken, with the F at which it entered."""

    column: int
    f: float


@dataclass(frozen=True, slots=True)
class Rejection:
    """A column that was not taken.

    Parameters
    ----------
    column : int
    f : float or None
        Its F at the end; None where it was not tested.
    tolerance : float
        Part of its variance that the columns taken do not explain, 0 to 1.
    negative : bool
        Whether its coefficient would be negative.
    """

    column: int
    f: float | None
    tolerance: float
    negative: bool


@dataclass(frozen=True, slots=True)
class Selection:
    """Columns taken, in order, and columns left, in the order given."""

    steps: tuple[Step, ...]
    rejected: tuple[Rejection, ...]


def forward(
    rows: LeastSquares,
    candidates: Sequence[int],
    *,
    constant: int = 0,
    f_to_enter: float = 4.0,
    tolerance: float = 0.1,
    positive: bool = False,
) -> Selection:
    r"""Take the column that reduces the residual squares most, then the next, until none is significant.

    .. math:: F = \frac{S_k - S_{k+1}}{S_{k+1} / (n - k - 1)}

    with k coefficients before (Draper and Smith, *Applied Regression Analysis*, chapter 15; Bard 1971,
    page and level of entry not given). A column enters only if F is at least `f_to_enter` and at least
    the part `tolerance` of its variance is its own: of two rates that move together, the one that
    explains more is taken, and the other would only make both costs uncertain.

    The F is that of independent errors; under autocorrelation it is too large, hence a column that
    enters may still have an interval that holds zero.

    Parameters
    ----------
    rows : LeastSquares
        All rows with all columns.
    candidates : sequence of int
        Columns to choose from.
    constant : int
        Column of ones, always in.
    f_to_enter : float
        Least F at which a column is taken.
    tolerance : float
        Least part of its variance that must not be explained by columns taken before.
    positive : bool
        Take a column only if its coefficient is positive when it enters: where coefficients are costs, a
        negative one says that the column competes with what is explained, not what it costs.
    """
    chosen, left, steps = [constant], list(candidates), []
    current = rows.triangle(chosen)[2]
    while left:
        options = [(rows.triangle([*chosen, column]), column) for column in left]
        # R has a positive diagonal: the last coefficient has the sign of the last entry of Q'y.
        open_to = [
            (rest, column)
            for (_, projected, rest), column in options
            if _tolerance(rows, chosen, column) >= tolerance and not (positive and projected[-1] <= 0.0)
        ]
        degrees = rows.n - len(chosen) - 1
        if not open_to or degrees < 1:
            break
        rest, best = min(open_to)
        f = _f(current, rest, degrees)
        if f < f_to_enter:
            break
        steps.append(Step(best, f))
        chosen.append(best)
        left.remove(best)
        current = rest
    return Selection(
        tuple(steps), tuple(_rejection(rows, chosen, column, current, tolerance) for column in left)
    )


def _rejection(
    rows: LeastSquares, chosen: list[int], column: int, current: float, tolerance: float
) -> Rejection:
    own = _tolerance(rows, chosen, column)
    degrees = rows.n - len(chosen) - 1
    if own < tolerance or degrees < 1:
        return Rejection(column, None, own, False)
    _, projected, rest = rows.triangle([*chosen, column])
    return Rejection(column, _f(current, rest, degrees), own, bool(projected[-1] < 0.0))


def _f(before: float, after: float, degrees: int) -> float:
    return (before - after) / (after / degrees) if after > 0.0 else float("inf")


def _tolerance(rows: LeastSquares, chosen: list[int], column: int) -> float:
    """Part of the variance of `column` about its mean that is left after the chosen ones."""
    own = abs(float(np.diagonal(rows.triangle([*chosen, column])[0])[-1]))
    alone = abs(float(np.diagonal(rows.triangle([chosen[0], column])[0])[-1]))
    return (own / alone) ** 2 if alone > 0.0 else 0.0
