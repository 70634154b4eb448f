"""Distributions of response times in networks: quantiles, by transforms of the times at each station."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from thinktime.errors import InputError
from thinktime.models.distributions import Complex, Distribution, Specification, distribution
from thinktime.models.prediction import Assumption, Prediction, Quantity, at_least_zero
from thinktime.models.queueing.customers import Customers, Network
from thinktime.models.queueing.mixed_networks import Solution
from thinktime.models.queueing.networks import PRODUCT_FORM, Station
from thinktime.models.queueing.open_stations import GENERAL, POISSON
from thinktime.models.queueing.routing import ROUNDING, Route, transitions
from thinktime.models.uncertain import with_intervals
from thinktime.stats import arguments

Array = NDArray[np.float64]
Transform = Callable[[Complex], Complex]
"""Laplace-Stieltjes transform of a time: E[exp(-s T)]."""

QUANTILES = (0.5, 0.9, 0.99)
SHIFT = 18.4
"""Error of an inversion: e^-18.4 is 1e-8."""
TERMS, AVERAGED = 24, 14
"""Terms of the series of an inversion, and further partial sums that are averaged."""
BISECTIONS = 48
NEGLIGIBLE = 1e-13
"""Probability of larger numbers at a station that are left out."""
DEVIATION = 6.0
"""Standard deviations beyond the mean at which the search for a quantile begins."""
INDEPENDENT = "the times of an interaction at different stations, and on different visits, are independent"
ERROR = (
    "against simulations of 160 networks of 1 class and 1 to 4 stations, quantiles of 90, 95 and 99 % differ"
    " by 2 % on average and by at most 15 %, and of 100 networks with routes by 3 % and by at most 16 %"
)

LOWEST = 0.75
"""Part of the responses below which quantiles are not to be relied on where a station is shared."""
TOO_SHORT = (
    "at one shared station with exponential times that is 10 to 95% busy, quantiles of less are too short, "
    "the median by up to 25%, that of a tenth of the responses by up to 92%; those of more are within 14%"
)


@with_intervals
def response_quantiles(
    stations: Sequence[Station],
    customers: Sequence[Customers],
    q: ArrayLike = QUANTILES,
    *,
    routes: Mapping[str, Route] | None = None,
) -> Prediction:
    r"""Quantiles of the response times of each class, in a network of product form.

    The response time is the sum of the times at the stations, on each visit. An arrival finds n customers
    at a station with the probability that the network has without it (arrival theorem: Sevcik and Mitrani,
    Journal of the ACM 28 (1981)); in order of arrival, with m servers and exponential times of mean s, it
    then stays

    .. math:: E[e^{-\theta T}] = \frac{1}{1 + \theta s} \sum_n p(n)
              \left(\frac{1}{1 + \theta s / m}\right)^{\max(0, n - m + 1)}

    At a shared station the time is taken to have a gamma distribution with the exact mean, and the relative
    variance of an exponential service that is shared with n others, who leave and come at the rates that
    belong to p(n): for M/M/1 that of Coffman, Muntz and Trotter (Journal of the ACM 17 (1970)),
    :math:`(2 + \rho) / (2 - \rho)`. It is larger by :math:`c^2 - 1` for service times of the coefficient of
    variation c. Delays have gamma distributions. Sums are products of transforms, inverted by Euler's
    summation (Abate and Whitt, ORSA Journal on Computing 7 (1995), 36-43).

    For one station with exponential times in order of arrival, and users or arrivals, this is exact; so it is
    for arrivals that pass through several of one server each (Reich, Annals of Mathematical Statistics 28
    (1957)).

    Parameters
    ----------
    stations : sequence of Station
        Demands, and ``visits`` of an interaction.
    customers : sequence of Customers
        Classes.
    q : array of shape (n,)
        Probabilities between 0 and 1: 0.9 for the time that 90 % of the responses do not exceed.
    routes : mapping, optional
        By the name of a class its routes, as `visits` takes them, and under ``"start"`` the first station.
        The number of visits then varies as they say. Without routes it is the same for every interaction.

    Returns
    -------
    Prediction
        ``response_quantile_s`` with one row for each of `q` and one column per class; ``response_s`` and
        ``response_deviation_s``, mean and standard deviation of each class.

    Raises
    ------
    InputError
        As for `mixed`; a station with priorities, weights or other rates; one in order of arrival whose
        service times are not exponential or differ between classes; or too many populations.
    TypeError
        An argument is of the wrong kind.
    """
    wanted = _probabilities(q)
    network = Network.of(stations, customers)
    _check(network)
    solution = Solution.of(network, with_marginals=True)
    classes = range(len(network.customers))
    quantiles = np.full((len(wanted), len(classes)), math.nan)
    mean, deviation = np.full(len(classes), math.nan), np.full(len(classes), math.nan)
    for customer in classes:
        if not network.open[customer] and network.users[customer] == 0.0:
            continue
        times = [_Time(solution, station, customer) for station in range(len(network.stations))]
        route = (routes or {}).get(network.customers[customer].name)
        path = _Fixed(times) if route is None else _Routed.of(times, network, customer, route)
        mean[customer], deviation[customer] = path.mean, path.deviation
        for row, one in enumerate(wanted):
            quantiles[row, customer] = _quantile(path.transform, float(one), path.mean, path.deviation)
    return Prediction(
        method="product form, sum of times at stations",
        source="Sevcik and Mitrani, JACM 28 (1981); Abate and Whitt, ORSA J. Computing 7 (1995)",
        quantities=(
            Quantity("response_quantile_s", quantiles, "s"),
            Quantity("response_s", mean, "s"),
            Quantity("response_deviation_s", deviation, "s"),
        ),
        assumptions=(*_assumptions(network, solution, routes or {}), *_of_many(network, wanted)),
    )


def _of_many(network: Network, wanted: Array) -> tuple[Assumption, ...]:
    """Assumption on small quantiles, which gamma distributions have too short; none if nothing is shared."""
    if all(station.delay or station.discipline == "fcfs" for station in network.stations):
        return ()
    least = float(wanted.min())
    text = f"the times that {LOWEST:.0%} of the responses or more do not exceed are asked for: {TOO_SHORT}"
    return (Assumption(text.replace("%", " %"), least >= LOWEST, f"the least is {100.0 * least:g} %"),)


class _Time:
    """Time of a class on one visit to a station."""

    def __init__(self, solution: Solution, station: int, customer: int) -> None:
        network = solution.network
        described = network.stations[station]
        self.visits = float(network.visits[station, customer])
        self.service = float(network.demands[station, customer]) / self.visits
        self.mean = float(solution.residence[station, customer]) / self.visits
        self.variation = 1.0 if described.variation is None else described.variation
        self.servers = math.inf if described.delay else float(described.servers)
        self.in_order = described.discipline == "fcfs" and not described.delay
        self.seen = np.ones(1)
        if self.service and not described.delay:
            self.seen = solution.seen(station, customer)
            significant = np.flatnonzero(np.cumsum(self.seen[::-1])[::-1] > NEGLIGIBLE)
            self.seen = self.seen[: int(significant[-1]) + 1]
        rates = solution.throughput * network.visits[station] * (network.demands[station] > 0.0)
        others = float(solution.throughput @ network.demands[station]) / max(
            float(rates.sum()), math.ulp(0.0)
        )
        self.relative = 0.0 if self.in_order else self._squared_variation(others)

    @property
    def stages(self) -> Array:
        """Departures to wait for, by the number found."""
        stages: Array = np.maximum(np.arange(len(self.seen)) - self.servers + 1.0, 0.0)
        return stages

    @property
    def variance(self) -> float:
        """Variance [s^2]."""
        if self.in_order:
            step = self.service / self.servers
            mean = float(self.seen @ self.stages)
            spread = float(self.seen @ self.stages**2) - mean**2
            return self.service**2 + step**2 * (mean + spread)
        return self.relative * self.mean**2

    def _squared_variation(self, others: float) -> float:
        """Squared coefficient of variation at a shared station, where the others' mean service is `others`.

        An arrival shares the station with n others, of whom some leave and to whom others come at the rates
        that belong to the probabilities of n; its time ends when its own exponential service does.
        """
        extra = self.variation**2 - 1.0
        if self.servers == math.inf or self.service == 0.0 or len(self.seen) == 1:
            return 1.0 + extra
        number = np.arange(len(self.seen), dtype=np.float64)
        speed = np.minimum(number + 1.0, self.servers) / (number + 1.0)
        alone = np.minimum(number, self.servers) / others
        comes = np.append(self.seen[1:] * alone[1:] / np.maximum(self.seen[:-1], np.finfo(float).tiny), 0.0)
        leaves, ends = number * speed / others, speed / self.service
        banded = np.zeros((3, len(number)))
        banded[0, 1:], banded[1], banded[2, :-1] = -comes[:-1], comes + leaves + ends, -leaves[1:]
        first = linalg.solve_banded((1, 1), banded, np.ones(len(number)))
        second = linalg.solve_banded((1, 1), banded, 2.0 * first)
        mean = float(self.seen @ first)
        return max(float(self.seen @ second) / mean**2 - 1.0 + extra, 0.0)

    def log_transform(self, s: Complex) -> Complex:
        """Logarithm of the transform of the time of a visit."""
        if self.service == 0.0:
            return np.zeros_like(s)
        if not self.in_order:
            if self.relative == 0.0:
                return -s * self.mean
            shared: Complex = -np.log1p(s * self.mean * self.relative) / self.relative
            return shared
        step = 1.0 / (1.0 + s * self.service / self.servers)
        waited = (step[:, None] ** self.stages) @ self.seen
        in_order: Complex = np.log(waited) - np.log1p(s * self.service)
        return in_order


@dataclass(frozen=True, slots=True)
class _Fixed:
    """Sum of the times on a fixed number of visits to each station."""

    times: Sequence[_Time]

    @property
    def mean(self) -> float:
        return sum(time.visits * time.mean for time in self.times)

    @property
    def deviation(self) -> float:
        return math.sqrt(sum(time.visits * time.variance for time in self.times))

    def transform(self, s: Complex) -> Complex:
        """Product of the transforms of all visits."""
        logs: Complex = sum((time.visits * time.log_transform(s) for time in self.times), np.zeros_like(s))
        return np.asarray(np.exp(logs))


@dataclass(frozen=True, slots=True)
class _Routed:
    """Sum of the times on visits in the order of a Markov chain."""

    times: Sequence[_Time]
    """Time of a visit to each place of the chain."""
    begins: Array
    moves: Array

    @classmethod
    def of(cls, times: Sequence[_Time], network: Network, customer: int, route: Route) -> _Routed:
        """Sum by the routes of a class, checked against the visits of its stations."""
        name = network.customers[customer].name
        given = arguments.record(route, dict, f"routes[{name!r}]")
        places, begins, moves = transitions(
            {place: after for place, after in given.items() if place != "start"}, given.get("start", {})
        )
        index = {station.name: k for k, station in enumerate(network.stations)}
        numbers = np.linalg.solve(np.eye(len(places)) - moves.T, begins)
        by_route = {str(place): float(number) for place, number in zip(places, numbers, strict=True)}
        for place in by_route:
            if place not in index:
                raise InputError(f"routes[{name!r}]: {place!r} is no station; they are {', '.join(index)}")
        for station, k in index.items():
            number = by_route.get(station, 0.0)
            if network.demands[k, customer] and abs(number - network.visits[k, customer]) > ROUNDING * (
                1.0 + number
            ):
                raise InputError(
                    f"station {station}: visits is {network.visits[k, customer]:g}, and the route of class"
                    f" {name} gives {number:g}; give that"
                )
        return cls([times[index[str(place)]] for place in places], begins, moves)

    @property
    def _moments(self) -> tuple[float, float]:
        means = np.array([time.mean if time.service else 0.0 for time in self.times])
        squares = means**2 + np.array([time.variance if time.service else 0.0 for time in self.times])
        left = np.eye(len(means)) - self.moves
        first = np.linalg.solve(left, means)
        second = np.linalg.solve(left, squares + 2.0 * means * (self.moves @ first))
        return float(self.begins @ first), float(self.begins @ second)

    @property
    def mean(self) -> float:
        return self._moments[0]

    @property
    def deviation(self) -> float:
        first, second = self._moments
        return math.sqrt(max(second - first**2, 0.0))

    def transform(self, s: Complex) -> Complex:
        """Transform of the time until the chain ends."""
        visit = np.exp(np.array([time.log_transform(s) for time in self.times])).T
        ends = visit * (1.0 - self.moves.sum(axis=1))
        system = np.eye(len(self.times)) - visit[:, :, None] * self.moves
        from_each = np.linalg.solve(system, ends[:, :, None])[:, :, 0]
        return np.asarray(from_each @ self.begins)


def _quantile(transform: Transform, q: float, mean: float, deviation: float) -> float:
    """Time that exceeds a part q of the times of this transform."""
    if mean == 0.0:
        return 0.0
    low, high = 0.0, mean + DEVIATION * deviation
    while _survival(transform, high) > 1.0 - q:
        low, high = high, 2.0 * high
    for _ in range(BISECTIONS):
        middle = (low + high) / 2.0
        if _survival(transform, middle) > 1.0 - q:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def _survival(transform: Transform, t: float) -> float:
    """Probability that the time exceeds t > 0: Euler's summation of the inverse of (1 - E[exp(-s T)]) / s."""
    number = np.arange(TERMS + AVERAGED + 1)
    s = (SHIFT + 2j * math.pi * number) / (2.0 * t)
    inverted = (1.0 - transform(s)) / s
    series = np.where(number % 2 == 0, 1.0, -1.0) * inverted.real
    series[0] /= 2.0
    sums = np.cumsum(series)[TERMS:]
    weights = np.array([math.comb(AVERAGED, k) for k in range(AVERAGED + 1)]) / 2.0**AVERAGED
    return float(math.exp(SHIFT / 2.0) / t * (weights @ sums))


