"""Designs, contrasts, checks and transformations: what they are by definition, and how they refuse."""

import math
from fractions import Fraction

import numpy as np
import pytest

from thinktime.stats.designs.anova import anova, effects_of_means, one_way, relative_efficiency
from thinktime.stats.designs.contrasts import contrast, orthogonal_polynomials, polynomial_contrasts
from thinktime.stats.designs.factorial import CellMeans, Factor, Responses, full_factorial
from thinktime.stats.designs.transformations import Transformation, box_cox
from thinktime.stats.estimate import NotApplicable
from thinktime.stats.regression.least_squares import LeastSquares
from thinktime.stats.regression.selection import forward, stepwise

AB = (Factor("a", (1, 2, 3)), Factor("b", ("low", "high")))


def blocked(random, effects=0.0, spread=3.0):
    """3 x 2 cells in 6 blocks."""
    return random.normal(size=(3, 2, 6)) + effects + spread * random.normal(size=6)


def cells_of(responses, result):
    """Means of the cells with the error of the analysis of variance."""
    return CellMeans(
        factors=AB,
        means=responses.means(),
        counts=responses.counts(),
        error_mean_square=result.error_mean_square,
        error_degrees=result.error.degrees,
    )


def test_a_full_factorial_has_every_combination_once():
    cells = full_factorial({"a": [1, 2, 3], "b": ["x"], "c": [0.1, 0.2]})
    assert len(cells) == 6
    assert cells[0] == {"a": 1, "b": "x", "c": 0.1}
    assert cells[1] == {"a": 1, "b": "x", "c": 0.2}
    assert len({tuple(cell.items()) for cell in cells}) == 6


@pytest.mark.parametrize("levels", [(1,), (1, 1), ()])
def test_levels_must_differ(levels):
    with pytest.raises(ValueError, match="factor users"):
        Factor("users", levels)


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ([1, 2], [(-1, 1)]),
        ([26, 31, 36], [(-1, 0, 1), (1, -2, 1)]),
        ([0.1, 0.2, 0.3, 0.4], [(-3, -1, 1, 3), (1, -1, -1, 1), (-1, 3, -3, 1)]),
        ([1, 2, 3, 4, 5], [(-2, -1, 0, 1, 2), (2, -1, -2, -1, 2), (-1, 2, 0, -2, 1), (1, -4, 6, -4, 1)]),
        ([1, 2, 3, 4, 5, 6], [(-5, -3, -1, 1, 3, 5), (5, -1, -4, -4, -1, 5), (-5, 7, 4, -4, -7, 5)]),
    ],
)
def test_orthogonal_polynomials_are_those_of_the_textbooks(levels, expected):
    """Fisher and Yates, *Statistical Tables*, table XXIII."""
    assert orthogonal_polynomials(levels)[: len(expected)] == tuple(expected)


@pytest.mark.parametrize("levels", [[1, 2, 4], [10, 12, 30, 100], [0.1, 0.15, 0.5, 1.0, 7.25]])
def test_orthogonal_polynomials_at_any_distances(levels):
    rows = orthogonal_polynomials(levels)
    for degree, row in enumerate(rows, start=1):
        for power in range(degree):  # blind to every polynomial of lower degree, exactly
            scored = [
                Fraction(value) * Fraction(str(level)) ** power
                for value, level in zip(row, levels, strict=True)
            ]
            if all(float(value).is_integer() for value in row):
                assert sum(scored) == 0
            assert abs(float(sum(scored))) < 1e-9 * max(abs(float(value)) for value in scored)
        assert abs(np.dot(row, np.array(levels, dtype=float) ** degree)) > 0


def test_contrasts_of_a_polynomial_find_its_degree():
    """Means on a parabola over unequal levels: no cubic, and the linear and quadratic take all."""
    factor = Factor("users", (10, 12, 30, 100))
    y = np.array([float(level) ** 2 - 7 * level for level in factor.levels])
    cells = CellMeans.published((factor,), y, replications=5, error_mean_square=1.0)
    linear, quadratic, cubic = (result for _, result in polynomial_contrasts(cells, degree=3))
    assert cubic.squares == pytest.approx(0.0, abs=1e-12 * quadratic.squares)
    assert linear.squares + quadratic.squares == pytest.approx(effects_of_means(cells)[0].squares)


