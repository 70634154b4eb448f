"""The engine against theory: users who think, and stations that serve them."""

import math

import pytest
from agreement import assert_agrees, assert_differs, distance

from thinktime.models.queueing.networks import Station, machine_repairman, mva, mva_classes
from thinktime.sources.simulated import simulate

THINK = {"kind": "exponential", "mean": 20.0}
HYPER = {"kind": "hyperexponential", "weights": [0.9, 0.1], "means": [0.1, 5.0]}
"""Mean 0.59 s."""
CPU = {"name": "cpu", "discipline": "fcfs", "service": {"kind": "exponential", "mean": 0.5}}


def closed(stations, *, length, seed, replications=16, **more):
    parameters = {"users": 35, "think": THINK, "stations": stations, "length": length, "warm_up": 500.0}
    return simulate("network", parameters | more, seed=seed, replications=replications)


def repairman(service_s, servers=1):
    found = machine_repairman(35, 20.0, service_s, servers)
    return {
        "throughput_per_s": found["throughput_per_s"],
        "mean_response_s": found["response_s"],
        "mean_present": found["number"],
        "cpu_utilisation": found["utilisation"],
    }


def test_the_machine_repairman_of_35_users():
    simulated = closed([CPU], length=100_000.0, seed=1967)
    expected = repairman(0.5)
    assert expected["throughput_per_s"] == pytest.approx(1.59954, abs=5e-6)
    assert expected["mean_response_s"] == pytest.approx(1.88130, abs=5e-6)
    assert_agrees(simulated, expected)
    assert_differs(simulated, repairman(0.505))


def test_the_machine_repairman_with_four_servers():
    service = {"kind": "exponential", "mean": 2.0}
    simulated = closed([CPU | {"service": service, "servers": 4}], length=60_000.0, seed=1968)
    assert_agrees(simulated, repairman(2.0, 4))
    assert_differs(simulated, repairman(2.02, 4))


@pytest.mark.parametrize("think", [THINK, 20.0, {"kind": "lognormal", "mean": 20.0, "sd": 40.0}], ids=str)
def test_a_shared_station_asks_for_means_alone(think):
    # Insensitivity: neither the distribution of service times nor that of think times counts.
    cpu = CPU | {"discipline": "processor_sharing", "service": HYPER}
    simulated = closed([cpu], length=60_000.0, seed=1975, think=think)
    assert_agrees(simulated, repairman(0.59))
    assert_differs(simulated, repairman(0.62))
    # The canary of the other kind: in order of arrival the same service times give another figure.
    in_order = closed([cpu | {"discipline": "fcfs"}], length=60_000.0, seed=1975, think=think)
    assert_differs(in_order, repairman(0.59))


def test_a_central_server_is_its_exact_mva():
    # From the processors to a disk or to the user, from a disk back: 5 visits, 2.4 and 1.6 of them to disks.
    stations = [
        CPU | {"name": "cpu", "servers": 2, "service": {"kind": "exponential", "mean": 0.2}},
        CPU | {"name": "drum", "service": {"kind": "exponential", "mean": 0.15}},
        CPU | {"name": "disk", "discipline": "processor_sharing", "service": 0.3},
        {"name": "network", "discipline": "delay", "service": {"kind": "uniform", "low": 0.0, "high": 2.0}},
    ]
    route = {
        "start": "network",
        "network": {"cpu": 1.0},
        "cpu": {"drum": 0.48, "disk": 0.32, "leave": 0.2},
        "drum": {"cpu": 1.0},
        "disk": {"cpu": 1.0},
    }
    simulated = closed(stations, length=30_000.0, seed=1980, route=route, users=50)

    def expected(factor):
        found = mva(
            [
                Station("cpu", 5 * 0.2 * factor, servers=2),
                Station("drum", 2.4 * 0.15),
                Station("disk", 1.6 * 0.3),
                Station("network", 1.0, servers=math.inf),
            ],
            50,
            20.0,
        )
        figures = {
            "throughput_per_s": found["throughput_per_s"],
            "mean_response_s": found["response_s"],
        }
        for k, name in enumerate(("cpu", "drum", "disk", "network")):
            figures[f"{name}_mean_present"] = found["queue"][k]
            figures[f"{name}_utilisation"] = found["utilisation"][k]
        return figures

    assert_agrees(simulated, expected(1.0))
    assert_differs(simulated, expected(1.01))


