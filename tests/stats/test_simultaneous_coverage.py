"""Simultaneous intervals, checks and effect sizes keep the rate that they state; plain t intervals do not.

Each test simulates with a fixed seed. Hits of R independent runs are binomial; a bound is the quantile that
a correct method misses with the false-alarm rate of 1 in 10 000.
"""

import numpy as np
import pytest
from scipy import stats

from thinktime.stats import critical_values
from thinktime.stats.designs import residual_checks
from thinktime.stats.designs.anova import anova, one_way
from thinktime.stats.designs.effect_sizes import partial_eta_squared, partial_omega_squared
from thinktime.stats.designs.factorial import Factor, Responses
from thinktime.stats.designs.per_effect_error import per_effect_error
from thinktime.stats.designs.simultaneous import bonferroni, tukey
from thinktime.stats.designs.transformations import box_cox

FALSE_ALARM = 1e-4


def bounds(runs, rate):
    return stats.binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], runs, rate)


def all_cover(differences, truth):
    return all(
        item.estimate.low <= truth[item.second] - truth[item.first] <= item.estimate.high
        for item in differences
    )


def test_tukey_covers_all_differences_at_once():
    """H0: all six differences of four means are covered in 95 % of runs. The canary: each by itself."""
    random, runs, truth = np.random.default_rng(10), 2000, np.array([0.0, 1.0, 1.5, 4.0])
    hits = {"tukey": 0, "plain t": 0}
    for _ in range(runs):
        y = truth[:, None] + random.normal(size=(4, 6))
        result = one_way(list(y))
        means, error = y.mean(axis=1).tolist(), result.error_mean_square
        hits["tukey"] += all_cover(tukey(means, [6] * 4, error, 20), truth)
        reach = critical_values.student_t(0.95, 20) * np.sqrt(error / 3)
        off = (y.mean(axis=1) - truth)[:, None] - (y.mean(axis=1) - truth)[None, :]
        hits["plain t"] += bool((np.abs(off) <= reach).all())
    low, high = bounds(runs, 0.95)
    assert low <= hits["tukey"] <= high, hits
    assert hits["plain t"] < low, hits


def test_paired_bonferroni_covers_where_errors_of_a_block_are_correlated_and_unequal():
    """H0: coverage is at least 95 %. Cells of one workload go together, and one varies tenfold.

    The canary: Tukey with one error for all, blocks left in or out, covers too rarely or is no match.
    """
    random, runs, truth = np.random.default_rng(11), 1500, np.array([0.0, 1.0, 3.0])
    factor = (Factor("a", (1, 2, 3)),)
    hits = {"paired": 0, "tukey": 0}
    for _ in range(runs):
        block = random.normal(size=(8, 1))
        y = truth + 2 * block + random.normal(size=(8, 3)) * [0.1, 0.1, 3.0]
        hits["paired"] += all_cover(bonferroni(y), truth)
        result = anova(Responses.of_cells(factor, y.T, blocked=True))
        differences = tukey(y.mean(axis=0).tolist(), [8] * 3, result.error_mean_square, result.error.degrees)
        hits["tukey"] += all_cover(differences, truth)
    low, _ = bounds(runs, 0.95)
    assert hits["paired"] >= low, hits
    assert hits["tukey"] < low, hits


@pytest.mark.parametrize("taken_out", [True, False])
def test_f_keeps_its_false_alarm_rate_in_blocks(taken_out):
    """H0: without an effect, P(p < 0.05) is 0.05 with blocks taken out; left in, it is far less."""
    random, runs = np.random.default_rng(12), 1500
    factors = (Factor("a", (1, 2, 3)), Factor("b", (1, 2)))
    alarms = 0
    for _ in range(runs):
        y = random.normal(size=(3, 2, 5)) + 3 * random.normal(size=5)
        alarms += (
            anova(Responses.of_cells(factors, y, blocked=True), blocks_out=taken_out).effects[0].p < 0.05
        )
    low, high = bounds(runs, 0.05)
    assert (low <= alarms <= high) == taken_out, alarms
    assert taken_out or alarms < low


