"""Service times of the interactions: the CPU time that each received."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.service import ageing, stability
from thinktime.log import bursts, interaction_pieces, observations
from thinktime.log.interaction_pieces import Sampled
from thinktime.questions.checks import check_level, check_log
from thinktime.results import Result
from thinktime.stats import critical_values
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable
from thinktime.stats.series import batch_means, moments
from thinktime.stats.series.shares import proportion_in_time, quantile_in_time

if TYPE_CHECKING:
    from thinktime.log import Log

Array = NDArray[np.float64]

N_LEAST = 5
"""Interactions below which a class is not shown: its moments would be chance alone."""
N_TAIL = 200
"""Interactions below which a caveat says that p99 rests on two values or fewer."""
TIES = 0.2
"""Share of repeated values above which the clock of the source counts as coarse."""
UPPER = (0.01, 0.04, 0.1, 0.2, 0.5)
"""Fractions of the interactions with most service; 4 % is that of Anderson and Sargent (1974)."""
CURVE_POINTS = 50
LIMITS = (0.1, 0.2, 2.0)
"""Service times that Anderson and Sargent (1974) tabulate [s]."""
BINS_A_DECADE = 5
DECADES_MAX = 12
"""Decades of the histogram, so that one value next to zero does not fill a page with empty bins."""
FOLLOWS = 0.1
"""Correlation of successive service times above which a caveat is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceClass:
    """Service times of one class (Anderson and Sargent 1974, Table 1)."""

    name: str
    n: int
    share: Estimate
    """Share of all interactions."""
    service_share: Estimate
    """Share of all service time."""
    mean: Estimate
    variance: Estimate
    standard_deviation: Estimate
    coefficient_of_variation: Estimate
    """Standard deviation over mean; 1 for an exponential distribution."""
    skewness: Estimate
    p50: Estimate
    p90: Estimate
    p99: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Concentration:
    """Share of all service time received by the fraction `upper` of the interactions with most service."""

    upper: float
    """Fraction of the interactions, those with most service."""
    share: Estimate
    """Share of all service time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """One point of the concentration curve."""

    service_s: float
    """A service time t [s]."""
    fraction: float
    """F(t): fraction of the interactions with at most t."""
    concentration: Estimate
    """Q(t): share of all service time that they received."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Below:
    """Fraction of the interactions with a service time of at most a limit."""

    limit_s: float
    share: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramBin:
    """Interactions with service times above `low_s` and up to `high_s`."""

    low_s: float
    high_s: float
    share: Estimate
    """Share of all interactions."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Service(Result):
    """Service-time statistics, overall and by class."""

    overall: ServiceClass
    classes: tuple[ServiceClass, ...]
    """By decreasing share of service time; empty where there is one class only."""
    concentration: tuple[Concentration, ...]
    curve: tuple[CurvePoint, ...]
    """At most 100 points, half of them equally spaced in F, half in the logarithm of 1 - F."""
    below: tuple[Below, ...]
    histogram: tuple[HistogramBin, ...]
    """Bins of equal width in the logarithm; before them one from 0 where there are values of zero."""
    ageing: tuple[ageing.Ageing, ...]
    """Residual life and tests, all interactions first; empty with fewer than 20."""
    stability: stability.Stability | NotApplicable
    heavier_than_exponential: bool
    """True if the coefficient of variation is significantly above 1."""
    unfinished: int
    caveats: tuple[Caveat, ...]

    def _records(self) -> tuple[ServiceClass, ...]:
        return (*self.classes, self.overall)


def analyse(
    log: Log,
    *,
    level: float = 0.95,
    limits: Sequence[float] = LIMITS,
    period_s: float | None = None,
    seed: int = 1,
) -> Service | NotApplicable:
    r"""Service times of the interactions, by class (Anderson and Sargent 1974, Table 1, Figures 1 to 3).

    Of a log without interactions, but with the trace of a scheduler, each burst of a task is one: from its
    wake-up until it waits again (`log.bursts`), its class the command.

    For completed interactions with CPU time :math:`S_i`: mean, variance, coefficient of variation
    :math:`c = s / \bar S`, skewness :math:`m_3 / m_2^{3/2}`, quantiles, and each class's share of
    interactions and of service. Concentration: the share of all service that the upper fraction p receives,

    .. math:: \Big[\sum_i \max(S_i - \xi, 0) + n p \xi\Big] / \sum_i S_i, \qquad F(\xi) = 1 - p

    (their Figure 2 read from above). Mean residual life (Figures 3 and 4) and tests of the exponential:
    `ageing.analyse`. Differences between periods: `stability.analyse`.

    Parameters
    ----------
    log : Log
    level : float
        Confidence of the intervals: by the long-run variance of means, shares and the
        higher moments, order statistics for quantiles, Wilson's for fractions below a limit.
    limits : sequence of float
        Service times [s] for `Service.below`.
    period_s : float, optional
        Length of the periods that are compared [s]; by default about ten minutes, and at least a five
        hundredth of the log.
    seed : int
        Of the sample that is taken of more than two million interactions or bursts
        (`interaction_pieces.sampled`, `bursts.sampled`).

    Raises
    ------
    TypeError
        `log` is not an open log.
    """
    check_log(log)
    check_level(level)
    inputs = interaction_pieces.sampled(log, seed)
    is_traced = inputs is None
    if inputs is None:
        inputs = bursts.sampled(log, seed)
    if inputs is None:
        return NotApplicable(
            "the log has no interactions: the service that each received was not recorded",
            "play users with `thinktime play` while recording",
        )
    table = inputs.table
    done = ~np.isnan(table.times["completion"]) & ~np.isnan(table.service)
    if np.count_nonzero(done) < N_LEAST:
        return NotApplicable(
            f"only {np.count_nonzero(done)} completed interactions have a service time; {N_LEAST} are needed",
            "play for longer",
        )
    values, classes = table.service[done], table.classes[done]
    if not values.any():
        return NotApplicable("every service time is zero", "use a source that measures CPU time")
    everything = np.ones(len(values), dtype=np.bool_)
    names = [str(name) for name in np.unique(classes)]
    members = [(name or "(none)", classes == name) for name in names]
    large = [_class(name, values, inside, level) for name, inside in members if inside.sum() >= N_LEAST]
    small = [name for name, inside in members if inside.sum() < N_LEAST]
    overall = _class("all", values, everything, level)
    ordered = tuple(sorted(large, key=lambda item: -item.service_share.value)) if len(names) > 1 else ()
    return Service(
        overall=overall,
        classes=ordered,
        concentration=tuple(
            _concentration(values, upper, level) for upper in UPPER if upper * len(values) >= 1
        ),
        curve=_curve(values, level),
        below=tuple(_below(values, limit, level) for limit in limits),
        histogram=_histogram(values, level),
        ageing=ageing.analyse(_samples(values, classes, [item.name for item in ordered]), level),
        stability=stability.analyse(log, table, done, level, period_s),
        heavier_than_exponential=_is_heavier(overall.coefficient_of_variation),
        unfinished=inputs.unfinished,
        caveats=(
            *((Caveat("bursts", bursts=inputs.n),) if is_traced else ()),
            *_of_table(inputs, seed),
            *_caveats(values, small),
        ),
    )


def _is_heavier(variation: Estimate) -> bool:
    """True if the values vary more than those of an exponential distribution do by chance.

    Where the sample bounds no interval: its standard error with an exponential distribution, 1/sqrt(n).
    """
    if variation.low is not None:
        return variation.low > 1.0
    return variation.value > 1.0 + critical_values.normal(variation.level) / math.sqrt(variation.n)


def _class(name: str, values: Array, inside: NDArray[np.bool_], level: float) -> ServiceClass:
    members = values[inside]
    share = batch_means.batch_ratio(inside.astype(np.float64), None, level)
    weight = batch_means.batch_ratio(values * inside, values, level)
    spread = moments.variance(members, level)
    p50, p90, p99 = (quantile_in_time(members, q, level).with_unit("s") for q in (0.5, 0.9, 0.99))
    return ServiceClass(
        name=name,
        n=len(members),
        share=_within_one(share),
        service_share=_within_one(weight),
        mean=batch_means.batch_ratio(members, None, level).with_unit("s"),
        variance=spread.with_unit("s^2"),
        standard_deviation=_root(spread).with_unit("s"),
        coefficient_of_variation=moments.coefficient_of_variation(members, level),
        skewness=moments.skewness(members, level),
        p50=p50,
        p90=p90,
        p99=p99,
    )


def _within_one(share: Estimate) -> Estimate:
    """Cut the interval of a share at 0 and 1."""
    if share.low is None or share.high is None:
        return share
    return dataclasses.replace(share, low=max(0.0, share.low), high=min(1.0, share.high))


def _root(spread: Estimate) -> Estimate:
    ends = (None if end is None else math.sqrt(max(end, 0.0)) for end in (spread.low, spread.high))
    low, high = ends
    return dataclasses.replace(spread, value=math.sqrt(spread.value), low=low, high=high)


def _concentration(values: Array, upper: float, level: float) -> Concentration:
    # The upper part's sum as a sum over all, so that its interval is that of a ratio (Beach and
    # Davidson 1983, Review of Economic Studies 50, 723).
    limit = float(np.quantile(values, 1.0 - upper, method="inverted_cdf"))
    amounts = np.maximum(values - limit, 0.0) + upper * limit
    return Concentration(upper=upper, share=_within_one(batch_means.batch_ratio(amounts, values, level)))


def _curve(values: Array, level: float) -> tuple[CurvePoint, ...]:
    n, ordered = len(values), np.sort(values)
    tail = (n - np.geomspace(n, 1, CURVE_POINTS)).round().astype(np.int64)
    points = []
    for index in np.union1d(observations.thinned(n, CURVE_POINTS), tail).tolist():
        limit, above = float(ordered[index]), 1.0 - (index + 1) / n
        # As in `_concentration`, read from below.
        amounts = np.minimum(values, limit) - above * limit
        share = _within_one(batch_means.batch_ratio(amounts, values, level))
        points.append(CurvePoint(service_s=limit, fraction=(index + 1) / n, concentration=share))
    return tuple(points)


def _below(values: Array, limit: float, level: float) -> Below:
    return Below(limit_s=limit, share=proportion_in_time(values <= limit, level))


def _histogram(values: Array, level: float) -> tuple[HistogramBin, ...]:
    """Five bins per decade of the positive values, at most twelve decades; before them one for 0."""
    top = math.ceil(math.log10(float(values.max())) * BINS_A_DECADE - 1e-9)
    least = float(values[values > 0].min())
    bottom = math.floor(math.log10(least) * BINS_A_DECADE + 1e-9)
    bottom = max(min(bottom, top - 1), top - DECADES_MAX * BINS_A_DECADE)
    edges = 10.0 ** (np.arange(bottom, top + 1) / BINS_A_DECADE)
    # By rounding the greatest value can lie beyond the last edge.
    bins = np.minimum(np.searchsorted(edges, values, side="left"), len(edges) - 1)
    ends = [0.0, *edges.tolist()]
    return tuple(
        HistogramBin(low_s=low, high_s=high, share=proportion_in_time(bins == number, level))
        for number, (low, high) in enumerate(itertools.pairwise(ends))
        if low > 0.0 or (bins == 0).any()
    )


def _samples(values: Array, classes: NDArray[np.str_], names: Sequence[str]) -> dict[str, Array]:
    by_class = {name: values[classes == ("" if name == "(none)" else name)] for name in names}
    return {"all": values} | by_class


def _of_table(inputs: Sampled, seed: int) -> Iterator[Caveat]:
    if inputs.is_sample:
        yield sample_caveat(inputs, seed)
    if inputs.unfinished:
        yield Caveat("unfinished", unfinished=inputs.unfinished, interactions=inputs.n)


def sample_caveat(inputs: Sampled, seed: int) -> Caveat:
    """Caveat on a sample of the interactions."""
    return Caveat("sampled", taken=len(inputs.table), interactions=inputs.n, seed=seed)


def _caveats(values: Array, small: Sequence[str]) -> Iterator[Caveat]:
    from scipy.stats import rankdata

    if small:
        yield Caveat("small_classes", least=N_LEAST, classes=tuple(small))
    if len(values) < N_TAIL:
        yield Caveat("short_tail", interactions=len(values))
    correlation = float(batch_means.autocorrelation(rankdata(values))[0])
    if abs(correlation) > FOLLOWS:
        yield Caveat("correlated", correlation=correlation)
    ties = 1.0 - len(np.unique(values)) / len(values)
    if ties > TIES:
        yield Caveat("coarse_clock", share=ties)
