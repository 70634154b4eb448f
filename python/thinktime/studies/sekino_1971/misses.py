"""Why a simulated cell misses the printed one: which of its parts differs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from thinktime.studies.cells import Figure
from thinktime.studies.sekino_1971.machine import Machine, parameters_of
from thinktime.studies.sekino_1971.mechanisms import NO_GROWTH, NO_INTERFERENCE, NO_LOCKS
from thinktime.studies.sekino_1971.recomputed import identity, known
from thinktime.studies.sekino_1971.tables import (
    BETWEEN,
    CAPACITY,
    CONFIGURATIONS,
    EVENTS,
    OVERHEAD,
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
        if figure.verdict == "misses" and figure.table in (CAPACITY, CONFIGURATIONS, BETWEEN, OVERHEAD):
            found.setdefault(figure.table, []).append(_why(machine, figure))
    return {table: tuple(said) for table, said in found.items()}


def _why(machine: Machine, figure: Figure) -> str:
    configuration = SYSTEMS[str(figure.row["configuration"])]
    if figure.table == CONFIGURATIONS:
        part = 100.0 * figure.ours / configuration.eligible
        return (
            f"{configuration.words}: {configuration.eligible:g} is the limit, of which {part:.1f} % are "
            "reached: at times fewer processes have work."
        )
    event = str(figure.row["event"])
    head = f"{configuration.words}, {words(event)}: {figure.ours:.{figure.places}f} for {figure.published:g}"
    if figure.table == OVERHEAD:
        parts = _of_overhead(machine, configuration, event)
    elif event in EVENTS:
        parts = _of_event(machine, configuration, event, of_share=figure.table == CAPACITY)
    else:
        parts = _of_rest(machine, configuration)
    return f"{head}; {', '.join(parts)}."


def _of_event(machine: Machine, configuration: Configuration, event: str, of_share: bool) -> Iterator[str]:
    """Part a ratio: events a second = events a useful second x useful work, share = that x overhead."""
    _, between, overhead = identity(configuration.name, event)
    useful = known(CAPACITY, configuration.name, "useful_work")
    if not (between and overhead and useful):
        return
    time, cost, work = (
        machine.mean(configuration, response)
        for response in (f"{event}_between_s", f"{event}_overhead_s", "useful_share")
    )
    more = 100.0 * work / useful.value
    if of_share:
        yield f"an event costs {1000.0 * cost / overhead.value:.2f} times as much as published"
    often = between.value / (1000.0 * time) / more
    yield f"there are {often:.2f} times as many in a useful second as published"
    yield f"and {more:.2f} times as much useful work"


def _of_overhead(machine: Machine, configuration: Configuration, event: str) -> Iterator[str]:
    """Take growth with core, interference and lockout away from an overhead, one after another."""
    own = parameters_of(configuration)
    response = f"{event}_overhead_s"
    value = machine.values(own, response).mean()
    for name, changes in (("interference and lockout", NO_INTERFERENCE | NO_LOCKS), ("growth", NO_GROWTH)):
        own = own | changes
        rest = machine.values(own, response).mean()
        yield f"{1000.0 * (value - rest):.2f} ms of it are {name}"
        value = rest


def _of_rest(machine: Machine, configuration: Configuration) -> Iterator[str]:
    """Lines of Table 1 that differ most, in points."""
    off = {}
    for state in STATES:
        cell = known(CAPACITY, configuration.name, state)
        if cell is not None:
            name = f"{state.removesuffix('_work')}_share"
            off[state] = 100.0 * machine.mean(configuration, name) - cell.value
    for state in sorted(off, key=lambda each: -abs(off[each]))[:4]:
        yield f"{words(state)} {off[state]:+.1f} points".replace("-", "\N{MINUS SIGN}")
