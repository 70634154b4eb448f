"""Selection of the columns of a regression: forward and stepwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thinktime.errors import InputError
from thinktime.stats import arguments
from thinktime.stats.regression.least_squares import LeastSquares


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Entry of a column with its F; or removal of one, with the F that was left."""

    column: int
    f: float
    removed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """Column that was not selected."""

    column: int
    f: float | None
    """Its F at the end; None where it was not tested."""
    tolerance: float
    """Fraction of its variance that the selected columns do not explain, 0 to 1."""
    negative: bool
    """True if its coefficient would be negative."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Selected columns in order of entry, and the others in the order given."""

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
    r"""Columns selected one at a time, each reducing the residual squares most, until none is significant.

    .. math:: F = \frac{S_k - S_{k+1}}{S_{k+1} / (n - k - 1)}

    with k coefficients before (Draper and Smith, *Applied Regression Analysis*, chapter 15; Bard 1971,
    page and level of entry not given). A column enters only if F is at least `f_to_enter` and at least
    the fraction `tolerance` of its variance is not explained by the others: of two rates that move together,
    the one that explains more enters, and the other would only make both costs uncertain.

    Limitations: the F is that of independent errors. Under autocorrelation it is too large, hence a column
    that enters may still have an interval that includes zero; `separation.choose` allows for it.

    Parameters
    ----------
    rows : LeastSquares
        All rows with all columns.
    candidates : sequence of int
        Columns to choose from.
    constant : int
        Column of ones, always in.
    f_to_enter : float
        Smallest F at which a column enters.
    tolerance : float
        Smallest fraction of its variance that columns selected before must leave unexplained.
    positive : bool
        Select a column only if its coefficient is positive when it enters: where coefficients are costs, a
        negative one shows that the column competes with the dependent variable and is no cost.

    Raises
    ------
    InputError
        A column does not exist, or a number is out of range.
    TypeError
        An argument is of the wrong kind.
    """
    candidates = _checked(rows, candidates, constant, (f_to_enter, tolerance))
    chosen, left, steps = [constant], list(candidates), []
    while left:
        step = _best(rows, chosen, left, tolerance=tolerance, positive=positive)
        if step is None or step.f < f_to_enter:
            break
        steps.append(step)
        chosen.append(step.column)
        left.remove(step.column)
    current = rows.triangle(chosen)[2]
    return Selection(
        steps=tuple(steps),
        rejected=tuple(_rejection(rows, chosen, column, current, tolerance) for column in left),
    )


def stepwise(
    rows: LeastSquares,
    candidates: Sequence[int],
    *,
    constant: int = 0,
    f_to_enter: float = 4.0,
    f_to_remove: float = 3.9,
    tolerance: float = 0.1,
) -> Selection:
    r"""Columns selected as by `forward`, with columns removed that later ones have made useless.

    A column is removed while its F beyond all other selected columns,

    .. math:: F = \frac{S_{-j} - S}{S / (n - k - 1)}

    is below `f_to_remove` (Efroymson 1960, in Ralston and Wilf, *Mathematical Methods for Digital
    Computers*, chapter 17). Steps are in the order in which they were made; the selected columns are those
    whose last step was not a removal.

    Parameters
    ----------
    rows, candidates, constant, f_to_enter, tolerance
        As in `forward`.
    f_to_remove : float
        F below which a column is removed; less than `f_to_enter`, or a column could enter and leave for ever.

    Raises
    ------
    InputError
        `f_to_remove` is not less than `f_to_enter`, or as for `forward`.
    TypeError
        An argument is of the wrong kind.
    """
    candidates = _checked(rows, candidates, constant, (f_to_enter, tolerance))
    f_to_remove = arguments.number(f_to_remove, "f_to_remove", low=0.0)
    if not f_to_remove < f_to_enter:
        raise InputError(
            f"f_to_remove is {f_to_remove:g} and f_to_enter {f_to_enter:g}; give an F to remove that is less"
        )
    kept: list[int] = []
    steps: list[Step] = []
    while True:
        left = [column for column in candidates if column not in kept]
        taken = _best(rows, [constant, *kept], left, tolerance=tolerance, positive=False)
        if taken is None or taken.f < f_to_enter:
            break
        steps.append(taken)
        kept.append(taken.column)
        steps += _removed(rows, constant, kept, f_to_remove)
    chosen = [constant, *kept]
    current = rows.triangle(chosen)[2]
    left = [column for column in candidates if column not in kept]
    return Selection(
        steps=tuple(steps),
        rejected=tuple(_rejection(rows, chosen, column, current, tolerance) for column in left),
    )


