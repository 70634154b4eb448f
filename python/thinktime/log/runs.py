"""Runs: many logs with the factor levels under which each was made.

A folder: ``runs.json`` says what was varied; each cell of the design is a log (`thinktime.log`), and each
replication of a cell a session of that log. Beside the log it is the only thing that analyses read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thinktime.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from thinktime.log import Log
    from thinktime.log.design import Design
    from thinktime.stats.estimate import Estimate, NotApplicable

__all__ = ["Cell", "Level", "Replication", "Runs", "over_replications"]

SCHEMA_VERSION = 1
FILE_NAME = "runs.json"
DESIGN_NAME = "design.toml"
"""Copy of the design in the folder of its runs."""
FORMAT = "thinktime runs"

Level = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Replication:
    """One replication as the simulation left it in the log."""

    number: int
    warm_up_s: float
    responses: dict[str, float | None]
    """None where the replication has no such figure."""
    units: dict[str, str]
    descriptions: dict[str, str]


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of factor levels, and its log."""

    levels: dict[str, Level]
    path: Path

    @property
    def exists(self) -> bool:
        """Whether its log has been begun."""
        return (self.path / "manifest.json").exists()

    def log(self) -> Log:
        """Open its log."""
        from thinktime.log import Log

        return Log.open(self.path)

    def replications(self) -> list[Replication]:
        """Those that ended, by number; one that was cut off has no figures and is left out."""
        if not self.exists:
            return []
        found = (session.get("replication") for session in self.log().manifest["sessions"])
        by_number = {facts["number"]: _replication(facts) for facts in found if facts is not None}
        return [by_number[number] for number in sorted(by_number)]


def _replication(facts: Mapping[str, Any]) -> Replication:
    figures: Sequence[Mapping[str, Any]] = facts["responses"]
    return Replication(
        int(facts["number"]),
        float(facts["warm_up_s"]),
        {figure["name"]: figure["value"] for figure in figures},
        {figure["name"]: figure["unit"] for figure in figures},
        {figure["name"]: figure["description"] for figure in figures},
    )


