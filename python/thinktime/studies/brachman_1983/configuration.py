"""The simulated machine: every parameter with its value, its unit and its source."""

from __future__ import annotations

from collections.abc import Iterator

from thinktime.sources.simulated import systems
from thinktime.stats.estimate import Estimate
from thinktime.studies.brachman_1983.machine import SYSTEM, Machine
from thinktime.studies.brachman_1983.tables import PAPER
from thinktime.studies.cells import Cell, Tolerance
from thinktime.studies.common_sections import parameters
from thinktime.studies.study import Chapter

__all__ = ["TABLES", "chapter"]

TABLES = ("facts",)
STATED = {
    "U-F03": "drives",
    "U-F07": "minimum_time_in",
    "U-F08": "buffers",
    "U-F11": "update_interval",
    "U-F14": "interactions",
    "U-F16": "string_length",
    "U-F17": "baud",
}
"""Numbers of the text that are parameters of the machine."""


def chapter(machine: Machine) -> Chapter:
    """Show what was simulated, and where each number comes from."""
    system = next(system for system in systems() if system.name == SYSTEM)
    calibrated = [item.name for item in system.parameters if "calibrated against" in item.source]
    chosen = [item.name for item in system.parameters if "rows that calibrate" in item.source]
    summary = (
        f"{system.summary.removesuffix('.')}. One set of parameters serves all runs; memory, number and size "
        "of processes and the compute loop are those of the row.",
        f"Of {len(system.parameters)} parameters, {len(calibrated)} were calibrated"
        + (f": {', '.join(calibrated)}." if calibrated else "."),
        f"{len(chosen)} more say what the rows that calibrate have to do with their choice"
        + (f": {', '.join(chosen)}." if chosen else "."),
    )
    return Chapter(
        cells=tuple(_stated(machine)), summary=summary, tables=(parameters(system, machine.defaults),)
    )


def _stated(machine: Machine) -> Iterator[Cell]:
    """Numbers of the text that the machine was given."""
    given = machine.defaults
    longest = max(float(value) for value in given["pause"]["values"])
    values = {**{fact: float(given[name]) for fact, name in STATED.items()}, "U-F19": longest}
    for fact, value in values.items():
        ours = Estimate(value=value, unit="", n=1, method="parameter of the simulated system")
        yield PAPER.fact(fact, ours, "fitted", Tolerance("digits"))
