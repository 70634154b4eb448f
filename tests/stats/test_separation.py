"""Selection under correlated errors: what enters by chance, and what cannot be separated."""

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

from thinktime.analyses.overhead.comparison import _disjoint
from thinktime.analyses.overhead.interval_length import JoinedIntervals
from thinktime.stats.regression.least_squares import LeastSquares
from thinktime.stats.regression.long_run import LongRunErrors
from thinktime.stats.regression.selection import forward
from thinktime.stats.regression.separation import choose, strongest_negative

FALSE_ALARM = 1e-4


def following(random, n, columns, rho):
    noise = random.normal(size=(n + 200, columns)) * np.sqrt(1 - rho**2)
    return lfilter([1.0], [1.0, -rho], noise, axis=0)[200:]


def fitted(x, y):
    rows = LeastSquares.of(x, y)
    fit = rows.solve()
    errors = LongRunErrors(fit, len(y))
    errors.absorb(x, y - x @ fit.coefficients)
    return rows, errors


def chosen(x, y, **options):
    rows, errors = fitted(x, y)
    every = range(x.shape[1])
    return choose(rows, errors, every, summable=every, **options)


def test_candidates_without_a_cost_enter_in_few_logs_under_correlation():
    """H0: any of six enters in at most 5 % of logs at a correlation of 0.9; false alarm 1e-4.

    The canary: forward selection by the F of independent errors, at its usual 4.
    """
    random, runs, false, plain = np.random.default_rng(1), 100, 0, 0
    for _ in range(runs):
        x = np.column_stack([np.ones(200), np.exp(0.5 * following(random, 200, 7, 0.9))])
        y = 3.0 * x[:, 1] + following(random, 200, 1, 0.9)[:, 0]
        false += any(entry.columns[0] > 1 for entry in chosen(x, y).entries)
        steps = forward(LeastSquares.of(x, y), range(1, 8), positive=True).steps
        plain += any(step.column > 1 for step in steps)
    most = stats.binom.ppf(1 - FALSE_ALARM, runs, 0.05)
    assert false <= most
    assert plain > most


def test_what_is_rejected_did_not_reach_the_probability_that_is_stated():
    """Also where few bursts leave few degrees of freedom, and F alone would look significant."""
    random, large = np.random.default_rng(7), 0
    for _ in range(40):
        burst = np.zeros(90)
        burst[random.integers(80) : 90] = 1.0
        rates = np.exp(0.5 * following(random, 90, 2, 0.9))
        x = np.column_stack([np.ones(90), burst * np.exp(random.normal(size=90)), rates])
        y = 2.0 * x[:, 1] * (1 + 0.5 * random.normal(size=90)) + following(random, 90, 1, 0.9)[:, 0]
        found = chosen(x, y)
        assert all(entry.p <= 0.05 for entry in found.entries)
        for column in found.rejected:
            assert column.competes or column.p > found.p_to_enter == 0.05 / 3
            large += column.f > 8.0
    assert large, "no column was rejected whose F is that of p = 0.005 with many degrees of freedom"


def test_columns_that_move_together_are_one_group_and_others_are_not():
    random = np.random.default_rng(2)
    rates = np.exp(0.5 * following(random, 300, 3, 0.5))
    twin = rates[:, 0] * np.exp(0.02 * random.normal(size=300))
    x = np.column_stack([np.ones(300), rates, twin])
    y = x @ [1.0, 2.0, 1.0, 0.0, 3.0] + random.normal(size=300)
    groups = {frozenset(entry.columns) for entry in chosen(x, y).entries}
    assert groups == {frozenset({1, 4}), frozenset({2})}


def test_columns_that_the_data_separate_enter_each_by_itself():
    """A correlation of 0.95 and small errors: both costs are far above their errors."""
    random = np.random.default_rng(3)
    first, rest = following(random, 500, 2, 0.0).T
    x = np.column_stack([np.ones(500), 5 + first, 5 + 0.95 * first + 0.31 * rest])
    y = x @ [1.0, 2.0, 3.0] + 0.3 * random.normal(size=500)
    assert sorted(entry.columns for entry in chosen(x, y).entries) == [(1,), (2,)]


