"""Errors of coefficients by long-run variances cover under correlation, whatever the origin and basis."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from scipy.signal import lfilter

from thinktime.errors import InputError
from thinktime.stats.regression.least_squares import LeastSquares
from thinktime.stats.regression.long_run import LongRunErrors, _recursion, cosines_for

FALSE_ALARM = 1e-4


def following(random, n, columns, rho):
    """AR(1) with variance one, a column a series."""
    noise = random.normal(size=(n + 200, columns)) * np.sqrt(1 - rho**2)
    return lfilter([1.0], [1.0, -rho], noise, axis=0)[200:]


@pytest.mark.parametrize("rho", [0.17, -0.5, 0.98])
def test_sums_of_innovations_have_the_bits_of_a_filter(rho):
    """SciPy's filter, which takes long to load, on columns forwards and backwards, as rows and as a view."""
    columns = np.random.default_rng(3).normal(size=(500, 7))
    columns[::50] = 0.0
    for rows in (columns, columns[::-1], columns[:, :1], columns[:0]):
        expected = lfilter([1.0], [1.0, -rho], rows, axis=0) if len(rows) else rows
        np.testing.assert_array_equal(_recursion(rows, rho), expected)


def errors_of(x, y, pieces=1):
    rows = LeastSquares.of(x, y)
    fit = rows.solve()
    result = LongRunErrors(fit, len(y))
    for part in np.array_split(np.arange(len(y)), pieces):
        result.absorb(x[part], y[part] - x[part] @ fit.coefficients)
    return fit, result


def test_sums_are_those_of_every_row_by_its_own_cosine():
    """However the rows come; the canary takes the cosine of a row's beginning instead of its middle."""
    random = np.random.default_rng(8)
    n = 5_000
    x = np.column_stack([np.ones(n), random.gamma(4.0, 0.25, (n, 2))])
    y = x @ [1.0, 2.0, 3.0] + random.normal(size=n)
    fit, whole = errors_of(x, y)
    residuals = y - x @ fit.coefficients
    leverages = np.einsum("ij,jk,ik->i", x, fit.unscaled_covariance, x)
    scores = x * (residuals / (1.0 - leverages))[:, None]

    def plain(place):
        waves = np.cos(np.outer(np.arange(1, whole.cosines + 1), (np.arange(n) + place) * np.pi / n))
        return np.sqrt(2.0) * waves @ scores

    scale = np.abs(scores).sum()
    for pieces in (1, 3, 13, 200):
        sums = errors_of(x, y, pieces)[1]._sums
        assert np.abs(sums - plain(0.5)).max() < 1e-12 * scale
        assert np.abs(sums - plain(0.0)).max() > 1e-6 * scale


def hits(runs, n, rates_rho, errors_rho, seed=5):
    """How often intervals of a base and three slopes hold the truth: ours, and statsmodels' HAC with z."""
    random = np.random.default_rng(seed)
    ours, plain = np.zeros(4), np.zeros(4)
    for _ in range(runs):
        x = np.column_stack([np.ones(n), np.exp(0.5 * following(random, n, 3, rates_rho))])
        y = following(random, n, 1, errors_rho)[:, 0]
        fit, result = errors_of(x, y)
        covariance, degrees = result.coefficients()
        off = np.abs(fit.coefficients)
        ours += off <= stats.t.ppf(0.975, degrees) * np.sqrt(np.diag(covariance))
        lags = int(np.ceil(1.3 * np.sqrt(n)))
        theirs = sm.OLS(y, x).fit(cov_type="HAC", cov_kwds={"maxlags": lags, "use_correction": True})
        plain += off <= 1.96 * theirs.bse
    return ours, plain


@pytest.mark.parametrize("rho", [0.0, 0.9])
def test_coefficients_are_covered_at_the_stated_rate_at_200_rows(rho):
    """H0: coverage of each of four coefficients is 0.92 to 0.98; false alarm of all together 1e-4.

    The canary: Newey and West's with the normal critical value, at a correlation of 0.9.
    """
    runs = 250
    ours, plain = hits(runs, 200, rho, rho)
    least = stats.binom.ppf(FALSE_ALARM / 8, runs, 0.92)
    most = stats.binom.ppf(1 - FALSE_ALARM / 8, runs, 0.98)
    assert (ours >= least).all(), ours
    assert (ours <= most).all(), ours
    if rho > 0.0:
        assert (plain < least).all(), plain


def test_very_many_rows_allow_for_what_the_cosines_miss():
    """Beyond the calibration, 40 cosines of 20 000 rows of an AR(1) of 0.997 see half of the variance.

    H0: coverage of the base is at least 0.92; false alarm 1e-4. The canary leaves the correction out.
    """
    runs, n, found, plain = 100, 20_000, 0, 0
    random = np.random.default_rng(9)
    for _ in range(runs):
        fit, result = errors_of(np.ones((n, 1)), following(random, n, 1, 0.997)[:, 0])
        covariance, degrees = result.coefficients()
        reach = stats.t.ppf(0.975, degrees[0]) * np.sqrt(covariance[0, 0])
        found += abs(fit.coefficients[0]) <= reach
        plain += abs(fit.coefficients[0]) <= reach * np.sqrt(result._share())
    least = stats.binom.ppf(FALSE_ALARM, runs, 0.92)
    assert found >= least
    assert plain < found


