"""Networks of queues that books and other solvers print: the same figures, to the digits that they print.

Bolch, Greiner, de Meer and Trivedi, *Queueing Networks and Markov Chains* (2nd edition, 2006), by number of
the example; Lazowska, Zahorjan, Graham and Sevcik, *Quantitative System Performance* (1984), by page; Jain,
*The Art of Computer Systems Performance Analysis* (1991); Allen, *Probability, Statistics, and Queueing
Theory* (2nd edition, 1990); Schwetman, report CSD-TR-355 of Purdue University (1982). Most of these stand in
the tests of GNU Octave's package queueing as well, and Allen's in the examples of PDQ. Small closed networks
are also summed over all of their states.
"""

import itertools
import math

import numpy as np
import pytest

from thinktime.models.queueing.approximations import schweitzer
from thinktime.models.queueing.customers import Customers
from thinktime.models.queueing.mixed_networks import mixed
from thinktime.models.queueing.networks import Station, mva, mva_classes
from thinktime.models.queueing.routing import visits


def stations_of(services, numbers, servers=None):
    """Stations with service times and numbers of visits."""
    servers = servers or [1] * len(services)
    return [
        Station(str(place), service * number, servers=several)
        for place, (service, number, several) in enumerate(zip(services, numbers, servers, strict=True))
    ]


def over_all_states(stations, users):
    """Throughput and queues by the product form of Gordon and Newell (1967), summed state by state."""

    def weight(station, there):
        ways = math.prod(min(place, station.servers) for place in range(1, there + 1))
        return station.demand_s**there / ways

    def total(number):
        states = [
            state
            for state in itertools.product(range(number + 1), repeat=len(stations))
            if sum(state) == number
        ]
        weights = [math.prod(map(weight, stations, state)) for state in states]
        return np.array(states), np.array(weights)

    states, weights = total(users)
    return total(users - 1)[1].sum() / weights.sum(), weights @ states / weights.sum()


CLOSED = {
    "Bolch 8.1": {
        "stations": stations_of([1 / 0.8, 1 / 0.6, 1 / 0.4], [1.0, 0.667, 0.2], [2, 3, 1]),
        "users": 3,
        "throughput": 0.945,
        "queue": [1.290, 1.050, 0.660],
    },
    "Bolch 8.3": {
        "stations": stations_of([0.02, 0.2, 0.4, 0.6], [1.0, 0.4, 0.2, 0.1]),
        "users": 6,
        "throughput": 9.920,
        "queue": [0.244, 2.261, 2.261, 1.234],
    },
    "Bolch 8.4": {
        "stations": stations_of([0.5, 0.6, 0.8, 1.0], [1.0, 0.5, 0.5, 1.0], [2, 1, 1, math.inf]),
        "users": 3,
        "throughput": 1.218,
        "queue": [0.624, 0.473, 0.686, 1.217],
    },
}


@pytest.mark.parametrize("case", CLOSED.values(), ids=CLOSED)
def test_closed_networks_of_bolch(case):
    found = mva(case["stations"], case["users"])
    assert found["throughput_per_s"] == pytest.approx(case["throughput"], abs=1e-3)
    assert found["queue"] == pytest.approx(case["queue"], abs=1e-3)
    throughput, queue = over_all_states(case["stations"], case["users"])
    assert found["throughput_per_s"] == pytest.approx(throughput, rel=1e-12)
    assert found["queue"] == pytest.approx(queue, rel=1e-12)


def test_a_single_server_is_not_what_bolch_8_1_has():
    """The canary: faster stations of one server miss the printed figures."""
    case = CLOSED["Bolch 8.1"]
    alone = mva([item.demand_s / item.servers for item in case["stations"]], case["users"])
    assert alone["throughput_per_s"] != pytest.approx(case["throughput"], abs=1e-1)


def test_bolch_8_7_a_station_whose_rates_depend_on_its_queue():
    """The network of example 8.4 with rates instead of servers."""
    stations = [
        Station("1", 1.0, rates=(2.0, 4.0)),
        Station("2", 0.5 / 1.667),
        Station("3", 0.5 / 1.25),
        Station("4", 1.0, rates=(1.0, 2.0, 3.0)),
    ]
    found = mva(stations, 3)
    assert found["queue"] == pytest.approx([0.624, 0.473, 0.686, 1.217], abs=1e-3)
    times = found["residence_s"] / [1.0, 0.5, 0.5, 1.0]
    assert times == pytest.approx([0.512, 0.776, 1.127, 1.0], abs=1e-3)


def test_jain_a_timesharing_system_of_20_users():
    """Page 577: 4 s of thinking, 16 visits to the CPU, 10 to disk A, 5 to disk B."""
    found = mva(stations_of([0.125, 0.3, 0.2], [16, 10, 5]), 20, 4.0)
    assert found["residence_s"] / [16, 10, 5] == pytest.approx([0.373, 4.854, 0.300], abs=1e-3)
    assert found["queue"] == pytest.approx([1.991, 16.177, 0.500], abs=1e-3)


def test_lazowska_page_117_an_approximate_closed_network():
    """Three users, 15 s of thinking: Bard and Schweitzer's approximation by hand."""
    stations = stations_of([0.605, 2.1, 1.35], [1, 1, 1])
    found = schweitzer([Station(item.name, (item.demand_s,)) for item in stations], [3], [15.0])
    assert found["queue"][:, 0] == pytest.approx([0.0973, 0.4021, 0.2359], abs=1e-3)
    assert found["throughput_per_s"][0] == pytest.approx(0.1510, abs=1e-3)
    assert found["response_s"][0] == pytest.approx(4.87, abs=5e-3)


