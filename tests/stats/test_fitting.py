"""Fits recover what the samples were drawn from, and their distances reject what is wrong."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from thinktime.stats.distributions import families, fitting
from thinktime.stats.distributions.families import (
    BoundedPareto,
    Exponential,
    Hyperexponential,
    Lognormal,
    Weibull,
)

FALSE_ALARM = 1e-4
FAMILIES = [
    Exponential(2.0),
    Hyperexponential(weights=(0.9, 0.1), means=(0.1, 5.0)),
    Weibull(shape=0.6, scale=1.5),
    Lognormal(mu=-0.5, sigma=1.2),
    BoundedPareto(shape=1.1, low=0.01, high=50.0),
]
FITTERS = {
    "Exponential": families.exponential,
    "Hyperexponential": lambda x: families.hyperexponential(x, 2),
    "Weibull": families.weibull,
    "Lognormal": families.lognormal,
    "BoundedPareto": families.bounded_pareto,
}


def name_of(family):
    return type(family).__name__


@pytest.mark.parametrize("family", FAMILIES, ids=name_of)
def test_a_family_agrees_with_itself(family):
    """Density is the slope of the distribution function; draws have its moments; 0 to 1 over its range."""
    x = np.quantile(family.draw(4000, np.random.default_rng(1)), [0.05, 0.3, 0.5, 0.9, 0.99])
    step = 1e-6 * x
    slope = (family.cumulative(x + step) - family.cumulative(x - step)) / (2 * step)
    assert np.exp(family.log_density(x)) == pytest.approx(slope, rel=1e-4)
    sample = family.draw(200_000, np.random.default_rng(2))
    mean, variance = family.moments()
    error = math.sqrt(variance / len(sample))
    # Four standard errors: a false alarm in 16 000.
    assert abs(sample.mean() - mean) < 4 * error
    if name_of(family) != "Lognormal":  # the variance of its sample variance is out of reach
        assert sample.var() == pytest.approx(variance, rel=0.1)
    assert stats.kstest(sample[:5000], family.cumulative).pvalue > FALSE_ALARM


@pytest.mark.parametrize("family", FAMILIES, ids=name_of)
def test_maximum_likelihood_recovers_the_truth(family):
    """Within 10 % at n = 20 000, and no parameter near it is likelier."""
    sample = family.draw(20_000, np.random.default_rng(3))
    fit = FITTERS[name_of(family)](sample)
    truth, result = family.parameters, fit.parameters
    free = [name for name in truth if name != "high"]  # the greatest value of a sample falls short of it
    assert [result[name] for name in free] == pytest.approx([truth[name] for name in free], rel=0.1, abs=0.02)
    assert (
        fit.log_density(sample).sum()
        >= np.sum(family.log_density(np.clip(sample, fit.parameters.get("low", 0), None))) - 1e-6
    )


def test_weibull_and_lognormal_are_those_of_scipy():
    sample = np.random.default_rng(4).weibull(0.7, 500) * 3.0
    shape, _, scale = stats.weibull_min.fit(sample, floc=0)
    fit = families.weibull(sample)
    assert (fit.shape, fit.scale) == pytest.approx((shape, scale), rel=1e-3)
    sigma, _, median = stats.lognorm.fit(sample, floc=0)
    other = families.lognormal(sample)
    assert (other.sigma, math.exp(other.mu)) == pytest.approx((sigma, median), rel=1e-3)


def test_distances_are_those_of_scipy():
    sample = np.sort(np.random.default_rng(5).exponential(2.0, 300))
    ks, ad = fitting.distances(sample, Exponential(float(sample.mean())))
    assert ks == pytest.approx(stats.kstest(sample, "expon", args=(0, sample.mean())).statistic)
    assert ad == pytest.approx(stats.anderson(sample, "expon", method="interpolate").statistic)


@given(st.integers(0, 10_000), st.integers(2, 4))
@settings(max_examples=25, deadline=None)
def test_em_keeps_the_mean_and_is_no_less_likely_than_the_exponential(seed, phases):
    sample = np.random.default_rng(seed).lognormal(0.0, 1.5, 150)
    fit = families.hyperexponential(sample, phases)
    assert sum(fit.weights) == pytest.approx(1.0)
    assert list(fit.means) == sorted(fit.means)
    assert fit.moments()[0] == pytest.approx(sample.mean(), rel=1e-9)
    alone = families.exponential(sample).log_density(sample).sum()
    assert fit.log_density(sample).sum() >= alone - 1e-6 * len(sample)


@pytest.mark.parametrize(
    ("family", "kind"),
    [
        (FAMILIES[0], "exponential"),
        (FAMILIES[1], "hyperexponential"),
        (FAMILIES[2], "weibull"),
        (FAMILIES[3], "lognormal"),
        (FAMILIES[4], "bounded_pareto"),
    ],
    ids=lambda item: name_of(item) if not isinstance(item, str) else "",
)
def test_the_family_is_recognised(family, kind):
    fits = fitting.fit(family.draw(800, np.random.default_rng(14)), replications=29)
    assert fits.fits[0].spec["kind"] == kind
    assert fits.adequate()
    assert fits.chosen["kind"] == kind
    if kind == "hyperexponential":
        assert len(fits.chosen["means"]) == 2


def test_the_bootstrap_rejects_the_right_family_at_its_false_alarm_rate_and_the_wrong_one_mostly():
    """19 replications: p <= 0.05 has probability 1/20 under the hypothesis, and 2/3 or more against it."""
    random = np.random.default_rng(7)
    right = wrong = 0
    for run in range(120):
        sample = np.sort(random.weibull(0.7, 60))
        right += _p(sample, families.weibull, run) <= 0.05
        wrong += _p(sample, families.exponential, run) <= 0.05
    assert stats.binom.ppf(FALSE_ALARM, 120, 0.05) <= right <= stats.binom.ppf(1 - FALSE_ALARM, 120, 0.05)
    assert wrong / 120 > 2 / 3


def _p(sample, fitter, seed):
    return fitting._assessed(sample, fitter(sample), fitter, 0.95, 19, seed).ad_p


def test_a_bootstrap_against_the_unfitted_distribution_would_never_reject():
    """Canary: Kolmogorov and Smirnov's table for a known distribution, used with a fitted one."""
    random = np.random.default_rng(8)
    hits = 0
    for _ in range(300):
        sample = random.exponential(1.0, 60)
        hits += stats.kstest(sample, "expon", args=(0, sample.mean())).pvalue < 0.05
    assert hits < stats.binom.ppf(FALSE_ALARM, 300, 0.05)


