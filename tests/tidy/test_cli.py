"""Every command exists, explains itself with examples, and refuses bad usage with status 2."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import called
import thinktime.cli
from thinktime.analyses import QUESTIONS
from thinktime.cli import COMMANDS


def run(*arguments):
    command = [sys.executable, "-c", "from thinktime.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_examples(name):
    done = called.thinktime(name, "--help")
    assert done.returncode == 0, done.stderr
    assert "Examples:" in done.stdout
    assert f"thinktime {name}" in done.stdout


def test_help_of_every_analysis_has_examples():
    listed = called.thinktime("analyse", "--help").stdout
    names = [question.name for question in QUESTIONS]
    for name in names:
        assert f"  {name} " in listed
    done = [called.thinktime("analyse", name, "--help") for name in names]
    for name, each in zip(names, done, strict=True):
        assert each.returncode == 0, each.stderr
        assert f"thinktime analyse {name} " in each.stdout.partition("Examples:")[2]
    assert "..." not in listed.partition("Commands:")[2].partition("Examples:")[0]


def test_help_lists_every_command():
    done = run("--help")
    assert done.returncode == 0
    for name in COMMANDS:
        assert name in done.stdout


@pytest.mark.parametrize(
    "arguments", [["no-such-command"], ["report", "--no-such-option"], ["help", "nonsense"]]
)
def test_bad_usage_is_status_2(arguments):
    done = run(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["report", "check"])
def test_what_is_no_log_is_status_2_and_says_the_remedy(name, tmp_path):
    done = run(name, str(tmp_path))
    assert done.returncode == 2
    assert "no manifest.json" in done.stderr
    assert "thinktime record" in done.stderr
    assert "Traceback" not in done.stderr


def completed(words: str) -> set[str]:
    """What bash offers for the last of these words."""
    environment = os.environ | {
        "_THINKTIME_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    script = "from thinktime.cli import main; import sys; sys.argv = ['thinktime']; main()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    return set(done.stdout.split())


def test_completion_follows_from_the_registry():
    assert completed("thinktime analyse ") == {question.name for question in QUESTIONS}
    assert completed("thinktime re") == {name for name in COMMANDS if name.startswith("re")}
    assert "--subsets" in completed("thinktime analyse overhead --s")


PRINTS = {"print", "typer.echo", "click.echo", "sys.stdout.write", "sys.stderr.write"}


def printing_calls(source):
    """Calls in a module that print, by line."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return [node.lineno for node in calls if ast.unparse(node.func) in PRINTS]


def test_commands_print_in_one_place():
    """Text from outside is escaped there."""
    folder = Path(thinktime.cli.__file__).parent
    printing = {path.name for path in folder.rglob("*.py") if printing_calls(path.read_text())}
    assert printing == {"messages.py"}
