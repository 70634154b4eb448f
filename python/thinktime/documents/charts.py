"""The kinds of chart in a report, as Vega-Lite specifications built with Altair.

A colour is the name of a meaning (`user`, `system`, `disk`) and becomes the CSS variable of that name,
so that one specification serves all pages. The page, or `at_width` without a browser, fills in widths.

A channel is given by its class: for a plain text, Altair would look through all of its classes each time.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from thinktime.documents.chart_rows import data
from thinktime.documents.document import Key

if TYPE_CHECKING:
    import altair as alt

Spec = dict[str, Any]
"""Specification of a chart in Vega-Lite's JSON."""
Chart = Callable[[], Spec]
"""Function that makes the specification when a renderer needs it: text and JSON do not load Altair."""
Rows = Sequence[Mapping[str, object]]

HEIGHT = 250
STRIP_HEIGHT = 56
BAR_HEIGHT = 38
ROW_HEIGHT = 44
TICKS_MAX = 9
"""Labels of a logarithmic axis for which there is room; with more, only decades are labelled."""
DIGITS_WIDTH = 46
"""Width of a share in digits [px]."""
NAME_CHARACTERS = 26
"""Longer names of lines are broken, which leaves a narrow screen room for the plot."""
LABEL_SHARE = 0.08
"""Smallest part of a whole with room for its share in digits."""
LINE_HEIGHT, NAME_HEIGHT = 7, 14
"""Of a line of `caterpillar`, and least height of all lines under one name [px]."""
LABEL_HEIGHT = 13
"""Smallest distance between two names at the ends of lines [px]."""
MARGIN = 60
"""Width of a plot of `strips` outside its view: the vertical axis and the padding [px]."""
FAINT = ("idle", "nice", "other")
"""Colours of areas that are too light for letters."""
FONT = "Inter, Helvetica Neue, Helvetica, Arial, sans-serif"


@dataclass(frozen=True, slots=True)
class Axis:
    """Name of an axis with its unit, and how it is scaled."""

    title: str
    _: KW_ONLY
    log: bool = False
    format: str = ""
    """A d3 number format; empty for Vega's choice."""
    symbol: str = ""
    """Unit that each label carries with its prefix, instead of a unit in the title: 20 ms, 2 s."""
    low: float | None = None
    high: float | None = None
    ticks: tuple[float, ...] = ()
    """Positions of the labels; empty for Vega's choice."""

    @classmethod
    def from_zero(cls, title: str, rows: Rows, format: str = "") -> Axis:  # noqa: A002
        """Axis from zero that covers every `value` of the rows, and intervals up to half as high again.

        One wide interval must not flatten all curves; it is cut at the edge, and is in the table.
        """
        values = [_float(row["value"]) for row in rows if row.get("value") is not None]
        highs = [_float(row["high"]) for row in rows if row.get("high") is not None and not row.get("few")]
        top = max(filter(math.isfinite, values), default=0.0)
        wanted = max(top, min(max(highs, default=top), 1.5 * top))
        # Values that a damaged log gives may all be below zero, or infinite.
        wanted = wanted if 0.0 < wanted < math.inf else 1.0
        step = 10.0 ** math.floor(math.log10(wanted)) / 2
        return cls(title, format=format, low=0.0, high=math.ceil(wanted / step - 1e-9) * step)

    @classmethod
    def logarithmic(cls, title: str, values: Iterable[object], symbol: str = "") -> Axis:
        """Logarithmic axis over `values`, labelled at decades, and at 2 and 5 where that is not too dense."""
        positive = [number for value in values if (number := _float(value)) > 0 and math.isfinite(number)]
        low, high = min(positive, default=1.0), max(positive, default=1.0)
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        fine = [round(step * 10.0**decade, 15 - decade) for decade in decades for step in (1, 2, 5)]
        below = max((tick for tick in fine if tick <= low), default=low)
        above = min((tick for tick in fine if tick >= high), default=high * 1.0001)
        ticks = [tick for tick in fine if below <= tick <= above]
        if len(ticks) > TICKS_MAX:
            ticks = [10.0**decade for decade in decades if below <= 10.0**decade <= above]
        return cls(title, log=True, symbol=symbol, low=below, high=above, ticks=tuple(ticks))


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """One row of a timeline: a quantity over time."""

    title: str
    colour: str
    rows: Rows
    """With `t`, `value` and `segment` (a number that changes where the record has a gap)."""
    format: str = ""
    high: float | None = None


