"""How inputs come in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thinktime.documents import format as shown
from thinktime.documents.document import Column, Section, Table
from thinktime.documents.wording import listed, refused, whole
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.arrivals.analysis import Arrivals

__all__ = ["section"]

TITLE = "Do inputs arrive at random?"
FOLDED_ABOVE = 12


def section(result: Arrivals | NotApplicable) -> Section:
    """Section of the analysis of arrivals."""
    if isinstance(result, NotApplicable):
        return refused("arrivals", TITLE, result)
    return Section(
        name="arrivals",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=(_together(result), _periods(result)),
        figures=(),
        caveats=result.caveats,
        method=(
            "Each period is tested against a Poisson process in three ways: counts in cells by their index "
            "of dispersion (variance over mean, chi-square; Cox and Lewis), gaps against the exponential "
            "distribution of unknown mean (Anderson and Darling; Stephens 1974), and the order of the gaps "
            "(Ljung and Box 1978, normal scores). The p of a period is the least of the three times three, "
            "adjusted over all periods (Holm): a false alarm in any period has a probability of 5 %. All "
            "periods together: Fisher's combination, adjusted for the three tests."
        ),
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
        first = f"Over {periods} together, nothing speaks against a Poisson process."
    some = str(len(against)) if against else "none"
    verb = "speak" if len(against) > 1 else "speaks"
    second = f"Taken one by one, {some} of {count} periods {verb} against it."
    uneven = [item.dispersion.value for item in result.periods]
    third = (
        f"The variance of the counts is {shown.number(sum(uneven) / count)} times their mean on average: 1 "
        "belongs to a Poisson process, more to bursts or a rate that changes, less to traffic more even."
    )
    return [first, second, third] if count > 1 else [first, third]


def _together(result: Arrivals) -> Table:
    columns = (Column("what"), Column("n"), Column("mean statistic"), Column("p", unit="p"))
    rows = tuple(
        (name, test.n, test.statistic, test.p)
        for name, test in (
            ("counts: variance over mean", result.counts),
            ("gaps: A² against the exponential", result.gaps),
            ("order of the gaps: Q", result.order),
        )
    )
    return Table(
        name="arrivals-tests",
        caption="All periods together against a Poisson process",
        columns=columns,
        rows=rows,
    )


def _periods(result: Arrivals) -> Table:
    columns = (
        Column("from", unit="s"),
        Column("length", unit="s"),
        Column("users"),
        Column("inputs"),
        Column("rate", unit="interaction/s"),
        Column("variance over mean"),
        Column("p, counts", unit="p"),
        Column("p, gaps", unit="p"),
        Column("p, order", unit="p"),
        Column("p, adjusted", unit="p"),
        Column("Poisson"),
    )
    rows = tuple(
        (
            item.start_s,
            item.length_s,
            whole(item.users),
            item.n,
            item.rate,
            item.dispersion,
            item.counts.p,
            item.gaps.p,
            item.order.p,
            item.p,
            "not rejected" if item.poisson else "rejected",
        )
        for item in result.periods
    )
    folded = len(rows) > FOLDED_ABOVE
    return Table(
        name="arrivals-periods", caption="Arrivals by period", columns=columns, rows=rows, folded=folded
    )
