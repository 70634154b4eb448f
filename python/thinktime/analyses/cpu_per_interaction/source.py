"""CPU time, events and interactions of a log, as they are decomposed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thinktime.log import interactions, observations
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = ["Rows", "read"]

_Array = NDArray[np.float64]

ENTRY = "decomposition"
RUN, SYSTEM = "user time", "system time"
FAULT = "page fault"
OWN = (
    "CPU time is what the processes that served the interactions were charged with: user time as run time, "
    "system time as everything that the system did for them. No meter divides the system time by kind of "
    "event."
)
WHOLE = (
    "CPU time and page faults are those of the whole machine, divided by the interactions completed: "
    "whatever else ran on it is in them."
)
REMEDY = (
    "record a machine while `thinktime play` plays users on it, or simulate a system that meters its "
    "scripted users (`thinktime simulate multics`)"
)


@dataclass(frozen=True, slots=True)
class Rows:
    """Intervals, or single interactions, of one log, in order.

    Parameters
    ----------
    of : str
        Whose interactions: ``scripted users``.
    event : str or None
        What is counted besides: ``page fault``.
    parts : tuple of str
        Parts of the CPU time, the run time first.
    users : ndarray
        Users logged in.
    count : ndarray
        Interactions completed.
    events : ndarray
        Events in them; nan throughout where there is none to count.
    times : ndarray
        CPU time [s], a column a part.
    caveats : tuple of str
    """

    of: str
    event: str | None
    parts: tuple[str, ...]
    users: _Array
    count: _Array
    events: _Array
    times: _Array
    caveats: tuple[str, ...]

    def known(self) -> Rows:
        """Rows that are measured whole."""
        whole = ~np.isnan(np.column_stack([self.users, self.count, self.times])).any(axis=1)
        if self.event is not None:
            whole &= ~np.isnan(self.events)
        return Rows(
            self.of,
            self.event,
            self.parts,
            self.users[whole],
            self.count[whole],
            self.events[whole],
            self.times[whole],
            self.caveats,
        )


def read(log: Log) -> Rows | NotApplicable:
    """Read what the manifest describes; else played interactions; else the machine's time by interaction."""
    entry = _entry(log)
    rows = (_played(log) or _machine(log)) if entry is None else _described(log, entry)
    if isinstance(rows, NotApplicable):
        return rows
    known = rows.known()
    if not known.count.sum() > 0.0:
        return NotApplicable("no interval has interactions, their number of users and all times", REMEDY)
    return known


def _entry(log: Log) -> dict[str, Any] | None:
    for session in reversed(log.manifest.get("sessions", [])):
        entry = (session.get("machine") or {}).get(ENTRY)
        if isinstance(entry, dict):
            return entry
    return None


def _described(log: Log, entry: dict[str, Any]) -> Rows | NotApplicable:
    """Columns of the samples that the manifest names."""
    remedy = "see how the manifest describes a decomposition, in the documentation of the analysis"
    event = entry.get("event")
    try:
        parts = tuple((str(part["name"]), str(part["time"])) for part in entry["parts"])
        count, users = str(entry["interactions"]), str(entry["users"])
        named = None if event is None else (str(event["name"]), str(event["count"]))
    except (KeyError, TypeError) as error:
        return NotApplicable(f"the manifest's {ENTRY} is not complete: {error!r}", remedy)
    columns = [users, count, *(time for _, time in parts), *([named[1]] if named else [])]
    known = {column.name for column in log.schema("samples")}
    if missing := [name for name in columns if name not in known]:
        reason = f"the manifest's {ENTRY} names {', '.join(missing)}, which the samples lack"
        return NotApplicable(reason, remedy)
    seen = observations.read(log, columns)
    return Rows(
        str(entry.get("of", "all users")),
        named[0] if named else None,
        tuple(name for name, _ in parts),
        seen.columns[users],
        seen.columns[count],
        seen.columns[named[1]] if named else np.full(len(seen), np.nan),
        np.column_stack([seen.columns[time] for _, time in parts]),
        (),
    )


def _played(log: Log) -> Rows | None:
    """Interactions that know their own CPU time; None where they do not."""
    faults = ("page_faults_minor", "page_faults_major")
    seen = interactions.read(log, faults)
    if seen is None:
        return None
    done = ~np.isnan(seen.response)
    times = np.column_stack([seen.columns["user_s"], seen.columns["system_s"]])[done]
    if not len(times) or np.isnan(times).all():
        return None
    counted = _sum([seen.columns[name][done] for name in faults])
    event = FAULT if np.nansum(counted) > 0.0 else None
    users = seen.columns["population"][done]
    return Rows("played users", event, (RUN, SYSTEM), users, np.ones(len(times)), counted, times, (OWN,))


def _machine(log: Log) -> Rows | NotApplicable:
    """Time of the whole machine by the interactions that it completed."""
    roles = {
        role: observations.role_columns(log, role) for role in ("user_time", "system_time", "throughput")
    }
    if not roles["user_time"] or not roles["system_time"]:
        return NotApplicable("user and system time were not both measured", REMEDY)
    played = interactions.read(log)
    if played is None and not roles["throughput"]:
        return NotApplicable("the log does not say how many interactions were completed", REMEDY)
    faults = observations.quantities(log, ["page_faults"])
    counters = roles["throughput"][:1]
    gauges = ("users", *observations.role_columns(log, "load"))
    names = [*roles["user_time"], *roles["system_time"], *counters, *gauges]
    seen = observations.read(log, [*names, *(name for item in faults for name in item.columns)])
    times = np.column_stack([seen.total(roles["user_time"]), seen.total(roles["system_time"])])
    events = seen.total(faults[0].columns) if faults else np.full(len(seen), np.nan)
    if played is not None:
        count, users = played.completed_in(seen), played.population_in(seen)
    else:
        count = seen.columns[counters[0]]
        users = next((seen.columns[name] for name in gauges if name not in seen.absent), np.ones(len(seen)))
    event = FAULT if np.nansum(events) > 0.0 else None
    return Rows("all users", event, (RUN, SYSTEM), users, count, events, times, (WHOLE,))


def _sum(columns: Sequence[_Array]) -> _Array:
    """Sum of those columns that have values at all."""
    known = [column for column in columns if not np.isnan(column).all()]
    return np.sum(known, axis=0) if known else np.full(len(columns[0]), np.nan)
