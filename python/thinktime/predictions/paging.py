"""A machine with demand paging: what it does, how many processes should be eligible, and what changes do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Column, Section, Table
from thinktime.documents.wording import capital
from thinktime.predictions import paging_figures
from thinktime.predictions import prediction as predicted
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.models.prediction import Prediction

__all__ = ["LABELS", "Point", "levels", "machine", "sweep"]

KINDS = ("page_fault", "getwork", "drum_interrupt", "interrupt", "segment_fault", "gate_fault")
LABELS = {
    "throughput_per_s": "interactions per second",
    "response_s": "from input to the end of the work",
    "useful_share": "part of the processors' time in user programs",
    "idle_share": "part in which they have nothing to do",
    "lock_wait_share": "part in which they spin for a lock",
    "eligible_mean": "processes that are eligible",
    "active_mean": "interactions in progress",
    "page_wait_mean_s": "from the request for a page until it is in core",
    "drum_utilisation": "busy part of the drum's time",
    "disk_utilisation": "busy part of a disk arm's time",
    "page_faults_per_interaction": "page faults of an interaction",
    "lifetime_s": "useful time between page faults",
    "pages_held": "pages that an eligible process holds",
    **{f"{kind}_share": f"part of the time in {kind.replace('_', ' ')} paths" for kind in KINDS},
    **{f"{kind}_between_s": f"real time between {kind.replace('_', ' ')}s, a processor" for kind in KINDS},
    **{f"{kind}_overhead_s": f"what one {kind.replace('_', ' ')} costs" for kind in KINDS},
}
SIMULATED = {"throughput_per_s": "interactions_per_s"}
"""Responses of the simulation that have another name there."""
COMPARED = {
    "useful_share": "useful",
    "idle_share": "idle",
    "page_fault_between_s": "between page faults",
    "throughput_per_s": "interactions",
}
ALONE = {**COMPARED, "response_s": "response", "pages_held": "pages held"}
PAGE_WAIT_ONLY = (
    "The simulation's page wait ends when the interrupt has been handled, the model's when the page is there."
)

_Simulated = Mapping[str, Estimate | NotApplicable]


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """One machine of a range: the value that was varied, what is predicted, and what the simulation gave."""

    value: float
    found: Prediction
    simulated: _Simulated | None = None


def response(name: str) -> str:
    """Name of a predicted figure among the simulation's responses."""
    return SIMULATED.get(name, name)


def machine(point: Point, told: Sequence[tuple[str, str]], caveats: Sequence[str] = ()) -> Section:
    """Section of one machine; `told` has names and values of its parameters."""
    found = point.found
    useful, idle = (shown.quantity(float(found[f"{name}_share"]), "share") for name in ("useful", "idle"))
    between = shown.quantity(float(found["page_fault_between_s"]), "s")
    summary = [
        f"Of the processors' time {useful} is useful work and {idle} idle, the rest overhead; there is a "
        f"page fault every {between}, a processor."
    ]
    rows = tuple((name, value) for name, value in told)
    tables = [
        Table(
            name="paging-machine",
            caption="The machine",
            columns=(Column("parameter"), Column("value")),
            rows=rows,
            folded=True,
        )
    ]
    if point.simulated is not None:
        tables.append(_beside(point))
    return predicted.section(
        "paging",
        "What does the machine do?",
        found,
        LABELS,
        summary=summary,
        tables=tables,
        caveats=caveats,
    )


def _beside(point: Point) -> Table:
    """Put every figure that both have beside each other."""
    assert point.simulated is not None
    rows: list[tuple[Cell, ...]] = []
    for quantity in point.found.quantities:
        measured = point.simulated.get(response(quantity.name))
        if isinstance(measured, Estimate) and quantity.name in LABELS:
            own = predicted.estimate(quantity)
            less = Estimate(
                value=float(quantity.value) - measured.value,
                unit=quantity.unit,
                n=measured.n,
                method="difference",
            )
            same = replace(measured, unit=quantity.unit)
            rows.append((quantity.name, LABELS[quantity.name], own, same, less))
    columns = (
        Column("figure"),
        Column("what it is"),
        Column("predicted"),
        Column("simulated"),
        Column("predicted less simulated"),
    )
    notes = (PAGE_WAIT_ONLY,)
    return Table(
        name="paging-beside",
        caption="Predicted and simulated",
        columns=columns,
        rows=tuple(rows),
        notes=notes,
    )


def levels(found: Prediction) -> Section:
    """Section of numbers of processes that are always eligible."""
    best, share = found["optimum"], shown.quantity(found["optimum_share"], "share")
    low, high = found["good_from"], found["good_to"]
    summary = [
        f"Most gets done with {_processes(best)} eligible: {share} of the processors' time is useful then. "
        f"From {low:g} to {high:g} it is nearly as good (at least 95 % of that).",
        f"The machine thrashes from {found['thrashing_from']:g} on: less than half of it gets done."
        if math.isfinite(found["thrashing_from"])
        else "It does not thrash within the range looked at.",
    ]
    return Section(
        name="paging-levels",
        title="How many processes should be eligible?",
        summary=tuple(summary),
        tables=(_levels(found), _criteria(found), predicted.assumptions("paging-levels", found)),
        figures=(paging_figures.levels(found),),
        method=f"{capital(found.method)}. {found.source}.",
    )


