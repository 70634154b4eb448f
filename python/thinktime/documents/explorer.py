"""Figures and numbers that a reader varies on the page itself, among combinations computed beforehand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thinktime.documents.charts import frame
from thinktime.documents.charts.axis import Axis, Spec
from thinktime.documents.document import Col, Cols, Figure, Table

HEIGHT = 270
Rows = Sequence[Mapping[str, object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """Value that a control can take."""

    text: str
    """Shown next to the control."""
    key: str
    """In the address of the page; unique in its control."""
    argument: str
    """Argument of the command that computes the same; empty for none. What begins with a comma goes on with
    that of the control before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """Slider over values."""

    name: str
    label: str
    options: tuple[Option, ...]
    start: int
    """Option that is set when the page opens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Varied:
    """Something that depends on some of the controls."""

    by: tuple[str, ...]
    """Names of the controls."""
    values: tuple[Any, ...]
    """For every combination of their options, the last control varying fastest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Number that depends on the controls."""

    name: str
    label: str
    texts: Varied
    """Value with its interval and unit, as a table prints it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """Figure that depends on the controls."""

    figure: Figure
    words: Varied
    """Content of the figure in words: its `alt`."""
    columns: tuple[str, ...]
    """Readings in the figure's data table, which has a row for each option of a control."""
    data: Mapping[str, Varied]
    """By name of a data set of the chart, its rows as lists of numbers."""
    fields: Mapping[str, tuple[str, ...]]
    """By name of a data set, the names of the numbers in a row."""
    ends: Mapping[str, Varied]
    """Ends of the axes, by name: ``right`` and ``top``."""
    along: str | None = None
    """That control; None for the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explorer:
    """Answer that follows the controls: sentences, numbers and figures."""

    title: str
    controls: tuple[Control, ...]
    lines: Varied
    """Sentences of the answer."""
    always: tuple[str, ...]
    """Sentences that no control changes."""
    caveats: Varied
    """What to beware of, in sentences."""
    readings: tuple[Reading, ...]
    moved: tuple[Moved, ...]
    command: str
    """Command that computes the same, without the arguments of the controls."""
    note: str
    """What the controls can and cannot show."""

    def start(self, varied: Varied) -> Any:
        """Value of `varied` when the page opens."""
        return at_start(varied, self.controls)

    @property
    def full_command(self) -> str:
        """Command that computes what the page shows when it opens."""
        command = self.command
        for control in self.controls:
            argument = control.options[control.start].argument
            command += argument if argument.startswith(",") or not argument else f" {argument}"
        return command

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Figures, in their order."""
        return tuple(one.figure for one in self.moved)

    def data(self) -> dict[str, Any]:
        """Everything that the script of the page needs, texts that occur repeatedly once."""
        texts: dict[str, int] = {}

        def kept(varied: Varied, convert: Any) -> dict[str, Any]:
            return {"by": varied.by, "values": [convert(value) for value in varied.values]}

        def text(value: str) -> int:
            return texts.setdefault(value, len(texts))

        return {
            "controls": [
                {
                    "name": control.name,
                    "options": [[one.text, one.key, one.argument] for one in control.options],
                }
                for control in self.controls
            ],
            "lines": kept(self.lines, lambda lines: [text(line) for line in lines]),
            "caveats": kept(self.caveats, lambda lines: [text(line) for line in lines]),
            "readings": {one.name: kept(one.texts, text) for one in self.readings},
            "figures": {
                one.figure.name: {
                    "data": {
                        name: kept(varied, list) | {"fields": one.fields[name]}
                        for name, varied in one.data.items()
                    },
                    "ends": {name: kept(varied, float) for name, varied in one.ends.items()},
                    "words": kept(one.words, text),
                    "table": [one.figure.data.name, one.columns, one.along or self.controls[0].name],
                }
                for one in self.moved
            },
            "command": self.command,
            "texts": list(texts),
        }


def at_start(varied: Varied, controls: Sequence[Control], **at: int) -> Any:
    """Value of `varied` where each control is at its start, but those that are named at an option."""
    by_name = {control.name: control for control in controls}
    index = 0
    for name in varied.by:
        index = index * len(by_name[name].options) + at.get(name, by_name[name].start)
    return varied.values[index]


