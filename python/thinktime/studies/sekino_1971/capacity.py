"""Tables 1 to 3 on the simulated machine: where the capacity of each configuration goes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from thinktime.documents import charts, document
from thinktime.documents import format as shown
from thinktime.documents.document import Column, Key, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.cells import Figure, Tolerance
from thinktime.studies.sekino_1971 import misses
from thinktime.studies.sekino_1971.machine import Machine, interval
from thinktime.studies.sekino_1971.recomputed import identity, known, share
from thinktime.studies.sekino_1971.tables import (
    BETWEEN,
    CAPACITY,
    CONFIGURATIONS,
    EVENTS,
    FULL,
    OVERHEAD,
    PAPER,
    QUANTITIES,
    SMALL,
    STATES,
    SYSTEMS,
    Configuration,
    kind_of,
    tolerance_of,
    words,
)
from thinktime.studies.study import Chapter

__all__ = ["COLOURS", "TABLES", "chapter", "response"]

TABLES = (CAPACITY, CONFIGURATIONS, BETWEEN, OVERHEAD, "facts")
COLOURS = {
    "useful_work": "user",
    "page_fault": "iowait",
    "getwork": "system",
    "drum_interrupt": "interrupt",
    "interrupt": "queue",
    "segment_fault": "memory",
    "gate_fault": "steal",
    "idle": "idle",
}
"""Lines of Table 1 in the order in which a bar shows them, and the meaning that gives each its colour."""
RATES = {CAPACITY: ("share", 100.0), BETWEEN: ("between_s", 1000.0), OVERHEAD: ("overhead_s", 1000.0)}
"""What a response ends with, by table, and what it is multiplied by."""


def response(table: str, event: str) -> tuple[str, float]:
    """Response of the simulated system that is a line of a table, and what it is multiplied by."""
    ending, factor = RATES[table]
    return f"{event.removesuffix('_work')}_{ending}", factor


def chapter(machine: Machine) -> Chapter:
    """Tables 1 to 3, published beside simulated."""
    figures = (*_cells(machine), *_loads(machine), *_facts(machine))
    fitted = SMALL.words
    summary = (
        f"One set of parameters serves the three configurations, which differ in processors, core, users and "
        f"eligible processes only. Calibrated were the columns of {fitted} in Tables 1 and 2 and all of "
        "Table 3; the other columns of Tables 1 and 2 are predictions.",
        *_said(machine),
    )
    method = (
        "Means over replications with Student's t. Predicted shares agree within 4 points, useful work and "
        "idle within 8 points, times between events within 20 %; fitted shares within 1 point, fitted times "
        "within 10 %."
    )
    return Chapter(
        figures,
        (),
        summary,
        (_picture(machine),),
        (_mixed(machine),),
        notes=misses.notes(machine, figures),
        method=method,
    )


def _cells(machine: Machine) -> Iterator[Figure]:
    for table, quantity in QUANTITIES.items():
        for row in PAPER.tables[table].rows:
            name, factor = response(table, str(row["event"]))
            ours = interval(machine.measured(SYSTEMS[str(row["configuration"])], name), factor=factor)
            yield PAPER.figure(table, row, quantity, ours, kind_of(table, row), tolerance_of(table, row))


def _loads(machine: Machine) -> Iterator[Figure]:
    """Users and eligible processes: given, the second as a limit that the load must reach."""
    for row in PAPER.tables[CONFIGURATIONS].rows:
        configuration = SYSTEMS[str(row["configuration"])]
        users = Estimate(
            value=float(configuration.users), unit="", n=1, method="parameter of the simulated system"
        )
        yield PAPER.figure(CONFIGURATIONS, row, "n_users", users, "fitted", Tolerance("digits"))
        eligible = interval(machine.measured(configuration, "eligible_mean"))
        allowed = Tolerance("relative", 0.05)
        yield PAPER.figure(CONFIGURATIONS, row, "mean_eligible_processes", eligible, "fitted", allowed)


def _facts(machine: Machine) -> Iterator[Figure]:
    """Throughputs and the estimate that the text states."""
    for name, configuration in (("N-F04", SMALL), ("N-F05", SYSTEMS["1cpu_384k"]), ("N-F06", FULL)):
        row = {"configuration": configuration.name, "event": "useful_work"}
        ours = interval(machine.measured(configuration, "useful_share"), factor=100.0)
        yield PAPER.fact(name, ours, kind_of(CAPACITY, row), tolerance_of(CAPACITY, row))
    gate = interval(machine.measured(SMALL, "gate_fault_overhead_s"), factor=1000.0)
    yield PAPER.fact("N-F08", gate, "fitted", tolerance_of(OVERHEAD, {"configuration": SMALL.name}))


def _said(machine: Machine) -> Iterator[str]:
    for configuration in SYSTEMS.values():
        useful = interval(machine.measured(configuration, "useful_share"))
        waits = interval(machine.measured(configuration, "lock_wait_share"))
        cell = known(CAPACITY, configuration.name, "useful_work")
        beside = f", {cell.value:.1f} % published" if cell else ", not published here"
        locks = (
            f"; {shown.quantity(waits.value, 'share')} pass in waiting for locks, inside the overheads"
            if configuration.cpus > 1
            else ""
        )
        yield (
            f"{configuration.words}: {shown.quantity(useful.value, 'share')} of each processor is useful work"
            f"{beside}{locks}."
        )


def _mixed(machine: Machine) -> Table:
    """Share by the printed overhead where only that is printed: the identity with our time between events."""
    rows: list[tuple[document.Cell, ...]] = []
    for name, configuration in SYSTEMS.items():
        for event in EVENTS:
            part, between, overhead = identity(name, event)
            if overhead is None or part is not None:
                continue
            response_name, factor = response(BETWEEN, event)
            time = interval(machine.measured(configuration, response_name), factor=factor)
            by_identity = share(overhead.value, between.value if between else time.value)
            ours = interval(machine.measured(configuration, response(CAPACITY, event)[0]), "share")
            cells = (configuration.words, words(event), f"{overhead.value:.2f}", time)
            rows.append((*cells, f"{by_identity:.1f}", ours))
    columns = (
        Column("configuration"),
        Column("event"),
        Column("overhead, ms, printed", scaled=False),
        Column("time between, ms, ours", scaled=False),
        Column("share by both, %", scaled=False),
        Column("share, ours", unit="share"),
    )
    caption = "Cells that are not printed: the printed overhead over our time between events, and ours alone"
    return Table(name="by-identity", caption=caption, columns=columns, rows=tuple(rows))


def _picture(machine: Machine) -> document.Figure:
    """Capacity of each configuration, published above ours."""
    bars: list[tuple[str, dict[str, float]]] = []
    for configuration in SYSTEMS.values():
        theirs = _published(configuration)
        if theirs:
            bars.append((f"{configuration.words}, published", theirs))
        ours = {state: 100.0 * machine.mean(configuration, response(CAPACITY, state)[0]) for state in COLOURS}
        bars.append((f"{configuration.words}, ours", ours))
    keys = tuple(Key(words(state), colour=colour) for state, colour in COLOURS.items())
    rows = [row for label, parts in bars for row in _bar(label, parts)]
    columns = (Column("configuration"), *(Column(f"{words(state)}, %", scaled=False) for state in COLOURS))
    data = tuple((label, *(f"{parts[state]:.1f}" for state in COLOURS)) for label, parts in bars)
    title = "Capacity of the processors (Table 1)"
    listed = "; ".join(
        f"{label}: useful work {parts['useful_work']:.1f} %, overhead "
        f"{sum(parts[event] for event in EVENTS):.1f} %, idle {parts['idle']:.1f} %"
        for label, parts in bars
    )
    return document.Figure(
        name="capacity-bars",
        title=title,
        chart=partial(charts.bars, rows, keys, "share of the processors' time"),
        data=Table(name="capacity-bars-data", caption=title, columns=columns, rows=data),
        alt=f"{listed}.",
        keys=keys,
    )


def _published(configuration: Configuration) -> dict[str, float]:
    """Return the printed column of Table 1; empty where it is not printed."""
    cells = {state: known(CAPACITY, configuration.name, state) for state in STATES}
    return {state: cell.value for state, cell in cells.items() if cell is not None}


def _bar(label: str, parts: dict[str, float]) -> Sequence[dict[str, object]]:
    rows: list[dict[str, object]] = []
    at = 0.0
    # Printed lines may add to a little less than all.
    for state in COLOURS:
        part = parts[state] / 100.0
        ends = {"start": at, "end": at + part, "share": part}
        rows.append({"label": label, "part": words(state), "shown": f"{100 * part:.1f} %", **ends})
        at += part
    return rows
