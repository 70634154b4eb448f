"""The published tables: what their columns are, and which numbers are doubtful."""

from __future__ import annotations

from pathlib import Path

from thinktime.studies.cells import Kind, Row
from thinktime.studies.old_paper import Paper
from thinktime.studies.published import Printed, Shape

__all__ = [
    "COEFFICIENTS",
    "DATA_PERIODS",
    "DERIVED",
    "DISPATCH",
    "EXPERIMENT",
    "FOLDER",
    "FREE_FRET",
    "LOADS",
    "NAME",
    "OMISSION",
    "PAPER",
    "RATES",
    "RECORDED",
    "REGRESSION",
    "REQUESTS",
    "SHAPES",
    "SHARES",
    "SHARES_APART",
    "SHARE_COLUMNS",
    "THETAS",
    "key",
    "kind_of",
    "printed",
]

NAME = "bard-1971"
FOLDER = Path(__file__).parent / "published"

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
COEFFICIENTS = tuple(f"theta{number}" for number in range(6))
SHARE_COLUMNS = {
    "vsio_percent": "vsio",
    "vmio_percent": "vmio",
    "page_io_percent": "page_io",
    "spool_io_percent": "spool_io",
    "problem_state_percent": "problem_state_time",
}
"""Columns of Tables 8 and 9 and their request types."""

_PERCENT = dict.fromkeys(SHARE_COLUMNS, "% of CP time")
_COUNTS = dict.fromkeys(("ii_2", "ii_3", "iii_3"), "observations")
_NO_UNIT = dict.fromkeys(("ii_2", "ii_3", "iii_3"), "")
_FITTED = {"n_rejected_outliers": "observations", "n_remaining_points": "observations", "r2": ""}
_THETA_UNITS = {name: name.partition("_")[2].replace("_", " ") for name in THETAS}

SHAPES = (
    Shape(
        name=RECORDED,
        place="Table 1",
        title="variables recorded by DUSETIMR",
        keys=("variable",),
        quantities={},
        remarks=("description", "unit", "scope", "later_part_only", "footnote"),
    ),
    Shape(
        name=DERIVED,
        place="Table 2",
        title="derived variables",
        keys=("variable",),
        quantities={},
        remarks=("definition", "unit"),
    ),
    Shape(
        name=DATA_PERIODS,
        place="Table 3",
        title="the three data sets",
        keys=("data_set",),
        quantities={"core_boxes": "boxes", "n_points": "observations"},
        remarks=("start_month", "end_month", "cp_version"),
    ),
    Shape(
        name=OMISSION,
        place="Table 4",
        title="CP time of III-3 fitted without and with VMIO",
        keys=("coefficient", "request_type"),
        quantities={"without_vmio": "", "with_vmio": ""},
        remarks=("unit",),
    ),
    Shape(
        name=REGRESSION,
        place="Table 5",
        title="regression of CP time on requests",
        keys=("data_set", "variant"),
        quantities={**_FITTED, **_THETA_UNITS},
    ),
    Shape(
        name=DISPATCH,
        place="Table 6",
        title="regression of dispatch time on requests, III-3",
        keys=("coefficient", "request_type"),
        quantities={"value": ""},
        remarks=("unit",),
    ),
    Shape(
        name=RATES,
        place="Table 7",
        title="mean rates",
        keys=("variable", "request_type"),
        quantities=_NO_UNIT,
        remarks=("unit",),
    ),
    Shape(name=SHARES, place="Table 8", title="where CP time goes", keys=("data_set",), quantities=_PERCENT),
    Shape(
        name=SHARES_APART,
        place="Table 9",
        title="where CP time goes, dispatch apart",
        keys=("data_set",),
        quantities={**_PERCENT, "dispatch_percent": "% of CP time"},
    ),
    Shape(
        name=LOADS,
        place="Table 10",
        title="observations by active users",
        keys=("active_users_low", "active_users_high"),
        quantities=_COUNTS,
        words="{active_users_low} to {active_users_high} active users",
    ),
    Shape(
        name=FREE_FRET,
        place="Table 11",
        title="CP time of a request with old and new free-fret",
        keys=("coefficient", "request_type"),
        quantities=dict.fromkeys(("cp_ii_old_free_fret", "cp_iii_old_free_fret", "cp_iii_new_free_fret"), ""),
        remarks=("unit",),
    ),
    Shape(
        name=EXPERIMENT,
        place="Table 12",
        title="throughput with old and new free-fret, eight days",
        keys=("variable",),
        quantities={"old_free_fret": "", "new_free_fret": ""},
        remarks=("unit",),
    ),
)

_MEASURING = (
    "what measuring takes is four times as much a call with the old algorithm as with the new one, by the "
    "shares with and without it"
)

DOUBTS: dict[tuple[str, tuple[object, ...], str], str] = {
    (DATA_PERIODS, ("II-3",), "n_points"): (
        "Table 10 adds to one less: one observation without an active user, or a digit"
    ),
    (REGRESSION, ("II-2", "adjusted_for_vmio"), "theta5_ms_per_s_problem"): (
        "25.0 x 134.1 / 138.0 is 24.3, which no rounding explains; all other adjusted values follow"
    ),
    (SHARES_APART, ("III-3",), "problem_state_percent"): (
        "needs phi5 between 2.8 and 10.3; Table 6 prints 1 without a decimal, a second digit may be lost"
    ),
    ("facts", ("B-F23",), "value"): _MEASURING,
    ("facts", ("B-F24",), "value"): _MEASURING,
}

PAPER = Paper(NAME, FOLDER, SHAPES, DOUBTS)


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


def kind_of(data_set: str, variant: str, quantity: str) -> Kind:
    """Whether a cell of Table 5 was calibrated to.

    That is the row of III-3 with all request types; of version II the two coefficients that the paper
    ascribes to the user environment, base and problem state, and that of page I/O, since how much longer
    its path was is taken from Table 11; and of III-3 without VMIO that of spool I/O, which fixes how many
    printed lines go into a block.
    """
    of_two = {"theta0_ms_per_s", "theta3_ms_per_page_io", "theta5_ms_per_s_problem"}
    fitted = {"theta4_ms_per_spool_io"} if data_set == "III-3" else of_two
    if variant == "vmio_included" or quantity in fitted:
        return "fitted"
    return "predicted"