def colour(name: str) -> str:
    """Colour of a meaning."""
    return f"var(--c-{name})"


def at_width(spec: Spec, width: int) -> Spec:
    """Specification for a column `width` pixels wide; `fitted` in report.js is its twin."""
    if "vconcat" in spec:
        return spec | {"vconcat": [view | {"width": width - MARGIN} for view in spec["vconcat"]]}
    return spec | {"width": width}


def stack(
    rows: Rows, series: Sequence[Key], x: Axis, y: Axis, named: tuple[str, str] = ("state", "share")
) -> Spec:
    """Amounts stacked over time. Rows: `t`, `part`, `value`, `shown`, `segment`.

    `named` holds the names of part and value in the tooltip.
    """
    import altair as alt

    # Stacked here: Vega-Lite would first complete every segment with all instants of the others.
    ranks = {part.name: rank for rank, part in enumerate(series)}
    tops: dict[tuple[object, object], float] = {}
    drawn = []
    for row in sorted(rows, key=lambda row: ranks[str(row["part"])]):
        place = (row["segment"], row["t"])
        low = tops.get(place, 0.0)
        tops[place] = low + _float(row["value"])
        drawn.append({**row, "low": low, "high": tops[place]})
    chart = (
        alt.Chart(data(drawn))
        .mark_area(interpolate="step-after", clip=True)
        .encode(
            x=_x(x, "t", nice=False),
            y=_y(y, "high", stack=None),
            y2=alt.Y2("low:Q"),
            color=_colours("part", series),
            detail=alt.Detail("segment:N"),
            tooltip=_tooltip(part=named[0], shown=named[1]),
        )
    )
    return _single(chart, y.title, HEIGHT)


def bar(rows: Rows, series: Sequence[Key]) -> Spec:
    """One whole, cut into its parts. Rows: `part`, `share`, `start`, `end`, `shown`."""
    import altair as alt

    boxes = (
        alt.Chart(data(rows))
        .mark_rect(stroke="var(--card)", strokeWidth=1.5)
        .encode(
            x=_of_whole("share of all CPU time"),
            x2=alt.X2("end:Q"),
            y=alt.value(0),
            y2=alt.value(BAR_HEIGHT),
            color=_colours("part", series),
            tooltip=_tooltip(part="state", shown="share"),
        )
    )
    labels = _digits(rows, series, 0.1, 12).encode(y=alt.value(BAR_HEIGHT / 2))
    return _single((boxes + labels).resolve_scale(color="independent"), "", BAR_HEIGHT)


def _of_whole(title: str) -> alt.X:
    import altair as alt

    axis = alt.Axis(title=title, format=".0%", grid=False)
    return alt.X("start:Q", scale=alt.Scale(domain=[0, 1], nice=False), axis=axis)


def _digits(rows: Rows, series: Sequence[Key], least: float, size: int) -> Any:
    """Shares written into their boxes, where the box has room; the others are in the table."""
    import altair as alt

    roomy = [
        {**row, "middle": (_float(row["start"]) + _float(row["end"])) / 2}
        for row in rows
        if _float(row["share"]) >= least
    ]
    # A narrow screen has less room than the share alone tells.
    fits = alt.ExprRef(f"datum.share * width < {DIGITS_WIDTH} ? 0 : 1")
    texts = alt.Chart(data(roomy)).mark_text(fontWeight=600, fontSize=size, baseline="middle", opacity=fits)
    return texts.encode(x=alt.X("middle:Q"), text=alt.Text("shown:N"), color=_contrast("part", series))


