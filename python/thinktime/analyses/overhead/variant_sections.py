"""Sections of the regression with requests dropped, and with a part of the target subtracted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from thinktime.analyses.overhead.section import TITLE, relative_dots, section, share_figure
from thinktime.documents import format as shown
from thinktime.documents.document import Col, Cols, Figure, Key, Section, Table
from thinktime.documents.series import Point, Series
from thinktime.documents.wording import bare, capital, listed, noun, refused, share
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.overhead.omission import Omission
    from thinktime.analyses.overhead.subtraction import Subtraction

WITH, WITHOUT = (
    Key("with it", colour="regression", shape="circle"),
    Key("without it", colour="other", shape="diamond"),
)


def omission_section(result: Omission | NotApplicable) -> Section:
    """Section of the regression without some requests, and of its difference to that with them."""
    if isinstance(result, NotApplicable):
        return refused("overhead", TITLE, result)
    plain = section(result.reduced)
    names = listed([noun(name, name) for name in result.dropped])
    sentences = [f"Without {names}, its cost is charged to the requests that accompany it."]
    most = max(result.costs[1:], key=lambda cost: abs(1.0 - cost.ratio), default=None)
    if most is not None:
        sentences.append(
            f"The largest change is that of {noun(most.request, most.label)}: "
            f"{shown.estimate(bare(most.reduced))} without, {shown.estimate(bare(most.full))} with it "
            f"(ratio {shown.number(most.ratio)})."
        )
    table = _omission_table(result, names)
    series = Series(
        [
            Point(
                key=key,
                label=noun(cost.request, cost.label),
                y=bare(value),
                relative_to=cost.full.value,
            )
            for cost in result.costs
            if cost.full.value > 0.0
            for key, value in ((WITH, cost.full), (WITHOUT, cost.reduced))
        ]
    )
    ratios = [f"{noun(cost.request, cost.label)} {shown.number(1.0 / cost.ratio)}" for cost in result.costs]
    figure = Figure(
        name="overhead-omission-chart",
        title=f"Effect of leaving out {names} on the costs",
        chart=relative_dots(series, "the cost with it"),
        data=replace(table, name="overhead-omission-data", notes=()),
        alt=f"Cost without {names} over cost with it: {listed(ratios)}.",
        keys=(WITH, WITHOUT),
    )
    return replace(
        plain,
        summary=(*sentences, *plain.summary),
        tables=(table, *plain.tables),
        figures=(figure, *plain.figures),
    )


def _omission_table(result: Omission, names: str) -> Table:
    unit = bare(result.costs[0].full).unit
    numbers = {(item.dropped, item.request): item.number for item in result.companions}
    return Table.of(
        result.costs,
        Col("request", lambda cost: noun(cost.request, cost.label)),
        Col(f"without {names}", lambda cost: bare(cost.reduced), unit=unit),
        Col(f"with {names}", lambda cost: bare(cost.full), unit=unit),
        Col("with over without", lambda cost: cost.ratio),
        Cols(
            [f"{noun(name, name)} with each" for name in result.dropped],
            lambda cost: [numbers.get((name, cost.request)) for name in result.dropped],
        ),
        name="overhead-omission",
        caption=f"Costs with and without {names}",
        notes=[
            "With over without: factor for a cost fitted without it, in a log where it was not measured "
            "(Bard 1971, Tables 4 and 5).",
            "With each: number of the omitted requests that accompany one of this kind, the others held "
            "equal; their cost is charged to it.",
        ],
    )


def subtraction_section(result: Subtraction | NotApplicable) -> Section:
    """Section of the regression with a part of the target subtracted and shown by itself."""
    if isinstance(result, NotApplicable):
        return refused("overhead", TITLE, result)
    plain, target = section(result.whole), result.whole.target
    sentence = f"{capital(result.label)} is {shown.cell(share(result.share))} of the {target}."
    shares = [(noun(cost.request, cost.label), cost.share) for cost in result.costs]
    figure = share_figure(
        [*shares, (result.label, result.share)],
        target,
        name="overhead-subtraction",
        title=f"Where the {target} goes, {result.label} by itself",
        half=False,
    )
    return replace(
        plain,
        summary=(sentence, *plain.summary),
        tables=(_subtraction_table(result), *plain.tables),
        figures=(figure, *plain.figures),
    )


def _subtraction_table(result: Subtraction) -> Table:
    unit = bare(result.costs[0].whole).unit
    table = Table.of(
        result.costs,
        Col("request", lambda cost: noun(cost.request, cost.label)),
        Col("cost", lambda cost: bare(cost.whole), unit=unit),
        Col(f"of it {result.label}", lambda cost: bare(cost.subtracted), unit=unit),
        Col("rest", lambda cost: cost.rest, unit=unit),
        Col(f"rest, of {result.whole.target}", lambda cost: share(cost.share), unit="share"),
        name="overhead-subtracted",
        caption=f"Costs of requests, with and without {result.label}",
        notes=[
            "Shares and their intervals are from the regression of the rest, whose cost is the difference "
            "except for outliers, which each regression drops separately (Bard 1971, Table 9)."
        ],
    )
    return replace(table, rows=(*table.rows, (result.label, None, None, None, share(result.share))))
