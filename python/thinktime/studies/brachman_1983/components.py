"""Components of the machine: drive, compute loops, times of a swap and of a block (Tables I and III to V)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from thinktime.documents.document import Col, Table
from thinktime.stats.estimate import Estimate
from thinktime.stats.samples import proportion
from thinktime.studies.brachman_1983.recomputed import COUNTS, drive, loop_ms
from thinktime.studies.brachman_1983.runs import (
    BLOCK_TIME,
    CASES,
    DISK,
    FACTORIAL,
    LOOPS,
    PAPER,
    SWAP_SIZES,
    SWAP_TIMES,
    SYSTEM,
    block_ms,
    mean_of,
    of_case,
    run_values,
    swap_ms,
)
from thinktime.studies.cells import Cell
from thinktime.studies.estimates import Array, interval, scaled
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.study import Chapter

DRAWN = 1000
"""Loops that are timed for each mean burst."""
ONE_LOOP = {"processes": 1, "interactions": 2}
"""Statistics begin when every process has written, so that the second interaction's loop is timed."""
BLOCK_ERROR_MS = 2.5
"""The printed error of Tblock; swap times are assumed to have the same relative error."""
QUIET = {"processes": 2, "interactions": 50}
ROOM = 70
"""Clicks left next to one process on the quiet machine: too few for another."""

MEASURED = tuple(
    case for case in CASES if case.table == FACTORIAL and case.published("elapsed_s") is not None
)
"""Runs of Table VI that were measured."""
BUSY = tuple(case for case in CASES if (case.pn, case.pc_ms, len(case.sizes_clicks)) == (12, 12, 1))
"""Runs of twelve equal processes that compute for 12 ms."""


def chapter(laboratory: Laboratory) -> Chapter:
    """Tables I and III to V."""
    return Chapter(
        cells=(
            *_drive(laboratory),
            *_loops(laboratory),
            *_swap_times(laboratory),
            *_block_time(laboratory),
        ),
        summary=(
            "Times are those of access and transfer, without queueing. The thesis does not say in which "
            "runs it measured them; here the time of a swap is that of a quiet machine with two processes, "
            "of which memory holds one, and the time of a block the mean over the runs of Table VI that "
            "were measured.",
            *_against_published(laboratory),
            _under_load(laboratory),
        ),
        tables=(_conditions(laboratory),),
        notes={
            SWAP_TIMES: (
                "Ours is a quiet machine: Tswap is defined without queueing, and other work moves the arm. "
                "What a swap takes in the runs stands in the table above. The mean is over all images: those "
                "of init and the parent, which exits bring in, are short.",
            )
        },
        method=(
            f"The thesis gives Tblock an error of {BLOCK_ERROR_MS} ms, "
            f"{100 * BLOCK_ERROR_MS / block_ms():.1f} %; a swap time may differ by the same fraction."
        ),
    )


def swap_time_s(laboratory: Laboratory, clicks: int) -> Array:
    """Mean time of a swap of `clicks` clicks in the runs of twelve processes, of every replication."""
    cases = [case for case in BUSY if case.sizes_clicks == (clicks,)]
    means: Array = np.mean([of_case(laboratory, case, "swap_time_s") for case in cases], axis=0)
    return means


def quiet_swap_time_s(laboratory: Laboratory, clicks: int) -> Array:
    """Mean time of a swap of `clicks` clicks on a quiet machine, of every replication.

    Two processes, of which memory holds one: nothing else moves the arm of the swap drive.
    """
    return run_values(laboratory, "swap_time_s", **{**QUIET, "size": clicks, "memory": clicks + ROOM})


def block_time_s(laboratory: Laboratory) -> Array:
    """Mean time of a file request over the runs of Table VI that were measured, of every replication."""
    means: Array = np.mean([of_case(laboratory, case, "block_time_s") for case in MEASURED], axis=0)
    return means


def _loops(laboratory: Laboratory) -> Iterator[Cell]:
    """Share of single compute loops with at most a number of iterations (Table III)."""
    for row in PAPER.rows(LOOPS):
        seconds = run_values(laboratory, "user_s", replications=DRAWN, pc=int(row["pc_ms"]), **ONE_LOOP)
        iterations = np.rint(1000.0 * seconds / loop_ms(int(row["pc_ms"])))
        for count in COUNTS:
            share = proportion(int((iterations <= count).sum()), len(iterations))
            yield PAPER.simulated(LOOPS, row, f"iterations_{count}_percent", scaled(share, 100.0, "%"))


