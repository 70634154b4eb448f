"""The logs that the documentation speaks of, under the names that all its pages give them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from documented import LOGS, ROOT

import shared
import thinktime


@pytest.fixture(scope="session")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a log of each name, for all workers; a test works on a copy of it."""
    folder = shared.folder(tmp_path_factory, "documented") / "logs"
    return shared.once(folder, lambda: written(folder))


def written(folder: Path) -> Path:
    """The folder, with a log of each name."""
    folder.mkdir()
    plan = thinktime.Plan(
        workload=thinktime.workload("mixed"),
        users="4..8..4",
        step_s=3.0,
        think="exponential(mean=100ms)",
        seed=1,
        baseline_s=0.5,
    )
    # How punctual the driver is depends on the machine of the tests, not on the pages.
    thinktime.play(folder / "run", plan, interval_s=0.1, accept_driver_load=True)
    for name in ("monday", "tuesday"):
        thinktime.record(folder / name, thinktime.RecordOptions(interval_s=0.1, duration_s=1.0))
    shutil.copytree(folder / "run", folder / "demo")
    users = {"users": 8, "length": 600, "warm_up": 60}
    thinktime.simulate("apl360", users, replications=2).record(folder / "sim", trace=True)
    for name, period in (("before", "II-2"), ("after", "II-3"), ("later", "III-3")):
        thinktime.simulate("cp67", {"period": period, "observations": 60}).record(folder / name)
    assert {path.name for path in folder.iterdir()} == set(LOGS)
    return folder


@pytest.fixture
def folder(logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Current folder with every log, and with the documentation as it lies in the repository."""
    place = tmp_path / "here"
    shutil.copytree(logs, place)
    os.symlink(ROOT / "docs", place / "docs")
    monkeypatch.chdir(place)
    return place
