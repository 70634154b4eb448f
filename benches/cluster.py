"""An experiment on two workers of a Dask cluster, beside the same one on two threads of this process.

What is measured, from the first task to the last log in its place, is CPU time of all processes (workers,
client and scheduler), and wall-clock time: cells of about a second, each of which comes back as a log. Rounds
alternate; a figure is the median over them. Where other programs want the CPUs too, wall-clock time tells how
Linux divides them.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

from thinktime.log import design as designs
from thinktime.log.design import Design
from thinktime.sources import experiments
from thinktime.tasks import Pool, Threads
from thinktime.tasks.cluster import Cluster

WORKERS = 2
CELLS = 16
ROUNDS = 3
CELL_S = 1.0
"""Length of a task."""
TEXT = """
system = "apl360"
seed = 1
replications = 2
parameters = {{length = {length}}}
factors = {{users = {users}, regions = [3, 4]}}
"""


def design(folder: Path, length: float, cells: int) -> Design:
    path = folder / "design.toml"
    path.write_text(TEXT.format(length=round(length), users=list(range(20, 20 + cells // 2))))
    return designs.read(path)


def measured(plan: Design, folder: Path, pool: Pool) -> tuple[float, float]:
    """CPU time and wall-clock time of an experiment [s]."""
    runs = experiments.prepare(plan, folder)
    before, began = cpu_s(pool), time.monotonic()
    experiments.run(plan, runs, pool=pool)
    took = time.monotonic() - began
    used = cpu_s(pool) - before
    shutil.rmtree(folder)
    return used, took


def cpu_s(pool: Pool) -> float:
    """CPU time so far of this process, in which the scheduler runs too, and of the workers [s]."""
    workers = pool.on_workers(time.process_time) if isinstance(pool, Cluster) else []
    return time.process_time() + sum(workers)


def run() -> list[dict[str, Any]]:
    with (
        tempfile.TemporaryDirectory() as name,
        Cluster(workers=WORKERS) as there,
        closing(Threads(WORKERS)) as here,
    ):
        folder = Path(name)
        trial = design(folder, 50_000, 4)
        measured(trial, folder / "trial", there)
        length = 50_000 * CELL_S * 4 / measured(trial, folder / "trial", here)[0]
        plan = design(folder, length, CELLS)
        ours, reference = [], []
        for _ in range(ROUNDS):
            ours.append(measured(plan, folder / "runs", there))
            reference.append(measured(plan, folder / "runs", here))
    return [
        row("CPU seconds", *(median(cpu for cpu, _ in each) for each in (ours, reference))),
        row("seconds", *(median(wall for _, wall in each) for each in (ours, reference))),
    ]


def row(unit: str, ours: float, reference: float) -> dict[str, Any]:
    """Return a row for a time that is to be short."""
    return {
        "work": f"{CELLS} cells of a second on {WORKERS} workers of a Dask cluster",
        "unit": unit,
        "ours": ours,
        "reference": reference,
        "reference_name": f"on {WORKERS} threads of one process",
        "ratio": reference / ours,
    }
