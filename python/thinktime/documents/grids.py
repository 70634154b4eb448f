"""A grid of shares: how often two things were in each pair of their states."""

from __future__ import annotations

from typing import Any

from thinktime.documents import charts
from thinktime.documents.charts import Rows, Spec

ROW_HEIGHT = 44


def grid(rows: Rows, columns: str, lines: str, shade: str) -> Spec:
    """Cells that are the darker the larger their share, with the share written in them.

    Parameters
    ----------
    rows : sequence of mappings
        `column`, `line`, `value` (0 to 1) and `shown`, in the order in which they stand.
    columns, lines : str
        What the columns and the lines are called.
    shade : str
        Meaning that gives the colour.
    """
    import altair as alt

    across = list(dict.fromkeys(str(row["column"]) for row in rows))
    down = list(dict.fromkeys(str(row["line"]) for row in rows))
    data = alt.Data(values=[dict(row) for row in rows])  # type: ignore[no-untyped-call]
    options: dict[str, Any] = {"labelFontSize": 12, "labelColor": "var(--ink)", "grid": False}
    base = alt.Chart(data).encode(
        x=alt.X("column:N", sort=across, axis=alt.Axis(title=columns, orient="top", labelAngle=0, **options)),
        y=alt.Y("line:N", sort=down, axis=alt.Axis(title=lines, **options)),
    )
    most = max((float(str(row["value"])) for row in rows), default=1.0) or 1.0
    opacity = alt.Opacity("value:Q", scale=alt.Scale(domain=[0.0, most], range=[0.04, 0.6]), legend=None)
    boxes = base.mark_rect(color=charts.colour(shade), stroke="var(--card)", strokeWidth=2).encode(
        opacity=opacity,
        tooltip=[
            alt.Tooltip("line:N", title=lines),
            alt.Tooltip("column:N", title=columns),
            alt.Tooltip("shown:N", title="share"),
        ],
    )
    words = base.mark_text(fontSize=12, color="var(--ink)").encode(text="shown:N")
    spec = (boxes + words).properties(height=ROW_HEIGHT * len(down)).to_dict(validate=False)
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return charts.finished(spec)
