"""Runs: many logs with the factor levels under which each was made.

Runs are a folder: ``runs.json`` lists the factors and their levels; each cell of the design is a log
(`thinktime.log`), and each replication of a cell is a session of that log. Analyses read logs and runs,
and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from thinktime.errors import InputError
from thinktime.log import facts

if TYPE_CHECKING:
    import polars as pl

    from thinktime.log import Log
    from thinktime.log.design import Design
    from thinktime.log.facts import Session
    from thinktime.stats.estimate import Estimate, NotApplicable, Plain

SCHEMA_VERSION = 1
FILE_NAME = "runs.json"
DESIGN_NAME = "design.toml"
"""Copy of the design in the folder of its runs."""
FORMAT = "thinktime runs"
REAL = "linux-swapping"
"""System of runs that are not simulated: processes that swap on a real machine."""

Level = str | int | float | bool
Distribution = Sequence[tuple[float, int]]
"""Histogram of one replication: upper end of each cell, and observations in it, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replication:
    """One replication, as the simulation wrote it into the log."""

    number: int
    """Number of the replication, from 0."""
    warm_up_s: float
    """Time discarded at the start [s]."""
    responses: dict[str, float | None]
    """Value of each response; None if the replication has none."""
    units: dict[str, str]
    """Unit of each response."""
    descriptions: dict[str, str]
    """Meaning of each response."""
    quantiles: dict[str, tuple[int, float]]
    """Of each response that is a quantile, the index of its distribution and the share below it."""
    distributions: tuple[Distribution, ...]
    """Distributions of which responses are quantiles; empty in logs that were written without them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One combination of factor levels, and its log."""

    levels: dict[str, Level]
    """Level of each factor."""
    path: Path
    """Folder of its log."""

    @property
    def exists(self) -> bool:
        """True if its log has been started."""
        return (self.path / "manifest.json").exists()

    def log(self) -> Log:
        """Log of the cell."""
        from thinktime.log import Log

        return Log.open(self.path)

    def replications(self) -> list[Replication]:
        """Complete replications, by number; an interrupted one has no responses and is omitted."""
        if not self.exists:
            return []
        replications = [
            _replication(session) for session in facts.sessions(self.log()) if session.is_replication
        ]
        by_number = {replication.number: replication for replication in replications}
        return [by_number[number] for number in sorted(by_number)]


