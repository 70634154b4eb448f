"""How long users wait, by number of users and by class of interaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = ["Response", "ResponseGroup", "Waiting", "analyse"]


@dataclass(frozen=True, slots=True)
class Waiting:
    """One kind of wait [s]: mean and quantiles over the interactions that have it."""

    n: int
    mean: Estimate
    p50: Estimate
    p90: Estimate
    p99: Estimate


@dataclass(frozen=True, slots=True)
class ResponseGroup:
    """Interactions of one range of users, or of one class."""

    label: str
    """``all``, the class's name, or the range of users: ``3-4``."""
    population_low: float | None
    population_high: float | None
    arrived: int
    unfinished: int
    """Never completed in the log: their response times are longer than what was seen, and are left out."""
    response: Waiting | None
    """Input received to completion; None where too few completed."""
    first_output: Waiting | None
    """Input received to the first output."""
    reaction: Waiting | None
    """Input received to the first slice of service, where the source can see it."""
    service: Estimate | None
    """Mean CPU time received [s]."""
    stretch: Estimate | None
    """Stretch factor: mean response over mean service (ratio of means)."""
    throughput: Estimate | None
    """Interactions completed per second; None where the group is no stretch of time."""


@dataclass(frozen=True, slots=True)
class Response:
    """Response time and its parts."""

    overall: ResponseGroup
    by_population: tuple[ResponseGroup, ...]
    by_class: tuple[ResponseGroup, ...]
    """Empty where there is one class only."""
    growth: Estimate | None
    """Response at the largest population over that at the smallest (ratio of medians), where both are reliable."""
    caveats: tuple[str, ...]


def analyse(log: Log, *, level: float = 0.95) -> Response | NotApplicable:
    """Response times by population and class."""
    return NotApplicable("this analysis is not built yet")
