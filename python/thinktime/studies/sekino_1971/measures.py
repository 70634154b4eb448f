"""Tables 1 to 3 and the claims of the memorandum on the simulated machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from thinktime.documents import format as shown
from thinktime.documents.document import Col, Cols, Figure, Key, Table
from thinktime.documents.series import Point, Series
from thinktime.stats.estimate import Estimate
from thinktime.studies.cells import Cell, Claim, held
from thinktime.studies.estimates import Array, given, interval
from thinktime.studies.laboratory import Laboratory, Recorded, applicable
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
    SYSTEM,
    SYSTEMS,
    Configuration,
    compared,
    line,
    mean,
    measured,
    simulated,
    value_of,
    words,
)
from thinktime.studies.sekino_1971.mechanisms import NO_GROWTH, NO_INTERFERENCE, NO_LOCKS, RISING
from thinktime.studies.study import Chapter

if TYPE_CHECKING:
    from thinktime.analyses.capacity.result import Capacity


COLOURS = {
    "useful_work": "user",
    "page_fault": "net",
    "getwork": "system",
    "drum_interrupt": "interrupt",
    "interrupt": "queue",
    "segment_fault": "memory",
    "gate_fault": "steal",
    "idle": "idle",
}
"""Lines of Table 1 in the order in which a bar shows them, and the meaning that gives each its colour."""


def claims(laboratory: Laboratory) -> Chapter:
    """Every claim of the memorandum, with the statistic by which it is judged."""
    judged = tuple(_measures(laboratory))
    summary = (
        f"Of {len(judged)} claims, {held(judged)} hold on the simulated machine. The section on mechanisms "
        "shows the contributions of interference and lockout.",
    )
    return Chapter(claims=judged, summary=summary)


def capacity(laboratory: Laboratory) -> Chapter:
    """Tables 1 to 3, published and simulated."""
    cells = (*_lines(laboratory), *_loads(laboratory), *_facts(laboratory))
    return Chapter(
        cells=cells,
        summary=(
            "One set of parameters serves the three configurations, which differ in processors, core, users "
            f"and eligible processes only. The columns of {SMALL.words} in Tables 1 and 2 and all of "
            "Table 3 were calibrated; the other columns of Tables 1 and 2 are predictions.",
            *_useful_work(laboratory),
        ),
        charts=(_bars(laboratory),),
        tables=(_by_identity(laboratory),),
        notes=_deviations(laboratory, cells),
        method=(
            "Means over replications with Student's t. Predicted shares agree within 4 points, useful work "
            "and idle within 8 points, times between events within 20 %; fitted shares within 1 point, "
            "fitted times within 10 %."
        ),
    )


def _measures(laboratory: Laboratory) -> Iterator[Claim]:
    """Claims with their measures by name."""

    def values(item: Configuration, response: str) -> Array:
        return measured(laboratory, item, response)

    used = {item.words: mean(laboratory, item, "eligible_mean") / item.eligible for item in SYSTEMS.values()}
    yield PAPER.claim("saturated", {"used": used})
    useful = {item.words: interval(values(item, "useful_share"), factor=100.0) for item in (SMALL, FULL)}
    printed = {item.words: value_of(CAPACITY, item, "useful_work") for item in (SMALL, FULL)}
    yield PAPER.claim("percentile-throughput", {"ours": useful, "published": printed})
    processors = {
        name: values(item, "useful_share") * item.cpus
        for name, item in (("small", SMALL), ("large", LARGE), ("full", FULL))
    }
    change = interval(values(FULL, "useful_share") - values(SMALL, "useful_share"), factor=100.0)
    yield PAPER.claim(
        "throughput-falls",
        {
            "change": change,
            "published": printed[FULL.words] - printed[SMALL.words],
            "work": {name: interval(work) for name, work in processors.items()},
            "more": {
                "core": interval(processors["large"] - processors["small"]),
                "both": interval(processors["full"] - processors["small"]),
            },
        },
    )
    longer = value_of(BETWEEN, LARGE, "page_fault") / value_of(BETWEEN, SMALL, "page_fault")
    for event in ("page_fault", "getwork", "drum_interrupt"):
        response = f"{event}_between_s"
        per_fault = {
            item.words: mean(laboratory, item, "page_fault_between_s") / mean(laboratory, item, response)
            for item in SYSTEMS.values()
        }
        published = {
            item.words: value_of(BETWEEN, item, "page_fault") / value_of(BETWEEN, item, event)
            for item in (SMALL, FULL)
        }
        yield PAPER.claim(
            f"core-{event.replace('_', '-')}s",
            {
                "ratio": interval(values(LARGE, response) / values(SMALL, response)),
                "ours": [f"{count:.2f} with {name}" for name, count in per_fault.items()],
                "published": [f"{count:.2f} with {name}" for name, count in published.items()],
                "published_ratio": longer,
            },
        )
    between = {item.name: values(item, "page_fault_between_s") for item in SYSTEMS.values()}
    over_large, over_small = (
        interval(FULL.cpus * between[item.name] / between[FULL.name]) for item in (LARGE, SMALL)
    )
    theirs = {
        name: FULL.cpus * value_of(BETWEEN, item, "page_fault") / value_of(BETWEEN, FULL, "page_fault")
        for name, item in (("over_large", LARGE), ("over_small", SMALL))
    }
    yield PAPER.claim(
        "second-processor-doubles-paging",
        {"over_large": over_large, "over_small": over_small, "published": theirs},
    )
    for event in RISING:
        yield PAPER.claim(f"overhead-{event.replace('_', '-')}", _rise(laboratory, event))
    gates = {
        item.words: interval(values(item, "gate_fault_overhead_s"), factor=1000.0)
        for item in SYSTEMS.values()
    }
    yield PAPER.claim(
        "gate-fault-overhead", {"ours": gates, "estimated": value_of(OVERHEAD, SMALL, "gate_fault")}
    )


def _rise(laboratory: Laboratory, event: str) -> dict[str, Any]:
    """Overhead of an event in the full system, less those in the others, ms."""
    full = measured(laboratory, FULL, f"{event}_overhead_s")
    others = {"small": SMALL, "large": LARGE}
    ours = {
        name: interval(full - measured(laboratory, other, f"{event}_overhead_s"), factor=1000.0)
        for name, other in others.items()
    }
    published = {
        name: value_of(OVERHEAD, FULL, event) - value_of(OVERHEAD, other, event)
        for name, other in others.items()
    }
    return {"more": ours, "published": published}


def _lines(laboratory: Laboratory) -> Iterator[Cell]:
    for table, quantity in QUANTITIES.items():
        for row in PAPER.rows(table):
            ours = simulated(laboratory, table, SYSTEMS[str(row["configuration"])], str(row["event"]))
            yield PAPER.simulated(table, row, quantity, ours)


def _loads(laboratory: Laboratory) -> Iterator[Cell]:
    for row in PAPER.rows(CONFIGURATIONS):
        configuration = SYSTEMS[str(row["configuration"])]
        yield PAPER.simulated(CONFIGURATIONS, row, "n_users", given(float(configuration.users)))
        eligible = interval(measured(laboratory, configuration, "eligible_mean"))
        yield PAPER.simulated(CONFIGURATIONS, row, "mean_eligible_processes", eligible)


def _facts(laboratory: Laboratory) -> Iterator[Cell]:
    for configuration in SYSTEMS.values():
        name = f"useful-work-{configuration.name.replace('_', '-')}"
        yield PAPER.fact(name, simulated(laboratory, CAPACITY, configuration, "useful_work"))
    yield PAPER.fact("gate-fault-overhead", simulated(laboratory, OVERHEAD, SMALL, "gate_fault"))


def _useful_work(laboratory: Laboratory) -> Iterator[str]:
    for item in SYSTEMS.values():
        useful, waits = (mean(laboratory, item, name) for name in ("useful_share", "lock_wait_share"))
        cell = line(CAPACITY, item, "useful_work")
        published = f", {cell.value:.1f} % published" if cell else ", not published here"
        locks = (
            f"; {shown.quantity(waits, 'share')} pass in waiting for locks, inside the overheads"
            if item.cpus > 1
            else ""
        )
        yield (
            f"{item.words}: {shown.quantity(useful, 'share')} of each processor is useful work"
            f"{published}{locks}."
        )


def _bars(laboratory: Laboratory) -> Figure:
    """Capacity of each configuration, published above ours."""
    bars: dict[str, dict[str, float]] = {}
    for item in SYSTEMS.values():
        cells = {state: line(CAPACITY, item, state) for state in STATES}
        theirs = {state: cell.value for state, cell in cells.items() if cell is not None}
        # A part of a column is no bar: its end would look like the end of what was measured.
        if len(theirs) == len(STATES):
            bars[f"{item.words}, published"] = theirs
        bars[f"{item.words}, ours"] = {
            state: simulated(laboratory, CAPACITY, item, state).value for state in COLOURS
        }
    # Printed lines may add up to a little less than all.
    series = Series(
        [
            Point(
                key=Key(words(state), colour=colour),
                label=label,
                y=shares[state] / 100.0,
                words=f"{shares[state]:.1f} %",
            )
            for label, shares in bars.items()
            for state, colour in COLOURS.items()
        ]
    )
    title = "Capacity of the processors (Table 1)"
    listed = "; ".join(
        f"{label}: useful work {shares['useful_work']:.1f} %, overhead "
        f"{sum(shares[event] for event in EVENTS):.1f} %, idle {shares['idle']:.1f} %"
        for label, shares in bars.items()
    )
    return Figure(
        name="capacity-bars",
        title=title,
        chart=series.bars("share of the processors' time"),
        data=Table.of(
            bars.items(),
            Col("configuration", lambda row: row[0]),
            Cols(
                [f"{words(state)}, %" for state in COLOURS],
                lambda row: [f"{row[1][state]:.1f}" for state in COLOURS],
                scaled=False,
            ),
            name="capacity-bars-data",
            caption=title,
        ),
        alt=f"{listed}.",
        keys=series.keys,
    )


def _by_identity(laboratory: Laboratory) -> Table:
    """Shares by the printed overhead, where only that is printed, over our time between events."""
    rows = [
        (item, event, overhead.value, line(BETWEEN, item, event), simulated(laboratory, BETWEEN, item, event))
        for item in SYSTEMS.values()
        for event in EVENTS
        if (overhead := line(OVERHEAD, item, event)) is not None and line(CAPACITY, item, event) is None
    ]

    def by_both(overhead: float, printed: Printed | None, ours: Estimate) -> str:
        return f"{100.0 * overhead / (printed.value if printed else ours.value):.1f}"

    return Table.of(
        rows,
        Col("configuration", lambda row: row[0].words),
        Col("event", lambda row: words(row[1])),
        Col("overhead, ms, printed", lambda row: f"{row[2]:.2f}", scaled=False),
        Col("time between, ms, ours", lambda row: row[4], scaled=False),
        Col("share by both, %", lambda row: by_both(*row[2:]), scaled=False),
        Col(
            "share, ours",
            lambda row: interval(measured(laboratory, row[0], f"{row[1]}_share"), "share"),
            unit="share",
        ),
        name="by-identity",
        caption="Cells that are not printed: the printed overhead over our time between events, and ours "
        "alone",
    )


def _deviations(laboratory: Laboratory, cells: Iterable[Cell]) -> dict[str, tuple[str, ...]]:
    """For each published table, the components of the cells that miss."""
    notes: dict[str, list[str]] = {}
    for cell in cells:
        if cell.verdict == "misses" and "configuration" in cell.row:
            notes.setdefault(cell.table, []).append(_deviation(laboratory, cell))
    return {table: tuple(lines) for table, lines in notes.items()}


def _deviation(laboratory: Laboratory, cell: Cell) -> str:
    item = SYSTEMS[str(cell.row["configuration"])]
    if cell.table == CONFIGURATIONS:
        return (
            f"{item.words}: {item.eligible:g} is the limit, of which {100.0 * cell.ours / item.eligible:.1f} "
            "% are reached: at times fewer processes have work."
        )
    event = str(cell.row["event"])
    if cell.table == OVERHEAD:
        components = _of_overhead(laboratory, item, event)
    elif event in EVENTS:
        components = _of_event(laboratory, item, event, of_share=cell.table == CAPACITY)
    else:
        components = _of_rest(laboratory, item)
    head = f"{item.words}, {words(event)}: {cell.ours:.{cell.places}f} for {cell.published:g}"
    listed = ", ".join(components) or "without the useful work of that column it cannot be taken apart"
    return f"{head}; {listed}."


def _of_event(laboratory: Laboratory, item: Configuration, event: str, *, of_share: bool) -> Iterator[str]:
    """Factors of a ratio: events per second = events per useful second x useful work."""
    between, overhead = (line(table, item, event) for table in (BETWEEN, OVERHEAD))
    useful = line(CAPACITY, item, "useful_work")
    if not (between and overhead and useful):
        return
    time, cost, work = (
        mean(laboratory, item, response)
        for response in (f"{event}_between_s", f"{event}_overhead_s", "useful_share")
    )
    more = 100.0 * work / useful.value
    if of_share:
        yield f"an event costs {1000.0 * cost / overhead.value:.2f} times as much as published"
    often = between.value / (1000.0 * time) / more
    yield f"there are {often:.2f} times as many in a useful second as published"
    yield f"and {more:.2f} times as much useful work"


def _of_overhead(laboratory: Laboratory, item: Configuration, event: str) -> Iterator[str]:
    """Overhead less interference and lockout, then less growth with core."""
    parameters = item.parameters
    response = f"{event}_overhead_s"
    value = compared(laboratory, parameters, response).mean()
    for name, changes in (("interference and lockout", NO_INTERFERENCE | NO_LOCKS), ("growth", NO_GROWTH)):
        parameters = parameters | changes
        rest = compared(laboratory, parameters, response).mean()
        yield f"{1000.0 * (value - rest):.2f} ms of it are {name}"
        value = rest


def _of_rest(laboratory: Laboratory, item: Configuration) -> Iterator[str]:
    """The four lines of Table 1 that differ most, in points."""
    differences = {}
    for state in STATES:
        cell = line(CAPACITY, item, state)
        if cell is not None:
            differences[state] = simulated(laboratory, CAPACITY, item, state).value - cell.value
    for state in sorted(differences, key=lambda name: -abs(differences[name]))[:4]:
        yield f"{words(state)} {differences[state]:+.1f} points".replace("-", "\N{MINUS SIGN}")


METER_TABLES = ("capacity-states", "capacity-between", "capacity-overheads", "capacity-checks")
"""Tables of the analysis that are Tables 1 to 3, and its check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metered:
    """One run of a configuration: the analysis of its log, and what the simulation itself knows."""

    name: str
    capacity: Capacity
    recorded: Recorded

    @property
    def error(self) -> float:
        """Largest relative difference of a share, overhead or time between events."""
        errors = []
        for event, item in zip(EVENTS, self.capacity.events, strict=True):
            values = {"share": item.share, "overhead_s": item.overhead, "between_s": item.time_between}
            for ending, ours in values.items():
                true = self.recorded.responses[f"{event}_{ending}"]
                if ours is not None and true:
                    errors.append(abs(ours.value / true - 1.0))
        return max(errors)

    @property
    def identity_error(self) -> float:
        """Largest relative difference of overhead over time between events from the share."""
        return max(abs(check.product / check.share - 1.0) for check in self.capacity.checks)


