"""Rates, throughput, response and service times against truth that was put in."""

import numpy as np
import pytest
from known_logs import instants, starts
from scipy import stats

from thinktime.analyses.rates import analysis as rates
from thinktime.analyses.response import analysis as response
from thinktime.analyses.service import analysis as service
from thinktime.analyses.throughput import analysis as throughput
from thinktime.log import interactions, loads, observations
from thinktime.stats.estimate import Caveat, NotApplicable


def steady(n=200, seed=1):
    random = np.random.default_rng(seed)
    length = 1.0 + random.random(n)
    return {
        "start": starts(length),
        "length_s": length,
        "user_s": 0.5 * length,
        "forks": random.poisson(100 * length),
        "net_packets_in": np.zeros(n),
        "runnable": random.integers(0, 4, n),
        "processes": np.full(n, 150),
    }


# Rates


def test_rates_weigh_by_length_and_gauges_over_time(log_of):
    made = steady()
    result = rates.analyse(log_of(made))
    by_name = {rate.column: rate for rate in result.rates}
    assert by_name["forks"].mean.value == pytest.approx(made["forks"].sum() / made["length_s"].sum())
    assert by_name["forks"].mean.unit == "fork/s"
    assert by_name["forks"].total == made["forks"].sum()
    assert by_name["forks"].mean.low < 100 < by_name["forks"].mean.high  # fixed seed, true rate 100
    expected = np.average(made["runnable"], weights=made["length_s"])
    assert by_name["runnable"].mean.value == pytest.approx(expected)
    assert by_name["runnable"].total is None
    assert by_name["processes"].autocorrelation is None
    assert by_name["user_s"].lowest == pytest.approx(0.5)
    assert result.time_s == pytest.approx(made["length_s"].sum())


def test_absent_is_not_zero(log_of):
    result = rates.analyse(log_of(steady()))
    assert result.always_zero == ("net_packets_in",)
    assert {"softirq_net_rx", "swap_in_pages"} <= set(result.not_measured)
    assert not {rate.column for rate in result.rates} & {"net_packets_in", "swap_in_pages"}


def test_a_column_measured_in_part_is_a_rate_over_that_part(log_of):
    made = steady()
    made["forks"] = np.where(np.arange(200) < 50, np.nan, 10.0 * made["length_s"])
    result = rates.analyse(log_of(made))
    found = next(rate for rate in result.rates if rate.column == "forks").mean
    assert found.value == pytest.approx(10.0, rel=0.05)
    assert found.n == 150


def test_an_empty_log_has_no_rates(log_of):
    assert isinstance(rates.analyse(log_of()), NotApplicable)


def test_short_and_drifting_logs_say_so(log_of):
    few = rates.analyse(log_of({name: values[:9] for name, values in steady().items()}, name="few"))
    assert Caveat("few_intervals", intervals=9) in few.caveats
    made = steady()
    made["forks"] = np.arange(200)
    drifting = rates.analyse(log_of(made, name="drifting"))
    assert [(caveat.kind, caveat.values["example"]) for caveat in drifting.caveats] == [("drifting", "forks")]


# Observations


def test_gaps_part_the_samples_into_segments(log_of):
    made = steady(20)
    later = starts(made["length_s"][10:], first_s=1e5)
    made["start"] = made["start"][:10].append(later)
    made["length_s"][4] = 0.0
    seen = observations.read(log_of(made), ["forks", "no_such_column"])
    assert len(seen) == 19
    assert seen.dropped == 1
    # The row without a length leaves a hole as long as itself: nothing; the jump is a gap.
    assert seen.segments.max() >= 1
    assert seen.segments[0] != seen.segments[-1]
    assert np.isnan(seen.columns["no_such_column"]).all()


# Groups by load


@pytest.mark.parametrize(
    ("values", "width", "expected"),
    [
        ([1, 2, 3, 0], None, [(0, 0), (1, 1), (2, 2), (3, 3)]),
        ([1, 2, 3, 4, 27, 28], 2, [(1, 2), (3, 4), (27, 28)]),
        ([1, 30], None, [(1, 2), (29, 30)]),
        ([1, 100], None, [(1, 5), (96, 100)]),
        ([1, 1000], None, [(1, 50), (951, 1000)]),
    ],
)
def test_ranges_of_load_start_at_one_and_number_twenty_at_most(values, width, expected):
    found = loads.ranges(np.array(values, dtype=float), width)
    assert [(part.low, part.high) for part in found] == expected
    assert sorted(row for part in found for row in part.rows) == list(range(len(values)))