def bars(rows: Rows, series: Sequence[Key], title: str) -> Spec:
    """Several wholes, one per line, cut into their parts. Rows: those of `bar`, and `label`.

    Parameters
    ----------
    rows : sequence of mappings
    series : sequence of Key
        The parts.
    title : str
        Name of the whole.
    """
    import altair as alt

    names = list(dict.fromkeys(str(row["label"]) for row in rows))
    y = _lines(names)
    boxes = (
        alt.Chart(data(rows))
        .mark_bar(stroke="var(--card)", strokeWidth=1.5)
        .encode(
            x=_of_whole(title),
            x2=alt.X2("end:Q"),
            y=y,
            color=_colours("part", series),
            tooltip=_tooltip(label="of", part="part", shown="share"),
        )
    )
    labels = _digits(rows, series, LABEL_SHARE, 11).encode(y=y)
    return _single((boxes + labels).resolve_scale(color="independent"), "", BAR_HEIGHT * len(names))


def _lines(names: Sequence[str], **options: Any) -> alt.Y:
    """Vertical position of lines that have names."""
    import altair as alt

    broken = {name: _broken(name) for name in names}
    if double := [name for name, lines in broken.items() if len(lines) > 1]:
        options["labelExpr"] = f"({json.dumps(broken)})[datum.label]"
        # Vega begins a label of two lines in the middle of its row.
        raised = {"test": f"indexof({json.dumps(double)}, datum.value) >= 0", "value": -NAME_HEIGHT / 2}
        options["labelOffset"] = {"condition": raised, "value": 0}
    axis = alt.Axis(
        title=None,
        **options,
        labelLimit=210,
        minExtent=0,
        labelFontSize=12,
        labelColor="var(--ink)",
        labelBaseline="middle",
    )
    return alt.Y("label:N", sort=list(names), axis=axis)


def _broken(name: str, lines_max: int = 2) -> list[str]:
    """Name in lines of `NAME_CHARACTERS`, or longer ones where there would be too many."""
    import textwrap

    width = NAME_CHARACTERS
    while len(lines := textwrap.wrap(name, width, break_long_words=False) or [name]) > lines_max:
        width += 2
    return lines


def dots(
    rows: Rows, series: Sequence[Key], x: Axis, named: tuple[str, str, str] = ("request", "by", "cost")
) -> Spec:
    """Estimates with intervals, one line for each label.

    Rows: `label`, `series`, `value`, `low`, `high`, `shown`. `named` holds the names of label, series and
    value in the tooltip of a point.
    """
    import altair as alt

    names = list(dict.fromkeys(str(row["label"]) for row in rows))
    base = alt.Chart(data(rows)).encode(y=_lines(names, grid=True), color=_colours("series", series))
    if len(series) > 1:
        base = base.encode(yOffset=alt.YOffset("series:N", sort=[item.name for item in series]))
    tooltip = _tooltip(label=named[0], series=named[1], shown=named[2])
    height = max(34, LABEL_HEIGHT * len(series)) * len(names)
    return _single(_with_intervals(base, series, x, 75, 2, tooltip), "", max(height, 60))


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
    lines = base.mark_rule(strokeWidth=width_px, opacity=0.5).encode(x=_x(x, "low"), x2=alt.X2("high:Q"))
    points = base.mark_point(filled=True, size=size_px2, opacity=1)
    chart: alt.LayerChart = lines + points.encode(x=_x(x, "value"), shape=shape, tooltip=tooltip)
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
        words = _broken(label, lines_max=3)
        lines = max(len(group), math.ceil(NAME_HEIGHT * len(words) / LINE_HEIGHT))
        # Vega begins a name of several lines in the middle of its own.
        raised = round((len(words) - 1) * NAME_HEIGHT / 2 / LINE_HEIGHT)
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
    base = alt.Chart(data(placed)).encode(y=y, color=_colours("series", series))
    tooltip = _tooltip(label="column", named="row", shown="ours for printed")
    here = (
        alt.Chart(data([{"x": middle}]))
        .mark_rule(strokeDash=[4, 3], color="var(--quiet)")
        .encode(x=_x(x, "x"))
    )
    return _single(here + _with_intervals(base, series, x, 32, 1.5, tooltip), "", LINE_HEIGHT * count)


