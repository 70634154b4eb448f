"""Commands with their parameters as plain records: the one walk over everything that can be called.

Man pages, the reference of the documentation, the check of a configuration file and the wording of errors
follow from these records, so that none of them can differ from what ``--help`` prints.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

PROGRAM = "thinktime"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """An argument or option of a command."""

    name: str
    """Name of the value in the program: ``max_memory``."""
    kind: Literal["argument", "option"]
    """Argument, which is given by its place, or option."""
    spellings: tuple[str, ...]
    """Ways to write an option, the short one first; empty for an argument."""
    opposites: tuple[str, ...]
    """Ways to switch a flag off, as in ``--no-record``."""
    metavar: str
    """Placeholder of the value, as in ``TIME``; empty for a flag."""
    help: str
    """Explanation, one or more sentences."""
    default: str
    """Default as one would write it; empty if there is none, and for flags that are off."""
    choices: tuple[str, ...]
    """Permitted words; empty if there is no such list."""
    least: float | None
    """Least permitted number."""
    most: float | None
    """Greatest permitted number."""
    required: bool
    """True if the command cannot be called without it."""
    repeated: bool
    """True if several values may be given."""
    flag: bool
    """True for an option without a value."""
    number: Literal["", "whole", "real"]
    """Kind of number that the value must be; empty for text."""
    hidden: bool
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command, or a group of commands."""

    path: tuple[str, ...]
    """Words behind ``thinktime``: ``("analyse", "overhead")``; none for the program itself."""
    summary: str
    """First sentence of the help, without its stop."""
    paragraphs: tuple[str, ...]
    """Help in paragraphs, without the examples."""
    examples: tuple[str, ...]
    """Complete command lines."""
    usage: str
    """Form of a call, on one line: ``thinktime report [OPTIONS] LOG...``."""
    parameters: tuple[Parameter, ...]
    """Arguments, then options, in the order of the help, with ``--help``."""
    commands: tuple[Command, ...]
    """Commands of a group."""

    @property
    def name(self) -> str:
        """Name with that of the program: ``thinktime analyse overhead``."""
        return " ".join((PROGRAM, *self.path))

    @property
    def options(self) -> tuple[Parameter, ...]:
        """Options, hidden ones included."""
        return tuple(item for item in self.parameters if item.kind == "option")

    def walk(self) -> Iterator[Command]:
        """Iterator over the command itself and all below it, in the order of the help."""
        yield self
        for command in self.commands:
            yield from command.walk()


def program() -> Command:
    """Everything that can be called: the program, with all its commands below it."""
    from typer.main import get_command

    from thinktime.cli.program.application import application

    return described(get_command(application()), (), None)


def described(command: Any, path: tuple[str, ...], parent: Any) -> Command:
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
    parameters = [parameter(item, context) for item in command.get_params(context)]
    return Command(
        path=path,
        summary=_first_sentence(command, paragraphs),
        paragraphs=paragraphs,
        examples=examples,
        usage=usage_of(context.command_path, parameters, is_group=bool(names)),
        parameters=tuple(sorted(parameters, key=lambda item: item.kind)),
        commands=tuple(
            described(command.get_command(context, name), (*path, name), context) for name in names
        ),
    )


def usage_of(name: str, parameters: Sequence[Parameter], *, is_group: bool) -> str:
    """Form of a call; what may be left out is in brackets."""
    places = [_place(item) for item in parameters if item.kind == "argument"]
    required = [
        f"{item.spellings[-1]} {item.metavar}" for item in parameters if item.spellings and item.required
    ]
    words = ["COMMAND [ARGS]..."] if is_group else places
    return " ".join([name, "[OPTIONS]", *required, *words])


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


def parameter(item: Any, context: Any) -> Parameter:
    """Record of an argument or option of Click, or of Typer's copy of it."""
    kind: Literal["argument", "option"] = "argument" if item.param_type_name == "argument" else "option"
    is_flag = bool(getattr(item, "is_flag", False))
    described = getattr(item, "type_descriptor", None) or item.type
    choices = tuple(str(getattr(one, "value", one)) for one in getattr(described, "choices", None) or ())
    return Parameter(
        name=item.name,
        kind=kind,
        spellings=tuple(sorted(item.opts, key=len)) if kind == "option" else (),
        opposites=tuple(item.secondary_opts),
        metavar="" if is_flag else _metavar(item, choices),
        help=" ".join((getattr(item, "help", None) or "").split()),
        default=_default(item, context, is_flag),
        choices=choices,
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
