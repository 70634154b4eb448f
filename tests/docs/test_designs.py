"""The designs in the documentation run, as they stand, with the command that the documentation shows."""

import csv
import io
from pathlib import Path

import polars as pl
import pytest

from called import thinktime
from thinktime import cli
from thinktime.analyses.experiment import words
from thinktime.cli.experiment import command
from thinktime.errors import InputError
from thinktime.log.runs import Runs

DESIGNS = sorted((Path(__file__).parents[2] / "docs").glob("**/designs/*.toml"))
GIVEN = {
    "output": None,
    "replications": None,
    "resume": False,
    "force": False,
    "response": None,
    "folder": None,
}


def experiment(design, **options):
    """Run the command in this process: starting one costs a second."""
    command(design, **(GIVEN | options), threads=None, form="csv")


def refused(design, **options):
    """What the command says to bad use."""
    with pytest.raises(InputError) as said:
        experiment(design, **options)
    return str(said.value)


def figures(text):
    rows = list(csv.DictReader(io.StringIO(text)))
    return {(row["table"], row["row"], row["quantity"]): row["value"] for row in rows}


LONG = {"more-core", "scheduling", "swapping"}
ALL = [pytest.param(path, marks=pytest.mark.thorough if path.stem in LONG else ()) for path in DESIGNS]


@pytest.fixture(scope="module", params=ALL, ids=lambda design: design.stem)
def made(request, tmp_path_factory):
    """A design, and its runs with three replications."""
    folder = tmp_path_factory.mktemp("runs") / request.param.stem
    arguments = ["experiment", request.param, "--runs", folder, "--replications", "3", "--format", "csv"]
    done = thinktime(*arguments)
    assert done.returncode == 0, done.stderr
    return request.param, folder, done.stdout


def test_there_are_designs():
    assert DESIGNS


def test_a_design_of_the_documentation_runs(made, capsys):
    _, folder, printed = made
    runs = Runs.open(folder)
    assert all(len(cell.replications()) == 3 for cell in runs.cells)
    found = figures(printed)
    assert all(float(found[f"experiment-{name}-anova", "error", "df"]) > 0 for name in responses(found))
    # Analysed again, from the folder alone, the figures are the same.
    assert cli.run(["analyse", "experiment", str(folder), "--format", "csv"]) == 0
    assert capsys.readouterr().out == printed


def responses(found):
    return {
        table.removeprefix("experiment-").removesuffix("-anova")
        for table, _, _ in found
        if table.endswith("-anova")
    }


def test_replications_that_are_added_leave_the_others_as_they_were(made):
    design, folder, _ = made
    before = Runs.open(folder).responses()
    experiment(design, folder=folder, resume=True, replications=4)
    after = Runs.open(folder).responses()
    assert after.height == before.height // 3 * 4
    assert after.filter(pl.col("replication") < 3).equals(before)


def test_bad_use_says_what_would_be_right(made, tmp_path, capsys):
    design, folder, _ = made
    assert "--resume continues it" in refused(design, folder=folder)
    assert "is a folder of runs" in refused(folder, folder=tmp_path / "other")
    assert "has no response 'speed'; its responses are " in refused(folder, response=["speed"])
    assert "cannot be read" in refused(tmp_path / "nothing.toml")
    misspelt = tmp_path / "misspelt.toml"
    misspelt.write_text(design.read_text().replace("[parameters]", "[parameters]\nlenth = 600"))
    text = refused(misspelt)
    for part in (str(misspelt), "cell ", "lenth", "did you mean"):
        assert part in text
    right = design.read_text().partition('responses = ["')[2].partition('"')[0]
    wrong = right[:3] + right[4:]
    misspelt.write_text(design.read_text().replace(f'["{right}"', f'["{wrong}"'))
    assert f"no response '{wrong}'; did you mean {right}?" in refused(misspelt)
    assert not misspelt.with_suffix("").exists()
    assert cli.run(["analyse", "experiment", str(folder / "cells" / "000")]) == 2
    assert "nothing was varied" in capsys.readouterr().err


def test_a_page_with_figures(made, tmp_path):
    _, folder, _ = made
    one = next(iter(Runs.open(folder).units))
    experiment(folder, response=[one], output=tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!doctype html>")
    assert f"What determines the {words.response(one)}?" in page
    assert f"Analysis of variance of the {words.response(one)}" in page
