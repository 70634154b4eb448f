"""Open stations: Poisson arrivals, service in order of arrival."""

from __future__ import annotations

import math

import numpy as np

from thinktime.models.distributions import Distribution, Specification, distribution
from thinktime.models.prediction import Assumption, Prediction, Quantity, at_least_zero, count, positive

SERVERS_MAX = 1_000_000
"""Largest number of servers or places: the recursion takes a step for each."""

POISSON = Assumption("interactions arrive in a Poisson stream")
EXPONENTIAL = Assumption("service times are exponential")
GENERAL = Assumption("service times are independent of each other and of the arrivals")


def unsaturated(utilisation: float) -> Assumption:
    """Assumption of a steady state."""
    return Assumption("the utilisation is below 1", utilisation < 1.0)


def station_figures(
    arrivals_per_s: float, service_s: float, response_s: float, servers: int = 1
) -> tuple[Quantity, ...]:
    """Quantities of an open station from its mean response time; infinite when saturated."""
    throughput = min(arrivals_per_s, servers / service_s if service_s else math.inf)
    number = arrivals_per_s * response_s if arrivals_per_s else 0.0
    waiting = response_s - service_s
    return (
        Quantity("utilisation", throughput * service_s / servers, ""),
        Quantity("throughput_per_s", throughput, "1/s"),
        Quantity("response_s", response_s, "s"),
        Quantity("waiting_s", waiting, "s"),
        Quantity("number", number, "interaction"),
    )


def mm1(arrivals_per_s: float, service_s: float) -> Prediction:
    r"""Prediction for M/M/1: one server, exponential service times.

    .. math:: R = \frac{S}{1 - \lambda S}

    in seconds; R is infinite when saturated. Valid for any discipline that ignores service times.

    Parameters
    ----------
    arrivals_per_s : float
        Arrival rate [1/s].
    service_s : float
        Mean service time [s].

    Raises
    ------
    InputError
        A negative rate or time.
    TypeError
        An argument is no number.
    """
    rate, service = at_least_zero("arrivals_per_s", arrivals_per_s), at_least_zero("service_s", service_s)
    load = rate * service
    response = service / (1.0 - load) if load < 1.0 else math.inf
    needed = (POISSON, EXPONENTIAL, unsaturated(load))
    source = "Kleinrock, Queueing Systems I (1975), 3.2"
    return Prediction(
        method="M/M/1", source=source, quantities=station_figures(rate, service, response), assumptions=needed
    )


def mmc(arrivals_per_s: float, service_s: float, servers: int) -> Prediction:
    r"""Prediction for M/M/c: several servers, exponential service times, one queue.

    .. math:: R = S + \frac{C S}{c - a}, \quad C = \frac{c B}{c - a (1 - B)}, \quad a = \lambda S

    with Erlang's loss probability B by recursion over the servers, which adds only positive numbers.
    `waiting_probability` is C, Erlang's delay formula. Other parameters are those of `mm1`.

    Raises
    ------
    InputError
        A negative rate or time, or fewer than one server.
    TypeError
        An argument is no number.
    """
    rate, service = at_least_zero("arrivals_per_s", arrivals_per_s), at_least_zero("service_s", service_s)
    servers = count("servers", servers, most=SERVERS_MAX)
    offered = rate * service
    lost = 1.0
    for server in range(1, servers + 1):
        lost = offered * lost / (server + offered * lost)
    response, waits = math.inf, 1.0
    if offered < servers:
        waits = servers * lost / (servers - offered * (1.0 - lost))
        response = service + waits * service / (servers - offered)
    figures = station_figures(rate, service, response, servers)
    waiting = Quantity("waiting_probability", waits, "")
    needed = (POISSON, EXPONENTIAL, unsaturated(offered / servers))
    source = "Kleinrock, Queueing Systems I (1975), 3.5"
    return Prediction(
        method=f"M/M/{servers}", source=source, quantities=(*figures, waiting), assumptions=needed
    )


def mmck(arrivals_per_s: float, service_s: float, capacity: int, servers: int = 1) -> Prediction:
    r"""Prediction for M/M/c/K: at most `capacity` in service and waiting; further arrivals are lost.

    .. math:: p_j \propto \prod_{i=1}^{j} \frac{\lambda S}{\min(i, c)}, \quad X = \lambda (1 - p_K)

    Raises
    ------
    InputError
        A negative rate or time, fewer than one server, or a capacity below the number of servers.
    TypeError
        An argument is no number.
    """
    rate, service = positive("arrivals_per_s", arrivals_per_s), positive("service_s", service_s)
    servers = count("servers", servers)
    capacity = count("capacity", capacity, servers, most=SERVERS_MAX)
    number = np.arange(capacity + 1.0)
    steps = np.log(rate * service / np.minimum(number[1:], servers))
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    chances = np.exp(logs - logs.max())
    chances /= chances.sum()
    throughput = rate * float(chances[:-1].sum())
    mean = float(number @ chances)
    quantities = (
        Quantity("utilisation", throughput * service / servers, ""),
        Quantity("throughput_per_s", throughput, "1/s"),
        Quantity("response_s", mean / throughput, "s"),
        Quantity("waiting_s", mean / throughput - service, "s"),
        Quantity("number", mean, "interaction"),
        Quantity("loss_probability", float(chances[-1]), ""),
    )
    source = "Kleinrock, Queueing Systems I (1975), 3.6"
    return Prediction(
        method=f"M/M/{servers}/{capacity}",
        source=source,
        quantities=quantities,
        assumptions=(POISSON, EXPONENTIAL),
    )


def mg1(arrivals_per_s: float, service: Specification | Distribution) -> Prediction:
    r"""Prediction for M/G/1, first come first served, by the Pollaczek-Khinchine formula.

    .. math:: R = E[S] + \frac{\lambda E[S^2]}{2 (1 - \lambda E[S])}

    Raises
    ------
    InputError
        A negative rate, or a specification that is no distribution.
    TypeError
        An argument is of the wrong kind.
    """
    rate, times = at_least_zero("arrivals_per_s", arrivals_per_s), distribution(service, "service")
    load = rate * times.mean
    response = times.mean + rate * times.moment(2) / (2.0 * (1.0 - load)) if load < 1.0 else math.inf
    needed = (POISSON, GENERAL, unsaturated(load))
    source = "Kleinrock, Queueing Systems I (1975), 5.6"
    return Prediction(
        method="M/G/1 FCFS",
        source=source,
        quantities=station_figures(rate, times.mean, response),
        assumptions=needed,
    )
