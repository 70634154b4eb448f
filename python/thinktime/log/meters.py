"""Meters of events: columns that count them, and columns that hold the CPU time they took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = ["Meter", "meters"]


@dataclass(frozen=True, slots=True)
class Meter:
    """One kind of event that the source counts and times."""

    event: str
    """One of them: ``page fault``."""
    count: str
    """Counter of the samples: events begun."""
    time: str
    """Counter of the samples: CPU time they took [s]."""


def meters(log: Log) -> tuple[tuple[Meter, ...], tuple[str, ...]]:
    """Meters that the log's manifest names, and what is wrong with those that cannot be used.

    A session's ``machine`` has them as ``meters``: ``[{"event": "page fault", "count": "page_faults",
    "time": "page_fault_s"}, ...]``. Those of the last session that has any are taken.
    """
    known = {column.name: column for column in log.schema("samples")}
    found: list[Meter] = []
    wrong: list[str] = []
    for entry in _entries(log):
        words = [entry.get(key) for key in ("event", "count", "time")] if isinstance(entry, dict) else []
        if not (words and all(isinstance(word, str) and word for word in words)):
            wrong.append(f"{entry!r} does not name an event, its count and its time")
            continue
        meter = Meter(*map(str, words))
        missing = [name for name in (meter.count, meter.time) if name not in known]
        if missing:
            wrong.append(f"{meter.event}: the samples have no column {' and no '.join(missing)}")
        elif any(meter.time == other.time or meter.count == other.count for other in found):
            wrong.append(f"{meter.event}: {meter.count} or {meter.time} is in another meter too")
        else:
            found.append(meter)
    return tuple(found), tuple(wrong)


def _entries(log: Log) -> list[object]:
    for session in reversed(log.manifest.get("sessions", [])):
        entries = (session.get("machine") or {}).get("meters")
        if isinstance(entries, list) and entries:
            return entries
    return []
