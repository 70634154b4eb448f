"""Response times: Table 1, the range of one run, Figure 4, and what the calibration leaves free."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from thinktime.documents import document
from thinktime.documents import format as shown
from thinktime.documents.document import Col, Cols, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.cells import Cell
from thinktime.studies.estimates import Array, interval
from thinktime.studies.laboratory import Laboratory, remembered
from thinktime.studies.sekino_1969.charts import curves
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
"""Users at which Figure 4 was read."""
ALL, WITHOUT = "all", "without FORTRAN"


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Range in which one more run lies."""

    low: float
    high: float
    level: float
    """Probability that it does."""

    def holds(self, value: float) -> bool:
        """True if `value` lies in the range."""
        return self.low <= value <= self.high


def one_run(values: Array) -> Range:
    r"""Range that holds one more run, whatever the distribution: the k-th smallest and largest of R runs.

    .. math:: P(x_{(k)} \le x_{R+1} \le x_{(R+1-k)}) = 1 - 2k / (R + 1)

    by symmetry (Wilks 1941, *Annals of Mathematical Statistics* 12, 91), with the largest k that leaves
    `RUN_LEVEL`, or the range of all runs where they are too few for it.
    """
    present = np.sort(values[~np.isnan(values)])
    runs = len(present)
    k = max(1, int((1.0 - RUN_LEVEL) / 2.0 * (runs + 1) + 1e-9))
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
    count, of, level = inside(laboratory)
    summary = (
        f"The printed response times are one run of each column, typed by hand. {count} of {of} lie where "
        f"one run of the simulated script lies with a probability of {100 * level:.0f} %.",
        *_misses(laboratory, figures),
    )
    method = (
        "Each replication plays the script once; a figure is the mean over replications with Student's t. "
        "Where one run lies: between order statistics of the runs, whatever their distribution. Means agree "
        "within 20 %; single cells are one run, and nothing is claimed of them beyond the share above."
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRange:
    """Cell of Table 1 as one run would show it."""

    column: str
    interaction: int
    simulated: Range
    printed: float | None


@remembered
def ranges(laboratory: Laboratory) -> tuple[CellRange, ...]:
    """Every cell of Table 1: where one run lies, and the printed value."""
    return tuple(
        CellRange(
            column=name,
            interaction=interaction,
            simulated=one_run(_response(run, interaction)),
            printed=cell.value if cell else None,
        )
        for name, run in columns(laboratory).items()
        for interaction in range(1, INTERACTIONS + 1)
        for cell in (PAPER.tables[RESPONSES].cell({"interaction": interaction}, name),)
    )


def inside(laboratory: Laboratory) -> tuple[int, int, float]:
    """Printed cells that lie where one run does, all printed cells, and the probability of a range."""
    pairs = [(cell.simulated, cell.printed) for cell in ranges(laboratory) if cell.printed is not None]
    count = sum(simulated.holds(printed) for simulated, printed in pairs)
    return count, len(pairs), min(simulated.level for simulated, _ in pairs)


def _spread(laboratory: Laboratory) -> Table:
    """Range of one run, cell by cell, and the printed value."""
    every = ranges(laboratory)

    def pair(cell: CellRange) -> tuple[str | None, str]:
        outside = cell.printed is not None and not cell.simulated.holds(cell.printed)
        printed = None if cell.printed is None else f"{cell.printed:.1f}{' ✗' if outside else ''}"
        return printed, f"{cell.simulated.low:.1f} to {cell.simulated.high:.1f}"

    names = [name.removesuffix("_s").replace("_", " ") for name in COLUMNS]
    level = min(cell.simulated.level for cell in every)
    return Table.of(
        range(1, INTERACTIONS + 1),
        Col("interaction", _both),
        Cols(
            [f"{name}, {part}" for name in names for part in ("printed, s", "one run, s")],
            lambda interaction: [
                text for cell in every if cell.interaction == interaction for text in pair(cell)
            ],
            scaled=False,
        ),
        name="one-run",
        caption="Table 1 as one run would show it: printed, and where a simulated run lies, s",
        notes=[
            f"A range holds one more run with probability {100 * level:.0f} %; ✗: what is printed is outside."
        ],
    )


def _both(interaction: int) -> str:
    """Interaction with its commands on both systems."""
    ours, twin = (named(interaction, system) for system in ("multics", "ctss"))
    return ours if ours == twin else f"{ours}, {twin.partition(' ')[2]}"


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
    judged = {*USERS.values(), PRINTED_AT}
    runs = {
        users: on_multics(
            laboratory, users, replications=None if users in judged else laboratory.count(ENOUGH)
        )
        for users in laboratory.levels(CURVE_USERS, (6, 17))
    }
    ours = {
        label: [
            (users, interval(average(run, without), "s"), f"{users} users") for users, run in runs.items()
        ]
        for label, without in ((ALL, ()), (WITHOUT, COMPILED))
    }
    printed = {
        f"{label}, Table 1": [
            (users, cell.value, f"{users} users")
            for name, users in USERS.items()
            if (cell := PAPER.tables[SUMMARY].cell({"statistic": statistic}, name)) is not None
        ]
        for label, statistic in ((ALL, "average_all"), (WITHOUT, "average_except_fortran"))
    }
    reading = fact("response-time-15-users").value
    printed[f"{ALL}, Table 1"].append((PRINTED_AT, reading, f"read at {PRINTED_AT} users"))
    listed = ", ".join(f"{shown.number(mean.value)} s with {words}" for _, mean, words in ours[ALL])
    return curves(
        "figure-4",
        "Mean response against users (Figure 4)",
        axes=("users", "mean response, s"),
        ours=ours,
        printed=printed,
        alt=f"All waiting interactions: {listed}. Diamonds are the averages of Table 1, and the reading at "
        f"{PRINTED_AT} users.",
    )


VARIED_USERS = (6, 10, 17)
SEEN = "chosen with the columns of 10 and 17 users in sight"
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "as in this study": {},
    "normal users who think for 5 s": {"normal_think": {"kind": "exponential", "mean": 5.0}},
    "two pages of five from the disk": {"disk_share": 0.4},
    SEEN: {
        "normal_think": {"kind": "exponential", "mean": 8.3},
        "terminal_delay": 0.8,
        "disk_share": 0.48,
    },
}
"""Parameters that differ from those of the study, by what they stand for."""