def test_what_competes_with_the_target_is_found():
    random = np.random.default_rng(4)
    x = np.column_stack([np.ones(200), random.random((200, 3))])
    y = x @ [5.0, 1.0, -1.0, 0.0] + 0.1 * random.normal(size=200)
    rows, errors = fitted(x, y)
    found = strongest_negative(rows, errors, range(4))
    assert found is not None
    assert (found.column, found.competes) == (2, True)


def lengths(x, y):
    fit = LeastSquares.of(x, y).solve()
    joined = JoinedIntervals(fit)
    for part in np.array_split(np.arange(len(y)), 7):
        joined.absorb(x[part], y[part] - x[part] @ fit.coefficients, np.zeros(len(part), dtype=np.int64))
    return joined.tests(["same"] * x.shape[1])


@pytest.mark.parametrize(("left_out", "level"), [(0.0, 0.05), (1.0, 0.5)])
def test_a_request_that_was_left_out_changes_costs_with_the_length_of_intervals(left_out, level):
    """H0: at most 5 % of logs of 400 have a cost that is said to change; H1: at least half, with a request
    left out that moves slowly with one that is in. False alarm 1e-4 each."""
    random, runs, alarms = np.random.default_rng(5), 60, 0
    for _ in range(runs):
        slow = following(random, 400, 1, 0.9)[:, 0]
        x = np.column_stack([np.ones(400), np.exp(0.35 * (slow + random.normal(size=400)))])
        y = x[:, 1] + left_out * np.exp(0.5 * slow) + 0.3 * following(random, 400, 1, 0.5)[:, 0]
        alarms += lengths(x, y)[1][1].rejected()
    if left_out:
        assert alarms >= stats.binom.ppf(FALSE_ALARM, runs, level)
    else:
        assert alarms <= stats.binom.ppf(1 - FALSE_ALARM, runs, level)


def test_costs_with_intervals_joined_are_those_of_the_means():
    random = np.random.default_rng(6)
    x = np.column_stack([np.ones(64), random.random((64, 2))])
    y = x @ [1.0, 2.0, 3.0] + random.normal(size=64)
    costs, _ = lengths(x, y)
    for place, size in enumerate((2, 4, 8)):
        means = x.reshape(-1, size, 3).mean(axis=1), y.reshape(-1, size).mean(axis=1)
        np.testing.assert_allclose(costs[:, place], np.linalg.lstsq(*means, rcond=None)[0])


@pytest.mark.parametrize(
    ("requests", "disjoint"),
    [
        (["forks", "faults", "forks"], ["forks", "faults"]),
        (["forks", "faults", "execs+forks"], ["forks+execs", "faults"]),
        (["a+b", "c", "c+d", "b+d"], ["a+b+c+d"]),
    ],
)
def test_what_one_log_cannot_separate_is_one_request_in_all(requests, disjoint):
    assert _disjoint(requests) == disjoint


def test_only_intervals_of_one_stretch_are_joined():
    """Stretches of 5 and 11 rows: the mean of the fifth row is its own, that of the sixth begins anew."""
    random = np.random.default_rng(7)
    x = np.column_stack([np.ones(16), random.random(16)])
    y, segments = random.normal(size=16), np.repeat([3, 4], [5, 11])
    fit = LeastSquares.of(x, y).solve()
    joined = JoinedIntervals(fit)
    for part in np.split(np.arange(16), [2, 6, 7]):
        joined.absorb(x[part], y[part] - x[part] @ fit.coefficients, segments[part])
    costs, _ = joined.tests(["same", "same"])
    parts = np.split(np.arange(16), [4, 5, 9, 13])
    means = np.vstack([np.tile(x[part].mean(axis=0), (len(part), 1)) for part in parts])
    np.testing.assert_allclose(costs[:, 1], np.linalg.lstsq(means, y, rcond=None)[0])
