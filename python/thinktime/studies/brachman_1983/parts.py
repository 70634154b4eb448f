"""The drive and the compute loops of the simulated machine, as it has them (Tables I and III)."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from thinktime.log import Log
from thinktime.stats.estimate import Estimate
from thinktime.stats.samples import proportion
from thinktime.studies.brachman_1983.machine import Machine
from thinktime.studies.brachman_1983.recomputed import COUNTS, loop_ms
from thinktime.studies.brachman_1983.tables import DISK, LOOPS, PAPER
from thinktime.studies.cells import Cell, Tolerance

__all__ = ["drive_figures", "loop_figures"]

DRAWN = 1000
"""Loops that are timed for each mean burst."""
POINTS = Tolerance("absolute", 5.0)
"""More than three standard errors of a share of `DRAWN` loops."""
NEAR = Tolerance("relative", 0.05)
ONE_LOOP = {"processes": 1, "interactions": 2}
"""Statistics begin when every process has written, so that the second interaction's loop is timed."""


def loop_figures(machine: Machine) -> Iterator[Cell]:
    """Time single compute loops, and count how many have at most so many iterations (Table III)."""
    for row in PAPER.tables[LOOPS].rows:
        seconds = machine.values("user_s", replications=DRAWN, pc=int(row["pc_ms"]), **ONE_LOOP)
        iterations = np.rint(1000.0 * seconds / loop_ms(int(row["pc_ms"])))
        for count in COUNTS:
            found = proportion(int((iterations <= count).sum()), len(iterations))
            low, high = (None if end is None else 100.0 * end for end in (found.low, found.high))
            ours = Estimate(
                value=100.0 * found.value, unit="%", n=found.n, method=found.method, low=low, high=high
            )
            yield PAPER.cell(LOOPS, row, f"iterations_{count}_percent", ours, "fitted", POINTS)


def drive_figures(machine: Machine) -> Iterator[Cell]:
    """Read the drive off the manifest of a log (Table I): what the simulated machine was given."""
    drive = _drive(machine)
    byte_s = drive["transfer_s_per_byte"]
    for characteristic, value, allowed in (
        ("surfaces", drive["tracks_per_cylinder"], NEAR),
        ("tracks_per_surface", drive["cylinders"], NEAR),
        ("blocks_512_byte_per_track", drive["blocks_per_track"], NEAR),
        ("track_to_track_seek", 1000.0 * drive["track_to_track_seek_s"], NEAR),
        ("average_latency", 1000.0 * drive["mean_latency_s"], NEAR),
        ("average_seek", 1000.0 * drive["mean_seek_s"], NEAR),
        ("average_access", 1000.0 * drive["mean_access_s"], NEAR),
        # Within a sector the disk is faster than over a whole track.
        ("transfer_rate_peak", 0.001 / byte_s, None),
        ("transfer_time_average", 1e6 * byte_s, NEAR),
    ):
        row = {"characteristic": characteristic}
        ours = Estimate(value=float(value), unit="", n=1, method="manifest of a simulated log")
        figure = PAPER.cell(DISK, row, "value", ours, "fitted", allowed)
        yield replace(figure, unit=PAPER.tables[DISK].remark(row, "unit"))


def _drive(machine: Machine) -> dict[str, Any]:
    """Facts of the first drive."""
    run = machine.run(replications=1, **ONE_LOOP)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "drive.log"
        run.record(path)
        drive: dict[str, Any] = Log.open(path).manifest["sessions"][0]["machine"]["drives"][0]
    return drive