def test_two_classes_are_their_exact_mva():
    users, think, names = (20, 5), (10.0, 30.0), ("editing", "compiling")
    demands = {"cpu": (0.2, 4.0), "disk": (0.4, 0.8)}
    simulated = simulate(
        "network",
        {
            "classes": [
                {
                    "name": name,
                    "users": users[r],
                    "think": {"kind": "exponential", "mean": think[r]},
                    "service": {
                        station: {"kind": "lognormal", "mean": both[r], "sd": 2 * both[r]}
                        for station, both in demands.items()
                    },
                }
                for r, name in enumerate(names)
            ],
            "stations": [{"name": name, "discipline": "processor_sharing"} for name in demands],
            "length": 60_000.0,
            "warm_up": 500.0,
        },
        seed=1980,
        replications=16,
    )

    def expected(factor):
        stations = [Station("cpu", (0.2, 4.0 * factor)), Station("disk", demands["disk"])]
        found = mva_classes(stations, users, think)
        figures = {"cpu_mean_present": found["queue"][0].sum(), "disk_mean_present": found["queue"][1].sum()}
        for r, name in enumerate(names):
            figures[f"{name}_throughput_per_s"] = found["throughput_per_s"][r]
            figures[f"{name}_mean_response_s"] = found["response_s"][r]
        return figures

    assert_agrees(simulated, expected(1.0))
    assert_differs(simulated, expected(1.08))


def test_round_robin_tends_to_processor_sharing_as_the_slice_shrinks():
    # Sharing is in closed form; a slice that is longer than all service times is first come first served.
    shared = repairman(0.59)["mean_response_s"]
    simulated = {
        time_slice: closed(
            [CPU | {"discipline": "round_robin", "time_slice": time_slice, "service": HYPER}],
            length=20_000.0,
            seed=1964,
        )
        for time_slice in (0.02, 0.1, 1.0, 5.0, 1000.0)
    }
    means = {time_slice: one.responses["mean_response_s"].mean() for time_slice, one in simulated.items()}
    away = [abs(mean - shared) for mean in means.values()]
    assert away[1:] == sorted(away[1:])
    assert distance(simulated[0.02], "mean_response_s", shared) < 1.0
    # The canaries: long slices are noticed, and the longest is in order of arrival to the last bit.
    assert distance(simulated[1.0], "mean_response_s", shared) > 1.0
    in_order = closed([CPU | {"service": HYPER}], length=20_000.0, seed=1964)
    name = "mean_response_s"
    assert simulated[1000.0].responses[name].to_list() == in_order.responses[name].to_list()


W2 = [
    {"name": "disk", "discipline": "fcfs", "service": 0.1},
    CPU | {"discipline": "round_robin", "time_slice": 0.1, "service": HYPER},
]


def normal_error(half_width):
    """Standard error behind a 95 % interval."""
    return half_width / 1.96


def all_interactions(simulated):
    """Mean response of the interactions of all replications together, and its standard error (of a ratio)."""
    count = simulated.responses["completed"].to_numpy()
    total = simulated.responses["mean_response_s"].to_numpy() * count
    mean = total.sum() / count.sum()
    error = (total - mean * count).std(ddof=2) / count.mean() / math.sqrt(len(count))
    return mean, error


def test_a_swap_disk_before_a_round_robin_from_empty():
    # 1.5167 +- 0.0004 /s and 2.832 +- 0.006 s at 95 %, measured by a C program that shares nothing with us.
    simulated = closed(W2, length=600.0, seed=1974, replications=8000, warm_up=0.0)
    name, error = "throughput_per_s", normal_error(0.0004)
    assert distance(simulated, name, 1.5167, error) < 1.0
    assert distance(simulated, name, 1.01 * 1.5167, error) > 1.0
    # Thousands of replications: the normal distribution's bound for a false-alarm rate of 1e-4.
    mean, ours = all_interactions(simulated)
    allowed = 3.89 * math.hypot(ours, normal_error(0.006))
    assert abs(mean - 2.832) < allowed
    # The canary: 3 % more.
    assert abs(mean - 1.03 * 2.832) > allowed


STEADY, STEADY_ERROR = 3.268, normal_error(0.008)
"""Mean response, measured over 1e8 s by benches/simulation_heap.c, which shares nothing with the engine."""


def test_a_swap_disk_before_a_round_robin_in_the_steady_state():
    simulated = closed(W2, length=50_000.0, seed=1975, replications=32)
    assert distance(simulated, "mean_response_s", STEADY, STEADY_ERROR) < 1.0
    # The canary: what the first 600 s from empty give is another figure.
    assert distance(simulated, "mean_response_s", 2.832, normal_error(0.006)) > 1.0
