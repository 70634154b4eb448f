"""The paper, and the experiments of its simulation: runs of ten minutes with the same workloads."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from thinktime.documents.diagrams import Arrow, Box, diagram
from thinktime.documents.document import Col, Figure, Table
from thinktime.stats import critical_values
from thinktime.stats.designs.contrasts import orthogonal_polynomials
from thinktime.stats.estimate import Estimate
from thinktime.studies.anderson_sargent_1974.service_times import CLASSES
from thinktime.studies.cells import Row
from thinktime.studies.common_sections import parameters
from thinktime.studies.estimates import Array, interval
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.paper import Paper
from thinktime.studies.study import Chapter

PAPER = Paper.read(Path(__file__).parent)

SYSTEM = "apl360"
REPLICATIONS = 8
"""Of the paper in each cell of its experiments; its mean squares are those of this many."""
ENOUGH = 256
"""Replications that show ranges of periods and differences on the same workloads."""
PERIOD_S = 600.0
"""The unit of analysis of the paper: ten minutes."""

HISTOGRAM = "table09_response_histogram"
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


def contrasts_of_table_3() -> dict[str, tuple[float, ...]]:
    """Weights of the nine cells of Table 3, users by input rate, by effect of its analysis of variance."""
    linear, quadratic = orthogonal_polynomials((1, 2, 3))
    powers = {"": (1.0, 1.0, 1.0), "linear": linear, "quadratic": quadratic}
    return {
        "_x_".join(f"{power}_{letter}" for power, letter in ((users, "U"), (rate, "I")) if power): tuple(
            u * i for u in powers[users] for i in powers[rate]
        )
        for users in powers
        for rate in powers
        if users or rate
    }


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


NUMBERS = {
    "foreground": "mean_foreground",
    "background": "mean_background",
    "output-bound": "mean_output_bound",
    "commands": "mean_command",
}
"""Places of Figure 6, and the responses that count who is there."""
PLACES = {
    "terminals": (1.1, 3.1),
    "foreground": (4.6, 3.1),
    "background": (8.1, 3.1),
    "commands": (8.1, 5.2),
    "output-bound": (8.1, 1.0),
}
WAYS = (
    ((5.6, 3.1), (7.0, 3.1)),
    ((4.6, 3.6), (4.6, 5.2), (7.0, 5.2)),
    ((7.6, 2.6), (7.6, 1.6)),
    ((8.6, 1.5), (8.6, 2.5)),
    ((4.6, 2.6), (4.6, 0.1), (1.1, 0.1), (1.1, 2.5)),
    ((9.1, 5.2), (9.8, 5.2), (9.8, 0.1), (1.1, 0.1), (1.1, 2.5)),
    ((9.1, 3.1), (9.8, 3.1), (9.8, 0.1), (1.1, 0.1), (1.1, 2.5)),
)
SIZE = (9.9, 5.8)


def configuration(laboratory: Laboratory) -> Chapter:
    """The simulated system: every parameter with its source."""
    system = laboratory.system(SYSTEM)
    calibrated = system.calibrated()
    summary = (
        f"{system.summary}. One set of parameters serves all experiments; each part says "
        "what varies between them.",
        f"Nothing printed gives {', '.join(calibrated)}: these were calibrated against the modified "
        "algorithm, FB2 with three regions, and Table 4.",
    )
    return Chapter(summary=summary, charts=(_network(laboratory),), tables=(parameters(system, {}),))


def _network(laboratory: Laboratory) -> Figure:
    """Figure 6 with mean numbers of workspaces."""
    given: dict[str, Any] = {
        "users": 35,
        "insertion_time": think(20.0),
        "scheduler": "original",
        "regions": 4,
    }
    means = {place: interval(run_values(laboratory, name, **given)) for place, name in NUMBERS.items()}
    away = sum(mean.value for mean in means.values())
    shown = {"terminals": f"{35 - away:.1f} users"} | {
        place: f"{mean.value:.1f}" for place, mean in means.items()
    }
    rate = interval(run_values(laboratory, "inputs_serviced", **given) / 10.0)
    boxes = [Box(place, shown[place], *PLACES[place], colour="user") for place in PLACES]
    arrows = [Arrow(((2.1, 3.1), (3.5, 3.1)), f"{rate.value:.0f}/min"), *(Arrow(way) for way in WAYS)]
    listed = ", ".join(f"{place} {mean.value:.1f}" for place, mean in means.items())
    return Figure(
        name="figure-6",
        title="Where inputs wait (Figure 6)",
        chart=partial(diagram, boxes, arrows, *SIZE),
        data=Table.of(
            [*means.items(), ("inputs serviced a minute", rate)],
            Col("place", lambda row: row[0]),
            Col("mean number, or inputs per minute", lambda row: row[1], scaled=False),
            name="figure-6-data",
            caption="Mean numbers in the queues of Figure 6",
        ),
        alt=f"The queues of the model with mean numbers for 35 users under the original scheduler: {listed}; "
        f"{rate.value:.0f} inputs per minute pass.",
    )