def _drive(laboratory: Laboratory) -> Iterator[Cell]:
    """First drive of the simulated machine, from the manifest of a log (Table I)."""
    (run,) = laboratory.record(SYSTEM, [(ONE_LOOP, 0)])
    facts: dict[str, Any] = run.log.manifest["sessions"][0]["machine"]["drives"][0]
    byte_s = facts["transfer_s_per_byte"]
    for characteristic, value in (
        ("surfaces", facts["tracks_per_cylinder"]),
        ("tracks_per_surface", facts["cylinders"]),
        ("blocks_512_byte_per_track", facts["blocks_per_track"]),
        ("track_to_track_seek", 1000.0 * facts["track_to_track_seek_s"]),
        ("average_latency", 1000.0 * facts["mean_latency_s"]),
        ("average_seek", 1000.0 * facts["mean_seek_s"]),
        ("average_access", 1000.0 * facts["mean_access_s"]),
        ("transfer_rate_peak", 0.001 / byte_s),
        ("transfer_time_average", 1e6 * byte_s),
    ):
        row = {"characteristic": characteristic}
        ours = Estimate(value=float(value), n=1, method="manifest of a simulated log")
        cell = PAPER.simulated(DISK, row, "value", ours)
        yield replace(cell, unit=PAPER.tables[DISK].remark(row, "unit"))


def _swap_times(laboratory: Laboratory) -> Iterator[Cell]:
    for row in PAPER.rows(SWAP_TIMES):
        ours = interval(1000.0 * quiet_swap_time_s(laboratory, int(row["ps_clicks"])))
        yield PAPER.simulated(SWAP_TIMES, row, "measured_ms", ours)


def _block_time(laboratory: Laboratory) -> Iterator[Cell]:
    row = {"quantity": "Tblock"}
    yield PAPER.simulated(BLOCK_TIME, row, "measured_ms", interval(1000.0 * block_time_s(laboratory)))
    means = [1000.0 * mean_of(laboratory, case, "block_time_s") for case in MEASURED]
    reach = Estimate(
        value=(max(means) - min(means)) / 2.0, unit="ms", n=len(means), method="half the range of the runs"
    )
    yield PAPER.simulated(BLOCK_TIME, row, "measured_plus_minus_ms", reach)


def _against_published(laboratory: Laboratory) -> Iterator[str]:
    """Difference of swap times from Table IV, on the quiet machine and in the runs."""
    places = {"On the quiet machine": quiet_swap_time_s, "In the runs of twelve processes": swap_time_s}
    for where, taken_s in places.items():
        listed = ", ".join(
            f"{100 * (1000.0 * float(taken_s(laboratory, size).mean()) / swap_ms(size) - 1.0):+.0f} % for "
            f"{size} clicks"
            for size in SWAP_SIZES
        )
        yield f"{where} the time of a swap differs from Table IV by {listed}."


def _under_load(laboratory: Laboratory) -> str:
    longer = {
        case.words: mean_of(laboratory, case, "swap_time_s")
        / float(quiet_swap_time_s(laboratory, case.sizes_clicks[0]).mean())
        for case in BUSY
    }
    least, most = min(longer, key=longer.__getitem__), max(longer, key=longer.__getitem__)
    return (
        f"In the runs of twelve processes a swap takes {100 * (longer[least] - 1):+.0f} % ({least}) to "
        f"{100 * (longer[most] - 1):+.0f} % ({most}) against a quiet machine with two processes, of which "
        "memory holds one."
    )


def _conditions(laboratory: Laboratory) -> Table:
    """Time of a swap on the quiet machine and in the runs."""

    def calculated(clicks: int) -> str:
        time = drive().swap_time_s(clicks)
        return " to ".join(f"{1000 * (end or 0.0):.1f}" for end in (time.low, time.high))

    return Table.of(
        BUSY,
        Col("run", lambda case: case.words),
        Col("measured, ms", lambda case: f"{swap_ms(*case.sizes_clicks):.1f}", scaled=False),
        Col("calculated, ms", lambda case: calculated(case.sizes_clicks[0]), scaled=False),
        Col(
            "simulated, quiet, ms",
            lambda case: interval(1000.0 * quiet_swap_time_s(laboratory, case.sizes_clicks[0])),
            scaled=False,
        ),
        Col(
            "simulated, in the run, ms",
            lambda case: interval(1000.0 * of_case(laboratory, case, "swap_time_s")),
            scaled=False,
        ),
        name="swap-conditions",
        caption="One-way swap time, on a quiet machine and in the runs",
    )
