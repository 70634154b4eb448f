"""Closed systems, whose users think between interactions: one station, and networks of stations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinktime import _native
from thinktime.errors import InputError
from thinktime.models.prediction import (
    Assumption,
    Prediction,
    Quantity,
    at_least_zero,
    count,
    plain_quantity,
    positive,
)
from thinktime.models.uncertain import Known, point, with_intervals
from thinktime.stats import arguments
from thinktime.stats.estimate import Estimate

Array = NDArray[np.float64]

DISCIPLINES = ("fcfs", "ps", "dps", "priority", "preemptive_priority")
PRODUCT_FORM = ("fcfs", "ps")
"""Disciplines that exact models of networks take."""
SOURCE = "Reiser and Lavenberg, Journal of the ACM 27 (1980)"
SOURCE_RATES = "Chandy, Herzog and Woo, IBM Journal of Research and Development 19 (1975)"
NUMBERS_MAX = 25_000_000
"""Largest number of values that a recursion over several classes may store (200 MB)."""
STEPS_MAX = 2_000_000_000
"""Most steps (a population, a class, a station and each of its rates) of such a recursion: seconds."""

FLOAT = frozenset({float})
"""For sets of types."""
NO_TIME = "no station has a demand, and think_s is 0; give at least one time above 0"
ROUTING = Assumption("where a user goes next, and how long a service takes, does not depend on the others")
PLAIN = (ROUTING, Assumption("stations share their server, or serve in order of arrival exponential times"))


@dataclass(frozen=True, slots=True)
class Station:
    """Station of a network.

    Raises
    ------
    InputError
        A number is out of range, or the discipline unknown.
    TypeError
        An argument is of the wrong kind.
    """

    name: str
    """Name, for messages."""
    demand_s: Known | tuple[Known, ...]
    """Service time of an interaction at the station, over all its visits [s]; with several classes, one
    value per class."""
    _: KW_ONLY
    servers: float = 1
    """Number of servers; ``math.inf`` for a delay, at which nobody waits."""
    rates: tuple[float, ...] | None = None
    """Instead of `servers`: seconds of work done per second with 1, 2, ... interactions at the station; the
    last value holds for more."""
    discipline: str = "ps"
    """``"ps"``, ``"fcfs"``, or for `approximate`: ``"dps"`` (shared by the classes' weights), ``"priority"``
    (the most urgent class next), ``"preemptive_priority"`` (the most urgent class at once)."""
    variation: float | None = None
    """Coefficient of variation of the service times of a visit, if known."""
    visits: float | tuple[float, ...] = 1.0
    """Visits of an interaction to the station, of all classes or of each; of influence where one class is
    served longer than another in order of arrival, and on the distribution of response times."""

    def __post_init__(self) -> None:
        """Check every field; lists of demands and rates become tuples."""
        if not isinstance(self.name, str):
            raise TypeError(
                f"name is {arguments.shown(self.name)}; give the name of the station, then demand_s"
            )
        place = f"station {self.name}:"
        if isinstance(self.demand_s, Iterable):
            demands = arguments.sequence(self.demand_s, f"{place} demand_s", "a time, or one per class")
            if not demands:
                raise InputError(f"{place} demand_s is empty; give one time per class")
            for demand in demands:
                at_least_zero(f"{place} demand_s", demand)
            object.__setattr__(self, "demand_s", tuple(map(_plain, demands)))
        else:
            at_least_zero(f"{place} demand_s", self.demand_s)
        if self.servers != math.inf:
            count(f"{place} servers", at_least_zero(f"{place} servers", self.servers))
        if self.rates is not None:
            rates = arguments.sequence(self.rates, f"{place} rates", "a list of rates")
            if not rates:
                raise InputError(f"{place} rates is empty; give one or more")
            object.__setattr__(self, "rates", tuple(positive(f"{place} rates", rate) for rate in rates))
        if not isinstance(self.discipline, str) or self.discipline not in DISCIPLINES:
            names = ", ".join(DISCIPLINES)
            raise InputError(f"{place} discipline is {self.discipline!r}; give one of {names}")
        if self.variation is not None:
            at_least_zero(f"{place} variation", self.variation)
        if isinstance(self.visits, Iterable):
            visits = arguments.sequence(self.visits, f"{place} visits", "a number, or one per class")
            object.__setattr__(self, "visits", tuple(positive(f"{place} visits", one) for one in visits))
        else:
            positive(f"{place} visits", self.visits)

    @property
    def demands(self) -> tuple[float, ...]:
        """Demand of each class [s]."""
        given = self.demand_s if isinstance(self.demand_s, tuple) else (self.demand_s,)
        return tuple(point(demand) for demand in given)

    def visits_of(self, classes: int) -> tuple[float, ...]:
        """Visits of an interaction of each class."""
        visits = self.visits if isinstance(self.visits, tuple) else (self.visits,) * classes
        if len(visits) != classes:
            raise InputError(
                f"station {self.name}: visits has {len(visits)} values; give {classes}, one per class"
            )
        return visits

    @property
    def delay(self) -> bool:
        """True if nobody waits at the station."""
        return self.rates is None and self.servers == math.inf

    def rates_with(self, population: int) -> list[float]:
        """Rates with 1, 2, ... interactions, up to the number at which they stop to differ."""
        if self.rates is not None:
            return list(self.rates)
        return [float(busy) for busy in range(1, max(1, min(int(self.servers), population)) + 1)]

    @property
    def capacity(self) -> float:
        """Largest number of seconds of work per second."""
        return self.servers if self.rates is None else max(self.rates)


def _plain(known: Known) -> Known:
    """The estimate, or the number as Python's float."""
    return known if isinstance(known, Estimate) else float(known)


@with_intervals
def mva(
    stations: Sequence[Known | Station], users: int, think_s: Known = 0.0, *, course: bool = False
) -> Prediction:
    r"""Exact prediction for a closed network with one class of users.

    .. math:: R_k(n) = D_k (1 + Q_k(n-1)), \quad X(n) = \frac{n}{Z + \sum_k R_k(n)}, \quad
              Q_k(n) = X(n) R_k(n)

    for n = 1 to N at stations of one server; stations with several servers or other rates are combined
    with them by their throughput for each number of users (Norton's theorem). No step subtracts, so that all
    quantities are right to about 12 digits for any N.

    Parameters
    ----------
    stations : sequence of float or Station
        A number is the demand, in seconds, at a station with one server.
    users : int
        N.
    think_s : float
        Mean think time, in seconds.
    course : bool
        Give every quantity for each number of users from 1 to N, as an array, instead of for N users only;
        those of stations have one row per number.

    Returns
    -------
    Prediction
        ``throughput_per_s``, ``response_s``, and arrays with one value per station: ``residence_s``,
        ``queue`` (mean number in service or waiting), ``utilisation`` (of a delay: the mean number in it).

    Raises
    ------
    InputError
        A negative or infinite time, fewer than one user, or no time above 0.
    TypeError
        An argument is of the wrong kind.
    """
    users, think = count("users", users), at_least_zero("think_s", think_s)
    stations = arguments.sequence(stations, "stations", "a list of demands or stations")
    if not _are_demands(stations):
        for index, station in enumerate(stations):
            if not isinstance(station, Station):
                at_least_zero(f"demand of station {index + 1}", station)
        if any(isinstance(station, Station) for station in stations):
            return _with_stations(stations, users, think, course)
    if think + sum(stations) == 0.0:
        raise InputError(NO_TIME)
    if course:
        throughputs, queues = map(np.frombuffer, _native.mva_by_population(stations, think, users))
        quantities = _course(throughputs, queues.reshape(users, -1), np.array(stations), users, think)
        return Prediction(method="exact MVA", source=SOURCE, quantities=quantities, assumptions=PLAIN)
    throughput, residence, queue, utilisation = _native.mva(stations, think, users)
    return Prediction(
        method="exact MVA",
        source=SOURCE,
        quantities=(
            plain_quantity("throughput_per_s", throughput, "1/s"),
            plain_quantity("response_s", users / throughput - think, "s"),
            plain_quantity("residence_s", np.frombuffer(residence), "s"),
            plain_quantity("queue", np.frombuffer(queue), "interaction"),
            plain_quantity("utilisation", np.frombuffer(utilisation), ""),
        ),
        assumptions=PLAIN,
    )


def _are_demands(stations: Sequence[Any]) -> bool:
    """True if all are Python's floats, and demands; others may be demands too."""
    # All at once: to ask each of five takes as long as half of the recursion. A sum shows what is no number.
    return (
        bool(stations)
        and FLOAT.issuperset(map(type, stations))
        and min(stations) >= 0.0
        and sum(stations) < math.inf
    )


def _course(
    throughput: Array, queues: Array, demands: Array, users: int, think_s: float
) -> tuple[Quantity, ...]:
    """Quantities with 1, 2, ... users, from throughputs and mean numbers."""
    by_station = throughput[:, None]
    return (
        Quantity("throughput_per_s", throughput, "1/s"),
        Quantity("response_s", np.arange(1.0, users + 1.0) / throughput - think_s, "s"),
        Quantity("residence_s", queues / by_station, "s"),
        Quantity("queue", queues, "interaction"),
        Quantity("utilisation", by_station * demands, ""),
    )


def _with_stations(given: Sequence[float | Station], users: int, think_s: float, course: bool) -> Prediction:
    stations = _named(given)
    for station in stations:
        if len(station.demands) != 1:
            raise InputError(f"station {station.name}: demand_s has {len(station.demands)} values; give one")
    demands = np.array([station.demands[0] for station in stations])
    if think_s + demands.sum() == 0.0:
        raise InputError(NO_TIME)
    rates = [[] if station.delay else station.rates_with(users) for station in stations]
    fixed = [k for k, station in enumerate(stations) if rates[k] == [1.0]]
    rated = [k for k, station in enumerate(stations) if rates[k] and rates[k] != [1.0]]
    delays = [k for k, station in enumerate(stations) if station.delay]
    solved = _native.mva_rates(
        [float(demands[k]) for k in fixed],
        think_s + float(demands[delays].sum()),
        [float(demands[k]) for k in rated],
        [rates[k] for k in rated],
        users,
    )
    throughput, fixed_queues, queues = map(np.frombuffer, solved)
    number = np.empty((users, len(stations)))
    number[:, fixed] = fixed_queues.reshape(users, len(fixed))
    number[:, rated] = queues.reshape(len(rated), users).T
    number[:, delays] = throughput[:, None] * demands[delays]
    capacities = np.array([1.0 if station.delay else station.capacity for station in stations])
    quantities = _course(throughput, number, demands / capacities, users, think_s)
    if not course:
        last = (np.asarray(quantity.value)[-1] for quantity in quantities)
        quantities = tuple(
            Quantity(quantity.name, value if value.ndim else float(value), quantity.unit)
            for quantity, value in zip(quantities, last, strict=True)
        )
    source = f"{SOURCE}; {SOURCE_RATES}" if rated else SOURCE
    return Prediction(
        method="exact MVA", source=source, quantities=quantities, assumptions=_assumptions(stations)
    )


def _named(stations: Sequence[float | Station]) -> list[Station]:
    return [
        station if isinstance(station, Station) else Station(f"number {number}", float(station))
        for number, station in enumerate(stations, 1)
    ]


def _exponential_if_fcfs(discipline: str, variation: float | None, where: str = "") -> Assumption:
    """Condition of product form on a station whose service times have this coefficient of variation."""
    place = where.removeprefix(" of ") or "the station"
    if discipline not in PRODUCT_FORM:
        return Assumption(f"{place} treats all classes alike: it has no priorities or weights", False)
    if discipline == "ps":
        return Assumption(f"{place} is shared; its service times may have any distribution", True)
    met = None if variation is None else variation == 1.0
    return Assumption(f"service times{where} are exponential, as first come first served needs", met)


def _assumptions(stations: Sequence[Station]) -> tuple[Assumption, ...]:
    queueing = [station for station in stations if not station.delay]
    return (
        ROUTING,
        *(
            _exponential_if_fcfs(station.discipline, station.variation, f" of station {station.name}")
            for station in queueing
        ),
    )


@with_intervals
def machine_repairman(
    users: int,
    think_s: Known,
    service_s: Known,
    servers: int = 1,
    *,
    discipline: str = "fcfs",
    variation: float | None = None,
) -> Prediction:
    r"""Prediction for users who think and wait for one station: M/M/c//N.

    .. math:: p_j \propto \prod_{i=1}^{j} \frac{(N - i + 1) S}{Z \min(i, c)}, \quad
              X = \frac1S \sum_j p_j \min(j, c), \quad R = \frac NX - Z

    The distribution of think times has no influence, nor, when the station is shared (`discipline` ``"ps"``),
    has that of service times. Scherr, *An Analysis of Time-Shared Computer Systems* (1967).

    Parameters
    ----------
    users, servers : int
        Numbers of users and servers.
    think_s, service_s : float
        Mean think time and mean service time, in seconds.
    discipline : str
        ``"fcfs"`` or ``"ps"``.
    variation : float, optional
        Coefficient of variation of the service times, if known.

    Raises
    ------
    InputError
        Fewer than one user or server, a negative think time, a service time not above 0, or an unknown
        discipline.
    TypeError
        An argument is of the wrong kind.
    """
    if not isinstance(discipline, str) or discipline not in PRODUCT_FORM:
        raise InputError(f"discipline is {discipline!r}; give one of {', '.join(PRODUCT_FORM)}")
    think, service = at_least_zero("think_s", think_s), positive("service_s", service_s)
    rates = [float(busy) for busy in range(1, min(count("servers", servers), count("users", users)) + 1)]
    if variation is not None:
        at_least_zero("variation", variation)
    throughputs, _, numbers = _native.mva_rates([], think, [service], [rates], users)
    throughput, number = float(np.frombuffer(throughputs)[-1]), float(np.frombuffer(numbers)[-1])
    quantities = (
        Quantity("utilisation", throughput * service / servers, ""),
        Quantity("throughput_per_s", throughput, "1/s"),
        Quantity("response_s", number / throughput, "s"),
        Quantity("number", number, "interaction"),
    )
    needed = (
        Assumption("users think independently of each other and of the station"),
        _exponential_if_fcfs(discipline, variation),
    )
    source = "Scherr, An Analysis of Time-Shared Computer Systems (1967)"
    return Prediction(
        method=f"machine repairman, {servers} servers",
        source=source,
        quantities=quantities,
        assumptions=needed,
    )


@with_intervals
def mva_classes(stations: Sequence[Station], users: Sequence[int], think_s: Sequence[Known]) -> Prediction:
    r"""Exact prediction for a closed network with several classes of users.

    .. math:: R_{kr}(n) = D_{kr} (1 + Q_k(n - 1_r)), \quad
              X_r(n) = \frac{n_r}{Z_r + \sum_k R_{kr}(n)}, \quad Q_k(n) = \sum_r X_r(n) R_{kr}(n)

    over all vectors n up to the numbers of users; at stations with several servers or other rates, over the
    probabilities of each number there. Time grows with the product of the classes' users + 1, memory with
    that of all classes but the largest, and both double with each station that has rates: for networks that
    are too large use `linearizer`.

    Parameters
    ----------
    stations : sequence of Station
        Each with one demand per class.
    users : sequence of int
        Number of users of each class.
    think_s : sequence of float
        Mean think time of each class, in seconds.

    Returns
    -------
    Prediction
        ``throughput_per_s`` and ``response_s`` with one value per class; ``residence_s``, ``queue`` and
        ``utilisation`` with one row per station and one column per class.

    Raises
    ------
    InputError
        Numbers of classes that differ, a class that takes no time, or too many populations.
    TypeError
        An argument is of the wrong kind.
    """
    stations, demands, population, think = as_classes(stations, users, think_s)
    total = sum(population)
    rates = [None if station.delay else station.rates_with(total) for station in stations]
    _check_size(rates, population)
    throughput, residence = class_course(demands.tolist(), rates, think.tolist(), population)
    quantities = class_quantities(stations, throughput, residence)
    return Prediction(
        method="exact MVA, several classes",
        source=SOURCE,
        quantities=quantities,
        assumptions=class_assumptions(stations),
    )


def class_course(
    demands: Sequence[Sequence[float]],
    rates: Sequence[Sequence[float] | None],
    think_s: Sequence[float],
    users: Sequence[int],
) -> tuple[Array, Array]:
    """Throughput of each class [1/s], and time at each station of each class [s], by exact MVA.

    What `mva_classes` computes, without names, checks and intervals, for those who solve thousands of
    networks. `demands` are times of service [s] by station and class; `rates` those of a station with 1,
    2, ... jobs, None for a delay.
    """
    throughput, residence = _native.mva_classes(demands, rates, think_s, users)
    return np.frombuffer(throughput), np.frombuffer(residence).reshape(len(demands), -1)


def _check_size(rates: Sequence[list[float] | None], population: Sequence[int]) -> None:
    levels = sum(len(item) for item in rates if item is not None and len(item) > 1)
    networks = 2 ** sum(item is not None and len(item) > 1 for item in rates)
    populations = math.prod(n + 1 for n in population)
    each = (len(rates) + levels) * networks
    numbers, steps = populations // (max(population) + 1) * each, populations * each * len(population)
    for found, most, what in (
        (numbers, NUMBERS_MAX, "store {} numbers"),
        (steps, STEPS_MAX, "take {} steps"),
    ):
        if found > most:
            raise InputError(
                f"users is {list(population)}: the recursion would {what.format(found)}, more than {most};"
                " give fewer users or classes, or use an approximation (linearizer)"
            )


def as_classes(
    stations: Sequence[Station], users: Sequence[int], think_s: Sequence[Known]
) -> tuple[list[Station], Array, list[int], Array]:
    """Stations, demands as rows of stations, users and think times, checked against each other."""
    stations = arguments.records(stations, Station, "stations")
    users = arguments.sequence(users, "users", "a list of numbers, one per class")
    think_s = arguments.sequence(think_s, "think_s", "a list of times, one per class")
    classes = len(users)
    if not classes or len(think_s) != classes:
        raise InputError(
            f"users has {classes} classes and think_s {len(think_s)}; give one value of each per class"
        )
    for station in stations:
        if len(station.demands) != classes:
            given = len(station.demands)
            raise InputError(
                f"station {station.name}: demand_s has {given} values; give {classes}, one per class"
            )
    population = [count(f"users[{r}]", n, 0) for r, n in enumerate(users)]
    think = np.array([at_least_zero(f"think_s[{r}]", time) for r, time in enumerate(think_s)])
    demands = np.array([station.demands for station in stations]).reshape(len(stations), classes)
    for r in range(classes):
        if think[r] + demands[:, r].sum() == 0.0:
            raise InputError(
                f"class {r}: it has neither demand nor think time; give at least one time above 0"
            )
    return stations, demands, population, think


def class_quantities(
    stations: Sequence[Station],
    throughput: Array,
    residence: Array,
) -> tuple[Quantity, ...]:
    """Quantities of classes from their throughputs and their residence times at stations."""
    demands = np.array([station.demands for station in stations]).reshape(residence.shape)
    capacities = np.array([1.0 if station.delay else station.capacity for station in stations])
    return (
        Quantity("throughput_per_s", throughput, "1/s"),
        Quantity("response_s", residence.sum(axis=0), "s"),
        Quantity("residence_s", residence, "s"),
        Quantity("queue", residence * throughput, "interaction"),
        Quantity("utilisation", demands * throughput / capacities[:, None], ""),
    )


def class_assumptions(stations: Sequence[Station]) -> tuple[Assumption, ...]:
    """Conditions of product form on stations that several classes visit."""
    in_order = [station.name for station in stations if station.discipline == "fcfs" and not station.delay]
    alike = tuple(
        Assumption(f"a visit to station {name} takes each class as long, on average") for name in in_order
    )
    return (*_assumptions(stations), *alike)
