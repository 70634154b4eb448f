"""Why a simulated cell misses the printed one: which of its parts differs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from thinktime.reports.compared import Figure
from thinktime.studies.sekino_1971.machine import Machine
from thinktime.studies.sekino_1971.recomputed import identity, known
from thinktime.studies.sekino_1971.tables import (
    BETWEEN,
    CAPACITY,
    EVENTS,
    STATES,
    SYSTEMS,
    Configuration,
    words,
)

__all__ = ["notes"]


def notes(machine: Machine, figures: Iterable[Figure]) -> dict[str, tuple[str, ...]]:
    """For each published table, what the cells that miss are made of."""
    found: dict[str, list[str]] = {}
    for figure in figures:
        if figure.verdict == "misses" and figure.table in (CAPACITY, BETWEEN):
            found.setdefault(figure.table, []).append(_why(machine, figure))
    return {table: tuple(said) for table, said in found.items()}


def _why(machine: Machine, figure: Figure) -> str:
    configuration, event = SYSTEMS[str(figure.row["configuration"])], str(figure.row["event"])
    head = f"{configuration.words}, {words(event)}: {figure.ours:.1f} for {figure.published:g}"
    parts = _of_event(machine, configuration, event) if event in EVENTS else _of_rest(machine, configuration)
    return f"{head}; {', '.join(parts)}."


def _of_event(machine: Machine, configuration: Configuration, event: str) -> Iterator[str]:
    """Part a ratio: share = overhead x events a useful second x useful work, and so for the time between."""
    part, between, overhead = identity(configuration.name, event)
    useful = known(CAPACITY, configuration.name, "useful_work")
    if not (part and between and overhead and useful):
        return
    ours = {name: machine.mean(configuration, f"{event}_{name}") for name in ("between_s", "overhead_s")}
    work = machine.mean(configuration, "useful_share") / (useful.value / 100.0)
    often = between.value / 1000.0 / ours["between_s"]
    yield f"an event costs {1000.0 * ours['overhead_s'] / overhead.value:.2f} times as much as published"
    yield f"there are {often / work:.2f} times as many in a useful second"
    yield f"and {work:.2f} times as much useful work"


def _of_rest(machine: Machine, configuration: Configuration) -> Iterator[str]:
    """Lines of Table 1 that differ most, in points."""
    off = {}
    for state in STATES:
        cell = known(CAPACITY, configuration.name, state)
        if cell is not None:
            name = f"{state.removesuffix('_work')}_share"
            off[state] = 100.0 * machine.mean(configuration, name) - cell.value
    for state in sorted(off, key=lambda each: -abs(off[each]))[:4]:
        yield f"{words(state)} {off[state]:+.1f} points"