def curves(rows: Rows, series: Sequence[Key], x: Axis, y: Axis, dotted: bool = True) -> Spec:
    """Estimates against a load, with bands for their intervals.

    Rows: `x`, `series`, `value`, `low`, `high`, `shown`, `few` where there is too little data to join the
    point to the others, and `low_all`, `high_all` where a wider band holds the whole curve. `y` has both
    its ends. Points that are not `dotted` are invisible, but have a tooltip.
    """
    import altair as alt

    x_value, y_value = _x(x, "x"), _y(y)
    solid = [row for row in rows if not row.get("few")]
    base = alt.Chart(data(solid)).encode(x=x_value, color=_colours("series", series))
    tooltip = _tooltip(series="figure", x=alt.Tooltip("x:Q", title=x.title, format=".4~g"), shown="value")
    layers: list[Any] = [
        base.mark_area(opacity=0.16, clip=True).encode(
            y=_y(y, "low"), y2=alt.Y2("high:Q"), detail=alt.Detail("series:N")
        ),
        base.mark_line(strokeWidth=2).encode(y=y_value),
        base.mark_point(filled=True, size=42, opacity=float(dotted)).encode(y=y_value, tooltip=tooltip),
    ]
    if any("low_all" in row for row in solid):
        whole = base.mark_area(opacity=0.1, clip=True)
        layers.insert(
            0,
            whole.encode(
                y=alt.Y("low_all:Q", scale=_scale(y)), y2=alt.Y2("high_all:Q"), detail=alt.Detail("series:N")
            ),
        )
    hollow = [row for row in rows if row.get("few")]
    if hollow:
        weak = alt.Chart(data(hollow)).mark_point(filled=False, size=34, opacity=0.7)
        layers.append(weak.encode(x=x_value, y=y_value, color=_colours("series", series), tooltip=tooltip))
    if len(series) > 1:
        layers.append(_end_names(solid or rows, series, x, y))
    return _single(alt.layer(*layers), y.title, HEIGHT)


def _end_names(rows: Rows, series: Sequence[Key], x: Axis, y: Axis) -> Any:
    """Name of each series at the end of its line."""
    import altair as alt

    marks = alt.Chart(data(_line_ends(rows, y))).mark_text(align="left", dx=8, fontWeight=600, fontSize=11)
    faint = [item.name for item in series if item.colour in FAINT]
    # A scale of its own would conflict with that of the areas.
    ink = alt.condition(
        alt.FieldOneOfPredicate(field="series", oneOf=faint),
        alt.value("var(--quiet)"),
        _colours("series", series),
    )
    return marks.encode(x=_x(x, "x"), y=_y(y), text=alt.Text("series:N"), color=ink)


def _line_ends(rows: Rows, y: Axis) -> list[dict[str, object]]:
    """Last point of each series, moved apart where two names would lie on each other."""
    low, high = y.low or 0.0, 1.0 if y.high is None else y.high

    def place(value: float) -> float:
        if y.log:
            return math.log(max(value, low) / low) / math.log(high / low) * HEIGHT
        return (value - low) / (high - low) * HEIGHT

    def value_at(pixel: float) -> float:
        part = pixel / HEIGHT
        return low * (high / low) ** part if y.log else low + part * (high - low)

    last = {str(row["series"]): row for row in rows if row.get("value") is not None}
    names: list[dict[str, object]] = []
    floor = -math.inf
    for row in sorted(last.values(), key=lambda row: _float(row["value"])):
        pixel = max(place(_float(row["value"])), floor)
        floor = pixel + LABEL_HEIGHT
        names.append({"series": row["series"], "x": row["x"], "value": value_at(pixel)})
    return names


