"""What a page shows at once: whole if it is short; else of everything the answer, as far as there is room."""

from __future__ import annotations

from dataclasses import replace

import pytest

from studies.checks import QUARTER_OF_AN_HOUR, visible_words
from thinktime.documents.document import Col, Document, Finding, Section, Table
from thinktime.documents.render import arranged, render
from thinktime.documents.render.arranged import Arrangement, Words

SENTENCE = "Ten words that say how busy this machine was today."


def table(name: str, rows: int, *, folded: bool = False) -> Table:
    number = Col("number", lambda number: number)
    return Table.of(range(rows), number, name=name, caption=f"Table {name}", folded=folded)


def section(name: str, *, group: str = "", rows: int = 5, sentences: int = 3) -> Section:
    return Section(
        name=name,
        title=f"What about {name}?",
        summary=(SENTENCE,) * sentences,
        tables=(table(f"{name}-first", rows), table(f"{name}-second", rows)),
        caveats=(f"Beware of {name}. {SENTENCE}", SENTENCE),
        method=SENTENCE,
        group=group,
    )


def document(*sections: Section, findings: int = 3) -> Document:
    return Document(
        title="A page",
        subtitle="of a test",
        findings=tuple(Finding(f"Finding {number}. {SENTENCE}") for number in range(findings)),
        sections=sections,
    )


def arrangement(page: Document) -> Arrangement:
    tables = {table.name: [4, *(1 for _ in table.rows)] for _, table in page.tables()}
    return arranged.arrange(page, Words(figures={}, tables=tables))


def many(sections: int, **options: int) -> Document:
    return document(*(section(f"number-{number}", **options) for number in range(sections)))


def test_a_short_page_shows_everything():
    found = arrangement(many(2, rows=40))
    for one in found.sections.values():
        assert one.more.content == ""
        assert one.cut == frozenset()
        assert len(one.shown.tables) == 2
        assert one.shown.method == SENTENCE


def test_nothing_is_lost_and_the_order_stays():
    page = many(60)
    for one, given in zip(arrangement(page).sections.values(), page.sections, strict=True):
        assert (*one.shown.sentences, *one.more.sentences) == given.summary
        assert (*one.shown.caveats, *one.more.caveats) == given.all_caveats
        assert {*one.shown.tables, *one.more.tables} == set(given.tables)
        assert one.shown.method + one.more.method == SENTENCE
        assert one.shown.sentences[0] == given.summary[0]


@pytest.mark.parametrize("sections", [20, 40, 60])
def test_what_matters_most_is_shown_first(sections):
    """No section shows a second table while another lacks its first, nor any table before all sentences."""
    parts = [one.shown for one in arrangement(many(sections, rows=40)).sections.values()]
    folded = [one.more for one in arrangement(many(sections, rows=40)).sections.values()]
    if any(part.tables for part in parts):
        assert not any(part.sentences for part in folded)
    if any(len(part.tables) == 2 for part in parts):
        assert all(part.tables for part in parts)
    assert any(part.content for part in folded)


def test_a_long_table_shows_its_first_rows_where_room_is_short():
    page = many(40, rows=40)
    first = next(iter(arrangement(page).sections.values()))
    assert "number-0-first" in {one.name for one in first.shown.tables} & first.cut
    # What a fold holds is shown whole when it is opened, unless few need it.
    assert not first.cut & {one.name for one in first.more.tables}
    few = replace(page.sections[0], tables=(table("few", 40, folded=True),), folded=True)
    assert arrangement(document(few)).sections["number-0"].cut == {"few"}


def test_a_section_that_few_need_shows_its_first_sentence():
    folded = arrangement(document(replace(section("few"), folded=True))).sections["few"]
    assert folded.shown.sentences == (SENTENCE,)
    assert not folded.shown.tables
    assert folded.more.content == "2 tables, 2 caveats and the method"


def test_logs_that_leave_no_room_are_folded_from_the_last_on():
    groups = [f"Log {number}" for number in range(30)]
    page = document(
        *(section(f"{group[4:]}-{n}", group=group) for group in groups for n in range(8)), findings=40
    )
    found = arrangement(page)
    open_groups = [group for group in groups if group not in found.folded]
    assert open_groups == groups[: len(open_groups)]
    assert 0 < len(open_groups) < len(groups)
    shown, further = found.findings
    assert (*shown, *further) == page.findings
    assert len(shown) == arranged.FINDINGS_SHOWN
    assert visible_words(render(page, "html")) <= QUARTER_OF_AN_HOUR


def test_a_page_without_the_limit_is_long(monkeypatch: pytest.MonkeyPatch):
    """The canary of the words counted above."""
    page = many(60, rows=40)
    assert visible_words(render(page, "html")) <= QUARTER_OF_AN_HOUR
    monkeypatch.setattr(arranged, "WORDS_SHOWN", 1_000_000)
    assert visible_words(render(page, "html")) > QUARTER_OF_AN_HOUR
