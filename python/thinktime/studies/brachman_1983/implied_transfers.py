"""File transfers that a run implies and those that it makes, and why the first are more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from thinktime.documents.document import Cell, Column, Table
from thinktime.studies.brachman_1983.components import quiet_swap_time_s
from thinktime.studies.brachman_1983.disk_time import blocks_per_interaction
from thinktime.studies.brachman_1983.experiment import find
from thinktime.studies.brachman_1983.recomputed import printed
from thinktime.studies.brachman_1983.runs import (
    BLOCK_TIME,
    CASES,
    ENOUGH,
    INTERACTIONS,
    PAPER,
    SWAP_TIMES,
    Case,
    mean_of,
    of_case,
)
from thinktime.studies.cells import Claim
from thinktime.studies.estimates import Array, interval
from thinktime.studies.laboratory import Laboratory

RISES = 0.5
"""The simulated rise must be at least this part of the printed one to be called the same."""
FEW = find(pc_ms=12, size=314, mm=650, pn=12)
MANY = find(pc_ms=12, size=157, mm=1280, pn=12)
REASONS = {
    "addresses": "blocks of addresses that the buffers lose",
    "others": "other transfers",
    "seeks": "blocks that take longer than in Table V",
    "quiet": "swaps that take longer than in Table IV on a quiet machine",
    "load": "swaps that take longer in the runs than on a quiet machine",
    "rest": "other time of the controller",
}
"""Parts of what a run implies."""


@dataclass(frozen=True)
class Transfers:
    """File transfers of one run, an interaction.

    With T, U, S the elapsed time, utilisation and swaps, C the interactions, and the measured times of Tables
    IV and V: ``implied`` = (U T - S Tswap) / Tblock / C. With the run's own times t and F true transfers an
    interaction it is F + F (tblock / Tblock - 1) + S (tswap - Tswap) / Tblock / C, and what the controller
    does beside.
    """

    implied: Array
    true: Array
    """By replication."""
    slower_blocks: Array
    slower_swaps: Array
    """How far blocks and swaps that take longer than the constants raise what is implied."""
    swap_weight: Array
    """S / Tblock / C: file transfers that a second of swap time is worth."""

    @classmethod
    def of(cls, laboratory: Laboratory, case: Case, changes: Mapping[str, Any]) -> Transfers:
        """One run with some parameters changed; with none, of all replications."""
        block = printed(BLOCK_TIME, "quantity", "Tblock", "measured_ms") / 1000.0
        swap = _printed_swap_s(case)
        completed = float(INTERACTIONS * case.pn)
        elapsed, share, swaps, true, own_block = (
            of_case(laboratory, case, name, **changes)
            for name in (
                "elapsed_s",
                "controller_utilisation",
                "swaps",
                "file_transfers_per_interaction",
                "block_time_s",
            )
        )
        own_swap = np.where(swaps > 0.0, of_case(laboratory, case, "swap_time_s", **changes), swap)
        return cls(
            implied=(elapsed * share - swaps * swap) / block / completed,
            true=true,
            slower_blocks=true * (own_block / block - 1.0),
            slower_swaps=swaps * (own_swap - swap) / block / completed,
            swap_weight=swaps / block / completed,
        )


def _printed_swap_s(case: Case) -> float:
    item = [printed(SWAP_TIMES, "ps_clicks", size, "measured_ms") for size in case.sizes_clicks]
    return sum(item) / len(item) / 1000.0


def parts(few: Transfers, many: Transfers) -> tuple[float, ...]:
    """Rise of implied transfers from many loaded to few, and its parts; the last is what is left."""
    total, *result = (
        float((getattr(few, name) - getattr(many, name)).mean())
        for name in ("implied", "true", "slower_blocks", "slower_swaps")
    )
    return total, *result, total - sum(result)


def _reasons(laboratory: Laboratory, case: Case) -> dict[str, Array]:
    """Parts of what one run implies beyond its transfers without blocks of addresses, by replication.

    Blocks of addresses are those transfers that the same work does not make on a machine without them. Of the
    swap time that Table IV does not have, a quiet machine has a part, and the run the rest.
    """
    result = Transfers.of(laboratory, case, {})
    count = min(len(result.true), ENOUGH)
    without = of_case(laboratory, case, "file_transfers_per_interaction", address_blocks=False)[:count]
    quiet = float(np.mean([quiet_swap_time_s(laboratory, size).mean() for size in case.sizes_clicks]))
    on_quiet = (result.swap_weight * (quiet - _printed_swap_s(case)))[:count]
    present = {
        "addresses": result.true[:count] - without,
        "others": without,
        "seeks": result.slower_blocks[:count],
        "quiet": on_quiet,
        "load": result.slower_swaps[:count] - on_quiet,
    }
    return {**present, "rest": result.implied[:count] - sum(present.values())}


def _rises(laboratory: Laboratory, case: Case) -> tuple[float, dict[str, float]]:
    """Rise of implied transfers from `MANY` to a run, and its parts, on the same workloads."""
    here, there = _reasons(laboratory, case), _reasons(laboratory, MANY)
    amounts = {name: float((here[name] - there[name]).mean()) for name in REASONS}
    return sum(amounts.values()), amounts


def listed(laboratory: Laboratory) -> str:
    """Components of the rise to `FEW`, largest first, with their shares of it."""
    total, amounts = _rises(laboratory, FEW)
    largest = sorted(amounts.items(), key=lambda item: -item[1])
    phrases = ", ".join(
        f"{amount:+.2f} ({100 * amount / total:.0f} %) {REASONS[name]}" for name, amount in largest
    )
    return f"Of the simulated rise of {total:+.2f} to {FEW.words}: {phrases}.".replace("-", "−")


def shares(laboratory: Laboratory) -> Table:
    """Every run: what its implied transfers rise by against `MANY`, and why."""
    base = blocks_per_interaction(MANY) or float("nan")
    rows: list[tuple[Cell, ...]] = []
    for case in CASES:
        if case is MANY:
            continue
        theirs = blocks_per_interaction(case)
        total, amounts = _rises(laboratory, case)
        measured = None if theirs is None else _signed(theirs - base)
        cells = [_part(amount, total) for amount in amounts.values()]
        queue = f"{mean_of(laboratory, case, 'queue_length'):.1f}"
        rows.append((case.words, queue, measured, _signed(total), *cells))
    columns = (
        Column("run"),
        Column("queue", scaled=False),
        Column("measured", scaled=False),
        Column("simulated", scaled=False),
        *(Column(name, scaled=False) for name in NAMES),
    )
    notes = (
        f"Against {MANY.words}, on the same workloads. In brackets the share of the simulated rise, where "
        f"that is at least {LEAST:g}; a part below nothing hides what others raise.",
        f"{'; '.join(f'{name}: {reason}' for name, reason in NAMES.items())}.",
    )
    caption = "Implied transfers an interaction: what they rise by in each run, and what makes them"
    return Table(name="transfers-shares", caption=caption, columns=columns, rows=tuple(rows), notes=notes)


NAMES = dict(zip(("addresses", "others", "blocks", "swaps", "load", "rest"), REASONS.values(), strict=True))
"""Reasons by the headings of their columns."""
LEAST = 0.5
"""Rises below this are made of parts that cancel, and have no shares."""


def _signed(value: float) -> str:
    return f"{round(value, 2) + 0.0:+.2f}".replace("-", "−")


def _part(amount: float, whole: float) -> str:
    share = f" ({100 * amount / whole:.0f} %)" if abs(whole) >= LEAST else ""
    return f"{_signed(amount)}{share}".replace("-", "−")


def finding(few: Transfers, many: Transfers) -> Claim:
    """Claim that the implied transfers rise in the simulated runs as in the measured ones."""
    theirs = [blocks_per_interaction(case) or float("nan") for case in (MANY, FEW)]
    rise = interval(few.implied - many.implied)
    total = theirs[1] - theirs[0]
    return PAPER.claim(
        "implied-transfers",
        rise.low is not None and rise.low > 0.0 and rise.value >= RISES * total,
        f"{rise.value:+.2f} ({rise.low or 0.0:+.2f} to {rise.high or 0.0:+.2f}) simulated, "
        f"{total:+.2f} "
        f"measured; at least {100 * RISES:.0f} % of it counts",
    )
