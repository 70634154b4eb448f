"""What the program answers without Typer is what Typer would answer, and no library is loaded for it."""

from __future__ import annotations

import importlib
import inspect
import os
import subprocess
import sys

import pytest
import typer

from thinktime.cli import COMMANDS, run
from thinktime.cli.program import application, helptext
from thinktime.cli.program.catalogue import Command, program

CODE = "import sys; sys.argv[0] = 'thinktime'; from thinktime.cli import main; main()"
LOADED = "; print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
HEAVY = {"typer", "click", "rich", "polars", "numpy", "scipy", "altair", "pyarrow", "jinja2"}
ALL = {command.name: command for command in program().walk()}


def asked(shell: str, line: str) -> dict[str, str]:
    """Environment in which a shell asks what may follow `line`."""
    return {
        "_THINKTIME_COMPLETE": f"complete_{shell}",
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        # Bash alone gives these; the others have them not even empty.
        **({"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)} if shell == "bash" else {}),
    }


def done(code: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    environment = os.environ | variables
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_listed_with_the_first_words_of_its_help(name: str) -> None:
    module, summary = COMMANDS[name]
    command = importlib.import_module(module).command
    text = command.info.help if isinstance(command, typer.Typer) else command.__doc__
    words = " ".join(inspect.cleandoc(text).split())
    assert words.startswith(summary)
    # The words end where a part of the sentence does, not within it.
    assert words[len(summary)] in ":.," or words[len(summary) :].startswith(" with ")


@pytest.mark.parametrize("command", ALL.values(), ids=ALL)
def test_help_is_the_same_with_typer_and_without(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command.path, "--help"]) == 0
    ours = capsys.readouterr().out
    assert application.run([*command.path, "--help"]) == 0
    assert capsys.readouterr().out == ours
    assert run(["help", *command.path]) == run([*command.path, "-h"]) == 0
    assert capsys.readouterr().out == 2 * ours


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
@pytest.mark.parametrize("command", ALL.values(), ids=ALL)
def test_lists_and_usage_are_laid_out_as_click_does(
    command: Command, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    formatter = typer.Context.formatter_class()
    formatter.write_usage(command.name, command.usage.removeprefix(command.name).strip())
    shown = [item for item in command.parameters if not item.hidden]
    lists = {
        kind: [(item.face, item.explanation) for item in shown if item.kind == kind.lower().rstrip("s")]
        for kind in ("Arguments", "Options")
    }
    for title, rows in (
        lists | {"Commands": [(one.path[-1], one.listed) for one in command.commands]}
    ).items():
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows)
    expected = [line.rstrip() for line in formatter.getvalue().splitlines()]
    text = helptext.page(command, helptext.columns())
    usage, *parts = text.rstrip("\n").split("\n\n")
    found = [part for part in parts if part.split(":")[0] in ("Arguments", "Options", "Commands")]
    assert "\n\n".join([usage, *found]).splitlines() == expected
    prose = " ".join(" ".join(parts[: len(command.paragraphs)]).split())
    assert prose == " ".join(" ".join(command.paragraphs).split())


def test_wrong_words_before_help_are_left_to_typer(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reprt", "--help"]) == 2
    assert "did you mean report?" in capsys.readouterr().err
    # As Click has it, help wins over what a command lacks.
    assert run(["report", "no-such-log", "--help"]) == 0
    assert capsys.readouterr().out.startswith("Usage: thinktime report ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["-h"],
        ["help"],
        ["--version"],
        ["-V"],
        [],
        ["record", "--help"],
        ["help", "analyse", "users"],
    ],
)
def test_no_library_is_loaded_for_it(arguments: list[str]) -> None:
    answered = done(CODE.replace("import main; main()", f"import run; run({arguments})") + LOADED)
    assert answered.returncode == 0
    assert not set(answered.stderr.split()) & HEAVY


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("thinktime re", "report"),
        ("thinktime report --f", "--format"),
        ("thinktime analyse ", "capacity"),
        ("thinktime analyse users --format ", "json"),
        ("thinktime simulate ", "apl360"),
        ("thinktime simulate ctss -p ", "users="),
        ("thinktime analyse throughput --by ", "page_faults"),
    ],
)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_no_library_is_loaded_for_completion(shell: str, line: str, word: str) -> None:
    code = CODE.replace("import main; main()", "import run; run([])") + LOADED
    answered = done(code, **asked(shell, line))
    assert word in answered.stdout
    assert not set(answered.stderr.split()) & HEAVY


def test_a_reader_that_has_gone_ends_it_in_silence() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", CODE, "--help"]
    answered = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (answered.returncode, answered.stderr) == (1, b"")