def mg1_quantiles(
    arrivals_per_s: float, service: Specification | Distribution, q: ArrayLike = QUANTILES
) -> Prediction:
    r"""Quantiles of the response times of M/G/1, first come first served.

    They belong to the transform of Pollaczek and Khinchine,

    .. math:: E[e^{-\theta T}] = \frac{(1 - \rho)\, \theta\, B(\theta)}{\theta - \lambda + \lambda B(\theta)}

    with the transform B of the service times, inverted as in `response_quantiles`: to 8 digits, and to 3
    where the distribution has an edge, as it has one service time after constant service times. Kleinrock,
    *Queueing Systems I* (1975), 5.7.

    Parameters
    ----------
    arrivals_per_s : float
        Arrival rate [1/s].
    service : specification or Distribution
        Service times, as `distributions.distribution` takes them.
    q : array of shape (n,)
        Probabilities between 0 and 1.

    Returns
    -------
    Prediction
        ``q``, ``response_quantile_s`` with one value for each, ``response_s`` and ``response_deviation_s``.

    Raises
    ------
    InputError
        A negative rate, a saturated station, or a specification that is no distribution.
    TypeError
        An argument is of the wrong kind.
    """
    rate, times = at_least_zero("arrivals_per_s", arrivals_per_s), distribution(service, "service")
    wanted = _probabilities(q)
    load = rate * times.mean
    if load >= 1.0:
        raise InputError(f"arrivals_per_s is {rate:g}: the utilisation is {load:g}; give fewer arrivals")
    first, second, third = (times.moment(k) for k in (1, 2, 3))
    wait = rate * second / (2.0 * (1.0 - load))
    deviation = math.sqrt(wait**2 + rate * third / (3.0 * (1.0 - load)) + max(second - first**2, 0.0))

    def transform(s: Complex) -> Complex:
        served = times.transform(s)
        return np.asarray((1.0 - load) * s * served / (s - rate + rate * served))

    quantiles = np.array([_quantile(transform, float(one), first + wait, deviation) for one in wanted])
    return Prediction(
        method="M/G/1 FCFS, Pollaczek and Khinchine's transform",
        source="Kleinrock, Queueing Systems I (1975), 5.7; Abate and Whitt, ORSA J. Computing 7 (1995)",
        quantities=(
            Quantity("q", wanted, ""),
            Quantity("response_quantile_s", quantiles, "s"),
            Quantity("response_s", first + wait, "s"),
            Quantity("response_deviation_s", deviation, "s"),
        ),
        assumptions=(POISSON, GENERAL),
    )


