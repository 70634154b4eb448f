"""Heat maps: many lines of shares over time, too many to write each into its cell."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from thinktime.documents.charts import frame
from thinktime.documents.charts.axis import Rows, Spec

LINE_HEIGHT = 16
"""Height of a line: room for its name [px]."""
NAME_WIDTH = 120
"""Longest name of a line [px]: a narrow screen needs the rest for the cells."""


def heat(rows: Rows, columns: str, lines: str, shade: str, ticks: Mapping[str, str]) -> Spec:
    """Lines of cells that are darker for a larger share, from nothing at 0 to the full colour at 1.

    Parameters
    ----------
    rows : sequence of mappings
        `column`, `line`, `value` (0 to 1) and `shown`, in the order of display; a cell that is missing was
        not measured.
    columns, lines : str
        Names of the columns and of the lines.
    shade : str
        Meaning that gives the colour.
    ticks : mapping of str to str
        Labels of the columns that have one, by column.
    """
    import altair as alt

    across = list(dict.fromkeys(str(row["column"]) for row in rows))
    down = list(dict.fromkeys(str(row["line"]) for row in rows))
    expression = f"({json.dumps(dict(ticks))})[datum.value] || ''"
    axes: dict[str, Any] = {"labelColor": "var(--ink)", "grid": False, "labelOverlap": False}
    x = alt.Axis(title=columns, orient="top", labelAngle=0, labelFontSize=11, labelExpr=expression, **axes)
    y = alt.Axis(title=None, labelFontSize=11, labelLimit=NAME_WIDTH, minExtent=0, labelPadding=3, **axes)
    values = alt.Data(values=[dict(row) for row in rows])  # type: ignore[no-untyped-call]
    base = alt.Chart(values).encode(
        x=alt.X("column:O", sort=across, axis=x, scale=alt.Scale(paddingInner=0.0)),
        y=alt.Y("line:O", sort=down, axis=y, scale=alt.Scale(paddingInner=0.0)),
    )
    opacity = alt.Opacity("value:Q", scale=alt.Scale(domain=[0.0, 1.0], range=[0.03, 1.0]), legend=None)
    cells = base.mark_rect(color=frame.colour(shade)).encode(
        opacity=opacity,
        tooltip=[
            alt.Tooltip(f"{field}:N", title=title)
            for field, title in (("line", lines), ("column", columns), ("shown", "share"))
        ],
    )
    spec = cells.properties(height=LINE_HEIGHT * len(down)).to_dict(validate=False)
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return frame.finished(spec)
