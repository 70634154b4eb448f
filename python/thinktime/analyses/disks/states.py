"""Requests waiting at the controller or at devices, and states of the CPU while drives are busy."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc

from thinktime.analyses.disks import formulas
from thinktime.analyses.disks.drives import Device
from thinktime.analyses.disks.formulas import Array, Formula, Piece, Reading
from thinktime.analyses.disks.intervals import DIFFERS_LEVEL, Fact, Intervals
from thinktime.analyses.disks.result import Compared, Cpu, CpuState, Queue, StateMatrix
from thinktime.log import facts, observations
from thinktime.stats.estimate import Estimate
from thinktime.stats.series.looks import shared

if TYPE_CHECKING:
    from thinktime.log import Log

STATE = re.compile(r"ticks_(user|system|idle)_(\w+)")
LENGTH = re.compile(r"ticks_queue_(\d+)")
CPU = ("user", "system", "idle")
NOBODY = "none"
ROLES = {"user": "user_time", "system": "system_time", "idle": "idle_time"}
AT_TICKS = "at clock ticks"
IN_TICKS = "tick-sampled"
"""Words in the description of a column whose time was sampled."""
AT_ENDS = "at the ends of intervals"
BY_RUN = "integral kept by the simulation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticks:
    """States sampled at the clock ticks of each interval; nan is not measured."""

    states: Mapping[tuple[str, str], Formula]
    """Ticks by CPU state and drive state."""
    lengths: tuple[Formula, ...]
    """Ticks by number of requests at the controller."""
    counted: Formula
    """Ticks at which the states were sampled."""
    queued: Formula
    """Ticks at which the queue was sampled."""
    contradictory: int
    """Intervals left out because their parts do not add up to their ticks."""
    facts: Mapping[str, Fact]
    """Of ``counted``, ``queued``, and of the ticks in each drive state."""

    @property
    def drives(self) -> tuple[str, ...]:
        """Drive states, in the order of the columns."""
        return tuple(dict.fromkeys(drive for _, drive in self.states))

    def of(self, cpu: Sequence[str], drives: Sequence[str]) -> Formula:
        """Ticks with the CPU and the drives in any of these states."""
        return _of(self.states, cpu, drives)

    def occurs(self, drive: str) -> bool:
        """True if a tick found the drives in this state."""
        return self.facts[f"drives {drive}"].total > 0

    def share(self, cpu: Sequence[str], drives: Sequence[str]) -> Reading | None:
        """Fraction of the ticks with the CPU and the drives in any of these states."""
        if not self.states:
            return None
        return Reading(self.of(cpu, drives), self.counted, n=self.facts["counted"].count, by=AT_TICKS)

    def busy(self, number: int | None) -> Reading | None:
        """Fraction of the ticks that found drive `number` busy; any drive for None."""
        if number is None:
            return self.share(CPU, [drive for drive in self.drives if drive != NOBODY])
        busy = [drive for drive in self.drives if drive in (f"drive{number}", "both")]
        return self.share(CPU, busy) if busy else None


def _of(states: Mapping[tuple[str, str], Formula], cpu: Sequence[str], drives: Sequence[str]) -> Formula:
    chosen = [values for (one, other), values in states.items() if one in cpu and other in drives]
    return formulas.total(chosen) if chosen else formulas.unknown


def read_ticks(intervals: Intervals) -> Ticks:
    """Columns of the ticks, without intervals whose parts do not add up."""
    by_state = {
        (match[1], match[2]): formulas.column(name)
        for name in intervals.facts
        if (match := STATE.fullmatch(name)) and intervals.has(name)
    }
    numbered = {
        int(match[1]): formulas.column(name)
        for name in intervals.facts
        if (match := LENGTH.fullmatch(name)) and intervals.has(name)
    }
    lengths = tuple(numbered[number] for number in sorted(numbered))
    # The mean needs the shares of all lengths, from 0 on.
    lengths = lengths if sorted(numbered) == list(range(len(numbered))) else ()
    states = _Parts(tuple(by_state.values()), has_ticks=intervals.has("ticks"))
    queue = _Parts(lengths, has_ticks=intervals.has("ticks"))
    kept = dict(zip(by_state, states.kept, strict=True))
    drives = dict.fromkeys(drive for _, drive in by_state)
    known = intervals.known(
        {
            "counted": states.ticks,
            "queued": queue.ticks,
            "contradictory": lambda piece: (states.wrong(piece) | queue.wrong(piece)).astype(np.float64),
            **{f"drives {drive}": _of(kept, CPU, [drive]) for drive in drives},
        }
    )()
    return Ticks(
        states=kept,
        lengths=queue.kept,
        counted=states.ticks,
        queued=queue.ticks,
        contradictory=known["contradictory"].count,
        facts=known,
    )


class _Parts:
    """Parts of the ticks, in the intervals in which they add up."""

    def __init__(self, parts: tuple[Formula, ...], *, has_ticks: bool) -> None:
        self._parts, self._has_ticks = parts, has_ticks
        self._looked = shared(self._look)

    @property
    def kept(self) -> tuple[Formula, ...]:
        """Each part where they add up."""
        return tuple(self._kept(part) for part in self._parts)

    def _kept(self, part: Formula) -> Formula:
        return lambda piece: np.where(self._looked(piece)[1], part(piece), np.nan)

    def ticks(self, piece: Piece) -> Array:
        """Sum of the parts where they add up."""
        if not self._parts:
            return piece.unknown
        found, agree, _ = self._looked(piece)
        return np.where(agree, found, np.nan)

    def wrong(self, piece: Piece) -> NDArray[np.bool_]:
        """Intervals in which the parts do not add up."""
        return self._looked(piece)[2] if self._parts else np.zeros(len(piece), dtype=np.bool_)

    def _look(self, piece: Piece) -> tuple[Array, NDArray[np.bool_], NDArray[np.bool_]]:
        parts = [part(piece) for part in self._parts]
        found = np.sum(parts, axis=0)
        touched = np.isfinite(parts).any(axis=0)
        expected = piece.column("ticks") if self._has_ticks else found
        agree = np.abs(found - expected) < 0.5
        return found, agree, touched & ~agree


def _kept_by_run(log: Log, intervals: Intervals, name: str) -> Reading | None:
    """Mean that the simulation itself integrated; None unless it covers exactly the selected intervals."""
    sessions = facts.sessions(log)
    of_session = np.full(max(intervals.sessions) + 1, np.nan)
    for number in intervals.sessions:
        # A log without any session is one stretch with the number 0.
        response = sessions[number].responses().get(name) if number < len(sessions) else None
        if not intervals.is_whole or response is None or response.value is None:
            return None
        of_session[number] = response.value
    return Reading(
        lambda piece: of_session[piece.session] * piece.length_s,
        formulas.length_s,
        by=BY_RUN,
        is_constant=True,
    )


def queue(log: Log, intervals: Intervals, ticks: Ticks) -> tuple[Callable[[], Queue], Reading] | None:
    """Queue at the controller, as sampled at the ticks, and the reading of its mean for the periods."""
    readings = ticks.facts["queued"].count
    if not ticks.lengths or not ticks.facts["queued"].total > 0:
        return None
    sampled = Reading(_weighted(ticks.lengths), ticks.queued, n=readings, by=AT_TICKS)
    asked = [
        _ratio(intervals, Reading(part, ticks.queued, n=readings, by=AT_TICKS)) for part in ticks.lengths
    ]
    mean = intervals.compared(sampled, _kept_by_run(log, intervals, "queue_length"), "request")

    def found() -> Queue:
        shares = tuple(share() for share in asked)
        return Queue(
            place="controller",
            mean=mean(),
            distribution=shares,
            open_ended=True,
            readings=readings,
            is_lower_bound=shares[-1].value > 0.0,
        )

    return found, sampled


def _weighted(lengths: Sequence[Formula]) -> Formula:
    return lambda piece: np.sum([length * of(piece) for length, of in enumerate(lengths)], axis=0)


def _ratio(intervals: Intervals, reading: Reading) -> Callable[[], Estimate]:
    asked = intervals.ratio(reading, "")

    def found() -> Estimate:
        ratio = asked()
        assert ratio is not None, "there are ticks"
        return ratio

    return found


def device_queue(device: Device, intervals: Intervals) -> tuple[Callable[[], Queue], Reading] | None:
    """Queue of a block device, read at the ends of the intervals and integrated by the kernel."""
    waiting, fact = device.get("in_progress"), device.facts["in_progress"]
    if not fact.known and not device.has("queue_s"):
        return None
    count = fact.known
    sampled = Reading(waiting, _ones(waiting), n=count, by=AT_ENDS) if count else None
    exact = Reading(device.get("queue_s"), formulas.length_s) if device.has("queue_s") else None
    longest = int(fact.highest) if count else 0
    is_long = longest > LONGEST
    asked = [
        _ratio(
            intervals,
            Reading(
                _waits(waiting, length, or_more=is_long and length == LONGEST),
                _ones(waiting),
                n=count,
                by=AT_ENDS,
            ),
        )
        for length in range(min(longest, LONGEST) + 1 if count else 0)
    ]
    mean = intervals.compared(sampled, exact, "request")
    best = exact or sampled
    assert best is not None, "one of them is known"

    def found() -> Queue:
        shares = tuple(share() for share in asked)
        occupied = round(count * (1.0 - shares[0].value)) if shares else 0
        return Queue(
            place=device.name,
            mean=_judged(mean(), occupied, count, _busy_share(device, intervals)),
            distribution=shares,
            open_ended=is_long,
            readings=count,
        )

    return found, best


def _busy_share(device: Device, intervals: Intervals) -> float | None:
    """Share of the time in which the device was busy; None where that was not measured."""
    if not device.has("busy_s") or not intervals.time_s > 0.0:
        return None
    return min(device.facts["busy_s"].total / intervals.time_s, 1.0)


def _judged(mean: Compared, occupied: int, readings: int, busy: float | None) -> Compared:
    """Comparison of a sampled queue whose interval is that of a mean only if enough readings found one.

    Bursts of many requests in a small part of the time fall between a few readings: their variance then
    misses what they missed. The number of readings that found a request is compared with the busy time
    instead (binomial, both sides at half the false-alarm rate of `DIFFERS_LEVEL`).
    """
    if mean.difference is None or occupied >= OCCUPIED_LEAST:
        return mean
    difference = mean.difference.without_interval(
        f"{readings} readings, of which {occupied} found a request: too few for an interval"
    )
    if busy is None:
        return replace(mean, difference=difference, differs=False)
    rare = (1.0 - DIFFERS_LEVEL) / 2.0
    chance = (
        bdtr(occupied, readings, busy)
        if mean.difference.value < 0.0 or not occupied
        else bdtrc(occupied - 1, readings, busy)
    )
    differs = bool(chance < rare)
    return replace(mean, difference=difference, differs=mean.differs and differs)


OCCUPIED_LEAST = 10
"""Readings that found a request before their mean has an interval."""
LONGEST = 15
"""Longer queues of a device are counted together."""


def _ones(values: Formula) -> Formula:
    return lambda piece: np.where(np.isfinite(values(piece)), 1.0, np.nan)


def _waits(waiting: Formula, length: int, *, or_more: bool) -> Formula:
    """1 where a queue has this length, 0 elsewhere."""

    def of(piece: Piece) -> Array:
        values = waiting(piece)
        matches = values >= length if or_more else values == length
        return np.where(np.isfinite(values), matches, np.nan)

    return of


def controller(
    intervals: Intervals, ticks: Ticks, devices: Sequence[Device]
) -> Callable[[], Compared | None]:
    """Fraction of the time in which any drive was busy.

    This is the utilisation of the controller where it serves one drive at a time. With overlapped seeks the
    controller is free while the arms move, and no tick samples that.
    """
    exact = None
    takes_turns = "both" in ticks.drives and not ticks.occurs("both")
    busy = [device.get("busy_s") for device in devices if device.number is not None]
    if busy and (len(busy) == 1 or takes_turns):
        # Where no tick found two drives busy, their times do not overlap.
        exact = Reading(formulas.total(busy), formulas.length_s)
    compared = intervals.compared(ticks.busy(None), exact)
    return lambda: None if compared().best is None else compared()


def matrix(intervals: Intervals, ticks: Ticks, devices: Sequence[Device]) -> Callable[[], StateMatrix | None]:
    """CPU state by drive state, without states of drives that the machine does not have."""
    count = ticks.facts["counted"].count
    if not ticks.states or not count:
        return lambda: None
    numbers = {f"drive{device.number}": device.name for device in devices}
    possible = set(numbers) | {NOBODY} | ({"both"} if len(numbers) > 1 else set())
    drives = [drive for drive in ticks.drives if drive in possible or ticks.occurs(drive)]

    def share(cpu: Sequence[str], states: Sequence[str]) -> Callable[[], Estimate]:
        return _ratio(intervals, Reading(ticks.of(cpu, states), ticks.counted, n=count, by=AT_TICKS))

    rows = [state for state in CPU if any(state == sampled for sampled, _ in ticks.states)]
    shares = [[share([state], [drive]) for drive in drives] for state in rows]
    cpu_totals = [share([state], drives) for state in rows]
    drive_totals = [share(rows, [drive]) for drive in drives]

    def found() -> StateMatrix:
        return StateMatrix(
            cpu=tuple(rows),
            drives=tuple(numbers.get(drive, drive) for drive in drives),
            shares=tuple(tuple(cell() for cell in row) for row in shares),
            cpu_totals=tuple(cell() for cell in cpu_totals),
            drive_totals=tuple(cell() for cell in drive_totals),
            ticks=count,
        )

    return found


def cpu_columns(log: Log) -> tuple[str, ...]:
    """Columns of the samples that `cpu` reads."""
    of_roles = [name for role in ROLES.values() for name in observations.role_columns(log, role)]
    return (*of_roles, "steal_s", "cpu_exact_s", "iowait_s", "psi_io_some_s")


def cpu(log: Log, intervals: Intervals, ticks: Ticks) -> tuple[Callable[[], Cpu | None], Reading | None]:
    """CPU time by state, sampled and exact, and the reading of the time spent waiting for drives."""
    measured: dict[str, Formula] = {}
    for state, role in ROLES.items():
        present = [
            formulas.column(name) for name in observations.role_columns(log, role) if intervals.has(name)
        ]
        if present:
            measured[state] = formulas.total(present)
    if intervals.has("steal_s"):
        measured["steal"] = formulas.column("steal_s")
    known = intervals.known(measured)()
    measured = {state: values for state, values in measured.items() if known[state].known}
    capacity = formulas.total(list(measured.values())) if "idle" in measured else formulas.unknown
    is_sampled = not ticks.states and _is_sampled(log)
    asked = {}
    for state in (*ROLES, *(["steal"] if intervals.has("steal_s") else []), "busy"):
        members = ("user", "system") if state == "busy" else (state,)
        if ticks.states and (state == "busy" or state in CPU):
            first = ticks.share(members, ticks.drives)
        else:
            first = _part(measured, members, capacity, IN_TICKS) if is_sampled else None
        second = None if is_sampled else _part(measured, members, capacity, "")
        if state == "busy" and is_sampled and intervals.has("cpu_exact_s"):
            second = Reading(formulas.column("cpu_exact_s"), _processors(log, capacity))
        asked[state] = intervals.compared(first, second)
    waiting, is_hint = _waiting(intervals, ticks, capacity)
    part = None if waiting is None else intervals.ratio(waiting, "")
    stalled = intervals.rate(formulas.column("psi_io_some_s"), "")

    def found() -> Cpu | None:
        shares = {state: share() for state, share in asked.items()}
        states = [
            CpuState(name=state, share=share) for state, share in shares.items() if share.best is not None
        ]
        if not states:
            return None
        return Cpu(
            states=tuple(states),
            waiting=None if part is None else part(),
            is_hint=is_hint,
            stalled=stalled(),
        )

    return found, waiting


def _part(times: Mapping[str, Formula], states: Sequence[str], capacity: Formula, by: str) -> Reading | None:
    """Share of some states in the capacity; None where one was not measured."""
    if not all(state in times for state in states):
        return None
    return Reading(formulas.total([times[state] for state in states]), capacity, by=by)


def _is_sampled(log: Log) -> bool:
    """True if the source sampled CPU time at clock ticks, by the descriptions of its columns."""
    return any(
        column.role == "user_time" and IN_TICKS in column.description for column in log.schema("samples")
    )


def _processors(log: Log, capacity: Formula) -> Formula:
    """CPU time available [s]: of the CPUs in the manifest, else the sum of the states."""
    cpus = [session.machine.whole("cpus", least=1) for session in facts.sessions(log)]
    if not cpus or None in cpus:
        return capacity
    known = np.array(cpus, dtype=np.float64)
    return lambda piece: known[piece.session] * piece.length_s


def _waiting(intervals: Intervals, ticks: Ticks, capacity: Formula) -> tuple[Reading | None, bool]:
    """CPU time idle while a drive was busy, and whether it is only the hint of the kernel (iowait)."""
    busy = [drive for drive in ticks.drives if drive != NOBODY]
    if busy:
        return ticks.share(("idle",), busy), False
    if intervals.has("iowait_s"):
        return Reading(formulas.column("iowait_s"), capacity, by=IN_TICKS), True
    return None, False
