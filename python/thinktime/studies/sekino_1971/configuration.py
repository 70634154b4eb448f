"""The simulated machine: every parameter with its value, its unit and its source."""

from __future__ import annotations

from thinktime.sources.simulated import systems
from thinktime.studies.common_sections import parameters
from thinktime.studies.sekino_1971.machine import MACHINE, Machine
from thinktime.studies.study import Chapter

__all__ = ["chapter"]


def chapter(machine: Machine) -> Chapter:
    """Show what was simulated, and where each number comes from."""
    system = next(system for system in systems() if system.name == MACHINE)
    calibrated = [item.name for item in system.parameters if "calibrated" in item.source]
    summary = (
        f"{system.summary.removesuffix('.')}. One set of parameters serves all configurations; "
        "processors, core, users and eligible processes are those of Table 1.",
        f"Of {len(system.parameters)} parameters, {len(calibrated)} were calibrated; the table says against "
        "what.",
    )
    return Chapter(summary=summary, tables=(parameters(system, machine.defaults),))