def listing(name: str, caption: str, controls: Sequence[Control], readings: Sequence[Reading]) -> Table:
    """Data table of readings: a row for each option of the first control, the others at their start."""
    first = controls[0]
    return Table.of(
        range(len(first.options)),
        Col(first.label.lower(), lambda at: first.options[at].text),
        Cols(
            [reading.label for reading in readings],
            lambda at: [at_start(reading.texts, controls, **{first.name: at}) for reading in readings],
        ),
        name=name,
        caption=caption,
        folded=True,
    )


def chart(rows: Mapping[str, Rows], ends: Mapping[str, float], x: Axis, y: Axis) -> Spec:
    """Chart of a curve whose data sets and ends of axes can be replaced while it is shown.

    Parameters
    ----------
    rows : mapping
        Data sets: ``curve`` (`x`, `low`, `value`, `high`, and `upper` for a second line), ``measured`` (the
        same), ``goal`` (`value`), ``knee`` (`x`), ``cliff`` (`x`, `end`), ``chosen`` (`x`, `value`); those
        that are missing are not drawn.
    ends : mapping
        ``right`` and ``top`` of the axes.
    x, y : Axis
    """
    spec: Spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "datasets": {name: [dict(row) for row in values] for name, values in rows.items()},
        "params": [{"name": name, "value": value} for name, value in ends.items()],
        "title": frame.above(y.title),
        "height": HEIGHT,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "layer": [
            layer
            for layer in _layers(x)
            if layer["data"]["name"] in rows
            and (layer["encoding"].get("y", {}).get("field") != "upper" or "upper" in rows["curve"][0])
        ],
    }
    return frame.finished(spec)


def _layers(x: Axis) -> Iterator[dict[str, Any]]:
    def along(field: str) -> dict[str, Any]:
        return {"field": field, "type": "quantitative", "axis": {"title": x.title}, **_scale("right")}

    def up(field: str) -> dict[str, Any]:
        return {"field": field, "type": "quantitative", "axis": {"title": None}, **_scale("top")}

    def layer(name: str, kind: str, colour: str, encoding: Mapping[str, Any], **mark: Any) -> dict[str, Any]:
        drawn = {"type": kind, "clip": True, "color": colour, **mark}
        return {"data": {"name": name}, "mark": drawn, "encoding": encoding}

    user, p90, system, memory = (frame.colour(name) for name in ("user", "p90", "system", "memory"))
    dashed = {"strokeWidth": 1.6, "strokeDash": [6, 4]}
    place, value = along("x"), up("value")
    between = {"x": place, "y": up("low"), "y2": {"field": "high"}}
    yield layer("cliff", "rect", memory, {"x": place, "x2": {"field": "end"}}, opacity=0.14)
    yield layer("cliff", "rule", memory, {"x": place}, strokeWidth=2)
    yield layer("knee", "rule", frame.colour("queue"), {"x": place}, **dashed)
    yield layer("goal", "rule", frame.colour("interrupt"), {"y": value}, **dashed)
    yield layer("curve", "area", user, between, opacity=0.18)
    yield layer("curve", "line", p90, {"x": place, "y": up("upper")}, strokeWidth=2)
    yield layer("curve", "line", user, {"x": place, "y": value}, strokeWidth=2.5)
    yield layer("measured", "rule", system, between, strokeWidth=1.6, opacity=0.6)
    filled = {"filled": True, "opacity": 1}
    yield layer("measured", "point", system, {"x": place, "y": value}, size=55, **filled)
    yield layer("chosen", "rule", "var(--ink)", {"x": place}, strokeWidth=1, opacity=0.6)
    dot = {"stroke": "var(--card)", "strokeWidth": 2, "size": 90, **filled}
    yield layer("chosen", "point", user, {"x": place, "y": value}, **dot)


def _scale(end: str) -> dict[str, Any]:
    return {"scale": {"domain": [0, {"expr": end}], "nice": False}}
