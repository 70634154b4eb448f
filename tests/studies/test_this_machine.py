"""The study of this machine: on simulated plays of known truth, and what it decides before it plays."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from studies import simulated_machine as made
from thinktime.cli import run
from thinktime.documents.render import render
from thinktime.errors import InputError
from thinktime.log import Log
from thinktime.models.sizing import Machine, Work, course
from thinktime.sources.scripts import read
from thinktime.stats.estimate import NotApplicable
from thinktime.studies.this_machine import page, prediction
from thinktime.studies.this_machine.analysis import MachineStudy, analyse
from thinktime.studies.this_machine.design import Design, Wanted, decided, listed, numbers

TRUTH = course(Work(think_s=made.THINK_S, cpu_s=made.SERVICE_S), Machine(cpus=made.CPUS), max(made.USERS))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("studies") / "study"
    made.write(path, made.design())
    return path


def studied(folder: Path) -> MachineStudy:
    design = Design.read(folder)
    found = analyse(folder, design, design.plays)
    assert isinstance(found, MachineStudy), found
    return found


@pytest.fixture(scope="module")
def study(folder: Path) -> MachineStudy:
    return studied(folder)


def test_what_was_simulated_comes_out_at_each_number_of_users(study: MachineStudy) -> None:
    assert tuple(level.users for level in study.levels) == made.USERS
    assert [level.held_out for level in study.levels] == [False] * 4 + [True] * 4
    for level in study.levels:
        at = level.users - 1
        assert level.response is not None
        assert level.response.value == pytest.approx(TRUTH.response_s[at], rel=0.25)
        cost = level.cost
        assert cost is not None
        assert cost.cpu.value == pytest.approx(made.SERVICE_S, rel=0.1)
        # Exact by hand: what was put in is a fixed part of each interaction.
        assert cost.user.value == pytest.approx(made.USER_PART * cost.cpu.value)
        assert cost.faults is not None
        assert cost.fault is not None
        assert cost.other is not None
        assert cost.faults.value == pytest.approx(made.FAULTS)
        assert cost.fault.value == pytest.approx(made.FAULTS * made.FAULT_S)
        assert cost.other.value == pytest.approx(cost.system.value - made.FAULTS * made.FAULT_S)
        assert level.busy == pytest.approx(TRUTH.utilisation[at], abs=0.08)
        assert level.driver_share == pytest.approx(0.01)


def test_the_second_half_is_predicted_from_the_first_alone(study: MachineStudy) -> None:
    """Four predictions whose intervals hold 95 % of truths each, and an allowance of 15 % for the means."""
    assert [one.users for one in study.checked] == [17, 21, 25, 30]
    assert all(one.holds for one in study.checked)
    for one in study.checked:
        assert one.predicted.value == pytest.approx(TRUTH.response_s[one.users - 1], rel=0.15)
    # The curve and the check are one prediction.
    curve = dict(study.curve)
    assert [curve[one.users].value for one in study.checked] == [one.predicted.value for one in study.checked]


def test_a_truth_that_changes_after_the_first_half_is_said_to_be_missed(tmp_path: Path) -> None:
    """The canary: half as much CPU time again from 17 users on, which no model of the first half can know."""
    path = tmp_path / "canary"
    made.write(path, made.design(), service_s=lambda play: made.SERVICE_S * (1.5 if play.users > 13 else 1.0))
    found = studied(path)
    assert not any(one.holds for one in found.checked)
    sentence = page.document(found).findings[2].text
    assert "0 of 4" in sentence
    assert "misses it with 17, 21, 25 and 30 users" in sentence
    assert "too short" in sentence
    table, _ = next(
        section for section in page.document(found).sections if section.name == prediction.NAME
    ).tables
    assert [row[4] for row in table.rows] == ["missed"] * 4


def test_a_second_half_without_responses_is_said_to_be_unchecked(study: MachineStudy) -> None:
    """On a busy machine none of its numbers of users may have enough replies."""
    nothing = {"n": None, "response": None, "p90": None, "throughput": None, "checked": None}
    levels = tuple(replace(level, **nothing) if level.held_out else level for level in study.levels)  # type: ignore[arg-type]
    document = page.document(replace(study, levels=levels))
    assert "the model was not checked" in document.findings[2].text
    html = render(document, "html", 80)
    assert "of which the model knew nothing: not measured." in html


def test_nothing_of_the_second_half_is_known_to_the_model(
    folder: Path, study: MachineStudy, tmp_path: Path
) -> None:
    path = tmp_path / "other"
    made.write(path, made.design(), service_s=lambda play: made.SERVICE_S * (3.0 if play.users > 13 else 1.0))
    other = studied(path)
    assert [value for _, value in other.curve] == [value for _, value in study.curve]


def test_a_machine_that_changes_meanwhile_is_said_to(tmp_path: Path, study: MachineStudy) -> None:
    drift = study.drift
    assert drift is not None
    assert drift.low <= 1.0 <= drift.high
    assert not any("changed meanwhile" in finding.text for finding in page.document(study).findings)
    path = tmp_path / "drift"
    made.write(path, made.design(), service_s=lambda play: made.SERVICE_S * (1.6 if play.repeats else 1.0))
    changed = studied(path)
    assert changed.drift.low > 1.2
    assert any("changed meanwhile" in finding.text for finding in page.document(changed).findings)


def test_response_times_of_the_driver_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "driver"
    problem = "it took 61 % of a CPU"
    made.write(path, made.design(), problem=lambda play: problem if play.users == 30 else None)
    found = studied(path)
    assert [one.users for one in found.checked] == [17, 21, 25]
    last = found.levels[-1]
    assert (last.response, last.problem) == (None, problem)
    assert last.cost is not None, "what its interactions took is not the driver's"
    warning = next(item.text for item in page.document(found).findings if "driver" in item.text)
    assert "With 30 users the driver of the play was the load (it took 61 % of a CPU)" in warning
    # With the whole second half, there is nothing to check.
    all_of_it = tmp_path / "all"
    made.write(all_of_it, made.design(), problem=lambda play: problem if play.users > 13 else None)
    design = Design.read(all_of_it)
    refused = analyse(all_of_it, design, design.plays)
    assert isinstance(refused, NotApplicable)
    assert "the driver was the load with 17, 21, 25, 30 users" in refused.reason
    assert "driver was the load" in page.not_applicable(refused).findings[0].text
    assert run(["study", "this-machine", "--resume", str(all_of_it), "-o", str(tmp_path / "page.html")]) == 1
    assert "driver was the load" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_page_says_the_answer_in_three_sentences(study: MachineStudy) -> None:
    document = page.document(study)
    assert [section.name for section in document.sections] == [
        page.RESPONSE,
        page.COST,
        page.CAPACITY,
        prediction.NAME,
        page.THEN,
        page.LIMITS,
    ]
    fit, limit, model = (finding.text for finding in document.findings[:3])
    # The mean response is twice that of a user alone, whose 0.05 s is all CPU time.
    most = int(np.count_nonzero(TRUTH.response_s <= 2.0 * TRUTH.response_s[0]))
    answer = study.size.answer.users
    assert answer is not None
    assert answer.low - 1 <= most <= answer.high + 1
    assert fit.startswith(f"{answer.value:.0f} users fit")
    assert "they are what limits" in limit
    assert "4 of 4 in the second half" in model
    assert all("nan" not in text and "None" not in text for text in (fit, limit, model))


@pytest.mark.parametrize(
    ("share", "is_told", "says"), [(0.05, True, ""), (0.2, True, "left"), (0.9, False, "not told")]
)
def test_a_machine_that_others_used_is_said_to_be_so_first(
    study: MachineStudy, share: float, is_told: bool, says: str
) -> None:
    machine = replace(study.measured.machine, background=share * made.CPUS)
    document = page.document(replace(study, _measured=replace(study.measured, machine=machine)))
    first = document.findings[0].text
    assert ("the machine was not free" in first) == bool(says)
    assert says in first
    texts = [finding.text for finding in document.findings], document.sections[0].summary
    assert [any(re.match(r"\d+ users fit", text) for text in some) for some in texts] == [is_told, is_told]
    assert any("other work among it" in finding.text for finding in document.findings) == bool(says)


@pytest.fixture(scope="module")
def written(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Page of the study, written by its command."""
    path = tmp_path_factory.mktemp("written") / "page.html"
    assert run(["study", "this-machine", "--resume", str(folder), "-o", str(path)]) == 0
    return path


