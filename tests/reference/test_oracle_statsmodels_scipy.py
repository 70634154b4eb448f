"""Statistics against statsmodels and SciPy: the same definitions give the same numbers."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import integrate, optimize, stats
from statsmodels.stats.oneway import anova_oneway
from statsmodels.stats.outliers_influence import variance_inflation_factor
from statsmodels.stats.proportion import proportion_confint
from statsmodels.tsa.stattools import acf

from thinktime.models.distributions import distribution
from thinktime.stats import critical_values
from thinktime.stats.distributions import families
from thinktime.stats.regression import collinearity, robust
from thinktime.stats.regression.equality import same_coefficient, same_coefficients, same_mean
from thinktime.stats.regression.least_squares import LeastSquares
from thinktime.stats.regression.long_run import LongRunErrors
from thinktime.stats.samples import proportion, quantile
from thinktime.stats.series import batch_means


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(1971)
    x = np.column_stack([np.ones(120), random.gamma(2.0, size=(120, 3)) * [1.0, 50.0, 1e4]])
    x[:, 3] += 100 * x[:, 2]
    return x, x @ [0.1, 2.0, 0.01, 1e-4] + random.standard_t(4, size=120)


def test_ordinary_least_squares_of_statsmodels(rows):
    x, y = rows
    ours, theirs = LeastSquares.of(x, y).solve(), sm.OLS(y, x).fit()
    np.testing.assert_allclose(ours.coefficients, theirs.params, rtol=1e-10)
    np.testing.assert_allclose(ours.covariance(), theirs.cov_params(), rtol=1e-9)
    assert ours.r_squared == pytest.approx(theirs.rsquared, rel=1e-12)
    assert ours.residual_deviation() ** 2 == pytest.approx(theirs.mse_resid, rel=1e-12)


def test_weighted_least_squares_of_statsmodels(rows):
    x, y = rows
    weights = np.random.default_rng(2).random(120) + 0.1
    ours = LeastSquares(4)
    ours.absorb(x[:50], y[:50], weights[:50])
    ours.absorb(x[50:], y[50:], weights[50:])
    fit, theirs = ours.solve(), sm.WLS(y, x, weights=weights).fit()
    np.testing.assert_allclose(fit.coefficients, theirs.params, rtol=1e-10)
    np.testing.assert_allclose(fit.covariance(), theirs.cov_params(), rtol=1e-9)
    assert fit.r_squared == pytest.approx(theirs.rsquared, rel=1e-10)


def test_long_run_errors_by_all_cosines_are_hc3_of_statsmodels(rows):
    """All n - 1 cosines of a series have its squares about its mean (Parseval): those of HC3's scores."""
    x, y = rows[0][:9], rows[1][:9]
    fit = LeastSquares.of(x, y).solve()
    errors = LongRunErrors(fit, 9)
    assert errors.cosines == 8
    errors.absorb(x, y - x @ fit.coefficients)
    ours, _ = errors.variance(fit.unscaled_covariance, calibrated=False)
    theirs = sm.OLS(y, x).fit()
    mean = theirs.normalized_cov_params @ x.T @ theirs.get_influence().resid_press / 9
    np.testing.assert_allclose(ours, 9 / 8 * (theirs.cov_HC3 - 9 * np.outer(mean, mean)), rtol=1e-6)


def test_huber_of_statsmodels(rows):
    x, y = rows
    theirs = sm.RLM(y, x, M=sm.robust.norms.HuberT()).fit(
        maxiter=500, tol=1e-12, scale_est=sm.robust.scale.mad
    )
    # Theirs centres the residuals' median before the scale; ours takes zero: equal to three digits.
    np.testing.assert_allclose(robust.huber(x, y)[1:], theirs.params[1:], rtol=5e-3)


