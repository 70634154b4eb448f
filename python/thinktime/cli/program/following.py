"""What may follow in a shell's line: commands, options not given yet, choices and values.

Shells ask by the scripts of Typer and get the answer in the form that Typer gives. Lines are read by the
rules of Click, whose own completion has to load all commands first. Where the two differ, theirs is at fault:
explanations are whole, as they are in the help, on one line and with all brackets.
"""

from __future__ import annotations

import os
import shlex
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from thinktime.cli import completion
from thinktime.cli.program.catalogue import Command, Parameter, program


class Candidate(NamedTuple):
    """A word that may stand at the cursor, with its explanation, if it has any."""

    word: str
    explanation: str = ""


def answer(instruction: str) -> tuple[str, int] | None:
    """Text and status that a shell gets for an instruction of its script; None if Typer must say.

    Parameters
    ----------
    instruction : str
        Value of the variable with which the shell asks, such as ``complete_bash``.
    """
    if instruction not in SHELLS:
        return None
    read, form = SHELLS[instruction]
    return form(candidates(*read()))


def candidates(words: Sequence[str], incomplete: str) -> list[Candidate]:
    """What may stand at the cursor.

    Parameters
    ----------
    words : sequence of str
        Complete words behind ``thinktime``, before the cursor.
    incomplete : str
        Beginning of the word at the cursor.
    """
    command, given = _called(words)
    # Shells part a word at the sign between an option and its value, or do not.
    if incomplete == "=":
        incomplete = ""
    elif incomplete.startswith("-") and "=" in incomplete:
        option, _, incomplete = incomplete.partition("=")
        words = [*words, option]
    if "--" in words or not incomplete.startswith("-"):
        awaited = _awaited(command, given, words)
        if awaited is not None:
            return [Candidate(word) for word in _values(awaited, incomplete)]
    return _names(command, given, incomplete)


def _names(command: Command, given: set[str], incomplete: str) -> list[Candidate]:
    """Commands of a group, and options that may still be given; these only where one has begun."""
    found = [Candidate(below.path[-1], below.listed) for below in command.commands]
    for item in command.options if incomplete else ():
        if not item.hidden and (item.repeated or item.name not in given):
            found += [Candidate(text, item.help) for text in (*item.spellings, *item.opposites)]
    return [one for one in found if one.word.startswith(incomplete)]


def _awaited(command: Command, given: set[str], words: Sequence[str]) -> Parameter | None:
    """Parameter whose value stands at the cursor: an option that has none yet, or the next argument."""
    for item in command.options:
        if words and words[-1] in item.spellings and not item.flag:
            return item
    return next((item for item in command.arguments if item.repeated or item.name not in given), None)


def _values(item: Parameter, incomplete: str) -> list[str]:
    """Values that begin as typed; none where the shell completes names of files."""
    if item.completed:
        found: list[str] = getattr(completion, item.completed)(incomplete)
        return found
    return [value for value in item.choices if value.startswith(incomplete)]


def _called(words: Sequence[str]) -> tuple[Command, set[str]]:
    """Command that the words call, as far as it is known, and the names of its parameters that they give."""
    command = program()
    while True:
        given, behind = _read(command, words)
        below = command.below(behind[:1]) if behind else None
        if below is None:
            return command, given
        command, words = below, behind[1:]


def _read(command: Command, words: Sequence[str]) -> tuple[set[str], list[str]]:
    """Names of a command's parameters that the words give; of a group, also the words behind its options.

    What is behind an error is not read.
    """
    options = {text: item for item in command.options for text in (*item.spellings, *item.opposites)}
    given: set[str] = set()
    places: list[str] = []
    ahead = deque(words)
    while ahead:
        word = ahead.popleft()
        if word == "--":
            break
        if word.startswith("-") and len(word) > 1:
            if not _read_option(word, ahead, options, given):
                return given, []
        elif command.commands:
            return given, [word, *ahead]
        else:
            places.append(word)
    places += ahead
    if command.commands:
        return given, places
    several = next((at for at, item in enumerate(command.arguments) if item.repeated), len(command.arguments))
    # Those behind an argument with several values are given from the end on, and it gets what remains.
    order = [*command.arguments[:several], *reversed(command.arguments[several:])]
    given.update(item.name for item in order[: len(places)])
    return given, []


