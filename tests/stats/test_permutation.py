"""Possible assignments counted by hand, and the exact test over them against theory and against scipy."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from statsmodels.stats.power import TTestIndPower

from thinktime.stats.randomisation.assignments import Assignments, TooManyError
from thinktime.stats.randomisation.permutation import Confounded, Reassignment
from thinktime.stats.randomisation.power import permutation_power, t_detectable, t_power

WEEKS, WEEKDAYS = (1, 1, 1, 1, 2, 2, 2, 2), ("Mon", "Tue", "Wed", "Thu") * 2
BARD = (1, 0, 0, 1, 0, 1, 1, 0)


def dummies(*groupings):
    """Indicators of all groups but the first of each grouping."""
    columns = [
        [float(other == group) for other in grouping]
        for grouping in groupings
        for group in list(dict.fromkeys(grouping))[1:]
    ]
    return np.array(columns).T


def test_the_free_fret_experiment_had_six_assignments():
    """Two of the four days of week 1 are new, the other two are new in week 2: C(4, 2) = 6, by hand."""
    by_hand = {
        (1, 1, 0, 0, 0, 0, 1, 1),
        (1, 0, 1, 0, 0, 1, 0, 1),
        (1, 0, 0, 1, 0, 1, 1, 0),
        (0, 1, 1, 0, 1, 0, 0, 1),
        (0, 1, 0, 1, 1, 0, 1, 0),
        (0, 0, 1, 1, 1, 1, 0, 0),
    }
    result = Assignments(BARD, (WEEKS, WEEKDAYS))
    assert {tuple(row) for row in result.listed().tolist()} == by_hand
    assert result.count() == 6
    design = Reassignment(result, dummies(WEEKS, WEEKDAYS))
    # The mirror image of an assignment shows the same difference with the other sign.
    assert design.smallest_p == pytest.approx(2 / 6)
    assert design.degrees == 8 - (1 + 1 + 3) - 1


@pytest.mark.parametrize(
    ("groupings", "count"),
    [
        ((), 2**8),
        (((0,) * 8,), math.comb(8, 4)),
        ((WEEKS,), math.comb(4, 2) ** 2),
        ((WEEKDAYS,), 2**4),
        ((WEEKS, WEEKDAYS), 6),
        ((WEEKS, WEEKDAYS, (0,) * 8), 6),
    ],
)
def test_counts_agree_with_the_list_and_with_brute_force(groupings, count):
    result = Assignments(BARD, groupings)
    kept = [
        row
        for row in itertools.product((0, 1), repeat=8)
        if all(
            sum(x for x, g in zip(row, grouping, strict=True) if g == group)
            == sum(x for x, g in zip(BARD, grouping, strict=True) if g == group)
            for grouping in groupings
            for group in set(grouping)
        )
    ]
    assert result.count() == count == len(kept)
    assert {tuple(row) for row in result.listed().tolist()} == set(kept)


def test_a_latin_square_of_one_treatment_has_as_many_assignments_as_permutations():
    rows, columns = zip(*itertools.product(range(5), range(5)), strict=True)
    observed = tuple(int(row == column) for row, column in zip(rows, columns, strict=True))
    assert Assignments(observed, (rows, columns)).count() == math.factorial(5)


def test_units_that_are_missing_leave_fewer_assignments():
    """Tables of two weeks and three days with one cell empty, margins (1, 1) and (1, 1, 0): by hand 1."""
    weeks, days = (1, 1, 1, 2, 2), ("a", "b", "c", "a", "b")
    assert Assignments((0, 1, 0, 1, 0), (weeks, days)).count() == 2
    assert Assignments((0, 0, 1, 1, 0), (weeks, days)).count() == 1


def test_draws_are_as_likely_as_each_other():
    """Chi-square over the 90 tables of 4 x 4 with margins 2; false-alarm rate 1e-4."""
    rows, columns = zip(*itertools.product(range(4), range(4)), strict=True)
    observed = tuple((row // 2 + column // 2) % 2 for row, column in zip(rows, columns, strict=True))
    result = Assignments(observed, (rows, columns))
    assert result.count() == 90
    drawn = result.drawn(9_000, np.random.default_rng(1))
    _, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(counts) == 90
    assert stats.chisquare(counts).pvalue > 1e-4


def test_too_many_are_drawn_and_the_error_is_stated():
    """The drawn p lies within four standard errors of Student's, for 60 normal units: rate 1e-4."""
    random = np.random.default_rng(2)
    observed = tuple([0, 1] * 30)
    y = random.standard_normal(60) + 0.45 * np.array(observed)
    design = Reassignment(Assignments(observed, ((0,) * 60,)))
    result = design.test(y)
    assert not result.exact
    assert result.possible == math.comb(60, 30)
    assert result.assignments == 10_000
    assert result.error == pytest.approx(math.sqrt(result.p * (1 - result.p) / 10_000))
    assert abs(result.p - design.p_of_t(y)) < 4 * result.error + 0.002
    with pytest.raises(TooManyError, match="too many to list"):
        Assignments(observed, ((0,) * 60,)).listed()


