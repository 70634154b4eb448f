"""Properties of any study: every cell is computed, doubts have values, all forms have the same fields."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator
from html.parser import HTMLParser
from typing import Any

from thinktime.documents.render import render
from thinktime.studies import cells_render
from thinktime.studies.cells import Cell, Tolerance
from thinktime.studies.study import Chapter, Outcome
from thinktime.studies.study_report import report

CELL = Cell(
    study="paper",
    table="table01",
    row={"users": 35},
    quantity="time_s",
    unit="s",
    published=2.0,
    ours=2.09,
    low=2.0,
    high=2.2,
    n=8,
    kind="predicted",
    tolerance=Tolerance("relative", 0.05),
)
"""Simulated cell that agrees with the printed number."""


def cells(outcome: Outcome) -> Iterator[tuple[str, tuple[tuple[str, Any], ...], str, float | None]]:
    """Every cell of the published tables: table, key, quantity, and the printed number."""
    for shape in outcome.study.paper.shapes:
        table = outcome.study.paper.tables[shape.name]
        for row in table.rows:
            for quantity in shape.quantities:
                cell = table.cell(row, quantity)
                yield shape.name, tuple(row.items()), quantity, cell.value if cell else None


def computed(outcome: Outcome, of_tables: Collection[str]) -> list[Cell]:
    """Simulated cells of some tables: each must be there, with the printed number and one of ours."""
    simulated = {
        (cell.table, tuple(cell.row.items()), cell.quantity): cell
        for cell in outcome.cells
        if cell.kind != "arithmetic"
    }
    selected = []
    for table, row, quantity, printed in cells(outcome):
        if table in of_tables:
            cell = simulated[table, row, quantity]
            assert cell.published == printed
            assert math.isfinite(cell.ours)
            selected.append(cell)
    assert selected
    return selected


def doubts_have_values(chapter: Chapter) -> None:
    """Each doubt is decided by a number, and none by NaN."""
    (table,) = chapter.tables
    assert table.rows
    for row in table.rows:
        assert re.search(r"\d", str(row[2])), row
        assert "nan" not in str(row[2])


def json_has_the_fields(outcome: Outcome) -> None:
    """Cells and claims have exactly their fields, and the tables of cells are those of the study."""
    objects = json.loads(cells_render.to_json(outcome.cells, outcome.claims))["records"]
    assert len(objects) == len(outcome.cells) + len(outcome.claims)
    for item in objects:
        assert item["study"] == outcome.study.name
        if "claim" in item:
            assert list(item) == ["study", "claim", "source", "holds", "statistic", "text"]
        else:
            assert list(item) == list(cells_render.HEADER)
            assert item["table"] in outcome.study.tables


def claims_have_statistics(outcome: Outcome) -> None:
    """Claims have different names, and each a statistic with a number."""
    names = [claim.id for claim in outcome.claims]
    assert len(names) == len(set(names)) > 0
    for claim in outcome.claims:
        assert re.search(r"\d", claim.statistic), claim


def report_is_consistent(outcome: Outcome) -> None:
    """Tables of the report have different names, findings lead to its sections, and no NaN is shown."""
    document = report(outcome)
    names = [table.name for _, table in document.tables()]
    assert len(names) == len(set(names))
    sections = {section.name for section in document.sections}
    assert {finding.section for finding in document.findings} <= sections | {""}
    assert "nan" not in re.findall(r"\b\w+\b", render(document, "text"))
    page = render(document, "html")
    assert visible_words(page) <= QUARTER_OF_AN_HOUR
    assert len(page.encode()) <= LARGEST_BYTES
    answers = [finding for finding in document.findings if finding.tone != "warning"]
    assert len(answers) == 3
    assert len(document.findings) - len(answers) == (outcome.settings.scale < 1.0)
    # Runs as short as these may contradict an answer, and then say so.
    assert all(re.search(r"\d|^In these runs", finding.text) for finding in answers)


QUARTER_OF_AN_HOUR = 3300
"""Words that are read in fifteen minutes."""
LARGEST_BYTES = 1_500_000


class _Visible(HTMLParser):
    """Text of a page that is seen without a click: outside of folded details, but for their names, and
    without the further rows of long tables."""

    HIDDEN = frozenset({"script", "style", "svg", "nav", "head"})

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self._hidden = self._folded = self._named = 0
        self._further = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in self.HIDDEN
        self._folded += tag == "details"
        self._named += tag == "summary"
        if tag == "tr":
            self._further = ("class", "rest") in attrs

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in self.HIDDEN
        self._folded -= tag == "details"
        self._named -= tag == "summary"
        if tag == "tr":
            self._further = False

    def handle_data(self, data: str) -> None:
        if not self._hidden and not self._further and self._folded <= self._named:
            self.text.append(data)


def visible_words(page: str) -> int:
    """Number of words of a page that are seen without a click."""
    reader = _Visible()
    reader.feed(page)
    return len(re.findall(r"\w[\w'.-]*", " ".join(reader.text)))