def test_equal_means_of_unequal_variances_of_statsmodels():
    """With one estimate each it is Welch's analysis of variance."""
    random = np.random.default_rng(5)
    groups = [random.normal(mean, spread, n) for mean, spread, n in ((0, 1, 12), (0.5, 3, 20), (1, 2, 9))]
    theirs = anova_oneway(groups, use_var="unequal", welch_correction=True)
    ours = same_mean(
        [np.array([group.mean()]) for group in groups],
        [np.array([[group.var(ddof=1) / len(group)]]) for group in groups],
        [len(group) - 1 for group in groups],
        "means are equal",
    )
    assert (ours.statistic, ours.p) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-10)


def test_equal_coefficients_of_statsmodels(rows):
    """The test by Chow is that of a model with coefficients for each part against one for all."""
    x, y = rows
    parts = np.array_split(np.arange(120), 3)
    apart = np.zeros((120, 12))
    for at, part in enumerate(parts):
        apart[part, 4 * at : 4 * at + 4] = x[part]
    f, p, _ = sm.OLS(y, apart).fit().compare_f_test(sm.OLS(y, x).fit())
    fits = [LeastSquares.of(x[part], y[part]).solve() for part in parts]
    ours = same_coefficients(fits, LeastSquares.of(x, y).solve(), "coefficients are equal")
    assert (ours.statistic, ours.p) == pytest.approx((f, p), rel=1e-8)


def test_equal_coefficient_of_statsmodels(rows):
    """The spread of one coefficient is the Wald test of a model with coefficients for each part."""
    x, y = rows
    parts = np.array_split(np.arange(120), 3)
    apart = np.zeros((120, 12))
    for at, part in enumerate(parts):
        apart[part, 4 * at : 4 * at + 4] = x[part]
    contrast = np.zeros((2, 12))
    contrast[:, 1], contrast[0, 5], contrast[1, 9] = 1.0, -1.0, -1.0
    theirs = sm.OLS(y, apart).fit().f_test(contrast)
    fits = [LeastSquares.of(x[part], y[part]).solve() for part in parts]
    ours = same_coefficient(fits, 1, "the coefficient is equal")
    assert (ours.statistic, ours.p) == pytest.approx((float(theirs.fvalue), float(theirs.pvalue)), rel=1e-8)


def test_variance_decomposition_adds_up_to_the_textbook_variances(rows):
    """Belsley, Kuh and Welsch (1980), 3.2: parts of each variance; two columns share the last direction."""
    x, y = rows
    found = collinearity.diagnose(LeastSquares.of(x, y), range(4))
    parts = np.array([item.proportions for item in found.dependencies])
    np.testing.assert_allclose(parts.sum(axis=0), 1.0)
    scaled = x / np.linalg.norm(x, axis=0)
    variances = np.diagonal(np.linalg.inv(scaled.T @ scaled))
    values, vectors = np.linalg.eigh(scaled.T @ scaled)
    for item, value, vector in zip(found.dependencies, values[::-1], vectors.T[::-1], strict=True):
        assert item.condition_index == pytest.approx(np.sqrt(values[-1] / value), rel=1e-8)
        np.testing.assert_allclose(item.proportions, vector**2 / value / variances, rtol=1e-6)


def test_variance_inflation_of_statsmodels(rows):
    x, y = rows
    found = collinearity.diagnose(LeastSquares.of(x, y), range(4))
    for at in (1, 2, 3):
        assert found.variance_inflation[at] == pytest.approx(variance_inflation_factor(x, at), rel=1e-8)
    assert found.condition_number == pytest.approx(np.linalg.cond(x / np.linalg.norm(x, axis=0)), rel=1e-8)


def test_non_negative_least_squares_of_scipy(rows):
    x, y = rows
    target = y - 0.3 * x[:, 1] * 10
    theirs = optimize.lsq_linear(x / np.linalg.norm(x, axis=0), target, (0, np.inf), method="bvls", tol=1e-14)
    ours = robust.non_negative(LeastSquares.of(x, target))
    np.testing.assert_allclose(ours, theirs.x / np.linalg.norm(x, axis=0), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("q", [0.05, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("n", [7, 60, 1000])
def test_quantile_interval_of_scipy(q, n):
    values = np.random.default_rng(n).lognormal(size=n)
    ours = quantile(values, q)
    theirs = stats.quantile_test(values, q=np.quantile(values, q), p=q).confidence_interval(0.95)
    assert ours.value == np.quantile(values, q)
    for mine, other in ((ours.low, theirs.low), (ours.high, theirs.high)):
        assert (mine is None and not np.isfinite(other)) or mine == other


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (3, 10), (10, 10), (700, 1000)])
def test_wilson_interval_of_statsmodels(hits, n):
    found = proportion(hits, n)
    low, high = proportion_confint(hits, n, method="wilson")
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)


