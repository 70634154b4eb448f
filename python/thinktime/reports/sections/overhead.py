"""What each kind of request costs the system."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from thinktime.reports import charts
from thinktime.reports import format as shown
from thinktime.reports.document import Cell, Column, Figure, Key, Section, Table
from thinktime.reports.prose import bare, capital, ends, listed, noun, refused, share
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.overhead import Cost, Overhead
    from thinktime.log import Log

__all__ = ["requests", "section"]

TITLE = "What does each request cost the system?"
REGRESSION = Key("by regression", "regression", "circle")
DIRECT = Key("measured directly", "direct", "diamond")
NOT_REQUESTS = {"base", "user_time"}
"""Terms of the regression that are no request: their costs are times a second, not times a request."""


def requests(result: Overhead) -> list[Cost]:
    """Costs that are of a request, by falling share of the system time."""
    costs = [cost for cost in result.costs if cost.request not in NOT_REQUESTS]
    return sorted(costs, key=lambda cost: -cost.share.value)


def section(log: Log, result: Overhead | NotApplicable) -> Section:
    """Section of the overhead regression."""
    del log
    if isinstance(result, NotApplicable):
        return refused("overhead", TITLE, result)
    figures = [figure for figure in (_costs(result), _shares(result), _fit(result)) if figure is not None]
    tables = [_table(result), _fit_table(result)]
    if any(cost.direct for cost in result.costs):
        tables.insert(1, _direct_table(result))
    if result.left_out:
        rows = tuple((item.label, item.reason) for item in result.left_out)
        tables.append(
            Table(
                "overhead-left-out",
                "Requests that are not in the regression",
                (Column("request"), Column("why")),
                rows,
            )
        )
    return Section(
        "overhead",
        TITLE,
        tuple(_sentences(result)),
        tuple(tables),
        tuple(figures),
        result.caveats,
        "System CPU time a second is explained by request rates: least squares with forward selection, "
        "one refit without "
        "residuals beyond 2.5 standard deviations (Bard 1971, equations 2 and 6, Table 8). Intervals "
        "allow for correlated "
        f"errors (bandwidth {result.lags} intervals).",
    )


def _sentences(result: Overhead) -> list[str]:
    sentences = []
    costs = requests(result)
    if costs:
        named = [
            f"{noun(cost.request, cost.label)} {shown.estimate(bare(cost.seconds))}" for cost in costs[:4]
        ]
        sentences.append(f"CPU time of one request: {listed(named)}.")
    else:
        sentences.append("No kind of request explains the system time of this log.")
    sentences.append(
        f"The regression explains {shown.quantity(result.r_squared, 'share')} of the variance of the "
        "system time (R²) over "
        f"{shown.count(result.n, 'observation')}; {shown.count(result.outliers, 'outlier')} "
        f"{'was' if result.outliers == 1 else 'were'} left out."
    )
    checked = [cost for cost in costs if cost.direct is not None]
    if checked:
        named = [_agreement(cost) for cost in checked]
        sentences.append(f"Measured directly on the same machine: {listed(named)}.")
    return sentences


def _agreement(cost: Cost) -> str:
    direct = cost.direct
    if direct is None:
        return noun(cost.request, cost.label)
    word = (
        "the intervals overlap"
        if direct.overlaps
        else f"the regression gives {shown.number(direct.ratio)} times that"
    )
    return f"{noun(cost.request, cost.label)} {shown.estimate(bare(direct.seconds))} ({word})"


def _costs(result: Overhead) -> Figure | None:
    rows: list[dict[str, object]] = []
    cells: list[tuple[Cell, ...]] = []
    for cost in requests(result):
        if cost.seconds.value > 0:
            rows.append(_row(noun(cost.request, cost.label), REGRESSION.name, cost.seconds))
        if cost.direct is not None and cost.direct.seconds.value > 0:
            rows.append(_row(noun(cost.request, cost.label), DIRECT.name, cost.direct.seconds))
        cells.append(
            (
                noun(cost.request, cost.label),
                bare(cost.seconds),
                bare(cost.direct.seconds) if cost.direct else None,
            )
        )
    if not rows:
        return None
    axis = charts.Axis.logarithmic(
        "CPU time of one request", [row[end] for row in rows for end in ("value", "high")], "s"
    )
    floor = axis.low or 0.0
    drawn = [{**row, "low": max(float(str(row["low"])), floor)} for row in rows]
    direct = any(row["series"] == DIRECT.name for row in rows)
    keys = (REGRESSION, DIRECT) if direct else (REGRESSION,)
    table = Table(
        "overhead-costs-data",
        "System CPU time of one request",
        (Column("request"), Column(REGRESSION.name, "s"), Column(DIRECT.name, "s")),
        tuple(cells),
    )
    named = [f"{row[0]} {shown.cell(row[1])}" for row in cells]
    alt = f"{capital(listed(named))}. Lines are the intervals; the scale is logarithmic."
    return Figure(
        "overhead-costs",
        "What one request costs",
        partial(charts.dots, drawn, keys, axis),
        table,
        alt,
        keys if direct else (),
    )


def _row(label: str, series: str, value: Estimate) -> dict[str, object]:
    low, high = ends(value)
    return {
        "label": label,
        "series": series,
        "value": value.value,
        "low": low,
        "high": high,
        "shown": shown.estimate(bare(value)),
    }


def _shares(result: Overhead) -> Figure | None:
    ordered = sorted(result.costs, key=lambda cost: -cost.share.value)
    if len(ordered) < 2:
        return None
    rows = []
    for cost in ordered:
        low, high = ends(cost.share)
        rows.append(
            {
                "label": noun(cost.request, cost.label),
                "series": "share",
                "value": cost.share.value,
                "low": low,
                "high": high,
                "shown": shown.estimate(share(cost.share) or cost.share),
            }
        )
    table = Table(
        "overhead-shares-data",
        "Share of the system time",
        (Column("term"), Column("share", "share")),
        tuple((noun(cost.request, cost.label), share(cost.share)) for cost in ordered),
    )
    named = [
        f"{noun(cost.request, cost.label)} {shown.quantity(cost.share.value, 'share')}" for cost in ordered
    ]
    alt = f"{capital(listed(named))}."
    chart = partial(
        charts.dots,
        rows,
        (Key("share", "system"),),
        charts.Axis("share of the mean system time", format=".0%"),
    )
    return Figure("overhead-shares", "Where the system's CPU time goes", chart, table, alt, half=True)


def _fit(result: Overhead) -> Figure | None:
    if len(result.points) < 3:
        return None
    rows = [
        {
            "x": point.fitted,
            "y": point.observed,
            "series": "left out" if point.outlier else "used",
            "shown": f"observed {shown.quantity(point.observed, 's/s')}, fitted "
            "{shown.quantity(point.fitted, 's/s')}",
        }
        for point in result.points
    ]
    top = max(max(point.fitted, point.observed) for point in result.points)
    exact = [{"x": 0.0, "y": 0.0}, {"x": top, "y": top}]
    keys = (
        (Key("used", "system", "circle"), Key("left out", "other", "circle"))
        if result.outliers
        else (Key("used", "system", "circle"),)
    )
    table = Table(
        "overhead-fit-data",
        "System CPU time of each interval, observed and fitted",
        (Column("observation"), Column("observed", "s/s"), Column("fitted", "s/s"), Column("left out")),
        tuple(
            (number, point.observed, point.fitted, "yes" if point.outlier else "no")
            for number, point in enumerate(result.points, start=1)
        ),
    )
    chart = partial(
        charts.scatter,
        rows,
        exact,
        keys,
        charts.Axis("fitted [s/s]", low=0.0),
        charts.Axis("observed system time [s/s]", low=0.0),
    )
    alt = (
        "Each point is an interval; on the dashed line the fit is exact. R² = "
        f"{shown.number(result.r_squared)}, residual "
        f"standard deviation {shown.quantity(result.residual_s, 's/s')}."
    )
    return Figure(
        "overhead-fit",
        "Observed system time against the fit",
        chart,
        table,
        alt,
        keys if result.outliers else (),
        half=True,
    )


def _table(result: Overhead) -> Table:
    columns = (
        Column("request"),
        Column("cost"),
        Column("of system time", "share"),
        Column("rate"),
        Column("F to enter"),
        Column("VIF"),
        Column("robust cost", "s"),
    )
    rows: list[tuple[Cell, ...]] = [
        (
            noun(cost.request, cost.label),
            cost.seconds,
            share(cost.share),
            cost.rate,
            cost.f_to_enter,
            cost.variance_inflation,
            cost.robust,
        )
        for cost in result.costs
    ]
    notes = (
        "VIF: variance inflation factor; above 10 a cost cannot be told from those of the other requests.",
        "Robust cost: Huber's M-estimate on all observations, outliers included.",
    )
    return Table("overhead-table", "System CPU time by request", columns, tuple(rows), notes)


def _direct_table(result: Overhead) -> Table:
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
    return Table("overhead-direct", "The same cost, found in two ways", columns, tuple(rows))


def _fit_table(result: Overhead) -> Table:
    check = result.tick_check
    rows: list[tuple[Cell, ...]] = [
        ("Mean system time", shown.estimate(result.system_time)),
        ("R²", shown.number(result.r_squared)),
        ("Residual standard deviation", shown.quantity(result.residual_s, "s/s")),
        ("Observations used", shown.number(result.n)),
        ("Outliers left out, of them above the fit", f"{result.outliers}, {result.outliers_positive}"),
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
    return Table(
        "overhead-fit-table", "How well the regression holds", (Column("what"), Column("figure")), tuple(rows)
    )
