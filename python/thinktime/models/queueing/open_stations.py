"""Stations with Poisson arrivals: response times by service distribution, servers and discipline.

Disciplines that preempt or select give the mean response time, and that of each service time in `sizes_s`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinktime.errors import InputError
from thinktime.models.distributions import Distribution, Specification, distribution
from thinktime.models.prediction import Assumption, Prediction, Quantity, at_least_zero, count, positive
from thinktime.stats import arguments

Array = NDArray[np.float64]

SERVERS_MAX = 1_000_000
"""Largest number of servers or places: the recursion takes a step for each."""

POISSON = Assumption("interactions arrive in a Poisson stream")
EXPONENTIAL = Assumption("service times are exponential")
GENERAL = Assumption("service times are independent of each other and of the arrivals")
FREE = Assumption("switching between interactions costs nothing")
KNOWN = Assumption("the scheduler knows the service time of each interaction when it arrives")


def _unsaturated(utilisation: float) -> Assumption:
    """Assumption of a steady state."""
    return Assumption("the utilisation is below 1", utilisation < 1.0)


def _quantities(
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
    needed = (POISSON, EXPONENTIAL, _unsaturated(load))
    source = "Kleinrock, Queueing Systems I (1975), 3.2"
    return Prediction(
        method="M/M/1", source=source, quantities=_quantities(rate, service, response), assumptions=needed
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
    figures = _quantities(rate, service, response, servers)
    waiting = Quantity("waiting_probability", waits, "")
    needed = (POISSON, EXPONENTIAL, _unsaturated(offered / servers))
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
    needed = (POISSON, GENERAL, _unsaturated(load))
    source = "Kleinrock, Queueing Systems I (1975), 5.6"
    return Prediction(
        method="M/G/1 FCFS",
        source=source,
        quantities=_quantities(rate, times.mean, response),
        assumptions=needed,
    )


def mg1_ps(
    arrivals_per_s: float, service: Specification | Distribution, sizes_s: ArrayLike = ()
) -> Prediction:
    r"""Prediction for M/G/1, processor sharing: the limit of round robin as the time slice shrinks.

    .. math:: R(x) = \frac{x}{1 - \rho}

    whatever the distribution, of which only the mean matters.

    Parameters
    ----------
    arrivals_per_s : float
        Arrival rate [1/s].
    service : specification or Distribution
        Service times, as `distributions.distribution` takes them.
    sizes_s : array of shape (n,), optional
        Service times whose mean response times are predicted too [s].

    Raises
    ------
    InputError
        A negative rate or size, or a specification that is no distribution.
    TypeError
        An argument is of the wrong kind.
    """
    rate, times, sizes = _inputs(arrivals_per_s, service, sizes_s)
    load = rate * times.mean
    stretch = 1.0 / (1.0 - load) if load < 1.0 else math.inf
    with np.errstate(invalid="ignore"):
        by_size = np.where(sizes > 0.0, sizes * stretch, 0.0)
    source = "Kleinrock, Queueing Systems II (1976), 4.4"
    return _predict("M/G/1 PS", source, rate, times, sizes, (times.mean * stretch, by_size), (FREE,))


def mg1_las(
    arrivals_per_s: float, service: Specification | Distribution, sizes_s: ArrayLike = ()
) -> Prediction:
    r"""Prediction for M/G/1, least attained service first (FB with infinitely many levels).

    .. math:: R(x) = \frac{W(x) + x}{1 - \rho(x)}, \quad
              W(x) = \frac{\lambda E[\min(S, x)^2]}{2 (1 - \rho(x))}, \quad \rho(x) = \lambda E[\min(S, x)]

    and R is the mean of R(x) over the distribution of x, by quadrature. Interactions so small that
    :math:`\rho(x) < 1` are served even when the station is saturated. Parameters and errors are those of
    `mg1_ps`.
    """
    rate, times, sizes = _inputs(arrivals_per_s, service, sizes_s)

    def response(x: Array) -> Array:
        with np.errstate(divide="ignore"):
            left = 1.0 - rate * times.limited_moment(1, x)
            waiting = rate * times.limited_moment(2, x) / (2.0 * left)
            return np.where(left > 0.0, (waiting + x) / left, math.inf)

    mean = times.expectation(response) if rate * times.mean < 1.0 else math.inf
    source = "Kleinrock, Queueing Systems II (1976), 4.6; Schrage, Management Science 13 (1967)"
    return _predict("M/G/1 LAS", source, rate, times, sizes, (mean, response(sizes)), (FREE,))


def mg1_srpt(
    arrivals_per_s: float, service: Specification | Distribution, sizes_s: ArrayLike = ()
) -> Prediction:
    r"""Prediction for M/G/1, shortest remaining processing time first, which minimises the mean response.

    .. math:: R(x) = \frac{\lambda (E[S^2; S \le x] + x^2 P(S > x))}{2 (1 - \rho(x)) (1 - \rho(x^-))}
              + \int_0^x \frac{dt}{1 - \rho(t)}, \quad \rho(x) = \lambda E[S; S \le x]

    Equal times are served in order of arrival. Schrage and Miller, Operations Research 14 (1966), 670-684;
    for its optimality Schrage, Operations Research 16 (1968), 687-690. Parameters and errors are those of
    `mg1_ps`.
    """
    rate, times, sizes = _inputs(arrivals_per_s, service, sizes_s)

    def share(x: Array) -> Array:
        left: Array = 1.0 - rate * times.partial_moment(1, x)
        return left

    def waiting(x: Array) -> Array:
        work = rate * (times.partial_moment(2, x) + x**2 * times.survival(x)) / 2.0
        with np.errstate(divide="ignore"):
            return np.where(share(x) > 0.0, work / (share(x) * share(np.nextafter(x, -math.inf))), math.inf)

    def slowed(x: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.where(share(x) > 0.0, 1.0 / share(x), math.inf)

    by_size, mean = np.zeros(0), math.inf
    if len(sizes):
        served = np.minimum(sizes, _largest_served(share, sizes))
        by_size = np.where(sizes > served, math.inf, waiting(served) + times.integral(slowed, served))
    if rate * times.mean < 1.0:
        # E of the integral from 0 to S is the integral of P(S > t) / (1 - rho(t)).
        end = times.edges[-1:]
        interrupted = times.integral(lambda x: times.survival(x) * slowed(x), end)
        mean = times.expectation(waiting) + float(interrupted[0])
    source = "Schrage and Miller, Operations Research 14 (1966)"
    return _predict("M/G/1 SRPT", source, rate, times, sizes, (mean, by_size), (KNOWN, FREE))


def _largest_served(share: Callable[[Array], Array], sizes: Array) -> float:
    """Largest of the sizes that is served at all."""
    served = sizes[share(sizes) > 0.0]
    return float(served.max()) if len(served) else -math.inf


def mg1_priorities(
    arrivals_per_s: Sequence[float],
    services: Sequence[Specification | Distribution],
    *,
    preemptive: bool,
) -> Prediction:
    r"""Prediction for M/G/1 with priorities, highest first; first come first served within a class.

    With :math:`\sigma_k = \sum_{i \le k} \rho_i`, without preemption (Cobham 1954)

    .. math:: R_k = E[S_k] + \frac{W_0}{(1 - \sigma_{k-1})(1 - \sigma_k)}, \quad
              W_0 = \tfrac12 \sum_i \lambda_i E[S_i^2]

    and with preemption, the service resumed where it was interrupted (Miller 1960),

    .. math:: R_k = \frac{E[S_k]}{1 - \sigma_{k-1}} + \frac{\sum_{i \le k} \lambda_i E[S_i^2]}
              {2 (1 - \sigma_{k-1})(1 - \sigma_k)}

    A class with :math:`\sigma_k \ge 1` is saturated, those before it are not: in :math:`W_0` it then has the
    share of the server that they leave. Quantities are arrays with one value per class.

    Parameters
    ----------
    arrivals_per_s : sequence of float
        Arrival rate of each class [1/s].
    services : sequence of specification or Distribution
        Service times of each class.
    preemptive : bool
        True if a class interrupts those after it.

    Raises
    ------
    InputError
        No class, not as many services as rates, a negative rate, or a bad specification.
    TypeError
        An argument is of the wrong kind.
    """
    given = arguments.sequence(arrivals_per_s, "arrivals_per_s", "a list of rates")
    services = arguments.sequence(services, "services", "a list of distributions")
    if not given or len(given) != len(services):
        raise InputError(
            f"{len(given)} arrival rates and {len(services)} services; give one of each per class"
        )
    rates = np.array([at_least_zero(f"arrivals_per_s[{k}]", rate) for k, rate in enumerate(given)])
    times = [distribution(service, f"services[{k}]") for k, service in enumerate(services)]
    mean, second = (np.array([time.moment(k) for time in times]) for k in (1, 2))
    upto = np.cumsum(rates * mean)
    left = np.maximum(0.0, 1.0 - upto)
    before = np.concatenate([[1.0], left[:-1]])
    # A saturated class gets what those before it leave.
    with np.errstate(divide="ignore", invalid="ignore"):
        throughput = np.minimum(rates, np.where(mean > 0.0, before / mean, rates))
        residual = throughput * second / 2.0
        if preemptive:
            response = mean / before + np.cumsum(rates * second) / (2.0 * before * left)
        else:
            response = mean + residual.sum() / (before * left)
        response = np.where(upto < 1.0, response, math.inf)
        number = np.where(rates > 0.0, rates * response, 0.0)
    quantities = (
        Quantity("utilisation", throughput * mean, ""),
        Quantity("throughput_per_s", throughput, "1/s"),
        Quantity("response_s", response, "s"),
        Quantity("waiting_s", response - mean, "s"),
        Quantity("number", number, "interaction"),
    )
    method = f"M/G/1 priorities, {'preemptive resume' if preemptive else 'not preemptive'}"
    source = "Miller, Operations Research 8 (1960)" if preemptive else "Cobham, Operations Research 2 (1954)"
    needed = (POISSON, GENERAL, *((FREE,) if preemptive else ()), _unsaturated(float(upto[-1])))
    return Prediction(method=method, source=source, quantities=quantities, assumptions=needed)


def _inputs(
    arrivals_per_s: float, service: Specification | Distribution, sizes_s: ArrayLike
) -> tuple[float, Distribution, Array]:
    sizes = np.atleast_1d(arguments.numeric(sizes_s, "sizes_s", "a list of times"))
    if sizes.ndim != 1:
        raise InputError(f"sizes_s has the shape {sizes.shape}; give times along one axis")
    if sizes.size and not (np.isfinite(sizes).all() and (sizes >= 0.0).all()):
        raise InputError(f"sizes_s has {sizes.min()}; give finite times of at least 0")
    return at_least_zero("arrivals_per_s", arrivals_per_s), distribution(service, "service"), sizes


def _predict(
    method: str,
    source: str,
    rate: float,
    times: Distribution,
    sizes: Array,
    response_s: tuple[float, Array],
    also: tuple[Assumption, ...],
) -> Prediction:
    mean, by_size = response_s
    with np.errstate(divide="ignore", invalid="ignore"):
        slowdown = np.where(sizes > 0.0, by_size / sizes, math.nan)
    quantities = (
        *_quantities(rate, times.mean, mean),
        Quantity("sizes_s", sizes, "s"),
        Quantity("response_by_size_s", by_size, "s"),
        Quantity("stretch_by_size", slowdown, ""),
    )
    return Prediction(
        method=method,
        source=source,
        quantities=quantities,
        assumptions=(POISSON, GENERAL, *also, _unsaturated(rate * times.mean)),
    )
