"""The engine against theory: one station at which customers arrive in a Poisson stream.

Each case is simulated once, agrees with its theory, and must differ from that of service times 4 % longer
(responses by size: from that of 5 % more arrivals).
"""

from dataclasses import dataclass

import pytest
from agreement import assert_agrees, assert_differs

from thinktime.models.distributions import distribution
from thinktime.models.queueing.open_stations import mg1, mg1_las, mg1_priorities, mg1_ps, mg1_srpt, mm1, mmc
from thinktime.sources.simulated import simulate

EXPONENTIAL = {"kind": "exponential", "mean": 0.7}
HYPER = {"kind": "hyperexponential", "weights": [0.9, 0.1], "means": [0.3, 3.0]}
TWO_POINTS = {"kind": "discrete", "values": [0.4, 2.0], "weights": [0.85, 0.15]}
WEIBULL = {"kind": "weibull", "shape": 0.5, "scale": 0.3}
ERLANG = {"kind": "erlang", "shape": 4, "mean": 0.75}
LENGTH_S, WARM_UP_S, REPLICATIONS = 100_000.0, 2_000.0, 16


def longer(service, factor):
    """The distribution of times that are longer by a factor."""
    times = {"exponential": "mean", "erlang": "mean", "weibull": "scale"}
    lists = {"hyperexponential": "means", "discrete": "values"}
    kind = service["kind"]
    if kind in times:
        return service | {times[kind]: service[times[kind]] * factor}
    return service | {lists[kind]: [value * factor for value in service[lists[kind]]]}


@dataclass(frozen=True)
class Case:
    """A station, its service times, and its theory."""

    station: dict
    service: dict
    theory: object
    arrivals_per_s: float = 1.0

    def expected(self, factor=1.0):
        found = self.theory(self.arrivals_per_s, longer(self.service, factor))
        return {"mean_response_s": found["response_s"], "mean_present": found["number"]}

    def simulated(self):
        parameters = {
            "arrivals": {"kind": "exponential", "mean": 1.0 / self.arrivals_per_s},
            "stations": [{"name": "cpu", "service": self.service, **self.station}],
            "length": LENGTH_S,
            "warm_up": WARM_UP_S,
        }
        return simulate("network", parameters, seed=1974, replications=REPLICATIONS)


def mm1_of(rate, service):
    return mm1(rate, distribution(service).mean)


def mm3_of(rate, service):
    return mmc(rate, distribution(service).mean, 3)


CASES = {
    "M/M/1": Case({"discipline": "fcfs"}, EXPONENTIAL, mm1_of),
    "M/M/3": Case({"discipline": "fcfs", "servers": 3}, EXPONENTIAL, mm3_of, 3.3),
    "M/H2/1": Case({"discipline": "fcfs"}, HYPER, mg1),
    "M/E4/1": Case({"discipline": "fcfs"}, ERLANG, mg1),
    "M/Weibull/1 PS": Case({"discipline": "processor_sharing"}, WEIBULL, mg1_ps),
    "M/two points/1 PS": Case({"discipline": "processor_sharing"}, TWO_POINTS, mg1_ps),
    "M/H2/1 LAS": Case({"discipline": "least_attained"}, HYPER, mg1_las),
    "M/E4/1 LAS": Case({"discipline": "least_attained"}, ERLANG, mg1_las),
    "M/two points/1 LAS": Case({"discipline": "least_attained"}, TWO_POINTS, mg1_las),
    "M/H2/1 SRPT": Case({"discipline": "shortest_remaining"}, HYPER, mg1_srpt),
    "M/two points/1 SRPT": Case({"discipline": "shortest_remaining"}, TWO_POINTS, mg1_srpt),
    # Exponential times have no past: no slicing of them changes the mean.
    "M/M/1 round robin": Case({"discipline": "round_robin", "time_slice": 0.3}, EXPONENTIAL, mm1_of),
    "M/M/1 feedback": Case({"discipline": "feedback", "time_slices": [0.2, 0.4, 0.8]}, EXPONENTIAL, mm1_of),
}


@pytest.mark.parametrize("name", CASES)
def test_a_station_is_as_its_theory(name):
    case = CASES[name]
    simulated = case.simulated()
    assert_agrees(simulated, case.expected())
    assert_differs(simulated, case.expected(1.04))


def classes_of(arrivals_per_s, services):
    """Three classes at one station, as parameters; the first is the most urgent."""
    return [
        {
            "name": name,
            "arrivals": {"kind": "exponential", "mean": 1.0 / rate},
            "service": {"cpu": service},
            "priority": priority,
        }
        for priority, (name, rate, service) in enumerate(
            zip(("first", "second", "third"), arrivals_per_s, services, strict=True)
        )
    ]


@pytest.mark.parametrize(("discipline", "preemptive"), [("preemptive_priority", True), ("priority", False)])
@pytest.mark.parametrize("services", [[EXPONENTIAL] * 3, [WEIBULL, ERLANG, HYPER]], ids=["M/M/1", "M/G/1"])
def test_priorities_are_as_their_theory(discipline, preemptive, services):
    rates = (0.4, 0.3, 0.3)
    simulated = simulate(
        "network",
        {
            "classes": classes_of(rates, services),
            "stations": [{"name": "cpu", "discipline": discipline}],
            "length": LENGTH_S,
            "warm_up": WARM_UP_S,
        },
        seed=1954,
        replications=REPLICATIONS,
    )

    def expected(factor, preemptive):
        found = mg1_priorities(rates, [longer(one, factor) for one in services], preemptive=preemptive)
        names = ("first", "second", "third")
        return {
            f"{name}_mean_response_s": value for name, value in zip(names, found["response_s"], strict=True)
        }

    assert_agrees(simulated, expected(1.0, preemptive))
    assert_differs(simulated, expected(1.04, preemptive))
    assert_differs(simulated, expected(1.0, not preemptive))


@pytest.mark.parametrize(
    ("discipline", "theory"), [("least_attained", mg1_las), ("shortest_remaining", mg1_srpt)]
)
def test_who_pays_is_as_in_theory(discipline, theory):
    # Two classes of one size each among the others: their mean responses are R(x).
    sizes, shares = (0.3, 2.5), (0.05, 0.05, 0.9)
    service = {"kind": "mixture", "weights": shares, "of": [*sizes, HYPER]}
    simulated = simulate(
        "network",
        {
            "classes": classes_of(shares, [*sizes, HYPER]),
            "stations": [{"name": "cpu", "discipline": discipline}],
            "length": LENGTH_S,
            "warm_up": WARM_UP_S,
        },
        seed=1966,
        replications=REPLICATIONS,
    )

    def expected(rate):
        small, large = theory(rate, service, sizes)["response_by_size_s"]
        return {"first_mean_response_s": small, "second_mean_response_s": large}

    assert_agrees(simulated, expected(1.0))
    assert_differs(simulated, expected(1.05))
