"""Designed experiments against statsmodels and SciPy: the same definitions give the same numbers."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import special, stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import AnovaRM
from statsmodels.stats.multicomp import pairwise_tukeyhsd

from thinktime.stats.designs import effect_sizes, linear_anova, residual_checks
from thinktime.stats.designs.anova import anova, one_way
from thinktime.stats.designs.contrasts import Component, contrast
from thinktime.stats.designs.factorial import CellMeans, Factor, Responses
from thinktime.stats.designs.per_effect_error import per_effect_error
from thinktime.stats.designs.simultaneous import bonferroni, tukey
from thinktime.stats.designs.transformations import BoxCox, box_cox

FACTORS = (Factor("a", ("x", "y", "z")), Factor("b", (1, 2)), Factor("c", (0.1, 0.2)))


@pytest.fixture(scope="module")
def cube():
    """Balanced: 3 x 2 x 2 cells, 8 blocks, effects of a, of b and c together, and of blocks."""
    random = np.random.default_rng(1974)
    y = random.normal(size=(3, 2, 2, 8)) + np.arange(3.0)[:, None, None, None] ** 2
    y += np.outer([0, 1], [1, -1])[None, :, :, None] + random.normal(size=8)
    return y


def frame(responses):
    data = {factor.name: responses.codes[:, at] for at, factor in enumerate(responses.factors)}
    return pd.DataFrame(data | {"y": responses.y, "block": responses.blocks})


def of_statsmodels(responses, formula, kind):
    return sm.stats.anova_lm(ols(formula, frame(responses)).fit(), typ=kind)


def agree(ours, theirs, coding):
    for effect in ours.effects:
        name = ":".join(coding.format(name) for name in effect.factors)
        assert effect.degrees == theirs.loc[name, "df"]
        assert effect.squares == pytest.approx(theirs.loc[name, "sum_sq"], rel=1e-9, abs=1e-10)
        assert effect.f == pytest.approx(theirs.loc[name, "F"], rel=1e-9, abs=1e-10)
        assert effect.p == pytest.approx(theirs.loc[name, "PR(>F)"], rel=1e-8, abs=1e-12)
    assert ours.error.degrees == theirs.loc["Residual", "df"]
    assert ours.error.squares == pytest.approx(theirs.loc["Residual", "sum_sq"], rel=1e-10)


def test_balanced_with_blocks_taken_out_and_left_in(cube):
    responses = Responses.of_cells(FACTORS, cube, blocked=True)
    taken = of_statsmodels(responses, "y ~ C(a)*C(b)*C(c) + C(block)", 2)
    ours = anova(responses)
    agree(ours, taken, "C({})")
    assert ours.blocks.squares == pytest.approx(taken.loc["C(block)", "sum_sq"], rel=1e-10)
    assert ours.blocks.degrees == 7
    left = anova(responses, blocks_out=False)
    agree(left, of_statsmodels(responses, "y ~ C(a)*C(b)*C(c)", 2), "C({})")
    assert left.blocks is None
    assert left.error.squares == pytest.approx(ours.error.squares + ours.blocks.squares)


def test_interactions_beyond_the_order_go_into_the_error(cube):
    responses = Responses.of_cells(FACTORS, cube, blocked=True)
    formula = "y ~ C(a) + C(b) + C(c) + C(a):C(b) + C(a):C(c) + C(b):C(c) + C(block)"
    agree(anova(responses, order=2), of_statsmodels(responses, formula, 2), "C({})")


@pytest.mark.parametrize("kind", [2, 3])
def test_unbalanced(cube, kind):
    whole = Responses.of_cells(FACTORS, cube, blocked=True)
    kept = np.random.default_rng(5).random(whole.n) < 0.7
    assert not kept.all()
    assert np.bincount(whole.cell_of()[kept]).all()
    part = Responses(factors=FACTORS, codes=whole.codes[kept], y=whole.y[kept], blocks=whole.blocks[kept])
    coding = "C({}, Sum)"
    formula = "y ~ C(a, Sum)*C(b, Sum)*C(c, Sum) + C(block, Sum)"
    agree(anova(part, squares="II" if kind == 2 else "III"), of_statsmodels(part, formula, kind), coding)


def test_least_squares_agree_with_the_exact_sums_of_a_balanced_design(cube):
    responses = Responses.of_cells(FACTORS, cube, blocked=True)
    terms = [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
    exact = anova(responses)
    for kind in ("II", "III"):
        found = linear_anova.sums(responses, terms, kind)
        assert [degrees for degrees, _ in found.terms] == [effect.degrees for effect in exact.effects]
        squares = [squares for _, squares in found.terms]
        np.testing.assert_allclose(squares, [effect.squares for effect in exact.effects], rtol=1e-9)
        assert found.error == pytest.approx(exact.error.squares, rel=1e-12)
        assert found.blocks[1] == pytest.approx(exact.blocks.squares, rel=1e-11)


def test_empty_cells_by_type_ii(cube):
    """A 3 x 2 design of which one cell was never run: main effects, and what is left of the interaction."""
    whole = Responses.of_cells(FACTORS[:2], cube.reshape(3, 2, 16))
    kept = ~((whole.codes[:, 0] == 1) & (whole.codes[:, 1] == 1))
    part = Responses(factors=FACTORS[:2], codes=whole.codes[kept], y=whole.y[kept])
    ours = anova(part)
    assert "type II" in ours.squares
    assert [effect.degrees for effect in ours.effects] == [2, 1, 1]
    additive = ols("y ~ C(a) + C(b)", frame(part)).fit()
    theirs = sm.stats.anova_lm(additive, typ=2)
    for effect, name in zip(ours.effects[:2], ("C(a)", "C(b)"), strict=True):
        assert effect.squares == pytest.approx(theirs.loc[name, "sum_sq"], rel=1e-10)
    cells = ols("y ~ C(a * 2 + b)", frame(part)).fit()
    assert ours.error.squares == pytest.approx(cells.ssr, rel=1e-10)
    assert ours.effects[2].squares == pytest.approx(additive.ssr - cells.ssr, rel=1e-9)
    assert ours.error.degrees == cells.df_resid
    with pytest.raises(ValueError, match="empty"):
        anova(part, squares="III")


def test_one_way_of_scipy(cube):
    groups = [cube[0].ravel(), cube[1].ravel()[:9], cube[2].ravel()[:20]]
    ours, theirs = one_way(groups).effects[0], stats.f_oneway(*groups)
    assert ours.f == pytest.approx(theirs.statistic, rel=1e-12)
    assert ours.p == pytest.approx(theirs.pvalue, rel=1e-10)


def test_a_contrast_is_the_t_test_of_a_linear_model(cube):
    responses = Responses.of_cells(FACTORS[:1], cube.reshape(3, 32))
    found = anova(responses)
    cells = CellMeans(
        factors=FACTORS[:1],
        means=responses.means(),
        counts=responses.counts(),
        error_mean_square=found.error_mean_square,
        error_degrees=found.error.degrees,
    )
    ours = contrast(cells, [Component(factor="a", degree=1, coefficients=(-1.0, 0.0, 1.0))])
    fit = ols("y ~ C(a) - 1", frame(responses)).fit()
    theirs = fit.t_test([[-1.0, 0.0, 1.0]])
    assert ours.f == pytest.approx(float(theirs.tvalue[0, 0]) ** 2, rel=1e-10)
    assert ours.estimate.value == pytest.approx(float(theirs.effect[0]), rel=1e-12)
    low, high = theirs.conf_int()[0]
    assert (ours.estimate.low, ours.estimate.high) == pytest.approx((low, high), rel=1e-9)


def test_tukey_of_statsmodels(cube):
    values, groups = cube.reshape(3, 32)[:, :20].ravel(), np.repeat(["x", "y", "z"], 20)
    theirs = pairwise_tukeyhsd(values, groups)
    found = one_way([values[groups == name] for name in "xyz"])
    means = [values[groups == name].mean() for name in "xyz"]
    ours = tukey(means, [20] * 3, found.error_mean_square, found.error.degrees)
    np.testing.assert_allclose([item.estimate.value for item in ours], theirs.meandiffs, rtol=1e-10)
    ends = [(item.estimate.low, item.estimate.high) for item in ours]
    np.testing.assert_allclose(ends, theirs.confint, atol=1e-5)  # theirs interpolates the studentized range
    by_scipy = stats.tukey_hsd(*(values[groups == name] for name in "xyz")).confidence_interval()
    scipy_ends = [(by_scipy.low[at.second, at.first], by_scipy.high[at.second, at.first]) for at in ours]
    np.testing.assert_allclose(ends, scipy_ends, rtol=1e-8)


def test_own_errors_are_those_of_repeated_measures(cube):
    """Before the correction; epsilon by its definition on orthonormal contrasts."""
    responses = Responses.of_cells(FACTORS, cube, blocked=True)
    theirs = AnovaRM(frame(responses), "y", "block", within=["a", "b", "c"]).fit().anova_table
    for axes, name in (((0,), "a"), ((1,), "b"), ((0, 2), "a:c"), ((1, 2), "b:c"), ((0, 1, 2), "a:b:c")):
        ours = per_effect_error(cube, axes)
        assert ours.f == pytest.approx(theirs.loc[name, "F Value"], rel=1e-9)
        assert (ours.degrees, ours.error_degrees) == tuple(theirs.loc[name, ["Num DF", "Den DF"]])
        if ours.degrees == 1:
            assert ours.epsilon == pytest.approx(1.0)
            assert ours.p == pytest.approx(theirs.loc[name, "Pr > F"], rel=1e-9)
    contrasts = np.array([[-1, 0, 1], [1, -2, 1]]) / np.sqrt([[2.0], [6.0]])
    covariance = np.cov(contrasts @ cube.mean(axis=(1, 2)))
    expected = np.trace(covariance) ** 2 / (2 * np.trace(covariance @ covariance))
    assert per_effect_error(cube, (0,)).epsilon == pytest.approx(expected, rel=1e-10)


def test_bonferroni_is_the_paired_t_test_of_scipy(cube):
    paired = cube.mean(axis=(1, 2)).T
    for item in bonferroni(paired):
        theirs = stats.ttest_rel(paired[:, item.second], paired[:, item.first])
        interval = theirs.confidence_interval(1 - 0.05 / 3)
        ends = (item.estimate.low, item.estimate.high)
        assert ends == pytest.approx((interval.low, interval.high), rel=1e-9)
        assert item.significant == (3 * theirs.pvalue < 0.05)


def test_noncentrality_by_the_distribution_of_scipy():
    for f, degrees, error in ((1811.0, 1, 84), (7.9, 1, 63), (2.43, 4, 63), (0.3, 2, 20)):
        low, high = effect_sizes.noncentrality_interval(f, degrees, error)
        if low > 0:
            assert stats.ncf.sf(f, degrees, error, low) == pytest.approx(0.025, rel=1e-6)
        else:
            assert stats.f.sf(f, degrees, error) > 0.025
        if high > 0:
            assert stats.ncf.cdf(f, degrees, error, high) == pytest.approx(0.025, rel=1e-6)


@pytest.mark.parametrize(("degrees", "error_degrees"), [(1, 1), (4, 40)])
def test_noncentrality_of_a_very_large_f_goes_on_where_the_sum_ends(degrees, error_degrees):
    f = effect_sizes.BEYOND / degrees
    for below, above in zip(
        effect_sizes.noncentrality_interval(f, degrees, error_degrees),
        effect_sizes.noncentrality_interval(f * (1 + 1e-12), degrees, error_degrees),
        strict=True,
    ):
        assert above == pytest.approx(below, rel=1e-6)
    # Responses without error, to the rounding of their sums.
    low, high = effect_sizes.noncentrality_interval(3.6e22, degrees, error_degrees)
    assert 0.0 < low < high < 1e24


def test_checks_of_residuals_of_scipy(cube):
    responses = Responses.of_cells(FACTORS[:1], cube.reshape(3, 32))
    rest = responses.residuals()
    np.testing.assert_allclose(rest, ols("y ~ C(a)", frame(responses)).fit().resid, atol=1e-12)
    ours, theirs = residual_checks.normality(rest), stats.shapiro(rest)
    assert (ours.statistic, ours.p) == pytest.approx((theirs.statistic, theirs.pvalue))
    ours = residual_checks.equal_variances(responses)
    theirs = stats.levene(*cube.reshape(3, 32), center="median")
    assert (ours.statistic, ours.p) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-9)


def test_anderson_and_darling_of_statsmodels():
    values = np.random.default_rng(8).standard_t(20, size=6000)
    ours, (statistic, p) = residual_checks.normality(values), sm.stats.normal_ad(values)
    assert ours.method.startswith("Anderson")
    assert ours.statistic == pytest.approx(statistic * (1 + 0.75 / 6000 + 2.25 / 6000**2), rel=1e-9)
    assert ours.p == pytest.approx(p, rel=1e-6)


def test_box_cox_of_one_sample_is_that_of_scipy():
    """Of one group, the errors' degrees of freedom apart, the likelihood is SciPy's."""
    y = np.random.default_rng(9).lognormal(sigma=0.6, size=120)
    factor = Factor("a", ("x", "y"))
    codes = (np.arange(120) % 2)[:, None]
    found = box_cox(Responses(factors=(factor,), codes=np.zeros_like(codes), y=y))
    assert isinstance(found, BoxCox)
    assert found.power.value == pytest.approx(stats.boxcox_normmax(y, method="mle"), abs=1e-6)
    wide = stats.boxcox(y, alpha=0.05)[2]
    assert (found.power.low, found.power.high) == pytest.approx(wide, abs=0.01)


def test_the_interval_of_box_cox_ends_where_the_likelihood_of_the_model_has_fallen():
    y = np.random.default_rng(8).lognormal(1.0, 0.8, (3, 12))
    power = box_cox(Responses.of_cells([Factor("a", (1, 2, 3))], y)).power

    def likelihood(power):
        scaled = special.boxcox(y / stats.gmean(y, axis=None), power)
        return -(y.size - 3) / 2 * np.log(((scaled - scaled.mean(axis=1, keepdims=True)) ** 2).sum())

    peak = likelihood(power.value)
    for end in (power.low, power.high):
        assert peak - likelihood(end) == pytest.approx(stats.chi2.ppf(0.95, 1) / 2, rel=1e-9)
        # Concave: half way to the end it falls by less than half as much.
        assert 0.0 < peak - likelihood((power.value + end) / 2) < stats.chi2.ppf(0.95, 1) / 4


def test_errors_of_a_model_without_high_interactions(cube):
    whole = Responses.of_cells(FACTORS, cube, blocked=True)
    kept = np.random.default_rng(6).random(whole.n) < 0.5
    part = Responses(factors=FACTORS, codes=whole.codes[kept], y=whole.y[kept], blocks=whole.blocks[kept])
    formulas = {1: "y ~ C(a) + C(b) + C(c) + C(block)", 2: "y ~ (C(a) + C(b) + C(c))**2 + C(block)"}
    for order, formula in formulas.items():
        ours, theirs = linear_anova.errors(part, order), ols(formula, frame(part)).fit()
        np.testing.assert_allclose(ours.of(part.y), theirs.resid, atol=1e-10)
        assert ours.degrees == theirs.df_resid
    np.testing.assert_allclose(linear_anova.errors(part).of(part.y), part.residuals())