@pytest.mark.parametrize("seed", range(4))
def test_p_agrees_with_scipy(seed):
    """Complete and paired designs: the same exact p as scipy.stats.permutation_test."""
    random = np.random.default_rng(seed)
    y = random.gamma(1.0, 1.0, 10)
    z = random.permutation([1] * 4 + [0] * 6).astype(bool)

    def apart(a, b, axis):
        return np.abs(a.mean(axis=axis) - b.mean(axis=axis))

    ours = Reassignment(Assignments(tuple(z.astype(int)), ((0,) * 10,))).test(y)
    theirs = stats.permutation_test(
        (y[z], y[~z]), apart, vectorized=True, alternative="greater", n_resamples=np.inf
    )
    assert ours.p == pytest.approx(theirs.pvalue, abs=1e-12)
    assert ours.effect == pytest.approx(y[z].mean() - y[~z].mean())
    assert ours.t == pytest.approx(stats.ttest_ind(y[z], y[~z]).statistic)

    pairs = tuple(range(5)) * 2
    first = (1, 0, 1, 1, 0)
    chosen = (*first, *(1 - x for x in first))
    ours = Reassignment(Assignments(chosen, (pairs,)), dummies(pairs)).test(y)
    treated = np.where(np.array(first) == 1, y[:5], y[5:])
    control = np.where(np.array(first) == 1, y[5:], y[:5])
    theirs = stats.permutation_test(
        (treated, control),
        apart,
        vectorized=True,
        alternative="greater",
        permutation_type="samples",
        n_resamples=np.inf,
    )
    assert ours.p == pytest.approx(theirs.pvalue, abs=1e-12)
    assert ours.t == pytest.approx(stats.ttest_rel(treated, control).statistic)


def test_a_small_case_by_hand():
    """Of 1, 2, 3, 9 the last two are treated: differences 4.5, -4.5, 3.5, -3.5, 2.5, -2.5; p = 2 / 6."""
    design = Reassignment(Assignments((0, 0, 1, 1), ((0,) * 4,)))
    y = [1.0, 2.0, 3.0, 9.0]
    assert sorted(design.effects(y)) == pytest.approx([-4.5, -3.5, -2.5, 2.5, 3.5, 4.5])
    assert design.test(y).p == pytest.approx(2 / 6)
    assert design.test([1.0, 9.0, 2.0, 3.0]).p == pytest.approx(6 / 6)


@pytest.mark.parametrize("kept", [(), ((0,) * 8,), (WEEKS,), (WEEKS, WEEKDAYS)])
def test_false_alarms_are_never_more_than_promised_whatever_is_adjusted_for(kept):
    """No assignment does anything: of all possible ones, at most a part a has p <= a. No chance is left."""
    random = np.random.default_rng(3)
    y, load = random.gamma(0.5, 1.0, 8), random.standard_normal(8)
    nuisance = np.column_stack([*([dummies(*kept)] if kept[1:] else []), load])
    listed = Assignments(BARD, kept).listed()
    # All heads and all tails of coins tell nothing, and would be thrown again.
    told = [tuple(row) for row in listed.tolist() if len(set(row)) > 1]
    p = np.array([Reassignment(Assignments(row, kept), nuisance).test(y).p for row in told])
    for level in np.unique(p):
        assert np.mean(p <= level + 1e-12) <= level + 1e-12


def test_the_interval_holds_exactly_the_differences_that_the_test_keeps():
    """Just inside each end p is above 0.1, just outside it is not."""
    random = np.random.default_rng(4)
    load = random.standard_normal(8)
    for nuisance in (None, load):
        design = Reassignment(Assignments(BARD, ((0,) * 8,)), nuisance)
        y = random.gamma(1.0, 1.0, 8) + 2.0 * np.array(BARD)
        low, high = design.interval(y, 0.9).low, design.interval(y, 0.9).high
        z = np.array(BARD, dtype=float)
        for end, inwards in ((low, 1e-6), (high, -1e-6)):
            assert design.test(y - (end + inwards) * z).p > 0.1
            assert design.test(y - (end - inwards) * z).p <= 0.1


def test_an_interval_that_the_design_cannot_give_is_without_ends():
    design = Reassignment(Assignments(BARD, (WEEKS, WEEKDAYS)), dummies(WEEKS, WEEKDAYS))
    y = 5.0 * np.array(BARD) + np.random.default_rng(5).standard_normal(8)
    assert design.interval(y, 0.95).low == -math.inf
    assert math.isfinite(design.interval(y, 0.6).low)


