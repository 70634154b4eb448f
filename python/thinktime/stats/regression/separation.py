"""Selection of costs under correlated errors, with groups of columns that the data cannot separate."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.stats import arguments, critical_values
from thinktime.stats.regression.least_squares import LeastSquares
from thinktime.stats.regression.long_run import LongRunErrors

Matrix = NDArray[np.float64]

LEVEL = 0.05
"""Probability that any column without effect enters; and level at which one of a pair is needed."""
PLAINLY_NONE = 0.3
"""p above which a column is not looked at more closely."""
TAKEN = 0.9
"""Share of a column's variation, given the others, that another takes if both are always one group."""
TOLERANCE = 1e-6
"""Fraction of a column's variance that the others must leave for its coefficient to be computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Column that entered, with those that could stand in its place."""

    columns: tuple[int, ...]
    """The one that entered, then the others of its group."""
    f: float
    """F of the first given the other entries."""
    p: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Unchosen:
    """Column that did not enter."""

    column: int
    f: float | None
    """Its F given the entries; None where they determine it."""
    p: float | None
    """p of that F, whose degrees of freedom are few where errors are correlated."""
    tolerance: float
    """Fraction of its variance that the entries do not explain, 0 to 1."""
    competes: bool
    """True if its coefficient is negative and significant, so that it is no cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Groups of columns in order of entry, and the columns in none of them."""

    entries: tuple[Entry, ...]
    rejected: tuple[Unchosen, ...]
    p_to_enter: float | None
    """Largest p at which a column enters; None where its F decides."""


