"""The machine's parts: drive, compute loops, and the times of a swap and a block (Tables I and III to V)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from thinktime.documents import document
from thinktime.documents.document import Column, Table
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
from thinktime.studies.cells import Cell, Claim, Tolerance
from thinktime.studies.study import Chapter

__all__ = ["TABLES", "block_time_s", "chapter", "near", "quiet_swap_time_s", "seek_saved", "swap_time_s"]

TABLES = (DISK, LOOPS, SWAP_TIMES, BLOCK_TIME)
BLOCK_ERROR_MS = 2.5
"""The printed error of Tblock; that of the swap times is taken to be the same part of them."""

QUIET = {"processes": 2, "interactions": 50}
ROOM = 70
"""Clicks that are left beside one process on the quiet machine: too few for another."""


def chapter(machine: Machine) -> Chapter:
    """Tables I and III to V."""
    figures = (*drive_figures(machine), *loop_figures(machine), *_swap_times(machine), *_block_time(machine))
    part = BLOCK_ERROR_MS / printed(BLOCK_TIME, "quantity", "Tblock", "measured_ms")
    summary = (
        "Times are those of access and transfer, without queueing. The thesis does not say in which runs it "
        "measured them; here the time of a swap is that of a quiet machine with two processes, of which "
        "memory holds one, and the time of a block the mean over the runs of Table VI that were measured.",
        *_against_published(machine),
        *_under_load(machine),
    )
    method = (
        f"The thesis gives Tblock an error of {BLOCK_ERROR_MS} ms, {100 * part:.1f} %; a swap time is let "
        "off by the same part."
    )
    notes = {
        SWAP_TIMES: (
            "Ours is a quiet machine: Tswap is defined without queueing, and other work moves the arm. What "
            "a swap takes in the runs stands in the table above.",
        )
    }
    return Chapter(
        cells=figures, claims=(), summary=summary, tables=(_conditions(machine),), notes=notes, method=method
    )


def swap_time_s(machine: Machine, clicks: int) -> Array:
    """Mean time of a swap of so many clicks in the runs of twelve processes, of every replication."""
    own = [case for case in _busy() if case.sizes_clicks == (clicks,)]
    found: Array = np.mean([machine.case(case, "swap_time_s") for case in own], axis=0)
    return found


def quiet_swap_time_s(machine: Machine, clicks: int) -> Array:
    """Mean time of a swap of so many clicks on a quiet machine, of every replication.

    Two processes, of which memory holds one: nothing else moves the arm of the swap drive.
    """
    return machine.values("swap_time_s", **{**QUIET, "size": clicks, "memory": clicks + ROOM})


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


def _swap_times(machine: Machine) -> Iterator[Cell]:
    part = BLOCK_ERROR_MS / printed(BLOCK_TIME, "quantity", "Tblock", "measured_ms")
    allowed = Tolerance("relative", round(part, 3))
    for row in PAPER.tables[SWAP_TIMES].rows:
        ours = interval(1000.0 * quiet_swap_time_s(machine, int(row["ps_clicks"])))
        yield PAPER.cell(SWAP_TIMES, row, "measured_ms", ours, "fitted", allowed)


def _block_time(machine: Machine) -> Iterator[Cell]:
    row = {"quantity": "Tblock"}
    ours = interval(1000.0 * block_time_s(machine))
    yield PAPER.cell(BLOCK_TIME, row, "measured_ms", ours, "fitted", Tolerance("absolute", BLOCK_ERROR_MS))
    means = [1000.0 * machine.mean(case, "block_time_s") for case in _measured()]
    reach = Estimate(
        value=(max(means) - min(means)) / 2.0, unit="ms", n=len(means), method="half the range of the runs"
    )
    yield PAPER.cell(BLOCK_TIME, row, "measured_plus_minus_ms", reach, "predicted", None)


def _busy() -> list[Case]:
    """Return the runs of twelve equal processes that compute for 12 ms."""
    return [case for case in CASES if (case.pn, case.pc_ms, len(case.sizes_clicks)) == (12, 12, 1)]


def _against_published(machine: Machine) -> Iterator[str]:
    """How far swap times are from Table IV, on the quiet machine and in the runs."""
    sizes = [int(row["ps_clicks"]) for row in PAPER.tables[SWAP_TIMES].rows]
    known = {size: printed(SWAP_TIMES, "ps_clicks", size, "measured_ms") for size in sizes}
    places = {"On the quiet machine": quiet_swap_time_s, "In the runs of twelve processes": swap_time_s}
    for where, taken in places.items():
        off = {size: 1000.0 * float(taken(machine, size).mean()) / known[size] - 1.0 for size in sizes}
        listed = ", ".join(f"{100 * part:+.0f} % for {size} clicks" for size, part in off.items())
        yield f"{where} the time of a swap differs from Table IV by {listed}."


def _under_load(machine: Machine) -> Iterator[str]:
    longer = {
        case.words: machine.mean(case, "swap_time_s")
        / float(quiet_swap_time_s(machine, case.sizes_clicks[0]).mean())
        for case in _busy()
    }
    least, most = min(longer, key=longer.__getitem__), max(longer, key=longer.__getitem__)
    yield (
        f"In the runs of twelve processes a swap takes {100 * (longer[least] - 1):+.0f} % ({least}) to "
        f"{100 * (longer[most] - 1):+.0f} % ({most}) against a quiet machine with two processes, of which "
        "memory holds one."
    )


def _conditions(machine: Machine) -> Table:
    """Time of a swap on the quiet machine and in the runs."""
    rows: list[tuple[document.Cell, ...]] = []
    for case in _busy():
        size = case.sizes_clicks[0]
        calculated = drive().swap_time_s(size)
        ends = [f"{1000 * (end or 0.0):.1f}" for end in (calculated.low, calculated.high)]
        rows.append(
            (
                case.words,
                f"{printed(SWAP_TIMES, 'ps_clicks', size, 'measured_ms'):.1f}",
                " to ".join(ends),
                interval(1000.0 * quiet_swap_time_s(machine, size)),
                interval(1000.0 * machine.case(case, "swap_time_s")),
            )
        )
    columns = (
        Column("run"),
        Column("measured, ms", scaled=False),
        Column("calculated, ms", scaled=False),
        Column("simulated, quiet, ms", scaled=False),
        Column("simulated, in the run, ms", scaled=False),
    )
    return Table(
        name="swap-conditions",
        caption="One-way swap time, on a quiet machine and in the runs",
        columns=columns,
        rows=tuple(rows),
    )


def seek_saved(machine: Machine) -> Claim:
    """Whether swaps take about a mean seek less than calculated."""
    seek = printed("table01_rl01", "characteristic", "average_seek", "value")
    sizes = [int(row["ps_clicks"]) for row in PAPER.tables[SWAP_TIMES].rows]
    means, listed = {}, []
    for where, taken in (("quiet machine", quiet_swap_time_s), ("runs", swap_time_s)):
        less = [1000.0 * (drive().swap_time_s(size).value - taken(machine, size)) for size in sizes]
        means[where] = interval(np.mean(less, axis=0)).value
        each = ", ".join(f"{size} clicks {one.mean():.1f}" for size, one in zip(sizes, less, strict=True))
        listed.append(f"{where} {means[where]:.1f} ms on the mean ({each})")
    return Claim(
        study=NAME,
        id="swap-time",
        source="Table IV",
        holds=abs(means["quiet machine"] - seek) <= 0.1 * seek,
        statistic=f"calculated less simulated: {'; '.join(listed)}; the mean seek is {seek:g} ms, and "
        f"a tenth of it is "
        "let off on the quiet machine",
        text="a swap takes about one mean seek less than calculated",
    )


def near(machine: Machine) -> Claim:
    """Whether a block takes less than calculated because LOOK serves files that lie near each other."""
    calculated = 1000.0 * drive().block_time_s()
    case = _largest(157)
    ours = interval(1000.0 * machine.case(case, "block_time_s", disk_policy="look"))
    fcfs = interval(1000.0 * machine.case(case, "block_time_s", disk_policy="fcfs"))
    saved, ordered = calculated - ours.value, fcfs.value - ours.value
    return Claim(
        study=NAME,
        id="block-time",
        source="Table V",
        holds=saved > 0.25 * calculated and ordered > 0.0,
        statistic=f"calculated {calculated:.1f} ms, {ours.value:.1f} ms with LOOK, {fcfs.value:.1f} "
        f"ms first come, "
        f"first served: LOOK saves {ordered:.1f} ms, files near each other {saved - ordered:.1f} ms "
        f"({case.words})",
        text="a block takes far less than calculated, for LOOK orders requests and the files lie "
        "near each other",
    )