def test_every_form_of_the_answer(
    folder: Path,
    written: Path,
    study: MachineStudy,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["study", "this-machine", "--resume", str(folder), "--format", "csv"]) == 0
    # The document of the command: what it prints in one form, it prints in all.
    document = page.document(study)
    printed = capsys.readouterr().out
    assert "machine-model-table" in printed
    assert printed == render(document, "csv")
    answer = json.loads(render(document, "json"))
    assert (answer["kind"], answer["title"]) == ("document", page.TITLE)
    assert max(map(len, render(document, "text", 80).splitlines())) <= 80
    assert 'id="figure-machine-response"' in written.read_text(encoding="utf-8")


def test_the_same_logs_give_the_same_page(folder: Path, written: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.html"
    assert run(["study", "this-machine", "--resume", str(folder), "-o", str(again)]) == 0
    assert again.read_bytes() == written.read_bytes()


# What is decided


@pytest.mark.parametrize("cpus", [1, 2, 16, 128])
@pytest.mark.parametrize("service_s", [0.001, 0.012, 0.2])
def test_the_second_half_reaches_saturation_within_the_time(cpus: int, service_s: float) -> None:
    for wanted in (Wanted(), Wanted(seconds=60.0)):
        wanted.check()
        design = decided(wanted, service_s=service_s, cpus=cpus, floor=None, direct_costs=[])
        script = read(design.script)
        cycle_s = design.think_s * len(script.interactions) / len(script.waiting)
        # Asymptotic bound of a closed system with c servers: N* = c (D + Z) / D.
        saturation = cpus * (service_s + cycle_s) / service_s
        assert design.users[0] == 1
        assert max(design.first_half) < saturation < design.users[-1]
        assert design.users[-1] <= 1.5 * saturation + len(design.users)
        assert len(design.plays) * design.seconds_each + wanted.before_s == pytest.approx(wanted.seconds)
        assert design.settled_s > 0.5 * wanted.play_s


def test_the_order_is_random_and_follows_from_the_seed() -> None:
    orders = [[play.users for play in made.design(seed=seed).plays] for seed in range(20)]
    assert orders == [[play.users for play in made.design(seed=seed).plays] for seed in range(20)]
    for order in orders:
        assert sorted(order[:-1]) == list(made.USERS)
        assert order[-1] == order[0], "the first is repeated at the end"
    # 20 orders of 8 numbers: of those that rise or fall throughout, there is one in 20,160.
    assert all(order[:-1] != sorted(order[:-1], reverse=down) for order in orders for down in (True, False))
    assert len({tuple(order) for order in orders}) > 15
    seeds = [play.seed for play in made.design().plays]
    assert len(set(seeds)) == len(seeds)


def test_named_numbers_saturate_too() -> None:
    design = decided(Wanted(users=(2, 6, 12, 24)), service_s=0.01, cpus=2, floor=None, direct_costs=[])
    script = read(design.script)
    cycle_s = design.think_s * len(script.interactions) / len(script.waiting)
    assert 2 * (0.01 + cycle_s) / 0.01 == pytest.approx(24 / 1.5)


def test_lists_of_users() -> None:
    assert listed("1,4, 8") == (1, 4, 8)
    assert listed("1..7..3,20") == (1, 4, 7, 20)
    assert numbers(22.0, 8) == (1, 5, 9, 14, 19, 24, 28, 33)
    with pytest.raises(InputError, match="nine"):
        listed("1,nine")


# What is refused, and how it goes on


def failed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert run(["study", *map(str, arguments)]) == 2
    return " ".join(capsys.readouterr().err.split())


def test_what_cannot_be_done_is_refused_before_anything_starts(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    here = "this-machine"
    assert "give four or more" in failed(capsys, here, "--users", "1,2,3")
    assert "is too short for 8 numbers of users; give at least" in failed(
        capsys, here, "--duration", "20s", "--users", "1..8"
    )
    assert "give one" in failed(capsys, here, "--quick", "--duration", "5min")
    assert "give fewer users" in failed(capsys, here, "--users", "1,2,3,99999")
    assert "--scale: is an option of papers" in failed(capsys, here, "--scale", "0.5")
    assert "--quick: is an option of this-machine" in failed(capsys, "bard-1971", "--quick")
    assert "already exists; go on with it by --resume" in failed(capsys, here, "--logs", folder)
    assert "--users: was decided when" in failed(capsys, here, "--resume", folder, "--users", "1..4")
    accept = ("--resume", folder, "--accept-driver-load")
    assert "--accept-driver-load: was decided when" in failed(capsys, here, *accept)
    assert "holds no study.json" in failed(capsys, here, "--resume", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "this machine lacks what the script needs" in failed(capsys, here, "--quick")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is damaged"),
        ("[]", "is damaged"),
        ('{"format": 2}', "another version"),
        ('{"format": 1}', "is damaged"),
    ],
)
def test_a_damaged_design_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "study.json").write_text(text)
    with pytest.raises(InputError, match=words):
        Design.read(tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"script": "/tmp/mine.toml"}, "script is not mftn3-linux"),
        ({"think_s": "soon"}, "think_s"),
        ({"settled_s": -1.0}, "settled_s"),
        ({"ramp_s": True}, "ramp_s"),
        ({"plays": [{"name": "../elsewhere", "users": 1, "seed": 1}]}, "not named as a folder beside it"),
        ({"plays": [{"name": "..", "users": 1, "seed": 1}]}, "not named as a folder beside it"),
        ({"plays": [{"name": "one", "users": 0, "seed": 1}]}, "a play"),
        ({"plays": [{"name": "one", "users": 1, "seed": 1}]}, "fewer than four numbers of users"),
        ({"direct_costs": [{"request": "forks"}]}, "is damaged"),
        ({"floor": {"response_s": {"median": "fast"}}}, "is damaged"),
        ({"floor": 7}, "is damaged"),
        ({"unheard_of": 1}, "is damaged"),
    ],
)
def test_a_design_that_was_changed_starts_nothing_else(
    folder: Path, tmp_path: Path, change: dict[str, object], words: str
) -> None:
    given = json.loads((folder / "study.json").read_text())
    (tmp_path / "study.json").write_text(json.dumps(given | change))
    with pytest.raises(InputError, match=words):
        Design.read(tmp_path)


def test_a_design_is_read_as_it_was_written(tmp_path: Path) -> None:
    design = made.design()
    design.write(tmp_path)
    assert Design.read(tmp_path) == design


def test_a_study_that_was_begun_on_another_machine_is_not_mixed(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = tmp_path / "begun"
    shutil.copytree(folder, begun)
    design = Design.read(begun)
    replace(design, cpus=4096).write(begun)
    shutil.rmtree(begun / design.plays[3].name)
    assert "was begun on 4096 CPUs" in failed(capsys, "this-machine", "--resume", begun)
    assert len(Log.open(begun / design.plays[0].name).tables) > 1
