"""How long users wait, and how that grows with their number."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from thinktime.documents import charts
from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Column, Figure, Key, Section, Table
from thinktime.documents.wording import ends, few, range_of, refused, users
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.response.analysis import Response, ResponseGroup, Waiting

__all__ = ["section"]

TITLE = "How long do users wait?"
QUANTITIES = ("mean", "p50", "p90", "p99")
KEYS = (Key("p50", colour="p50"), Key("p90", colour="p90"), Key("p99", colour="p99"))


def section(result: Response | NotApplicable) -> Section:
    """Section of the response analysis."""
    if isinstance(result, NotApplicable):
        return refused("response", TITLE, result)
    figures = [figure for figure in (_quantiles(result), _stretch(result)) if figure is not None]
    groups = (*result.by_population, result.overall)
    tables = [
        _waits("response-population", "Response time by number of users", "users", groups),
        _work("response-population-work", "Service and throughput by number of users", "users", groups),
    ]
    if result.by_class:
        rest = () if result.without is None else (result.without,)
        classes = (*result.by_class, *rest, result.overall)
        tables.append(_waits("response-class", "Response time by class", "class", classes))
        tables.append(_work("response-class-work", "Service by class", "class", classes))
    parts = _parts(result.overall)
    if parts is not None:
        tables.append(parts)
    return Section(
        name="response",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=tuple(tables),
        figures=tuple(figures),
        caveats=result.caveats,
        method="Response time is from the input's being sent to its completion; stretch factor is mean "
        "response over mean "
        "service (CPU time received). Quantiles are of the completed interactions.",
    )


def _sentences(result: Response) -> list[str]:
    overall = result.overall
    sentences = []
    if overall.response is not None:
        sentences.append(
            "Half of the inputs were answered within "
            f"{shown.quantity(overall.response.p50.value, 's')}, one in ten "
            f"took longer than {shown.quantity(overall.response.p90.value, 's')}."
        )
    reliable = [group for group in result.by_population if group.response and not few(group.response.n)]
    if len(reliable) > 1:
        first, last = reliable[0], reliable[-1]
        if first.response is not None and last.response is not None:
            sentences.append(
                f"With {users(_label(first))} the median was {shown.estimate(first.response.p50)}, with "
                f"{users(_label(last))} {shown.estimate(last.response.p50)}."
            )
    if result.without is not None and result.without.response is not None and overall.response is not None:
        sentences.append(
            f"The mean is {shown.estimate(overall.response.mean)} of all, "
            f"{shown.estimate(result.without.response.mean)} of {result.without.label}."
        )
    if result.growth is not None:
        sentences.append(f"From end to end the median grows {shown.estimate(result.growth)} times.")
    if overall.stretch is not None:
        sentences.append(
            f"An input took {shown.number(overall.stretch.value)} times as long as the service it received."
        )
    if overall.unfinished:
        sentences.append(
            f"{overall.unfinished} of {shown.count(overall.arrived, 'interaction')} were not finished "
            "when the record ended."
        )
    return sentences


def _middle(group: ResponseGroup) -> float | None:
    if group.population_low is None or group.population_high is None:
        return None
    return (group.population_low + group.population_high) / 2


def _rows(result: Response, pick: str) -> list[dict[str, object]]:
    rows = []
    for group in result.by_population:
        waiting, at = group.response, _middle(group)
        if waiting is not None and at is not None:
            rows.append(_point(at, pick, getattr(waiting, pick), few=few(waiting.n)))
    return rows


def _quantiles(result: Response) -> Figure | None:
    rows = [row for key in KEYS for row in _rows(result, key.name)]
    if len({row["x"] for row in rows}) < 2:
        return None
    y = charts.Axis.logarithmic(
        "response time", [row[end] for row in rows for end in ("value", "low", "high")], "s"
    )
    floor = y.low or 0.0
    drawn = [{**row, "low": max(float(str(row["low"])), floor)} for row in rows]
    measured = [group for group in result.by_population if group.response is not None]
    table = Table(
        name="response-users-data",
        caption="Response time by number of users",
        columns=(Column("users"), Column("n"), *(Column(key.name, unit="s") for key in KEYS)),
        rows=tuple(
            (_label(group), group.response.n, group.response.p50, group.response.p90, group.response.p99)
            for group in measured
            if group.response is not None
        ),
    )
    first, last = measured[0].response, measured[-1].response
    alt = (
        f"From {_label(measured[0])} to {users(_label(measured[-1]))}: {_growth(first, last)}. "
        "p50 is the median; one in ten waits longer than p90, one in a hundred longer than p99."
    )
    chart = partial(charts.curves, drawn, KEYS, charts.Axis("users"), y)
    return Figure(
        name="response-users", title="Response time against users", chart=chart, data=table, alt=alt
    )


def _growth(first: Waiting | None, last: Waiting | None) -> str:
    if first is None or last is None:
        return "not measured"
    pairs = ((key.name, getattr(first, key.name), getattr(last, key.name)) for key in KEYS)
    return ", ".join(
        f"{name} {shown.quantity(a.value, 's')} to {shown.quantity(b.value, 's')}" for name, a, b in pairs
    )


def _stretch(result: Response) -> Figure | None:
    points = [(group, group.stretch) for group in result.by_population if group.stretch is not None]
    rows: list[dict[str, object]] = []
    for group, value in points:
        at = _middle(group)
        if at is not None:
            rows.append(_point(at, "stretch", value, few=group.response is None or few(group.response.n)))
    if len(rows) < 2:
        return None
    table = Table(
        name="response-stretch-data",
        caption="Stretch factor by number of users",
        columns=(Column("users"), Column("stretch factor")),
        rows=tuple((_label(group), value) for group, value in points),
    )
    (first, low), (last, high) = points[0], points[-1]
    alt = (
        f"An input takes {shown.estimate(low)} times its service with {users(_label(first))}, "
        f"{shown.estimate(high)} times with {users(_label(last))}; 1 is a machine of one's own."
    )
    y = charts.Axis.from_zero("response over service, both means", rows)
    chart = partial(charts.curves, rows, (Key("stretch", colour="users"),), charts.Axis("users"), y)
    return Figure(
        name="response-stretch", title="Stretch factor against users", chart=chart, data=table, alt=alt
    )


def _point(at: float, series: str, value: Estimate, few: bool) -> dict[str, object]:
    """Row of `charts.curves`."""
    low, high = ends(value)
    return {
        "x": at,
        "series": series,
        "value": value.value,
        "low": low,
        "high": high,
        "shown": shown.estimate(value),
        "few": few,
    }


def _waits(name: str, caption: str, what: str, groups: tuple[ResponseGroup, ...]) -> Table:
    """Response times, and the mean to the first output where it comes before the end."""
    seen = any(_comes_first(group) for group in groups)
    columns = (
        Column(what),
        Column("arrived"),
        Column("unfinished"),
        *(Column(kind, unit="s") for kind in QUANTITIES),
        *((Column("mean to first output", unit="s"),) if seen else ()),
    )
    rows: list[tuple[Cell, ...]] = []
    for group in groups:
        waiting, first = group.response, group.first_output
        times = tuple(None if waiting is None else getattr(waiting, kind) for kind in QUANTITIES)
        output = ((None if first is None else first.mean),) if seen else ()
        rows.append((_label(group), group.arrived, group.unfinished, *times, *output))
    return Table(name=name, caption=caption, columns=columns, rows=tuple(rows))


def _comes_first(group: ResponseGroup) -> bool:
    first, whole = group.first_output, group.response
    return first is not None and whole is not None and first.mean.value < whole.mean.value


def _work(name: str, caption: str, what: str, groups: tuple[ResponseGroup, ...]) -> Table:
    columns = (
        Column(what),
        Column("service", unit="s"),
        Column("stretch factor"),
        Column("completed", unit="interaction/s"),
    )
    rows = tuple((_label(group), group.service, group.stretch, group.throughput) for group in groups)
    if all(group.throughput is None for group in groups):
        # A class is no stretch of time: nothing is completed in it per second.
        return Table(name=name, caption=caption, columns=columns[:-1], rows=tuple(row[:-1] for row in rows))
    return Table(name=name, caption=caption, columns=columns, rows=rows)


def _label(group: ResponseGroup) -> str:
    """Range of users as the other sections write it; a class by its name."""
    low, high = group.population_low, group.population_high
    return group.label if low is None or high is None else range_of(low, high)


def _parts(group: ResponseGroup) -> Table | None:
    """Parts of a response, where the source can see them."""
    kinds = (
        ("to the first slice of service", group.reaction),
        ("to the first output", group.first_output),
        ("to completion", group.response),
    )
    rows = tuple(
        (name, wait.n, wait.mean, wait.p50, wait.p90, wait.p99) for name, wait in kinds if wait is not None
    )
    if len(rows) < 2:
        return None
    columns = (
        Column("from the input"),
        Column("n"),
        *(Column(kind, unit="s") for kind in QUANTITIES),
    )
    return Table(
        name="response-parts", caption="Parts of the wait, all interactions", columns=columns, rows=rows
    )