def test_unknown_loads_belong_to_no_range():
    found = loads.ranges(np.array([np.nan, 2.0]))
    assert [part.rows.tolist() for part in found] == [[1]]
    assert loads.ranges(np.array([np.nan])) == ()


def test_throughput_is_the_mean_at_each_load(log_of):
    """Work saturates at four users; the curve shows it, and the whole-log mean does not enter."""
    n = 400
    random = np.random.default_rng(2)
    users = random.integers(0, 9, n)
    length = np.full(n, 10.0)
    made = {
        "start": starts(length),
        "length_s": length,
        "user_s": length * np.minimum(users, 4) * 0.25 * (0.9 + 0.2 * random.random(n)),
        "system_s": length * 0.05 * users,
        "idle_s": length * 0.5,
        "forks": 10 * users * length,
        "active_users": users,
    }
    result = throughput.analyse(log_of(made))
    assert result.load == "active_users"
    assert [(group.load_low, group.load_high) for group in result.groups] == [(u, u) for u in range(9)]
    names = [measure.name for measure in result.measures]
    user_time = names.index("user_time")
    assert result.measures[user_time].useful
    for group in result.groups:
        expected = min(group.load_low, 4) * 0.25
        found = group.means[user_time]
        assert found.value == pytest.approx(expected, rel=0.05)
        assert group.n == int((users == group.load_low).sum())
        if group.load_low:
            assert group.user_time_per_user.value == pytest.approx(expected / group.load_low, rel=0.05)
    assert result.groups[0].user_time_per_user is None
    assert result.peak[0] >= 4
    assert result.n == n
    pairs = throughput.analyse(log_of(made, name="again"), width=2)
    assert [(group.load_low, group.load_high) for group in pairs.groups] == [
        (0, 0),
        (1, 2),
        (3, 4),
        (5, 6),
        (7, 8),
    ]


def test_few_observations_are_flagged(log_of):
    users = np.array([1] * 30 + [2] * 3)
    length = np.full(33, 10.0)
    made = {"start": starts(length), "length_s": length, "user_s": length * 0.1, "active_users": users}
    result = throughput.analyse(log_of(made))
    assert [group.few for group in result.groups] == [False, True]
    assert "few_observations" in {caveat.kind for caveat in result.caveats}


def test_throughput_without_a_load_does_not_apply(log_of):
    result = throughput.analyse(log_of(steady()))
    assert isinstance(result, NotApplicable)
    assert "--by" in result.remedy


# Interactions


def closed_system(populations=(1, 2, 4, 8), hold_s=400.0, think_s=4.0, service_s=1.0, seed=3):
    """Users who think and wait for one server, first come first served; think and service exponential."""
    random = np.random.default_rng(seed)
    rows = []
    for step, population in enumerate(populations):
        begin, free = step * hold_s, step * hold_s
        waiting = sorted((begin + random.exponential(think_s), user) for user in range(population))
        while waiting:
            arrival, user = waiting.pop(0)
            if arrival >= begin + hold_s:
                continue
            served = random.exponential(service_s)
            first = max(arrival, free)
            free = first + served
            done = free if free < begin + hold_s else np.nan
            rows.append((user, population, arrival, first, done, served))
            waiting = sorted([*waiting, (free + random.exponential(think_s), user)])
    rows.sort(key=lambda row: row[2])
    user, population, arrival, first, done, served = map(np.array, zip(*rows, strict=True))
    return {
        "user": [f"user:{number}" for number in user],
        "class": np.where(served < service_s, "short", "long").tolist(),
        "population": population,
        "due": instants(arrival),
        "sent": instants(arrival),
        "first_service": instants(first),
        "first_output": instants(first),
        "completion": instants(done),
        "service_s": served,
    }


