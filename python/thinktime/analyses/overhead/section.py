"""What each kind of request costs the system."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from thinktime.analyses.overhead.section_figures import intervals, spread
from thinktime.analyses.overhead.section_tables import DIRECT, REGRESSION, tables
from thinktime.documents import charts
from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Column, Figure, Key, Section, Table
from thinktime.documents.wording import bare, capital, ends, listed, noun, p_value, refused, share
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.overhead.analysis import Cost, Overhead

__all__ = ["requests", "section", "subject"]

TITLE = "What does each request cost the system?"
SYSTEM_TIME = "system time"
NOT_REQUESTS = {"base", "user_time"}
"""Terms of the regression that are no request: their costs are times a second, not times a request."""


def requests(result: Overhead) -> list[Cost]:
    """Costs that are of a request, by falling share of the system time."""
    costs = [cost for cost in result.costs if cost.request not in NOT_REQUESTS]
    return sorted(costs, key=lambda cost: -cost.share.value)


def subject(result: Overhead) -> str:
    """Name what a cost is an amount of."""
    return "CPU time" if result.target == SYSTEM_TIME else result.target


def section(result: Overhead | NotApplicable) -> Section:
    """Section of the overhead regression."""
    if isinstance(result, NotApplicable):
        return refused("overhead", TITLE, result)
    figures = (_costs(result), intervals(result), _shares(result), _fit(result), spread(result))
    return Section(
        name="overhead",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=tables(result),
        figures=tuple(figure for figure in figures if figure is not None),
        caveats=result.caveats,
        method=_method(result),
    )


def _method(result: Overhead) -> str:
    chosen = any(cost.f_to_enter is not None for cost in result.costs)
    how = (
        f"forward selection (F to enter {result.f_to_enter:g})" if chosen else "the requests that were named"
    )
    return (
        f"{capital(result.target)} a second is explained by request rates: least squares with {how}, "
        f"one refit without residuals beyond {result.threshold:g} standard deviations (Bard 1971, equations "
        f"2 and 6, Table 8). The intervals to rely on are Newey and West's (bandwidth {result.lags} "
        "intervals), which allow for correlated errors of unequal size; blocks of the bootstrap are "
        f"{result.block} intervals long."
    )


def _sentences(result: Overhead) -> list[str]:
    sentences = []
    costs = requests(result)
    if costs:
        named = [
            f"{noun(cost.request, cost.label)} {shown.estimate(bare(cost.seconds))}" for cost in costs[:4]
        ]
        sentences.append(f"{capital(subject(result))} of one request: {listed(named)}.")
    else:
        sentences.append(f"No kind of request explains the {result.target} of this log.")
    sentences.append(
        f"The regression explains {shown.quantity(result.r_squared, 'share')} of the variance of the "
        f"{result.target} (R²) over {shown.count(result.n, 'observation')}; "
        f"{shown.count(result.outliers, 'outlier')} {'was' if result.outliers == 1 else 'were'} left out."
    )
    sentences += _trust(result)
    checked = [cost for cost in costs if cost.direct is not None]
    if checked:
        named = [_agreement(cost) for cost in checked]
        sentences.append(f"Measured directly on the same machine: {listed(named)}.")
    return sentences


def _trust(result: Overhead) -> list[str]:
    """Say what the three intervals and the parts of the log tell about the regression model."""
    sentences = []
    wider = [_width(cost.seconds) / _width(cost.textbook) for cost in result.costs if _width(cost.textbook)]
    if wider:
        sentences.append(
            f"The intervals that allow for correlated errors are {shown.number(min(wider), 2)} to "
            f"{shown.number(max(wider), 2)} times as wide as the textbook's (correlation of a residual with "
            f"the next {shown.number(result.autocorrelation)})."
        )
    if result.stability is not None:
        test = result.stability.robust
        word = "differ" if test.rejected() else "are not shown to differ"
        sentences.append(
            f"Fitted on each of {len(result.stability.parts)} parts of the log, costs {word} by more than "
            f"chance ({p_value(test.p)})."
        )
    return sentences


def _width(value: Estimate) -> float:
    low, high = ends(value)
    return high - low


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
    unit = bare(result.costs[0].seconds).unit
    axis = charts.Axis.logarithmic(
        f"{subject(result)} of one request",
        [row[end] for row in rows for end in ("value", "high")],
        unit if unit == "s" else "",
    )
    floor = axis.low or 0.0
    drawn = [{**row, "low": max(float(str(row["low"])), floor)} for row in rows]
    direct = any(row["series"] == DIRECT.name for row in rows)
    keys = (REGRESSION, DIRECT) if direct else (REGRESSION,)
    table = Table(
        name="overhead-costs-data",
        caption=f"{capital(subject(result))} of one request",
        columns=(Column("request"), Column(REGRESSION.name, unit=unit), Column(DIRECT.name, unit=unit)),
        rows=tuple(cells),
    )
    named = [f"{row[0]} {shown.cell(row[1])}" for row in cells]
    alt = f"{capital(listed(named))}. Lines are the intervals; the scale is logarithmic."
    return Figure(
        name="overhead-costs",
        title="What one request costs",
        chart=partial(charts.dots, drawn, keys, axis),
        data=table,
        alt=alt,
        keys=keys if direct else (),
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
        name="overhead-shares-data",
        caption=f"Share of the {result.target}",
        columns=(Column("term"), Column("share", unit="share")),
        rows=tuple((noun(cost.request, cost.label), share(cost.share)) for cost in ordered),
    )
    named = [
        f"{noun(cost.request, cost.label)} {shown.quantity(cost.share.value, 'share')}" for cost in ordered
    ]
    alt = f"{capital(listed(named))}."
    chart = partial(
        charts.dots,
        rows,
        (Key("share", colour="system"),),
        charts.Axis(f"share of the mean {result.target}", format=".0%"),
    )
    return Figure(
        name="overhead-shares",
        title=f"Where the {result.target} goes",
        chart=chart,
        data=table,
        alt=alt,
        half=True,
    )


def _fit(result: Overhead) -> Figure | None:
    if len(result.points) < 3:
        return None
    unit = result.system_time.unit
    rows = [
        {
            "x": point.fitted,
            "y": point.observed,
            "series": "left out" if point.outlier else "used",
            "shown": f"observed {shown.quantity(point.observed, unit)}, "
            f"fitted {shown.quantity(point.fitted, unit)}",
        }
        for point in result.points
    ]
    top = max(max(point.fitted, point.observed) for point in result.points)
    exact = [{"x": 0.0, "y": 0.0}, {"x": top, "y": top}]
    keys = (
        (Key("used", colour="system", shape="circle"), Key("left out", colour="other", shape="circle"))
        if result.outliers
        else (Key("used", colour="system", shape="circle"),)
    )
    table = Table(
        name="overhead-fit-data",
        caption=f"{capital(result.target)} of each interval, observed and fitted",
        columns=(
            Column("observation"),
            Column("observed", unit=unit),
            Column("fitted", unit=unit),
            Column("left out"),
        ),
        rows=tuple(
            (number, point.observed, point.fitted, "yes" if point.outlier else "no")
            for number, point in enumerate(result.points, start=1)
        ),
    )
    chart = partial(
        charts.scatter,
        rows,
        exact,
        keys,
        charts.Axis(f"fitted [{unit}]", low=0.0),
        charts.Axis(f"observed {result.target} [{unit}]", low=0.0),
    )
    alt = (
        "Each point is an interval; on the dashed line the fit is exact. R² = "
        f"{shown.number(result.r_squared)}, residual "
        f"standard deviation {shown.quantity(result.residual_s, unit)}."
    )
    return Figure(
        name="overhead-fit",
        title=f"Observed {result.target} against the fit",
        chart=chart,
        data=table,
        alt=alt,
        keys=keys if result.outliers else (),
        half=True,
    )
