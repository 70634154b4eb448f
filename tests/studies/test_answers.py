"""Sentences of a study have the numbers of the run, and never say what the run contradicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_paper import TOML, paper

from thinktime.documents.document import Column, Document, Finding, Section, Table
from thinktime.errors import InputError
from thinktime.stats.estimate import Estimate
from thinktime.studies.answers import Sentence, Term, explained
from thinktime.studies.cells import Claim
from thinktime.studies.claims import Statement

STATEMENTS = {
    "faster": Statement(
        id="faster", source="Table 1", text="it is faster", holds_if="high(gain.new) < amount", amount=1.0
    ),
    "cheap-too": Statement(
        id="cheap-too", source="Table 2", text="it is cheap", holds_if="price < 5", measures=["more"]
    ),
}
GAIN = Estimate(value=0.5, n=8, method="given", low=0.4, high=0.6)
MEASURES: dict[str, dict[str, Any]] = {
    "faster": {"gain": {"new": GAIN}},
    "cheap-too": {"price": 3.0, "more": None},
}


def claims(**holds: bool | None) -> dict[str, Claim]:
    verdicts = {"faster": True, "cheap-too": True} | {
        name.replace("_", "-"): held for name, held in holds.items()
    }
    return {
        name: Claim(
            study="paper",
            id=name,
            source="Table 1",
            holds=verdict,
            statistic="1",
            text=STATEMENTS[name].text,
            measures=MEASURES[name],
        )
        for name, verdict in verdicts.items()
    }


def said(sentence: Sentence, judged: dict[str, Claim]) -> str:
    sentence.check(STATEMENTS, ["speed"])
    return sentence.words(judged, STATEMENTS, lambda name: 7.0)


def test_a_sentence_has_the_measures_of_claims_amounts_and_stated_numbers() -> None:
    sentence = Sentence(
        text="{faster.gain.new:.1fi s} of {faster.amount:g}, {cheap_too.price:.0f} for {fact('x'):.0f}",
        holds=["faster", "cheap-too"],
    )
    assert said(sentence, claims()) == "0.5 s (0.4 to 0.6) of 1, 3 for 7"


def test_what_the_run_contradicts_is_not_said() -> None:
    sentence = Sentence(
        text="It is faster, by {faster.gain.new:.1f} s.", holds=["faster"], fails=["cheap-too"]
    )
    assert said(sentence, claims(cheap_too=False)) == "It is faster, by 0.5 s."
    assert said(sentence, claims()) == "In these runs it holds that it is cheap."
    undecided = said(sentence, claims(faster=None, cheap_too=False))
    assert undecided == "In these runs it is open whether it is faster."
    both = said(sentence, claims(faster=False))
    assert both == "In these runs it does not hold that it is faster and it holds that it is cheap."


def test_other_words_are_said_where_there_are_some() -> None:
    sentence = Sentence(text="Yes.", holds=["faster"], otherwise="No: {faster.gain.new:.1f} s.")
    assert said(sentence, claims(faster=False)) == "No: 0.5 s."


def test_a_number_that_was_not_measured_is_not_printed() -> None:
    sentence = Sentence(text="{cheap_too.more:.1f} more")
    assert said(sentence, claims()) == "In these runs it holds that it is cheap."
    assert said(sentence, {}) == "In these runs it is open whether it is cheap."


@pytest.mark.parametrize(
    ("added", "line", "message"),
    [
        ('[[answers]]\ntext = "{fast.value:.1f}"', 2, "there is no claim fast"),
        ('[[answers]]\ntext = "{faster.valu:.1f}"', 2, "has no measure valu; did you mean value"),
        ('[[today]]\ntext = "one"\nholds = ["fasster"]', 3, "there is no such claim; did you mean faster"),
        ('[[concluded]]\ntext = "{faster.value:.1q}"', 2, "has the format '.1q'"),
        ('[[answers]]\ntext = "one"\npart = "sped"', 3, "there is no such part; did you mean speed"),
        ('[[answers]]\ntext = "{faster.value"', 0, "expected '}'"),
    ],
)
def test_a_mistake_is_found_when_the_file_is_read(
    tmp_path: Path, added: str, line: int, message: str
) -> None:
    start = TOML.count("\n")
    with pytest.raises(InputError, match=r"study\.toml") as caught:
        paper(tmp_path, TOML + added + "\n")
    assert message in str(caught.value)
    if line:
        assert f"study.toml:{start + line}: " in str(caught.value)


def test_a_reason_may_use_the_measures_of_its_own_claim_only(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"study.toml:\d+: Statement faster: why: .*there is no speed"):
        paper(tmp_path, TOML + 'why = "because of {speed:.1f}"\n')
    assert (
        paper(tmp_path, TOML + 'why = "{value:.1f}"\n').statements["faster"].reason({"value": 2.0}) == "2.0"
    )


def test_a_term_is_explained_once_and_not_within_another_word() -> None:
    table = Table(
        name="t",
        caption="T",
        columns=(Column("claim"), Column("here")),
        rows=(("VSIO", "a VSIO takes 8 ms of it"), ("2", "VSIO again, as was said")),
    )
    document = Document(
        title="T",
        subtitle="xVSIOs and VSIO-like",
        findings=(Finding("no such word"),),
        sections=(Section(name="s", title="S", summary=(), tables=(table,)),),
    )
    result = explained(document, [Term(word="VSIO", means="input and output", also=["VSIOs"])])
    rows = result.sections[0].tables[0].rows
    assert rows[0] == ("VSIO", "a VSIO (input and output) takes 8 ms of it")
    assert rows[1] == table.rows[1]
    assert result.subtitle == document.subtitle
