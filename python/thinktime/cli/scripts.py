"""`thinktime scripts`: scripts of simulated users, and their demands on each system."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from thinktime.errors import InputError

if TYPE_CHECKING:
    from thinktime.documents.document import Table
    from thinktime.sources.scripts import Demand, Script

__all__ = ["command"]


def command(
    name: Annotated[
        str | None,
        typer.Argument(metavar="SCRIPT", help="Script to print, as a starting point for your own."),
    ] = None,
    check: Annotated[
        Path | None, typer.Option("--check", metavar="FILE.toml", help="Check a script file.")
    ] = None,
    form: Annotated[
        Literal["text", "json", "csv"], typer.Option("--format", help="Format of the tables.")
    ] = "text",
) -> None:
    """List the scripts of simulated users, print one, or check a file.

    A script holds the lines that a user types, the replies that the user waits for, the think times, and the
    demands of each interaction on a system.

    Examples:

      thinktime scripts

      thinktime scripts mftn3 > my.toml

      thinktime scripts --check my.toml; thinktime simulate multics -p script=my.toml
    """
    from thinktime.documents.document import Section
    from thinktime.documents.render import render_section
    from thinktime.sources.scripts import builtin, demands, read

    if name is not None:
        if check is not None:
            raise InputError("--check: a script is printed or a file is checked, not both; omit one of them")
        texts = builtin()
        if name not in texts:
            raise InputError(
                f"there is no built-in script {name!r}; the built-in scripts are {', '.join(texts)}"
            )
        sys.stdout.write(texts[name])
    elif check is not None:
        section = Section(
            name="script", title=f"What is in {check}?", summary=(), tables=(_scripts((read(check),)),)
        )
        sys.stdout.write(render_section(section, form))
    else:
        section = Section(
            name="scripts",
            title="What can scripted users do?",
            summary=("`thinktime scripts SCRIPT` prints a script; `-p script=FILE.toml` plays your own.",),
            tables=(_scripts(tuple(read(builtin_name) for builtin_name in builtin())), _demands(demands())),
        )
        sys.stdout.write(render_section(section, form))


def _scripts(scripts: tuple[Script, ...]) -> Table:
    from thinktime.documents.document import Column, Table

    columns = ("script", "interactions", "waiting", "commands", "heavy", "systems", "description")
    rows = tuple(
        (
            script.name,
            str(len(script.interactions)),
            str(len(script.waiting)),
            ", ".join(dict.fromkeys(item.command for item in script.interactions)),
            ", ".join(dict.fromkeys(item.command for item in script.interactions if item.heavy)),
            ", ".join(script.systems),
            script.description,
        )
        for script in scripts
    )
    return Table(
        name="scripts", caption="Scripts of users", columns=tuple(Column(name) for name in columns), rows=rows
    )


def _demands(demands: tuple[Demand, ...]) -> Table:
    from thinktime.documents.document import Column, Table

    columns = ("system", "demand", "unit", "default", "description")
    rows = tuple(
        (
            demand.system,
            demand.name,
            demand.unit,
            "required" if demand.default is None else f"{demand.default:g}",
            demand.description,
        )
        for demand in demands
    )
    caption = "Demands of an interaction, by system"
    return Table(name="demands", caption=caption, columns=tuple(Column(name) for name in columns), rows=rows)
