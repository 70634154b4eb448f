"""Wrong usage in the program's own words: one line that names the item, what it was, and the remedy.

Click and Typer find the error; their versions word it differently, with a usage block and in the terms of
their libraries. Only what all of them know is read: the class of the error, its parameter and its context.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from thinktime.cli.program import catalogue
from thinktime.errors import nearest


def in_words(error: Any) -> str:
    """One line on an error of usage.

    Parameters
    ----------
    error : object
        ``UsageError`` of Click, or of Typer's copy of it.
    """
    kind = type(error).__name__
    context = getattr(error, "ctx", None)
    if kind == "NoSuchOption":
        return _no_option(error.option_name, context)
    if kind == "BadOptionUsage":
        return _option_usage(error)
    parameter = getattr(error, "param", None)
    if parameter is not None and context is not None:
        item = next(one for one in _command(context).parameters if one.name == parameter.name)
        if kind == "MissingParameter":
            return _missing(item, context)
        return _value(item, _given(error), str(error.message))
    return _other(str(error.message), context)


def _call(context: Any) -> str:
    """Words that call the command of a context."""
    return str(context.command_path) if context is not None else catalogue.PROGRAM


def _command(context: Any) -> catalogue.Command:
    """Record of the command of a context."""
    found = catalogue.program().below(_call(context).split()[1:])
    assert found is not None
    return found


def _no_option(name: str, context: Any) -> str:
    names = [] if context is None else _spellings(context)
    if context is not None and context.parent is not None and name in _spellings(context.find_root()):
        command = _call(context).removeprefix(catalogue.PROGRAM).strip()
        return f"{name}: goes before the command; give `{catalogue.PROGRAM} {name} {command} ...`"
    long = [text.removeprefix("--") for text in names if text.startswith("--")]
    found = nearest(name.removeprefix("--"), long) if name.startswith("--") else None
    hint = f"did you mean --{found}? " if found else ""
    return f"{name}: there is no such option; {hint}`{_call(context)} --help` lists them"


def _spellings(context: Any) -> list[str]:
    """Options of a context's command, as they are written."""
    return [text for item in context.command.get_params(context) for text in item.opts]


def _option_usage(error: Any) -> str:
    if "not take a value" in str(error.message):
        return f"{error.option_name}: takes no value; give the option alone"
    return f"{error.option_name}: has no value; give one behind it"


def _missing(item: catalogue.Parameter, context: Any) -> str:
    described = _command(context)
    name = item.spellings[-1] if item.spellings else item.metavar.strip("[].")
    return f"{name} is missing; give {described.usage} (`{described.name} --help` explains it)"


def _value(item: catalogue.Parameter, given: str | None, message: str) -> str:
    """Words on a value that an option or argument cannot have."""
    label = max(item.spellings, key=len) if item.spellings else ""
    named = " ".join(text for text in (label, given) if text) or item.metavar
    if item.choices:
        found = nearest(given or "", item.choices)
        hint = f"did you mean {found}? " if found else ""
        return f"{named}: is not known; {hint}give {_listed(item.choices)}"
    if item.number:
        return f"{named}: give {_range(item)}"
    path = re.search(r"'(.*)' is not readable", message)
    if path:
        return f"{path[1]}: you may not read it; choose another, or run as its owner"
    return f"{named}: {message}"


def _range(item: catalogue.Parameter) -> str:
    noun = "a whole number" if item.number == "whole" else "a number"
    joint = "" if item.range.startswith("from") else "of "
    return f"{noun} {joint}{item.range}" if item.range else noun


def _listed(words: Sequence[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def _given(error: Any) -> str | None:
    """Text that was refused, from the error behind this one or from its message; None if it is not known."""
    cause = error.__cause__
    if hasattr(cause, "errors"):
        return str(cause.errors()[0]["input"])
    quoted = re.match(r"'(.*?)' is not|(\S+) is not in the range", str(error.message))
    return None if quoted is None else quoted[1] or quoted[2]


def _deeper(word: str, context: Any) -> str | None:
    """Call of the command of that name in a group of commands: `thinktime analyse health` for ``health``."""
    for name in context.command.list_commands(context):
        group = context.command.get_command(context, name)
        if hasattr(group, "list_commands") and word in group.list_commands(context):
            return f"`{_call(context)} {name} {word}`"
    return None


def _other(message: str, context: Any) -> str:
    """Words on an unknown command, an argument too many, or a command that is missing."""
    unknown = re.search(r"No such command '(.*?)'\.", message)
    if unknown:
        names = [] if context is None else context.command.list_commands(context)
        deeper = None if context is None else _deeper(unknown[1], context)
        found = deeper or nearest(unknown[1], names)
        hint = f"did you mean {found}? " if found else ""
        return f"{unknown[1]}: there is no such command; {hint}`{_call(context)} --help` lists them"
    extra = re.search(r"unexpected extra arguments?(?:\(s\))? \((.*)\)", message)
    if extra:
        described = _command(context)
        words = extra[1].split()
        if all("=" in word for word in words) and any(item.name == "parameter" for item in described.options):
            given = " ".join(f"-p {word}" for word in words)
            return f"{extra[1]}: parameters are given behind -p, one each: {given}"
        return f"{extra[1]}: is more than the command takes; give {described.usage}"
    if message.startswith("Missing command"):
        return f"a command is missing; `{_call(context)} --help` lists them"
    return message
