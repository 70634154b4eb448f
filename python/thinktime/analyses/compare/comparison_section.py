"""Section of two logs, before and after a change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from thinktime.analyses.compare.section import (
    SENTENCES_MAX,
    TITLE,
    correlated,
    foremost,
    name_of,
    near,
    reason,
    relative,
)
from thinktime.analyses.throughput import comparison_section as throughput_comparison
from thinktime.documents import format as shown
from thinktime.documents.charts.axis import Axis
from thinktime.documents.document import Col, Cols, Column, Figure, Key, Section, Table
from thinktime.documents.series import Point, Series
from thinktime.documents.wording import capital, few_attributed, p_value, percent, refused, worded
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.compare.result import BeforeAfter, LogEffect, NotCompared

BEFORE = Key("before", colour="other", shape="circle")
AFTER = Key("after", colour="user", shape="circle")
CHANGE = Key("after versus before", colour="user", shape="circle")
NAMED_MOST = 3


def _range(ends: tuple[float, float]) -> str:
    return f"{max(0.0, ends[0]):.3g} to {ends[1]:.3g}"


def _trends(drifts: Sequence[tuple[LogEffect, str, Estimate]]) -> str:
    named = "; ".join(
        f"{item.label} at equal {item.adjusted} by {drift.value:+.2g} {item.unit} over the log {side}"
        for item, side, drift in drifts[:NAMED_MOST]
    )
    more = f", and {len(drifts) - NAMED_MOST} more" if len(drifts) > NAMED_MOST else ""
    return (
        f"Time and change are confounded, and there is already a trend within the logs: {named}{more}. Had "
        "it continued, there would be a difference without any change."
    )


def _missing(missing: Sequence[str], refused: Sequence[NotCompared]) -> str:
    parts = [f"only one of the logs has {', '.join(missing)}"] if missing else []
    parts += [f"{item.name}, since {reason(item.reason)}" for item in refused]
    return f"Not compared: {'; '.join(parts)}."


WORDS: Mapping[str, Callable[..., str]] = {
    "few_attributed": few_attributed,
    "not_assigned": lambda: (
        "Nothing was assigned by a plan: everything else that changed between the two logs, users and their "
        "work above all, is included in these differences and cannot be separated from the change. It can "
        "be separated if a change is switched on and off according to a plan (--treatment, --design)."
    ),
    "different_machines": lambda hosts: (
        f"The logs are of different machines ({', '.join(hosts)}); their difference is included too."
    ),
    "loads_hardly_overlap": lambda before, after: (
        f"The loads hardly overlap ({_range(before)} before, {_range(after)} after): at equal load, the "
        "comparison largely extrapolates the curve of a log that has no observations there."
    ),
    "trend_within": _trends,
    "correlated_pieces": lambda correlation, piece: (
        f"Successive {piece}s are still correlated ({correlation:.2f}): the intervals are too narrow. Longer "
        "logs have longer pieces."
    ),
    "not_compared": _missing,
}


def section(result: BeforeAfter | NotApplicable) -> Section:
    """Section of a comparison of two logs."""
    if isinstance(result, NotApplicable):
        return refused("compare", TITLE, result)
    tables = (_effects(result), _drifts(result), _costs(result), _sides(result))
    curves = () if result.curves is None else throughput_comparison.section(result.curves).figures
    figures = (_changes(result), _pieces(result, foremost(result.effects)[0]), *curves)
    return Section(
        name="compare",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=tuple(table for table in tables if table.rows),
        figures=tuple(figure for figure in figures if figure is not None),
        caveats=worded(result.caveats, WORDS),
        method=(
            "Least squares at equal load (the load and its square) or equal work, slopes within "
            f"{result.piece}s; a {result.piece} counts as one observation. Intervals: {_errors(result)}, "
            "Welch's t. Costs: regression of system time on each log, intervals that hold "
            "under autocorrelation."
        ),
    )


def _errors(result: BeforeAfter) -> str:
    if result.piece == "day":
        return "jackknife over days"
    return "long-run variance of twentieths of the pieces, which allows for their correlation"


def _sentences(result: BeforeAfter) -> Iterator[str]:
    for item in foremost(result.effects)[:SENTENCES_MAX]:
        yield (
            f"{name_of(item)}: {shown.estimate(item.difference)}{relative(item)} after versus before "
            f"({p_value(item.test.p)})."
        )
    before, after = result.before, result.after
    if before.load is not None and after.load is not None:
        yield (
            f"The load was {shown.estimate(before.load)} before and {shown.estimate(after.load)} after "
            f"({result.load.replace('_', ' ')}): whole means are not compared."
        )
    follows = correlated(result.autocorrelation)
    yield (
        f"{before.pieces} {result.piece}s before and {after.pieces} after are compared, not "
        f"{shown.count(before.n + after.n, 'observation')}{f'; {follows}' if follows else ''}."
    )


def _effects(result: BeforeAfter) -> Table:
    notes = [f"Intervals are {percent(result.effects[0].difference.level)}; a {result.piece} counts as one."]
    by_range: list[Col[LogEffect]] = []
    if result.curves is not None:
        by_range = [Col("by ranges of load", lambda item: item.by_range)]
        notes.append(
            "By ranges of load: the difference at a common distribution of loads, with no assumption about "
            "the curve."
        )
    return Table.of(
        result.effects,
        Col("quantity", lambda item: name_of(item)),
        Col("before", lambda item: item.before),
        Col("after", lambda item: item.after),
        Col("difference", lambda item: item.difference),
        Col("change", lambda item: item.relative, unit="share"),
        Col("Welch", lambda item: item.test.p, unit="p"),
        *by_range,
        name="compare-effects",
        caption="Differences",
        notes=notes,
    )


def _drifts(result: BeforeAfter) -> Table:
    return Table.of(
        [item for item in result.effects if item.drift_before is not None or item.drift_after is not None],
        Col("quantity", lambda item: name_of(item)),
        Col("over the log before", lambda item: item.drift_before),
        Col("over the log after", lambda item: item.drift_after),
        Col("before carried on", lambda item: item.carried),
        Col("difference", lambda item: item.difference),
        name="compare-drifts",
        caption="Trends within the logs",
        notes=[
            "Over a log: change from its first piece to its last, along a line through all pieces. Carried "
            "on: the difference that the trend before would give by itself."
        ],
        folded=True,
    )


def _costs(result: BeforeAfter) -> Table:
    return Table.of(
        result.costs,
        Col("request", lambda item: capital(item.label)),
        Cols(("before", "after"), lambda item: item.seconds),
        Col("difference", lambda item: item.differences[0]),
        Col("Welch", lambda item: item.test.p, unit="p"),
        name="compare-costs",
        caption="Costs of requests in system time",
        notes=["p is adjusted over all costs (Holm); see also `thinktime analyse overhead BEFORE AFTER`."],
    )


def _sides(result: BeforeAfter) -> Table:
    return Table.of(
        [("before", result.before), ("after", result.after)],
        Col("log", lambda row: row[0]),
        Col("path", lambda row: row[1].path),
        Col(f"{result.piece}s", lambda row: row[1].pieces),
        Col("observations", lambda row: row[1].n),
        Col("load", lambda row: row[1].load),
        name="compare-logs",
        caption="The logs",
    )


def _changes(result: BeforeAfter) -> Figure | None:
    """Every difference relative to the mean before."""
    points = []
    for item in result.effects:
        difference, mean = item.difference, item.before.value
        if item.relative is None or difference.low is None or difference.high is None:
            continue
        low, high = sorted((difference.low / mean, difference.high / mean))
        change = Estimate(
            value=item.relative, unit="share", n=difference.n, method=difference.method, low=low, high=high
        )
        points.append(Point(key=CHANGE, label=name_of(item), y=change, words=shown.estimate(difference)))
    if not points:
        return None
    series = Series(points)
    caption = "Differences relative to the mean before"
    return Figure(
        name="compare-changes",
        title=caption,
        chart=series.dots(Axis("change", format="+.0%"), named=("quantity", "what", "difference")),
        data=Table.of(
            series.rows(),
            Col("quantity", lambda row: str(row["label"])),
            Col("change", lambda row: float(row["value"]), unit="share"),
            Col("from", lambda row: float(row["low"]), unit="share"),
            Col("to", lambda row: float(row["high"]), unit="share"),
            name="compare-changes-data",
            caption=caption,
        ),
        alt=". ".join(f"{name_of(item)}{relative(item)}" for item in foremost(result.effects)) + ".",
        half=True,
    )


def _pieces(result: BeforeAfter, item: LogEffect) -> Figure:
    """Adjusted mean of every piece of both logs, one after the other."""
    cut = len(item.values[0])
    series = Series(
        [
            Point(key=BEFORE if number <= cut else AFTER, x=number, y=value)
            for number, value in enumerate((*item.values[0], *item.values[1]), start=1)
        ],
        unit=item.unit,
    )
    last = cut + len(item.values[1])
    line = [(1, item.before.value), (cut, item.before.value)]
    line += [(cut + 1, item.after.value), (last, item.after.value)]
    caption = f"{name_of(item)}, {result.piece} by {result.piece}"
    low, high = near([*item.values[0], *item.values[1]])
    return Figure(
        name="compare-pieces",
        title=caption,
        chart=series.scatter(
            Axis(f"{result.piece}s of both logs"),
            Axis(f"{name_of(item)} [{item.unit}]", low=low, high=high),
            line,
        ),
        data=series.list_table(
            "compare-pieces-data",
            caption,
            Column(result.piece),
            Column("log"),
            Column(name_of(item), unit=item.unit),
        ),
        alt=f"{name_of(item)}: {shown.estimate(item.before)} before, {shown.estimate(item.after)} after.",
        keys=series.keys,
        half=True,
    )
