"""Quantities over one time axis, below each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from thinktime.documents.charts import channels, frame
from thinktime.documents.charts.axis import Axis, Rows, Spec, number
from thinktime.documents.charts.rows import data

STRIP_HEIGHT = 56


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """One row of a timeline: a quantity over time."""

    title: str
    colour: str
    rows: Rows
    """With `t`, `value` and `segment` (a number that changes where the record has a gap)."""
    format: str = ""
    high: float | None = None


def strips(items: Sequence[Strip], x: Axis) -> Spec:
    """Quantities over one time axis, below each other."""
    import altair as alt

    times = [number(row["t"]) for item in items for row in item.rows]
    domain = [min(times, default=0.0), max(times, default=1.0)]
    views = []
    for place, item in enumerate(items):
        last = place == len(items) - 1
        time = alt.X(
            "t:Q",
            scale=alt.Scale(domain=domain, nice=False),
            # A label that stood out over the end would make the drawing smaller.
            axis=alt.Axis(title=x.title if last else None, labels=last, tickCount=6, labelFlush=12),
        )
        axis = alt.Axis(
            title=None, tickCount=2, minExtent=40, maxExtent=40, **channels.formatted(item.format)
        )
        ends = {"domainMin": 0} if item.high is None else {"domain": [0, item.high]}
        base = alt.Chart(data(item.rows)).encode(
            x=time,
            y=alt.Y("value:Q", axis=axis, scale=alt.Scale(**ends), stack=None),
            detail=alt.Detail("segment:N"),
            tooltip=channels.tooltip(t=alt.Tooltip("t:Q", title=x.title, format=".4~g"), shown=item.title),
        )
        area = base.mark_area(
            interpolate="step-after", opacity=0.22, color=frame.colour(item.colour), clip=True
        )
        line = base.mark_line(
            interpolate="step-after", strokeWidth=1.4, color=frame.colour(item.colour), clip=True
        )
        views.append((area + line).properties(height=STRIP_HEIGHT, title=frame.title(item.title)))
    return frame.finished(
        alt.vconcat(*views, spacing=14).resolve_scale(y="independent").to_dict(validate=False)
    )
