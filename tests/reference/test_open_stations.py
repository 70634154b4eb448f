"""Open stations: closed forms against each other, against Markov chains, and against other arrangements."""

import heapq
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markov import mean
from scipy import integrate, stats

from thinktime.models.distributions import distribution
from thinktime.models.queueing.open_stations import (
    mg1,
    mg1_las,
    mg1_priorities,
    mg1_ps,
    mg1_srpt,
    mm1,
    mmc,
    mmck,
)

HYPER = "hyperexponential(weights=[0.9, 0.1], means=[0.1, 5])"


def service():
    """Distributions with a mean between 0.05 and 5 s."""
    times = st.floats(0.05, 5.0)
    return st.one_of(
        times.map(lambda m: {"kind": "exponential", "mean": m}),
        times.map(lambda m: {"kind": "deterministic", "value": m}),
        st.tuples(st.integers(2, 50), times).map(lambda p: {"kind": "erlang", "shape": p[0], "mean": p[1]}),
        st.tuples(times, st.floats(0.1, 20.0)).map(
            lambda p: {"kind": "lognormal", "mean": p[0], "sd": p[0] * p[1]}
        ),
        st.tuples(times, times).map(
            lambda p: {"kind": "hyperexponential", "weights": [0.8, 0.2], "means": list(p)}
        ),
        st.tuples(times, times).map(
            lambda p: {
                "kind": "mixture",
                "weights": [0.3, 0.7],
                "of": [p[0], {"kind": "exponential", "mean": p[1]}],
            }
        ),
    )


@pytest.mark.parametrize("load", [0.01, 0.5, 0.8, 0.99])
def test_exponential_service_is_the_same_under_every_blind_discipline(load):
    # No discipline that does not know service times changes M/M/1's mean.
    expected = mm1(load / 0.5, 0.5)["response_s"]
    spec = "exponential(mean=0.5)"
    assert mmc(load / 0.5, 0.5, 1)["response_s"] == pytest.approx(expected, rel=1e-12)
    for model in (mg1, mg1_ps, mg1_las):
        assert model(load / 0.5, spec)["response_s"] == pytest.approx(expected, rel=1e-9), model


@given(service(), st.floats(0.05, 0.95))
@settings(max_examples=60, deadline=None)
def test_sharing_looks_at_the_mean_alone_and_none_is_shorter_than_srpt(spec, load):
    rate = load / distribution(spec).mean
    shared = mg1_ps(rate, spec)["response_s"]
    assert shared == pytest.approx(mm1(rate, distribution(spec).mean)["response_s"], rel=1e-9)
    shortest = mg1_srpt(rate, spec)["response_s"]
    for model in (mg1, mg1_ps, mg1_las):
        assert shortest <= model(rate, spec)["response_s"] * (1 + 1e-9)
    # LAS is best of the blind for falling hazard rates, worst for rising ones (Righter, Shanthikumar).
    if spec["kind"] == "hyperexponential":
        assert mg1_las(rate, spec)["response_s"] <= shared * (1 + 1e-9)
    if spec["kind"] in ("erlang", "deterministic"):
        assert mg1_las(rate, spec)["response_s"] >= shared * (1 - 1e-9)


@given(service(), st.floats(0.05, 0.9), st.floats(1.01, 1.1))
@settings(max_examples=40, deadline=None)
def test_more_load_is_a_longer_response(spec, load, more):
    rate = load / distribution(spec).mean
    for model in (mg1, mg1_ps, mg1_las, mg1_srpt):
        assert model(rate * more, spec)["response_s"] > model(rate, spec)["response_s"]


@pytest.mark.parametrize(("servers", "offered"), [(1, 0.7), (3, 2.5), (8, 7.5), (20, 5.0)])
def test_several_servers_are_their_markov_chain(servers, offered):
    places = 500

    def transitions(number):
        if number < places:
            yield number + 1, offered
        if number:
            yield number - 1, min(number, servers)

    found = mmc(offered, 1.0, servers)
    assert found["number"] == pytest.approx(mean(0, transitions, float), rel=1e-9)
    waits = mean(0, transitions, lambda number: number >= servers)
    assert found["waiting_probability"] == pytest.approx(waits, rel=1e-8)


