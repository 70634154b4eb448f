"""Completion offers what may stand at the cursor: logs, systems, parameters, columns; to a real bash too."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from thinktime.log import Log
from thinktime.sources.plans import WORKLOADS
from thinktime.sources.scripts import builtin, read
from thinktime.sources.simulated import find, simulate, systems
from thinktime.studies import STUDIES

CODE = "import sys; sys.argv[0] = 'thinktime'; from thinktime.cli import main; main()"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("place")
    for name in ("monday", "deep/er/tuesday"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        simulate("apl360", {"users": 2, "length": 10.0}, seed=1).record(folder / name)
    (folder / "month").mkdir()
    (folder / "plain.txt").write_text("")
    return folder


def completed(words: str, place: Path) -> set[str]:
    """What fish is offered for the last of these words, without explanations."""
    environment = os.environ | {
        "_THINKTIME_COMPLETE": "complete_fish",
        "_TYPER_COMPLETE_ARGS": words,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    done = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, env=environment, cwd=place, check=False
    )
    assert done.stderr == ""
    return {line.partition("\t")[0] for line in done.stdout.splitlines()}


@pytest.mark.parametrize("command", ["report", "check", "size", "analyse overhead"])
def test_logs_are_offered_and_nothing_else(command: str, place: Path) -> None:
    assert completed(f"thinktime {command} mo", place) == {"monday"}
    assert completed(f"thinktime {command} deep/", place) == {"deep/er/tuesday"}


def test_names_are_offered(place: Path) -> None:
    names = [system.name for system in systems()]
    assert completed("thinktime simulate ", place) == set(names)
    assert completed("thinktime systems c", place) == {name for name in names if name.startswith("c")}
    assert completed("thinktime scripts m", place) == {"mftn3", "mftn3-linux"}
    assert completed("thinktime study b", place) == {name for name in STUDIES if name.startswith("b")}
    typed = {name for name in builtin() if read(name).is_for_terminals}
    assert completed("thinktime play ", place) == {*WORKLOADS, *typed}
    assert "mftn3" not in typed


def test_parameters_are_those_of_the_system(place: Path) -> None:
    parameters = [item.name for item in find("ctss").parameters]
    expected = {f"{name}=" for name in parameters if name.startswith("d")}
    assert completed("thinktime simulate ctss -p d", place) == expected
    assert completed("thinktime systems ctss d", place) == {name for name in parameters if name[0] == "d"}


def test_columns_are_those_of_the_log(place: Path) -> None:
    columns = [
        column.name
        for column in Log.open(place / "monday").schema("samples")
        if column.kind in ("counter", "gauge") and column.name.startswith("s")
    ]
    assert completed("thinktime analyse throughput monday --by s", place) == set(columns) != set()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed: apt-get install bash")
def test_bash_completes_a_log(place: Path, tmp_path: Path) -> None:
    """The script of --show-completion, in a shell whose cursor stands behind `thinktime report mo`."""
    program = tmp_path / "thinktime"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{CODE}" "$@"\n')
    program.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    source = subprocess.run(
        [program],
        env=environment | {"_THINKTIME_COMPLETE": "source_bash"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    typed = "COMP_WORDS=(thinktime report mo); COMP_CWORD=2; _thinktime_completion thinktime"
    done = subprocess.run(
        ["bash", "-c", f'{source}\n{typed}\nprintf "%s\\n" "${{COMPREPLY[@]}}"'],
        env=environment,
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["monday"]
