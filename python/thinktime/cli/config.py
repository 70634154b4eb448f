"""`thinktime config`: defaults of options in configuration files, and which are in force.

A file has a table for each command, with its options under their long names::

    quiet = true

    [record]
    interval = "1s"

    [analyse]                    # of every question that has the option
    format = "json"

    [predict.paging]
    levels = 8

What is given on the command line wins over the user's file, which wins over those of the system.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from thinktime.cli import messages
from thinktime.errors import InputError, offered

if TYPE_CHECKING:
    from thinktime.cli.program.catalogue import Command, Parameter
    from thinktime.documents.document import Section

VARIABLE = "THINKTIME_CONFIG"
"""Environment variable: the only file that is read; empty for none."""
NEVER = ("help", "version", "install-completion", "show-completion")
"""Options that end the command: as a default they would end every call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Default of an option."""

    file: str
    """File that sets it."""
    command: str
    """Command to which the table belongs, without the program: ``analyse overhead``; empty for all."""
    option: str
    """Long name of the option, without hyphens in front."""
    value: Any
    """Value, of a type of TOML."""

    @property
    def place(self) -> str:
        """Place for messages: ``/etc/xdg/thinktime/config.toml: [record] interval``."""
        table = f"[{self.command.replace(' ', '.')}] " if self.command else ""
        return f"{self.file}: {table}{self.option}"


def files() -> list[Path]:
    """Files that are read if they exist, those of the system first, so that later ones win.

    ``THINKTIME_CONFIG`` if it is set; otherwise those of the XDG base directory specification.
    """
    only = os.environ.get(VARIABLE)
    if only is not None:
        return [Path(only)] if only else []
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    system = (os.environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")
    # The specification: relative paths are invalid and ignored.
    folders = [folder for folder in [*reversed(system), home] if os.path.isabs(folder)]
    return [Path(folder) / "thinktime" / "config.toml" for folder in folders]


def read() -> list[Setting]:
    """Settings of all files, in their order.

    Raises
    ------
    InputError
        A file cannot be read, is no TOML, or has a table for a command that does not exist; or the file
        that ``THINKTIME_CONFIG`` names does not exist.
    """
    found: list[Setting] = []
    for path in files():
        # A folder of another user, as after sudo, may not be read: then no file is there.
        if os.path.exists(path) or os.environ.get(VARIABLE):
            # Most machines have no such file, and need no reader of TOML.
            from thinktime import toml

            found += _settings(toml.read(path), str(path), ())
    return found


def _settings(table: Mapping[str, Any], file: str, words: tuple[str, ...]) -> list[Setting]:
    """Settings of a table and of the tables in it."""
    from thinktime.cli import COMMANDS

    found = []
    for key, value in table.items():
        if isinstance(value, dict):
            if not words and key not in COMMANDS:
                raise InputError(f"{file}: [{key}]: there is no such command; {offered(key, COMMANDS)}")
            found += _settings(value, file, (*words, key))
        else:
            found.append(Setting(file=file, command=" ".join(words), option=key, value=value))
    return found


def defaults(settings: Iterable[Setting], program: Command) -> dict[str, Any]:
    """Defaults as Click takes them: by command, then by name of the parameter.

    Parameters
    ----------
    settings : iterable of Setting
        Settings, in the order in which later ones win.
    program : Command
        The commands that may be called: settings of others are left out.

    Raises
    ------
    InputError
        A command has no such option, or the value is of the wrong type.
    """
    commands = {" ".join(command.path): command for command in program.walk()}
    tree: dict[str, Any] = {}
    # A setting of a group is for those of its commands that have the option; their own tables win.
    for setting in sorted(settings, key=lambda item: item.command.count(" ") + bool(item.command)):
        if setting.command.partition(" ")[0] not in commands:
            continue
        command = commands.get(setting.command)
        if command is None:
            group, _, name = setting.command.rpartition(" ")
            names = [below.path[-1] for below in commands[group].commands] if group in commands else []
            raise InputError(f"{setting.place}: there is no such command; {offered(name, names)}")
        below = [one for one in command.walk() if not one.commands] if command.path else [command]
        having = [one for one in below if _option(one, setting) is not None]
        if not having:
            names = sorted({item.key for one in below for item in one.options if item.key not in NEVER})
            raise InputError(f"{setting.place}: there is no such option; {offered(setting.option, names)}")
        for one in having:
            place = tree
            for word in one.path:
                place = place.setdefault(word, {})
            item = _option(one, setting)
            assert item is not None
            place[item.name] = _value(item, setting)
    return tree


def _option(command: Command, setting: Setting) -> Parameter | None:
    key = setting.option.replace("_", "-")
    return next((item for item in command.options if item.key == key and key not in NEVER), None)


def _value(item: Parameter, setting: Setting) -> Any:
    """Value as it would be typed; Click converts and checks it like one that was."""
    value = setting.value
    if item.flag:
        if not isinstance(value, bool):
            raise InputError(f"{setting.place}: is {value!r}; give true or false")
        return value
    values = value if isinstance(value, list) else [value]
    if (isinstance(value, list) and not item.repeated) or not all(map(_is_plain, values)):
        several = ", or a list of them" if item.repeated else ""
        raise InputError(f"{setting.place}: is {value!r}; give one text or number{several}")
    return [str(one) for one in values] if item.repeated else str(value)


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def located(message: str, settings: Sequence[Setting], arguments: Sequence[str]) -> str:
    """Message, preceded by the place of the setting if the option that it names was set by a file."""
    named = re.match(r"--([\w-]+)", message)
    words = " ".join(arguments)
    if named is None or re.search(rf"(^|\s)--{named[1]}\b", words):
        return message
    for setting in reversed(settings):
        applies = not setting.command or words.startswith(setting.command)
        if applies and setting.option.replace("_", "-") == named[1]:
            return f"{setting.place}: {message}"
    return message


def command(
    form: Annotated[Literal["text", "json"], typer.Option("--format", help="Output format.")] = "text",
) -> None:
    """Show the defaults that configuration files set, and check them.

    Reads $XDG_CONFIG_HOME/thinktime/config.toml (~/.config if that is not set) and thinktime/config.toml in
    each folder of $XDG_CONFIG_DIRS (/etc/xdg); or only the file that $THINKTIME_CONFIG names, none if it is
    empty. A file has a table for each command, with options under their long names: [record], then
    interval = "1s". Options on the command line win over the user's file, which wins over the system's.

    Examples:

      thinktime config

      THINKTIME_CONFIG=mine.toml thinktime config --format json
    """
    from thinktime.cli.destination import width
    from thinktime.cli.program.catalogue import program
    from thinktime.documents.render import render_section

    settings = read()
    defaults(settings, program())
    if form == "json":
        found = [{"path": str(path), "exists": os.path.exists(path)} for path in files()]
        messages.as_json("config", {"files": found, "settings": [asdict(setting) for setting in settings]})
    else:
        messages.rendered(render_section(_section(settings), form, width()))


def _section(settings: Sequence[Setting]) -> Section:
    from thinktime.documents.document import Col, Section, Table

    table = Table.of(
        settings,
        Col("command", lambda item: item.command or "(all)"),
        Col("option", lambda item: item.option),
        Col("value", lambda item: str(item.value)),
        Col("set by", lambda item: item.file),
        name="settings",
        caption="Defaults in force; of several for one option, the last wins",
    )
    searched = "; ".join(f"{path} ({'read' if os.path.exists(path) else 'not there'})" for path in files())
    return Section(
        name="config",
        title="Which defaults are set?",
        summary=(f"Files, the last wins: {searched or 'none'}.",),
        tables=(table,) if settings else (),
    )