def test_parameter_intervals_hold_the_truth_at_their_rate():
    """90 % percentile intervals of 49 replications: nominal coverage; the bound is missed once in 10 000."""
    random = np.random.default_rng(9)
    hits = 0
    for run in range(150):
        sample = np.sort(random.exponential(2.0, 80))
        fit = fitting._assessed(sample, families.exponential(sample), families.exponential, 0.9, 49, run)
        ((_, mean),) = fit.parameters
        hits += mean.low <= 2.0 <= mean.high
    assert stats.binom.ppf(FALSE_ALARM, 150, 0.87) <= hits


def test_the_same_seed_gives_the_same_fits():
    sample = np.random.default_rng(10).lognormal(0.0, 1.0, 100)
    assert fitting.fit(sample, replications=19) == fitting.fit(sample[::-1], replications=19)


def test_the_empirical_distribution_keeps_mean_and_range():
    sample = np.random.default_rng(11).lognormal(0.0, 1.5, 3000)
    spec = fitting.empirical(sample)
    x, f = np.array(spec["values"]), np.array(spec["cumulative"])
    assert (np.diff(x) > 0).all()
    assert (np.diff(f) > 0).all()
    assert (f[0], f[-1]) == (0.0, 1.0)
    assert (x[0], x[-1]) == (sample.min(), sample.max())
    assert float((np.diff(f) * (x[1:] + x[:-1]) / 2).sum()) == pytest.approx(sample.mean())
    at = np.quantile(sample, [0.1, 0.5, 0.9, 0.99])
    assert np.interp(at, x, f) == pytest.approx([0.1, 0.5, 0.9, 0.99], abs=0.01)


@given(st.lists(st.floats(0.0, 1e6), min_size=1, max_size=300))
@settings(max_examples=60, deadline=None)
def test_any_sample_has_an_empirical_distribution(values):
    spec = fitting.empirical(values)
    if spec["kind"] == "deterministic":
        assert spec["value"] == values[0]
        return
    x, f = np.array(spec["values"]), np.array(spec["cumulative"])
    assert (np.diff(x) > 0).all()
    assert (np.diff(f) >= 0).all()
    assert (f[0], f[-1]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0] * 10, "too few"),
        ([2.0] * 50, "deterministic"),
        ([-1.0] + [1.0] * 50, "not negative"),
        ([math.inf] + [1.0] * 50, "finite"),
        ([math.nan] + [1.0] * 50, "finite"),
        ([0.0] * 50, "deterministic"),
    ],
)
def test_what_cannot_be_fitted_is_refused_with_a_reason(values, message):
    with pytest.raises(ValueError, match=message):
        fitting.fit(values)


def test_zeros_of_a_coarse_clock_leave_the_families_that_allow_them():
    values = np.concatenate([np.zeros(10), np.random.default_rng(12).exponential(1.0, 100)])
    fits = fitting.fit(values, replications=9)
    assert {fit.spec["kind"] for fit in fits.fits} == {"exponential", "hyperexponential"}
    assert {name for name, _ in fits.refused} == {"weibull", "lognormal", "bounded_pareto"}
    assert all("10 of 110 values are not positive" in why for _, why in fits.refused)
