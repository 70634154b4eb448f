"""Whether requests cost the same in several logs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from thinktime.analyses.overhead.section import subject
from thinktime.analyses.overhead.section_figures import PARTS, relative
from thinktime.documents import charts
from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Column, Figure, Key, Section, Table
from thinktime.documents.wording import bare, capital, listed, noun, p_value, percent, refused
from thinktime.stats.estimate import NotApplicable
from thinktime.stats.hypothesis import ALPHA

if TYPE_CHECKING:
    from thinktime.analyses.overhead.comparison import Comparison

__all__ = ["section"]

TITLE = "Do requests cost the same in these logs?"


def section(result: Comparison | NotApplicable) -> Section:
    """Section of several logs' costs."""
    if isinstance(result, NotApplicable):
        return refused("overhead", TITLE, result)
    figures = (_figure(result),) if len(result.names) <= len(PARTS) else ()
    return Section(
        name="overhead",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=(_costs(result), _tests(result), _fits(result)),
        figures=tuple(figure for figure in figures if figure is not None),
        caveats=result.caveats,
        method=f"The same regression of {result.results[0].target} on request rates for each log (Bard 1971, "
        "equation 2), and Wald tests with the covariances of Newey and West, which allow for correlated "
        "errors of unequal size, and their own degrees of freedom (Johansen 1980). Logs are taken as "
        f"independent of each other. {percent(ALPHA)} is the rate of false alarms.",
    )


def _sentences(result: Comparison) -> list[str]:
    different = [
        f"{noun(cost.request, cost.label)} ({p_value(cost.test.p)})"
        for cost in result.costs
        if cost.test.rejected()
    ]
    word = "are not the same" if result.every.rejected() else "are not shown to differ"
    sentences = [f"Costs {word} in {listed(result.names)} (all at once: {p_value(result.every.p)})."]
    if result.requests is not None:
        word = "do" if result.requests.rejected() else "are not shown to"
        sentences.append(
            f"Costs of requests alone, base and user time left out, {word} differ "
            f"({p_value(result.requests.p)})."
        )
    if different:
        sentences.append(f"One by one, what differs is {listed(different)}, allowing for their number.")
    return sentences


def _costs(result: Comparison) -> Table:
    unit = bare(result.costs[0].seconds[0]).unit
    columns = (
        Column("request"),
        *(Column(name, unit=unit) for name in result.names),
        *(Column(f"{name} less {result.names[0]}", unit=unit) for name in result.names[1:]),
        Column("adjusted", unit="p"),
    )
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            noun(cost.request, cost.label),
            *(bare(value) for value in cost.seconds),
            *(bare(value) for value in cost.differences),
            cost.test.p,
        )
        for cost in result.costs
    )
    notes = (
        f"Each interval holds by itself at {percent(result.costs[0].seconds[0].level)}. p: of the same cost "
        "in all logs, adjusted for the number of costs tested (Holm).",
    )
    caption = f"{capital(subject(result.results[0]))} of one request in each log"
    return Table(name="overhead-comparison", caption=caption, columns=columns, rows=rows, notes=notes)


def _tests(result: Comparison) -> Table:
    tests = [result.every, *([result.requests] if result.requests is not None else [])]
    tests += [cost.test for cost in result.costs]
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (test.hypothesis, test.statistic, test.p, test.method) for test in tests
    )
    columns = (Column("hypothesis"), Column("F"), Column("p", unit="p"), Column("how"))
    return Table(name="overhead-comparison-tests", caption="Tests", columns=columns, rows=rows, folded=True)


def _fits(result: Comparison) -> Table:
    columns = (
        Column("log"),
        Column(f"mean {result.results[0].target}"),
        Column("R²"),
        Column("observations"),
        Column("outliers"),
        Column("correlation"),
    )
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (name, item.system_time, item.r_squared, item.n, item.outliers, item.autocorrelation)
        for name, item in zip(result.names, result.results, strict=True)
    )
    notes = ("Correlation: of a residual with the next.",)
    return Table(
        name="overhead-comparison-fits",
        caption="The regression of each log",
        columns=columns,
        rows=rows,
        notes=notes,
    )


def _figure(result: Comparison) -> Figure | None:
    keys = tuple(
        Key(name, colour=colour, shape="circle")
        for name, colour in zip(result.names, PARTS[: len(result.names)], strict=True)
    )
    costs = [cost for cost in result.costs if cost.seconds[0].value > 0.0]
    if not costs:
        return None
    rows = [
        relative(noun(cost.request, cost.label), key.name, value, cost.seconds[0].value)
        for cost in costs
        for key, value in zip(keys, cost.seconds, strict=True)
    ]
    named = [
        f"{noun(cost.request, cost.label)} "
        f"{listed([shown.number(value.value / cost.seconds[0].value) for value in cost.seconds[1:]])}"
        for cost in costs
    ]
    alt = f"Relative to {result.names[0]}: {listed(named)}."
    axis = charts.Axis(f"relative to the cost in {result.names[0]}", format=".2~f")
    unit = bare(result.costs[0].seconds[0]).unit
    table = Table(
        name="overhead-comparison-data",
        caption="Costs in each log",
        columns=(Column("request"), *(Column(name, unit=unit) for name in result.names)),
        rows=tuple((noun(cost.request, cost.label), *map(bare, cost.seconds)) for cost in result.costs),
    )
    chart = partial(charts.dots, rows, keys, axis)
    return Figure(name="overhead-comparison-chart", title=TITLE, chart=chart, data=table, alt=alt, keys=keys)
