"""The page of a fleet, and what the command prints."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
import simulated_fleet as simulated
from simulated_fleet import Machine

from thinktime.cli import run
from thinktime.documents.render import render
from thinktime.fleets.answer import Fleet, of_summaries
from thinktime.fleets.page import ROWS_MOST, document
from thinktime.fleets.section import hours_words
from thinktime.fleets.summary import Summary, summarise

MACHINES = 1000
PAGE_MOST = 1_500_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    machines = [
        Machine(
            host=f"host-{number}",
            model=f"Model {number % 2} with a long name, as processors have them @ 2.40GHz",
            hours=3.0,
            interval_s=30.0,
            saturated=(1,) if number == 0 else (),
            seed=number,
        )
        for number in range(6)
    ]
    return simulated.write_all(tmp_path_factory.mktemp("page"), machines)


@pytest.fixture(scope="module")
def thousand(folder: Path) -> Fleet:
    """A thousand machines, each of which is one of six under another name."""
    found = [item for path in sorted(folder.iterdir()) if isinstance(item := summarise(path), Summary)]
    return of_summaries(
        [
            replace(found[number % 6], host=f"host-{number:04}", path=f"logs/{number}")
            for number in range(MACHINES)
        ],
        [],
    )


def test_a_page_of_a_thousand_machines_is_small(thousand: Fleet) -> None:
    page = render(document(thousand), "html")
    assert len(page.encode()) < PAGE_MOST
    # The first hundred of 167 that saturate are in it, and no other.
    assert page.count("1 of 3 h, 01:00 to 02:00") == ROWS_MOST


def test_programs_get_all_machines(thousand: Fleet) -> None:
    whole = document(thousand, None)
    rows = list(csv.DictReader(io.StringIO(render(whole, "csv"))))
    assert len({row["row"] for row in rows if row["table"] == "fleet-machines"}) == MACHINES
    answer = json.loads(render(whole, "json"))
    assert len(answer["sections"][0]["tables"][0]["rows"]) == MACHINES
    assert len(answer["sections"][0]["figures"][0]["data"]["rows"]) == MACHINES


def test_three_sentences_answer(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fleet", str(folder)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "A fleet of 6 machines" in text
    assert "1 of 6 machines was saturated for an hour or more: host-0 (the CPU, 01:00 to 02:00 UTC)." in text
    assert "5 of 6 machines have room for more active users than in the busiest hour:" in text
    assert "1 machine has none" in text
    assert "No difference between models was found in what requests cost (5 tests," in text
    assert "No model has 8 machines or more whose logs tell costs." in text
    assert f"thinktime report {folder}/host-0 -o report.html" in text


def test_the_formats_of_the_command(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fleet", f"{folder}/host-[12]", "--format", "json", "--level", "0.9"]) == 0
    answer = json.loads(capsys.readouterr().out)
    rows = answer["sections"][0]["tables"][0]["rows"]
    assert sorted(row[0] for row in rows) == ["host-1", "host-2"]
    assert rows[0][3]["level"] == 0.9
    page = tmp_path / "fleet.html"
    assert run(["fleet", str(folder), "-o", str(page)]) == 0
    assert run(["fleet", str(folder), "-o", str(page)]) == 2
    assert "already exists" in capsys.readouterr().err
    assert run(["fleet", "s3://bucket"]) == 2
    assert "copy the logs here first" in capsys.readouterr().err


def test_hours_in_words() -> None:
    assert hours_words([]) == ""
    assert hours_words([10, 9, 9]) == "09:00 to 11:00"
    assert hours_words([0, 5, 6, 23]) == "00:00 to 01:00, 05:00 to 07:00, 23:00 to 24:00"
    assert hours_words(range(24)) == "all day"
