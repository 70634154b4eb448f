"""The simulated machines: what the study sets, and every parameter with its value, unit and source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from thinktime.sources.simulated import resolve, systems
from thinktime.stats.estimate import Estimate
from thinktime.studies.cells import Cell, Tolerance
from thinktime.studies.common_sections import parameters
from thinktime.studies.sekino_1969.tables import CPM01, PAPER, SUMMARY, USERS, fact, printed
from thinktime.studies.study import Chapter

__all__ = [
    "CTSS",
    "MULTICS",
    "NORMAL_THINK",
    "SCRIPT",
    "TABLES",
    "WARM_UP_S",
    "chapter",
    "ctss_parameters",
    "multics_parameters",
    "pass_s",
]

TABLES = ("facts",)
MULTICS, CTSS = "multics", "ctss"
SCRIPT, TWIN = "mftn3", "6mad1"
SCRIPTED = 1
"""Users who play the script; all others are normal users."""
HOUSEKEEPING = 3
NORMAL_THINK = {"kind": "exponential", "mean": 7.5}
"""Of the users who do not play the script; fitted to what calibration.md names."""
CLOCK_S = 0.5
"""Table 1 is printed to half seconds."""
WARM_UP_S = 600.0
ROOM = 1.15
"""A run is longer than the script by so much, so that nearly all runs have every interaction."""
USERS_SHOWN = 17


def multics_parameters(users: int) -> dict[str, Any]:
    """Parameters of the 3.1.1 system with `users` users; all others are those of the version."""
    return {
        "version": "3.1.1",
        "cpus": 1,
        "core": 256,
        "script": SCRIPT,
        "users": users,
        "normal_users": users - SCRIPTED,
        "housekeeping": HOUSEKEEPING,
        "normal_think": NORMAL_THINK,
        "clock_resolution": CLOCK_S,
        "warm_up": WARM_UP_S,
        "length": WARM_UP_S + pass_s(users),
    }


def ctss_parameters(users: int) -> dict[str, Any]:
    """Parameters of CTSS with `users` users; all others are the defaults."""
    return {
        "script": TWIN,
        "users": users,
        "normal_users": users - SCRIPTED,
        "warm_up": WARM_UP_S,
        "length": WARM_UP_S + ROOM * printed(CPM01, {"quantity": "total_real_time"}, "value").value,
    }


def pass_s(users: int) -> float:
    """Time to go once through the script: its think times, and responses about as Table 1 has them, s.

    It decides only how long a run is.
    """
    counts = [count for column, count in USERS.items() if _average(column) is not None]
    known = [value for column in USERS if (value := _average(column)) is not None]
    response = float(np.interp(users, counts, known))
    return ROOM * (fact("M-F03").value * fact("M-F06").value + fact("M-F04").value * response)


def _average(column: str) -> float | None:
    cell = PAPER.tables[SUMMARY].cell({"statistic": "average_all"}, column)
    return None if cell is None else cell.value


def chapter(_: object) -> Chapter:
    """Show what was simulated, and where each number comes from."""
    known = {system.name: system for system in systems()}
    given = {MULTICS: multics_parameters(USERS_SHOWN), CTSS: ctss_parameters(USERS_SHOWN)}
    calibrated = [item for name in given for item in known[name].calibrated()]
    summary = (
        *(f"{known[name].summary.removesuffix('.')}." for name in given),
        f"One user of each system plays the script, the others are normal users. Of the parameters "
        f"{len(calibrated)} were calibrated; the tables say against what.",
    )
    tables = tuple(
        replace(
            parameters(known[name], resolve(name, changes)),
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
    found = {
        "M-F03": len(steps),
        "M-F04": len(waiting),
        "M-F05": len(steps) - len(waiting),
        "M-F07": len(half),
        "M-F06": thinks.pop() if len(thinks) == 1 else None,
    }
    for name, value in found.items():
        if value is not None:
            ours = Estimate(value=float(value), unit="", n=1, method="of the script that was simulated")
            yield PAPER.fact(name, ours, "fitted", Tolerance("digits"))
