"""The model of the ratio and its kin: what they return, say and refuse."""

import math
from dataclasses import replace

import pytest

from thinktime.errors import InputError
from thinktime.models.swapping import disk_bound, swap_overhead
from thinktime.models.swapping.swap_disk import Configuration, Drive, loaded_processes, mean_size
from thinktime.stats.estimate import Estimate

A = Configuration(block_time_s=0.05, swap_time_s=0.07, loaded=4)


def measured(value, half, unit="s", level=0.95):
    return Estimate(
        value=value, unit=unit, n=10, method="measured", low=value - half, high=value + half, level=level
    )


def assumption(prediction, words):
    (one,) = [one for one in prediction.assumptions if words in one.text]
    return one


def test_the_ratio_of_a_machine_with_itself_is_one():
    result = disk_bound.predict(A, A)
    assert result["ratio"] == result["ratio_as_printed"] == 1.0
    assert result["change"] == 0.0


def test_a_prediction_back_is_the_inverse():
    b = replace(A, loaded=9, swap_time_s=0.03, processes=None)
    there, back = disk_bound.predict(A, b), disk_bound.predict(b, A)
    assert there["ratio"] * back["ratio"] == pytest.approx(1.0)
    far = replace(b, burst_s=0.2, queue_length=5.0)
    near = replace(A, burst_s=0.01, queue_length=4.8)
    assert disk_bound.predict(near, far)["ratio"] * disk_bound.predict(far, near)["ratio"] == pytest.approx(
        1.0
    )


def test_what_is_known_of_the_load_is_carried_over():
    a = replace(
        A, processes=10, elapsed_s=600.0, interactions=2000, blocks=12_000.0, think_s=1.0, service_s=0.5
    )
    result = disk_bound.predict(a, replace(a, loaded=8, processes=15))
    assert result["elapsed_b_s"] == pytest.approx(600.0 * result["ratio"])
    assert (result["swaps_a"], result["swaps_b"]) == (3000.0, 2250.0)
    assert result["throughput_b_per_s"] == pytest.approx(3000 / result["elapsed_b_s"])
    assert result["throughput_b_per_s"] / result["throughput_a_per_s"] == pytest.approx(
        result["throughput_ratio"]
    )
    assert result["response_b_s"] == pytest.approx(15 / result["throughput_b_per_s"] - 1.0)
    assert result["stretch_b"] == pytest.approx(result["response_b_s"] / 0.5)


def test_the_response_as_printed_lacks_the_number_of_processes():
    result = disk_bound.operational(720.0, 2400, 12, 1.5, 0.6)
    assert result["throughput_per_s"] == pytest.approx(10 / 3)
    assert result["response_s"] == pytest.approx(12 * 0.3 - 1.5)
    assert result["response_as_printed_s"] == pytest.approx(0.3 - 1.5)
    assert result["stretch"] == pytest.approx(result["response_s"] / 0.6)
    assert result.holds is None
    assert disk_bound.operational(720.0, 2400, 12, 5.0).holds is False
    without = [quantity.name for quantity in disk_bound.operational(720.0, 2400, 12).quantities]
    assert without == ["throughput_per_s"]
    # The printed form is right where C counts the interactions of one process.
    assert disk_bound.operational(720.0, 200, 1, 1.5)["response_s"] == pytest.approx(result["response_s"])


def test_an_interval_is_propagated_to_first_order():
    """Partial derivatives of T_B/T_A with respect to Tswap of A and of B, by hand."""
    swap_a, swap_b = measured(0.07, 0.0007), measured(0.05, 0.001)
    a, b = replace(A, swap_time_s=swap_a), replace(A, swap_time_s=swap_b)
    result = disk_bound.predict(a, b).quantity("ratio")
    below = 0.05 + 0.07 / 4
    by_b = 0.001 / 4 / below
    by_a = 0.0007 / 4 * (0.05 + 0.05 / 4) / below**2
    reach = math.hypot(by_a, by_b)
    assert result.high - result.value == pytest.approx(reach, rel=0.01)
    assert result.value - result.low == pytest.approx(reach, rel=0.01)


def test_one_measurement_that_both_machines_share_moves_in_both():
    block = measured(0.05, 0.005)
    same = disk_bound.predict(replace(A, block_time_s=block), replace(A, block_time_s=block, loaded=4.0))
    assert same.quantity("ratio").low is None
    again = replace(block, n=11)
    other = disk_bound.predict(replace(A, block_time_s=block), replace(A, block_time_s=again))
    assert other.quantity("ratio").low < 1.0 < other.quantity("ratio").high