def machine_repairman(users, think_s, service_s):
    """Mean response and throughput of the closed system (exact mean value analysis)."""
    queue = 0.0
    for population in range(1, users + 1):
        response_s = service_s * (1 + queue)
        rate = population / (think_s + response_s)
        queue = rate * response_s
    return response_s, rate


def test_response_is_that_of_the_machine_repairman(log_of):
    """H0: exact mean value analysis. All 8 figures lie in intervals of 0.999: false alarm below 8e-3."""
    result = response.analyse(log_of(interactions=closed_system(hold_s=4000.0)), level=0.999)
    assert [group.label for group in result.by_population] == ["1", "2", "4", "8"]
    for group in result.by_population:
        expected, rate = machine_repairman(int(group.population_low), 4.0, 1.0)
        for found, truth in ((group.response.mean, expected), (group.throughput, rate)):
            assert found.low <= truth <= found.high
        # Little's law on the same interval: users = X (R + Z), with the sample's own mean think time.
        assert group.throughput.value * (group.response.mean.value + 4.0) == pytest.approx(
            group.population_low, rel=0.06
        )
    assert result.growth.low > 1.0
    # The canary: a server that takes 30 % longer is seen.
    slower, _ = machine_repairman(8, 4.0, 1.3)
    assert slower > result.by_population[-1].response.mean.high
    alone = result.by_population[0]
    assert alone.stretch.value == pytest.approx(1.0, abs=1e-5)
    assert alone.reaction.p99.value == pytest.approx(0.0, abs=1e-5)


def test_unfinished_interactions_are_counted_not_averaged(log_of):
    made = closed_system()
    result = response.analyse(log_of(interactions=made))
    unfinished = made["completion"].null_count()
    assert unfinished > 0
    assert result.overall.unfinished == unfinished
    assert result.overall.response.n == len(made["user"]) - unfinished
    assert "unfinished" in {caveat.kind for caveat in result.caveats}


def test_response_by_class(log_of):
    result = response.analyse(log_of(interactions=closed_system()))
    assert {group.label for group in result.by_class} == {"short", "long"}
    assert sum(group.arrived for group in result.by_class) == result.overall.arrived
    assert all(group.throughput is None for group in result.by_class)


def test_successive_waits_in_a_queue_are_said_to_be_correlated(log_of):
    result = response.analyse(log_of(interactions=closed_system(hold_s=1000.0)))
    assert "correlated" in {caveat.kind for caveat in result.caveats}


def test_interactions_that_none_has_do_not_apply(log_of):
    for analysis in (response, service):
        result = analysis.analyse(log_of(steady(), name=analysis.__name__))
        assert isinstance(result, NotApplicable)
        assert "thinktime play" in result.remedy


def test_none_completed_does_not_apply(log_of):
    made = closed_system(populations=(1,))
    made["completion"] = instants(np.full(len(made["user"]), np.nan))
    for analysis in (response, service):
        assert isinstance(analysis.analyse(log_of(interactions=made, name=analysis.__name__)), NotApplicable)


def test_interactions_fall_into_the_intervals_in_which_they_ended(log_of):
    length = np.full(5, 10.0)
    samples = {"start": starts(length), "length_s": length, "user_s": length}
    arrivals = np.array([12.0, 14.0, 18.0, 31.0])
    made = {
        "user": ["a"] * 4,
        "class": ["x"] * 4,
        "population": [1, 1, 2, 3],
        "due": instants(arrivals),
        "completion": instants(arrivals + np.array([1.0, 7.0, 12.5, np.nan])),
    }
    log = log_of(samples, made)
    seen, found = observations.read(log, []), interactions.read(log)
    done = found.completed_in(seen)
    assert np.isnan(done[[0, 4]]).all()
    assert done[1:4].tolist() == [1.0, 1.0, 1.0]
    population = found.population_in(seen)
    assert np.isnan(population[0])
    assert population[1:3].tolist() == [1.0, 2.0]


def test_throughput_uses_the_load_that_was_set(log_of):
    made = closed_system(hold_s=100.0)
    length = np.full(200, 2.0)
    samples = {
        "start": starts(length),
        "length_s": length,
        "user_s": 0.4 * length,
        "active_users": np.arange(200) % 3,
    }
    log = log_of(samples, made)
    result = throughput.analyse(log)
    assert result.load == "population"
    assert [group.load_low for group in result.groups] == [1, 2, 4, 8]
    assert result.measures[0].name == "interactions"
    assert throughput.analyse(log, load="active_users").load == "active_users"


