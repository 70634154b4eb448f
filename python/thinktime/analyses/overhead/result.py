"""What the overhead regression says."""

from __future__ import annotations

from dataclasses import dataclass

from thinktime.analyses.overhead.residual_pass import Point
from thinktime.stats.estimate import Estimate
from thinktime.stats.hypothesis import SignificanceTest
from thinktime.stats.regression.collinearity import Dependency

__all__ = ["Cost", "CostSpread", "DirectCost", "LeftOut", "Overhead", "Part", "Stability", "TickCheck"]


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
    ``base`` [s/s]; in the unit of the target where another was explained. Its interval is the one to rely
    on."""
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
    """1 / (1 - R^2 of this rate on the others); above 10 the costs can hardly be told apart."""
    non_negative: float
    """Cost in the fit that allows no negative cost; the same where none is."""
    robust: float
    """Cost by Huber's M-estimate, outliers included."""
    direct: DirectCost | None
    """Direct measurement beside it, where the manifest has one."""
    concentration: float = 0.0
    """Part of what is known of this cost that comes from the five intervals which tell most, 0 to 1."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A candidate that is not in the regression, and why."""

    request: str
    label: str
    reason: str
    tested: bool = False
    """Whether it could have been in the regression, and was not chosen."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the log, fitted by itself."""

    start_us: int
    """Start of its first interval, microseconds since 1970 UTC."""
    end_us: int
    """Start of its last interval."""
    n: int
    """Observations, outliers of the whole fit left out."""
    r_squared: float


@dataclass(frozen=True, slots=True)
class CostSpread:
    """One cost, fitted on each part of the log by itself."""

    request: str
    label: str
    seconds: tuple[Estimate, ...]
    """The cost in each part, with Newey and West's interval."""
    deviation: float
    """Standard deviation of the cost between the parts."""
    nominal: float
    """Standard error of one part's cost if errors were independent and of one variance: root mean square."""
    independent: SignificanceTest
    """Whether the parts have one cost, if errors are independent and of one variance."""
    robust: SignificanceTest
    """The same, if errors are correlated and of any size; p adjusted over all costs (Holm)."""

    @property
    def ratio(self) -> float:
        """Spread over what the regression model says: about 1 if it holds."""
        return self.deviation / self.nominal if self.nominal > 0.0 else float("inf")


@dataclass(frozen=True, slots=True)
class Stability:
    """Bard's test of the regression model: whether parts of the log give the same costs."""

    parts: tuple[Part, ...]
    spreads: tuple[CostSpread, ...]
    """``base`` first, then in the order of entry."""
    independent: SignificanceTest
    """All costs at once, if errors are independent and of one variance (Chow)."""
    robust: SignificanceTest
    """All costs at once, if errors are correlated and of any size."""


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
    """System CPU time, or another time, explained by request rates (Bard 1971, equation 2)."""

    target: str
    """What is explained, in words: ``system time``."""
    costs: tuple[Cost, ...]
    """``base`` first, then in the order of entry."""
    left_out: tuple[LeftOut, ...]
    system_time: Estimate
    """Mean of what is explained: system time [s/s], or the amount a second of another target."""
    explained: tuple[str, ...]
    """Columns whose sum is explained."""
    scaled: bool
    """Whether it is the system's share of ticks times the exact busy time."""
    r_squared: float
    residual_s: float
    """s of equation 6, in the unit of `system_time`."""
    threshold: float
    """Observations further off than this times s of the first fit were left out."""
    n: int
    """Observations used, outliers left out."""
    outliers: int
    outliers_positive: int
    f_to_enter: float
    """The least F at which a candidate was taken."""
    correlations: tuple[float, ...]
    """Correlation of a residual with the one 1, 2, ... intervals later; empty where it is not defined."""
    lags: int
    """Bandwidth of the interval that holds under autocorrelation [intervals]."""
    block: int
    """Length of a block of the bootstrap [intervals]."""
    covariance: tuple[tuple[float, ...], ...]
    """Of the costs, in their order, by Newey and West, freed from the bias of its bandwidth."""
    degrees: float
    """Equivalent degrees of freedom of `covariance`."""
    robust_n: int
    """Observations that the robust costs are of: all, or as many as fit into memory."""
    condition_number: float
    """Of the columns used, each scaled to length one; above 30 is a caveat."""
    dependencies: tuple[Dependency, ...]
    """Directions in which the rates hardly differ, with the costs that suffer; in the order of `costs`."""
    stability: Stability | None
    """None where a part would be too short."""
    tick_check: TickCheck | None
    recorder: Estimate | None
    """CPU time of the recorder itself [s/s], which is part of what was measured."""
    points: tuple[Point, ...]
    """Observed and fitted, thinned evenly to at most 1000, outliers kept."""
    caveats: tuple[str, ...]

    @property
    def autocorrelation(self) -> float:
        """Correlation of one residual with the next; 0 where it is not defined."""
        return self.correlations[0] if self.correlations else 0.0

    @property
    def requests(self) -> tuple[str, ...]:
        """Requests in the regression, in the order of entry, without the base."""
        return tuple(cost.request for cost in self.costs[1:])

    def cost(self, request: str) -> Cost | None:
        """Cost of one request; None where it is not in the regression."""
        return next((cost for cost in self.costs if cost.request == request), None)
