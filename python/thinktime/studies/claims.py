"""Claims of a paper as `study.toml` states them: the condition under which each holds, and its statistic.

The code of a study measures; `study.toml` judges, and says with which words::

    [[claims]]
    id = "free-fret-share"
    source = "section on free-fret"
    text = "the new algorithm brings free-fret from a sixth of CP time down to a few per cent"
    holds_if = "share.new < part * share.old"
    amount.part = 0.25
    statistic = "share of CP time {share.old:.1f} % old and {share.new:.1f} % new"

is judged by ``PAPER.claim("free-fret-share", {"share": {"old": 17.1, "new": 3.9}})``.

**Conditions.** ``holds_if`` is an expression in the names of the measures and of the amounts (a single
``amount = 0.9`` is called ``amount``), with numbers, texts in quotes, lists, ``+ - * /``, comparisons (also
chained: ``vmio < vsio < page_io``), ``and``, ``or``, ``not`` and the functions of `FUNCTIONS`.

- An `Estimate` is compared by its value; ``low(gain) > 0`` and ``high(gain) < 0`` by the ends of its
  interval, which are infinite where it has none.
- Comparisons with a list or a mapping of measures must hold for all of them, and for one at least;
  ``any(gain > 0)`` asks for one, ``count(gain > 0) >= 3`` for some. ``share.new`` is an item of a mapping.
- A list of conditions holds if all of them do. ``alpha`` is the level of every test, 5 %.
- ``fact('page-price-ii')`` is a number that the text of the paper states; ``fact('page-price-ii', 'low')``
  is an end of a stated range.
- A measure that is None cannot be compared: the claim is undecided, unless another part of the condition
  decides it. ``undecided_if`` names further cases, and a claim of which nothing could be measured has None
  in place of its measures. Comparisons with NaN are false.

**Statistics.** ``statistic`` is a text with such expressions in braces, each with a format as Python has it:
``{part:.2f}``. An ``i`` after the format adds the interval: ``{gain:.2fi}`` is ``0.31 (0.12 to 0.50)``; an
estimate without a format is shown as in tables, ``0.31 ± 0.19``. A unit after a space follows every number:
``{shares:.1f %}`` is ``46.1 %, 57.0 %``, and with the names of a mapping ``vsio 46.1 %, page io 57.0 %``.
Where several mappings have the same names, ``each`` is the text of one item, and ``{each}`` in the statistic
all of them: ``each = "{name} {ours:.1f} for {theirs:.1f} ms"``. Where that does not do, the code gives the
words itself. ``why`` is a text of the same kind: the reason, where a claim does not hold.

A statement has the measures that its own conditions and statistic name, and those that it lists as
``measures``: other texts of the study may use these, see `answers`.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from thinktime.documents import format as shown
from thinktime.errors import InputError, offered
from thinktime.stats.estimate import Estimate
from thinktime.stats.hypothesis import ALPHA
from thinktime.studies.estimates import scaled

_FORM = re.compile(r"(?:\+?,?(?:\.\d)?[efg]?i?)?(?: .+)?")
"""Format of a number, of which `i` asks for the interval, and a unit."""
Scope = Mapping[str, Any]
"""Measures, amounts and functions by name: numbers, estimates, texts, and lists and mappings of these."""


def _items(value: Any) -> list[Any] | None:
    """Items of a list or a mapping; None for a single value."""
    if isinstance(value, Mapping):
        return list(value.values())
    return list(value) if isinstance(value, (list, tuple, np.ndarray)) else None


def _flat(value: Any) -> list[Any]:
    """Single values of a value, however nested."""
    items = _items(value)
    return [value] if items is None else [single for item in items for single in _flat(item)]


def _each(work: Callable[..., Any], *values: Any) -> Any:
    """`work` of single values; of collections item by item, with the names of the first mapping."""
    collections = [items for value in values if (items := _items(value)) is not None]
    if not collections:
        return work(*values)
    count = len(collections[0])
    columns = [[value] * count if (items := _items(value)) is None else items for value in values]
    results = [_each(work, *row) for row in zip(*columns, strict=True)]
    names = next((list(value) for value in values if isinstance(value, Mapping)), None)
    return results if names is None else dict(zip(names, results, strict=True))


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Estimate) else value


def _low(value: Any) -> Any:
    low = value.low if isinstance(value, Estimate) else value
    return -math.inf if low is None and value is not None else low


def _high(value: Any) -> Any:
    high = value.high if isinstance(value, Estimate) else value
    return math.inf if high is None and value is not None else high


def _computed(work: Callable[..., Any]) -> Callable[..., Any]:
    """`work` of plain numbers; None where one of them is None."""

    def of(*values: Any) -> Any:
        numbers = [_plain(value) for value in values]
        return None if any(number is None for number in numbers) else work(*numbers)

    return of


def _times(one: Any, other: Any) -> Any:
    """Product, which keeps the interval of an estimate."""
    if isinstance(other, Estimate):
        one, other = other, one
    if isinstance(one, Estimate) and isinstance(other, (int, float)):
        return scaled(one, other, one.unit)
    return _computed(operator.mul)(one, other)


def _over(one: Any, other: Any) -> Any:
    if isinstance(one, Estimate) and isinstance(other, (int, float)):
        return scaled(one, 1.0 / other, one.unit)
    return _computed(operator.truediv)(one, other)


def _every(value: Any) -> bool | None:
    """True if all of a collection are true, and there is one; None if some are undecided and none false."""
    items = _items(value)
    if items is None:
        return None if value is None else bool(value)
    verdicts = [_every(item) for item in items]
    if not verdicts or False in verdicts:
        return False
    return None if None in verdicts else True


def _some(value: Any) -> bool | None:
    verdicts = [_every(item) for item in _items(value) or []]
    return True if True in verdicts else None if None in verdicts else False


def _reduced(work: Callable[[Iterable[Any]], Any]) -> Callable[..., Any]:
    """`work` of all plain items of a collection, or of several values."""

    def of(*values: Any) -> Any:
        numbers = [_plain(item) for value in values for item in _flat(value)]
        return None if not numbers or any(number is None for number in numbers) else work(numbers)

    return of


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "low": lambda value: _each(_low, value),
    "high": lambda value: _each(_high, value),
    "abs": lambda value: _each(_computed(abs), value),
    "min": _reduced(min),
    "max": _reduced(max),
    "median": _reduced(lambda numbers: float(np.median(list(numbers)))),
    "any": _some,
    "all": _every,
    "count": lambda value: sum(_every(item) is True for item in _items(value) or []),
    "len": lambda value: len(_items(value) or []),
}
"""Functions of conditions: of single values, of every item, or of all items of a collection."""

GIVEN: Scope = {**FUNCTIONS, "alpha": ALPHA}
"""Names that every condition may use."""

_OPERATORS: dict[type[ast.operator], Callable[..., Any]] = {
    ast.Add: _computed(operator.add),
    ast.Sub: _computed(operator.sub),
    ast.Mult: _times,
    ast.Div: _over,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[..., Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


_ALLOWED: tuple[type[ast.AST], ...] = (
    ast.Constant,
    ast.Name,
    ast.Load,
    ast.List,
    ast.Attribute,
    ast.Call,
    ast.BoolOp,
    ast.And,
    ast.Or,
    ast.UnaryOp,
    ast.Not,
    ast.USub,
    ast.BinOp,
    ast.Compare,
    *_OPERATORS,
    *_COMPARISONS,
)


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression of `study.toml`.

    Raises
    ------
    InputError
        It cannot be read, or has more than conditions may have.
    """

    text: str
    tree: ast.expr = field(init=False, repr=False, compare=False)

    @property
    def names(self) -> frozenset[str]:
        """Names in it, but those of functions."""
        called = {id(node.func) for node in ast.walk(self.tree) if isinstance(node, ast.Call)}
        return frozenset(
            node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name) and id(node) not in called
        )

    @property
    def items(self) -> tuple[tuple[str, str], ...]:
        """Names with the item of each that is asked for: ``share.new.low`` is share and new."""
        return tuple(
            (node.value.id, node.attr)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        )

    def __post_init__(self) -> None:
        """Parse the text, so that a mistake is found when the file is read."""
        try:
            tree = ast.parse(self.text.strip(), mode="eval").body
        except SyntaxError as error:
            raise InputError(f"{self.text!r} is not an expression: {error.msg}") from error
        for node in ast.walk(tree):
            if not isinstance(node, _ALLOWED):
                raise InputError(f"{self.text!r}: {type(node).__name__} is not allowed")
            if isinstance(node, ast.Call):
                name = node.func.id if isinstance(node.func, ast.Name) else ""
                if name not in {*FUNCTIONS, "fact"}:
                    raise InputError(f"{self.text!r}: there is no function {ast.unparse(node.func)}")
        object.__setattr__(self, "tree", tree)

    def value(self, scope: Scope) -> Any:
        """Value of the expression.

        Raises
        ------
        InputError
            A name is unknown.
        """
        try:
            return _value(self.tree, scope)
        except KeyError as error:
            names = ", ".join(name for name, item in scope.items() if not callable(item))
            raise InputError(f"{self.text!r}: there is no {error}; there are {names}") from error


