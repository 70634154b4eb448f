"""Section of the arrivals: tests of all periods together, and of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from thinktime.documents import format as shown
from thinktime.documents.document import Col, Section, Table
from thinktime.documents.wording import listed, refused, whole, worded
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.arrivals.analysis import Arrivals

TITLE = "Do inputs arrive at random?"
FOLDED_ABOVE = 12
METHOD = (
    "Each period is tested against a Poisson process in three ways: counts in cells by their index "
    "of dispersion (variance over mean, chi-square; Cox and Lewis), gaps against the exponential "
    "distribution of unknown mean (Anderson and Darling; Stephens 1974), and the order of the gaps "
    "(Ljung and Box 1978, normal scores). The p value of a period is three times the smallest of the three, "
    "adjusted over all periods (Holm)"
    ": a false alarm in any period has a probability of 5 %. All "
    "periods together: Fisher's combination, adjusted for the three tests."
)
WORDS: Mapping[str, Callable[..., str]] = {
    "short_periods": lambda periods, inputs_least: (
        f"Periods with fewer than {inputs_least} inputs are left out: {periods}."
    ),
    "users_drift": lambda: (
        "The number of users drifts: a rate that changes within a period counts against a Poisson process."
    ),
    "finite_population": lambda users, variation: (
        f"The population is finite ({users:g} users at most): a user who waits does not type, so the rate "
        f"varies by {variation:.0%} (standard deviation) with the number of users thinking. Such traffic is "
        "not a Poisson process, even if the tests do not detect it."
    ),
}


def section(result: Arrivals | NotApplicable) -> Section:
    """Section of the analysis of arrivals."""
    if isinstance(result, NotApplicable):
        return refused("arrivals", TITLE, result)
    return Section(
        name="arrivals",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=(_together(result), _periods(result)),
        caveats=worded(result.caveats, WORDS),
        method=METHOD,
    )


def _sentences(result: Arrivals) -> list[str]:
    against = [item for item in result.periods if not item.poisson]
    count = len(result.periods)
    periods = "the one period" if count == 1 else f"{count} periods"
    broken = [
        name
        for name, test in (
            ("counts are not Poisson", result.counts),
            ("gaps are not exponential", result.gaps),
            ("successive gaps depend on each other", result.order),
        )
        if test.rejected()
    ]
    if broken:
        first = f"Inputs do not arrive as a Poisson process: over {periods} together, {listed(broken)}."
    else:
        first = f"Over {periods} together, a Poisson process is not rejected."
    some = str(len(against)) if against else "none"
    second = f"Tested one by one, {some} of {count} periods {'are' if len(against) > 1 else 'is'} rejected."
    uneven = [item.dispersion.value for item in result.periods]
    third = (
        f"The variance of the counts is {shown.number(sum(uneven) / count)} times their mean on average: 1 "
        "for a Poisson process, more for bursts or a changing rate, less for more regular traffic."
    )
    return [first, second, third] if count > 1 else [first, third]


def _together(result: Arrivals) -> Table:
    tests = (
        ("counts: variance over mean", result.counts),
        ("gaps: A² against the exponential", result.gaps),
        ("order of the gaps: Q", result.order),
    )
    return Table.of(
        tests,
        Col("test", lambda item: item[0]),
        Col("n", lambda item: item[1].n),
        Col("mean statistic", lambda item: item[1].statistic),
        Col("p", lambda item: item[1].p, unit="p"),
        name="arrivals-tests",
        caption="All periods together against a Poisson process",
    )


def _periods(result: Arrivals) -> Table:
    return Table.of(
        result.periods,
        Col("from", lambda item: item.start_s, unit="s"),
        Col("length", lambda item: item.length_s, unit="s"),
        Col("users", lambda item: whole(item.users)),
        Col("inputs", lambda item: item.n),
        Col("rate", lambda item: item.rate, unit="interaction/s"),
        Col("variance over mean", lambda item: item.dispersion),
        Col("p, counts", lambda item: item.counts.p, unit="p"),
        Col("p, gaps", lambda item: item.gaps.p, unit="p"),
        Col("p, order", lambda item: item.order.p, unit="p"),
        Col("p, adjusted", lambda item: item.p, unit="p"),
        Col("Poisson", lambda item: "not rejected" if item.poisson else "rejected"),
        name="arrivals-periods",
        caption="Arrivals by period",
        folded=len(result.periods) > FOLDED_ABOVE,
    )
