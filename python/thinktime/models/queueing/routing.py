"""Visits of an interaction to stations, from the probabilities of where it goes next."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from thinktime.errors import InputError
from thinktime.stats import arguments

Array = NDArray[np.float64]

LEAVE = "leave"
"""Name of the end of an interaction in a table of routes."""
ROUNDING = 1e-9
"""Error of a sum of probabilities that is taken for rounding."""

Route: TypeAlias = Mapping[str, "Mapping[str, float] | str"]
"""By station the probabilities of the next one, and under ``"start"`` the first or probabilities of it."""


def transitions(
    routes: Mapping[Hashable, Mapping[Hashable, float]], start: Hashable | Mapping[Hashable, float]
) -> tuple[tuple[Hashable, ...], Array, Array]:
    """Places, probabilities of the first, and probabilities from each (rows) to each.

    Parameters and errors are those of `visits`.
    """
    if not isinstance(routes, Mapping) or not routes:
        raise TypeError(f"routes is {arguments.shown(routes)}; give a table of places")
    places = {place: index for index, place in enumerate(routes)}
    first = start if isinstance(start, Mapping) else {start: 1.0}
    begins = _probabilities(first, places, "start")
    if abs(begins.sum() - 1.0) > ROUNDING:
        raise InputError(f"start adds to {begins.sum():g}; give probabilities that add to 1")
    moves = np.array([_probabilities(after, places, f"routes[{place!r}]") for place, after in routes.items()])
    reached = begins > 0.0
    for _ in places:
        reached = reached | (moves[reached] > 0.0).any(axis=0)
    leaves = moves.sum(axis=1) < 1.0 - ROUNDING
    for _ in places:
        leaves = leaves | (moves[:, leaves] > 0.0).any(axis=1)
    for place, index in places.items():
        if reached[index] and not leaves[index]:
            raise InputError(f"routes[{place!r}]: an interaction that is there never leaves; add {LEAVE!r}")
    return tuple(places), begins, moves


def visits(
    routes: Mapping[Hashable, Mapping[Hashable, float]], start: Hashable | Mapping[Hashable, float]
) -> dict[Hashable, float]:
    r"""Mean number of visits of an interaction to each place, by the traffic equations.

    .. math:: v_j = q_j + \sum_i v_i p_{ij}

    A place is a station, or, for interactions that change their class on the way, a pair of class and
    station: the classes that an interaction can become are a chain, and a chain is one class of the models of
    networks, with the demand :math:`D_k = \sum_r v_{kr} s_{kr}` at station k (Bruell and Balbo,
    *Computational Algorithms for Closed Queueing Networks* (1980)). Means of class r are those of the chain
    times :math:`v_{kr} s_{kr} / D_k` for queues, and times :math:`v_{kr}` for throughputs.

    Parameters
    ----------
    routes : mapping
        For each place, the probabilities of the next; ``"leave"`` is the end of the interaction. What is
        missing to 1 leaves too.
    start : place or mapping
        Place of the first visit, or probabilities of several.

    Raises
    ------
    InputError
        A place that has no routes, a probability out of range, probabilities that add to more than 1, or a
        place that an interaction never leaves.
    TypeError
        An argument is of the wrong kind.

    Examples
    --------
    >>> visits({"cpu": {"disk": 0.8}, "disk": {"cpu": 1.0}}, "cpu")
    {'cpu': 5.0, 'disk': 4.0}
    """
    places, begins, moves = transitions(routes, start)
    reached = begins > 0.0
    for _ in places:
        reached = reached | (moves[reached] > 0.0).any(axis=0)
    within = np.ix_(reached, reached)
    solved = np.linalg.solve(np.eye(int(reached.sum())) - moves[within].T, begins[reached])
    numbers = np.zeros(len(places))
    numbers[reached] = solved
    return {place: float(number) for place, number in zip(places, numbers, strict=True)}


def _probabilities(given: object, places: Mapping[Hashable, int], name: str) -> Array:
    """Probabilities of the places in their order."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{name} is {arguments.shown(given)}; give a table of probabilities")
    row, total = np.zeros(len(places)), 0.0
    for place, chance in given.items():
        checked = arguments.number(chance, f"{name}[{place!r}]", low=0.0, high=1.0)
        total += checked
        if place != LEAVE:
            if place not in places:
                raise InputError(f"{name}: {place!r} has no routes of its own; give {{{place!r}: ...}}")
            row[places[place]] = checked
    if total > 1.0 + ROUNDING:
        raise InputError(f"{name} adds to {total:g}; give probabilities that add to at most 1")
    return row
