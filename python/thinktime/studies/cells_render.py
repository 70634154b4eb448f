"""Cells and claims of a study for other programs: JSON and CSV, unrounded, in the published units."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from typing import Any

from thinktime.documents.render.csv import field
from thinktime.documents.render.json import records
from thinktime.studies.cells import Cell, Claim

HEADER = ("study", "table", "row", "quantity", "unit", "published", "ours", "low", "high", "n", "kind")
"""Fields of a cell, in both forms."""


def to_json(cells: Sequence[Cell], claims: Sequence[Claim]) -> str:
    """Cells, then claims, as one list of objects, in an answer of the kind ``cells``.

    A number that JSON cannot hold becomes null.
    """
    objects: list[dict[str, Any]] = [_cell(cell) for cell in cells]
    objects.extend(_claim(claim) for claim in claims)
    return records("cells", objects)


def to_csv(cells: Sequence[Cell]) -> str:
    """Cells, one per line; the row as ``key=value`` pairs.

    Claims are sentences, and only in the other forms.
    """
    out = io.StringIO()
    writer = csv.DictWriter(out, HEADER, lineterminator="\n")
    writer.writeheader()
    for cell in cells:
        fields = _cell(cell)
        fields["row"] = ";".join(f"{key}={value}" for key, value in cell.row.items())
        writer.writerow({key: "" if value is None else field(value) for key, value in fields.items()})
    return out.getvalue()


def _cell(cell: Cell) -> dict[str, Any]:
    fields = {name: getattr(cell, name) for name in HEADER}
    fields["row"] = dict(cell.row)
    return {name: _clean(value) for name, value in fields.items()}


def _claim(claim: Claim) -> dict[str, Any]:
    return {
        "study": claim.study,
        "claim": claim.id,
        "source": claim.source,
        "holds": claim.holds,
        "statistic": claim.statistic,
        "text": claim.text,
    }


def _clean(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
