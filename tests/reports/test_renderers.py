"""The renderers, on a document that holds everything they must be able to show, hostile names included."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from html.parser import HTMLParser

import handmade_document
import pytest

from thinktime.documents.document import Column, Document, Section, Table
from thinktime.documents.render import csv as render_csv
from thinktime.documents.render import html as render_html
from thinktime.documents.render import json as render_json
from thinktime.documents.render import text as render_text

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(HTMLParser):
    """What a page consists of; every element must be closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in {"script", "style"}:
            self.words.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.elements if name == tag]


@pytest.fixture(scope="module")
def page_text() -> str:
    return render_html.render(handmade_document.document())


@pytest.fixture(scope="module")
def page(page_text: str) -> Page:
    return Page(page_text)


def test_ids_are_unique_and_every_reference_has_its_target(page: Page) -> None:
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    for attribute in ("aria-labelledby", "aria-describedby"):
        for _, attrs in page.elements:
            for name in (attrs.get(attribute) or "").split():
                assert name in ids
    links = [attrs.get("href") or "" for attrs in page.all("a")]
    assert links
    assert all(link.startswith("#") and link[1:] in ids for link in links)


def test_nothing_is_loaded_from_outside(page: Page, page_text: str) -> None:
    for tag, attrs in page.elements:
        for attribute in ("src", "srcset", "href", "xlink:href", "data", "action", "poster", "background"):
            value = attrs.get(attribute)
            assert value is None or value == "data:," or value.startswith("#"), (tag, attribute, value)
    style = re.search(r"<style>(.*?)</style>", page_text, re.DOTALL)
    assert style
    assert "@import" not in style[1]
    assert "url(" not in style[1]
    policy = next(attrs["content"] for attrs in page.all("meta") if attrs.get("http-equiv"))
    assert policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "http" not in policy


def test_no_name_of_a_log_becomes_markup(page: Page, page_text: str) -> None:
    assert "<script>alert" not in page_text
    assert [attrs.get("type") for attrs in page.all("script")] == ["text/plain", "text/plain", "module"]
    assert not any(attribute.startswith("on") for _, attrs in page.elements for attribute in attrs)
    assert "\x1b" not in page_text
    assert "\u202e" not in page_text
    assert any("<script>alert('x')</script>&\"" in word for word in page.words)


def test_every_figure_has_words_and_a_table(page_text: str) -> None:
    figures = re.findall(r"<figure.*?</figure>", page_text, re.DOTALL)
    assert len(figures) == 2
    for figure in figures:
        assert re.search(r"<figcaption>\s*<h3.*?</h3>\s*<p[^>]*>.+?</p>", figure, re.DOTALL)
        assert re.search(r"<details.*?<table.*?<caption>.*?</table>.*?</details>", figure, re.DOTALL)
        assert "<path" in figure  # drawn beforehand, for paper and for readers without scripts


def test_headings_and_landmarks(page: Page) -> None:
    tags = [tag for tag, _ in page.elements]
    assert tags.count("h1") == tags.count("main") == 1
    assert {"header", "nav", "main", "footer"} <= set(tags)
    levels = [int(tag[1]) for tag in tags if re.fullmatch("h[1-6]", tag)]
    assert all(later <= earlier + 1 for earlier, later in itertools.pairwise(levels))
    assert all(attrs.get("scope") in {"row", "col"} for attrs in page.all("th"))
    assert page.all("html")[0]["lang"] == "en"


def test_an_analysis_that_does_not_apply_says_why(page: Page) -> None:
    assert any("there are none" in word for word in page.words)
    text = render_text.render(handmade_document.document())
    assert "Users: there are none" in text.partition("Not in this log")[2]
    assert "And the users?" not in text


def test_the_same_document_gives_the_same_bytes(page_text: str) -> None:
    assert render_html.render(handmade_document.document()) == page_text


def test_text_is_aligned_and_harmless() -> None:
    text = render_text.render(handmade_document.document(), width=80)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", text)
    header = next(line for line in text.split("\n") if line.startswith("request  "))
    row = next(line for line in text.split("\n") if line.startswith("page fault  "))
    assert len(row[: row.index("4.10 ± 0.20")]) > len("page fault")
    assert header.index("count") < len(row)
    assert not any(line != line.rstrip() for line in text.split("\n"))


