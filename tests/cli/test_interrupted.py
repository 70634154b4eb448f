"""Ctrl-C has status 130 everywhere, one line on what is kept, and a log that says that it is a part."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from thinktime import reports
from thinktime.cli import run
from thinktime.log import Log
from thinktime.sources.simulated import resume, simulate

IN_POLARS = """
import os, signal, sys, threading, time
from contextlib import nullcontext
from thinktime.cli.program.interrupts import _Interrupt, one_for_each_signal

def interrupt_soon():
    time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)

def handled():
    "True if an interruption in polars was handled to the end, None if it came between two calls."
    threading.Thread(target=interrupt_soon).start()
    try:
        try:
            while True:
                rows.lazy().group_by("key").agg(pl.col("value").sum()).sort("value").collect()
        except KeyboardInterrupt as one:
            if isinstance(one, _Interrupt):
                return None
            for number in range(100):
                str(number)
            if len(sys.argv) > 1:
                try:
                    os.kill(os.getpid(), signal.SIGINT)
                    time.sleep(60)
                except KeyboardInterrupt:
                    return "a second one was raised"
            return True
    except KeyboardInterrupt:
        return False

with one_for_each_signal() if MANAGED else nullcontext():
    # As in a command, polars is loaded when the program runs: it puts its own handler in front of Python's.
    import polars as pl

    key = pl.col("key")
    rows = pl.DataFrame({"key": range(400_000)}).with_columns(value=key * 0.5, key=key % 9973)
    # Mostly the first is in a call of polars; without care it cannot be told where it was.
    for attempt in range(50):
        found = handled()
        if found is not None and (MANAGED or found is False):
            break
print(found)
"""
"""An interruption in a call of polars, handled in a few lines; with an argument, and in these another."""
CODE = "import sys; sys.argv[0] = 'thinktime'; from thinktime.cli import main; main()"
DESIGN = """
system = "apl360"
seed = 1
replications = 4000
[parameters]
length = 20000
[factors]
users = [30, 31, 32, 33, 34, 35]
"""


@pytest.mark.parametrize(
    ("managed", "arguments", "found"),
    [(True, [], True), (True, ["again"], "a second one was raised"), (False, [], False)],
)
def test_polars_interrupts_once(managed: bool, arguments: list[str], found: bool | str) -> None:
    """Without care, the canary, an interruption in polars is raised again while it is handled."""
    code = IN_POLARS.replace("MANAGED", str(managed))
    ended = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True, timeout=120
    )
    assert ended.stdout.strip() == str(found)


def part(path: Path) -> None:
    """Log of a simulation of eight replications that is interrupted after two."""

    def stop(done: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    made = simulate("apl360", {"users": 2, "length": 60.0}, seed=1, replications=8)
    with pytest.raises(KeyboardInterrupt):
        made.record(path, trace=True, progress=stop)


def test_a_part_of_a_simulation_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run"
    part(path)
    log = Log.open(path)
    said = "2 of 8 replications are in the log"
    (defect,) = log.check()
    assert (defect.severity, said in defect.message) == ("note", True)
    finding = reports.build([log]).findings[0]
    assert (finding.tone, said in finding.text) == ("warning", True)
    assert run(["check", str(path)]) == 0
    assert said in capsys.readouterr().out
    assert run(["logs", str(tmp_path), "--format", "json"]) == 0
    assert '"is_ended": false' in capsys.readouterr().out


@pytest.mark.parametrize("mode", ["create", "replace", "resume"])
def test_an_interruption_before_the_marker_is_told_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: Literal["create", "replace", "resume"]
) -> None:
    path = tmp_path / "run"
    setting: dict[str, object] = {"users": 2, "length": 60.0}
    if mode != "create":
        simulate("apl360", setting, seed=2 if mode == "replace" else 1).record(path)
    made = resume(path, replications=8) if mode == "resume" else simulate("apl360", setting, replications=8)
    replace = Path.replace

    def stopped(draft: Path, marker: Path) -> Path:
        monkeypatch.setattr(Path, "replace", replace)
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", stopped)
    with pytest.raises(KeyboardInterrupt):
        made.record(path, mode=mode)
    asked, held = (9, 2) if mode == "resume" else (8, 1)
    assert Log.open(path).unfinished.startswith(f"{held} of {asked} replications are in the log")
    assert [defect.severity for defect in Log.open(path).check()] == ["note"]


def test_the_rest_completes_it_and_a_whole_one_says_nothing(tmp_path: Path) -> None:
    path, whole = tmp_path / "run", tmp_path / "whole"
    part(path)
    resume(path, replications=6).record(path, trace=True, mode="resume")
    simulate("apl360", {"users": 2, "length": 60.0}, seed=1, replications=8).record(whole, trace=True)
    for each in (path, whole):
        log = Log.open(each)
        assert len(log.manifest["sessions"]) == 8
        assert log.unfinished == ""
        assert log.check() == []
    # Interrupted after the last one, before the marker was removed.
    (whole / "unfinished").write_text("8\n")
    assert Log.open(whole).unfinished == ""
    part(whole.with_name("third"))
    simulate("apl360", {"users": 2, "length": 60.0}, seed=1).record(whole.with_name("third"), mode="replace")
    assert Log.open(whole.with_name("third")).unfinished == ""


def interrupted(arguments: list[str], folder: Path, is_time: Callable[[], bool]) -> tuple[int, str]:
    """Status and errors of a command that gets SIGINT as soon as it is time."""
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not is_time() and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    return process.wait(120), process.communicate()[1]


def test_every_command_says_what_is_kept(tmp_path: Path) -> None:
    """Each would take hours: however fast the machine is, the signal comes before its end."""
    (tmp_path / "design.toml").write_text(DESIGN)
    simulation = shlex.split("simulate apl360 -p users=2 -p length=1000 --replications 100000 -o sim")
    cases: list[tuple[list[str], Callable[[], bool], str]] = [
        (simulation, (tmp_path / "sim" / "unfinished").exists, "of 100000 replications; the same"),
        (
            ["experiment", "design.toml"],
            (tmp_path / "design" / "runs.json").exists,
            "kept; --resume continues",
        ),
    ]
    for arguments, is_time, words in cases:
        status, errors = interrupted(arguments, tmp_path, is_time)
        assert status == 130, errors
        (line,) = errors.splitlines()
        assert line.startswith("thinktime: interrupted; ")
        assert words in line
