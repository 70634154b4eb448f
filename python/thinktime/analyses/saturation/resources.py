"""Which resource was used up in each interval."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thinktime.errors import InputError
from thinktime.log import observations

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.log.observations import Observations

__all__ = ["LIMITS", "Ceiling", "Meter", "Resources", "Thresholds", "ceilings"]

_Array = NDArray[np.float64]

CPU_ROLES = ("user_time", "system_time", "idle_time")
SWAP = ("swap_in_pages", "swap_out_pages")
DRIVE_BUSY = re.compile(r"drive\d+_busy_s")
BOTH_BUSY = ("ticks_user_both", "ticks_system_both", "ticks_idle_both")
"""Ticks that found two drives busy: where there is none, a controller serves one drive at a time."""
SWAPPING_ABOVE = 1.0
"""Pages per second each way: less is the kernel tidying up, not a shortage."""

LIMITS = ("cpu", "disk", "memory", "none", "unknown")
"""What can be used up, besides resources of ceilings; ``none``: nothing was, ``unknown``: not measured."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The greatest rate of a resource, known from its build: a drum turns only so fast.

    For a device whose busy time nobody measures. It counts as used up in intervals that come close to it.
    """

    resource: str
    """``drum``."""
    columns: tuple[str, ...]
    per_s: float
    """Greatest rate of the columns' sum, per second."""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """From where on a resource counts as used up, as parts of an interval or of a ceiling."""

    idle_below: float = 0.05
    disk_above: float = 0.9
    stall_above: float = 0.1
    ceiling_above: float = 0.9


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
    ceilings : ndarray of shape (n, ceilings)
        Part of each ceiling that was reached.
    """

    idle: _Array
    disk_busy: _Array
    memory_stall: _Array
    swapping: _Array
    ceilings: _Array

    def limits(self, at: Thresholds) -> NDArray[np.int8]:
        """Resource that was used up in each interval: a place in `LIMITS`, or after them a ceiling's.

        Memory, else the CPU, else the first ceiling that was reached, else a disk. Memory comes first:
        a shortage of it uses up disks and CPU too. No CPU time left comes before a ceiling (Bard 1971,
        Figure 7).
        """
        stalled = np.where(
            np.isnan(self.memory_stall), self.swapping > SWAPPING_ABOVE, self.memory_stall > at.stall_above
        )
        reached = [column > at.ceiling_above for column in self.ceilings.T]
        measured = ~(np.isnan(self.idle) & np.isnan(self.disk_busy))
        measured |= ~np.isnan(self.ceilings).all(axis=1) if reached else False
        choices = [stalled, self.idle < at.idle_below, *reached, self.disk_busy > at.disk_above, ~measured]
        places = [LIMITS.index("memory"), LIMITS.index("cpu")]
        places += [len(LIMITS) + number for number in range(len(reached))]
        places += [LIMITS.index("disk"), LIMITS.index("unknown")]
        found = np.select(choices, places, LIMITS.index("none"))
        return found.astype(np.int8)

    def taken(self, rows: NDArray[np.int64]) -> Resources:
        """Those of some intervals."""
        parts = (self.idle, self.disk_busy, self.memory_stall, self.swapping, self.ceilings)
        return Resources(*(part[rows] for part in parts))

    def measured(self) -> dict[str, bool]:
        """Which of CPU, disks and memory was measured in any of these intervals."""
        found = {
            "idle CPU time": self.idle,
            "disk busy time": self.disk_busy,
            "memory stalls": np.where(np.isnan(self.memory_stall), self.swapping, self.memory_stall),
        }
        return {name: not bool(np.isnan(values).all()) for name, values in found.items()}

    @staticmethod
    def joined(parts: Sequence[Resources]) -> Resources:
        """Intervals of several pieces, one after the other."""
        names = ("idle", "disk_busy", "memory_stall", "swapping", "ceilings")
        return Resources(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def ceilings(log: Log, given: Mapping[str, float] | None = None) -> tuple[Ceiling, ...]:
    """Ceilings that the manifest names (``machine.ceilings`` of a session), and `given` ones by column.

    A given one replaces that of the same column. Where sessions differ, the greatest rate holds for all.

    Raises
    ------
    InputError
        A given column is not in the samples, or its rate is not positive.
    """
    found: dict[tuple[str, ...], Ceiling] = {}
    for session in log.manifest.get("sessions", []):
        for told in (session.get("machine") or {}).get("ceilings") or []:
            ceiling = _told(log, told)
            if ceiling and (ceiling.columns not in found or found[ceiling.columns].per_s < ceiling.per_s):
                found[ceiling.columns] = ceiling
    for name, rate in (given or {}).items():
        if not rate > 0.0:
            raise InputError(f"ceiling of {name}: {rate:g} is no rate; give the greatest possible per second")
        quantity = observations.quantities(log, [name])
        if not quantity:
            known = ", ".join(column.name for column in log.schema("samples") if column.kind == "counter")
            raise InputError(f"ceiling of {name}: {log.path} has no such column; it has {known}")
        known_as = found.get(quantity[0].columns)
        resource = known_as.resource if known_as else quantity[0].label
        found[quantity[0].columns] = Ceiling(resource, quantity[0].columns, float(rate))
    return tuple(found.values())


def _told(log: Log, told: Mapping[str, Any]) -> Ceiling | None:
    """Ceiling of a manifest; None where the log does not count what it is about."""
    quantity = observations.quantities(log, [str(told.get("column"))])
    rate = told.get("per_s")
    if not quantity or not isinstance(rate, (int, float)) or not rate > 0:
        return None
    name = str(told.get("resource") or quantity[0].label)
    return Ceiling(name, quantity[0].columns, float(rate), str(told.get("description") or ""))


class Meter:
    """Reads the use of resources from pieces of a log's samples.

    Parameters
    ----------
    log : Log
    ceilings : sequence of Ceiling
    """

    def __init__(self, log: Log, ceilings: Sequence[Ceiling] = ()) -> None:
        self._log = log
        self.ceilings = tuple(ceilings)
        known = [column.name for column in log.schema("samples")]
        self._metered = [name for name in known if DRIVE_BUSY.fullmatch(name)]
        self._takes_turns = bool(self._metered) and _take_turns(log, known)
        self._idle = observations.role_columns(log, "idle_time")
        self._cpu = [name for role in CPU_ROLES for name in observations.role_columns(log, role)]
        self._disks = log.has("disks")

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the samples that `read` needs."""
        own = [name for ceiling in self.ceilings for name in ceiling.columns]
        return (*self._cpu, "steal_s", "disk_busy_s", "psi_memory_some_s", *SWAP, *self._metered, *own)

    def read(self, seen: Observations) -> Resources:
        """Use of the resources in the intervals of `seen`, which must hold `columns`."""
        idle = seen.total(self._idle) if self._idle else np.full(len(seen), np.nan)
        cpu = seen.total([*self._cpu, "steal_s"])
        share = np.divide(idle, cpu, out=np.full(len(seen), np.nan), where=cpu > 0)
        swapping = np.minimum(*(seen.rate([name]) for name in SWAP))
        reached = [seen.rate(ceiling.columns) / ceiling.per_s for ceiling in self.ceilings]
        parts = np.column_stack(reached) if reached else np.zeros((len(seen), 0))
        return Resources(share, self._busiest(seen), seen.rate(["psi_memory_some_s"]), swapping, parts)

    def _busiest(self, seen: Observations) -> _Array:
        """Busy part of the busiest disk in each interval; all together where they are not told apart."""
        if self._metered:
            drives = [seen.rate([name]) for name in self._metered]
            busy: _Array = np.sum(drives, axis=0) if self._takes_turns else np.max(drives, axis=0)
            return np.minimum(busy, 1.0)
        if not self._disks:
            return np.minimum(seen.rate(["disk_busy_s"]), 1.0)
        return np.minimum(_busiest_of_table(self._log, seen) / seen.length_s, 1.0)