def _value(node: ast.expr, scope: Scope) -> Any:
    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            return scope[node.id]
        case ast.Attribute():
            return _value(node.value, scope)[node.attr]
        case ast.List():
            return [_value(item, scope) for item in node.elts]
        case ast.Call(func=ast.Name(id=name)):
            return scope[name](*(_value(argument, scope) for argument in node.args))
        case ast.BinOp():
            work = _OPERATORS[type(node.op)]
            return _each(work, _value(node.left, scope), _value(node.right, scope))
        case ast.UnaryOp(op=ast.USub()):
            return _each(_times, -1.0, _value(node.operand, scope))
        case ast.UnaryOp():
            verdict = _every(_value(node.operand, scope))
            return None if verdict is None else not verdict
        case ast.BoolOp(op=ast.And()):
            return _every([_value(item, scope) for item in node.values])
        case ast.BoolOp():
            return _some([_value(item, scope) for item in node.values])
        case ast.Compare():
            values = [_value(item, scope) for item in (node.left, *node.comparators)]
            links = [
                _compared(_COMPARISONS[type(how)], values[index], values[index + 1])
                for index, how in enumerate(node.ops)
            ]
            return links[0] if len(links) == 1 else _every(links)
    raise InputError(f"{ast.unparse(node)} is not allowed")


