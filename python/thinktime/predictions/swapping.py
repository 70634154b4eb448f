"""A machine that swaps, by the model that needs no saturated disk, and what changes would do to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Column, Section, Table
from thinktime.predictions import prediction as predicted
from thinktime.stats.estimate import Estimate

if TYPE_CHECKING:
    from thinktime.models.prediction import Prediction
    from thinktime.models.swapping.response_time import Swapping

__all__ = ["LABELS", "section"]

LABELS = {
    "elapsed_s": "elapsed time of all interactions",
    "throughput_per_s": "interactions per second",
    "response_s": "response time of an interaction",
    "stretch": "response over what one process alone would take",
    "swaps": "swaps in and out, of all interactions",
    "swaps_per_interaction": "swaps in and out an interaction",
    "forced_swaps": "part of the swaps that took a ready process out of memory",
    "controller_utilisation": "busy part of the controller's time",
    "queue_length": "requests at the controller, the one in service included",
    "swapper_busy": "part of the time with a swap under way or waiting",
    "cpu_utilisation": "busy part of the CPU's time",
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
    "swaps_per_interaction": "swaps an interaction",
    "controller_utilisation": "controller busy",
    "cpu_utilisation": "CPU busy",
    "fitting": "fit",
}
"""Figures of a change that its table shows, and their headings."""


def section(
    system: Swapping,
    found: Prediction,
    sources: Mapping[str, str],
    changes: Sequence[tuple[str, Prediction]] = (),
) -> Section:
    """Section of a prediction by `models.swapping`.

    Parameters
    ----------
    system : Swapping
        What the model was told.
    found : Prediction
        What it said.
    sources : mapping
        Where each figure comes from, by the name of the field.
    changes : sequence of (str, Prediction)
        What the model said of other machines, by what was changed.
    """
    response = shown.cell(predicted.estimate(found.quantity("response_s")))
    busiest, quantity = max(DEVICES.items(), key=lambda each: float(found[each[1]]))
    busy = shown.quantity(float(found[quantity]), "share")
    summary = [f"An interaction takes {response}; the busiest device is the {busiest}: {busy} of the time."]
    made = predicted.section(
        "swapping",
        "How long do interactions take?",
        found,
        LABELS,
        summary=summary,
        tables=(_told(system, sources),),
    )
    return replace(made, tables=(*made.tables, _changes(found, changes))) if changes else made


def _told(system: Swapping, sources: Mapping[str, str]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for field in fields(system):
        value = getattr(system, field.name)
        if value is not None:
            unit = "s" if field.name.endswith("_s") else ""
            rows.append((field.name, _cell(value, unit), sources.get(field.name, "default")))
    columns = (Column("figure"), Column("value"), Column("from"))
    return Table(name="swapping-machine", caption="The machine", columns=columns, rows=tuple(rows))


def _cell(value: object, unit: str) -> Cell:
    if isinstance(value, Estimate):
        return replace(value, unit=unit)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return Estimate(value=float(value), unit=unit, n=0, method="given")
    if isinstance(value, (list, tuple)):
        return ", ".join(shown.cell(_cell(each, unit)) for each in value)
    return str(value)


def _changes(found: Prediction, changes: Sequence[tuple[str, Prediction]]) -> Table:
    """Set what changes do beside the machine as it is."""
    base = float(found["throughput_per_s"])
    rows: list[tuple[Cell, ...]] = []
    for name, other in (("as it is", found), *changes):
        more = float(other["throughput_per_s"]) / base - 1.0
        cells = (predicted.estimate(other.quantity(quantity)) for quantity in COMPARED)
        rows.append((name, Estimate(value=more, unit="share", n=0, method="model"), *cells))
    columns = (
        Column("machine"),
        Column("change of interactions"),
        *(Column(heading) for heading in COMPARED.values()),
    )
    return Table(name="swapping-changes", caption="What changes would do", columns=columns, rows=tuple(rows))
