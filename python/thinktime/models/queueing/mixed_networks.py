"""Open and mixed networks of product form: arrivals from outside, users who think, or both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from thinktime.models.prediction import Prediction
from thinktime.models.queueing.customers import Customers, Network
from thinktime.models.queueing.marginals import Marginals, closed_rates, open_given_closed
from thinktime.models.queueing.networks import Station, class_assumptions, class_quantities, mva_classes
from thinktime.models.queueing.open_stations import POISSON
from thinktime.models.uncertain import with_intervals

Array = NDArray[np.float64]

SOURCE = "Baskett, Chandy, Muntz and Palacios, Journal of the ACM 22 (1975)"


@with_intervals
def mixed(stations: Sequence[Station], customers: Sequence[Customers]) -> Prediction:
    r"""Exact prediction for a network with open classes, closed classes, or both.

    With the work :math:`a_k = \sum_r \lambda_r D_{kr}` that open classes r bring to station k per second,
    closed classes are served as if their demands at a station of one server were

    .. math:: \frac{D_{ks}}{1 - a_k}, \quad \text{and open ones spend there} \quad
              R_{kr} = \frac{D_{kr} (1 + Q_k)}{1 - a_k}

    with the mean number :math:`Q_k` of closed customers. With several servers or other rates, closed classes
    see other rates, and the numbers of open customers are means over the number of closed ones. Baskett,
    Chandy, Muntz and Palacios (1975); Lazowska, Zahorjan, Graham and Sevcik, *Quantitative System
    Performance* (1984), 7.4; Bruell, Balbo and Afshari (1984).

    Parameters
    ----------
    stations : sequence of Station
        Each with one demand, or one per class.
    customers : sequence of Customers
        Classes.

    Returns
    -------
    Prediction
        ``throughput_per_s`` and ``response_s`` with one value per class; ``residence_s``, ``queue`` and
        ``utilisation`` with one row per station and one column per class.

    Raises
    ------
    InputError
        A station that arrivals saturate, a class that takes no time, or too many populations for memory.
    TypeError
        An argument is of the wrong kind.
    """
    network = Network.of(stations, customers)
    return Solution.of(network).prediction()


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """Exact solution of a network of product form."""

    network: Network
    throughput: Array
    """Of each class [1/s]."""
    residence: Array
    """Residence times: stations, classes [s]."""
    rates: Sequence[Array | None]
    """Rates of each station; None for a delay."""
    marginals: Marginals | None
    """Probabilities of numbers of closed customers; None if they were not needed."""

    @classmethod
    def of(cls, network: Network, *, with_marginals: bool = False) -> Solution:
        """Solution of a network; on request with the probabilities of numbers."""
        network.check_unsaturated()
        total = int(network.users.sum())
        rates = [_rates(station) for station in network.stations]
        seen = _closed_stations(network, rates, total)
        throughput, residence = network.arrivals.copy(), np.zeros(network.demands.shape)
        closed = np.flatnonzero(~network.open & (network.users > 0.0))
        if len(closed):
            users, think = [int(n) for n in network.users[closed]], network.think[closed].tolist()
            part = [replace(one, demand_s=tuple(one.demands[r] for r in closed), visits=1.0) for one in seen]
            solved = mva_classes(part, users, think)
            throughput[closed], residence[:, closed] = solved["throughput_per_s"], solved["residence_s"]
        shared = any(
            at is not None and len(at) > 1 and offered > 0.0
            for at, offered in zip(rates, network.offered, strict=True)
        )
        marginals = None
        if total and (with_marginals or (shared and network.open.any())):
            as_seen = [None if one.delay else np.array(one.rates_with(total)) for one in seen]
            marginals = Marginals.of(_inflated(network, seen), throughput, as_seen)
        solution = cls(
            network=network, throughput=throughput, residence=residence, rates=rates, marginals=marginals
        )
        if network.open.any():
            residence[:, network.open] = solution._open_residence()
        return solution

    def _open_residence(self) -> Array:
        """Residence times of open classes."""
        network = self.network
        demands = network.demands[:, network.open]
        closed = (self.throughput * self.residence)[:, ~network.open].sum(axis=1)
        stretch = np.ones(len(demands))
        for k, rates in enumerate(self.rates):
            offered = network.offered[k]
            if rates is None or offered == 0.0:
                continue
            if len(rates) == 1:
                stretch[k] = (1.0 + closed[k]) / (float(rates[0]) - offered)
            else:
                chances = np.ones(1) if self.marginals is None else self.marginals.number(k)
                there = closed_rates(offered, rates, len(chances))
                number = np.arange(1.0, len(chances) + 1.0)
                stretch[k] = float(chances @ (number / there))
        return demands * stretch[:, None]

    def seen(self, station: int, customer: int) -> Array:
        """Probabilities of 0, 1, ... customers of all classes that an arrival finds at a station."""
        rates, offered = self.rates[station], float(self.network.offered[station])
        if self.marginals is None:
            closed = np.ones(1)
        else:
            order = np.flatnonzero(~self.network.open)
            less = None if self.network.open[customer] else int(np.searchsorted(order, customer))
            closed = self.marginals.number(station, less)
        if rates is None or offered == 0.0:
            return closed
        parts = [open_given_closed(number, offered, rates)[1] for number in range(len(closed))]
        chances = np.zeros(max(number + len(part) for number, part in enumerate(parts)))
        for number, (chance, part) in enumerate(zip(closed, parts, strict=True)):
            chances[number : number + len(part)] += chance * part
        return chances

    def prediction(self) -> Prediction:
        """Means of all classes and stations, and what they rest on."""
        network = self.network
        as_classes = [
            replace(one, demand_s=tuple(row))
            for one, row in zip(network.stations, network.demands.tolist(), strict=True)
        ]
        arrive = (POISSON,) if network.open.any() else ()
        kind = "open" if network.open.all() else "mixed" if network.open.any() else "closed"
        return Prediction(
            method=f"product form, {kind} network",
            source=SOURCE,
            quantities=class_quantities(as_classes, self.throughput, self.residence),
            assumptions=(*arrive, *class_assumptions(as_classes)),
        )


def _rates(station: Station) -> Array | None:
    """Rates with 1, 2, ... customers, up to the last that differs; None for a delay."""
    if station.delay:
        return None
    if station.rates is not None:
        return np.array(station.rates)
    return np.arange(1.0, int(station.servers) + 1.0)


def _closed_stations(network: Network, rates: Sequence[Array | None], users: int) -> list[Station]:
    """Stations as closed classes see them, with what open classes leave."""
    seen = []
    for station, at, offered, demands in zip(
        network.stations, rates, network.offered, network.demands, strict=True
    ):
        given = replace(station, demand_s=tuple(demands.tolist()), visits=1.0)
        if at is not None and offered > 0.0:
            if len(at) == 1:
                left = float(at[0]) - float(offered)
                given = replace(given, demand_s=tuple((demands / left).tolist()), rates=None)
            elif users:
                given = replace(given, servers=1, rates=closed_rates(float(offered), at, users))
        seen.append(given)
    return seen


def _inflated(network: Network, seen: Sequence[Station]) -> Network:
    """Network with the demands that closed classes see."""
    return replace(network, demands=np.array([station.demands for station in seen]))
