"""Whether inputs arrive as a Poisson process."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.log import interactions
from thinktime.log.periods import Span, cut, sessions, steady
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.stats.hypothesis import ALPHA, SignificanceTest, adjusted, combined, holm
from thinktime.stats.series import batch_means, poisson

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = ["ArrivalPeriod", "Arrivals", "FinitePopulation", "analyse"]

Array = NDArray[np.float64]

VARIES = 0.02
"""Standard deviation over mean of the number thinking above which a finite population is worth a caveat."""


@dataclass(frozen=True, slots=True)
class ArrivalPeriod:
    """Arrivals of one period."""

    start_s: float
    """Since the first arrival [s]."""
    length_s: float
    users: float | None
    n: int
    rate: Estimate
    """Inputs per second."""
    dispersion: Estimate
    """Variance over mean of the counts; 1 for a Poisson process."""
    counts: SignificanceTest
    gaps: SignificanceTest
    order: SignificanceTest
    p: float
    """That of the least likely of the three tests, times three, adjusted over all periods (Holm)."""

    @property
    def poisson(self) -> bool:
        """Whether nothing speaks against a Poisson process, at a false-alarm rate of 5 % for all periods."""
        return self.p >= ALPHA


@dataclass(frozen=True, slots=True)
class FinitePopulation:
    """Users who wait for an answer do not type: the rate follows the number that thinks."""

    users: float
    """Most users playing."""
    thinking: float
    """Mean number of users thinking."""
    variation: float
    """Standard deviation over mean of the number thinking, and so of the rate."""


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Test of the input traffic against a Poisson process (Anderson and Sargent 1974)."""

    periods: tuple[ArrivalPeriod, ...]
    counts: SignificanceTest
    gaps: SignificanceTest
    order: SignificanceTest
    """Each test over all periods together (Fisher), adjusted for the three (Holm)."""
    finite: FinitePopulation | None
    caveats: tuple[str, ...]

    @property
    def poisson(self) -> bool:
        """Whether none of the three tests over all periods rejects."""
        return not any(test.rejected() for test in (self.counts, self.gaps, self.order))


def analyse(log: Log, *, period_s: float | None = None, level: float = 0.95) -> Arrivals | NotApplicable:
    """Test in each period whether inputs arrive as a Poisson process, in three ways.

    Counts in cells by their index of dispersion (chi-square), gaps against the exponential distribution
    of unknown mean (Anderson and Darling), the order of the gaps for serial correlation (Ljung and Box).
    Periods last about ten minutes and are parted where a session ends or the number of users changes, so
    that a change of the rate between periods does not count. A false alarm in any period has a
    probability of 5 % (Bonferroni over the tests, Holm over periods), and one over all periods too.

    Parameters
    ----------
    log : Log
    period_s : float, optional
        Length of a period [s]; by default ten minutes, or a quarter of the record if that is less, but
        long enough for 100 arrivals.
    level : float
        Confidence of the intervals.
    """
    seen = interactions.read(log)
    if seen is None:
        return NotApplicable(
            "the log has no interactions: when inputs arrived was not recorded",
            "play users with `thinktime play` while recording",
        )
    arrival = seen.times["due"]
    completion = seen.times["completion"]
    last = max(float(arrival[-1]), float(np.max(completion[~np.isnan(completion)], initial=0.0)))
    covered = sessions(log, seen.origin_us, 0.0, last)
    parts, parted = steady(covered, arrival, seen.columns["population"], poisson.N_LEAST)
    pieces = cut(parts, _period(parts, len(arrival), period_s))
    # After the last arrival there may be no user left; before the first there may have been none.
    pieces = [Span(span.start, min(span.end, float(arrival[-1])), span.users) for span in pieces]
    found = [_one(arrival, span, level) for span in pieces]
    tested = [item for item in found if item is not None]
    if not tested:
        return NotApplicable(
            f"no period has {poisson.N_LEAST} inputs", "play or simulate for longer, or with more users"
        )
    both = zip(tested, holm([item.p for item in tested]).tolist(), strict=True)
    periods = tuple(dataclasses.replace(item, p=p) for item, p in both)
    finite = _finite(seen, parts)
    return Arrivals(periods, *_together(periods), finite, _caveats(len(found) - len(periods), parted, finite))


