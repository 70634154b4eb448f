"""The paper, and the records of the simulated installation: each run in a log, as DUSETIMR wrote them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from thinktime.studies.cells import Row
from thinktime.studies.laboratory import Laboratory, Parameters, Recorded, remembered
from thinktime.studies.paper import Paper

if TYPE_CHECKING:
    from thinktime.log import Log

PAPER = Paper.read(Path(__file__).parent)

SYSTEM = "cp67"
PERIODS = ("II-2", "II-3", "III-3")
"""Data sets of Table 3: version of CP and core boxes."""
DATA_SETS = {"II-2": "ii_2", "II-3": "ii_3", "III-3": "iii_3"}
"""Columns of Tables 7 and 10 by data set."""
COLUMNS = {
    "vsio": "vsio",
    "vmio": "vmio",
    "page_io": "page_ios",
    "spool_io": "spool_ios",
    "problem_state_time": "user_time",
}
"""Names in the log of the request types of the paper."""
RUNS = 4
"""Runs of each data set for the questions of capacity and of other records."""

RECORDED, DERIVED, DATA_PERIODS = "table01_variables", "table02_derived_variables", "table03_data_periods"
OMISSION, REGRESSION, DISPATCH = (
    "table04_vmio_omission",
    "table05_cp_regression",
    "table06_dispatch_regression",
)
RATES, SHARES = "table07_request_rates", "table08_cp_time_percent"
SHARES_APART = "table09_cp_time_percent_dispatch_separated"
LOADS = "table10_observations_by_active_users"
FREE_FRET, EXPERIMENT = "table11_free_fret_coefficients", "table12_free_fret_throughput"

REQUESTS = ("base", "vsio", "vmio", "page_io", "spool_io", "problem_state_time")
"""Request types of equation 2 as the tables name them; ``base`` is what goes with real time alone."""
THETAS = {
    "theta0_ms_per_s": "base",
    "theta1_ms_per_vsio": "vsio",
    "theta2_ms_per_vmio": "vmio",
    "theta3_ms_per_page_io": "page_io",
    "theta4_ms_per_spool_io": "spool_io",
    "theta5_ms_per_s_problem": "problem_state_time",
}
"""Coefficients of Table 5 and their request types."""
SHARE_COLUMNS = {
    "vsio_percent": "vsio",
    "vmio_percent": "vmio",
    "page_io_percent": "page_io",
    "spool_io_percent": "spool_io",
    "problem_state_percent": "problem_state_time",
}
"""Columns of Tables 8 and 9 and their request types."""


def key(table: str, request: str) -> Row:
    """Row of a table that stands for a request type.

    Raises
    ------
    KeyError
        The table has none.
    """
    for row in PAPER.tables[table].rows:
        if row["request_type"] == request:
            return row
    raise KeyError(f"{table} has no {request}")


def observations(laboratory: Laboratory, parameters: Parameters) -> dict[str, Any]:
    """Parameters of a period, with fewer observations at a smaller scale: as many as Table 3 has at 1."""
    if laboratory.settings.scale == 1.0:
        return dict(parameters)
    full = PAPER.printed(DATA_PERIODS, {"data_set": parameters["period"]}, "n_points").value
    return {**parameters, "observations": laboratory.scaled(int(full), 60)}


@remembered
def record_of(laboratory: Laboratory, name: str) -> Recorded:
    """Record of a data set."""
    # All three at once, on as many threads as there are cores.
    runs = [(observations(laboratory, {"period": item}), 0) for item in PERIODS]
    return laboratory.record(SYSTEM, runs)[PERIODS.index(name)]


def repeated(laboratory: Laboratory, name: str) -> list[Recorded]:
    """Several runs of a data set, the first among them: the same parameters, other random numbers."""
    return laboratory.record(SYSTEM, _runs(laboratory, name))


@remembered
def pooled(laboratory: Laboratory, name: str) -> Log:
    """Observations of all runs of a data set in one log, a session per run."""
    return laboratory.pooled(SYSTEM, _runs(laboratory, name))


def _runs(laboratory: Laboratory, name: str) -> list[tuple[dict[str, Any], int]]:
    parameters = observations(laboratory, {"period": name})
    return [(parameters, number) for number in range(laboratory.count(RUNS))]
