"""Results of the breakdown of the CPU capacity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from thinktime.analyses.timeline.analysis import Timeline
from thinktime.results import Result
from thinktime.stats.estimate import Caveat, Estimate

Use = Literal["user", "system", "steal", "idle"]


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """One state of the CPUs: a column of the samples."""

    column: str
    label: str
    use: Use
    """``user`` work, ``system`` work for it, ``steal`` by the hypervisor, ``idle``."""
    share: Estimate
    """Share of the CPU capacity, 0 to 1. The shares of all states add to 1."""

    @property
    def name(self) -> str:
        """The column without its unit: ``user``, ``iowait``, ``page_fault``."""
        return self.column.removesuffix("_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One kind of event, with share = overhead / time between (Sekino 1971, Tables 1 to 3)."""

    request: str
    """Column of the samples that counts it, or the name of a sum of columns."""
    label: str
    share: Estimate
    """Share of the CPU capacity, 0 to 1."""
    overhead: Estimate | None
    """System CPU time per event [s]; None where none happened."""
    time_between: Estimate | None
    """Mean time between events per processor [s]: CPUs x time / events; None where none happened."""
    claimed: bool = True
    """False for a regressed cost that belongs in a table and in no summary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One event's share, computed in two ways."""

    request: str
    label: str
    product: float
    """Overhead per event over time between events."""
    share: float
    """Metered: the event's time over the time of all states. Else: its part of the system time by the
    regression, times the system's share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """Property of the machine or of its load while this was measured."""

    name: str
    label: str
    value: Estimate | float | str
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Capacity(Result):
    """CPU capacity by state, and the system's part of it by event."""

    MAIN = "states"

    cpus: float
    """Number of CPUs: from the manifest, or from the times themselves."""
    intervals: int
    metered: bool
    """True if the source measured the time of each event; else overheads are those of the regression."""
    states: tuple[State, ...]
    events: tuple[Event, ...]
    """Metered ones in the order of the meters, else by falling share; empty where neither meters nor the
    overhead regression apply."""
    unattributed: Estimate | None
    """Share of the capacity that the system used but no event explains; with `events` the system's share."""
    user: Estimate
    """Share of the capacity used by users' programs."""
    system: Estimate
    """Share of the capacity used by the system."""
    recorder: Estimate | None
    """Share of the capacity that the recorder itself used; included in user and system."""
    lock_wait: Estimate | None
    """Share of the capacity spent waiting for locks; included in the events' times."""
    accounted: float
    """Time of all states over CPUs x time: 1 where nothing is missing and nothing is counted twice."""
    checks: tuple[Check, ...]
    """Of `events`, those that happened."""
    conditions: tuple[Condition, ...]
    caveats: tuple[Caveat, ...]
    over_time: Timeline | None = None
    """CPU time by state over time, by column of `states`."""
