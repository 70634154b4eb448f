"""How much of everything happened a second."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = ["Rate", "Rates", "analyse"]


@dataclass(frozen=True, slots=True)
class Rate:
    """One column of the samples over the whole log."""

    column: str
    description: str
    kind: Literal["counter", "gauge"]
    mean: Estimate
    """Of a counter, amount per second (unit ``fork/s``; ``s/s`` of CPU time); of a gauge, its mean over time."""
    total: float | None
    """Of a counter, the amount in the whole log, in the column's unit."""
    lowest: float
    """Smallest value of one interval, in the unit of `mean`."""
    highest: float
    """Largest value of one interval, in the unit of `mean`."""
    autocorrelation: float | None
    """Correlation of one interval's value with the next one's; None where it never changes."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Every counter per second and every gauge's mean."""

    intervals: int
    time_s: float
    """Measured time, gaps between sessions left out."""
    rates: tuple[Rate, ...]
    not_measured: tuple[str, ...]
    """Columns that are null in every interval."""
    always_zero: tuple[str, ...]
    """Counters that never moved: nothing happened, or this kernel does not count it."""
    caveats: tuple[str, ...]


def analyse(log: Log, *, level: float = 0.95) -> Rates | NotApplicable:
    """Every counter per second, every gauge as a mean."""
    return NotApplicable("this analysis is not built yet")
