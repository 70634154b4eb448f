"""Tables of the overhead regression: costs, how sure they are, and how well the model holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Column, Key, Table
from thinktime.documents.wording import bare, noun, percent, share

if TYPE_CHECKING:
    from thinktime.analyses.overhead.analysis import Overhead

__all__ = ["DIRECT", "REGRESSION", "tables"]

REGRESSION = Key("by regression", colour="regression", shape="circle")
DIRECT = Key("measured directly", colour="direct", shape="diamond")


def tables(result: Overhead) -> tuple[Table, ...]:
    """Every table of the section, most important first."""
    found = [_costs(result), _intervals(result)]
    if any(cost.direct for cost in result.costs):
        found.insert(1, _direct(result))
    found.append(_fit(result))
    if result.stability is not None:
        found.append(_stability(result))
    if result.dependencies and len(result.costs) > 1:
        found.append(_dependencies(result))
    if result.left_out:
        rows = tuple((item.label, item.reason) for item in result.left_out)
        caption = "Requests that are not in the regression"
        found.append(
            Table(
                name="overhead-left-out",
                caption=caption,
                columns=(Column("request"), Column("why")),
                rows=rows,
            )
        )
    return tuple(found)


def _costs(result: Overhead) -> Table:
    columns = (
        Column("request"),
        Column("cost"),
        Column(f"of {result.target}", unit="share"),
        Column("rate"),
        Column("F to enter"),
        Column("VIF"),
    )
    rows: list[tuple[Cell, ...]] = [
        (
            noun(cost.request, cost.label),
            cost.seconds,
            share(cost.share),
            cost.rate,
            cost.f_to_enter,
            cost.variance_inflation,
        )
        for cost in result.costs
    ]
    notes = (
        "VIF: variance inflation factor; above 10 a cost cannot be told from those of the other requests.",
    )
    caption = f"{result.target[:1].upper()}{result.target[1:]} by request"
    return Table(name="overhead-table", caption=caption, columns=columns, rows=tuple(rows), notes=notes)


def _intervals(result: Overhead) -> Table:
    unit = bare(result.costs[0].seconds).unit
    columns = (
        Column("request"),
        Column("Newey-West", unit=unit),
        Column("block bootstrap", unit=unit),
        Column("textbook", unit=unit),
        Column("robust", unit=unit),
        Column("none negative", unit=unit),
    )
    rows: list[tuple[Cell, ...]] = [
        (
            noun(cost.request, cost.label),
            bare(cost.seconds),
            None if cost.bootstrap is None else bare(cost.bootstrap),
            bare(cost.textbook),
            cost.robust,
            cost.non_negative,
        )
        for cost in result.costs
    ]
    level = percent(result.costs[0].seconds.level)
    notes = (
        f"All intervals at {level}. Newey-West, the one to rely on, and the bootstrap allow for errors that "
        "are correlated and of unequal size; the textbook's holds for independent errors of one size.",
        f"Robust: Huber's M-estimate on {shown.count(result.robust_n, 'observation')}, outliers included. "
        "None negative: the least-squares fit in which no cost is below zero.",
    )
    return Table(
        name="overhead-intervals",
        caption="The same cost, found in five ways",
        columns=columns,
        rows=tuple(rows),
        notes=notes,
    )


def _direct(result: Overhead) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            noun(cost.request, cost.label),
            bare(cost.seconds),
            bare(cost.direct.seconds),
            cost.direct.ratio,
            "yes" if cost.direct.overlaps else "no",
            cost.direct.seconds.method,
        )
        for cost in result.costs
        if cost.direct is not None
    ]
    columns = (
        Column("request"),
        Column(REGRESSION.name),
        Column(DIRECT.name),
        Column("ratio"),
        Column("overlap"),
        Column("how"),
    )
    return Table(
        name="overhead-direct",
        caption="By regression and measured directly",
        columns=columns,
        rows=tuple(rows),
    )


def _fit(result: Overhead) -> Table:
    check, unit = result.tick_check, result.system_time.unit
    rows: list[tuple[Cell, ...]] = [
        (f"Mean {result.target}", shown.estimate(result.system_time)),
        ("R²", shown.number(result.r_squared)),
        ("Residual standard deviation s", shown.quantity(result.residual_s, unit)),
        ("Observations used", shown.number(result.n)),
        (
            f"Outliers beyond {result.threshold:g} s left out, of them above the fit",
            f"{result.outliers}, {result.outliers_positive}",
        ),
        ("Correlation of a residual with the next", shown.number(result.autocorrelation)),
        ("Condition number", shown.number(result.condition_number)),
        ("Busy CPU time, tick-sampled", None if check is None else shown.estimate(check.ticks)),
        ("Busy CPU time, exact", None if check is None else shown.estimate(check.exact)),
        (
            "Ticks over exact CPU time, less one",
            None if check is None else shown.quantity(check.disagreement, "share"),
        ),
        (
            "The recorder's own CPU time, included",
            None if result.recorder is None else shown.estimate(result.recorder),
        ),
    ]
    columns = (Column("what"), Column("figure"))
    return Table(
        name="overhead-fit-table", caption="How well the regression holds", columns=columns, rows=tuple(rows)
    )


def _stability(result: Overhead) -> Table:
    stability = result.stability
    if stability is None:
        raise ValueError("there is no test of stability to show")
    unit = bare(result.costs[0].seconds).unit
    columns = (
        Column("request"),
        *(Column(f"part {number}", unit=unit) for number in range(1, len(stability.parts) + 1)),
        Column("spread over nominal"),
        Column("textbook", unit="p"),
        Column("robust", unit="p"),
    )
    rows: list[tuple[Cell, ...]] = [
        (
            noun(item.request, item.label),
            *(bare(value) for value in item.seconds),
            item.ratio,
            item.independent.p,
            item.robust.p,
        )
        for item in stability.spreads
    ]
    rows.append(
        ("all costs", *(None for _ in stability.parts), None, stability.independent.p, stability.robust.p)
    )
    notes = (
        "Spread over nominal: standard deviation of a cost between the parts, over its standard error in one "
        "part by the textbook; about 1 if the textbook's assumptions hold.",
        "p: how likely parts at least as different are if each cost is the same throughout. Textbook: errors "
        "independent and of one size, so that a small p may say no more than that they are not. Robust: "
        "errors may be correlated and of any size; over the single costs adjusted for their number (Holm).",
    )
    caption = "Do parts of the log give the same costs?"
    return Table(name="overhead-stability", caption=caption, columns=columns, rows=tuple(rows), notes=notes)


def _dependencies(result: Overhead) -> Table:
    columns = (
        Column("condition index"),
        *(Column(noun(cost.request, cost.label), unit="share") for cost in result.costs),
    )
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (shown.number(item.condition_index), *item.proportions) for item in reversed(result.dependencies)
    )
    notes = (
        "A line is a direction in which the rates vary together, the least variable first; a cell is the "
        "part of a cost's variance that comes from it. Two costs with more than half at a condition index "
        "above 30 can hardly be told apart (Belsley, Kuh and Welsch 1980).",
    )
    caption = "Which costs cannot be told from each other?"
    return Table(
        name="overhead-dependencies", caption=caption, columns=columns, rows=rows, notes=notes, folded=True
    )
