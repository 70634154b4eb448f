"""Fixed point of the model of demand paging: pools, processors and users that are consistent.

The rate of page faults depends on the number of eligible processes and their speed, and these on the rate of
page faults. The parts are solved in turn, each from the results of the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.models.paging import multiprogramming, page_pool
from thinktime.models.paging.clock import Pace
from thinktime.models.paging.configuration import Paging
from thinktime.models.paging.lockout import PAGE_FAULT, SEGMENT_FAULT
from thinktime.models.paging.multiprogramming import Demand, Level
from thinktime.models.paging.page_pool import Loads, Use
from thinktime.models.paging.stays import Lifetime, Stays, cut_into_stays

Array = NDArray[np.float64]

PAGES_OF_HEADWAY = 32.0
SEGMENTS_OF_HEADWAY = 8.0
"""Numbers of places for which the headways are given."""
STAYS_MAX = 12
"""Stays of an interaction, each with its quantum; the last takes what remains."""
ROUNDS = 25
"""Bound on the rounds of pools and users."""
CLOSE = 2e-3
"""Relative change of the result with which the rounds end: above the errors of the pools' solution, 1e-3."""
FIRST_ROUNDS = 4
"""Rounds of the mean number of first stays and its distribution."""
FEWEST = 1e-6
"""Number of users or of later stays in place of zero as a divisor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Load:
    """Load of the pools: number and speed of eligible processes, and the time others are not eligible."""

    eligible: float
    paces: tuple[Pace, ...]
    """Paces of first stays, and of later ones."""
    away_s: tuple[float, float]
    """Time for which a process is not eligible, before an interaction and before a later stay."""
    charged: float
    """Processor time that counts against the quantum, over useful time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pools:
    """Pages and segments missed by an interaction, and its demands that follow."""

    pages: Loads
    segments: Loads
    stays: tuple[Stays, ...]
    demand: Demand

    @property
    def charged(self) -> float:
        """Processor time that counts against the quantum, over useful time."""
        demand = self.demand
        faults = (demand.page_faults, 0.0, 0.0, 0.0, demand.segment_faults, demand.gate_faults)
        return 1.0 + sum(n * s for n, s in zip(faults, demand.paths_s, strict=True)) / demand.useful_s

    @property
    def work_s(self) -> tuple[tuple[float, float], ...]:
        """Work proportional to useful time and work of page faults, by class of stay [s]."""
        demand = self.demand
        fault, getwork, drum, other, segment, gate = demand.paths_s
        fault_s = fault + 2.0 * getwork + 0.5 * (drum + other)
        stay_s = 2.0 * getwork + other
        share = 1.0 + (demand.segment_faults * segment + demand.gate_faults * gate) / demand.useful_s
        pairs = zip(self.stays, self.pages.misses, strict=True)
        return tuple((stay.useful_s * share + stay.number * stay_s, miss * fault_s) for stay, miss in pairs)

    @property
    def first(self) -> float:
        """Fraction of the work that is done in first stays."""
        sums = [sum(pair) for pair in self.work_s]
        return sums[0] / sum(sums)


def _pools(system: Paging, load: _Load, like: Pools | None = None) -> Pools:
    """Both pools solved for a load; `like` is the solution for a similar one."""
    quanta = [system.quantum_s * 2.0 ** min(level, system.levels - 1) for level in range(STAYS_MAX)]
    ends_s = (np.cumsum(quanta) / load.charged).tolist() if system.quantum_s < math.inf else []

    def pool(
        life: Lifetime, stays: tuple[Stays, ...], paces: tuple[Pace, ...], size: float, old: Loads | None
    ) -> Loads:
        if life.headway_s == math.inf:
            return Loads(
                misses=(0.0,) * len(stays),
                examined=0.0,
                held=0.0,
                revolution_s=math.inf,
                begin=np.zeros((2, 2)),
            )
        use = Use(
            stays=stays,
            paces=paces[: len(stays)],
            eligible=load.eligible,
            away_s=load.away_s,
            kept=system.kept,
        )
        return page_pool.solve(life, use, size, old)

    stays = cut_into_stays(system.programs, [program.pages for program in system.programs], ends_s)
    life = Lifetime(headway_s=system.headway_s, exponent=system.exponent, places=PAGES_OF_HEADWAY)
    pages = pool(life, stays, load.paces, system.core - system.wired, like.pages if like else None)
    # Page faults are part of the pace at which segments are missed.
    paces = tuple(
        Pace(
            useful=pace.useful + pace.miss_s * misses / stay.useful_s,
            miss_s=system.paths_s[SEGMENT_FAULT] * pace.useful,
        )
        for stay, misses, pace in zip(stays, pages.misses, load.paces, strict=False)
    )
    parts = cut_into_stays(system.programs, [program.segments for program in system.programs], ends_s)
    life = Lifetime(headway_s=system.segment_headway_s, exponent=system.exponent, places=SEGMENTS_OF_HEADWAY)
    segments = pool(life, parts, paces, system.active_segments, like.segments if like else None)
    return Pools(pages=pages, segments=segments, stays=stays, demand=_demand(system, pages, segments, stays))


