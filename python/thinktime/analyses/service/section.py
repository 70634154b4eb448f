"""What an interaction asks of the processor."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from thinktime.analyses.service import ageing_section as ageing
from thinktime.documents import charts
from thinktime.documents import format as shown
from thinktime.documents.document import Column, Figure, Key, Section, Table
from thinktime.documents.wording import ends, listed, percent, refused, share, whole
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.service.analysis import CurvePoint, Service
    from thinktime.analyses.service.stability import Stability

__all__ = ["section"]

TITLE = "How much service does an input ask for?"
KEYS = (
    Key("interactions with at most this service", colour="user", shape="line"),
    Key("service time that they got", colour="system", shape="line"),
)


def section(result: Service | NotApplicable) -> Section:
    """Section of the service-time analysis."""
    if isinstance(result, NotApplicable):
        return refused("service", TITLE, result)
    tables = [*_classes(result), _below(result)]
    if result.concentration:
        tables.append(_concentration(result))
    if result.ageing:
        tables += [ageing.verdicts(result.ageing), ageing.tests(result.ageing)]
    if not isinstance(result.stability, NotApplicable):
        tables += [_stability(result.stability), _periods(result.stability)]
    figures = [_histogram(result)]
    if len(result.curve) > 1:
        figures += [_figure(result), _lorenz(result)]
    return Section(
        name="service",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=tuple(tables),
        figures=(*figures, *ageing.figures(result.ageing)),
        caveats=result.caveats,
        method="Service time is the CPU time that an interaction received, user and system. Statistics by "
        "class after Anderson "
        "and Sargent (1974), Table 1; a coefficient of variation of 1 belongs to the exponential "
        f"distribution. {ageing.METHOD} Periods last about ten minutes, or less in a short log, and end "
        "where a session ends or the number of users changes; they are compared by Anderson and Darling's "
        "test for several samples (Scholz and Stephens 1987; 0.001 <= p <= 0.25 before adjustment) and "
        "by rank correlation with time, adjusted over all classes (Holm).",
    )


def _sentences(result: Service) -> list[str]:
    overall = result.overall
    variation = overall.coefficient_of_variation
    compared = "more uneven than" if result.heavier_than_exponential else "not shown to be more uneven than"
    sentences = [
        f"The mean interaction received {shown.estimate(overall.mean)} of CPU time, the median one "
        f"{shown.quantity(overall.p50.value, 's')}, one in a hundred more than "
        f"{shown.quantity(overall.p99.value, 's')}.",
        f"The coefficient of variation is {shown.estimate(variation)}: {compared} an exponential "
        "distribution.",
    ]
    if result.concentration:
        top = result.concentration[0]
        sentences.append(
            f"The {percent(top.upper)} of the interactions with most service got "
            f"{shown.quantity(top.share.value, 'share')} of it."
        )
    return [*sentences, *ageing.sentences(result.ageing), _steadiness(result.stability)]


def _steadiness(result: Stability | NotApplicable) -> str:
    if isinstance(result, NotApplicable):
        return f"Whether service times stay the same over time cannot be said: {result.reason}."
    differing = [test for test in result.tests if not test.stable]
    if not differing:
        return (
            f"They do not differ between the {len(result.periods)} periods of the log, as far as tests see."
        )
    names = listed([test.name for test in differing])
    largest = max(test.effect for test in differing)
    return (
        f"They differ between the {len(result.periods)} periods of the log ({names}): which period it is "
        f"explains {shown.quantity(largest, 'share')} of the variance of their ranks at most."
    )


def _figure(result: Service) -> Figure:
    rows: list[dict[str, object]] = []
    for point in result.curve:
        for key, value in zip(KEYS, (point.fraction, point.concentration.value), strict=True):
            if point.service_s > 0:
                rows.append({"x": point.service_s, "series": key.name, "value": value})
    table = Table(
        name="service-curve-data",
        caption="Interactions with at most a given service time, and the service that they got",
        columns=(
            Column("service time", unit="s"),
            Column("interactions", unit="share"),
            Column("service", unit="share"),
        ),
        rows=tuple((point.service_s, point.fraction, share(point.concentration)) for point in result.curve),
    )
    overall = result.overall
    alt = (
        f"Half of the interactions received at most {shown.quantity(overall.p50.value, 's')}, nine in "
        "ten at most "
        f"{shown.quantity(overall.p90.value, 's')}. The further apart the lines, the more of the "
        "service goes to few."
    )
    axis = charts.Axis.logarithmic("service time", [row["x"] for row in rows], "s")
    chart = partial(charts.steps, rows, KEYS, axis, charts.Axis("share", format=".0%", low=0.0, high=1.0))
    return Figure(
        name="service-curve",
        title="Service times: how many interactions, and how much of the service",
        chart=chart,
        data=table,
        alt=alt,
        keys=KEYS,
        half=True,
    )


def _lorenz(result: Service) -> Figure:
    rows: list[dict[str, object]] = []
    for point in result.curve:
        low, high = ends(point.concentration)
        rows.append(
            {
                "x": point.fraction,
                "series": "service",
                "value": point.concentration.value,
                "low": low,
                "high": high,
                "shown": shown.estimate(share(point.concentration) or point.concentration),
            }
        )
    table = Table(
        name="service-concentration-curve-data",
        caption="Part of all service that goes to the interactions with least service",
        columns=(Column("interactions", unit="share"), Column("service", unit="share")),
        rows=tuple((point.fraction, share(point.concentration)) for point in result.curve),
    )
    half = next((point for point in result.curve if point.fraction >= 0.5), result.curve[-1])
    tenth = next((point for point in result.curve if point.fraction >= 0.9), result.curve[-1])
    alt = (
        f"The half of the interactions with least service gets {_part(half)} of all service, nine tenths get "
        f"{_part(tenth)}. Were all alike, the line would rise evenly."
    )
    x = charts.Axis("interactions, those with least service", format=".0%", low=0.0, high=1.0)
    y = charts.Axis("service that they got", format=".0%", low=0.0, high=1.0)
    chart = partial(charts.curves, rows, (Key("service", colour="system", shape="line"),), x, y, dotted=False)
    title = "Concentration: how little the many get"
    return Figure(
        name="service-concentration-curve", title=title, chart=chart, data=table, alt=alt, half=True
    )


def _part(point: CurvePoint) -> str:
    return shown.quantity(point.concentration.value, "share")


def _histogram(result: Service) -> Figure:
    rows: list[dict[str, object]] = []
    for item in result.histogram:
        amount = shown.estimate(share(item.share) or item.share)
        over = f"{shown.quantity(item.low_s, 's')} to {shown.quantity(item.high_s, 's')}: {amount}"
        low = item.low_s or item.high_s / 10**0.2  # a logarithmic axis has no zero
        rows.append({"low": low, "high": item.high_s, "value": item.share.value, "shown": over})
    table = Table(
        name="service-histogram-data",
        caption="Interactions by service time",
        columns=(Column("above", unit="s"), Column("up to", unit="s"), Column("interactions", unit="share")),
        rows=tuple((item.low_s, item.high_s, share(item.share)) for item in result.histogram),
    )
    most = max(result.histogram, key=lambda item: item.share.value)
    alt = (
        f"Most often, in {shown.quantity(most.share.value, 'share')} of the cases, an interaction asks for "
        f"{shown.quantity(most.low_s, 's')} to {shown.quantity(most.high_s, 's')}. Each box is a fifth of a "
        "decade wide."
    )
    edges = [end for row in rows for end in (row["low"], row["high"])]
    x = charts.Axis.logarithmic("service time", edges, "s")
    y = charts.Axis.from_zero("share of interactions", rows, ".0%")
    chart = partial(charts.histogram, rows, x, y, "user")
    return Figure(name="service-histogram", title="Service times", chart=chart, data=table, alt=alt)


def _classes(result: Service) -> tuple[Table, Table]:
    items = (*result.classes, result.overall)
    shares = Table(
        name="service-classes",
        caption="Who gets the service, by class",
        columns=(
            Column("class"),
            Column("n"),
            Column("of interactions", unit="share"),
            Column("of service", unit="share"),
            *(Column(name, unit="s") for name in ("mean", "p50", "p90", "p99")),
        ),
        rows=tuple(
            (
                item.name,
                item.n,
                share(item.share),
                share(item.service_share),
                item.mean,
                item.p50,
                item.p90,
                item.p99,
            )
            for item in items
        ),
    )
    moments = Table(
        name="service-moments",
        caption="How uneven service times are, by class",
        columns=(
            Column("class"),
            Column("standard deviation", unit="s"),
            Column("coefficient of variation"),
            Column("skewness"),
        ),
        rows=tuple(
            (item.name, item.standard_deviation, item.coefficient_of_variation, item.skewness)
            for item in items
        ),
    )
    return shares, moments


def _below(result: Service) -> Table:
    columns = (Column("service time of at most", unit="s"), Column("of interactions", unit="share"))
    rows = tuple((item.limit_s, share(item.share)) for item in result.below)
    return Table(name="service-below", caption="How many ask for little", columns=columns, rows=rows)


def _stability(result: Stability) -> Table:
    columns = (
        Column("class"),
        Column("periods"),
        Column("p, one distribution", unit="p"),
        Column("p, no trend", unit="p"),
        Column("explained by the period", unit="share"),
    )
    rows = tuple(
        (test.name, test.periods, test.distribution.p, test.trend.p, test.effect) for test in result.tests
    )
    return Table(
        name="service-stability",
        caption="Do service times stay the same over time?",
        columns=columns,
        rows=rows,
    )


def _periods(result: Stability) -> Table:
    columns = (
        Column("from", unit="s"),
        Column("length", unit="s"),
        Column("users"),
        Column("n"),
        *(Column(name, unit="s") for name in ("mean", "p50", "p90")),
    )
    rows = tuple(
        (item.start_s, item.length_s, whole(item.users), item.n, item.mean, item.p50, item.p90)
        for item in result.periods
    )
    return Table(
        name="service-periods", caption="Service times by period", columns=columns, rows=rows, folded=True
    )


def _concentration(result: Service) -> Table:
    columns = (Column("of interactions, those with most service"), Column("of all service", unit="share"))
    rows = tuple((percent(item.upper), share(item.share)) for item in result.concentration)
    return Table(
        name="service-concentration",
        caption="How much of the service goes to few",
        columns=columns,
        rows=rows,
    )
