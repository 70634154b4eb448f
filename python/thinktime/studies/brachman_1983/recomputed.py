"""Consistency of the printed numbers: nothing here is simulated."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from thinktime.documents import document
from thinktime.documents.document import Column, Table
from thinktime.models.swapping.swap_disk import Drive
from thinktime.studies.brachman_1983.disk_time import blocks_per_interaction, measured
from thinktime.studies.brachman_1983.runs import (
    BLOCK_TIME,
    CASES,
    DISK,
    FACTORIAL,
    FACTORS,
    INTERACTIONS,
    LOOPS,
    PAPER,
    SWAP_TIMES,
)
from thinktime.studies.cells import Cell, Tolerance
from thinktime.studies.estimates import exact
from thinktime.studies.study import Chapter

COUNTS = (5, 20, 200, 5000)
"""Iterations that Table III names."""


def chapter(_: object) -> Chapter:
    """Every printed number that follows from other printed numbers."""
    figures = (*_disk(), *_factors(), *_calculated(), *_facts())
    summary = (
        "A recomputed figure agrees where it is the printed one to the last printed digit.",
        "Equation 3.1, its leave-one-out predictions (Table VIII) and the five applications are recomputed "
        "in a section of their own.",
    )
    method = (
        "Access time = mean seek + mean latency (Table I). Calculated times are access + bytes × transfer "
        "time + 15 ms for each cylinder crossed, with the fewest and most crossings of whole blocks in "
        "cylinders of 40 (Tables IV and V). Blocks per interaction = (U T − Nswaps Tswap) / Tblock / "
        "(200 PN)."
    )
    return Chapter(cells=figures, summary=summary, tables=(_throughput(),), method=method)


def printed(table: str, key: str, value: str | int, quantity: str) -> float:
    """One printed number of a table with one key.

    Raises
    ------
    KeyError
        The cell is empty, or there is none.
    """
    cell = PAPER.tables[table].cell({key: value}, quantity)
    if cell is None:
        raise KeyError(f"{table}: {value} has no {quantity}")
    return cell.value


def _drive(characteristic: str) -> float:
    return printed(DISK, "characteristic", characteristic, "value")


def _disk() -> Iterator[Cell]:
    row = {"characteristic": "average_access"}
    ours = exact(_drive("average_seek") + _drive("average_latency"), "ms", 2)
    yield PAPER.recomputed(DISK, row, "value", ours)


def _factors() -> Iterator[Cell]:
    """Levels of Table II as the rows of Table VI have them."""
    table = PAPER.tables[FACTORS]
    keys = {"MM": "mm_clicks", "PN": "pn", "PS": "ps_clicks", "PC": "pc_ms"}
    for row in table.rows:
        levels = [float(level) for level in table.remark(row, "levels").split(";")]
        result = sorted(
            {float(case.row[keys[str(row["factor"])]]) for case in CASES if case.table == FACTORIAL}
        )
        for number, (level, ours) in enumerate(zip(levels, result, strict=True), start=1):
            yield Cell(
                study=PAPER.study,
                table=FACTORS,
                row={**row, "level": number},
                quantity="levels",
                unit=table.remark(row, "unit"),
                published=level,
                ours=ours,
                low=None,
                high=None,
                n=sum(
                    float(case.row[keys[str(row["factor"])]]) == ours
                    for case in CASES
                    if case.table == FACTORIAL
                ),
                kind="arithmetic",
                tolerance=Tolerance("digits", 0.5),
                places=0,
                label=f"{row['factor']}, level {number}",
            )


def drive() -> Drive:
    """Drive of Table I, as the model takes it."""
    return Drive(
        access_s=_drive("average_access") / 1000.0,
        transfer_s_per_byte=_drive("transfer_time_average") / 1e6,
        track_to_track_s=_drive("track_to_track_seek") / 1000.0,
        cylinder_blocks=int(_drive("blocks_512_byte_per_track") * _drive("surfaces")),
    )


def _calculated() -> Iterator[Cell]:
    """Times of Tables IV and V, calculated from the drive."""
    for row in PAPER.tables[SWAP_TIMES].rows:
        result = drive().swap_time_s(int(row["ps_clicks"]))
        for quantity, value in (("calculated_min_ms", result.low), ("calculated_max_ms", result.high)):
            ours = exact(1000.0 * (math.nan if value is None else value), "ms", 4)
            yield PAPER.recomputed(SWAP_TIMES, row, quantity, ours)
    ours = exact(1000.0 * drive().block_time_s(), "ms", 2)
    yield PAPER.recomputed(BLOCK_TIME, {"quantity": "Tblock"}, "calculated_ms", ours)


def _facts() -> Iterator[Cell]:
    implied = [blocks_per_interaction(case) for case in CASES if case.table == FACTORIAL]
    present = [value for value in implied if value is not None]
    yield PAPER.recomputed_fact("blocks-per-interaction", exact(float(np.mean(present)), "", len(present)))
    mixed = next(case for case in CASES if len(case.sizes_clicks) > 1)
    yield PAPER.recomputed_fact("mixed-sizes-loaded", exact(float(mixed.nl), "", 3))
    times = [
        [
            printed(SWAP_TIMES, "ps_clicks", int(row["ps_clicks"]), name)
            for row in PAPER.tables[SWAP_TIMES].rows
        ]
        for name in ("measured_ms", "calculated_min_ms", "calculated_max_ms")
    ]
    ours, fewest, most = (float(np.mean(column)) for column in times)
    yield PAPER.recomputed_fact("block-time-saved", exact((fewest + most) / 2.0 - ours, "ms", 12))
    yield PAPER.recomputed_fact("swaps-by-doubling-loaded", exact(_work_between_swaps(), "", 6))


def _work_between_swaps() -> float:
    """File transfers a swap with 8 loaded processes of 157 clicks, over those with 4, both of 12."""
    ratio = []
    for case in CASES:
        spent = measured(case)
        swaps = case.published("nswaps")
        index = (case.table, case.sizes_clicks, case.pn)
        if spent is not None and swaps and index == (FACTORIAL, (157,), 12) and case.nl in (4, 8):
            ratio.append((case.nl, spent.files_s / swaps))
    (_, four), (_, eight) = sorted(ratio)
    return eight / four


def loop_ms(pc_ms: int, cumulative: bool = True) -> float:
    """Time of one iteration that Table III implies: PC over the mean number of iterations, ms.

    Parameters
    ----------
    pc_ms : int
    cumulative : bool
        True if a percentage counts all loops of at most a number of iterations, False if those of exactly it.
    """
    percents = [printed(LOOPS, "pc_ms", pc_ms, f"iterations_{count}_percent") for count in COUNTS]
    shares = np.diff(percents, prepend=0.0) if cumulative else np.asarray(percents)
    return pc_ms / (float(shares @ np.asarray(COUNTS)) / 100.0)


def _throughput() -> Table:
    """Throughput and response time of the measured runs."""
    rows: list[tuple[document.Cell, ...]] = []
    for case in CASES:
        elapsed, implied = case.published("elapsed_s"), blocks_per_interaction(case)
        if elapsed is None or implied is None:
            continue
        completed = INTERACTIONS * case.pn
        item = (completed / elapsed, elapsed / INTERACTIONS, implied)
        rows.append((case.words, f"{elapsed:.0f}", *(f"{value:.2f}" for value in item)))
    columns = (
        Column("run"),
        Column("elapsed, s", scaled=False),
        Column("interactions/s", scaled=False),
        Column("R + Z, s", scaled=False),
        Column("file transfers an interaction", scaled=False),
    )
    note = (
        "Throughput X = C / T with C = 200 PN interactions; response and think time together "
        "R + Z = PN T / C by the response time law; transfers follow from utilisation, swaps and Tblock."
    )
    return Table(
        name="measured-throughput",
        caption="What the measured runs imply",
        columns=columns,
        rows=tuple(rows),
        notes=(note,),
        folded=True,
    )
