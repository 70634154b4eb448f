"""Scripts of users: the standard ones as published, and one's own as a parameter, with what can be wrong."""

import csv
import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

import thinktime
from called import thinktime as thinktime_
from thinktime.errors import InputError
from thinktime.log.design import Design
from thinktime.log.runs import Runs
from thinktime.sources.experiments import prepare, run
from thinktime.sources.scripts import Script, builtin, demands, read
from thinktime.sources.simulated import resolve, simulate

PUBLISHED = Path(thinktime.__file__).parent / "studies" / "sekino_1969" / "published"
MINE = """\
name = "mine"
think = "exponential(mean=5)"

[commands.edm.multics]
cpu = 0.06
pages = 32
segments = 8
lines = 1

[[interaction]]
command = "edm"
types = "edm a"
wait_for = "Edit."

[[interaction]]
command = "edm"
types = "a line"
wait = false
think = { kind = "uniform", low = 1, high = 3 }
multics = { cpu = 0.02, lines = 0 }
"""
SMALL = {"users": 3, "length": 300, "warm_up": 60}


def published(name):
    return list(csv.DictReader((PUBLISHED / f"{name}.csv").read_text().splitlines()))


def written(folder, old="", new="", name="my.toml"):
    path = folder / name
    assert old in MINE
    path.write_text(MINE.replace(old, new, 1) if old else MINE)
    return path


@pytest.mark.parametrize(("name", "column"), [("mftn3", "multics_command"), ("6mad1", "ctss_command")])
def test_the_first_half_of_a_standard_script_waits_for_the_commands_of_table_1(name, column):
    # A row without a command goes on with that of the row above.
    table, command = [], ""
    for row in published("table1_response_times"):
        command = row[column] or command
        table.append(command)
    script = read(name)
    assert [found.command for found in script.waiting[:17]] == table
    assert len([found for found in script.interactions[:33] if found.wait_for]) == 17


def test_the_standard_scripts_have_the_published_totals():
    facts = {
        row["name"]: float(row["value"])
        for row in published("facts")
        if row["unit"] != "date" and row["value"].replace(".", "").isdigit()
    }
    cpm01 = {row["quantity"]: row["value"] for row in published("ctss_run_cpm01")}
    run_s = {
        "mftn3": ("multics", facts["interactions-script-mftn3"] * facts["run-time"] / 1000),
        "6mad1": ("ctss", float(cpm01["total_run_time"])),
    }
    for name, (system, total_s) in run_s.items():
        script = read(name, system)
        assert len(script.interactions) == facts["interactions-script-mftn3"]
        assert len(script.waiting) == facts["waiting-interactions"]
        assert {found.think for found in script.interactions} == {facts["think-time"]}
        assert sum(found.demands[system]["cpu"] for found in script.interactions) == pytest.approx(total_s)


def test_a_script_of_ones_own_is_read_whole(tmp_path):
    script = read(written(tmp_path), "multics")
    first, second = script.interactions
    assert (script.name, script.systems, script.waiting) == ("mine", ("multics",), (first,))
    assert (first.types, first.wait_for, second.wait_for, second.heavy) == ("edm a", "Edit.", None, False)
    assert first.think == {"kind": "exponential", "mean": 5.0}
    expected = {"cpu": 0.02, "pages": 32.0, "segments": 8.0, "lines": 0.0, "first_output": 1.0}
    assert second.demands == {"multics": expected}
    asked = {demand.name: demand.default for demand in demands() if demand.system == "multics"}
    assert asked == {name: 1.0 if name == "first_output" else None for name in expected}


def test_a_script_is_the_same_by_name_by_file_and_whole(tmp_path):
    path = tmp_path / "copy.toml"
    path.write_text(builtin()["mftn3"])
    by_name, by_file, whole = (
        simulate("multics", SMALL | {"script": script}, seed=2)
        for script in ("mftn3", path, read("mftn3").table)
    )
    assert_frame_equal(by_name.responses, by_file.responses, check_exact=True)
    assert_frame_equal(by_name.responses, whole.responses, check_exact=True)
    assert by_name.parameters["script"] == "mftn3"
    assert by_file.parameters["script"] == whole.parameters["script"] == read("mftn3").table
    # Another script is another load.
    other = simulate("multics", SMALL | {"script": written(tmp_path)}, seed=2)
    assert not other.responses.equals(by_name.responses)