def test_contrasts_share_out_the_squares_between_cells_of_blocked_data():
    random = np.random.default_rng(1)
    responses = Responses.of_cells(AB, blocked(random), blocked=True)
    result = anova(responses)
    cells = cells_of(responses, result)
    parts = [item for _, item in polynomial_contrasts(cells)]
    assert sum(part.squares for part in parts) == pytest.approx(sum(item.squares for item in result.effects))
    assert [part.name for part in parts] == [
        "a linear",
        "a quadratic",
        "b",
        "a linear × b",
        "a quadratic × b",
    ]


def test_a_contrast_estimates_a_difference_of_means():
    y = np.array([[[1.0, 1.2], [4.0, 4.2]], [[2.0, 2.2], [6.0, 6.2]], [[4.0, 4.2], [9.0, 9.2]]])
    responses = Responses.of_cells(AB, y)
    result = anova(responses)
    cells = cells_of(responses, result)
    by_name = {item.name: item.estimate.value for _, item in polynomial_contrasts(cells)}
    assert by_name["b"] == pytest.approx((3.0 + 4.0 + 5.0) / 3)
    assert by_name["a linear"] == pytest.approx(4.0)
    assert by_name["a linear × b"] == pytest.approx(5.0 - 3.0)


def test_a_contrast_without_error_or_cells_says_so():
    means = np.array([[1.0, 2.0], [math.nan, 3.0], [4.0, 5.0]])
    cells = CellMeans.published(AB, means, replications=4, error_mean_square=1.0)
    gone = [result for _, result in polynomial_contrasts(cells) if isinstance(result, NotApplicable)]
    # The linear contrast of a, and its product with b, weigh the middle level by zero.
    assert len(gone) == 3
    assert all("a = 2, b = low" in result.reason for result in gone)
    with pytest.raises(ValueError, match="a = 2, b = low"):
        effects_of_means(cells)
    once = CellMeans.published(AB, np.ones((3, 2)), replications=1, error_mean_square=1.0)
    assert isinstance(contrast(once, polynomial_contrasts(cells)[0][0]), NotApplicable)


def test_blocks_out_of_the_error_are_the_workload_taken_out():
    """The same effects are seen through a sixth of the error where workloads differ much."""
    random = np.random.default_rng(2)
    responses = Responses.of_cells(AB, blocked(random), blocked=True)
    out, left = anova(responses), anova(responses, blocks_out=False)
    assert [item.squares for item in out.effects] == [item.squares for item in left.effects]
    assert out.error.degrees == left.error.degrees - 5
    assert out.error_mean_square < left.error_mean_square / 3
    assert relative_efficiency(out) > 3
    with pytest.raises(ValueError, match="in the error"):
        relative_efficiency(left)


def test_effects_of_published_means_are_those_of_the_raw_data():
    random = np.random.default_rng(3)
    responses = Responses.of_cells(AB, blocked(random))
    raw = anova(responses)
    cells = CellMeans.published(
        AB, responses.means(), replications=6, error_mean_square=raw.error_mean_square
    )
    for ours, theirs in zip(effects_of_means(cells), raw.effects, strict=True):
        assert ours.factors == theirs.factors
        assert (ours.squares, ours.f, ours.p) == pytest.approx((theirs.squares, theirs.f, theirs.p), rel=1e-9)


def test_one_replication_has_no_error_unless_interactions_are_given_up():
    responses = Responses.of_cells(AB, np.arange(6.0).reshape(3, 2, 1) ** 2)
    full = anova(responses)
    assert full.error.degrees == 0
    assert full.effects[0].f is None
    assert math.isnan(full.error_mean_square)
    assert anova(responses, order=1).error.degrees == 2


def test_what_does_not_vary_has_no_f():
    same = anova(Responses.of_cells(AB, np.ones((3, 2, 4))))
    assert all(item.f is None for item in same.effects)
    exact = anova(Responses.of_cells(AB, np.ones((3, 2, 4)) * np.arange(3.0)[:, None, None]))
    assert exact.effects[0].f == math.inf
    with pytest.raises(ValueError, match="give 2 or more"):
        one_way([[1.0, 2.0]])