def _period(spans: Sequence[Span], n: int, period_s: float | None) -> float:
    if period_s is not None:
        return period_s
    total = sum(span.length for span in spans)
    return max(min(600.0, total / 4), total * 100.0 / n)


def _one(arrival: Array, span: Span, level: float) -> ArrivalPeriod | None:
    low, high = np.searchsorted(arrival, [span.start, span.end])
    own = arrival[low:high]
    if len(own) < poisson.N_LEAST or not span.end > span.start:
        return None
    counts = poisson.counts_in_cells(own, span.start, span.end)
    cell = span.length / len(counts)
    tests = (poisson.dispersion_test(counts), poisson.gaps_test(own), poisson.order_test(own))
    rate = batch_means.batch_ratio(counts, np.full(len(counts), cell), level)
    return ArrivalPeriod(
        span.start,
        span.length,
        span.users,
        len(own),
        dataclasses.replace(rate, n=len(own)).with_unit("interaction/s"),
        poisson.dispersion(counts, level),
        *tests,
        min(1.0, 3.0 * min(test.p for test in tests)),
    )


def _together(
    periods: Sequence[ArrivalPeriod],
) -> tuple[SignificanceTest, SignificanceTest, SignificanceTest]:
    """Each kind of test over all periods; how strongly it points to one side is left to the periods."""
    kinds = [
        [item.counts for item in periods],
        [item.gaps for item in periods],
        [item.order for item in periods],
    ]
    counts, gaps, order = adjusted(
        [
            SignificanceTest(
                hypothesis=tests[0].hypothesis,
                statistic=float(np.mean([test.statistic for test in tests])),
                p=combined([test.p for test in tests]),
                n=sum(test.n for test in tests),
                method=f"{tests[0].method}; {len(tests)} periods together (Fisher)",
                direction=int(np.sign(sum(test.direction for test in tests))),
            )
            for tests in kinds
        ]
    )
    return counts, gaps, order


def _finite(seen: interactions.Interactions, spans: Sequence[Span]) -> FinitePopulation | None:
    """How much the number of users who think varies while the number of users stands."""
    population = seen.columns["population"]
    if np.isnan(population).all() or any(span.users is None for span in spans):
        return None
    changes = np.concatenate([seen.times["due"], seen.times["completion"]])
    steps = np.repeat([1.0, -1.0], len(population))
    known = ~np.isnan(changes)
    order = np.argsort(changes[known], kind="stable")
    at, inside = changes[known][order], np.cumsum(steps[known][order])
    weight = thought = relative = 0.0
    for span in spans:
        low, high = np.searchsorted(at, [span.start, span.end])
        if high - low < 2 or span.users is None:
            continue
        lengths = np.diff(at[low:high])
        thinking = np.maximum(span.users - inside[low : high - 1], 0.0)
        total = float(lengths.sum())
        if total <= 0.0:
            continue
        mean, second = float(lengths @ thinking) / total, float(lengths @ thinking**2) / total
        weight += total
        thought += total * mean
        relative += total * float(np.sqrt(max(0.0, second - mean**2))) / max(mean, 1e-12)
    if weight == 0.0:
        return None
    return FinitePopulation(float(np.nanmax(population)), thought / weight, relative / weight)


def _caveats(short: int, parted: bool, finite: FinitePopulation | None) -> tuple[str, ...]:
    caveats = []
    if short:
        caveats.append(f"Periods with fewer than {poisson.N_LEAST} inputs are left out: {short}.")
    if not parted:
        caveats.append(
            "The number of users drifts: a rate that changes within a period speaks against Poisson."
        )
    if finite is not None and finite.variation > VARIES:
        caveats.append(
            f"The population is finite ({finite.users:g} users at most): who waits does not type, so the "
            f"rate varies by {finite.variation:.0%} (standard deviation) with the number who "
            "think. Such traffic is not a Poisson process, even where the tests do not see it."
        )
    return tuple(caveats)
