"""Scripts of users: lines typed, replies waited for, think times, and what they need.

That is demands on each simulated system, or programs and files of a real one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thinktime.errors import InputError

if TYPE_CHECKING:
    from thinktime._native import _Distribution, _Script

__all__ = ["Demand", "Interaction", "Script", "builtin", "demands", "read", "resolve"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interaction:
    """One input of a script and the work that it requests."""

    command: str
    """Name of the command."""
    types: str
    """Line typed."""
    wait_for: str | None
    """Text of the reply that the user waits for; None if it is something else, or nothing."""
    waits: bool
    """True if the user waits for the reply: such an interaction has a response time."""
    heavy: bool
    """True if averages are also given without this command."""
    think: float | _Distribution
    """Think time before the line is typed, s: constant, or a distribution."""
    demands: dict[str, dict[str, float | _Distribution]]
    """Amounts or distributions of amounts, by system and name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """Interactions that a user repeats."""

    name: str
    """Name in results and logs."""
    description: str
    """Description for readers; may be empty."""
    interactions: tuple[Interaction, ...]
    """Interactions in the order of execution."""
    table: _Script
    """Complete script, as the parameter `script` of a simulated system takes it."""

    @property
    def waiting(self) -> tuple[Interaction, ...]:
        """Interactions whose reply the user waits for: those that have a response time."""
        return tuple(item for item in self.interactions if item.waits)

    @property
    def systems(self) -> tuple[str, ...]:
        """Simulated systems for which every interaction states its demands."""
        systems = [set(item.demands) for item in self.interactions]
        return tuple(sorted(set.intersection(*systems)))

    @property
    def is_for_terminals(self) -> bool:
        """True if users can type it to a real shell: `thinktime play` then plays it."""
        return "terminal" in self.table


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Demand that an interaction can have on a system."""

    system: str
    name: str
    unit: str
    default: float | None
    """None if it is required."""
    description: str


def builtin() -> dict[str, str]:
    """TOML text of each script that comes with thinktime, by its name."""
    from thinktime._native import builtin_scripts

    return dict(builtin_scripts())


def demands() -> tuple[Demand, ...]:
    """Demands that an interaction can have on each system."""
    from thinktime._native import script_demands

    return tuple(Demand(**demand) for demand in script_demands())


def read(script: str | os.PathLike[str], system: str | None = None) -> Script:
    """Script, built in or from a TOML file.

    Parameters
    ----------
    script : str or path
        Name of a built-in script, or a file; the built-in script takes precedence.
    system : str, optional
        System on which all its interactions must have demands.

    Raises
    ------
    InputError
        There is no such script, or it is wrong; the message names file, line, item and remedy.
    """
    from thinktime._native import read_script

    scripts = builtin()
    name = os.fspath(script)
    text = scripts[name] if name in scripts else _text(Path(script))
    try:
        table = read_script(text, name, system)
    except ValueError as error:
        raise InputError(str(error)) from None
    return Script(
        name=table["name"],
        description=table["description"],
        interactions=tuple(_interactions(table)),
        table=table,
    )


def resolve(given: Any, system: str) -> Any:
    """Value of the parameter `script` of `system`: a built-in name or a whole script.

    Raises
    ------
    InputError
        As `read`.
    """
    if isinstance(given, (str, os.PathLike)) and os.fspath(given) not in builtin():
        return read(given, system).table
    return given


def _text(path: Path) -> str:
    """Text of a script file."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise InputError(
            f"{path}: is neither a built-in script ({', '.join(builtin())}) nor a file; "
            f"`thinktime scripts mftn3 > my.toml` starts your own"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}, line {line}: the text: byte {content[error.start]:#04x} is not UTF-8; save it as UTF-8"
        ) from None


def _interactions(table: _Script) -> Iterator[Interaction]:
    for interaction in table["interaction"]:
        command = interaction["command"]
        demands = {"ctss": interaction.get("ctss"), "multics": interaction.get("multics")}
        yield Interaction(
            command=command,
            types=interaction["types"],
            wait_for=interaction.get("wait_for"),
            waits=interaction.get("wait") is not False,
            heavy=table["commands"][command]["heavy"],
            think=interaction["think"],
            demands={system: amounts for system, amounts in demands.items() if amounts is not None},
        )