@dataclass(frozen=True, slots=True)
class Runs:
    """Logs with their factor levels.

    Attributes
    ----------
    path : Path
        The folder.
    system : str
        What was simulated.
    seed : int
        Of all random numbers.
    factors : dict
        Name of each factor and its levels, in the order of the design.
    parameters : dict
        What was given for all cells alike.
    common_random_numbers : bool
        Whether replication r meets the same users in every cell, so that replications are blocks.
    cells : tuple of Cell
        All combinations of levels; the last factor changes fastest.
    """

    path: Path
    system: str
    seed: int
    factors: dict[str, list[Level]]
    parameters: dict[str, Any]
    common_random_numbers: bool
    cells: tuple[Cell, ...]

    @classmethod
    def open(cls, path: str | Path) -> Runs:
        """Open a folder of runs; a log of one simulation is taken as runs with a single cell.

        Raises
        ------
        InputError
            It is neither, or its description cannot be read.
        """
        folder = Path(path)
        if not (folder / FILE_NAME).exists():
            return cls._of_log(folder)
        try:
            found = json.loads((folder / FILE_NAME).read_text())
        except (OSError, ValueError) as error:
            raise InputError(f"{folder / FILE_NAME}: cannot be read: {error}") from error
        if found.get("format") != FORMAT or found.get("schema_version", 0) > SCHEMA_VERSION:
            raise InputError(
                f"{folder / FILE_NAME}: format {found.get('format')!r}, "
                f"version {found.get('schema_version')!r}: "
                f"this thinktime reads {FORMAT!r} up to version {SCHEMA_VERSION}"
            )
        cells = tuple(Cell(cell["levels"], folder / cell["log"]) for cell in found["cells"])
        return cls(
            folder,
            found["system"],
            found["seed"],
            found["factors"],
            found["parameters"],
            found["common_random_numbers"],
            cells,
        )

    @classmethod
    def _of_log(cls, folder: Path) -> Runs:
        from thinktime.log import Log

        sessions = Log.open(folder).manifest["sessions"]
        simulated = next((session for session in sessions if "replication" in session), None)
        if simulated is None:
            raise InputError(
                f"{folder}: holds neither {FILE_NAME} nor a simulation's log; make runs with "
                "`thinktime experiment` or `thinktime simulate ... -o`"
            )
        machine, options = simulated["machine"], simulated["options"]
        cell = Cell({}, folder)
        return cls(folder, machine["system"], options["seed"], {}, machine["parameters"], True, (cell,))

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        system: str,
        seed: int,
        factors: Mapping[str, Sequence[Level]],
        levels: Sequence[Mapping[str, Level]],
        parameters: Mapping[str, Any],
        common_random_numbers: bool = True,
    ) -> Runs:
        """Make the folder and its description; `levels` holds one combination a cell.

        Raises
        ------
        InputError
            The folder holds runs already.
        """
        folder = Path(path)
        if (folder / FILE_NAME).exists():
            raise InputError(f"{folder}: holds runs already; choose another name, or continue them")
        folder.mkdir(parents=True, exist_ok=True)
        names = [f"cells/{number:03}" for number in range(len(levels))]
        described = {
            "format": FORMAT,
            "schema_version": SCHEMA_VERSION,
            "system": system,
            "seed": seed,
            "factors": {name: list(values) for name, values in factors.items()},
            "parameters": dict(parameters),
            "common_random_numbers": common_random_numbers,
            "cells": [{"levels": dict(cell), "log": name} for cell, name in zip(levels, names, strict=True)],
        }
        # By rename, so that a reader or a kill never meets half a description.
        draft = folder / f"{FILE_NAME}.new"
        draft.write_text(json.dumps(described, indent=2) + "\n")
        draft.rename(folder / FILE_NAME)
        return cls.open(folder)

    def __iter__(self) -> Iterator[Cell]:
        return iter(self.cells)

    @property
    def units(self) -> dict[str, str]:
        """Unit of each response."""
        return self._of_first_replication("units")

    @property
    def descriptions(self) -> dict[str, str]:
        """What each response is."""
        return self._of_first_replication("descriptions")

    def _of_first_replication(self, what: str) -> dict[str, str]:
        for cell in self.cells:
            for replication in cell.replications():
                found: dict[str, str] = getattr(replication, what)
                return found
        return {}

    def design(self) -> Design | None:
        """Design that the runs were made from; None where they were not made from a file."""
        from thinktime.log import design

        path = self.path / DESIGN_NAME
        return design.read(path) if path.exists() else None

    def responses(self) -> pl.DataFrame:
        """Return a row a cell and replication: factors, `replication`, all responses (null: no figure)."""
        import polars as pl

        rows = [
            {**cell.levels, "replication": replication.number, **replication.responses}
            for cell in self.cells
            for replication in cell.replications()
        ]
        floats = dict.fromkeys(self.units, pl.Float64)
        return pl.DataFrame(rows, schema_overrides=floats, infer_schema_length=None)


def over_replications(
    responses: pl.DataFrame, response: str, unit: str, level: float = 0.95
) -> Estimate | NotApplicable:
    """Mean of a response over independent replications, Student's t interval; nulls are left out."""
    from thinktime.stats.estimate import Estimate, NotApplicable
    from thinktime.stats.series.batch_means import plain_mean

    values = responses[response].drop_nulls().to_numpy()
    if len(values) == 0:
        return NotApplicable("no replication has this figure", "run for longer")
    if len(values) > 1 and (values == values[0]).all():
        # A zero spread is no knowledge: an interval of no width would claim certainty.
        return Estimate(
            value=float(values[0]),
            unit=unit,
            n=len(values),
            method="the same in all replications: no interval",
        )
    return plain_mean(values, level).with_unit(unit)
