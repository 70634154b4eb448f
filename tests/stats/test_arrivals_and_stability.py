"""Tests of a Poisson process and of equal distributions: size, power, and oracles.

Rejections in R samples with fixed seeds are binomial when the stated rate is right; bounds are missed by a
correct test with probability 1 in 10 000.
"""

import inspect
import math
import warnings

import numpy as np
import pytest
from scipy import stats

from thinktime.stats.series import homogeneity, poisson

FALSE_ALARM = 1e-4
TESTS = {
    "counts": lambda times, end: poisson.dispersion_test(poisson.counts_in_cells(times, 0.0, end)),
    "gaps": lambda times, _: poisson.gaps_test(times),
    "order": lambda times, _: poisson.order_test(times),
}


def within(hits, runs, rate, slack=0.0):
    low = stats.binom.ppf(FALSE_ALARM / 2, runs, max(rate - slack, 0.0))
    high = stats.binom.ppf(1 - FALSE_ALARM / 2, runs, rate + slack)
    return low <= hits <= high


def poisson_process(random, mean, end=600.0):
    return np.sort(random.uniform(0.0, end, max(30, random.poisson(mean))))


@pytest.mark.parametrize("mean", [60, 400])
@pytest.mark.parametrize("name", TESTS)
def test_a_poisson_process_is_rejected_at_the_false_alarm_rate(name, mean):
    random = np.random.default_rng(50 + mean)
    p = np.array([TESTS[name](poisson_process(random, mean), 600.0).p for _ in range(1000)])
    for rate in (0.05, 0.01):
        # Chi-square and Q are approximations: a point at 60 arrivals.
        assert within(int((p < rate).sum()), len(p), rate, slack=0.01 if mean < 100 else 0.0)


def renewal(gaps, end=600.0):
    times = np.cumsum(gaps)
    return times[times < end]


@pytest.mark.parametrize(
    ("name", "test", "side"),
    [
        ("more even: Erlang gaps", "counts", -1),
        ("more even: Erlang gaps", "gaps", 0),
        ("bursts", "counts", 1),
        ("bursts", "order", 1),
        ("heavy gaps", "gaps", 0),
    ],
)
def test_power(name, test, side):
    """With some 400 arrivals each departure is seen in 8 of 10 samples."""
    random = np.random.default_rng(51)

    def draw():
        if name.startswith("more even"):
            return renewal(random.gamma(2.0, 0.75, 900))
        if name == "heavy gaps":
            return renewal(1.5 * random.weibull(0.7, 900))
        # The rate is three times as high in every other stretch of 50 s.
        parts = [50.0 * k + poisson_process(random, 33 if k % 2 else 100, 50.0) for k in range(12)]
        return np.concatenate(parts)

    outcomes = [TESTS[test](draw(), 600.0) for _ in range(60)]
    assert np.mean([outcome.rejected() and side in {0, outcome.direction} for outcome in outcomes]) >= 0.8


def test_a_finite_population_that_waits_is_too_even():
    """Five users, think 3 s, answered in exactly 3 s: nine of ten samples show counts below Poisson's spread.

    Gaps of one user have the squared coefficient of variation 1/4, to which the index of dispersion falls.
    """
    random = np.random.default_rng(52)
    hits, indices = 0, []
    for _ in range(40):
        times = np.concatenate([renewal(random.exponential(3.0, 200) + 3.0) for _ in range(5)])
        result = TESTS["counts"](np.sort(times), 600.0)
        hits += result.rejected() and result.direction < 0
        indices.append(result.statistic)
    assert hits / 40 >= 0.9
    # Cells of 8 arrivals are about two cycles of a user long: still somewhat above the limit of long ones.
    assert 0.25 < np.mean(indices) < 0.5


def test_dispersion_of_equal_counts_is_zero_and_its_interval_the_chi_square():
    assert poisson.dispersion([4.0] * 10).value == 0.0
    counts = np.random.default_rng(53).poisson(6.0, 50)
    result = poisson.dispersion(counts)
    assert result.value == pytest.approx(counts.var(ddof=1) / counts.mean())
    assert result.low == pytest.approx(49 * result.value / stats.chi2.ppf(0.975, 49))
    assert result.high == pytest.approx(49 * result.value / stats.chi2.ppf(0.025, 49))


def test_ljung_box_is_that_of_statsmodels():
    from statsmodels.stats.diagnostic import acorr_ljungbox

    times = np.cumsum(np.random.default_rng(54).exponential(1.0, 301))
    gaps = np.diff(times)
    scores = stats.norm.ppf(stats.rankdata(gaps) / (len(gaps) + 1))
    reference = acorr_ljungbox(scores, lags=[10])
    result = poisson.order_test(times)
    assert result.statistic == pytest.approx(float(reference["lb_stat"].iloc[0]))
    assert result.p == pytest.approx(float(reference["lb_pvalue"].iloc[0]))


def test_cells_hold_all_arrivals():
    times = poisson_process(np.random.default_rng(55), 500)
    counts = poisson.counts_in_cells(times, 0.0, 600.0)
    assert counts.sum() == len(times)
    assert 5 < counts.mean() < 12


@pytest.mark.parametrize("few", [0, 1, 29])
def test_few_arrivals_are_refused(few):
    times = np.arange(float(few))
    for test in TESTS.values():
        with pytest.raises(ValueError, match="too few"):
            test(times, 100.0)


# Samples of several periods


