"""The thesis, and the 46 runs of its Tables VI and VII: as measured, as simulated, and their disk time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from thinktime.studies.cells import Kind, Row
from thinktime.studies.estimates import Array
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.paper import Paper

PAPER = Paper.read(Path(__file__).parent)

SYSTEM = "unix6"
INTERACTIONS = 200
"""Of each process in every run of the thesis."""
ENOUGH = 8
"""Replications of comparisons on the same workloads, and of mechanisms switched one at a time."""

DISK, FACTORS, LOOPS = "table01_rl01", "table02_factors", "table03_compute_loops"
SWAP_TIMES, BLOCK_TIME = "table04_swap_times", "table05_block_time"
FACTORIAL, SUPPLEMENT, PREDICTIONS = "table06_factorial", "table07_supplementary", "table08_predictions"
APPLICATIONS = "section54_applications"

RESPONSES = {
    "qdisk": ("queue_length", 1.0),
    "nswaps": ("swaps", 1.0),
    "controller_utilization_percent": ("controller_utilisation", 100.0),
    "elapsed_s": ("elapsed_s", 1.0),
}
"""Responses of the simulated system by the columns of Tables VI and VII, and the factor to the printed
unit."""


def printed(table: str, column: str, /, **row: str | int | float) -> float:
    """Printed number of a cell.

    Raises
    ------
    KeyError
        The cell is empty, or there is none.
    """
    return PAPER.printed(table, row, column).value


def block_ms() -> float:
    """Measured time of a file transfer: Tblock of Table V [ms]."""
    return printed(BLOCK_TIME, "measured_ms", quantity="Tblock")


def swap_ms(*sizes_clicks: int) -> float:
    """Measured one-way swap time of Table IV, the mean for unequal sizes [ms]."""
    times = [printed(SWAP_TIMES, "measured_ms", ps_clicks=size) for size in sizes_clicks]
    return sum(times) / len(times)


SWAP_SIZES = tuple(int(row["ps_clicks"]) for row in PAPER.rows(SWAP_TIMES))
"""Sizes of processes of which Table IV has the swap time [clicks]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One run of Table VI or VII."""

    table: str
    row: Row
    """Its key columns, as printed."""
    pc_ms: int
    """Mean CPU time between requests [ms]."""
    sizes_clicks: tuple[int, ...]
    """Size of a process; of several kinds of process, one of each."""
    mm_clicks: int
    """Memory for users."""
    pn: int
    """Processes."""

    @property
    def nl(self) -> int:
        """Processes that memory holds: min(PN, floor(MM / PS)), with the mean of unequal sizes."""
        return min(self.pn, self.mm_clicks * len(self.sizes_clicks) // sum(self.sizes_clicks))

    @property
    def kind(self) -> Kind:
        """``fitted`` for the rows that the machine was calibrated to, else ``predicted``."""
        calibrated = self.table == FACTORIAL and self.sizes_clicks == (157,) and self.mm_clicks in (650, 1280)
        return "fitted" if calibrated else "predicted"

    @property
    def words(self) -> str:
        """Name of the run for a reader."""
        return PAPER.tables[self.table].shape.words.format(**self.row)

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the simulated system; all others are the defaults."""
        sizes = list(self.sizes_clicks)
        size = sizes[0] if len(sizes) == 1 else sizes
        return {"memory": self.mm_clicks, "processes": self.pn, "size": size, "pc": self.pc_ms}

    def published(self, quantity: str) -> float | None:
        """Measured value; None where nothing is printed."""
        cell = PAPER.tables[self.table].cell(self.row, quantity)
        return None if cell is None else cell.value


def _case(table: str, row: Row) -> Case:
    return Case(
        table=table,
        row=row,
        pc_ms=int(row["pc_ms"]),
        sizes_clicks=tuple(int(size) for size in str(row["ps_clicks"]).split("/")),
        mm_clicks=int(row["mm_clicks"]),
        pn=int(row["pn"]),
    )


CASES = tuple(_case(table, row) for table in (FACTORIAL, SUPPLEMENT) for row in PAPER.rows(table))
"""The 46 runs of Tables VI and VII."""
MIXED = next(case for case in CASES if len(case.sizes_clicks) > 1)
"""The run of six small and six large processes."""
TWELVE = tuple(case for case in CASES if case.table == FACTORIAL and case.pn == 12)
"""The six runs of Table VI with twelve processes, which Table VIII predicts from each other."""
BY_TIME = tuple(sorted(TWELVE, key=lambda case: case.published("elapsed_s") or 0.0))
"""The same in the order of Table VIII: by their measured elapsed times."""


