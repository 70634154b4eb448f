"""The thesis, and the 46 runs of its Tables VI and VII on the simulated machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
"""Responses of the simulated system by the columns of Tables VI and VII, and the factor to the "
"printed unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One run of Table VI or VII."""

    table: str
    row: Row
    """Its key columns, as printed."""
    pc_ms: int
    """Mean CPU time between requests, ms."""
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


def fullest() -> tuple[Case, ...]:
    """The six runs of Table VI with twelve processes, which Table VIII predicts from each other."""
    return tuple(case for case in CASES if case.table == FACTORIAL and case.pn == 12)


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