def _compared(work: Callable[[Any, Any], bool], one: Any, other: Any) -> Any:
    """Verdict on two values, or item by item; two lists of texts are compared as such."""
    if work in (operator.eq, operator.ne) and isinstance(one, (list, tuple)) and isinstance(other, list):
        return work(list(one), other)
    return _each(_computed(work), one, other)


class _Words(string.Formatter):
    """Texts with expressions in braces."""

    def get_field(self, field_name: str, _: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, str]:
        """Value of an expression."""
        return Expression(field_name).value(kwargs), field_name

    def format_field(self, value: Any, format_spec: str) -> str:
        """Value in words: a number with its unit and interval, a collection with its names."""
        if isinstance(value, Mapping):
            named = ((str(name).replace("_", " "), item) for name, item in value.items())
            return ", ".join(f"{name} {self.format_field(item, format_spec)}" for name, item in named)
        items = _items(value)
        if items is not None:
            return ", ".join(self.format_field(item, format_spec) for item in items)
        if value is None:
            return "nan"
        form, _, unit = format_spec.partition(" ")
        if isinstance(value, Estimate) and not form:
            return shown.estimate(value) + (f" {unit}" if unit else "")
        text = f"{_plain(value):{form.removesuffix('i')}}{f' {unit}' if unit else ''}"
        ends = (value.low, value.high) if isinstance(value, Estimate) and form.endswith("i") else ()
        if not ends or None in ends:
            return text
        low, high = (f"{end:{form.removesuffix('i')}}" for end in ends)
        return f"{text} ({low} to {high})"


