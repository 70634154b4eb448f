"""Whether a change helped: two logs, before and after."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from thinktime.analyses.compare.section import AT, TITLE, about
from thinktime.analyses.throughput import comparison_section as throughput_comparison
from thinktime.documents import charts
from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Column, Figure, Key, Section, Table
from thinktime.documents.wording import capital, p_value, percent, refused
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.compare.logs_result import BeforeAfter, LogEffect, Side

__all__ = ["section"]

BEFORE, AFTER = Key("before", colour="other", shape="circle"), Key("after", colour="user", shape="circle")
CHANGE = Key("after against before", colour="user", shape="circle")
SENTENCES_MAX = 3


def section(result: BeforeAfter | NotApplicable) -> Section:
    """Section of a comparison of two logs."""
    if isinstance(result, NotApplicable):
        return refused("compare", TITLE, result)
    tables = (_effects(result), _drifts(result), _costs(result), _sides(result))
    curves = () if result.curves is None else throughput_comparison.section(result.curves).figures
    figures = (_changes(result), _pieces(result, _foremost(result)[0]), *curves)
    return Section(
        name="compare",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=tuple(table for table in tables if table.rows),
        figures=tuple(figure for figure in figures if figure is not None),
        caveats=result.caveats,
        method="Least squares at equal load (the load and its square) or equal work, slopes within "
        f"{result.piece}s; a {result.piece} counts as one observation. Intervals: jackknife over "
        f"{result.piece}s, Welch's t. Costs: regression of system time on each log, intervals that hold "
        "under autocorrelation.",
    )


def _name(item: LogEffect) -> str:
    return f"{capital(item.label)}{AT[item.adjusted]}"


def _foremost(result: BeforeAfter) -> list[LogEffect]:
    order = {("useful", "load"): 0, ("overhead", "work"): 1, ("overhead", "load"): 2}
    ranked = sorted(result.effects, key=lambda item: order.get((item.kind, item.adjusted), 3))
    return [item for item in ranked if (item.kind, item.adjusted) in order] or ranked[:1]


def _sentences(result: BeforeAfter) -> list[str]:
    sentences = [
        f"{_name(item)}: {shown.estimate(item.difference)}{_relative(item)} after against before "
        f"({p_value(item.test.p)})."
        for item in _foremost(result)[:SENTENCES_MAX]
    ]
    first, second = result.before, result.after
    if first.load is not None and second.load is not None:
        sentences.append(
            f"The load was {shown.estimate(first.load)} before and {shown.estimate(second.load)} after "
            f"({result.load.replace('_', ' ')}): whole means are not compared."
        )
    follows = (
        ""
        if result.autocorrelation is None
        else f"; each is correlated with the next by {shown.number(result.autocorrelation, 2)}"
    )
    sentences.append(
        f"{first.pieces} {result.piece}s before and {second.pieces} after are compared, not "
        f"{shown.count(first.n + second.n, 'observation')}{follows}."
    )
    return sentences


def _relative(item: LogEffect) -> str:
    return "" if item.relative is None else f" ({item.relative:+.1%})".replace("-", "−")


def _effects(result: BeforeAfter) -> Table:
    columns = [
        Column("quantity"),
        Column("before"),
        Column("after"),
        Column("difference"),
        Column("change", unit="share"),
        Column("Welch", unit="p"),
    ]
    rows: list[tuple[Cell, ...]] = [
        (_name(item), item.before, item.after, item.difference, item.relative, item.test.p)
        for item in result.effects
    ]
    notes = [f"Intervals are {percent(result.effects[0].difference.level)}; a {result.piece} counts as one."]
    if result.curves is not None:
        columns.append(Column("by ranges of load"))
        rows = [(*row, item.by_range) for row, item in zip(rows, result.effects, strict=True)]
        notes.append(
            "By ranges of load: the difference at a common distribution of loads, with no curve taken for "
            "granted."
        )
    return Table(
        name="compare-effects",
        caption="What is different",
        columns=tuple(columns),
        rows=tuple(rows),
        notes=tuple(notes),
    )


def _drifts(result: BeforeAfter) -> Table:
    columns = (
        Column("quantity"),
        Column("over the log before"),
        Column("over the log after"),
        Column("before carried on"),
        Column("difference"),
    )
    rows = tuple(
        (_name(item), item.drift_before, item.drift_after, item.carried, item.difference)
        for item in result.effects
        if item.drift_before is not None or item.drift_after is not None
    )
    note = (
        "Over a log: what changed from its first piece to its last by a line through them. Carried on: what "
        "the trend before would have made of the difference by itself."
    )
    return Table(
        name="compare-drifts",
        caption="Trends within the logs",
        columns=columns,
        rows=rows,
        notes=(note,),
        folded=True,
    )


def _costs(result: BeforeAfter) -> Table:
    columns = (
        Column("request"),
        Column("before"),
        Column("after"),
        Column("difference"),
        Column("Welch", unit="p"),
    )
    rows = tuple(
        (capital(item.label), item.before, item.after, item.difference, item.test.p) for item in result.costs
    )
    note = "p is adjusted over all costs (Holm); `thinktime analyse overhead BEFORE AFTER` tells more."
    return Table(
        name="compare-costs",
        caption="What a request costs the system",
        columns=columns,
        rows=rows,
        notes=(note,),
    )


def _sides(result: BeforeAfter) -> Table:
    columns = (
        Column("log"),
        Column("path"),
        Column(f"{result.piece}s"),
        Column("observations"),
        Column("load"),
    )

    def row(name: str, side: Side) -> tuple[Cell, ...]:
        return (name, side.path, side.pieces, side.n, side.load)

    rows = (row("before", result.before), row("after", result.after))
    return Table(name="compare-logs", caption="The logs", columns=columns, rows=rows)


def _changes(result: BeforeAfter) -> Figure | None:
    """Draw every difference as a part of the mean before."""
    rows = []
    for item in result.effects:
        low, high = item.difference.low, item.difference.high
        if item.relative is None or low is None or high is None:
            continue
        rows.append(
            {
                "label": _name(item),
                "series": CHANGE.name,
                "value": item.relative,
                "low": min(low / item.before.value, high / item.before.value),
                "high": max(low / item.before.value, high / item.before.value),
                "shown": shown.estimate(item.difference),
            }
        )
    if not rows:
        return None
    columns = (
        Column("quantity"),
        Column("change", unit="share"),
        Column("from", unit="share"),
        Column("to", unit="share"),
    )
    cells: tuple[tuple[Cell, ...], ...] = tuple(
        (str(row["label"]), *(_float(row[key]) for key in ("value", "low", "high"))) for row in rows
    )
    caption = "Differences as parts of the mean before"
    data = Table(name="compare-changes-data", caption=caption, columns=columns, rows=cells)
    named = ("quantity", "what", "difference")
    chart = partial(charts.dots, rows, (CHANGE,), charts.Axis("change", format="+.0%"), named)
    alt = ". ".join(f"{_name(item)}{_relative(item)}" for item in _foremost(result)) + "."
    return Figure(name="compare-changes", title=caption, chart=chart, data=data, alt=alt, half=True)


def _float(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _pieces(result: BeforeAfter, item: LogEffect) -> Figure:
    """Draw the adjusted mean of every piece of both logs, one after the other."""
    rows, line = [], []
    at = 0
    for key, values, mean in zip((BEFORE, AFTER), item.values, (item.before, item.after), strict=True):
        line.append({"x": at + 1, "y": mean.value})
        for value in values:
            at += 1
            rows.append({"x": at, "y": value, "series": key.name, "shown": shown.quantity(value, item.unit)})
        line.append({"x": at, "y": mean.value})
    columns = (Column(result.piece), Column("log"), Column(_name(item), unit=item.unit))
    cells: tuple[tuple[Cell, ...], ...] = tuple(
        (int(_float(row["x"])), str(row["series"]), _float(row["y"])) for row in rows
    )
    caption = f"{_name(item)}, {result.piece} by {result.piece}"
    low, high = about([*item.values[0], *item.values[1]])
    x = charts.Axis(f"{result.piece}s of both logs")
    y = charts.Axis(f"{_name(item)} [{item.unit}]", low=low, high=high)
    return Figure(
        name="compare-pieces",
        title=caption,
        chart=partial(charts.scatter, rows, line, (BEFORE, AFTER), x, y),
        data=Table(name="compare-pieces-data", caption=caption, columns=columns, rows=cells),
        alt=f"{_name(item)}: {shown.estimate(item.before)} before, {shown.estimate(item.after)} after.",
        keys=(BEFORE, AFTER),
        half=True,
    )