def labelled(rows: Rows, lines: Rows, series: Sequence[Key], x: Axis, y: Axis) -> Spec:
    """Points with intervals and names, and broken lines through them.

    Rows: `x`, `value`, `low`, `high`, `series`, `shown`, and `label`, empty where a point has no name; of
    lines `x`, `value`, `series`, a row for each end.
    """
    import altair as alt

    value = _y(y)
    base = alt.Chart(data(rows)).encode(x=_x(x, "x"), color=_colours("series", series))
    tooltip = _tooltip(series="figure", x=alt.Tooltip("x:Q", title=x.title, format=".4~g"), shown="value")
    ends = _y(y, "low")
    broken = alt.Chart(data(lines)).mark_line(strokeWidth=1.5, strokeDash=[5, 3], clip=True)
    layers = [
        broken.encode(x=_x(x, "x"), y=value, color=_colours("series", series)),
        base.mark_rule(strokeWidth=1.5, opacity=0.55, clip=True).encode(y=ends, y2=alt.Y2("high:Q")),
        base.mark_point(filled=True, size=55, opacity=1).encode(y=value, tooltip=tooltip),
        base.mark_text(dy=-11, fontSize=11, fontWeight=600).encode(y=value, text=alt.Text("label:N")),
    ]
    if len(series) > 1:
        layers.append(_end_names(lines or rows, series, x, y))
    return _single(alt.layer(*layers), y.title, HEIGHT + 20)


def scatter(rows: Rows, line: Rows, series: Sequence[Key], x: Axis, y: Axis) -> Spec:
    """Points, and the line that they should follow. Rows: `x`, `y`, `series`, `shown`."""
    import altair as alt

    colours = _colours("series", series)
    place: dict[str, Any] = {"x": _x(x, "x"), "y": _y(y, "y")}
    points = (
        alt.Chart(data(rows))
        .mark_point(filled=True, size=38, opacity=0.6)
        .encode(**place, color=colours, tooltip=_tooltip(shown="interval"))
    )
    rule = (
        alt.Chart(data(line))
        .mark_line(strokeWidth=1.4, color="var(--ink)", strokeDash=[5, 3])
        .encode(**place)
    )
    return _single(points + rule, y.title, HEIGHT + 20)


def frontier(
    cloud: Rows,
    points: Rows,
    curve: Rows,
    band: Rows,
    series: Sequence[Key],
    x: Axis,
    y: Axis,
    corners: Rows = (),
) -> Spec:
    """All intervals, those on the frontier by their limit, with the hull and its interval.

    Rows: `x`, `y`, `shown`; of `points` also `series`; of `band` `x`, `low`, `high`. `corners` is a line
    through the work actually done.
    """
    import altair as alt

    place: dict[str, Any] = {"x": _x(x, "x"), "y": _y(y, "y")}
    layers = []
    if band:
        layers.append(
            alt.Chart(data(band))
            .mark_area(opacity=0.12, color="var(--ink)")
            .encode(x=_x(x, "x"), y=alt.Y("low:Q", scale=_scale(y)), y2=alt.Y2("high:Q"))
        )
    everything = alt.Chart(data(cloud)).encode(**place, tooltip=_tooltip(shown="interval"))
    layers.append(everything.mark_point(filled=True, size=22, opacity=0.55, color=colour("other")))
    if corners:
        numbered = [{**row, "order": index} for index, row in enumerate(corners)]
        steps = alt.Chart(data(numbered)).encode(**place, order=alt.Order("order:Q"))
        layers.append(steps.mark_line(strokeWidth=0.8, opacity=0.6, color="var(--ink)"))
    hull = alt.Chart(data(curve)).encode(**place, order=alt.Order("x:Q"))
    layers.append(hull.mark_line(strokeWidth=1.5, color="var(--ink)", strokeDash=[5, 3]))
    best = alt.Chart(data(points)).encode(
        **place, color=_colours("series", series), tooltip=_tooltip(shown="on the frontier")
    )
    layers.append(best.mark_point(filled=True, size=70, opacity=1, stroke="var(--card)", strokeWidth=1))
    return _single(alt.layer(*layers), y.title, HEIGHT + 20)


