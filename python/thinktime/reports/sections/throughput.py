"""How much useful work is done as the load grows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from thinktime.reports import charts
from thinktime.reports import format as shown
from thinktime.reports.document import Cell, Column, Figure, Key, Section, Table
from thinktime.reports.prose import capital, ends, range_of, refused
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.throughput import Group, Measure, Throughput
    from thinktime.log import Log

__all__ = ["section"]

TITLE = "How much work gets done as users are added?"
TIMES = {
    "user_time": Key("user", "user"),
    "system_time": Key("system", "system"),
    "idle_time": Key("idle", "other"),
}


def section(log: Log, result: Throughput | NotApplicable) -> Section:
    """The section of the throughput analysis."""
    del log
    if isinstance(result, NotApplicable):
        return refused("throughput", TITLE, result)
    figures = [figure for figure in (_times(result), _interactions(result)) if figure is not None]
    few = any(group.few for group in result.groups)
    notes = (f"* fewer than {result.n_few} observations: unreliable.",) if few else ()
    return Section(
        "throughput",
        TITLE,
        tuple(_sentences(result)),
        (_table(result, notes),),
        tuple(figures),
        result.caveats,
        "Intervals are grouped by load, and means are taken in each group (Bard 1971). Useful is what users asked for: "
        "their own CPU time and completed interactions; system time is overhead.",
    )


def _sentences(result: Throughput) -> list[str]:
    load = result.load.replace("_", " ")
    reliable = [group for group in result.groups if not group.few] or list(result.groups)
    first = (
        f"{shown.count(result.n, 'interval')} with {load} between {shown.number(reliable[0].load_mean)} and "
    )
    sentences = []
    if result.peak is not None:
        sentences.append(f"User programs got most CPU time with {range_of(*result.peak)} {load}.")
    sentences.append(f"{first}{shown.number(reliable[-1].load_mean)} were compared.")
    at = next((number for number, item in enumerate(result.measures) if item.name == "user_time"), None)
    alone, crowd = result.per_capita[:1], result.per_capita[len(result.groups) - 1 :]
    if at is not None and len(result.groups) > 1 and alone[0] is not None and crowd[0] is not None:
        sentences.append(
            f"CPU time a second and user fell from {shown.quantity(alone[0].value, 's')} to "
            f"{shown.quantity(crowd[0].value, 's')}."
            if crowd[0].value < alone[0].value
            else f"CPU time a second and user went from {shown.quantity(alone[0].value, 's')} to "
            f"{shown.quantity(crowd[0].value, 's')}."
        )
    return sentences


def _label(group: Group) -> str:
    return range_of(group.load_low, group.load_high) + (" *" if group.few else "")


def _table(result: Throughput, notes: tuple[str, ...]) -> Table:
    load = result.load.replace("_", " ")
    columns = (Column(load), Column("n"), *(Column(capital(measure.label), measure.unit) for measure in result.measures),
               Column("User time a user", "s/s"))  # fmt: skip
    rows: list[tuple[Cell, ...]] = [
        (_label(group), group.n, *group.means, each)
        for group, each in zip(result.groups, result.per_capita, strict=True)
    ]
    return Table("throughput-groups", f"Means by {load}", columns, tuple(rows), notes)


def _points(result: Throughput, at: int, name: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for group in result.groups:
        mean = group.means[at]
        if mean is not None:
            low, high = ends(mean)
            rows.append({"x": group.load_mean, "series": name, "value": mean.value, "low": low, "high": high,
                         "shown": shown.estimate(mean)})  # fmt: skip
    return rows


def _data(result: Throughput, name: str, caption: str, wanted: list[tuple[int, Measure]]) -> Table:
    columns = (
        Column(result.load.replace("_", " ")),
        Column("n"),
        *(Column(capital(item.label), item.unit) for _, item in wanted),
    )
    rows: list[tuple[Cell, ...]] = [
        (_label(group), group.n, *(group.means[at] for at, _ in wanted)) for group in result.groups
    ]
    return Table(name, caption, columns, tuple(rows))


def _times(result: Throughput) -> Figure | None:
    """CPU time by use, against the load."""
    wanted = [(at, item) for at, item in enumerate(result.measures) if item.name in TIMES]
    if not wanted or len(result.groups) < 2:
        return None
    keys = tuple(TIMES[item.name] for _, item in wanted)
    rows = [row for at, item in wanted for row in _points(result, at, TIMES[item.name].name)]
    load = result.load.replace("_", " ")
    table = _data(result, "throughput-time-data", f"CPU time by use, against {load}", wanted)
    y = charts.Axis("CPU time a second of real time [s/s]", low=0.0)
    chart = partial(charts.curves, rows, keys, charts.Axis(load), y)
    alt = ". ".join(_change(result, at, capital(item.label)) for at, item in wanted) + "."
    return Figure("throughput-time", f"CPU time against {load}", chart, table, alt, half=True)


def _interactions(result: Throughput) -> Figure | None:
    wanted = [(at, item) for at, item in enumerate(result.measures) if item.name == "interactions"]
    if not wanted or len(result.groups) < 2:
        return None
    at, item = wanted[0]
    rows = _points(result, at, item.label)
    if len(rows) < 2:
        return None
    load = result.load.replace("_", " ")
    table = _data(result, "throughput-interactions-data", f"Interactions against {load}", wanted)
    chart = partial(charts.curves, rows, (Key(item.label, "users"),), charts.Axis(load),
                    charts.Axis("interactions completed [1/s]", low=0.0))  # fmt: skip
    return Figure("throughput-interactions", f"Interactions against {load}", chart, table,
                  _change(result, at, capital(item.label)) + ".", half=True)  # fmt: skip


def _change(result: Throughput, at: int, label: str) -> str:
    measured: list[tuple[Group, Estimate]] = [
        (group, mean) for group in result.groups if (mean := group.means[at]) is not None
    ]
    if not measured:
        return f"{label}: not measured"
    (first, start), (last, end) = measured[0], measured[-1]
    return (
        f"{label}: {shown.estimate(start)} at {shown.number(first.load_mean)}, "
        f"{shown.estimate(end)} at {shown.number(last.load_mean)}"
    )
