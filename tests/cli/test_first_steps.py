"""What every command has in common: first steps, help, output, completion, and the list of logs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from called import thinktime as run
from thinktime.cli import COMMANDS
from thinktime.log import Log
from thinktime.sources.simulated import simulate

CODE = "import sys; sys.argv[0] = 'thinktime'; from thinktime.cli import main; main()"


def program(*arguments: object, **how: object) -> subprocess.CompletedProcess[str]:
    """The program in a process of its own."""
    command = [sys.executable, "-c", CODE, *map(str, arguments)]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | how
    return subprocess.run(command, text=True, stdin=subprocess.DEVNULL, check=False, **streams)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("logs") / "deep" / "sim"
    path.parent.mkdir()
    simulated = simulate("apl360", {"users": 2, "length": 60.0}, seed=1, replications=2)
    simulated.record(path, trace=True)
    return path


def test_alone_it_names_three_commands_to_begin_with() -> None:
    done = program()
    assert done.returncode == 0
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) < 10
    for name in ("demo", "record", "report"):
        assert f"  thinktime {name}" in done.stdout


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["-h"], ["--help"]),
        (["help"], ["--help"]),
        (["-V"], ["--version"]),
        (["help", "report"], ["report", "--help"]),
        (["report", "-h"], ["report", "--help"]),
        (["help", "analyse", "overhead"], ["analyse", "overhead", "--help"]),
    ],
)
def test_forms_of_help_are_the_same(one: list[str], other: list[str]) -> None:
    first, second = run(*one), run(*other)
    assert first.returncode == second.returncode == 0
    assert first.stdout == second.stdout != ""


@pytest.mark.parametrize("name", ["x.pdf", "x.md", "x.xlsx", "x"])
@pytest.mark.parametrize("command", [["report"], ["analyse", "rates"]])
def test_an_unknown_ending_is_refused(command: list[str], name: str, log: Path, tmp_path: Path) -> None:
    done = run(*command, log, "-o", tmp_path / name)
    assert done.returncode == 2
    assert ".html, .htm, .txt, .json, .csv" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments", [["systems"], ["systems", "--format", "json"], ["--help"], []])
def test_a_full_disk_behind_standard_output_is_an_error(arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = program(*arguments, stdout=full)
    assert done.returncode == 1
    assert done.stderr.startswith("thinktime: standard output: cannot be written: No space left")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("closed", "said"),
    [(">&-", ""), ("2>&-", "thinktime 0"), (">&- 2>&- <&-", "")],
    ids=["out", "err", "all"],
)
def test_streams_that_the_caller_closed_are_no_error(closed: str, said: str, tmp_path: Path) -> None:
    """As under cron and supervisors. The number of a closed stream must not become that of a log's file."""
    for arguments in (["--version"], ["logs", str(tmp_path)]):
        done = subprocess.run(
            ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-c", CODE, *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0
        assert "Traceback" not in done.stderr
        assert done.stdout.startswith(said if arguments == ["--version"] else "")


def test_a_question_without_its_group_is_pointed_to_it() -> None:
    refused = run("health", "log")
    assert refused.returncode == 2
    assert "health: there is no such command; did you mean `thinktime analyse health`?" in refused.stderr


def test_quiet_leaves_answers_and_errors(tmp_path: Path) -> None:
    assert run("logs", tmp_path).stderr.startswith("thinktime: no logs below")
    assert run("-q", "logs", tmp_path).stderr == ""
    refused = run("-q", "logs", tmp_path / "none")
    assert refused.returncode == 2
    assert refused.stderr.startswith("thinktime: ")


def test_the_program_names_itself_once() -> None:
    done = program("simulate", "apl36")
    assert done.returncode == 2
    assert done.stderr.count("thinktime:") == 1
    assert 'did you mean "apl360"' in done.stderr


def test_times_among_parameters_may_have_a_unit() -> None:
    given = ["simulate", "apl360", "--replications", "2", "-p", "users=2", "--format", "json"]
    one = run(*given, "-p", "time_slice=100ms", "-p", "length=2min")
    other = run(*given, "-p", "time_slice=0.1", "-p", "length=120.0")
    assert one.returncode == 0, one.stderr
    assert one.stdout == other.stdout
    refused = run("simulate", "apl360", "-p", "users=2s")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert 'users: "2s" was given; give a whole number' in refused.stderr


def test_an_interrupt_before_the_first_line_is_one_line() -> None:
    slow = "import sys, types; sys.modules['thinktime.cli'] = types.ModuleType('thinktime.cli')\n"
    slow += "def main(): raise KeyboardInterrupt\nsys.modules['thinktime.cli'].main = main\n"
    done = subprocess.run(
        [sys.executable, "-c", slow + "from thinktime.__main__ import main as program; program()"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 130
    assert done.stderr == "thinktime: interrupted before it began\n"


def test_logs_agree_with_the_log(log: Path) -> None:
    top = log.parents[1]
    broken = top / "broken"
    broken.mkdir(exist_ok=True)
    (broken / "manifest.json").write_text("{")
    done = run("logs", top, "--format", "json")
    assert done.returncode == 0, done.stderr
    first, second = json.loads(done.stdout)["records"]
    assert first["path"] == str(broken)
    assert "manifest.json" in first["error"]
    manifest = Log.open(log).manifest
    lengths = [(each["end_us"] - each["start_us"]) / 1e6 for each in manifest["sessions"]]
    assert second["path"] == str(log)
    assert second["source"] == "apl360"
    assert second["length_s"] == sum(lengths)
    assert second["sessions"] == 2
    assert second["start"] is None
    assert second["has_interactions"]
    assert second["is_ended"]
    assert second["size_bytes"] == sum(path.stat().st_size for path in log.rglob("*") if path.is_file())
    text = run("logs", top).stdout
    assert str(log) in text
    assert "unreadable" in text


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_has_a_script_for_each_shell(shell: str) -> None:
    environment = os.environ | {"_THINKTIME_COMPLETE": f"source_{shell}"}
    done = program(env=environment)
    assert done.returncode == 0, done.stderr
    assert f"complete_{shell}" in done.stdout


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_offers_commands(shell: str) -> None:
    environment = os.environ | {
        "_THINKTIME_COMPLETE": f"complete_{shell}",
        "_TYPER_COMPLETE_ARGS": "thinktime re",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    done = program(env=environment)
    for name in COMMANDS:
        assert (name in done.stdout) == name.startswith("re")


def test_users_asked_for_and_those_who_typed_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "played"
    options = ("--users", "20", "--step", "1s", "--baseline", "0s", "--no-record", "--think", "30s")
    done = run("play", "empty", *options, "-o", path, "--format", "json")
    assert done.returncode == 0, done.stderr
    played = json.loads(done.stdout)
    rows = Log.open(path).table("interactions").collect()
    typed = {} if rows.is_empty() else {"20": rows["user"].n_unique()}
    assert played["users_typed"] == typed
    assert typed.get("20", 0) < 20
    assert played["users_active"] is None  # nothing was recorded
    assert played["users_started"] <= 20


def test_the_list_of_studies_is_json_if_asked() -> None:
    listed = json.loads(run("study", "--format", "json").stdout)
    assert "bard-1971" in [item["study"] for item in listed["records"]]
    assert run("study", "--format", "csv").returncode == 2


@pytest.mark.parametrize(
    "arguments",
    [["play", "empty", "--think", "2"], ["play", "empty", "--step", "20"], ["record", "--duration", "9"]],
)
def test_a_time_without_a_unit_is_refused(arguments: list[str], tmp_path: Path) -> None:
    done = run(*arguments, "-o", tmp_path / "log")
    assert done.returncode == 2
    assert f'{arguments[-2]}: "{arguments[-1]}" has no unit' in done.stderr
