"""How much useful work the machine does as its load grows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = ["Group", "Measure", "Throughput", "analyse"]


@dataclass(frozen=True, slots=True)
class Measure:
    """One quantity whose mean is taken at each load."""

    name: str
    """``user_time``, ``system_time``, ``idle_time``, ``interactions``, or a request column."""
    label: str
    unit: str
    useful: bool
    """Whether more of it is good: user time, interactions (Bard 1971; requirements of judgement)."""


@dataclass(frozen=True, slots=True)
class Group:
    """The observations of one range of load."""

    load_low: float
    load_high: float
    load_mean: float
    n: int
    few: bool
    """Fewer observations than `Throughput.n_few`: the means are unreliable."""
    means: tuple[Estimate | None, ...]
    """One a measure, in the order of `Throughput.measures`; None where not measured."""


@dataclass(frozen=True, slots=True)
class Throughput:
    """Grouped means by load."""

    load: str
    """The column that measures load: ``active_users`` or another with the role ``load``."""
    load_unit: str
    measures: tuple[Measure, ...]
    groups: tuple[Group, ...]
    """By growing load; groups without an observation are left out."""
    n: int
    """Observations with a load."""
    n_few: int
    per_capita: tuple[Estimate | None, ...]
    """User time per second and active user of each group, in the order of `groups`."""
    peak: tuple[float, float] | None
    """Range of load of the reliable group with most user time."""
    caveats: tuple[str, ...]


def analyse(log: Log, *, level: float = 0.95) -> Throughput | NotApplicable:
    """Means of useful work, overhead and requests, by load."""
    return NotApplicable("this analysis is not built yet")
