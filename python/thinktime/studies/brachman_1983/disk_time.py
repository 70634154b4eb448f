"""Time of the controller in a run: file transfers, swaps, nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thinktime.studies.brachman_1983.runs import (
    BLOCK_TIME,
    INTERACTIONS,
    PAPER,
    RESPONSES,
    Case,
    mean_of,
    of_case,
)
from thinktime.studies.laboratory import Laboratory


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Where the elapsed time of a run goes at the controller, s.

    With U the utilisation, T the elapsed time and S swaps of Tswap each: files take U T - S Tswap, swaps
    S Tswap, and (1 - U) T the controller is idle.
    """

    files_s: float
    swaps_s: float
    idle_s: float

    @property
    def elapsed_s(self) -> float:
        """All of it."""
        return self.files_s + self.swaps_s + self.idle_s


def measured(case: Case) -> Spent | None:
    """Disk time of a measured run, with the measured swap time of Table IV; None where nothing is printed."""
    values = {quantity: case.published(quantity) for quantity in RESPONSES}
    elapsed, share, count = (
        values[name] for name in ("elapsed_s", "controller_utilization_percent", "nswaps")
    )
    if elapsed is None or share is None or count is None:
        return None
    cells = [
        PAPER.tables["table04_swap_times"].cell({"ps_clicks": size}, "measured_ms")
        for size in case.sizes_clicks
    ]
    swap_s = sum(cell.value for cell in cells if cell is not None) / len(cells) / 1000.0
    busy = share / 100.0 * elapsed
    return Spent(files_s=busy - count * swap_s, swaps_s=count * swap_s, idle_s=elapsed - busy)


def simulated(laboratory: Laboratory, case: Case) -> Spent:
    """Disk time of a simulated run, with its own swap time."""
    elapsed, share = (
        mean_of(laboratory, case, "elapsed_s"),
        mean_of(laboratory, case, "controller_utilisation"),
    )
    swaps = of_case(laboratory, case, "swaps")
    item = np.nan_to_num(of_case(laboratory, case, "swap_time_s"))
    taken = float((swaps * item).mean())
    return Spent(files_s=elapsed * share - taken, swaps_s=taken, idle_s=elapsed * (1.0 - share))


def blocks_per_interaction(case: Case) -> float | None:
    """File transfers that a measured run implies, with the measured Tblock; None where nothing is printed."""
    spent = measured(case)
    cell = PAPER.tables[BLOCK_TIME].cell({"quantity": "Tblock"}, "measured_ms")
    if spent is None or cell is None:
        return None
    return 1000.0 * spent.files_s / cell.value / (INTERACTIONS * case.pn)
