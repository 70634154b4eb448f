"""The design of an experiment: a TOML file, read strictly, since an overlooked typo costs hours."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thinktime import toml
from thinktime.errors import InputError, offered
from thinktime.log.runs import Level
from thinktime.stats.designs.factorial import full_factorial
from thinktime.stats.designs.transformations import Transformation

KEYS: dict[str, str] = {
    "system": 'the name of a simulated system, such as "apl360" (see `thinktime systems`)',
    "seed": "a whole number, 0 or more",
    "replications": "a whole number, 2 or more (8 by default)",
    "blocks": "true (by default: replication r has the same workload in every cell) or false",
    "trace": "true or false (by default): log every interaction and event",
    "responses": 'a list of names, such as ["mean_response_s"]; all responses by default',
    "transformation": 'such as "log10" or "log10(y + 0.5)"; or a table of one for each response',
    "parameters": "a table of parameters that are the same in all cells",
    "factors": 'a table of lists, such as scheduler = ["fb2", "fb_infinity"]',
}
"""Keys of a design, and the allowed value of each."""
NEEDED = ("system", "seed", "factors")
REPLICATIONS = 8
CELLS_MAX = 999


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A factorial experiment.

    Attributes
    ----------
    name : str
        Origin of the design, for messages: the file.
    system : str
    seed : int
    replications : int
        Number of replications of each cell.
    factors : dict
        Levels of each factor, in the order in which they are shown.
    parameters : dict
        Parameters common to all cells.
    blocks : bool
        True if replication r has the same random numbers in every cell.
    trace : bool
        True if interactions and events are logged.
    responses : tuple of str
        Responses to analyse; empty for all.
    transformations : dict
        Transformations by response; under ``*`` that of all others.
    """

    name: str
    system: str
    seed: int
    replications: int
    factors: dict[str, list[Level]]
    parameters: dict[str, Any] = field(default_factory=dict)
    blocks: bool = True
    trace: bool = False
    responses: tuple[str, ...] = ()
    transformations: dict[str, Transformation] = field(default_factory=dict)

    @property
    def cells(self) -> tuple[dict[str, Level], ...]:
        """All combinations of levels."""
        return full_factorial(self.factors)

    def parameters_of(self, levels: Mapping[str, Level]) -> dict[str, Any]:
        """Parameters of a cell: the common ones, with the levels of the cell inserted.

        A factor's name is that of a parameter, or a path into one: ``stations.cpu.discipline`` is the
        discipline of the station whose name is ``cpu``.

        Raises
        ------
        InputError
            A path leads nowhere.
        """
        parameters = copy.deepcopy(self.parameters)
        for name, level in levels.items():
            *way, last = name.split(".")
            place: Any = parameters
            for step in way:
                place = self._inside(name, place, step)
            if not isinstance(place, dict):
                raise self._astray(name, last, place)
            place[last] = level
        return parameters

    def _inside(self, name: str, place: Any, step: str) -> Any:
        """Entry that `step` names in a table, or in a list of named tables."""
        if isinstance(place, dict) and step in place:
            return place[step]
        if isinstance(place, list):
            for entry in place:
                if isinstance(entry, dict) and entry.get("name") == step:
                    return entry
        raise self._astray(name, step, place)

    def _astray(self, name: str, step: str, place: Any) -> InputError:
        if isinstance(place, list):
            known = [str(entry["name"]) for entry in place if isinstance(entry, dict) and "name" in entry]
        else:
            known = list(place) if isinstance(place, dict) else []
        there = offered(step, known) if known else "write it as a table under [parameters]"
        return InputError(f"{self.name}: factors.{name}: there is no {step!r} to be varied; {there}")

    def transformation(self, response: str) -> Transformation | None:
        """Transformation of `response` for the analysis; None without one."""
        return self.transformations.get(response, self.transformations.get("*"))