def test_residuals_of_an_unbalanced_design_are_those_of_least_squares():
    random = np.random.default_rng(4)
    whole = Responses.of_cells(AB, blocked(random), blocked=True)
    kept = random.random(whole.n) < 0.6
    part = Responses(factors=AB, codes=whole.codes[kept], y=whole.y[kept], blocks=whole.blocks[kept])
    columns = np.column_stack([np.eye(6)[part.cell_of()], np.eye(6)[part.blocks]])
    expected = part.y - columns @ np.linalg.lstsq(columns, part.y, rcond=None)[0]
    np.testing.assert_allclose(part.residuals(), expected, atol=1e-9)
    assert part.error_degrees() == part.n - np.linalg.matrix_rank(columns)
    assert anova(part).error.degrees == part.error_degrees()


@pytest.mark.parametrize(
    ("make", "offered"), [(np.exp, "log10(y)"), (lambda x: x**2, "sqrt(y)"), (lambda x: 1 / x, "y^-1")]
)
def test_box_cox_offers_what_makes_the_errors_normal_again(make, offered):
    random = np.random.default_rng(5)
    means = np.array([[2.0, 3.0], [4.0, 5.0], [6.0, 7.0]])[:, :, None]
    y = make(means + 0.35 * random.normal(size=(3, 2, 30)))
    result = box_cox(Responses.of_cells(AB, y))
    assert result.offered.name == offered
    assert result.power.low < result.power.value < result.power.high
    # A reciprocal is negative, to keep the order, and a power needs positive responses.
    again = box_cox(Responses.of_cells(AB, result.offered.apply(y)), shift=10.0 if offered == "y^-1" else 0.0)
    assert again.offered.power == 1.0


def test_box_cox_needs_positive_responses_that_vary():
    y = np.arange(24.0).reshape(3, 2, 4)
    assert "shift" in box_cox(Responses.of_cells(AB, y)).remedy
    assert box_cox(Responses.of_cells(AB, y), shift=0.5).offered.shift == 0.5
    assert isinstance(box_cox(Responses.of_cells(AB, np.ones((3, 2, 4)))), NotApplicable)
    assert isinstance(box_cox(Responses.of_cells(AB, np.ones((3, 2, 1)))), NotApplicable)


def test_transformations_keep_the_order_and_say_what_they_need():
    y = np.array([0.5, 1.0, 7.0])
    for name in ("none", "sqrt", "log10", "reciprocal_sqrt", "reciprocal"):
        assert (np.diff(Transformation.parse(name).apply(y)) > 0).all()
    assert Transformation.parse("log10(y + 0.5)").name == "log10(y + 0.5)"
    assert Transformation.parse("log10(y+0.5)").apply(np.array([0.5]))[0] == 0.0
    with pytest.raises(ValueError, match="positive"):
        Transformation.parse("log10(y)").apply(np.array([0.0]))
    with pytest.raises(ValueError, match="'cube'"):
        Transformation.parse("cube")


def test_stepwise_selection_drops_what_others_have_made_useless():
    """The first to enter is the sum of two others with noise: once these are in, it has no use."""
    random = np.random.default_rng(6)
    n = 300
    a, b = random.normal(size=(2, n))
    proxy = a + b + 0.7 * random.normal(size=n)
    y = a + b + 0.3 * random.normal(size=n)
    rows = LeastSquares.of(np.column_stack([np.ones(n), proxy, a, b]), y)
    result = stepwise(rows, [1, 2, 3])
    assert result.steps[0].column == 1
    assert [step.column for step in result.steps if step.removed] == [1]
    assert result.steps[-1].f < 3.9
    assert [rejected.column for rejected in result.rejected] == [1]
    assert not any(step.removed for step in forward(rows, [1, 2, 3]).steps)
    with pytest.raises(ValueError, match="F to remove"):
        stepwise(rows, [1, 2, 3], f_to_enter=2.0, f_to_remove=2.0)
