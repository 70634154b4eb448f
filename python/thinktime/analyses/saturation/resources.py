"""Use of the CPU, disks, memory and other resources in each interval, and the one exhausted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.errors import InputError, offered
from thinktime.log import facts, observations

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.log.facts import Facts
    from thinktime.log.observations import Observations

_Array = NDArray[np.float64]

CPU_ROLES = ("user_time", "system_time", "idle_time")
EXACT = "cpu_exact_s"
MEMORY = ("memory_available_bytes", "memory_total_bytes")
SWAP = ("swap_in_pages", "swap_out_pages")
DRIVE_BUSY = re.compile(r"drive\d+_busy_s")
BOTH_BUSY = ("ticks_user_both", "ticks_system_both", "ticks_idle_both")
"""Ticks that found two drives busy: if there are none, a controller serves one drive at a time."""
CPU_MEASURED = "idle CPU time"
"""Name of what has to be measured before the CPU can count as exhausted, or as free."""
SWAPPING_ABOVE = 1.0
"""Pages per second in each direction: less is the kernel's housekeeping, not a shortage."""

LIMITS = ("cpu", "disk", "memory", "none", "unknown")
"""Resources that can be exhausted, in addition to those with ceilings; ``unknown``: not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """Greatest rate of a resource, known from its construction: a drum has a fixed speed of rotation.

    For a device whose busy time is not measured. It counts as exhausted in intervals that come close to it.
    """

    resource: str
    """``drum``."""
    columns: tuple[str, ...]
    per_s: float
    """Greatest rate of the columns' sum, per second."""
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Limits beyond which a resource counts as exhausted, as shares of an interval or of a ceiling."""

    idle_below: float = 0.05
    """CPU: idle share of its time."""
    disk_above: float = 0.9
    """Disk: busy share of its time."""
    stall_above: float = 0.1
    """Memory: share of the time in which some task was stalled on it."""
    memory_below: float = 0.25
    """Memory: available share of it, above which stalls are not the machine's. The kernel gives up its page
    cache before it makes tasks wait, so that a machine that is short has hardly any left."""
    ceiling_above: float = 0.9
    """Resource with a ceiling: share of that rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """Use of each resource in each interval, in arrays of shape (n,); nan where not measured."""

    idle: _Array
    """Idle share of the CPU time, 0 to 1."""
    low_priority: _Array
    """Share of the CPU time of work at low priority, 0 to 1: other work displaces it."""
    disk_busy: _Array
    """Busy share of the busiest disk's time, 0 to 1; of all disks together if the log does not separate
    them, or if a controller serves one drive at a time."""
    memory_stall: _Array
    """Share of the time in which some task was stalled on memory."""
    memory_free: _Array
    """Share of the machine's memory that is available, 0 to 1."""
    swapping: _Array
    """Pages per second, the lesser of in and out: only both together are a shortage."""
    ceilings: _Array
    """Share of each ceiling that was reached, shape (n, ceilings)."""

    def limits(self, thresholds: Thresholds) -> NDArray[np.int8]:
        """Resource exhausted in each interval: an index into `LIMITS`, beyond its end one of the ceilings.

        A CPU that works at low priority is free for all other work, as an idle one is.
        A task that is stalled while much of the machine's memory is available is short of it by a limit of
        its control group, which more memory in the machine does not mend.
        Memory, else the CPU, else the first ceiling that was reached, else a disk. Memory comes first
        because a shortage of it uses up disks and CPU too. An exhausted CPU comes before a ceiling
        (Bard 1971, Figure 7).
        """
        stalled = np.where(
            np.isnan(self.memory_stall),
            self.swapping > SWAPPING_ABOVE,
            self.memory_stall > thresholds.stall_above,
        )
        # Where it was not read, stalls alone decide.
        stalled &= ~(self.memory_free > thresholds.memory_below)
        reached = [column > thresholds.ceiling_above for column in self.ceilings.T]
        measured = ~(np.isnan(self.idle) & np.isnan(self.disk_busy))
        measured |= ~np.isnan(self.ceilings).all(axis=1) if reached else False
        choices = [
            stalled,
            self.idle + np.nan_to_num(self.low_priority) < thresholds.idle_below,
            *reached,
            self.disk_busy > thresholds.disk_above,
            ~measured,
        ]
        places = [LIMITS.index("memory"), LIMITS.index("cpu")]
        places += [len(LIMITS) + number for number in range(len(reached))]
        places += [LIMITS.index("disk"), LIMITS.index("unknown")]
        limits = np.select(choices, places, LIMITS.index("none"))
        return limits.astype(np.int8)

    def taken(self, rows: NDArray[np.int64]) -> Resources:
        """Resources in the intervals `rows`."""
        return Resources(**{item.name: getattr(self, item.name)[rows] for item in fields(self)})

    def measured(self) -> dict[str, bool]:
        """True for each of CPU, disks and memory that was measured in any of these intervals."""
        resources = {
            CPU_MEASURED: self.idle,
            "disk busy time": self.disk_busy,
            "memory stalls": np.where(np.isnan(self.memory_stall), self.swapping, self.memory_stall),
        }
        return {name: not bool(np.isnan(values).all()) for name, values in resources.items()}

    @staticmethod
    def joined(parts: Sequence[Resources]) -> Resources:
        """Resources of several pieces of a log, one after the other."""
        return Resources(
            **{
                item.name: np.concatenate([getattr(part, item.name) for part in parts])
                for item in fields(Resources)
            }
        )


