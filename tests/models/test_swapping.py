"""Closed network with a swapper: its limits, its bounds, sizes that differ, and bad input."""

from dataclasses import replace
from itertools import pairwise, permutations

import pytest

from thinktime.errors import InputError
from thinktime.models.queueing.networks import mva
from thinktime.models.swapping.response_time import Swapping, number_that_fit, predict

NEVER_S = 1e6
PLAIN = Swapping(
    processes=6,
    memory=628,
    size=157,
    blocks=5.0,
    block_time_s=0.04,
    swap_time_s=0.05,
    compute_s=0.06,
    think_s=1.0,
    interactions=200,
    dispatch="sharing",
    minimum_time_in_s=NEVER_S,
    minimum_time_out_s=NEVER_S,
)
"""Exponential times and shared devices; ready processes are never swapped out."""

LIKE_UNIX = replace(
    PLAIN,
    dispatch="slices",
    system_s=0.05,
    behind=0.4,
    gap_s=0.002,
    minimum_time_in_s=3.0,
    minimum_time_out_s=3.0,
)


# -- limits ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("users", [1, 2, 7, 30])
@pytest.mark.parametrize("think_s", [0.0, 0.7, 20.0])
def test_with_memory_for_all_it_is_exact_mean_value_analysis(users, think_s):
    result = predict(replace(PLAIN, processes=users, memory=157 * users, think_s=think_s))
    exact = mva([5.0 * 0.04, 0.06], users, think_s)
    assert result["throughput_per_s"] == pytest.approx(exact["throughput_per_s"], rel=1e-9)
    assert result["queue_length"] == pytest.approx(exact["queue"][0], rel=1e-9)
    assert result["controller_utilisation"] == pytest.approx(exact["utilisation"][0], rel=1e-9)
    assert result["response_s"] == pytest.approx(exact["response_s"], rel=1e-9)
    assert result["swaps"] == 0.0


def test_swaps_that_take_no_time_are_as_good_as_memory_for_all():
    free, roomy = replace(PLAIN, swap_time_s=0.0), replace(PLAIN, memory=6 * 157)
    assert predict(free)["throughput_per_s"] == predict(roomy)["throughput_per_s"]


def test_one_loaded_of_many_is_swapped_in_works_and_is_swapped_out():
    """X = 1 / (D + 2 Tswap): somebody is always ready, and nothing overlaps."""
    result = predict(replace(PLAIN, processes=40, memory=157, think_s=0.5))
    assert result["throughput_per_s"] == pytest.approx(1.0 / (0.2 + 0.06 + 2 * 0.05), rel=1e-9)
    assert result["swaps_per_interaction"] == pytest.approx(2.0, rel=1e-9)


def test_a_disk_that_limits_works_on_an_interaction_and_its_two_swaps():
    """X = 1 / (D + 2 Tswap) with any number loaded, if pauses are long and somebody is always ready."""
    busy = replace(PLAIN, processes=200, memory=4 * 157, compute_s=0.0, think_s=20.0)
    result = predict(busy)
    assert result["controller_utilisation"] == pytest.approx(1.0, abs=1e-3)
    assert result["swaps_per_interaction"] == pytest.approx(2.0, rel=0.03)
    assert result["throughput_per_s"] == pytest.approx(1.0 / (0.2 + 2 * 0.05), rel=0.01)


def test_a_cpu_that_limits_gives_its_rate_whatever_the_memory():
    computing = replace(LIKE_UNIX, processes=12, compute_s=2.0, memory=10 * 157, dispatch="sharing")
    result = predict(computing)
    assert result["cpu_utilisation"] == pytest.approx(1.0, abs=0.03)
    assert predict(replace(computing, memory=12 * 157))["throughput_per_s"] == pytest.approx(
        result["throughput_per_s"], rel=0.02
    )


def test_processes_that_never_pause_are_forced_out_in_turn():
    result = predict(replace(LIKE_UNIX, think_s=0.0))
    assert result["forced_swaps"] == pytest.approx(0.5)
    # Four stay three seconds at least.
    assert 0.0 < result["swaps_per_interaction"] * result["throughput_per_s"] / 2 <= 4 / 3.0
    assert any(assumption.met is False for assumption in result.assumptions)


GRID = [
    replace(base, processes=processes, memory=157 * fit, compute_s=compute_s, swap_time_s=swap_s)
    for base in (PLAIN, LIKE_UNIX)
    for processes, fit in ((3, 1), (6, 4), (12, 4), (12, 11), (5, 5))
    for compute_s in (0.0, 0.05, 0.4)
    for swap_s in (0.01, 0.05, 0.3)
]


@pytest.mark.parametrize("system", GRID)
def test_no_bound_is_broken(system):
    """Asymptotic bounds, Little's law over all processes, and what a device can do."""
    result = predict(system)
    x = result["throughput_per_s"]
    disk_s, cpu_s = 5.0 * (0.04 + system.gap_s), system.compute_s + system.system_s
    alone_s = 5.0 * (1 - system.behind) * (0.04 + system.gap_s) + cpu_s
    assert x <= min(1 / disk_s, 1 / cpu_s if cpu_s else 1e9, system.processes / (1.0 + alone_s)) * (1 + 1e-9)
    assert result["controller_utilisation"] <= 1.0 + 1e-9
    assert result["cpu_utilisation"] <= 1.0 + 1e-9
    assert result["swaps_per_interaction"] <= 2.0 + 1e-9 or result["forced_swaps"] > 0.0
    where = sum(result[name] for name in ("active", "pausing_in", "pausing_out", "ready_out", "swapper_busy"))
    assert where == pytest.approx(system.processes, rel=1e-9)
    # Little's law for pauses: those in memory, outside, and on their way out.
    pausing = result["pausing_in"] + result["pausing_out"]
    assert pausing - 1e-9 <= x * 1.0 <= pausing + result["swapper_busy"] + 1e-9


