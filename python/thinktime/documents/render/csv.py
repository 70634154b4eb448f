"""Tables as CSV: one row per value, so that tables of any shape fit into one file.

The columns are those of `HEADER`. `row` is the first cell of the table's row, which names it; a table
whose first column is a number (a time, a number of users) is identified by that number.

Texts are escaped, and one that a spreadsheet would take for a formula is preceded by an apostrophe; numbers
never are. JSON has every text exactly.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator

from thinktime.documents.document import Cell, Document, Section, Table
from thinktime.escape import escaped
from thinktime.stats.estimate import Estimate

HEADER = (
    "section",
    "table",
    "row_number",
    "row",
    "quantity",
    "unit",
    "value",
    "low",
    "high",
    "level",
    "n",
    "method",
)

FORMULA_STARTS = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
"""Beginnings of a formula in a spreadsheet (OWASP, CSV injection), their full-width forms included."""

Field = str | int | float | None


def render(document: Document) -> str:
    """Every table of the report."""
    return _written(row for section in document.sections for row in _rows(section))


def render_section(section: Section) -> str:
    """Every table of one section."""
    return _written(_rows(section))


def _written(rows: Iterator[tuple[Field, ...]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows([field(value) for value in row] for row in rows)
    return out.getvalue()


def field(value: Field) -> Field:
    """Field that acts on no program: texts escaped, and no formula; a number stays as it is."""
    if not isinstance(value, str):
        return value
    formula = value.lstrip().startswith(FORMULA_STARTS) and not _is_number(value)
    return escaped(f"'{value}" if formula else value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _rows(section: Section) -> Iterator[tuple[Field, ...]]:
    if section.not_applicable:
        yield (section.name, "", "", "", "not applicable", "", section.not_applicable, "", "", "", "", "")
    for table in (*(figure.data for figure in section.figures), *section.tables):
        yield from _table(section, table)


def _table(section: Section, table: Table) -> Iterator[tuple[Field, ...]]:
    for number, row in enumerate(table.rows, start=1):
        label = _value(row[0])
        for column, value in list(zip(table.columns, row, strict=True))[1:]:
            head = (section.name, table.name, number, label, column.name)
            if isinstance(value, Estimate):
                ends = (_value(value.value), _value(value.low), _value(value.high))
                yield (*head, value.unit, *ends, value.level, value.n, value.method)
            else:
                yield (*head, column.unit, _value(value), "", "", "", "", "")


def _value(value: Cell) -> Field:
    """Empty field for a missing number: CSV has no other notation for it."""
    if isinstance(value, Estimate):
        return _value(value.value)
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    return value
