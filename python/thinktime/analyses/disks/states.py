"""Requests waiting at the controller or at devices, and states of the CPU while drives are busy."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.disks.drives import Device
from thinktime.analyses.disks.intervals import Intervals, Reading
from thinktime.analyses.disks.result import Compared, Cpu, CpuState, Queue, StateMatrix
from thinktime.log import facts, observations
from thinktime.stats.estimate import Estimate

if TYPE_CHECKING:
    from thinktime.log import Log

Array = NDArray[np.float64]

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

    states: Mapping[tuple[str, str], Array]
    """Ticks by CPU state and drive state."""
    lengths: tuple[Array, ...]
    """Ticks by number of requests at the controller."""
    counted: Array
    """Ticks at which the states were sampled."""
    queued: Array
    """Ticks at which the queue was sampled."""
    contradictory: int
    """Intervals left out because their parts do not add up to their ticks."""

    @property
    def drives(self) -> tuple[str, ...]:
        """Drive states, in the order of the columns."""
        return tuple(dict.fromkeys(drive for _, drive in self.states))

    def of(self, cpu: Sequence[str], drives: Sequence[str]) -> Array:
        """Ticks with the CPU and the drives in any of these states."""
        chosen = [values for (one, other), values in self.states.items() if one in cpu and other in drives]
        return np.sum(chosen, axis=0) if chosen else np.full(len(self.counted), np.nan)

    def share(self, cpu: Sequence[str], drives: Sequence[str]) -> Reading | None:
        """Fraction of the ticks with the CPU and the drives in any of these states."""
        if not self.states:
            return None
        return Reading(self.of(cpu, drives), self.counted, n=int(np.nansum(self.counted)), by=AT_TICKS)

    def busy(self, number: int | None) -> Reading | None:
        """Fraction of the ticks that found drive `number` busy; any drive for None."""
        if number is None:
            return self.share(CPU, [drive for drive in self.drives if drive != NOBODY])
        busy = [drive for drive in self.drives if drive in (f"drive{number}", "both")]
        return self.share(CPU, busy) if busy else None


def read_ticks(intervals: Intervals) -> Ticks:
    """Columns of the ticks, without intervals whose parts do not add up."""
    by_state = {
        (match[1], match[2]): intervals.column(name)
        for name in intervals.columns
        if (match := STATE.fullmatch(name)) and intervals.has(name)
    }
    numbered = {
        int(match[1]): intervals.column(name)
        for name in intervals.columns
        if (match := LENGTH.fullmatch(name)) and intervals.has(name)
    }
    lengths = tuple(numbered[number] for number in sorted(numbered))
    # The mean needs the shares of all lengths, from 0 on.
    lengths = lengths if sorted(numbered) == list(range(len(numbered))) else ()
    states, counted, wrong = _adding_up(tuple(by_state.values()), intervals)
    queue, queued, also = _adding_up(lengths, intervals)
    return Ticks(
        states=dict(zip(by_state, states, strict=True)),
        lengths=queue,
        counted=counted,
        queued=queued,
        contradictory=int((wrong | also).sum()),
    )


def _adding_up(
    parts: tuple[Array, ...], intervals: Intervals
) -> tuple[tuple[Array, ...], Array, NDArray[np.bool_]]:
    """Parts where they add up to the ticks, their sum, and the intervals in which they do not."""
    nowhere = np.zeros(len(intervals), dtype=bool)
    if not parts:
        return (), np.full(len(intervals), np.nan), nowhere
    total = np.sum(parts, axis=0)
    touched = np.isfinite(parts).any(axis=0)
    expected = intervals.column("ticks") if intervals.has("ticks") else total
    agree = np.abs(total - expected) < 0.5
    kept = tuple(np.where(agree, part, np.nan) for part in parts)
    return kept, np.where(agree, total, np.nan), touched & ~agree


def _kept_by_run(log: Log, intervals: Intervals, name: str) -> Reading | None:
    """Mean that the simulation itself integrated; None unless it covers exactly the selected intervals."""
    values = np.full(len(intervals), np.nan)
    sessions = facts.sessions(log)
    for number in intervals.sessions:
        # A log without any session is one stretch with the number 0.
        response = sessions[number].responses().get(name) if number < len(sessions) else None
        if not intervals.is_whole or response is None or response.value is None:
            return None
        values[intervals.session == number] = response.value
    return Reading(values * intervals.length_s, intervals.length_s, by=BY_RUN, is_constant=True)


def queue(log: Log, intervals: Intervals, ticks: Ticks) -> tuple[Queue, Reading] | None:
    """Queue at the controller, as sampled at the ticks, and the reading of its mean for the periods."""
    if not ticks.lengths or not np.nansum(ticks.queued) > 0:
        return None
    amounts = np.sum([length * counts for length, counts in enumerate(ticks.lengths)], axis=0)
    readings = int(np.nansum(ticks.queued))
    sampled = Reading(amounts, ticks.queued, n=readings, by=AT_TICKS)
    shares = tuple(
        _ratio(intervals, Reading(part, ticks.queued, n=readings, by=AT_TICKS)) for part in ticks.lengths
    )
    exact = _kept_by_run(log, intervals, "queue_length")
    mean = intervals.compared(sampled, exact, "request")
    queue = Queue(
        place="controller",
        mean=mean,
        distribution=shares,
        open_ended=True,
        readings=readings,
        is_lower_bound=shares[-1].value > 0.0,
    )
    return queue, sampled


def _ratio(intervals: Intervals, reading: Reading) -> Estimate:
    ratio = intervals.ratio(reading, "")
    assert ratio is not None, "there are ticks"
    return ratio


def device_queue(device: Device, intervals: Intervals) -> tuple[Queue, Reading] | None:
    """Queue of a block device, read at the ends of the intervals and integrated by the kernel."""
    waiting, held = device.get("in_progress"), device.get("queue_s")
    measured = np.isfinite(waiting)
    if not measured.any() and not np.isfinite(held).any():
        return None
    ones = np.where(measured, 1.0, np.nan)
    count = int(measured.sum())
    sampled = Reading(waiting, ones, n=count, by=AT_ENDS) if count else None
    exact = Reading(held, intervals.length_s) if np.isfinite(held).any() else None
    longest = int(np.nanmax(waiting)) if count else 0
    is_long = longest > LONGEST
    parts = []
    for length in range(min(longest, LONGEST) + 1 if count else 0):
        matches = waiting >= length if is_long and length == LONGEST else waiting == length
        reading = Reading(np.where(measured, matches, np.nan), ones, n=count, by=AT_ENDS)
        parts.append(_ratio(intervals, reading))
    mean = intervals.compared(sampled, exact, "request")
    best = exact or sampled
    assert best is not None, "one of them is known"
    queue = Queue(place=device.name, mean=mean, distribution=tuple(parts), open_ended=is_long, readings=count)
    return queue, best


LONGEST = 15
"""Longer queues of a device are counted together."""


def controller(intervals: Intervals, ticks: Ticks, devices: Sequence[Device]) -> Compared | None:
    """Fraction of the time in which any drive was busy.

    This is the utilisation of the controller where it serves one drive at a time. With overlapped seeks the
    controller is free while the arms move, and no tick samples that.
    """
    sampled = ticks.busy(None)
    exact = None
    takes_turns = "both" in ticks.drives and not np.nansum(ticks.of(CPU, ["both"])) > 0
    busy = [device.get("busy_s") for device in devices if device.number is not None]
    if busy and (len(busy) == 1 or takes_turns):
        # Where no tick found two drives busy, their times do not overlap.
        exact = Reading(np.sum(busy, axis=0), intervals.length_s)
    compared = intervals.compared(sampled, exact)
    return None if compared.best is None else compared


def matrix(intervals: Intervals, ticks: Ticks, devices: Sequence[Device]) -> StateMatrix | None:
    """CPU state by drive state, without states of drives that the machine does not have."""
    count = int(np.nansum(ticks.counted))
    if not ticks.states or not count:
        return None
    numbers = {f"drive{device.number}": device.name for device in devices}
    possible = set(numbers) | {NOBODY} | ({"both"} if len(numbers) > 1 else set())
    drives = [drive for drive in ticks.drives if drive in possible or np.nansum(ticks.of(CPU, [drive])) > 0]

    def share(cpu: Sequence[str], states: Sequence[str]) -> Estimate:
        return _ratio(intervals, Reading(ticks.of(cpu, states), ticks.counted, n=count, by=AT_TICKS))

    rows = [state for state in CPU if any(state == sampled for sampled, _ in ticks.states)]
    return StateMatrix(
        cpu=tuple(rows),
        drives=tuple(numbers.get(drive, drive) for drive in drives),
        shares=tuple(tuple(share([state], [drive]) for drive in drives) for state in rows),
        cpu_totals=tuple(share([state], drives) for state in rows),
        drive_totals=tuple(share(rows, [drive]) for drive in drives),
        ticks=count,
    )


def cpu_columns(log: Log) -> tuple[str, ...]:
    """Columns of the samples that `cpu` reads."""
    of_roles = [name for role in ROLES.values() for name in observations.role_columns(log, role)]
    return (*of_roles, "steal_s", "cpu_exact_s", "iowait_s", "psi_io_some_s")


def cpu(log: Log, intervals: Intervals, ticks: Ticks) -> tuple[Cpu, Reading | None] | None:
    """CPU time by state, sampled and exact, and the reading of the time spent waiting for drives."""
    times = {state: intervals.total(observations.role_columns(log, role)) for state, role in ROLES.items()}
    if intervals.has("steal_s"):
        times["steal"] = intervals.column("steal_s")
    measured = {state: values for state, values in times.items() if np.isfinite(values).any()}
    capacity = (
        np.sum(list(measured.values()), axis=0) if "idle" in measured else np.full(len(intervals), np.nan)
    )
    is_sampled = not ticks.states and _is_sampled(log)
    states = []
    for state in (*times, "busy"):
        members = ("user", "system") if state == "busy" else (state,)
        if ticks.states and (state == "busy" or state in CPU):
            first = ticks.share(members, ticks.drives)
        else:
            first = _part(measured, members, capacity, IN_TICKS) if is_sampled else None
        second = None if is_sampled else _part(measured, members, capacity, "")
        if state == "busy" and is_sampled and intervals.has("cpu_exact_s"):
            second = Reading(intervals.column("cpu_exact_s"), _processors(log, intervals, capacity))
        share = intervals.compared(first, second)
        if share.best is not None:
            states.append(CpuState(name=state, share=share))
    if not states:
        return None
    waiting, is_hint = _waiting(intervals, ticks, capacity)
    part = None if waiting is None else intervals.ratio(waiting, "")
    stalled = intervals.rate(intervals.column("psi_io_some_s"), "")
    return Cpu(states=tuple(states), waiting=part, is_hint=is_hint, stalled=stalled), waiting


def _part(times: Mapping[str, Array], states: Sequence[str], capacity: Array, by: str) -> Reading | None:
    """Share of some states in the capacity; None where one was not measured."""
    if not all(state in times for state in states):
        return None
    return Reading(np.sum([times[state] for state in states], axis=0), capacity, by=by)


def _is_sampled(log: Log) -> bool:
    """True if the source sampled CPU time at clock ticks, by the descriptions of its columns."""
    return any(
        column.role == "user_time" and IN_TICKS in column.description for column in log.schema("samples")
    )


def _processors(log: Log, intervals: Intervals, capacity: Array) -> Array:
    """CPU time available [s]: of the CPUs in the manifest, else the sum of the states."""
    cpus = [session.machine.whole("cpus", least=1) for session in facts.sessions(log)]
    if not cpus or None in cpus:
        return capacity
    return np.array(cpus, dtype=np.float64)[intervals.session] * intervals.length_s


def _waiting(intervals: Intervals, ticks: Ticks, capacity: Array) -> tuple[Reading | None, bool]:
    """CPU time idle while a drive was busy, and whether it is only the hint of the kernel (iowait)."""
    busy = [drive for drive in ticks.drives if drive != NOBODY]
    if busy:
        return ticks.share(("idle",), busy), False
    if intervals.has("iowait_s"):
        return Reading(intervals.column("iowait_s"), capacity, by=IN_TICKS), True
    return None, False
