"""Section of a comparison of costs in several logs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from thinktime.analyses.overhead.caveats import reason
from thinktime.analyses.overhead.section import COLOURS, relative_dots, subject
from thinktime.documents import format as shown
from thinktime.documents.document import Col, Cols, Figure, Key, Section, Table
from thinktime.documents.series import Point, Series
from thinktime.documents.wording import bare, capital, listed, noun, p_value, percent, refused, worded
from thinktime.stats.estimate import NotApplicable
from thinktime.stats.hypothesis import ALPHA

if TYPE_CHECKING:
    from thinktime.analyses.overhead.comparison import ComparedCost, NotCompared, OverheadComparison

TITLE = "Do requests cost the same in these logs?"


def _because(item: NotCompared) -> str:
    return f"{item.request} ({'; '.join(reason(caveat, log) for log, caveat in item.reasons)})"


WORDS: Mapping[str, Callable[..., str]] = {
    "not_compared": lambda items: (
        f"Not compared: {'; '.join(map(_because, items))}. In the logs that have such requests, their cost "
        "is charged to the requests that accompany them."
    ),
    "unstable_within": lambda name, p: (
        f"Costs already differ between subsets of {name} (p = {p:.2g}): a difference of that size between "
        "logs need not be due to the change."
    ),
}


def section(result: OverheadComparison | NotApplicable) -> Section:
    """Section of the costs of several logs."""
    if isinstance(result, NotApplicable):
        return refused("overhead", TITLE, result)
    figure = _figure(result)
    return Section(
        name="overhead",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=(_costs(result), _tests(result), _fits(result)),
        figures=() if figure is None else (figure,),
        caveats=worded(result.caveats, WORDS),
        method=(
            f"The same regression of {result.results[0].target} on request rates for each log (Bard 1971, "
            "equation 2), and Wald tests with long-run covariances, which allow for correlated "
            "errors of unequal size, and their own degrees of freedom (Johansen 1980). Logs are assumed to "
            "be independent."
            f" {percent(ALPHA)} is the false-alarm rate."
        ),
    )


def _name(cost: ComparedCost) -> str:
    return noun(cost.request, cost.label)


def _sentences(result: OverheadComparison) -> list[str]:
    different = [f"{_name(cost)} ({p_value(cost.test.p)})" for cost in result.costs if cost.test.rejected()]
    verb = "are not the same" if result.every.rejected() else "are not shown to differ"
    sentences = [f"Costs {verb} in {listed(result.names)} (all at once: {p_value(result.every.p)})."]
    if result.requests is not None:
        verb = "differ" if result.requests.rejected() else "are not shown to differ"
        sentences.append(
            f"Costs of requests alone, without base and user time, {verb} ({p_value(result.requests.p)})."
        )
    if different:
        sentences.append(f"Individually, adjusted for their number, {listed(different)} differ.")
    return sentences


def _costs(result: OverheadComparison) -> Table:
    first = result.costs[0].seconds[0]
    unit = bare(first).unit
    return Table.of(
        result.costs,
        Col("request", _name),
        Cols(result.names, lambda cost: [bare(value) for value in cost.seconds], unit=unit),
        Cols(
            [f"{name} less {result.names[0]}" for name in result.names[1:]],
            lambda cost: [bare(value) for value in cost.differences],
            unit=unit,
        ),
        Col("adjusted", lambda cost: cost.test.p, unit="p"),
        name="overhead-comparison",
        caption=f"{capital(subject(result.results[0]))} of one request in each log",
        notes=[
            f"Each interval holds individually at {percent(first.level)}. p: of the same cost in all logs, "
            "adjusted for the number of costs tested (Holm)."
        ],
    )


def _tests(result: OverheadComparison) -> Table:
    of_requests = [] if result.requests is None else [result.requests]
    return Table.of(
        [result.every, *of_requests, *(cost.test for cost in result.costs)],
        Col("hypothesis", lambda test: test.hypothesis),
        Col("F", lambda test: test.statistic),
        Col("p", lambda test: test.p, unit="p"),
        Col("how", lambda test: test.method),
        name="overhead-comparison-tests",
        caption="Tests",
        folded=True,
    )


def _fits(result: OverheadComparison) -> Table:
    return Table.of(
        list(zip(result.names, result.results, strict=True)),
        Col("log", lambda item: item[0]),
        Col(f"mean {result.results[0].target}", lambda item: item[1].target_mean),
        Col("R²", lambda item: item[1].r_squared),
        Col("observations", lambda item: item[1].n),
        Col("outliers", lambda item: item[1].outliers),
        Col("correlation", lambda item: item[1].autocorrelation),
        name="overhead-comparison-fits",
        caption="The regression of each log",
        notes=["Correlation: between successive residuals."],
    )


def _figure(result: OverheadComparison) -> Figure | None:
    """Costs of each log, relative to the first."""
    costs = [cost for cost in result.costs if cost.seconds[0].value > 0.0]
    if not costs or len(result.names) > len(COLOURS):
        return None
    keys = Key.each(result.names, COLOURS, "circle")
    series = Series(
        [
            Point(key=key, label=_name(cost), y=bare(value), relative_to=cost.seconds[0].value)
            for cost in costs
            for key, value in zip(keys, cost.seconds, strict=True)
        ]
    )
    ratios = [
        f"{_name(cost)} "
        f"{listed([shown.number(value.value / cost.seconds[0].value) for value in cost.seconds[1:]])}"
        for cost in costs
    ]
    return Figure(
        name="overhead-comparison-chart",
        title=TITLE,
        chart=relative_dots(series, f"the cost in {result.names[0]}"),
        data=Table.of(
            result.costs,
            Col("request", _name),
            Cols(
                result.names,
                lambda cost: [bare(value) for value in cost.seconds],
                unit=bare(result.costs[0].seconds[0]).unit,
            ),
            name="overhead-comparison-data",
            caption="Costs in each log",
        ),
        alt=f"Relative to {result.names[0]}: {listed(ratios)}.",
        keys=series.legend,
    )
