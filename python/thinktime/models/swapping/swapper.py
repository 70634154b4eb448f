"""Swapper of a time-sharing system as a Markov chain over the places of the processes.

The outer of two models: processes pause, become ready, wait outside and are swapped; `loaded_network` gives
the rates of their work at disk and CPU.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray
from scipy import special

from thinktime.errors import InputError
from thinktime.models.swapping.loaded_network import Rates

Array = NDArray[np.float64]

STATES_MAX = 60_000
"""Largest number of states that are solved: a few seconds of work."""

STAYS_MAX = 500.0
"""Interactions in the minimum time in memory beyond which no process stays that long."""


class Swap(IntEnum):
    """State of the swapper."""

    NONE = 0
    OUT = 1
    """A pausing process is being swapped out."""
    OUT_READY = 2
    """The process being swapped out has become ready, or was ready from the start."""
    IN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Rules of swapping."""

    processes: int
    """Number of all processes."""
    fit: int
    """Number that fits into memory."""
    think_s: float
    """Mean pause; 0 if processes never pause."""
    minimum_time_in_s: float
    minimum_time_out_s: float
    """A ready process is swapped out only after this time in memory, for one that is outside this long."""

    @property
    def states(self) -> int:
        """Number of states that are reached: memory is full while a process is outside or swapped."""
        out = self.processes - self.fit
        return 3 * self.fit * out + self.processes + self.fit + 1 if out else self.fit + 1

    def check(self) -> None:
        """Check the number of states.

        Raises
        ------
        InputError
            There are too many to be solved.
        """
        if self.states > STATES_MAX:
            raise InputError(
                f"processes is {self.processes}, of which {self.fit} fit into memory: that has {self.states} "
                f"states, and {STATES_MAX} are solved; give fewer processes, or more or less memory"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Means over time."""

    interactions_per_s: float
    swaps_per_s: float
    forced_per_s: float
    """Rates of completed interactions; of swaps in and out; of ready processes swapped out."""
    active: float
    pausing: float
    pausing_out: float
    ready_out: float
    """Numbers of processes that are loaded and do not pause; pause in memory; pause outside; are ready
    outside."""
    swapping: float
    utilisation: float
    queue: float
    """Fraction of the time with a swap; utilisation of the files' controller; requests there."""


_State = tuple[int, int, int, Swap]
"""Loaded and not pausing; pausing in memory; pausing outside; the swap under way."""


def balance(rules: Rules, rates: Rates) -> Shares:
    """Means over time of the Markov chain.

    The swapper swaps in ready processes while memory suffices, then swaps out a pausing process to make room,
    one swap after the other. Pauses, interactions and swaps take exponential times.
    """
    states, flows = _reached(rules, rates)
    chances = _stationary(len(states), flows)
    active, pausing, pausing_out, swap = np.array(states, dtype=np.int64).T
    swapping = (swap != Swap.NONE).astype(np.int64)
    forced = np.array([_forced(rules, rates, state) for state in states])

    def mean(values: Array | NDArray[np.int64]) -> float:
        return float(chances @ values)

    return Shares(
        interactions_per_s=mean(rates.interactions_per_s[active, swapping]),
        swaps_per_s=mean(np.where(swapping == 1, rates.swaps_per_s[active, 1], 0.0)),
        forced_per_s=mean(forced),
        active=mean(active),
        pausing=mean(pausing),
        pausing_out=mean(pausing_out),
        ready_out=mean(rules.processes - active - pausing - pausing_out - swapping),
        swapping=mean(swapping),
        utilisation=mean(rates.utilisation[active, swapping]),
        queue=mean(rates.queue[active, swapping]),
    )


def _reached(rules: Rules, rates: Rates) -> tuple[list[_State], list[tuple[int, int, float]]]:
    """States that can be reached, and the rates between them."""
    first: _State = (min(rules.fit, rules.processes), 0, 0, Swap.NONE)
    index = {_decided(rules, first): 0}
    todo, flows = deque(index), []
    while todo:
        state = todo.popleft()
        for following, rate in _events(rules, rates, state):
            after = _decided(rules, following)
            if after not in index:
                index[after] = len(index)
                todo.append(after)
            flows.append((index[state], index[after], rate))
    return list(index), flows


def _ready_out(rules: Rules, state: _State) -> int:
    active, pausing, pausing_out, swap = state
    return rules.processes - active - pausing - pausing_out - (swap != Swap.NONE)


def _decided(rules: Rules, state: _State) -> _State:
    """State after an idle swapper has begun a swap, if there is one to begin."""
    active, pausing, pausing_out, swap = state
    if swap != Swap.NONE or _ready_out(rules, state) == 0:
        return state
    if active + pausing < rules.fit:
        return active, pausing, pausing_out, Swap.IN
    if pausing:
        return active, pausing - 1, pausing_out, Swap.OUT
    return state


def _events(rules: Rules, rates: Rates, state: _State) -> Iterator[tuple[_State, float]]:
    """Transitions from a state, with their rates."""
    active, pausing, pausing_out, swap = state
    swapping = int(swap != Swap.NONE)
    ready_s = _inverse(rules.think_s)
    if active and rules.think_s > 0.0:
        yield (active - 1, pausing + 1, pausing_out, swap), rates.interactions_per_s[active, swapping]
    if pausing:
        yield (active + 1, pausing - 1, pausing_out, swap), pausing * ready_s
    if pausing_out:
        yield (active, pausing, pausing_out - 1, swap), pausing_out * ready_s
    ended = rates.swaps_per_s[active, 1]
    if swap == Swap.OUT:
        yield (active, pausing, pausing_out, Swap.OUT_READY), ready_s
        yield (active, pausing, pausing_out + 1, Swap.NONE), ended
    elif swap == Swap.OUT_READY:
        yield (active, pausing, pausing_out, Swap.NONE), ended
    elif swap == Swap.IN:
        yield (active + 1, pausing, pausing_out, Swap.NONE), ended
    if (forced := _forced(rules, rates, state)) > 0.0:
        yield (active - 1, pausing, pausing_out, Swap.OUT_READY), forced


def _forced(rules: Rules, rates: Rates, state: _State) -> float:
    r"""Rate at which a ready process is swapped out because none pauses.

    .. math:: \frac{a\, c}{e^{c\, t_{in}} - 1} \Pr\{N(a\, c\, t_{out}) < w\}

    A process that completes interactions at rate c needs :math:`(e^{c\, t_{in}} - 1) / c` on average until it
    has been in memory for the minimum time without a pause. One of w waiting processes has been out for the
    minimum time if fewer than w interactions, of all a loaded processes, were completed in it.
    """
    active, _, _, swap = state
    waiting = _ready_out(rules, state)
    if swap != Swap.NONE or waiting == 0 or active == 0:
        return 0.0
    ended = float(rates.interactions_per_s[active, 0]) if rules.think_s > 0.0 else 0.0
    stays = min(ended / active * rules.minimum_time_in_s, STAYS_MAX)
    process_per_s = ended / active / math.expm1(stays) if stays > 0.0 else 1.0 / rules.minimum_time_in_s
    most = min(active * process_per_s, waiting / rules.minimum_time_out_s)
    return most * _fewer(waiting, ended * rules.minimum_time_out_s)


def _inverse(seconds: float) -> float:
    return math.inf if seconds == 0.0 else 1.0 / seconds


def _fewer(than: int, mean: float) -> float:
    """Probability that a Poisson variable is below `than`."""
    return float(special.pdtr(than - 1, mean))


def _stationary(number: int, flows: list[tuple[int, int, float]]) -> Array:
    """Probabilities of the states, from the flows between them."""
    from scipy import sparse
    from scipy.sparse.linalg import spsolve

    if number == 1:
        return np.ones(1)
    source, target, rate = (np.array(column) for column in zip(*flows, strict=True))
    into = sparse.coo_matrix((rate, (target, source)), shape=(number, number)).tocsr()
    out = np.bincount(source, weights=rate, minlength=number)
    flow = (into - sparse.diags(out)).tocsc()
    # One balance equation follows from the others: the first state is given the weight 1 instead.
    others = spsolve(flow[1:, 1:].tocsc(), -flow[1:, [0]].toarray().ravel())
    weights = np.concatenate([[1.0], np.atleast_1d(others)])
    chances: Array = weights / weights.sum()
    return chances
