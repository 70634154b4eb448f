"""`thinktime systems`: the simulated systems and their parameters."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from thinktime.documents.document import Section
    from thinktime.sources.simulated import System


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="SYSTEM", help="System whose parameters are listed.")
    ] = None,
    form: Annotated[
        Literal["text", "json", "csv"], typer.Option("--format", help="Format of the tables.")
    ] = "text",
) -> None:
    """List the simulated systems, or the parameters of one: default, unit, allowed values, and source.

    Examples:

      thinktime systems

      thinktime systems apl360

      thinktime systems apl360 --format csv
    """
    from thinktime.documents.render import render_section
    from thinktime.sources.simulated import find, systems

    section = _list(systems()) if name is None else _parameters(find(name))
    sys.stdout.write(render_section(section, form))


def _list(systems: tuple[System, ...]) -> Section:
    from thinktime.documents.document import Column, Section, Table

    columns = (Column("system"), Column("description"), Column("parameters"))
    rows = tuple((system.name, system.summary, str(len(system.parameters))) for system in systems)
    return Section(
        name="systems",
        title="Which systems can be simulated?",
        summary=("`thinktime systems SYSTEM` lists the parameters of a system.",),
        tables=(Table(name="systems", caption="Simulated systems", columns=columns, rows=rows),),
    )


def _parameters(system: System) -> Section:
    from thinktime.documents.document import Column, Section, Table

    names = ("parameter", "default", "unit", "allowed", "description", "source", "reference")
    columns = tuple(Column(name) for name in names)
    rows = tuple(
        (
            item.name,
            _default(item.default),
            item.unit,
            item.allowed.removeprefix("give "),
            item.description,
            item.source.value,
            item.reference,
        )
        for item in system.parameters
    )
    return Section(
        name="parameters",
        title=f"Which parameters does {system.name} have?",
        summary=(system.summary,),
        tables=(
            Table(name="parameters", caption=f"Parameters of {system.name}", columns=columns, rows=rows),
        ),
    )


def _default(value: Any) -> str:
    if value is None:
        return "required"
    return value if isinstance(value, str) else json.dumps(value)