def test_intervals_cover_the_truth_at_their_rate():
    """Skewed units in blocks, true difference 1: exact coverage is 34/36; binomial, false-alarm 1e-4.

    Student's interval without the blocks, the canary, covers far too often: its error holds the weeks.
    """
    random = np.random.default_rng(6)
    z = np.array(BARD, dtype=float)
    design = Reassignment(Assignments(BARD, (WEEKS,)), dummies(WEEKS))
    blind = Reassignment(Assignments(BARD, ((0,) * 8,)))
    level, runs, covered, wide = 0.9, 600, 0, 0
    assert design.compared == 36
    for _ in range(runs):
        y = z + 5.0 * (np.array(WEEKS) == 2) + random.exponential(1.0, 8)
        result = design.interval(y, level)
        covered += result.low <= 1.0 <= result.high
        reach = stats.t.ppf(0.95, blind.degrees) * blind.residual_deviation(y) / blind.length
        wide += abs(blind.effect(y) - 1.0) <= reach
    # 0.1 of 36 is 3.6: the three most extreme may be left out, and mirror images come in pairs.
    low, high = stats.binom.ppf([5e-5, 1 - 5e-5], runs, 34 / 36)
    assert low <= covered <= high
    assert not low <= wide <= high


@pytest.mark.parametrize("standardised", [0.5, 1.0, 2.0])
def test_power_of_students_test_agrees_with_statsmodels(standardised):
    length = math.sqrt(8) / 2
    theirs = TTestIndPower().power(standardised, 4, 0.05)
    assert t_power(standardised, 1.0, length, 6) == pytest.approx(theirs, abs=1e-9)
    assert t_power(-3 * standardised, 3.0, length, 6) == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("degrees", [1, 2, 6, 60])
def test_power_is_that_of_the_noncentral_t_and_never_falls(degrees):
    """Oracle: the normal probability given the estimated deviation, integrated over its distribution."""
    reach = stats.t.ppf(0.975, degrees)

    def expected(shift):
        def given(v):
            error = reach * math.sqrt(v / degrees)
            return (stats.norm.cdf(shift - error) + stats.norm.cdf(-shift - error)) * stats.chi2.pdf(
                v, degrees
            )

        return sum(quad(given, *ends, limit=200)[0] for ends in ((0.0, 1.0), (1.0, np.inf)))

    for shift in (0.5, 3.0, 8.0, 20.0):
        assert t_power(shift, 1.0, 1.0, degrees) == pytest.approx(expected(shift), abs=1e-6)
    power = [t_power(shift, 1.0, 1.0, degrees) for shift in np.logspace(-3, 6, 300)]
    assert (np.diff(power) > -1e-9).all()
    assert power[0] == pytest.approx(0.05, abs=1e-4)
    assert power[-1] == 1.0


def test_the_least_difference_is_found_with_its_probability():
    least = t_detectable(2.0, math.sqrt(8) / 2, 6)
    assert t_power(least, 2.0, math.sqrt(8) / 2, 6) == pytest.approx(0.8, abs=1e-9)
    assert least == pytest.approx(2.0 * TTestIndPower().solve_power(None, 4, 0.05, 0.8), rel=1e-6)


def test_power_of_the_randomisation_test_is_how_often_it_finds_the_difference():
    """Simulated intervals against the test itself on other units; both binomial, false-alarm 1e-4."""
    design = Reassignment(Assignments(BARD, ((0,) * 8,)))
    power = permutation_power(design)
    random = np.random.default_rng(7)
    z, runs = np.array(BARD, dtype=float), 1000
    for difference in (0.0, 2.5):
        result = sum(
            design.test(3.0 * difference * z + 3.0 * random.standard_normal(8)).p <= 0.05 for _ in range(runs)
        )
        expected = power.power(3.0 * difference, 3.0)
        error = math.sqrt(0.25 * (1 / runs + 1 / 2000))
        assert abs(result / runs - expected) < 4 * error
    assert power.power(0.0, 1.0) == pytest.approx(2 / 70, abs=4 * math.sqrt(2 / 70 / 2000))
    least = power.detectable(1.0)
    assert power.power(least, 1.0) == pytest.approx(0.8, abs=0.002)


def test_a_design_of_too_few_assignments_finds_nothing_however_large():
    design = Reassignment(Assignments(BARD, (WEEKS, WEEKDAYS)), dummies(WEEKS, WEEKDAYS))
    power = permutation_power(design)
    assert power.power(1e6, 1.0) == 0.0
    assert power.detectable(1.0) is None
    assert t_power(1e6, 1.0, design.length, design.degrees) == 1.0


def test_a_treatment_of_whole_blocks_is_refused():
    with pytest.raises(Confounded, match="same in every unit of a block"):
        Reassignment(Assignments((1, 1, 0, 0), ((0,) * 4,)), dummies((1, 1, 2, 2)))
    with pytest.raises(ValueError, match="give 0 or 1"):
        Assignments((1, 2))
    with pytest.raises(ValueError, match=r"y\[1\] is nan"):
        Reassignment(Assignments((1, 0, 1, 0))).test([1.0, math.nan, 1.0, 1.0])


def test_responses_that_never_vary_show_nothing():
    result = Reassignment(Assignments(BARD, ((0,) * 8,))).test([0.1] * 8)
    assert result.p == 1.0
    assert result.effect == pytest.approx(0.0, abs=1e-15)