def ceilings(log: Log, given: Mapping[str, float] | None = None) -> tuple[Ceiling, ...]:
    """Ceilings in the manifest (``machine.ceilings`` of a session), and `given` ones by column.

    A given one replaces that of the same column. If sessions differ, the greatest rate holds for all.

    Raises
    ------
    InputError
        A given column is not in the samples, or its rate is not positive.
    """
    by_columns: dict[tuple[str, ...], Ceiling] = {}
    for session in facts.sessions(log):
        for entry in session.machine.tables("ceilings"):
            ceiling = _from_manifest(log, entry)
            if ceiling is None:
                continue
            previous = by_columns.get(ceiling.columns)
            if previous is None or previous.per_s < ceiling.per_s:
                by_columns[ceiling.columns] = ceiling
    for name, rate in (given or {}).items():
        if not rate > 0.0:
            raise InputError(f"ceiling of {name}: {rate:g} is not a rate; give the maximum per second")
        quantity = observations.quantities(log, [name])
        if not quantity:
            counters = [column.name for column in log.schema("samples") if column.kind == "counter"]
            raise InputError(f"ceiling of {name}: {log.path} has no such column; {offered(name, counters)}")
        columns = quantity[0].columns
        previous = by_columns.get(columns)
        resource = previous.resource if previous else quantity[0].label
        by_columns[columns] = Ceiling(resource=resource, columns=columns, per_s=float(rate))
    return tuple(by_columns.values())


def _from_manifest(log: Log, entry: Facts) -> Ceiling | None:
    """Ceiling of a manifest; None if the log does not count its column."""
    quantity = observations.quantities(log, [entry.needed("column").text("column") or ""])
    rate = entry.number("per_s")
    if not quantity or rate is None or not rate > 0:
        return None
    return Ceiling(
        resource=entry.text("resource") or quantity[0].label,
        columns=quantity[0].columns,
        per_s=float(rate),
        description=entry.text("description") or "",
    )