def test_an_interval_across_a_limit_leaves_the_assumption_open():
    def busy(utilisation):
        machine = replace(A, utilisation=utilisation)
        return assumption(disk_bound.predict(machine, machine), "controller is busy").met

    assert [busy(0.9), busy(0.7), busy(measured(0.82, 0.05, "")), busy(measured(0.9, 0.05, ""))] == [
        True,
        False,
        None,
        True,
    ]


@pytest.mark.parametrize(
    ("words", "change", "observed"),
    [
        ("interactive", {"interactive": False}, ""),
        ("compute burst is at most", {"burst_s": 0.354, "queue_length": 3.8}, "354 ms against 70 ms"),
        ("swaps wait", {"queue_length": 2.9}, "2.9 at the controller with 4 loaded"),
        ("swaps wait", {"processes": 4}, "all 4 processes are loaded and none is swapped"),
        ("controller is busy", {"utilisation": 0.64}, "64 %"),
        ("alike", {"size": (157, 314)}, "sizes 157 and 314"),
        ("alike", {"equal_demands": False}, ""),
        ("one swap at a time", {"one_swap_at_a_time": False}, ""),
        ("single controller", {"single_controller": False}, ""),
        (
            "think time",
            {"think_s": 1.0, "elapsed_s": 700.0, "interactions": 2400, "processes": 12},
            "1 s",
        ),
    ],
)
def test_a_violated_assumption_is_told_with_its_figure(words, change, observed):
    machine = replace(A, **change)
    one = assumption(disk_bound.predict(machine, machine), words)
    assert one.met is False
    assert observed in one.observed
    assert disk_bound.predict(machine, machine).holds is False


def test_all_assumptions_can_be_met():
    a = Configuration(
        block_time_s=0.05,
        swap_time_s=0.07,
        memory=1280,
        size=314,
        processes=10,
        burst_s=0.012,
        queue_length=4.8,
        utilisation=0.95,
        think_s=0.0,
        interactions=2000,
        blocks=12_000.0,
        interactive=True,
        equal_demands=True,
        single_controller=True,
        one_swap_at_a_time=True,
    )
    result = disk_bound.predict(a, replace(a, memory=2560, queue_length=8.7))
    assert result["loaded_b"] == 8
    assert result.holds is True
    more = disk_bound.predict(a, replace(a, processes=15))
    assert assumption(more, "time grows with").met is True
    assert more["ratio"] == 1.5
    let_through = disk_bound.predict(a, replace(a, blocks=9600.0))
    assert assumption(let_through, "reach the disk").observed == "A: 6; B: 4.8"
    assert assumption(let_through, "reach the disk").met is False
    grown = disk_bound.predict(a, replace(a, size=157))
    assert "70 ms for sizes of 314 and of 157" in assumption(grown, "swap times").observed


def test_the_cpu_bound_cases():
    alone = swap_overhead.one_loaded(300.0, 0.07, 1000)
    assert alone["elapsed_b_s"] == pytest.approx(370.0)
    several = swap_overhead.several_loaded(300.0, 10, 15, 0.5, 0.07)
    assert (several["elapsed_b_s"], several["quantum_least_s"]) == (450.0, pytest.approx(0.14))
    assert several.holds is None
    thrashing = swap_overhead.several_loaded(300.0, 10, 15, 0.1, 0.07)
    assert thrashing.holds is False
    assert assumption(thrashing, "thrashes").observed == "70 ms against half of 100 ms"
    edge = swap_overhead.several_loaded(300.0, 10, 10, 0.14, 0.07)
    assert assumption(edge, "thrashes").met is True


def test_sizes_that_are_dealt_in_turn():
    assert mean_size((157, 314), 12) == 235.5
    assert mean_size((100, 400), 3) == 200.0
    assert loaded_processes(1280, (157, 314), 12) == 5
    assert loaded_processes(1280, 157, 6) == 6


def test_the_swap_of_one_block_crosses_no_cylinder():
    drive = Drive(access_s=0.0675, transfer_s_per_byte=2.35e-6, track_to_track_s=0.015, cylinder_blocks=40)
    one = drive.swap_time_s(8)
    assert one.low == one.high == pytest.approx(drive.block_time_s())


