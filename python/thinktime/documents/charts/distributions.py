"""Distributions: empirical functions and histograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from thinktime.documents.charts import channels, frame
from thinktime.documents.charts.axis import Axis, Rows, Spec, number
from thinktime.documents.charts.rows import data
from thinktime.documents.document import Key

if TYPE_CHECKING:
    pass


def steps(rows: Rows, series: Sequence[Key], x: Axis, y: Axis) -> Spec:
    """Empirical distribution functions. Rows: `x`, `series`, `value`."""
    import altair as alt

    chart = (
        alt.Chart(data(rows))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=channels.x(x, "x"),
            y=channels.y(y),
            color=channels.colours("series", series),
            order=alt.Order("value:Q"),
            tooltip=channels.tooltip(
                series="what",
                x=alt.Tooltip("x:Q", title=x.title, format=".3~s"),
                value=alt.Tooltip("value:Q", title=y.title, format=".1%"),
            ),
        )
    )
    return frame.single(chart, y.title, frame.HEIGHT)


def histogram(rows: Rows, x: Axis, y: Axis, shade: str, named: str = "interactions") -> Spec:
    """Boxes over ranges of `x`. Rows: `low`, `high`, `value`, `shown`, and `least`, `most` for a whisker.

    `named` is the name of the items that the boxes count.
    """
    import altair as alt

    chart = (
        alt.Chart(data([{**row, "base": 0} for row in rows]))
        .mark_rect(color=frame.colour(shade), stroke="var(--card)", strokeWidth=1, clip=True)
        .encode(
            x=channels.x(x, "low"),
            x2=alt.X2("high:Q"),
            y=channels.y(y, "base"),
            y2=alt.Y2("value:Q"),
            tooltip=channels.tooltip(shown=named),
        )
    )
    measured = [
        {**row, "middle": (number(row["low"]) + number(row["high"])) / 2}
        for row in rows
        if row.get("least") is not None and row.get("most") is not None
    ]
    whiskers = alt.Chart(data(measured)).mark_rule(strokeWidth=1.4, color="var(--ink)", clip=True)
    place = {
        "x": channels.x(x, "middle"),
        "y": alt.Y("least:Q", scale=channels.scale(y)),
        "y2": alt.Y2("most:Q"),
    }
    return frame.single(chart + whiskers.encode(**place) if measured else chart, y.title, frame.HEIGHT)