def test_lazowska_page_113_an_open_network():
    stations = stations_of([0.005, 0.03, 0.027], [121, 70, 50])
    found = mixed(stations, [Customers("users", arrivals_per_s=0.3)])
    assert found["utilisation"][0, 0] == pytest.approx(0.182, abs=1e-3)
    assert found["queue"][0, 0] == pytest.approx(0.222, abs=1e-3)


def test_bolch_7_4_an_open_network_with_routes():
    routes = {
        "cpu": {"printer": 0.5, "disk": 0.5},
        "printer": {"cpu": 1.0},
        "disk": {"cpu": 0.6},
        "terminal": {"cpu": 1.0},
    }
    services = {"cpu": 0.04, "printer": 0.03, "disk": 0.06, "terminal": 0.05}
    number = visits(routes, "terminal")
    assert [4.0 * number[name] for name in services] == pytest.approx([20.0, 10.0, 10.0, 4.0])
    stations = [Station(name, service * number[name]) for name, service in services.items()]
    found = mixed(stations, [Customers("jobs", arrivals_per_s=4.0)])
    assert found["utilisation"][:, 0] == pytest.approx([0.8, 0.3, 0.6, 0.2])
    assert found["queue"][:, 0] == pytest.approx([4.0, 0.429, 1.5, 0.25], abs=1e-3)
    times = found["residence_s"][:, 0] / [number[name] for name in services]
    assert times == pytest.approx([0.2, 0.043, 0.15, 0.0625], abs=1e-3)


def test_bolch_8_6_two_open_and_two_closed_classes():
    numbers = np.array([[2.0, 1.0], [2.5, 1.5], [1.0, 0.5], [1.0, 0.4]])
    demands = numbers * [[0.4, 0.6], [0.8, 1.6], [0.3, 0.5], [0.5, 0.8]]
    classes = [
        Customers("1", arrivals_per_s=0.5),
        Customers("2", arrivals_per_s=0.25),
        Customers("3", users=1),
        Customers("4", users=1),
    ]
    found = mixed([Station(str(k), tuple(demands[:, k])) for k in range(2)], classes)
    queue, residence = found["queue"].T, found["residence_s"].T
    assert found["utilisation"].T[:2] == pytest.approx(np.array([[0.4, 0.3], [0.5, 0.6]]))
    assert queue[2:] == pytest.approx(np.array([[0.582, 0.418], [0.624, 0.376]]), abs=1e-3)
    assert queue[:2] == pytest.approx(np.array([[8.822, 5.383], [11.028, 10.766]]), abs=1e-3)
    times = residence / numbers
    assert times[2:] == pytest.approx(np.array([[4.829, 6.951], [7.727, 11.636]]), abs=2e-3)
    assert times[:2] == pytest.approx(np.array([[8.822, 10.766], [17.645, 28.710]]), abs=2e-3)
    assert found["throughput_per_s"][2:] == pytest.approx([0.120, 0.081], abs=1e-3)


def test_lazowska_page_148_two_open_and_two_closed_classes():
    demands = [[1 / 4, 1 / 6], [1 / 2, 1.0], [1 / 2, 1.0], [1.0, 4 / 3]]
    classes = [
        Customers("A", arrivals_per_s=1.0),
        Customers("B", arrivals_per_s=0.5),
        Customers("C", users=1),
        Customers("D", users=1),
    ]
    stations = [Station(str(k), tuple(demand[k] for demand in demands)) for k in range(2)]
    queue = mixed(stations, classes)["queue"].T
    assert queue[2:] == pytest.approx(np.array([[4 / 19, 15 / 19], [5 / 19, 14 / 19]]), rel=1e-9)


def test_schwetman_1982_an_open_and_a_closed_class():
    stations = [Station("1", (0.25, 0.25)), Station("2", (0.0, 0.10))]
    found = mixed(stations, [Customers("open", arrivals_per_s=1.0), Customers("closed", users=3)])
    residence = found["residence_s"]
    assert (residence[0, 0], residence[0, 1], residence[1, 1]) == pytest.approx(
        (1.201, 0.885, 0.135), abs=1e-3
    )
    assert found["utilisation"][0, 0] == pytest.approx(0.25)


def test_allen_6_3_4_two_classes_of_terminals_and_a_batch():
    """Table 6.3.3, by PDQ's exact solver: throughput, response, and jobs at the CPU."""
    demands = {"cpu": (0.50, 0.40, 1.20), "disk 1": (0.04, 0.20, 0.05), "disk 2": (0.06, 0.30, 0.06)}
    stations = [Station(name, demand) for name, demand in demands.items()]
    found = mva_classes(stations, [5, 10, 5], [20.0, 30.0, 0.0])
    assert found["throughput_per_s"] == pytest.approx([0.20998, 0.29800, 0.64651], abs=5e-6)
    assert found["response_s"] == pytest.approx([3.8121, 3.5574, 7.7338], abs=5e-5)
    assert found["queue"][0].sum() == pytest.approx(6.5867, abs=5e-5)


def test_pdq_a_compiler_with_100_users_and_an_application_of_three_tiers():
    """PDQ's examples mm1n (Gunther, *Analyzing Computer System Performance*, 4.8) and ebiz."""
    assert mva([0.63], 100, 300.0)["response_s"] == pytest.approx(0.79426, abs=5e-6)
    found = mva([0.0098, 0.0025, 0.00072, 0.0098], 10)
    assert found["throughput_per_s"] == pytest.approx(92.3945, abs=5e-5)
