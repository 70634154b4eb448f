"""Manual pages: one for each command, and man shows in it what the command has."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from thinktime.cli import run
from thinktime.cli.man import file_name
from thinktime.cli.program.catalogue import program

ALL = list(program().walk())


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("man") / "man1"
    assert run(["man", "-o", str(folder)]) == 0
    return folder


def test_every_command_has_a_page(pages: Path) -> None:
    assert {path.name for path in pages.iterdir()} == {file_name(command) for command in ALL}


def test_one_page_is_printed(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["man", "analyse", "overhead"]) == 0
    assert capsys.readouterr().out == (pages / "thinktime-analyse-overhead.1").read_text()
    assert run(["man", "analyse", "overheads"]) == 2
    assert "did you mean overhead?" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed: apt-get install man-db")
@pytest.mark.parametrize("command", ALL[::6], ids=lambda command: command.name)
def test_man_shows_it_without_warnings(command, pages: Path) -> None:
    done = subprocess.run(
        ["man", "--warnings=all", "-E", "ascii", "-l", str(pages / file_name(command))],
        capture_output=True,
        text=True,
        env={"MANWIDTH": "200", "MAN_KEEP_FORMATTING": "", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    shown = " ".join(done.stdout.replace("\u2010", "-").split())
    for words in (
        command.summary[1:],
        *command.examples,
        *(item.key for item in command.options if not item.hidden),
    ):
        assert words in shown
