"""The kinds of chart that a report is made of, as Vega-Lite specifications built with Altair.

A colour is the name of a meaning (`user`, `system`, `disk`) and becomes the CSS variable of that name,
so that one specification serves the light, the dark and the printed page. Widths are left open:
the page, or `at_width` before rendering without a browser, fills them in.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt

__all__ = [
    "Axis", "Chart", "Rows", "Series", "Spec", "Strip",
    "at_width", "bar", "colour", "curves", "dots", "scatter", "stack", "steps", "strips",
]  # fmt: skip

Spec = dict[str, Any]
Chart = Callable[[], Spec]
"""Makes the specification when a renderer wants it: text and JSON do without Altair."""
Rows = Sequence[Mapping[str, object]]

HEIGHT = 250
STRIP_HEIGHT = 56
MARGIN = 60
"""What stands beside a plot of `strips`: the vertical axis and the padding [px]."""
FONT = "Inter, Helvetica Neue, Helvetica, Arial, sans-serif"


@dataclass(frozen=True, slots=True)
class Axis:
    """Name of an axis with its unit, and how it is scaled."""

    title: str
    log: bool = False
    format: str = ""
    """A d3 number format; empty for Vega's choice."""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """A named series and the meaning that gives it its colour."""

    name: str
    colour: str


@dataclass(frozen=True, slots=True)
class Strip:
    """One row of a timeline: a quantity over time."""

    title: str
    colour: str
    rows: Rows
    """With `t`, `value` and `segment` (a number that changes where the record has a gap)."""
    format: str = ""
    high: float | None = None


def colour(name: str) -> str:
    """The colour of a meaning."""
    return f"var(--c-{name})"


def at_width(spec: Spec, width: int) -> Spec:
    """The specification for a column `width` pixels wide; `fitted` in report.js is its twin."""
    spec = copy.deepcopy(spec)
    if "vconcat" in spec:
        for view in spec["vconcat"]:
            view["width"] = width - MARGIN
    else:
        spec["width"] = width
    return spec


def stack(rows: Rows, series: Sequence[Series], x: Axis, y: Axis) -> Spec:
    """Amounts stacked over time. Rows: `t`, `part`, `value`, `shown`, `segment`."""
    import altair as alt

    ranks = {part.name: rank for rank, part in enumerate(series)}
    chart = (
        alt.Chart(_data([{**row, "rank": ranks[str(row["part"])]} for row in rows]))
        .mark_area(interpolate="step-after", clip=True)
        .encode(
            x=_x(x, "t", nice=False),
            y=alt.Y("value:Q", stack="zero", scale=_scale(y), axis=_axis(y, title=False)),
            color=_colours("part", series),
            order=alt.Order("rank:O"),
            detail="segment:N",
            tooltip=[alt.Tooltip("part:N", title="state"), alt.Tooltip("shown:N", title="share")],
        )
        .properties(height=HEIGHT)
    )
    return _single(chart, y.title)


def bar(rows: Rows, series: Sequence[Series]) -> Spec:
    """One whole, cut into its parts. Rows: `part`, `share`, `start`, `end`, `shown`."""
    import altair as alt

    base = alt.Chart(_data(rows)).encode(
        x=alt.X("start:Q", scale=alt.Scale(domain=[0, 1], nice=False),
                axis=alt.Axis(title="share of all CPU time", format=".0%", grid=False)),
        x2="end:Q",
        tooltip=[alt.Tooltip("part:N", title="state"), alt.Tooltip("shown:N", title="share")],
    )  # fmt: skip
    boxes = base.mark_rect(height=34, stroke="var(--card)", strokeWidth=1.5).encode(
        color=_colours("part", series)
    )
    # Only where a label fits into its box; the others stand in the legend and in the table.
    middle = "(datum.start + datum.end) / 2"
    labels = (
        alt.Chart(_data([row for row in rows if _float(row["share"]) >= 0.08]))
        .transform_calculate(middle=middle)
        .mark_text(fontWeight=600, fontSize=12)
        .encode(x=alt.X("middle:Q"), text="shown:N", color=_contrast("part", series))
    )
    return _single((boxes + labels).resolve_scale(color="independent").properties(height=40), "")


