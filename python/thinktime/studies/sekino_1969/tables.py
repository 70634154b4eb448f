"""The published tables: what their columns are, and which numbers are doubtful."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from thinktime.studies.cells import Kind, Row
from thinktime.studies.old_paper import Paper
from thinktime.studies.published import Printed, Shape

__all__ = [
    "COLUMNS",
    "COMPILED",
    "CPM01",
    "CTSS_USERS",
    "FITTED_COLUMNS",
    "FOLDER",
    "INTERACTIONS",
    "NAME",
    "PAPER",
    "RESPONSES",
    "SHAPES",
    "SUMMARY",
    "USERS",
    "Column",
    "fact",
    "kind_of",
    "named",
    "printed",
]

NAME = "sekino-1969"
FOLDER = Path(__file__).parent / "published"

RESPONSES, SUMMARY, CPM01 = "table1_response_times", "table1_summary", "ctss_run_cpm01"

Column = str
"""Name of a column of Table 1."""
USERS: Mapping[Column, int] = {f"multics_{users}_users_s": users for users in (6, 10, 13, 17)}
"""Columns of Table 1 that were taken on Multics, and how many users were on."""
CTSS_USERS: Mapping[Column, int] = {"ctss_15_users_s": 15}
COLUMNS = (*USERS, *CTSS_USERS)
FITTED_COLUMNS = ("multics_6_users_s", "ctss_15_users_s")
"""Columns of Table 1 whose averages the simulated Multics and CTSS were calibrated to."""
INTERACTIONS = 17
"""Waiting interactions of the first half of the script."""
COMPILED = (4, 11)
"""Those of them that compile: ``fortran`` on Multics, ``mad`` on CTSS."""

_SECONDS = dict.fromkeys(COLUMNS, "s")

SHAPES = (
    Shape(
        name=RESPONSES,
        place="Table 1",
        title="response times of the waiting interactions of the first half of the script",
        keys=("interaction",),
        quantities=_SECONDS,
        remarks=("multics_command", "ctss_command"),
        words="interaction {interaction}",
    ),
    Shape(name=SUMMARY, place="Table 1", title="sums and averages", keys=("statistic",), quantities=_SECONDS),
    Shape(
        name=CPM01,
        place="Run CPM01",
        title="the twin script 6MAD1 on CTSS",
        keys=("quantity",),
        quantities={"value": ""},
        remarks=("unit",),
        texts=("run_number", "date", "time", "disk_file_system_reloaded_recently"),
    ),
)

_TRUNCATED = "truncated, not rounded, and the average of CPU time is the sum of the two others"
_FAULTS = 'printed "an average of 8.0 millisecond page faults"; read as 8.0 ms each'
_NO_REST = "2454 s of real time less 66 think times of 30 s leave more"

PAPER = Paper(
    NAME,
    FOLDER,
    SHAPES,
    {
        **{(CPM01, (f"average_{each}_time",), "value"): _TRUNCATED for each in ("run", "swap", "cpu")},
        (CPM01, ("average_system_response_time",), "value"): _NO_REST,
        ("facts", ("M-F21",), "value"): _NO_REST,
        ("facts", ("M-F14",), "value"): _FAULTS,
    },
)


def kind_of(column: Column) -> Kind:
    """Fitted for a column of Table 1 that a machine was calibrated to, else predicted."""
    return "fitted" if column in FITTED_COLUMNS else "predicted"


def fact(name: str) -> Printed:
    """One number stated in the text."""
    return PAPER.facts[name].value


def printed(table: str, row: Row, quantity: str) -> Printed:
    """Find a printed number that must be there.

    Raises
    ------
    KeyError
        The cell is empty.
    """
    cell = PAPER.tables[table].cell(row, quantity)
    if cell is None:
        raise KeyError(f"{table} has no {quantity} in {dict(row)}")
    return cell


def named(interaction: int, system: str = "multics") -> str:
    """Interaction with its command: a label stands before the first interaction of a command."""
    command = ""
    for row in PAPER.tables[RESPONSES].rows:
        command = PAPER.tables[RESPONSES].remark(row, f"{system}_command") or command
        if row["interaction"] == interaction:
            return f"{interaction} {command}"
    raise KeyError(f"Table 1 has no interaction {interaction}")