def sensitivity(laboratory: Laboratory) -> Chapter:
    """Averages of Table 1 for other choices that were possible, one at a time and together."""
    variants = {name: VARIANTS[name] for name in laboratory.levels(tuple(VARIANTS), (SEEN,))}
    ours = {name: _averages(laboratory, changes) for name, changes in variants.items()}
    stated = _stated()
    observed = ", ".join(_in_words(ours[SEEN], stated, index) for index in range(2, len(stated), 2))
    summary = (
        "The numbers that the machine was calibrated to hardly determine how much normal users ask for, how "
        "long terminals delay a response, and how many pages come from the disk. "
        f"Values {SEEN} give {observed}.",
    )
    heads = [f"{users} users, {part}, s" for users in VARIED_USERS for part in (ALL, WITHOUT)]
    rows: list[tuple[str, Sequence[str | Estimate], float]] = [
        ("published", [f"{value:.1f}" for value in stated], stated_growth()),
        *((name, values, _growth(laboratory, variants[name])) for name, values in ours.items()),
    ]
    table = Table.of(
        rows,
        Col("machine", lambda row: row[0]),
        Cols(heads, lambda row: row[1], scaled=False),
        Col("FORTRAN, 17 over 6 users", lambda row: f"{row[2]:.1f}", scaled=False),
        name="in-sight",
        caption="Mean responses with other choices of what the calibration leaves free",
    )
    return Chapter(summary=summary, tables=(table,))


def _stated() -> list[float]:
    return [
        PAPER.printed(SUMMARY, {"statistic": statistic}, f"multics_{users}_users_s").value
        for users in VARIED_USERS
        for statistic in ("average_all", "average_except_fortran")
    ]


def _averages(laboratory: Laboratory, changes: Mapping[str, Any]) -> list[Estimate]:
    """Averages of all and without FORTRAN with 6, 10 and 17 users, s."""
    runs = [_run(laboratory, users, changes) for users in VARIED_USERS]
    return [interval(average(run, without)) for run in runs for without in ((), COMPILED)]


def _in_words(ours: Sequence[Estimate], stated: Sequence[float], index: int) -> str:
    every, without = (
        (ours[place].value, stated[place], 100.0 * (ours[place].value / stated[place] - 1.0))
        for place in (index, index + 1)
    )
    return (
        f"{every[0]:.1f} s for {every[1]} s with {VARIED_USERS[index // 2]} users ({every[2]:+.0f} %; "
        f"{without[0]:.1f} s for {without[1]} s without FORTRAN, {without[2]:+.0f} %)"
    )


def stated_growth() -> float:
    """Printed response of FORTRAN with 17 users over that with 6."""
    few, many = (
        sum(
            PAPER.printed(RESPONSES, {"interaction": index}, f"multics_{users}_users_s").value
            for index in COMPILED
        )
        for users in (VARIED_USERS[0], VARIED_USERS[-1])
    )
    return many / few


def _growth(laboratory: Laboratory, changes: Mapping[str, Any]) -> float:
    few, many = (fortran(_run(laboratory, users, changes)) for users in (VARIED_USERS[0], VARIED_USERS[-1]))
    return float(np.nanmean(many) / np.nanmean(few))


def _run(laboratory: Laboratory, users: int, changes: Mapping[str, Any]) -> Simulated:
    """The runs of Table 1 where nothing is changed, else fewer."""
    return on_multics(
        laboratory, users, replications=laboratory.count(ENOUGH) if changes else None, **changes
    )