def test_equal_periods_are_rejected_at_the_false_alarm_rate():
    random = np.random.default_rng(56)
    p = []
    for _ in range(600):
        samples = [random.lognormal(0.0, 1.0, size) for size in (40, 60, 50, 30)]
        p.append((homogeneity.same_distribution(samples).p, homogeneity.trend(samples).p))
    for column in np.array(p).T:
        assert within(int((column < 0.05).sum()), 600, 0.05)


def test_ties_do_not_change_the_size():
    random = np.random.default_rng(57)
    samples = [[np.ceil(random.exponential(2.0, 50)) for _ in range(4)] for _ in range(400)]
    for test in (homogeneity.same_distribution, homogeneity.trend):
        assert within(sum(test(sample).rejected() for sample in samples), 400, 0.05, slack=0.005)


def test_a_change_of_spread_and_a_drift_are_seen_by_the_test_that_looks_for_them():
    """The drift has correlation r = 0.25, hence rho = 6/pi asin(r/2) = 0.24: power 0.999 at n = 480."""
    random = np.random.default_rng(58)
    spread = drift = blind = 0
    for _ in range(60):
        wide = [random.normal(0.0, scale, 80) for scale in (1.0, 2.5, 1.0, 2.5)]
        moving = [random.normal(0.15 * k, 1.0, 80) for k in range(6)]
        spread += homogeneity.same_distribution(wide).rejected()
        blind += homogeneity.trend(wide).rejected()
        result = homogeneity.trend(moving)
        drift += result.rejected() and result.direction > 0
    rho = 6 / np.pi * np.arcsin(0.15 * np.sqrt(35 / 12 / (1 + 0.15**2 * 35 / 12)) / 2)
    power = stats.norm.cdf(rho * np.sqrt(479) - stats.norm.ppf(0.975))
    assert drift >= stats.binom.ppf(FALSE_ALARM, 60, power)
    assert spread / 60 >= 0.9
    assert blind <= stats.binom.ppf(1 - FALSE_ALARM, 60, 0.1)  # the trend test is no test of spread


def test_effect_is_zero_for_equal_and_one_for_apart():
    random = np.random.default_rng(59)
    assert homogeneity.effect([random.normal(size=400) for _ in range(4)]) < 0.02
    assert homogeneity.effect([random.normal(1000.0 * k, 1.0, 50) for k in range(3)]) > 0.8


def test_k_sample_anderson_darling_of_scholz_and_stephens_1987():
    """Smoothness of paper from four laboratories (JASA 82, 918, section 5); they share ranks among ties."""
    laboratories = [
        (38.7, 41.5, 43.8, 44.5, 45.5, 46.0, 47.7, 58.0),
        (39.2, 39.3, 39.7, 41.4, 41.8, 42.9, 43.3, 45.8),
        (34.0, 35.0, 39.0, 40.0, 43.0, 43.0, 44.0, 45.0),
        (34.0, 34.8, 34.8, 35.4, 37.2, 37.8, 41.2, 42.8),
    ]
    for seed in range(20):
        result = homogeneity.same_distribution(laboratories, seed=seed)
        assert result.statistic == pytest.approx(4.45, abs=0.25)
        assert result.p == pytest.approx(0.0023, abs=0.0008)


def test_k_sample_anderson_darling_is_that_of_scipy():
    """Which counts, for each sample, the observations below every other one; a shift moves p off its ends."""
    # SciPy 1.17 renamed the option.
    renamed = "variant" in inspect.signature(stats.anderson_ksamp).parameters
    without_ties = {"variant": "continuous"} if renamed else {"midrank": False}
    random = np.random.default_rng(6)
    inside = 0
    for shift in np.repeat([0.0, 0.15, 0.3], 10):
        sizes = random.integers(homogeneity.N_LEAST, 120, size=random.integers(2, 9))
        samples = [random.normal(shift * number, size=size) for number, size in enumerate(sizes)]
        ours = homogeneity.same_distribution(samples)
        with warnings.catch_warnings():
            # p at an end of the table, and the return value of versions to come.
            warnings.simplefilter("ignore")
            theirs = stats.anderson_ksamp(samples, **without_ties)
        assert ours.statistic == pytest.approx(float(theirs.statistic), rel=1e-9)
        assert ours.p == pytest.approx(float(theirs.pvalue), rel=1e-9)
        inside += 0.001 < ours.p < 0.25
    assert inside >= 5


def test_rank_statistics_of_samples_that_do_not_overlap():
    """Rank sums 15, 40, 65: H = 12.5, and the squared correlation is 250 of 280, the variance between."""
    samples = np.arange(15.0).reshape(3, 5) ** 3
    trend = homogeneity.trend(samples)
    assert trend.statistic == pytest.approx(math.sqrt(250 / 280))
    assert trend.p == pytest.approx(2 * stats.norm.sf(math.sqrt(14 * 250 / 280)))
    assert trend.direction == 1
    assert homogeneity.trend(samples[::-1]).direction == -1
    assert homogeneity.effect(samples) == pytest.approx((12.5 - 3 + 1) / (15 - 3))


@pytest.mark.parametrize("samples", [[[1.0] * 9], [[1.0, 2.0] * 5, [1.0] * 4], [[1.0] * 9, [1.0] * 9]])
def test_samples_that_cannot_be_compared_are_refused(samples):
    for test in (homogeneity.same_distribution, homogeneity.trend, homogeneity.effect):
        with pytest.raises(ValueError, match=r"give 2 or more|too few|equal"):
            test(samples)


def test_gaps_that_are_all_equal_have_no_order():
    times = 300.0 * np.arange(60)
    order = poisson.order_test(times)
    assert (order.statistic, order.p) == (0.0, 1.0)
    assert poisson.gaps_test(times).p < 1e-3