def test_own_errors_keep_their_rate_where_one_error_for_all_does_not():
    """H0: at most 5 % false alarms where one of three cells varies tenfold (canary: one error for all)."""
    random, runs = np.random.default_rng(16), 1500
    factor = (Factor("a", (1, 2, 3)),)
    alarms = {"own": 0, "one": 0}
    for _ in range(runs):
        y = (random.normal(size=(8, 1)) + random.normal(size=(8, 3)) * [0.1, 0.1, 3.0]).T
        alarms["own"] += per_effect_error(y, (0,)).p < 0.05
        alarms["one"] += anova(Responses.of_cells(factor, y, blocked=True)).effects[0].p < 0.05
    _, high = bounds(runs, 0.05)
    assert alarms["own"] <= high, alarms
    assert alarms["one"] > high, alarms


def test_interval_of_the_effect_size_and_bias_of_its_estimates():
    """H0: coverage of lambda / (lambda + N) is 95 %; omega squared is nearer to it on average than eta."""
    random, runs = np.random.default_rng(13), 2000
    truth = np.array([0.0, 0.5, 1.0])
    lambda_ = 8 * ((truth - truth.mean()) ** 2).sum()
    part = lambda_ / (lambda_ + 24)
    hits, eta, omega = 0, [], []
    for _ in range(runs):
        effect = one_way(list(truth[:, None] + random.normal(size=(3, 8)))).effects[0]
        result = partial_eta_squared(effect.f, 2, 21, 24)
        hits += result.low <= part <= result.high
        eta.append(result.value)
        omega.append(partial_omega_squared(effect.f, 2, 21, 24).value)
    low, high = bounds(runs, 0.95)
    assert low <= hits <= high
    assert abs(np.mean(omega) - part) < 0.02 < np.mean(eta) - part


def test_checks_alarm_at_their_rate_and_see_what_is_wrong():
    """H0: normality and equal variances alarm at most at 5 % for normal errors of one variance.

    Brown and Forsythe's test is known to alarm too rarely with few replications, which is safe.
    """
    random, runs = np.random.default_rng(14), 600
    factor = (Factor("a", (1, 2, 3)),)
    alarms = {"normal": 0, "variance": 0}
    for _ in range(runs):
        responses = Responses.of_cells(factor, random.normal(size=(3, 8)))
        alarms["normal"] += residual_checks.normality(responses.residuals()).rejected()
        alarms["variance"] += residual_checks.equal_variances(responses).rejected()
    _, high = bounds(runs, 0.05)
    assert alarms["normal"] <= high, alarms
    assert alarms["variance"] <= high, alarms
    skewed = Responses.of_cells(factor, random.lognormal(sigma=1.5, size=(3, 20)))
    assert residual_checks.normality(skewed.residuals()).rejected()
    uneven = Responses.of_cells(factor, random.normal(size=(3, 20)) * np.array([[1], [1], [10]]))
    assert residual_checks.equal_variances(uneven).rejected()


def test_the_interval_of_box_cox_holds_the_true_power():
    """H0: coverage of lambda = 0 for lognormal errors is at least 93 % (nominal 95, n = 24, 6 cells)."""
    random, runs = np.random.default_rng(15), 150
    factors = (Factor("a", (1, 2, 3)), Factor("b", (1, 2)))
    means = np.array([[0.0, 0.3], [0.5, 1.0], [1.2, 2.0]])[:, :, None]
    hits = 0
    for _ in range(runs):
        result = box_cox(Responses.of_cells(factors, np.exp(means + 0.3 * random.normal(size=(3, 2, 4)))))
        low, high = result.power.low, result.power.high
        hits += (low is None or low <= 0.0) and (high is None or high >= 0.0)
    assert hits >= stats.binom.ppf(FALSE_ALARM, runs, 0.93)
