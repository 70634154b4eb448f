"""Original and modified scheduler, compared with the measured system (Table 4, Figures 7 to 11)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from thinktime.documents.document import Figure, Key
from thinktime.stats import critical_values
from thinktime.stats.estimate import Estimate
from thinktime.studies.anderson_sargent_1974.charts import (
    MEASURED,
    SIMULATED,
    against,
    points,
    published,
)
from thinktime.studies.anderson_sargent_1974.runs import PAPER, run_values, think
from thinktime.studies.cells import Cell, Row
from thinktime.studies.estimates import Array
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.published import Printed
from thinktime.studies.study import Chapter

TABLE = "table04_apl_scheduling"
RATE = "swap_rate_per_10_min"
AXES = {
    RATE: "disk accesses in ten minutes",
    "mean_foreground_queue": "mean foreground workspaces",
    "mean_background_queue": "mean background workspaces",
    "avg_reaction_s": "mean reaction time, s",
    "max_reaction_s": "largest reaction time, s",
    "avg_response_s": "mean response time, s",
}
CHARTS = (
    ("figure-7-mean", "Mean reaction time against swapping (Figure 7)", RATE, "avg_reaction_s"),
    ("figure-7-maximum", "Largest reaction time against swapping (Figure 7)", RATE, "max_reaction_s"),
    ("figure-8", "Reaction against foreground (Figure 8)", "mean_foreground_queue", "avg_reaction_s"),
    ("figure-9", "Response time against swapping (Figure 9)", RATE, "avg_response_s"),
    ("figure-10", "Response against background (Figure 10)", "mean_background_queue", "avg_response_s"),
)
USERS = {26: "user", 35: "system"}
"""Users of the experiments, and their colours."""
INSERTION_S = (20.0, 25.0, 30.0)
ORIGINAL_PERIODS, MODIFIED_PERIODS = 7, 8
"""Periods of each of the six experiments and of the two of the paper: the points of its figures."""
PERIODS = 8
"""In each block of Table 4."""
DRAWS = 400
RESPONSES = {
    RATE: "swap_rate",
    "mean_foreground_queue": "mean_foreground",
    "mean_background_queue": "mean_background",
    "avg_reaction_s": "mean_reaction_s",
    "max_reaction_s": "max_reaction_s",
    "sd_reaction_s": "sd_reaction_s",
    "avg_response_s": "mean_response_s",
}
"""Responses of the simulated system by the columns of Table 4."""
REPEATED = (6, 7)
"""Rows of the third block that repeat its first two."""


def original(laboratory: Laboratory, response: str, users: int, insertion_s: float) -> Array:
    """One response of every replication under the original scheduler with four regions."""
    return run_values(
        laboratory, response, users=users, insertion_time=think(insertion_s), scheduler="original", regions=4
    )


def chapter(laboratory: Laboratory) -> Chapter:
    """Table 4's first two blocks, and Figures 7 to 10."""
    ours = {column: original(laboratory, response, 35, 20.0) for column, response in RESPONSES.items()}
    cells = tuple(
        cell for name in ("empirical", "simulated_original") for cell in block(laboratory, name, ours)
    )
    summary = (
        "Six experiments with the original scheduler: 26 and 35 users with mean insertion times of 20, 25 "
        "and 30 s. The paper compares them with the measured periods by eye; its points lie over ours here.",
        "A period of Table 4 agrees if it lies in the range that holds 95 % of our periods of 35 users; the "
        "mean of a block agrees if it lies where 95 % of means of eight of our periods do, a mean reaction "
        "time within 10 % and a mean response time within 15 %.",
    )
    return Chapter(cells=cells, summary=summary, charts=tuple(_original_charts(laboratory)))


def block(laboratory: Laboratory, name: str, ours: dict[str, Array]) -> Iterator[Cell]:
    """Cells of one block of Table 4: its periods, and their mean.

    Parameters
    ----------
    laboratory : Laboratory
    name : str
        As the table names it.
    ours : dict of str to ndarray
        Periods of ours, by column.
    """
    table = PAPER.tables[TABLE]
    rows = [row for row in table.rows if row["block"] == name]
    for row in rows:
        for quantity, values in ours.items():
            yield PAPER.simulated(TABLE, row, quantity, _ranged(values, values))
    random = np.random.default_rng(laboratory.settings.seed)
    for quantity, values in ours.items():
        yield _mean(rows, quantity, values=values, random=random, draws=laboratory.scaled(DRAWS))


def _ranged(values: Array, drawn: Array | list[float]) -> Estimate:
    """Mean of `values` with the range of 95 % of what is drawn."""
    low, high = np.quantile(drawn, [0.025, 0.975]).tolist()
    return Estimate(
        value=float(values.mean()), n=len(values), method="range of 95 % of periods", low=low, high=high
    )


