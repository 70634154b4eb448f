"""What may follow in a shell's line is what Typer's own completion offers, which reads lines by other code.

Three differences are meant, for what Typer does there serves nobody:

- What a list says of a command is whole; Typer cuts it after 45 characters.
- Explanations are those of the help. Typer takes words in brackets for markup, and breaks lines after 80
  columns, so that fish offers the rest of a line as a word of its own.
- Behind an unknown question of `thinktime analyse` other questions are offered, as in other groups; an error
  was printed into the middle of the line.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer.main
from typer import _completion_classes as classes

from thinktime.cli import run
from thinktime.cli.program import following, front
from thinktime.cli.program.application import application
from thinktime.cli.program.catalogue import PROGRAM, Command, program
from thinktime.cli.program.following import SHELLS, Candidate, candidates
from thinktime.errors import InputError

ALL = {command.name: command for command in program().walk()}
GROUPS = {command.name: command for command in ALL.values() if command.commands}
DRAWN = 60
"""Lines of words drawn at random for each command."""
COMPARED = 50
"""Lines of each command that are compared where not all are: Typer takes a millisecond or ten for one."""
THEIRS = {
    "complete_bash": classes.BashComplete,
    "complete_zsh": classes.ZshComplete,
    "complete_fish": classes.FishComplete,
    "complete_powershell": classes.PowerShellComplete,
}
LINES = (
    "",
    "thinktime",
    "thinktime ",
    "thinktime  re",
    "thinktime\tre",
    "thinktime\nreport\n--f",
    "thinktime 're",
    'thinktime "report" "--fo',
    "thinktime report 'a b' ",
    "thinktime report a\\ b",
    "thinktime report a\\",
    "thinktime report # x",
    "thinktime report --format=",
    "thinktime report --format=js x",
    "thinktime report ümlaut \u00a0x",
)


class Item(NamedTuple):
    """What Typer takes for a completion: it reads only these of its own class."""

    value: str
    help: str | None


@pytest.fixture(scope="module")
def whole() -> Any:
    """The program with all commands, in Typer."""
    return typer.main.get_command(application())


@pytest.fixture(autouse=True)
def _folder_with_a_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run" / "1").mkdir(parents=True)
    (tmp_path / "run" / "1" / "manifest.json").write_text("")
    monkeypatch.chdir(tmp_path)
    for name in ("COMP_WORDS", "_TYPER_COMPLETE_ARGS"):
        monkeypatch.delenv(name, raising=False)


def offered(whole: Any, words: Sequence[str], incomplete: str) -> list[tuple[str, str]]:
    """What Typer offers, without the stop and the dots at the end of explanations."""
    completer = classes.BashComplete(whole, {}, PROGRAM, front.VARIABLE)
    found = completer.get_completions([*words], incomplete)
    return sorted((str(one.value), _bare(one.help)) for one in found)


def _bare(text: str | None) -> str:
    return " ".join((text or "").split()).removesuffix("...").rstrip(". ")


def lines(command: Command) -> Iterator[tuple[list[str], str]]:
    """Lines with the name of a command, each with what is typed of its last word."""
    path = [*command.path]
    endings = ["", "-", "--", "-h", "x", "=", "ru", "run/", "--no-such"]
    values = [item for item in command.options if not item.flag]
    begun = [*endings, *(text[:5] for item in command.options for text in (*item.spellings, *item.opposites))]
    before: list[list[str]] = [
        [],
        ["x"],
        ["x", "y"],
        ["--"],
        ["--", "x"],
        ["--no-such"],
        ["-Z"],
        ["-"],
        ["run", "-q"],
    ]
    for item in command.options:
        for text in (*item.spellings, *item.opposites):
            before += [[text], [f"{text}=v"], ["x", text], [text, "v"], [text, "--", "v"], ["--", text]]
    for item in values:
        words = {value[:2] for value in item.choices} | {"", "r", "--f"}
        yield from (([*path, item.spellings[-1]], word) for word in sorted(words))
        yield from ((path, f"{item.spellings[-1]}={word}") for word in sorted(words))
        yield [*path, item.spellings[-1], "="], "j"
    yield from ((path, word) for word in begun)
    yield from (([*path, *words], ending) for words in before for ending in ("", "-", "x"))
    letters = [text[1] for item in command.options for text in item.spellings if len(text) == 2]
    yield from (([*path, f"-{a}{b}"], "-") for a, b in itertools.product([*letters, "Z"], letters))
    pool = [word for words in before for word in words] + [value for item in values for value in item.choices]
    drawn = random.Random(command.name)
    for _ in range(DRAWN):
        yield [*path, *drawn.choices(pool, k=drawn.randrange(1, 7))], drawn.choice(begun)


@pytest.mark.parametrize("most", [COMPARED, pytest.param(10**6, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("command", ALL.values(), ids=ALL)
def test_it_is_what_typer_offers(command: Command, most: int, whole: Any) -> None:
    compared, every = 0, [*lines(command)]
    for words, incomplete in random.Random(most).sample(every, min(most, len(every))):
        ours = sorted((one.word, _bare(one.explanation)) for one in candidates(words, incomplete))
        try:
            theirs = offered(whole, words, incomplete)
        except InputError:
            assert words[0] == "analyse"
            continue
        compared += bool(theirs)
        assert [word for word, _ in ours] == [word for word, _ in theirs], (words, incomplete)
        for (_, text), (_, cut) in zip(ours, theirs, strict=True):
            assert text.startswith(cut), (words, incomplete)
            assert text == cut or len(cut) <= 45, (words, incomplete)
    assert compared >= 5


def test_the_comparison_sees_a_wrong_answer(whole: Any) -> None:
    """An option that was given is not offered again: without that rule the answers differ."""
    ours = [one.word for one in candidates(["report"], "--f")]
    assert "--format" in ours
    assert ours != [word for word, _ in offered(whole, ["report", "--format", "json"], "--f")]


def test_unknown_words_of_groups_leave_their_commands(whole: Any) -> None:
    for group in GROUPS.values():
        found = [one.word for one in candidates([*group.path, "no-such"], "")]
        assert found == [below.path[-1] for below in group.commands]


@pytest.mark.parametrize("shell", THEIRS)
@pytest.mark.parametrize("line", LINES)
def test_lines_are_parted_as_typer_does(
    shell: str, line: str, whole: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)
    monkeypatch.setenv("COMP_WORDS", line)
    theirs = THEIRS[shell](whole, {}, PROGRAM, front.VARIABLE)
    read, _ = SHELLS[shell]
    for at, incomplete in enumerate(("", *line.split())):
        monkeypatch.setenv("COMP_CWORD", str(at))
        monkeypatch.setenv("_TYPER_COMPLETE_WORD_TO_COMPLETE", incomplete)
        assert read() == theirs.get_completion_args()


@pytest.mark.parametrize("shell", THEIRS)
@pytest.mark.parametrize("count", [0, 1, 3])
def test_answers_have_the_form_of_typer(
    shell: str, count: int, whole: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [("report", "Report on a log"), ("a'b\"c:d$e`f", 'It\'s "one": $x `y`'), ("bare", "")][:count]

    class Given(THEIRS[shell]):  # type: ignore[misc]
        """Completer of Typer for candidates that are given."""

        def get_completions(self, args: list[str], incomplete: str) -> list[Item]:
            return [Item(word, text or None) for word, text in found]

    monkeypatch.setattr(classes, "_sanitize_help_text", str)
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "thinktime x")
    monkeypatch.setenv("COMP_WORDS", "thinktime x")
    monkeypatch.setenv("COMP_CWORD", "1")
    _, form = SHELLS[shell]
    for action in ("get-args", "is-args", ""):
        monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", action)
        ours = form([Candidate(word, text) for word, text in found])
        try:
            theirs = (Given(whole, {}, PROGRAM, front.VARIABLE).complete() + "\n", 0)
        except SystemExit as ended:
            theirs = ("", ended.code)
        assert ours == theirs


def test_a_whole_call_prints_the_same_for_each_shell(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "thinktime record --i")
    monkeypatch.setenv("COMP_WORDS", "thinktime record --i")
    monkeypatch.setenv("COMP_CWORD", "2")
    monkeypatch.setenv("_TYPER_COMPLETE_WORD_TO_COMPLETE", "--i")
    for shell in SHELLS:
        monkeypatch.setenv(front.VARIABLE, shell)
        for action, status in (("get-args", 0), ("is-args", 0)):
            monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", action)
            assert run([]) == status
            is_silent = (shell, action) == ("complete_fish", "is-args")
            assert ("--interval" in capsys.readouterr().out) != is_silent


def test_other_instructions_are_left_to_typer() -> None:
    assert following.answer("source_bash") is None
    assert following.answer("complete_no-such") is None
    assert following.answer("") is None


def test_nothing_is_asked_of_the_environment_but_the_line() -> None:
    assert "COMP_WORDS" not in os.environ
    assert following.answer("complete_bash") is not None
