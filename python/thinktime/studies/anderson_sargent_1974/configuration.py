"""The simulated machine: its queues, and every parameter with its unit and its source."""

from __future__ import annotations

from functools import partial
from typing import Any

from thinktime.documents.diagrams import Arrow, Box, diagram
from thinktime.documents.document import Cell, Column, Figure, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.anderson_sargent_1974.experiments import SYSTEM, run_values, think
from thinktime.studies.common_sections import parameters
from thinktime.studies.estimates import interval
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.study import Chapter

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


def chapter(laboratory: Laboratory) -> Chapter:
    """The simulated system: every parameter with its source."""
    system = laboratory.system(SYSTEM)
    calibrated = system.calibrated()
    summary = (
        f"{system.summary}. One set of parameters serves all experiments; what varies between them is said "
        "with each.",
        f"Nothing printed gives {', '.join(calibrated)}: these were calibrated against the modified "
        "algorithm with slices of 0.2 s and Table 4.",
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
        data=_data(means, rate),
        alt=f"The queues of the model with mean numbers for 35 users under the original scheduler: {listed}; "
        f"{rate.value:.0f} inputs a minute pass.",
    )


def _data(means: dict[str, Estimate], rate: Estimate) -> Table:
    columns = (Column("place"), Column("mean number, or inputs a minute", scaled=False))
    rows: list[tuple[Cell, ...]] = [*means.items(), ("inputs serviced a minute", rate)]
    return Table(
        name="figure-6-data",
        caption="Mean numbers in the queues of Figure 6",
        columns=columns,
        rows=tuple(rows),
    )
