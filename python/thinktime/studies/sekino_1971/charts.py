"""Charts of the study: capacity as bars, overheads and useful work as dots, and curves by core and users."""

from __future__ import annotations

from collections.abc import Sequence

from thinktime.documents import document
from thinktime.documents.charts import Axis
from thinktime.documents.document import Col, Cols, Column, Key, Table
from thinktime.documents.series import Point, Series
from thinktime.stats.estimate import Estimate
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.sekino_1971.configurations import (
    CAPACITY,
    EVENTS,
    STATES,
    SYSTEMS,
    line,
    simulated,
    words,
)

COLOURS = {
    "useful_work": "user",
    "page_fault": "iowait",
    "getwork": "system",
    "drum_interrupt": "interrupt",
    "interrupt": "queue",
    "segment_fault": "memory",
    "gate_fault": "steal",
    "idle": "idle",
}
"""Lines of Table 1 in the order in which a bar shows them, and the meaning that gives each its colour."""
SHADES = ("system", "user", "memory")


def capacity(laboratory: Laboratory) -> document.Figure:
    """Capacity of each configuration, published above ours."""
    bars: dict[str, dict[str, float]] = {}
    for item in SYSTEMS.values():
        cells = {state: line(CAPACITY, item, state) for state in STATES}
        theirs = {state: cell.value for state, cell in cells.items() if cell is not None}
        if theirs:
            bars[f"{item.words}, published"] = theirs
        bars[f"{item.words}, ours"] = {
            state: simulated(laboratory, CAPACITY, item, state).value for state in COLOURS
        }
    # Printed lines may add up to a little less than all.
    series = Series(
        [
            Point(
                key=Key(words(state), colour=colour),
                label=label,
                y=shares[state] / 100.0,
                words=f"{shares[state]:.1f} %",
            )
            for label, shares in bars.items()
            for state, colour in COLOURS.items()
        ]
    )
    title = "Capacity of the processors (Table 1)"
    listed = "; ".join(
        f"{label}: useful work {shares['useful_work']:.1f} %, overhead "
        f"{sum(shares[event] for event in EVENTS):.1f} %, idle {shares['idle']:.1f} %"
        for label, shares in bars.items()
    )
    return document.Figure(
        name="capacity-bars",
        title=title,
        chart=series.bars("share of the processors' time"),
        data=Table.of(
            bars.items(),
            Col("configuration", lambda row: row[0]),
            Cols(
                [f"{words(state)}, %" for state in COLOURS],
                lambda row: [f"{row[1][state]:.1f}" for state in COLOURS],
                scaled=False,
            ),
            name="capacity-bars-data",
            caption=title,
        ),
        alt=f"{listed}.",
        keys=series.keys,
    )


def dots(
    name: str, title: str, series: Series, *, axis: str, heads: tuple[str, str, str], alt: str
) -> document.Figure:
    """Values with their intervals, one line per label and one colour per key."""
    return document.Figure(
        name=name,
        title=title,
        chart=series.dots(Axis(axis), named=heads),
        data=series.list_table(f"{name}-data", title, "change", "of", Column(axis, scaled=False)),
        alt=alt,
        keys=series.keys,
    )


def curves(
    name: str, title: str, axes: tuple[str, str], points: Sequence[tuple[str, int, Estimate]]
) -> document.Figure:
    """Curve of each series through its values, given as name of the series, x and value."""
    names = list(dict.fromkeys(series for series, _, _ in points))
    keys = {name: Key(name, colour=shade, shape="line") for name, shade in zip(names, SHADES, strict=False)}
    series = Series(
        [Point(key=keys[name], x=x, y=value) for name, x, value in points if value.n],
        order=tuple(keys.values()),
    )
    x_title, y_title = axes
    ticks = tuple(sorted({float(x) for _, x, _ in points}))
    return document.Figure(
        name=name,
        title=title,
        chart=series.curves(Axis(x_title, ticks=ticks), Axis.from_zero(y_title, series.rows())),
        data=series.list_table(
            f"{name}-data", title, Column(x_title, scaled=False), "of", Column(y_title, scaled=False)
        ),
        alt=f"{'; '.join(f'{key.name} {series.course(key)}' for key in keys.values() if series.of(key))}.",
        keys=series.keys,
        half=True,
    )
