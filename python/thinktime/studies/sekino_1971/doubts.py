"""Where the printed numbers can be read in two ways, or say less than they seem to."""

from __future__ import annotations

from collections.abc import Callable

from thinktime.studies.common_sections import doubtful
from thinktime.studies.sekino_1971.recomputed import HALF_DIGIT, share
from thinktime.studies.sekino_1971.tables import (
    BETWEEN,
    CAPACITY,
    CONFIGURATIONS,
    FULL,
    OVERHEAD,
    PAPER,
    SMALL,
    STATES,
    SYSTEMS,
    cell,
)
from thinktime.studies.study import Chapter

__all__ = ["chapter"]

GATE = "gate_fault"
FIRST_LINE_MS = (108.0, 99.4, 147.0)
SECOND_LINE_MS = (100.0, 27.4, 147.0)
"""Table 2 ends with two lines of gate faults; a column a configuration."""


def chapter(_: object) -> Chapter:
    """Every doubt, with its figures: what is printed, and what the other printed numbers say of it."""
    checks: tuple[tuple[str, str, Callable[[], str]], ...] = (
        ("two lines of gate faults in Table 2", "108. 99.4 147. and 100. 27 . 4 147.", _gate_lines),
        ("gate faults of 1 CPU, 384K", "99.4 in the first line; the column is not given", _gate_faults),
        ("overhead of a gate fault", "3.67 ms in all columns, an estimate", _gate_overhead),
        ("sum of the first column of Table 1", "lines that add to less than 100 %", _sum),
        ("runs", "MPM115 through MPM121, one of them in no column", _runs),
        ("Drum IT and IT", "interrupts, the second without a word of which", _interrupts),
    )
    return doubtful(checks)


def _gate_lines() -> str:
    overhead = cell(OVERHEAD, SMALL, GATE)
    said = []
    for name, line in (("first", FIRST_LINE_MS), ("second", SECOND_LINE_MS)):
        shares = ", ".join(f"{share(overhead, between):.1f}" for between in line)
        said.append(f"the {name} gives {shares} %")
    shown = " and ".join(f"{cell(CAPACITY, system, GATE):.1f}" for system in (SMALL, FULL))
    return f"with {overhead:g} ms {'; '.join(said)}; Table 1 has {shown} % in the outer columns"


def _gate_faults() -> str:
    implied = cell(CAPACITY, SMALL, "useful_work") * FIRST_LINE_MS[0] / FIRST_LINE_MS[1]
    return (
        f"if gate faults come with useful work as often as with {SMALL.words}, {FIRST_LINE_MS[1]:g} ms "
        f"between them mean {implied:.1f} % of useful work; nothing here is fitted to it"
    )


def _gate_overhead() -> str:
    said = [
        f"{cell(CAPACITY, system, GATE) * cell(BETWEEN, system, GATE) / 100.0:.2f} ms with {system.words}"
        for system in (SMALL, FULL)
    ]
    return f"share times time between events is {' and '.join(said)}: the shares were made with it"


def _sum() -> str:
    sums = [
        f"{sum(cell(CAPACITY, system, state) for state in STATES):.1f} % with {system.words}"
        for system in (SMALL, FULL)
    ]
    reach = len(STATES) * HALF_DIGIT
    return f"{', '.join(sums)}; the rounding of {len(STATES)} lines allows {reach:.1f} points"


def _runs() -> str:
    table = PAPER.tables[CONFIGURATIONS]
    named = sorted(int(run) for row in table.rows for run in table.remark(row, "mpm_runs").split(";"))
    stated = int(PAPER.facts["N-F01"].value.value)
    missing = sorted(set(range(named[0], named[0] + stated)) - set(named))
    listed = ", ".join(f"MPM{run}" for run in missing)
    return f"{len(named)} runs stand in the {len(SYSTEMS)} columns, {stated} were made; {listed} is missing"


def _interrupts() -> str:
    said = []
    for system in (SMALL, FULL):
        faults, drum, others = (
            cell(BETWEEN, system, event) for event in ("page_fault", "drum_interrupt", "interrupt")
        )
        said.append(f"{faults / drum:.2f} and {faults / others:.2f} with {system.words}")
    return f"per page fault there are {'; '.join(said)}: the first go with paging, the second are all others"