def read(path: str | Path) -> Design:
    """Design in a file; `experiments.check` checks its parameters against the system.

    Raises
    ------
    InputError
        The file cannot be read, a key is unknown or missing, or a value is not allowed. The message names
        file, key, the given value, and the allowed ones.
    """
    return _Reader(str(path), toml.read(Path(path))).design()


class _Reader:
    """Checks a table key by key."""

    def __init__(self, name: str, table: Mapping[str, Any]) -> None:
        self.name = name
        self.table = table

    def design(self) -> Design:
        """Design of the whole table."""
        for key in self.table:
            if key not in KEYS:
                raise InputError(f"{self.name}: there is no key {key!r}; {offered(key, KEYS)}")
        for key in NEEDED:
            if key not in self.table:
                raise InputError(f"{self.name}: {key!r} is missing; give {KEYS[key]}")
        factors = self._factors()
        parameters = self._of("parameters", dict, {})
        for name in factors:
            if name in parameters:
                raise InputError(
                    f"{self.name}: {name!r} is both a factor and a fixed parameter; remove it from one of "
                    f"them"
                )
        return Design(
            name=self.name,
            system=self._of("system", str, ""),
            seed=self._whole("seed", 0, 0),
            replications=self._whole("replications", 2, REPLICATIONS),
            factors=factors,
            parameters=parameters,
            blocks=self._of("blocks", bool, True),
            trace=self._of("trace", bool, False),
            responses=self._responses(),
            transformations=self._transformations(),
        )

    def _of(self, key: str, kind: type, default: Any) -> Any:
        value = self.table.get(key, default)
        if not isinstance(value, kind):
            raise self._refused(key, value)
        return value

    def _whole(self, key: str, least: int, default: int) -> int:
        value = self.table.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise self._refused(key, value)
        return value

    def _refused(self, key: str, value: object) -> InputError:
        return InputError(f"{self.name}: {key} is {_shown(value)}; give {KEYS[key]}")

    def _factors(self) -> dict[str, list[Level]]:
        table = dict(_flat(self._of("factors", dict, {})))
        if not table:
            raise self._refused("factors", table)
        factors = {name: self._levels(name, levels) for name, levels in table.items()}
        # Counted and not made: forty factors of four levels fit in a kilobyte, and their cells in no memory.
        cells = math.prod(len(levels) for levels in factors.values())
        if cells > CELLS_MAX:
            raise InputError(
                f"{self.name}: factors make {cells} cells; at most {CELLS_MAX} are run in one experiment"
            )
        return factors

    def _levels(self, name: str, levels: object) -> list[Level]:
        place = f"{self.name}: factors.{name}"
        if not isinstance(levels, list) or len(levels) < 2:
            raise InputError(
                f"{place} is {_shown(levels)}; give a list of two levels or more, and put fixed parameters "
                f"under [parameters]"
            )
        for level in levels:
            if not isinstance(level, (str, int, float)):
                raise InputError(
                    f"{place} has the level {_shown(level)}; give numbers, words, true or false, and "
                    'distributions in short form, such as "exponential(mean=20)"'
                )
        if len({str(level) for level in levels}) < len(levels):
            raise InputError(f"{place} is {_shown(levels)}; give each level once")
        return list(levels)

    def _responses(self) -> tuple[str, ...]:
        names = self._of("responses", list, [])
        if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise self._refused("responses", names)
        return tuple(names)

    def _transformations(self) -> dict[str, Transformation]:
        value = self.table.get("transformation", {})
        table = {"*": value} if isinstance(value, str) else value
        if not isinstance(table, dict) or not all(isinstance(text, str) for text in table.values()):
            raise self._refused("transformation", value)
        try:
            return {name: Transformation.parse(text) for name, text in table.items()}
        except ValueError as error:
            raise InputError(f"{self.name}: transformation: {error}") from None


def _flat(table: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Entries of nested tables under their paths: TOML reads ``a.b = [1, 2]`` as a table in a table."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def _shown(value: object) -> str:
    """Value as the file may contain it."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except TypeError:
        return str(value)