def choose(
    rows: LeastSquares,
    errors: LongRunErrors,
    order: Sequence[int],
    *,
    f_to_enter: float | None = None,
    summable: Collection[int] = (),
) -> Choice:
    r"""Columns with a positive cost, by stepwise selection; those that cannot be separated are one group.

    A column may enter if its coefficient beside those that entered is positive and its F,

    .. math:: F = \hat\theta^2 / \hat V

    with the long-run variance of the errors of the model with all columns, reaches `f_to_enter`; by default
    if :math:`p \le 0.05 / m` for m candidates (Bonferroni), so that any column without effect enters in at
    most 5 % of samples whatever the correlation of the errors. Of these the one enters that reduces the
    residual squares most; columns that have become useless leave (Efroymson 1960).

    Column j joins the group of an entry i if j could stand in the place of i (a positive coefficient,
    p at most 0.05) and either i is not needed once j is in (p above 0.05), or j takes 90 % of the variation
    that i has given the other entries. Then the data do not show which of the two has the cost.

    Parameters
    ----------
    rows : LeastSquares
        All rows, with the constant as column 0.
    errors : LongRunErrors
        Of the model with all columns.
    order : sequence of int
        Column of `rows` of each column of `errors`, the constant first.
    f_to_enter : float, optional
        Least F instead of the default.
    summable : collection of int
        Columns that may be in one group: amounts of one kind.
    """
    arguments.record(rows, LeastSquares, "rows")
    arguments.record(errors, LongRunErrors, "errors")
    tests = _Tests(rows, errors, order)
    candidates = [column for column in order if column != 0]
    least = None if f_to_enter is None else arguments.number(f_to_enter, "f_to_enter", low=0.0)

    def enters(test: _Test) -> bool:
        return test.p <= LEVEL / len(candidates) if least is None else test.f >= least

    chosen: list[int] = []
    for _ in range(4 * len(candidates)):
        taken = _best(tests, chosen, candidates, enters)
        if taken is None:
            break
        chosen.append(taken)
        _remove(tests, chosen, enters)
    left = [column for column in candidates if column not in chosen]
    groups = _groups(tests, chosen, left, set(summable))
    entries = []
    for column in chosen:
        test = tests(chosen, column)
        entries.append(Entry(columns=(column, *groups[column]), f=test.f, p=test.p))
    grouped = {column for entry in entries for column in entry.columns}
    return Choice(
        entries=tuple(entries),
        rejected=tuple(_unchosen(tests, chosen, column, enters) for column in left if column not in grouped),
        p_to_enter=LEVEL / len(candidates) if least is None and candidates else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Test:
    coefficient: float
    f: float
    p: float


class _Tests:
    """Coefficients of any choice of columns, tested with the errors of the model with all columns."""

    def __init__(self, rows: LeastSquares, errors: LongRunErrors, order: Sequence[int]) -> None:
        self._rows, self._errors = rows, errors
        self._place = {column: place for place, column in enumerate(order)}
        self._known: dict[tuple[tuple[int, ...], int], _Test] = {}

    def __call__(self, others: Sequence[int], column: int) -> _Test:
        """Test of `column` in the model with the constant and `others`."""
        beside = tuple(sorted(set(others) - {column}))
        if (beside, column) not in self._known:
            self._known[beside, column] = self._test([0, *beside, column])
        return self._known[beside, column]

    def _test(self, keep: list[int]) -> _Test:
        if self.tolerance(keep[1:-1], keep[-1]) < TOLERANCE:
            return _Test(coefficient=0.0, f=0.0, p=1.0)
        fit = self._rows.solve(keep)
        value = float(fit.coefficients[-1])
        if np.isnan(value):
            return _Test(coefficient=0.0, f=0.0, p=1.0)
        weights = np.zeros((len(self._place), 1))
        weights[[self._place[column] for column in keep], 0] = fit.unscaled_covariance[:, -1]
        # Calibration mostly raises p: what is far from significant without it needs none.
        first = self._tested(value, weights, calibrated=False)
        return first if first.p > PLAINLY_NONE else self._tested(value, weights, calibrated=True)

    def _tested(self, value: float, weights: Matrix, *, calibrated: bool) -> _Test:
        covariance, degrees = self._errors.variance(weights, calibrated=calibrated)
        variance = float(covariance[0, 0])
        if variance <= 0.0:
            return _Test(coefficient=value, f=float("inf"), p=0.0)
        f = value**2 / variance
        return _Test(coefficient=value, f=f, p=critical_values.f_tail(f, 1.0, float(degrees[0])))

    def left(self, others: Sequence[int], column: int) -> float:
        """Sum of squares of `column` that the constant and `others` leave."""
        return float(self._rows.triangle([0, *others, column])[0][-1, -1]) ** 2

    def tolerance(self, others: Sequence[int], column: int) -> float:
        """Fraction of the variance of `column` that `others` leave."""
        alone = self.left([], column)
        return self.left(others, column) / alone if alone > 0.0 else 0.0

    def rest(self, keep: Sequence[int]) -> float:
        """Residual squares of the fit on the constant and `keep`."""
        return self._rows.triangle([0, *keep])[2]


def _best(
    tests: _Tests, chosen: list[int], candidates: list[int], enters: Callable[[_Test], bool]
) -> int | None:
    """Column that reduces the residual squares most among those that may enter."""
    left = [column for column in candidates if column not in chosen]
    for column in sorted(left, key=lambda column: tests.rest([*chosen, column])):
        test = tests(chosen, column)
        if test.coefficient > 0.0 and enters(test):
            return column
    return None


def _remove(tests: _Tests, chosen: list[int], enters: Callable[[_Test], bool]) -> None:
    """Take out columns that later ones made useless, the least useful first; never the latest."""
    while len(chosen) > 1:
        column = min(chosen[:-1], key=lambda column: _worth(tests(chosen, column)))
        test = tests(chosen, column)
        if test.coefficient > 0.0 and (test.p <= LEVEL or enters(test)):
            return
        chosen.remove(column)


def _worth(test: _Test) -> float:
    """F with the sign of the coefficient."""
    return test.f if test.coefficient > 0.0 else -test.f


def strongest_negative(rows: LeastSquares, errors: LongRunErrors, order: Sequence[int]) -> Unchosen | None:
    """Column whose coefficient in the model with all columns is negative, the most significant; None if none.

    The level is 0.05 over the number of columns, as for `choose`, whose first arguments it takes.
    """
    tests = _Tests(rows, errors, order)
    candidates = [column for column in order if column != 0]
    found = [(tests(candidates, column), column) for column in candidates]
    negative = [
        (test.f, test.p, column)
        for test, column in found
        if test.coefficient < 0.0 and test.p <= LEVEL / len(candidates)
    ]
    if not negative:
        return None
    f, p, column = max(negative)
    others = [item for item in candidates if item != column]
    return Unchosen(column=column, f=f, p=p, tolerance=tests.tolerance(others, column), competes=True)


def _groups(
    tests: _Tests, chosen: list[int], left: list[int], summable: set[int]
) -> dict[int, tuple[int, ...]]:
    """Columns that could stand in the place of each chosen one."""
    groups: dict[int, list[int]] = {column: [] for column in chosen}
    for column in left:
        if column not in summable:
            continue
        shares = {}
        for entry in chosen:
            others = [item for item in chosen if item != entry]
            before, after = tests.left(others, entry), tests.left([*others, column], entry)
            taken = 1.0 - after / before if before > 0.0 else 1.0
            instead = tests(others, column)
            if entry not in summable or not instead.coefficient > 0.0 or instead.p > LEVEL:
                continue
            if taken >= TAKEN or tests([*others, column], entry).p > LEVEL:
                shares[entry] = taken
        if shares:
            groups[max(shares, key=lambda entry: shares[entry])].append(column)
    return {entry: tuple(members) for entry, members in groups.items()}


def _unchosen(tests: _Tests, chosen: list[int], column: int, enters: Callable[[_Test], bool]) -> Unchosen:
    tolerance = tests.tolerance(chosen, column)
    test = tests(chosen, column)
    return Unchosen(
        column=column,
        f=test.f if tolerance >= TOLERANCE else None,
        p=test.p if tolerance >= TOLERANCE else None,
        tolerance=tolerance,
        competes=test.coefficient < 0.0 and enters(test),
    )
