"""File transfers of a run: implied by utilisation and swaps, and true; and why they differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from thinktime.documents.document import Col, Cols, Figure, Key, Table
from thinktime.documents.series import Point, Series
from thinktime.stats.estimate import Estimate
from thinktime.studies import charts
from thinktime.studies.brachman_1983.components import quiet_swap_time_s
from thinktime.studies.brachman_1983.runs import (
    CASES,
    ENOUGH,
    INTERACTIONS,
    PAPER,
    SYSTEM,
    Case,
    block_ms,
    blocks_per_interaction,
    find,
    mean_of,
    of_case,
    swap_ms,
)
from thinktime.studies.cells import Claim
from thinktime.studies.estimates import Array, interval
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.study import Chapter

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
"""Runs on which mechanisms are changed one at a time."""
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
REASONS = {
    "addresses": "blocks of addresses that the buffers lose",
    "others": "other transfers",
    "blocks": "blocks that take longer than in Table V",
    "swaps": "swaps that take longer than in Table IV on a quiet machine",
    "load": "swaps that take longer in the runs than on a quiet machine",
    "rest": "other time of the controller",
}
"""Components of the transfers that a run implies."""
SHARES_FROM = 0.5
"""Rises below this are sums of components that cancel, and have no shares."""
KEYS = (
    Key("implied by the measured run", colour="plain", shape="diamond"),
    Key("implied by the simulated run", colour="system", shape="circle"),
    Key("true, simulated", colour="user", shape="circle"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfers:
    """File transfers per interaction of one run, by replication.

    With T, U, S the elapsed time, utilisation and swaps, C the interactions, and the measured times of Tables
    IV and V: ``implied`` = (U T - S Tswap) / Tblock / C. With the run's own times t and F true transfers per
    interaction it is F + F (tblock / Tblock - 1) + S (tswap - Tswap) / Tblock / C, and other work of the
    controller.
    """

    implied: Array
    true: Array
    slower_blocks: Array
    slower_swaps: Array
    """How far blocks and swaps that take longer than the constants raise the implied transfers."""
    swap_weight: Array
    """S / Tblock / C: file transfers that a second of swap time is worth."""

    @classmethod
    def of(cls, laboratory: Laboratory, case: Case, changes: Mapping[str, Any] | None = None) -> Transfers:
        """One run with some parameters changed; with none, of all replications."""
        changes = changes or {}
        block_s, swap_s = block_ms() / 1000.0, swap_ms(*case.sizes_clicks) / 1000.0
        completed = float(INTERACTIONS * case.pn)
        elapsed, share, swaps, true, block_taken_s, swap_taken_s = (
            of_case(laboratory, case, name, **changes)
            for name in (
                "elapsed_s",
                "controller_utilisation",
                "swaps",
                "file_transfers_per_interaction",
                "block_time_s",
                "swap_time_s",
            )
        )
        swap_taken_s = np.where(swaps > 0.0, swap_taken_s, swap_s)
        return cls(
            implied=(elapsed * share - swaps * swap_s) / block_s / completed,
            true=true,
            slower_blocks=true * (block_taken_s / block_s - 1.0),
            slower_swaps=swaps * (swap_taken_s - swap_s) / block_s / completed,
            swap_weight=swaps / block_s / completed,
        )


def chapter(laboratory: Laboratory) -> Chapter:
    """Implied and true transfers of every row, and with mechanisms switched one at a time."""
    runs = [(case, Transfers.of(laboratory, case)) for case in CASES]
    return Chapter(
        claims=(_rises_as_measured(laboratory),),
        summary=tuple(_summary(laboratory)),
        charts=(_chart(runs),),
        tables=(
            _shares(laboratory),
            _components(laboratory),
            _implied(laboratory, runs),
            _switched(laboratory),
        ),
        method=(
            "Implied transfers are (U T − Nswaps Tswap) / Tblock / (200 PN), with the measured times of "
            "Tables IV and V for measured and simulated runs alike, whatever blocks and swaps took in the "
            "run itself."
        ),
    )


def _rises_as_measured(laboratory: Laboratory) -> Claim:
    """Claim that the implied transfers rise in the simulated runs as in the measured ones."""
    few, many = (Transfers.of(laboratory, case).implied for case in (FEW, MANY))
    few_measured, many_measured = (blocks_per_interaction(case) for case in (FEW, MANY))
    assert few_measured is not None
    assert many_measured is not None
    return PAPER.claim(
        "implied-transfers", {"rise": interval(few - many), "measured": few_measured - many_measured}
    )


def _reasons(laboratory: Laboratory, case: Case) -> dict[str, Array]:
    """Components of the implied transfers of one run, by replication.

    Blocks of addresses are those transfers that the same work does not make on a machine without them. Of the
    swap time that Table IV does not have, a quiet machine has a part, and the run the rest.
    """
    run = Transfers.of(laboratory, case)
    count = min(len(run.true), ENOUGH)
    without = of_case(laboratory, case, "file_transfers_per_interaction", address_blocks=False)[:count]
    quiet_s = float(np.mean([quiet_swap_time_s(laboratory, size).mean() for size in case.sizes_clicks]))
    on_quiet = (run.swap_weight * (quiet_s - swap_ms(*case.sizes_clicks) / 1000.0))[:count]
    components = {
        "addresses": run.true[:count] - without,
        "others": without,
        "blocks": run.slower_blocks[:count],
        "swaps": on_quiet,
        "load": run.slower_swaps[:count] - on_quiet,
    }
    return {**components, "rest": run.implied[:count] - sum(components.values())}


def _rise(laboratory: Laboratory, case: Case) -> tuple[float, dict[str, float]]:
    """Rise of implied transfers from `MANY` to a run, and its components, on the same workloads."""
    here, there = _reasons(laboratory, case), _reasons(laboratory, MANY)
    amounts = {name: float((here[name] - there[name]).mean()) for name in REASONS}
    return sum(amounts.values()), amounts


def _summary(laboratory: Laboratory) -> Iterator[str]:
    theirs = [blocks_per_interaction(case) or float("nan") for case in (MANY, FEW)]
    many, few = (Transfers.of(laboratory, case) for case in (MANY, FEW))
    yield (
        f"From {MANY.words} to {FEW.words} the implied transfers per interaction rise from {theirs[0]:.2f} "
        f"to {theirs[1]:.2f} in the measured runs, from {many.implied.mean():.2f} to "
        f"{few.implied.mean():.2f} in the simulated ones, where the true ones go from "
        f"{many.true.mean():.2f} to {few.true.mean():.2f}."
    )
    total, amounts = _rise(laboratory, FEW)
    components = ", ".join(
        f"{amount:+.2f} ({100 * amount / total:.0f} %) {REASONS[name]}"
        for name, amount in sorted(amounts.items(), key=lambda item: -item[1])
    )
    yield f"Of the simulated rise of {total:+.2f} to {FEW.words}: {components}.".replace("-", "−")
    yield f"Swaps: {_of_swaps(laboratory)}."
    yield f"Seeks: {'; '.join(_of_seeks(laboratory, case) for case in (MANY, FEW))}."
    yield f"Buffers: {'; '.join(_of_buffers(laboratory, case) for case in (MANY, FEW))}."


def _of_swaps(laboratory: Laboratory) -> str:
    (size,) = FEW.sizes_clicks
    return (
        f"one of {size} clicks took {swap_ms(size):.1f} ms as measured, takes "
        f"{1000.0 * float(quiet_swap_time_s(laboratory, size).mean()):.1f} ms on a quiet machine and "
        f"{1000.0 * mean_of(laboratory, FEW, 'swap_time_s'):.1f} ms in {FEW.words}, which makes "
        f"{mean_of(laboratory, FEW, 'swaps'):.0f} of them"
    )


def _of_seeks(laboratory: Laboratory, case: Case) -> str:
    fcfs = of_case(laboratory, case, "block_time_s", disk_policy="fcfs")
    return (
        f"with {mean_of(laboratory, case, 'queue_length'):.1f} requests at the controller ({case.words}) a "
        f"block takes {1000.0 * mean_of(laboratory, case, 'block_time_s'):.1f} ms under LOOK and "
        f"{1000.0 * float(fcfs.mean()):.1f} ms first come, first served"
    )


def _of_buffers(laboratory: Laboratory, case: Case) -> str:
    without = of_case(laboratory, case, "file_transfers_per_interaction", address_blocks=False)
    return (
        f"with {mean_of(laboratory, case, 'loaded_mean'):.1f} loaded ({case.words}) "
        f"{mean_of(laboratory, case, 'file_transfers_per_interaction'):.2f} transfers per interaction, "
        f"{float(without.mean()):.2f} without blocks of addresses"
    )


def _signed(value: float) -> str:
    return f"{round(value, 2) + 0.0:+.2f}".replace("-", "−")


def _shares(laboratory: Laboratory) -> Table:
    """Every run: the rise of its implied transfers against `MANY`, and its components."""
    base = blocks_per_interaction(MANY) or float("nan")

    def rise_measured(case: Case) -> str | None:
        implied = blocks_per_interaction(case)
        return None if implied is None else _signed(implied - base)

    def with_share(amount: float, total: float) -> str:
        share = f" ({100 * amount / total:.0f} %)" if abs(total) >= SHARES_FROM else ""
        return f"{_signed(amount)}{share}".replace("-", "−")

    return Table.of(
        [(case, *_rise(laboratory, case)) for case in CASES if case is not MANY],
        Col("run", lambda run: run[0].words),
        Col("queue", lambda run: f"{mean_of(laboratory, run[0], 'queue_length'):.1f}", scaled=False),
        Col("measured", lambda run: rise_measured(run[0]), scaled=False),
        Col("simulated", lambda run: _signed(run[1]), scaled=False),
        Cols(REASONS, lambda run: (with_share(amount, run[1]) for amount in run[2].values()), scaled=False),
        name="transfers-shares",
        caption="Rise of implied transfers per interaction in each run, and its components",
        notes=(
            f"Against {MANY.words}, on the same workloads. In brackets the share of the simulated rise, "
            f"where that is at least {SHARES_FROM:g}; a negative component hides part of the others.",
            f"{'; '.join(f'{name}: {reason}' for name, reason in REASONS.items())}.",
        ),
    )


def _mechanisms(laboratory: Laboratory) -> dict[str, dict[str, Any]]:
    """The machine as calibrated, and every change that does change it."""
    defaults = laboratory.defaults(SYSTEM)
    return {
        name: changes
        for name, changes in MECHANISMS.items()
        if not changes or any(defaults[parameter] != value for parameter, value in changes.items())
    }


def _components(laboratory: Laboratory) -> Table:
    """Components of the rise of implied transfers, with one mechanism changed at a time."""

    def components(changes: Mapping[str, Any]) -> Iterator[str]:
        few, many = (Transfers.of(laboratory, case, changes) for case in (FEW, MANY))
        rise, *parts = (
            float((getattr(few, name) - getattr(many, name)).mean())
            for name in ("implied", "true", "slower_blocks", "slower_swaps")
        )
        for value in (rise, *parts, rise - sum(parts)):
            yield f"{value:+.2f}".replace("-", "−")

    return Table.of(
        _mechanisms(laboratory).items(),
        Col("mechanism", lambda item: item[0]),
        Cols(
            ("rise", "more transfers", "slower blocks", "slower swaps", "other"),
            lambda item: components(item[1]),
            scaled=False,
        ),
        name="mechanisms-rise",
        caption=f"Rise of implied transfers per interaction from {MANY.words} to {FEW.words}, and its "
        "components",
    )


def _times_ms(laboratory: Laboratory, case: Case, name: str, changes: Mapping[str, Any]) -> Estimate | None:
    """Mean time of a block or a swap in the replications that have one; None where none has."""
    estimate = interval(1000.0 * of_case(laboratory, case, name, **changes))
    return estimate if estimate.n else None


def _implied(laboratory: Laboratory, runs: list[tuple[Case, Transfers]]) -> Table:
    """Implied and true transfers of every row, the times of blocks and swaps, and what the buffers do."""

    def measured(case: Case) -> str | None:
        implied = blocks_per_interaction(case)
        return None if implied is None else f"{implied:.2f}"

    buffers = {
        "reads": "block_reads",
        "read-aheads": "read_aheads",
        "cache hits": "cache_hits",
        "writes": "block_writes",
    }
    return Table.of(
        runs,
        Col("run", lambda run: run[0].words),
        Col("implied, measured", lambda run: measured(run[0]), scaled=False),
        Col("implied, simulated", lambda run: interval(run[1].implied), scaled=False),
        Col("true, simulated", lambda run: interval(run[1].true), scaled=False),
        Col("block, ms", lambda run: _times_ms(laboratory, run[0], "block_time_s", {}), scaled=False),
        Col("swap, ms", lambda run: _times_ms(laboratory, run[0], "swap_time_s", {}), scaled=False),
        Cols(
            buffers,
            lambda run: (
                mean_of(laboratory, run[0], response) / (INTERACTIONS * run[0].pn)
                for response in buffers.values()
            ),
        ),
        name="transfers",
        caption="File transfers per interaction, implied and true, and what the buffers do",
        folded=True,
    )


def _switched(laboratory: Laboratory) -> Table:
    """Implied and true transfers with one mechanism changed at a time."""
    return Table.of(
        [
            (name, case, changes, Transfers.of(laboratory, case, changes))
            for name, changes in _mechanisms(laboratory).items()
            for case in SWITCHED
        ],
        Col("mechanism", lambda run: run[0]),
        Col("run", lambda run: run[1].words),
        Col("implied", lambda run: interval(run[3].implied), scaled=False),
        Col("true", lambda run: interval(run[3].true), scaled=False),
        Col("block, ms", lambda run: _times_ms(laboratory, run[1], "block_time_s", run[2]), scaled=False),
        Col("swap, ms", lambda run: _times_ms(laboratory, run[1], "swap_time_s", run[2]), scaled=False),
        Col(
            "elapsed, s",
            lambda run: interval(of_case(laboratory, run[1], "elapsed_s", **run[2])),
            scaled=False,
        ),
        name="mechanisms",
        caption="Mechanisms changed one at a time: transfers per interaction, and what makes them seem more",
        folded=True,
    )


def _chart(runs: list[tuple[Case, Transfers]]) -> Figure:
    """Implied and true transfers of the runs of twelve processes."""
    points = [
        Point(key=key, label=case.words, y=value)
        for case, run in runs
        if case.pn == 12
        for key, value in zip(
            KEYS, (blocks_per_interaction(case), interval(run.implied), interval(run.true)), strict=True
        )
        if value is not None
    ]
    series = Series(points, order=KEYS)
    implied, true = (
        [point.y.value for point in series.of(key) if isinstance(point.y, Estimate)] for key in KEYS[1:]
    )
    return charts.dots(
        "transfers-figure",
        "File transfers per interaction, runs of twelve processes",
        series,
        axis="file transfers per interaction",
        headings=("run", "which", "transfers"),
        alt=f"Implied by the simulated runs {min(implied):.2f} to {max(implied):.2f}, true in them "
        f"{min(true):.2f} to {max(true):.2f}.",
    )
