"""Wholes and their parts: stacked over time, one or several bars, and a grid of shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from thinktime.documents.charts import channels, frame
from thinktime.documents.charts.axis import Axis, Rows, Spec, number
from thinktime.documents.charts.rows import data
from thinktime.documents.document import Key

if TYPE_CHECKING:
    import altair as alt

BAR_HEIGHT = 38
ROW_HEIGHT = 44
DIGITS_WIDTH = 46
"""Width of a share in digits [px]."""
LABEL_SHARE = 0.08
"""Smallest part of a whole with room for its share in digits."""


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
        tops[place] = low + number(row["value"])
        drawn.append({**row, "low": low, "high": tops[place]})
    chart = (
        alt.Chart(data(drawn))
        .mark_area(interpolate="step-after", clip=True)
        .encode(
            x=channels.x(x, "t", nice=False),
            y=channels.y(y, "high", stack=None),
            y2=alt.Y2("low:Q"),
            color=channels.colours("part", series),
            detail=alt.Detail("segment:N"),
            tooltip=channels.tooltip(part=named[0], shown=named[1]),
        )
    )
    return frame.single(chart, y.title, frame.HEIGHT)


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
            color=channels.colours("part", series),
            tooltip=channels.tooltip(part="state", shown="share"),
        )
    )
    labels = _digits(rows, series, 0.1, 12).encode(y=alt.value(BAR_HEIGHT / 2))
    return frame.single((boxes + labels).resolve_scale(color="independent"), "", BAR_HEIGHT)


def _of_whole(title: str) -> alt.X:
    import altair as alt

    axis = alt.Axis(title=title, format=".0%", grid=False)
    return alt.X("start:Q", scale=alt.Scale(domain=[0, 1], nice=False), axis=axis)


def _digits(rows: Rows, series: Sequence[Key], least: float, size: int) -> Any:
    """Shares written into their boxes, where the box has room; the others are in the table."""
    import altair as alt

    roomy = [
        {**row, "middle": (number(row["start"]) + number(row["end"])) / 2}
        for row in rows
        if number(row["share"]) >= least
    ]
    # A narrow screen has less room than the share alone tells.
    fits = alt.ExprRef(f"datum.share * width < {DIGITS_WIDTH} ? 0 : 1")
    texts = alt.Chart(data(roomy)).mark_text(fontWeight=600, fontSize=size, baseline="middle", opacity=fits)
    return texts.encode(
        x=alt.X("middle:Q"), text=alt.Text("shown:N"), color=channels.contrast("part", series)
    )


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
    y = channels.lines(names)
    boxes = (
        alt.Chart(data(rows))
        .mark_bar(stroke="var(--card)", strokeWidth=1.5)
        .encode(
            x=_of_whole(title),
            x2=alt.X2("end:Q"),
            y=y,
            color=channels.colours("part", series),
            tooltip=channels.tooltip(label="of", part="part", shown="share"),
        )
    )
    labels = _digits(rows, series, LABEL_SHARE, 11).encode(y=y)
    return frame.single((boxes + labels).resolve_scale(color="independent"), "", BAR_HEIGHT * len(names))


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
    most = max((number(row["value"]) for row in rows), default=1.0) or 1.0
    opacity = alt.Opacity("value:Q", scale=alt.Scale(domain=[0.0, most], range=[0.04, 0.6]), legend=None)
    boxes = base.mark_rect(color=frame.colour(shade), stroke="var(--card)", strokeWidth=2).encode(
        opacity=opacity,
        tooltip=channels.tooltip(line=lines, column=columns, shown="share"),
    )
    words = base.mark_text(fontSize=12, color="var(--ink)").encode(text=alt.Text("shown:N"))
    return frame.single(boxes + words, "", ROW_HEIGHT * len(down))
