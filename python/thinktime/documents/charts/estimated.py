"""Estimates with their intervals: by name, against a load, or as points on lines."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from thinktime.documents.charts import channels, frame
from thinktime.documents.charts.axis import Axis, Rows, Spec, number
from thinktime.documents.charts.rows import data
from thinktime.documents.document import Key

if TYPE_CHECKING:
    import altair as alt

LINE_HEIGHT = 7
"""Of a line of `caterpillar` [px]."""
LABEL_HEIGHT = 13
"""Smallest distance between two names at the ends of lines [px]."""
FAINT = ("idle", "nice", "other")
"""Colours of areas that are too light for letters."""


def dots(
    rows: Rows, series: Sequence[Key], x: Axis, named: tuple[str, str, str] = ("request", "by", "cost")
) -> Spec:
    """Estimates with intervals, one line for each label.

    Rows: `label`, `series`, `value`, `low`, `high`, `shown`. `named` holds the names of label, series and
    value in the tooltip of a point.
    """
    import altair as alt

    names = list(dict.fromkeys(str(row["label"]) for row in rows))
    base = alt.Chart(data(rows)).encode(
        y=channels.lines(names, grid=True), color=channels.colours("series", series)
    )
    if len(series) > 1:
        base = base.encode(yOffset=alt.YOffset("series:N", sort=[item.name for item in series]))
    tooltip = channels.tooltip(label=named[0], series=named[1], shown=named[2])
    height = max(34, LABEL_HEIGHT * len(series)) * len(names)
    return frame.single(_with_intervals(base, series, x, 75, 2, tooltip), "", max(height, 60))


def _with_intervals(
    base: alt.Chart,
    series: Sequence[Key],
    x: Axis,
    size_px2: float,
    width_px: float,
    tooltip: list[alt.Tooltip],
) -> alt.LayerChart:
    """Points at `value`, in the shape of their series, on lines from `low` to `high`."""
    import altair as alt

    names, shapes = [item.name for item in series], [item.shape for item in series]
    shape = alt.Shape("series:N", legend=None, scale=alt.Scale(domain=names, range=shapes))
    lines = base.mark_rule(strokeWidth=width_px, opacity=0.5).encode(
        x=channels.x(x, "low"), x2=alt.X2("high:Q")
    )
    points = base.mark_point(filled=True, size=size_px2, opacity=1)
    chart: alt.LayerChart = lines + points.encode(x=channels.x(x, "value"), shape=shape, tooltip=tooltip)
    return chart


def caterpillar(rows: Rows, series: Sequence[Key], x: Axis, middle: float) -> Spec:
    """Estimates with intervals, each on a thin line of its own, under one name for all lines of a label.

    Rows: `label`, `named`, `series`, `value`, `low`, `high`, `shown`. `middle` is where they should lie.
    """
    import altair as alt

    placed, count = [], 0
    names: dict[int, list[str]] = {}
    for label in dict.fromkeys(str(row["label"]) for row in rows):
        group = [row for row in rows if row["label"] == label]
        words = channels.broken(label, lines_max=3)
        lines = max(len(group), math.ceil(channels.NAME_HEIGHT * len(words) / LINE_HEIGHT))
        # Vega begins a name of several lines in the middle of its own.
        raised = round((len(words) - 1) * channels.NAME_HEIGHT / 2 / LINE_HEIGHT)
        names[count + (lines - 1) // 2 - raised] = words
        first = count + (lines - len(group)) // 2
        placed += [{**row, "line": first + number} for number, row in enumerate(group)]
        count += lines + 1
    axis = alt.Axis(
        title=None,
        grid=False,
        labelExpr=f"({json.dumps({str(line): name for line, name in names.items()})})[datum.label] || ''",
        labelOverlap=False,
        labelBaseline="middle",
        labelLimit=210,
        labelFontSize=12,
        labelColor="var(--ink)",
        minExtent=0,
    )
    y = alt.Y("line:O", scale=alt.Scale(domain=list(range(count))), axis=axis)
    base = alt.Chart(data(placed)).encode(y=y, color=channels.colours("series", series))
    tooltip = channels.tooltip(label="column", named="row", shown="ours for printed")
    here = (
        alt.Chart(data([{"x": middle}]))
        .mark_rule(strokeDash=[4, 3], color="var(--quiet)")
        .encode(x=channels.x(x, "x"))
    )
    return frame.single(here + _with_intervals(base, series, x, 32, 1.5, tooltip), "", LINE_HEIGHT * count)


def curves(rows: Rows, series: Sequence[Key], x: Axis, y: Axis, dotted: bool = True) -> Spec:
    """Estimates against a load, with bands for their intervals.

    Rows: `x`, `series`, `value`, `low`, `high`, `shown`, `few` where there is too little data to join the
    point to the others, and `low_all`, `high_all` where a wider band holds the whole curve. `y` has both
    its ends. Points that are not `dotted` are invisible, but have a tooltip.
    """
    import altair as alt

    x_value, y_value = channels.x(x, "x"), channels.y(y)
    solid = [row for row in rows if not row.get("few")]
    base = alt.Chart(data(solid)).encode(x=x_value, color=channels.colours("series", series))
    tooltip = channels.tooltip(
        series="figure", x=alt.Tooltip("x:Q", title=x.title, format=".4~g"), shown="value"
    )
    layers: list[Any] = [
        base.mark_area(opacity=0.16, clip=True).encode(
            y=channels.y(y, "low"), y2=alt.Y2("high:Q"), detail=alt.Detail("series:N")
        ),
        base.mark_line(strokeWidth=2).encode(y=y_value),
        base.mark_point(filled=True, size=42, opacity=float(dotted)).encode(y=y_value, tooltip=tooltip),
    ]
    if any("low_all" in row for row in solid):
        whole = base.mark_area(opacity=0.1, clip=True)
        layers.insert(
            0,
            whole.encode(
                y=alt.Y("low_all:Q", scale=channels.scale(y)),
                y2=alt.Y2("high_all:Q"),
                detail=alt.Detail("series:N"),
            ),
        )
    hollow = [row for row in rows if row.get("few")]
    if hollow:
        weak = alt.Chart(data(hollow)).mark_point(filled=False, size=34, opacity=0.7)
        layers.append(
            weak.encode(x=x_value, y=y_value, color=channels.colours("series", series), tooltip=tooltip)
        )
    if len(series) > 1:
        layers.append(_end_names(solid or rows, series, x, y))
    return frame.single(alt.layer(*layers), y.title, frame.HEIGHT)


def _end_names(rows: Rows, series: Sequence[Key], x: Axis, y: Axis) -> Any:
    """Name of each series at the end of its line."""
    import altair as alt

    marks = alt.Chart(data(_line_ends(rows, y))).mark_text(align="left", dx=8, fontWeight=600, fontSize=11)
    faint = [item.name for item in series if item.colour in FAINT]
    # A scale of its own would conflict with that of the areas.
    ink = alt.condition(
        alt.FieldOneOfPredicate(field="series", oneOf=faint),
        alt.value("var(--quiet)"),
        channels.colours("series", series),
    )
    return marks.encode(x=channels.x(x, "x"), y=channels.y(y), text=alt.Text("series:N"), color=ink)


def _line_ends(rows: Rows, y: Axis) -> list[dict[str, object]]:
    """Last point of each series, moved apart where two names would lie on each other."""
    low, high = y.low or 0.0, 1.0 if y.high is None else y.high

    def place(value: float) -> float:
        if y.log:
            return math.log(max(value, low) / low) / math.log(high / low) * frame.HEIGHT
        return (value - low) / (high - low) * frame.HEIGHT

    def value_at(pixel: float) -> float:
        part = pixel / frame.HEIGHT
        return low * (high / low) ** part if y.log else low + part * (high - low)

    last = {str(row["series"]): row for row in rows if row.get("value") is not None}
    names: list[dict[str, object]] = []
    floor = -math.inf
    for row in sorted(last.values(), key=lambda row: number(row["value"])):
        pixel = max(place(number(row["value"])), floor)
        floor = pixel + LABEL_HEIGHT
        names.append({"series": row["series"], "x": row["x"], "value": value_at(pixel)})
    return names


def labelled(rows: Rows, lines: Rows, series: Sequence[Key], x: Axis, y: Axis) -> Spec:
    """Points with intervals and names, and broken lines through them.

    Rows: `x`, `value`, `low`, `high`, `series`, `shown`, and `label`, empty where a point has no name; of
    lines `x`, `value`, `series`, a row for each end.
    """
    import altair as alt

    value = channels.y(y)
    base = alt.Chart(data(rows)).encode(x=channels.x(x, "x"), color=channels.colours("series", series))
    tooltip = channels.tooltip(
        series="figure", x=alt.Tooltip("x:Q", title=x.title, format=".4~g"), shown="value"
    )
    ends = channels.y(y, "low")
    broken = alt.Chart(data(lines)).mark_line(strokeWidth=1.5, strokeDash=[5, 3], clip=True)
    layers = [
        broken.encode(x=channels.x(x, "x"), y=value, color=channels.colours("series", series)),
        base.mark_rule(strokeWidth=1.5, opacity=0.55, clip=True).encode(y=ends, y2=alt.Y2("high:Q")),
        base.mark_point(filled=True, size=55, opacity=1).encode(y=value, tooltip=tooltip),
        base.mark_text(dy=-11, fontSize=11, fontWeight=600).encode(y=value, text=alt.Text("label:N")),
    ]
    if len(series) > 1:
        layers.append(_end_names(lines or rows, series, x, y))
    return frame.single(alt.layer(*layers), y.title, frame.HEIGHT + 20)
