"""Tests of ageing and of the exponential: size, power, closed forms, and the mean residual life.

Sizes and powers are counts of rejections in R samples with a fixed seed: binomial when the stated rate is
right; a bound is the quantile that a correct test misses with probability 1 in 10 000.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from thinktime.stats.distributions import lifetime_tests
from thinktime.stats.distributions.lifetime_tests import exponentiality
from thinktime.stats.distributions.residual_life import residual_life
from thinktime.stats.hypothesis import SignificanceTest, adjusted, combined, holm

FALSE_ALARM = 1e-4
TESTS = (
    lifetime_tests.hazard_rate,
    lifetime_tests.mean_residual_life,
    lifetime_tests.used_in_expectation,
    exponentiality,
)


def within(hits, runs, rate, slack=0.0):
    """Whether the count agrees with `rate`, give or take `slack` for an approximation."""
    low = stats.binom.ppf(FALSE_ALARM / 2, runs, max(rate - slack, 0.0))
    high = stats.binom.ppf(1 - FALSE_ALARM / 2, runs, rate + slack)
    return low <= hits <= high


def hyperexponential(random, n):
    return np.where(random.random(n) < 0.1, random.exponential(2.0, n), random.exponential(0.1, n))


def hyperexponential_residual(t):
    short, long = 0.9 * np.exp(-t / 0.1), 0.1 * np.exp(-t / 2.0)
    return (short * 0.1 + long * 2.0) / (short + long)


# Tests of the exponential


@pytest.mark.parametrize("n", [20, 100, 1000])
@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.__name__)
def test_a_test_rejects_the_exponential_at_its_false_alarm_rate(test, n):
    """At 5 % and 1 %; the approximations may be off by half a point at 20 values."""
    random = np.random.default_rng(40 + n)
    p = np.array([test(sample).p for sample in random.exponential(3.0, (1500, n))])
    for rate in (0.05, 0.01):
        assert within(int((p < rate).sum()), len(p), rate, slack=0.005 if n < 50 else 0.0)


def test_the_size_checker_sees_critical_values_of_a_known_mean():
    """Canary: Anderson and Darling as if the mean were known, at the values for a known distribution."""
    random = np.random.default_rng(41)
    # 2.492 is the 5 % point of A2 for a distribution known in full.
    hits = sum(exponentiality(sample).statistic > 2.492 for sample in random.exponential(3.0, (1500, 100)))
    assert not within(hits, 1500, 0.05)


def test_the_normal_approximation_is_the_published_one():
    """Variance of V* is 1/(210 n), of A2 n^7/7560 for large n: Hollander and Proschan, Klefsjö."""
    random = np.random.default_rng(42)
    sample = np.sort(random.exponential(1.0, 4000))
    n, i = 4000, np.arange(1.0, 4001)
    c = 4 / 3 * i**3 - 4 * n * i**2 + 3 * n**2 * i - n**3 / 2 + n**2 / 2 - i**2 / 2 + i / 6
    v = float(c @ sample) / n**4 / sample.mean()
    result = lifetime_tests.mean_residual_life(sample)
    assert result.statistic == pytest.approx(-v * np.sqrt(210 * n), rel=5e-3, abs=5e-3)
    spacings = np.diff(sample, prepend=0.0) * np.arange(n, 0, -1)
    a = ((n + 1) ** 3 * i - 3 * (n + 1) ** 2 * i**2 + 2 * (n + 1) * i**3) / 6
    klefsjo = float(a @ spacings) / spacings.sum() * np.sqrt(7560 / float(n) ** 7)
    assert lifetime_tests.hazard_rate(sample).statistic == pytest.approx(klefsjo, rel=5e-3, abs=5e-3)


def test_the_order_statistic_is_the_integral_that_it_estimates():
    """V* as the double sum over pairs s < t of F(s) F(t) [m(s) - m(t)], F and m from the sample."""
    sample = np.sort(np.random.default_rng(43).weibull(0.7, 600))
    n = len(sample)
    above = 1.0 - np.arange(1, n + 1) / n
    life = np.array([np.maximum(sample - t, 0.0).sum() / n for t in sample])  # survival times residual life
    pairs = np.triu(np.outer(life, above) - np.outer(above, life))
    v = float(pairs.sum()) / n**2
    weights = np.arange(1.0, n + 1)
    c = 4 / 3 * weights**3 - 4 * n * weights**2 + 3 * n**2 * weights - n**3 / 2 + n**2 / 2
    c += -(weights**2) / 2 + weights / 6
    assert float(c @ sample) / n**4 == pytest.approx(v, rel=0.03)
    assert lifetime_tests.mean_residual_life(sample).direction == (1 if v < 0 else -1)


@pytest.mark.parametrize(
    ("name", "hazard"), [("hyperexponential", -1), ("weibull 0.7", -1), ("weibull 1.5", 1), ("erlang", 1)]
)
def test_power_and_side(name, hazard):
    """At n = 200 each alternative is seen in 95 % of the samples by all four tests, on its side."""
    random = np.random.default_rng(44)
    draw = {
        "hyperexponential": lambda: hyperexponential(random, 200),
        "weibull 0.7": lambda: random.weibull(0.7, 200),
        "weibull 1.5": lambda: random.weibull(1.5, 200),
        "erlang": lambda: random.gamma(3.0, 1.0, 200),
    }[name]
    outcomes = [[test(draw()) for test in TESTS] for _ in range(200)]
    for index, side in enumerate((hazard, -hazard, -hazard, 0)):
        power = np.mean([tests[index].rejected() and tests[index].direction == side for tests in outcomes])
        assert power >= 0.95


@given(st.floats(1e-6, 1e6), st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_scale_does_not_matter(scale, seed):
    sample = np.random.default_rng(seed).weibull(0.8, 50)
    for test in TESTS:
        one, other = test(sample), test(sample * scale)
        assert one.statistic == pytest.approx(other.statistic, rel=1e-6, abs=1e-9)
        assert one.direction == other.direction
        assert 0.0 <= one.p <= 1.0


@pytest.mark.parametrize("n", [10, 50, 500])
def test_anderson_darling_is_that_of_scipy(n):
    sample = np.random.default_rng(n).gamma(0.8, 2.0, n)
    reference = stats.anderson(sample, "expon", method="interpolate")
    assert exponentiality(sample).statistic / (1 + 0.6 / n) == pytest.approx(reference.statistic, rel=1e-9)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "0 values are too few for a .*; [0-9]+ are needed"),
        ([1.0] * 4, "4 values are too few for a .*; [0-9]+ are needed"),
        ([0.0] * 30, "all 30 are zero"),
        ([1.0] * 29 + [-1.0], "not negative; one is -1"),
        ([np.nan] + [1.0] * 29, "finite .*; one is nan"),
        ([1.0] * 29 + [np.inf], "finite .*; one is inf"),
        ([-np.inf] + [1.0] * 29, "finite .*; one is -inf"),
    ],
)
@pytest.mark.parametrize("method", [*TESTS, residual_life], ids=lambda method: method.__name__)
def test_what_is_no_sample_of_lifetimes_is_refused_with_the_reason(method, values, message):
    with pytest.raises(ValueError, match=message):
        method(values)


def test_zeros_of_a_coarse_clock_are_taken():
    values = np.concatenate([np.zeros(30), np.random.default_rng(1).exponential(1.0, 200)])
    assert exponentiality(values).rejected()
    assert np.isfinite(exponentiality(values).statistic)


# Several tests


# Statsmodels alone takes seconds to load.
@pytest.mark.thorough
@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20))
@settings(max_examples=30, deadline=None)
def test_holm_is_that_of_statsmodels(p):
    from statsmodels.stats.multitest import multipletests

    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1], abs=1e-12)


@given(st.floats(1e-6, 1.0), st.floats(1e-6, 1.0))
@settings(max_examples=30, deadline=None)
def test_fisher_of_two_tests_is_the_closed_form(first, second):
    """P(U V <= c) = c (1 - ln c) for the product of two uniform variables."""
    product = first * second
    assert combined([first, second]) == pytest.approx(product * (1.0 - np.log(product)))


def test_fisher_of_one_test_is_that_test():
    assert combined([0.03]) == pytest.approx(0.03)
    assert 0.0 < combined([0.0, 0.5]) < 1e-290
    with pytest.raises(ValueError, match="p is empty"):
        combined([])


def test_adjusting_keeps_everything_else():
    tests = [
        SignificanceTest(hypothesis="h", statistic=1.0, p=p, n=9, method="m", direction=-1)
        for p in (0.01, 0.5)
    ]
    assert [test.p for test in adjusted(tests)] == pytest.approx([0.02, 0.5])
    assert adjusted(tests)[0].direction == -1


# Mean residual life


def test_residual_life_is_the_mean_of_what_is_beyond():
    sample = np.random.default_rng(5).lognormal(0.0, 1.0, 500)
    result = residual_life(sample)
    assert result.points[0] == 0.0
    assert result.mean[0] == pytest.approx(sample.mean())
    for t, mean, above in zip(result.points, result.mean, result.above, strict=True):
        beyond = sample[sample > t]
        assert len(beyond) == above >= 20
        assert mean == pytest.approx((beyond - t).mean(), rel=1e-9)
    assert (result.low_all <= result.low).all()
    assert (result.high_all >= result.high).all()


def covered(draw, truth, runs, cut=1.0):
    """Hits of the interval at the last point and of the whole band, widths multiplied by `cut`."""
    points = band = 0
    for _ in range(runs):
        result = residual_life(draw())
        true = truth(result.points)
        points += bool(result.low[-1] <= true[-1] <= result.high[-1])
        off = np.abs(np.log(result.mean / true)) <= cut * np.log(result.high_all / result.mean)
        band += bool(off.all())
    return points, band


@pytest.mark.parametrize(
    ("name", "n"), [("exponential", 300), ("hyperexponential", 300), ("hyperexponential", 2000)]
)
def test_bands_cover_the_closed_form(name, n):
    """Exponential: m is the mean; hyperexponential: closed form. 95 % nominal, 92 % is asked for."""
    random = np.random.default_rng(6)
    if name == "exponential":
        points, band = covered(lambda: random.exponential(2.0, n), lambda t: np.full(len(t), 2.0), 100)
    else:
        points, band = covered(lambda: hyperexponential(random, n), hyperexponential_residual, 100)
    least = stats.binom.ppf(FALSE_ALARM, 100, 0.92)
    assert points >= least
    assert band >= least


def test_a_pointwise_band_does_not_hold_the_whole_curve():
    """Canary: the simultaneous band two thirds as wide, that is about the pointwise one, undercovers."""
    random = np.random.default_rng(7)
    _, band = covered(lambda: random.exponential(2.0, 500), lambda t: np.full(len(t), 2.0), 100, cut=0.65)
    assert band < stats.binom.ppf(FALSE_ALARM, 100, 0.92)


def test_a_rise_is_seen_and_not_invented():
    random = np.random.default_rng(8)
    exponential = [residual_life(random.exponential(1.0, 300)) for _ in range(100)]
    # The band's false-alarm rate of 5 % bounds that of a rise or a fall, which need more than one miss.
    assert sum(result.rises or result.falls for result in exponential) <= stats.binom.ppf(
        1 - FALSE_ALARM, 100, 0.05
    )
    heavy = [residual_life(hyperexponential(random, 300)) for _ in range(50)]
    assert all(result.rises and not result.falls for result in heavy)
    bathtub = residual_life(
        np.concatenate([random.normal(5, 0.2, 2000), random.exponential(20.0, 400) + 5.5])
    )
    assert bathtub.falls
    assert bathtub.rises


def test_weibull_residual_life_grows_as_theory_says():
    """m(t) = l e^{z} Gamma(1 + 1/k, z), z = (t/l)^k, upper incomplete: within the band for k = 0.6."""
    from scipy import special

    k = 0.6
    result = residual_life(np.random.default_rng(9).weibull(k, 3000))
    z = result.points**k
    true = np.exp(z) * special.gammaincc(1 / k, z) * special.gamma(1 / k) / k
    assert ((result.low_all <= true) & (true <= result.high_all)).all()


def test_ties_and_few_values():
    result = residual_life(np.repeat([1.0, 2.0, 4.0], 40))
    assert result.points.tolist() == [0.0, 1.0, 2.0]
    assert result.mean.tolist() == pytest.approx([7 / 3, 2.0, 2.0])
    # The forty values above 2 are equal: nothing shows how much others would differ.
    assert np.isfinite([result.low[:2], result.high[:2], result.low_all[:2], result.high_all[:2]]).all()
    assert np.isnan([result.low[2], result.high[2], result.low_all[2], result.high_all[2]]).all()
    assert not result.rises
    assert residual_life(0.1 * np.repeat([1, 2, 7], 40)).low[:2] == pytest.approx(
        0.1 * residual_life(np.repeat([1, 2, 7], 40)).low[:2]
    )
    with pytest.raises(ValueError, match="19 values are too few for a mean residual life; 20 are needed"):
        residual_life([1.0] * 19)
