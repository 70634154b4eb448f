"""Other questions to the overhead regression: a request left out, a part of the time taken out."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from thinktime.analyses.overhead import section as overhead
from thinktime.analyses.overhead.section_figures import relative
from thinktime.documents import charts
from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Column, Figure, Key, Section, Table
from thinktime.documents.wording import bare, capital, ends, listed, noun, refused, share
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.overhead.omission import Omission
    from thinktime.analyses.overhead.subtraction import Parted

__all__ = ["omission", "parted"]

WITH = Key("with it", colour="regression", shape="circle")
WITHOUT = Key("without it", colour="other", shape="diamond")
REST = Key("by requests", colour="system", shape="circle")


def omission(result: Omission | NotApplicable) -> Section:
    """Section of the regression without some requests, beside that with them."""
    if isinstance(result, NotApplicable):
        return refused("overhead", overhead.TITLE, result)
    plain = overhead.section(result.reduced)
    names = listed([noun(name, name) for name in result.omitted])
    most = max(result.costs[1:], key=lambda cost: abs(1.0 - cost.ratio), default=None)
    sentences = [f"Without {names}, what it costs is charged to what goes along with it."]
    if most is not None:
        sentences.append(
            f"Most changed is {noun(most.request, most.label)}: {shown.estimate(bare(most.without))} "
            f"without, {shown.estimate(bare(most.with_))} with it (ratio {shown.number(most.ratio)})."
        )
    return replace(
        plain,
        summary=(*sentences, *plain.summary),
        tables=(_omitted(result, names), *plain.tables),
        figures=(_beside(result, names), *plain.figures),
    )


def _omitted(result: Omission, names: str) -> Table:
    unit = bare(result.costs[0].with_).unit
    columns = (
        Column("request"),
        Column(f"without {names}", unit=unit),
        Column(f"with {names}", unit=unit),
        Column("with over without"),
        *(Column(f"{noun(name, name)} with each") for name in result.omitted),
    )
    along = {(item.omitted, item.request): item.number for item in result.along}
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            noun(cost.request, cost.label),
            bare(cost.without),
            bare(cost.with_),
            cost.ratio,
            *(along.get((name, cost.request)) for name in result.omitted),
        )
        for cost in result.costs
    )
    notes = (
        "With over without: what a cost fitted without is multiplied by, in a log where it was not measured "
        "(Bard 1971, Tables 4 and 5).",
        "With each: how many come with one such request, the others held equal; their cost goes there.",
    )
    return Table(
        name="overhead-omission",
        caption=f"Costs with and without {names}",
        columns=columns,
        rows=rows,
        notes=notes,
    )


def _beside(result: Omission, names: str) -> Figure:
    rows = []
    for cost in result.costs:
        if cost.with_.value > 0.0:
            label = noun(cost.request, cost.label)
            rows.append(relative(label, WITH.name, cost.with_, cost.with_.value))
            rows.append(relative(label, WITHOUT.name, cost.without, cost.with_.value))
    named = [f"{noun(cost.request, cost.label)} {shown.number(1.0 / cost.ratio)}" for cost in result.costs]
    alt = f"Cost without {names} over cost with it: {listed(named)}."
    axis = charts.Axis("relative to the cost with it", format=".2~f")
    chart = partial(charts.dots, rows, (WITH, WITHOUT), axis)
    table = replace(_omitted(result, names), name="overhead-omission-data", notes=())
    title = f"What leaving out {names} does to the costs"
    return Figure(
        name="overhead-omission-chart", title=title, chart=chart, data=table, alt=alt, keys=(WITH, WITHOUT)
    )


def parted(result: Parted | NotApplicable) -> Section:
    """Section of the regression with a part of the time taken out and shown by itself."""
    if isinstance(result, NotApplicable):
        return refused("overhead", overhead.TITLE, result)
    plain = overhead.section(result.whole)
    sentence = (
        f"{capital(result.label)} is {shown.estimate(replace(result.share, unit='share'))} of the "
        f"{result.whole.target}."
    )
    return replace(
        plain,
        summary=(sentence, *plain.summary),
        tables=(_parted(result), *plain.tables),
        figures=(_shares(result), *plain.figures),
    )


def _parted(result: Parted) -> Table:
    unit = bare(result.costs[0].whole).unit
    columns = (
        Column("request"),
        Column("cost", unit=unit),
        Column(f"of it {result.label}", unit=unit),
        Column("rest", unit=unit),
        Column(f"rest, of {result.whole.target}", unit="share"),
    )
    rows: list[tuple[Cell, ...]] = [
        (
            noun(cost.request, cost.label),
            bare(cost.whole),
            bare(cost.part),
            cost.rest,
            share(cost.share),
        )
        for cost in result.costs
    ]
    rows.append((result.label, None, None, None, share(result.share)))
    notes = (
        "Shares and their intervals are from the regression of the rest, whose cost is the difference but "
        "for outliers, which each regression leaves out for itself (Bard 1971, Table 9).",
    )
    caption = f"{capital(result.label)} apart from what requests cost"
    return Table(name="overhead-parts", caption=caption, columns=columns, rows=tuple(rows), notes=notes)


def _shares(result: Parted) -> Figure:
    items = [(noun(cost.request, cost.label), cost.share) for cost in result.costs]
    items.append((result.label, result.share))
    items.sort(key=lambda item: -item[1].value)
    rows = []
    for label, value in items:
        low, high = ends(value)
        told = shown.estimate(share(value) or value)
        rows.append(
            {
                "label": label,
                "series": REST.name,
                "value": value.value,
                "low": low,
                "high": high,
                "shown": told,
            }
        )
    table = Table(
        name="overhead-parts-data",
        caption=f"Share of the {result.whole.target}",
        columns=(Column("term"), Column("share", unit="share")),
        rows=tuple((label, share(value)) for label, value in items),
    )
    said = [f"{name} {shown.quantity(value.value, 'share')}" for name, value in items]
    alt = f"{capital(listed(said))}."
    axis = charts.Axis(f"share of the mean {result.whole.target}", format=".0%")
    chart = partial(charts.dots, rows, (REST,), axis)
    title = f"Where the {result.whole.target} goes, {result.label} by itself"
    return Figure(name="overhead-parts-chart", title=title, chart=chart, data=table, alt=alt)
