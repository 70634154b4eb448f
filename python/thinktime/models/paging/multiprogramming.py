r"""So many eligible processes at processors, drum and disks: what they get done, and what it costs.

A closed network (Baskett, Chandy, Muntz and Palacios, Journal of the ACM 22 (1975)) of the processors, the
drum and the disk arms. What the supervisor does for a process is work of the processors; how long that takes
when two are active, `lockout` says.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.models.paging.lockout import KINDS, PAGE_FAULT, Locking, Together, together
from thinktime.models.queueing.networks import Station, mva

Array = NDArray[np.float64]

ROUNDS = 12
CLOSE = 1e-5


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """Processors, drum and disks; times in seconds.

    Parameters
    ----------
    cpus : int
        1 or 2.
    locking : Locking
        What two processors do to each other.
    drum_rotation_s : float
        A revolution of the drum.
    drum_sectors : int
        Pages in it.
    drum_in_order : bool
        Whether the drum serves in order of arrival, and not whichever page comes round first.
    disk_share : float
        Part of the pages read that are on disk.
    disk_arms : int
        Arms, each with a queue of its own.
    disk_access_s : float
        Mean time of an access.
    disk_variation : float
        Coefficient of variation of these times.
    preempt : bool
        Whether a process that can run again takes the processor from one that comes after it.
    """

    cpus: int
    locking: Locking
    drum_rotation_s: float
    drum_sectors: int
    drum_in_order: bool
    disk_share: float
    disk_arms: int
    disk_access_s: float
    disk_variation: float
    preempt: bool

    def drum_per_s(self, present: Array) -> Array:
        """Pages a second with so many requests: of j, anywhere, one comes round after T / (j + 1)."""
        page_s = self.drum_rotation_s / self.drum_sectors
        others = np.ones_like(present) if self.drum_in_order else present
        return 1.0 / (self.drum_rotation_s / (others + 1.0) + page_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What an interaction asks for.

    Parameters
    ----------
    useful_s : float
        Useful time, in seconds.
    page_faults, segment_faults, gate_faults : float
    writes : float
        Pages written to the drum, for which nobody waits.
    interrupts : float
        Other than of drum and disk.
    stays : float
        Times that it becomes eligible.
    first_faults : float
        Part of the page faults that first stays have, which come before all others.
    paths_s : tuple of float
        Mean lengths of the paths of `KINDS`, in seconds, while nobody interferes.
    """

    useful_s: float
    page_faults: float
    segment_faults: float
    gate_faults: float
    writes: float
    interrupts: float
    stays: float
    first_faults: float
    paths_s: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Level:
    """So many eligible processes.

    Parameters
    ----------
    processes : int
    throughput_per_s : float
        Ended interactions.
    useful : float
        Part of the processors' time in user programs.
    idle : float
        Part in which they have nothing to do.
    events_per_s : array
        Events of `KINDS`, of all processors.
    overhead : array
        Parts of the processors' time in their paths.
    lock_wait : float
        The part of it that passes while spinning.
    pages_wanted : float
        Processes that wait for a page.
    drum_utilisation, disk_utilisation : float
        Busy part of the time of the drum, its latency included, and of an arm.
    """

    processes: int
    throughput_per_s: float
    useful: float
    idle: float
    events_per_s: Array
    overhead: Array
    lock_wait: float
    pages_wanted: float
    drum_utilisation: float
    disk_utilisation: float

    @property
    def page_wait_s(self) -> float:
        """From the request for a page until it is in core, in seconds."""
        faults_per_s = float(self.events_per_s[PAGE_FAULT])
        return self.pages_wanted / faults_per_s if faults_per_s > 0.0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """What depends on the load."""

    turns: float = 1.0
    """Chance that a process that can run again makes a processor choose anew."""
    batch: float = 1.0
    """Completions of the drum in one interrupt."""
    writing: float = 0.0
    """Part of the drum's time that goes to pages written."""


