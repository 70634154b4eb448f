r"""Throughput and overhead of a number of eligible processes at processors, drum and disks.

A closed network (Baskett, Chandy, Muntz and Palacios, Journal of the ACM 22 (1975)) of the processors, the
drum and the disk arms. The supervisor's work for a process is work of the processors; `lockout` gives its
length when two processors are active.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.models.paging.lockout import KINDS, PAGE_FAULT, Locking, Together, together
from thinktime.models.queueing.networks import Station, mva

Array = NDArray[np.float64]

ROUNDS = 12
"""Bound on the rounds of the network and the state from which its service times follow."""
CLOSE = 1e-5
"""Relative change of throughput with which the rounds end: small against 1e-3 for the pools around them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """Processors, drum and disks; times in seconds."""

    cpus: int
    """Number of processors: 1 or 2."""
    locking: Locking
    """Interference and locks of two processors."""
    drum_rotation_s: float
    """Time of a revolution of the drum."""
    drum_sectors: int
    """Number of its pages."""
    drum_in_order: bool
    """True if the drum serves in order of arrival, and not the page that passes next."""
    disk_share: float
    """Fraction of the pages read that are on disk."""
    disk_arms: int
    """Number of arms, each with its own queue."""
    disk_access_s: float
    """Mean time of an access."""
    disk_variation: float
    """Coefficient of variation of these times."""
    preempt: bool
    """True if a process that can run again preempts one of lower priority."""

    def drum_per_s(self, present: Array) -> Array:
        """Pages per second with `present` requests: of j at random places, one passes after T / (j + 1)."""
        page_s = self.drum_rotation_s / self.drum_sectors
        others = np.ones_like(present) if self.drum_in_order else present
        return 1.0 / (self.drum_rotation_s / (others + 1.0) + page_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Demands of an interaction."""

    useful_s: float
    """Useful time [s]."""
    page_faults: float
    segment_faults: float
    gate_faults: float
    writes: float
    """Pages written to the drum, for which nobody waits."""
    interrupts: float
    """Interrupts other than those of drum and disk."""
    stays: float
    """Number of times that it becomes eligible."""
    first_faults: float
    """Fraction of the page faults in first stays, which have priority over all others."""
    paths_s: tuple[float, ...]
    """Mean lengths of the paths of `KINDS`, without interference [s]."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Level:
    """Result for a number of eligible processes."""

    processes: int
    throughput_per_s: float
    """Rate of completed interactions."""
    useful: float
    """Fraction of the processors' time in user programs."""
    idle: float
    """Fraction of idle time."""
    events_per_s: Array
    """Rates of events of `KINDS`, of all processors."""
    overhead: Array
    """Fractions of the processors' time in their paths."""
    lock_wait: float
    """Fraction of the time that is spent spinning."""
    pages_wanted: float
    """Number of processes that wait for a page."""
    drum_utilisation: float
    disk_utilisation: float
    """Fraction of busy time of the drum, its latency included, and of an arm."""

    @property
    def page_wait_s(self) -> float:
        """Mean time from the request for a page until it is in core [s]."""
        faults_per_s = float(self.events_per_s[PAGE_FAULT])
        return self.pages_wanted / faults_per_s if faults_per_s > 0.0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """Parameters that depend on the load."""

    turns: float = 1.0
    """Probability that a process that can run again makes a processor reschedule."""
    batch: float = 1.0
    """Number of completions of the drum per interrupt."""
    writing: float = 0.0
    """Fraction of the drum's time that is spent on pages written."""


def levels(demand: Demand, hardware: Hardware, most: int, usual: float) -> tuple[Level, ...]:
    """Results for 0 to `most` eligible processes, of which there are `usual` on average."""
    state = _State()
    typical = min(max(round(usual), 1), most)
    result = _solved(demand, hardware, typical, state, [typical])[0]
    for _ in range(ROUNDS):
        before, state = result, _state(result, demand, hardware)
        result = _solved(demand, hardware, typical, state, [typical])[0]
        if abs(result.throughput_per_s / before.throughput_per_s - 1.0) < CLOSE:
            break
    none = np.zeros(len(KINDS))
    nobody = Level(
        processes=0,
        throughput_per_s=0.0,
        useful=0.0,
        idle=1.0,
        events_per_s=none,
        overhead=none,
        lock_wait=0.0,
        pages_wanted=0.0,
        drum_utilisation=state.writing,
        disk_utilisation=0.0,
    )
    return (nobody, *_solved(demand, hardware, most, state, list(range(1, most + 1))))


def _solved(demand: Demand, hardware: Hardware, most: int, state: _State, wanted: list[int]) -> list[Level]:
    """Results of the `wanted` levels up to `most`."""
    counts = _counts(demand, hardware, state)
    both = together(demand.useful_s, counts, np.array(demand.paths_s), hardware.locking)
    rates = np.array([1.0, both.rate][: hardware.cpus])
    drum = hardware.drum_per_s(np.arange(1.0, most + 1.0) + state.writing) * (1.0 - state.writing)
    stations = _devices(hardware, drum)
    if demand.page_faults > 0.0:
        requests_per_s = rates * demand.page_faults / both.work_s
        devices = np.asarray(mva(stations, most, course=True)["throughput_per_s"])
        alternative = [Station("processors", 1.0, rates=tuple(requests_per_s.tolist())), *stations[1:]]
        others = np.asarray(mva(alternative, most, course=True)["throughput_per_s"])
    result = []
    for n in wanted:
        chances, reading = np.eye(1, n + 3, n)[0], 0.0
        if demand.page_faults > 0.0:
            chances = _chances(devices[:n], requests_per_s, n)
            reading = 1.0 - _chances(others[:n], drum[:n] / (1.0 - hardware.disk_share + 1e-12), n)[0]
        busy = 1.0 - (1.0 - reading) * (1.0 - state.writing)
        result.append(_level(demand, hardware, counts, both, rates, chances, n, busy))
    return result


def _counts(demand: Demand, hardware: Hardware, state: _State) -> Array:
    """Events of an interaction, by kind."""
    reads, disk_reads = demand.page_faults, demand.page_faults * hardware.disk_share
    again = state.turns * (reads + 1.0) if hardware.preempt else 0.0
    return np.array(
        [
            reads,
            reads + demand.stays + again,
            (reads - disk_reads + demand.writes) / state.batch,
            demand.interrupts + disk_reads,
            demand.segment_faults,
            demand.gate_faults,
        ]
    )


def _devices(hardware: Hardware, drum_per_s: Array) -> list[Station]:
    """Drum and disk arms, as a page request visits them; the drum comes first."""
    drum = Station("drum", 1.0 - hardware.disk_share, rates=tuple(drum_per_s.tolist()))
    if hardware.disk_share * hardware.disk_access_s == 0.0:
        return [drum]
    return [drum, Station("arms", hardware.disk_share, rates=_arms_per_s(hardware, len(drum_per_s)))]


def _arms_per_s(hardware: Hardware, most: int) -> tuple[float, ...]:
    r"""Accesses per second with 1, 2, ... requests, each at a random arm.

    .. math:: R = S \Bigl(1 + Q - U\,\frac{1 - c^2}{2}\Bigr)

    by mean value analysis with the correct mean residual time of an access in progress (Reiser, IBM Journal
    of Research and Development 23 (1979)); exact where c is 1.
    """
    rates, queue, busy = [], 0.0, 0.0
    access_s, less = hardware.disk_access_s, 0.5 * (1.0 - hardware.disk_variation**2)
    for n in range(1, most + 1):
        response_s = access_s * (1.0 + queue - busy * less)
        per_s = n / response_s
        queue, busy = n / hardware.disk_arms, per_s * access_s / hardware.disk_arms
        if busy > 1.0:
            per_s, busy = hardware.disk_arms / access_s, 1.0
        rates.append(per_s)
    return tuple(rates)


def _chances(others: Array, station: Array, n: int) -> Array:
    """Probabilities of 0, 1, ... of n at a station, and two more that are 0.

    `others` is the throughput of the rest of the network with 1, 2, ... there, `station` that of the station
    with 1, 2, ...; its last value holds for more (Chandy, Herzog and Woo, 1975).
    """
    served = station[np.minimum(np.arange(n), len(station) - 1)]
    weights = np.cumprod(np.concatenate([[1.0], others[::-1] / served]))
    return np.concatenate([weights / weights.sum(), [0.0, 0.0]])


def _level(
    demand: Demand,
    hardware: Hardware,
    counts: Array,
    both: Together,
    rates: Array,
    chances: Array,
    n: int,
    drum_busy: float,
) -> Level:
    """Result that follows from the probabilities of 0, 1, ... processes at the processors."""
    alone, two = float(chances[1]), float(chances[2:].sum())
    if hardware.cpus == 1:
        alone, two = alone + two, 0.0
    worked = alone * rates[0] + two * rates[-1]
    x = worked / both.work_s
    # Fraction of all work that is done while both processors are active.
    part = two * float(rates[-1]) / worked
    paths_s = counts * np.array(demand.paths_s) * (1.0 - part) + both.paths_s * part
    useful_s = demand.useful_s * (1.0 - part + part * both.slowed)
    return Level(
        processes=n,
        throughput_per_s=float(x),
        useful=float(x * useful_s / hardware.cpus),
        idle=1.0 - (alone + 2.0 * two) / hardware.cpus,
        events_per_s=x * counts,
        overhead=x * paths_s / hardware.cpus,
        lock_wait=float(x * part * both.spun_s / hardware.cpus),
        pages_wanted=n - float(chances @ np.arange(len(chances))),
        drum_utilisation=drum_busy,
        disk_utilisation=float(
            x * demand.page_faults * hardware.disk_share * hardware.disk_access_s / hardware.disk_arms
        ),
    )


def _state(level: Level, demand: Demand, hardware: Hardware) -> _State:
    """Parameters that depend on the load, from the result of a level."""
    x, active = level.throughput_per_s, max(1.0 - level.idle, 1e-12)
    drum_reads = demand.page_faults * (1.0 - hardware.disk_share)
    requests = np.array([1.0 + level.pages_wanted * (1.0 - hardware.disk_share)])
    writing = min(x * demand.writes / float(hardware.drum_per_s(requests)[0]), 0.9)
    # A drum interrupt waits for the end of a path where no processor is free.
    paths = level.overhead * (1.0 + hardware.locking.path_variation**2) * 0.5
    residual_s = float(paths @ np.array(demand.paths_s)) / max(float(level.overhead.sum()), 1e-12)
    in_path = (1.0 - level.idle) ** hardware.cpus * float(level.overhead.sum()) / active
    batch = 1.0 + x * (drum_reads + demand.writes) * in_path * residual_s
    # Later stays do not preempt first stays.
    first_there = min(active * demand.first_faults, 1.0) ** hardware.cpus
    turns = demand.first_faults + (1.0 - demand.first_faults) * (1.0 - first_there)
    return _State(turns=turns, batch=batch, writing=writing)