@pytest.mark.thorough
def test_a_script_in_a_file_can_be_predicted_like_one_that_is_built_in(tmp_path):
    (tmp_path / "copy.toml").write_text(builtin()["mftn3"])
    outputs = []
    for script in ("mftn3", "copy.toml"):
        arguments = ["-p", f"script={script}", "-p", "users=20", "--format", "csv"]
        predicted = thinktime_("predict", "paging", *arguments, cwd=tmp_path)
        assert predicted.returncode == 0, predicted.stderr
        outputs.append([line for line in predicted.stdout.splitlines() if "script" not in line])
    assert outputs[0] == outputs[1]


def test_the_log_holds_the_script(tmp_path):
    path = written(tmp_path)
    table = read(path).table
    log = tmp_path / "run"
    simulate("multics", SMALL | {"script": str(path)}, seed=1).record(log)
    path.unlink()
    kept = Runs.open(log).parameters["script"]
    assert kept == table
    assert resolve("multics", {"script": kept})["script"] == kept


@pytest.mark.parametrize(
    ("old", "new", "line", "told"),
    [
        ('command = "edm"', 'command = "emd"', 11, 'there is no command "emd"; did you mean "edm"?'),
        ("exponential(mean=5)", "exponential(mean=-5)", 2, "give a number above 0"),
        ('"exponential(mean=5)"', "-5", 2, "-5: is out of range; give a number from 0"),
        ('"exponential(mean=5)"', '{ kind = "exponential", mean = nan }', 2, "nan is not a finite number"),
        ('wait_for = "Edit."\n', "", 10, "interaction 1 (edm): has no wait_for; give wait_for"),
        ('wait_for = "Edit."', 'wait_for = ""', 13, "is empty; give wait_for"),
        ("wait = false", 'wait = false\nwait_for = "r"', 19, "together with wait = false; leave one of them"),
        ("pages = 32\n", "", 9, "has no demand pages on multics; give it in [commands.edm.multics]"),
        ("pages", "page", 6, '"page" is not a demand on multics; did you mean "pages"?'),
        ("lines = 1", 'lines = "many"', 8, '"many": unknown kind `many`, expected one of `deterministic`'),
        ("cpu = 0.06", "cpu = -0.06", 5, "-0.06: is out of range; give a number from 0"),
        ('types = "edm a"\n', "", 10, "types is missing; give the line that the user types"),
        ("[[interaction]]", "[interaction]", 15, "is not TOML: duplicate key"),
        ('name = "mine"', "name = 3", 1, "integer `3`, expected a string; give a name"),
        ('name = "mine"', 'name = "mine', 1, "is not TOML"),
    ],
)
def test_what_is_wrong_has_file_line_and_remedy(tmp_path, old, new, line, told):
    path = written(tmp_path, old, new)
    with pytest.raises(InputError) as error:
        read(path, "multics")
    assert str(error.value).startswith(f"{path}, line {line}: ")
    assert told in str(error.value)
    with pytest.raises(InputError) as again:
        simulate("multics", SMALL | {"script": path}, seed=1)
    assert str(again.value) == str(error.value)


def test_what_is_no_text_or_no_file_is_told(tmp_path):
    latin = tmp_path / "latin.toml"
    latin.write_bytes(b'name = "mine"\nthink = "\xe9"\n')
    for path, told in [
        (latin, "line 2: the text: byte 0xe9 is not UTF-8"),
        (tmp_path, "cannot be read"),
        (tmp_path / "none.toml", f"is neither a built-in script ({', '.join(builtin())}) nor a file"),
    ]:
        with pytest.raises(InputError) as error:
            read(path)
        assert str(error.value).startswith(str(path))
        assert told in str(error.value)
    with pytest.raises(InputError, match=r"6mad1, line .*interaction 1 .edl.: has no demand cpu on multics"):
        simulate("multics", SMALL | {"script": "6mad1"}, seed=1)


def test_any_bytes_are_a_script_or_an_input_error(tmp_path):
    drawn = random.Random(6)
    whole = builtin()["6mad1"].encode()
    path = tmp_path / "any.toml"
    scripts, errors = 0, []
    for _ in range(150):
        damaged = bytearray(whole)
        for _ in range(drawn.randrange(4)):
            at = drawn.randrange(len(damaged))
            damaged[at : at + drawn.randrange(9)] = drawn.randbytes(drawn.randrange(4))
        path.write_bytes(damaged)
        try:
            scripts += isinstance(read(path, "ctss"), Script)
        except InputError as error:
            errors.append(str(error))
    assert scripts
    assert errors
    assert all(error.startswith(str(path)) for error in errors)


