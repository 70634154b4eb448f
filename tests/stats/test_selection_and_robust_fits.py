"""Forward selection, the outlier rule, robust fits and collinearity."""

import numpy as np
import pytest

from thinktime.stats.regression import collinearity, robust
from thinktime.stats.regression.least_squares import LeastSquares
from thinktime.stats.regression.robust import drop_outliers
from thinktime.stats.regression.selection import forward


@pytest.fixture
def random():
    return np.random.default_rng(11)


def test_forward_selection_takes_what_matters_in_order_of_what_it_explains(random):
    n = 400
    x = np.column_stack([np.ones(n), random.random((n, 5))])
    y = x @ [1.0, 0.0, 5.0, 0.0, 1.0, 0.0] + 0.1 * random.normal(size=n)
    result = forward(LeastSquares.of(x, y), [1, 2, 3, 4, 5], f_to_enter=12.0)
    # F >= 12 with 1 and about 395 degrees: a useless column enters with probability 6e-4, three of them.
    assert [step.column for step in result.steps] == [2, 4]
    assert all(step.f >= 12.0 for step in result.steps)
    assert [rejected.column for rejected in result.rejected] == [1, 3, 5]
    assert all(rejected.f is not None and rejected.f < 12.0 for rejected in result.rejected)


def test_the_first_f_is_that_of_the_textbook(random):
    x = np.column_stack([np.ones(30), random.random(30)])
    y = 3 * x[:, 1] + random.normal(size=30)
    result = forward(LeastSquares.of(x, y), [1], f_to_enter=0.0)
    fit = LeastSquares.of(x, y).solve()
    t = fit.coefficients[1] / np.sqrt(fit.covariance()[1, 1])
    assert result.steps[0].f == pytest.approx(t**2)


def test_of_two_rates_that_move_together_one_enters_and_the_other_is_named(random):
    n = 300
    rate = random.random(n)
    twin = rate + 0.01 * random.random(n)
    x = np.column_stack([np.ones(n), rate, twin])
    result = forward(LeastSquares.of(x, rate + 0.2 * random.normal(size=n)), [1, 2])
    assert len(result.steps) == 1
    assert result.rejected[0].f is None
    assert result.rejected[0].tolerance < 0.01


def test_a_cost_does_not_enter_with_a_negative_sign(random):
    n = 300
    x = np.column_stack([np.ones(n), random.random((n, 2))])
    y = x @ [5.0, 1.0, -1.0] + 0.1 * random.normal(size=n)
    result = forward(LeastSquares.of(x, y), [1, 2], positive=True)
    assert [step.column for step in result.steps] == [1]
    assert result.rejected[0].negative
    assert [step.column for step in forward(LeastSquares.of(x, y), [1, 2]).steps].count(2) == 1


def test_selection_ends_when_everything_is_explained():
    x = np.column_stack([np.ones(6), np.arange(6.0), [0.0, 1, 0, 1, 0, 2]])
    result = forward(LeastSquares.of(x, 2 * x[:, 1]), [1, 2])
    assert [step.column for step in result.steps] == [1]
    assert [rejected.column for rejected in result.rejected] == [2]


def test_the_outlier_rule_drops_once_and_fits_once_more(random):
    """Bard 1971: |r| > 2.5 s of the first fit; the second fit drops nothing more."""
    n = 500
    x = np.column_stack([np.ones(n), random.random(n)])
    y = x @ [1.0, 2.0] + 0.1 * random.normal(size=n)
    late = random.choice(n, 15, replace=False)
    y[late] += 2.0  # unmeasured activity: nearly all outliers are positive
    first = LeastSquares.of(x, y).solve()
    residuals = y - x @ first.coefficients
    expected = np.abs(residuals) <= 2.5 * np.sqrt(np.sum(residuals**2) / (n - 2))
    result = drop_outliers(first, lambda: [(x[:100], y[:100]), (x[100:], y[100:])])
    np.testing.assert_array_equal(result.kept(x, y), expected)
    assert result.outliers == np.count_nonzero(~expected)
    assert result.positive == 15
    np.testing.assert_allclose(
        result.fit.coefficients, np.linalg.lstsq(x[expected], y[expected], rcond=None)[0]
    )
    # The second fit has points beyond 2.5 of its own, smaller s, and they stay.
    assert (np.abs(result.residuals(x, y)[expected]) > 2.5 * result.fit.residual_deviation()).any()


def test_bards_printed_divisor_drops_more_by_a_hair():
    x = np.column_stack([np.ones(9), np.arange(9.0)])
    y = np.where(np.arange(9) == 4, 1.0, 0.0)
    # r = 8/9, s^2 = (8/9) / (n - 2) or / (n - 1): the threshold lies between the two.
    r = 8 / 9
    between = r / np.sqrt(r / 7.5)
    fit = LeastSquares.of(x, y).solve()
    assert drop_outliers(fit, lambda: [(x, y)], between).outliers == 0
    assert drop_outliers(fit, lambda: [(x, y)], between, as_printed=True).outliers == 1


def test_without_outliers_nothing_is_dropped():
    x = np.column_stack([np.ones(10), np.arange(10.0)])
    y = x @ [1.0, 1.0] + np.tile([1.0, -1.0], 5)
    result = drop_outliers(LeastSquares.of(x, y).solve(), lambda: [(x, y)])
    assert result.outliers == 0
    assert result.positive == 0


def test_no_negative_cost_is_what_it_says(random):
    x = np.column_stack([np.ones(200), random.random((200, 3))])
    y = x @ [1.0, 2.0, -1.0, 0.5] + 0.1 * random.normal(size=200)
    rows = LeastSquares.of(x, y)
    result = robust.non_negative(rows)
    assert (result >= 0.0).all()
    assert result[2] == 0.0
    np.testing.assert_allclose(result[[0, 1, 3]], rows.solve([0, 1, 3]).coefficients)


def test_huber_is_not_pulled_by_a_tenth_of_bad_rows(random):
    n = 500
    x = np.column_stack([np.ones(n), random.random(n)])
    y = x @ [1.0, 2.0] + 0.1 * random.normal(size=n)
    bad = x[:, 1] > 0.9
    y[bad] += 5.0
    plain, result = LeastSquares.of(x, y).solve().coefficients, robust.huber(x, y)
    assert abs(result[1] - 2.0) < 0.5 * abs(plain[1] - 2.0)


def test_huber_of_an_exact_line_is_that_line():
    x = np.column_stack([np.ones(9), np.arange(9.0)])
    np.testing.assert_allclose(robust.huber(x, x @ [3.0, 4.0]), [3.0, 4.0])


def test_collinearity_of_columns_at_right_angles_is_one():
    x = np.array([[1.0, a, b] for a in (-1.0, 1.0) for b in (-1.0, 1.0)])
    result = collinearity.diagnose(LeastSquares.of(x, np.zeros(4)), [0, 1, 2])
    assert result.condition_number == pytest.approx(1.0)
    assert result.variance_inflation == pytest.approx((1.0, 1.0, 1.0))


def test_collinearity_of_dependent_columns_is_endless():
    x = np.column_stack([np.ones(9), np.arange(9.0), 2 * np.arange(9.0)])
    result = collinearity.diagnose(LeastSquares.of(x, np.zeros(9)), [0, 1, 2])
    assert result.condition_number > 1e12
    assert result.variance_inflation[1] > 1e12
