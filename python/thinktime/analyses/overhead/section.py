"""Section of the overhead regression."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from thinktime.analyses.overhead.caveats import WORDS, doubt, reason
from thinktime.documents import format as shown
from thinktime.documents.charts.axis import Axis, Chart
from thinktime.documents.document import Cell, Col, Cols, Figure, Key, Section, Table
from thinktime.documents.series import Point, Series
from thinktime.documents.wording import (
    bare,
    capital,
    ends,
    listed,
    noun,
    p_value,
    percent,
    refused,
    share,
    worded,
)
from thinktime.log.observations import JOIN
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.overhead.result import Cost, CostSpread, LeftOut, Overhead

TITLE = "What does each request cost the system?"
SYSTEM_TIME = "system time"
NOT_REQUESTS = {"base", "user_time"}
"""Terms of the regression that are no requests: their costs are per second, not per request."""
NAMED_MOST = 4
REGRESSION = Key("by regression", colour="regression", shape="circle")
DIRECT = Key("measured directly", colour="direct", shape="diamond")
METHODS = (
    Key("long-run", colour="regression", shape="circle"),
    Key("block bootstrap", colour="disk", shape="circle"),
    Key("textbook", colour="other", shape="circle"),
    Key("robust", colour="direct", shape="diamond"),
    Key("none negative", colour="memory", shape="square"),
)
USED, OUTLIER = (
    Key("used", colour="system", shape="circle"),
    Key("left out", colour="other", shape="circle"),
)
SHARE = Key("share", colour="system")
COLOURS = ("user", "system", "disk", "memory", "net", "iowait", "interrupt", "steal")
"""Colours of subsets, and of the logs of a comparison."""
CUT = (-2.0, 4.0)
"""Ends of an axis relative to a cost; values beyond are in the table."""
RELATIVE_FORMAT = ".2~f"


def _selected(result: Overhead) -> bool:
    return any(cost.f_to_enter is not None for cost in result.costs)


def requests(result: Overhead) -> list[Cost]:
    """Costs of requests, by decreasing share of the system time."""
    costs = [cost for cost in result.costs if cost.request not in NOT_REQUESTS]
    return sorted(costs, key=lambda cost: -cost.share.value)


def subject(result: Overhead) -> str:
    """Name of the amount that a cost is."""
    return "CPU time" if result.target == SYSTEM_TIME else result.target


def name_of(cost: Cost | CostSpread) -> str:
    """Noun of one request."""
    return noun(cost.request, cost.label)


def unit_of(result: Overhead) -> str:
    """Unit of a cost, without the request that it is of."""
    return bare(result.costs[0].seconds).unit


def relative_dots(series: Series, base: str) -> Chart:
    """Chart of values relative to `base`."""
    return series.dots(Axis(f"relative to {base}", format=RELATIVE_FORMAT), cut=CUT)


def section(result: Overhead | NotApplicable) -> Section:
    """Section of the overhead regression."""
    if isinstance(result, NotApplicable):
        return refused("overhead", TITLE, result)
    figures = (
        _cost_figure(result),
        _interval_figure(result),
        _share_figure(result),
        _fit_figure(result),
        _spread_figure(result),
    )
    return Section(
        name="overhead",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=tuple(_tables(result)),
        figures=tuple(figure for figure in figures if figure is not None),
        caveats=worded(result.caveats, WORDS),
        method=_method(result),
    )


def _method(result: Overhead) -> str:
    how = "the named requests"
    if _selected(result):
        least = "5 % of logs with any false cost" if result.f_to_enter is None else f"F {result.f_to_enter:g}"
        how = f"stepwise selection of positive costs (to enter: {least}, errors may be correlated)"
    return (
        f"{capital(result.target)} per second is regressed on request rates: least squares with {how}, "
        f"one refit without residuals beyond {result.threshold:g} standard deviations (Bard 1971, equations "
        f"2 and 6, Table 8). The intervals to rely on are by long-run variances ({result.cosines} cosines; "
        "Lazarus et al. 2018), which allow for correlated errors of unequal size; blocks of the bootstrap "
        f"are {result.block} intervals long."
    )


# Sentences


def _sentences(result: Overhead) -> Iterator[str]:
    costs = requests(result)
    found = [cost for cost in costs if cost.claimed]
    if found:
        named = [f"{name_of(cost)} {shown.estimate(bare(cost.seconds))}" for cost in found[:NAMED_MOST]]
        yield f"{capital(subject(result))} of one request: {listed(named)}."
    elif costs:
        yield f"No cost of a kind of request in the {result.target} of this log can be stated as a finding."
    else:
        yield f"No kind of request explains the {result.target} of this log."
    if unsure := [f"{name_of(cost)} ({doubt(cost.doubts[0])})" for cost in costs if not cost.claimed]:
        yield f"In the table only: {listed(unsure)}."
    yield (
        f"The regression explains {shown.quantity(result.r_squared, 'share')} of the variance of the "
        f"{result.target} (R²) over {shown.count(result.n, 'observation')}; "
        f"{shown.count(result.outliers, 'outlier')} {'was' if result.outliers == 1 else 'were'} left out."
    )
    yield from _reliability(result)
    if checked := [_agreement(cost) for cost in costs if cost.direct is not None]:
        yield f"Measured directly on the same machine: {listed(checked)}."


def _reliability(result: Overhead) -> Iterator[str]:
    """Evidence of the intervals and of the subsets on the regression model."""
    ratios = [
        _width(cost.seconds) / _width(cost.textbook)
        for cost in result.costs
        if _width(cost.textbook) and cost.seconds.low is not None
    ]
    if ratios:
        least, most = (shown.number(one, 2) for one in (min(ratios), max(ratios)))
        times = least if least == most else f"{least} to {most}"
        yield (
            f"The intervals that allow for correlated errors are {times} times as wide as the textbook's "
            f"(correlation of successive residuals {shown.number(result.autocorrelation)})."
        )
    if result.stability is not None:
        test = result.stability.robust
        verb = "differ" if test.rejected() else "are not shown to differ"
        yield (
            f"Fitted to each of {len(result.stability.subsets)} subsets of the log, costs {verb} by more "
            f"than chance ({p_value(test.p)})."
        )


def _width(value: Estimate) -> float:
    low, high = ends(value)
    return high - low


def _agreement(cost: Cost) -> str:
    assert cost.direct is not None
    verdict = (
        "no further apart than by chance"
        if cost.direct.agrees
        else f"the regression gives {shown.number(cost.direct.ratio)} times that"
    )
    return f"{name_of(cost)} {shown.estimate(bare(cost.direct.seconds))} ({verdict})"


# Tables


def _tables(result: Overhead) -> Iterator[Table]:
    """Every table, most important first."""
    yield _cost_table(result)
    if any(cost.direct for cost in result.costs):
        yield _direct_table(result)
    yield _interval_table(result)
    yield _fit_table(result)
    if result.stability is not None:
        yield _stability_table(result)
    yield _length_table(result)
    if result.dependencies and len(result.costs) > 1:
        yield _dependency_table(result)
    if result.left_out:
        tested = any(item.among_all is not None for item in result.left_out)
        every: list[Col[LeftOut]] = [Col("cost among all requests", lambda item: item.among_all)]
        yield Table.of(
            result.left_out,
            Col("request", lambda item: item.label),
            Col("why", lambda item: reason(item.reason)),
            *(every if tested else ()),
            name="overhead-left-out",
            caption="Requests that are not in the regression",
        )


def _cost_table(result: Overhead) -> Table:
    among: list[Col[Cost]] = []
    notes = [
        "VIF: variance inflation factor; above 10 a cost cannot be separated from those of the other "
        "requests."
    ]
    if any(cost.among_all is not None for cost in result.costs):
        among = [Col("among all requests", lambda cost: cost.among_all and bare(cost.among_all))]
        notes.append(
            "Among all requests: the same cost with all other requests in the regression, including those "
            "that were not selected, so that selection has not narrowed this interval. The base has an "
            "interval only there: in the first column it contains the cost of requests without a row."
        )
    if any(JOIN in cost.request for cost in result.costs):
        notes.append(
            "Together: the numbers of these requests vary together, and either could have the cost. The cost "
            "is the time that comes with one more of any of them, in the proportions in which they come."
        )
    if doubted := [cost for cost in requests(result) if cost.shown_to_cost and not cost.claimed]:
        reasons = [f"{name_of(cost)}: {'; '.join(doubt(item) for item in cost.doubts)}" for cost in doubted]
        notes.append(
            f"{capital(result.target)} that goes with one more request here, but no finding. "
            f"{'. '.join(capital(text) for text in reasons)}."
        )
    return Table.of(
        result.costs,
        Col("request", name_of),
        Col("cost", lambda cost: cost.seconds),
        *among,
        Col(f"of {result.target}", lambda cost: share(cost.share), unit="share"),
        Col("rate", lambda cost: cost.rate),
        Col("F to enter", lambda cost: cost.f_to_enter),
        Col("VIF", lambda cost: cost.variance_inflation),
        name="overhead-table",
        caption=f"{capital(result.target)} by request",
        notes=notes,
    )


def _interval_table(result: Overhead) -> Table:
    unit = unit_of(result)
    return Table.of(
        result.costs,
        Col("request", name_of),
        Col("long-run", lambda cost: bare(cost.seconds), unit=unit),
        Col("block bootstrap", lambda cost: cost.bootstrap and bare(cost.bootstrap), unit=unit),
        Col("textbook", lambda cost: bare(cost.textbook), unit=unit),
        Col("robust", lambda cost: cost.robust, unit=unit),
        Col("none negative", lambda cost: cost.non_negative, unit=unit),
        name="overhead-intervals",
        caption="The same cost, estimated in five ways",
        notes=[
            f"All intervals at {percent(result.costs[0].seconds.level)}. Long-run, the one to rely on, and "
            "the bootstrap allow for errors that are correlated and of unequal size; the textbook's holds "
            "for independent errors of equal size.",
            f"Robust: Huber's M-estimate on {shown.count(result.robust_n, 'observation')}, outliers "
            "included. None negative: the least-squares fit in which no cost is below zero.",
        ],
    )


def _direct_table(result: Overhead) -> Table:
    return Table.of(
        [(cost, cost.direct) for cost in result.costs if cost.direct is not None],
        Col("request", lambda item: name_of(item[0])),
        Col(REGRESSION.name, lambda item: bare(item[0].seconds)),
        Col(DIRECT.name, lambda item: bare(item[1].seconds)),
        Col("ratio", lambda item: item[1].ratio),
        Col("agree", lambda item: "yes" if item[1].agrees else "no"),
        Col("how", lambda item: item[1].seconds.method),
        name="overhead-direct",
        caption="By regression and measured directly",
    )


def _fit_table(result: Overhead) -> Table:
    check, unit = result.tick_check, result.target_mean.unit
    sampled: list[tuple[str, Cell]] = []
    if result.sampling is not None:
        sampled = [
            ("System time, sampled out of step", shown.estimate(result.sampling.sampled)),
            ("System time by ticks", shown.estimate(result.sampling.ticks)),
            (
                "System time by ticks over that sampled out of step, minus one",
                shown.quantity(result.sampling.disagreement, "share"),
            ),
        ]
    rows: list[tuple[str, Cell]] = [
        (f"Mean {result.target}", shown.estimate(result.target_mean)),
        ("R²", shown.number(result.r_squared)),
        ("Residual standard deviation s", shown.quantity(result.residual_deviation, unit)),
        ("Observations used", shown.number(result.n)),
        (
            f"Outliers beyond {result.threshold:g} s left out, of them above the fit",
            f"{result.outliers}, {result.outliers_above}",
        ),
        ("Correlation of successive residuals", shown.number(result.autocorrelation)),
        ("Condition number", shown.number(result.condition_number)),
        ("Busy CPU time, tick-sampled", None if check is None else shown.estimate(check.ticks)),
        ("Busy CPU time, exact", None if check is None else shown.estimate(check.exact)),
        (
            "Tick-sampled over exact CPU time, minus one",
            None if check is None else shown.quantity(check.disagreement, "share"),
        ),
        *sampled,
        (
            "The recorder's own CPU time, included",
            result.recorder and shown.estimate(result.recorder),
        ),
    ]
    return Table.of(
        rows,
        Col("quantity", lambda row: row[0]),
        Col("value", lambda row: row[1]),
        name="overhead-fit-table",
        caption="How well the regression fits",
    )


def _stability_table(result: Overhead) -> Table:
    stability = result.stability
    assert stability is not None
    unit, names = unit_of(result), [key.name for key in _subset_keys(result)]
    table = Table.of(
        stability.spreads,
        Col("request", name_of),
        Cols(names, lambda item: [bare(value) for value in item.seconds], unit=unit),
        Col("spread over nominal", lambda item: item.ratio),
        Col("textbook", lambda item: item.independent.p, unit="p"),
        Col("robust", lambda item: item.robust.p, unit="p"),
        name="overhead-stability",
        caption="Do subsets of the log give the same costs?",
        notes=[
            "Spread over nominal: standard deviation of a cost between the subsets, over its standard error "
            "in one subset by the textbook; about 1 if the textbook's assumptions hold.",
            "p: probability of subsets at least as different if each cost is the same throughout. Textbook: "
            "assumes independent errors of equal size, so a small p may mean only that they are not. "
            "Robust: errors may be correlated and of unequal size; for the single costs adjusted for their "
            "number (Holm).",
        ],
    )
    nothing = (None,) * (len(names) + 1)
    total = ("all costs", *nothing, stability.independent.p, stability.robust.p)
    return replace(table, rows=(*table.rows, total))


def _length_table(result: Overhead) -> Table:
    unit = unit_of(result)
    return Table.of(
        result.costs,
        Col("request", name_of),
        Col("1 interval", lambda cost: cost.seconds.value, unit=unit),
        Cols([f"{size} joined" for size in (2, 4, 8)], lambda cost: cost.joined, unit=unit),
        Col("same", lambda cost: cost.length.p, unit="p"),
        name="overhead-length",
        caption="Does the cost depend on the length of the interval?",
        notes=[
            "The same regression with 2, 4 and 8 successive intervals joined. p: probability of changes at "
            "least as large if all that causes the target is in the regression, adjusted for the number of "
            "costs (Holm). A small p shows that a request was left out that follows this one in part."
        ],
        folded=True,
    )


def _dependency_table(result: Overhead) -> Table:
    return Table.of(
        result.dependencies[::-1],
        Col("condition index", lambda item: shown.number(item.condition_index)),
        Cols([name_of(cost) for cost in result.costs], lambda item: item.proportions, unit="share"),
        name="overhead-dependencies",
        caption="Which costs cannot be separated from each other?",
        notes=[
            "A row is a direction in which the rates vary together, the least variable first; a cell is the "
            "share of a cost's variance that comes from it. Two costs with more than half at a condition "
            "index above 30 can hardly be separated (Belsley, Kuh and Welsch 1980)."
        ],
        folded=True,
    )


# Figures


def _cost_figure(result: Overhead) -> Figure | None:
    unit = unit_of(result)
    series = Series(
        [
            Point(key=key, label=name_of(cost), y=value and bare(value))
            for cost in requests(result)
            for key, value in (
                (REGRESSION, cost.seconds),
                (DIRECT, None if cost.direct is None else cost.direct.seconds),
            )
        ],
        unit=unit,
    )
    if not any(value > 0.0 for value in series.values("value")):
        return None
    axis = series.log_axis(f"{subject(result)} of one request", unit if unit == "s" else "")
    return Figure(
        name="overhead-costs",
        title="What one request costs",
        chart=series.dots(axis),
        data=series.table("overhead-costs-data", f"{capital(subject(result))} of one request", "request"),
        alt=f"{capital(series.listed(REGRESSION))}. Lines are the intervals; the scale is logarithmic.",
        keys=series.legend,
    )


def _interval_figure(result: Overhead) -> Figure | None:
    """Each cost with its three intervals and two other fits, relative to the cost."""
    costs = [cost for cost in result.costs if cost.seconds.value > 0.0]
    if not costs:
        return None
    series = Series(
        [
            Point(
                key=key,
                label=name_of(cost),
                y=value and bare(value),
                relative_to=cost.seconds.value,
            )
            for cost in costs
            for key, value in zip(METHODS, _by_method(cost), strict=True)
        ],
        unit=unit_of(result),
        order=METHODS,
    )
    return Figure(
        name="overhead-intervals-chart",
        title="How certain is each cost?",
        chart=relative_dots(series, "the cost by least squares"),
        data=series.table("overhead-intervals-data", "Costs by method", "request"),
        alt=(
            f"Relative to the cost by least squares; {series.listed()} by long-run variances. A line is an "
            f"interval, cut off at three times the cost."
        ),
        keys=METHODS,
    )


def _by_method(cost: Cost) -> tuple[Estimate | None, ...]:
    def point(value: float) -> Estimate:
        return Estimate(value=value, unit=cost.seconds.unit, n=cost.seconds.n, method="point only")

    return (cost.seconds, cost.bootstrap, cost.textbook, point(cost.robust), point(cost.non_negative))


def _share_figure(result: Overhead) -> Figure | None:
    if len(result.costs) < 2:
        return None
    return share_figure(
        [(name_of(cost), cost.share) for cost in result.costs],
        result.target,
        name="overhead-shares",
        title=f"Where the {result.target} goes",
        half=True,
    )


def share_figure(
    items: Sequence[tuple[str, Estimate]], target: str, *, name: str, title: str, half: bool
) -> Figure:
    """Shares of the target, the largest first."""
    ordered = sorted(items, key=lambda item: -item[1].value)
    series = Series([Point(key=SHARE, label=label, y=share(value)) for label, value in ordered], unit="share")
    return Figure(
        name=name,
        title=title,
        chart=series.dots(Axis(f"share of the mean {target}", format=".0%")),
        data=series.table(f"{name}-data", f"Share of the {target}", "term"),
        alt=f"{capital(series.listed(interval=False))}.",
        half=half,
    )


def _fit_figure(result: Overhead) -> Figure | None:
    if len(result.points) < 3:
        return None
    unit = result.target_mean.unit
    series = Series(
        [
            Point(
                key=OUTLIER if point.outlier else USED,
                x=point.fitted,
                y=point.observed,
                words=f"observed {shown.quantity(point.observed, unit)}, "
                f"fitted {shown.quantity(point.fitted, unit)}",
            )
            for point in result.points
        ],
        order=(USED, OUTLIER) if result.outliers else (USED,),
    )
    top = max(max(point.fitted, point.observed) for point in result.points)
    x = Axis(f"fitted [{unit}]", low=0.0)
    y = Axis(f"observed {result.target} [{unit}]", low=0.0)
    return Figure(
        name="overhead-fit",
        title=f"Observed {result.target} against the fit",
        chart=series.scatter(x, y, [(0.0, 0.0), (top, top)]),
        data=Table.of(
            list(enumerate(result.points, start=1)),
            Col("observation", lambda item: item[0]),
            Col("observed", lambda item: item[1].observed, unit=unit),
            Col("fitted", lambda item: item[1].fitted, unit=unit),
            Col("left out", lambda item: "yes" if item[1].outlier else "no"),
            name="overhead-fit-data",
            caption=f"{capital(result.target)} of each interval, observed and fitted",
        ),
        alt=(
            "Each point is an interval; on the dashed line the fit is exact. R² = "
            f"{shown.number(result.r_squared)}, residual standard deviation "
            f"{shown.quantity(result.residual_deviation, unit)}."
        ),
        keys=series.keys if result.outliers else (),
        half=True,
    )


def _subset_keys(result: Overhead) -> tuple[Key, ...]:
    subsets = result.stability.subsets if result.stability is not None else ()
    return Key.each([f"subset {number}" for number in range(1, len(subsets) + 1)], COLOURS, "circle")


def _spread_figure(result: Overhead) -> Figure | None:
    """Costs of every subset, relative to that of the whole log."""
    stability = result.stability
    if stability is None or len(stability.subsets) > len(COLOURS):
        return None
    whole = {cost.request: cost.seconds.value for cost in result.costs if cost.seconds.value > 0.0}
    spreads = [item for item in stability.spreads if item.request in whole]
    if not spreads:
        return None
    keys = _subset_keys(result)
    series = Series(
        [
            Point(key=key, label=name_of(item), y=bare(value), relative_to=whole[item.request])
            for item in spreads
            for key, value in zip(keys, item.seconds, strict=True)
        ],
        unit=unit_of(result),
    )
    named = [
        f"{name_of(item)} {shown.number(item.ratio, 2)} times ({p_value(item.robust.p)})" for item in spreads
    ]
    return Figure(
        name="overhead-spread",
        title="Does each subset of the log give the same cost?",
        chart=relative_dots(series, "the cost in the whole log"),
        data=series.table("overhead-spread-data", "Costs in each subset of the log", "request"),
        alt=(
            f"Spread between subsets over the textbook's standard error: {listed(named)}; p allows for "
            "correlated errors."
        ),
        keys=keys,
    )