# Service times


def test_moments_of_a_hyperexponential(log_of):
    """90 % exponential of mean 0.1 s, 10 % of 2 s; fixed seed, each figure within 1.7 half widths."""
    random = np.random.default_rng(5)
    n = 20_000
    heavy = random.random(n) < 0.1
    values = np.where(heavy, random.exponential(2.0, n), random.exponential(0.1, n))
    arrival = np.arange(n) * 5.0
    made = {
        "user": ["a"] * n,
        "class": np.where(heavy, "heavy", "light").tolist(),
        "due": instants(arrival),
        "completion": instants(arrival + values),
        "service_s": values,
    }
    result = service.analyse(log_of(interactions=made))
    mean = 0.9 * 0.1 + 0.1 * 2.0
    second = 2 * (0.9 * 0.1**2 + 0.1 * 2.0**2)
    third = 6 * (0.9 * 0.1**3 + 0.1 * 2.0**3)
    variance = second - mean**2
    skew = (third - 3 * mean * second + 2 * mean**3) / variance**1.5
    whole = result.overall
    for found, truth in (
        (whole.mean, mean),
        (whole.variance, variance),
        (whole.standard_deviation, variance**0.5),
        (whole.coefficient_of_variation, variance**0.5 / mean),
        (whole.skewness, skew),
    ):
        assert abs(found.value - truth) < 1.7 * (found.high - found.low) / 2
    assert result.heavier_than_exponential
    assert [item.name for item in result.classes] == ["heavy", "light"]
    assert sum(item.share.value for item in result.classes) == pytest.approx(1.0)
    assert sum(item.service_share.value for item in result.classes) == pytest.approx(1.0)
    assert result.classes[0].service_share.value == pytest.approx(0.2 / mean, rel=0.05)
    assert (
        result.classes[1].coefficient_of_variation.low < 1.0 < result.classes[1].coefficient_of_variation.high
    )


def test_concentration_of_the_exponential(log_of):
    """The upper part p of an exponential holds p (1 - ln p) of the whole."""
    random = np.random.default_rng(6)
    n = 20_000
    values, arrival = random.exponential(3.0, n), np.arange(n) * 100.0
    made = {
        "user": ["a"] * n,
        "class": ["x"] * n,
        "due": instants(arrival),
        "completion": instants(arrival + values),
        "service_s": values,
    }
    result = service.analyse(log_of(interactions=made))
    for item in result.concentration:
        truth = item.upper * (1 - np.log(item.upper))
        assert abs(item.share.value - truth) < 1.7 * (item.share.high - item.share.low) / 2
    assert result.curve[-1].concentration.value == pytest.approx(1.0)
    assert not result.classes
    assert not result.heavier_than_exponential


def test_service_is_given_by_its_parts_where_not_as_a_whole(log_of):
    arrival = np.arange(10) * 5.0
    made = {
        "user": ["a"] * 10,
        "class": ["x"] * 10,
        "due": instants(arrival),
        "completion": instants(arrival + 1),
        "user_s": np.arange(10) * 0.1,
        "system_s": np.full(10, 0.1),
    }
    result = service.analyse(log_of(interactions=made))
    assert result.overall.mean.value == pytest.approx(0.55)
    assert any("tail is hardly seen" in text for text in result.caveats)


def test_a_coarse_clock_is_said(log_of):
    random = np.random.default_rng(7)
    arrival = np.arange(300) * 5.0
    made = {
        "user": ["a"] * 300,
        "class": ["x"] * 300,
        "due": instants(arrival),
        "completion": instants(arrival + 1),
        "service_s": np.ceil(random.exponential(2.0, 300)) * 0.01,
    }
    result = service.analyse(log_of(interactions=made))
    assert any("clock is coarse" in text for text in result.caveats)
    assert result.overall.mean.value == pytest.approx(stats.geom(1 - np.exp(-0.5)).mean() * 0.01, rel=0.2)
