"""Tests of whether service times stay the same over time."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.log.periods import Changes, Span, cut, sessions
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.stats.hypothesis import SignificanceTest, adjusted
from thinktime.stats.series import batch_means, homogeneity
from thinktime.stats.series.shares import quantile_in_time

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.log.interactions import Interactions

Array = NDArray[np.float64]

N_PERIOD = 20
"""Least number of interactions of a period."""
PERIODS_MOST = 500
"""Periods of a long log: more would be more than a reader looks at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServicePeriod:
    """Service times of one period."""

    start_s: float
    """Since the first arrival [s]."""
    length_s: float
    users: float | None
    n: int
    mean: Estimate
    p50: Estimate
    p90: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class StabilityTest:
    """Tests of one class for differences between periods; p adjusted over all classes (Holm)."""

    name: str
    periods: int
    distribution: SignificanceTest
    trend: SignificanceTest
    effect: float
    """Share of the variance of the ranks that lies between periods: the size of the difference."""

    @property
    def stable(self) -> bool:
        """True if neither test rejects."""
        return not (self.distribution.rejected() or self.trend.rejected())


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """Service times by period."""

    periods: tuple[ServicePeriod, ...]
    tests: tuple[StabilityTest, ...]
    """All interactions first, then by class."""


def analyse(
    log: Log, table: Interactions, usable: NDArray[np.bool_], level: float, period_s: float | None = None
) -> Stability | NotApplicable:
    """Compare the service times of periods, over all and by class.

    Periods are about ten minutes long, of long logs longer, so that there are at most some five hundred, and
    end where sessions end or the number of users changes. Each
    class is tested twice: for any difference (Anderson and Darling) and for a trend (Spearman); the 5 % of
    false alarms holds over all tests together (Holm 1979).
    """
    arrival = table.times["due"]
    last = max(float(arrival[-1]), float(np.nanmax(table.times["completion"])))
    changes = Changes(lambda: [(arrival, table.columns["population"])], N_PERIOD)
    spans = changes.steady(sessions(log, table.origin_us, 0.0, last))
    pieces = cut(spans, _period(spans, int(np.count_nonzero(usable)), period_s))
    rows = [_rows(arrival, usable, span) for span in pieces]
    kept = [(span, inside) for span, inside in zip(pieces, rows, strict=True) if len(inside) >= N_PERIOD]
    if len(kept) < 2:
        return NotApplicable(
            f"fewer than two periods have {N_PERIOD} interactions each", "record or simulate for longer"
        )
    names = [str(name) for name in np.unique(table.classes[usable])]
    groups = {"all": [inside for _, inside in kept]}
    if len(names) > 1:
        for name in names:
            members = [inside[table.classes[inside] == name] for _, inside in kept]
            groups[name or "(none)"] = [part for part in members if len(part) >= homogeneity.N_LEAST]
    tests = [_tested(name, table.service, parts) for name, parts in groups.items() if len(parts) >= 2]
    return Stability(
        periods=tuple(_period_of(span, table.service[inside], level) for span, inside in kept),
        tests=_adjusted([test for test in tests if test is not None]),
    )


def _period(spans: Sequence[Span], n: int, period_s: float | None) -> float | None:
    """Length of a period [s]: ten minutes or less, but long enough for some 50 interactions, and few."""
    if period_s is not None:
        return period_s
    total = sum(span.length for span in spans)
    return max(min(600.0, total / 4), total * 50.0 / max(n, 1), total / PERIODS_MOST)


def _rows(arrival: Array, usable: NDArray[np.bool_], span: Span) -> NDArray[np.int64]:
    low, high = np.searchsorted(arrival, [span.start, span.end])
    inside: NDArray[np.int64] = np.arange(low, high)[usable[low:high]]
    return inside


def _tested(name: str, service: Array, parts: list[NDArray[np.int64]]) -> StabilityTest | None:
    values = [service[part] for part in parts]
    if float(np.ptp(np.concatenate(values))) == 0.0:
        return None
    return StabilityTest(
        name=name,
        periods=len(values),
        distribution=homogeneity.same_distribution(values),
        trend=homogeneity.trend(values),
        effect=homogeneity.effect(values),
    )


def _adjusted(tests: list[StabilityTest]) -> tuple[StabilityTest, ...]:
    both = adjusted([item for test in tests for item in (test.distribution, test.trend)])
    return tuple(
        dataclasses.replace(test, distribution=distribution, trend=trend)
        for test, distribution, trend in zip(tests, both[::2], both[1::2], strict=True)
    )


def _period_of(span: Span, values: Array, level: float) -> ServicePeriod:
    p50, p90 = (quantile_in_time(values, q, level).with_unit("s") for q in (0.5, 0.9))
    mean = batch_means.batch_ratio(values, None, level).with_unit("s")
    return ServicePeriod(
        start_s=span.start,
        length_s=span.length,
        users=span.users,
        n=len(values),
        mean=mean,
        p50=p50,
        p90=p90,
    )
