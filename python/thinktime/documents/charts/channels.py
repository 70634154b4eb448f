"""From fields of the rows to places, colours and tooltips.

A channel is given by its class: for a plain text, Altair would look through all of its classes each time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from thinktime.documents.charts import frame
from thinktime.documents.charts.axis import Axis
from thinktime.documents.document import Key

if TYPE_CHECKING:
    import altair as alt

NAME_CHARACTERS = 26
"""Longer names of lines are broken, which leaves a narrow screen room for the plot."""
NAME_HEIGHT = 14
"""Of a line of a name, and least height of all lines of `caterpillar` under one [px]."""


def lines(names: Sequence[str], **options: Any) -> alt.Y:
    """Vertical position of lines that have names."""
    import altair as alt

    written = {name: broken(name) for name in names}
    if double := [name for name, words in written.items() if len(words) > 1]:
        options["labelExpr"] = f"({json.dumps(written)})[datum.label]"
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


def broken(name: str, lines_max: int = 2) -> list[str]:
    """Name in lines of `NAME_CHARACTERS`, or longer ones where there would be too many."""
    import textwrap

    width = NAME_CHARACTERS
    while len(lines := textwrap.wrap(name, width, break_long_words=False) or [name]) > lines_max:
        width += 2
    return lines


def formatted(text: str) -> dict[str, Any]:
    """The option of an axis for a d3 number format; none for an empty one."""
    return {"format": text} if text else {}


def _axis(axis: Axis, title: bool = True) -> alt.Axis:
    """Axis of a chart; that of y has its title above the plot, and room for all of `TICKS_MAX` labels."""
    import altair as alt

    options: dict[str, Any] = formatted(axis.format)
    if axis.symbol:
        spaced = "replace(format(datum.value, '~s'), regexp('([0-9.]+)'), '$1 ')"
        options["labelExpr"] = f"{spaced} + '{axis.symbol}'"
    if axis.ticks:
        options["values"] = list(axis.ticks)
        options["tickCount"] = len(axis.ticks)  # Vega thins out even given values to their count
        options["labelOverlap"] = "greedy" if title else False
    return alt.Axis(title=axis.title if title else None, **options)


def scale(axis: Axis, nice: bool = True) -> alt.Scale:
    """Scale of an axis between its ends, where it has any."""
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


def x(axis: Axis, field: str, nice: bool = True) -> alt.X:
    """Horizontal position by a field."""
    import altair as alt

    return alt.X(f"{field}:Q", scale=scale(axis, nice), axis=_axis(axis))


def y(axis: Axis, field: str = "value", **options: Any) -> alt.Y:
    """Vertical position by a field."""
    import altair as alt

    return alt.Y(f"{field}:Q", **options, scale=scale(axis), axis=_axis(axis, title=False))


def tooltip(**titles: str | alt.Tooltip) -> list[alt.Tooltip]:
    """Lines shown when the pointer rests on a mark: title of each field, or the whole line."""
    import altair as alt

    return [
        alt.Tooltip(f"{field}:N", title=title) if isinstance(title, str) else title
        for field, title in titles.items()
    ]


def colours(field: str, series: Sequence[Key]) -> alt.Color:
    """Colours by meaning."""
    return _by_name(field, {item.name: frame.colour(item.colour) for item in series})


def contrast(field: str, series: Sequence[Key]) -> alt.Color:
    """Ink that is readable on the colour of a series: `--on-<name>`."""
    return _by_name(field, {item.name: f"var(--on-{item.colour})" for item in series})


def _by_name(field: str, colours: Mapping[str, str]) -> alt.Color:
    """Colours by name. The page writes the legend: a legend of Vega does not break its lines."""
    import altair as alt

    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    return alt.Color(f"{field}:N", scale=scale, legend=None)
