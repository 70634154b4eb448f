"""README, `verdict.json` and `study.toml` of each study agree; `make verdicts` asserts the figures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from checks import CELL

from thinktime.studies import STUDIES, load, verdict
from thinktime.studies.cells import Cell, Claim
from thinktime.studies.claims import Statement
from thinktime.studies.laboratory import Settings
from thinktime.studies.paper import Part
from thinktime.studies.published import Shape
from thinktime.studies.study import Chapter, Outcome, Study

CLAIM = Claim(study="paper", id="order", source="Table 1", holds=True, statistic="1 s", text="it is faster")


def statement(name: str, text: str) -> Statement:
    return Statement(id=name, source="Table 1", text=text, holds_if="settled")


def outcome(*cells: Cell, claims: tuple[Claim, ...] = (CLAIM,)) -> Outcome:
    part = Part(name="a", title="A", tables=("table01",))
    paper = load("sekino-1971").paper
    shape = Shape(name="table01", place="Table 1", title="times", keys=("users",), quantities={"time_s": "s"})
    statements = {"order": statement("order", "it is faster"), "other": statement("other", "it is cheaper")}
    study = Study(replace(paper, parts=(part,), shapes=(shape,), statements=statements), {})
    chapter = Chapter(cells=cells, claims=claims)
    return Outcome(study=study, settings=Settings(), table="", chapters=((part, chapter),))


@pytest.mark.parametrize("name", STUDIES)
def test_readme_verdict_and_claims_of_a_study_agree(name: str) -> None:
    study = load(name)
    committed = verdict.committed(study)
    readme = (study.paper.folder / "README.md").read_text(encoding="utf-8")
    assert verdict.in_readme(readme) == verdict.in_words(committed, study)
    assert set(committed["claims"]) == set(study.paper.statements)
    assert (committed["study"], committed["replications"]) == (study.name, study.paper.replications)
    assert {item.partition(" ")[0] for item in committed["misses"]} <= set(study.tables)
    for kind, counts in committed["cells"].items():
        assert counts["agree"] <= counts["judged"]
        by_table = [table[kind].split(" of ") for table in committed["tables"].values() if kind in table]
        assert [sum(map(int, column)) for column in zip(*by_table, strict=True)] == [
            counts["agree"],
            counts["judged"],
        ]
    missed = sum(counts["judged"] - counts["agree"] for counts in committed["cells"].values())
    assert missed == len(committed["misses"])


def test_a_verdict_that_differs_is_shown_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "verdict.json"
    path.write_text(verdict.written(verdict.verdict(outcome(CELL))), encoding="utf-8")
    assert verdict.difference(path, verdict.verdict(outcome(CELL))) == ""
    worse = outcome(replace(CELL, ours=3.0), claims=(replace(CLAIM, holds=None),))
    shown = verdict.difference(path, verdict.verdict(worse))
    assert '-      "agree": 1,' in shown
    assert '+    "table01 users=35: time_s (predicted)"' in shown
    assert '+    "order": "undecided"' in shown


def test_words_count_what_agrees_and_name_what_does_not() -> None:
    claims = (CLAIM, replace(CLAIM, id="other", holds=False))
    judged = outcome(CELL, replace(CELL, ours=3.0), claims=claims)
    words = verdict.in_words(verdict.verdict(judged), judged.study)
    assert "| predicted | 1 | 2 | 0 | 0 |" in words
    assert "| Table 1: times |  |  | 1 of 2 |" in words
    assert "1 of 2 claims hold" in words
    assert "- does not hold: it is cheaper" in words
