"""Public functions of statistics and models refuse wrong arguments by name, and nothing else escapes them."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thinktime import models, stats
from thinktime.errors import InputError
from thinktime.models.swapping import disk_bound, response_time
from thinktime.stats import arguments, critical_values
from thinktime.stats.difference import difference
from thinktime.stats.series.homogeneity import effect

TIMES = [0.2, 0.3, 0.3, 0.5, 0.9, 1.1, 1.4, 2.0, 2.5, 4.0, 5.0, 6.0]
ROW = stats.Factor("users", (10, 20))
DESIGN = stats.Responses.of_cells([ROW], [[1.0, 2.0, 1.5], [3.0, 4.5, 4.0]])
PUBLIC = {
    f"{room.__name__}.{name}": getattr(room, name)
    for room in (stats, models)
    for names in room.CONTENTS.values()
    for name in names
} | {
    "difference": difference,
    "effect": effect,
    "disk_bound.predict": disk_bound.predict,
    "disk_bound.leave_one_out": disk_bound.leave_one_out,
    "response_time.predict": response_time.predict,
}


def estimate(value=1.0, **other):
    return stats.Estimate(value=value, n=3, method="given", **other)


WRONG = [
    (lambda: stats.quantile(TIMES, [0.5, 0.9]), TypeError, r"q is \[0.5, 0.9\] \(list\); give one number"),
    (lambda: stats.quantile(TIMES, 50), InputError, "q is 50; give a number from 0 to 1"),
    (lambda: stats.quantile(TIMES, 0.5, level=95), InputError, "level is 95; .* 0.95 for 95 %"),
    (lambda: stats.quantile([], 0.5), InputError, "values has 0 values, which are too few"),
    (lambda: stats.quantile([1.0, math.nan], 0.5), InputError, r"values\[1\] is nan"),
    (lambda: stats.quantile([[1.0], [2.0]], 0.5), InputError, r"values has the shape \(2, 1\)"),
    (lambda: stats.quantile("run", 0.5), TypeError, "values is 'run' .*; give a list or array"),
    (lambda: stats.quantile([1.0, None], 0.5), TypeError, "values is .*give a list or array"),
    (lambda: stats.quantile([1.0, [2.0]], 0.5), TypeError, "values is .*give a list or array"),
    (lambda: stats.plain_mean(None), TypeError, "values is None"),
    (lambda: stats.plain_mean([1.0, 2.0], "95 %"), TypeError, "level is '95 %'"),
    (lambda: stats.batch_ratio([1.0, 2.0], [1.0]), InputError, "lengths has 1 values for 2 amounts"),
    (lambda: stats.batch_ratio([1.0, 2.0], [0.0, 0.0]), InputError, "positive length"),
    (lambda: stats.autocorrelation(TIMES, 0), InputError, "lags is 0"),
    (lambda: stats.proportion(3, 2), InputError, "hits is 3; give a whole number from 0 to 2"),
    (lambda: stats.proportion(1.5, 2), TypeError, "hits is 1.5"),
    (lambda: stats.proportion_in_blocks([3], [2]), InputError, "more hits than trials"),
    (lambda: stats.proportion_in_blocks([0.5], [2]), InputError, "hits holds 0.5; give whole numbers"),
    (lambda: stats.variance("variance"), TypeError, "values is 'variance'"),
    (lambda: stats.proportion_in_time([0.5, 1]), InputError, "neither 0 nor 1"),
    (lambda: stats.quantile_in_time([], 0.5), InputError, "values has 0 values"),
    (lambda: stats.holm([0.1, 1.2]), InputError, "p is .*; give probabilities from 0 to 1"),
    (lambda: stats.combined([]), InputError, "p is empty"),
    (lambda: stats.adjusted([0.1]), TypeError, r"tests\[0\] is 0.1 .*; give a SignificanceTest"),
    (lambda: difference(estimate(), 2.0), TypeError, "second is 2.0 .*; give an Estimate"),
    (lambda: difference(estimate(), estimate(unit="s")), InputError, "one unit and level"),
    (lambda: stats.same_distribution([TIMES]), InputError, "samples holds 1 samples; give 2 or more"),
    (lambda: stats.same_distribution(TIMES), InputError, r"samples\[0\] has the shape \(\)"),
    (lambda: stats.trend([TIMES, TIMES[:3]]), InputError, r"samples\[1\] has 3 values"),
    (lambda: stats.counts_in_cells(np.arange(40.0), 5.0, 1.0), InputError, "end is 1 and start 5"),
    (lambda: stats.dispersion([0, 0]), InputError, "counts is .*not all 0"),
    (lambda: stats.order_test(TIMES), InputError, "12 arrivals are too few"),
    (lambda: stats.exponentiality([-1.0] * 20), InputError, "finite and not negative; one is -1"),
    (lambda: stats.residual_life(TIMES), InputError, "12 values are too few"),
    (lambda: stats.fit(TIMES), InputError, "12 values are too few"),
    (lambda: stats.fit(["a"] * 40), TypeError, "values is "),
    (lambda: stats.LeastSquares(2).absorb([[1.0]], [1.0]), InputError, "give rows of 2 columns"),
    (lambda: stats.LeastSquares(1).absorb([["a"]], [1.0]), TypeError, "x is "),
    (lambda: stats.LeastSquares(1).solve(), InputError, "no rows to fit"),
    (lambda: stats.LeastSquares(2.5), TypeError, "columns is 2.5"),
    (lambda: stats.huber([1.0, 2.0], [1.0, 2.0]), InputError, r"x has the shape \(2,\)"),
    (lambda: stats.Factor("users", (10,)), InputError, "factor users has 1 levels; give two or more"),
    (lambda: stats.Factor("users", "many"), TypeError, "levels is 'many'"),
    (lambda: stats.Responses.of_cells([ROW], [[1.0]]), InputError, r"y has the shape \(1, 1\)"),
    (lambda: stats.anova(TIMES), TypeError, "responses is .*; give a Responses"),
    (lambda: stats.anova(DESIGN, order=0), InputError, "order is 0"),
    (lambda: stats.anova(DESIGN, order="all"), TypeError, "order is 'all'"),
    (lambda: stats.one_way([TIMES]), InputError, "groups holds 1"),
    (lambda: stats.one_way({"a": TIMES, "b": "x"}), TypeError, r"groups\['b'\] is 'x'"),
    (lambda: stats.tukey([1.0, 2.0], [3], 1.0, 4), InputError, "counts is .*2 means"),
    (lambda: stats.bonferroni([1.0, 2.0]), InputError, r"paired has the shape \(2,\)"),
    (lambda: stats.box_cox(DESIGN, level=95), InputError, "level is 95"),
    (lambda: stats.Transformation.parse("cube"), InputError, "no transformation is called 'cube'"),
    (lambda: stats.orthogonal_polynomials([1, 1]), InputError, "scores is .*differ"),
    (lambda: stats.Assignments((0, 2)), InputError, r"observed is \(0, 2\)"),
    (lambda: stats.Reassignment((0, 1)), TypeError, "assignments is .*; give an Assignments"),
    (lambda: stats.t_power(1.0, -1.0, 2.0, 5), InputError, "deviation is -1.0"),
    (lambda: stats.t_power(1.0, 1.0, 2.0, 5, alpha=5), InputError, "alpha is 5; .* 0.05 for 5 %"),
    (lambda: critical_values.normal(95), InputError, "level is 95; .* 0.95 for 95 %"),
    (lambda: critical_values.student_t(1.0, 9), InputError, "level is 1.0"),
    (lambda: stats.ParetoSet(0), InputError, "dimensions is 0"),
    (lambda: stats.maximal([1.0, 2.0]), InputError, r"points has the shape \(2,\)"),
    (lambda: stats.concave_hull([]), InputError, "points has the shape"),
    (lambda: models.Station([1.0, 2.0]), TypeError, "missing 1 required positional argument: 'demand_s'"),
    (lambda: models.Station([1.0, 2.0], 0.5), TypeError, r"name is \[1.0, 2.0\]; give the name"),
    (lambda: models.Station("disk", "fast"), TypeError, "station disk: demand_s is 'fast'"),
    (lambda: models.Station("disk", []), InputError, "station disk: demand_s is empty"),
    (lambda: models.Station("disk", -1.0), InputError, "station disk: demand_s is -1.0"),
    (lambda: models.Station("disk", 1.0, servers=1.5), InputError, "station disk: servers is 1.5"),
    (lambda: models.mva(0.5, 10), TypeError, "stations is 0.5"),
    (lambda: models.mva([0.5], 0), InputError, "users is 0"),
    (lambda: models.mva(["disk"], 5), TypeError, "demand of station 1 is 'disk'"),
    (lambda: models.mva([math.nan], 5), InputError, "demand of station 1 is nan"),
    (lambda: models.mva_classes([0.5], [1], [1.0]), TypeError, r"stations\[0\] is 0.5 .*; give a Station"),
    (lambda: models.mm1("fast", 1.0), TypeError, "arrivals_per_s is 'fast'"),
    (lambda: models.mm1([1.0, 2.0], 1.0), TypeError, r"arrivals_per_s is \[1.0, 2.0\]"),
    (lambda: models.mg1(1.0, None), InputError, "service is None"),
    (lambda: models.mg1_ps(0.5, 1.0, "short"), TypeError, "sizes_s is 'short'"),
    (lambda: models.asymptotic(1.0, 5), TypeError, "demands_s is 1.0"),
    (lambda: models.machine_repairman(5, 10.0, 1.0, discipline=None), InputError, "discipline is None"),
    (lambda: models.Drive(access_s="slow", **dict.fromkeys(("transfer_s_per_byte", "track_to_track_s"), 1.0),
                          cylinder_blocks=1), TypeError, "access_s is 'slow'"),
    (lambda: models.Configuration(block_time_s="5ms", swap_time_s=1.0, loaded=4), TypeError, "block_time_s"),
    (lambda: disk_bound.predict(1.0, 2.0), TypeError, "a is 1.0 .*; give a Configuration"),
    (lambda: response_time.predict({}), TypeError, "system is {} .*; give a Swapping"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), WRONG)
def test_a_wrong_argument_is_named_with_its_value_and_the_remedy(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("kind", [list, tuple, np.array, np.float32])
def test_all_that_numpy_makes_an_array_of_is_accepted(kind):
    values = np.array(TIMES, dtype=np.float32) if kind is np.float32 else kind(TIMES)
    assert stats.quantile(values, np.float64(0.5)).value == pytest.approx(1.25)
    assert stats.plain_mean(values).n == len(TIMES)
    assert models.asymptotic(values, np.int64(3))["saturation_users"] == pytest.approx(sum(TIMES) / 6.0)


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 40)
    | st.sampled_from([0.0, 0.5, 1.0, -1.0, 2.5, math.nan, math.inf, -math.inf])
    | st.text(max_size=4)
    | st.binary(max_size=2)
    | st.sampled_from([object(), int, ROW, DESIGN, estimate(), models.Station("disk", 0.5)]),
    lambda inner: (
        st.lists(inner, max_size=6)
        | st.dictionaries(st.text(max_size=2), inner, max_size=2)
        | st.tuples(inner, inner)
    ),
    max_leaves=8,
)
NUMBERS = st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.0, 2.0, 3.5, 1e-3, 1e3]), min_size=8, max_size=40)


def raised(name, given):
    """What a public function raises that is no error of its arguments; None for nothing."""
    try:
        PUBLIC[name](*given)
    except (InputError, TypeError):
        pass
    except Exception as error:
        return error
    return None


@settings(max_examples=75, deadline=None, suppress_health_check=list(HealthCheck))
@given(drawn=st.lists(JUNK | NUMBERS, max_size=4))
def test_nothing_but_input_and_type_errors_escapes(drawn):
    """Random junk, and samples of numbers in between that get past the first check, for every function:
    to draw an example takes far longer than to refuse it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        escaped = {name: error for name in PUBLIC if (error := raised(name, drawn)) is not None}
    assert escaped == {}


def test_the_checks_name_the_argument_and_keep_the_value_short():
    with pytest.raises(TypeError) as caught:
        arguments.sample(["x" * 1000], "times")
    assert str(caught.value).startswith("times is ['xxx")
    assert len(str(caught.value)) < 150
    assert arguments.whole(3.0, "n") == 3
    with pytest.raises(TypeError, match="n is True"):
        arguments.whole(True, "n")
    with pytest.raises(InputError, match="kind is 'c'; give one of 'a', 'b'"):
        arguments.choice("c", ("a", "b"), "kind")
