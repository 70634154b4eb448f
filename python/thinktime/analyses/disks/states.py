"""How many requests wait, and what the CPU does while drives are busy."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.disks.data import Reading, Watched
from thinktime.analyses.disks.drives import Device
from thinktime.analyses.disks.result import Compared, Cpu, CpuState, Queue, StateMatrix
from thinktime.log import observations
from thinktime.stats.estimate import Estimate

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = ["ROLES", "Ticks", "controller", "cpu", "cpu_columns", "device_queue", "matrix", "queue", "ticks"]

Array = NDArray[np.float64]

STATE = re.compile(r"ticks_(user|system|idle)_(\w+)")
LENGTH = re.compile(r"ticks_queue_(\d+)")
CPU = ("user", "system", "idle")
NOBODY = "none"
ROLES = {"user": "user_time", "system": "system_time", "idle": "idle_time"}
AT_TICKS = "at clock ticks"
IN_TICKS = "tick-sampled"
"""What the description of a column says whose time was sampled."""
AT_ENDS = "at the ends of intervals"
BY_RUN = "integral kept by the simulation"


@dataclass(frozen=True, slots=True)
class Ticks:
    """What was found at the clock ticks of each interval; nan is not measured."""

    states: Mapping[tuple[str, str], Array]
    """Ticks by CPU state and drive state."""
    lengths: tuple[Array, ...]
    """Ticks by number of requests at the controller."""
    counted: Array
    """Ticks of which the states are known."""
    queued: Array
    """Ticks of which the queue is known."""
    contradictory: int
    """Intervals left out because their parts do not add up to their ticks."""

    @property
    def drives(self) -> tuple[str, ...]:
        """Drive states, in the order of the columns."""
        return tuple(dict.fromkeys(drive for _, drive in self.states))

    def of(self, cpu: Sequence[str], drives: Sequence[str]) -> Array:
        """Ticks with the CPU and the drives in any of these states."""
        found = [values for (one, other), values in self.states.items() if one in cpu and other in drives]
        return np.sum(found, axis=0) if found else np.full(len(self.counted), np.nan)

    def share(self, cpu: Sequence[str], drives: Sequence[str]) -> Reading | None:
        """Part of the ticks with the CPU and the drives in any of these states."""
        if not self.states:
            return None
        return Reading(self.of(cpu, drives), self.counted, int(np.nansum(self.counted)), AT_TICKS)

    def busy(self, number: int | None) -> Reading | None:
        """Part of the ticks that found drive `number` busy, or any drive."""
        if number is None:
            return self.share(CPU, [drive for drive in self.drives if drive != NOBODY])
        own = [drive for drive in self.drives if drive in (f"drive{number}", "both")]
        return self.share(CPU, own) if own else None


def ticks(watched: Watched) -> Ticks:
    """Read the tick columns, without intervals whose parts do not add up."""
    found = {
        (match[1], match[2]): watched.column(name)
        for name in watched.columns
        if (match := STATE.fullmatch(name)) and watched.has(name)
    }
    numbered = {
        int(match[1]): watched.column(name)
        for name in watched.columns
        if (match := LENGTH.fullmatch(name)) and watched.has(name)
    }
    lengths = tuple(numbered[number] for number in sorted(numbered))
    # Without every length from 0 up a mean would be of something else.
    lengths = lengths if sorted(numbered) == list(range(len(numbered))) else ()
    states, first, wrong = _adding_up(tuple(found.values()), watched)
    queue, second, also = _adding_up(lengths, watched)
    return Ticks(dict(zip(found, states, strict=True)), queue, first, second, int((wrong | also).sum()))


def _adding_up(
    parts: tuple[Array, ...], watched: Watched
) -> tuple[tuple[Array, ...], Array, NDArray[np.bool_]]:
    """Parts where they add up to the ticks, their sum, and the intervals in which they do not."""
    nowhere = np.zeros(len(watched), dtype=bool)
    if not parts:
        return (), np.full(len(watched), np.nan), nowhere
    total = np.sum(parts, axis=0)
    touched = np.isfinite(parts).any(axis=0)
    said = watched.column("ticks") if watched.has("ticks") else total
    agree = np.abs(total - said) < 0.5
    kept = tuple(np.where(agree, part, np.nan) for part in parts)
    return kept, np.where(agree, total, np.nan), touched & ~agree


def _kept_by_run(log: Log, watched: Watched, name: str) -> Reading | None:
    """Mean that the simulation itself integrated, where it is of the very intervals that are looked at."""
    values = np.full(len(watched), np.nan)
    sessions = log.manifest.get("sessions") or []
    for number in watched.sessions:
        said = (sessions[number].get("replication") or {}).get("responses") or []
        found = [item.get("value") for item in said if item.get("name") == name]
        if not watched.is_whole or not found or not isinstance(found[0], (int, float)):
            return None
        values[watched.session == number] = float(found[0])
    return Reading(values * watched.length_s, watched.length_s, None, BY_RUN, is_constant=True)


def queue(log: Log, watched: Watched, seen: Ticks) -> tuple[Queue, Reading] | None:
    """Queue at the controller, as found at the ticks; with the reading of its mean for the periods."""
    if not seen.lengths or not np.nansum(seen.queued) > 0:
        return None
    amounts = np.sum([length * ticks for length, ticks in enumerate(seen.lengths)], axis=0)
    readings = int(np.nansum(seen.queued))
    sampled = Reading(amounts, seen.queued, readings, AT_TICKS)
    shares = tuple(_known(watched, Reading(part, seen.queued, readings, AT_TICKS)) for part in seen.lengths)
    exact = _kept_by_run(log, watched, "queue_length")
    mean = watched.compared(sampled, exact, "request")
    return Queue("controller", mean, shares, True, readings, is_lower_bound=shares[-1].value > 0.0), sampled


def _known(watched: Watched, reading: Reading) -> Estimate:
    found = watched.ratio(reading, "")
    assert found is not None, "a part of ticks that there are"
    return found


def device_queue(device: Device, watched: Watched) -> tuple[Queue, Reading] | None:
    """Queue of a block device: as read at the ends of the intervals, and integrated by the kernel."""
    waiting, held = device.get("in_progress"), device.get("queue_s")
    known = np.isfinite(waiting)
    if not known.any() and not np.isfinite(held).any():
        return None
    ones = np.where(known, 1.0, np.nan)
    count = int(known.sum())
    sampled = Reading(waiting, ones, count, AT_ENDS) if count else None
    exact = Reading(held, watched.length_s) if np.isfinite(held).any() else None
    longest = int(np.nanmax(waiting)) if count else 0
    is_long = longest > LONGEST
    parts = []
    for length in range(min(longest, LONGEST) + 1 if count else 0):
        own = waiting >= length if is_long and length == LONGEST else waiting == length
        parts.append(_known(watched, Reading(np.where(known, own, np.nan), ones, count, AT_ENDS)))
    mean = watched.compared(sampled, exact, "request")
    reading = exact or sampled
    assert reading is not None, "one of them is known"
    return Queue(device.name, mean, tuple(parts), open_ended=is_long, readings=count), reading


LONGEST = 15
"""Longer queues of a device are counted together."""


def controller(watched: Watched, seen: Ticks, devices: Sequence[Device]) -> Compared | None:
    """Part of the time in which any drive was busy.

    That is the controller's utilisation where it serves one drive at a time. With overlapped seeks the
    controller is free while the arms move, and no tick looks at it.
    """
    sampled = seen.busy(None)
    exact = None
    takes_turns = "both" in seen.drives and not np.nansum(seen.of(CPU, ["both"])) > 0
    own = [device.get("busy_s") for device in devices if device.number is not None]
    if own and (len(own) == 1 or takes_turns):
        # Where no tick found two drives busy, their times do not overlap.
        exact = Reading(np.sum(own, axis=0), watched.length_s)
    found = watched.compared(sampled, exact)
    return None if found.best is None else found


def matrix(watched: Watched, seen: Ticks, devices: Sequence[Device]) -> StateMatrix | None:
    """CPU state by drive state; states of a drive that is not there are left out."""
    count = int(np.nansum(seen.counted))
    if not seen.states or not count:
        return None
    numbers = {f"drive{device.number}": device.name for device in devices}
    there = set(numbers) | {NOBODY} | ({"both"} if len(numbers) > 1 else set())
    drives = [drive for drive in seen.drives if drive in there or np.nansum(seen.of(CPU, [drive])) > 0]

    def share(cpu: Sequence[str], states: Sequence[str]) -> Estimate:
        return _known(watched, Reading(seen.of(cpu, states), seen.counted, count, AT_TICKS))

    rows = [one for one in CPU if any(found == one for found, _ in seen.states)]
    return StateMatrix(
        tuple(rows),
        tuple(numbers.get(drive, drive) for drive in drives),
        tuple(tuple(share([one], [drive]) for drive in drives) for one in rows),
        tuple(share([one], drives) for one in rows),
        tuple(share(rows, [drive]) for drive in drives),
        count,
    )


def cpu_columns(log: Log) -> tuple[str, ...]:
    """Columns of the samples that `cpu` needs."""
    of_roles = [name for role in ROLES.values() for name in observations.role_columns(log, role)]
    return (*of_roles, "steal_s", "cpu_exact_s", "iowait_s", "psi_io_some_s")


def cpu(log: Log, watched: Watched, seen: Ticks) -> tuple[Cpu, Reading | None] | None:
    """CPU time by state, in both ways, and the part spent waiting for drives."""
    times = {state: watched.total(observations.role_columns(log, role)) for state, role in ROLES.items()}
    if watched.has("steal_s"):
        times["steal"] = watched.column("steal_s")
    known = {state: values for state, values in times.items() if np.isfinite(values).any()}
    capacity = np.sum(list(known.values()), axis=0) if "idle" in known else np.full(len(watched), np.nan)
    is_sampled = not seen.states and _is_sampled(log)
    states = []
    for state in (*times, "busy"):
        own = ("user", "system") if state == "busy" else (state,)
        if seen.states and (state == "busy" or state in CPU):
            first = seen.share(own, seen.drives)
        else:
            first = _part(known, own, capacity, IN_TICKS) if is_sampled else None
        second = None if is_sampled else _part(known, own, capacity, "")
        if state == "busy" and is_sampled and watched.has("cpu_exact_s"):
            second = Reading(watched.column("cpu_exact_s"), _processors(log, watched, capacity))
        share = watched.compared(first, second)
        if share.best is not None:
            states.append(CpuState(state, share))
    if not states:
        return None
    waiting, is_hint = _waiting(watched, seen, capacity)
    part = None if waiting is None else watched.ratio(waiting, "")
    return Cpu(tuple(states), part, is_hint, watched.rate(watched.column("psi_io_some_s"), "")), waiting


def _part(known: Mapping[str, Array], states: Sequence[str], capacity: Array, by: str) -> Reading | None:
    if not all(state in known for state in states):
        return None
    return Reading(np.sum([known[state] for state in states], axis=0), capacity, None, by)


def _is_sampled(log: Log) -> bool:
    """Whether the source says that it sampled CPU time at clock ticks rather than measured it."""
    return any(
        column.role == "user_time" and IN_TICKS in column.description for column in log.schema("samples")
    )


def _processors(log: Log, watched: Watched, capacity: Array) -> Array:
    """CPU time that there was [s]: of the CPUs that the manifest counts, else as the states add up."""
    sessions = log.manifest.get("sessions") or []
    said = [(session.get("machine") or {}).get("cpus") for session in sessions]
    if not said or not all(isinstance(count, int) and count > 0 for count in said):
        return capacity
    return np.array(said, dtype=np.float64)[watched.session] * watched.length_s


def _waiting(watched: Watched, seen: Ticks, capacity: Array) -> tuple[Reading | None, bool]:
    """CPU time that was idle while a drive was busy; the kernel's hint where nothing better is known."""
    busy = [drive for drive in seen.drives if drive != NOBODY]
    if busy:
        return seen.share(("idle",), busy), False
    if watched.has("iowait_s"):
        return Reading(watched.column("iowait_s"), capacity, None, IN_TICKS), True
    return None, False