def frontiers(curves: Rows, bands: Rows, points: Rows, series: Sequence[Key], x: Axis, y: Axis) -> Spec:
    """Frontiers of several logs: their points, hulls and the hulls' intervals.

    Rows: `x`, `y`, `series`; of `points` also `shown`; of `bands` `x`, `low`, `high`, `series`.
    """
    import altair as alt

    place: dict[str, Any] = {"x": _x(x, "x"), "y": _y(y, "y")}
    colours = _colours("series", series)
    band = alt.Chart(data(bands)).mark_area(opacity=0.12)
    layers = [
        band.encode(x=_x(x, "x"), y=alt.Y("low:Q", scale=_scale(y)), y2=alt.Y2("high:Q"), color=colours),
        alt.Chart(data(curves))
        .mark_line(strokeWidth=1.8)
        .encode(**place, order=alt.Order("x:Q"), color=colours),
        alt.Chart(data(points))
        .mark_point(filled=True, size=40, opacity=1, stroke="var(--card)", strokeWidth=1)
        .encode(**place, color=colours, tooltip=_tooltip(shown="on the frontier")),
    ]
    return _single(alt.layer(*layers), y.title, HEIGHT + 20)


def laid_over(spec: Spec, rows: Rows, series: Sequence[Key]) -> Spec:
    """Chart with points from another source over it, on its own axes. Rows: `x`, `y`, `series`, `shown`.

    Parameters
    ----------
    spec : Spec
        A chart with one x and one y axis.
    rows : sequence of mappings
    series : sequence of Key
        Sources of the points, with a diamond for each.
    """
    import altair as alt

    spec = copy.deepcopy(spec)
    if "layer" not in spec:
        spec["layer"] = [{part: spec.pop(part) for part in ("mark", "encoding", "data") if part in spec}]
    axes = next(layer["encoding"] for layer in spec["layer"] if {"x", "y"} <= layer["encoding"].keys())
    for key in series:
        selected = [row for row in rows if row["series"] == key.name]
        mark = alt.Chart(data(selected)).mark_point(
            filled=True,
            size=85,
            opacity=1,
            shape="diamond",
            color=colour(key.colour),
            stroke="var(--card)",
            strokeWidth=1,
        )
        layer = mark.encode(x=alt.X("x:Q"), y=alt.Y("y:Q"), tooltip=_tooltip(shown=key.name)).to_dict(
            validate=False
        )
        for side in ("x", "y"):
            shared = {part: axes[side][part] for part in ("axis", "scale") if part in axes[side]}
            layer["encoding"][side] |= shared
        spec["layer"].append({part: layer[part] for part in ("mark", "encoding", "data")})
        spec.setdefault("datasets", {}).update(layer.get("datasets", {}))
    return spec


def grid(rows: Rows, columns: str, lines: str, shade: str) -> Spec:
    """Grid of shares: a cell is darker for a larger share, which is written in it.

    Parameters
    ----------
    rows : sequence of mappings
        `column`, `line`, `value` (0 to 1) and `shown`, in the order of display.
    columns, lines : str
        Names of the columns and of the lines.
    shade : str
        Meaning that gives the colour.
    """
    import altair as alt

    across = list(dict.fromkeys(str(row["column"]) for row in rows))
    down = list(dict.fromkeys(str(row["line"]) for row in rows))
    options: dict[str, Any] = {"labelFontSize": 12, "labelColor": "var(--ink)", "grid": False}
    base = alt.Chart(data(rows)).encode(
        x=alt.X("column:N", sort=across, axis=alt.Axis(title=columns, orient="top", labelAngle=0, **options)),
        y=alt.Y("line:N", sort=down, axis=alt.Axis(title=lines, **options)),
    )
    most = max((_float(row["value"]) for row in rows), default=1.0) or 1.0
    opacity = alt.Opacity("value:Q", scale=alt.Scale(domain=[0.0, most], range=[0.04, 0.6]), legend=None)
    boxes = base.mark_rect(color=colour(shade), stroke="var(--card)", strokeWidth=2).encode(
        opacity=opacity,
        tooltip=_tooltip(line=lines, column=columns, shown="share"),
    )
    words = base.mark_text(fontSize=12, color="var(--ink)").encode(text=alt.Text("shown:N"))
    return _single(boxes + words, "", ROW_HEIGHT * len(down))


