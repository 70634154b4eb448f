"""Results of tasks that are kept: a study that was interrupted goes on, with the same bits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from thinktime.errors import InputError, WorkError
from thinktime.sources import remote, simulated
from thinktime.studies import load
from thinktime.studies.laboratory import Settings
from thinktime.studies.study import run as run_study
from thinktime.tasks import Threads, identity
from thinktime.tasks.kept import Kept

CLI = [sys.executable, "-c", "from thinktime.cli import main; main()"]
SMALL = {"users": 8, "length": 3000, "warm_up": 60}
PATIENCE_S = 120.0


def times(folder: Path) -> dict[str, int]:
    """When each result was written."""
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("*.json")}


@pytest.mark.parametrize("parameters", [SMALL, SMALL | {"warm_up": "mser5"}])
def test_figures_that_were_kept_are_those_that_were_computed(
    tmp_path: Path, parameters: dict[str, Any]
) -> None:
    kept = Kept(tmp_path / "runs")
    with Threads() as pool:
        made, again = (
            remote.simulate("apl360", parameters, seed=3, replications=3, pool=pool, kept=kept)
            for _ in range(2)
        )
    here = simulated.simulate("apl360", parameters, seed=3, replications=3)
    assert made.to_dict() == again.to_dict() == here.to_dict()
    for index in range(3):
        assert again.batch_means(index).tolist() == here.batch_means(index).tolist()


def test_only_what_is_not_there_is_simulated(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    with Threads() as pool:
        remote.simulate("apl360", SMALL, seed=3, replications=2, pool=pool, kept=kept)
        before = times(tmp_path)
        remote.simulate("apl360", SMALL, seed=3, replications=3, pool=pool, kept=kept)
        assert before.items() <= times(tmp_path).items()
        assert len(times(tmp_path)) == 3
        # Another seed and another parameter are other runs.
        remote.simulate("apl360", SMALL, seed=4, replications=2, pool=pool, kept=kept)
        remote.simulate("apl360", SMALL | {"users": 9}, seed=3, replications=2, pool=pool, kept=kept)
    assert len(times(tmp_path)) == 7


def test_another_thinktime_computes_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Kept(tmp_path)
    kept.keep({"of": 1}, "value")
    assert kept.value({"of": 1}) == "value"
    other = replace(identity.identity(), sources="0" * 32)
    monkeypatch.setattr("thinktime.tasks.kept.identity", lambda: other)
    assert kept.value({"of": 1}) is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"rows": 1}', "\udcff", "null5"])
def test_a_damaged_result_is_named(tmp_path: Path, content: str) -> None:
    kept = Kept(tmp_path)
    with Threads() as pool:
        remote.simulate("apl360", SMALL, seed=3, replications=2, pool=pool, kept=kept)
        path = sorted(tmp_path.glob("*.json"))[0]
        path.write_bytes(content.encode("utf-8", "surrogateescape"))
        with pytest.raises(InputError, match=rf"{path.name}: is damaged, or no result .*; remove it"):
            remote.simulate("apl360", SMALL, seed=3, replications=2, pool=pool, kept=kept)
        path.unlink()
        remote.simulate("apl360", SMALL, seed=3, replications=2, pool=pool, kept=kept)
    assert path.exists()


def test_a_damaged_log_is_named(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "runs")
    runs = [("apl360", SMALL, 0)]
    with Threads() as pool:
        remote.record([(*run, tmp_path / "first") for run in runs], seed=3, pool=pool, kept=kept)
        (place,) = kept.folder.glob("*.json")
        (place.with_suffix("") / "manifest.json").write_text("{")
        with pytest.raises(InputError, match=rf"{place.name}: is damaged, or no result .*; remove it"):
            remote.record([(*run, tmp_path / "again") for run in runs], seed=3, pool=pool, kept=kept)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file: cannot be made: .*; name another folder"):
        Kept(tmp_path / "file")


def test_a_study_from_kept_runs_has_the_same_cells_and_simulates_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of simulations as figures, and of logs that were recorded."""
    study, settings = load("sekino-1969"), Settings(replications=2, scale=0.01)
    table = "ctss_run_cpm01"
    here = run_study(study, settings, table=table)
    first = run_study(study, replace(settings, kept=Kept(tmp_path)), table=table)
    before = times(tmp_path)
    monkeypatch.setattr(simulated, "record", None)
    again = run_study(study, replace(settings, kept=Kept(tmp_path)), table=table)
    assert here.cells == first.cells == again.cells
    assert len(here.cells) > 10
    assert times(tmp_path) == before
    assert any(path.is_dir() for path in tmp_path.iterdir())


def test_an_interrupted_study_says_how_it_goes_on_and_does(tmp_path: Path) -> None:
    """A real Ctrl-C, after the first runs were kept."""
    line = [*CLI, "study", "sekino-1971", "--scale", "0.1", "--replications", "3", "--format", "json"]
    line += ["--keep", str(tmp_path / "runs")]
    process = subprocess.Popen(line, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + PATIENCE_S
    while len(times(tmp_path / "runs")) < 3:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, said
    assert (
        f"interrupted; {tmp_path / 'runs'} has the runs that are complete; the same command goes on" in said
    )
    before = times(tmp_path / "runs")
    assert len(before) >= 3
    again = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert before.items() < times(tmp_path / "runs").items()
    alone = subprocess.run([*line[:-2]], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert again.stdout == alone.stdout


def test_a_folder_that_is_gone_is_said(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "runs")
    (tmp_path / "runs").rmdir()
    with pytest.raises(WorkError, match="cannot be written"):
        kept.keep({"of": 1}, "value")
