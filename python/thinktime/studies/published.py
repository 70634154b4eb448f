"""Published tables of a study, read strictly: a silent mistake here would be blamed on the paper."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from thinktime.errors import InputError
from thinktime.studies.cells import Row

FACT_COLUMNS = ("id", "name", "quantity", "value", "unit", "context")


@dataclass(frozen=True, slots=True)
class Printed:
    """A printed number with the digits it was printed with."""

    value: float
    places: int
    """Decimals."""

    @property
    def half(self) -> float:
        """Half a unit of the last printed digit: what rounding may have taken or added."""
        return 0.5 * 10.0**-self.places


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Columns of a published table."""

    name: str
    """Name of the file without its ending."""
    place: str
    """Place in the paper: ``Table 5``."""
    title: str
    keys: Sequence[str]
    """Columns that name the row; no two rows have the same."""
    quantities: Mapping[str, str]
    """Columns of numbers, and their units."""
    remarks: Sequence[str] = ()
    """Columns of words, not compared; and inputs of a printed computation."""
    words: str = ""
    """Name of a row for a reader, with its keys in braces; empty where the keys are words."""
    texts: Sequence[str] = ()
    """Rows, by their first key, that hold words instead of numbers: read as remarks."""


@dataclass(frozen=True)
class Table:
    """A published table: its rows by their keys, its cells as printed."""

    shape: Shape
    rows: tuple[Row, ...]
    _cells: Mapping[tuple[object, ...], Mapping[str, Printed | None]] = field(repr=False)
    _remarks: Mapping[tuple[object, ...], Mapping[str, str]] = field(default_factory=dict, repr=False)

    def remark(self, row: Row, name: str) -> str:
        """Words, or an input, of a row as printed; empty where the cell is empty.

        Raises
        ------
        KeyError
            There is no such row or column.
        """
        return self._remarks[tuple(row[key] for key in self.shape.keys)][name]

    def cell(self, row: Row, quantity: str) -> Printed | None:
        """Printed number; None where the cell is empty.

        Raises
        ------
        KeyError
            There is no such row or column.
        """
        return self._cells[tuple(row[key] for key in self.shape.keys)][quantity]

    def places(self, quantity: str) -> int:
        """Most decimals printed in a column."""
        return max((cell.places for _, cell in self.printed(quantity)), default=3)

    def printed(self, quantity: str) -> Iterator[tuple[Row, Printed]]:
        """Rows with a printed number in a column, in the order of the table."""
        for row in self.rows:
            cell = self.cell(row, quantity)
            if cell is not None:
                yield row, cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A number stated in the text of a paper."""

    id: str
    """Identifier for other programs, as in the reference data: ``U-F28``."""
    name: str
    """Name in the code and in study.toml: ``queue-length-12-ms``."""
    quantity: str
    printed: str
    unit: str
    context: str

    @property
    def value(self) -> Printed:
        """The number.

        Raises
        ------
        InputError
            The text holds more than one number, or none.
        """
        return _number(self.printed, f"facts, {self.name}")

    @property
    def values(self) -> tuple[Printed, ...]:
        """The numbers, where several are stated together: ``13; 14.5; 15``."""
        return tuple(_number(part.strip(), f"facts, {self.name}") for part in self.printed.split(";"))

    @property
    def ends(self) -> tuple[Printed, Printed]:
        """Ends of a range: ``75-80``.

        Raises
        ------
        InputError
            The text is no range of positive numbers.
        """
        low, _, high = self.printed.partition("-")
        return _number(low.strip(), f"facts, {self.name}"), _number(high.strip(), f"facts, {self.name}")


def read(folder: Path, shape: Shape) -> Table:
    """Published table.

    Raises
    ------
    InputError
        The columns are not those of `shape`, a row occurs twice, or a cell is not a number.
    """
    path = folder / f"{shape.name}.csv"
    lines = _lines(path, (*shape.keys, *shape.quantities, *shape.remarks))
    cells: dict[tuple[object, ...], dict[str, Printed | None]] = {}
    remarks: dict[tuple[object, ...], dict[str, str]] = {}
    rows: list[Row] = []
    for number, line in lines:
        row = {key: _key(line[key], f"{path}:{number}, {key}") for key in shape.keys}
        name = tuple(row.values())
        if name in cells:
            raise InputError(f"{path}:{number}: row {name} was there before")
        text = name[0] in shape.texts
        cells[name] = {
            quantity: None
            if text or not line[quantity]
            else _number(line[quantity], f"{path}:{number}, {quantity}")
            for quantity in shape.quantities
        }
        worded = (*shape.remarks, *shape.quantities) if text else shape.remarks
        remarks[name] = {remark: line[remark] for remark in worded}
        rows.append(row)
    return Table(shape, tuple(rows), cells, remarks)


def read_facts(folder: Path) -> dict[str, Fact]:
    """Numbers that the text states, by their names.

    Raises
    ------
    InputError
        The columns are not those of facts, or a name occurs twice.
    """
    path = folder / "facts.csv"
    facts: dict[str, Fact] = {}
    for number, line in _lines(path, FACT_COLUMNS):
        fact = Fact(
            id=line["id"],
            name=line["name"],
            quantity=line["quantity"],
            printed=line["value"],
            unit=line["unit"],
            context=line["context"],
        )
        if fact.name in facts:
            raise InputError(f"{path}:{number}: {fact.name} was there before")
        facts[fact.name] = fact
    return facts


def _lines(path: Path, columns: Sequence[str]) -> list[tuple[int, dict[str, str]]]:
    """Lines with their numbers in the file, each with all of the columns and no others."""
    try:
        rows = list(csv.reader(path.read_text(encoding="utf-8").splitlines(), strict=True))
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such table") from None
    except csv.Error as error:
        raise InputError(f"{path}: {error}") from None
    head = rows[0] if rows else []
    if sorted(head) != sorted(columns):
        raise InputError(f"{path}:1: has the columns {', '.join(head)}; {', '.join(columns)} are expected")
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(head):
            raise InputError(f"{path}:{number}: has {len(row)} cells for {len(head)} columns")
    return [
        (number, dict(zip(head, (cell.strip() for cell in row), strict=True)))
        for number, row in enumerate(rows[1:], start=2)
    ]


def _key(text: str, place: str) -> str | int | float:
    if not text:
        raise InputError(f"{place}: is empty, so the row has no name")
    if re.fullmatch(r"[-+]?\d+", text):
        return int(text)
    return float(text) if re.fullmatch(r"[-+]?\d*\.\d+", text) else text


def _number(text: str, place: str) -> Printed:
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"{place}: {text!r} is not a number; an absent one is an empty cell") from None
    if not math.isfinite(value):
        raise InputError(f"{place}: {text!r} is not finite; an absent number is an empty cell")
    mantissa, _, exponent = text.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return Printed(value, decimals - int(exponent or 0))
