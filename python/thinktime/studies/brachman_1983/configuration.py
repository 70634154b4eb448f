"""The simulated machine: every parameter with its value, its unit and its source."""

from __future__ import annotations

import json

from thinktime.reports.document import Cell, Column, Table
from thinktime.sources.simulated import System, systems
from thinktime.studies.brachman_1983.machine import SYSTEM, Machine
from thinktime.studies.study import Chapter

__all__ = ["chapter"]


def chapter(machine: Machine) -> Chapter:
    """Show what was simulated, and where each number comes from."""
    system = next(system for system in systems() if system.name == SYSTEM)
    calibrated = [item.name for item in system.parameters if item.source.startswith("calibrated")]
    summary = (
        f"{system.summary.removesuffix('.')}. One set of parameters serves all runs; memory, number and size "
        "of processes and the compute loop are those of the row.",
        f"Of {len(system.parameters)} parameters, {len(calibrated)} were calibrated"
        + (f": {', '.join(calibrated)}." if calibrated else "."),
    )
    return Chapter(summary=summary, tables=(_parameters(machine, system),))


def _parameters(machine: Machine, system: System) -> Table:
    defaults = machine.defaults
    columns = (
        Column("parameter"),
        Column("value"),
        Column("unit"),
        Column("what it is"),
        Column("source"),
    )
    rows: list[tuple[Cell, ...]] = [
        (
            item.name,
            json.dumps(defaults.get(item.name, item.default)),
            item.unit,
            item.description,
            item.source,
        )
        for item in system.parameters
    ]
    return Table("parameters", "Parameters of the simulated system", columns, tuple(rows), folded=True)
