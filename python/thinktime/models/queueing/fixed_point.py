"""Fixed points of approximate mean value analysis: shares and probabilities at which all equations hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from thinktime.errors import InputError, WorkError
from thinktime.models.queueing.customers import Network

Array = NDArray[np.float64]

STEPS_MAX, STEPS_CORRECTED = 100_000, 3000
TOLERANCE = 1e-11
"""Change of a share or probability in one step at which approximate MVA is at its fixed point."""
CORRECTIONS = 3
"""Number of corrections of the linearizer's differences, as published."""
DAMPING = 0.7
"""Part of a step that is taken where stations have several servers or treat classes differently."""
IDLE_LEAST = 1e-12
"""Least mean number of idle servers, which an approximation could otherwise round below 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Equations' state: everything that an arriving customer may see, in arrays.

    Axes: p populations, k stations, j numbers, r classes that are there, s classes that arrive.
    """

    there: Array
    """Mean numbers of each class, seen by an arrival of each class: p, k, r, s."""
    chances: Array
    """Probabilities of each number below the servers', seen by an arrival of each class: p, k, j, s."""
    throughput: Array
    """Throughput of each class: p, r."""


Rule = Callable[[Seen], Array]
"""Residence times (p, s) at one station, of each class that arrives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """Solution of a population."""

    residence: Array
    """Residence times: stations, classes [s]."""
    throughput: Array
    """Throughput of each class [1/s]."""


@dataclass(frozen=True, slots=True)
class FixedPoint:
    """Equations of approximate mean value analysis of a network."""

    network: Network
    by_discipline: bool = False
    """Apply the rule of each station's discipline; else all stations are of product form."""

    @property
    def servers(self) -> Array:
        """Servers of each station; 1 for a delay."""
        return np.array([1.0 if station.delay else station.servers for station in self.network.stations])

    def solve(self, corrections: int) -> Solution:
        """Fixed point for all users, with differences corrected a number of times: 0 is Schweitzer's.

        Raises
        ------
        InputError
            A station has rates, or priorities and several servers.
        WorkError
            A fixed point was not reached.
        """
        for station in self.network.stations:
            if station.rates is not None:
                raise InputError(f"station {station.name}: rates cannot be approximated; give servers")
        users, servers = self.network.users, self.servers
        classes = len(users)
        all_and_less = np.concatenate([users[None], np.maximum(users - np.eye(classes), 0.0)])
        change = np.zeros((len(servers), classes, classes))
        seen = np.ones((len(servers), int(servers.max()), classes))
        share = np.where(self.network.open, 0.0, 1.0 / len(servers)) * (self.network.demands > 0.0)
        share = np.broadcast_to(share, (len(all_and_less), *share.shape))
        chances = np.zeros((len(all_and_less), *seen.shape[:2]))
        chances[:, :, 0] = 1.0
        tried, start = [(change, seen)], (share, chances)
        for _ in range(corrections):
            reached = self._reached(all_and_less, *tried[-1], start)
            if reached is None:
                break
            _, share, chances, _ = reached
            change = np.moveaxis(share[1:] - share[0], 0, 2)
            with np.errstate(divide="ignore", invalid="ignore"):
                seen = np.moveaxis(np.where(chances[0] > 0.0, chances[1:] / chances[0], 1.0), 0, 2)
            tried.append((change, seen))
            start = (share, chances)
        # Where stations treat classes differently, the last corrections may have no fixed point.
        last = start[0][:1], start[1][:1]
        found = None
        while found is None and tried:
            found = self._reached(users[None], *tried.pop(), last)
        if found is None:
            raise WorkError("approximate MVA does not come to a fixed point; simulate the network instead")
        (residence,), _, _, state = found
        present = self.network.open | (users > 0.0)
        return Solution(
            residence=np.where(present, residence, 0.0),
            throughput=state.throughput[0],
        )

    def _reached(
        self, users: Array, change: Array, seen: Array, start: tuple[Array, Array]
    ) -> tuple[Array, Array, Array, Seen] | None:
        """Residence times, shares and probabilities of each population, a row of `users`.

        None if they do not come to rest: without corrections after many steps, with them after fewer.
        """
        network = self.network
        # A closed class has its users times its share at a station, an open one its number.
        scale = np.where(network.open, 1.0, users)[:, None, :, None]
        itself = np.eye(users.shape[1]) * (users > 0.0)[:, None, None, :]
        share, chances = start
        throughput = self._per_user(network.demands.sum(axis=0)) * np.where(network.open, 1.0, users)
        rules = self._rules(users) if self.by_discipline else {}
        part = DAMPING if seen.shape[1] > 1 or self.by_discipline else 1.0
        for _ in range(STEPS_CORRECTED if change.any() else STEPS_MAX):
            state = Seen(
                there=np.maximum((share[..., None] + change) * (scale - itself), 0.0),
                chances=chances[..., None] * seen,
                throughput=throughput,
            )
            residence = self._shared(users.sum(axis=1), state)
            for station, rule in rules.items():
                residence[:, station] = rule(state)
            per_user = self._per_user(residence.sum(axis=1))
            throughput = per_user * np.where(network.open, 1.0, users)
            new_share = residence * per_user[:, None, :]
            new_chances = self._chances(network.demands * throughput[:, None, :], seen, users.sum(axis=1))
            moves = np.abs(new_share - share).max(), np.abs(new_chances - chances).max()
            share, chances = share + part * (new_share - share), chances + part * (new_chances - chances)
            if max(moves) <= TOLERANCE * max(1.0, float(share.max())):
                return residence, share, chances, replace(state, throughput=throughput)
        return None

    def _per_user(self, response: Array) -> Array:
        """Interactions per second of one user, of an open class of all, at a response time."""
        cycle = self.network.think + response
        closed = 1.0 / np.where(cycle > 0.0, cycle, 1.0)
        return np.where(self.network.open, self.network.arrivals, closed)

    def _chances(self, busy: Array, seen: Array, total: Array) -> Array:
        """Probabilities that fewer users than servers are at a station, from the work per second `busy`."""
        servers, number = self.servers[:, None], np.arange(seen.shape[1])
        relative = np.ones((*busy.shape[:2], len(number)))
        steps = np.einsum("pkr,kjr->pkj", busy, seen[:, :-1]) / np.arange(1, len(number))
        relative[:, :, 1:] = np.cumprod(steps, axis=2)
        possible = (number <= total[:, None, None]) | (self.network.offered > 0.0)[:, None]
        relative *= possible & (number < servers)
        idle = np.maximum(self.servers - busy.sum(axis=2), IDLE_LEAST)
        weight = np.maximum(servers - number, 0.0)
        chances = relative * (idle / (weight * relative).sum(axis=2))[:, :, None]
        normalised: Array = chances / np.maximum(1.0, chances.sum(axis=2, keepdims=True))
        return normalised

    def _shared(self, total: Array, state: Seen) -> Array:
        """Residence at all stations if they are of product form: p, k, s."""
        servers, demands = self.servers[:, None], self.network.demands
        free = np.maximum(servers - 1.0 - np.arange(state.chances.shape[2]), 0.0)
        met = 1.0 + state.there.sum(axis=2) + np.einsum("kj,pkjs->pks", free, state.chances)
        delays = np.array([station.delay for station in self.network.stations])
        queues = ~delays & ((total[:, None] > self.servers) | (self.network.offered > 0.0))
        residence: Array = np.where(queues[..., None], demands * np.maximum(1.0, met / servers), demands)
        return residence

    def _rules(self, users: Array) -> dict[int, Rule]:
        """Rules of the stations that are not of product form, by their discipline."""
        rules: dict[int, Rule] = {}
        for station, described in enumerate(self.network.stations):
            discipline = described.discipline
            if described.delay or discipline == "ps":
                continue
            if described.servers > 1 and discipline != "fcfs":
                raise InputError(f"station {described.name}: {discipline} has one server; give servers 1")
            if discipline == "fcfs":
                rules[station] = partial(self._in_order, station, users)
            elif discipline == "dps":
                rules[station] = partial(self._by_weight, station)
            else:
                rules[station] = partial(self._by_priority, station, users, discipline)
        return rules

    def _by_weight(self, station: int, state: Seen) -> Array:
        """Residence at a station that is shared in the ratio of the classes' weights."""
        weights = np.array([one.weight for one in self.network.customers])
        met = np.einsum("prs,rs->ps", state.there[:, station], weights[:, None] / weights)
        residence: Array = self.network.demands[station] * (1.0 + met)
        return residence

    def _free(self, station: int, state: Seen) -> Array:
        """Mean number of servers that an arrival finds free besides the one that it takes."""
        servers = self.servers[station]
        free = np.maximum(servers - 1.0 - np.arange(state.chances.shape[2]), 0.0)
        result: Array = np.einsum("j,pjs->ps", free, state.chances[:, station])
        return result

    def _work(self, station: int, users: Array, state: Seen) -> tuple[Array, Array, Array]:
        """Service time of a visit; numbers in service, and waiting, that an arrival of s sees: p, r, s."""
        per_visit = self.network.demands[station] / self.network.visits[station]
        others = users[:, :, None] - np.eye(users.shape[1])
        part = np.where(
            self.network.open[:, None], 1.0, np.maximum(others, 0.0) / np.maximum(users, 1.0)[..., None]
        )
        busy = (state.throughput * self.network.demands[station])[:, :, None] * part
        return per_visit, busy, np.maximum(state.there[:, station] - busy, 0.0)

    def _residual(self, station: int) -> float:
        """Remaining part of the service time under way that an arrival finds: (1 + c^2) / 2."""
        variation = self.network.stations[station].variation
        return 1.0 if variation is None else (1.0 + variation**2) / 2.0

    def _in_order(self, station: int, users: Array, state: Seen) -> Array:
        """Residence at a station that serves in order of arrival."""
        servers, number = self.servers[station], np.arange(state.chances.shape[2])
        per_visit, busy, waiting = self._work(station, users, state)
        below = number < servers
        all_busy = np.maximum(1.0 - state.chances[:, station][:, below].sum(axis=1), 0.0)
        ahead = state.there[:, station].sum(axis=1) + self._free(station, state) - (servers - 1.0)
        queue = np.maximum(ahead - all_busy, 0.0)

        def mean(counts: Array) -> Array:
            total = counts.sum(axis=1)
            weighted = np.einsum("prs,r->ps", counts, per_visit)
            result: Array = np.where(total > 0.0, weighted / np.where(total > 0.0, total, 1.0), 0.0)
            return result

        wait = (queue * mean(waiting) + all_busy * self._residual(station) * mean(busy)) / servers
        residence: Array = self.network.demands[station] + self.network.visits[station] * wait
        return residence

    def _by_priority(self, station: int, users: Array, discipline: str, state: Seen) -> Array:
        """Residence at a station with priorities: higher classes delay, and lower ones only in service."""
        per_visit, busy, waiting = self._work(station, users, state)
        preemptive = discipline == "preemptive_priority"
        priority = np.array([one.priority for one in self.network.customers])
        alike, before = priority[:, None] == priority, priority[:, None] < priority
        in_service = alike if preemptive else ~before
        ahead = np.einsum(
            "prs,r->ps", waiting * alike + busy * in_service * self._residual(station), per_visit
        )
        drained, stretch = self._more_urgent(station, users, before, state)
        demands, visits = self.network.demands[station], self.network.visits[station]
        residence: Array = visits * (ahead * stretch + drained) + demands * (stretch if preemptive else 1.0)
        return residence

    def _more_urgent(
        self, station: int, users: Array, before: NDArray[np.bool_], state: Seen
    ) -> tuple[Array, Array]:
        r"""Time until the more urgent customers found are served, and time per second of service: p, s.

        From j of them the mean time to j - 1 is :math:`b_j = s (1 + \lambda_j b_{j+1})`: others arrive
        meanwhile, at the constant rate of open classes and from the users who are elsewhere.
        """
        network, demands, visits = self.network, self.network.demands[station], self.network.visits[station]
        drained, stretch = np.zeros(users.shape), np.ones(users.shape)
        for population, customer in np.ndindex(users.shape):
            urgent = before[:, customer] & (demands > 0.0)
            rates = state.throughput[population] * visits * urgent
            if not rates.any():
                continue
            service = float(rates @ (demands / visits)) / float(rates.sum())
            there = state.there[population, station, :, customer] * urgent
            closed = urgent & ~network.open
            number, elsewhere = float(users[population] @ closed), float((users[population] - there) @ closed)
            rate = float(rates @ closed) / max(elsewhere, IDLE_LEAST)
            outside = float(rates @ network.open)
            times = _drain_times(service, rate, int(number), outside)
            found = float(there @ (demands / visits)) / service
            whole = min(int(found), len(times) - 1)
            drained[population, customer] = sum(times[:whole]) + (found - whole) * times[whole]
            stretch[population, customer] = 1.0 + (number * rate + outside) * times[0]
        return drained, stretch


def _drain_times(service: float, rate: float, users: int, outside: float) -> list[float]:
    """Mean times from 1 customer to 0, from 2 to 1, ...; the last holds for more than all users."""
    times = [service / max(1.0 - outside * service, IDLE_LEAST)]
    for number in range(users, 0, -1):
        times.append(service * (1.0 + ((users - number) * rate + outside) * times[-1]))
    times.reverse()
    return times
