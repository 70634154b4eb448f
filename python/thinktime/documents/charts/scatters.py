"""Clouds of points, with the lines and frontiers through them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from thinktime.documents.charts import channels, frame
from thinktime.documents.charts.axis import Axis, Rows, Spec
from thinktime.documents.charts.rows import data
from thinktime.documents.document import Key


def scatter(rows: Rows, line: Rows, series: Sequence[Key], x: Axis, y: Axis) -> Spec:
    """Points, and the line that they should follow. Rows: `x`, `y`, `series`, `shown`."""
    import altair as alt

    colours = channels.colours("series", series)
    place: dict[str, Any] = {"x": channels.x(x, "x"), "y": channels.y(y, "y")}
    points = (
        alt.Chart(data(rows))
        .mark_point(filled=True, size=38, opacity=0.6)
        .encode(**place, color=colours, tooltip=channels.tooltip(shown="interval"))
    )
    rule = (
        alt.Chart(data(line))
        .mark_line(strokeWidth=1.4, color="var(--ink)", strokeDash=[5, 3])
        .encode(**place)
    )
    return frame.single(points + rule, y.title, frame.HEIGHT + 20)


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

    place: dict[str, Any] = {"x": channels.x(x, "x"), "y": channels.y(y, "y")}
    layers = []
    if band:
        layers.append(
            alt.Chart(data(band))
            .mark_area(opacity=0.12, color="var(--ink)")
            .encode(x=channels.x(x, "x"), y=alt.Y("low:Q", scale=channels.scale(y)), y2=alt.Y2("high:Q"))
        )
    everything = alt.Chart(data(cloud)).encode(**place, tooltip=channels.tooltip(shown="interval"))
    layers.append(everything.mark_point(filled=True, size=22, opacity=0.55, color=frame.colour("other")))
    if corners:
        numbered = [{**row, "order": index} for index, row in enumerate(corners)]
        steps = alt.Chart(data(numbered)).encode(**place, order=alt.Order("order:Q"))
        layers.append(steps.mark_line(strokeWidth=0.8, opacity=0.6, color="var(--ink)"))
    hull = alt.Chart(data(curve)).encode(**place, order=alt.Order("x:Q"))
    layers.append(hull.mark_line(strokeWidth=1.5, color="var(--ink)", strokeDash=[5, 3]))
    best = alt.Chart(data(points)).encode(
        **place, color=channels.colours("series", series), tooltip=channels.tooltip(shown="on the frontier")
    )
    layers.append(best.mark_point(filled=True, size=70, opacity=1, stroke="var(--card)", strokeWidth=1))
    return frame.single(alt.layer(*layers), y.title, frame.HEIGHT + 20)


def frontiers(curves: Rows, bands: Rows, points: Rows, series: Sequence[Key], x: Axis, y: Axis) -> Spec:
    """Frontiers of several logs: their points, hulls and the hulls' intervals.

    Rows: `x`, `y`, `series`; of `points` also `shown`; of `bands` `x`, `low`, `high`, `series`.
    """
    import altair as alt

    place: dict[str, Any] = {"x": channels.x(x, "x"), "y": channels.y(y, "y")}
    colours = channels.colours("series", series)
    band = alt.Chart(data(bands)).mark_area(opacity=0.12)
    layers = [
        band.encode(
            x=channels.x(x, "x"),
            y=alt.Y("low:Q", scale=channels.scale(y)),
            y2=alt.Y2("high:Q"),
            color=colours,
        ),
        alt.Chart(data(curves))
        .mark_line(strokeWidth=1.8)
        .encode(**place, order=alt.Order("x:Q"), color=colours),
        alt.Chart(data(points))
        .mark_point(filled=True, size=40, opacity=1, stroke="var(--card)", strokeWidth=1)
        .encode(**place, color=colours, tooltip=channels.tooltip(shown="on the frontier")),
    ]
    return frame.single(alt.layer(*layers), y.title, frame.HEIGHT + 20)


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
            color=frame.colour(key.colour),
            stroke="var(--card)",
            strokeWidth=1,
        )
        layer = mark.encode(x=alt.X("x:Q"), y=alt.Y("y:Q"), tooltip=channels.tooltip(shown=key.name)).to_dict(
            validate=False
        )
        for side in ("x", "y"):
            shared = {part: axes[side][part] for part in ("axis", "scale") if part in axes[side]}
            layer["encoding"][side] |= shared
        spec["layer"].append({part: layer[part] for part in ("mark", "encoding", "data")})
        spec.setdefault("datasets", {}).update(layer.get("datasets", {}))
    return spec