def _processes(number: float) -> str:
    return shown.count(int(number), "process")


def _levels(found: Prediction) -> Table:
    names = {
        "useful_share": "useful",
        "idle_share": "idle",
        **{f"{kind}_share": kind.replace("_", " ") for kind in KINDS},
        "page_fault_between_s": "between page faults",
        "throughput_per_s": "interactions",
        "lifetime_s": "lifetime",
        "pages_held": "pages held",
        "page_wait_mean_s": "page wait",
    }
    units = {name: found.quantity(name).unit for name in names}
    rows: list[tuple[Cell, ...]] = [
        (
            str(at + 1),
            *(_cell(float(found[name][at]), unit) for name, unit in units.items()),
        )
        for at in range(len(found["throughput_per_s"]))
    ]
    columns = (Column("eligible"), *(Column(heading) for heading in names.values()))
    return Table(
        name="paging-levels", caption="So many processes, always eligible", columns=columns, rows=tuple(rows)
    )


def _cell(value: float, unit: str) -> Cell:
    return Estimate(value=value, unit=unit, n=0, method="model") if math.isfinite(value) else None


def _criteria(found: Prediction) -> Table:
    throughput = found["throughput_per_s"]
    greatest = float(throughput.max())
    transfer = shown.quantity(found["transfer_s"], "s")
    rules = {
        "optimum": "greatest throughput, by search",
        "lifetime_criterion": f"lifetime at least the time of a page's transfer, {transfer} (L = S)",
        "half_criterion": "drum busy at most half the time (50 %)",
        "knee_criterion": "knee of the lifetime function: L(m)/m greatest",
    }
    rows: list[tuple[Cell, ...]] = []
    for name, rule in rules.items():
        number = int(found[name])
        reached = float(throughput[number - 1]) / greatest if number else None
        part = None if reached is None else Estimate(value=reached, unit="share", n=0, method="model")
        rows.append((rule, str(number) if number else "none", part))
    columns = (Column("rule"), Column("processes"), Column("of the greatest throughput"))
    return Table(name="paging-criteria", caption="What rules say", columns=columns, rows=tuple(rows))


def sweep(name: str, title: str, points: Sequence[Point]) -> Section:
    """Section of machines that differ in the parameter `name`, called `title`."""
    known = [point for point in points if point.simulated is not None]
    summary = [_range(title, points)]
    if known:
        summary.append(_deviation(title, known))
    return Section(
        name=f"paging-{name.replace('_', '-')}",
        title=f"What does {title} do?",
        summary=tuple(summary),
        tables=(_points(name, title, points),),
        figures=(paging_figures.sweep(name, title, points),),
    )


def _range(title: str, points: Sequence[Point]) -> str:
    best = max(points, key=lambda point: float(point.found["throughput_per_s"]))
    share = shown.quantity(float(best.found["useful_share"]), "share")
    return (
        f"Of the values looked at, most gets done with {title} {best.value:g}: {share} of the time is useful."
    )


def _deviation(title: str, points: Sequence[Point]) -> str:
    worst, at = 0.0, points[0]
    for point in points:
        assert point.simulated is not None
        measured = point.simulated["useful_share"]
        if isinstance(measured, Estimate):
            off = float(point.found["useful_share"]) - measured.value
            worst, at = (off, point) if abs(off) > abs(worst) else (worst, at)
    return (
        f"The predicted useful share is at most {100 * abs(worst):.1f} points "
        f"{'above' if worst > 0 else 'below'} the simulated one, with {title} {at.value:g}."
    )


def _points(name: str, title: str, points: Sequence[Point]) -> Table:
    simulated = any(point.simulated is not None for point in points)
    wanted = COMPARED if simulated else ALONE
    rows: list[tuple[Cell, ...]] = []
    for point in points:
        cells: list[Cell] = [f"{point.value:g}"]
        for figure in wanted:
            cells.append(predicted.estimate(point.found.quantity(figure)))
            if simulated:
                measured = point.simulated.get(response(figure)) if point.simulated else None
                unit = point.found.quantity(figure).unit
                cells.append(replace(measured, unit=unit) if isinstance(measured, Estimate) else None)
        rows.append(tuple(cells))
    headings = [Column(title)]
    for heading in wanted.values():
        headings += [Column(heading), Column(f"{heading}, simulated")] if simulated else [Column(heading)]
    table = f"paging-{name.replace('_', '-')}"
    return Table(name=table, caption=f"By {title}", columns=tuple(headings), rows=tuple(rows))
