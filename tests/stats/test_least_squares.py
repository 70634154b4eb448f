"""Least squares: merging, rank, weights, and exact rational arithmetic as the oracle."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thinktime.stats.regression.iterative_refinement import refine
from thinktime.stats.regression.least_squares import LeastSquares


def absorbed(x, y, weights=None):
    rows = LeastSquares(x.shape[1])
    rows.absorb(x, y, weights)
    return rows


def random_rows(seed, n=60, columns=4):
    random = np.random.default_rng(seed)
    x = np.column_stack([np.ones(n), random.lognormal(sigma=2.0, size=(n, columns - 1))])
    return x, x @ np.arange(1.0, columns + 1) + random.normal(size=n)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.lists(st.integers(0, 60), max_size=6), st.randoms(use_true_random=False))
def test_chunks_merged_in_any_order_give_the_same_fit(seed, cuts, shuffle):
    x, y = random_rows(seed)
    parts = [absorbed(x[part], y[part]) for part in np.split(np.arange(60), sorted(cuts))]
    shuffle.shuffle(parts)
    merged = LeastSquares(4)
    for part in parts:
        merged.merge(part)
    whole, pieces = absorbed(x, y).solve(), merged.solve()
    assert pieces.n == 60
    np.testing.assert_allclose(pieces.coefficients, whole.coefficients, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(pieces.residual_squares, whole.residual_squares, rtol=1e-9)
    np.testing.assert_allclose(pieces.total_squares, whole.total_squares, rtol=1e-9)
    np.testing.assert_allclose(pieces.unscaled_covariance, whole.unscaled_covariance, rtol=1e-7)


def exact_solution(x, y):
    """Normal equations in rational numbers: no rounding at all."""
    rows = [[Fraction(float(value)) for value in row] for row in x]
    target = [Fraction(float(value)) for value in y]
    size = len(rows[0])
    system = [
        [sum(row[i] * row[j] for row in rows) for j in range(size)]
        + [sum(row[i] * value for row, value in zip(rows, target, strict=True))]
        for i in range(size)
    ]
    for at in range(size):
        pivot = next(row for row in range(at, size) if system[row][at])
        system[at], system[pivot] = system[pivot], system[at]
        for below in range(at + 1, size):
            factor = system[below][at] / system[at][at]
            system[below] = [a - factor * b for a, b in zip(system[below], system[at], strict=True)]
    solution = [Fraction(0)] * size
    for at in reversed(range(size)):
        rest = sum(system[at][j] * solution[j] for j in range(at + 1, size))
        solution[at] = (system[at][-1] - rest) / system[at][at]
    return np.array([float(value) for value in solution])


def relative_error(result, exact):
    return np.max(np.abs(result - exact) / np.abs(exact))


@pytest.mark.parametrize(
    ("degree", "shift", "condition", "tolerance"),
    [(3, 10.0, 1e5, 1e-14), (5, 5.0, 1e8, 1e-14), (7, 3.0, 1e10, 1e-11)],
)
def test_refinement_reaches_the_exact_solution_of_ill_conditioned_rows(degree, shift, condition, tolerance):
    """Rates that never come near zero make polynomials nearly dependent."""
    random = np.random.default_rng(degree)
    t = shift + random.random(40)
    x = np.column_stack([t**power for power in range(degree + 1)])
    y = 1e3 * random.normal(size=40)
    exact = exact_solution(x, y)
    rows = absorbed(x, y)
    plain = rows.solve()
    refined = refine(rows, plain, lambda: [(x[:17], y[:17]), (x[17:], y[17:])])
    assert np.linalg.cond(x / np.linalg.norm(x, axis=0)) > condition
    assert relative_error(refined.coefficients, exact) < tolerance
    assert relative_error(plain.coefficients, exact) > 10 * tolerance
    np.testing.assert_allclose(refined.residual_squares, np.sum((y - x @ exact) ** 2), rtol=1e-6)


def test_filip_is_solved_to_the_last_digits_of_the_rounded_powers():
    """What keeps NIST's certified digits at 7.6 is the rounding of x^10, not the solution."""
    data = np.loadtxt(Path(__file__).parents[1] / "reference/nist/filip.csv", delimiter=",", skiprows=1)
    x = np.column_stack([data[:, 1] ** power for power in range(11)])
    rows = absorbed(x, data[:, 0])
    refined = refine(rows, rows.solve(), lambda: [(x, data[:, 0])])
    assert relative_error(refined.coefficients, exact_solution(x, data[:, 0])) < 1e-12


