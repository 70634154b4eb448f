"""`thinktime systems`: the simulated systems and their parameters."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thinktime.cli import completion, messages
from thinktime.cli.destination import SectionForm, width

if TYPE_CHECKING:
    from thinktime.documents.document import Section
    from thinktime.sources.simulated import System


def command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="SYSTEM", help="System whose parameters are listed.", autocompletion=completion.systems
        ),
    ] = None,
    form: Annotated[SectionForm, typer.Option("--format", help="Format of the tables.")] = "text",
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
    messages.rendered(render_section(section, form, width()))


def _list(systems: tuple[System, ...]) -> Section:
    from thinktime.documents.document import Col, Section, Table

    table = Table.of(
        systems,
        Col("system", lambda system: system.name),
        Col("parameters", lambda system: str(len(system.parameters))),
        Col("description", lambda system: system.summary),
        name="systems",
        caption="Simulated systems",
    )
    return Section(
        name="systems",
        title="Which systems can be simulated?",
        summary=("`thinktime systems SYSTEM` lists the parameters of a system.",),
        tables=(table,),
    )


def _parameters(system: System) -> Section:
    from thinktime.documents.document import Col, Section, Table

    table = Table.of(
        system.parameters,
        Col("parameter", lambda item: item.name),
        Col("default", lambda item: _default(item.default)),
        Col("unit", lambda item: item.unit),
        Col("allowed", lambda item: item.allowed.removeprefix("give ")),
        Col("description", lambda item: item.description),
        Col("source", lambda item: item.source.value),
        Col("reference", lambda item: item.reference),
        name="parameters",
        caption=f"Parameters of {system.name}",
    )
    return Section(
        name="parameters",
        title=f"Which parameters does {system.name} have?",
        summary=(system.summary,),
        tables=(table,),
    )


def _default(value: Any) -> str:
    if value is None:
        return "required"
    return value if isinstance(value, str) else json.dumps(value)