def dots(rows: Rows, series: Sequence[Series], x: Axis) -> Spec:
    """Estimates with intervals, a line a label. Rows: `label`, `series`, `value`, `low`, `high`, `shown`."""
    import altair as alt

    names = list(dict.fromkeys(str(row["label"]) for row in rows))
    shapes = ["circle", "diamond", "square", "triangle-up"][: len(series)]
    y = alt.Y("label:N", sort=names, axis=alt.Axis(title=None, grid=True, labelLimit=150, minExtent=0, labelFontSize=12,
                                                   labelColor="var(--ink)"))  # fmt: skip
    shift = alt.YOffset("series:N", sort=[item.name for item in series])
    base = alt.Chart(_data(rows)).encode(y=y, color=_colours("series", series))
    if len(series) > 1:
        base = base.encode(yOffset=shift)
    rules = base.mark_rule(strokeWidth=2, opacity=0.55).encode(x=_x(x, "low"), x2="high:Q")
    points = base.mark_point(filled=True, size=75, opacity=1).encode(
        x=_x(x, "value"),
        shape=alt.Shape("series:N", scale=alt.Scale(domain=[item.name for item in series], range=shapes),
                        legend=alt.Legend(title=None) if len(series) > 1 else None),
        tooltip=[alt.Tooltip("label:N", title="request"), alt.Tooltip("series:N", title="by"),
                 alt.Tooltip("shown:N", title="cost")],
    )  # fmt: skip
    return _single((rules + points).properties(height=max(34 * len(names), 60)), "")


def curves(rows: Rows, series: Sequence[Series], x: Axis, y: Axis) -> Spec:
    """Estimates against a load, bands for intervals. Rows: `x`, `series`, `value`, `low`, `high`, `shown`."""
    import altair as alt

    base = alt.Chart(_data(rows)).encode(x=_x(x, "x"), color=_colours("series", series, legend=False))
    y_value = alt.Y("value:Q", scale=_scale(y), axis=_axis(y, title=False))
    bands = base.mark_area(opacity=0.16).encode(y=alt.Y("low:Q"), y2="high:Q", detail="series:N")
    lines = base.mark_line(strokeWidth=2, clip=False).encode(y=y_value)
    points = base.mark_point(filled=True, size=42, opacity=1).encode(
        y=y_value,
        tooltip=[alt.Tooltip("series:N", title="figure"), alt.Tooltip("x:Q", title=x.title, format=".4~g"),
                 alt.Tooltip("shown:N", title="value")],
    )  # fmt: skip
    layers = bands + lines + points
    if len(series) > 1:
        last: dict[str, Mapping[str, object]] = {}
        for row in rows:
            if row.get("value") is not None:
                last[str(row["series"])] = row
        ends = (
            alt.Chart(_data(list(last.values())))
            .mark_text(align="left", dx=8, fontWeight=600, fontSize=11)
            .encode(x=_x(x, "x"), y=y_value, text="series:N", color=_colours("series", series, legend=False))
        )
        layers = layers + ends
    return _single(layers.properties(height=HEIGHT), y.title)


def scatter(rows: Rows, edge: Rows, series: Sequence[Series], x: Axis, y: Axis) -> Spec:
    """Intervals as points, those on the frontier marked and joined. Rows: `x`, `y`, `series`, `shown`."""
    import altair as alt

    colours = _colours("series", series)
    encoding = {
        "x": _x(x, "x"),
        "y": alt.Y("y:Q", scale=_scale(y), axis=_axis(y, title=False)),
    }
    points = (
        alt.Chart(_data(rows))
        .mark_point(filled=True, size=38, opacity=0.6)
        .encode(**encoding, color=colours, tooltip=[alt.Tooltip("shown:N", title="interval")])
    )
    line = (
        alt.Chart(_data(edge))
        .mark_line(interpolate="step-before", strokeWidth=1.6, color="var(--ink)", strokeDash=[5, 3])
        .encode(**encoding, order="x:Q")
    )
    rings = (
        alt.Chart(_data(edge))
        .mark_point(size=95, strokeWidth=1.6, color="var(--ink)")
        .encode(**encoding, tooltip=[alt.Tooltip("shown:N", title="on the frontier")])
    )
    return _single((points + line + rings).properties(height=HEIGHT + 40), y.title)


def steps(rows: Rows, series: Sequence[Series], x: Axis, y: Axis) -> Spec:
    """Empirical distribution functions. Rows: `x`, `series`, `value`."""
    import altair as alt

    chart = (
        alt.Chart(_data(rows))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=_x(x, "x"),
            y=alt.Y("value:Q", scale=_scale(y), axis=_axis(y, title=False)),
            color=_colours("series", series),
            order="value:Q",
            tooltip=[alt.Tooltip("series:N", title="what"), alt.Tooltip("x:Q", title=x.title, format=".3~s"),
                     alt.Tooltip("value:Q", title=y.title, format=".1%")],
        )
        .properties(height=HEIGHT)
    )  # fmt: skip
    return _single(chart, y.title)