def _demand(system: Paging, pages: Loads, segments: Loads, stays: tuple[Stays, ...]) -> Demand:
    """Demands of an interaction that misses these pages and segments."""
    misses = sum(pages.misses)
    looked_s = system.examine_s * pages.examined / misses if misses > 0.0 else 0.0
    number = sum(item.number for item in stays)
    return Demand(
        useful_s=system.useful_s,
        page_faults=misses,
        segment_faults=sum(segments.misses),
        gate_faults=system.useful_s / system.gate_headway_s,
        writes=system.modified * misses if pages.full else 0.0,
        interrupts=system.lines + number,
        stays=number,
        first_faults=pages.misses[0] / misses if misses > 0.0 else 1.0,
        paths_s=(system.paths_s[0] + looked_s, *system.paths_s[1:]),
    )


def _paces(pools: Pools, per_s: float, eligible: tuple[float, float], page_wait_s: float) -> tuple[Pace, ...]:
    """Real time that processes of each class need, for a number of eligible processes and a throughput.

    Waiting for a processor stretches all work of a class by one factor, so that page waits and work fill its
    time.
    """
    result = []
    for work, stay, misses, number in zip(
        pools.work_s, pools.stays, pools.pages.misses, eligible, strict=False
    ):
        of_useful_s, of_misses_s = work
        stretch = max((number / per_s - misses * page_wait_s) / (of_useful_s + of_misses_s), 1.0)
        miss_s = page_wait_s + stretch * of_misses_s / max(misses, FEWEST)
        result.append(
            Pace(useful=stretch * of_useful_s / stay.useful_s, miss_s=max(miss_s, FEWEST * stay.useful_s))
        )
    return tuple(result)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Balance:
    """Birth and death process of users who think or wait."""

    levels: tuple[Level, ...]
    """Levels of multiprogramming, from 0 eligible processes up."""
    weights: Array
    """Fractions of the time with 0, 1, ... eligible processes."""
    throughput_per_s: float
    active: float
    """Interactions in progress."""
    first: float
    """Eligible processes in their first stay."""
    first_waiting: float
    """Interactions that wait for their first stay."""

    @property
    def eligible(self) -> float:
        """Mean number of eligible processes."""
        return float(self.weights @ np.arange(len(self.weights)))

    def mean(self, name: str) -> Array:
        """Mean over time of an attribute of the levels."""
        pairs = zip(self.weights.tolist(), self.levels, strict=True)
        return np.asarray(sum(weight * np.asarray(getattr(level, name)) for weight, level in pairs))

    @property
    def page_wait_s(self) -> float:
        """Mean time from the request for a page until it is in core [s]."""
        wanted, faults_per_s = float(self.mean("pages_wanted")), float(self.mean("events_per_s")[PAGE_FAULT])
        return wanted / faults_per_s if faults_per_s > 0.0 else 0.0


def _balance(system: Paging, pools: Pools, unwaited_s: float, usual: float) -> Balance:
    """Birth and death process of interactions, served by the eligible processes."""
    most = min(system.users, math.ceil(system.max_eligible))
    levels = multiprogramming.levels(pools.demand, system.hardware, most, usual)
    served = np.array([level.throughput_per_s for level in levels])
    active = np.arange(system.users + 1)
    # A fraction of a process is one process for that fraction of the time.
    below, above = np.minimum(active, min(math.floor(system.max_eligible), most)), np.minimum(active, most)
    part = system.max_eligible - math.floor(system.max_eligible) or 1.0
    rates = (1.0 - part) * served[below] + part * served[above]
    chances = _chances((system.users - active[:-1]) / _think_s(system, unwaited_s), rates[1:])
    weights = np.zeros(most + 1)
    np.add.at(weights, above, chances * part)
    np.add.at(weights, below, chances * (1.0 - part))
    per_s = float(chances @ rates)
    first, waiting = _first(pools.first, per_s, rates, (1.0 - part) * below + part * above)
    return Balance(
        levels=levels,
        weights=weights,
        throughput_per_s=per_s,
        active=float(chances @ active),
        first=first,
        first_waiting=waiting,
    )


def _chances(up: Array, down: Array) -> Array:
    """Stationary probabilities of a birth and death process."""
    logs = np.concatenate([[0.0], np.cumsum(np.log(up) - np.log(down))])
    weights = np.exp(logs - logs.max())
    result: Array = weights / weights.sum()
    return result


