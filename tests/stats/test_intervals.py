"""Intervals cover the truth at their stated rate under autocorrelation; the textbook ones do not.

Each test simulates with a fixed seed. For a true coverage p, the hits of R independent runs are binomial;
a bound is the quantile that a correct interval misses with the false-alarm rate of 1 in 10 000.
"""

import dataclasses

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

from thinktime.errors import InputError
from thinktime.stats import critical_values
from thinktime.stats.difference import ratio
from thinktime.stats.estimate import Estimate
from thinktime.stats.regression import bootstrap
from thinktime.stats.regression.least_squares import LeastSquares
from thinktime.stats.regression.long_run import LongRunErrors
from thinktime.stats.samples import order_statistics, proportion, quantile
from thinktime.stats.series import batch_means, moments
from thinktime.stats.series.shares import quantile_in_time

FALSE_ALARM = 1e-4


def least_hits(runs: int, coverage: float) -> int:
    return int(stats.binom.ppf(FALSE_ALARM, runs, coverage))


def most_hits(runs: int, coverage: float) -> int:
    return int(stats.binom.ppf(1 - FALSE_ALARM, runs, coverage))


def autoregressive(random, n, rho):
    """AR(1) with variance one."""
    noise = random.normal(size=n + 200) * np.sqrt(1 - rho**2)
    return lfilter([1.0], [1.0, -rho], noise)[200:]


def long_run_reach(fit, x, residuals, column, *, calibrated=True):
    """Half width of a coefficient's interval, from three pieces of the rows, as a log is read."""
    result = LongRunErrors(fit, len(x))
    for part in np.array_split(np.arange(len(x)), 3):
        result.absorb(x[part], residuals[part])
    covariance, degrees = result.variance(fit.unscaled_covariance, calibrated=calibrated)
    return critical_values.student_t(0.95, degrees[column]) * np.sqrt(covariance[column, column])


def bootstrapped(x, y, replications, seed):
    rows = LeastSquares.of(x, y)
    result = bootstrap.BlockBootstrap(rows.solve(), rows.triangle()[0])
    for part in np.array_split(np.arange(len(x)), 3):
        result.absorb(x[part], (y - x @ rows.solve().coefficients)[part])
    return result.intervals(replications=replications, seed=seed)


def regression_hits(runs, n, rho):
    """Hits of the textbook, long-run and bootstrap intervals of a slope with AR(1) errors and rates."""
    random = np.random.default_rng(20)
    hits = {"textbook": 0, "long_run": 0, "bootstrap": 0}
    for run in range(runs):
        x = np.column_stack([np.ones(n), 5 + autoregressive(random, n, rho)])
        y = x @ [1.0, 2.0] + autoregressive(random, n, rho)
        fit = LeastSquares.of(x, y).solve()
        off = abs(fit.coefficients[1] - 2.0)
        textbook = np.sqrt(fit.covariance()[1, 1]) * critical_values.student_t(0.95, fit.degrees)
        low, high = bootstrapped(x, y, replications=199, seed=run)
        hits["textbook"] += off <= textbook
        hits["long_run"] += off <= long_run_reach(fit, x, y - x @ fit.coefficients, 1)
        hits["bootstrap"] += low[1] <= 2.0 <= high[1]
    return hits


def test_regression_intervals_under_autocorrelation():
    """H0: coverage is at least 0.92 (nominal 0.95 less what blocks and cosines cannot see at n = 200)."""
    runs = 250
    hits = regression_hits(runs, n=200, rho=0.6)
    for name in ("long_run", "bootstrap"):
        assert hits[name] >= least_hits(runs, 0.92), hits
    # The canary: independence is assumed, and the interval holds the truth far too rarely.
    assert hits["textbook"] < least_hits(runs, 0.92), hits


def test_regression_intervals_are_not_too_wide_without_autocorrelation():
    """H0: coverage is at most 0.98: safety must not be bought with intervals that say nothing."""
    runs = 250
    hits = regression_hits(runs, n=200, rho=0.0)
    for name, count in hits.items():
        assert least_hits(runs, 0.92) <= count <= most_hits(runs, 0.98), (name, hits)