def test_a_table_too_wide_goes_on_below() -> None:
    columns = tuple(Column(f"column number {number}") for number in range(9))
    wide = Table(name="wide", caption="Wide", columns=columns, rows=(tuple(range(1000, 1009)),))
    text = render_text.render_section(Section(name="a", title="A", summary=("b",), tables=(wide,)), width=60)
    assert max(map(len, text.split("\n"))) <= 60
    for number in range(9):
        assert f"column number {number}" in text
        assert str(1000 + number) in text


@pytest.mark.parametrize(
    ("firsts", "said"),
    [
        (["sda", "8021q"], "Folded (2): sda, 8021q."),
        (["1", "2 *", "3 to 4"], "Folded: 3 rows in --format json and csv: folded."),
    ],
)
def test_a_folded_table_names_its_rows_where_names_tell_something(firsts: list[str], said: str) -> None:
    rows = tuple((first, 1.0) for first in firsts)
    columns = (Column("name"), Column("value"))
    folded = Table(name="folded", caption="Folded", columns=columns, rows=rows, folded=True)
    assert said in render_text.render_section(Section(name="a", title="A", summary=("b",), tables=(folded,)))


def test_a_page_has_the_first_rows_of_a_long_table_and_says_where_all_are() -> None:
    rows = tuple((f"row {number:05}", number) for number in range(12_000))
    table = Table(name="long", caption="Long", columns=(Column("name"), Column("value")), rows=rows)
    section = Section(name="a", title="A", summary=("b",), tables=(table,))
    document = Document(title="Long", subtitle="table", findings=(), sections=(section,))
    words = Page(render_html.render(document)).words
    shown = [word for word in words if word.startswith("row ")]
    assert shown == [name for name, _ in rows[: len(shown)]]
    assert len(shown) < 2000
    said = f"The first {len(shown)} of {len(rows)} rows; all are in --format json and csv."
    assert any(said in word for word in words)
    assert len(json.loads(render_json.render(document))["sections"][0]["tables"][0]["rows"]) == len(rows)


def test_wide_characters_take_two_columns() -> None:
    rows = (("数据", 1), ("abcd", 22))
    text = render_text.render_section(
        Section(
            name="a",
            title="A",
            summary=("b",),
            tables=(Table(name="t", caption="T", columns=(Column("who"), Column("n")), rows=rows),),
        )
    )
    assert "数据   1\nabcd  22" in text


def test_json_holds_everything_unrounded() -> None:
    parsed = json.loads(render_json.render(handmade_document.document()))
    section = parsed["sections"][0]
    assert section["title"].endswith(handmade_document.HOSTILE)
    cost = section["tables"][0]["rows"][0][1]
    assert cost["value"] == 377.2e-6
    assert (cost["n"], cost["method"], cost["level"]) == (42, "regression", 0.95)
    assert section["tables"][0]["rows"][3][1] is None  # JSON has no infinity
    assert section["figures"][0]["data"]["rows"][1][2] == 10**18
    assert parsed["sections"][1]["not_applicable"]


def test_csv_has_a_row_a_figure() -> None:
    rows = list(csv.DictReader(io.StringIO(render_csv.render(handmade_document.document()))))
    cost = next(row for row in rows if row["table"] == "costs-table" and row["quantity"] == "cost")
    assert (float(cost["value"]), cost["row"], cost["unit"]) == (377.2e-6, "fork", "s/request")
    assert float(cost["low"]) < float(cost["value"]) < float(cost["high"])
    assert {row["section"] for row in rows} == {"costs", "users"}
    assert next(row for row in rows if row["section"] == "users")["quantity"] == "not applicable"


def test_a_document_without_anything_still_renders() -> None:
    nothing = Document(title="Nothing", subtitle="at all", findings=(), sections=())
    Page(render_html.render(nothing))
    assert "Nothing" in render_text.render(nothing)
    assert json.loads(render_json.render(nothing))["sections"] == []
    assert render_csv.render(nothing).count("\n") == 1


def test_a_row_that_does_not_fit_its_columns_is_refused() -> None:
    with pytest.raises(ValueError, match="table t: row 1 has 2 cells for 1 columns"):
        Table(name="t", caption="T", columns=(Column("a"),), rows=(("x", 1),))
