"""Commands with their parameters as plain records: everything that can be called, without loading any of it.

Help, completion, man pages, the reference of the documentation, the check of a configuration file and the
wording of errors follow from these records, so that none of them can differ from the others. The records are
those of `TABLE`; the commands themselves say what it must contain (`declared`), and a test compares the two.

They are tuples with names, always made by keyword: data classes take as long to load as all the rest of help.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

PROGRAM = "thinktime"
TABLE = os.path.join(os.path.dirname(__file__), "commands.json")
"""File of the records, which `make golden` writes: to load the commands takes ten times as long."""


class Parameter(NamedTuple):
    """An argument or option of a command."""

    name: str
    """Name of the value in the program: ``max_memory``."""
    kind: Literal["argument", "option"]
    """Argument, which is given by its place, or option."""
    spellings: tuple[str, ...] = ()
    """Ways to write an option, the short one first; empty for an argument."""
    opposites: tuple[str, ...] = ()
    """Ways to switch a flag off, as in ``--no-record``."""
    metavar: str = ""
    """Placeholder of the value, as in ``TIME``; empty for a flag."""
    help: str = ""
    """Explanation, one or more sentences."""
    default: str = ""
    """Default as one would write it; empty if there is none, and for flags that are off."""
    choices: tuple[str, ...] = ()
    """Permitted words; empty if there is no such list."""
    completed: str = ""
    """Function of `thinktime.cli.completion` with the values that a shell offers; empty if there is none."""
    least: float | None = None
    """Least permitted number."""
    most: float | None = None
    """Greatest permitted number."""
    required: bool = False
    """True if the command cannot be called without it."""
    repeated: bool = False
    """True if several values may be given."""
    flag: bool = False
    """True for an option without a value."""
    number: Literal["", "whole", "real"] = ""
    """Kind of number that the value must be; empty for text."""
    hidden: bool = False
    """True if help leaves it out."""

    @property
    def key(self) -> str:
        """Name in a configuration file: the long spelling without its hyphens; of an argument, the name."""
        long = next((text for text in self.spellings if text.startswith("--")), "")
        return long.removeprefix("--") or self.name

    @property
    def face(self) -> str:
        """Way to write it: ``-o, --output FILE``; of an argument, its placeholder."""
        ways = [", ".join(words) for words in (self.spellings, self.opposites) if words]
        return " ".join(filter(None, [" / ".join(ways), self.metavar]))

    @property
    def explanation(self) -> str:
        """Help with the default and the range of its value, and whether it must be given."""
        notes = [
            f"default: {self.default}" if self.default else "",
            self.range,
            "required" if self.required else "",
        ]
        told = "; ".join(filter(None, notes))
        return f"{self.help}  [{told}]" if told else self.help

    @property
    def range(self) -> str:
        """Range of a number in words: ``from 2 to 256``, ``at least 1``; empty if there is none."""
        if self.least is not None and self.most is not None:
            return f"from {self.least:g} to {self.most:g}"
        if self.least is not None:
            return f"at least {self.least:g}"
        return "" if self.most is None else f"at most {self.most:g}"


class Command(NamedTuple):
    """A command, or a group of commands."""

    path: tuple[str, ...]
    """Words behind ``thinktime``: ``("analyse", "overhead")``; none for the program itself."""
    summary: str
    """First sentence of the help, without its stop."""
    listed: str
    """What a list of commands says of it: its summary, or the first words of that."""
    paragraphs: tuple[str, ...]
    """Help in paragraphs, without the examples."""
    examples: tuple[str, ...]
    """Complete command lines."""
    usage: str
    """Form of a call, on one line: ``thinktime report [OPTIONS] LOG...``."""
    parameters: tuple[Parameter, ...] = ()
    """Arguments, then options, in the order of the help, with ``--help``."""
    commands: tuple[Command, ...] = ()
    """Commands of a group."""

    @property
    def name(self) -> str:
        """Name with that of the program: ``thinktime analyse overhead``."""
        return " ".join((PROGRAM, *self.path))

    @property
    def arguments(self) -> tuple[Parameter, ...]:
        """Arguments, in the order in which they are given."""
        return tuple(item for item in self.parameters if item.kind == "argument")

    @property
    def options(self) -> tuple[Parameter, ...]:
        """Options, hidden ones included."""
        return tuple(item for item in self.parameters if item.kind == "option")

    def walk(self) -> Iterator[Command]:
        """Iterator over the command itself and all below it, in the order of the help."""
        yield self
        for command in self.commands:
            yield from command.walk()

    def below(self, words: Sequence[str]) -> Command | None:
        """Command that these words call, behind the name of this one; None if there is none."""
        if not words:
            return self
        found = next((one for one in self.commands if one.path[-1] == words[0]), None)
        return None if found is None else found.below(words[1:])


@cache
def program() -> Command:
    """Everything that can be called: the program, with all its commands below it."""
    with open(TABLE, encoding="utf-8") as file:
        return _command(json.load(file), ())


def _command(fields: Mapping[str, Any], path: tuple[str, ...]) -> Command:
    """Record of a command and of those below it, from the table."""
    parameters = tuple(Parameter(**_tuples(item)) for item in fields["parameters"])
    commands = tuple(_command(below, (*path, below["name"])) for below in fields["commands"])
    own = {name: value for name, value in fields.items() if name != "name"}
    return Command(**_tuples(own | {"path": path, "parameters": parameters, "commands": commands}))


def _tuples(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields whose lists are tuples, which JSON does not have."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