def _mean(rows: list[Row], quantity: str, values: Array, random: np.random.Generator, draws: int) -> Cell:
    """Mean of a block, rows that repeat others left out."""
    table = PAPER.tables[TABLE]
    name = str(rows[0]["block"])
    different = [row for row in rows if not (name == "simulated_modified" and row["row"] in REPEATED)]
    cells = [cell for row in different if (cell := table.cell(row, quantity)) is not None]
    drawn = [random.choice(values, PERIODS).mean() for _ in range(draws)]
    printed = Printed(sum(cell.value for cell in cells) / len(cells), cells[0].places + 1)
    return PAPER.implied(TABLE, {"block": name, "row": "mean"}, quantity, _ranged(values, drawn), printed)


def _original_charts(laboratory: Laboratory) -> Iterator[Figure]:
    for name, title, x, y in CHARTS:
        ours = [
            point
            for users, colour in USERS.items()
            for insertion in INSERTION_S
            for point in points(
                Key(f"{users} users, original scheduler", colour=colour, shape="circle"),
                *(
                    original(laboratory, RESPONSES[axis], users, insertion)[:ORIGINAL_PERIODS].tolist()
                    for axis in (x, y)
                ),
            )
        ]
        theirs = published(MEASURED, TABLE, x, y, block="empirical")
        if x == RATE and y in ("avg_reaction_s", "max_reaction_s"):
            # Table 2 has both columns too.
            theirs += published(MEASURED, "table02_reaction_vs_swapping", "disk_accesses_per_10_min", y)
        theirs += published(SIMULATED, TABLE, x, y, block="simulated_original")
        every = [value for users in USERS for value in original(laboratory, RESPONSES[y], users, 20.0)]
        alt = (
            f"{ORIGINAL_PERIODS} periods of each of the six experiments as circles, the periods of Table 4 "
            f"as diamonds. With an insertion time of 20 s, {AXES[y].removesuffix(', s')} is between "
            f"{min(every):.2f} and {max(every):.2f} s in {len(every)} periods."
        )
        yield against(name, title, axes=(AXES[x], AXES[y]), ours=ours, theirs=theirs, alt=alt)


def _modified_charts(laboratory: Laboratory) -> Iterator[Figure]:
    for name, words, quantity in (
        ("figure-11-mean", "Mean", "avg_reaction_s"),
        ("figure-11-maximum", "Largest", "max_reaction_s"),
    ):
        ours = [
            point
            for users, colour in USERS.items()
            for point in points(
                Key(f"{users} users, modified", colour=colour, shape="circle"),
                *(
                    modified(laboratory, RESPONSES[axis], users)[:MODIFIED_PERIODS].tolist()
                    for axis in (RATE, quantity)
                ),
            )
        ]
        theirs = published(SIMULATED, TABLE, RATE, quantity, block="simulated_modified")
        every = np.concatenate([modified(laboratory, RESPONSES[quantity], users) for users in USERS])
        alt = (
            f"{MODIFIED_PERIODS} periods of each experiment as circles, those of Table 4 as diamonds; in all "
            f"our {len(every)} periods it is between {every.min():.2f} and {every.max():.2f} s, however much "
            "is swapped."
        )
        title = f"{words} reaction time, modified (Figure 11)"
        yield against(name, title, axes=(AXES[RATE], AXES[quantity]), ours=ours, theirs=theirs, alt=alt)


def modified(laboratory: Laboratory, response: str, users: int) -> Array:
    """One response of every replication under the modified algorithm."""
    return run_values(
        laboratory,
        response,
        users=users,
        insertion_time=think(20.0),
        scheduler="modified",
        regions=4,
        time_slice=0.2,
    )


def modified_chapter(laboratory: Laboratory) -> Chapter:
    """Table 4's third block, and Figure 11."""
    ours = {column: modified(laboratory, response, 35) for column, response in RESPONSES.items()}
    summary = (
        "Two experiments, 26 and 35 users with a mean insertion time of 20 s, four resident workspaces, and "
        "a slice of 0.2 s that the completion of I/O does not end.",
        "Rows 6 and 7 of the printed block repeat rows 1 and 2; its mean is that of the six different "
        "periods.",
    )
    return Chapter(
        cells=tuple(block(laboratory, "simulated_modified", ours)),
        summary=summary,
        charts=tuple(_modified_charts(laboratory)),
    )


def slope(x: Array, y: Array) -> Estimate:
    """Slope of y on x by least squares, with Student's t; without an interval where n < 3."""
    n = len(x)
    centred = x - x.mean()
    value = float(centred @ y / (centred @ centred))
    if n < 3:
        return Estimate(value=value, n=n, method="least squares")
    rest = y - y.mean() - value * centred
    error = float(np.sqrt(rest @ rest / (n - 2) / (centred @ centred)))
    reach = critical_values.student_t(0.95, float(n - 2)) * error
    return Estimate(value=value, n=n, method="least squares", low=value - reach, high=value + reach)
