"""What models return and refuse."""

import dataclasses
import math

import numpy as np
import pytest

from thinktime.errors import InputError
from thinktime.models.queueing import networks, open_stations, operational_laws
from thinktime.models.queueing.approximations import schweitzer
from thinktime.models.queueing.networks import Station, machine_repairman

TWO = Station("disk", (0.1, 0.2))


def test_a_prediction_cannot_be_changed():
    result = networks.mva([0.1, 0.2], 5, 1.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.method = "guess"
    with pytest.raises(ValueError, match="read-only"):
        result["queue"][0] = 1.0


def test_an_unknown_figure_names_those_that_there_are():
    with pytest.raises(KeyError, match="it predicts utilisation, throughput_per_s"):
        open_stations.mm1(1.0, 0.5)["response_ms"]


def test_assumptions_say_whether_the_inputs_meet_them():
    assert open_stations.mm1(1.0, 0.5).holds is None
    saturated = open_stations.mm1(3.0, 0.5)
    assert saturated.holds is False
    assert [one.text for one in saturated.assumptions if one.met is False] == ["the utilisation is below 1"]
    assert math.isinf(saturated["response_s"])
    assert saturated["throughput_per_s"] == 2.0

    def met(**service):
        result = machine_repairman(5, 1.0, 0.1, **service)
        return result.assumptions[-1].met

    assert [met(), met(variation=1.0), met(variation=2.0), met(discipline="ps")] == [None, True, False, True]


def test_every_quantity_has_a_name_with_its_unit():
    suffixes = {"s": "_s", "1/s": "_per_s"}
    for result in (
        networks.mva([1.0], 3),
        open_stations.mg1_las(1.0, 0.5, [0.1]),
        operational_laws.asymptotic([1.0], 3),
        operational_laws.little(1.0, 2.0),
    ):
        assert result.source
        for quantity in result.quantities:
            assert quantity.name.endswith(suffixes.get(quantity.unit, ""))


def test_laws_are_arithmetic():
    assert operational_laws.utilisation(4.0, 0.5, 4)["utilisation"] == 0.5
    assert operational_laws.utilisation(4.0, 0.5).holds is False
    assert operational_laws.little(2.0, 3.0)["number"] == 6.0
    assert operational_laws.response_time(35, 1.4, 20.0)["response_s"] == pytest.approx(5.0)
    assert operational_laws.response_time(10, 1.0, 20.0).holds is False
    assert operational_laws.forced_flow(2.0, 7.0)["throughput_per_s"] == 14.0


def test_the_saturation_point_of_the_textbook():
    # Lazowska et al., Quantitative System Performance (1984): N* = (D + Z) / Dmax.
    result = operational_laws.asymptotic([5.0, 4.0, 3.0], 20, 15.0)
    assert result["saturation_users"] == pytest.approx(27 / 5)
    assert result["throughput_high_per_s"] == pytest.approx(0.2)
    assert operational_laws.asymptotic([5.0, 4.0, 3.0], 1, 15.0)["throughput_high_per_s"] == pytest.approx(
        1 / 27
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: open_stations.mm1(-1.0, 0.5), "arrivals_per_s is -1.0"),
        (lambda: open_stations.mm1(1.0, math.nan), "service_s is nan"),
        (lambda: open_stations.mmc(1.0, 0.5, 0), "servers is 0; give a whole number from 1"),
        (lambda: open_stations.mmck(1.0, 0.5, 2, 3), "capacity is 2; give a whole number from 3"),
        (lambda: open_stations.mg1(1.0, "exponential(mean=-1)"), "service: exponential: mean is -1"),
        (lambda: open_stations.mg1_las(1.0, 0.5, [-1.0]), "sizes_s has -1.0"),
        (lambda: open_stations.mg1_priorities([1.0], [], preemptive=True), "1 arrival rates and 0 services"),
        (lambda: machine_repairman(0, 1.0, 1.0), "users is 0"),
        (lambda: machine_repairman(5, 1.0, 0.0), "service_s is 0.0"),
        (lambda: machine_repairman(5, 1.0, 0.1, discipline="rr"), "discipline is 'rr'; give one of fcfs, ps"),
        (lambda: networks.mva([0.1, -0.2], 5), "demand of station 2 is -0.2"),
        (lambda: networks.mva([0.1, math.inf], 5), "demand of station 2 is inf"),
        (lambda: networks.mva([0.0], 5), "give at least one time above 0"),
        (lambda: networks.mva([], 5), "give at least one time above 0"),
        (lambda: networks.mva([0.1], 2.5), "users is 2.5"),
        (lambda: networks.mva([Station("cpu", 0.0)], 5), "give at least one time above 0"),
        (lambda: networks.mva([TWO], 5), "station disk: demand_s has 2 values; give one"),
        (lambda: Station("cpu", -1.0), "station cpu: demand_s is -1.0"),
        (lambda: Station("cpu", 1.0, servers=0), "station cpu: servers is 0"),
        (lambda: Station("cpu", 1.0, rates=(1.0, 0.0)), "station cpu: rates is"),
        (lambda: Station("cpu", 1.0, discipline="lifo"), "give one of fcfs, ps"),
        (lambda: networks.mva_classes([TWO], [1], [0.0]), "demand_s has 2 values; give 1, one per class"),
        (lambda: networks.mva_classes([TWO], [1, 1], [0.0]), "users has 2 classes and think_s 1"),
        (
            lambda: networks.mva_classes([TWO], [99_999, 99_999], [1.0, 1.0]),
            "use an approximation",
        ),
        (
            lambda: networks.mva_classes([Station("d", (1.0, 0.0))], [1, 1], [0.0, 0.0]),
            "class 1: it has neither",
        ),
        (lambda: schweitzer([Station("d", 1.0, rates=(1.0,))], [1], [0.0]), "station d: rates cannot"),
        (lambda: operational_laws.balanced_job([0.0], 5), "give a demand above 0"),
    ],
)
def test_bad_input_is_refused_by_name(call, words):
    with pytest.raises(InputError) as refused:
        call()
    assert words in str(refused.value)


def test_a_large_network_is_solved_approximately():
    stations = [Station("cpu", (0.1, 0.02, 0.3)), Station("disk", (0.05, 0.3, 0.1), servers=2)]
    result = schweitzer(stations, [4000, 2000, 0], [30.0, 20.0, 10.0])
    assert result["throughput_per_s"][2] == 0.0
    assert np.all(result["utilisation"].sum(axis=1) <= 1.0 + 1e-9)
    assert any("error is accepted" in one.text for one in result.assumptions)
