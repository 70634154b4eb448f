"""CPU time per interaction and its components: Figures 1 to 3, the shares, and the cost of an added fault."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from thinktime.documents import document
from thinktime.documents import format as shown
from thinktime.documents.document import Column, Table
from thinktime.errors import WorkError
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.studies.cells import Cell, Tolerance
from thinktime.studies.sekino_1969.charts import Point as Drawn
from thinktime.studies.sekino_1969.charts import Printed, broken_lines, curves
from thinktime.studies.sekino_1969.machines import Machines, scaled
from thinktime.studies.sekino_1969.recomputed import at_twenty_ms, implied_faults
from thinktime.studies.sekino_1969.tables import PAPER, fact
from thinktime.studies.study import Chapter

if TYPE_CHECKING:
    from thinktime.analyses.cpu_per_interaction.analysis import CpuPerInteraction, Line, Point

__all__ = [
    "CPU",
    "LEAST_USERS",
    "OTHERS",
    "RUN",
    "TABLES",
    "USERS",
    "added_fault_ms",
    "at",
    "chapter",
    "component",
    "faults",
    "line",
    "run_share",
]

TABLES = ("facts",)
USERS = (2, 4, 6, 10, 13, 15, 17, 20)
"""Of Figures 1 to 3."""
LEAST_USERS = 4
"""The run that the paper takes as the minimum."""
FROM_FIGURE_1, SHARE_AT = 17, 20
TIME = Tolerance("relative", 0.10)
SHARE = Tolerance("absolute", 4.0)
CPU, RUN, PAGING, OTHERS = "CPU time", "run time", "page faults", "other faults"
COMPONENTS = (CPU, RUN, PAGING, OTHERS)
"""What Figure 3 draws: CPU time and its parts."""


def decomposition(machines: Machines) -> CpuPerInteraction:
    """CPU time of an interaction of the script, part by part, at each number of users.

    Raises
    ------
    WorkError
        The logs do not have it.
    """
    from thinktime.analyses.cpu_per_interaction import analysis

    logs = [machines.log(users) for users in USERS]
    found = machines.once(
        "decomposition", lambda: analysis.analyse(logs, [f"{users} users" for users in USERS])
    )
    if isinstance(found, NotApplicable):
        raise WorkError(f"the logs of the simulated machine cannot be decomposed: {found.reason}")
    return found


def at(machines: Machines, users: int) -> Point:
    """Return the decomposition with so many users."""
    name = f"{users} users"
    return next(point for point in decomposition(machines).points if point.log == name)


def component(point: Point, name: str) -> Estimate:
    """CPU time or a part of it, ms an interaction."""
    whole = (point.cpu, *point.components)
    return scaled(whole[COMPONENTS.index(name)], 1000.0, "ms")


def faults(point: Point) -> Estimate:
    """Page faults an interaction.

    Raises
    ------
    WorkError
        The log does not count them.
    """
    if point.events is None:
        raise WorkError("the log of the simulated machine does not count page faults")
    return point.events


def run_share(machines: Machines, users: int) -> Estimate:
    """Run time as a part of CPU time, per cent."""
    return scaled(at(machines, users).shares[0], 100.0)


def line(machines: Machines, name: str) -> Line:
    """Line of a component against page faults, over all loads."""
    return decomposition(machines).lines[COMPONENTS.index(name)]


def added_fault_ms(machines: Machines) -> Estimate:
    """Page-fault time that goes with a page fault more, ms."""
    return scaled(line(machines, PAGING).slope, 1000.0, "ms")


def chapter(machines: Machines) -> Chapter:
    """Figures 1 to 3 and the numbers that the text takes from them."""
    figures = tuple(_facts(machines))
    least, most = (at(machines, users) for users in (LEAST_USERS, USERS[-1]))
    summary = (
        f"From {least.log} to {most.log}, CPU time per interaction rises from "
        f"{component(least, CPU).value:.0f} to {component(most, CPU).value:.0f} ms and page faults from "
        f"{faults(least).value:.1f} to {faults(most).value:.1f}; run time is "
        f"{component(least, RUN).value:.0f} and {component(most, RUN).value:.0f} ms.",
        *(_missed(figure) for figure in figures if figure.verdict == "misses"),
    )
    method = (
        "`thinktime analyse cpu-per-interaction` on logs of the runs, one for each number of users. CPU "
        "time is what is charged to the scripted user: run time and the processing of page, segment and gate "
        "faults. The time of an added fault is the slope of page-fault processing. Fitted: the run at "
        f"{LEAST_USERS} users, CPU time against users, and the time of an added fault. Times agree "
        f"{TIME.words}, shares {SHARE.words} points."
    )
    return Chapter(
        cells=figures,
        summary=summary,
        charts=tuple(_pictures(machines)),
        tables=(_table(machines), _lines(machines)),
        method=method,
    )


def _facts(machines: Machines) -> Iterator[Cell]:
    least = at(machines, LEAST_USERS)
    each = least.per_event[1]
    run = [component(at(machines, users), RUN).value for users in USERS]
    known: tuple[tuple[str, Estimate | None, Tolerance], ...] = (
        ("M-F08", component(least, CPU), TIME),
        ("M-F09", component(least, PAGING), TIME),
        ("M-F10", None if each is None else scaled(each, 1000.0, "ms"), TIME),
        (
            "M-F13",
            Estimate(value=float(np.mean(run)), unit="ms", n=len(run), method="mean of the loads"),
            TIME,
        ),
        ("M-F14", added_fault_ms(machines), TIME),
        ("M-F15", run_share(machines, LEAST_USERS), SHARE),
        ("M-F16", run_share(machines, SHARE_AT), SHARE),
        ("M-F19", at(machines, FROM_FIGURE_1).cpu, TIME),
    )
    for name, ours, tolerance in known:
        if ours is not None:
            yield PAPER.fact(name, ours, "fitted", tolerance)


def _missed(figure: Cell) -> str:
    published = figure.published or 0.0
    return f"Misses: {figure.label}, {shown.number(figure.ours)} for {shown.number(published)}."


def _table(machines: Machines) -> Table:
    rows: list[tuple[document.Cell, ...]] = []
    for users in USERS:
        found = at(machines, users)
        times = [component(found, name) for name in COMPONENTS]
        rows.append((str(users), *times, faults(found), run_share(machines, users)))
    columns = (
        Column("users", scaled=False),
        *(Column(f"{name}, ms", scaled=False) for name in COMPONENTS),
        Column("number of page faults", scaled=False),
        Column("run share, %", scaled=False),
    )
    caption = "CPU time per interaction, its components, and page faults, against users"
    return Table(name="components", caption=caption, columns=columns, rows=tuple(rows))


def _lines(machines: Machines) -> Table:
    """Show the broken lines of Figure 3."""
    rows: list[tuple[document.Cell, ...]] = []
    for name in COMPONENTS:
        found = line(machines, name)
        slope, intercept = (scaled(item, 1000.0) for item in (found.slope, found.intercept))
        rows.append((name, slope, intercept, f"{1000.0 * found.deviation:.1f}"))
    columns = (
        Column("component"),
        Column("added with a page fault, ms", scaled=False),
        Column("without page faults, ms", scaled=False),
        Column("distance of the points, ms", scaled=False),
    )
    caption = "Components against page faults: straight lines over all loads"
    return Table(name="component-lines", caption=caption, columns=columns, rows=tuple(rows))


def _pictures(machines: Machines) -> Iterator[document.Figure]:
    every = {users: at(machines, users) for users in USERS}
    stated = (
        (LEAST_USERS, fact("M-F08").value),
        (FROM_FIGURE_1, 1000.0 * fact("M-F19").value),
        (SHARE_AT, at_twenty_ms()),
    )
    cpu = [Drawn(users, component(point, CPU), point.log) for users, point in every.items()]
    yield curves(
        "figure-1",
        "CPU time per interaction against users (Figure 1)",
        ("users", "CPU time, ms"),
        {"CPU time": cpu},
        {"stated or implied": [Printed(users, ms, f"{users} users") for users, ms in stated]},
        f"{_ends(cpu, 'ms')}. Diamonds are stated, at {SHARE_AT} users implied by the run share.",
    )
    counts = [Drawn(users, faults(point), point.log) for users, point in every.items()]
    implied = [Printed(users, implied_faults(ms), f"{users} users") for users, ms in stated]
    yield curves(
        "figure-2",
        "Page faults per interaction against users (Figure 2)",
        ("users", "page faults"),
        {"page faults": counts},
        {"implied": implied},
        f"{_ends(counts, 'page faults')}. Diamonds are what the CPU times imply.",
    )
    yield _against_faults(machines, list(every.values()), stated)


def _ends(points: list[Drawn], unit: str) -> str:
    first, last = points[0], points[-1]
    return (
        f"From {shown.number(first.y.value)} {unit} with {first.words} to {shown.number(last.y.value)} "
        f"{unit} with {last.words}"
    )


def _against_faults(
    machines: Machines, every: list[Point], stated: tuple[tuple[int, float], ...]
) -> document.Figure:
    """Draw Figure 3: points by their number of users, components as further curves."""
    ours = {
        name: [Drawn(faults(point).value, component(point, name), point.log) for point in every]
        for name in COMPONENTS
    }
    printed = {
        "CPU time, stated or implied": [
            Printed(implied_faults(ms), ms, f"{users} users") for users, ms in stated
        ],
        "run time, stated": [
            Printed(implied_faults(ms), fact("M-F13").value, f"{users} users") for users, ms in stated
        ],
    }
    broken = {name: (line(machines, name).intercept, line(machines, name).slope) for name in COMPONENTS}
    slopes = ", ".join(f"{1000.0 * slope.value:.1f} ms {name}" for name, (_, slope) in broken.items())
    return broken_lines(
        "figure-3",
        "CPU time and its components against page faults (Figure 3)",
        ("page faults per interaction", "time per interaction, ms"),
        ours,
        {name: (1000.0 * start.value, 1000.0 * slope.value) for name, (start, slope) in broken.items()},
        printed,
        f"{_ends(ours[CPU], 'ms of CPU time')}; points of CPU time are named by their users. With an added "
        f"page fault: {slopes}.",
    )
