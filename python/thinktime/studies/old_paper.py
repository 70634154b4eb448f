"""A paper as a study sees it: its published tables, its doubtful numbers, and figures beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from thinktime.stats.estimate import Estimate
from thinktime.studies.cells import Cell, Kind, Row, Tolerance
from thinktime.studies.published import Fact, Printed, Shape, Table, read, read_facts

__all__ = ["Paper", "rounded"]


@dataclass(frozen=True)
class Paper:
    """Published tables of one paper.

    Parameters
    ----------
    study : str
        Name of the study.
    folder : Path
        Where the tables are.
    shapes : tuple of Shape
        What their columns are.
    doubts : mapping
        Why a printed number is not to be trusted, by table, values of the key columns, and quantity.
    """

    study: str
    folder: Path
    shapes: tuple[Shape, ...]
    doubts: Mapping[tuple[str, tuple[object, ...], str], str]

    @cached_property
    def tables(self) -> dict[str, Table]:
        """Published tables by name."""
        return {shape.name: read(self.folder, shape) for shape in self.shapes}

    @cached_property
    def facts(self) -> dict[str, Fact]:
        """Numbers stated in the text, by identifier."""
        return read_facts(self.folder)

    def cell(
        self, table: str, row: Row, quantity: str, ours: Estimate, kind: Kind, tolerance: Tolerance | None
    ) -> Cell:
        """Cell of a published table beside ours.

        Raises
        ------
        KeyError
            The table has no such row or column.
        """
        published = self.tables[table]
        cell = published.cell(row, quantity)
        if tolerance is not None and tolerance.way == "digits" and cell is not None:
            tolerance = Tolerance("digits", cell.half)
        doubt = self.doubts.get((table, tuple(row.values()), quantity), "")
        unit = published.shape.quantities[quantity]
        if not unit and "unit" in published.shape.remarks:
            unit = published.remark(row, "unit")
        places = cell.places if cell is not None else published.places(quantity)
        value = None if cell is None else cell.value
        label = published.shape.words.format(**row)
        return self._made(
            table, row, quantity, (unit, value, *_plain(ours), kind, tolerance, doubt, places, label)
        )

    def fact(
        self,
        name: str,
        ours: Estimate,
        kind: Kind,
        tolerance: Tolerance | None,
        part: str = "",
        end: Literal["", "low", "high"] = "",
    ) -> Cell:
        """Put a number stated in the text beside ours.

        Parameters
        ----------
        name : str
            Identifier of the fact.
        ours : Estimate
        kind : str
        tolerance : Tolerance or None
            ``digits`` with an amount of zero means the digits stated.
        part : str
            Which of several numbers stated together: the part of its context that names it.
        end : str
            Which end of a stated range.

        Raises
        ------
        InputError
            What is stated is neither empty nor such a number.
        """
        fact = self.facts[name]
        row: dict[str, str | int | float] = {"id": name}
        if part:
            row["context"] = part
        if end:
            row["end"] = end
        printed = _stated(fact, part, end)
        if tolerance is not None and tolerance.way == "digits" and not tolerance.amount and printed:
            tolerance = Tolerance("digits", printed.half)
        doubt = self.doubts.get(("facts", (name,), "value"), "")
        named = ", ".join(filter(None, (fact.quantity, part, {"low": "from", "high": "to"}.get(end))))
        label = f"{named}{f' [{fact.unit}]' if fact.unit else ''}"
        value, places = (printed.value, printed.places) if printed else (None, 3)
        return self._made(
            "facts", row, "value", (fact.unit, value, *_plain(ours), kind, tolerance, doubt, places, label)
        )

    def _made(self, table, row, quantity, values):  # type: ignore[no-untyped-def]
        names = (
            "unit",
            "published",
            "ours",
            "low",
            "high",
            "n",
            "kind",
            "tolerance",
            "doubt",
            "places",
            "label",
        )
        return Cell(
            study=self.study, table=table, row=row, quantity=quantity, **dict(zip(names, values, strict=True))
        )

    def each(self, table: str) -> Iterator[tuple[Row, str]]:
        """Every cell of a table, printed or empty: its row and its quantity."""
        published = self.tables[table]
        for row in published.rows:
            for quantity in published.shape.quantities:
                yield row, quantity


def _stated(fact: Fact, part: str, end: str) -> Printed | None:
    """Find the number that is stated, or that part or end of it; None where nothing is."""
    if not fact.printed:
        return None
    if end:
        return fact.ends[end == "high"]
    if part:
        contexts = [context.strip() for context in fact.context.split(";")]
        return fact.values[contexts.index(part)]
    return fact.value


def _plain(ours: Estimate) -> tuple[float, float | None, float | None, int]:
    """Value, ends and n as Python's own numbers: NumPy's cannot be written as JSON."""
    low, high = (None if end is None else float(end) for end in (ours.low, ours.high))
    return float(ours.value), low, high, int(ours.n)


from thinktime.studies.estimates import rounded as rounded  # noqa: E402
