"""Approximate mean value analysis of closed networks with several classes: time does not grow with users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from thinktime.models.prediction import Assumption, Prediction
from thinktime.models.queueing.customers import Customers, Network
from thinktime.models.queueing.fixed_point import CORRECTIONS, FixedPoint, Solution
from thinktime.models.queueing.networks import (
    DISCIPLINES,
    ROUTING,
    Station,
    as_classes,
    class_assumptions,
    class_quantities,
)
from thinktime.models.queueing.open_stations import POISSON
from thinktime.models.uncertain import Known, with_intervals

MEASURED = (
    "against exact solutions of 400 random networks of 2 classes, 2 to 5 stations and 1 to 12 users a class,"
    " throughputs differ by"
)
ONE_SERVER = "where all stations have one server"
SEVERAL_SERVERS = "where stations have 1, 2, 4 or 8 servers"
CHAINS = "against Markov chains of 400 networks of 2 closed classes, throughputs differ by"
ERRORS = {
    "ps": f"{MEASURED} 0.2 % on average and at most 3 % {SEVERAL_SERVERS}",
    "fcfs": (
        "against simulations of 400 networks of 2 closed classes, throughputs differ by 2 % on average where"
        " the coefficient of variation of service times is at most 1, and by 6 % where it is 2; the worst by"
        " 61 %"
    ),
    "dps": f"{CHAINS} 2.5 % on average, 90 % of them by less than 7 %, the worst by 37 %",
    "priority": f"{CHAINS} 3 % on average, 90 % of them by less than 8 %, the worst by 64 %",
    "preemptive_priority": f"{CHAINS} 1.5 % on average, 90 % of them by less than 4 %, the worst by 41 %",
}
"""Measured error at a discipline, of priorities where the more urgent class uses at most `URGENT_MOST`."""
URGENT_MOST = 0.8
"""Utilisation by more urgent classes up to which the error of priorities is as stated."""


@with_intervals
def schweitzer(stations: Sequence[Station], users: Sequence[int], think_s: Sequence[Known]) -> Prediction:
    r"""Approximate prediction for several classes of users: Bard and Schweitzer's fixed point.

    .. math:: R_{kr} = \frac{D_{kr}}{m_k} \left(1 + Q_k - \frac{Q_{kr}}{N_r}
              + \sum_{j=0}^{m_k-2} (m_k - 1 - j) p_k(j)\right), \quad
              X_r = \frac{N_r}{Z_r + \sum_k R_{kr}}, \quad Q_{kr} = X_r R_{kr}

    An arriving user is assumed to see the mean queues of all users minus its own share, and at a station of
    m servers the probabilities of j users that all of them see,

    .. math:: p_k(j) = \frac{A_k}{j} p_k(j-1), \quad \sum_{j<m_k} (m_k - j) p_k(j) = m_k - A_k, \quad
              A_k = \sum_r X_r D_{kr}

    Time does not depend on the number of users.

    Parameters and results are those of `mva_classes`.

    Raises
    ------
    InputError
        As for `mva_classes`, or a station with `rates`.
    WorkError
        The fixed point was not reached.
    """
    network = _closed(stations, users, think_s)
    source = "Schweitzer, International Conference on Stochastic Control and Optimization (1979)"
    errors = ("3 % on average and at most 20 %",) * 2
    return _predicted(
        "Bard and Schweitzer's approximate MVA", source, network, FixedPoint(network).solve(0), errors
    )


@with_intervals
def linearizer(stations: Sequence[Station], users: Sequence[int], think_s: Sequence[Known]) -> Prediction:
    r"""Approximate prediction for several classes of users: Chandy and Neuse's linearizer.

    Schweitzer's fixed point assumes that the share of class r at station k, :math:`Y_{kr} = Q_{kr} / N_r`,
    does not change when one user of class s is removed. Here it changes by

    .. math:: F_{krs} = Y_{kr}(N - 1_s) - Y_{kr}(N)

    which is computed from fixed points for N and for each :math:`N - 1_s` with the previous F, three times.
    In the same way the probabilities of j users at a station of several servers change by the factor
    :math:`p_k(j | N - 1_s) / p_k(j | N)`, in the recursion of Reiser and Lavenberg

    .. math:: p_k(j | N) = \frac1j \sum_s X_s D_{ks}\, p_k(j-1 | N - 1_s)

    (probabilities in the linearizer: Krzesinski and Greyling, SIGMETRICS 1984; Conway, *Modeling Techniques
    and Tools for Computer Performance Evaluation* (1989)). The time is that of `schweitzer` times the square
    of the number of classes.

    Parameters and results are those of `mva_classes`. Chandy and Neuse, CACM 25 (1982), 126-134.

    Raises
    ------
    InputError
        As for `mva_classes`, or a station with `rates`.
    WorkError
        A fixed point was not reached.
    """
    network = _closed(stations, users, think_s)
    source = "Chandy and Neuse, Communications of the ACM 25 (1982)"
    errors = "0.2 % on average and at most 2 %", "0.2 % on average and at most 3 %"
    return _predicted("linearizer", source, network, FixedPoint(network).solve(CORRECTIONS), errors)


@with_intervals
def approximate(stations: Sequence[Station], customers: Sequence[Customers]) -> Prediction:
    r"""Approximate prediction for open and closed classes at stations that need not be of product form.

    The linearizer, with the residence time of each station by its discipline. An arrival of class r finds
    :math:`A_s` customers of class s, of whom :math:`U_s` are in service; a visit takes :math:`s_s`, of which
    an arrival finds :math:`e_s = s_s (1 + c^2) / 2` left, with the station's coefficient of variation c:

    - ``"ps"``, and every station with exact means: as `linearizer`;
    - ``"fcfs"``: :math:`s_r + \sum_s (A_s - U_s) s_s + U_s e_s`; with m servers the m-th part of the wait,
      which begins when all are busy (Reiser, IBM Journal of Research and Development 23 (1979); Lazowska et
      al., *Quantitative System Performance* (1984), 11.4);
    - ``"priority"``: :math:`s_r + (\sum_s U_s e_s + \sum_{s \le r} (A_s - U_s) s_s) / (1 - \sum_{s<r} U_s)`
      with the sums over classes that are at least as urgent, and over those more urgent. Of more urgent
      users, who are finitely many, the times until they are served and by which they stretch a service are
      those of a station to which they return at a constant rate, in place of :math:`1 / (1 - U)`;
    - ``"preemptive_priority"``: as before, but a service, too, takes longer by the same factor, and nobody
      waits for a less urgent class (Bryant, Krzesinski, Lakshmi and Chandy, ACM Transactions on Computer
      Systems 2 (1984));
    - ``"dps"``: :math:`s_r (1 + \sum_s A_s w_s / w_r)` with the weights w of the classes.

    Where these equations have users ask for more than a station can do, they wait there for as long as it
    takes to ask for that much.

    Parameters and results are those of `mixed`.

    Raises
    ------
    InputError
        A station with `rates`, one with priorities or weights and several servers, one that arrivals
        saturate, or a class that takes no time.
    TypeError
        An argument is of the wrong kind.
    WorkError
        A fixed point was not reached.
    """
    network = Network.of(stations, customers)
    network.check_unsaturated()
    solution = _within_capacity(network, FixedPoint(network, by_discipline=True).solve(CORRECTIONS))
    as_given = [
        replace(station, demand_s=tuple(row))
        for station, row in zip(network.stations, network.demands.tolist(), strict=True)
    ]
    disciplines = {station.discipline for station in network.stations if not station.delay}
    disciplines = disciplines - {"ps"} or disciplines
    errors = tuple(
        Assumption(f"an error is accepted: {ERRORS[one]}") for one in DISCIPLINES if one in disciplines
    )
    arrive = (POISSON,) if network.open.any() else ()
    urgent = _urgent(network, solution)
    return Prediction(
        method="approximate MVA by discipline",
        source="Bryant, Krzesinski, Lakshmi and Chandy, ACM TOCS 2 (1984); Reiser, IBM Journal 23 (1979)",
        quantities=class_quantities(as_given, solution.throughput, solution.residence),
        assumptions=(*arrive, ROUTING, *urgent, *errors),
    )


def _within_capacity(network: Network, solution: Solution) -> Solution:
    """Solution in which closed classes use no more of a station than open ones leave, the busiest first."""
    throughput, residence = solution.throughput.copy(), solution.residence.copy()
    closed = ~network.open & (throughput > 0.0)
    for _ in network.stations:
        used = (network.demands * np.where(closed, throughput, 0.0)).sum(axis=1)
        load = used / (network.capacity - network.offered)
        busiest = int(np.argmax(load))
        if load[busiest] <= 1.0:
            break
        waits = closed & (network.demands[busiest] > 0.0)
        slower = throughput[waits] / load[busiest]
        residence[busiest, waits] += network.users[waits] * (1.0 / slower - 1.0 / throughput[waits])
        throughput[waits] = slower
    return replace(solution, throughput=throughput, residence=residence)


def _urgent(network: Network, solution: Solution) -> tuple[Assumption, ...]:
    """Conditions on the utilisation by more urgent classes at stations that have priorities."""
    last = max((one.priority for one in network.customers), default=0)
    urgent = np.array([one.priority < last for one in network.customers])
    found = []
    for station, demands in zip(network.stations, network.demands, strict=True):
        if "priority" in station.discipline and not station.delay:
            used = float((demands * solution.throughput)[urgent].sum())
            text = f"more urgent classes use at most {URGENT_MOST:.0%} of station {station.name}"
            found.append(Assumption(text, used <= URGENT_MOST, f"{used:.0%}"))
    return tuple(found)


def _closed(stations: Sequence[Station], users: Sequence[int], think_s: Sequence[Known]) -> Network:
    """Network of closed classes, from the arguments of `mva_classes`."""
    stations, demands, population, think = as_classes(stations, users, think_s)
    classes = len(population)
    return Network(
        stations=stations,
        customers=(),
        demands=demands,
        visits=np.ones_like(demands),
        open=np.zeros(classes, dtype=np.bool_),
        users=np.array(population, dtype=np.float64),
        think=think,
        arrivals=np.zeros(classes),
    )


def _predicted(
    method: str, source: str, network: Network, solution: Solution, errors: tuple[str, str]
) -> Prediction:
    """Prediction that states the error with one server, or with several."""
    several = any(1 < station.servers < np.inf for station in network.stations)
    where = SEVERAL_SERVERS if several else ONE_SERVER
    error = Assumption(f"an error is accepted: {MEASURED} {errors[several]} {where}")
    return Prediction(
        method=method,
        source=source,
        quantities=class_quantities(network.stations, solution.throughput, solution.residence),
        assumptions=(*class_assumptions(network.stations), error),
    )
