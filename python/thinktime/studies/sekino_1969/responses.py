"""Response times: Table 1, what one run of the script shows, and Figure 4."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from thinktime.documents import document
from thinktime.documents import format as shown
from thinktime.documents.document import Column, Table
from thinktime.studies.cells import Cell
from thinktime.studies.estimates import Array, interval
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.sekino_1969.charts import Point, Printed, curves
from thinktime.studies.sekino_1969.loads import (
    COLUMNS,
    COMPILED,
    CTSS_USERS,
    ENOUGH,
    INTERACTIONS,
    PAPER,
    RESPONSES,
    SUMMARY,
    USERS,
    column,
    fact,
    named,
    on_ctss,
    on_multics,
)
from thinktime.studies.study import Chapter

if TYPE_CHECKING:
    from thinktime.sources.simulated import Simulated


RUN_LEVEL = 0.95
"""Probability with which a range holds one more run."""
CURVE_USERS = (4, 6, 10, 13, 15, 17, 20)
"""Users of Figure 4."""
PRINTED_AT = 15
ALL, WITHOUT = "all", "without FORTRAN"
"""Users at which Figure 4 was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Where one more run lies."""

    low: float
    high: float
    level: float
    """Probability that it does."""


def one_run(values: Array, level: float = RUN_LEVEL) -> Range:
    r"""Range that holds one more run, whatever the distribution: the k-th smallest and largest of R runs.

    .. math:: P(x_{(k)} \le x_{R+1} \le x_{(R+1-k)}) = 1 - 2k / (R + 1)

    by symmetry (Wilks 1941, *Annals of Mathematical Statistics* 12, 91), with the largest k that leaves
    `level`, or the range of all runs where they are too few for it.
    """
    present = np.sort(values[~np.isnan(values)])
    runs = len(present)
    k = max(1, int((1.0 - level) / 2.0 * (runs + 1) + 1e-9))
    return Range(low=float(present[k - 1]), high=float(present[-k]), level=1.0 - 2.0 * k / (runs + 1))


def columns(laboratory: Laboratory) -> dict[str, Simulated]:
    """Runs of the loads of Table 1, by column."""
    result = {name: on_multics(laboratory, users) for name, users in USERS.items()}
    return result | {name: on_ctss(laboratory, users) for name, users in CTSS_USERS.items()}


def _response(run: Simulated, interaction: int) -> Array:
    return column(run, f"response_{interaction:02d}_s")


def average(run: Simulated, without: tuple[int, ...] = ()) -> Array:
    """Mean response of the first half of the script in each run, s; `without` some interactions."""
    kept = [_response(run, index) for index in range(1, INTERACTIONS + 1) if index not in without]
    # A run that ended early has not all of them, and its mean would be that of the quick ones.
    result: Array = np.mean(kept, axis=0)
    return result


def fortran(run: Simulated) -> Array:
    """Mean response of the two compilations in each run, s."""
    result: Array = np.mean([_response(run, index) for index in COMPILED], axis=0)
    return result


def chapter(laboratory: Laboratory) -> Chapter:
    """Table 1, published and simulated, and Figure 4."""
    figures = (*_cells(laboratory), *_summaries(laboratory), *_facts(laboratory))
    inside, of, level = _inside(laboratory)
    summary = (
        f"The printed response times are one run of each column, typed by hand. {inside} of {of} lie where "
        f"one run of the simulated script lies with a probability of {100 * level:.0f} %.",
        *_misses(laboratory, figures),
    )
    method = (
        "Each replication plays the script once; a figure is the mean over replications with Student's t. "
        "Where one run lies: between order statistics of the runs, whatever their distribution. Means agree "
        "within 20 %; single cells are one run, and nothing is claimed of them but what is said above."
    )
    return Chapter(
        cells=figures,
        summary=summary,
        charts=(_figure(laboratory),),
        tables=(_spread(laboratory),),
        method=method,
    )


def _cells(laboratory: Laboratory) -> Iterator[Cell]:
    for name, run in columns(laboratory).items():
        for interaction in range(1, INTERACTIONS + 1):
            ours = interval(_response(run, interaction), "s")
            row = {"interaction": interaction}
            figure = PAPER.simulated(RESPONSES, row, name, ours)
            yield replace(figure, label=named(interaction, _system(name)))


def _system(name: str) -> str:
    return "ctss" if name in CTSS_USERS else "multics"


def _summaries(laboratory: Laboratory) -> Iterator[Cell]:
    for name, run in columns(laboratory).items():
        total = average(run)
        result = {
            "sum": INTERACTIONS * total,
            "average_all": total,
            "average_except_fortran": average(run, COMPILED),
        }
        for statistic, values in result.items():
            row = {"statistic": statistic}
            yield PAPER.simulated(SUMMARY, row, name, interval(values, "s"))


def _facts(laboratory: Laboratory) -> Iterator[Cell]:
    ours = interval(average(on_multics(laboratory, PRINTED_AT)), "s")
    yield PAPER.fact("response-time-15-users", ours)


def ranges(laboratory: Laboratory) -> Iterator[tuple[str, int, Range, float | None]]:
    """Column, interaction, where one run lies, and what is printed."""
    for name, run in columns(laboratory).items():
        for interaction in range(1, INTERACTIONS + 1):
            cell = PAPER.tables[RESPONSES].cell({"interaction": interaction}, name)
            yield name, interaction, one_run(_response(run, interaction)), cell.value if cell else None


def _inside(laboratory: Laboratory) -> tuple[int, int, float]:
    """Printed cells where one run lies, all printed cells, and the probability."""
    present = [(result, value) for _, _, result, value in ranges(laboratory) if value is not None]
    inside = sum(result.low <= value <= result.high for result, value in present)
    return inside, len(present), min(result.level for result, _ in present)


def _spread(laboratory: Laboratory) -> Table:
    """Range of one run, cell by cell, and the printed value."""
    by_row: dict[int, list[document.Cell]] = {index: [] for index in range(1, INTERACTIONS + 1)}
    level = 1.0
    for _, interaction, result, value in ranges(laboratory):
        level = min(level, result.level)
        outside = value is not None and not result.low <= value <= result.high
        listed = "" if value is None else f"{value:.1f}{' ✗' if outside else ''}"
        by_row[interaction] += [listed or None, f"{result.low:.1f} to {result.high:.1f}"]
    names = [name.removesuffix("_s").replace("_", " ") for name in COLUMNS]
    heads = (Column("interaction"), *(Column(_head(n, part), scaled=False) for n in names for part in (0, 1)))
    rows = tuple((_both(index), *cells) for index, cells in by_row.items())
    note = f"A range holds one more run with probability {100 * level:.0f} %; ✗: what is printed is outside."
    caption = "Table 1 as one run would show it: printed, and where a simulated run lies, s"
    return Table(name="one-run", caption=caption, columns=heads, rows=rows, notes=(note,))


def _both(interaction: int) -> str:
    """Interaction with its commands on both systems."""
    ours, twin = (named(interaction, system) for system in ("multics", "ctss"))
    return ours if ours == twin else f"{ours}, {twin.partition(' ')[2]}"


def _head(name: str, part: int) -> str:
    return f"{name}, {'one run, s' if part else 'printed, s'}"


def _misses(laboratory: Laboratory, figures: tuple[Cell, ...]) -> Iterator[str]:
    """Sentences on every mean that misses: its error, and the components of its response."""
    for figure in figures:
        statistic = str(figure.row.get("statistic", ""))
        if figure.verdict == "misses" and figure.published is not None and statistic.startswith("average"):
            cells = [
                other.ours - other.published
                for other in figures
                if other.table == RESPONSES
                and other.quantity == figure.quantity
                and other.published is not None
            ]
            same = sum((off > 0.0) == (figure.ours > figure.published) for off in cells)
            yield (
                f"Misses: {statistic.replace('_', ' ')} of "
                f"{figure.quantity.removesuffix('_s').replace('_', ' ')}, {shown.number(figure.ours)} s for "
                f"{shown.number(figure.published)} s. {same} of its {len(cells)} cells are off in this "
                f"direction, by up to {max(map(abs, cells)):.1f} s. {_spent(laboratory, figures, figure)}"
            )


def _spent(laboratory: Laboratory, figures: tuple[Cell, ...], figure: Cell) -> str:
    """Sentence on the state of the machine, which explains short and long responses."""
    name = figure.quantity
    run = columns(laboratory)[name]
    idle, cpu = (
        float(np.nanmean(column(run, selected))) for selected in ("idle_share", "cpu_per_interaction_s")
    )
    listed = (
        f"There the processor has nothing to do for {100.0 * idle:.0f} % of the time, and an interaction of "
        f"the script takes {cpu:.2f} s of CPU time."
    )
    return f"{listed} {_bent(figures, figure)}" if name in USERS else listed


def _bent(figures: tuple[Cell, ...], missed: Cell) -> str:
    """Sentence on the rise of a mean from each printed number of users to the next, printed and simulated."""
    present = [
        (USERS[other.quantity], other.published, other.ours)
        for other in figures
        if other.row == missed.row and other.quantity in USERS and other.published is not None
    ]
    rises = [
        f"from {first} to {last} users by {(theirs - before) / (last - first):.2f} s a user, here by "
        f"{(ours - our_before) / (last - first):.2f}"
        for (first, before, our_before), (last, theirs, ours) in pairwise(present)
    ]
    return f"The printed mean rises {'; '.join(rises)}."


def _figure(laboratory: Laboratory) -> document.Figure:
    """Figure 4."""
    ours: dict[str, list[Point]] = {ALL: [], WITHOUT: []}
    judged = {*USERS.values(), PRINTED_AT}
    for users in laboratory.levels(CURVE_USERS, (6, 17)):
        run = on_multics(
            laboratory, users, replications=None if users in judged else laboratory.count(ENOUGH)
        )
        ours[ALL].append(Point(x=users, y=interval(average(run), "s"), words=f"{users} users"))
        ours[WITHOUT].append(Point(x=users, y=interval(average(run, COMPILED), "s"), words=f"{users} users"))
    printed = {
        f"{label}, Table 1": [
            Printed(x=users, y=cell.value, words=f"{users} users")
            for name, users in USERS.items()
            if (cell := PAPER.tables[SUMMARY].cell({"statistic": statistic}, name)) is not None
        ]
        for label, statistic in ((ALL, "average_all"), (WITHOUT, "average_except_fortran"))
    }
    reading = Printed(
        x=PRINTED_AT, y=fact("response-time-15-users").value, words=f"read at {PRINTED_AT} users"
    )
    printed[f"{ALL}, Table 1"].append(reading)
    listed = ", ".join(f"{shown.number(point.y.value)} s with {point.words}" for point in ours[ALL])
    return curves(
        "figure-4",
        "Mean response against users (Figure 4)",
        axes=("users", "mean response, s"),
        ours=ours,
        printed=printed,
        alt=f"All waiting interactions: {listed}. Diamonds are the averages of Table 1, and the reading at "
        f"{PRINTED_AT} users.",
    )
