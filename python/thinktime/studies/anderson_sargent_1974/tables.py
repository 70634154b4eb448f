"""The published tables: what their columns are, and which printed numbers are not to be trusted."""

from __future__ import annotations

from pathlib import Path

from thinktime.studies.anderson_sargent_1974.service_times import POOLED_OUTPUT_BOUND
from thinktime.studies.cells import Row
from thinktime.studies.paper import Paper
from thinktime.studies.published import Shape

__all__ = [
    "ALGORITHM_NAMES",
    "CELL",
    "FOLDER",
    "F_RATIOS_OF_THE_TEXT",
    "NAME",
    "PAPER",
    "REGRESSION_READING",
    "SCHEDULERS",
    "SHAPES",
    "cell_row",
]

NAME = "anderson-sargent-1974"
FOLDER = Path(__file__).parent / "published"

CELL = ("algorithm", "resident_workspaces", "time_slice_s")
"""Factors of the 3x2x2 experiment, as its tables name them."""
ALGORITHM_NAMES = {"modified": "modified", "fb2": "FB2", "fb_inf": "FB-infinity"}
SCHEDULERS = {"modified": "modified", "fb2": "fb2", "fb_inf": "fb_infinity"}
"""Swap algorithms as the tables and as the simulated system name them."""

REGRESSION_READING = -0.647
"""Constant of the printed regression if its point slipped by one place."""

WORDS = "{algorithm}, {resident_workspaces} workspaces, {time_slice_s} s"
ANOVA = {"mean_square": "", "f_ratio": ""}

SHAPES = (
    Shape(
        "table01_service_times",
        "Table 1",
        "computer service times by input class",
        ("input_class",),
        {
            "mean_s": "s",
            "variance_s2": "s^2",
            "std_dev_s": "s",
            "coeff_of_var": "",
            "skew": "",
            "percent_of_inputs": "%",
        },
    ),
    Shape(
        "table02_reaction_vs_swapping",
        "Table 2",
        "reaction time and swapping in nine ten-minute periods",
        ("active_users", "disk_accesses_per_10_min"),
        {"avg_reaction_s": "s", "max_reaction_s": "s"},
        words="{active_users} users, {disk_accesses_per_10_min} accesses",
    ),
    Shape(
        "table03_log_reaction_cells",
        "Table 3",
        "mean log10(R + 0.5) by users and input rate",
        ("active_users_low", "active_users_high", "input_rate_per_min_per_user"),
        {"mean_log10_reaction": "log10(s)"},
        words="{active_users_low}-{active_users_high} users, {input_rate_per_min_per_user} inputs/min",
    ),
    Shape("table03_anova", "Table 3", "analysis of variance", ("effect",), ANOVA),
    Shape(
        "table04_apl_scheduling",
        "Table 4",
        "periods with 35 users, measured and simulated",
        ("block", "row"),
        {
            "swap_rate_per_10_min": "access/(10 min)",
            "mean_foreground_queue": "workspace",
            "mean_background_queue": "workspace",
            "avg_reaction_s": "s",
            "max_reaction_s": "s",
            "sd_reaction_s": "s",
            "avg_response_s": "s",
        },
        ("low_congestion",),
        words="{block}, period {row}",
    ),
    Shape(
        "table05_queued_workspaces",
        "Table 5",
        "mean number of queued workspaces",
        CELL,
        {"avg_queued_workspaces": "workspace"},
        words=WORDS,
    ),
    Shape("table05_anova", "Table 5", "analysis of variance of queued workspaces", ("effect",), ANOVA),
    Shape(
        "table06_inputs_serviced",
        "Table 6",
        "inputs serviced in ten minutes",
        CELL,
        {"avg_inputs_serviced_per_10_min": "input/(10 min)"},
        words=WORDS,
    ),
    Shape(
        "table06_anova", "Table 6", "analysis of variance of inputs serviced", ("effect",), ANOVA, ("note",)
    ),
    Shape(
        "table07_reaction_time", "Table 7", "mean reaction time", CELL, {"avg_reaction_s": "s"}, words=WORDS
    ),
    Shape("table07_anova", "Table 7", "analysis of variance of the reaction time", ("effect",), ANOVA),
    Shape(
        "table08_response_time",
        "Table 8",
        "mean response time of compute transactions of at most 2 s of service",
        CELL,
        {"avg_response_s": "s"},
        words=WORDS,
    ),
    Shape("table08_anova", "Table 8", "analysis of variance of the response time", ("effect",), ANOVA),
    Shape(
        "table09_response_histogram",
        "Table 9",
        "compute transactions of at most 2 s of service answered within 5, 10, 15 s",
        ("response_limit_s", *CELL),
        {"count": "input", "fraction": ""},
        words=WORDS + ": within {response_limit_s} s",
    ),
)

_SHARES = (
    "the printed shares, averages over four weeks, do not belong to the moments, which are of the pooled "
    f"sample; an output-bound share of {100 * POOLED_OUTPUT_BOUND:.2f} % gives all four"
)
_QUADRATIC = "a slip of one decimal place: the printed cells give ten times as much"
_LAST_DIGIT = "the printed mean and standard deviation give one less in the last digit"
_REPEATED = "repeats the cell of modified/4/0.2, and is below the counts for 5 and 10 s"
_TOTAL = "belongs to another total than the count within 10 s; 4039 is also the count of fb_inf/4/0.2"

_REGRESSION = (
    "as printed the regression does not describe the measured periods of Table 4; with a constant of "
    f"{REGRESSION_READING}, D a minute and W_F in minutes, as taken here, it does"
)

DOUBTS: dict[tuple[str, tuple[object, ...], str], str] = {
    ("table01_service_times", ("all",), "mean_s"): _SHARES,
    ("table01_service_times", ("all",), "variance_s2"): _SHARES,
    ("table01_service_times", ("all",), "skew"): _SHARES,
    ("table01_service_times", ("output_bound",), "coeff_of_var"): _LAST_DIGIT,
    ("facts", ("A-F21",), "value"): _REGRESSION,
    ("table03_anova", ("quadratic_U",), "mean_square"): _QUADRATIC,
    ("table03_anova", ("quadratic_U",), "f_ratio"): _QUADRATIC,
    ("table09_response_histogram", (15, "fb_inf", 3, 0.2), "count"): _REPEATED,
    ("table09_response_histogram", (15, "fb_inf", 3, 0.2), "fraction"): _REPEATED,
    ("table09_response_histogram", (5, "fb_inf", 3, 0.2), "count"): _TOTAL,
    ("table09_response_histogram", (5, "fb_inf", 3, 0.2), "fraction"): _TOTAL,
}

PAPER = Paper(NAME, FOLDER, SHAPES, DOUBTS)

F_RATIOS_OF_THE_TEXT = (
    ("A-F38", "table05_anova", "C_linear"),
    ("A-F39", "table05_anova", "A_linear"),
    ("A-F44", "table07_anova", "B_linear"),
    ("A-F45", "table07_anova", "C_linear"),
    ("A-F46", "table07_anova", "B_x_C"),
    ("A-F50", "table08_anova", "A_linear"),
    ("A-F51", "table08_anova", "A_quadratic"),
)
"""F ratios that the running text states: name of the fact, table and effect."""


def cell_row(algorithm: str, regions: int, time_slice_s: float) -> Row:
    """Row of a cell of the 3x2x2 experiment in Tables 5 to 8."""
    return dict(zip(CELL, (algorithm, regions, time_slice_s), strict=True))
