"""Which resource was used up in each interval."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses import observations

if TYPE_CHECKING:
    from thinktime.analyses.observations import Observations
    from thinktime.log import Log

__all__ = ["Resources", "columns", "read"]

Array = NDArray[np.float64]

CPU_ROLES = ("user_time", "system_time", "idle_time")
SWAP = ("swap_in_pages", "swap_out_pages")
DRIVE_BUSY = re.compile(r"drive\d+_busy_s")
BOTH_BUSY = ("ticks_user_both", "ticks_system_both", "ticks_idle_both")
"""Ticks that found two drives busy: where there is none, a controller serves one drive at a time."""
SWAPPING_ABOVE = 1.0
"""Pages per second each way: less is the kernel tidying up, not a shortage."""


@dataclass(frozen=True, slots=True)
class Resources:
    """Use of each resource in each interval; nan where not measured.

    Parameters
    ----------
    idle : ndarray
        Idle part of the CPU time, 0 to 1.
    disk_busy : ndarray
        Busy part of the busiest disk's time, 0 to 1; of all together where they are not told apart, or where
        a controller serves one drive at a time.
    memory_stall : ndarray
        Part of the time in which some task was stalled on memory.
    swapping : ndarray
        Pages per second, the lesser of in and out: only both together are a shortage.
    """

    idle: Array
    disk_busy: Array
    memory_stall: Array
    swapping: Array

    def limits(self, idle_below: float, disk_above: float, stall_above: float) -> NDArray[np.str_]:
        """Resource that was used up in each interval: memory, else the CPU, else a disk.

        Memory comes first: a shortage of it uses up disks and CPU too (Bard 1971, Figure 7, region 1,
        where the paging drum was the limit).
        """
        stalled = np.where(
            np.isnan(self.memory_stall), self.swapping > SWAPPING_ABOVE, self.memory_stall > stall_above
        )
        unknown = np.isnan(self.idle) & np.isnan(self.disk_busy)
        choices = [stalled, self.idle < idle_below, self.disk_busy > disk_above, unknown]
        return np.select(choices, ["memory", "cpu", "disk", "unknown"], "none")

    def missing(self) -> list[str]:
        """Names of what was never measured."""
        found = {
            "idle CPU time": self.idle,
            "disk busy time": self.disk_busy,
            "memory stalls": np.where(np.isnan(self.memory_stall), self.swapping, self.memory_stall),
        }
        return [name for name, values in found.items() if np.isnan(values).all()]


def columns(log: Log) -> tuple[str, ...]:
    """Columns of the samples that `read` needs."""
    cpu = [name for role in CPU_ROLES for name in observations.role_columns(log, role)]
    return (*cpu, "steal_s", "disk_busy_s", "psi_memory_some_s", *SWAP, *_metered(log))


def _metered(log: Log) -> list[str]:
    """Columns of a kernel that meters its drives: busy time, and ticks that found both busy."""
    known = [column.name for column in log.schema("samples")]
    return [name for name in known if DRIVE_BUSY.fullmatch(name) or name in BOTH_BUSY]


def read(log: Log, seen: Observations, rows: NDArray[np.int64]) -> Resources:
    """Use of the resources in intervals `rows` of `seen`, which must hold `columns`."""
    idle_columns = observations.role_columns(log, "idle_time")
    idle = seen.total(idle_columns) if idle_columns else np.full(len(seen), np.nan)
    cpu = seen.total(
        [name for role in CPU_ROLES for name in observations.role_columns(log, role)] + ["steal_s"]
    )
    share = np.divide(idle, cpu, out=np.full(len(seen), np.nan), where=cpu > 0)
    swapping = np.minimum(*(seen.rate([name]) for name in SWAP))
    busy = _busiest(log, seen)
    return Resources(share[rows], busy[rows], seen.rate(["psi_memory_some_s"])[rows], swapping[rows])


def _drives(drives: Sequence[Array], seen: Observations) -> Array:
    """Busy part of the busiest drive, or of the controller where that serves one drive at a time."""
    ticks = [seen.columns[name] for name in BOTH_BUSY if name in seen.columns]
    takes_turns = len(ticks) == len(BOTH_BUSY) and not np.nansum(ticks) > 0
    busy: Array = np.sum(drives, axis=0) if takes_turns else np.max(drives, axis=0)
    return busy


def _busiest(log: Log, seen: Observations) -> Array:
    """Busy part of the busiest disk in each interval; the sum over disks where they are not told apart."""
    import polars as pl

    together = seen.rate(["disk_busy_s"])
    drives = [seen.rate([name]) for name in _metered(log) if DRIVE_BUSY.fullmatch(name)]
    if drives:
        return np.minimum(_drives(drives, seen), 1.0)
    if not log.has("disks"):
        return np.minimum(together, 1.0)
    most = (
        log.disks()
        .select(pl.col("start").dt.epoch("us").alias("start"), pl.col("busy_s").cast(pl.Float64))
        .filter(pl.col("busy_s").is_finite())
        .group_by("start")
        .agg(pl.col("busy_s").max())
        .collect()
    )
    intervals = pl.DataFrame({"start": seen.start_us, "at": np.arange(len(seen))})
    joined = intervals.join(most, on="start", how="left", maintain_order="left")
    # No row means that no disk did anything, which is not the same as unknown.
    found = joined["busy_s"].fill_null(0.0).to_numpy()[: len(seen)]
    return np.minimum(found / seen.length_s, 1.0)
