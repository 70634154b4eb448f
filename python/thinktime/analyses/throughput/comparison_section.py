"""Whether periods differ in how much work gets done at the same load."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from thinktime.documents import charts
from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Column, Figure, Key, Section, Table
from thinktime.documents.wording import capital, ends, listed, p_value, range_of, refused
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.throughput.analysis import Group, Measure
    from thinktime.analyses.throughput.comparison import Comparison, Contrast

TITLE = "Do the periods differ in the work that gets done at the same load?"
COLOURS = ("memory", "system", "user", "iowait", "net", "queue", "steal", "regression")
"""Colours of the logs, in their order; with more logs they come round again."""
OPEN_UP_TO = 24
"""Rows of a table that are shown without being asked for."""
RULE = (
    "Whole means must not be compared: the logs' loads differ, and the means differ with them whatever the "
    "machine does (Bard 1971, Table 7). Beside them stand the means at equal load, which may."
)


def section(result: Comparison | NotApplicable, *, whole: bool = False) -> Section:
    """Section of several logs' throughput.

    Parameters
    ----------
    result : Comparison or NotApplicable
    whole : bool
        Whether means over the whole logs were asked for.
    """
    if isinstance(result, NotApplicable):
        return refused("throughput", TITLE, result)
    tables = (_means(result), _differences(result), _by_load(result), _standard(result))
    figures = (_figure(result, at) for at in range(len(result.curves[0].throughput.measures)))
    return Section(
        name="throughput",
        title=TITLE,
        summary=(*_sentences(result), *_warnings(result, asked=whole)),
        tables=(_whole(result), *tables) if whole else tables,
        figures=tuple(figure for figure in figures if figure is not None),
        caveats=result.caveats,
        method=(
            "Intervals are grouped by load; every log's means are taken at one common distribution of loads "
            "(direct standardisation), with errors from stretches of time left out in turn, so that what a "
            "stretch of time did to all loads alike is in them. Differences: Welch's t; probabilities "
            "adjusted by Holm, those at equal load for all measures and pairs of logs, those of single loads "
            "for all loads of a measure. A change is good when useful work rises, or overhead for it falls, "
            "at the same load (Bard 1971)."
        ),
    )


def _sentences(result: Comparison) -> list[str]:
    """Say by Bard's rule what became of each pair of logs: useful work, then its overhead."""
    wanted = [item for item in result.overall if item.measure.useful or item.measure.name == "overhead"]
    found = [_said(item) for item in wanted if item.significant]
    for first, second in dict.fromkeys((item.first, item.second) for item in wanted):
        same = [
            item.measure.label
            for item in wanted
            if (item.first, item.second) == (first, second) and not item.significant
        ]
        if same:
            found.append(
                f"No difference is seen at equal load between {first} and {second} in {listed(same)}."
            )
    rest = [
        item for item in result.overall if item.significant and not item.measure.useful and item not in wanted
    ]
    for first, second in dict.fromkeys((item.first, item.second) for item in rest):
        parts = [
            f"{item.measure.label} {'rose' if item.estimate.value > 0 else 'fell'}"
            for item in rest
            if (item.first, item.second) == (first, second)
        ]
        found.append(f"From {first} to {second}, at equal load: {listed(parts)}.")
    return found


def _said(item: Contrast) -> str:
    """Tell one difference."""
    higher = item.estimate.value > 0
    better = higher if item.measure.useful else not higher
    return (
        f"At equal load {item.second} has {'more' if higher else 'less'} {item.measure.label} than "
        f"{item.first}: {shown.estimate(item.estimate)} ({p_value(item.p_adjusted)}); "
        f"that is {'better' if better else 'worse'}."
    )


def _warnings(result: Comparison, *, asked: bool) -> list[str]:
    """Say why whole means are no answer, where they were asked for or would say the opposite."""
    found = []
    loads = [
        (curve.name, curve.throughput.whole.load_mean) for curve in result.curves if curve.throughput.whole
    ]
    if asked:
        each = listed([f"{shown.number(load)} in {name}" for name, load in loads])
        found.append(f"{RULE} Mean load: {each}.")
    turned = result.reversed_measures()
    for first, second in dict.fromkeys((item.first, item.second) for item in turned):
        labels = [item.measure.label for item in turned if (item.first, item.second) == (first, second)]
        found.append(
            f"Whole means would say the opposite of {listed(labels)} of {first} and {second}: they tell "
            "the loads, not the machine."
        )
    return found


def _pair(item: Contrast) -> str:
    return f"{item.second} less {item.first}"


def _means(result: Comparison) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (capital(item.label), *(curve.equal_load[at] for curve in result.curves))
        for at, item in enumerate(result.measures)
    ]
    columns = (Column("measure"), *(Column(curve.name) for curve in result.curves))
    return Table(
        name="throughput-equal-load", caption="Means at equal load", columns=columns, rows=tuple(rows)
    )


