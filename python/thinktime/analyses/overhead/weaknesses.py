"""What weakens the costs of a log: in how they were measured, in the fit, and in the costs themselves."""

from __future__ import annotations

from collections.abc import Iterator

from thinktime.analyses.overhead.result import INFLATED, Cost, Overhead
from thinktime.log.observations import JOIN
from thinktime.stats.estimate import Caveat

TICKS_MISS = 0.1
"""Share of the sampled system time that ticks missed, or added, above which a caveat says so."""
TICKS_OFF = 0.05
"""Relative difference of tick-sampled from exact CPU time above which a caveat is given."""
RECORDER_SHARE = 0.01
"""Share of the recorder's own CPU time in the system time above which a caveat is given."""
CONDITION_MAX = 30.0
"""Condition index of a strong dependency (Belsley, Kuh and Welsch 1980)."""
PERSISTENT = 0.9
"""Correlation of successive errors above which intervals were measured to be too narrow at times."""
CORRELATED = 0.3
"""Correlation of successive residuals above which a caveat is given."""
POOR_FIT = 0.5
"""R² below which most of the variation of the target is unexplained."""
ROWS_PER_COST = 10
"""Intervals for each cost below which a caveat asks for a longer recording."""
OUTLIERS_MANY = 0.05
"""Share of outliers above which a caveat is given; 1.2 % of normal residuals lie beyond 2.5 s."""
DIRECT_FACTOR = 2.0
"""Factor from the direct measurement beyond which a cost is said to differ from it."""
CONCENTRATED = 0.75
"""Share of the variation of a cost in five intervals above which they determine it."""
DEPENDENT = 0.5
"""Share of the variance of a cost that must come from one direction for it to be called dependent there."""


def of(result: Overhead) -> tuple[Caveat, ...]:
    """Everything in `result` that weakens its costs, most serious first."""
    return (*_about_measuring(result), *_about_fit(result), *_about_costs(result))


def _about_measuring(result: Overhead) -> Iterator[Caveat]:
    check = result.tick_check
    if result.timing == "ticks":
        yield Caveat("by_ticks")
    sampling = result.sampling
    if sampling and abs(sampling.disagreement) > TICKS_MISS:
        yield Caveat("ticks_miss", disagreement=sampling.disagreement)
    if check and abs(check.disagreement) > TICKS_OFF and result.timing != "sampled":
        yield Caveat("ticks_disagree", disagreement=check.disagreement, scaled=result.scaled)
    if result.recorder and result.recorder.value > RECORDER_SHARE * result.target_mean.value:
        yield Caveat("recorder_included", share=result.recorder.value / result.target_mean.value)


def _about_fit(result: Overhead) -> Iterator[Caveat]:
    terms, every = len(result.costs), result.n + result.outliers
    if terms == 1:
        yield Caveat("nothing_explained")
    elif result.r_squared < POOR_FIT:
        yield Caveat("poor_fit", r_squared=result.r_squared)
    if result.n < ROWS_PER_COST * terms:
        yield Caveat("few_intervals", n=result.n, costs=terms)
    if abs(result.autocorrelation) > CORRELATED:
        yield Caveat("correlated_residuals", correlation=result.autocorrelation)
    if (result.error_correlation or 0.0) > PERSISTENT:
        yield Caveat("persistent_errors", correlation=result.error_correlation)
    if result.swings:
        yield Caveat("slow_swing")
    if result.outliers > OUTLIERS_MANY * every:
        yield Caveat("many_outliers", outliers=result.outliers, n=every, above=result.outliers_above)


def _about_costs(result: Overhead) -> Iterator[Caveat]:
    costs, requests = result.costs, result.costs[1:]
    if inflated := [cost.label for cost in costs if (cost.variance_inflation or 0.0) > INFLATED]:
        yield Caveat("inflated", labels=inflated)
    yield from _about_dependencies(result)
    if negative := [cost.label for cost in costs if _is_negative(cost)]:
        yield Caveat("negative", labels=negative)
    if concentrated := [cost.label for cost in requests if cost.concentration > CONCENTRATED]:
        yield Caveat("concentrated", labels=concentrated)
    yield from _about_selection(result)
    yield from _about_length(result)
    yield from _about_stability(result)
    if unsure := [
        cost.label
        for cost in requests
        if cost.seconds.low is not None and cost.seconds.low <= 0.0 <= (cost.seconds.high or 0.0)
    ]:
        yield Caveat("holds_zero", labels=unsure)
    if differing := [cost.label for cost in costs if _differs_from_direct(cost)]:
        yield Caveat("differs_from_direct", labels=differing, factor=DIRECT_FACTOR)
    if requests:
        yield Caveat("holds_accompanying_work")


def _is_negative(cost: Cost) -> bool:
    """True if the cost is negative; for the base, only if its interval excludes zero."""
    if cost.request == "base":
        every = cost.among_all or cost.seconds
        return every.high is not None and every.high < 0.0
    return cost.seconds.value < 0.0


def _differs_from_direct(cost: Cost) -> bool:
    direct = cost.direct
    return direct is not None and not direct.agrees and not 1 / DIRECT_FACTOR < direct.ratio < DIRECT_FACTOR


def _about_dependencies(result: Overhead) -> Iterator[Caveat]:
    for direction in result.dependencies:
        together = [
            cost.label
            for cost, share in zip(result.costs, direction.proportions, strict=True)
            if share > DEPENDENT
        ]
        if direction.condition_index > CONDITION_MAX and len(together) > 1:
            yield Caveat("dependent", labels=together, condition_index=direction.condition_index)


def _about_selection(result: Overhead) -> Iterator[Caveat]:
    requests = result.costs[1:]
    if together := [cost.label for cost in requests if JOIN in cost.request]:
        yield Caveat("together", labels=together)
    if not any(cost.f_to_enter is not None for cost in requests):
        return
    if hidden := [
        cost.label
        for cost in requests
        if cost.among_all is not None
        and cost.among_all.low is not None
        and cost.among_all.low <= 0.0 < (cost.seconds.low or 0.0)
    ]:
        yield Caveat("not_shown_among_all", labels=hidden)
    yield Caveat("after_selection")


def _about_length(result: Overhead) -> Iterator[Caveat]:
    if changed := [cost.label for cost in result.costs if cost.length.rejected()]:
        yield Caveat("changes_with_length", labels=changed)


def _about_stability(result: Overhead) -> Iterator[Caveat]:
    stability = result.stability
    if stability is None:
        return
    subsets = len(stability.subsets)
    if moved := [spread.label for spread in stability.spreads[1:] if spread.robust.rejected()]:
        yield Caveat("cost_unstable", labels=moved, subsets=subsets)
    elif stability.robust.rejected():
        yield Caveat("costs_unstable_together", subsets=subsets)
    elif stability.independent.rejected():
        yield Caveat("textbook_unstable", subsets=subsets)