def meter_check(laboratory: Laboratory) -> Chapter:
    """Tables 1 to 3 according to the logs of one run of each configuration."""
    from thinktime.analyses.capacity import comparison
    from thinktime.analyses.capacity.comparison_section import section
    from thinktime.analyses.capacity.section import METHODS

    runs = [(item.parameters, 0) for item in SYSTEMS.values()]
    logs = [laboratory.pooled(SYSTEM, [run]) for run in runs]
    result = applicable(comparison.compare(logs, [item.words for item in SYSTEMS.values()]))
    metered = [
        Metered(name=name, capacity=capacity, recorded=recorded)
        for name, capacity, recorded in zip(
            result.names, result.results, laboratory.record(SYSTEM, runs), strict=True
        )
    ]
    error = max(run.error for run in metered)
    intervals = ", ".join(f"{run.capacity.intervals} with {run.name}" for run in metered)
    return Chapter(
        claims=tuple(_meter_claims(metered)),
        summary=(
            "The machine's total time meters count each kind of event and its time. They are read into a "
            f"log, interval by interval ({intervals}), and the logs are analysed like those of any machine.",
            f"The largest relative error of the analysis is {error:.1e}, against what the simulation itself "
            "knows.",
            *_reach(metered),
        ),
        tables=tuple(table for table in section(result).tables if table.name in METER_TABLES),
        method=(
            "`thinktime analyse capacity LOG LOG LOG` on one run of each configuration, the first "
            f"replication, without the intervals of the warm-up. {METHODS[result.metered]}"
        ),
    )


def _reach(runs: Sequence[Metered]) -> Iterator[str]:
    """Precision of one run: a printed column is that of one to three."""
    reaches = []
    for run in runs:
        useful = run.capacity.user
        if useful.low is not None and useful.high is not None:
            reaches.append(f"{50.0 * (useful.high - useful.low):.1f} with {run.name}")
    if reaches:
        yield (
            "At 95 % confidence, one such run gives useful work to within this number of points: "
            f"{', '.join(reaches)}. A column that was measured once may be off by as much."
        )


def _meter_claims(runs: Sequence[Metered]) -> Iterator[Claim]:
    count = len(EVENTS) * len(runs)
    yield PAPER.claim("meters-tell", {"error": max(run.error for run in runs), "figures": 3 * count})
    identity = max(run.identity_error for run in runs)
    yield PAPER.claim("meters-identity", {"error": identity, "products": count})