def test_autocorrelation_of_statsmodels():
    values = np.random.default_rng(3).normal(size=200).cumsum()
    np.testing.assert_allclose(batch_means.autocorrelation(values, 10), acf(values, nlags=10)[1:], rtol=1e-10)


def test_critical_values_of_scipy():
    assert critical_values.normal(0.9) == pytest.approx(stats.norm.ppf(0.95))
    assert critical_values.student_t(0.99, 7) == pytest.approx(stats.t.ppf(0.995, 7))
    assert critical_values.f_tail(4.0, 2, 30) == pytest.approx(stats.f.sf(4.0, 2, 30))


def test_independent_means_of_equal_lengths_are_those_of_the_textbook():
    """Law, Simulation Modeling and Analysis, 9.5.3: Student's t on the means of the batches."""
    values = np.random.default_rng(4).normal(size=200)
    means = values.reshape(10, 20).mean(axis=1)
    found = batch_means.batch_ratio(20.0 * means, np.full(10, 20.0), independent=True)
    low, high = stats.t.interval(0.95, 9, means.mean(), means.std(ddof=1) / np.sqrt(10))
    assert (found.low, found.high) == pytest.approx((low, high))


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (5, 5), (1, 7), (120, 300), (1, 100_000)])
def test_wilson_of_scipy(hits, n):
    """SciPy's takes whole trials only, hence ours, which also takes an effective number of them."""
    ours, theirs = proportion(hits, n), stats.binomtest(hits, n).proportion_ci(method="wilson")
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(
    ("family", "moments"),
    [
        (families.Exponential(2.0), (2.0, 4.0)),
        (families.Weibull(shape=0.5, scale=3.0), (6.0, 180.0)),
        (families.Lognormal(mu=0.4, sigma=0.5), (np.exp(0.525), np.exp(1.05) * np.expm1(0.25))),
    ],
    ids=["exponential", "weibull", "lognormal"],
)
def test_families_are_those_of_their_parameters(family, moments):
    """Moments in closed form; the density integrates to the distribution function and to the moments."""
    assert family.moments() == pytest.approx(moments, rel=1e-12)
    t = np.linspace(-40.0, 12.0, 20_001)
    x = np.exp(t)
    mass = np.exp(family.log_density(x)) * x
    cumulative = integrate.cumulative_simpson(mass, x=t, initial=0.0)
    np.testing.assert_allclose(family.cumulative(x), cumulative, atol=1e-7)
    mean = integrate.simpson(mass * x, x=t)
    assert (mean, integrate.simpson(mass * (x - mean) ** 2, x=t)) == pytest.approx(moments, rel=1e-7)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("weibull(shape=0.7, scale=3)", stats.weibull_min(0.7, scale=3.0)),
        ("erlang(shape=3, mean=6)", stats.gamma(3, scale=2.0)),
        ("lognormal(mean=2, sd=3)", None),
        ("uniform(low=1, high=4)", stats.uniform(1.0, 3.0)),
    ],
)
def test_specified_distributions_of_scipy(ours, theirs):
    if theirs is None:
        sigma = np.sqrt(np.log1p((3.0 / 2.0) ** 2))
        theirs = stats.lognorm(sigma, scale=np.exp(np.log(2.0) - sigma**2 / 2.0))
    x = np.geomspace(1e-2, 40.0, 30)
    np.testing.assert_allclose(distribution(ours).survival(x), theirs.sf(x), rtol=1e-9, atol=1e-300)
    assert distribution(ours).moment(2) == pytest.approx(theirs.moment(2), rel=1e-10)
