"""`thinktime systems`: the simulated systems and their parameters."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from thinktime.errors import InputError

if TYPE_CHECKING:
    from thinktime.documents.document import Section
    from thinktime.sources.simulated import System

__all__ = ["command"]


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="SYSTEM", help="Only this one, with all its parameters.")
    ] = None,
    form: Annotated[
        Literal["text", "json", "csv"], typer.Option("--format", help="How the tables are printed.")
    ] = "text",
) -> None:
    """List the simulated systems, or the parameters of one: unit, default, what is allowed, and source.

    Examples:

      thinktime systems

      thinktime systems apl360

      thinktime systems apl360 --format csv
    """
    from thinktime.documents.render import render_section
    from thinktime.sources.simulated import systems

    found = systems()
    if name is not None:
        chosen = [system for system in found if system.name == name]
        if not chosen:
            raise InputError(
                f"there is no simulated system {name!r}; there are: {', '.join(s.name for s in found)}"
            )
        sys.stdout.write(render_section(_parameters(chosen[0]), form))
    else:
        sys.stdout.write(render_section(_list(found), form))


def _list(found: tuple[System, ...]) -> Section:
    from thinktime.documents.document import Column, Section, Table

    columns = (Column("system"), Column("what it is"), Column("parameters"))
    rows = tuple((system.name, system.summary, str(len(system.parameters))) for system in found)
    return Section(
        name="systems",
        title="Which systems can be simulated?",
        summary=("`thinktime systems SYSTEM` lists the parameters of one.",),
        tables=(Table(name="systems", caption="Simulated systems", columns=columns, rows=rows),),
    )


def _parameters(system: System) -> Section:
    from thinktime.documents.document import Column, Section, Table

    columns = tuple(
        Column(name) for name in ("parameter", "default", "unit", "allowed", "what it is", "source")
    )
    rows = tuple(
        (p.name, _default(p.default), p.unit, p.allowed.removeprefix("give "), p.description, p.source)
        for p in system.parameters
    )
    return Section(
        name="parameters",
        title=f"What can be set in {system.name}?",
        summary=(system.summary,),
        tables=(
            Table(name="parameters", caption=f"Parameters of {system.name}", columns=columns, rows=rows),
        ),
    )


def _default(value: Any) -> str:
    if value is None:
        return "must be given"
    return value if isinstance(value, str) else json.dumps(value)