def steps(rows: Rows, series: Sequence[Key], x: Axis, y: Axis) -> Spec:
    """Empirical distribution functions. Rows: `x`, `series`, `value`."""
    import altair as alt

    chart = (
        alt.Chart(data(rows))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=_x(x, "x"),
            y=_y(y),
            color=_colours("series", series),
            order=alt.Order("value:Q"),
            tooltip=_tooltip(
                series="what",
                x=alt.Tooltip("x:Q", title=x.title, format=".3~s"),
                value=alt.Tooltip("value:Q", title=y.title, format=".1%"),
            ),
        )
    )
    return _single(chart, y.title, HEIGHT)


def histogram(rows: Rows, x: Axis, y: Axis, shade: str, named: str = "interactions") -> Spec:
    """Boxes over ranges of `x`. Rows: `low`, `high`, `value`, `shown`, and `least`, `most` for a whisker.

    `named` is the name of the items that the boxes count.
    """
    import altair as alt

    chart = (
        alt.Chart(data([{**row, "base": 0} for row in rows]))
        .mark_rect(color=colour(shade), stroke="var(--card)", strokeWidth=1, clip=True)
        .encode(
            x=_x(x, "low"),
            x2=alt.X2("high:Q"),
            y=_y(y, "base"),
            y2=alt.Y2("value:Q"),
            tooltip=_tooltip(shown=named),
        )
    )
    measured = [
        {**row, "middle": (_float(row["low"]) + _float(row["high"])) / 2}
        for row in rows
        if row.get("least") is not None and row.get("most") is not None
    ]
    whiskers = alt.Chart(data(measured)).mark_rule(strokeWidth=1.4, color="var(--ink)", clip=True)
    place = {"x": _x(x, "middle"), "y": alt.Y("least:Q", scale=_scale(y)), "y2": alt.Y2("most:Q")}
    return _single(chart + whiskers.encode(**place) if measured else chart, y.title, HEIGHT)


def strips(items: Sequence[Strip], x: Axis) -> Spec:
    """Quantities over one time axis, below each other."""
    import altair as alt

    times = [_float(row["t"]) for item in items for row in item.rows]
    domain = [min(times, default=0.0), max(times, default=1.0)]
    views = []
    for number, item in enumerate(items):
        last = number == len(items) - 1
        time = alt.X(
            "t:Q",
            scale=alt.Scale(domain=domain, nice=False),
            # A label that stood out over the end would make the drawing smaller.
            axis=alt.Axis(title=x.title if last else None, labels=last, tickCount=6, labelFlush=12),
        )
        axis = alt.Axis(title=None, tickCount=2, minExtent=40, maxExtent=40, **_format(item.format))
        ends = {"domainMin": 0} if item.high is None else {"domain": [0, item.high]}
        base = alt.Chart(data(item.rows)).encode(
            x=time,
            y=alt.Y("value:Q", axis=axis, scale=alt.Scale(**ends), stack=None),
            detail=alt.Detail("segment:N"),
            tooltip=_tooltip(t=alt.Tooltip("t:Q", title=x.title, format=".4~g"), shown=item.title),
        )
        area = base.mark_area(interpolate="step-after", opacity=0.22, color=colour(item.colour), clip=True)
        line = base.mark_line(interpolate="step-after", strokeWidth=1.4, color=colour(item.colour), clip=True)
        views.append((area + line).properties(height=STRIP_HEIGHT, title=_title(item.title)))
    return finished(alt.vconcat(*views, spacing=14).resolve_scale(y="independent").to_dict(validate=False))


def _single(chart: Any, y_title: str, height: float) -> Spec:
    chart = chart.properties(height=height)
    if y_title:
        chart = chart.properties(title=_title(y_title))
    spec = finished(chart.to_dict(validate=False))
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return spec


def _title(text: str) -> alt.TitleParams:
    import altair as alt

    return alt.TitleParams(**above(text))