def _replication(session: Session) -> Replication:
    responses = session.responses()
    return Replication(
        number=session.replication_number,
        warm_up_s=session.warm_up_s,
        responses={name: response.value for name, response in responses.items()},
        units={name: response.unit for name, response in responses.items()},
        descriptions={name: response.description for name, response in responses.items()},
        quantiles={name: of for name, response in responses.items() if (of := response.quantile) is not None},
        distributions=session.distributions(),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Logs with their factor levels."""

    path: Path
    """Folder of the runs."""
    system: str
    """Name of the simulated system."""
    seed: int
    """Seed of all random numbers."""
    factors: dict[str, list[Level]]
    """Levels of each factor, in the order of the design."""
    parameters: dict[str, Plain]
    """Parameters common to all cells."""
    common_random_numbers: bool
    """True if replication r has the same users in every cell, so that replications are blocks."""
    cells: tuple[Cell, ...]
    """All combinations of levels; the last factor changes fastest."""

    @classmethod
    def open(cls, path: str | Path) -> Runs:
        """Runs in a folder; the log of one simulation counts as runs with a single cell.

        Raises
        ------
        InputError
            `path` is neither, or its ``runs.json`` cannot be read.
        """
        folder = Path(path)
        if not (folder / FILE_NAME).exists():
            return cls._of_log(folder)
        try:
            found = json.loads((folder / FILE_NAME).read_text())
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"{folder / FILE_NAME}: cannot be read: {error}") from error
        if not isinstance(found, dict):
            raise InputError(f"{folder / FILE_NAME}: is no table; make the runs again")
        written = facts.Facts(file=str(folder / FILE_NAME), place="runs", values=found)
        if found.get("format") != FORMAT or (written.whole("schema_version") or 0) > SCHEMA_VERSION:
            raise InputError(
                f"{folder / FILE_NAME}: format {found.get('format')!r}, "
                f"version {found.get('schema_version')!r}: "
                f"this thinktime reads {FORMAT!r} up to version {SCHEMA_VERSION}"
            )
        return cls._of_file(folder, written)

    @classmethod
    def _of_file(cls, folder: Path, written: facts.Facts) -> Runs:
        """Runs that `create` described."""
        for key in ("system", "seed", "factors", "parameters", "common_random_numbers", "cells"):
            written.needed(key)
        cells = tuple(
            Cell(
                levels=dict(cell.table("levels").values),
                path=folder / (cell.needed("log").text("log") or ""),
            )
            for cell in written.tables("cells")
        )
        factors = written.table("factors").values
        seed = written.values["seed"]
        levels = [level for cell in cells for level in cell.levels.values()]
        if not all(isinstance(listed, list) for listed in factors.values()):
            raise InputError(f"{written.file}: factors must be lists of levels; make the runs again")
        if not all(isinstance(level, Level) for level in chain(levels, *factors.values())):
            raise InputError(f"{written.file}: a level is neither number nor text; make the runs again")
        if not isinstance(seed, int):
            raise InputError(f"{written.file}: seed is {seed!r}, but must be a whole number")
        return cls(
            path=folder,
            system=written.text("system") or "",
            seed=seed,
            factors=dict(factors),
            parameters=dict(written.table("parameters").values),
            common_random_numbers=written.flag("common_random_numbers") or False,
            cells=cells,
        )

    @classmethod
    def _of_log(cls, folder: Path) -> Runs:
        from thinktime.log import Log

        sessions = facts.sessions(Log.open(folder))
        simulated = next((session for session in sessions if session.is_replication), None)
        if simulated is None:
            raise InputError(
                f"{folder}: has neither {FILE_NAME} nor the log of a simulation; make runs with "
                "`thinktime experiment` or `thinktime simulate ... -o`"
            )
        machine, options = simulated.machine, simulated.facts.table("options")
        cell = Cell(levels={}, path=folder)
        return cls(
            path=folder,
            system=machine.text("system") or simulated.source,
            seed=options.needed("seed").whole("seed") or 0,
            factors={},
            parameters=dict(machine.table("parameters").values),
            common_random_numbers=True,
            cells=(cell,),
        )

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        system: str,
        seed: int,
        factors: Mapping[str, Sequence[Level]],
        levels: Sequence[Mapping[str, Level]],
        parameters: Mapping[str, object],
        common_random_numbers: bool = True,
    ) -> Runs:
        """New runs in a folder; `levels` holds one combination per cell.

        Raises
        ------
        InputError
            The folder already holds runs.
        """
        folder = Path(path)
        if (folder / FILE_NAME).exists():
            raise InputError(
                f"{folder}: already holds runs; name another folder, or use --resume to add to them"
            )
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

    @property
    def is_simulated(self) -> bool:
        """False for runs on a real machine."""
        return self.system != REAL

    def __iter__(self) -> Iterator[Cell]:
        return iter(self.cells)

    @property
    def units(self) -> dict[str, str]:
        """Unit of each response."""
        return self._of_first_replication("units")

    @property
    def descriptions(self) -> dict[str, str]:
        """Meaning of each response."""
        return self._of_first_replication("descriptions")

    def _of_first_replication(self, what: str) -> dict[str, str]:
        for cell in self.cells:
            for replication in cell.replications():
                found: dict[str, str] = getattr(replication, what)
                return found
        return {}

    def design(self) -> Design | None:
        """Design from which the runs were made; None if it was not a file."""
        from thinktime.log import design

        path = self.path / DESIGN_NAME
        return design.read(path) if path.exists() else None

    def responses(self) -> pl.DataFrame:
        """One row per cell and replication: factors, `replication`, all responses (null: no value)."""
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
        return NotApplicable("no replication has this value", "run for longer")
    if len(values) > 1 and (values == values[0]).all():
        # A zero spread is no knowledge: an interval of no width would claim certainty.
        return Estimate(
            value=float(values[0]),
            unit=unit,
            n=len(values),
            method="the same in all replications: no interval",
        )
    return plain_mean(values, level).with_unit(unit)


def figures(runs: Runs, level: float = 0.95) -> dict[str, Estimate | NotApplicable]:
    """Every response of the first cell: quantiles of all its replications together, means of the others."""
    from thinktime.stats.series.shares import quantile_of_replications

    replications = runs.cells[0].replications()
    responses, found = runs.responses(), {}
    for name, unit in runs.units.items():
        found[name] = over_replications(responses, name, unit, level)
        of = replications[0].quantiles.get(name)
        if of is not None and all(of[0] < len(item.distributions) for item in replications):
            parts = [item.distributions[of[0]] for item in replications]
            if any(parts):
                found[name] = quantile_of_replications(parts, of[1], level).with_unit(unit)
    return found
