"""What a user of the library is offered has types: no result and no argument is just anything."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from types import SimpleNamespace
from typing import Any

import pytest

import thinktime
from thinktime.results import Result

ANY = re.compile(r"\bAny\b")
COMPLEX = "complexfloating[Any, Any]"
"""NumPy's name for complex numbers of any precision."""


def offered() -> dict[str, Any]:
    """Functions and classes at the top of the package, and every result with the records it consists of."""
    found = {name: getattr(thinktime, name) for name in thinktime.CONTENTS}
    for room in ("analyses", "models", "sources", "predictions"):
        package = importlib.import_module(f"thinktime.{room}")
        for item in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(item.name)
            classes = {
                name: value
                for name, value in vars(module).items()
                if inspect.isclass(value) and value.__module__ == module.__name__ and name[0] != "_"
            }
            if any(issubclass(value, Result) for value in classes.values()):
                found |= {
                    f"{item.name}.{name}": value for name, value in classes.items() if is_dataclass(value)
                }
    return found


STATS = "thinktime.stats"
MEANT = {
    f"{STATS}.distributions.fitting.Fit: spec": "a specification of a distribution, which is JSON",
    f"{STATS}.distributions.fitting.Fits: empirical": "the same",
    f"{STATS}.distributions.fitting.Fits: chosen(return)": "the same",
    f"{STATS}.distributions.fitting.empirical: return": "the same",
    "thinktime.analyses.timeline.section.TimeAxis: steps(return)": "rows of a chart, which are JSON",
    f"{STATS}.arguments.sequence: values": "an argument of unknown kind, which it checks",
    f"{STATS}.arguments.sequence: return": "the same",
    f"{STATS}.estimate.Caveat: values": "numbers and names, which the section that writes it down knows",
}
"""Where `Any` is what is meant, in the rooms whose functions a program calls, and why."""


def callable_things() -> dict[str, Any]:
    """Every public function and class of the rooms whose functions a program calls by themselves."""
    found = {}
    for room in ("analyses", "models", "stats"):
        package = importlib.import_module(f"thinktime.{room}")
        for item in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for name, value in vars(importlib.import_module(item.name)).items():
                public = (inspect.isfunction(value) or inspect.isclass(value)) and name[0] != "_"
                if public and value.__module__ == item.name:
                    found[f"{item.name}.{name}"] = value
    return found


def annotations(value: Any) -> Iterator[tuple[str, str]]:
    """Place and text of every public annotation of a function or class."""
    if inspect.isfunction(value):
        for name, text in value.__annotations__.items():
            yield name, str(text)
    elif inspect.isclass(value):
        if is_dataclass(value):
            yield from ((item.name, str(item.type)) for item in fields(value) if item.name[0] != "_")
        for name, member in vars(value).items():
            function = getattr(member, "fget", None) or getattr(member, "__func__", member)
            if inspect.isfunction(function) and (name[0] != "_" or name in ("__init__", "__getitem__")):
                yield from ((f"{name}({part})", text) for part, text in annotations(function))


def untyped(things: dict[str, Any]) -> list[str]:
    return [
        f"{name}: {place}: {text}"
        for name, value in things.items()
        for place, text in annotations(value)
        if ANY.search(text.replace(COMPLEX, ""))
    ]


def test_nothing_that_is_offered_is_just_anything():
    assert not untyped(offered())


def test_what_a_program_calls_is_anything_only_where_that_is_meant():
    holes = {hole.rpartition(": ")[0] for hole in untyped(callable_things())}
    # A field of a record is an argument of its constructor, too.
    fields_only = {hole for hole in holes if "__init__(" not in hole}
    assert fields_only == set(MEANT), "type what is new here; take away what is no longer there"


def test_a_hole_in_the_types_is_seen():
    def hole(log: Any) -> dict[str, Any]: ...

    class Holes:
        def method(self) -> Any: ...

        @property
        def value(self) -> list[Any]: ...

    assert len(untyped({"hole": hole, "Holes": Holes})) == 4


def test_the_walk_reaches_results_and_their_records():
    names = offered()
    for name in ("Simulated", "Played", "thinktime.analyses.overhead.result.Overhead"):
        assert issubclass(names[name], Result)
    assert "thinktime.analyses.overhead.result.Cost" in names


@pytest.mark.parametrize("name", sorted(thinktime.CONTENTS))
def test_everything_offered_says_what_it_is(name):
    value = getattr(thinktime, name)
    documented = value if inspect.isroutine(value) or inspect.isclass(value) else SimpleNamespace(__doc__="-")
    assert documented.__doc__
