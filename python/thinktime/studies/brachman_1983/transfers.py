"""Where the file transfers go: what utilisation and swaps imply, and what the disk really did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from thinktime.documents import document
from thinktime.documents.charts import Axis
from thinktime.documents.document import Cell, Column, Key, Table
from thinktime.documents.series import Point, Series
from thinktime.stats.estimate import Estimate
from thinktime.studies.brachman_1983 import implied_transfers
from thinktime.studies.brachman_1983.components import quiet_swap_time_s
from thinktime.studies.brachman_1983.disk_time import blocks_per_interaction
from thinktime.studies.brachman_1983.experiment import find
from thinktime.studies.brachman_1983.implied_transfers import FEW, MANY, Transfers, parts
from thinktime.studies.brachman_1983.recomputed import printed
from thinktime.studies.brachman_1983.runs import (
    CASES,
    INTERACTIONS,
    SWAP_TIMES,
    SYSTEM,
    Case,
    mean_of,
    of_case,
)
from thinktime.studies.estimates import interval
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.study import Chapter

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
    "a crossing costs a revolution": {"cylinder_crossing": "revolution"},
    "no blocks of addresses": {"address_blocks": False},
    "15 buffers": {"buffers": 15},
    "60 buffers": {"buffers": 60},
    "full blocks written at once": {"full_block_writes": "at_once"},
    "first come, first served": {"disk_policy": "fcfs"},
    "shortest seek first": {"disk_policy": "sstf"},
    "one drive's cylinders after the other's": {"sweep": "combined"},
    "files one after another": {"file_layout": "contiguous"},
    "files scattered": {"file_layout": "scattered"},
    "swap area at cylinder 0": {"swap_cylinder": 0},
    "swap area at cylinder 200": {"swap_cylinder": 200},
    "no pause between requests": {"interrupt_time": 0},
    "update is never swapped": {"update_size": 0},
    "update every 300 s": {"update_interval": 300},
}
KEYS = (
    Key("implied by the measured run", colour="plain", shape="diamond"),
    Key("implied by the simulated run", colour="system", shape="circle"),
    Key("true, simulated", colour="user", shape="circle"),
)


def chapter(laboratory: Laboratory) -> Chapter:
    """Implied and true transfers of every row, and with mechanisms switched one at a time."""
    rows = {case.words: (case, Transfers.of(laboratory, case, {})) for case in CASES}
    few, many = rows[FEW.words][1], rows[MANY.words][1]
    method = (
        "Implied transfers are (U T − Nswaps Tswap) / Tblock / (200 PN), with the measured times of Tables "
        "IV and V for measured and simulated runs alike, whatever blocks and swaps took in the run itself."
    )
    return Chapter(
        claims=(implied_transfers.finding(few, many),),
        summary=tuple(_summary(laboratory, few, many)),
        charts=(_figure(rows),),
        tables=(
            implied_transfers.shares(laboratory),
            _rise(laboratory),
            _table(laboratory, rows),
            _switched(laboratory),
        ),
        method=method,
    )


def _summary(laboratory: Laboratory, few: Transfers, many: Transfers) -> Iterator[str]:
    theirs = [blocks_per_interaction(case) or float("nan") for case in (MANY, FEW)]
    ours = [float(item.implied.mean()) for item in (many, few)]
    true = [float(item.true.mean()) for item in (many, few)]
    yield (
        f"From {MANY.words} to {FEW.words} the implied transfers an interaction rise from {theirs[0]:.2f} to "
        f"{theirs[1]:.2f} in the measured runs, from {ours[0]:.2f} to {ours[1]:.2f} in the simulated ones, "
        f"where the true ones go from {true[0]:.2f} to {true[1]:.2f}."
    )
    yield implied_transfers.listed(laboratory)
    yield f"Swaps: {_of_swaps(laboratory)}."
    yield f"Seeks: {'; '.join(_of_seeks(laboratory, case) for case in (MANY, FEW))}."
    yield f"Buffers: {'; '.join(_of_buffers(laboratory, case) for case in (MANY, FEW))}."


def _of_swaps(laboratory: Laboratory) -> str:
    size = FEW.sizes_clicks[0]
    present = printed(SWAP_TIMES, "ps_clicks", size, "measured_ms")
    quiet = 1000.0 * float(quiet_swap_time_s(laboratory, size).mean())
    selected = 1000.0 * mean_of(laboratory, FEW, "swap_time_s")
    return (
        f"one of {size} clicks took {present:.1f} ms as measured, takes {quiet:.1f} ms on a quiet "
        f"machine and "
        f"{selected:.1f} ms in {FEW.words}, which makes {mean_of(laboratory, FEW, 'swaps'):.0f} of them"
    )


def _of_seeks(laboratory: Laboratory, case: Case) -> str:
    selected = 1000.0 * mean_of(laboratory, case, "block_time_s")
    first = 1000.0 * float(of_case(laboratory, case, "block_time_s", disk_policy="fcfs").mean())
    return (
        f"with {mean_of(laboratory, case, 'queue_length'):.1f} requests at the controller "
        f"({case.words}) a block "
        f"takes {selected:.1f} ms under LOOK and {first:.1f} ms first come, first served"
    )


def _of_buffers(laboratory: Laboratory, case: Case) -> str:
    selected = mean_of(laboratory, case, "file_transfers_per_interaction")
    without = float(of_case(laboratory, case, "file_transfers_per_interaction", address_blocks=False).mean())
    return (
        f"with {mean_of(laboratory, case, 'loaded_mean'):.1f} loaded ({case.words}) {selected:.2f} "
        f"transfers an "
        f"interaction, {without:.2f} without blocks of addresses"
    )


def _table(laboratory: Laboratory, rows: Mapping[str, tuple[Case, Transfers]]) -> Table:
    cells: list[tuple[Cell, ...]] = []
    for words, (case, result) in rows.items():
        theirs = blocks_per_interaction(case)
        swap = of_case(laboratory, case, "swap_time_s")
        present = swap[swap == swap]
        cells.append(
            (
                words,
                None if theirs is None else f"{theirs:.2f}",
                interval(result.implied),
                interval(result.true),
                interval(1000.0 * of_case(laboratory, case, "block_time_s")),
                interval(1000.0 * present) if len(present) else None,
                *(
                    float(mean_of(laboratory, case, name)) / (INTERACTIONS * case.pn)
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
    return Table(name="transfers", caption=caption, columns=columns, rows=tuple(cells), folded=True)


def _mechanisms(laboratory: Laboratory) -> dict[str, dict[str, Any]]:
    """The machine as calibrated, and every change that does change it."""
    given = laboratory.defaults(SYSTEM)
    return {
        name: changes
        for name, changes in MECHANISMS.items()
        if not changes or any(given[parameter] != value for parameter, value in changes.items())
    }


def _rise(laboratory: Laboratory) -> Table:
    """Components of the rise of implied transfers, with one mechanism changed at a time."""
    cells: list[tuple[Cell, ...]] = []
    for name, changes in _mechanisms(laboratory).items():
        sides = (Transfers.of(laboratory, case, changes) for case in (FEW, MANY))
        cells.append((name, *(f"{part:+.2f}".replace("-", "−") for part in parts(*sides))))
    columns = (
        Column("mechanism"),
        *(
            Column(heading, scaled=False)
            for heading in ("rise", "more transfers", "slower blocks", "slower swaps", "other")
        ),
    )
    caption = f"Rise of implied transfers an interaction from {MANY.words} to {FEW.words}, and its parts"
    return Table(name="mechanisms-rise", caption=caption, columns=columns, rows=tuple(cells))


def _switched(laboratory: Laboratory) -> Table:
    """Implied and true transfers with one mechanism changed at a time."""
    cells: list[tuple[Cell, ...]] = []
    for name, changes in _mechanisms(laboratory).items():
        for case in SWITCHED:
            result = Transfers.of(laboratory, case, changes)
            cells.append(
                (
                    name,
                    case.words,
                    interval(result.implied),
                    interval(result.true),
                    interval(1000.0 * of_case(laboratory, case, "block_time_s", **changes)),
                    interval(1000.0 * of_case(laboratory, case, "swap_time_s", **changes)),
                    interval(of_case(laboratory, case, "elapsed_s", **changes)),
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
    return Table(name="mechanisms", caption=caption, columns=columns, rows=tuple(cells), folded=True)


def _figure(rows: Mapping[str, tuple[Case, Transfers]]) -> document.Figure:
    """Implied and true transfers of the runs of twelve processes."""
    points = []
    for words, (case, result) in rows.items():
        if case.pn == 12:
            values = (blocks_per_interaction(case), interval(result.implied), interval(result.true))
            points += [
                Point(key=key, label=words, y=value)
                for key, value in zip(KEYS, values, strict=True)
                if value is not None
            ]
    series = Series(points, order=KEYS)
    title = "File transfers an interaction, runs of twelve processes"
    implied, true = (
        [point.y.value for point in series.of(key) if isinstance(point.y, Estimate)] for key in KEYS[1:]
    )
    return document.Figure(
        name="transfers-figure",
        title=title,
        chart=series.dots(Axis("file transfers an interaction"), named=("run", "which", "transfers")),
        data=series.list_table(
            "transfers-figure-data",
            title,
            "run",
            "which",
            Column("transfers an interaction", scaled=False),
        ),
        alt=f"Implied by the simulated runs {min(implied):.2f} to {max(implied):.2f}, true in them "
        f"{min(true):.2f} to {max(true):.2f}.",
        keys=KEYS,
    )