class Meter:
    """Reader of the use of resources from pieces of a log's samples.

    Parameters
    ----------
    log : Log
    ceilings : sequence of Ceiling
    """

    def __init__(self, log: Log, ceilings: Sequence[Ceiling] = ()) -> None:
        self._log = log
        self.ceilings = tuple(ceilings)
        names = [column.name for column in log.schema("samples")]
        self._metered = [name for name in names if DRIVE_BUSY.fullmatch(name)]
        self._takes_turns = bool(self._metered) and _take_turns(log, names)
        self._idle = observations.role_columns(log, "idle_time")
        self._cpu = [name for role in CPU_ROLES for name in observations.role_columns(log, role)]
        self._cpus = facts.last_machine(log).whole("cpus", least=1)
        self._disks = log.has("disks")

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the samples that `read` needs."""
        capped = [name for ceiling in self.ceilings for name in ceiling.columns]
        return (
            *self._cpu,
            *observations.LOW_PRIORITY,
            EXACT,
            "steal_s",
            "disk_busy_s",
            "psi_memory_some_s",
            *MEMORY,
            *SWAP,
            *self._metered,
            *capped,
        )

    def read(self, chunk: Observations) -> Resources:
        """Use of the resources in the intervals of `chunk`, which must hold `columns`."""
        cpu = chunk.total([*self._cpu, "steal_s"])
        # Beyond the total only where the log counts it apart from its CPU time.
        low = np.minimum(chunk.low_priority(), cpu)
        reached = [chunk.rate(ceiling.columns) / ceiling.per_s for ceiling in self.ceilings]
        return Resources(
            idle=self._idle_share(chunk, cpu),
            low_priority=np.divide(low, cpu, out=np.full(len(chunk), np.nan), where=cpu > 0),
            disk_busy=self._busiest(chunk),
            memory_stall=chunk.rate(["psi_memory_some_s"]),
            memory_free=self._memory_free(chunk),
            swapping=np.minimum(*(chunk.rate([name]) for name in SWAP)),
            ceilings=np.column_stack(reached) if reached else np.zeros((len(chunk), 0)),
        )

    def _idle_share(self, chunk: Observations, cpu: _Array) -> _Array:
        """Idle share of the CPU time, by the states; where they are not in the log, by the exact CPU time."""
        unknown = np.full(len(chunk), np.nan)
        idle = chunk.total(self._idle) if self._idle else unknown
        share: _Array = np.divide(idle, cpu, out=unknown, where=cpu > 0)
        if self._cpus is None:
            return share
        # A trace of a scheduler has the time that tasks ran, and no states.
        left = np.clip(1.0 - chunk.rate([EXACT]) / self._cpus, 0.0, 1.0)
        return np.where(np.isnan(share), left, share)

    @staticmethod
    def _memory_free(chunk: Observations) -> _Array:
        available, total = (chunk.columns[name] for name in MEMORY)
        share: _Array = np.divide(available, total, out=np.full(len(chunk), np.nan), where=total > 0)
        return share

    def _busiest(self, chunk: Observations) -> _Array:
        """Busy share of the busiest disk in each interval; of all disks if the log does not separate them."""
        if self._metered:
            drives = [chunk.rate([name]) for name in self._metered]
            busy: _Array = np.sum(drives, axis=0) if self._takes_turns else np.max(drives, axis=0)
            return np.minimum(busy, 1.0)
        if not self._disks:
            return np.minimum(chunk.rate(["disk_busy_s"]), 1.0)
        return np.minimum(_busiest_of_table(self._log, chunk) / chunk.length_s, 1.0)


def _take_turns(log: Log, names: Sequence[str]) -> bool:
    """True if no tick of the log found both drives busy."""
    import polars as pl

    if not set(BOTH_BUSY) <= set(names):
        return False
    both = log.samples().select(pl.sum_horizontal(pl.col(BOTH_BUSY).cast(pl.Float64).sum()))
    return not both.collect(engine="streaming").item() > 0


def _busiest_of_table(log: Log, chunk: Observations) -> _Array:
    """Busy time of the busiest device of the table `disks` in each interval."""
    import polars as pl

    if not len(chunk):
        return np.zeros(0)
    start = pl.col("start").dt.epoch("us")
    most = (
        log.disks()
        .select(start.alias("start"), pl.col("busy_s").cast(pl.Float64))
        .filter(pl.col("start").is_between(int(chunk.start_us.min()), int(chunk.start_us.max())))
        .filter(pl.col("busy_s").is_finite())
        .group_by("start")
        .agg(pl.col("busy_s").max())
        .collect(engine="streaming")
    )
    intervals = pl.DataFrame({"start": chunk.start_us, "row": np.arange(len(chunk))})
    joined = intervals.join(most, on="start", how="left", maintain_order="left")
    # A missing row means that no disk was busy, which is not the same as unknown.
    busy: _Array = joined["busy_s"].fill_null(0.0).to_numpy()
    return busy