@pytest.mark.parametrize(("burst", "coverage"), [(1, 0.90), (2, 0.78), (5, 0.92)])
def test_a_cost_that_few_rows_determine(burst, coverage):
    """H0: coverage is at least `coverage` where a request came in one burst of so many intervals.

    Below 4.5 rows reports print no interval. The residuals of such rows are small whatever their errors; the
    canary takes them as they are, without calibration.
    """
    random = np.random.default_rng(3)
    runs, hits = 300, {"ours": 0, "canary": 0}
    x = np.column_stack([np.ones(80), np.zeros(80)])
    x[40 : 40 + burst, 1] = 10.0 + np.arange(burst)
    for _ in range(runs):
        y = x @ [1.0, 2.0] + random.normal(size=80)
        fit = LeastSquares.of(x, y).solve()
        off, residuals = abs(fit.coefficients[1] - 2.0), y - x @ fit.coefficients
        hits["ours"] += off <= long_run_reach(fit, x, residuals, 1)
        hits["canary"] += off <= long_run_reach(fit, x, residuals, 1, calibrated=False)
    assert hits["ours"] >= least_hits(runs, coverage), hits
    # A single row has no residual: the size of its error is assumed, and there is nothing to calibrate.
    if burst > 1:
        assert hits["canary"] < least_hits(runs, coverage), hits


@pytest.mark.parametrize(("rho", "coverage"), [(0.0, 0.94), (0.5, 0.92)])
def test_batch_means_under_autocorrelation(rho, coverage):
    """H0: coverage is at least `coverage` (nominal 0.95 less the correlation between batches)."""
    runs, random = 600, np.random.default_rng(4)
    hits = {"batches": 0, "plain": 0}
    for _ in range(runs):
        values = 10 + autoregressive(random, 400, rho)
        batches, plain = batch_means.batch_ratio(values), batch_means.plain_mean(values)
        hits["batches"] += batches.low <= 10 <= batches.high
        hits["plain"] += plain.low <= 10 <= plain.high
    assert hits["batches"] >= least_hits(runs, coverage)
    assert (hits["plain"] < least_hits(runs, coverage)) == (rho > 0)


@pytest.mark.parametrize("n", [20, 300])
@pytest.mark.parametrize("q", [0.5, 0.9, 0.99])
def test_quantile_interval_covers_whatever_the_distribution(n, q):
    """H0: coverage is at least 0.95; an end that the data cannot bound is open and covers."""
    runs, random = 500, np.random.default_rng(5)
    truth = -np.log(1 - q)
    hits = 0
    for _ in range(runs):
        result = quantile(random.exponential(size=n), q)
        hits += (result.low is None or result.low <= truth) and (result.high is None or truth <= result.high)
    assert hits >= least_hits(runs, 0.95)


@pytest.mark.parametrize("estimate", [quantile, quantile_in_time])
def test_quantile_interval_holds_its_point_however_few_the_observations(estimate):
    """Interpolated between the largest two of a few, the point can lie below the largest: the lower end."""
    random, outside = np.random.default_rng(8), 0
    for n in range(1, 40):
        for q in (0.01, 0.5, 0.9, 0.99):
            values = random.exponential(size=n)
            found = estimate(values, q)
            assert found.low is None or found.low <= found.value
            assert found.high is None or found.value <= found.high
            low, _ = order_statistics(float(n), q, 0.95)
            outside += low is not None and np.sort(values)[int(low) - 1] > found.value
    assert outside, "no case was one in which the order statistics leave the point out"


@pytest.mark.parametrize(
    ("statistic", "truth"), [(moments.variance, 1.0), (moments.coefficient_of_variation, 1.0)]
)
def test_second_moments_cover_where_the_sample_bounds_them(statistic, truth):
    """H0: coverage for exponential samples of 1500 is at least 0.93; nearly all of them have an interval."""
    runs, random = 300, np.random.default_rng(6)
    found = [statistic(random.exponential(size=1500)) for _ in range(runs)]
    with_ends = [item for item in found if item.low is not None]
    assert len(with_ends) > 0.9 * runs
    hits = sum(item.low <= truth <= item.high for item in with_ends)
    assert hits >= least_hits(len(with_ends), 0.93)


