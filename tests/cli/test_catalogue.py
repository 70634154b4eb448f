"""The catalogue of commands agrees with what `--help` prints, for every command."""

from __future__ import annotations

import itertools
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import thinktime
from thinktime.cli import COMMANDS, run
from thinktime.cli.program.catalogue import Command, program

CODE = "import sys; sys.argv[0] = 'thinktime'; from thinktime.cli import main; main()"
ALL = {command.name: command for command in program().walk()}


def test_it_has_every_command() -> None:
    assert [command.path[0] for command in program().commands] == list(COMMANDS)
    assert {"thinktime analyse overhead", "thinktime predict paging"} <= set(ALL)


def _bare(text: str) -> str:
    """Text without blanks: help breaks lines at hyphens too."""
    return "".join(text.split())


@pytest.mark.parametrize(
    "name", ["thinktime record", "thinktime analyse overhead", "thinktime predict paging"]
)
def test_it_agrees_with_the_help(name: str) -> None:
    command = ALL[name]
    arguments = [*command.path, "--help"]
    done = subprocess.run(
        [sys.executable, "-c", CODE, *arguments], capture_output=True, text=True, check=True
    )
    words = "".join(done.stdout.split())
    for parameter in command.parameters:
        assert (_bare(parameter.help) in words) != parameter.hidden
        for spelling in (*parameter.spellings, *parameter.opposites):
            assert (spelling in words) != parameter.hidden
    for paragraph in command.paragraphs:
        assert _bare(paragraph) in words


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("command", ALL.values(), ids=ALL)
def test_a_shell_reads_the_examples_of_the_help_as_they_are_meant(
    command: Command, width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copied from a narrow terminal, with the ends of its lines."""
    monkeypatch.setenv("COLUMNS", str(width))
    run([*command.path, "--help"])
    text = capsys.readouterr().out
    joined = text.replace("\\\n", "").partition("  Examples:\n\n")[2].splitlines()
    read = [shlex.split(line) for line in itertools.takewhile(lambda line: line[:1] in {"", " "}, joined)]
    assert [words for words in read if words] == [shlex.split(example) for example in command.examples]


@pytest.mark.parametrize("command", ALL.values(), ids=ALL)
def test_every_command_is_documented(command: Command) -> None:
    assert command.summary
    assert command.examples
    for parameter in command.parameters:
        assert parameter.help.endswith("."), parameter.key
        assert parameter.flag or parameter.metavar


@pytest.mark.parametrize("command", ALL.values(), ids=ALL)
def test_help_names_values_in_words(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    """No type of the program, such as ``<int range>``, stands where a reader needs to know what to give."""
    run([*command.path, "--help"])
    text = capsys.readouterr().out
    assert "Options:" in text
    assert not re.search(r"<[\w\[\] |]+>", text)
    for parameter in command.parameters:
        if not parameter.flag and not parameter.hidden:
            assert _bare(parameter.face) in _bare(text)


def test_every_command_that_a_message_or_a_study_names_exists() -> None:
    root = Path(thinktime.__file__).parent
    files = [path for kind in ("py", "toml", "md") for path in root.rglob(f"*.{kind}")]
    named = re.compile(r"`thinktime ([a-z]+)(?:\s+([a-z-]+))?")
    found = [match for path in files for match in named.finditer(path.read_text(encoding="utf-8"))]
    assert len(found) > 30
    groups = {command.path[0] for command in ALL.values() if command.commands and command.path}
    for first, second in {match.groups() for match in found}:
        name = f"thinktime {first} {second}" if first in groups and second else f"thinktime {first}"
        assert name in ALL, name