def test_the_error_of_a_slope_depends_on_neither_origin_nor_basis():
    random = np.random.default_rng(3)
    x, z = following(random, 200, 2, 0.8).T
    y = 1.0 + 2.0 * x + z + following(random, 200, 1, 0.8)[:, 0]
    ones = np.ones(200)
    fit, result = errors_of(np.column_stack([ones, x, z]), y)
    covariance, degrees = result.coefficients()
    moved, freedom = errors_of(np.column_stack([ones, x + 100.0, z - 7.0]), y)[1].coefficients()
    np.testing.assert_allclose(moved[1:, 1:], covariance[1:, 1:], rtol=1e-9)
    np.testing.assert_allclose(freedom[1:], degrees[1:], rtol=1e-9)
    # With z - x in place of z, the coefficient of x is the sum of both, and that of z - x is that of z.
    turned, freedom = errors_of(np.column_stack([ones, x, z - x]), y)[1].coefficients()
    both = fit.unscaled_covariance[:, [1, 2]] @ [[1.0, 0.0], [1.0, 1.0]]
    covariance, degrees = result.variance(both)
    np.testing.assert_allclose(turned[1:, 1:], covariance, rtol=1e-9)
    np.testing.assert_allclose(freedom[1:], degrees, rtol=1e-9)


def test_pieces_make_no_difference():
    random = np.random.default_rng(4)
    x = np.column_stack([np.ones(150), following(random, 150, 2, 0.5)])
    y = following(random, 150, 1, 0.5)[:, 0]
    whole, parts = (errors_of(x, y, pieces)[1].coefficients() for pieces in (1, 7))
    np.testing.assert_allclose(parts[0], whole[0])
    np.testing.assert_allclose(parts[1], whole[1])


def test_the_correlation_of_errors_is_freed_from_the_bias_of_residuals():
    """Mean over 100 samples of 100: residuals of five slopes alone would give about 0.7."""
    random, found, raw = np.random.default_rng(6), [], []
    for _ in range(100):
        x = np.column_stack([np.ones(100), following(random, 100, 5, 0.8)])
        y = following(random, 100, 1, 0.8)[:, 0]
        fit, result = errors_of(x, y)
        residuals = y - x @ fit.coefficients
        found.append(result.correlation())
        raw.append(residuals[1:] @ residuals[:-1] / (residuals @ residuals))
    assert np.mean(found) == pytest.approx(0.8, abs=0.05)
    assert np.mean(raw) < 0.7


def test_a_row_that_alone_determines_a_coefficient_has_an_error_of_usual_size():
    random = np.random.default_rng(7)
    x = np.column_stack([np.ones(80), np.zeros(80)])
    x[40, 1] = 10.0
    y = x @ [1.0, 2.0] + random.normal(size=80)
    covariance, _ = errors_of(x, y)[1].coefficients()
    assert np.sqrt(covariance[1, 1]) == pytest.approx(0.1, rel=0.3)


def test_rows_that_determine_a_coefficient_are_counted_by_their_weights():
    """Ten equal rows of a burst are ten, one that outweighs them about one, in whatever pieces they come."""
    random = np.random.default_rng(8)
    x = np.column_stack([np.ones(2000), np.zeros(2000)])
    x[40:50, 1] = 10.0
    y = x @ [1.0, 2.0] + random.normal(size=2000)
    whole, parts = (errors_of(x, y, pieces)[1].determining() for pieces in (1, 7))
    np.testing.assert_allclose(parts, whole)
    assert whole[1] == pytest.approx(10.0, rel=0.02)
    assert whole[0] == pytest.approx(1990.0, rel=0.02)
    x[40, 1] = 1000.0
    assert errors_of(x, y)[1].determining()[1] == pytest.approx(1.0, abs=0.05)


def test_errors_by_the_model_vary_less_than_those_without():
    """Standard errors of a slope over 150 samples of 200: the same size, and less than half the variation."""
    random, by_model, without = np.random.default_rng(9), [], []
    for _ in range(150):
        x = np.column_stack([np.ones(200), following(random, 200, 1, 0.5)])
        _, result = errors_of(x, following(random, 200, 1, 0.5)[:, 0])
        by_model.append(np.sqrt(result.modelled()[1]))
        without.append(np.sqrt(result.coefficients()[0][1, 1]))
    assert np.median(by_model) == pytest.approx(np.median(without), rel=0.1)
    assert np.std(by_model) < 0.5 * np.std(without)


def test_the_number_of_cosines_is_that_of_the_published_rule():
    """Lazarus, Lewis, Stock and Watson (2018), equation 5: 0.41 n^(2/3), here at most 40."""
    assert [cosines_for(n) for n in (2, 50, 200, 10_000)] == [1, 6, 14, 40]
    assert cosines_for(50, columns=6) == 12


def test_more_rows_than_announced_are_refused():
    x, y = np.ones((5, 1)), np.arange(5.0)
    fit = LeastSquares.of(x, y).solve()
    with pytest.raises(InputError, match="5 rows for the 4"):
        LongRunErrors(fit, 4).absorb(x, y - 2.0)
