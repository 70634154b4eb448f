"""Sensitivity of response times to parameters that the calibration leaves free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from thinktime.documents.document import Cell, Column, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.estimates import interval
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.sekino_1969.loads import COMPILED, ENOUGH, PAPER, RESPONSES, SUMMARY, on_multics
from thinktime.studies.sekino_1969.responses import average, fortran
from thinktime.studies.study import Chapter

if TYPE_CHECKING:
    from thinktime.sources.simulated import Simulated


USERS = (6, 10, 17)
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


def chapter(laboratory: Laboratory) -> Chapter:
    """Averages of Table 1 for other choices that were possible, one at a time and together."""
    variants = {name: VARIANTS[name] for name in laboratory.levels(tuple(VARIANTS), (SEEN,))}
    ours = {name: _cells(laboratory, changes) for name, changes in variants.items()}
    stated = _stated()
    observed = ", ".join(_in_words(ours[SEEN], stated, index) for index in range(2, len(stated), 2))
    summary = (
        "What the machine was calibrated to hardly says how much normal users ask for, how long terminals "
        "delay a response, and how many pages come from the disk. "
        f"Values {SEEN} give {observed}.",
    )
    published = ("published", *(f"{value:.1f}" for value in stated), f"{_stated_growth():.1f}")
    rows: list[tuple[Cell, ...]] = [published]
    rows += [
        (name, *cells, f"{_growth(laboratory, changes):.1f}")
        for (name, cells), changes in zip(ours.items(), variants.values(), strict=True)
    ]
    columns = (
        Column("machine"),
        *(
            Column(f"{users} users, {which}, s", scaled=False)
            for users in USERS
            for which in ("all", "without FORTRAN")
        ),
        Column("FORTRAN, 17 over 6 users", scaled=False),
    )
    caption = "Mean responses if what the calibration leaves open is chosen otherwise"
    return Chapter(
        summary=summary, tables=(Table(name="in-sight", caption=caption, columns=columns, rows=tuple(rows)),)
    )


def _stated() -> list[float]:
    return [
        PAPER.printed(SUMMARY, {"statistic": statistic}, f"multics_{users}_users_s").value
        for users in USERS
        for statistic in ("average_all", "average_except_fortran")
    ]


def _cells(laboratory: Laboratory, changes: Mapping[str, Any]) -> list[Estimate]:
    """Averages of all and without FORTRAN with 6, 10 and 17 users, s."""
    runs = [_run(laboratory, users, changes) for users in USERS]
    return [interval(average(run, without)) for run in runs for without in ((), COMPILED)]


def _in_words(ours: Sequence[Estimate], stated: Sequence[float], at: int) -> str:
    off = [100.0 * (ours[here].value / stated[here] - 1.0) for here in (at, at + 1)]
    return (
        f"{ours[at].value:.1f} s for {stated[at]} s with {USERS[at // 2]} users ({off[0]:+.0f} %; "
        f"{ours[at + 1].value:.1f} s for {stated[at + 1]} s without FORTRAN, {off[1]:+.0f} %)"
    )


def _stated_growth() -> float:
    few, many = (
        sum(
            PAPER.printed(RESPONSES, {"interaction": index}, f"multics_{users}_users_s").value
            for index in COMPILED
        )
        for users in (USERS[0], USERS[-1])
    )
    return many / few


def _growth(laboratory: Laboratory, changes: Mapping[str, Any]) -> float:
    few, many = (fortran(_run(laboratory, users, changes)) for users in (USERS[0], USERS[-1]))
    return float(np.nanmean(many) / np.nanmean(few))


def _run(laboratory: Laboratory, users: int, changes: Mapping[str, Any]) -> Simulated:
    """The runs of Table 1 where nothing is changed, else fewer."""
    return on_multics(
        laboratory, users, replications=laboratory.count(ENOUGH) if changes else None, **changes
    )