def test_second_moments_of_a_heavy_tail_have_no_interval():
    """Nor if a sample happens to lack its largest values. H0: at least 95 % are without; false alarm 1e-4."""
    random = np.random.default_rng(7)
    for n, runs in ((500, 100), (1000, 100), (4000, 100)):
        found = [moments.coefficient_of_variation(random.lognormal(size=n)) for _ in range(runs)]
        bare = sum(item.low is None and item.caveat.kind == "heavy_tail" for item in found)
        assert bare >= least_hits(runs, 0.95)


def test_tail_index_is_that_of_the_tail():
    """Exponential 0, whatever its mean; Pareto 1/4 to first order; 0 beyond the short ones of a mixture."""
    random = np.random.default_rng(8)

    def mean(draw):
        return np.mean([moments.tail_index(draw()) for _ in range(50)])

    assert mean(lambda: random.exponential(3.0, 2000)) == pytest.approx(0.0, abs=0.04)
    assert mean(lambda: random.pareto(4.0, 20000)) == pytest.approx(0.25, abs=0.04)
    long = lambda: np.append(random.exponential(0.1, 18000), random.exponential(5.0, 2000))  # noqa: E731
    assert mean(long) == pytest.approx(0.0, abs=0.04)
    assert moments.tail_index(np.full(500, 3.0)) == 0.0


def test_skewness_has_no_interval():
    random = np.random.default_rng(7)
    assert moments.skewness(random.exponential(size=5000)).low is None


def test_moments_do_not_depend_on_the_unit():
    values = np.random.default_rng(7).gamma(4.0, size=1000)
    seconds, milliseconds = moments.variance(values), moments.variance(1e3 * values)
    assert milliseconds.value == pytest.approx(1e6 * seconds.value)
    assert milliseconds.high == pytest.approx(1e6 * seconds.high)
    assert moments.skewness(5 * values).value == pytest.approx(moments.skewness(values).value)


def test_a_rate_weighs_intervals_by_their_length():
    result = batch_means.batch_ratio([10.0, 0.0], [1.0, 9.0])
    assert result.value == 1.0
    assert result.low == 0.0  # a count's rate is never negative


def test_one_observation_has_no_interval():
    assert batch_means.batch_ratio([3.0], [2.0]).low is None
    assert batch_means.plain_mean([3.0]).high is None
    with pytest.raises(ValueError, match="too few"):
        batch_means.batch_ratio([], [])


def test_the_autocorrelation_of_what_never_changes_is_not_defined():
    assert np.isnan(batch_means.autocorrelation(np.full(50, 0.1))).all()
    assert np.isnan(batch_means.autocorrelation([1.0, 2.0], lags=3)[1:]).all()


def test_a_proportion_stays_between_none_and_all():
    assert proportion(0, 10).low == 0.0
    assert proportion(10, 10).high == 1.0
    with pytest.raises(ValueError, match="hits is 11"):
        proportion(11, 10)


def test_bootstrap_is_the_same_for_the_same_seed():
    x, y = np.column_stack([np.ones(50), np.arange(50.0)]), np.random.default_rng(1).normal(size=50)
    first, again, other = (bootstrapped(x, y, replications=99, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_interval_of_a_ratio_covers_it():
    """Two means with normal errors; one that is off by a sixth is found out."""
    random, runs, sd = np.random.default_rng(8), 4000, (1.0, 1.5)
    truth = 20.0 / 10.0
    hits = off = 0
    for first, second in random.normal([10.0, 20.0], sd, size=(runs, 2)):
        result = ratio(
            *(
                Estimate(
                    value=value, low=value - 1.96 * error, high=value + 1.96 * error, n=9, method="known"
                )
                for value, error in zip((first, second), sd, strict=True)
            )
        )
        hits += result.low <= truth <= result.high
        off += result.low <= 7 / 6 * truth <= result.high
    assert least_hits(runs, 0.945) <= hits <= most_hits(runs, 0.955)
    assert off < least_hits(runs, 0.945)
    assert result.value == pytest.approx(second / first)


def test_a_ratio_without_a_sign_or_an_end_is_refused_or_has_no_interval():
    one = Estimate(value=1.0, low=-0.1, high=2.0, n=9, method="known")
    assert ratio(one, one).high is None
    with pytest.raises(InputError, match="first is -1; a ratio needs estimates above 0"):
        ratio(dataclasses.replace(one, value=-1.0), one)
