"""Answers as JSON: complete, unrounded, in SI units, with every text exact.

All have one shape: an object with ``format``, ``version`` and ``kind``, which says what else it has. The
reference describes every kind, and the schema in ``docs/reference/answer.schema.json`` checks it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from thinktime.documents.document import Cell, Document, Section, Table
from thinktime.escape import is_hidden
from thinktime.stats.estimate import Estimate

FORMAT = "thinktime"
"""Name of this format, in every answer."""
VERSION = 1
"""Version of this format; incremented when a field is renamed or removed."""


def answer(kind: str, content: Mapping[str, Any]) -> str:
    """Answer of a kind with its members; numbers that JSON cannot hold (infinite, undefined) become null."""
    return dumped({"format": FORMAT, "version": VERSION, "kind": kind} | _finite(dict(content)))


def records(kind: str, listed: Sequence[Mapping[str, Any]]) -> str:
    """Answer that is a list, as ``records``."""
    return answer(kind, {"records": list(listed)})


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, (list, tuple)) else value


def render(document: Document) -> str:
    """Whole report."""
    return answer(
        "document",
        {
            "title": document.title,
            "subtitle": document.subtitle,
            "facts": [{"name": label, "value": value} for label, value in document.facts],
            "highlights": [
                {
                    "name": item.name,
                    "label": item.label,
                    "value": _cell(item.value),
                    "unit": item.unit,
                    "note": item.note,
                    "section": item.section or None,
                }
                for item in document.highlights
            ],
            "findings": [
                {
                    "text": item.text,
                    "section": item.section or None,
                    "tone": item.tone or None,
                    "evidence": item.evidence or None,
                }
                for item in document.findings
            ],
            "sections": [_section(section) for section in document.sections],
        },
    )


def render_section(section: Section) -> str:
    """One section alone."""
    return answer("section", _section(section) | {"result": section.result})


def dumped(value: Any) -> str:
    """`value` as JSON for a file or a terminal.

    Characters that would act on a terminal are written as JSON's own escapes: the values stay exact.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    return "\n".join(map(_visible, text.split("\n"))) + "\n"


def _visible(line: str) -> str:
    if line.isprintable():
        return line
    return "".join(json.dumps(character)[1:-1] if is_hidden(character) else character for character in line)


def _section(section: Section) -> dict[str, Any]:
    return {
        "name": section.name,
        "group": section.group or None,
        "title": section.title,
        "not_applicable": section.not_applicable or None,
        "summary": list(section.summary),
        "figures": [
            {"name": figure.name, "title": figure.title, "alt": figure.alt, "data": _table(figure.data)}
            for figure in section.figures
        ],
        "tables": [_table(table) for table in section.tables],
        "caveats": list(section.all_caveats),
        "method": section.method or None,
    }


def _table(table: Table) -> dict[str, Any]:
    return {
        "name": table.name,
        "caption": table.caption,
        "columns": [{"name": column.name, "unit": column.unit or None} for column in table.columns],
        "rows": [[_cell(value) for value in row] for row in table.rows],
        "notes": list(table.notes),
    }


def _cell(value: Cell) -> Any:
    if isinstance(value, Estimate):
        return {
            "value": _number(value.value),
            "unit": value.unit or None,
            "low": _number(value.low),
            "high": _number(value.high),
            "level": value.level,
            "n": value.n,
            "method": value.method,
        }
    return _number(value) if isinstance(value, float) else value


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