def test_the_command_prints_checks_and_refuses(tmp_path):
    listed = thinktime_("scripts", "--format", "json")
    assert listed.returncode == 0, listed.stderr
    assert all(word in json.dumps(json.loads(listed.stdout)) for word in ("mftn3", "6mad1", "first_output"))
    printed = thinktime_("scripts", "mftn3")
    assert printed.stdout == builtin()["mftn3"]
    (tmp_path / "my.toml").write_text(printed.stdout)
    checked = thinktime_("scripts", "--check", "my.toml", cwd=tmp_path)
    assert (checked.returncode, "66" in checked.stdout) == (0, True)
    (tmp_path / "bad.toml").write_text(printed.stdout.replace("think = 30", "think = -30"))
    for arguments in (["scripts", "--check", "bad.toml"], ["simulate", "multics", "-p", "script=bad.toml"]):
        refused = thinktime_(*arguments, cwd=tmp_path)
        assert refused.returncode == 2
        assert refused.stderr.startswith("thinktime: bad.toml, line ")
        assert "think: -30: is out of range" in refused.stderr
    assert thinktime_("scripts", "mftn4").returncode == 2
    assert thinktime_("scripts", "mftn3", "--check", "my.toml", cwd=tmp_path).returncode == 2


def test_replications_are_added_to_those_of_the_same_script_only(tmp_path):
    written(tmp_path)
    written(tmp_path, "mean=5", "mean=6", name="other.toml")
    run = ["simulate", "multics", "-o", "run", "--replications", "1"]
    small = [part for name, value in SMALL.items() for part in ("-p", f"{name}={value}")]
    first = thinktime_(*run, *small, "-p", "script=my.toml", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    added = thinktime_(*run, "--resume", "-p", "script=my.toml", cwd=tmp_path)
    assert added.returncode == 0, added.stderr
    refused = thinktime_(*run, "--resume", "-p", "script=other.toml", cwd=tmp_path)
    assert refused.returncode == 2
    assert "was made with another script" in refused.stderr


def test_an_experiment_is_not_resumed_with_a_script_that_was_changed(tmp_path):
    path = written(tmp_path)
    parameters = {**SMALL, "script": str(path)}
    design = Design(
        name="design.toml",
        system="multics",
        seed=1,
        replications=1,
        factors={"users": [2, 3]},
        parameters=parameters,
    )
    output = tmp_path / "runs"
    run(design, prepare(design, output))
    more = replace(design, replications=2)
    path.write_text(path.read_text() + "# A comment does not change it.\n")
    run(more, prepare(more, output, resume=True))
    assert len(Runs.open(output).responses()) == 4
    path.write_text(MINE.replace("mean=5", "mean=6"))
    with pytest.raises(InputError, match=r"users = 2 was made with another script of the name .*/my\.toml"):
        prepare(more, output, resume=True)


def test_the_documentation_has_a_script_an_error_and_every_demand(tmp_path):
    docs = Path(__file__).parents[2] / "docs" / "how-to"
    assert read(docs / "scripts" / "edit-and-run.toml").systems == ("ctss", "multics")
    assert read(docs / "scripts" / "notes.toml").is_for_terminals
    page = (docs / "write-a-script.md").read_text()
    table = page.partition("## Demands")[2].partition("##")[0]
    told = {cells[2].strip(" `") for line in table.splitlines() if len(cells := line.split("|")) > 3}
    assert told - {"demand", "---"} == {demand.name for demand in demands()}
    wrong = (docs / "scripts" / "edit-and-run.toml").read_text().replace("wait = false", "")
    (tmp_path / "my.toml").write_text(wrong)
    shown = "simulate multics -p script=my.toml"
    assert f"$ thinktime {shown}\n" in page
    refused = thinktime_(*shown.split(), cwd=tmp_path)
    assert refused.returncode == 2
    assert " ".join(refused.stderr.split()) in " ".join(page.split())


@pytest.mark.parametrize(
    ("system", "alone"),
    [
        ("multics", {"users": 1, "normal_users": 0, "housekeeping": 0, "order": "script"}),
        ("ctss", {"users": 1, "normal_users": 0}),
    ],
)
def test_a_coarse_clock_changes_what_is_read_and_nothing_else(system, alone):
    step = 2.0
    once = alone | {"length": 1900, "warm_up": 0}
    exact, read_off = (
        simulate(system, once | {"clock_resolution": clock}, seed=4).responses.row(0, named=True)
        for clock in (0, step)
    )
    waited = [name for name in exact if name[9:11].isdigit() and exact[name] is not None]
    assert len(waited) > 25
    # Played once, so that each is one reading: of the clock, and less than a step from the truth.
    assert all(read_off[name] % step == 0.0 for name in waited)
    assert all(abs(read_off[name] - exact[name]) < step for name in waited)
    work = ("cpu_per_interaction_s", "run_per_interaction_s", "interactions_per_s")
    assert [read_off[name] for name in work] == [exact[name] for name in work]
