"""Components of the machine: drive, compute loops, times of a swap and of a block (Tables I and III to V)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from thinktime.documents import document
from thinktime.documents.document import Column, Table
from thinktime.stats.estimate import Estimate
from thinktime.stats.samples import proportion
from thinktime.studies.brachman_1983.recomputed import COUNTS, drive, loop_ms, printed
from thinktime.studies.brachman_1983.runs import (
    BLOCK_TIME,
    CASES,
    DISK,
    FACTORIAL,
    LOOPS,
    PAPER,
    SWAP_TIMES,
    SYSTEM,
    Case,
    mean_of,
    of_case,
    run_values,
)
from thinktime.studies.cells import Cell, Claim
from thinktime.studies.estimates import Array, interval
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.study import Chapter

DRAWN = 1000
"""Loops that are timed for each mean burst."""
ONE_LOOP = {"processes": 1, "interactions": 2}
"""Statistics begin when every process has written, so that the second interaction's loop is timed."""


def loop_figures(laboratory: Laboratory) -> Iterator[Cell]:
    """Share of single compute loops with at most a number of iterations (Table III)."""
    for row in PAPER.tables[LOOPS].rows:
        seconds = run_values(laboratory, "user_s", replications=DRAWN, pc=int(row["pc_ms"]), **ONE_LOOP)
        iterations = np.rint(1000.0 * seconds / loop_ms(int(row["pc_ms"])))
        for count in COUNTS:
            result = proportion(int((iterations <= count).sum()), len(iterations))
            low, high = (None if end is None else 100.0 * end for end in (result.low, result.high))
            ours = Estimate(
                value=100.0 * result.value, unit="%", n=result.n, method=result.method, low=low, high=high
            )
            yield PAPER.simulated(LOOPS, row, f"iterations_{count}_percent", ours)


def drive_figures(laboratory: Laboratory) -> Iterator[Cell]:
    """Drive of the simulated machine, from the manifest of a log (Table I)."""
    drive = _drive(laboratory)
    byte_s = drive["transfer_s_per_byte"]
    for characteristic, value in (
        ("surfaces", drive["tracks_per_cylinder"]),
        ("tracks_per_surface", drive["cylinders"]),
        ("blocks_512_byte_per_track", drive["blocks_per_track"]),
        ("track_to_track_seek", 1000.0 * drive["track_to_track_seek_s"]),
        ("average_latency", 1000.0 * drive["mean_latency_s"]),
        ("average_seek", 1000.0 * drive["mean_seek_s"]),
        ("average_access", 1000.0 * drive["mean_access_s"]),
        ("transfer_rate_peak", 0.001 / byte_s),
        ("transfer_time_average", 1e6 * byte_s),
    ):
        row = {"characteristic": characteristic}
        ours = Estimate(value=float(value), n=1, method="manifest of a simulated log")
        figure = PAPER.simulated(DISK, row, "value", ours)
        yield replace(figure, unit=PAPER.tables[DISK].remark(row, "unit"))


def _drive(laboratory: Laboratory) -> dict[str, Any]:
    """Facts of the first drive."""
    (run,) = laboratory.record(SYSTEM, [(ONE_LOOP, 0)])
    drive: dict[str, Any] = run.log.manifest["sessions"][0]["machine"]["drives"][0]
    return drive


BLOCK_ERROR_MS = 2.5
"""The printed error of Tblock; that of the swap times is taken to be the same part of them."""

QUIET = {"processes": 2, "interactions": 50}
ROOM = 70
"""Clicks left next to one process on the quiet machine: too few for another."""


def chapter(laboratory: Laboratory) -> Chapter:
    """Tables I and III to V."""
    figures = (
        *drive_figures(laboratory),
        *loop_figures(laboratory),
        *_swap_times(laboratory),
        *_block_time(laboratory),
    )
    part = BLOCK_ERROR_MS / printed(BLOCK_TIME, "quantity", "Tblock", "measured_ms")
    summary = (
        "Times are those of access and transfer, without queueing. The thesis does not say in which runs it "
        "measured them; here the time of a swap is that of a quiet machine with two processes, of which "
        "memory holds one, and the time of a block the mean over the runs of Table VI that were measured.",
        *_against_published(laboratory),
        *_under_load(laboratory),
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
        cells=figures,
        summary=summary,
        tables=(_conditions(laboratory),),
        notes=notes,
        method=method,
    )


def swap_time_s(laboratory: Laboratory, clicks: int) -> Array:
    """Mean time of a swap of `clicks` clicks in the runs of twelve processes, of every replication."""
    selected = [case for case in _busy() if case.sizes_clicks == (clicks,)]
    result: Array = np.mean([of_case(laboratory, case, "swap_time_s") for case in selected], axis=0)
    return result


def quiet_swap_time_s(laboratory: Laboratory, clicks: int) -> Array:
    """Mean time of a swap of `clicks` clicks on a quiet machine, of every replication.

    Two processes, of which memory holds one: nothing else moves the arm of the swap drive.
    """
    return run_values(laboratory, "swap_time_s", **{**QUIET, "size": clicks, "memory": clicks + ROOM})


def _largest(clicks: int) -> Case:
    """Run of twelve processes of a size with the most memory and PC = 12 ms."""
    result = [case for case in CASES if (case.sizes_clicks, case.pn, case.pc_ms) == ((clicks,), 12, 12)]
    return max(result, key=lambda case: case.mm_clicks)


