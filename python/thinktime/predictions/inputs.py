"""Inputs of a model as users write them, on the command line and in TOML files.

Options follow from the dataclass that the model takes: a field's name gives the option's name and, by its
ending, its unit; its type determines how a text is read; the string below it is the help.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from thinktime import toml
from thinktime.errors import InputError, offered
from thinktime.quantity import parse_bytes, parse_seconds
from thinktime.stats.estimate import Estimate

BETWEEN = re.compile(r"\s*(?:±|\+-|\+/-)\s*")
"""Sign between a value and the half width of its interval."""
UNIT = re.compile(r"[a-z%]+$", re.IGNORECASE)
"""Unit at the end of a number."""
KEYS = {"think_s": "think_time", "service_s": "service_time"}
"""Names of fields that, without their unit, do not show that they are times."""
LARGEST = 1e100
"""Largest input: products of a few of them are still numbers."""
TRUTH = {"yes": True, "true": True, "no": False, "false": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One input of a model."""

    field: str
    """Field of the model's dataclass."""
    key: str
    """Name in a TOML file; the option is the same with hyphens."""
    help: str
    metavar: str
    example: str
    read: Callable[[object, str], Any]
    """Function that converts a text, a number, a list or a boolean into the value; also takes the name for a
    message."""
    required: bool

    @property
    def option(self) -> str:
        """Option of the command line."""
        return f"--{self.key.replace('_', '-')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Inputs of one machine by field, and the origin of each."""

    values: Mapping[str, Any]
    sources: Mapping[str, str]

    @classmethod
    def of(cls, values: Mapping[str, Any], source: str) -> Given:
        """Inputs with a common origin."""
        return cls(values=values, sources=dict.fromkeys(values, source))

    def over(self, other: Given) -> Given:
        """These inputs, completed by missing ones from `other`."""
        return Given(values={**other.values, **self.values}, sources={**other.sources, **self.sources})

    def without(self, *names: str) -> Given:
        """All inputs but `names`."""
        return Given(
            values={name: value for name, value in self.values.items() if name not in names},
            sources={name: source for name, source in self.sources.items() if name not in names},
        )


def inputs_of(model: type) -> tuple[Input, ...]:
    """Inputs of a model, derived from the fields of the dataclass `model`."""
    hints = get_type_hints(model, include_extras=True)
    descriptions = _descriptions(model)
    inputs = []
    for field in fields(model):
        reader = _reader(field.name, hints[field.name])
        required = field.default is MISSING and field.default_factory is MISSING
        default = (
            "" if required or field.default in (None, "", 0.0) else f" Default: {_shown(field.default)}."
        )
        inputs.append(
            Input(
                field=field.name,
                key=KEYS.get(field.name, field.name.removesuffix("_s")),
                help=f"{descriptions[field.name]}{default}",
                metavar=reader.metavar,
                example=reader.example,
                read=reader.read,
                required=required,
            )
        )
    return tuple(inputs)


