"""Closed network with demand paging: limits, what must add up, thrashing, two steady states, bad input."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest

from thinktime.errors import InputError
from thinktime.models.distributions import distribution
from thinktime.models.paging import Paging, levels, predict
from thinktime.models.paging.fixed_point import hold
from thinktime.models.paging.lockout import KINDS
from thinktime.models.paging.stays import Program
from thinktime.models.queueing.networks import Station, machine_repairman, mva

NOTHING = (0.0,) * 6
EXPONENTIAL = distribution("exponential(mean=0.5)")
PLAIN = Paging(
    users=12,
    think_s=10.0,
    programs=(Program(share=1.0, useful=EXPONENTIAL, pages=1e6, segments=1.0, lines=0.0),),
    core=1e9,
    wired=0.0,
    headway_s=math.inf,
    max_eligible=12,
    paths_s=NOTHING,
    preempt=False,
)
"""Exponential times, nothing but useful work, and room for all."""

LIKE_MULTICS = Paging(
    users=40,
    think_s=30.0,
    programs=(
        Program(share=0.9, useful=distribution(0.4), pages=42, segments=12, lines=2),
        Program(share=0.1, useful=distribution(4.0), pages=90, segments=24, lines=2),
    ),
    core=256.0,
    wired=64.0,
    headway_s=0.006,
    segment_headway_s=0.5,
    active_segments=300,
    gate_headway_s=0.05,
    kept=0.6,
    modified=0.15,
    max_eligible=5,
    quantum_s=1.0,
    levels=4,
    paths_s=(0.002, 0.001, 0.001, 0.0034, 0.015, 0.0037),
    interference=0.1,
    spin_interference=0.7,
    hold_through_getwork=True,
    disk_share=0.25,
    disk_access_s=0.09,
    disk_variation=0.3,
)


# -- limits ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("users", "cpus"), [(1, 1), (12, 1), (40, 1), (12, 2), (40, 2)])
def test_without_faults_it_is_the_machine_repairman(users, cpus):
    result = predict(replace(PLAIN, users=users, max_eligible=users, cpus=cpus))
    exact = machine_repairman(users, 10.0, 0.5, servers=cpus)
    assert result["throughput_per_s"] == pytest.approx(exact["throughput_per_s"], rel=1e-9)
    assert result["response_s"] == pytest.approx(exact["response_s"], rel=1e-9)
    assert result["useful_share"] == pytest.approx(exact["utilisation"], rel=1e-9)
    assert result["page_faults_per_interaction"] == 0.0


@pytest.mark.parametrize("limit", [1, 3, 2.5])
def test_a_limit_below_the_processors_is_as_many_servers(limit):
    """One eligible process keeps one of two processors busy; a fraction does for that part of the time."""
    result = predict(replace(PLAIN, users=200, max_eligible=limit, cpus=2))
    assert result["throughput_per_s"] == pytest.approx(min(limit, 2) / 0.5, rel=1e-6)


def constant(users, limit):
    """A fault every 20 ms whatever is held; drum and disk arms, exponential."""
    return replace(
        PLAIN,
        users=users,
        headway_s=0.02,
        exponent=0.0,
        max_eligible=limit,
        paths_s=(0.002, 0.0, 0.0, 0.0, 0.0, 0.0),
        disk_share=0.3,
        disk_access_s=0.05,
    )


def stations(faults, processors, most):
    drum = tuple(1.0 / (0.0333 / (n + 1) + 0.0333 / 16) for n in range(1, most + 1))
    cpu = Station("processors", 0.5 + faults * 0.002, rates=processors)
    arms = [Station(f"arm {at}", faults * 0.3 * 0.05 / 4) for at in range(4)]
    return [cpu, Station("drum", faults * 0.7, rates=drum), *arms]


@pytest.mark.parametrize("cpus", [1, 2])
def test_with_a_constant_lifetime_it_is_exact_mean_value_analysis(cpus):
    """Norton's theorem: users around a network of product form, in two steps or in one."""
    system = replace(constant(10, 10), cpus=cpus, locks="none")
    result = predict(system)
    faults = result["page_faults_per_interaction"]
    assert faults == pytest.approx(0.5 / 0.02, rel=0.01)
    exact = mva(stations(faults, (1.0, float(cpus)), 10), 10, 10.0)
    assert result["throughput_per_s"] == pytest.approx(exact["throughput_per_s"], rel=1e-6)
    for processes in (1, 2, 7):
        held = hold(system, processes)
        inner = mva(stations(held.pools.demand.page_faults, (1.0, float(cpus)), processes), processes)
        assert held.level.throughput_per_s == pytest.approx(inner["throughput_per_s"], rel=1e-6)


def test_interference_halves_what_a_second_processor_adds():
    """Two active processors at a rate of 1 / (1 + i): a load-dependent server, with two boxes of core."""
    system = replace(PLAIN, users=30, max_eligible=30, cpus=2, interference=2.0, core=256.0, locks="none")
    exact = mva([Station("processors", 0.5, rates=(1.0, 2.0 / 2.0))], 30, 10.0)
    assert predict(system)["throughput_per_s"] == pytest.approx(exact["throughput_per_s"], rel=1e-9)


