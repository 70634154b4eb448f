"""A slow swing under a quick noise is found where the data can show it, and widens the interval."""

import numpy as np
import pytest
from interval_coverage.series import autoregressive, swinging
from scipy import fft, stats

from thinktime.documents.document import Col, Table
from thinktime.documents.remarks import remarks
from thinktime.stats.regression.least_squares import LeastSquares
from thinktime.stats.regression.long_run import LongRunErrors
from thinktime.stats.series import batch_means, long_run, spectrum

FALSE_ALARM = 1e-4


def found(runs, draw):
    """Samples of which a swing is said."""
    random = np.random.default_rng(12)
    return sum(long_run.long_run(_centred(draw(random))).swing for _ in range(runs))


def _centred(values):
    return values - values.mean()


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_a_swing_is_rarely_said_of_a_series_without_noise(rho):
    """H0: in at most 5 % of samples of 200; false alarm 1e-4."""
    assert found(300, lambda random: autoregressive(random, 200, rho)) <= stats.binom.ppf(
        1 - FALSE_ALARM, 300, 0.05
    )


def test_a_swing_under_noise_is_found():
    """H0: in at least 80 % of samples of 200, 30 % of whose variance swings; false alarm 1e-4.

    The canary: the correlation of neighbours and of their sums says it of less than half of them.
    """
    random, by_swing, by_correlation = np.random.default_rng(13), 0, 0
    for _ in range(200):
        result = long_run.long_run(_centred(swinging(random, 200)))
        by_swing += result.caveat is not None
        by_correlation += result.caveat is not None and not result.swing
    least = stats.binom.ppf(FALSE_ALARM, 200, 0.8)
    assert by_swing >= least
    assert by_correlation < least


def test_no_test_can_find_it_in_sixty_values():
    """The most powerful invariant test at 5 % knows correlation and share, and finds it in half of samples.

    (Neyman and Pearson: the likelihood ratio of the two known covariances, for any mean and scale.)
    """
    n, runs = 60, 4000
    random = np.random.default_rng(14)
    lags = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    contrasts = fft.dct(np.eye(n), norm="ortho", axis=0)[1:]
    covariance = contrasts @ (0.3 * 0.97**lags + 0.7 * np.eye(n)) @ contrasts.T
    inverse = np.linalg.inv(covariance)

    def ratio(values):
        return np.einsum("ij,jk,ik->i", values, inverse, values) / (values**2).sum(axis=1)

    null = ratio(random.normal(size=(runs, n - 1)))
    swings = ratio(random.multivariate_normal(np.zeros(n - 1), covariance, runs))
    bound = float(np.mean(swings < np.quantile(null, 0.05)))
    assert bound == pytest.approx(0.51, abs=0.05)
    ours = found(300, lambda generator: swinging(generator, n)) / 300
    assert ours <= bound
    assert ours >= 0.25


@pytest.mark.parametrize("n", [12, 25, 60])
@pytest.mark.parametrize("rho", [0.0, 0.3, 0.99])
def test_powers_of_cosines_are_those_of_the_covariance_matrix(n, rho):
    lags = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    cosines = fft.dct(np.eye(n), norm="ortho", axis=0)
    exact = np.diag(cosines @ (rho**lags) @ cosines.T)
    np.testing.assert_allclose(spectrum.powers(n, rho), exact, rtol=1e-9)


def test_an_interval_with_a_swing_is_wider_and_says_so():
    values = 10.0 + swinging(np.random.default_rng(15), 200)
    result = batch_means.batch_ratio(values)
    assert result.caveat.kind == "slow_swing"
    narrow = long_run.LongRun(variance=(result.high - result.low) ** 2, degrees=30.0, method="", factor=1.0)
    assert narrow.caveat is None
    table = Table.of([result], Col("mean", lambda item: item), name="t", caption="Load")
    (sentence,) = remarks([table])
    assert sentence.startswith("Load, mean: a slow swing lies under the quick variation")


@pytest.mark.parametrize(("swinging_errors", "least", "most"), [(True, 0.75, 1.0), (False, 0.0, 0.05)])
def test_a_swing_of_the_errors_of_a_regression_is_said(swinging_errors, least, most):
    """H0: in 75 % of samples of 200 with a swing at least, in 5 % without at most; false alarm 1e-4."""
    random, said, runs = np.random.default_rng(16), 0, 150
    for _ in range(runs):
        x = np.column_stack([np.ones(200), autoregressive(random, 200, 0.8)])
        y = swinging(random, 200) if swinging_errors else autoregressive(random, 200, 0.5)
        fit = LeastSquares.of(x, y).solve()
        errors = LongRunErrors(fit, 200)
        errors.absorb(x, y - x @ fit.coefficients)
        said += errors.swings()
    assert stats.binom.ppf(FALSE_ALARM, runs, least) <= said <= stats.binom.ppf(1 - FALSE_ALARM, runs, most)


def test_too_few_or_constant_values_have_no_swing():
    assert spectrum.swing(_centred(swinging(np.random.default_rng(1), spectrum.SHORTEST - 1))) is None
    assert spectrum.swing(np.zeros(100)) is None