def test_leave_one_out_says_how_far_off_each_prediction_is():
    runs = [replace(A, elapsed_s=100.0), replace(A, elapsed_s=110.0)]
    first, second = disk_bound.leave_one_out(runs)
    assert first.predictions_s == (110.0,)
    assert first.error == pytest.approx(0.1)
    assert math.isnan(second.standard_deviation_s)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: Configuration(block_time_s=0.0, swap_time_s=0.07, loaded=4),
            "block_time_s is 0.0; give a finite number above 0",
        ),
        (
            lambda: Configuration(block_time_s=0.05, swap_time_s=-0.07, loaded=4),
            "swap_time_s is -0.07; give a finite number of at least 0",
        ),
        (lambda: Configuration(block_time_s=0.05, swap_time_s=math.nan, loaded=4), "swap_time_s is nan"),
        (lambda: Configuration(block_time_s=0.05, swap_time_s=0.07, loaded=0), "loaded is 0; give 1 or more"),
        (lambda: Configuration(block_time_s=0.05, swap_time_s=0.07, loaded=math.inf), "loaded is inf"),
        (lambda: Configuration(block_time_s=0.05, swap_time_s=0.07, loaded=math.nan), "loaded is nan"),
        (
            lambda: Configuration(block_time_s=0.05, swap_time_s=0.07),
            "loaded is not given; give it, or memory and size",
        ),
        (
            lambda: Configuration(block_time_s=0.05, swap_time_s=0.07, memory=1280, size=1400),
            "size is 1400, and memory 1280: no such",
        ),
        (
            lambda: Configuration(block_time_s=0.05, swap_time_s=0.07, memory=300, size=(157, 314)),
            "size is 314, and memory 300",
        ),
        (lambda: Configuration(block_time_s=0.05, swap_time_s=0.07, memory=1280, size=-1), "size is -1"),
        (
            lambda: Configuration(block_time_s=0.05, swap_time_s=0.07, memory=1280, size=()),
            "size is an empty list",
        ),
        (lambda: Configuration(block_time_s=0.05, swap_time_s=0.07, memory=0, size=157), "memory is 0"),
        (
            lambda: Configuration(block_time_s=0.05, swap_time_s=0.07, loaded=8, processes=4),
            "loaded is 8, but there are 4 processes",
        ),
        (
            lambda: Configuration(block_time_s=0.05, swap_time_s=0.07, loaded=4, utilisation=95.0),
            "utilisation is 95; give a part of the time",
        ),
        (
            lambda: Configuration(block_time_s=0.05, swap_time_s=0.07, loaded=4, burst_s=-1.0),
            "burst_s is -1.0",
        ),
        (
            lambda: Configuration(block_time_s=measured(0.05, 0.06), swap_time_s=0.07, loaded=4),
            "block_time_s has an interval from -0.01",
        ),
        (lambda: disk_bound.leave_one_out([A]), "there are 1 runs to compare"),
        (lambda: disk_bound.leave_one_out([A, A]), "run 1 has no elapsed_s"),
        (
            lambda: disk_bound.predict(replace(A, burst_s=0.012), replace(A, burst_s=0.186)),
            "queue_length of B is not given",
        ),
        (
            lambda: disk_bound.predict(
                replace(A, swap_time_s=measured(0.07, 0.01)),
                replace(A, swap_time_s=measured(0.07, 0.01, level=0.9)),
            ),
            "intervals at levels 0.9 and 0.95; give all at one level",
        ),
        (lambda: disk_bound.operational(0.0, 100, 10), "elapsed_s is 0.0"),
        (lambda: disk_bound.operational(10.0, 0, 10), "interactions is 0"),
        (lambda: disk_bound.swaps(100.0, 0.0), "loaded is 0.0"),
        (lambda: swap_overhead.one_loaded(300.0, -1.0, 5), "swap_time_s is -1.0"),
        (lambda: swap_overhead.several_loaded(300.0, 0, 5, 0.5, 0.07), "processes_a is 0"),
        (lambda: swap_overhead.several_loaded(300.0, 5, 5, 0.0, 0.07), "quantum_s is 0.0"),
        (
            lambda: Drive(
                access_s=0.0675, transfer_s_per_byte=0.0, track_to_track_s=0.015, cylinder_blocks=40
            ),
            "transfer_s_per_byte is 0.0",
        ),
        (
            lambda: Drive(
                access_s=0.0675, transfer_s_per_byte=2e-6, track_to_track_s=0.015, cylinder_blocks=40
            ).swap_time_s(0),
            "size_clicks is 0",
        ),
    ],
)
def test_bad_input_is_refused_by_name(call, words):
    with pytest.raises(InputError) as refused:
        call()
    assert words in str(refused.value)
