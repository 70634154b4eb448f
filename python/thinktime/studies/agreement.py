"""The picture of a study's agreement: every predicted cell over the printed number, on one axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from thinktime.documents import format as shown
from thinktime.documents.charts import estimated
from thinktime.documents.charts.axis import Axis
from thinktime.documents.document import Col, Figure, Key, Table
from thinktime.studies.cells import Cell
from thinktime.studies.published_tables import label
from thinktime.studies.study import Study

KEYS = {
    "agrees": Key("agrees", colour="user", shape="circle"),
    "misses": Key("misses", colour="system", shape="diamond"),
    "doubtful": Key("the printed number is doubtful", colour="other", shape="square"),
}
EDGE = 5.0
"""Ratio beyond which a cell is drawn at the edge: one far cell must not compress all others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ratio:
    """A predicted cell, over the printed number."""

    group: str
    """Table and column."""
    cell: Cell
    printed: float
    row: str
    """Row of the published table, in words."""

    @property
    def value(self) -> float:
        return self.cell.ours / self.printed

    @property
    def ends(self) -> tuple[float, float]:
        """Ends of the interval; the ratio itself where there is none."""
        low, high = self.cell.low, self.cell.high
        return (
            self.value if low is None else low / self.printed,
            self.value if high is None else high / self.printed,
        )


def figure(study: Study, cells: Sequence[Cell]) -> Figure | None:
    """Figure of the cells that nothing was tuned to; None where fewer than two can be drawn."""
    judged = [cell for cell in cells if cell.kind == "predicted" and cell.verdict]
    ratios = sorted(_ratios(study, judged), key=lambda item: item.value)
    if len(ratios) < 2:
        return None
    by_group: dict[str, list[_Ratio]] = {}
    for name in dict.fromkeys(_group(study, cell) for cell in judged):
        if found := [item for item in ratios if item.group == name]:
            by_group[name] = found
    drawn = [item for group in by_group.values() for item in group]
    axis = Axis.logarithmic(
        "ours / printed",
        [min(max(end, 1 / EDGE), EDGE) for item in drawn for end in (item.value, *item.ends)] + [0.5, 2.0],
    )
    keys = tuple(key for name, key in KEYS.items() if any(item.cell.verdict == name for item in drawn))
    rows = [_datum(item, axis) for item in drawn]
    return Figure(
        name="agreement-drawn",
        title="Every predicted cell, over the printed number",
        chart=partial(estimated.caterpillar, rows, keys, axis, middle=1.0),
        data=Table.of(
            drawn,
            Col("column", lambda item: item.group),
            Col("row", lambda item: item.row),
            Col("printed", lambda item: f"{item.printed:g}", scaled=False),
            Col("ours over printed", lambda item: f"{item.value:.3f}", scaled=False),
            Col("from", lambda item: f"{item.ends[0]:.3f}", scaled=False),
            Col("to", lambda item: f"{item.ends[1]:.3f}", scaled=False),
            Col("verdict", lambda item: KEYS[item.cell.verdict].name),
            name="agreement-data",
            caption="Predicted cells over the printed numbers, with 95 % intervals",
        ),
        alt=_words(ratios, len(judged)),
        keys=keys,
    )


def _ratios(study: Study, cells: Sequence[Cell]) -> Iterator[_Ratio]:
    for cell in cells:
        if cell.published is not None and cell.published > 0.0 and cell.ours > 0.0:
            keys = (label(str(key), study.paper.names) for key in cell.row.values())
            row = cell.label or ", ".join(keys)
            yield _Ratio(group=_group(study, cell), cell=cell, printed=cell.published, row=row)


def _group(study: Study, cell: Cell) -> str:
    names = study.paper.names
    place = study.place(cell.table).partition(":")[0]
    several = sum(shape.place == place for shape in study.paper.shapes) > 1
    columns = next((shape.quantities for shape in study.paper.shapes if shape.name == cell.table), {})
    about = (
        label(cell.quantity, names)
        if len(columns) > 1 or several
        else study.place(cell.table).partition(": ")[2]
    )
    return f"{place}: {about}" if columns else place


def _datum(item: _Ratio, axis: Axis) -> dict[str, Any]:
    low, high = item.ends
    first, last = axis.low or 0.0, axis.high or 0.0
    value, low, high = (min(max(end, first), last) for end in (item.value, low, high))
    return {
        "label": item.group,
        "series": KEYS[item.cell.verdict].name,
        "value": value,
        "low": low,
        "high": high,
        "named": item.row,
        "shown": f"{item.cell.ours:.4g} for {item.printed:g}, ratio {item.value:.2f}",
    }


def _words(ratios: Sequence[_Ratio], judged: int) -> str:
    values = [item.value for item in ratios]
    low, middle, high = (float(np.quantile(values, part)) for part in (0.25, 0.5, 0.75))
    agree = sum(item.cell.verdict == "agrees" for item in ratios)
    far = sum(not 1 / EDGE <= value <= EDGE for value in values)
    words = (
        f"{agree} of these {shown.count(len(ratios), 'cell')} agree within the tolerance of their table. "
        f"The median ratio is {middle:.2f}; half of the ratios lie between {low:.2f} and {high:.2f}. "
        "Lines are 95 % intervals of ours; the printed numbers have none."
    )
    if far:
        verb = "stands" if far == 1 else "stand"
        words += f" {shown.count(far, 'cell')} beyond a factor of {EDGE:g} {verb} at the edge."
    if judged > len(ratios):
        words += f" Without a ratio, since a number is zero or negative: {judged - len(ratios)}."
    return words
