"""What the service received says about the service to come: the part of the service section about it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from thinktime.documents import charts
from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Column, Figure, Key, Table
from thinktime.documents.wording import ends, p_value, percent
from thinktime.stats.hypothesis import ALPHA, SignificanceTest

if TYPE_CHECKING:
    from thinktime.analyses.service.ageing import Ageing, ResidualPoint

__all__ = ["METHOD", "figures", "sentences", "tests", "verdicts"]

METHOD = (
    "Mean residual life E[S - t | S > t] (Anderson and Sargent 1974, Figures 3 and 4) with the delta "
    "method on its logarithm; the outer band holds the whole curve with 95 % confidence. Exponential: "
    "Anderson and Darling, mean estimated. Constant hazard rate, mean residual life, and life of new and "
    "used: Klefsjö (1983) and Hollander and Proschan (1975), normal with the exact moments of uniform "
    "spacings, two-sided. A false alarm in any class has a probability of 5 % for each kind of test (Holm)."
)
COLOURS = ("user", "system", "disk", "memory", "net", "queue")
CLASSES_MAX = len(COLOURS)


def sentences(items: Sequence[Ageing]) -> list[str]:
    """Say whether service times are exponential, where the residual life goes, and what follows."""
    if not items:
        return []
    overall = items[0]
    return [*_exponential(overall), _course(overall), _rule(overall), *_by_class(items[1:])]


def _exponential(item: Ageing) -> list[str]:
    said = p_value(item.exponential.p)
    if item.exponential.rejected():
        return [f"Service times are not exponential ({said}; false-alarm rate {percent(ALPHA)})."]
    return [f"Nothing speaks against exponential service times ({said})."]


def _course(item: Ageing) -> str:
    first, last = item.curve[0], item.curve[-1]
    fresh = shown.quantity(first.residual.value, "s")
    later = f"{shown.quantity(last.residual.value, 's')} after {shown.quantity(last.service_s, 's')}"
    said = p_value(item.residual.p)
    words = {
        "increasing": f"The longer an interaction has been served, the longer it will still take: {fresh} at "
        f"its start, {later}. The mean residual life increases ({said}), and its band shows no fall.",
        "decreasing": f"The longer an interaction has been served, the sooner it will end: {fresh} at its "
        f"start, {later}. The mean residual life decreases ({said}), and its band shows no rise.",
        "not monotone": f"The mean residual life, {fresh} at the start and {later}, both rises and falls on "
        "the way, beyond its band.",
        "undecided": f"The mean residual life, {fresh} at the start and {later}, is not shown to increase or "
        f"to decrease ({said}).",
    }
    return words[item.direction]


def _rule(item: Ageing) -> str:
    """Sentence on scheduling; who is right about what stands in `analyses.ageing.Ageing.rule`."""
    if item.rule == "least attained service":
        proven = (
            "the hazard rate is shown to fall too, and where it falls throughout, no such rule is better"
            if item.hazard_falls
            else "that no such rule is better would need a falling hazard rate, which is not shown"
        )
        return (
            "For a short mean response without knowing service times, serve first those that have received "
            f"least (foreground-background, least attained service); {proven}."
        )
    if item.rule == "first come, first served":
        return (
            "For a short mean response without knowing service times, finish what has been begun: first "
            "come, first served, as what is new needs more than what has been served "
            f"({p_value(item.expectation.p)})."
        )
    return (
        "It does not decide between serving first those that have received least and first come, first "
        "served: for the mean response the order then matters little, or depends on the service received."
    )


def _by_class(items: Sequence[Ageing]) -> list[str]:
    if len(items) < 2:
        return []
    grouped: dict[str, list[str]] = {}
    for item in items:
        grouped.setdefault(item.direction, []).append(item.name)
    parts = [f"{direction} for {', '.join(names)}" for direction, names in grouped.items()]
    return [f"By class the mean residual life is {'; '.join(parts)}."]


def figures(items: Sequence[Ageing]) -> list[Figure]:
    """Residual life of all interactions with both bands, and of the classes with their intervals."""
    found = []
    if items and len(_drawn(items[0])) > 1:
        found.append(
            _figure("service-residual", "How much service is still to come", items[:1], _words(items[0]))
        )
    classes = [item for item in items[1:] if len(_drawn(item)) > 1][:CLASSES_MAX]
    if len(classes) > 1:
        words = ". ".join(
            f"{item.name}: {shown.quantity(item.curve[0].residual.value, 's')} at the start, "
            f"{shown.quantity(item.curve[-1].residual.value, 's')} after "
            f"{shown.quantity(item.curve[-1].service_s, 's')}"
            for item in classes
        )
        found.append(
            _figure(
                "service-residual-classes",
                "How much service is still to come, by class",
                classes,
                words + ".",
            )
        )
    return found


def _words(item: Ageing) -> str:
    last = item.curve[-1]
    return (
        f"Mean service still to come: {shown.estimate(item.curve[0].residual)} at the start, "
        f"{shown.estimate(last.residual)} for the {shown.quantity(last.above, 'share')} of the interactions "
        f"that receive more than {shown.quantity(last.service_s, 's')}. A level line belongs to the "
        "exponential distribution. The inner band is for each point, the outer for the whole line."
    )


def _drawn(item: Ageing) -> list[ResidualPoint]:
    """Points on a logarithmic axis: not the one at zero."""
    return [point for point in item.curve if point.service_s > 0]


def _figure(name: str, title: str, items: Sequence[Ageing], alt: str) -> Figure:
    keys = tuple(
        Key(item.name, colour=shade, shape="line") for item, shade in zip(items, COLOURS, strict=False)
    )
    rows: list[dict[str, object]] = []
    for item in items:
        for point in _drawn(item):
            low, high = ends(point.residual)
            row: dict[str, object] = {
                "x": point.service_s,
                "series": item.name,
                "value": point.residual.value,
                "low": low,
                "high": high,
                "shown": shown.estimate(point.residual),
            }
            if len(items) == 1:
                row |= {"low_all": point.low_all, "high_all": point.high_all}
            rows.append(row)
    x = charts.Axis.logarithmic("service received", [row["x"] for row in rows], "s")
    sides = ("low_all", "high_all") if len(items) == 1 else ("low", "high")
    y = charts.Axis.logarithmic(
        "mean service still to come", [row[side] for row in rows for side in sides], "s"
    )
    return Figure(
        name=name,
        title=title,
        chart=partial(charts.curves, rows, keys, x, y, dotted=False),
        data=_data(name, items),
        alt=alt,
    )


def _data(name: str, items: Sequence[Ageing]) -> Table:
    columns = (
        Column("class"),
        Column("received", unit="s"),
        Column("interactions that receive more", unit="share"),
        Column("still to come", unit="s"),
        Column("whole curve, low", unit="s"),
        Column("whole curve, high", unit="s"),
    )
    rows = tuple(
        (item.name, point.service_s, point.above, point.residual, point.low_all, point.high_all)
        for item in items
        for point in item.curve
    )
    return Table(
        name=f"{name}-data",
        caption="Mean service still to come by service received",
        columns=columns,
        rows=rows,
    )


def verdicts(items: Sequence[Ageing]) -> Table:
    """Lay out by class where the residual life goes and what follows."""
    columns = (
        Column("class"),
        Column("n"),
        Column("to come at the start", unit="s"),
        Column("after", unit="s"),
        Column("to come then", unit="s"),
        Column("mean residual life"),
        Column("serve first"),
    )
    rules = {
        "least attained service": "who received least",
        "first come, first served": "who came first",
        "undecided": "undecided",
    }
    rows = tuple(
        (
            item.name,
            item.n,
            item.curve[0].residual,
            item.curve[-1].service_s,
            item.curve[-1].residual,
            item.direction,
            rules[item.rule],
        )
        for item in items
    )
    return Table(
        name="service-ageing",
        caption="How much service is still to come, by class",
        columns=columns,
        rows=rows,
    )


def tests(items: Sequence[Ageing]) -> Table:
    """Lay out the tests against the exponential distribution, by class."""
    columns = (
        Column("class"),
        Column("hypothesis"),
        Column("statistic"),
        Column("p", unit="p"),
        Column("data"),
    )
    rows: list[tuple[Cell, ...]] = []
    for item in items:
        rows += [
            (
                item.name,
                "exponential",
                item.exponential.statistic,
                item.exponential.p,
                _said(item.exponential),
            ),
            _row(item.name, "constant hazard rate", item.hazard, ("falls", "rises")),
            _row(item.name, "constant mean residual life", item.residual, ("falls", "rises")),
            _row(item.name, "used as good as new", item.expectation, ("used need less", "used need more")),
        ]
    caption = "Do service times age? Tests against the exponential distribution"
    return Table(name="service-ageing-tests", caption=caption, columns=columns, rows=tuple(rows))


def _row(name: str, hypothesis: str, test: SignificanceTest, sides: tuple[str, str]) -> tuple[Cell, ...]:
    said = sides[test.direction > 0] if test.rejected() else _said(test)
    return (name, hypothesis, test.statistic, test.p, said)


def _said(test: SignificanceTest) -> str:
    return "rejected" if test.rejected() else "not rejected"