@pytest.mark.parametrize("base", [PLAIN, LIKE_UNIX])
def test_more_of_anything_good_is_never_worse(base):
    def rates(name, values):
        return [predict(replace(base, processes=10, **{name: value}))["throughput_per_s"] for value in values]

    better = {
        "memory": [157 * fit for fit in range(1, 11)],
        "swap_time_s": [0.3, 0.1, 0.05, 0.01, 0.0],
        "block_time_s": [0.1, 0.05, 0.04, 0.01],
        "compute_s": [0.5, 0.1, 0.05, 0.0],
        "text": [0, 40, 80, 120],
        "own_controller": [False, True],
    }
    for name, values in better.items():
        result = rates(name, values)
        assert result == sorted(result), name


def test_more_users_never_do_less_in_all_and_each_waits_longer():
    result = [predict(replace(LIKE_UNIX, processes=n)) for n in range(1, 16)]
    response = [float(one["response_s"]) for one in result]
    assert response == sorted(response)
    # Swapping begins beyond four: what all do may fall by what swaps cost, not by more.
    through = [float(one["throughput_per_s"]) for one in result]
    assert all(after > 0.93 * before for before, after in pairwise(through))


# -- sizes -------------------------------------------------------------------------------------------------


def test_equal_sizes_fit_as_often_as_memory_holds_them():
    for memory, size, n in ((650, 157, 12), (1280, 314, 12), (1280, 157, 5), (157, 157, 3)):
        assert number_that_fit(memory, [size] * n) == pytest.approx({min(n, memory // size): 1.0})


def test_unequal_sizes_fit_as_a_count_over_all_orders_says():
    sizes, memory = (157, 157, 314, 314, 470, 100), 650
    counted = {}
    orders = list(permutations(sizes))
    for order in orders:
        fits = max(k for k in range(1, len(order) + 1) if sum(order[:k]) <= memory)
        counted[fits] = counted.get(fits, 0.0) + 1.0 / len(orders)
    assert number_that_fit(memory, sizes) == pytest.approx(counted)


def test_shared_text_is_in_memory_once():
    assert number_that_fit(650, [157] * 12, text=78) == pytest.approx({7: 1.0})
    result = predict(replace(LIKE_UNIX, processes=12, memory=650, text=78))
    assert result["fitting"] == pytest.approx((650 - 78) // (157 - 78))


def test_unequal_sizes_lie_between_the_equal_ones():
    base = replace(LIKE_UNIX, processes=12, memory=1280)
    small = predict(replace(base, size=157, swap_time_s=0.05))
    large = predict(replace(base, size=314, swap_time_s=0.1))
    mixed = predict(replace(base, size=(157, 314), swap_time_s=(0.05, 0.1)))
    assert large["throughput_per_s"] < mixed["throughput_per_s"] < small["throughput_per_s"]
    assert 5.0 < mixed["fitting"] < 5.5


# -- what it says of itself --------------------------------------------------------------------------------


def test_memory_that_just_fits_is_pointed_out():
    said = {a.text: a.met for a in predict(replace(PLAIN, processes=4)).assumptions}
    assert said["other processes and fragments of memory keep out nobody who fits"] is None


@pytest.mark.parametrize(("processes", "fit"), [(12, 8), (5, 5), (7, 1), (60, 20)])
def test_the_number_of_states_is_known_before_they_are_found(processes, fit):
    from thinktime.models.swapping import loaded_network, response_time, swapper

    system = replace(LIKE_UNIX, processes=processes, memory=157 * fit)
    rules = swapper.Rules(
        processes=processes, fit=fit, think_s=1.0, minimum_time_in_s=3.0, minimum_time_out_s=3.0
    )
    reached, _ = swapper._reached(rules, loaded_network.rates(response_time._demands(system, {}), fit))
    assert len(reached) == rules.states


def test_an_interval_of_an_input_is_one_of_the_answer():
    from thinktime.stats.estimate import Estimate

    known = Estimate(value=0.04, unit="s", n=1, method="measured", low=0.0375, high=0.0425)
    quantity = predict(replace(PLAIN, block_time_s=known)).quantity("elapsed_s")
    slow = predict(replace(PLAIN, block_time_s=0.0425))["elapsed_s"]
    assert quantity.high == pytest.approx(slow)
    assert quantity.low < quantity.value < quantity.high


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"processes": 0}, "processes is 0"),
        ({"size": 700}, "size is 700, and memory 628"),
        ({"size": ()}, "no sizes"),
        ({"text": 157}, "text 157"),
        ({"blocks": -1.0}, "blocks is -1"),
        ({"behind": 1.0}, "behind is 1"),
        ({"dispatch": "lottery"}, "sharing, slices"),
        ({"swap_time_s": (0.1, 0.2)}, "swap_time_s has 2 values"),
        ({"swap_time_s": -0.1}, "swap_time_s is -0.1"),
        ({"minimum_time_in_s": 0.0}, "minimum_time_in_s is 0"),
        ({"blocks": 0.0, "compute_s": 0.0}, "neither disk nor CPU"),
        ({"think_s": float("nan")}, "think_s is nan"),
        ({"interactions": 0}, "interactions is 0"),
    ],
)
def test_what_no_machine_has_is_refused(changes, named):
    with pytest.raises(InputError, match=named):
        replace(PLAIN, **changes)


def test_a_machine_that_is_too_large_is_refused_with_what_to_do():
    with pytest.raises(InputError, match="that has 751501 states, and 60000 are solved"):
        predict(replace(PLAIN, processes=1000, memory=157 * 500))