def levels(demand: Demand, hardware: Hardware, most: int, usual: float) -> tuple[Level, ...]:
    """Solve the network for 0 to `most` eligible processes, of which there are `usual` on average."""
    state = _State()
    at = min(max(round(usual), 1), most)
    found = _solved(demand, hardware, at, state, [at])[0]
    for _ in range(ROUNDS):
        before, state = found, _state(found, demand, hardware)
        found = _solved(demand, hardware, at, state, [at])[0]
        if abs(found.throughput_per_s / before.throughput_per_s - 1.0) < CLOSE:
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
    """Figures of the `wanted` levels up to `most`."""
    counts = _counts(demand, hardware, state)
    both = together(demand.useful_s, counts, np.array(demand.paths_s), hardware.locking)
    rates = np.array([1.0, both.rate][: hardware.cpus])
    drum = hardware.drum_per_s(np.arange(1.0, most + 1.0) + state.writing) * (1.0 - state.writing)
    stations = _devices(hardware, drum)
    if demand.page_faults > 0.0:
        asked = rates * demand.page_faults / both.work_s
        devices = np.asarray(mva(stations, most, course=True)["throughput_per_s"])
        beside = [Station("processors", 1.0, rates=tuple(asked.tolist())), *stations[1:]]
        others = np.asarray(mva(beside, most, course=True)["throughput_per_s"])
    found = []
    for n in wanted:
        chances, reading = np.eye(1, n + 3, n)[0], 0.0
        if demand.page_faults > 0.0:
            chances = _chances(devices[:n], asked, n)
            reading = 1.0 - _chances(others[:n], drum[:n] / (1.0 - hardware.disk_share + 1e-12), n)[0]
        busy = 1.0 - (1.0 - reading) * (1.0 - state.writing)
        found.append(_level(demand, hardware, counts, both, rates, chances, n, busy))
    return found


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
    """Drum and disk arms, as a page asked for visits them; the drum comes first."""
    drum = Station("drum", 1.0 - hardware.disk_share, rates=tuple(drum_per_s.tolist()))
    if hardware.disk_share * hardware.disk_access_s == 0.0:
        return [drum]
    return [drum, Station("arms", hardware.disk_share, rates=_arms_per_s(hardware, len(drum_per_s)))]


def _arms_per_s(hardware: Hardware, most: int) -> tuple[float, ...]:
    r"""Find the accesses a second with 1, 2, ... requests, each at an arm of its own choice.

    .. math:: R = S \Bigl(1 + Q - U\,\frac{1 - c^2}{2}\Bigr)

    mean value analysis in which what is left of an access that is met has its right mean (Reiser, IBM Journal
    of Research and Development 23 (1979)); exact where c is 1.
    """
    found, queue, busy = [], 0.0, 0.0
    access_s, less = hardware.disk_access_s, 0.5 * (1.0 - hardware.disk_variation**2)
    for n in range(1, most + 1):
        response_s = access_s * (1.0 + queue - busy * less)
        per_s = n / response_s
        queue, busy = n / hardware.disk_arms, per_s * access_s / hardware.disk_arms
        if busy > 1.0:
            per_s, busy = hardware.disk_arms / access_s, 1.0
        found.append(per_s)
    return tuple(found)


def _chances(others: Array, own: Array, n: int) -> Array:
    """Chances of 0, 1, ... of n at a station, and two more that are 0.

    `others` is what the rest of the network passes on with 1, 2, ... there, `own` what the station does with
    1, 2, ...; its last value holds for more (Chandy, Herzog and Woo, 1975).
    """
    served = own[np.minimum(np.arange(n), len(own) - 1)]
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
    """Figures that follow from the chances of 0, 1, ... processes at the processors."""
    alone, two = float(chances[1]), float(chances[2:].sum())
    if hardware.cpus == 1:
        alone, two = alone + two, 0.0
    worked = alone * rates[0] + two * rates[-1]
    x = worked / both.work_s
    # Of all work, the part that is done while both processors are active.
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
    """Find what depends on the load, from figures of a level."""
    x, active = level.throughput_per_s, max(1.0 - level.idle, 1e-12)
    drum_reads = demand.page_faults * (1.0 - hardware.disk_share)
    requests = np.array([1.0 + level.pages_wanted * (1.0 - hardware.disk_share)])
    writing = min(x * demand.writes / float(hardware.drum_per_s(requests)[0]), 0.9)
    # A drum interrupt waits for the end of a path, where no processor is free for it.
    paths = level.overhead * (1.0 + hardware.locking.path_variation**2) * 0.5
    residual_s = float(paths @ np.array(demand.paths_s)) / max(float(level.overhead.sum()), 1e-12)
    in_path = (1.0 - level.idle) ** hardware.cpus * float(level.overhead.sum()) / active
    batch = 1.0 + x * (drum_reads + demand.writes) * in_path * residual_s
    # Others than first stays take no processor from those.
    first_there = min(active * demand.first_faults, 1.0) ** hardware.cpus
    turns = demand.first_faults + (1.0 - demand.first_faults) * (1.0 - first_there)
    return _State(turns=turns, batch=batch, writing=writing)