SIZES = tuple(sorted({size for case in CASES if case.table == FACTORIAL for size in case.sizes_clicks}))
"""Sizes of the processes of Table VI [clicks]."""


def by_memory(size: int) -> dict[int, list[Case]]:
    """Rows of Table VI with processes of a size, by clicks of memory."""
    groups: dict[int, list[Case]] = {}
    for case in CASES:
        if (case.table, case.sizes_clicks) == (FACTORIAL, (size,)):
            groups.setdefault(case.mm_clicks, []).append(case)
    return groups


def find(*, pc_ms: int, size: int, mm: int, pn: int) -> Case:
    """Row of Table VI or VII with these levels.

    Raises
    ------
    KeyError
        Neither table has it.
    """
    for case in CASES:
        if (case.pc_ms, case.sizes_clicks, case.mm_clicks, case.pn) == (pc_ms, (size,), mm, pn):
            return case
    raise KeyError(f"no run has PC {pc_ms} ms, {size} clicks, {mm} clicks of memory and {pn} processes")


def run_values(
    laboratory: Laboratory, response: str, *, replications: int | None = None, **parameters: Any
) -> Array:
    """One response of every replication of a run; by default of as many as are enough to compare it."""
    count = laboratory.count(ENOUGH) if replications is None else replications
    return laboratory.values(SYSTEM, parameters, response, count)


def of_case(laboratory: Laboratory, case: Case, response: str, **changes: Any) -> Array:
    """One response of every replication of a run of Table VI or VII; with changes, of fewer replications."""
    count = None if changes else laboratory.settings.replications
    return run_values(laboratory, response, replications=count, **{**case.parameters, **changes})


def mean_of(laboratory: Laboratory, case: Case, response: str) -> float:
    """Mean of one response over the replications of a run of Table VI or VII."""
    return float(of_case(laboratory, case, response).mean())


def column_of(laboratory: Laboratory, case: Case, quantity: str) -> Array:
    """A column of Table VI or VII, of every replication of one of its runs."""
    response, factor = RESPONSES[quantity]
    return factor * of_case(laboratory, case, response)


def spread(laboratory: Laboratory, case: Case) -> float:
    """Standard deviation of elapsed times over replications, as a fraction of their mean.

    Every replication draws its own work, which identical runs of the thesis do not.
    """
    values = of_case(laboratory, case, "elapsed_s")
    return float(values.std(ddof=1) / values.mean())


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskTime:
    """Division of the elapsed time of a run at the controller [s].

    With U the utilisation, T the elapsed time and S swaps of Tswap each: files take U T - S Tswap, swaps
    S Tswap, and (1 - U) T the controller is idle.
    """

    files_s: float
    swaps_s: float
    idle_s: float

    @property
    def elapsed_s(self) -> float:
        """Sum of all three."""
        return self.files_s + self.swaps_s + self.idle_s


def measured(case: Case) -> DiskTime | None:
    """Disk time of a measured run, with the measured swap time of Table IV; None where nothing is printed."""
    elapsed, percent, count = (
        case.published(column) for column in ("elapsed_s", "controller_utilization_percent", "nswaps")
    )
    if elapsed is None or percent is None or count is None:
        return None
    swap_s = swap_ms(*case.sizes_clicks) / 1000.0
    busy = percent / 100.0 * elapsed
    return DiskTime(files_s=busy - count * swap_s, swaps_s=count * swap_s, idle_s=elapsed - busy)


def simulated(laboratory: Laboratory, case: Case) -> DiskTime:
    """Disk time of a simulated run, with the swap time of the run itself."""
    elapsed, share = (mean_of(laboratory, case, name) for name in ("elapsed_s", "controller_utilisation"))
    swap_s = np.nan_to_num(of_case(laboratory, case, "swap_time_s"))
    swaps_s = float((of_case(laboratory, case, "swaps") * swap_s).mean())
    return DiskTime(files_s=elapsed * share - swaps_s, swaps_s=swaps_s, idle_s=elapsed * (1.0 - share))


def blocks_per_interaction(case: Case) -> float | None:
    """File transfers that a measured run implies, with the measured Tblock; None where nothing is printed."""
    times = measured(case)
    return None if times is None else 1000.0 * times.files_s / block_ms() / (INTERACTIONS * case.pn)
