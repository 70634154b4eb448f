"""Where the file transfers go: what utilisation and swaps imply, and what the disk really did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from thinktime.reports import charts, document
from thinktime.reports.charts import Axis
from thinktime.reports.compared import Finding
from thinktime.reports.document import Cell, Column, Key, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.brachman_1983.experiment import find
from thinktime.studies.brachman_1983.machine import INTERACTIONS, Array, Machine, interval
from thinktime.studies.brachman_1983.recomputed import blocks_per_interaction, printed
from thinktime.studies.brachman_1983.tables import BLOCK_TIME, CASES, NAME, SWAP_TIMES, Case
from thinktime.studies.study import Chapter

__all__ = ["chapter"]

RISES = 0.25
"""The simulated rise must be at least this part of the printed one to be called the same."""
FEW = find(pc_ms=12, size=314, mm=650, pn=12)
MANY = find(pc_ms=12, size=157, mm=1280, pn=12)
SWITCHED = (
    MANY,
    find(pc_ms=12, size=157, mm=650, pn=12),
    find(pc_ms=12, size=314, mm=1280, pn=12),
    FEW,
    find(pc_ms=186, size=157, mm=1280, pn=12),
    find(pc_ms=354, size=157, mm=1280, pn=12),
)
MECHANISMS: dict[str, dict[str, Any]] = {
    "as calibrated": {},
    "LOOK": {"disk_policy": "look"},
    "first come, first served": {"disk_policy": "fcfs"},
    "15 buffers": {"buffers": 15},
    "40 buffers": {"buffers": 40},
    "full blocks written at once": {"full_block_writes": "at_once"},
    "blocks of addresses": {"address_blocks": True},
    "files one after another": {"file_layout": "contiguous"},
    "update every 300 s": {"update_interval": 300},
    "update is never swapped": {"update_size": 0},
    "swap area at cylinder 0": {"swap_cylinder": 0},
    "swap area beside the files": {"drives": 1, "swap_drive": 0, "file_drive": 0, "swap_cylinder": 200},
    "overlapped seeks": {"overlapped_seeks": True},
}
KEYS = (
    Key("implied by the measured run", "plain", "diamond"),
    Key("implied by the simulated run", "system", "circle"),
    Key("true, simulated", "user", "circle"),
)


@dataclass(frozen=True)
class Transfers:
    """File transfers of one run, an interaction.

    With T, U, S the elapsed time, utilisation and swaps, C the interactions, and the measured times of Tables
    IV and V: ``implied`` = (U T - S Tswap) / Tblock / C. With the run's own times t and F true transfers an
    interaction it is F + F (tblock / Tblock - 1) + S (tswap - Tswap) / Tblock / C, and what the controller
    does beside.

    Parameters
    ----------
    implied, true : Array
        By replication.
    slower_blocks, slower_swaps : Array
        How far blocks and swaps that take longer than the constants raise what is implied.
    """

    implied: Array
    true: Array
    slower_blocks: Array
    slower_swaps: Array

    @classmethod
    def of(cls, machine: Machine, case: Case, changes: Mapping[str, Any]) -> Transfers:
        """One run with some parameters changed."""
        block = printed(BLOCK_TIME, "quantity", "Tblock", "measured_ms") / 1000.0
        swaps_ms = [printed(SWAP_TIMES, "ps_clicks", size, "measured_ms") for size in case.sizes_clicks]
        swap = sum(swaps_ms) / len(swaps_ms) / 1000.0
        completed = float(INTERACTIONS * case.pn)
        elapsed, share, swaps, true, own_block = (
            machine.case(case, name, **changes)
            for name in (
                "elapsed_s",
                "controller_utilisation",
                "swaps",
                "file_transfers_per_interaction",
                "block_time_s",
            )
        )
        own_swap = np.where(swaps > 0.0, machine.case(case, "swap_time_s", **changes), swap)
        return cls(
            (elapsed * share - swaps * swap) / block / completed,
            true,
            true * (own_block / block - 1.0),
            swaps * (own_swap - swap) / block / completed,
        )


def chapter(machine: Machine) -> Chapter:
    """Implied and true transfers of every row, and with mechanisms switched one at a time."""
    rows = {case.words: (case, Transfers.of(machine, case, {})) for case in CASES}
    few, many = rows[FEW.words][1], rows[MANY.words][1]
    method = (
        "Implied transfers are (U T − Nswaps Tswap) / Tblock / (200 PN), with the measured times of Tables "
        "IV and V for measured and simulated runs alike, whatever blocks and swaps took in the run itself."
    )
    return Chapter(
        findings=(_rises(few, many),),
        summary=tuple(_summary(few, many)),
        pictures=(_figure(rows),),
        tables=(_rise(machine), _table(machine, rows), _switched(machine)),
        method=method,
    )


def _summary(few: Transfers, many: Transfers) -> Iterator[str]:
    theirs = [blocks_per_interaction(case) or float("nan") for case in (MANY, FEW)]
    ours = [float(each.implied.mean()) for each in (many, few)]
    yield (
        f"From {MANY.words} to {FEW.words} the implied transfers an interaction rise from {theirs[0]:.2f} to "
        f"{theirs[1]:.2f} in the measured runs, from {ours[0]:.2f} to {ours[1]:.2f} in the simulated ones."
    )
    whole, true, blocks, swaps, rest = _parts(few, many)
    yield (
        f"Of the simulated rise of {whole:+.2f}, {true:+.2f} are more transfers, {blocks:+.2f} are blocks "
        f"that take longer than in Table V, {swaps:+.2f} are swaps that take longer than in Table IV, and "
        f"{rest:+.2f} other time of the controller."
    )


def _rises(few: Transfers, many: Transfers) -> Finding:
    theirs = [blocks_per_interaction(case) or float("nan") for case in (MANY, FEW)]
    rise = interval(few.implied - many.implied)
    printed = theirs[1] - theirs[0]
    return Finding(
        NAME,
        "implied-transfers",
        "Tables IV to VI",
        rise.low is not None and rise.low > 0.0 and rise.value >= RISES * printed,
        f"{rise.value:+.2f} ({rise.low or 0.0:+.2f} to {rise.high or 0.0:+.2f}) simulated, {printed:+.2f} "
        f"measured; at least {100 * RISES:.0f} % of it counts",
        "the runs seem to make more file transfers an interaction where fewer, larger processes are loaded",
    )


def _table(machine: Machine, rows: Mapping[str, tuple[Case, Transfers]]) -> Table:
    cells: list[tuple[Cell, ...]] = []
    for words, (case, found) in rows.items():
        theirs = blocks_per_interaction(case)
        swap = machine.case(case, "swap_time_s")
        known = swap[swap == swap]
        cells.append(
            (
                words,
                None if theirs is None else f"{theirs:.2f}",
                interval(found.implied),
                interval(found.true),
                interval(1000.0 * machine.case(case, "block_time_s")),
                interval(1000.0 * known) if len(known) else None,
                *(
                    float(machine.mean(case, name)) / (INTERACTIONS * case.pn)
                    for name in ("block_reads", "read_aheads", "cache_hits", "block_writes")
                ),
            )
        )
    columns = (
        Column("run"),
        Column("implied, measured", scaled=False),
        Column("implied, simulated", scaled=False),
        Column("true, simulated", scaled=False),
        Column("block, ms", scaled=False),
        Column("swap, ms", scaled=False),
        *(Column(name) for name in ("reads", "read-aheads", "cache hits", "writes")),
    )
    caption = "File transfers an interaction, implied and true, and what the buffers do"
    return Table("transfers", caption, columns, tuple(cells), folded=True)


def _mechanisms(machine: Machine) -> dict[str, dict[str, Any]]:
    """Return the machine as calibrated, and every change that does change it."""
    given = machine.defaults
    return {
        name: changes
        for name, changes in MECHANISMS.items()
        if not changes or any(given[parameter] != value for parameter, value in changes.items())
    }


def _parts(few: Transfers, many: Transfers) -> tuple[float, ...]:
    """Rise of implied transfers from many loaded to few, and its parts; the last is what is left."""
    whole, *parts = (
        float((getattr(few, name) - getattr(many, name)).mean())
        for name in ("implied", "true", "slower_blocks", "slower_swaps")
    )
    return whole, *parts, whole - sum(parts)


def _rise(machine: Machine) -> Table:
    """Part the rise of implied transfers, with one mechanism changed at a time."""
    cells: list[tuple[Cell, ...]] = []
    for name, changes in _mechanisms(machine).items():
        sides = (Transfers.of(machine, case, changes) for case in (FEW, MANY))
        cells.append((name, *(f"{part:+.2f}".replace("-", "−") for part in _parts(*sides))))
    columns = (
        Column("mechanism"),
        *(
            Column(heading, scaled=False)
            for heading in ("rise", "more transfers", "slower blocks", "slower swaps", "other")
        ),
    )
    caption = f"Rise of implied transfers an interaction from {MANY.words} to {FEW.words}, and its parts"
    return Table("mechanisms-rise", caption, columns, tuple(cells))


def _switched(machine: Machine) -> Table:
    """Implied and true transfers with one mechanism changed at a time."""
    cells: list[tuple[Cell, ...]] = []
    for name, changes in _mechanisms(machine).items():
        for case in SWITCHED:
            found = Transfers.of(machine, case, changes)
            cells.append(
                (
                    name,
                    case.words,
                    interval(found.implied),
                    interval(found.true),
                    interval(1000.0 * machine.case(case, "block_time_s", **changes)),
                    interval(1000.0 * machine.case(case, "swap_time_s", **changes)),
                    interval(machine.case(case, "elapsed_s", **changes)),
                )
            )
    columns = (
        Column("mechanism"),
        Column("run"),
        *(
            Column(heading, scaled=False)
            for heading in ("implied", "true", "block, ms", "swap, ms", "elapsed, s")
        ),
    )
    caption = "Mechanisms changed one at a time: transfers an interaction, and what makes them seem more"
    return Table("mechanisms", caption, columns, tuple(cells), folded=True)


def _figure(rows: Mapping[str, tuple[Case, Transfers]]) -> document.Figure:
    """Implied and true transfers of the runs of twelve processes."""
    drawn: list[dict[str, object]] = []
    for words, (case, found) in rows.items():
        if case.pn != 12:
            continue
        theirs = blocks_per_interaction(case)
        values: list[Estimate | None] = [
            None if theirs is None else Estimate(theirs, "", 1, "measured", theirs, theirs),
            interval(found.implied),
            interval(found.true),
        ]
        for key, value in zip(KEYS, values, strict=True):
            if value is not None:
                ends = {"value": value.value, "low": value.low, "high": value.high}
                drawn.append({"label": words, "series": key.name, "shown": f"{value.value:.2f}", **ends})
    columns = (Column("run"), Column("which"), Column("transfers an interaction", scaled=False))
    data = tuple((str(row["label"]), str(row["series"]), str(row["shown"])) for row in drawn)
    title = "File transfers an interaction, runs of twelve processes"
    ours = [float(found.true.mean()) for case, found in rows.values() if case.pn == 12]
    implied = [float(found.implied.mean()) for case, found in rows.values() if case.pn == 12]
    return document.Figure(
        "transfers-figure",
        title,
        partial(
            charts.dots, drawn, KEYS, Axis("file transfers an interaction"), ("run", "which", "transfers")
        ),
        Table("transfers-figure-data", title, columns, data),
        f"Implied by the simulated runs {min(implied):.2f} to {max(implied):.2f}, true in them "
        f"{min(ours):.2f} to {max(ours):.2f}.",
        KEYS,
    )
