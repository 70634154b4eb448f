"""What all charts have in common: size, fonts, colours and lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thinktime.documents.charts.axis import Spec

if TYPE_CHECKING:
    import altair as alt

HEIGHT = 250
"""Of a plot [px]."""
FONT = "Inter, Helvetica Neue, Helvetica, Arial, sans-serif"
MARGIN = 60
"""Width of a plot of `strips` outside its view: the vertical axis and the padding [px]."""


def colour(name: str) -> str:
    """Colour of a meaning."""
    return f"var(--c-{name})"


def at_width(spec: Spec, width: int) -> Spec:
    """Specification for a column `width` pixels wide; `fitted` in report.js is its twin."""
    if "vconcat" in spec:
        return spec | {"vconcat": [view | {"width": width - MARGIN} for view in spec["vconcat"]]}
    return spec | {"width": width}


def single(chart: Any, y_title: str, height: float) -> Spec:
    """Specification of a chart of one plot; the name of its vertical axis is empty for none."""
    chart = chart.properties(height=height)
    if y_title:
        chart = chart.properties(title=title(y_title))
    spec = finished(chart.to_dict(validate=False))
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return spec


def title(text: str) -> alt.TitleParams:
    """Name of the vertical axis, as Altair takes it."""
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
