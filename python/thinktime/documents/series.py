"""Points of a figure, from which its chart, its data table and its text follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any

from thinktime.documents import format as shown
from thinktime.documents.charts import distributions, estimated, scatters, wholes
from thinktime.documents.charts.axis import TICKS_MAX, Axis, Chart
from thinktime.documents.document import Cell, Column, Key, Table
from thinktime.documents.wording import ends, listed
from thinktime.stats.estimate import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Value of a figure: its key, its place and its size."""

    key: Key
    """Curve, colour or part that the point belongs to."""
    y: Estimate | float | None
    """None if not measured; the table shows it as absent, the chart omits it."""
    label: str = ""
    """Name of the place: of a line of `dots` or `bars`, and of a row of the data table."""
    x: float | None = None
    """Place on a numeric axis."""
    words: str = ""
    """Shown when the pointer rests on the point; empty for the value with its interval and unit."""
    few: bool = False
    """True if based on too little data to be joined to the other points."""
    relative_to: float = 1.0
    """Divisor of the drawn value; table and text keep the value itself."""
    band: tuple[float, float] | None = None
    """Wider band that holds the whole curve."""
    mark: str = ""
    """Name drawn at the point by `labelled`."""

    def row(self, unit: str) -> dict[str, Any]:
        """Datum of a chart."""
        assert self.y is not None
        value, (low, high) = (
            (self.y.value, ends(self.y)) if isinstance(self.y, Estimate) else (self.y, (self.y, self.y))
        )
        low, high = sorted((low / self.relative_to, high / self.relative_to))
        row: dict[str, Any] = {"label": self.label} if self.x is None else {"x": self.x}
        row |= {
            "series": self.key.name,
            "value": value / self.relative_to,
            "low": low,
            "high": high,
            "shown": self.words or shown.cell(self.y, unit),
        }
        if self.x is not None:
            row["few"] = self.few
        if self.band is not None:
            row["low_all"], row["high_all"] = self.band
        return row


