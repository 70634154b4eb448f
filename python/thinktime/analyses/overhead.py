"""What each kind of request costs the system, by regression (Bard 1971)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = ["Cost", "DirectCost", "LeftOut", "Overhead", "Point", "TickCheck", "analyse"]


@dataclass(frozen=True, slots=True)
class DirectCost:
    """Cost of one request, measured by itself on the same machine."""

    seconds: Estimate
    overlaps: bool
    """Whether its interval and that of the regression have a point in common."""
    ratio: float
    """Regression's cost over the direct one."""


@dataclass(frozen=True, slots=True)
class Cost:
    """One term of the regression."""

    request: str
    """Column (``forks``), ``disk_operations`` or another sum of columns, ``user_time``, or ``base``."""
    label: str
    columns: tuple[str, ...]
    """Columns of the samples that were added up; empty for ``base``."""
    seconds: Estimate
    """System CPU time a request [s], or per second of user time [s/s], or per second of real time for
    ``base`` [s/s]. Its interval is the one to rely on."""
    textbook: Estimate
    """The same with the textbook interval (independent errors of one variance)."""
    bootstrap: Estimate | None
    """The same with the moving-block bootstrap interval."""
    share: Estimate
    """Part of the mean system time, 0 to 1: cost x mean rate / mean system time (Bard 1971, Table 8)."""
    rate: Estimate
    """Mean rate over the observations used [request/s]; 1 for ``base``."""
    f_to_enter: float | None
    """F at which forward selection took it; None for ``base``."""
    variance_inflation: float | None
    """1 / (1 - R^2 of this rate on the others); above 10 the cost cannot be told from the others' [no unit]."""
    non_negative: float | None
    """Cost in the fit that allows no negative cost; None where no cost is negative."""
    robust: float
    """Cost by Huber's M-estimate on all observations, outliers included."""
    quarters: tuple[float, ...]
    """Cost fitted on each quarter of the log by itself (stability; Bard 1971); nan-free, empty if too short."""
    direct: DirectCost | None
    """Direct measurement beside it, where the manifest has one."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A candidate that is not in the regression, and why."""

    request: str
    label: str
    reason: str


@dataclass(frozen=True, slots=True)
class Point:
    """One observation: system time per second [s/s]."""

    start_us: int
    observed: float
    fitted: float
    outlier: bool


@dataclass(frozen=True, slots=True)
class TickCheck:
    """The tick-sampled CPU time against the exact one."""

    ticks: Estimate
    """Busy CPU time by ticks [s/s]."""
    exact: Estimate
    """Busy CPU time, exact [s/s]."""
    disagreement: float
    """Ticks over exact, less one."""


@dataclass(frozen=True, slots=True)
class Overhead:
    """System CPU time explained by request rates (Bard 1971, equation 2)."""

    costs: tuple[Cost, ...]
    """``base`` first, then in the order of entry."""
    left_out: tuple[LeftOut, ...]
    system_time: Estimate
    """Mean system time [s/s]: what is explained."""
    explained: tuple[str, ...]
    """Columns whose sum is explained."""
    scaled: bool
    """Whether it is the system's share of ticks times the exact busy time."""
    r_squared: float
    residual_s: float
    """s of equation 6 [s/s]."""
    n: int
    """Observations used, outliers left out."""
    outliers: int
    outliers_positive: int
    f_to_enter: float
    """The least F at which a candidate was taken."""
    autocorrelation: float
    """Correlation of one residual with the next."""
    lags: int
    """Bandwidth of the interval that holds under autocorrelation."""
    condition_number: float
    """Of the columns used, each scaled to length one; above 30 is a caveat."""
    tick_check: TickCheck | None
    recorder: Estimate | None
    """CPU time of the recorder itself [s/s], which is part of what was measured."""
    points: tuple[Point, ...]
    """Observed and fitted, thinned evenly to at most 1000, outliers kept."""
    caveats: tuple[str, ...]


def analyse(log: Log, *, level: float = 0.95) -> Overhead | NotApplicable:
    """Cost of each kind of request."""
    return NotApplicable("this analysis is not built yet")