def strips(items: Sequence[Strip], x: Axis) -> Spec:
    """Quantities over one time axis, below each other."""
    import altair as alt

    times = [_float(row["t"]) for item in items for row in item.rows]
    domain = [min(times, default=0.0), max(times, default=1.0)]
    views = []
    for number, item in enumerate(items):
        last = number == len(items) - 1
        time = alt.X("t:Q", scale=alt.Scale(domain=domain, nice=False),
                     axis=alt.Axis(title=x.title if last else None, labels=last, domain=True, tickCount=6))  # fmt: skip
        axis = alt.Axis(title=None, tickCount=2, minExtent=40, maxExtent=40, **_format(item.format))
        ends = {"domainMin": 0} if item.high is None else {"domain": [0, item.high]}
        base = alt.Chart(_data(item.rows)).encode(
            x=time,
            y=alt.Y("value:Q", axis=axis, scale=alt.Scale(**ends)),
            detail="segment:N",
            tooltip=[
                alt.Tooltip("t:Q", title=x.title, format=".4~g"),
                alt.Tooltip("shown:N", title=item.title),
            ],
        )
        area = base.mark_area(interpolate="step-after", opacity=0.22, color=colour(item.colour), clip=True)
        line = base.mark_line(interpolate="step-after", strokeWidth=1.4, color=colour(item.colour), clip=True)
        views.append((area + line).properties(height=STRIP_HEIGHT, title=_title(item.title)))
    return _finished(alt.vconcat(*views, spacing=14).resolve_scale(y="independent").to_dict())


def _single(chart: Any, y_title: str) -> Spec:
    if y_title:
        chart = chart.properties(title=_title(y_title))
    spec = _finished(chart.to_dict())
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return spec


def _title(text: str) -> alt.TitleParams:
    # The name of the vertical axis lies flat above it: upright words are hard to read.
    import altair as alt

    return alt.TitleParams(text, anchor="start", frame="bounds", fontSize=11, fontWeight=500, offset=8,
                           color="var(--quiet)")  # fmt: skip


def _finished(spec: Spec) -> Spec:
    hair, quiet = "var(--hair)", "var(--quiet)"
    spec["config"] = {
        "background": None,
        "font": FONT,
        "padding": {"left": 2, "right": 14, "top": 4, "bottom": 4},
        "view": {"stroke": None},
        "axis": {
            "domain": False, "ticks": False, "gridColor": hair, "domainColor": hair,
            "labelColor": quiet, "labelFontSize": 11, "labelPadding": 6, "labelOverlap": True,
            "titleColor": quiet, "titleFontSize": 11, "titleFontWeight": 500, "titlePadding": 8,
        },
        "axisX": {"grid": False, "domain": True, "tickCount": 7},
        "axisY": {"tickCount": 5},
        "text": {"color": "var(--ink)"},
        "legend": {
            "orient": "top", "title": None, "labelColor": "var(--ink)", "labelFontSize": 11,
            "symbolSize": 80, "symbolOpacity": 1, "offset": 4, "columnPadding": 14,
        },
    }  # fmt: skip
    return spec


def _data(rows: Rows) -> alt.Data:
    import altair as alt

    return alt.Data(values=[{key: _clean(value) for key, value in row.items()} for row in rows])


def _clean(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _float(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else math.nan


def _format(text: str) -> dict[str, str]:
    return {"format": text} if text else {}


def _axis(axis: Axis, title: bool = True) -> alt.Axis:
    import altair as alt

    return alt.Axis(title=axis.title if title else None, **_format(axis.format))


def _scale(axis: Axis, nice: bool = True) -> alt.Scale:
    import altair as alt

    if axis.log:
        return alt.Scale(type="log", nice=nice)
    ends = {
        key: value for key, value in (("domainMin", axis.low), ("domainMax", axis.high)) if value is not None
    }
    return alt.Scale(nice=nice, **ends)


def _x(axis: Axis, field: str, nice: bool = True) -> alt.X:
    import altair as alt

    return alt.X(f"{field}:Q", scale=_scale(axis, nice), axis=_axis(axis))


def _colours(field: str, series: Sequence[Series], legend: bool | None = None) -> alt.Color:
    import altair as alt

    shown = len(series) > 1 if legend is None else legend
    scale = alt.Scale(domain=[item.name for item in series], range=[colour(item.colour) for item in series])
    return alt.Color(f"{field}:N", scale=scale, legend=alt.Legend(title=None) if shown else None)


def _contrast(field: str, series: Sequence[Series]) -> alt.Color:
    """Ink that is readable on the colour of a series: `--on-<name>`."""
    import altair as alt

    scale = alt.Scale(
        domain=[item.name for item in series], range=[f"var(--on-{item.colour})" for item in series]
    )
    return alt.Color(f"{field}:N", scale=scale, legend=None)
