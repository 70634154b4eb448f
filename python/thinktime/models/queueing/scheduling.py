"""Response times of M/G/1 under disciplines that preempt or select.

Each gives the mean response time, and that of interactions of each service time in `sizes_s`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinktime.errors import InputError
from thinktime.models.distributions import Distribution, Specification, distribution
from thinktime.models.prediction import Assumption, Prediction, Quantity, at_least_zero
from thinktime.models.queueing.open_stations import GENERAL, POISSON, station_figures, unsaturated
from thinktime.stats import arguments

Array = NDArray[np.float64]

FREE = Assumption("switching between interactions costs nothing")
KNOWN = Assumption("the scheduler knows the service time of each interaction when it arrives")


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
    :math:`\rho(x) < 1` are served even when the station is saturated. Parameters are those of `mg1_ps`.

    Raises
    ------
    InputError
        A negative rate or size, or a specification that is no distribution.
    TypeError
        An argument is of the wrong kind.
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
    for its optimality Schrage, Operations Research 16 (1968), 687-690. Parameters are those of `mg1_ps`.

    Raises
    ------
    InputError
        A negative rate or size, or a specification that is no distribution.
    TypeError
        An argument is of the wrong kind.
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
    needed = (POISSON, GENERAL, *((FREE,) if preemptive else ()), unsaturated(float(upto[-1])))
    return Prediction(method=method, source=source, quantities=quantities, assumptions=needed)


def _inputs(
    arrivals_per_s: float, service: Specification | Distribution, sizes_s: ArrayLike
) -> tuple[float, Distribution, Array]:
    sizes = np.atleast_1d(arguments.numeric(sizes_s, "sizes_s", "a list of times"))
    if sizes.ndim != 1:
        raise InputError(f"sizes_s has the shape {sizes.shape}; give times along one axis")
    if sizes.size and not (np.isfinite(sizes).all() and (sizes >= 0.0).all()):
        raise InputError(f"sizes_s has {sizes.min()}; give finite times from 0 up")
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
        *station_figures(rate, times.mean, mean),
        Quantity("sizes_s", sizes, "s"),
        Quantity("response_by_size_s", by_size, "s"),
        Quantity("stretch_by_size", slowdown, ""),
    )
    return Prediction(
        method=method,
        source=source,
        quantities=quantities,
        assumptions=(POISSON, GENERAL, *also, unsaturated(rate * times.mean)),
    )
