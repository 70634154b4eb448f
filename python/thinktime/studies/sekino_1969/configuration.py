"""The simulated machines: what the study sets, and every parameter with its value, unit and source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from thinktime.sources.simulated import resolve, systems
from thinktime.stats.estimate import Estimate
from thinktime.studies.cells import Cell
from thinktime.studies.common_sections import parameters
from thinktime.studies.sekino_1969.loads import (
    CTSS,
    MULTICS,
    PAPER,
    SCRIPT,
    ctss_parameters,
    multics_parameters,
)
from thinktime.studies.study import Chapter

USERS_SHOWN = 17


def chapter(_: object) -> Chapter:
    """The simulated system: every parameter with its source."""
    present = {system.name: system for system in systems()}
    given = {MULTICS: multics_parameters(USERS_SHOWN), CTSS: ctss_parameters(USERS_SHOWN)}
    calibrated = [item for name in given for item in present[name].calibrated()]
    summary = (
        *(f"{present[name].summary.removesuffix('.')}." for name in given),
        f"One user of each system plays the script, the others are normal users. Of the parameters "
        f"{len(calibrated)} were calibrated; the tables say against what.",
    )
    tables = tuple(
        replace(
            parameters(present[name], resolve(name, changes)),
            name=f"parameters-{name}",
            caption=f"Parameters of the simulated {name}, with {USERS_SHOWN} users",
        )
        for name, changes in given.items()
    )
    return Chapter(cells=tuple(_stated()), summary=summary, tables=tables)


def _stated() -> Iterator[Cell]:
    """Numbers of the text that the script was made with."""
    from thinktime.sources import scripts

    script = scripts.read(SCRIPT)
    steps, waiting = script.interactions, script.waiting
    half = [step for step in steps[: len(steps) // 2] if step.wait_for is not None]
    thinks = {step.think if isinstance(step.think, (int, float)) else None for step in steps}
    result = {
        "interactions-script-mftn3": len(steps),
        "waiting-interactions": len(waiting),
        "interactions-without-waiting": len(steps) - len(waiting),
        "waiting-interactions-first-half": len(half),
        "think-time": thinks.pop() if len(thinks) == 1 else None,
    }
    for name, value in result.items():
        if value is not None:
            ours = Estimate(value=float(value), n=1, method="of the script that was simulated")
            yield PAPER.fact(name, ours)
