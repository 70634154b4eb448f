"""Figures of a machine as people give them: on the command line and in TOML files."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thinktime import toml
from thinktime.errors import InputError
from thinktime.quantity import parse_seconds

if TYPE_CHECKING:
    from thinktime.stats.estimate import Estimate

__all__ = [
    "Figures",
    "Item",
    "merged",
    "number",
    "of_file",
    "of_options",
    "seconds",
    "share",
    "sizes",
    "truth",
    "whole",
]

BETWEEN = re.compile(r"\s*(?:±|\+-|\+/-)\s*")
UNIT = re.compile(r"[a-z%]+$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Item:
    """One figure that can be given.

    Parameters
    ----------
    name : str
        As a key of a TOML file; the option is the same with hyphens.
    read : callable
        Makes the value of a text, a number, a list or a truth value; told also what to call it in a message.
    inherited : bool
        Whether the second machine has the first one's unless it is given; what was measured is not.
    """

    name: str
    read: Callable[[Any, str], Any]
    inherited: bool = True


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of one machine by name, and where each comes from."""

    values: Mapping[str, Any]
    sources: Mapping[str, str]

    def over(self, other: Figures) -> Figures:
        """Put these over `other`, whose own are kept where these say nothing."""
        return Figures({**other.values, **self.values}, {**other.sources, **self.sources})

    def without(self, *names: str) -> Figures:
        """All but `names`."""
        return Figures(
            {name: value for name, value in self.values.items() if name not in names},
            {name: source for name, source in self.sources.items() if name not in names},
        )


def of_options(items: Mapping[str, Item], given: Mapping[str, str | None], suffix: str = "") -> Figures:
    """Figures of options; None is not given.

    Raises
    ------
    InputError
        A text is not what it should be.
    """
    values = {
        name: items[name].read(text, f"--{name.replace('_', '-')}{suffix}")
        for name, text in given.items()
        if text is not None
    }
    return Figures(values, dict.fromkeys(values, "given"))


def of_file(items: Mapping[str, Item], path: Path) -> Figures:
    """Figures of a TOML file.

    Raises
    ------
    InputError
        It cannot be read, has a key that is no figure of a machine, or a value that cannot be.
    """
    found = toml.read(path)
    for key in found:
        if key not in items:
            near = difflib.get_close_matches(key, items, 1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(items)}"
            raise InputError(f"{path}: {key}: is no figure of a machine; {hint}")
    values = {name: items[name].read(value, f"{path}: {name}") for name, value in found.items()}
    return Figures(values, dict.fromkeys(values, str(path)))


def merged(items: Mapping[str, Item], a: Figures, b: Figures) -> Figures:
    """Figures of the second machine: its own, and what it takes over from the first.

    A number of processes loaded is not taken over by a machine with another memory or another size of process
    that says what it is, because it follows from them.
    """
    kept = {name: value for name, value in a.values.items() if items[name].inherited}
    inherited = Figures(kept, dict.fromkeys(kept, "as A"))
    both = b.over(inherited)
    changed = {"memory", "size"} & set(b.values)
    if changed and "loaded" not in b.values and {"memory", "size"} <= set(both.values):
        return both.without("loaded")
    return both


def seconds(given: object, item: str) -> float | Estimate:
    """Read a time: ``50ms``, a number of seconds, or ``39.8ms+-2.5ms``."""
    return _known(given, item, lambda text: parse_seconds(text, item), "s")


def number(given: object, item: str) -> float | Estimate:
    """Read a number from 0 up, or one with its interval: ``4.8+-0.1``."""
    return _known(given, item, lambda text: _plain(text, item), "")


def share(given: object, item: str) -> float | Estimate:
    """Read a part of one: ``0.95`` or ``95%``."""

    def part(text: str) -> float:
        bare = text.removesuffix("%").strip()
        return _plain(bare, item) / (100.0 if bare != text else 1.0)

    return _known(given, item, part, "")


def whole(given: object, item: str) -> int:
    """Read a whole number from 1 up."""
    found = _plain(str(given), item)
    if found < 1 or found != int(found) or isinstance(given, bool):
        raise InputError(f"{item} {given}: give a whole number from 1 up")
    return int(found)


def sizes(given: object, item: str) -> float | tuple[float, ...]:
    """Read a size, or several with commas between that are dealt to the processes in turn."""
    listed = given if isinstance(given, list) else str(given).split(",")
    found = tuple(_plain(str(each), item) for each in listed)
    if not found or not all(size > 0.0 for size in found):
        raise InputError(f"{item} {given}: give a size above 0, or several such as 157,314")
    return found[0] if len(found) == 1 else found


def truth(given: object, item: str) -> bool:
    """Read true or false, of a TOML file."""
    if not isinstance(given, bool):
        raise InputError(f"{item}: give true or false")
    return given


def _plain(text: str, item: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0.0 <= found < float("inf"):
        raise InputError(f"{item} {text}: give a number from 0 up")
    return found


def _known(given: object, item: str, read: Callable[[str], float], unit: str) -> float | Estimate:
    """Value, with its interval where one is given after ± or +-."""
    value, *half = BETWEEN.split(str(given).strip())
    if not half:
        return read(value)
    if len(half) > 1:
        raise InputError(f"{item} {given}: give one interval, such as 40ms+-2ms")
    from thinktime.stats.estimate import Estimate

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
