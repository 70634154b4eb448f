"""Members of a group that do not belong to it: false alarms where there are none, and what is found."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from thinktime.errors import InputError
from thinktime.stats import holm, outlying

GROUPS = 2000


def alarms(n, probabilities):
    """Share of normal groups of n with one member or more whose adjusted probability is below 5 %."""
    random = np.random.default_rng([1974, n])
    found = sum(holm(probabilities(random.normal(3.0, 0.2, n))).min() < 0.05 for _ in range(GROUPS))
    return found / GROUPS


def naive(values):
    """The canary: the robust distance taken for a normal one."""
    distance = values - np.median(values)
    return 2.0 * scipy_stats.norm.sf(np.abs(distance) / (1.4826 * np.median(np.abs(distance))))


@pytest.mark.parametrize("n", [8, 9, 12, 25, 100, 400])
def test_false_alarms_are_as_rare_as_they_should_be(n):
    """One in 20 groups: of 2,000 at most 6.5 %, three standard errors beyond; not much rarer either."""
    assert 0.015 <= alarms(n, outlying) <= 0.065
    # Of few members, the canary alarms in a third of the groups.
    assert alarms(n, naive) > 0.065 or n > 100


@pytest.mark.parametrize("n", [8, 20, 100])
def test_what_lies_far_off_is_found_and_hides_nothing(n):
    """Where one was so far off that a standard deviation would grow with it, two are found all the same."""
    values = np.random.default_rng(n).normal(10.0, 1.0, n)
    values[[1, 4]] = 10_000.0, 10_200.0
    assert np.flatnonzero(holm(outlying(values)) < 0.05).tolist() == [1, 4]


def test_a_value_that_is_hardly_known_must_lie_farther_off():
    values = np.random.default_rng(5).normal(0.0, 1.0, 40)
    values[0] = 12.0
    errors = np.full(40, 0.1)
    assert outlying(values, errors)[0] < 1e-6
    errors[0] = 8.0
    assert outlying(values, errors)[0] > 0.05
    # Errors that all have are in the spread already.
    assert np.array_equal(outlying(values), outlying(values, np.full(40, 0.7)))


def test_nothing_depends_on_place_and_scale():
    values = np.random.default_rng(6).standard_t(3, 30)
    assert np.allclose(outlying(values), outlying(-2e-6 * values + 5.0), rtol=1e-6)


def test_equal_values():
    assert outlying([2.0] * 8).tolist() == [1.0] * 8
    assert outlying([2.0] * 8 + [2.1]).tolist() == [1.0] * 8 + [0.0]


@pytest.mark.parametrize(
    ("values", "errors", "message"),
    [
        ([1.0] * 7, None, "too few; 8 are needed"),
        ([1.0] * 7 + [float("nan")], None, "not finite"),
        ([1.0] * 8, [1.0] * 7, "7 numbers for 8 values"),
        ([1.0] * 8, [1.0] * 7 + [-1.0], "or a negative one"),
    ],
)
def test_wrong_arguments(values, errors, message):
    with pytest.raises(InputError, match=message):
        outlying(values, errors)
