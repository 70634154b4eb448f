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
from thinktime.cli.program import front
from thinktime.cli.program.application import application
from thinktime.cli.program.catalogue import program
from thinktime.cli.program.plain import PlainGroup

CODE = "import sys; sys.argv[0] = 'thinktime'; from thinktime.cli import main; main()"
BY_TYPER = "import sys; from thinktime.cli.program.application import run; sys.exit(run([]))"
LOADED = "; print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
HEAVY = {"typer", "click", "rich", "polars", "numpy", "scipy", "altair", "pyarrow", "jinja2"}


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


def test_the_record_is_that_of_the_program_in_typer() -> None:
    ours, whole = front.program(), program()
    for field in ("path", "summary", "paragraphs", "examples", "usage"):
        assert getattr(ours, field) == getattr(whole, field)
    assert [item.face for item in ours.parameters] == [item.face for item in whole.parameters]
    assert [item.explanation for item in ours.parameters] == [item.explanation for item in whole.parameters]
    assert [below.path for below in ours.commands] == [below.path for below in whole.commands]


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_the_help_is_that_of_click_to_the_byte(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    command = typer.main.get_command(application())
    context = command.make_context("thinktime", [], resilient_parsing=True)
    formatter = context.make_formatter()
    PlainGroup.format_help(command, context, formatter)
    assert run(["--help"]) == 0
    assert capsys.readouterr().out == formatter.getvalue().rstrip("\n") + "\n"


@pytest.mark.parametrize("line", ["thinktime ", "thinktime re"])
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_names_for_a_shell_are_those_of_typer_to_the_byte(shell: str, line: str) -> None:
    ours, other = (done(code, **asked(shell, line)) for code in (CODE, BY_TYPER))
    assert ours.stdout == other.stdout != ""
    assert ours.returncode == other.returncode == 0


def test_fish_learns_by_the_status_whether_there_are_names() -> None:
    for line, status in (("thinktime re", 0), ("thinktime report x", 1)):
        variables = asked("fish", line) | {"_TYPER_COMPLETE_FISH_ACTION": "is-args"}
        answered = done(CODE, **variables)
        assert (answered.returncode, answered.stdout) == (status, "")


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["help"], ["--version"], ["-V"], []])
def test_no_library_is_loaded_for_it(arguments: list[str]) -> None:
    answered = done(CODE.replace("import main; main()", f"import run; run({arguments})") + LOADED)
    assert answered.returncode == 0
    assert not set(answered.stderr.split()) & HEAVY


def test_no_library_is_loaded_for_the_name_of_a_command() -> None:
    code = CODE.replace("import main; main()", "import run; run([])") + LOADED
    for shell in front.FORMS:
        answered = done(code, **asked(shell, "thinktime re"))
        assert "report" in answered.stdout
        assert not set(answered.stderr.split()) & HEAVY


def test_a_value_is_completed_without_the_other_commands() -> None:
    code = "import sys; from thinktime.cli import run\ntry: run([])\nexcept SystemExit: pass\n" + (
        "print(*[name for name in sys.modules if name.startswith('thinktime.cli.')], file=sys.stderr)"
    )
    loaded = done(code, **asked("bash", "thinktime logs --f")).stderr.split()
    assert "thinktime.cli.logs" in loaded
    assert "thinktime.cli.analyse" not in loaded


def test_a_line_with_quotes_is_left_to_typer() -> None:
    ours, other = (done(code, **asked("bash", "thinktime 're")) for code in (CODE, BY_TYPER))
    assert ours.stdout == other.stdout
    assert "report" in ours.stdout


def test_a_reader_that_has_gone_ends_it_in_silence() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", CODE, "--help"]
    answered = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (answered.returncode, answered.stderr) == (1, b"")