def _descriptions(model: type) -> dict[str, str]:
    """First paragraph of the string below each field."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    assert isinstance(definition, ast.ClassDef)
    return {
        field.target.id: inspect.cleandoc(below.value.value).split("\n\n")[0]
        for field, below in pairwise(definition.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
        and isinstance(below.value.value, str)
    }


def _shown(default: object) -> str:
    if isinstance(default, bool):
        return "yes" if default else "no"
    return f"{default:g}" if isinstance(default, float) else str(default)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    """Reader of the text of one input, and its description in help and messages."""

    read: Callable[[object, str], Any]
    metavar: str
    example: str


def _reader(name: str, hint: Any) -> _Reader:
    """Reader of a field, by its type and by the unit at the end of its name."""
    kinds = set(_flat(hint))
    literal = next((kind for kind in kinds if get_origin(kind) is Literal), None)
    if literal is not None:
        choices = get_args(literal)
        return _Reader(read=partial(_choice, choices), metavar="|".join(choices), example=choices[0])
    if bool in kinds:
        return _Reader(read=truth, metavar="yes|no", example="yes")
    if kinds <= {int}:
        return _Reader(read=whole, metavar="N", example="12")
    if name.endswith("_s"):
        reader = _Reader(read=seconds, metavar="T", example="40ms")
    elif "share" in kinds:
        reader = _Reader(read=share, metavar="P", example="45%")
    else:
        reader = _Reader(read=number, metavar="N", example="4")
    read = reader.read if Estimate in kinds else partial(exact, reader.read)
    if Sequence in kinds:
        return _Reader(read=partial(_several, read), metavar=f"{reader.metavar},..", example=reader.example)
    return _Reader(read=read, metavar=reader.metavar, example=reader.example)


def _flat(hint: Any) -> Iterator[Any]:
    """Types of a union and of the items of its sequences; annotations as they are."""
    if get_origin(hint) is Annotated:
        yield from hint.__metadata__
        yield from _flat(hint.__origin__)
    elif get_origin(hint) is Literal:
        yield hint
    elif parts := get_args(hint):
        if get_origin(hint) is Sequence:
            yield Sequence
        for part in parts:
            yield from _flat(part)
    elif hint is not type(None):
        yield hint


def of_options(inputs: Sequence[Input], texts: Mapping[str, str | None], twin: str = "") -> Given:
    """Inputs from the texts of a command's options; None for an option that is not given.

    Parameters
    ----------
    inputs : sequence of Input
    texts : mapping
        By name of the parameter.
    twin : str
        ``"b"`` for machine B.

    Raises
    ------
    InputError
        A text cannot be read.
    """
    values = {}
    for item in inputs:
        text = texts.get(f"{item.field}_{twin}" if twin else item.field)
        if text is not None:
            values[item.field] = item.read(text, f"{item.option}-{twin}" if twin else item.option)
    return Given.of(values, "given")


def of_file(inputs: Sequence[Input], path: Path) -> Given:
    """Inputs of a TOML file.

    Raises
    ------
    InputError
        The file cannot be read, has an unknown key, or a value that is not allowed.
    """
    by_key = {item.key: item for item in inputs}
    values = {}
    for key, value in toml.read(path).items():
        if key not in by_key:
            raise InputError(f"{path}: {key}: is not an input of the model; {offered(key, by_key)}")
        values[by_key[key].field] = by_key[key].read(value, f"{path}: {key}")
    return Given.of(values, str(path))


def check_complete(inputs: Sequence[Input], given: Given, *, of: str = "", remedy: str = "a file") -> None:
    """Refuse inputs if a required one is missing.

    Raises
    ------
    InputError
        An input is missing; the message names it and its option.
    """
    for item in inputs:
        if item.required and item.field not in given.values:
            raise InputError(
                f"{item.option}{of} is not given; give a value, such as {item.example}, or {remedy}"
            )


def seconds(given: object, item: str) -> float | Estimate:
    """Time in seconds, of ``50ms`` or ``39.8ms+-2.5ms``; a number (in a file) is one of seconds.

    Raises
    ------
    InputError
        `given` is no time; the message begins with `item`, as that of each reader below.
    """

    def time(text: str) -> float:
        if not isinstance(given, str):
            return _plain(text, item)
        value = parse_seconds(text, item)
        if value > LARGEST:
            raise InputError(f"{item} {text}: is too large to compute with; give at most {LARGEST:g}s")
        return value

    return _with_interval(given, item, time, "s")


def number(given: object, item: str) -> float | Estimate:
    """Number of at least 0, or one with its interval: ``4.8+-0.1``.

    Raises
    ------
    InputError
        `given` is no such number.
    """
    return _with_interval(given, item, lambda text: _plain(text, item), "")


def byte_count(given: object, item: str) -> float | Estimate:
    """Amount of memory in bytes, of ``64 GB``, a number of bytes, or ``350 +- 50 MB``.

    Raises
    ------
    InputError
        `given` is no such amount.
    """
    return _with_interval(given, item, lambda text: float(parse_bytes(text, item)), "byte")


def share(given: object, item: str) -> float | Estimate:
    """Fraction of one, of ``0.95`` or ``95%``.

    Raises
    ------
    InputError
        `given` is no number of at least 0.
    """

    def fraction(text: str) -> float:
        bare = text.removesuffix("%").strip()
        return _plain(bare, item) / (100.0 if bare != text else 1.0)

    return _with_interval(given, item, fraction, "")


def whole(given: object, item: str) -> int:
    """Whole number of at least 1.

    Raises
    ------
    InputError
        `given` is no such number.
    """
    value = -1.0 if isinstance(given, bool) else _plain(str(given), item)
    if value < 1 or value != int(value):
        raise InputError(f"{item} {given}: give a whole number of at least 1")
    return int(value)


def truth(given: object, item: str) -> bool:
    """Boolean of yes or no, or of true or false.

    Raises
    ------
    InputError
        `given` is none of these.
    """
    value = TRUTH.get(str(given).lower())
    if value is None:
        raise InputError(f"{item} {given}: give yes or no")
    return value


def _choice(choices: Sequence[str], given: object, item: str) -> str:
    if given not in choices:
        raise InputError(f"{item} {given}: give one of {', '.join(choices)}")
    return str(given)


def exact(read: Callable[[object, str], float | Estimate], given: object, item: str) -> float:
    """Value returned by `read`, without an interval.

    Raises
    ------
    InputError
        `given` cannot be read, or has an interval.
    """
    value = read(given, item)
    if isinstance(value, Estimate):
        raise InputError(f"{item} {given}: give it without an interval")
    return value


def _several(read: Callable[[object, str], Any], given: object, item: str) -> Any:
    """One value, or several separated by commas."""
    texts = given if isinstance(given, list) else str(given).split(",")
    values = tuple(read(text, item) for text in texts)
    return values[0] if len(values) == 1 else values


def _plain(text: str, item: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < float("inf"):
        raise InputError(f"{item} {text}: give a number of at least 0")
    if value > LARGEST:
        raise InputError(f"{item} {text}: is too large to compute with; give at most {LARGEST:g}")
    return value


def _with_interval(given: object, item: str, read: Callable[[str], float], unit: str) -> float | Estimate:
    """Value, with its interval if one is given after ± or +-."""
    value, *half = BETWEEN.split(str(given).strip())
    if not half:
        return read(value)
    if len(half) > 1:
        raise InputError(f"{item} {given}: give one interval, such as 40ms+-2ms")
    # In 39.8+-2.5ms the unit is that of both.
    symbol = UNIT.search(half[0])
    if symbol and not UNIT.search(value):
        value += symbol[0]
    central, reach = read(value), read(half[0])
    return Estimate(
        value=central,
        unit=unit,
        n=1,
        method="given with its interval",
        low=central - reach,
        high=central + reach,
    )
