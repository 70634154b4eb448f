"""The published tables: what their columns are, which cells were fitted, which numbers are doubtful."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from thinktime.studies.cells import Kind, Row, Tolerance
from thinktime.studies.paper import Paper
from thinktime.studies.published import Printed, Shape

__all__ = [
    "BETWEEN",
    "BETWEEN_MS",
    "CAPACITY",
    "CONFIGURATIONS",
    "EVENTS",
    "FOLDER",
    "FULL",
    "LARGE",
    "NAME",
    "OVERHEAD",
    "OVERHEAD_MS",
    "PAPER",
    "PERCENT",
    "QUANTITIES",
    "SHAPES",
    "SMALL",
    "STATES",
    "SYSTEMS",
    "Configuration",
    "cell",
    "kind_of",
    "printed",
    "tolerance_of",
    "words",
]

NAME = "sekino-1971"
FOLDER = Path(__file__).parent / "published"

CAPACITY, CONFIGURATIONS = "table1_capacity", "table1_configurations"
BETWEEN, OVERHEAD = "table2_time_between_events", "table3_overhead_time"
PERCENT = "capacity_percent"
BETWEEN_MS = "mean_time_between_events_ms_per_processor"
OVERHEAD_MS = "overhead_ms_per_event"

QUANTITIES = {CAPACITY: PERCENT, BETWEEN: BETWEEN_MS, OVERHEAD: OVERHEAD_MS}
"""The column of numbers of Tables 1 to 3."""

EVENTS = ("page_fault", "getwork", "drum_interrupt", "interrupt", "segment_fault", "gate_fault")
"""What the supervisor is entered for, as the total time meters tell it apart."""
STATES = (*EVENTS, "idle", "useful_work")
"""Lines of Table 1, which add to all of the capacity."""

SHAPES = (
    Shape(
        CAPACITY,
        "Table 1",
        "where the capacity of the processors goes",
        ("configuration", "event"),
        {PERCENT: "%"},
        ("cpus", "core_kwords"),
    ),
    Shape(
        CONFIGURATIONS,
        "Table 1",
        "load of the configurations",
        ("configuration",),
        {"n_users": "users", "mean_eligible_processes": "processes"},
        ("cpus", "core_kwords", "saturated", "mpm_runs"),
    ),
    Shape(
        BETWEEN,
        "Table 2",
        "mean real time between events, per processor",
        ("configuration", "event"),
        {BETWEEN_MS: "ms"},
    ),
    Shape(
        OVERHEAD,
        "Table 3",
        "mean overhead per event",
        ("configuration", "event"),
        {OVERHEAD_MS: "ms"},
        ("measured_or_estimated",),
    ),
)

PAPER = Paper(NAME, FOLDER, SHAPES, {})
"""No cell of the tables is doubtful; what is, stands in the section on doubts."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """A system that was measured.

    Parameters
    ----------
    name : str
        As in the tables: ``2cpu_384k``.
    cpus : int
    core_kwords : int
    users : int
    eligible : float
        Mean number of processes that are eligible: admitted to multiprogramming.
    """

    name: str
    cpus: int
    core_kwords: int
    users: int
    eligible: float

    @property
    def words(self) -> str:
        """Name for a reader."""
        return f"{self.cpus} CPU{'s' if self.cpus > 1 else ''}, {self.core_kwords}K"


def _configuration(row: Row) -> Configuration:
    table = PAPER.tables[CONFIGURATIONS]
    cpus, core = (int(table.remark(row, name)) for name in ("cpus", "core_kwords"))
    users = printed(CONFIGURATIONS, row, "n_users").value
    eligible = printed(CONFIGURATIONS, row, "mean_eligible_processes").value
    return Configuration(str(row["configuration"]), cpus, core, int(users), eligible)


def printed(table: str, row: Row, quantity: str) -> Printed:
    """One printed number.

    Raises
    ------
    KeyError
        The cell is empty, or there is none.
    """
    cell = PAPER.tables[table].cell(row, quantity)
    if cell is None:
        raise KeyError(f"{table}: {row} has no {quantity}")
    return cell


SYSTEMS: dict[str, Configuration] = {
    str(row["configuration"]): _configuration(row) for row in PAPER.tables[CONFIGURATIONS].rows
}
"""The three configurations, by name."""
SMALL, LARGE, FULL = (SYSTEMS[name] for name in ("1cpu_256k", "1cpu_384k", "2cpu_384k"))


def cell(table: str, configuration: Configuration, event: str) -> float:
    """Return the printed number of an event in Table 1, 2 or 3.

    Raises
    ------
    KeyError
        The cell is empty, or there is none.
    """
    row = {"configuration": configuration.name, "event": event}
    return printed(table, row, QUANTITIES[table]).value


def kind_of(table: str, row: Row) -> Kind:
    """Fitted for all of Table 3 and for the column of one processor with 256K, else predicted."""
    return "fitted" if table == OVERHEAD or row["configuration"] == SMALL.name else "predicted"


_FITTED = {
    CAPACITY: Tolerance("absolute", 1.0),
    BETWEEN: Tolerance("relative", 0.10),
    OVERHEAD: Tolerance("relative", 0.10),
}
_EVENT_SHARE = Tolerance("absolute", 4.0)
_WORK_SHARE = Tolerance("absolute", 8.0)
_PREDICTED_TIME = Tolerance("relative", 0.20)


def tolerance_of(table: str, row: Row) -> Tolerance:
    """How far a simulated cell may be from the printed one."""
    if kind_of(table, row) == "fitted":
        return _FITTED[table]
    if table == BETWEEN:
        return _PREDICTED_TIME
    return _EVENT_SHARE if row["event"] in EVENTS else _WORK_SHARE


def words(event: str) -> str:
    """Name of a line of the tables for a reader."""
    return event.replace("_", " ")
