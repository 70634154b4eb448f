"""The paper, and the loads of its simulated systems: one user who plays a script among normal users."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from thinktime.sources.simulated import resolve, systems
from thinktime.stats.estimate import Estimate
from thinktime.studies.cells import Cell
from thinktime.studies.common_sections import parameters
from thinktime.studies.estimates import Array
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.paper import Paper
from thinktime.studies.published import Printed
from thinktime.studies.study import Chapter

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.sources.simulated import Simulated


PAPER = Paper.read(Path(__file__).parent)

RESPONSES, SUMMARY, CPM01 = "table1_response_times", "table1_summary", "ctss_run_cpm01"

Column = str
"""Name of a column of Table 1."""
USERS: Mapping[Column, int] = {f"multics_{users}_users_s": users for users in (6, 10, 13, 17)}
"""Columns of Table 1 that were taken on Multics, and how many users were on."""
CTSS_USERS: Mapping[Column, int] = {"ctss_15_users_s": 15}
COLUMNS = (*USERS, *CTSS_USERS)
INTERACTIONS = 17
"""Waiting interactions of the first half of the script."""
COMPILED = (4, 11)
"""Those of them that compile: ``fortran`` on Multics, ``mad`` on CTSS."""

MULTICS, CTSS = "multics", "ctss"
SCRIPT, TWIN = "mftn3", "6mad1"
SCRIPTED = 1
"""Users who play the script; all others are normal users."""
HOUSEKEEPING = 3
NORMAL_THINK: dict[str, Any] = {"kind": "exponential", "mean": 7.5}
"""Of the users who do not play the script; fitted to what calibration.md names."""
CLOCK_S = 0.5
"""Table 1 is printed to half seconds."""
WARM_UP_S = 600.0
"""Time in which users log in and core fills before the script begins [s]."""
ROOM = 1.15
"""A run is longer than the script by so much, so that nearly all runs have every interaction."""
ENOUGH = 8
"""Runs where CPU time is asked, which varies little, and not response."""
PASSES = 2
"""Times through the script in each of these."""


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
        "length": WARM_UP_S + ROOM * PAPER.printed(CPM01, {"quantity": "total_real_time"}, "value").value,
    }


def pass_s(users: int) -> float:
    """Time to go once through the script: its think times, and responses about as Table 1 has them, s.

    It decides only how long a run is.
    """
    counts = [count for column, count in USERS.items() if _average(column) is not None]
    present = [value for column in USERS if (value := _average(column)) is not None]
    response = float(np.interp(users, counts, present))
    return ROOM * (
        fact("interactions-script-mftn3").value * fact("think-time").value
        + fact("waiting-interactions").value * response
    )


def _average(column: str) -> float | None:
    cell = PAPER.tables[SUMMARY].cell({"statistic": "average_all"}, column)
    return None if cell is None else cell.value


def fact(name: str) -> Printed:
    """One number stated in the text."""
    return PAPER.facts[name].value


def named(interaction: int, system: str = "multics") -> str:
    """Interaction with its command: a label stands before the first interaction of a command."""
    command = ""
    for row in PAPER.tables[RESPONSES].rows:
        command = PAPER.tables[RESPONSES].remark(row, f"{system}_command") or command
        if row["interaction"] == interaction:
            return f"{interaction} {command}"
    raise KeyError(f"Table 1 has no interaction {interaction}")


def on_multics(
    laboratory: Laboratory, users: int, *, replications: int | None = None, **changes: Any
) -> Simulated:
    """Multics with one user who plays the script; each replication goes through it once.

    Parameters
    ----------
    laboratory : Laboratory
    users : int
        With the scripted one.
    replications : int, optional
        By default as many as the user of the study wants.
    changes
        Of other parameters.
    """
    return laboratory.simulate(MULTICS, {**multics_parameters(users), **changes}, replications)


def on_ctss(laboratory: Laboratory, users: int, **changes: Any) -> Simulated:
    """CTSS with one user who plays the twin script; each replication goes through it once."""
    return laboratory.simulate(CTSS, {**ctss_parameters(users), **changes})


def log_of(laboratory: Laboratory, users: int, **changes: Any) -> Log:
    """Log of `ENOUGH` runs of Multics, each several times through the script, a session per run."""
    longer = {"length": WARM_UP_S + laboratory.scaled(PASSES, 1) * pass_s(users)}
    parameters = {**multics_parameters(users), **longer, **changes}
    runs = [(parameters, number) for number in range(laboratory.count(ENOUGH))]
    return laboratory.pooled(MULTICS, runs)


def column(run: Simulated, response: str) -> Array:
    """One response of every replication of a run; NaN where it has no figure."""
    values: Array = run.responses[response].fill_null(float("nan")).to_numpy()
    return values


USERS_SHOWN = 17
"""Users of the tables of parameters: the most of Table 1."""


def configuration(_: object) -> Chapter:
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
