"""Every command's answer in JSON fits the schema in the documentation; a wrong answer does not."""

from __future__ import annotations

import json
import shlex
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest

from thinktime.analyses import QUESTIONS
from thinktime.cli import COMMANDS, run
from thinktime.cli.predict import MODELS
from thinktime.log import LogWriter
from thinktime.sources.simulated import simulate

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "docs" / "reference" / "answer.schema.json").read_text(encoding="utf-8")
)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
FIXTURES = Path(__file__).parents[1] / "fixtures"

ONLY_SEVERAL = ("compare", "experiment")
"""Questions about more than one log."""

COMMAND_LINES = {
    "logs": "logs",
    "check run": "defects",
    "report run": "document",
    "report run other": "document",
    "fleet run other": "document",
    **{
        f"analyse {question.name} run": "section"
        for question in QUESTIONS
        if question.name not in ONLY_SEVERAL
    },
    "analyse compare run other": "section",
    "analyse experiment runs": "document",
    "experiment runs": "document",
    "simulate apl360 -p users=2 -p length=60 --replications 2": "section",
    "systems": "section",
    "systems apl360": "section",
    "scripts": "section",
    "scripts mftn3": "script",
    f"scripts --from {FIXTURES / 'sessions' / 'v2.cast'} -o made.toml": "section",
    "size run": "size",
    "size --from site.toml": "size",
    "size --from full.toml --users 20,60 --swap-speed 200MB --goal 'throughput > 1/s'": "size",
    "size --from full.toml --goal 'memory > 95%' --what-if cpus=4 --what-if think=2s": "size",
    "size run --users others=8 --class others=* --what-if cpus=4,cpu:others=0.5": "size",
    "size recording": "size",
    "study": "studies",
    "study swapping-linux": "document",
    "study bard-1971 --table table01": "cells",
    "predict disk-bound --loaded 4 --loaded-b 8 --block-time 50ms --swap-time 70ms": "section",
    "predict swap-overhead --elapsed 300s --swap-time 70ms --swaps 1000": "section",
    "predict network --station cpu=30ms --users 3": "document",
    "predict paging --levels 2": "document",
    "doctor": "examination",
    "record -o recorded --interval 0.1s --duration 0.3s": "recording",
    "play empty -o played --users 1 --step 0.5s --baseline 0s --no-record --think 0.1s "
    "--accept-driver-load": "play",
    "play login-node --users 2 --dry-run": "lines",
    "config": "config",
}
"""Kind of the answer, by command line."""

WITHOUT = {"demo", "lab", "live", "man", "import", "export"}
"""Commands that print no answer in JSON, one whose input is made elsewhere, and one that prints rows."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("place")
    for name, users in (("run", 12), ("other", 15)):
        simulated = simulate("apl360", {"users": users, "length": 600.0}, seed=1, replications=2)
        simulated.record(folder / name, trace=True)
    (folder / "site.toml").write_text(
        'cpus = 2\nthink_time = "1 s"\n[demand]\ncpu = "100 ms"\ndisk = 0.01\nrest = "20 ms"\n'
    )
    (folder / "full.toml").write_text(
        'cpus = 2\nthink_time = "10 s"\nmemory = "1 GB"\n[demand]\ncpu = "100 ms"\n'
        '[user_memory]\nmean = "30 +- 5 MB"\nsd = "10 MB"\n'
    )
    recorded(folder / "recording")
    design = 'system = "apl360"\nseed = 1\nreplications = 2\n[parameters]\nlength = 60\n'
    (folder / "design.toml").write_text(design + "[factors]\nusers = [1, 2]\n")
    assert run(["-q", "experiment", str(folder / "design.toml"), "--runs", str(folder / "runs")]) == 0
    return folder


def recorded(path: Path) -> None:
    """Log of six users of 5 to 30 % of a CPU, without interactions, as a recorder writes it."""
    starts = [datetime(2026, 1, 5, 9, tzinfo=timezone.utc) + timedelta(seconds=5 * at) for at in range(120)]
    users = [(start, f"uid:{1000 + user}", 0.25 * (user + 1)) for start in starts for user in range(6)]
    with LogWriter.open(path, source="test", machine={"cpus": 4}, start_us=0) as writer:
        writer.write(
            "samples",
            pl.DataFrame(
                {
                    "start": starts,
                    "length_s": 5.0,
                    "cpu_exact_s": 6.0,
                    "memory_total_bytes": 16_000_000_000,
                    "memory_available_bytes": 12_000_000_000,
                }
            ),
        )
        writer.write("users", pl.DataFrame(users, schema=["start", "user", "cpu_exact_s"], orient="row"))


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


REPEATED = {"report run other"}
"""A document, as are the report of one log and that of a fleet, which are quicker."""


@pytest.mark.parametrize(
    "command",
    [pytest.param(line, marks=pytest.mark.thorough) if line in REPEATED else line for line in COMMAND_LINES],
)
def test_an_answer_fits_the_schema(
    command: str, place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    capfd.readouterr()
    assert run([*shlex.split(command), "--format", "json"]) == 0
    answer = json.loads(capfd.readouterr().out, parse_constant=pytest.fail)
    VALIDATOR.validate(answer)
    assert answer["kind"] == COMMAND_LINES[command]
    for wrong in _spoilt(answer):
        assert not VALIDATOR.is_valid(wrong)


def _spoilt(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The answer without one of its members each, with one that it must not have, and of another kind."""
    needed = SCHEMA["$defs"][answer["kind"]]["required"]
    missing = [{key: value for key, value in answer.items() if key != name} for name in needed]
    return [*missing, answer | {"more": 1}, answer | {"kind": "answers"}, answer | {"version": 0}]


def test_every_command_is_tried() -> None:
    tried = {command.split()[0] for command in COMMAND_LINES}
    assert tried | WITHOUT == set(COMMANDS)
    assert {command.split()[1] for command in COMMAND_LINES if command.startswith("predict")} >= set(
        MODELS
    ) - {"swapping"}


def test_an_import_fits_the_schema(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = FIXTURES / "sar" / "12.6.1-restart.json"
    assert run(["import", "sar", str(source), "-o", str(tmp_path / "log"), "--format", "json"]) == 0
    VALIDATOR.validate(json.loads(capfd.readouterr().out))


@pytest.mark.parametrize("command", ["report nosuch", "analyse overheads run", "systems apl", "check nosuch"])
def test_an_error_leaves_standard_output_empty(
    command: str, place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    assert run([*command.split(), "--format", "json"]) == 2
    printed = capfd.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
