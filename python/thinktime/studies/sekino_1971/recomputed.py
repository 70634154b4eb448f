"""Consistency of the printed numbers: nothing here is simulated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from thinktime.documents.document import Col, Table
from thinktime.studies.cells import Cell, Claim
from thinktime.studies.common_sections import doubtful
from thinktime.studies.estimates import exact, rounded
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.published import Printed
from thinktime.studies.sekino_1971.configurations import (
    BETWEEN,
    CAPACITY,
    CONFIGURATIONS,
    EVENTS,
    FULL,
    LARGE,
    OVERHEAD,
    PAPER,
    QUANTITIES,
    SMALL,
    STATES,
    SYSTEMS,
    Configuration,
    line,
    value_of,
    words,
)
from thinktime.studies.study import Chapter

GATE = "gate_fault"
FIRST_LINE_MS = (108.0, 99.4, 147.0)
SECOND_LINE_MS = (100.0, 27.4, 147.0)
"""Table 2 ends with two lines of gate faults; one column per configuration."""


def share(overhead_ms: float, between_ms: float) -> float:
    """Share of capacity that goes to an event, in per cent: 100 x overhead / time between events."""
    return 100.0 * overhead_ms / between_ms


def identity(configuration: Configuration, event: str) -> tuple[Printed | None, ...]:
    """Share, time between events and overhead of an event, as far as they are printed."""
    return tuple(line(table, configuration, event) for table in (CAPACITY, BETWEEN, OVERHEAD))


def chapter(_: Laboratory | None) -> Chapter:
    """Every printed number that follows from other printed numbers."""
    deviations = identity_deviations()
    name, event = max(deviations, key=lambda key: abs(deviations[key]))
    totals = ", ".join(f"{item.words} {total:.1f}" for item, total in _totals())
    summary = (
        "The share of capacity that goes to an event is its overhead over the time between two such events: "
        f"Table 1 is 100 x Table 3 / Table 2. {len(deviations)} cells of Table 1 can be recomputed in this "
        f"way; the farthest off is {words(event)} of {SYSTEMS[name].words}, by "
        f"{deviations[name, event]:+.3f} points.",
        f"The lines of Table 1, idle and useful work among them, add up to 100 % but for rounding: {totals}.",
        _not_printed(),
    )
    method = (
        "Table 1 is recomputed from the printed digits of Tables 2 and 3 as they stand, and agrees if it "
        "rounds to what is printed. Tables 2 and 3 are recomputed from the other two with all that the "
        "rounding of these allows."
    )
    return Chapter(
        cells=(*_identity(), *_facts()),
        claims=(identity_claim(),),
        summary=summary,
        tables=(_per_useful_second(),),
        method=method,
    )


def identity_deviations() -> dict[tuple[str, str], float]:
    """100 x Table 3 / Table 2 less Table 1, in points, by configuration and event."""
    deviations = {}
    for name, item in SYSTEMS.items():
        for event in EVENTS:
            printed, between, overhead = identity(item, event)
            if printed and between and overhead:
                deviations[name, event] = share(overhead.value, between.value) - printed.value
    return deviations


def identity_claim() -> Claim:
    """Claim that the identity holds to the printed digit."""
    deviations = [abs(deviation) for deviation in identity_deviations().values()]
    return PAPER.claim("identity", {"deviations": deviations})


def _identity() -> Iterator[Cell]:
    for name, item in SYSTEMS.items():
        for event in EVENTS:
            row = {"configuration": name, "event": event}
            printed, between, overhead = identity(item, event)
            if between and overhead:
                # From the digits as they stand: rounding allows more than the half digit that is claimed.
                ours = exact(share(overhead.value, between.value), "%", 2)
                yield PAPER.recomputed(CAPACITY, row, QUANTITIES[CAPACITY], ours)
            if printed and overhead:
                ours = rounded(lambda part, cost: 100.0 * cost / part, [printed, overhead], "ms")
                yield PAPER.recomputed(BETWEEN, row, QUANTITIES[BETWEEN], ours)
            if printed and between:
                ours = rounded(lambda part, time: part * time / 100.0, [printed, between], "ms")
                yield PAPER.recomputed(OVERHEAD, row, QUANTITIES[OVERHEAD], ours)


def _facts() -> Iterator[Cell]:
    runs = PAPER.facts["measurement-runs"].context.removeprefix("MPM").split(" through MPM")
    first, last = map(int, runs)
    yield PAPER.recomputed_fact("measurement-runs", exact(last - first + 1.0, "runs", 2))
    for name, item in (("useful-work-1cpu-256k", SMALL), ("useful-work-2cpu-384k", FULL)):
        yield PAPER.recomputed_fact(name, exact(value_of(CAPACITY, item, "useful_work"), "%", 1))
    added = LARGE.core_kwords - SMALL.core_kwords
    yield PAPER.recomputed_fact("memory-added", exact(float(added), "Kwords", 2))
    for item in (SMALL, FULL):
        printed, between, _ = identity(item, GATE)
        if printed and between:
            ours = rounded(lambda part, time: part * time / 100.0, [printed, between], "ms")
            cell = PAPER.recomputed_fact("gate-fault-overhead", ours)
            row = {**cell.row, "configuration": item.name}
            yield replace(cell, row=row, label=f"{cell.label}, {item.words}")


def _totals() -> Iterator[tuple[Configuration, float]]:
    """Sums of the columns of Table 1 that are printed."""
    for item in SYSTEMS.values():
        values = [cell.value for state in STATES if (cell := line(CAPACITY, item, state)) is not None]
        if len(values) == len(STATES):
            yield item, sum(values)


def _not_printed() -> str:
    """Cells that the identity could fill: those of which two of the three numbers are printed."""
    events_by_count: dict[int, list[str]] = {}
    for item in SYSTEMS.values():
        for event in EVENTS:
            count = sum(number is not None for number in identity(item, event))
            events_by_count.setdefault(count, []).append(f"{words(event)} of {item.words}")
    two = events_by_count.get(2, [])
    if two:
        return f"Two of the three are printed, so that the third follows, of {'; '.join(two)}."
    return (
        f"All three are printed of {len(events_by_count.get(3, []))} events, two of none, one of "
        f"{len(events_by_count.get(1, []))}: the identity fills no cell that is not printed."
    )


def _per_useful_second() -> Table:
    """Events per useful second and per page fault, as they follow from Tables 1 and 2."""
    rows = [
        (item, event, printed.value, between.value)
        for item in SYSTEMS.values()
        for event in EVENTS
        for printed, between, _ in (identity(item, event),)
        if printed and between and line(CAPACITY, item, "useful_work")
    ]

    def useful(item: Configuration) -> float:
        return value_of(CAPACITY, item, "useful_work")

    return Table.of(
        rows,
        Col("configuration", lambda row: row[0].words),
        Col("event", lambda row: words(row[1])),
        Col(
            "per useful second", lambda row: f"{1000.0 / row[3] / (useful(row[0]) / 100.0):.1f}", scaled=False
        ),
        Col(
            "per page fault", lambda row: f"{value_of(BETWEEN, row[0], EVENTS[0]) / row[3]:.2f}", scaled=False
        ),
        Col("overhead per useful time", lambda row: f"{row[2] / useful(row[0]):.3f}", scaled=False),
        name="per-useful-second",
        caption="Events and overhead that come with a second of useful work, by the printed numbers",
    )


def doubts(_: Laboratory | None) -> Chapter:
    """Printed numbers that can be read in two ways, or imply less than they seem to."""
    return doubtful(
        ("two lines of gate faults in Table 2", "108. 99.4 147. and 100. 27 . 4 147.", _gate_lines),
        ("gate faults of 1 CPU, 384K", "99.4 in the first line; the column is not given", _gate_faults),
        ("overhead of a gate fault", "3.67 ms in all columns, an estimate", _gate_overhead),
        ("sum of the first column of Table 1", "lines that add up to less than 100 %", _sum),
        ("runs", "MPM115 through MPM121, one of them in no column", _runs),
        ("Drum IT and IT", "interrupts, the second without a word of which", _interrupts),
    )


def _gate_lines() -> str:
    overhead = value_of(OVERHEAD, SMALL, GATE)
    implied = []
    for name, times in (("first", FIRST_LINE_MS), ("second", SECOND_LINE_MS)):
        shares = ", ".join(f"{share(overhead, between):.1f}" for between in times)
        implied.append(f"the {name} gives {shares} %")
    printed = " and ".join(f"{value_of(CAPACITY, item, GATE):.1f}" for item in (SMALL, FULL))
    return f"with {overhead:g} ms {'; '.join(implied)}; Table 1 has {printed} % in the outer columns"


def _gate_faults() -> str:
    implied = value_of(CAPACITY, SMALL, "useful_work") * FIRST_LINE_MS[0] / FIRST_LINE_MS[1]
    return (
        f"if gate faults come with useful work as often as with {SMALL.words}, {FIRST_LINE_MS[1]:g} ms "
        f"between them mean {implied:.1f} % of useful work; nothing here is fitted to it"
    )


def _gate_overhead() -> str:
    implied = [
        f"{value_of(CAPACITY, item, GATE) * value_of(BETWEEN, item, GATE) / 100.0:.2f} ms with {item.words}"
        for item in (SMALL, FULL)
    ]
    return f"share times time between events is {' and '.join(implied)}: the shares were made with it"


def _sum() -> str:
    sums = [f"{total:.1f} % with {item.words}" for item, total in _totals()]
    reach = len(STATES) * PAPER.amount("identity")
    return f"{', '.join(sums)}; the rounding of {len(STATES)} lines allows {reach:.1f} points"


def _runs() -> str:
    table = PAPER.tables[CONFIGURATIONS]
    named = sorted(int(run) for row in table.rows for run in table.remark(row, "mpm_runs").split(";"))
    stated = int(PAPER.facts["measurement-runs"].value.value)
    missing = sorted(set(range(named[0], named[0] + stated)) - set(named))
    listed = ", ".join(f"MPM{run}" for run in missing)
    return f"{len(named)} runs stand in the {len(SYSTEMS)} columns, {stated} were made; {listed} is missing"


def _interrupts() -> str:
    ratios = []
    for item in (SMALL, FULL):
        faults, drum, others = (
            value_of(BETWEEN, item, event) for event in ("page_fault", "drum_interrupt", "interrupt")
        )
        ratios.append(f"{faults / drum:.2f} and {faults / others:.2f} with {item.words}")
    return (
        f"per page fault there are {'; '.join(ratios)}: the first come with paging, the second are all others"
    )
