"""Diagrams of boxes and arrows: a queueing network with its contents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from thinktime.documents.charts import frame
from thinktime.documents.charts.axis import Spec

HEIGHT = 260
HEADS = {(1, 0): "triangle-right", (-1, 0): "triangle-left", (0, 1): "triangle-up", (0, -1): "triangle-down"}


@dataclass(frozen=True, slots=True)
class Box:
    """Place with its name and a number, centred on a point."""

    name: str
    figure: str
    x: float
    y: float
    colour: str = "plain"


@dataclass(frozen=True, slots=True)
class Arrow:
    """Path from the first of its points to the last, by straight lines along the axes."""

    points: tuple[tuple[float, float], ...]
    label: str = ""
    """Label above the first line."""

    @property
    def head(self) -> str:
        """Shape of its end."""
        (x0, y0), (x1, y1) = self.points[-2:]
        return HEADS[(x1 > x0) - (x1 < x0), (y1 > y0) - (y1 < y0)]


def diagram(boxes: Sequence[Box], arrows: Sequence[Arrow], width: float, height: float) -> Spec:
    """Diagram in units in which a box is 2 wide and 1 high."""
    import altair as alt

    ends = {"x": (-0.1, width), "y": (-0.1, height)}

    def place(axis: str, field: str) -> Any:
        channel = alt.X if axis == "x" else alt.Y
        low, high = ends[axis]
        return channel(f"{field}:Q", axis=None, scale=alt.Scale(domain=[low, high], nice=False))

    def data(rows: list[dict[str, Any]]) -> alt.Data:
        return alt.Data(values=rows)  # type: ignore[no-untyped-call]

    lines = [
        {"x": x, "y": y, "arrow": number, "order": order}
        for number, arrow in enumerate(arrows)
        for order, (x, y) in enumerate(arrow.points)
    ]
    way = alt.Chart(data(lines)).mark_line(color="var(--quiet)", strokeWidth=1.3)
    layers: list[Any] = [
        way.encode(
            x=place("x", "x"), y=place("y", "y"), detail=alt.Detail("arrow:N"), order=alt.Order("order:Q")
        )
    ]
    for arrow in arrows:
        (x0, y0), (x, y) = arrow.points[0], arrow.points[-1]
        end = alt.Chart(data([{"x": x, "y": y}]))
        mark = end.mark_point(shape=arrow.head, filled=True, size=55, opacity=1, color="var(--quiet)")
        layers.append(mark.encode(x=place("x", "x"), y=place("y", "y")))
        if arrow.label:
            middle = {"x": (x0 + arrow.points[1][0]) / 2, "y": y0, "text": arrow.label}
            words = alt.Chart(data([middle])).mark_text(dy=-9, fontSize=11, color="var(--quiet)")
            layers.append(words.encode(x=place("x", "x"), y=place("y", "y"), text=alt.Text("text:N")))
    layers.extend(_box(box, place, data) for box in boxes)
    spec = alt.layer(*layers).properties(height=HEIGHT).to_dict(validate=False)
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return frame.finished(spec)


def _box(box: Box, place: Any, data: Any) -> Any:
    import altair as alt

    sides = {"left": box.x - 1, "right": box.x + 1, "low": box.y - 0.5, "high": box.y + 0.5}
    outline = (
        alt.Chart(data([sides]))
        .mark_rect(fill="var(--card)", stroke=frame.colour(box.colour), strokeWidth=1.6, cornerRadius=4)
        .encode(x=place("x", "left"), x2=alt.X2("right:Q"), y=place("y", "low"), y2=alt.Y2("high:Q"))
    )
    base = alt.Chart(data([{"x": box.x, "y": box.y, "name": box.name, "figure": box.figure}])).encode(
        x=place("x", "x"), y=place("y", "y")
    )
    name = base.mark_text(dy=-7, fontSize=11, fontWeight=600).encode(text=alt.Text("name:N"))
    figure = base.mark_text(dy=9, fontSize=11, color="var(--quiet)").encode(text=alt.Text("figure:N"))
    return outline + name + figure
