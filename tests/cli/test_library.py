"""Commands and functions of the same name are one thing: the same work, the same values."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import thinktime
from thinktime.cli import run
from thinktime.models.queueing.networks import mva
from thinktime.models.queueing.open_stations import mm1

LINES_MAX = 40
"""Lines of a short text: a screen."""
CHARACTERS_MAX = 2500
USERS = {"users": 6, "length": 400, "warm_up": 50}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Folder with the log `run` of simulated users."""
    folder = tmp_path_factory.mktemp("library")
    thinktime.simulate("apl360", USERS, replications=2).record(folder / "run", trace=True)
    return folder


def printed(capsys, *arguments) -> dict:
    assert run([*map(str, arguments), "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def as_json(values) -> dict:
    """Values as they are after JSON, whose keys are texts."""
    return json.loads(json.dumps(values, allow_nan=False))


def test_simulate_and_its_command_give_the_same_values(capsys):
    given = [item for name, value in USERS.items() for item in ("-p", f"{name}={value}")]
    answer = printed(capsys, "simulate", "apl360", *given, "--replications", "3", "--seed", "4")
    simulated = thinktime.simulate("apl360", USERS, seed=4, replications=3)
    assert answer["result"] == as_json(simulated.to_dict())
    other = thinktime.simulate("apl360", USERS, seed=5, replications=3)
    assert answer["result"] != as_json(other.to_dict())


def test_parameters_are_given_by_name_or_in_a_mapping():
    by_name = thinktime.simulate("apl360", **USERS)
    assert by_name.to_dict() == thinktime.simulate("apl360", USERS).to_dict()
    assert by_name.to_dict() == thinktime.simulate("apl360", {"users": 6}, length=400, warm_up=50).to_dict()
    with pytest.raises(thinktime.InputError, match="users: given in the mapping and by name"):
        thinktime.simulate("apl360", USERS, users=6)
    with pytest.raises(thinktime.InputError, match='there is no such parameter; did you mean "users"'):
        thinktime.simulate("apl360", user=6)


@pytest.mark.parametrize(
    "name", ["overhead", "response", "throughput", "saturation", "recording", "arrivals"]
)
def test_analyse_and_its_command_give_the_same_values(capsys, folder, name):
    answer = printed(capsys, "analyse", name, folder / "run")
    assert answer["result"] == as_json(thinktime.analyse(name, folder / "run").to_dict())


def test_a_question_that_cannot_be_answered_says_so_in_its_values(capsys, folder):
    assert "not_applicable" in printed(capsys, "analyse", "users", folder / "run")["result"]


def test_report_and_its_command_give_the_same_document(capsys, folder):
    answer = printed(capsys, "report", folder / "run")
    assert answer == json.loads(thinktime.render(thinktime.report(folder / "run"), "json"))
    with pytest.raises(thinktime.InputError, match="at least one"):
        thinktime.report()


def test_size_gives_what_its_command_prints(capsys, tmp_path):
    station = {
        "name": "cpu",
        "discipline": "processor_sharing",
        "servers": 2,
        "service": "exponential(mean=0.1)",
    }
    given = {"users": 12, "think": "exponential(mean=1)", "length": 200, "interval": 1.0}
    thinktime.simulate("network", given | {"stations": [station]}, seed=2).record(
        tmp_path / "log", trace=True
    )
    sized = thinktime.size(
        tmp_path / "log", plan=thinktime.SizePlan(cpus=4), goals=["p90 response < 1s"], users=[12, 24]
    )
    options = ["--cpus", "4", "--goal", "p90 response < 1s", "--users", "12,24"]
    answer = printed(capsys, "size", tmp_path / "log", *options)
    assert sized.to_dict() == {key: answer[key] for key in answer.keys() - {"format", "version", "kind"}}
    assert sized.to_frame()["users"].to_list() == [12, 24]
    # Four CPUs do 40 interactions a second at most, and two users on them hardly wait.
    assert 24 < sized.users.value < 80
    assert len(repr(sized)) < CHARACTERS_MAX
    with pytest.raises(thinktime.InputError, match="at least one"):
        thinktime.size()


def test_play_gives_what_its_command_prints(tmp_path, capsys):
    plan = thinktime.Plan(
        workload=thinktime.workload("empty"),
        users="1..2",
        step_s=0.4,
        think="exponential(mean=50ms)",
        seed=1,
        baseline_s=0.0,
    )
    played = thinktime.play(tmp_path / "played", plan, interval_s=None, accept_driver_load=True)
    options = ["--users", "1..2", "--step", "0.4s", "--think", "exponential(mean=50ms)", "--baseline", "0s"]
    # Other tests have the CPUs too: the driver may be late.
    options.append("--accept-driver-load")
    answer = printed(capsys, "play", "empty", *options, "--no-record", "-o", tmp_path / "other")
    assert {"format", "version", "kind", *played.to_dict()} == set(answer)
    assert played.to_frame()["users"].to_list() == [1, 2]
    assert sum(played.to_frame()["n"]) == played.outcome["completed"] > 0
    with pytest.raises(thinktime.InputError, match="already exists"):
        thinktime.play(tmp_path / "played", plan, interval_s=None)


def test_a_recording_is_made_by_the_function(tmp_path):
    summary = thinktime.record(
        tmp_path / "run", thinktime.RecordOptions(interval_s=0.1, duration_s=0.3, gauges_every_s=1.0)
    )
    assert summary["samples"] == thinktime.Log.open(tmp_path / "run").samples().collect().height > 0


def results(folder) -> list:
    """A result of every kind."""
    log = thinktime.Log.open(folder / "run")
    asked = [question.name for question in thinktime.QUESTIONS if question.accepts in ("one log", "logs")]
    answers = [thinktime.analyse(name, log) for name in asked]
    simulated = thinktime.simulate("apl360", USERS, replications=2)
    predictions = [mva([0.5, 0.1], think_s=20.0, users=35), mm1(0.5, 1.0)]
    found = [answer for answer in answers if isinstance(answer, thinktime.Result)]
    assert len(found) >= 8
    return [*found, simulated, *predictions]


def test_every_result_is_short_in_print_and_whole_in_its_values(folder):
    for result in results(folder):
        name = type(result).__name__
        text = repr(result)
        assert len(text.splitlines()) <= LINES_MAX, name
        assert len(text) <= CHARACTERS_MAX, name
        assert "<table" in result._repr_html_(), name
        json.dumps(result.to_dict(), allow_nan=False)
        frame = result.to_frame()
        assert frame.width, name
        assert len(frame.to_pandas()) == frame.height


def test_an_estimate_prints_as_people_write_it():
    cost = thinktime.Estimate(value=276e-6, unit="s", low=240e-6, high=312e-6, n=90, method="mean")
    assert str(cost) == f"{cost}" == "276 ± 36 µs"
    assert str(cost.without_interval("observed")) == "276 µs"
    skewed = thinktime.Estimate(value=2.0, unit="s", low=1.9, high=4.0, n=90, method="median")
    assert str(skewed) == "2.0 s (1.9 to 4.0)" or str(skewed) == "2.0 (1.9 to 4.0) s"
    assert str(thinktime.NotApplicable("no users", "record some")) == "not applicable: no users; record some"


def test_a_prediction_has_a_row_for_each_of_its_numbers():
    prediction = mva([0.5, 0.1], think_s=20.0, users=35)
    frame = prediction.to_frame()
    numbers = {row["quantity"]: row for row in frame.to_dicts() if row["number"] is None}
    assert numbers["response_s"]["value"] == prediction["response_s"] == prediction.number("response_s")
    assert numbers["response_s"]["unit"] == "s"
    several = next(item for item in prediction.quantities if isinstance(item.value, np.ndarray))
    rows = [row["value"] for row in frame.to_dicts() if row["quantity"] == several.name]
    assert rows == prediction.array(several.name).ravel().tolist()
    with pytest.raises(TypeError, match="array"):
        prediction.number(several.name)
    assert prediction.to_dict()["quantities"][0]["name"] == prediction.quantities[0].name


@pytest.mark.thorough
def test_a_script_with_the_functions_has_types(tmp_path):
    """mypy knows the results: no `Any`, and a misspelt field is an error."""
    script = tmp_path / "script.py"
    right = """
import thinktime
from thinktime import NotApplicable

overhead = thinktime.analyse("overhead", "run")
assert not isinstance(overhead, NotApplicable)
reveal_type(overhead)
both = thinktime.analyse("throughput", "run", "other")
reveal_type(both)
reveal_type(thinktime.mva([0.5], think_s=20.0, users=3)["response_s"])
reveal_type(thinktime.simulate("apl360", {"users": 3}))
"""
    script.write_text(right + "overhead.costings\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(script)]
    settings = Path(__file__).parents[2] / "pyproject.toml"
    command += ["--config-file", str(settings), "--cache-dir", str(settings.parent / ".mypy_cache")]
    said = subprocess.run(command, capture_output=True, text=True).stdout
    for expected in ("result.Overhead", "ThroughputComparison | ", "float | ", "Simulated"):
        assert expected in said
    assert "Any" not in said.replace("tuple[Any, ...]", "")  # the shape of an array
    errors = [line for line in said.splitlines() if " error: " in line]
    assert len(errors) == 1
    assert '"costings"' in errors[0]
