"""`thinktime predict paging` as it is called."""

import json
from functools import partial
from pathlib import Path

import pytest

from thinktime.predictions import paging

SCRIPT = Path(__file__).parents[2] / "docs" / "how-to" / "scripts" / "edit-and-run.toml"


@pytest.fixture
def run(predict_command):
    """`thinktime predict paging`."""
    return partial(predict_command, "paging")


def tables(output):
    return {each["name"]: each for section in json.loads(output)["sections"] for each in section["tables"]}


def test_ranges_and_a_simulation_stand_side_by_side(run):
    short = ("-p", "length=120", "-p", "warm_up=30", "--levels", "2")
    arguments = ("--max-eligible", "2..3", "--core", 192, "--simulate", 2, "--format", "json")
    status, output, errors = run(*short, *arguments)
    assert (status, errors) == (0, "")
    result = tables(output)
    beside = {row[0]: row for row in result["paging-simulated"]["rows"]}
    _, _, predicted, simulated, less = beside["useful_share"]
    assert simulated["low"] < simulated["value"] < simulated["high"]
    assert less["value"] == pytest.approx(predicted["value"] - simulated["value"])
    assert [row[0] for row in result["paging-max-eligible"]["rows"]] == ["2", "3"]
    assert len(result["paging-levels"]["rows"]) == 2
    assert dict(result["paging-machine"]["rows"])["core"] == "192"
    assert "simulated" in output


def test_ranges_have_charts_with_the_simulation_laid_over():
    simulation = paging.Simulation(replications=2, seed=1)
    page = paging.document({"length": 60}, {"users": (5, 10)}, levels=2, simulation=simulation)
    (figure,) = page.sections[2].figures
    chart = json.dumps(figure.chart())
    assert "useful, simulated" in {key.name for key in figure.keys}
    assert "diamond" in chart
    assert [row[0] for row in figure.data.rows] == ["5", "10"]
    (figure,) = page.sections[1].figures
    assert "eligible processes" in json.dumps(figure.chart())


def test_a_script_of_a_file_is_the_one_that_is_simulated(run):
    """The model's users type what the file says, as `thinktime simulate` has them do."""
    status, output, errors = run("-p", f"script={SCRIPT}", "--levels", "2", "--format", "json")
    assert (status, errors) == (0, "")
    assert dict(tables(output)["paging-machine"]["rows"])["script"] == "edit-and-run"


def test_nothing_is_written_over(run, tmp_path):
    (tmp_path / "paging.json").write_text("mine")
    status, _, errors = run("-o", "paging.json")
    assert status == 2
    assert "already exists" in errors


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--core", "lots"), "--core lots: give a number, several such as 128,256, or a range"),
        (("--users", "10..5"), "--users 10..5: 10 is above 5; give a number"),
        (("--users", "1..1000"), "1..1000: too many values; give a number"),
        (("--users", "1..nan"), "1..nan: give a number"),
        (("--core", "32"), "core"),
        (("-p", "eligibility=working_sets"), "which this model does not have; give number"),
        (("-p", "colour=red"), "colour"),
        (("--cpus", "3"), "cpus"),
    ],
)
def test_bad_input_says_what_is_wrong(run, arguments, named):
    status, output, errors = run(*arguments)
    assert status == 2
    assert output == ""
    assert named in " ".join(errors.split())
