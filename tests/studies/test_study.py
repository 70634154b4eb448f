"""A whole study: every cell has a figure, every claim a statistic, every form the same numbers."""

from __future__ import annotations

import csv
import json
import math
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from checks import QUARTER_OF_AN_HOUR, cells, visible_words

import called
from thinktime.documents.document import Document
from thinktime.documents.render import arranged, render
from thinktime.errors import InputError
from thinktime.studies import cells_render, load
from thinktime.studies.laboratory import Settings
from thinktime.studies.paper import Part
from thinktime.studies.study import Chapter, Outcome, Study, run

NAME = "anderson-sargent-1974"


def command(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return called.thinktime("study", *arguments, cwd=cwd)


def test_every_cell_is_computed_whether_it_is_printed_or_not(outcome: Outcome) -> None:
    """But the F of an error, which no table has."""
    simulated = {
        (figure.table, tuple(figure.row.items()), figure.quantity): figure
        for figure in outcome.cells
        if figure.kind != "arithmetic"
    }
    wanted = [
        cell for cell in cells(outcome) if not (cell[2] == "f_ratio" and cell[1] == (("effect", "error"),))
    ]
    for table, row, quantity, printed in wanted:
        figure = simulated[table, row, quantity]
        assert figure.published == printed
        assert math.isfinite(figure.ours)
        assert figure.n > 0 or figure.low is None


def test_a_canary_of_the_kinds(outcome: Outcome) -> None:
    """Every kind occurs, and some predicted cells agree and some miss: nothing was tuned to them."""
    verdicts = {(cell.kind, cell.verdict) for cell in outcome.cells}
    assert {("predicted", "agrees"), ("predicted", "misses"), ("fitted", "agrees")} <= verdicts
    assert ("arithmetic", "agrees") in verdicts


def test_intervals_hold_their_figures(outcome: Outcome) -> None:
    for figure in outcome.cells:
        if (
            figure.low is not None
            and figure.high is not None
            and figure.n > 8
            and "anova" not in figure.table
        ):
            assert figure.low <= figure.ours <= figure.high


def test_every_claim_has_a_name_of_its_own_and_a_statistic(outcome: Outcome) -> None:
    names = [claim.id for claim in outcome.claims]
    assert len(names) == len(set(names)) > 0
    for claim in outcome.claims:
        assert claim.study == NAME
        assert re.search(r"\d", claim.statistic), claim
        assert claim.source
        assert claim.text


@pytest.mark.parametrize(
    "name",
    [
        "response-lowest",
        "best-cell",
        "reaction-slice",
        "not-exponential",
        "moderate-load",
        "two-regions",
    ],
)
def test_the_main_claims_hold(outcome: Outcome, name: str) -> None:
    """With the seed fixed they cannot fail by chance; their differences are many standard errors wide."""
    assert next(claim for claim in outcome.claims if claim.id == name).holds


def test_json_has_exactly_the_fields_of_cells_and_claims(outcome: Outcome) -> None:
    parsed = json.loads(cells_render.to_json(outcome.cells, outcome.claims))["records"]
    figures = [item for item in parsed if "table" in item]
    claims = [item for item in parsed if "claim" in item]
    assert len(figures) + len(claims) == len(parsed)
    for item in figures:
        assert list(item) == list(cells_render.HEADER)
        assert item["table"] in outcome.study.tables
        assert item["kind"] in {"arithmetic", "fitted", "predicted"}
        assert item["published"] is None or isinstance(item["published"], float)
        assert isinstance(item["row"], dict)
    for item in claims:
        assert list(item) == ["study", "claim", "source", "holds", "statistic", "text"]
        assert item["holds"] in {True, False, None}


@pytest.fixture(scope="module")
def page(document: Document) -> str:
    """The study as a page."""
    return render(document, "html")


def test_every_form_says_the_same(outcome: Outcome, document: Document, page: str) -> None:
    text = render(document, "text")
    assert "✓ agrees" in text
    assert "nan" not in re.findall(r"\b\w+\b", text)
    # A line ends anywhere in a text, and a term is explained wherever it first stands.
    plain = " ".join(text.split()).casefold()
    for term in outcome.study.paper.terms:
        plain = plain.replace(f" ({term.means})".casefold(), "")
    for claim in outcome.claims:
        assert claim.text.casefold() in plain
    ids = set(re.findall(r' id="([^"]+)"', page))
    for link in re.findall(r'href="#([^"]+)"', page):
        assert link in ids
    rows = list(csv.DictReader(cells_render.to_csv(outcome.cells).splitlines()))
    assert [float(row["ours"]) for row in rows] == [figure.ours for figure in outcome.cells]


def test_the_page_answers_the_question_of_its_title(outcome: Outcome, document: Document) -> None:
    """Three sentences with figures and intervals, none of them a verdict in place of an answer."""
    said = [finding.text for finding in document.findings if finding.tone != "warning"]
    assert len(said) == 3
    quick = [finding.text for finding in document.findings if finding.tone == "warning"]
    assert len(quick) == (outcome.settings.scale < 1.0)
    assert all("A quick look" in text for text in quick)
    for text in said:
        assert re.search(r"\d \(\d[\d.]* to \d|\d.s \(\d[\d.]* to \d|% \(\d", text), text
        assert not text.startswith("In these runs")
    longer = next(claim for claim in outcome.claims if claim.id == "response-lowest").measures["longer"]
    assert f"{longer['modified'].value:.2f}" in said[0]


def test_a_page_is_read_in_a_quarter_of_an_hour(
    document: Document, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The canary: with nothing folded, the same page takes more."""
    assert visible_words(page) <= QUARTER_OF_AN_HOUR
    monkeypatch.setattr(arranged, "WORDS_SHOWN", 1_000_000)
    unfolded = [replace(section, folded=False) for section in document.sections]
    assert visible_words(render(replace(document, sections=tuple(unfolded)), "html")) > QUARTER_OF_AN_HOUR


def test_terms_are_explained_once_where_they_first_stand(outcome: Outcome, document: Document) -> None:
    text = " ".join(render(document, "text").split())
    for term in outcome.study.paper.terms:
        found = text.count(f"({term.means})")
        assert found <= 1
        assert found or term.word not in text


def test_no_two_tables_of_a_page_have_one_name(document: Document) -> None:
    """Numbers of the text stand in several sections, and each must show its own."""
    names = [table.name for _, table in document.tables()]
    assert len(names) == len(set(names))
    assert sum("facts" in name for name in names) > 1


def test_all_figures_of_the_paper_are_drawn(document: Document) -> None:
    titles = " ".join(figure.title for section in document.sections for figure in section.figures)
    assert {int(number) for number in re.findall(r"\(Figure (\d+)\)", titles)} == set(range(1, 12))


def test_one_table_is_that_table_and_the_same_numbers(outcome: Outcome) -> None:
    alone = run(outcome.study, outcome.settings, "table07")
    assert {figure.table for figure in alone.cells} == {"table07_reaction_time", "table07_anova"}
    whole = [figure for figure in outcome.cells if figure.table == "table07_reaction_time"]
    assert [figure for figure in alone.cells if figure.table == "table07_reaction_time"] == whole
    assert alone.claims == ()


def test_another_seed_gives_other_numbers(outcome: Outcome) -> None:
    one, other = (
        run(outcome.study, Settings(seed=seed, replications=4), "table07_reaction_time") for seed in (1, 2)
    )
    assert [figure.ours for figure in one.cells] != [figure.ours for figure in other.cells]


def test_progress_goes_from_nothing_to_done() -> None:
    seen: list[tuple[float, str]] = []
    parts = (Part(name="a", title="A"), Part(name="b", title="B"))
    study = Study(replace(load(NAME).paper, parts=parts), dict.fromkeys("ab", lambda _: Chapter()))
    run(study, Settings(progress=lambda done, doing: seen.append((done, doing))))
    assert seen == [(0.0, "A"), (0.5, "B"), (1.0, "done")]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("tabel05_anova", r"did you mean table05_anova\?"),
        ("99", "has no table '99'"),
        ("zzz", "there are: table01"),
    ],
)
def test_a_misspelt_table_is_refused(table: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(load(NAME), Settings(), table)


def test_one_replication_is_refused() -> None:
    with pytest.raises(InputError, match="replications is 1; intervals need at least 2"):
        run(load(NAME), Settings(replications=1))


def test_the_command_lists_studies() -> None:
    done = command()
    assert done.returncode == 0
    assert NAME in done.stdout
    assert "table05_queued_workspaces" in done.stdout


def test_the_command_prints_a_table(tmp_path: Path) -> None:
    done = command(NAME, "--table", "table07_reaction_time", "--replications", "4", "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    parsed = json.loads(done.stdout)["records"]
    assert len(parsed) == 12
    assert {item["n"] for item in parsed} == {4}
    assert sum(item["published"] is None for item in parsed) == 4


def test_the_command_writes_a_page_and_not_over_one(tmp_path: Path) -> None:
    arguments = (NAME, "--table", "7", "--replications", "4", "-o", "study.html")
    assert command(*arguments, cwd=tmp_path).returncode == 0
    assert (tmp_path / "study.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    again = command(*arguments, cwd=tmp_path)
    assert again.returncode == 2
    assert "--force" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("anderson-sergent",), "did you mean anderson-sargent-1974?"),
        ((NAME, "--table", "tabel05"), "did you mean"),
        ((NAME, "--replications", "0"), "--replications 0: give a whole number of at least 2"),
        ((NAME, "--seed", "-1", "--table", "7"), "--seed -1: give a whole number"),
    ],
)
def test_bad_usage_is_status_2_with_a_remedy(arguments: tuple[str, ...], message: str) -> None:
    done = command(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
