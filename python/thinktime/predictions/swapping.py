"""Response time of a machine that swaps, saturated or not, and the effect of changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Col, Cols, Section, Table
from thinktime.predictions import prediction as predicted
from thinktime.predictions.prediction import modelled
from thinktime.stats.estimate import Estimate

if TYPE_CHECKING:
    from thinktime.models.prediction import Prediction
    from thinktime.models.swapping.response_time import Swapping

LABELS = {
    "elapsed_s": "elapsed time of all interactions",
    "throughput_per_s": "interactions per second",
    "response_s": "response time of an interaction",
    "stretch": "response time over that of one process alone",
    "swaps": "swaps in and out, of all interactions",
    "swaps_per_interaction": "swaps in and out per interaction",
    "forced_swaps": "fraction of the swaps that took a ready process out of memory",
    "controller_utilisation": "utilisation of the controller",
    "queue_length": "requests at the controller, the one in service included",
    "swapper_busy": "fraction of the time with a swap under way or waiting",
    "cpu_utilisation": "utilisation of the CPU",
    "fitting": "processes that fit into memory",
    "active": "processes in memory that do not pause",
    "pausing_in": "processes that pause in memory",
    "pausing_out": "processes that pause outside",
    "ready_out": "processes that are ready outside",
}
DEVICES = {"disk controller": "controller_utilisation", "CPU": "cpu_utilisation"}
COMPARED = {
    "throughput_per_s": "interactions",
    "response_s": "response",
    "swaps_per_interaction": "swaps per interaction",
    "controller_utilisation": "controller busy",
    "cpu_utilisation": "CPU busy",
    "fitting": "fit",
}
"""Quantities in the table of a change, and their headings."""


def section(
    machine: Swapping,
    prediction: Prediction,
    sources: Mapping[str, str],
    changes: Sequence[tuple[str, Prediction]] = (),
) -> Section:
    """Section of a prediction by `models.swapping.response_time`.

    Parameters
    ----------
    machine : Swapping
        Input of the model.
    prediction : Prediction
    sources : mapping
        Origin of each input, by field.
    changes : sequence of (str, Prediction)
        Predictions for other machines, by their difference.
    """
    response = shown.estimate(predicted.estimate(prediction.quantity("response_s")))
    busiest, quantity = max(DEVICES.items(), key=lambda item: float(prediction[item[1]]))
    busy = shown.quantity(float(prediction[quantity]), "share")
    answer = predicted.section(
        "swapping",
        "How long do interactions take?",
        prediction,
        LABELS,
        summary=[
            f"An interaction takes {response}; the busiest device is the {busiest}, with a utilisation of "
            f"{busy}."
        ],
        tables=(_inputs(machine, sources),),
    )
    return replace(answer, tables=(*answer.tables, _changes(prediction, changes))) if changes else answer


def _inputs(machine: Swapping, sources: Mapping[str, str]) -> Table:
    return Table.of(
        [field for field in fields(machine) if getattr(machine, field.name) is not None],
        Col("input", lambda field: field.name),
        Col(
            "value",
            lambda field: _cell(getattr(machine, field.name), "s" if field.name.endswith("_s") else ""),
        ),
        Col("from", lambda field: sources.get(field.name, "default")),
        name="swapping-machine",
        caption="The machine",
    )


def _cell(value: object, unit: str) -> Cell:
    if isinstance(value, Estimate):
        return replace(value, unit=unit)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return Estimate(value=value, unit=unit, n=0, method="given")
    if isinstance(value, (list, tuple)):
        return ", ".join(shown.cell(_cell(item, unit)) for item in value)
    return str(value)


def _changes(prediction: Prediction, changes: Sequence[tuple[str, Prediction]]) -> Table:
    """Table of the other machines below the machine as it is."""
    base = prediction.number("throughput_per_s")
    return Table.of(
        (("as it is", prediction), *changes),
        Col("machine", lambda item: item[0]),
        Col(
            "change in throughput",
            lambda item: modelled(item[1].number("throughput_per_s") / base - 1.0, "share"),
        ),
        Cols(
            COMPARED.values(),
            lambda item: [predicted.estimate(item[1].quantity(name)) for name in COMPARED],
        ),
        name="swapping-changes",
        caption="Effect of changes",
    )
