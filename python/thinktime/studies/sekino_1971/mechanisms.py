"""From 1 CPU with 256K to 2 CPUs with 384K: what each mechanism contributes, one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

from thinktime.documents import charts, document
from thinktime.documents import format as shown
from thinktime.documents.charts import Axis
from thinktime.documents.document import Cell, Column, Key, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.cells import Finding
from thinktime.studies.sekino_1971.machine import Machine, interval, parameters_of
from thinktime.studies.sekino_1971.tables import FULL, NAME, OVERHEAD, SMALL, Configuration, cell, words
from thinktime.studies.study import Chapter

__all__ = ["NO_GROWTH", "NO_INTERFERENCE", "NO_LOCKS", "RISING", "chapter", "path", "switches"]

NO_INTERFERENCE: dict[str, Any] = {"interference": 0.0}
NO_LOCKS: dict[str, Any] = {"locks": "none"}
NO_GROWTH: dict[str, Any] = {"path_growth": False}

STEPS: dict[str, dict[str, Any]] = {
    "more users and eligible processes": {"users": FULL.users, "max_eligible": FULL.eligible},
    "more core": {"core": FULL.core_kwords} | NO_GROWTH,
    "paths that grow with core": {"path_growth": None},
    "a second processor": {"cpus": FULL.cpus} | NO_INTERFERENCE | NO_LOCKS,
    "memory-cycle interference": {"interference": None},
    "lockout of data bases": {"locks": None},
}
"""From 1 CPU with 256K to 2 CPUs with 384K; None puts a parameter back to that of System 14."""

SWITCHES: dict[str, dict[str, Any]] = {
    "without interference": NO_INTERFERENCE,
    "without locks": NO_LOCKS,
    "without interference and locks": NO_INTERFERENCE | NO_LOCKS,
    "one lock for all data bases": {"locks": "global"},
    "page lock released before getwork": {"hold_through_getwork": False},
    "spinning that slows nobody": {"spin_interference": 0.0},
    "interrupts on any processor": {"interrupts": "any"},
    "paths that do not grow with core": NO_GROWTH,
    "segments without a limit": {"active_segments": 1_000_000},
    "no preemption": {"preempt": False},
    "first eligible, first served": {"priority": "first_eligible"},
    "a drum without queues by sector": {"drum_organisation": "first_come"},
    "eligibility by working sets": {"eligibility": "working_sets"},
}
"""What is changed alone on 2 CPUs with 384K."""

SHOWN = {
    "page_fault_overhead_s": ("page fault, ms", 1000.0),
    "drum_interrupt_overhead_s": ("drum interrupt, ms", 1000.0),
    "getwork_overhead_s": ("getwork, ms", 1000.0),
    "page_fault_between_s": ("between faults, ms", 1000.0),
    "useful_share": ("useful, points", 100.0),
    "idle_share": ("idle, points", 100.0),
}
"""Responses of the tables: heading, and what they are multiplied by."""
RISING = {"page_fault": "user", "drum_interrupt": "system", "getwork": "memory"}
"""Events whose overhead the paper says to rise, and their colours."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Two machines that are given the same work.

    Parameters
    ----------
    name : str
        What makes them differ, as a reader calls it.
    before, after : mapping
        Parameters of the one and of the other.
    """

    name: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]

    def change(self, machine: Machine, response: str, factor: float = 1.0) -> Estimate:
        r"""Mean change of a response, times `factor`.

        .. math:: \frac{1}{n} \sum_r (y_r - x_r)

        with Student's t over n replications of the same work on both (common random numbers).
        """
        before, after = (machine.values(each, response) for each in (self.before, self.after))
        return interval(after - before, factor=factor)


def path() -> tuple[tuple[str, dict[str, Any]], ...]:
    """Parameters after each step, from the first configuration to the last."""
    parameters = parameters_of(SMALL)
    found = [(SMALL.words, parameters)]
    for name, changes in STEPS.items():
        merged = parameters | changes
        parameters = {key: value for key, value in merged.items() if value is not None}
        found.append((name, parameters))
    return tuple(found)


def steps() -> tuple[Compared, ...]:
    """Every mechanism against the machine without it and without those that follow."""
    return tuple(Compared(name, before, after) for (_, before), (name, after) in pairwise(path()))


def switches() -> tuple[Compared, ...]:
    """Every mechanism changed alone on the whole machine."""
    full = parameters_of(FULL)
    return tuple(Compared(name, full, full | changes) for name, changes in SWITCHES.items())


def whole() -> Compared:
    """Compare the last configuration with the first."""
    return Compared("all together", parameters_of(SMALL), parameters_of(FULL))


def chapter(machine: Machine) -> Chapter:
    """Switch mechanisms on along a path, and off alone."""
    summary = (
        f"From {SMALL.words} to {FULL.words} one mechanism after another is switched on. Each line of the "
        "first table is what one adds to those before; the lines add up to the whole difference.",
        *_rises(machine),
        "The second table changes one mechanism alone on the whole machine. Where a line there is not the "
        "opposite of its line in the first table, mechanisms meet: processors that slow each other down hold "
        "locks for longer, and one that waits for a lock is active and interferes.",
    )
    tables = (
        _table(machine, "steps", f"From {SMALL.words} to {FULL.words}, step by step", (*steps(), whole())),
        _table(machine, "switches", f"{FULL.words}, one mechanism changed alone", switches()),
    )
    pictures = (_overheads(machine), _useful(machine))
    return Chapter(
        findings=tuple(_findings(machine)),
        summary=summary,
        pictures=pictures,
        tables=tables,
        method="Differences of means over replications of the same work, with Student's t.",
    )


def _table(machine: Machine, name: str, caption: str, compared: Sequence[Compared]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (each.name, *(each.change(machine, response, factor) for response, (_, factor) in SHOWN.items()))
        for each in compared
    ]
    columns = (Column("change"), *(Column(heading, scaled=False) for heading, _ in SHOWN.values()))
    note = (
        "Changes of the overhead of a page fault, a drum interrupt and a getwork, and of the mean time "
        "between page faults, useful work and idle time of a processor, with 95 % intervals."
    )
    return Table(name=name, caption=caption, columns=columns, rows=tuple(rows), notes=(note,))


def _rises(machine: Machine) -> Iterator[str]:
    """Part the rise of each overhead from the first configuration to the last into its steps."""
    for event in RISING:
        response = f"{event}_overhead_s"
        rise = whole().change(machine, response, 1000.0).value
        theirs = cell(OVERHEAD, FULL, event) - cell(OVERHEAD, SMALL, event)
        listed = ", ".join(
            f"{step.name} {step.change(machine, response, 1000.0).value:+.2f}" for step in steps()
        )
        yield (
            f"The overhead of a {words(event)} changes by {rise:+.2f} ms, {theirs:+.2f} published: {listed}."
        )


def _findings(machine: Machine) -> Iterator[Finding]:
    """Whether interference and lockout each raise the overhead of the events."""
    full = parameters_of(FULL)
    causes = {
        "interference": ("memory-cycle interference", NO_INTERFERENCE),
        "lockout": ("lockout of supervisory data bases", NO_LOCKS),
    }
    for cause, (name, off) in causes.items():
        compared = Compared(name, full | off, full)
        found = {event: compared.change(machine, f"{event}_overhead_s", 1000.0) for event in RISING}
        raises = [each.low is not None and each.low > 0.0 for each in found.values()]
        said = "; ".join(f"{words(event)} {shown.estimate(each)} ms" for event, each in found.items())
        yield Finding(
            NAME,
            f"overhead-{cause}",
            "text on the growth of overheads",
            all(raises),
            f"overhead per event with it less without it, {FULL.words}: {said}",
            f"with two processors {name} makes page faults, drum interrupts and getworks cost more",
        )


def _overheads(machine: Machine) -> document.Figure:
    """Draw the overhead of each rising event after every step, and as published at both ends."""
    along = path()
    rows = _printed(SMALL)
    for at, (name, parameters) in enumerate(along):
        for event in RISING:
            value = interval(machine.values(parameters, f"{event}_overhead_s"), factor=1000.0)
            rows.append(_row(f"+ {name}" if at else name, words(event), value))
    rows += _printed(FULL)
    keys = tuple(Key(words(event), colour=colour, shape="circle") for event, colour in RISING.items())
    listed = []
    for event in RISING:
        first, last = (machine.values(along[at][1], f"{event}_overhead_s").mean() for at in (0, -1))
        listed.append(f"{words(event)} from {1000.0 * first:.2f} to {1000.0 * last:.2f} ms")
    title, axis = "Overhead per event, one mechanism after another", "overhead per event, ms"
    return document.Figure(
        name="overhead-steps",
        title=title,
        chart=partial(charts.dots, rows, keys, Axis(axis), ("after", "event", "overhead, ms")),
        data=_data("overhead-steps", title, rows, axis),
        alt=f"{'; '.join(listed)}.",
        keys=keys,
    )


def _printed(configuration: Configuration) -> list[dict[str, Any]]:
    """Rows of a chart for the overheads of Table 3."""
    rows = []
    for event in RISING:
        value = cell(OVERHEAD, configuration, event)
        exact = Estimate(value=value, unit="", n=1, method="printed", low=value, high=value)
        rows.append(_row(f"{configuration.words}, published", words(event), exact))
    return rows


def _useful(machine: Machine) -> document.Figure:
    """Draw the change of useful work that each step and each switch makes."""
    groups = {"added to those before": steps(), "changed alone on the whole machine": switches()}
    rows = [
        _row(each.name, group, each.change(machine, "useful_share", 100.0))
        for group, compared in groups.items()
        for each in compared
    ]
    keys = tuple(
        Key(group, colour=colour, shape="circle")
        for group, colour in zip(groups, ("system", "user"), strict=True)
    )
    listed = "; ".join(f"{row['label']} {row['shown']}" for row in rows)
    title, axis = "Useful work, and what changes it", "change of useful work, points of each processor"
    return document.Figure(
        name="useful-changes",
        title=title,
        chart=partial(charts.dots, rows, keys, Axis(axis), ("change", "how", "points")),
        data=_data("useful-changes", title, rows, axis),
        alt=f"{listed} points.",
        keys=keys,
    )


def _row(label: str, series: str, value: Estimate) -> dict[str, Any]:
    ends = {"value": value.value, "low": value.low, "high": value.high}
    return {"label": label, "series": series, "shown": shown.estimate(value), **ends}


def _data(name: str, title: str, rows: Sequence[Mapping[str, object]], heading: str) -> Table:
    columns = (Column("change"), Column("of"), Column(heading, scaled=False))
    cells = tuple((str(row["label"]), str(row["series"]), str(row["shown"])) for row in rows)
    return Table(name=f"{name}-data", caption=title, columns=columns, rows=cells)