def test_core_for_all_keeps_everything_in_it():
    alike = (Program(share=1.0, useful=distribution(0.4), pages=42, segments=12, lines=2),)
    roomy = replace(LIKE_MULTICS, programs=alike, kept=1.0, users=10)
    assert predict(replace(roomy, core=10 * 42 + 64 + 1.0))["page_faults_per_interaction"] < 0.1
    assert predict(replace(roomy, core=9 * 42 + 64))["page_faults_per_interaction"] > 1.0


# -- what must add up --------------------------------------------------------------------------------------

GRID = [
    replace(LIKE_MULTICS, core=core, cpus=cpus, max_eligible=limit, users=users)
    for core, limit, users in ((128.0, 12, 40), (256.0, 4.5, 30))
    for cpus in (1, 2)
]


@pytest.mark.parametrize("system", GRID)
def test_the_capacity_of_the_processors_is_used_up(system):
    """Shares add up to one, share = cost / time between, and users are in one place each (Little's law)."""
    result = predict(system)
    shares = [result[f"{kind}_share"] for kind in KINDS]
    assert result["useful_share"] + result["idle_share"] + sum(shares) == pytest.approx(1.0, abs=1e-9)
    for kind, share in zip(KINDS, shares, strict=True):
        assert result[f"{kind}_overhead_s"] / result[f"{kind}_between_s"] == pytest.approx(share, rel=1e-9)
    assert 0.0 <= result["lock_wait_share"] <= sum(shares)
    assert (result["lock_wait_share"] > 0.0) == (system.cpus == 2)
    assert result["active_mean"] == pytest.approx(result["throughput_per_s"] * result["response_s"], rel=1e-9)
    assert result["active_mean"] + result["throughput_per_s"] * 30.0 == pytest.approx(system.users, rel=1e-6)
    work = result["throughput_per_s"] * system.useful_s
    assert work == pytest.approx(result["useful_share"] * system.cpus, rel=0.1 * (system.cpus - 1) + 1e-9)
    assert result["drum_utilisation"] <= 1.0
    assert result["pages_held"] * result["eligible_mean"] <= system.core - system.wired


def test_more_core_never_makes_more_faults():
    result = [predict(replace(LIKE_MULTICS, core=core)) for core in (128.0, 224.0, 512.0)]
    faults = [each["page_faults_per_interaction"] for each in result]
    assert faults == sorted(faults, reverse=True)
    useful = [each["useful_share"] for each in result]
    assert all(after > before - 0.005 for before, after in pairwise(useful))


def test_a_second_processor_costs_more_overhead_an_event_and_less_without_locks():
    one, two = predict(LIKE_MULTICS), predict(replace(LIKE_MULTICS, cpus=2))
    free = predict(replace(LIKE_MULTICS, cpus=2, locks="none", interference=0.0))
    assert two["page_fault_overhead_s"] > 1.2 * one["page_fault_overhead_s"]
    assert free["page_fault_overhead_s"] == pytest.approx(one["page_fault_overhead_s"], rel=1e-6)
    assert one["throughput_per_s"] < two["throughput_per_s"] < free["throughput_per_s"]


# -- the number of eligible processes ----------------------------------------------------------------------


def test_too_many_eligible_thrash_and_the_search_finds_the_best():
    result = levels(replace(LIKE_MULTICS, core=160.0), 8)
    throughput = result["throughput_per_s"]
    best = int(result["optimum"])
    assert 2 <= best <= 5
    assert throughput[best - 1] == max(throughput)
    assert list(throughput[best - 1 :]) == sorted(throughput[best - 1 :], reverse=True)
    assert result["good_from"] <= best <= result["good_to"] < result["thrashing_from"] <= 8
    assert throughput[int(result["thrashing_from"]) - 1] < 0.5 * max(throughput)
    lifetimes = result["lifetime_s"]
    assert list(lifetimes) == sorted(lifetimes, reverse=True)
    assert result.holds is None
    assert levels(LIKE_MULTICS, 2).holds is False


def test_a_machine_with_two_steady_states_says_so():
    """With a limit that does not bind and thrashing beyond, light and heavy load both keep themselves up."""
    light = replace(LIKE_MULTICS, users=30, core=384.0, cpus=2, max_eligible=20)
    said = {a.text.split(";")[0]: a for a in predict(light).assumptions}
    assert said["the machine has one steady state"].met is False
    assert "less done" in said["the machine has one steady state"].observed
    said = {a.text.split(";")[0]: a for a in predict(replace(light, max_eligible=5)).assumptions}
    assert said["the machine has one steady state"].met is True


# -- bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"users": 0}, "users is 0"),
        ({"core": 64.0}, "core is 64 Kwords, of which the resident supervisor takes 64"),
        ({"cpus": 3}, "cpus is 3; give 1 or 2"),
        ({"max_eligible": 0.5}, "max_eligible is 0.5"),
        ({"think_s": -1.0}, "think_s is -1"),
        ({"headway_s": 0.0}, "headway_s is 0"),
        ({"kept": 1.5}, "kept is 1.5"),
        ({"locks": "some"}, "locks is 'some'; give one of none, global, by_data_base"),
        ({"paths_s": (0.1, 0.2)}, "paths_s has 2 values; give 6"),
        ({"paths_s": (-0.1, *NOTHING[1:])}, "path of a page fault is -0.1"),
        ({"programs": ()}, "shares of the programs do not add up to 1"),
        ({"exponent": float("nan")}, "exponent is nan"),
    ],
)
def test_what_no_machine_has_is_refused(changes, named):
    with pytest.raises(InputError, match=named):
        replace(LIKE_MULTICS, **changes)
