"""`thinktime scripts`: scripts of simulated users and of users at real terminals."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thinktime import toml
from thinktime.cli import completion, messages
from thinktime.cli.destination import SectionForm, width
from thinktime.errors import InputError, offered

if TYPE_CHECKING:
    from thinktime.documents.document import Section, Table
    from thinktime.sources.scripts import Demand, Interaction, Script


def command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="SCRIPT",
            help="Script to print, as a starting point for your own, or a file to show.",
            autocompletion=completion.scripts,
        ),
    ] = None,
    check: Annotated[
        Path | None, typer.Option("--check", metavar="FILE.toml", help="Check a script file.")
    ] = None,
    sessions: Annotated[
        list[Path] | None,
        typer.Option(
            "--from", metavar="SESSION", help="Make a script of a recorded session; may be repeated."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE.toml", help="Script to write, with --from.")
    ] = None,
    form: Annotated[SectionForm, typer.Option("--format", help="Format of the tables.")] = "text",
) -> None:
    """List the scripts of users, print one, or check a file.

    A script holds the lines that a user types, what the user waits for, the think times, and the demands of
    each interaction on a simulated system, or what a real terminal needs.

    Examples:

      thinktime scripts

      thinktime scripts mftn3 > my.toml

      thinktime scripts --check my.toml; thinktime simulate multics -p script=my.toml

      thinktime scripts --from monday.cast -o monday.toml; thinktime play monday.toml --users 4 --dry-run

      thinktime scripts login-node > mine.toml; thinktime play mine.toml --users 4 --dry-run
    """
    from thinktime.documents.document import Section
    from thinktime.documents.render import render_section
    from thinktime.sources.scripts import builtin, demands, read

    if sessions:
        if name is not None or check is not None:
            raise InputError("--from: a script is made, printed or checked; give one of them")
        messages.rendered(render_section(_made(sessions, output), form, width()))
        return
    if output is not None:
        raise InputError(f"-o {output}: goes with --from SESSION; omit it, or give a recorded session")
    if name is not None and name.endswith(".toml") and check is None:
        check = Path(name)
        name = None
    if name is not None:
        if check is not None:
            raise InputError("--check: a script is printed or a file is checked, not both; omit one of them")
        texts = builtin()
        if name not in texts:
            raise InputError(f"{name}: there is no such built-in script; {offered(name, texts)}")
        if form == "csv":
            raise InputError(f"--format csv: {name} is no table; give text or json")
        if form == "json":
            messages.as_json("script", {"name": name, "script": toml.parsed(texts[name])})
        else:
            messages.rendered(texts[name])
    elif check is not None:
        section = Section(
            name="script", title=f"What is in {check}?", summary=(), tables=(_scripts((read(check),)),)
        )
        messages.rendered(render_section(section, form, width()))
    else:
        section = Section(
            name="scripts",
            title="What can scripted users do?",
            summary=(
                "`thinktime scripts SCRIPT` prints a script; `thinktime simulate SYSTEM -p script=FILE.toml` "
                "plays your own on a simulated system, `thinktime play FILE.toml` on a real one.",
            ),
            tables=(_scripts(tuple(read(builtin_name) for builtin_name in builtin())), _demands(demands())),
        )
        messages.rendered(render_section(section, form, width()))


def _made(sessions: list[Path], output: Path | None) -> Section:
    """Write the script of recorded sessions, and say what is in it."""
    from thinktime.cli import destination
    from thinktime.documents.document import Col, Section, Table
    from thinktime.sources.scripts import read
    from thinktime.sources.sessions import script_from

    if output is None or str(output) == "-":
        raise InputError("--from: the script needs a file; name it with -o my.toml")
    destination.check_file(output, False)
    made = script_from(sessions, name=output.stem if output.stem.isprintable() else "recorded")
    destination.write(output, made.text, announced=False)
    left_out = sorted(made.losses.items())
    return Section(
        name="script",
        title=f"What is in {output}?",
        summary=(
            f"{made.interactions} interactions; inputs that the terminal did not show, which were dropped: "
            f"{made.hidden}.",
        ),
        tables=(
            _scripts((read(output),)),
            Table.of(
                made.think,
                Col("command", lambda think: think.command),
                Col("think time", lambda think: think.mean, unit="s"),
                Col("lines", lambda think: think.mean.n),
                Col("distribution", lambda think: think.how),
                name="think-times",
                caption="Think times",
            ),
            *(
                [
                    Table.of(
                        left_out,
                        Col("left out", lambda loss: loss[0]),
                        Col("count", lambda loss: loss[1]),
                        name="left-out",
                        caption="What is not in the script",
                    )
                ]
                if left_out
                else []
            ),
        ),
    )


_REAL = ("terminals",)
"""What a script for real terminals is played on."""


def _scripts(scripts: tuple[Script, ...]) -> Table:
    from thinktime.documents.document import Col, Table

    def commands(interactions: Iterable[Interaction]) -> str:
        return ", ".join(dict.fromkeys(item.command for item in interactions))

    return Table.of(
        scripts,
        Col("script", lambda script: script.name),
        Col("interactions", lambda script: str(len(script.interactions))),
        Col("waiting", lambda script: str(len(script.waiting))),
        Col("commands", lambda script: commands(script.interactions)),
        Col("heavy", lambda script: commands(item for item in script.interactions if item.heavy)),
        Col("played on", lambda script: ", ".join((*script.systems, *_REAL[: script.is_for_terminals]))),
        Col("description", lambda script: script.description),
        name="scripts",
        caption="Scripts of users",
    )


def _demands(demands: tuple[Demand, ...]) -> Table:
    from thinktime.documents.document import Col, Table

    return Table.of(
        demands,
        Col("system", lambda demand: demand.system),
        Col("demand", lambda demand: demand.name),
        Col("unit", lambda demand: demand.unit),
        Col("default", lambda demand: "required" if demand.default is None else f"{demand.default:g}"),
        Col("description", lambda demand: demand.description),
        name="demands",
        caption="Demands of an interaction, by system",
    )