def _checked(
    rows: LeastSquares, candidates: Sequence[int], constant: int, limits: tuple[float, float]
) -> list[int]:
    """Candidates, checked with the other arguments of both selections."""
    if not arguments.record(rows, LeastSquares, "rows").n:
        raise InputError("rows has no rows to fit; absorb some first")
    last = rows.columns - 1
    arguments.whole(constant, "constant", most=last)
    f_to_enter, tolerance = limits
    arguments.number(f_to_enter, "f_to_enter", low=0.0)
    arguments.number(tolerance, "tolerance", low=0.0, high=1.0)
    items = arguments.sequence(candidates, "candidates", "a list of columns")
    return [arguments.whole(column, "candidates", most=last) for column in items]


def _removed(rows: LeastSquares, constant: int, kept: list[int], f_to_remove: float) -> list[Step]:
    """Removals from `kept` of columns that have become useless, the least useful first."""
    steps = []
    while len(kept) > 1:
        current = rows.triangle([constant, *kept])[2]
        degrees = rows.n - len(kept) - 1
        worth = [
            (
                _f(
                    rows.triangle([constant, *(other for other in kept if other != column)])[2],
                    current,
                    degrees,
                ),
                column,
            )
            for column in kept
        ]
        least, column = min(worth)
        if least >= f_to_remove:
            break
        kept.remove(column)
        steps.append(Step(column=column, f=least, removed=True))
    return steps


def _best(
    rows: LeastSquares, chosen: list[int], left: Sequence[int], *, tolerance: float, positive: bool
) -> Step | None:
    """Column that reduces the residual squares most, with its F; None where none may enter."""
    current = rows.triangle(chosen)[2]
    options = [(rows.triangle([*chosen, column]), column) for column in left]
    # R has a positive diagonal: the last coefficient has the sign of the last entry of Q'y.
    open_to = [
        (rest, column)
        for (_, projected, rest), column in options
        if _tolerance(rows, chosen, column) >= tolerance and not (positive and projected[-1] <= 0.0)
    ]
    degrees = rows.n - len(chosen) - 1
    if not open_to or degrees < 1:
        return None
    rest, best = min(open_to)
    return Step(column=best, f=_f(current, rest, degrees))


def _rejection(
    rows: LeastSquares, chosen: list[int], column: int, current: float, tolerance: float
) -> Rejection:
    left = _tolerance(rows, chosen, column)
    degrees = rows.n - len(chosen) - 1
    if left < tolerance or degrees < 1:
        return Rejection(column=column, f=None, tolerance=left, negative=False)
    _, projected, rest = rows.triangle([*chosen, column])
    return Rejection(
        column=column, f=_f(current, rest, degrees), tolerance=left, negative=bool(projected[-1] < 0.0)
    )


def _f(before: float, after: float, degrees: int) -> float:
    return (before - after) / (after / degrees) if after > 0.0 else float("inf")


def _tolerance(rows: LeastSquares, chosen: list[int], column: int) -> float:
    """Fraction of the variance of `column` about its mean that the chosen columns leave."""
    left = abs(float(np.diagonal(rows.triangle([*chosen, column])[0])[-1]))
    alone = abs(float(np.diagonal(rows.triangle([chosen[0], column])[0])[-1]))
    return (left / alone) ** 2 if alone > 0.0 else 0.0
