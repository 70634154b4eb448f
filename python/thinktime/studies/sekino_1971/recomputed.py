"""What the printed numbers say of each other: nothing here is simulated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from thinktime.documents.document import Cell, Column, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.cells import Figure, Finding, Tolerance
from thinktime.studies.paper import rounded
from thinktime.studies.published import Printed
from thinktime.studies.sekino_1971.tables import (
    BETWEEN,
    BETWEEN_MS,
    CAPACITY,
    EVENTS,
    FULL,
    NAME,
    OVERHEAD,
    OVERHEAD_MS,
    PAPER,
    PERCENT,
    QUANTITIES,
    SMALL,
    STATES,
    SYSTEMS,
    Configuration,
    printed,
    words,
)
from thinktime.studies.study import Chapter

__all__ = ["TABLES", "chapter", "deviations", "identity", "known", "share"]

TABLES = (CAPACITY, BETWEEN, OVERHEAD, "facts")
DIGITS = Tolerance("digits")
HALF_DIGIT = 0.05
"""Half a unit of the last digit of Table 1, points."""


def chapter(_: object) -> Chapter:
    """Every printed number that follows from other printed numbers."""
    figures = (*_identity(), *_facts())
    off = deviations()
    worst = max(off, key=lambda key: abs(off[key]))
    sums = ", ".join(f"{configuration.words} {total:.1f}" for configuration, total in _totals())
    summary = (
        "The share of capacity that goes to an event is its overhead over the time between two such events: "
        f"Table 1 is 100 x Table 3 / Table 2. {len(off)} cells of Table 1 can be recomputed so; the farthest "
        f"off is {words(worst[1])} of {SYSTEMS[worst[0]].words}, by {off[worst]:+.3f} points.",
        f"The lines of Table 1, idle and useful work among them, add to 100 % but for rounding: {sums}.",
        _open(),
    )
    method = (
        "Table 1 is recomputed from the printed digits of Tables 2 and 3 as they stand, and agrees if it "
        "rounds to what is printed. Tables 2 and 3 are recomputed from the other two with all that the "
        "rounding of these allows."
    )
    return Chapter(figures, (finding(),), summary, tables=(_table(),), method=method)


def share(overhead_ms: float, between_ms: float) -> float:
    """Share of capacity that goes to an event, in per cent: 100 x overhead / time between events."""
    return 100.0 * overhead_ms / between_ms


def known(table: str, configuration: str, event: str) -> Printed | None:
    """Find the printed number of a line of Table 1, 2 or 3; None where the cell is empty."""
    row = {"configuration": configuration, "event": event}
    return PAPER.tables[table].cell(row, QUANTITIES[table])


def identity(configuration: str, event: str) -> tuple[Printed | None, Printed | None, Printed | None]:
    """Share, time between events and overhead of an event, as far as they are printed."""
    first, second, third = (known(table, configuration, event) for table in (CAPACITY, BETWEEN, OVERHEAD))
    return first, second, third


def deviations() -> dict[tuple[str, str], float]:
    """100 x Table 3 / Table 2 less Table 1, in points, by configuration and event."""
    found = {}
    for name in SYSTEMS:
        for event in EVENTS:
            part, between, overhead = identity(name, event)
            if part and between and overhead:
                found[name, event] = share(overhead.value, between.value) - part.value
    return found


def finding() -> Finding:
    """Whether the identity holds to the printed digit."""
    off = deviations()
    most = max(map(abs, off.values()))
    return Finding(
        NAME,
        "identity",
        "Tables 1 to 3",
        most <= HALF_DIGIT,
        f"largest deviation of {len(off)} products {most:.3f} points; half a printed digit is {HALF_DIGIT:g}",
        "overhead per event over the mean time between events is the share of capacity, to the printed digit",
    )


def _identity() -> Iterator[Figure]:
    for name in SYSTEMS:
        for event in EVENTS:
            row = {"configuration": name, "event": event}
            part, between, overhead = identity(name, event)
            if between and overhead:
                # As the digits stand: what rounding allows is more than the half digit that is claimed.
                value = share(overhead.value, between.value)
                ours = Estimate(value=value, unit="%", n=2, method="recomputed from printed numbers")
                yield PAPER.figure(CAPACITY, row, PERCENT, ours, "arithmetic", DIGITS)
            if part and overhead:
                ours = rounded(lambda of, cost: 100.0 * cost / of, [part, overhead], "ms")
                yield PAPER.figure(BETWEEN, row, BETWEEN_MS, ours, "arithmetic", DIGITS)
            if part and between:
                ours = rounded(lambda of, time: of * time / 100.0, [part, between], "ms")
                yield PAPER.figure(OVERHEAD, row, OVERHEAD_MS, ours, "arithmetic", DIGITS)


def _facts() -> Iterator[Figure]:
    runs = PAPER.facts["N-F01"].context.removeprefix("MPM").split(" through MPM")
    first, last = map(int, runs)
    yield PAPER.fact("N-F01", _exact(last - first + 1.0, 2, "runs"), "arithmetic", DIGITS)
    for name, configuration in (("N-F04", SMALL), ("N-F06", FULL)):
        row = {"configuration": configuration.name, "event": "useful_work"}
        useful = printed(CAPACITY, row, PERCENT).value
        yield PAPER.fact(name, _exact(useful, 1, "%"), "arithmetic", DIGITS)
    added = SYSTEMS["1cpu_384k"].core_kwords - SMALL.core_kwords
    yield PAPER.fact("N-F07", _exact(float(added), 2, "Kwords"), "arithmetic", DIGITS)
    gates = [identity(name, "gate_fault")[:2] for name in (SMALL.name, FULL.name)]
    for configuration, (part, between) in zip((SMALL, FULL), gates, strict=True):
        if part and between:
            ours = rounded(lambda of, time: of * time / 100.0, [part, between], "ms")
            yield _labelled(PAPER.fact("N-F08", ours, "arithmetic", DIGITS), configuration)


def _labelled(figure: Figure, configuration: Configuration) -> Figure:
    """Name the configuration by which a number of the text was recomputed."""
    row = {**figure.row, "configuration": configuration.name}
    return replace(figure, row=row, label=f"{figure.label}, {configuration.words}")


def _exact(value: float, inputs: int, unit: str) -> Estimate:
    return Estimate(value=value, unit=unit, n=inputs, method="recomputed from printed numbers")


def _totals() -> Iterator[tuple[Configuration, float]]:
    """Add up the columns of Table 1 that are printed."""
    for name, configuration in SYSTEMS.items():
        cells = [known(CAPACITY, name, state) for state in STATES]
        values = [cell.value for cell in cells if cell is not None]
        if len(values) == len(cells):
            yield configuration, sum(values)


def _open() -> str:
    """Say which cells the identity could fill: those of which two of three are printed."""
    found: dict[int, list[str]] = {}
    for name in SYSTEMS:
        for event in EVENTS:
            count = sum(cell is not None for cell in identity(name, event))
            found.setdefault(count, []).append(f"{words(event)} of {SYSTEMS[name].words}")
    two = found.get(2, [])
    if two:
        return f"Two of the three are printed, so that the third follows, of {'; '.join(two)}."
    return (
        f"All three are printed of {len(found.get(3, []))} events, two of none, one of "
        f"{len(found.get(1, []))}: the identity fills no cell that is not printed."
    )


def _table() -> Table:
    """Events per useful second and per page fault, as they follow from Tables 1 and 2."""
    rows: list[tuple[Cell, ...]] = []
    for name, configuration in SYSTEMS.items():
        useful = known(CAPACITY, name, "useful_work")
        faults = identity(name, EVENTS[0])[1]
        for event in EVENTS:
            part, between, _ = identity(name, event)
            if part and between and useful and faults:
                a_second = 1000.0 / between.value / (useful.value / 100.0)
                each = faults.value / between.value
                costs = part.value / useful.value
                cells = (f"{a_second:.1f}", f"{each:.2f}", f"{costs:.3f}")
                rows.append((configuration.words, words(event), *cells))
    columns = (
        Column("configuration"),
        Column("event"),
        Column("per useful second", scaled=False),
        Column("per page fault", scaled=False),
        Column("overhead per useful time", scaled=False),
    )
    caption = "What a second of useful work takes with it, by the printed numbers"
    return Table(name="per-useful-second", caption=caption, columns=columns, rows=tuple(rows))