def test_refinement_leaves_alone_what_it_cannot_improve():
    x, y = random_rows(3)
    doubled = absorbed(np.column_stack([x, x[:, 1]]), y)
    aliased = doubled.solve()
    assert refine(doubled, aliased, lambda: pytest.fail("no pass is needed")) is aliased
    fit = absorbed(x, y).solve()
    assert refine(absorbed(x, y), fit, lambda: [(x, y * 1e305)]) is fit


def test_a_column_that_adds_nothing_is_named_and_the_others_are_right():
    x, y = random_rows(1)
    doubled = np.column_stack([x[:, :2], 3 * x[:, 1] - 2 * x[:, 0], x[:, 2:], np.zeros(60)])
    result = absorbed(doubled, y).solve()
    assert result.aliased == (2, 5)
    assert np.isnan(result.coefficients[[2, 5]]).all()
    np.testing.assert_allclose(
        result.coefficients[[0, 1, 3, 4]], absorbed(x, y).solve().coefficients, rtol=1e-9
    )
    assert result.degrees == 60 - 4


def test_fewer_rows_than_columns_alias_the_rest():
    result = absorbed(np.array([[1.0, 2.0, 5.0], [1.0, 3.0, 1.0]]), np.array([1.0, 2.0])).solve()
    assert result.aliased == (2,)
    with pytest.raises(ValueError, match="no degrees of freedom"):
        result.residual_deviation()


def test_bards_divisor_is_one_larger_than_that_without_bias():
    x, y = random_rows(2)
    result = absorbed(x, y).solve()
    # m = 3 request types beside the constant: n - m = 57 as printed, n - m - 1 = 56 without bias.
    assert result.residual_deviation(as_printed=True) ** 2 * 57 == pytest.approx(result.residual_squares)
    assert result.residual_deviation() ** 2 * 56 == pytest.approx(result.residual_squares)


@pytest.mark.parametrize(
    ("x", "y", "weights", "message"),
    [
        ([[1.0, 2.0]], [1.0, 2.0], None, "give rows of 2 columns"),
        ([[1.0, 2.0, 3.0]], [1.0], None, "give rows of 2 columns"),
        ([[1.0, np.nan]], [1.0], None, "not finite"),
        ([[1.0, 2.0]], [np.inf], None, "not finite"),
        ([[1.0, 2.0]], [1.0], [-1.0], "of at least 0"),
    ],
)
def test_rows_that_cannot_be_meant_are_refused(x, y, weights, message):
    rows = LeastSquares(2)
    with pytest.raises(ValueError, match=message):
        rows.absorb(x, y, weights)
    assert rows.n == 0


def test_nothing_cannot_be_fitted_nor_merged_with_other_columns():
    with pytest.raises(ValueError, match="no rows"):
        LeastSquares(2).solve()
    with pytest.raises(ValueError, match="give one of 2 columns"):
        LeastSquares(2).merge(LeastSquares(3))


def test_a_constant_alone_explains_nothing():
    y = np.random.default_rng(5).normal(0.18, 0.01, size=67)
    assert absorbed(np.ones((67, 1)), y).solve().r_squared == 0.0
    x, y = random_rows(5)
    assert 0.5 < absorbed(x, y).solve().r_squared < 1.0