@pytest.mark.parametrize(("servers", "capacity", "offered"), [(1, 5, 2.0), (3, 10, 2.5), (4, 4, 8.0)])
def test_a_finite_room_is_its_markov_chain(servers, capacity, offered):
    def transitions(number):
        if number < capacity:
            yield number + 1, offered
        if number:
            yield number - 1, min(number, servers)

    found = mmck(offered, 1.0, capacity, servers)
    assert found["number"] == pytest.approx(mean(0, transitions, float))
    assert found["loss_probability"] == pytest.approx(mean(0, transitions, lambda n: n == capacity))
    assert found["throughput_per_s"] == pytest.approx(offered * (1 - found["loss_probability"]))
    assert mmck(0.5, 1.0, 4000)["response_s"] == pytest.approx(mm1(0.5, 1.0)["response_s"])


def test_erlang_service_is_the_markov_chain_of_its_stages():
    # M/E3/1: the state is the number of stages left.
    rate, places = 0.7, 1500

    def transitions(stages):
        if stages < places:
            yield stages + 3, rate
        if stages:
            yield stages - 1, 3.0

    found = mg1(rate, "erlang(shape=3, mean=1)")
    assert found["number"] == pytest.approx(mean(0, transitions, lambda left: math.ceil(left / 3)), rel=1e-8)


@pytest.mark.parametrize(
    ("spec", "theirs"),
    [
        ("exponential(mean=1)", stats.expon()),
        ("weibull(shape=0.6, scale=1)", stats.weibull_min(0.6)),
        ("weibull(shape=2, scale=1)", stats.weibull_min(2)),
        ("uniform(low=0, high=2)", stats.uniform(0, 2)),
    ],
)
def test_least_attained_service_integrated_by_parts(spec, theirs):
    r"""E[R(S)] as the integral of R'(x) P(S > x), a differential equation with its truncated moments."""
    rate = 0.75 / distribution(spec).mean

    def slopes(x, state):
        first, second, _ = state
        tail = theirs.sf(x)
        left = 1.0 - rate * first
        response = 1.0 / left + 2.0 * rate * x * tail / left**2 + rate**2 * second * tail / left**3
        return tail, 2.0 * x * tail, response * tail

    end = theirs.isf(1e-14)
    solved = integrate.solve_ivp(slopes, (0.0, end), [0.0] * 3, method="DOP853", rtol=1e-10, atol=1e-12)
    assert mg1_las(rate, spec)["response_s"] == pytest.approx(solved.y[2, -1], rel=1e-7)


def test_shortest_remaining_time_of_the_exponential_by_nested_quadrature():
    # Schrage and Miller's formula with M/M/1's truncated moments written out.
    rate = 0.8

    def load(x):
        return rate * (1.0 - math.exp(-x) * (1.0 + x))

    def second(x):
        return 2.0 - math.exp(-x) * (2.0 + 2.0 * x + x * x)

    def response(x):
        waiting = rate * (second(x) + x * x * math.exp(-x)) / 2.0 / (1.0 - load(x)) ** 2
        return waiting + integrate.quad(lambda t: 1.0 / (1.0 - load(t)), 0.0, x)[0]

    total = integrate.quad(lambda x: response(x) * math.exp(-x), 0.0, 60.0, epsabs=1e-12, limit=200)[0]
    found = mg1_srpt(rate, "exponential(mean=1)", [0.1, 1.0, 5.0])
    assert found["response_s"] == pytest.approx(total, rel=1e-8)
    assert found["response_by_size_s"] == pytest.approx([response(x) for x in (0.1, 1.0, 5.0)], rel=1e-9)


def shortest_first(arrivals, sizes):
    """Response times under SRPT, by following the queue."""
    waiting, now, responses = [], 0.0, []
    for at, (arrival, size) in enumerate(zip(arrivals, sizes, strict=True)):
        while waiting and now < arrival:
            left, order, came = heapq.heappop(waiting)
            served = min(left, arrival - now)
            now += served
            if served < left:
                heapq.heappush(waiting, (left - served, order, came))
            else:
                responses.append(now - came)
        now = max(now, arrival)
        heapq.heappush(waiting, (size, at, arrival))
    return np.array(responses)


