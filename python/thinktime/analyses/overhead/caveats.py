"""Words for what weakens the costs of requests: caveats, doubts, and reasons for having no row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from thinktime.documents import format as shown
from thinktime.documents.wording import p_value
from thinktime.stats.estimate import Caveat

REASONS: Mapping[str, Callable[..., str]] = {
    "not_measured": lambda log="this log": f"not measured in {log}",
    "rarely_measured": lambda measured, rows, log="this log": (
        f"measured in only {measured} of {rows} intervals of {log}"
    ),
    "never_happened": lambda log="this log": f"never happened in {log}",
    "constant": lambda log="this log": (
        f"constant in {log}, so that its cost cannot be separated from the base"
    ),
    "moves_together": lambda tolerance: (
        f"collinear with those in the regression: only {tolerance:.0%} of its variation is independent"
    ),
    "competes": lambda target, f: (
        f"is negatively associated with {target} (F = {f:.2g}): it competes for the CPU rather than "
        "causing work"
    ),
    "explains_too_little": lambda f: f"explains less than was asked for (F = {f:.2g})",
    "may_be_chance": lambda p, to_enter: (
        f"is not shown to explain more ({p_value(p)}, above {shown.probability(to_enter)})"
    ),
    "combination": lambda log="": f"is a combination of the others{log and ' in '}{log}",
    "not_counted": lambda log="this log": f"not counted in {log}",
}
"""Words for the reasons why a request is not in the regression, of this log or of the one named."""


def _names(labels: Sequence[str]) -> str:
    return ", ".join(labels)


WORDS: Mapping[str, Callable[..., str]] = {
    "by_ticks": lambda: (
        "System time is measured by ticks, which miss short runs where CPUs are busy: a cost may be a third "
        "of the true one, and none is stated as a finding. Recorded as root, system time is sampled out of "
        "step with the tick."
    ),
    "ticks_miss": lambda disagreement: (
        f"System time by ticks differs by {disagreement:+.0%} from that sampled out of step with them: short "
        "runs begin after one tick and end before the next. Costs are in sampled time."
    ),
    "ticks_disagree": lambda disagreement, scaled: (
        f"Tick-sampled CPU time differs from exact CPU time by {disagreement:+.0%}; "
        + ("the exact time is used for the total" if scaled else "costs are in tick-sampled time")
        + ", and its division into user and system time is known only by ticks."
    ),
    "recorder_included": lambda share: (
        f"The recorder's own CPU time is {share:.1%} of the system time measured; it is included in the base."
    ),
    "nothing_explained": lambda: "No kind of request explains the system time: only the base is left.",
    "poor_fit": lambda r_squared: (
        f"The requests explain only {r_squared:.0%} of the variation of system time: much of its cause was "
        "not measured, or the load hardly varied."
    ),
    "few_intervals": lambda n, costs: (
        f"Only {shown.count(n, 'interval')} for {shown.count(costs, 'cost')}: record longer."
    ),
    "correlated_residuals": lambda correlation: (
        f"Successive residuals are correlated ({correlation:.2f}): the textbook intervals are too narrow; "
        "the others allow for it."
    ),
    "persistent_errors": lambda correlation: (
        f"Errors last long (correlation of successive ones {correlation:.2f}): above 0.9, intervals "
        "were measured to hold in as few as 90 of 100 logs where 95 are stated. Record longer."
    ),
    "slow_swing": lambda: (
        "Errors swing slowly under a quick variation. With such errors, the interval of the base was "
        "measured to hold in as few as 84 of 100 logs where 95 are stated. Record longer."
    ),
    "many_outliers": lambda outliers, n, above: (
        f"{outliers} of {n} intervals {'was' if outliers == 1 else 'were'} dropped as outliers ({above} with "
        "more system time than fitted): "
        "work that is not measured."
    ),
    "inflated": lambda labels: (
        f"The rates of {_names(labels)} move together with others: their costs can be separated only in "
        "part, though their sum is reliable."
    ),
    "dependent": lambda labels, condition_index: (
        f"The costs of {_names(labels)} can be separated only in part: one of their rates hardly varies "
        f"given the others (condition index {condition_index:.0f})."
    ),
    "negative": lambda labels: (
        f"The cost of {_names(labels)} is negative, which is impossible: it offsets another that is too "
        f"high. The fit without negative costs is also shown."
    ),
    "concentrated": lambda labels: (
        f"The cost of {_names(labels)} depends on five intervals that contain most of its variation: "
        f"another log may well give a different cost."
    ),
    "cost_unstable": lambda labels, subsets: (
        f"The cost of {_names(labels)} differs between {subsets} subsets of the log by more than its "
        "interval allows: such requests do not always require the same work (Bard 1971)."
    ),
    "costs_unstable_together": lambda subsets: (
        f"Costs taken together differ between {subsets} subsets of the log by more than their intervals "
        "allow, though no single one is shown to (Bard 1971)."
    ),
    "textbook_unstable": lambda subsets: (
        f"Costs differ between {subsets} subsets of the log by more than textbook intervals allow, but not "
        "by more than the other intervals allow: errors are not independent, and textbook intervals do not "
        "hold."
    ),
    "together": lambda labels: (
        f"The data do not show which of {'; and which of '.join(labels)} has the cost, since they come "
        "together: they share a row, which has the cost of one more of any of them."
    ),
    "not_shown_among_all": lambda labels: (
        f"With all other requests in the regression, the interval of {_names(labels)} includes zero: others, "
        "which were not selected, could have this cost."
    ),
    "after_selection": lambda: (
        "Costs and intervals of selected requests assume that requests without a row cost nothing, which the "
        "data only fail to refute; if they do cost something, the base contains it. The intervals among all "
        "requests do not assume it."
    ),
    "changes_with_length": lambda labels: (
        f"The cost of {_names(labels)} changes when successive intervals are joined, by more than chance: "
        "something that was not counted, or was left out, causes part of it."
    ),
    "holds_zero": lambda labels: (
        f"The interval of {_names(labels)} includes zero: the cost is not significant."
    ),
    "differs_from_direct": lambda labels, factor: (
        f"Costs of {_names(labels)} differ from the direct measurement by more than a factor of {factor:g}: "
        "the regression charges a request with all work that accompanies it."
    ),
    "holds_accompanying_work": lambda: (
        "A cost includes all work that accompanies such a request and is not itself counted: it is the time "
        "that comes with one more request, not the length of a path in the kernel."
    ),
}


DOUBTS: Mapping[str, Callable[..., str]] = {
    "few_determine": lambda: "too few intervals determine it",
    "not_shown": lambda: "not shown to have a cost by itself",
    "by_ticks": lambda: "ticks miss short runs",
    "rival_left_out": lambda labels: f"its rate varies with that of {_names(labels)}, which has no row",
    "moves_with_length": lambda: "the cost changes with the length of the interval",
    "stand_in": lambda: "it stands for whatever raised it",
    "more_than_all": lambda share: f"it would explain {share:.0%} of all that was measured",
    "of_many_sizes": lambda: "it has no single cost, and this is not its direct one",
    "direct_cost_differs": lambda ratio: f"{shown.number(ratio)} times what was measured directly",
    "no_direct_cost": lambda: "no direct measurement in this log confirms it",
    "wide": lambda share: f"its error may be {share:.0%} of the cost",
}
"""Words for the reasons why a cost is in the table and in no summary."""


def doubt(caveat: Caveat) -> str:
    """Words for the reason why a cost is in the table only."""
    return DOUBTS[caveat.kind](**caveat.values)


def reason(caveat: Caveat, log: str = "") -> str:
    """Words for the reason why a request is not in the regression of a log."""
    values = {**caveat.values, "log": log} if log else caveat.values
    return REASONS[caveat.kind](**values)
