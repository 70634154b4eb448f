"""An experiment on two workers of a Dask cluster, beside the same one on two threads of this process.

What is measured is wall-clock time from the first task to the last log in its place: cells of about a
second, each of which comes back as a log. Rounds alternate; a figure is the median over them.
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


def seconds(plan: Design, folder: Path, pool: Pool) -> float:
    runs = experiments.prepare(plan, folder)
    began = time.monotonic()
    experiments.run(plan, runs, pool=pool)
    took = time.monotonic() - began
    shutil.rmtree(folder)
    return took


def run() -> list[dict[str, Any]]:
    with (
        tempfile.TemporaryDirectory() as name,
        Cluster(workers=WORKERS) as there,
        closing(Threads(WORKERS)) as here,
    ):
        folder = Path(name)
        trial = design(folder, 50_000, 4)
        seconds(trial, folder / "trial", there)
        length = 50_000 * CELL_S / (seconds(trial, folder / "trial", here) * WORKERS / 4)
        plan = design(folder, length, CELLS)
        ours, reference = [], []
        for _ in range(ROUNDS):
            ours.append(seconds(plan, folder / "runs", there))
            reference.append(seconds(plan, folder / "runs", here))
    return [
        {
            "work": f"{CELLS} cells of a second on {WORKERS} workers of a Dask cluster",
            "unit": "cells/s",
            "ours": CELLS / median(ours),
            "reference": CELLS / median(reference),
            "reference_name": f"on {WORKERS} threads of one process",
            "ratio": median(reference) / median(ours),
        }
    ]
