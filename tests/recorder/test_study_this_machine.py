"""`thinktime study this-machine` on this very machine: real shells, real kernel, interrupted and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from thinktime.log import Log
from thinktime.studies.this_machine.design import Design
from thinktime.studies.this_machine.plays import PUNCTUAL

CLI = [sys.executable, "-c", "from thinktime.cli import main; main()"]
# How punctual the driver of a busy test machine is says nothing here.
QUICK = ("--duration", "32s", "--users", "1,2,4,8", "--accept-driver-load")
PATIENCE_S = 120.0


def study(*arguments: object, folder: Path) -> subprocess.Popen[str]:
    line = [*CLI, "study", "this-machine", *map(str, arguments)]
    return subprocess.Popen(line, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_a_study_is_interrupted_and_goes_on_to_its_page(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    begun = study(*QUICK, folder=tmp_path)
    logs = tmp_path / "this-machine"
    deadline = time.monotonic() + PATIENCE_S
    while not any(logs.glob("users-*.part")) and begun.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    begun.send_signal(signal.SIGINT)
    errors = begun.communicate(timeout=PATIENCE_S)[1]
    assert begun.returncode == 130, errors
    announced, decided, interrupted = errors.splitlines()
    assert "saturates all CPUs that may be used" in announced
    assert "users who think" in decided
    assert "this-machine holds 0 of 5 plays" in interrupted
    assert "`thinktime study this-machine --resume this-machine` goes on" in interrupted
    assert not any(logs.glob("*.part")), "what was cut off is not kept"
    resumed = study("--resume", "this-machine", "--format", "json", folder=tmp_path)
    output, errors = resumed.communicate(timeout=PATIENCE_S)
    assert resumed.returncode == 0, errors
    answer = json.loads(output)
    assert [section["not_applicable"] for section in answer["sections"]] == [None] * 6
    design = Design.read(logs)
    assert [path.name for path in sorted(logs.iterdir())] == sorted(
        ["study.json", "rehearsal", *(play.name for play in design.plays)]
    )
    for play in design.plays:
        log = Log.open(logs / play.name)
        assert log.check() == []
        assert log.interactions().collect()["population"].max() == play.users
        session = log.manifest["sessions"][-1]
        assert session["driver_nice"] == (PUNCTUAL if os.geteuid() == 0 else 0)
