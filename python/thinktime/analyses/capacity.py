"""Where the CPU capacity went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = ["Capacity", "Event", "Part", "analyse"]


@dataclass(frozen=True, slots=True)
class Part:
    """One state of the CPUs."""

    name: str
    """``user``, ``nice``, ``system``, ``irq``, ``softirq``, ``steal``, ``iowait``, ``idle``."""
    label: str
    share: Estimate
    """Part of the CPU capacity, 0 to 1. The parts of all states add to 1."""


@dataclass(frozen=True, slots=True)
class Event:
    """One kind of event, with share = overhead / time between (Sekino 1971, Tables 1 to 3)."""

    request: str
    label: str
    share: Estimate
    """Part of the CPU capacity, 0 to 1."""
    overhead: Estimate
    """System CPU time an event [s]."""
    time_between: Estimate
    """Mean time between events per processor [s]: CPUs x time / events."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """CPU capacity by state, and the system's part by event."""

    cpus: float
    """Number of CPUs: from the manifest, or from the times themselves."""
    intervals: int
    parts: tuple[Part, ...]
    events: tuple[Event, ...]
    """By falling share; empty where the overhead regression does not apply."""
    unattributed: Estimate | None
    """Part of the capacity that the system used but no event explains; with `events` the system's share."""
    system: Estimate
    """Part of the capacity used by the system: system, irq and softirq."""
    recorder: Estimate | None
    """Part of the capacity that the recorder itself used; inside user and system."""
    caveats: tuple[str, ...]


def analyse(log: Log, *, level: float = 0.95) -> Capacity | NotApplicable:
    """CPU capacity by state and by event."""
    return NotApplicable("this analysis is not built yet")
