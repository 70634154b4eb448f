"""`thinktime report` and `thinktime analyse` as they are called."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from called import thinktime as run
from thinktime.log import Log


def test_text_goes_to_the_standard_output(log: Log) -> None:
    code = "from thinktime.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "report", log.path],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Findings\n--------" in done.stdout
    assert done.stderr == ""


def test_the_ending_chooses_the_form_and_nothing_is_written_over(log: Log, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert run("report", log.path, "-o", page).returncode == 0
    first = page.read_bytes()
    assert first.startswith(b"<!doctype html>")
    again = run("report", log.path, "-o", page, "--format", "json")
    assert again.returncode == 2
    assert f"{page}: already exists; use --force" in again.stderr
    assert page.read_bytes() == first
    forced = run("report", log.path, "-o", page, "--format", "json", "--force")
    assert forced.returncode == 0
    assert json.loads(page.read_text())["kind"] == "document"
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["report", "{tmp}/none"], "none"),
        (["report", "{log}", "-o", "{tmp}/no/such/report.html"], "does not exist; create it"),
        (["report", "{log}", "-o", "{tmp}"], "is a folder"),
        (["analyse", "nothing", "{log}"], "there are: health, capacity"),
        (["analyse", "rates", "{tmp}"], "manifest"),
        (["analyse", "disks", "{log}", "--show", "disk"], "the topics are cache, queue, drives"),
        (["analyse", "disks", "{log}", "--session", "1"], "has no session 1; its sessions are 0 to 0"),
        (["analyse", "rates", "{log}", "--part", "queue"], "--part: there is no such option"),
        (["analyse", "rates", "-q", "{log}"], "-q: goes before the command; give `thinktime -q analyse"),
        (["check", "--verbose", "{log}"], "--verbose: goes before the command"),
        (
            ["analyse", "overhead", "{log}", "--drop", "vmio"],
            "has no such request; there are: context_sw",
        ),
        (
            ["analyse", "overhead", "{log}", "--target", "forks", "--subtract", "softirq_s"],
            "--subtract: needs one log",
        ),
        (["report"], "LOG"),
        (["report", "{log}", "--format", "pdf"], "pdf"),
    ],
)
def test_bad_use_is_told_and_ends_with_2(
    arguments: list[str], message: str, log: Log, tmp_path: Path
) -> None:
    done = run(*(argument.format(log=log.path, tmp=tmp_path) for argument in arguments))
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("form", ["text", "json", "csv"])
def test_analyse_prints_one_answer(form: str, log: Log) -> None:
    done = run("analyse", "overhead", log.path, "--format", form)
    assert done.returncode == 0, done.stderr
    if form == "json":
        assert json.loads(done.stdout)["name"] == "overhead"
    else:
        assert "fork" in done.stdout


def test_a_part_of_the_disks_over_a_stretch_of_the_log(log: Log) -> None:
    arguments = ("--show", "periods", "--show", "busy", "--from", "20s", "--to", "1m", "--every", "10s")
    done = run("analyse", "disks", log.path, *arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    tables = {table["name"]: table for table in json.loads(done.stdout)["tables"]}
    assert set(tables) == {"disks-busy", "disks-periods"}
    assert [row[0] for row in tables["disks-periods"]["rows"]] == [20.0, 30.0, 40.0, 50.0]


def test_a_pipe_is_written_to_and_not_replaced(log: Log, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
    done = run("analyse", "rates", log.path, "--format", "json", "-o", pipe)
    printed, _ = reader.communicate(timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(printed)["name"] == "rates"
    assert pipe.is_fifo()
