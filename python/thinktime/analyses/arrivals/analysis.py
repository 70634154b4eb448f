"""Tests of the arrivals of inputs against a Poisson process."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.errors import InputError
from thinktime.log import interaction_pieces
from thinktime.log.interaction_pieces import Stream
from thinktime.log.periods import Changes, Span, cut, sessions
from thinktime.log.playing import Within
from thinktime.questions.checks import check_level, check_log
from thinktime.results import Result
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable
from thinktime.stats.hypothesis import ALPHA, SignificanceTest, adjusted, combined, holm
from thinktime.stats.series import batch_means, poisson

if TYPE_CHECKING:
    from thinktime.log import Log

Array = NDArray[np.float64]

VARIES = 0.02
"""Coefficient of variation of the number of users thinking above which there is a caveat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivalPeriod:
    """Arrivals of one period."""

    start_s: float
    """Start, since the first arrival."""
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
    """Least p of the three tests, times three, adjusted over all periods (Holm)."""

    @property
    def poisson(self) -> bool:
        """True if a Poisson process is not rejected, at a false-alarm rate of 5 % for all periods."""
        return self.p >= ALPHA


@dataclass(frozen=True, slots=True, kw_only=True)
class FinitePopulation:
    """Number of users thinking: users who wait for an answer do not type, so the rate follows it."""

    users: float
    """Largest number of users playing."""
    thinking: float
    """Mean number of users thinking."""
    variation: float
    """Coefficient of variation of the number thinking, and so of the rate."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Arrivals(Result):
    """Tests of the input traffic against a Poisson process (Anderson and Sargent 1974)."""

    MAIN = "periods"

    periods: tuple[ArrivalPeriod, ...]
    counts: SignificanceTest
    gaps: SignificanceTest
    order: SignificanceTest
    """As `counts` and `gaps`: the test over all periods together (Fisher), adjusted for the three (Holm)."""
    finite: FinitePopulation | None
    caveats: tuple[Caveat, ...]

    @property
    def poisson(self) -> bool:
        """True if none of the three tests over all periods rejects."""
        return not any(test.rejected() for test in (self.counts, self.gaps, self.order))


def analyse(log: Log, *, period_s: float | None = None, level: float = 0.95) -> Arrivals | NotApplicable:
    """Three tests of each period's arrivals against a Poisson process.

    They test counts in cells by their index of dispersion (chi-square), gaps against the exponential
    distribution of unknown mean (Anderson and Darling), and the order of the gaps for serial correlation
    (Ljung and Box). Periods last about ten minutes and end where a session ends or the number of users
    changes, so that a change of the rate between periods does not count. A false alarm in any period has a
    probability of 5 % (Bonferroni over the tests, Holm over periods), and so has one over all periods
    together.

    Parameters
    ----------
    log : Log
    period_s : float, optional
        Length of a period [s]; by default ten minutes, or a quarter of the record if that is less, but
        long enough for 100 arrivals.
    level : float
        Confidence of the intervals.

    Raises
    ------
    TypeError
        `log` is not a `Log`.
    InputError
        `period_s` is not positive, or `level` is not a confidence.
    """
    check_log(log)
    check_level(level)
    if period_s is not None and not period_s > 0.0:
        raise InputError(f"period_s is {period_s!r}: give a positive number of seconds")
    stream = interaction_pieces.read(log)
    if stream is None:
        return NotApplicable(
            "the log has no interactions: arrival times were not recorded",
            "play users with `thinktime play` while recording",
        )
    covered = sessions(log, stream.origin_us, 0.0, stream.last)
    changes = Changes(stream.arrivals, poisson.N_LEAST)
    parts = changes.steady(covered)
    pieces = cut(parts, _length(parts, stream.n, period_s))
    # After the last arrival there may be no user left; before the first there may have been none.
    pieces = [Span(start=span.start, end=min(span.end, stream.last_due), users=span.users) for span in pieces]
    due = Within(lambda: ((times,) for times, _ in stream.arrivals()))
    tested = [item for span in pieces if (item := _period_of(due, span, level)) is not None]
    if not tested:
        return NotApplicable(
            f"no period has {poisson.N_LEAST} inputs", "play or simulate for longer, or with more users"
        )
    pairs = zip(tested, holm([item.p for item in tested]).tolist(), strict=True)
    periods = tuple(dataclasses.replace(item, p=p) for item, p in pairs)
    finite = _finite(stream, changes, parts)
    counts, gaps, order = _together(periods)
    return Arrivals(
        periods=periods,
        counts=counts,
        gaps=gaps,
        order=order,
        finite=finite,
        caveats=_caveats(len(pieces) - len(periods), not changes.drifts, finite),
    )


def _length(spans: Sequence[Span], n: int, period_s: float | None) -> float:
    if period_s is not None:
        return period_s
    total = sum(span.length for span in spans)
    return max(min(600.0, total / 4), total * 100.0 / n)


def _period_of(due: Within, span: Span, level: float) -> ArrivalPeriod | None:
    """Tests of one period, with its p not yet adjusted; None if it has too few arrivals."""
    _, (inside,) = due.of(span.start, span.end)
    if len(inside) < poisson.N_LEAST or not span.end > span.start:
        return None
    in_cells = poisson.counts_in_cells(inside, span.start, span.end)
    rate = batch_means.batch_ratio(in_cells, np.full(len(in_cells), span.length / len(in_cells)), level)
    counts, gaps, order = (
        poisson.dispersion_test(in_cells),
        poisson.gaps_test(inside),
        poisson.order_test(inside),
    )
    return ArrivalPeriod(
        start_s=span.start,
        length_s=span.length,
        users=span.users,
        n=len(inside),
        rate=dataclasses.replace(rate, n=len(inside)).with_unit("interaction/s"),
        dispersion=poisson.dispersion(in_cells, level),
        counts=counts,
        gaps=gaps,
        order=order,
        p=min(1.0, 3.0 * min(counts.p, gaps.p, order.p)),
    )


def _together(
    periods: Sequence[ArrivalPeriod],
) -> tuple[SignificanceTest, SignificanceTest, SignificanceTest]:
    """Each kind of test over all periods together."""
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


def _finite(stream: Stream, changes: Changes, spans: Sequence[Span]) -> FinitePopulation | None:
    """Variation of the number of users thinking while the number of users is constant."""
    if not changes.n or any(span.users is None for span in spans):
        return None
    due = Within(lambda: ((times,) for times, _ in stream.arrivals()))
    ended = Within(lambda: ((times,) for times in stream.ended()))
    weight = thought = relative = 0.0
    for span in spans:
        begun_before, (begun,) = due.of(span.start, span.end)
        ended_before, (done,) = ended.of(span.start, span.end)
        if len(begun) + len(done) < 2 or span.users is None:
            continue
        instants = np.concatenate([begun, done])
        order = np.argsort(instants, kind="stable")
        steps = np.repeat([1.0, -1.0], [len(begun), len(done)])[order]
        waiting = float(begun_before - ended_before) + np.cumsum(steps)
        lengths = np.diff(instants[order])
        thinking = np.maximum(span.users - waiting[:-1], 0.0)
        total = float(lengths.sum())
        if total <= 0.0:
            continue
        mean, second = float(lengths @ thinking) / total, float(lengths @ thinking**2) / total
        weight += total
        thought += total * mean
        relative += total * float(np.sqrt(max(0.0, second - mean**2))) / max(mean, 1e-12)
    if weight == 0.0:
        return None
    return FinitePopulation(users=changes.most, thinking=thought / weight, variation=relative / weight)


def _caveats(short: int, steady_users: bool, finite: FinitePopulation | None) -> tuple[Caveat, ...]:
    caveats = []
    if short:
        caveats.append(Caveat("short_periods", periods=short, inputs_least=poisson.N_LEAST))
    if not steady_users:
        caveats.append(Caveat("users_drift"))
    if finite is not None and finite.variation > VARIES:
        caveats.append(Caveat("finite_population", users=finite.users, variation=finite.variation))
    return tuple(caveats)
