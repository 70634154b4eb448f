"""Meters of events: columns with their number, and columns with their CPU time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinktime.log import facts

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.log.facts import Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Meter:
    """One kind of event that the source counts and times."""

    event: str
    """Name of one event: ``page fault``."""
    count: str
    """Counter of the samples: number of events begun."""
    time: str
    """Counter of the samples: CPU time of the events [s]."""


def meters(log: Log) -> tuple[tuple[Meter, ...], tuple[str, ...]]:
    """Meters in the log's manifest, and the defects of those that cannot be used.

    A session's ``machine`` has them as ``meters``: ``[{"event": "page fault", "count": "page_faults",
    "time": "page_fault_s"}, ...]``. The last session that has any is used.
    """
    schema = {column.name for column in log.schema("samples")}
    usable: list[Meter] = []
    defects: list[str] = []
    for entry in _entries(log):
        event, count, time = entry.text("event"), entry.text("count"), entry.text("time")
        if not (event and count and time):
            defects.append(f"{entry.values!r} does not name an event, its count and its time")
            continue
        meter = Meter(event=event, count=count, time=time)
        missing = [name for name in (meter.count, meter.time) if name not in schema]
        if missing:
            defects.append(f"{meter.event}: the samples have no column {' and no '.join(missing)}")
        elif any(meter.time == other.time or meter.count == other.count for other in usable):
            defects.append(f"{meter.event}: {meter.count} or {meter.time} is in another meter too")
        else:
            usable.append(meter)
    return tuple(usable), tuple(defects)


def _entries(log: Log) -> tuple[Facts, ...]:
    for session in reversed(facts.sessions(log)):
        if entries := session.machine.tables("meters"):
            return entries
    return ()
