"""The figures and findings of a study for other programs: JSON and CSV, unrounded, in the published units."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from typing import Any

from thinktime.studies.cells import Figure, Finding

__all__ = ["HEADER", "to_csv", "to_json"]

HEADER = ("study", "table", "row", "quantity", "unit", "published", "ours", "low", "high", "n", "kind")
"""Fields of a figure, in both forms."""


def to_json(figures: Sequence[Figure], findings: Sequence[Finding]) -> str:
    """Figures, then findings, as one list of objects.

    A number that JSON cannot hold becomes null.
    """
    objects: list[dict[str, Any]] = [_figure(figure) for figure in figures]
    objects.extend(_finding(finding) for finding in findings)
    return json.dumps(objects, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def to_csv(figures: Sequence[Figure]) -> str:
    """Figures, one a line; the row as ``key=value`` pairs.

    Findings are sentences and stand in the other forms.
    """
    out = io.StringIO()
    writer = csv.DictWriter(out, HEADER, lineterminator="\n")
    writer.writeheader()
    for figure in figures:
        fields = _figure(figure)
        fields["row"] = ";".join(f"{key}={value}" for key, value in figure.row.items())
        writer.writerow({key: "" if value is None else value for key, value in fields.items()})
    return out.getvalue()


def _figure(figure: Figure) -> dict[str, Any]:
    fields = {name: getattr(figure, name) for name in HEADER}
    fields["row"] = dict(figure.row)
    return {name: _clean(value) for name, value in fields.items()}


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "study": finding.study,
        "finding": finding.finding,
        "source": finding.source,
        "holds": finding.holds,
        "statistic": finding.statistic,
        "text": finding.text,
    }


def _clean(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