def _take_turns(log: Log, known: Sequence[str]) -> bool:
    """Whether no tick of the log found both drives busy."""
    import polars as pl

    if not set(BOTH_BUSY) <= set(known):
        return False
    both = log.samples().select(pl.sum_horizontal(pl.col(BOTH_BUSY).cast(pl.Float64).sum()))
    return not both.collect(engine="streaming").item() > 0


def _busiest_of_table(log: Log, seen: Observations) -> _Array:
    """Busy time of the busiest device of the table `disks` in each interval."""
    import polars as pl

    if not len(seen):
        return np.zeros(0)
    start = pl.col("start").dt.epoch("us")
    most = (
        log.disks()
        .select(start.alias("start"), pl.col("busy_s").cast(pl.Float64))
        .filter(pl.col("start").is_between(int(seen.start_us.min()), int(seen.start_us.max())))
        .filter(pl.col("busy_s").is_finite())
        .group_by("start")
        .agg(pl.col("busy_s").max())
        .collect(engine="streaming")
    )
    intervals = pl.DataFrame({"start": seen.start_us, "at": np.arange(len(seen))})
    joined = intervals.join(most, on="start", how="left", maintain_order="left")
    # No row means that no disk did anything, which is not the same as unknown.
    found: _Array = joined["busy_s"].fill_null(0.0).to_numpy()
    return found
