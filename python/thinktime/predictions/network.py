"""Response time, throughput and queues of a closed network of stations, by number of users."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from thinktime.documents import format as shown
from thinktime.documents.charts.axis import Axis
from thinktime.documents.document import Col, Cols, Document, Figure, Finding, Key, Section, Table
from thinktime.documents.series import Point, Series
from thinktime.documents.wording import capital
from thinktime.errors import InputError
from thinktime.models.prediction import Prediction
from thinktime.models.queueing.approximations import approximate
from thinktime.models.queueing.customers import Customers
from thinktime.models.queueing.general_service import general_service, needs_variation
from thinktime.models.queueing.networks import PRODUCT_FORM, Station, mva
from thinktime.models.queueing.response_times import response_quantiles
from thinktime.models.queueing.routing import Route
from thinktime.models.uncertain import Known, point
from thinktime.predictions import prediction as predicted
from thinktime.stats.estimate import Estimate

TITLE = "How long do interactions take, by number of users?"
COLOURS = ("user", "disk", "memory", "system", "net", "queue")
"""Colours of the stations, in their order; with more stations they repeat."""
UTILISATION = Axis("utilisation", format=".0%", low=0.0, high=1.0)
POINTS_MAX = 100
"""Largest number of populations in a chart."""
APPROXIMATED_MAX = 40
"""Largest number of populations that are approximated in order to be drawn."""
QUANTILES_NEED = (
    "quantiles are known for networks of product form alone (ps, or fcfs with exponential times that are the"
    " same for all classes)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Closed network: users think, then visit stations."""

    stations: tuple[Station, ...]
    """Stations, each with the demand of an interaction over all its visits."""
    users: tuple[int, ...]
    """Numbers of users to predict."""
    think_s: Known = 0.0
    """Mean think time."""
    quantiles: tuple[float, ...] = ()
    """Quantiles of the response time to predict for each of `users`."""
    route: Route | None = None
    """Probabilities of the next station, if they are known."""

    def __post_init__(self) -> None:
        """Refuse a network without stations or users, and two stations of the same name."""
        names = [station.name for station in self.stations]
        if not names:
            raise InputError("the network has no station; give one or more, such as --station cpu=30ms")
        if len(set(names)) < len(names):
            raise InputError(f"stations {', '.join(names)}: two have the same name")
        if not self.users:
            raise InputError("users is empty; give one number of users or more")
        for station in self.stations:
            if not station.delay and station.discipline not in PRODUCT_FORM:
                raise InputError(
                    f"station {station.name}: discipline {station.discipline} needs classes; give --class,"
                    " such as editing,users=20,priority=0"
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """Prediction for one number of users."""

    users: int
    throughput: Estimate
    """Interactions per second."""
    response: Estimate
    """Mean response time [s]."""
    queues: tuple[Estimate, ...]
    """Mean number of interactions at each station, those in service included."""
    utilisations: tuple[Estimate, ...]
    """Utilisation of each station, 0 to 1; of a delay, the mean number in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPrediction:
    """Prediction for every number of users up to the largest; for some of them if approximated."""

    network: Network
    solution: Prediction
    """Prediction of the model: exact, with arrays over the numbers of users from 1; or for the most users."""
    populations: tuple[Population, ...] = field(repr=False)
    quantiles: Mapping[int, Prediction] = field(default_factory=dict, repr=False)
    """Prediction of quantiles of response times, by number of users."""

    @property
    def requested(self) -> tuple[Population, ...]:
        """Populations of the numbers of users that the network names, ascending."""
        wanted = set(self.network.users)
        return tuple(item for item in self.populations if item.users in wanted)

    @property
    def saturation(self) -> float:
        r"""Number of users at which the asymptotes meet, beyond which interactions queue.

        .. math:: N^* = \frac{Z + \sum_k D_k}{\max_k D_k / c_k}

        with the capacity :math:`c_k` of a station; infinite where all stations are delays (Denning and Buzen,
        ACM Computing Surveys 10 (1978)).
        """
        busiest = max((_limit_s(station) for station in self.network.stations), default=0.0)
        total = point(self.network.think_s) + math.fsum(
            station.demands[0] for station in self.network.stations
        )
        return total / busiest if busiest > 0.0 else math.inf

    @property
    def bottleneck(self) -> Station | None:
        """Station that limits the throughput; None if all are delays."""
        busiest = max(self.network.stations, key=_limit_s)
        return busiest if _limit_s(busiest) > 0.0 else None


def _limit_s(station: Station) -> float:
    """Shortest time between two completions at the station."""
    return 0.0 if station.delay else station.demands[0] / station.capacity


def predict(network: Network) -> NetworkPrediction:
    """Exact mean value analysis where the network has a product form, else an approximation.

    Raises
    ------
    InputError
        An input is not allowed, nothing in the network takes time, or quantiles are wanted that no model
        gives.
    """
    return (_approximated if any(map(needs_variation, network.stations)) else _exact)(network)


def _customers(network: Network, users: int) -> list[Customers]:
    return [Customers("users", users=users, think_s=network.think_s)]


def _approximated(network: Network) -> NetworkPrediction:
    """Prediction for the numbers of users wanted, and for others to be drawn."""
    if network.quantiles:
        raise InputError(f"{QUANTILES_NEED}; leave --quantiles out")
    most = max(network.users)
    between = {max(1, round(step * most / APPROXIMATED_MAX)) for step in range(APPROXIMATED_MAX + 1)}
    numbers = sorted({*network.users, *between})
    several = any(needs_variation(station) and station.servers > 1 for station in network.stations)
    solved = [
        approximate(network.stations, _customers(network, users))
        if several
        else general_service(network.stations, users, network.think_s)
        for users in numbers
    ]
    return NetworkPrediction(
        network=network,
        solution=solved[-1],
        populations=tuple(
            _population(network, users, solution, last=(0,) if several else ())
            for users, solution in zip(numbers, solved, strict=True)
        ),
    )


def _population(
    network: Network, users: int, solution: Prediction, row: tuple[int, ...] = (), last: tuple[int, ...] = ()
) -> Population:
    """Means for one number of users, at `row` of arrays over their numbers and `last` over classes."""
    throughput, response, queue, utilisation = (
        solution.quantity(name) for name in ("throughput_per_s", "response_s", "queue", "utilisation")
    )
    stations = range(len(network.stations))
    units = ["interaction" if station.delay else "share" for station in network.stations]
    return Population(
        users=users,
        throughput=predicted.element(throughput, *row, *last),
        response=predicted.element(response, *row, *last),
        queues=tuple(predicted.element(queue, *row, k, *last) for k in stations),
        utilisations=tuple(
            predicted.element(utilisation, *row, k, *last).with_unit(units[k]) for k in stations
        ),
    )


def _exact(network: Network) -> NetworkPrediction:
    solution = mva(network.stations, max(network.users), network.think_s, course=True)
    return NetworkPrediction(
        network=network,
        solution=solution,
        populations=tuple(
            _population(network, row + 1, solution, row=(row,)) for row in range(max(network.users))
        ),
        quantiles={
            number: response_quantiles(
                network.stations,
                _customers(network, number),
                network.quantiles,
                routes={} if network.route is None else {"users": network.route},
            )
            for number in sorted(set(network.users))
            if network.quantiles
        },
    )


def document(network: Network) -> Document:
    """Document of the prediction of a network."""
    result = predict(network)
    answer = section(result)
    return Document(
        title="A closed network: response time and throughput",
        subtitle=f"{shown.count(len(network.stations), 'station')}, {result.solution.method}.",
        findings=tuple(Finding(text, section=answer.name) for text in answer.summary[:2]),
        sections=(answer,),
        facts=(("Think time", _shown(network.think_s)),),
        facts_title="What was predicted?",
        origin="Made by thinktime: the same network gives the same page.",
    )


def _shown(time: Known) -> str:
    return shown.estimate(time) if isinstance(time, Estimate) else shown.quantity(time, "s")


def section(result: NetworkPrediction) -> Section:
    """Section of the prediction of a network."""
    solution = result.solution
    stated = next(iter(result.quantiles.values()), solution)
    return Section(
        name="network",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=(
            _stations(result),
            _populations(result),
            *((_quantiles(result),) if result.quantiles else ()),
            predicted.assumptions("network", stated),
        ),
        figures=_figures(result),
        caveats=predicted.caveats(stated),
        method=f"{capital(solution.method)}. {solution.source}.{predicted.interval(solution)}",
    )


def _sentences(result: NetworkPrediction) -> list[str]:
    last = result.requested[-1]
    sentences = [
        f"With {shown.count(last.users, 'user')} the mean response time is {shown.estimate(last.response)}, "
        f"and the throughput {shown.estimate(last.throughput)}."
    ]
    bottleneck = result.bottleneck
    if bottleneck is not None:
        limit = shown.quantity(1.0 / _limit_s(bottleneck), "1/s")
        sentences.append(
            f"The bottleneck is {bottleneck.name}, which limits the throughput to {limit}; with more than "
            f"about {shown.number(result.saturation)} users interactions queue there."
        )
    stated = next(iter(result.quantiles.values()), result.solution)
    return [*sentences, predicted.judgement(stated.assumptions)]


def demand_of(station: Station, customer: int = 0) -> Known:
    """Demand of a class at a station, as given."""
    demands = station.demand_s if isinstance(station.demand_s, tuple) else (station.demand_s,)
    return demands[customer if len(demands) > 1 else 0]


def servers_of(station: Station) -> str:
    """Servers or rates of a station, in words."""
    if station.delay:
        return "delay"
    if station.rates is not None:
        return f"rates {', '.join(f'{rate:g}' for rate in station.rates)}"
    return f"{station.servers:g}"


def _stations(result: NetworkPrediction) -> Table:
    return Table.of(
        result.network.stations,
        Col("station", lambda station: station.name),
        Col("demand", lambda station: predicted.given(demand_of(station), "s"), unit="s"),
        Col("servers", servers_of),
        Col("discipline", lambda station: None if station.delay else station.discipline),
        name="network-stations",
        caption="Service demand of an interaction at each station",
    )


def _populations(result: NetworkPrediction) -> Table:
    names = [station.name for station in result.network.stations]
    return Table.of(
        result.requested,
        Col("users", lambda item: item.users),
        Col("throughput", lambda item: item.throughput),
        Col("response", lambda item: item.response),
        Cols([f"{name}, utilisation" for name in names], lambda item: item.utilisations),
        Cols([f"{name}, number" for name in names], lambda item: item.queues),
        name="network-users",
        caption="Predicted, by number of users",
        notes=("Number: interactions at a station, waiting or in service.",),
    )


def part_of(q: float) -> str:
    """Heading of the time that a part of the responses does not exceed."""
    return f"{100 * q:g} % of responses"


def _quantiles(result: NetworkPrediction) -> Table:
    wanted = result.network.quantiles
    return Table.of(
        sorted(result.quantiles.items()),
        Col("users", lambda item: item[0]),
        Cols(
            [part_of(q) for q in wanted],
            lambda item: [
                predicted.element(item[1].quantity("response_quantile_s"), row, 0)
                for row in range(len(wanted))
            ],
        ),
        name="network-quantiles",
        caption="Response time that a part of the responses does not exceed, by number of users",
    )


def _drawn(result: NetworkPrediction) -> Sequence[Population]:
    """Populations of a chart: all, or evenly spread ones with the first and the last."""
    last = len(result.populations) - 1
    chosen = sorted({round(index * last / (POINTS_MAX - 1)) for index in range(POINTS_MAX)})
    return [result.populations[index] for index in chosen]


def _figure(
    result: NetworkPrediction,
    name: str,
    title: str,
    lines: Mapping[Key, Callable[[Population], Estimate]],
    y: Axis | str,
) -> Figure:
    """Figure of lines against users; `y` is an axis, or the title of one that starts at zero."""
    series = Series(
        [
            Point(key=key, x=item.users, label=str(item.users), y=of(item))
            for key, of in lines.items()
            for item in _drawn(result)
        ]
    )
    axis = Axis.from_zero(y, series.rows()) if isinstance(y, str) else y
    ends = [f"{key.name} {series.course(key, 'users')}" for key in lines]
    return Figure(
        name=f"network-{name}",
        title=f"{title} against users",
        chart=series.curves(Axis("users"), axis, dotted=False),
        data=series.table(
            f"network-{name}-data", f"{title} by number of users, predicted", "users", folded=True
        ),
        alt=f"{title}: {'; '.join(ends)}.",
        keys=series.legend,
        half=len(lines) == 1,
    )


def _figures(result: NetworkPrediction) -> tuple[Figure, ...]:
    if len(result.populations) == 1:
        return ()
    user = partial(Key, colour="user", shape="line")
    response = {user("response time"): lambda item: item.response}
    throughput = {user("interactions per second"): lambda item: item.throughput}
    queueing = [index for index, station in enumerate(result.network.stations) if not station.delay]
    keys = Key.each([result.network.stations[index].name for index in queueing], COLOURS, "line")
    utilisation: dict[Key, Callable[[Population], Estimate]] = {
        key: partial(_utilisation, index) for key, index in zip(keys, queueing, strict=True)
    }
    figures = (
        _figure(result, "response", "Response time", response, "response time [s]"),
        _figure(result, "throughput", "Throughput", throughput, "interactions per second"),
    )
    if not utilisation:
        return figures
    return (*figures, _figure(result, "utilisation", "Utilisation of the stations", utilisation, UTILISATION))


def _utilisation(index: int, item: Population) -> Estimate:
    return item.utilisations[index]
