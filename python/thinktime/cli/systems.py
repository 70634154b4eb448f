"""`thinktime systems`: the simulated systems and their parameters."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thinktime.cli import completion, messages
from thinktime.cli.destination import SectionForm, width
from thinktime.errors import InputError, offered

if TYPE_CHECKING:
    from thinktime.documents.document import Section
    from thinktime.sources.simulated import System, SystemParameter

NUMBERS_CHARS_MAX = 20
"""Longest list of the numbers of a distribution in a table."""


def command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="SYSTEM", help="System whose parameters are listed.", autocompletion=completion.systems
        ),
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PARAMETER",
            help="Parameters of which everything is shown; by default, all of them in short.",
            autocompletion=completion.parameter_names,
        ),
    ] = None,
    form: Annotated[SectionForm, typer.Option("--format", help="Format of the tables.")] = "text",
) -> None:
    """List the simulated systems, or the parameters of one: default, unit, allowed values, and source.

    Examples:

      thinktime systems

      thinktime systems apl360

      thinktime systems apl360 scheduler time_slice

      thinktime systems apl360 --format csv
    """
    from thinktime.documents.render import render_section
    from thinktime.sources.simulated import find, systems

    if name is None:
        section = _list(systems())
    elif names or form != "text":
        section = _parameters(find(name), names or [])
    else:
        section = _in_short(find(name))
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


def _in_short(system: System) -> Section:
    """All parameters of a system, a line or two for each."""
    from thinktime.documents.document import Col, Section, Table

    table = Table.of(
        system.parameters,
        Col("parameter", lambda item: item.name),
        Col("default", lambda item: _default(item)),
        Col("description", _described),
        name="parameters",
        caption=f"Parameters of {system.name}",
    )
    return Section(
        name="parameters",
        title=f"Which parameters does {system.name} have?",
        summary=(
            system.summary,
            f"`thinktime systems {system.name} {system.parameters[0].name}` says what is allowed for a "
            "parameter, and where its default is from; `--format csv` says it of all.",
        ),
        tables=(table,),
    )


def _parameters(system: System, names: list[str]) -> Section:
    """Everything about the parameters that are named, or about all."""
    from thinktime.documents.document import Col, Section, Table

    known = {item.name: item for item in system.parameters}
    for name in names:
        if name not in known:
            raise InputError(f"{system.name} has no parameter {name}; {offered(name, known)}")
    table = Table.of(
        [known[name] for name in names] or system.parameters,
        Col("parameter", lambda item: item.name),
        Col("default", lambda item: _value(item.default)),
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


def _default(item: SystemParameter) -> str:
    """Default with its unit, a distribution in short form, without its numbers where they are many."""
    value = item.default
    if isinstance(value, dict) and "kind" in value:
        numbers = ", ".join(f"{key}={json.dumps(of)}" for key, of in value.items() if key != "kind")
        if len(numbers) > NUMBERS_CHARS_MAX:
            numbers = "..."
        return f"{value['kind']}({numbers})" + (f" {item.unit}" if item.unit else "")
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return f"{value} {item.unit}" if is_number and item.unit else _value(value)


def _described(item: SystemParameter) -> str:
    """What a parameter is; one that must be given, with what may be given."""
    return f"{item.description}: {item.allowed}" if item.default is None else item.description


def _value(value: Any) -> str:
    if value is None:
        return "required"
    return value if isinstance(value, str) else json.dumps(value)
