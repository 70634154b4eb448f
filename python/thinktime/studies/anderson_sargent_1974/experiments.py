"""The paper, and the experiments of its simulation: runs of ten minutes with the same workloads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from thinktime.stats import critical_values
from thinktime.stats.estimate import Estimate
from thinktime.studies.cells import Row
from thinktime.studies.estimates import Array
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.paper import Paper

PAPER = Paper.read(Path(__file__).parent)

SYSTEM = "apl360"
CLASSES = ("compute", "command", "output_bound")
ENOUGH = 256
"""Replications that show ranges of periods and differences on the same workloads."""
PERIOD_S = 600.0
"""The unit of analysis of the paper: ten minutes."""

CELL = ("algorithm", "resident_workspaces", "time_slice_s")
"""Factors of the 3x2x2 experiment, as its tables name them."""
ALGORITHM_NAMES = {"modified": "modified", "fb2": "FB2", "fb_inf": "FB-infinity"}
SCHEDULERS = {"modified": "modified", "fb2": "fb2", "fb_inf": "fb_infinity"}
"""Swap algorithms as the tables and as the simulated system name them."""

REGRESSION_READING = -0.647
"""Constant of the printed regression if its point slipped by one place."""

F_RATIOS_OF_THE_TEXT = (
    ("queued-workspaces-f-of-c", "table05_anova", "C_linear"),
    ("queued-workspaces-f-of-a", "table05_anova", "A_linear"),
    ("reaction-f-of-b", "table07_anova", "B_linear"),
    ("reaction-f-of-c", "table07_anova", "C_linear"),
    ("reaction-f-of-bc", "table07_anova", "B_x_C"),
    ("response-f-linear", "table08_anova", "A_linear"),
    ("response-f-quadratic", "table08_anova", "A_quadratic"),
)
"""F ratios that the running text states: name of the fact, table and effect."""


def cell_row(algorithm: str, regions: int, time_slice_s: float) -> Row:
    """Row of a cell of the 3x2x2 experiment in Tables 5 to 8."""
    return dict(zip(CELL, (algorithm, regions, time_slice_s), strict=True))


def think(mean_s: float) -> dict[str, Any]:
    """Exponential insertion times, as the paper's simulation takes them."""
    return {"kind": "exponential", "mean": mean_s}


def ratio(parts: Array, wholes: Array) -> Estimate:
    """Sum of parts over sum of wholes; the interval is that of the mean of what each adds to it."""
    value = float(parts.sum() / wholes.sum())
    n = len(parts)
    influence = (parts - value * wholes) / wholes.mean()
    reach = critical_values.student_t(0.95, float(n - 1)) * float(influence.std(ddof=1)) / n**0.5
    return Estimate(
        value=value,
        n=n,
        method="ratio of sums over replications, Student t",
        low=value - reach,
        high=value + reach,
    )


def welch(one: Array, other: Array) -> Estimate:
    """Difference of two means of independent values of any variances (Welch 1947, Biometrika 34, 28)."""
    parts = [values.var(ddof=1) / len(values) for values in (one, other)]
    spread = float(sum(parts))
    degrees = spread**2 / sum(float(p) ** 2 / (len(v) - 1) for p, v in zip(parts, (one, other), strict=True))
    difference = float(one.mean() - other.mean())
    reach = critical_values.student_t(0.95, degrees) * spread**0.5
    n = len(one) + len(other)
    return Estimate(
        value=difference,
        n=n,
        method="difference of means, Welch",
        low=difference - reach,
        high=difference + reach,
    )


def run_values(
    laboratory: Laboratory, response: str, *, replications: int | None = None, **parameters: Any
) -> Array:
    """One response of every replication; by default of as many as show ranges of periods."""
    count = laboratory.count(ENOUGH) if replications is None else replications
    return laboratory.values(SYSTEM, parameters, response, count)


def shares(laboratory: Laboratory) -> dict[str, float]:
    """Share of each class among the inputs."""
    defaults = laboratory.defaults(SYSTEM)
    return {name: float(defaults[f"{name}_share"]) for name in CLASSES}


def service_specs(laboratory: Laboratory) -> dict[str, Any]:
    """Fitted distribution of the service time of each class."""
    defaults = laboratory.defaults(SYSTEM)
    return {name: defaults[f"{name}_service"] for name in CLASSES}
