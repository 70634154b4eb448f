"""Closed networks that are too large to be solved exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thinktime.errors import InputError, WorkError
from thinktime.models.networks import Station, as_classes, class_assumptions, class_quantities
from thinktime.models.prediction import Assumption, Prediction

__all__ = ["linearizer", "schweitzer"]

Array = NDArray[np.float64]

STEPS_MAX = 100_000
TOLERANCE = 1e-11
CORRECTIONS = 3
"""How often the linearizer corrects its differences: as published."""

MEASURED = (
    "against exact solutions of 200 random networks of 2 classes, 2 to 5 stations of one server, and 1 to 12"
    " users a class, throughputs differ by"
)
SERVERS = Assumption("stations of several servers may be taken as a faster one and a delay (Seidmann)")


def schweitzer(stations: Sequence[Station], users: Sequence[int], think_s: Sequence[float]) -> Prediction:
    r"""Solve a closed network with several classes approximately: Bard and Schweitzer's fixed point.

    .. math:: R_{kr} = D_{kr} \left(1 + Q_k - \frac{Q_{kr}}{N_r}\right), \quad
              X_r = \frac{N_r}{Z_r + \sum_k R_{kr}}, \quad Q_{kr} = X_r R_{kr}

    A user who arrives is taken to see what all users make, less its own share. Time does not depend on the
    number of users. A station of m servers is a server m times as fast and a delay of D (m - 1) / m
    (Seidmann, Schweitzer and Shalev-Oren, Large Scale Systems 12 (1987)).

    Parameters and results are those of `networks.mva_classes`.

    Raises
    ------
    InputError
        As there; or a station with `rates`.
    WorkError
        The fixed point was not reached.
    """
    queueing, delay, population, think = _inputs(stations, users, think_s)
    classes = len(population)
    nothing = np.zeros((len(stations), classes, classes))
    (residence,), _ = _core(queueing, delay, population[None], think, nothing)
    source = "Schweitzer, International Conference on Stochastic Control and Optimization (1979)"
    error = Assumption(f"an error is accepted: {MEASURED} 3 % on average and at most 20 %")
    return _predict("Bard and Schweitzer's approximate MVA", source, stations, users, think, residence, error)


def linearizer(stations: Sequence[Station], users: Sequence[int], think_s: Sequence[float]) -> Prediction:
    r"""Solve a closed network with several classes approximately: Chandy and Neuse's linearizer.

    Schweitzer's fixed point takes the share of class r at station k, :math:`Y_{kr} = Q_{kr} / N_r`, not to
    change when one user of class s is missing. Here it changes by

    .. math:: F_{krs} = Y_{kr}(N - 1_s) - Y_{kr}(N)

    which is computed from fixed points for N and for each :math:`N - 1_s` with the F of before, three times.
    Costs the square of the number of classes as much. Several servers are taken as in `schweitzer`.

    Parameters and results are those of `networks.mva_classes`. Chandy and Neuse, CACM 25 (1982), 126-134.

    Raises
    ------
    InputError
        As there; or a station with `rates`.
    WorkError
        A fixed point was not reached.
    """
    queueing, delay, population, think = _inputs(stations, users, think_s)
    classes = len(population)
    all_and_less = np.concatenate([population[None], np.maximum(population - np.eye(classes), 0.0)])
    change = np.zeros((len(stations), classes, classes))
    for _ in range(CORRECTIONS):
        _, share = _core(queueing, delay, all_and_less, think, change)
        change = np.moveaxis(share[1:] - share[0], 0, 2)
    (residence,), _ = _core(queueing, delay, population[None], think, change)
    source = "Chandy and Neuse, Communications of the ACM 25 (1982)"
    error = Assumption(f"an error is accepted: {MEASURED} 0.2 % on average and at most 2 %")
    return _predict("linearizer", source, stations, users, think, residence, error)


def _inputs(
    stations: Sequence[Station], users: Sequence[int], think_s: Sequence[float]
) -> tuple[Array, Array, Array, Array]:
    """Demands that wait and demands that do not, users and think times."""
    demands, population, think = as_classes(stations, users, think_s)
    for station in stations:
        if station.rates is not None:
            raise InputError(f"station {station.name}: rates cannot be approximated; give servers")
    queueing = demands / np.array([station.servers for station in stations])[:, None]
    return queueing, demands - queueing, np.array(population, dtype=np.float64), think


def _core(queueing: Array, delay: Array, users: Array, think: Array, change: Array) -> tuple[Array, Array]:
    """Residence times and shares in queues, of each population (a row of `users`), station and class."""
    # Those seen by class s: all of each class r but one of class s, each with its share at the station.
    here = (users > 0.0)[:, None, :]
    own = np.einsum("kss->ks", change)
    moved = np.einsum("pr,krs->pks", users, change) - here * own
    share = np.full((len(users), *queueing.shape), 1.0 / max(1, len(queueing))) * (queueing > 0.0)
    for _ in range(STEPS_MAX):
        seen = (share * users[:, None, :]).sum(axis=2, keepdims=True) - here * share + moved
        waited: Array = queueing * (1.0 + np.maximum(seen, 0.0))
        residence = waited + delay
        before, share = share, waited / (think + residence.sum(axis=1))[:, None, :]
        if np.abs(share - before).max(initial=0.0) <= TOLERANCE:
            return residence, share
    raise WorkError(f"approximate MVA is not at its fixed point after {STEPS_MAX} steps")


def _predict(
    method: str,
    source: str,
    stations: Sequence[Station],
    users: Sequence[int],
    think: Array,
    residence: Array,
    error: Assumption,
) -> Prediction:
    population = np.array(users)
    present = population > 0
    throughput = np.where(present, population / (think + residence.sum(axis=0)), 0.0)
    quantities = class_quantities(stations, throughput, np.where(present, residence, 0.0))
    several = any(1 < station.servers < np.inf for station in stations)
    needed = (*class_assumptions(stations), error, *((SERVERS,) if several else ()))
    return Prediction(method, source, quantities, needed)
