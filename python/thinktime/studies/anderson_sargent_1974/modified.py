"""The modified algorithm: foreground first, slices that I/O does not cut (Table 4, Figure 11)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from thinktime.documents import document
from thinktime.stats import critical_values
from thinktime.stats.estimate import Estimate
from thinktime.studies.anderson_sargent_1974 import charts as drawings
from thinktime.studies.anderson_sargent_1974.charts import SIMULATED, Points
from thinktime.studies.anderson_sargent_1974.experiments import run_values, think
from thinktime.studies.anderson_sargent_1974.validation import AXES, RATE, RESPONSES, TABLE, block
from thinktime.studies.estimates import Array
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.study import Chapter

USERS = (26, 35)
INSERTION_S = 20.0
TIME_SLICE_S = 0.2
REGIONS = 4
REPLICATIONS = 8
"""Periods of each of the two experiments of the paper, which are the points of its figures."""


def modified(laboratory: Laboratory, response: str, users: int) -> Array:
    """One response of every replication under the modified algorithm."""
    return run_values(
        laboratory,
        response,
        users=users,
        insertion_time=think(INSERTION_S),
        scheduler="modified",
        regions=REGIONS,
        time_slice=TIME_SLICE_S,
    )


def chapter(laboratory: Laboratory) -> Chapter:
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
        charts=tuple(_pictures(laboratory)),
    )


def slope(x: Array, y: Array) -> Estimate:
    """Slope of y on x by least squares, with Student's t."""
    n = len(x)
    centred = x - x.mean()
    value = float(centred @ y / (centred @ centred))
    rest = y - y.mean() - value * centred
    error = float(np.sqrt(rest @ rest / (n - 2) / (centred @ centred)))
    reach = critical_values.student_t(0.95, float(n - 2)) * error
    return Estimate(value=value, n=n, method="least squares", low=value - reach, high=value + reach)


def _pictures(laboratory: Laboratory) -> Iterator[document.Figure]:
    for name, title, quantity in (
        ("figure-11-mean", "Mean reaction time, modified (Figure 11)", "avg_reaction_s"),
        ("figure-11-maximum", "Largest reaction time, modified (Figure 11)", "max_reaction_s"),
    ):
        ours = {
            f"{users} users, modified": Points(
                modified(laboratory, "swap_rate", users)[:REPLICATIONS].tolist(),
                modified(laboratory, RESPONSES[quantity], users)[:REPLICATIONS].tolist(),
            )
            for users in USERS
        }
        theirs = {SIMULATED: drawings.published(TABLE, RATE, quantity, block="simulated_modified")}
        every = np.concatenate([modified(laboratory, RESPONSES[quantity], users) for users in USERS])
        alt = (
            f"{REPLICATIONS} periods of each experiment as circles, those of Table 4 as diamonds; in all our "
            f"{len(every)} periods it is between {every.min():.2f} and {every.max():.2f} s, "
            "however much is swapped."
        )
        yield drawings.against(
            name, title, axes=(AXES[RATE], AXES[quantity]), ours=ours, theirs=theirs, alt=alt
        )