@dataclass(frozen=True, slots=True)
class Series:
    """Points of a figure in the order in which they are drawn and listed.

    Parameters
    ----------
    points : sequence of Point
    unit : str
        Unit of values that are not estimates, and of the columns of the data table.
    order : tuple of Key
        Keys in the order of the legend; empty for that of their first points.
    """

    points: Sequence[Point]
    _: KW_ONLY
    unit: str = ""
    order: tuple[Key, ...] = ()

    @property
    def keys(self) -> tuple[Key, ...]:
        """Every key, once."""
        return self.order or tuple(dict.fromkeys(point.key for point in self.points))

    @property
    def legend(self) -> tuple[Key, ...]:
        """Keys for the legend: those with measured points, if there are several."""
        measured = {point.key for point in self.points if point.y is not None}
        keys = tuple(key for key in self.keys if key in measured)
        return keys if len(keys) > 1 else ()

    def of(self, key: Key) -> list[Point]:
        """Measured points of one key."""
        return [point for point in self.points if point.key == key and point.y is not None]

    def rows(self) -> list[dict[str, Any]]:
        """Measured points as data of a chart."""
        return [point.row(self.unit) for point in self.points if point.y is not None]

    def values(self, *fields: str) -> list[float]:
        """Numbers that an axis must hold: any of ``value``, ``low``, ``high``, ``low_all``, ``high_all``."""
        return [row[field] for row in self.rows() for field in fields if field in row]

    def log_axis(self, title: str, symbol: str = "", *fields: str) -> Axis:
        """Logarithmic axis for the points above zero: their values and upper ends, or other `fields`."""
        rows = [row for row in self.rows() if row["value"] > 0]
        return Axis.logarithmic(
            title, [row[field] for row in rows for field in fields or ("value", "high")], symbol
        )

    # Tables

    def table(self, name: str, caption: str, heading: Column | str, *, folded: bool = False) -> Table:
        """Data table with a row for each place and a column for each key."""
        rows: dict[str | float, dict[str, Cell]] = {}
        for point in self.points:
            rows.setdefault(_place(point), {})[point.key.name] = point.y
        return Table(
            name=name,
            caption=caption,
            columns=(
                heading if isinstance(heading, Column) else Column(heading),
                *(Column(key.name, unit=self.unit) for key in self.keys),
            ),
            rows=tuple((place, *(cells.get(key.name) for key in self.keys)) for place, cells in rows.items()),
            folded=folded,
        )

    def list_table(self, name: str, caption: str, *headings: Column | str) -> Table:
        """Data table with a row for each point: its place, its key and its value under three headings."""
        return Table(
            name=name,
            caption=caption,
            columns=tuple(item if isinstance(item, Column) else Column(item) for item in headings),
            rows=tuple((_place(point), point.key.name, point.y) for point in self.points),
        )

    # Words

    def listed(self, key: Key | None = None, *, interval: bool = True) -> str:
        """Places with their values in a sentence: fork 377 ± 12 µs and page fault 2.1 ± 0.1 µs.

        Parameters
        ----------
        key : Key, optional
            Points to list; by default those of the first key.
        interval : bool
            Whether estimates are shown with their intervals.
        """
        points = [point for point in self.points if point.key == (key or self.keys[0])]
        return listed([f"{_place(point)} {self._shown(point.y, interval)}" for point in points])

    def course(self, key: Key, noun: str = "") -> str:
        """First and last value of a curve: 3 s with 1, 5 s with 9 users; "not measured" without a point.

        Parameters
        ----------
        key : Key
        noun : str
            Unit of the places (`users`), where their labels do not name it.
        """
        points = [point for point in self.of(key) if not point.few] or self.of(key)
        if not points:
            return "not measured"
        ends = [f"{shown.cell(point.y, self.unit)} with {_place(point)}" for point in (points[0], points[-1])]
        return " ".join(filter(None, [", ".join(dict.fromkeys(ends)), noun]))

    def _shown(self, value: Estimate | float | None, interval: bool) -> str:
        if isinstance(value, Estimate) and not interval:
            return shown.quantity(value.value, value.unit)
        return shown.cell(value, self.unit)

    # Charts

    def dots(
        self,
        x: Axis,
        *,
        named: tuple[str, str, str] = ("request", "by", "cost"),
        cut: tuple[float, float] | None = None,
    ) -> Chart:
        """Chart with a line for each label and values along `x`.

        Parameters
        ----------
        x : Axis
        named : (str, str, str)
            Names of label, key and value when the pointer rests on a point.
        cut : (float, float), optional
            Ends beyond which values and intervals are cut, so that they do not compress the others.
        """
        rows = self.rows()
        if x.log:
            # A logarithmic axis has no zero.
            low = x.low or 0.0
            rows = [{**row, "low": max(row["low"], low)} for row in rows if row["value"] > 0]
        if cut is not None:
            rows = [
                {**row, **{end: min(max(row[end], cut[0]), cut[1]) for end in ("value", "low", "high")}}
                for row in rows
            ]
        drawn = {row["series"] for row in rows}
        return partial(estimated.dots, rows, [key for key in self.keys if key.name in drawn], x, named)

    def curves(self, x: Axis, y: Axis, *, dotted: bool = True, over: Series | None = None) -> Chart:
        """Chart of lines with bands for their intervals.

        Parameters
        ----------
        x, y : Axis
            `y` has both its ends.
        dotted : bool
            True to draw points on the lines.
        over : Series, optional
            Points laid over the lines as diamonds.
        """
        rows = self.rows()
        if y.log:
            rows = [{**row, "low": max(row["low"], y.low or 0.0)} for row in rows]
        places = sorted({float(row["x"]) for row in rows})
        if not x.ticks and len(places) <= TICKS_MAX and all(map(float.is_integer, places)):
            # A count, such as of users: half of one has no label.
            x = replace(x, ticks=tuple(places), format=x.format or ",d")
        return laid_over(partial(estimated.curves, rows, self.keys, x, y, dotted=dotted), over)

    def labelled(self, x: Axis, y: Axis, lines: Series, *, over: Series | None = None) -> Chart:
        """Chart of points with their marks, and broken lines given by their ends."""
        marked = [
            {**row, "label": point.mark}
            for row, point in zip(
                self.rows(), (point for point in self.points if point.y is not None), strict=True
            )
        ]
        ends_of_lines = [{"x": point.x, "value": point.y, "series": point.key.name} for point in lines.points]
        return laid_over(partial(estimated.labelled, marked, ends_of_lines, self.keys, x, y), over)

    def scatter(
        self, x: Axis, y: Axis, line: Sequence[tuple[float, float]] = (), *, over: Series | None = None
    ) -> Chart:
        """Chart of points, with a broken line that they should follow, and points laid over as diamonds."""
        ends_of_line = [{"x": place, "y": value} for place, value in line]
        return laid_over(partial(scatters.scatter, self.marks(), ends_of_line, self.keys, x, y), over)

    def steps(self, x: Axis, y: Axis) -> Chart:
        """Chart of empirical distribution functions."""
        rows = [{field: row[field] for field in ("x", "series", "value")} for row in self.rows()]
        return partial(distributions.steps, rows, self.keys, x, y)

    def bars(self, title: str = "", *, filled: bool = False) -> Chart:
        """Chart with a bar for each label, cut into its keys; one wide bar where `title` is empty.

        Parameters
        ----------
        title : str
            Whole of which the values are shares.
        filled : bool
            True to draw every bar at full length, even if its shares do not add up to one.
        """
        totals: dict[str, float] = {}
        for row in self.rows():
            totals[row["label"]] = totals.get(row["label"], 0.0) + row["value"]
        rows, ends_of_bars = [], dict.fromkeys(totals, 0.0)
        for row in self.rows():
            label, start = row["label"], ends_of_bars[row["label"]]
            share = row["value"] / ((totals[label] or 1.0) if filled else 1.0)
            ends_of_bars[label] = start + share
            part = {"part": row["series"], "share": share, "start": start, "end": start + share}
            rows.append(({"label": label} if title else {}) | part | {"shown": row["shown"]})
        return partial(wholes.bars, rows, self.keys, title) if title else partial(wholes.bar, rows, self.keys)

    def marks(self) -> list[dict[str, Any]]:
        """Measured points as data of a scatter diagram."""
        return [
            {"x": row["x"], "y": row["value"], "series": row["series"], "shown": row["shown"]}
            for row in self.rows()
        ]


def _place(point: Point) -> str | float:
    return point.label if point.label or point.x is None else point.x


def laid_over(chart: Chart, over: Series | None) -> Chart:
    """Chart with further points over it as diamonds; the chart itself where there are none."""
    if over is None or not over.points:
        return chart
    return lambda: scatters.laid_over(chart(), over.marks(), over.keys)
