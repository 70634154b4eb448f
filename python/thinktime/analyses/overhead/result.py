"""Results of the overhead regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from thinktime.results import Result
from thinktime.stats.estimate import Caveat, Estimate
from thinktime.stats.hypothesis import SignificanceTest
from thinktime.stats.regression.collinearity import Dependency

Timing = Literal["ticks", "sampled", "as recorded"]
"""System time by the kernel's ticks, by samples out of step with them, or as another source measured it."""
INFLATED = 10.0
"""Variance inflation factor above which a cost counts as inseparable: its R² on the others is 90 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectCost:
    """Cost of one request, measured by itself on the same machine."""

    seconds: Estimate
    agrees: bool
    """True if it and the cost by regression differ by no more than chance, at their intervals' level."""
    ratio: float
    """Cost by regression over the direct one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """One term of the regression."""

    request: str
    """Column (``forks``), ``disk_operations`` or another sum of columns, ``user_time``, or ``base``; with
    ``+`` between them (``forks+execs``) requests that cannot be separated and are counted together."""
    label: str
    columns: tuple[str, ...]
    """Columns of the samples that were added up; empty for ``base``."""
    seconds: Estimate
    """System CPU time per request [s], per second of user time [s/s], or per second of real time for
    ``base`` [s/s]; in the unit of the target if that is another. Its interval is the one to rely on; ``base``
    has none where requests were not selected, whose cost it contains."""
    textbook: Estimate
    """The same with the textbook interval (independent errors of one variance)."""
    bootstrap: Estimate | None
    """The same with the moving-block bootstrap interval."""
    share: Estimate
    """Share of the mean target, 0 to 1: cost x mean rate / mean target (Bard 1971, Table 8)."""
    rate: Estimate
    """Mean rate over the observations used [request/s]; 1 for ``base``."""
    f_to_enter: float | None
    """F beside the other terms, by long-run variance; None for ``base`` and for requests that were named."""
    variance_inflation: float | None
    """1 / (1 - R^2 of this rate on the others); above 10 the costs can hardly be separated."""
    among_all: Estimate | None
    """The same cost in the regression on all candidates that can be separated, whose interval no selection
    has narrowed; None where requests were named, or there are too few intervals for it."""
    joined: tuple[float | None, ...]
    """The same cost with 2, 4 and 8 successive intervals joined; None where they do not determine it."""
    length: SignificanceTest
    """Test that joining intervals changes the cost only by chance; p adjusted over all costs (Holm)."""
    non_negative: float
    """Cost in the fit that allows no negative cost; the same where none is."""
    robust: float
    """Cost by Huber's M-estimate, outliers included."""
    direct: DirectCost | None
    """Direct measurement, where the manifest has one."""
    concentration: float
    """Share of the information on this cost that comes from the five most informative intervals, 0 to 1."""

    steady: float
    """Half width of the interval, in the unit of `seconds`, under the errors by which it is calibrated: it
    varies less from log to log, and decides whether the cost may be stated."""
    rivals: tuple[str, ...] = ()
    """Requests without a row whose rates take more than half of what is this rate's own variation."""
    doubts: tuple[Caveat, ...] = ()
    """Reasons why the cost is for the table alone, see `claims.doubts`."""

    @property
    def shown_to_cost(self) -> bool:
        """True if the cost is significantly above zero, also with all other candidates in the regression."""
        every = self.seconds if self.among_all is None else self.among_all
        separate = (self.variance_inflation or 1.0) <= INFLATED
        return (self.seconds.low or 0.0) > 0.0 and (every.low or 0.0) > 0.0 and separate

    @property
    def claimed(self) -> bool:
        """True if a summary may state the cost and advise by it."""
        return not self.doubts


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A candidate that is not in the regression."""

    request: str
    label: str
    reason: Caveat
    tested: bool = False
    """True if it could have been in the regression but was not selected."""
    among_all: Estimate | None = None
    """Its cost in the regression on all candidates that can be separated; None where it is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subset:
    """A stretch of the log, fitted by itself."""

    start_us: int
    """Start of its first interval, microseconds since 1970 UTC."""
    end_us: int
    """Start of its last interval."""
    n: int
    """Observations, outliers of the fit to the whole log left out."""
    r_squared: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CostSpread:
    """One cost, fitted on each subset of the log by itself."""

    request: str
    label: str
    seconds: tuple[Estimate, ...]
    """Cost in each subset, with the interval that holds for correlated errors."""
    deviation: float
    """Standard deviation of the cost between the subsets."""
    nominal: float
    """Standard error of one subset's cost under independent errors of one variance: root mean square."""
    independent: SignificanceTest
    """Test that the subsets have one cost, for independent errors of one variance."""
    robust: SignificanceTest
    """The same for correlated errors of any size; p adjusted over all costs (Holm)."""

    @property
    def ratio(self) -> float:
        """Spread over the standard error of the regression model: about 1 if the model holds."""
        return self.deviation / self.nominal if self.nominal > 0.0 else float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """Bard's test of the regression model: whether subsets of the log give the same costs."""

    subsets: tuple[Subset, ...]
    spreads: tuple[CostSpread, ...]
    """``base`` first, then in the order of entry."""
    independent: SignificanceTest
    """All costs at once, for independent errors of one variance (Chow)."""
    robust: SignificanceTest
    """All costs at once, for correlated errors of any size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TickCheck:
    """Tick-sampled CPU time against exact CPU time."""

    ticks: Estimate
    """Busy CPU time by ticks [s/s]."""
    exact: Estimate
    """Busy CPU time, exact [s/s]."""
    disagreement: float
    """Ticks over exact, less one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """System time by ticks against system time sampled out of step with them."""

    ticks: Estimate
    """By ticks [s/s]."""
    sampled: Estimate
    """By samples [s/s]."""
    disagreement: float
    """Ticks over samples, less one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One observation: the target per second, observed and fitted."""

    start_us: int
    observed: float
    fitted: float
    outlier: bool


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Overhead(Result):
    """System CPU time, or another target, regressed on request rates (Bard 1971, equation 2)."""

    MAIN = "costs"

    target: str
    """Label of the dependent variable: ``system time``."""
    target_columns: tuple[str, ...]
    """Columns whose sum is the target."""
    target_mean: Estimate
    """Mean of the target [s/s for a time, else amount per second]."""
    scaled: bool
    """True if the target is the system's share of ticks times the exact busy time."""
    timing: Timing
    """How the target was measured."""
    costs: tuple[Cost, ...]
    """``base`` first, then in the order of entry."""
    left_out: tuple[LeftOut, ...]
    r_squared: float
    residual_deviation: float
    """s of equation 6, in the unit of `target_mean`."""
    threshold: float
    """Observations further off than this times s of the first fit were left out."""
    n: int
    """Observations used, outliers left out."""
    outliers: int
    outliers_above: int
    """Outliers with more of the target than fitted."""
    f_to_enter: float | None
    """Least F at which a candidate was taken; None if by the probability of any false cost, 5 %."""
    correlations: tuple[float, ...]
    """Correlation of a residual with the one 1, 2, ... intervals later; empty where it is not defined."""
    cosines: int
    """Cosines of the long-run variance, on which the interval to rely on is based."""
    error_correlation: float | None
    """Correlation of successive errors, freed from the bias of residuals; None for logs of more than 16384
    intervals, whose intervals need no calibration by it."""
    swings: bool
    """Whether the errors swing slowly under a quick noise, for which intervals do not allow in full."""
    block: int
    """Length of a block of the bootstrap [intervals]."""
    covariance: tuple[tuple[float, ...], ...]
    """Of the costs, in their order, for correlated errors of unequal size (`LongRunErrors`)."""
    degrees: tuple[float, ...]
    """Equivalent degrees of freedom of each variance of `covariance`."""
    robust_n: int
    """Observations behind the robust costs: all, or as many as fit into memory."""
    condition_number: float
    """Of the columns used, each scaled to length one; above 30 is a caveat."""
    dependencies: tuple[Dependency, ...]
    """Directions in which the rates hardly differ, with the costs that suffer; in the order of `costs`."""
    stability: Stability | None
    """None where a subset would be too short."""
    tick_check: TickCheck | None
    sampling: Sampling | None
    """System time by ticks next to that by samples; None where it was not sampled."""
    recorder: Estimate | None
    """CPU time of the recorder itself [s/s], which is included in the measured times."""
    points: tuple[Point, ...]
    """Observed and fitted, thinned evenly to at most 1000, outliers kept."""
    caveats: tuple[Caveat, ...]

    @property
    def autocorrelation(self) -> float:
        """Correlation of one residual with the next; 0 where it is not defined."""
        return self.correlations[0] if self.correlations else 0.0

    @property
    def requests(self) -> tuple[str, ...]:
        """Requests in the regression, in the order of entry, without the base."""
        return tuple(cost.request for cost in self.costs[1:])

    @property
    def findings(self) -> tuple[Cost, ...]:
        """Costs of requests that are significantly above zero, by themselves and among all candidates."""
        return tuple(cost for cost in self.costs[1:] if cost.shown_to_cost)

    def cost(self, request: str) -> Cost | None:
        """Cost of one request; None where it is not in the regression."""
        return next((cost for cost in self.costs if cost.request == request), None)