def above(text: str) -> dict[str, Any]:
    """Name of the vertical axis, flat above it: upright words are hard to read."""
    return {
        "text": text,
        "anchor": "start",
        "frame": "bounds",
        "fontSize": 11,
        "fontWeight": 500,
        "offset": 8,
        "color": "var(--quiet)",
    }


def finished(spec: Spec) -> Spec:
    """Specification with the fonts, colours and lines common to all charts."""
    hair, quiet = "var(--hair)", "var(--quiet)"
    spec["config"] = {
        "background": None,
        "font": FONT,
        "padding": {"left": 2, "right": 14, "top": 4, "bottom": 4},
        "view": {"stroke": None},
        "axis": {
            "domain": False,
            "ticks": False,
            "gridColor": hair,
            "domainColor": hair,
            "labelColor": quiet,
            "labelFontSize": 11,
            "labelPadding": 6,
            "labelOverlap": "greedy",
            "labelSeparation": 6,
            "titleColor": quiet,
            "titleFontSize": 11,
            "titleFontWeight": 500,
            "titlePadding": 8,
        },
        "axisX": {"grid": False, "domain": True, "tickCount": 7},
        "axisY": {"tickCount": 5},
        "text": {"color": "var(--ink)"},
    }
    return spec


def _float(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else math.nan


def _format(text: str) -> dict[str, Any]:
    return {"format": text} if text else {}


def _axis(axis: Axis, title: bool = True) -> alt.Axis:
    """Axis of a chart; that of y has its title above the plot, and room for all of `TICKS_MAX` labels."""
    import altair as alt

    options: dict[str, Any] = _format(axis.format)
    if axis.symbol:
        spaced = "replace(format(datum.value, '~s'), regexp('([0-9.]+)'), '$1 ')"
        options["labelExpr"] = f"{spaced} + '{axis.symbol}'"
    if axis.ticks:
        options["values"] = list(axis.ticks)
        options["tickCount"] = len(axis.ticks)  # Vega thins out even given values to their count
        options["labelOverlap"] = "greedy" if title else False
    return alt.Axis(title=axis.title if title else None, **options)


def _scale(axis: Axis, nice: bool = True) -> alt.Scale:
    import altair as alt

    if axis.low is not None and axis.high is not None:
        # Both ends together: layers would join their own data to an end given by itself.
        return alt.Scale(type="log" if axis.log else "linear", domain=[axis.low, axis.high], nice=False)
    ends: dict[str, Any] = {}
    if axis.low is not None:
        ends["domainMin"] = axis.low
    if axis.high is not None:
        ends["domainMax"] = axis.high
    return alt.Scale(nice=nice, **ends)


def _x(axis: Axis, field: str, nice: bool = True) -> alt.X:
    import altair as alt

    return alt.X(f"{field}:Q", scale=_scale(axis, nice), axis=_axis(axis))


def _y(axis: Axis, field: str = "value", **options: Any) -> alt.Y:
    import altair as alt

    return alt.Y(f"{field}:Q", **options, scale=_scale(axis), axis=_axis(axis, title=False))


def _tooltip(**titles: str | alt.Tooltip) -> list[alt.Tooltip]:
    """Lines shown when the pointer rests on a mark: title of each field, or the whole line."""
    import altair as alt

    return [
        alt.Tooltip(f"{field}:N", title=title) if isinstance(title, str) else title
        for field, title in titles.items()
    ]


def _colours(field: str, series: Sequence[Key]) -> alt.Color:
    """Colours by meaning."""
    return _by_name(field, {item.name: colour(item.colour) for item in series})


def _contrast(field: str, series: Sequence[Key]) -> alt.Color:
    """Ink that is readable on the colour of a series: `--on-<name>`."""
    return _by_name(field, {item.name: f"var(--on-{item.colour})" for item in series})


def _by_name(field: str, colours: Mapping[str, str]) -> alt.Color:
    """Colours by name. The page writes the legend: a legend of Vega does not break its lines."""
    import altair as alt

    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    return alt.Color(f"{field}:N", scale=scale, legend=None)
