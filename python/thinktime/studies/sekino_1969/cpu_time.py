"""CPU time per interaction and its components: Figures 1 to 3, the shares, and the cost of an added fault."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from thinktime.documents import document
from thinktime.documents import format as shown
from thinktime.documents.document import Col, Cols, Table
from thinktime.errors import WorkError
from thinktime.stats.estimate import Estimate
from thinktime.studies.cells import Cell
from thinktime.studies.estimates import scaled
from thinktime.studies.laboratory import Laboratory, applicable, remembered
from thinktime.studies.sekino_1969.charts import broken_lines, curves
from thinktime.studies.sekino_1969.loads import PAPER, fact, log_of
from thinktime.studies.sekino_1969.recomputed import at_twenty_ms, implied_faults
from thinktime.studies.study import Chapter

if TYPE_CHECKING:
    from thinktime.analyses.cpu_per_interaction.analysis import CpuPerInteraction, Line, Point


USERS = (2, 4, 6, 10, 13, 15, 17, 20)
"""Of Figures 1 to 3."""
LEAST_USERS = 4
"""The run that the paper takes as the minimum."""
FROM_FIGURE_1, SHARE_AT = 17, 20
CPU, RUN, PAGING, OTHERS = "CPU time", "run time", "page faults", "other faults"
COMPONENTS = (CPU, RUN, PAGING, OTHERS)
"""Curves of Figure 3: CPU time and its components."""


def users_of(laboratory: Laboratory) -> tuple[int, ...]:
    """Numbers of users of Figures 1 to 3."""
    return laboratory.levels(USERS, (LEAST_USERS, FROM_FIGURE_1, SHARE_AT))


@remembered
def decomposition(laboratory: Laboratory) -> CpuPerInteraction:
    """CPU time of an interaction of the script, part by part, at each number of users."""
    from thinktime.analyses.cpu_per_interaction import analysis

    loads = users_of(laboratory)
    logs = [log_of(laboratory, users) for users in loads]
    return applicable(analysis.analyse(logs, [f"{users} users" for users in loads]))


def decomposed_at(laboratory: Laboratory, users: int) -> Point:
    """The decomposition at a number of users."""
    name = f"{users} users"
    return next(point for point in decomposition(laboratory).points if point.log == name)


def component(point: Point, name: str) -> Estimate:
    """CPU time or a part of it, ms an interaction."""
    total = (point.cpu, *point.components)
    return scaled(total[COMPONENTS.index(name)], 1000.0, "ms")


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


def run_share(laboratory: Laboratory, users: int) -> Estimate:
    """Run time as a share of CPU time, per cent."""
    return scaled(decomposed_at(laboratory, users).shares[0], 100.0)


def line(laboratory: Laboratory, name: str) -> Line:
    """Line of a component against page faults, over all loads."""
    return decomposition(laboratory).lines[COMPONENTS.index(name)]


def added_fault_ms(laboratory: Laboratory) -> Estimate:
    """Page-fault time that goes with a page fault more, ms."""
    return scaled(line(laboratory, PAGING).slope, 1000.0, "ms")


def chapter(laboratory: Laboratory) -> Chapter:
    """Figures 1 to 3 and the numbers that the text takes from them."""
    figures = tuple(_facts(laboratory))
    least, most = (decomposed_at(laboratory, users) for users in (LEAST_USERS, users_of(laboratory)[-1]))
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
        "within 10 %, shares within 4 points."
    )
    return Chapter(
        cells=figures,
        summary=summary,
        charts=tuple(_charts(laboratory)),
        tables=(_table(laboratory), _lines(laboratory)),
        method=method,
    )


def _facts(laboratory: Laboratory) -> Iterator[Cell]:
    least = decomposed_at(laboratory, LEAST_USERS)
    item = least.per_event[1]
    run = [component(decomposed_at(laboratory, users), RUN).value for users in users_of(laboratory)]
    values = {
        "cpu-time-4-users": component(least, CPU),
        "page-fault-time": component(least, PAGING),
        "time-per-page-fault": None if item is None else scaled(item, 1000.0, "ms"),
        "run-time": Estimate(value=float(np.mean(run)), unit="ms", n=len(run), method="mean of the loads"),
        "time-per-added-page-fault": added_fault_ms(laboratory),
        "run-time-share-4-users": run_share(laboratory, LEAST_USERS),
        "run-time-share-20-users": run_share(laboratory, SHARE_AT),
        "multics-cpu-time-17-users": decomposed_at(laboratory, FROM_FIGURE_1).cpu,
    }
    for name, ours in values.items():
        if ours is not None:
            yield PAPER.fact(name, ours)


def _missed(figure: Cell) -> str:
    published = figure.published or 0.0
    return f"Misses: {figure.label}, {shown.number(figure.ours)} for {shown.number(published)}."


def _table(laboratory: Laboratory) -> Table:
    return Table.of(
        [(users, decomposed_at(laboratory, users)) for users in users_of(laboratory)],
        Col("users", lambda row: str(row[0]), scaled=False),
        Cols(
            [f"{name}, ms" for name in COMPONENTS],
            lambda row: [component(row[1], name) for name in COMPONENTS],
            scaled=False,
        ),
        Col("number of page faults", lambda row: faults(row[1]), scaled=False),
        Col("run share, %", lambda row: run_share(laboratory, row[0]), scaled=False),
        name="components",
        caption="CPU time per interaction, its components, and page faults, against users",
    )


def _lines(laboratory: Laboratory) -> Table:
    """The broken lines of Figure 3."""
    return Table.of(
        [(name, line(laboratory, name)) for name in COMPONENTS],
        Col("component", lambda row: row[0]),
        Col("added with a page fault, ms", lambda row: scaled(row[1].slope, 1000.0), scaled=False),
        Col("without page faults, ms", lambda row: scaled(row[1].intercept, 1000.0), scaled=False),
        Col("distance of the points, ms", lambda row: f"{1000.0 * row[1].deviation:.1f}", scaled=False),
        name="component-lines",
        caption="Components against page faults: straight lines over all loads",
    )


def _charts(laboratory: Laboratory) -> Iterator[document.Figure]:
    every = {users: decomposed_at(laboratory, users) for users in users_of(laboratory)}
    stated = (
        (LEAST_USERS, fact("cpu-time-4-users").value),
        (FROM_FIGURE_1, 1000.0 * fact("multics-cpu-time-17-users").value),
        (SHARE_AT, at_twenty_ms()),
    )
    cpu = [(users, component(point, CPU), point.log) for users, point in every.items()]
    yield curves(
        "figure-1",
        "CPU time per interaction against users (Figure 1)",
        axes=("users", "CPU time, ms"),
        ours={"CPU time": cpu},
        printed={"stated or implied": [(users, ms, f"{users} users") for users, ms in stated]},
        alt=f"{_ends(cpu, 'ms')}. Diamonds are stated, at {SHARE_AT} users implied by the run share.",
    )
    counts = [(users, faults(point), point.log) for users, point in every.items()]
    yield curves(
        "figure-2",
        "Page faults per interaction against users (Figure 2)",
        axes=("users", "page faults"),
        ours={"page faults": counts},
        printed={"implied": [(users, implied_faults(ms), f"{users} users") for users, ms in stated]},
        alt=f"{_ends(counts, 'page faults')}. Diamonds are what the CPU times imply.",
    )
    # Figure 3: points named by their number of users, components as further curves.
    ours = {
        name: [(faults(point).value, component(point, name), point.log) for point in every.values()]
        for name in COMPONENTS
    }
    lines = {name: line(laboratory, name) for name in COMPONENTS}
    slopes = ", ".join(f"{1000.0 * fitted.slope.value:.1f} ms {name}" for name, fitted in lines.items())
    run = fact("run-time").value
    yield broken_lines(
        "figure-3",
        "CPU time and its components against page faults (Figure 3)",
        axes=("page faults per interaction", "time per interaction, ms"),
        ours=ours,
        lines=[(1000.0 * fitted.intercept.value, 1000.0 * fitted.slope.value) for fitted in lines.values()],
        printed={
            "CPU time, stated or implied": [
                (implied_faults(ms), ms, f"{users} users") for users, ms in stated
            ],
            "run time, stated": [(implied_faults(ms), run, f"{users} users") for users, ms in stated],
        },
        alt=f"{_ends(ours[CPU], 'ms of CPU time')}; points of CPU time are named by their users. With "
        f"an added page fault: {slopes}.",
    )


def _ends(points: Sequence[tuple[float, Estimate, str]], unit: str) -> str:
    (_, first, before), (_, last, after) = points[0], points[-1]
    return (
        f"From {shown.number(first.value)} {unit} with {before} to {shown.number(last.value)} "
        f"{unit} with {after}"
    )
