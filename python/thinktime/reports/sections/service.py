"""What an interaction asks of the processor."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from thinktime.reports import charts
from thinktime.reports import format as shown
from thinktime.reports.document import Column, Figure, Key, Section, Table
from thinktime.reports.prose import percent, refused, share
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.service import Service
    from thinktime.log import Log

__all__ = ["section"]

TITLE = "How much service does an input ask for?"
KEYS = (
    Key("interactions with at most this service", "user", "line"),
    Key("service time that they got", "system", "line"),
)


def section(log: Log, result: Service | NotApplicable) -> Section:
    """Section of the service-time analysis."""
    del log
    if isinstance(result, NotApplicable):
        return refused("service", TITLE, result)
    tables = [*_classes(result)]
    if result.concentration:
        tables.append(_concentration(result))
    return Section(
        "service",
        TITLE,
        tuple(_sentences(result)),
        tuple(tables),
        () if len(result.curve) < 2 else (_figure(result),),
        result.caveats,
        "Service time is the CPU time that an interaction received, user and system. Statistics by "
        "class after Anderson "
        "and Sargent (1974), Table 1; a coefficient of variation of 1 belongs to the exponential "
        "distribution.",
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
    return sentences


def _figure(result: Service) -> Figure:
    rows: list[dict[str, object]] = []
    for point in result.curve:
        for key, value in zip(KEYS, (point.fraction, point.concentration), strict=True):
            if point.service_s > 0:
                rows.append({"x": point.service_s, "series": key.name, "value": value})
    table = Table(
        "service-curve-data",
        "Interactions with at most a given service time, the service that they got, and the mean still "
        "to come",
        (
            Column("service time", "s"),
            Column("interactions", "share"),
            Column("service", "share"),
            Column("still to come", "s"),
        ),
        tuple(
            (point.service_s, point.fraction, point.concentration, point.residual_s) for point in result.curve
        ),
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
        "service-curve",
        "Service times: how many interactions, and how much of the service",
        chart,
        table,
        alt,
        KEYS,
    )


def _classes(result: Service) -> tuple[Table, Table]:
    items = (*result.classes, result.overall)
    shares = Table(
        "service-classes",
        "Who gets the service, by class",
        (
            Column("class"),
            Column("n"),
            Column("of interactions", "share"),
            Column("of service", "share"),
            *(Column(name, "s") for name in ("mean", "p50", "p90", "p99")),
        ),
        tuple(
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
        "service-moments",
        "How uneven service times are, by class",
        (
            Column("class"),
            Column("standard deviation", "s"),
            Column("coefficient of variation"),
            Column("skewness"),
        ),
        tuple(
            (item.name, item.standard_deviation, item.coefficient_of_variation, item.skewness)
            for item in items
        ),
    )
    return shares, moments


def _concentration(result: Service) -> Table:
    columns = (Column("of interactions, those with most service"), Column("of all service", "share"))
    rows = tuple((percent(item.upper), share(item.share)) for item in result.concentration)
    return Table("service-concentration", "How much of the service goes to few", columns, rows)
