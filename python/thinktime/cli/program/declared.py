"""The records of the catalogue as the commands declare them: what its table must say.

All commands are loaded for it. Only what writes or checks the table comes here; ``python -m`` with the name
of this module writes it.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_type_hints

from typer.main import get_command

from thinktime.cli.program.application import application
from thinktime.cli.program.catalogue import PROGRAM, TABLE, Command, Parameter


def declared() -> Command:
    """Everything that can be called: the program, with all its commands below it."""
    return _described(get_command(application()), (), None)


def table(one: Command) -> str:
    """Text of the table: JSON, without the fields that have their default."""
    return json.dumps(_plain(one), ensure_ascii=False, indent=1) + "\n"


def _plain(one: Command | Parameter) -> dict[str, Any]:
    """Fields of a record; of the path of a command its last word, for the others are those of its group."""
    found: dict[str, Any] = {}
    for name, value in one._asdict().items():
        if name == "path":
            found["name"] = value[-1] if value else PROGRAM
        elif name in ("parameters", "commands"):
            found[name] = [_plain(below) for below in value]
        elif name not in one._field_defaults or value != one._field_defaults[name]:
            found[name] = value
    return found


def _described(command: Any, path: tuple[str, ...], parent: Any) -> Command:
    """Record of a command and of those below it.

    Parameters
    ----------
    command : object
        Command of Click, or of Typer's copy of it: only attributes that both have are read.
    path : tuple of str
        Words that call it.
    parent : object
        Context of the group that it belongs to; None for the program.
    """
    context = command.context_class(
        command, info_name=path[-1] if path else PROGRAM, parent=parent, **command.context_settings
    )
    names = list(command.list_commands(context)) if hasattr(command, "list_commands") else []
    paragraphs, examples = _help(command)
    faces = _faces(command.callback)
    parameters = [_parameter(item, faces.get(item.name), context) for item in command.get_params(context)]
    summary = _first_sentence(command, paragraphs)
    # Some versions write that of the program as if its first words needed no command.
    behind = command.subcommand_metavar.replace("[COMMAND]", "COMMAND") if names else ""
    return Command(
        path=path,
        summary=summary,
        listed=command.short_help or summary,
        paragraphs=paragraphs,
        examples=examples,
        usage=_usage(context.command_path, parameters, behind),
        parameters=tuple(sorted(parameters, key=lambda item: item.kind)),
        commands=tuple(
            _described(command.get_command(context, name), (*path, name), context) for name in names
        ),
    )


def _usage(name: str, parameters: Sequence[Parameter], behind: str) -> str:
    """Form of a call; what may be left out is in brackets. Behind the name of a group are other words."""
    places = [_place(item) for item in parameters if item.kind == "argument"]
    required = [
        f"{item.spellings[-1]} {item.metavar}" for item in parameters if item.spellings and item.required
    ]
    return " ".join([name, "[OPTIONS]", *required, *([behind] if behind else places)])


def _place(item: Parameter) -> str:
    """Argument in a usage: ``LOG...``, or ``[LOG...]`` if it may be left out."""
    bare = item.metavar.removeprefix("[").removesuffix("]") if item.metavar.count("[") < 2 else item.metavar
    several = f"{bare}..." if item.repeated and not bare.endswith(("...", "]")) else bare
    return several if item.required or several.startswith("[") else f"[{several}]"


def _help(command: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Paragraphs and examples of a command's help and epilog."""
    text = inspect.cleandoc(command.help or "").partition("\f")[0]
    prose, _, below = text.partition("Examples:")
    examples = f"{below}\n\n{inspect.cleandoc(command.epilog or '').partition('Examples:')[2]}"
    return _joined(prose), _joined(examples)


def _joined(text: str) -> tuple[str, ...]:
    """Paragraphs of a text, each on one line."""
    return tuple(" ".join(block.split()) for block in text.split("\n\n") if block.strip())


def _first_sentence(command: Any, paragraphs: Sequence[str]) -> str:
    whole = paragraphs[0] if paragraphs else command.short_help or ""
    return whole.partition(". ")[0].rstrip(".").strip()


def _faces(function: Any) -> dict[str, Any]:
    """What the parameters of a command are declared with, `typer.Option` or `typer.Argument`, by name."""
    if function is None:
        return {}
    hints = get_type_hints(inspect.unwrap(function), include_extras=True)
    declared = {name: getattr(hint, "__metadata__", ()) for name, hint in hints.items()}
    return {name: some[0] for name, some in declared.items() if some}


def _parameter(item: Any, face: Any, context: Any) -> Parameter:
    """Record of an argument or option of Click, or of Typer's copy of it, and what it was declared with."""
    kind: Literal["argument", "option"] = "argument" if item.param_type_name == "argument" else "option"
    is_flag = bool(getattr(item, "is_flag", False))
    described = getattr(item, "type_descriptor", None) or item.type
    choices = tuple(str(getattr(one, "value", one)) for one in getattr(described, "choices", None) or ())
    # Some versions lose the help of arguments, and call help itself otherwise.
    explained = getattr(item, "help", None) or getattr(face, "help", None) or ""
    return Parameter(
        name="help" if "--help" in item.opts else item.name,
        kind=kind,
        spellings=tuple(sorted(item.opts, key=len)) if kind == "option" else (),
        opposites=tuple(item.secondary_opts),
        metavar="" if is_flag else _metavar(item, choices),
        help=" ".join(explained.split()),
        default=_default(item, context, is_flag),
        choices=choices,
        completed=getattr(getattr(face, "autocompletion", None), "__name__", ""),
        least=_bound(item, "min"),
        most=_bound(item, "max"),
        required=bool(item.required),
        repeated=bool(getattr(item, "multiple", False)) or item.nargs == -1,
        flag=is_flag,
        number=_number(item),
        hidden=bool(getattr(item, "hidden", False)),
    )


def _bound(item: Any, name: str) -> float | None:
    """Limit of a number; older versions of Typer have it in the type."""
    value = getattr(item, name, None)
    return getattr(getattr(item, "type", None), name, None) if value is None else value


def _number(item: Any) -> Literal["", "whole", "real"]:
    """Kind of number that the value must be, by annotation or by the name of Click's type."""
    annotation = getattr(getattr(item, "type_descriptor", None), "annotation", None)
    name = getattr(getattr(item, "type", None), "name", "")
    if annotation is int or name.startswith("int"):
        return "whole"
    return "real" if annotation is float or "float" in name else ""


def _metavar(item: Any, choices: Sequence[str]) -> str:
    if item.metavar:
        return str(item.metavar)
    if choices:
        return "|".join(choices)
    if item.param_type_name == "argument":
        return str(item.name).upper()
    return {"whole": "N", "real": "X", "": "TEXT"}[_number(item)]


def _default(item: Any, context: Any, is_flag: bool) -> str:
    if getattr(item, "show_default", True) is False:
        return ""
    value = item.get_default(context, call=False)
    if is_flag:
        return "" if not value else item.opts[0]
    if value is None or callable(value) or value == "" or value == [] or value == ():
        return ""
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return str(getattr(value, "value", value))


if __name__ == "__main__":
    Path(TABLE).write_text(table(declared()), encoding="utf-8")