def expressions(text: str) -> tuple[tuple[Expression, str], ...]:
    """Expressions in the braces of a text, each with its format.

    Raises
    ------
    InputError
        A brace is not closed, an expression cannot be read, or a format is none of a number.
    """
    try:
        parts = [(name, form or "") for _, name, form, _ in _Words().parse(text) if name is not None]
    except ValueError as error:
        raise InputError(f"{text!r}: {error}") from error
    for name, form in parts:
        if not _FORM.fullmatch(form):
            raise InputError(f"{name!r} has the format {form!r}; give one such as .2f, .2fi or .0f %")
    return tuple((Expression(name), form) for name, form in parts)


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A claim of a paper, and how it is judged."""

    id: str
    source: str
    """Where the paper states it."""
    text: str
    """The claim, in plain words."""
    holds_if: str | Sequence[str]
    """Condition, in measures and amounts; of several, all must be met."""
    undecided_if: str | Sequence[str] = ()
    """Condition under which the measures decide nothing; of several, all must be met; empty where none is."""
    amount: float | Mapping[str, float] = field(default_factory=dict)
    """Amounts by name, or one that is called ``amount``."""
    statistic: str = ""
    """Measures in words; empty where the code gives them."""
    each: str = ""
    """Words for every item of the mappings among the measures; `statistic` has them as ``{each}``."""
    why: str = ""
    """Why it does not hold, where it does not; a text with measures, as `statistic`."""
    measures: Sequence[str] = ()
    """Measures that other texts of the study use and the conditions and `statistic` do not name."""

    def __post_init__(self) -> None:
        """Read conditions and texts, so that mistakes are found with the file."""
        _ = self.conditions
        for expression, _ in expressions(self.why):
            if unknown := sorted(expression.names - self.names):
                raise InputError(
                    f"why: {expression.text!r}: there is no {unknown[0]}; {offered(unknown[0], self.names)}"
                )
        if taken := sorted(GIVEN.keys() & self.amounts.keys()):
            raise InputError(f"amount: {', '.join(taken)} has another meaning")

    @cached_property
    def conditions(self) -> tuple[Expression | None, Expression]:
        """Conditions under which nothing is decided, and under which the claim holds."""
        return _together(self.undecided_if) if self.undecided_if else None, _together(self.holds_if)

    @cached_property
    def names(self) -> frozenset[str]:
        """Measures that are known to exist, and amounts."""
        texts = [expression for text in (self.statistic, self.each) for expression, _ in expressions(text)]
        given = [item for item in self.conditions if item is not None]
        named = {name for expression in (*texts, *given) for name in expression.names}
        own = {"name", "each"} if self.each else set()
        return frozenset((named | set(self.measures) | self.amounts.keys()) - GIVEN.keys() - own)

    @property
    def amounts(self) -> Mapping[str, float]:
        """Amounts by name."""
        return self.amount if isinstance(self.amount, Mapping) else {"amount": self.amount}

    def verdict(self, scope: Scope) -> bool | None:
        """Verdict on measures: None where they do not decide."""
        undecided_if, holds_if = self.conditions
        full = {**GIVEN, **self.amounts, **scope}
        if undecided_if is not None and _every(undecided_if.value(full)):
            return None
        return _every(holds_if.value(full))

    def words(self, scope: Scope) -> str:
        """Measures in the words of `statistic`."""
        full = {**GIVEN, **self.amounts, **scope}
        return worded(self.statistic, {**full, "each": self._each(full)} if self.each else full)

    def reason(self, scope: Scope) -> str:
        """Reason why it does not hold, with its measures."""
        return worded(self.why, {**GIVEN, **self.amounts, **scope})

    def _each(self, scope: Scope) -> str:
        """Items of the mappings that `each` names, in words."""
        names = {
            node.id
            for _, text, _, _ in _Words().parse(self.each)
            if text
            for node in ast.walk(Expression(text).tree)
            if isinstance(node, ast.Name)
        }
        mappings = {name: item for name, item in scope.items() if name in names and isinstance(item, Mapping)}
        items = []
        for key in next(iter(mappings.values())):
            item = {name: mapping[key] for name, mapping in mappings.items()}
            items.append(worded(self.each, {**scope, "name": str(key).replace("_", " "), **item}))
        return ("; " if any("," in item for item in items) else ", ").join(items)


def _together(conditions: str | Sequence[str]) -> Expression:
    """Condition that is met if all of several are."""
    every = [conditions] if isinstance(conditions, str) else conditions
    return Expression(" and ".join(f"({text})" for text in every))


def worded(text: str, scope: Scope) -> str:
    """Text with the values of the expressions in its braces.

    Raises
    ------
    InputError
        A name is unknown.
    """
    return _Words().vformat(text, (), scope)