def _first(part: float, per_s: float, rates: Array, eligible: Array) -> tuple[float, float]:
    """Mean numbers of eligible processes in their first stay, and of those that wait for it.

    First stays have priority over all others, and need the fraction `part` of the work: a separate birth and
    death process, with all users as its population.
    """
    number = np.arange(len(rates))
    mean = 0.0
    for _ in range(FIRST_ROUNDS):
        arrivals = per_s * (number[-1] - number[:-1]) / max(number[-1] - mean, FEWEST)
        chances = _chances(arrivals, rates[1:] / part)
        mean = float(chances @ number)
    return float(chances @ eligible), float(chances @ (number - eligible))


def _think_s(system: Paging, unwaited_s: float) -> float:
    r"""Mean time from the end of an interaction to the next, less the overlap of those not waited for.

    .. math:: Z' = Z - (1 - p)\, R (1 - e^{-Z / R})

    A user who does not wait thinks while the system works; with exponential response times the two overlap
    for this time. Interactions that nobody waits for are short: R is the response time of a first stay.
    """
    overlap_s = unwaited_s * -math.expm1(-system.think_s / unwaited_s)
    return system.think_s - (1.0 - system.waited) * overlap_s


def solve(system: Paging, *, thrashing: bool = False) -> tuple[Balance, Pools]:
    """Consistent state of users and pools.

    There may be two: a machine that completes its work keeps few processes eligible, and one with too many
    completes too little for them to become fewer. The search begins with one eligible process, or with
    `thrashing` at the limit.
    """
    most = min(system.max_eligible, float(system.users))
    usual = most if thrashing else 1.0
    pools, unwaited_s, response_s = _pools(system, _unloaded(system, usual)), system.useful_s, 0.0
    balance = _balance(system, pools, unwaited_s, usual)
    for _ in range(ROUNDS):
        pools = _pools(system, _load(system, balance, pools), pools)
        unwaited_s = (balance.first + balance.first_waiting) / balance.throughput_per_s
        balance = _balance(system, pools, unwaited_s, balance.eligible)
        before, response_s = response_s, balance.active / balance.throughput_per_s
        if abs(response_s - before) < CLOSE * response_s:
            break
    return balance, pools


def _unloaded(system: Paging, eligible: float) -> _Load:
    """Load from which the iteration begins."""
    pace = Pace(useful=eligible / system.cpus, miss_s=system.drum_rotation_s)
    return _Load(eligible=eligible, paces=(pace, pace), away_s=(math.inf, math.inf), charged=1.0)


def _load(system: Paging, balance: Balance, pools: Pools) -> _Load:
    """Load of the pools that follows from a state of the users."""
    per_s, eligible = balance.throughput_per_s, balance.eligible
    later = max(pools.demand.stays - 1.0, FEWEST)
    waiting = max(balance.active - eligible - balance.first_waiting, 0.0)
    away_s = ((system.users - balance.active + balance.first_waiting) / per_s, waiting / per_s / later)
    classes = (min(balance.first, eligible), max(eligible - balance.first, 0.0))
    paces = _paces(pools, per_s, classes if len(pools.stays) > 1 else (eligible, 0.0), balance.page_wait_s)
    return _Load(eligible=eligible, paces=(*paces, paces[-1])[:2], away_s=away_s, charged=pools.charged)


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Result for a number of processes that are always eligible."""

    level: Level
    pools: Pools

    @property
    def lifetime_s(self) -> float:
        """Useful time between page faults [s]."""
        faults = self.pools.demand.page_faults
        return self.pools.demand.useful_s / faults if faults > 0.0 else math.inf


def hold(system: Paging, processes: int, like: Held | None = None) -> Held:
    """Result for `processes` that are always eligible, for any number of users.

    A process that becomes eligible has no pages left in core. `like` is the solution for a similar number.
    """
    pools = _pools(system, _unloaded(system, float(processes)), like.pools if like else None)
    per_s = 0.0
    for _ in range(ROUNDS):
        levels = multiprogramming.levels(pools.demand, system.hardware, processes, float(processes))
        before, per_s = per_s, levels[-1].throughput_per_s
        if abs(per_s - before) < CLOSE * per_s:
            break
        rates = np.array([level.throughput_per_s for level in levels])
        first = float(
            _chances(np.full(processes, per_s), rates[1:] / pools.first) @ np.arange(processes + 1.0)
        )
        classes = (first, processes - first) if len(pools.stays) > 1 else (float(processes), 0.0)
        paces = _paces(pools, per_s, classes, levels[-1].page_wait_s)
        forever = (math.inf, math.inf)
        load = _Load(
            eligible=float(processes), paces=(*paces, paces[-1])[:2], away_s=forever, charged=pools.charged
        )
        pools = _pools(system, load, pools)
    return Held(level=levels[-1], pools=pools)