def _probabilities(q: ArrayLike) -> Array:
    """Probabilities along one axis, each strictly between 0 and 1."""
    wanted = arguments.sample(np.atleast_1d(arguments.numeric(q, "q", "probabilities")), "q", least=1)
    for index, one in enumerate(wanted):
        arguments.level(float(one), f"q[{index}]")
    return wanted


def _check(network: Network) -> None:
    """Refuse stations whose times at a visit are not known."""
    for station, demands, visits in zip(network.stations, network.demands, network.visits, strict=True):
        if station.delay:
            continue
        place = f"station {station.name}:"
        if station.rates is not None:
            raise InputError(f"{place} rates leave the times of a visit open; give servers")
        if station.discipline not in PRODUCT_FORM:
            raise InputError(
                f"{place} discipline {station.discipline} has no known quantiles; give fcfs or ps"
            )
        if station.discipline == "fcfs":
            if station.variation not in (None, 1.0):
                raise InputError(
                    f"{place} variation is {station.variation:g}; quantiles in order of arrival need 1"
                )
            services = (demands / visits)[demands > 0.0]
            if len(services) and services.max() > services.min() * (1.0 + 1e-9):
                raise InputError(
                    f"{place} a visit in order of arrival takes the classes differently long; give ps"
                )


def _assumptions(network: Network, solution: Solution, routes: Mapping[str, Route]) -> tuple[Assumption, ...]:
    queueing = [station for station in network.stations if not station.delay]
    alone = len(network.stations) == 1 and bool((network.visits == 1.0).all())
    in_order = all(station.discipline == "fcfs" for station in queueing)
    tandem = network.open.all() and len(network.customers) == 1 and bool((network.visits == 1.0).all())
    tandem = tandem and in_order and all(station.servers == 1 for station in queueing)
    exact = in_order and (alone or tandem)
    shared = any(station.discipline == "ps" for station in network.stations)
    error = () if exact else (Assumption(f"an error is accepted: {ERROR}"),)
    gamma = (Assumption("times at shared stations have gamma distributions"),) if shared else ()
    routed = all(one.name in routes for one in network.customers)
    known = all(station.variation is not None for station in network.stations if station.discipline == "ps")
    service = "service times at shared stations and delays vary as given, or as exponential ones do"
    return (
        *solution.prediction().assumptions,
        *(() if routed else (Assumption("every interaction of a class makes the same number of visits"),)),
        Assumption(INDEPENDENT, True if exact else None),
        *((Assumption(service, True if known else None),) if shared else ()),
        *gamma,
        *error,
    )