def _read_option(word: str, ahead: deque[str], options: dict[str, Parameter], given: set[str]) -> bool:
    """Add what a word with an option gives, and take its value from the words ahead; False if it is wrong."""
    name, equals, _ = word.partition("=")
    if name.startswith("--"):
        item = options.get(name)
        if item is None or (item.flag and equals):
            return False
        return _given(item, bool(equals), ahead, given)
    for at, letter in enumerate(word[1:], 2):
        item = options.get(f"-{letter}")
        if item is None or not _given(item, at < len(word), ahead, given):
            return False
        if not item.flag:
            return True
    return True


def _given(item: Parameter, is_whole: bool, ahead: deque[str], given: set[str]) -> bool:
    """Add an option, and take its value from the words ahead if it is not whole; False if there is none."""
    if not item.flag and not is_whole:
        if not ahead:
            return False
        ahead.popleft()
    given.add(item.name)
    return True


def _parted(line: str) -> list[str]:
    """Words of a line as a shell reads them; the last may lack a quotation mark."""
    lexer = shlex.shlex(line, posix=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    words = []
    try:
        for word in lexer:
            words.append(word)  # noqa: PERF402  (what came before an error is kept)
    except ValueError:
        words.append(lexer.token)
    return words


def _of_bash() -> tuple[list[str], str]:
    """Words before the cursor, and that at the cursor, which may stand within the line."""
    words = _parted(os.environ.get("COMP_WORDS", ""))
    number = os.environ.get("COMP_CWORD", "")
    at = int(number) if number.isdecimal() else len(words)
    return words[1:at], words[at] if at < len(words) else ""


def _of_others() -> tuple[list[str], str]:
    """Words before the cursor, and that at the cursor, at which the line ends."""
    line = os.environ.get("_TYPER_COMPLETE_ARGS", "")
    words = _parted(line)[1:]
    return (words, "") if not words or line.endswith(" ") else (words[:-1], words[-1])


def _of_powershell() -> tuple[list[str], str]:
    """Words before the cursor, and that at the cursor, which has a variable of its own."""
    words = _parted(os.environ.get("_TYPER_COMPLETE_ARGS", ""))[1:]
    incomplete = os.environ.get("_TYPER_COMPLETE_WORD_TO_COMPLETE", "")
    return (words[:-1] if incomplete else words), incomplete


def _for_bash(found: Sequence[Candidate]) -> tuple[str, int]:
    return "\n".join(one.word for one in found) + "\n", 0


def _for_zsh(found: Sequence[Candidate]) -> tuple[str, int]:
    if not found:
        return "_files\n", 0
    marked = ('"{}":"{}"' if one.explanation else '"{}"' for one in found)
    texts = (text.format(*map(_escaped, one)) for text, one in zip(marked, found, strict=True))
    return "_arguments '*: :(({}))'\n".format("\n".join(texts)), 0


def _escaped(text: str) -> str:
    """Text within the words of zsh's ``_arguments``."""
    doubled = text.replace('"', '""').replace("'", "''")
    return doubled.replace("$", "\\$").replace("`", "\\`").replace(":", r"\\:")


def _for_fish(found: Sequence[Candidate]) -> tuple[str, int]:
    action = os.environ.get("_TYPER_COMPLETE_FISH_ACTION", "")
    if action == "is-args":
        # It looks at the status alone; where there is nothing, it completes names of files.
        return "", int(not found)
    lines = (f"{word}\t{text}" if text else word for word, text in found)
    return ("\n".join(lines) if action == "get-args" else "") + "\n", 0


def _for_powershell(found: Sequence[Candidate]) -> tuple[str, int]:
    return "\n".join(f"{word}:::{text or ' '}" for word, text in found) + "\n", 0


SHELLS: dict[
    str, tuple[Callable[[], tuple[list[str], str]], Callable[[Sequence[Candidate]], tuple[str, int]]]
] = {
    "complete_bash": (_of_bash, _for_bash),
    "complete_zsh": (_of_others, _for_zsh),
    "complete_fish": (_of_others, _for_fish),
    "complete_powershell": (_of_powershell, _for_powershell),
    "complete_pwsh": (_of_powershell, _for_powershell),
}
"""How the line of a shell is read and its answer written, by the instruction of its script."""
