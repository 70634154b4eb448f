"""What the figures of any study must be: every cell of its tables, and doubts told with figures."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator
from typing import Any

from thinktime.studies import cells_render as render_figures
from thinktime.studies.cells import Figure
from thinktime.studies.published import read
from thinktime.studies.study import Chapter, Outcome


def cells(outcome: Outcome) -> Iterator[tuple[str, tuple[tuple[str, Any], ...], str, float | None]]:
    """Every cell of the published tables: table, key, quantity, and what is printed."""
    for shape in outcome.study.shapes:
        table = read(outcome.study.folder / "published", shape)
        for row in table.rows:
            for quantity in shape.quantities:
                cell = table.cell(row, quantity)
                yield shape.name, tuple(row.items()), quantity, cell.value if cell else None


def computed(outcome: Outcome, of_tables: Collection[str]) -> list[Figure]:
    """Figure of each cell of some tables, which must be there, beside what is printed, and a number."""
    found = {
        (figure.table, tuple(figure.row.items()), figure.quantity): figure
        for figure in outcome.figures
        if figure.kind != "arithmetic"
    }
    figures = []
    for table, row, quantity, printed in cells(outcome):
        if table in of_tables:
            figure = found[table, row, quantity]
            assert figure.published == printed
            assert math.isfinite(figure.ours)
            figures.append(figure)
    return figures


def are_doubts_with_figures(chapter: Chapter, count: int) -> None:
    """Each doubt must say a figure, and none that is no number."""
    (table,) = chapter.tables
    assert len(table.rows) == count
    for row in table.rows:
        assert re.search(r"\d", str(row[2])), row
        assert "nan" not in str(row[2])


def is_told_in_json(outcome: Outcome, study: str) -> None:
    """Figures and findings have exactly the fields that they should, and are of tables of the study."""
    for item in json.loads(render_figures.to_json(outcome.figures, outcome.findings)):
        assert item["study"] == study
        if "finding" in item:
            assert list(item) == ["study", "finding", "source", "holds", "statistic", "text"]
        else:
            assert list(item) == list(render_figures.HEADER)
            assert item["table"] in outcome.study.tables


def are_findings_with_statistics(outcome: Outcome, least: int) -> None:
    """There are so many findings at least, each with a name of its own and a statistic."""
    names = [finding.finding for finding in outcome.findings]
    assert len(names) == len(set(names)) >= least
    for finding in outcome.findings:
        assert re.search(r"\d", finding.statistic), finding
