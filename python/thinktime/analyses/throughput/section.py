"""How much useful work is done as the load grows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from thinktime.documents import charts
from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Column, Figure, Key, Section, Table
from thinktime.documents.wording import capital, ends, range_of, refused
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.throughput.analysis import Group, Measure, Throughput

TITLE = "How much work gets done as users are added?"
TIMES = {
    "user_time": Key("user", colour="user"),
    "system_time": Key("system", colour="system"),
    "idle_time": Key("idle", colour="other"),
}


def section(result: Throughput | NotApplicable, *, whole: bool = False) -> Section:
    """Section of the throughput analysis.

    Parameters
    ----------
    log : Log
    result : Throughput or NotApplicable
    whole : bool
        Whether means over the whole log were asked for.
    """
    if isinstance(result, NotApplicable):
        return refused("throughput", TITLE, result)
    figures = [figure for figure in (_times(result), _interactions(result)) if figure is not None]
    few = any(group.few for group in result.groups)
    notes = (f"* fewer than {result.n_few} observations: unreliable.",) if few else ()
    return Section(
        name="throughput",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=(*_tables(result, notes), *_whole(result)) if whole else _tables(result, notes),
        figures=tuple(figures),
        caveats=result.caveats,
        method="Intervals are grouped by load, and means are taken in each group (Bard 1971). Useful is what "
        "users asked for: "
        "their own CPU time and completed interactions; system time is overhead.",
    )


def _sentences(result: Throughput) -> list[str]:
    load = _load(result)
    sentences = []
    if result.peak is not None:
        most = _noun(range_of(*result.peak), load)
        sentences.append(f"User programs got most CPU time with {most}.")
    reliable = [
        (group, mean) for group in result.groups if (mean := group.user_time_per_user) and not group.few
    ]
    if len(reliable) > 1:
        (first, alone), (last, crowd) = reliable[0], reliable[-1]
        sentences.append(
            f"With {_noun(_range(first), load)} each got {shown.estimate(alone)} of CPU time, with "
            f"{_range(last)} each got {shown.estimate(crowd)}."
        )
    sentences.append(f"{shown.count(result.n, 'interval')} were compared.")
    return sentences


def _load(result: Throughput) -> str:
    """Name what the load is counted in: `active users`; the population that was played is `users`."""
    return "users" if result.load == "population" else result.load.replace("_", " ")


def _noun(amount: str, load: str) -> str:
    return f"{amount} {load.removesuffix('s') if amount == '1' else load}"


def _range(group: Group) -> str:
    return range_of(group.load_low, group.load_high)


def _label(group: Group) -> str:
    return _range(group) + (" *" if group.few else "")


def _tables(result: Throughput, notes: tuple[str, ...]) -> tuple[Table, ...]:
    """Work and time by load, and the requests apart: they are many."""
    load = _load(result)
    work = [(at, item) for at, item in enumerate(result.measures) if item.useful or item.name in TIMES]
    rest = [(at, item) for at, item in enumerate(result.measures) if (at, item) not in work]
    table = _data(result, "throughput-groups", f"Work and CPU time by {load}", work)
    rows = tuple(
        (*row, group.user_time_per_user) for row, group in zip(table.rows, result.groups, strict=True)
    )
    columns = (*table.columns, Column("User time a user", unit="s/s"))
    first = replace(table, columns=columns, rows=rows, notes=notes)
    if not rest:
        return (first,)
    return (first, replace(_data(result, "throughput-requests", f"Requests by {load}", rest), folded=True))


def _whole(result: Throughput) -> tuple[Table, ...]:
    """Means whatever the load, with why they are not compared with another log's."""
    if result.whole is None:
        return ()
    load = _load(result)
    note = (
        f"At a mean load of {shown.number(result.whole.load_mean)} {load}. Whole means must not be compared "
        "with another log's: they differ with the load, whatever the machine does (Bard 1971, Table 7). "
        "`thinktime analyse throughput LOG LOG` compares logs at equal load."
    )
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (capital(item.label), mean) for item, mean in zip(result.measures, result.whole.means, strict=True)
    )
    columns = (Column("measure"), Column("mean"))
    return (
        Table(
            name="throughput-whole",
            caption="Means over the whole log: not for comparing",
            columns=columns,
            rows=rows,
            notes=(note,),
        ),
    )


def _points(result: Throughput, at: int, name: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for group in result.groups:
        mean = group.means[at]
        if mean is not None:
            low, high = ends(mean)
            rows.append(
                {
                    "x": group.load_mean,
                    "series": name,
                    "value": mean.value,
                    "low": low,
                    "high": high,
                    "shown": shown.estimate(mean),
                    "few": group.few,
                }
            )
    return rows


def _data(result: Throughput, name: str, caption: str, wanted: list[tuple[int, Measure]]) -> Table:
    columns = (
        Column(_load(result)),
        Column("n"),
        *(Column(capital(item.label), unit=item.unit) for _, item in wanted),
    )
    rows: list[tuple[Cell, ...]] = [
        (_label(group), group.n, *(group.means[at] for at, _ in wanted)) for group in result.groups
    ]
    return Table(name=name, caption=caption, columns=columns, rows=tuple(rows))


def _times(result: Throughput) -> Figure | None:
    """CPU time by use, against the load."""
    wanted = [(at, item) for at, item in enumerate(result.measures) if item.name in TIMES]
    if not wanted or len(result.groups) < 2:
        return None
    keys = tuple(TIMES[item.name] for _, item in wanted)
    rows = [row for at, item in wanted for row in _points(result, at, TIMES[item.name].name)]
    load = _load(result)
    table = _data(result, "throughput-time-data", f"CPU time by use, against {load}", wanted)
    y = charts.Axis.from_zero("CPU time a second of real time [s/s]", rows)
    chart = partial(charts.curves, rows, keys, charts.Axis(load), y)
    alt = ". ".join(_change(result, at, capital(item.label)) for at, item in wanted) + "." + _hollow(result)
    return Figure(
        name="throughput-time", title=f"CPU time against {load}", chart=chart, data=table, alt=alt, half=True
    )


def _interactions(result: Throughput) -> Figure | None:
    wanted = [(at, item) for at, item in enumerate(result.measures) if item.name == "interactions"]
    if not wanted or len(result.groups) < 2:
        return None
    at, item = wanted[0]
    rows = _points(result, at, item.label)
    if len(rows) < 2:
        return None
    load = _load(result)
    table = _data(result, "throughput-interactions-data", f"Interactions against {load}", wanted)
    chart = partial(
        charts.curves,
        rows,
        (Key(item.label, colour="users"),),
        charts.Axis(load),
        charts.Axis.from_zero("interactions completed [1/s]", rows),
    )
    return Figure(
        name="throughput-interactions",
        title=f"Interactions against {load}",
        chart=chart,
        data=table,
        alt=_change(result, at, capital(item.label)) + "." + _hollow(result),
        half=True,
    )


def _change(result: Throughput, at: int, label: str) -> str:
    pairs = [(group, mean) for group in result.groups if (mean := group.means[at]) is not None]
    measured: list[tuple[Group, Estimate]] = [pair for pair in pairs if not pair[0].few] or pairs
    if not measured:
        return f"{label}: not measured"
    (first, start), (last, end) = measured[0], measured[-1]
    return f"{label}: {shown.estimate(start)} with {_range(first)}, {shown.estimate(end)} with {_range(last)}"


def _hollow(result: Throughput) -> str:
    return (
        " Hollow points: too few intervals to rely on." if any(group.few for group in result.groups) else ""
    )
