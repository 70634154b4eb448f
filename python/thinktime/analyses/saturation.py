"""What the machine can do at most, and which resource stops it (Bard 1971)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = [
    "Dimension",
    "Filling",
    "FrontierPair",
    "FrontierPoint",
    "Limit",
    "Saturation",
    "TradeOff",
    "analyse",
]

Limit = Literal["cpu", "disk", "memory", "none", "unknown"]
"""The resource that was used up at a point; ``none``: neither, ``unknown``: not measured."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """One kind of work per second."""

    name: str
    label: str
    unit: str


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """An interval in which no other did at least as much of everything."""

    start_us: int
    values: tuple[float, ...]
    """Work per second, in the order of `Saturation.dimensions`."""
    limit: Limit
    idle: float | None
    """Idle part of the CPU capacity in that interval, 0 to 1."""
    disk_busy: float | None
    """Busy part of the busiest disk's time, 0 to 1."""
    memory_stall: float | None
    """Part of the time in which some task was stalled on memory, 0 to 1."""
    swapping: float | None
    """Pages swapped in and out per second."""


@dataclass(frozen=True, slots=True)
class TradeOff:
    """How much of one kind of work has to be given up for one more of another, on the frontier."""

    low: float
    """Range of x in which it holds."""
    high: float
    rate: Estimate
    """- dx/dy: amount of x for one unit of y (Bard 1971: 11 ms of problem state for a page)."""


@dataclass(frozen=True, slots=True)
class FrontierPair:
    """The frontier of two kinds of work; the others are left free."""

    x: Dimension
    y: Dimension
    points: tuple[tuple[float, float], ...]
    """Pareto-maximal pairs (x, y), x growing."""
    limits: tuple[Limit, ...]
    """One a point."""
    cloud: tuple[tuple[float, float], ...]
    """All observations, thinned evenly to at most 1000."""
    curve: tuple[tuple[float, float], ...]
    """Concave hull through the frontier, from the y axis to the x axis' end: vertices (x, y)."""
    band: tuple[tuple[float, float, float], ...]
    """(x, low, high) of the curve at 25 values of x, by block bootstrap."""
    trade_offs: tuple[TradeOff, ...]
    overall: TradeOff | None
    """Slope from end to end of the frontier; None where the frontier is one point."""


@dataclass(frozen=True, slots=True)
class Filling:
    """Whether more data fill the frontier in or move it outwards (Bard 1971)."""

    growth: float
    """Volume under the frontier of all data over that of the first half, less one."""
    outside: Estimate
    """Part of the second half's observations that lie outside the first half's frontier, 0 to 1."""
    expected: float
    """The same part if both halves were one stationary sample (random halves)."""
    settles: bool | None
    """True: it fills in. False: it still moves outwards. None: too little data to say."""


@dataclass(frozen=True, slots=True)
class Saturation:
    """The Pareto-maximal intervals, their limits and what can be traded for what."""

    dimensions: tuple[Dimension, ...]
    n: int
    points: tuple[FrontierPoint, ...]
    """By falling first dimension."""
    limits: dict[Limit, int]
    """Number of frontier points that each resource limits."""
    saturated_share: dict[Limit, Estimate]
    """Part of all intervals in which each resource was used up, 0 to 1."""
    pairs: tuple[FrontierPair, ...]
    filling: Filling
    interval_s: float
    """Median length of an interval: shorter saturation cannot be seen."""
    idle_below: float
    """Idle part below which the CPU counts as used up."""
    disk_above: float
    """Busy part above which a disk counts as used up."""
    stall_above: float
    """Stalled part above which memory counts as used up."""
    caveats: tuple[str, ...]


def analyse(log: Log, *, level: float = 0.95) -> Saturation | NotApplicable:
    """Pareto frontier of user time, page faults and disk operations."""
    return NotApplicable("this analysis is not built yet")
