"""What a reader of the overhead regression must beware of."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thinktime.analyses.overhead.result import Cost, Overhead

__all__ = ["overhead_caveats"]

TICKS_OFF = 0.05
INFLATED = 10.0
CONDITION_MAX = 30.0
CORRELATED = 0.3
POOR_FIT = 0.5
ROWS_PER_COST = 10
DIRECT_FACTOR = 2.0
CONCENTRATED = 0.75
DEPENDENT = 0.5
"""Part of the variance of a cost that must come from one direction for it to be called dependent there."""


def overhead_caveats(result: Overhead) -> tuple[str, ...]:
    """Everything in `result` that weakens its costs, most serious first."""
    return (*_about_measuring(result), *_about_fit(result), *_about_costs(result))


def _about_measuring(result: Overhead) -> list[str]:
    caveats = []
    check = result.tick_check
    if check and abs(check.disagreement) > TICKS_OFF:
        against = (
            "the exact time is used for the total" if result.scaled else "costs are in tick-sampled time"
        )
        caveats.append(
            f"Tick-sampled CPU time differs from the exact one by {check.disagreement:+.0%}; {against}, "
            "and how it divides into user and system is known by ticks only."
        )
    if result.recorder and result.recorder.value > 0.01 * result.system_time.value:
        part = result.recorder.value / result.system_time.value
        caveats.append(
            f"The recorder's own CPU time is {part:.1%} of the system time measured; it is in the base."
        )
    return caveats


def _about_fit(result: Overhead) -> list[str]:
    caveats = []
    terms = len(result.costs)
    if terms == 1:
        caveats.append("No kind of request explains the system time: only the base is left.")
    elif result.r_squared < POOR_FIT:
        caveats.append(
            f"The requests explain only {result.r_squared:.0%} of the variation of system time: much of what "
            "it went for was not measured, or the load hardly varied."
        )
    if result.n < ROWS_PER_COST * terms:
        caveats.append(f"Only {result.n} intervals for {terms} costs: record longer.")
    if abs(result.autocorrelation) > CORRELATED:
        caveats.append(
            f"Successive residuals are correlated ({result.autocorrelation:.2f}): the textbook intervals are "
            "too narrow; the others allow for it."
        )
    every = result.n + result.outliers
    if result.outliers > 0.05 * every:
        caveats.append(
            f"{result.outliers} of {every} intervals were dropped as outliers ({result.outliers_positive} "
            "with more system time than explained): work that is not measured."
        )
    return caveats


def _about_costs(result: Overhead) -> list[str]:
    caveats = []
    inflated = [cost.label for cost in result.costs if (cost.variance_inflation or 0.0) > INFLATED]
    if inflated:
        caveats.append(
            f"The rates of {', '.join(inflated)} move together with others: their costs can be told apart "
            "only in part, though the sum is sound."
        )
    caveats += _about_dependencies(result)
    negative = [cost.label for cost in result.costs if _negative(cost)]
    if negative:
        caveats.append(
            f"The cost of {', '.join(negative)} came out negative, which no cost is: it offsets another that "
            "is too high. The fit without negative costs stands beside it."
        )
    shaky = [cost.label for cost in result.costs[1:] if cost.concentration > CONCENTRATED]
    if shaky:
        caveats.append(
            f"The cost of {', '.join(shaky)} hangs on five intervals that hold most of its variation: "
            "another log may well give another cost."
        )
    caveats += _about_stability(result)
    unsure = [
        cost.label
        for cost in result.costs[1:]
        if (cost.seconds.low or 0.0) <= 0.0 <= (cost.seconds.high or 0.0)
    ]
    if unsure:
        caveats.append(f"The interval of {', '.join(unsure)} holds zero: the cost is not proven.")
    apart = [
        cost.label
        for cost in result.costs
        if cost.direct
        and not cost.direct.overlaps
        and not 1 / DIRECT_FACTOR < cost.direct.ratio < DIRECT_FACTOR
    ]
    if apart:
        caveats.append(
            f"Costs of {', '.join(apart)} differ from the direct measurement by more than a factor of "
            f"{DIRECT_FACTOR:g}: the regression charges a request with all that goes along with it."
        )
    if len(result.costs) > 1:
        caveats.append(
            "A cost holds all work that goes along with such a request and is not counted itself: it is what "
            "one more of them came with, not the length of a path in the kernel."
        )
    return caveats


def _negative(cost: Cost) -> bool:
    """Whether a cost is below zero; the base, which may well be zero, only if its whole interval is."""
    if cost.request == "base":
        return cost.seconds.high is not None and cost.seconds.high < 0.0
    return cost.seconds.value < 0.0


def _about_dependencies(result: Overhead) -> list[str]:
    caveats = []
    for direction in result.dependencies:
        together = [
            cost.label
            for cost, part in zip(result.costs, direction.proportions, strict=True)
            if part > DEPENDENT
        ]
        if direction.condition_index > CONDITION_MAX and len(together) > 1:
            caveats.append(
                f"The costs of {', '.join(together)} can be told apart only in part: one of their rates "
                f"hardly varies beside the others (condition index {direction.condition_index:.0f})."
            )
    return caveats


def _about_stability(result: Overhead) -> list[str]:
    if result.stability is None:
        return []
    caveats = []
    parts = len(result.stability.parts)
    moved = [spread.label for spread in result.stability.spreads[1:] if spread.robust.rejected()]
    if moved:
        caveats.append(
            f"The cost of {', '.join(moved)} differs between {parts} parts of the log by more than its "
            "interval allows: what such a request asks for is not always the same (Bard 1971)."
        )
    elif result.stability.robust.rejected():
        caveats.append(
            f"Costs taken together differ between {parts} parts of the log by more than their intervals "
            "allow, though no single one is shown to (Bard 1971)."
        )
    elif result.stability.independent.rejected():
        caveats.append(
            f"Costs differ between {parts} parts of the log by more than textbook intervals allow, though "
            "not by more than the others do: errors are not independent, and textbook intervals do not hold."
        )
    return caveats
