"""Response times and throughputs of a network with several classes of customers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Col, Cols, Document, Finding, Section, Table
from thinktime.documents.wording import capital
from thinktime.errors import InputError
from thinktime.models.prediction import Prediction
from thinktime.models.queueing.approximations import approximate
from thinktime.models.queueing.customers import Customers, Network
from thinktime.models.queueing.mixed_networks import mixed
from thinktime.models.queueing.networks import PRODUCT_FORM, Station
from thinktime.models.queueing.response_times import response_quantiles
from thinktime.models.queueing.routing import Route
from thinktime.models.uncertain import Known
from thinktime.predictions import prediction as predicted
from thinktime.predictions.network import QUANTILES_NEED, demand_of, part_of, servers_of
from thinktime.stats.estimate import Estimate

TITLE = "How long do interactions of each class take?"
EXACT_MOST = 200_000
"""Largest number of populations of an exact solution; beyond it is approximated."""
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassNetwork:
    """Network of several classes: users who think, and arrivals."""

    stations: tuple[Station, ...]
    """Stations, each with the demands of the classes in their order."""
    customers: tuple[Customers, ...]
    """Classes."""
    quantiles: tuple[float, ...] = ()
    """Quantiles of the response times to predict."""
    routes: Mapping[str, Route] = field(default_factory=dict)
    """Probabilities of the next station, of classes that have them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassPrediction:
    """Prediction for a network of several classes."""

    network: ClassNetwork
    solution: Prediction
    """Means of classes and stations."""
    quantiles: Prediction | None
    """Quantiles of response times; None if none are wanted."""

    @property
    def stated(self) -> Prediction:
        """Prediction whose assumptions include those of the other."""
        return self.solution if self.quantiles is None else self.quantiles


def predict(network: ClassNetwork) -> ClassPrediction:
    """Exact solution where the network has a product form and is not too large, else an approximation.

    Raises
    ------
    InputError
        An input is not allowed, arrivals saturate a station, or quantiles are wanted that no model gives.
    """
    arrays = Network.of(network.stations, network.customers)
    populations = math.prod(int(one.users or 0) + 1 for one in network.customers)
    exact = has_product_form(arrays) and populations <= EXACT_MOST
    solution = (mixed if exact else approximate)(network.stations, network.customers)
    wanted = network.quantiles
    if wanted and not exact:
        raise InputError(f"{QUANTILES_NEED} of at most {EXACT_MOST} populations; leave --quantiles out")
    quantiles = None
    if wanted:
        quantiles = response_quantiles(network.stations, network.customers, wanted, routes=network.routes)
    return ClassPrediction(network=network, solution=solution, quantiles=quantiles)


def has_product_form(network: Network) -> bool:
    """True if exact models hold for every station."""
    for station, demands, visits in zip(network.stations, network.demands, network.visits, strict=True):
        if station.delay or station.discipline == "ps":
            continue
        services = (demands / visits)[demands > 0.0]
        alike = not len(services) or float(np.ptp(services)) <= ROUNDING * float(services.max())
        if station.discipline not in PRODUCT_FORM or station.variation not in (None, 1.0) or not alike:
            return False
    return True


def document(network: ClassNetwork) -> Document:
    """Document of the prediction of a network of several classes."""
    answer = section(predict(network))
    counted = shown.count(len(network.stations), "station"), shown.count(len(network.customers), "class")
    return Document(
        title="A network of several classes: response time and throughput",
        subtitle=f"{counted[0]}, {counted[1]}.",
        findings=tuple(Finding(text, section=answer.name) for text in answer.summary[:1]),
        sections=(answer,),
        origin="Made by thinktime: the same network gives the same page.",
    )


def section(result: ClassPrediction) -> Section:
    """Section of the prediction of a network of several classes."""
    solution = result.solution
    response = solution.quantity("response_s")
    times = [
        f"{customer.name} {shown.estimate(predicted.element(response, r))}"
        for r, customer in enumerate(result.network.customers)
    ]
    return Section(
        name="classes",
        title=TITLE,
        summary=(
            f"Mean response times: {', '.join(times)}.",
            predicted.judgement(result.stated.assumptions),
        ),
        tables=(
            _demands(result.network),
            _classes(result),
            _stations(result),
            predicted.assumptions("classes", result.stated),
        ),
        caveats=predicted.caveats(result.stated),
        method=f"{capital(solution.method)}. {solution.source}.{predicted.interval(solution)}",
    )


def _demands(network: ClassNetwork) -> Table:
    names = [customer.name for customer in network.customers]
    return Table.of(
        network.stations,
        Col("station", lambda station: station.name),
        Cols(
            [f"demand of {name}" for name in names],
            lambda station: [_demand(demand_of(station, r)) for r in range(len(names))],
        ),
        Col("servers", servers_of),
        Col("discipline", lambda station: None if station.delay else station.discipline),
        name="classes-demands",
        caption="Service demand of an interaction at each station",
    )


def _demand(known: Known) -> Cell:
    if isinstance(known, Estimate):
        return known.with_unit("s")
    return Estimate(value=float(known), unit="s", n=0, method="given")


def _classes(result: ClassPrediction) -> Table:
    solution, quantiles = result.solution, result.quantiles

    def times(r: int) -> Sequence[Cell]:
        if quantiles is None:
            return ()
        found = quantiles.quantity("response_quantile_s")
        return [predicted.element(found, row, r) for row in range(len(result.network.quantiles))]

    return Table.of(
        list(enumerate(result.network.customers)),
        Col("class", lambda item: item[1].name),
        Col("users", lambda item: item[1].users),
        Col("throughput", lambda item: predicted.element(solution.quantity("throughput_per_s"), item[0])),
        Col("response", lambda item: predicted.element(solution.quantity("response_s"), item[0])),
        Cols([part_of(q) for q in result.network.quantiles], lambda item: times(item[0])),
        name="classes-predicted",
        caption="Predicted, by class",
        notes=("A class without users comes from outside.",),
    )


def _stations(result: ClassPrediction) -> Table:
    names = [customer.name for customer in result.network.customers]

    def cells(name: str, station: int) -> list[Cell]:
        quantity = result.solution.quantity(name)
        return [predicted.element(quantity, station, r) for r in range(len(names))]

    return Table.of(
        list(enumerate(result.network.stations)),
        Col("station", lambda item: item[1].name),
        Cols([f"{name}, utilisation" for name in names], lambda item: cells("utilisation", item[0])),
        Cols([f"{name}, number" for name in names], lambda item: cells("queue", item[0])),
        Cols([f"{name}, time" for name in names], lambda item: cells("residence_s", item[0])),
        name="classes-stations",
        caption="Predicted, by station",
        notes=("Time: of an interaction, over all its visits to the station.",),
    )
