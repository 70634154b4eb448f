"""CPU time by component, events and interactions of a log, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thinktime.log import interactions, observations
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.log import Log

_Array = NDArray[np.float64]

ENTRY = "decomposition"
RUN, SYSTEM = "user time", "system time"
FAULT = "page fault"
REMEDY = (
    "record a machine while `thinktime play` plays users on it, or simulate a system that meters its "
    "scripted users (`thinktime simulate multics`)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Intervals, or single interactions, of one log, in order."""

    of: str
    """Users whose interactions are counted: ``scripted users``."""
    event: str | None
    """Event that is counted: ``page fault``."""
    components: tuple[str, ...]
    """Components of the CPU time, the run time first."""
    users: _Array
    """Users logged in."""
    count: _Array
    """Interactions completed."""
    events: _Array
    """Events in them; nan throughout where none is counted."""
    times: _Array
    """CPU time [s], a column for each component."""
    origin: str | None = None
    """Kind of the caveat on how the CPU time was measured; None where the manifest describes it."""

    def complete(self) -> Rows:
        """Rows of which every figure was measured."""
        measured = ~np.isnan(np.column_stack([self.users, self.count, self.times])).any(axis=1)
        if self.event is not None:
            measured &= ~np.isnan(self.events)
        arrays = ("users", "count", "events", "times")
        return replace(self, **{name: getattr(self, name)[measured] for name in arrays})


def read(log: Log) -> Rows | NotApplicable:
    """Rows that the manifest describes; else played interactions; else the time of the whole machine."""
    entry = _entry(log)
    rows = (_played(log) or _machine(log)) if entry is None else _described(log, entry)
    if isinstance(rows, NotApplicable):
        return rows
    complete = rows.complete()
    if not complete.count.sum() > 0.0:
        return NotApplicable("no interval has interactions, their number of users and all times", REMEDY)
    return complete


def _entry(log: Log) -> dict[str, Any] | None:
    for session in reversed(log.manifest.get("sessions", [])):
        entry = (session.get("machine") or {}).get(ENTRY)
        if isinstance(entry, dict):
            return entry
    return None


def _described(log: Log, entry: dict[str, Any]) -> Rows | NotApplicable:
    """Columns of the samples that the manifest names."""
    remedy = "see how a manifest describes the components, in thinktime.analyses.cpu_per_interaction.analysis"
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
    samples = observations.read(log, columns)
    return Rows(
        of=str(entry.get("of", "all users")),
        event=named[0] if named else None,
        components=tuple(name for name, _ in parts),
        users=samples.columns[users],
        count=samples.columns[count],
        events=samples.columns[named[1]] if named else np.full(len(samples), np.nan),
        times=np.column_stack([samples.columns[time] for _, time in parts]),
    )


def _played(log: Log) -> Rows | None:
    """Interactions with a CPU time of their own; None where they have none."""
    faults = ("page_faults_minor", "page_faults_major")
    played = interactions.read(log, faults)
    if played is None:
        return None
    done = ~np.isnan(played.response)
    times = np.column_stack([played.columns["user_s"], played.columns["system_s"]])[done]
    if not len(times) or np.isnan(times).all():
        return None
    counted = _sum([played.columns[name][done] for name in faults])
    event = FAULT if np.nansum(counted) > 0.0 else None
    return Rows(
        of="played users",
        event=event,
        components=(RUN, SYSTEM),
        users=played.columns["population"][done],
        count=np.ones(len(times)),
        events=counted,
        times=times,
        origin="charged_time",
    )


def _machine(log: Log) -> Rows | NotApplicable:
    """Time of the whole machine and the interactions that it completed."""
    roles = {
        role: observations.role_columns(log, role) for role in ("user_time", "system_time", "throughput")
    }
    if not roles["user_time"] or not roles["system_time"]:
        return NotApplicable("user and system time were not both measured", REMEDY)
    played = interactions.read(log)
    if played is None and not roles["throughput"]:
        return NotApplicable("the log does not record how many interactions were completed", REMEDY)
    faults = observations.quantities(log, ["page_faults"])
    counters = roles["throughput"][:1]
    gauges = ("users", *observations.role_columns(log, "load"))
    names = [*roles["user_time"], *roles["system_time"], *counters, *gauges]
    samples = observations.read(log, [*names, *(name for item in faults for name in item.columns)])
    times = np.column_stack([samples.total(roles["user_time"]), samples.total(roles["system_time"])])
    events = samples.total(faults[0].columns) if faults else np.full(len(samples), np.nan)
    if played is not None:
        count, users = played.completed_in(samples), played.population_in(samples)
    else:
        count = samples.columns[counters[0]]
        users = next(
            (samples.columns[name] for name in gauges if name not in samples.absent), np.ones(len(samples))
        )
    event = FAULT if np.nansum(events) > 0.0 else None
    return Rows(
        of="all users",
        event=event,
        components=(RUN, SYSTEM),
        users=users,
        count=count,
        events=events,
        times=times,
        origin="whole_machine",
    )


def _sum(columns: Sequence[_Array]) -> _Array:
    """Sum of the columns that have any value."""
    known = [column for column in columns if not np.isnan(column).all()]
    return np.sum(known, axis=0) if known else np.full(len(columns[0]), np.nan)
