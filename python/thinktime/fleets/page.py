"""Page of a fleet: three sentences that answer, cards, and the sections."""

from __future__ import annotations

from collections.abc import Iterator

from thinktime.documents import format as shown
from thinktime.documents.document import Document, Finding, Highlight, Section
from thinktime.documents.wording import share
from thinktime.fleets import section
from thinktime.fleets.answer import Fleet
from thinktime.fleets.machines import UNNAMED

ROWS_MOST = 100
"""Rows of a table of machines in a page or text; other formats have all."""


def document(fleet: Fleet, most: int | None = ROWS_MOST) -> Document:
    """Document of a fleet.

    Parameters
    ----------
    fleet : Fleet
    most : int, optional
        Most machines in a table; None for all of them, as programs want them.
    """
    sections: tuple[Section, ...] = (
        section.saturation(fleet, most),
        section.room(fleet, most),
        section.cost(fleet),
        section.outliers(fleet, most),
        section.logs(fleet, most),
    )
    if not fleet.machines:
        sections = sections[-1:]
    models = {machine.model for machine in fleet.machines} - {UNNAMED}
    return Document(
        title=f"A fleet of {shown.count(len(fleet.machines), 'machine')}",
        subtitle=_subtitle(fleet, len(models)),
        findings=tuple(_findings(fleet)),
        sections=sections,
        highlights=tuple(_highlights(fleet)),
        facts=(
            ("Logs", str(fleet.logs)),
            ("Machines", str(len(fleet.machines))),
            ("Models", str(len(models))),
            ("Confidence of intervals", f"{100 * fleet.level:g} %"),
        ),
        origin="Made by thinktime from the logs alone: the same logs give the same page.",
    )


def _subtitle(fleet: Fleet, models: int) -> str:
    if not fleet.machines:
        return f"None of {shown.count(fleet.logs, 'log')} could be used."
    of_models = f" of {shown.count(models, 'model')}" if models else ""
    return (
        f"{shown.count(len(fleet.machines), 'machine')}{of_models}, recorded from "
        f"{shown.moment(fleet.start_us)} to {shown.moment(fleet.end_us)}."
    )


def _findings(fleet: Fleet) -> Iterator[Finding]:
    if not fleet.machines:
        yield Finding("No log says anything about its machine.", section="logs", tone="warning")
        yield Finding(section.unusable_sentence(fleet.unusable), section="logs", tone="warning")
        return
    saturated = section.saturation(fleet, 0).summary
    yield Finding(" ".join(saturated[:2]), section="saturation")
    told = section.room(fleet, 0).summary
    if told:
        yield Finding(told[0], section="room")
    if any(item.test is not None for item in fleet.costs):
        yield Finding(next(iter(section.cost_sentences(fleet))), section="cost")
    if fleet.outliers.outliers:
        yield Finding(section.outlier_sentence(fleet), section="outliers")
    if fleet.unusable:
        yield Finding(section.unusable_sentence(fleet.unusable), section="logs", tone="warning")
    if any(machine.notes for machine in fleet.machines):
        yield Finding(section.logs(fleet, 0).summary[-1], section="logs", tone="warning")
    worst = fleet.machines[0]
    if worst.saturated:
        yield Finding(
            f"See what holds up {worst.name}: thinktime report {worst.paths[-1]} -o report.html", tone="next"
        )


def _highlights(fleet: Fleet) -> Iterator[Highlight]:
    if not fleet.machines:
        return
    full = sum(bool(machine.saturated) for machine in fleet.machines)
    yield Highlight(
        name="saturated",
        label="Saturated for an hour or more",
        value=full,
        unit="machine",
        note=f"of {len(fleet.machines)}",
        section="saturation",
    )
    if fleet.room is not None:
        yield Highlight(
            name="room",
            label="Room for more active users",
            value=fleet.room,
            unit="user",
            note=f"of {shown.count(fleet.room.n, 'machine')}, beyond the busiest hour of each",
            section="room",
        )
    busiest = max(fleet.machines, key=lambda machine: machine.busy.value)
    yield Highlight(
        name="busiest",
        label="Busiest machine",
        value=share(busiest.busy),
        unit="share",
        note=f"{busiest.name}, mean of the whole record",
        section="saturation",
    )
    if fleet.outliers.tests:
        yield Highlight(
            name="outliers",
            label="Unlike their model",
            value=len({item.machine for item in fleet.outliers.outliers}),
            unit="machine",
            note=shown.count(fleet.outliers.tests, "comparison"),
            section="outliers",
        )
