"""The machine's parts: drive, compute loops, and the times of a swap and a block (Tables I and III to V)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from thinktime.reports.compared import Figure, Finding, Tolerance
from thinktime.stats.estimate import Estimate
from thinktime.studies.brachman_1983.machine import Array, Machine, interval
from thinktime.studies.brachman_1983.parts import drive_figures, loop_figures
from thinktime.studies.brachman_1983.recomputed import drive, printed
from thinktime.studies.brachman_1983.tables import (
    BLOCK_TIME,
    CASES,
    DISK,
    FACTORIAL,
    LOOPS,
    NAME,
    PAPER,
    SWAP_TIMES,
    Case,
)
from thinktime.studies.study import Chapter

__all__ = ["TABLES", "block_time_s", "chapter", "near", "seek_saved", "swap_time_s"]

TABLES = (DISK, LOOPS, SWAP_TIMES, BLOCK_TIME)
BLOCK_ERROR_MS = 2.5
"""The printed error of Tblock; that of the swap times is taken to be the same part of them."""


def chapter(machine: Machine) -> Chapter:
    """Tables I and III to V."""
    figures = (*drive_figures(machine), *loop_figures(machine), *_swap_times(machine), *_block_time(machine))
    part = BLOCK_ERROR_MS / printed(BLOCK_TIME, "quantity", "Tblock", "measured_ms")
    summary = (
        "Times are those of access and transfer, without queueing, as the runs of the experiment have them: "
        "a swap of each size in the run of twelve processes with the most memory, a block over the runs of "
        "Table VI.",
    )
    method = (
        f"The thesis gives Tblock an error of {BLOCK_ERROR_MS} ms, {100 * part:.1f} %; a swap time is let "
        "off by the same part."
    )
    return Chapter(figures, (), summary, method=method)


def swap_time_s(machine: Machine, clicks: int) -> Array:
    """Mean time of one swap of so many clicks, of every replication."""
    return machine.case(_largest(clicks), "swap_time_s")


def _largest(clicks: int) -> Case:
    """Run of twelve processes of a size with the most memory and PC = 12 ms."""
    found = [case for case in CASES if (case.sizes_clicks, case.pn, case.pc_ms) == ((clicks,), 12, 12)]
    return max(found, key=lambda case: case.mm_clicks)


def block_time_s(machine: Machine) -> Array:
    """Mean time of a file request over the runs of Table VI that were measured, of every replication."""
    found: Array = np.mean([machine.case(case, "block_time_s") for case in _measured()], axis=0)
    return found


def _measured() -> list[Case]:
    return [case for case in CASES if case.table == FACTORIAL and case.published("elapsed_s") is not None]


def _swap_times(machine: Machine) -> Iterator[Figure]:
    part = BLOCK_ERROR_MS / printed(BLOCK_TIME, "quantity", "Tblock", "measured_ms")
    allowed = Tolerance("relative", round(part, 3))
    for row in PAPER.tables[SWAP_TIMES].rows:
        ours = interval(1000.0 * swap_time_s(machine, int(row["ps_clicks"])))
        yield PAPER.figure(SWAP_TIMES, row, "measured_ms", ours, "fitted", allowed)


def _block_time(machine: Machine) -> Iterator[Figure]:
    row = {"quantity": "Tblock"}
    ours = interval(1000.0 * block_time_s(machine))
    yield PAPER.figure(BLOCK_TIME, row, "measured_ms", ours, "fitted", Tolerance("absolute", BLOCK_ERROR_MS))
    means = [1000.0 * machine.mean(case, "block_time_s") for case in _measured()]
    reach = Estimate((max(means) - min(means)) / 2.0, "ms", len(means), "half the range of the runs")
    yield PAPER.figure(BLOCK_TIME, row, "measured_plus_minus_ms", reach, "predicted", None)


def seek_saved(machine: Machine) -> Finding:
    """Whether swaps take about a mean seek less than calculated."""
    seek = printed("table01_rl01", "characteristic", "average_seek", "value")
    sizes = [int(row["ps_clicks"]) for row in PAPER.tables[SWAP_TIMES].rows]
    less = [1000.0 * (drive().swap_time_s(size).value - swap_time_s(machine, size)) for size in sizes]
    mean = interval(np.mean(less, axis=0))
    listed = ", ".join(f"{size} clicks {each.mean():.1f}" for size, each in zip(sizes, less, strict=True))
    return Finding(
        NAME,
        "swap-time",
        "Table IV",
        abs(mean.value - seek) <= 0.1 * seek,
        f"calculated less simulated, on the mean {mean.value:.1f} ms; {listed} ms; the mean seek is {seek:g} "
        "ms, and a tenth of it is let off",
        "a swap takes about one mean seek less than calculated",
    )


def near(machine: Machine) -> Finding:
    """Whether a block takes less than calculated because LOOK serves files that lie near each other."""
    calculated = 1000.0 * drive().block_time_s()
    case = _largest(157)
    ours = interval(1000.0 * machine.case(case, "block_time_s", disk_policy="look"))
    fcfs = interval(1000.0 * machine.case(case, "block_time_s", disk_policy="fcfs"))
    saved, ordered = calculated - ours.value, fcfs.value - ours.value
    return Finding(
        NAME,
        "block-time",
        "Table V",
        saved > 0.25 * calculated and ordered > 0.0,
        f"calculated {calculated:.1f} ms, {ours.value:.1f} ms with LOOK, {fcfs.value:.1f} ms first come, "
        f"first served: LOOK saves {ordered:.1f} ms, files near each other {saved - ordered:.1f} ms "
        f"({case.words})",
        "a block takes far less than calculated, for LOOK orders requests and the files lie near each other",
    )
