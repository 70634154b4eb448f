"""The memorandum, the three configurations that it measured, and their simulation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thinktime.stats.estimate import Estimate
from thinktime.studies.cells import Row
from thinktime.studies.estimates import Array, interval
from thinktime.studies.laboratory import Laboratory, Parameters
from thinktime.studies.paper import Paper
from thinktime.studies.published import Printed

PAPER = Paper.read(Path(__file__).parent)

SYSTEM = "multics"
CAPACITY, CONFIGURATIONS = "table1_capacity", "table1_configurations"
BETWEEN, OVERHEAD = "table2_time_between_events", "table3_overhead_time"
QUANTITIES = {
    CAPACITY: "capacity_percent",
    BETWEEN: "mean_time_between_events_ms_per_processor",
    OVERHEAD: "overhead_ms_per_event",
}
"""The column of numbers of Tables 1 to 3."""
RESPONSES = {CAPACITY: ("share", 100.0), BETWEEN: ("between_s", 1000.0), OVERHEAD: ("overhead_s", 1000.0)}
"""Last part of the simulated system's name of a line, by table, and the factor to the printed unit."""

EVENTS = ("page_fault", "getwork", "drum_interrupt", "interrupt", "segment_fault", "gate_fault")
"""Reasons to enter the supervisor, as the total time meters distinguish them."""
STATES = (*EVENTS, "idle", "useful_work")
"""Lines of Table 1, which add up to the whole capacity."""

ENOUGH = 4
"""Replications of comparisons on the same work, and of every point of a curve."""
PERIOD: dict[str, Any] = {"warm_up": 600.0, "length": 3600.0}
"""Of each replication: an hour, of which ten minutes to log in and to fill core [s]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A system that was measured."""

    name: str
    """As in the tables: ``2cpu_384k``."""
    cpus: int
    core_kwords: int
    users: int
    eligible: float
    """Mean number of processes that are eligible: admitted to multiprogramming."""

    @property
    def words(self) -> str:
        """Name for a reader."""
        return f"{self.cpus} CPU{'s' if self.cpus > 1 else ''}, {self.core_kwords}K"

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the simulated system; all others are those of System 14."""
        return {
            **PERIOD,
            "cpus": self.cpus,
            "core": self.core_kwords,
            "users": self.users,
            "max_eligible": self.eligible,
        }


def _configuration(row: Row) -> Configuration:
    table = PAPER.tables[CONFIGURATIONS]
    return Configuration(
        name=str(row["configuration"]),
        cpus=int(table.remark(row, "cpus")),
        core_kwords=int(table.remark(row, "core_kwords")),
        users=int(PAPER.printed(CONFIGURATIONS, row, "n_users").value),
        eligible=PAPER.printed(CONFIGURATIONS, row, "mean_eligible_processes").value,
    )


SYSTEMS = {str(row["configuration"]): _configuration(row) for row in PAPER.rows(CONFIGURATIONS)}
"""The three configurations, by name."""
SMALL, LARGE, FULL = (SYSTEMS[name] for name in ("1cpu_256k", "1cpu_384k", "2cpu_384k"))


def line(table: str, configuration: Configuration, event: str) -> Printed | None:
    """Printed number of a line of Table 1, 2 or 3; None where the cell is empty."""
    row = {"configuration": configuration.name, "event": event}
    return PAPER.tables[table].cell(row, QUANTITIES[table])


def value_of(table: str, configuration: Configuration, event: str) -> float:
    """Value of a line of Table 1, 2 or 3.

    Raises
    ------
    KeyError
        The cell is empty, or there is none.
    """
    return PAPER.printed(
        table, {"configuration": configuration.name, "event": event}, QUANTITIES[table]
    ).value


def words(event: str) -> str:
    """Name of a line of the tables for a reader."""
    return event.replace("_", " ")


def measured(laboratory: Laboratory, configuration: Configuration, response: str) -> Array:
    """One response of every replication of a configuration."""
    return laboratory.values(SYSTEM, configuration.parameters, response)


def mean(laboratory: Laboratory, configuration: Configuration, response: str) -> float:
    """Mean of one response over the replications of a configuration."""
    return float(measured(laboratory, configuration, response).mean())


def simulated(laboratory: Laboratory, table: str, configuration: Configuration, event: str) -> Estimate:
    """Line of Table 1, 2 or 3 of the simulated configuration, in the printed unit."""
    ending, factor = RESPONSES[table]
    response = f"{event.removesuffix('_work')}_{ending}"
    return interval(measured(laboratory, configuration, response), factor=factor)


def compared(laboratory: Laboratory, parameters: Parameters, response: str) -> Array:
    """One response of as many replications as are enough to compare it on the same work."""
    return laboratory.values(SYSTEM, parameters, response, laboratory.count(ENOUGH))
