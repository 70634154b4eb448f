"""What every study shows of its simulated system and of the doubtful numbers of its paper."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thinktime.documents.document import Cell, Column, Table
from thinktime.sources.simulated import System
from thinktime.studies.study import Chapter

__all__ = ["doubtful", "parameters"]


def parameters(system: System, changed: Mapping[str, Any]) -> Table:
    """Show every parameter with its value, unit, meaning and source; `changed` are those not by default."""
    columns = (
        Column("parameter"),
        Column("value"),
        Column("unit"),
        Column("what it is"),
        Column("source"),
    )
    rows: list[tuple[Cell, ...]] = [
        (
            item.name,
            json.dumps(changed.get(item.name, item.default)),
            item.unit,
            item.description,
            item.source,
        )
        for item in system.parameters
    ]
    return Table(
        name="parameters",
        caption="Parameters of the simulated system",
        columns=columns,
        rows=tuple(rows),
        folded=True,
    )


def doubtful(checks: Sequence[tuple[str, str, Callable[[], str]]]) -> Chapter:
    """Show doubtful numbers: which, what is printed, and a function that says what others say of it."""
    summary = (
        "Published numbers stay as printed; where others contradict one, or it can be read in two ways, the "
        "figures that decide are computed here.",
    )
    rows = tuple((what, stands, says()) for what, stands, says in checks)
    columns = (Column("doubt"), Column("as printed"), Column("what other printed numbers say"))
    table = Table(
        name="doubts", caption="Doubtful numbers, and what others say of them", columns=columns, rows=rows
    )
    return Chapter(summary=summary, tables=(table,))