def _differences(result: Comparison) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (capital(item.measure.label), _pair(item), item.estimate, item.p, item.p_adjusted)
        for item in result.overall
    ]
    columns = (
        Column("measure"),
        Column("logs"),
        Column("difference"),
        Column("p", unit="p"),
        Column("p, adjusted", unit="p"),
    )
    return Table(
        name="throughput-differences", caption="Differences at equal load", columns=columns, rows=tuple(rows)
    )


def _by_load(result: Comparison) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (capital(item.measure.label), _pair(item), range_of(*item.load), item.estimate, item.p_adjusted)
        for item in result.by_load
        if item.load is not None
    ]
    columns = (
        Column("measure"),
        Column("logs"),
        Column(_load(result)),
        Column("difference"),
        Column("p, adjusted", unit="p"),
    )
    return Table(
        name="throughput-differences-by-load",
        caption=f"Differences by {_load(result)}",
        columns=columns,
        rows=tuple(rows),
        folded=len(rows) > OPEN_UP_TO,
    )


def _standard(result: Comparison) -> Table:
    columns = (
        Column(_load(result)),
        Column("weight", unit="share"),
        *(Column(f"time of {curve.name}", unit="share") for curve in result.curves),
    )
    rows: list[tuple[Cell, ...]] = [
        (range_of(item.low, item.high), item.weight, *item.shares) for item in result.standard
    ]
    caption = "Common distribution of loads, and each log's own"
    return Table(name="throughput-standard", caption=caption, columns=columns, rows=tuple(rows), folded=True)


def _whole(result: Comparison) -> Table:
    columns = [Column("measure")]
    for curve in result.curves:
        columns += [Column(f"{curve.name}, whole"), Column(f"{curve.name}, at equal load")]
    rows = []
    for at, item in enumerate(result.measures):
        cells: list[Cell] = [capital(item.label)]
        for curve in result.curves:
            cells += [curve.whole[at], curve.equal_load[at]]
        rows.append(tuple(cells))
    return Table(
        name="throughput-whole",
        caption="Whole means: not to be compared",
        columns=tuple(columns),
        rows=tuple(rows),
        notes=(RULE,),
    )


def _load(result: Comparison) -> str:
    return "users" if result.load == "population" else result.load.replace("_", " ")


def _figure(result: Comparison, at: int) -> Figure | None:
    """Curves of all logs of one measure."""
    measure = result.curves[0].throughput.measures[at]
    if measure.name not in {item.name for item in result.measures}:
        return None
    rows: list[dict[str, object]] = []
    cells: list[tuple[Cell, ...]] = []
    said = []
    for curve in result.curves:
        points = _points(curve.throughput.groups, _place(curve.throughput.measures, measure))
        rows += [_row(curve.name, group, mean) for group, mean in points]
        cells += [(curve.name, _label(group), group.n, mean) for group, mean in points]
        solid = [(group, mean) for group, mean in points if not group.few]
        if solid:
            (first, low), (last, high) = solid[0], solid[-1]
            said.append(
                f"{curve.name}: {shown.estimate(low)} with {_label(first)}, {shown.estimate(high)} with "
                f"{_label(last)}"
            )
    if len(rows) < 2:
        return None
    load, name = _load(result), f"throughput-compared-{measure.name.replace('_', '-')}"
    keys = tuple(
        Key(curve.name, colour=COLOURS[number % len(COLOURS)], shape="line")
        for number, curve in enumerate(result.curves)
    )
    axis = charts.Axis.from_zero(f"{measure.label} [{measure.unit}]", rows)
    columns = (Column("log"), Column(load), Column("n"), Column(capital(measure.label), unit=measure.unit))
    hollow = " Hollow points: too few intervals to rely on." if any(row["few"] for row in rows) else ""
    return Figure(
        name=name,
        title=f"{capital(measure.label)} against {load}",
        chart=partial(charts.curves, rows, keys, charts.Axis(load), axis),
        data=Table(
            name=f"{name}-data",
            caption=f"{capital(measure.label)} by {load}",
            columns=columns,
            rows=tuple(cells),
        ),
        alt=". ".join(said) + "." + hollow,
        keys=keys,
        half=True,
    )


def _place(measures: Sequence[Measure], wanted: Measure) -> int:
    return [item.name for item in measures].index(wanted.name)


def _points(groups: Sequence[Group], at: int) -> list[tuple[Group, Estimate]]:
    return [(group, mean) for group in groups if (mean := group.means[at]) is not None]


def _row(name: str, group: Group, mean: Estimate) -> dict[str, object]:
    low, high = ends(mean)
    return {
        "x": group.load_mean,
        "series": name,
        "value": mean.value,
        "low": low,
        "high": high,
        "shown": shown.estimate(mean),
        "few": group.few,
    }


def _label(group: Group) -> str:
    return range_of(group.load_low, group.load_high) + (" *" if group.few else "")
