"""Many closed networks at once: as each by itself, whatever the number of users that are asked for."""

import numpy as np
import pytest

from thinktime.models.queueing import many_networks
from thinktime.models.queueing.networks import class_course
from thinktime.models.sizing import Machine, Work, Works, _courses, _Rates, course


def works(seed: int) -> list[Work]:
    random = np.random.default_rng(seed)
    return [
        Work(
            think_s=float(random.choice([0.0, 0.5, 20.0])),
            cpu_s=float(random.choice([0.005, 0.05, 2.0])),
            growth=float(random.uniform(-0.5, 1.0)),
            delay_s=float(random.choice([0.0, 0.02, 1.0])),
            serial_s=float(random.choice([0.0, 1e-6, 0.01, 1.0])),
        )
        for _ in range(60)
    ]


@pytest.mark.parametrize(
    ("cpus", "background", "users"),
    [(1, 0.0, 1), (2, 0.4, 40), (2, 1.9, 100), (8, 0.1, 300), (16, 0.0, 1100)],
)
def test_many_at_once_are_each_by_itself(cpus, background, users):
    machine, tried = Machine(cpus=cpus, background=background), works(users)
    found = _courses(Works.of(tried), _Rates.of(machine, users), users)
    for at, work in enumerate(tried):
        one = course(work, machine, users)
        for name in ("throughput_per_s", "utilisation", "serial"):
            np.testing.assert_allclose(getattr(found, name)[at], getattr(one, name), rtol=1e-8, atol=1e-12)
        # The response is a difference from the think time, which takes digits from both.
        np.testing.assert_allclose(found.response_s[at], one.response_s, rtol=1e-6)


def test_a_number_of_users_has_the_same_digits_however_many_are_asked_for():
    machine, tried = Machine(cpus=2, background=0.3), works(1)
    few, many = (_courses(Works.of(tried), _Rates.of(machine, users), users) for users in (30, 600))
    assert np.array_equal(few.response_s, many.response_s[:, :30])
    # Nor does it matter whether they were computed in one go.
    for users in (600, 20):
        known = few.throughput_per_s
        more = _courses(Works.of(tried), _Rates.of(machine, users), users, known)
        assert np.array_equal(more.response_s, many.response_s[:, :users])


def test_more_users_than_the_last_band_are_left_to_the_exact_recursion():
    machine = Machine(cpus=2)
    delay, serial, rates = np.array([3600.0]), np.array([0.0]), np.full((1, 5000), 1e3)
    assert many_networks.throughputs(delay, serial, rates, 5000) is None
    (found,) = _courses(Works.of(works(1)[:1]), _Rates.of(machine, 5000), 5000).response_s
    np.testing.assert_allclose(found, course(works(1)[0], machine, 5000).response_s, rtol=1e-12)


@pytest.mark.parametrize(
    ("users", "serial"), [((12, 4), 0.2), ((12, 4), 0.0), ((40, 30), 5.0), ((3, 4, 5), 0.2), ((300,), 0.1)]
)
def test_classes_of_many_networks_are_those_of_the_recursion(users, serial):
    random, shape = np.random.default_rng(len(users)), (6, len(users))
    delay, demand = random.uniform(0.1, 5.0, shape), random.uniform(0.01, 0.5, shape)
    one_at_a_time = serial * random.uniform(0.0, 1.0, shape)
    rates = np.minimum(np.arange(1.0, sum(users) + 1.0), 2.0)
    throughput, there = many_networks.class_throughputs(delay, one_at_a_time, demand, rates, users)
    for at in range(len(delay)):
        demands = [demand[at].tolist(), one_at_a_time[at].tolist()]
        exact, residence = class_course(demands, [rates.tolist(), [1.0]], delay[at].tolist(), list(users))
        np.testing.assert_allclose(throughput[at], exact, rtol=1e-11)
        assert there[at] == pytest.approx(float((exact * residence[0]).sum()), rel=1e-9)


def test_classes_without_any_delay_are_left_to_the_recursion():
    zero, one = np.zeros((1, 2)), np.ones((1, 2))
    assert many_networks.class_throughputs(zero, one, one, np.ones(4), (2, 2)) is None