def agrees(found, responses, batches=50):
    """H0: the mean of a steady sequence is `found`. Batch means, 4.5 standard errors: false alarm 4e-5."""
    means = responses[len(responses) // 50 :]
    means = means[: len(means) // batches * batches].reshape(batches, -1).mean(axis=1)
    return abs(means.mean() - found) < 4.5 * means.std(ddof=1) / math.sqrt(batches)


def test_shortest_remaining_time_of_equal_times_is_in_order_of_arrival():
    # Points need the formula with both limits of the load: Schrage and Miller's is for densities.
    assert mg1_srpt(0.7, 1.0)["response_s"] == pytest.approx(mg1(0.7, 1.0)["response_s"])
    spec = "discrete(values=[1, 4], weights=[0.8, 0.2])"
    random = np.random.default_rng(1966)
    n = 150_000
    arrivals, sizes = np.cumsum(random.exponential(2.0, n)), random.choice([1.0, 4.0], n, p=[0.8, 0.2])
    responses = shortest_first(arrivals, sizes)
    assert agrees(mg1_srpt(0.5, spec)["response_s"], responses)
    # The canary: first come first served, and SRPT of a load that is 5 % higher.
    assert not agrees(mg1(0.5, spec)["response_s"], responses)
    assert not agrees(mg1_srpt(0.525, spec)["response_s"], responses)


def test_small_interactions_are_served_by_a_saturated_station():
    for model in (mg1_las, mg1_srpt):
        found = model(3.0, "exponential(mean=1)", [0.01, 0.1, 50.0])
        assert math.isinf(found["response_s"])
        small, medium, large = found["response_by_size_s"]
        assert 0.01 <= small < medium < math.inf
        assert math.isinf(large)


def test_the_stretch_of_sharing_is_fair():
    found = mg1_ps(1.0, HYPER, [0.01, 1.0, 30.0])
    assert found["stretch_by_size"] == pytest.approx([1 / (1 - 0.59)] * 3)


@pytest.mark.parametrize("preemptive", [True, False])
def test_priorities_of_exponential_classes_are_their_markov_chain(preemptive):
    rates, means, places = (0.3, 0.25), (1.0, 1.6), 60

    def transitions(state):
        first, second, serving = state
        if first < places:
            yield (first + 1, second, serving if first + second and not preemptive else 0), rates[0]
        if second < places:
            yield (first, second + 1, serving if first + second else 1), rates[1]
        if first + second:
            left = [first, second]
            left[serving] -= 1
            yield (*left, 0 if left[0] or not left[1] else 1), 1.0 / means[serving]

    found = mg1_priorities(rates, [f"exponential(mean={m})" for m in means], preemptive=preemptive)
    for k in range(2):
        number = mean((0, 0, 0), transitions, lambda state, k=k: state[k])
        assert found["number"][k] == pytest.approx(number, rel=1e-5)


@given(st.lists(st.tuples(st.floats(0.01, 1.0), service()), min_size=1, max_size=5), st.floats(0.1, 0.95))
@settings(max_examples=60, deadline=None)
def test_without_preemption_the_work_that_waits_is_conserved(classes, load):
    # Kleinrock's conservation law: the sum of rho_k W_k is that of first come first served, in any order.
    services = [spec for _, spec in classes]
    total = sum(rate * distribution(spec).mean for rate, spec in classes)
    rates = [rate * load / total for rate, _ in classes]
    weights = [rate / sum(rates) for rate in rates]
    together = mg1(sum(rates), {"kind": "mixture", "weights": weights, "of": services})
    found = mg1_priorities(rates, services, preemptive=False)
    assert found["utilisation"] @ found["waiting_s"] == pytest.approx(load * together["waiting_s"], rel=1e-9)


def test_one_class_has_no_priority():
    for preemptive in (True, False):
        found = mg1_priorities([1.0], [HYPER], preemptive=preemptive)
        assert found["response_s"][0] == pytest.approx(mg1(1.0, HYPER)["response_s"])


def test_a_saturated_class_does_not_stop_those_before_it():
    found = mg1_priorities([0.5, 5.0], ["exponential(mean=1)", "exponential(mean=2)"], preemptive=True)
    assert found["response_s"][0] == pytest.approx(mm1(0.5, 1.0)["response_s"])
    assert math.isinf(found["response_s"][1])
    assert found["utilisation"] == pytest.approx([0.5, 0.5])
    # Without preemption the second class is always in service when the first is not: W0 = 0.5 + 0.5 * 2.
    waiting = mg1_priorities([0.5, 5.0], ["exponential(mean=1)", "exponential(mean=2)"], preemptive=False)
    assert waiting["waiting_s"][0] == pytest.approx((0.5 + 0.5 * 2.0) / 0.5)