def block_time_s(laboratory: Laboratory) -> Array:
    """Mean time of a file request over the runs of Table VI that were measured, of every replication."""
    result: Array = np.mean([of_case(laboratory, case, "block_time_s") for case in _measured()], axis=0)
    return result


def _measured() -> list[Case]:
    return [case for case in CASES if case.table == FACTORIAL and case.published("elapsed_s") is not None]


def _swap_times(laboratory: Laboratory) -> Iterator[Cell]:
    for row in PAPER.tables[SWAP_TIMES].rows:
        ours = interval(1000.0 * quiet_swap_time_s(laboratory, int(row["ps_clicks"])))
        yield PAPER.simulated(SWAP_TIMES, row, "measured_ms", ours)


def _block_time(laboratory: Laboratory) -> Iterator[Cell]:
    row = {"quantity": "Tblock"}
    ours = interval(1000.0 * block_time_s(laboratory))
    yield PAPER.simulated(BLOCK_TIME, row, "measured_ms", ours)
    means = [1000.0 * mean_of(laboratory, case, "block_time_s") for case in _measured()]
    reach = Estimate(
        value=(max(means) - min(means)) / 2.0, unit="ms", n=len(means), method="half the range of the runs"
    )
    yield PAPER.simulated(BLOCK_TIME, row, "measured_plus_minus_ms", reach)


def _busy() -> list[Case]:
    """The runs of twelve equal processes that compute for 12 ms."""
    return [case for case in CASES if (case.pn, case.pc_ms, len(case.sizes_clicks)) == (12, 12, 1)]


def _against_published(laboratory: Laboratory) -> Iterator[str]:
    """Difference of swap times from Table IV, on the quiet machine and in the runs."""
    sizes = [int(row["ps_clicks"]) for row in PAPER.tables[SWAP_TIMES].rows]
    present = {size: printed(SWAP_TIMES, "ps_clicks", size, "measured_ms") for size in sizes}
    places = {"On the quiet machine": quiet_swap_time_s, "In the runs of twelve processes": swap_time_s}
    for where, taken in places.items():
        off = {size: 1000.0 * float(taken(laboratory, size).mean()) / present[size] - 1.0 for size in sizes}
        listed = ", ".join(f"{100 * part:+.0f} % for {size} clicks" for size, part in off.items())
        yield f"{where} the time of a swap differs from Table IV by {listed}."


def _under_load(laboratory: Laboratory) -> Iterator[str]:
    longer = {
        case.words: mean_of(laboratory, case, "swap_time_s")
        / float(quiet_swap_time_s(laboratory, case.sizes_clicks[0]).mean())
        for case in _busy()
    }
    least, most = min(longer, key=longer.__getitem__), max(longer, key=longer.__getitem__)
    yield (
        f"In the runs of twelve processes a swap takes {100 * (longer[least] - 1):+.0f} % ({least}) to "
        f"{100 * (longer[most] - 1):+.0f} % ({most}) against a quiet machine with two processes, of which "
        "memory holds one."
    )


def _conditions(laboratory: Laboratory) -> Table:
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
                interval(1000.0 * quiet_swap_time_s(laboratory, size)),
                interval(1000.0 * of_case(laboratory, case, "swap_time_s")),
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


def seek_saved(laboratory: Laboratory) -> Claim:
    """Claim that swaps take about a mean seek less than calculated."""
    seek = printed("table01_rl01", "characteristic", "average_seek", "value")
    sizes = [int(row["ps_clicks"]) for row in PAPER.tables[SWAP_TIMES].rows]
    means, listed = {}, []
    for where, taken in (("quiet machine", quiet_swap_time_s), ("runs", swap_time_s)):
        less = [1000.0 * (drive().swap_time_s(size).value - taken(laboratory, size)) for size in sizes]
        means[where] = interval(np.mean(less, axis=0)).value
        item = ", ".join(f"{size} clicks {one.mean():.1f}" for size, one in zip(sizes, less, strict=True))
        listed.append(f"{where} {means[where]:.1f} ms on the mean ({item})")
    return PAPER.claim(
        "swap-time",
        abs(means["quiet machine"] - seek) <= 0.1 * seek,
        f"calculated less simulated: {'; '.join(listed)}; the mean seek is {seek:g} ms, and "
        f"a tenth of it is "
        "let off on the quiet machine",
    )


def near(laboratory: Laboratory) -> Claim:
    """Claim that a block takes less than calculated because LOOK serves files that lie near each other."""
    calculated = 1000.0 * drive().block_time_s()
    case = _largest(157)
    ours = interval(1000.0 * of_case(laboratory, case, "block_time_s", disk_policy="look"))
    fcfs = interval(1000.0 * of_case(laboratory, case, "block_time_s", disk_policy="fcfs"))
    saved, ordered = calculated - ours.value, fcfs.value - ours.value
    return PAPER.claim(
        "block-time",
        saved > 0.25 * calculated and ordered > 0.0,
        f"calculated {calculated:.1f} ms, {ours.value:.1f} ms with LOOK, {fcfs.value:.1f} "
        f"ms first come, "
        f"first served: LOOK saves {ordered:.1f} ms, files near each other {saved - ordered:.1f} ms "
        f"({case.words})",
    )
