"""Times of the CPU's states, as capacity is made of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.capacity.result import Use
from thinktime.log import observations
from thinktime.log.meters import Meter
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.stats.series import batch_means

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = ["LOCKS", "RECORDER", "States", "gauges", "part_of", "read", "told_cpus"]

_Array = NDArray[np.float64]

USES: dict[str, Use] = {"user_time": "user", "system_time": "system", "idle_time": "idle"}
STOLEN = "steal_s"
LOCKS = "lock_wait_s"
RECORDER = "recorder_cpu_s"
GAUGES = ("users", "eligible_mean")
"""Gauges without a role that say how hard the machine was used."""


@dataclass(frozen=True, slots=True)
class States:
    """Times of the CPU states that were measured, in the intervals that have them all."""

    uses: dict[str, Use]
    """Column of each state, and what it is."""
    columns: dict[str, _Array]
    """All columns that were read, nan where there is no value."""
    length_s: _Array
    meters: tuple[Meter, ...]
    """Those whose columns have values."""
    absent: list[str]

    @property
    def capacity(self) -> _Array:
        """Time of all states in each interval [s]."""
        return self.total(list(self.uses))

    @property
    def measured_cpus(self) -> float:
        """Time of all states per second."""
        return float(self.capacity.sum() / self.length_s.sum())

    def of_use(self, use: Use) -> list[str]:
        """States of one use."""
        return [name for name, its in self.uses.items() if its == use]

    def total(self, names: Sequence[str]) -> _Array:
        """Time of several states in each interval [s]."""
        result: _Array = (
            np.sum([self.columns[name] for name in names], axis=0) if names else 0 * self.length_s
        )
        return result

    def share(self, names: Sequence[str], level: float) -> Estimate:
        """Part of the capacity in these states."""
        return part_of(self.total(names), self.capacity, level)

    def inside(self, name: str, level: float) -> Estimate | None:
        """Part of the capacity of something that is contained in the states; None if not measured."""
        known = ~np.isnan(self.columns[name])
        return part_of(self.columns[name][known], self.capacity[known], level) if known.any() else None


def read(log: Log, found: Sequence[Meter]) -> States | NotApplicable:
    """Read the states and what is needed beside them; `found` are the log's meters."""
    remedy = "record with `thinktime record`"
    schema = {column.name: column for column in log.schema("samples")}
    # Time stolen by the hypervisor is part of the capacity that nobody here had.
    offered: dict[str, Use] = {
        name: "steal" if name == STOLEN else USES[column.role or ""]
        for name, column in schema.items()
        if column.role in USES or name == STOLEN
    }
    metered = [name for meter in found for name in (meter.count, meter.time)]
    seen = observations.read(log, [*offered, *metered, RECORDER, LOCKS, *gauges(log)])
    uses = {name: use for name, use in offered.items() if name not in seen.absent}
    if not uses:
        return NotApplicable("no CPU state was measured", remedy)
    times = np.column_stack([seen.columns[name] for name in uses])
    known = ~np.isnan(times).any(axis=1)
    if not times[known].sum() > 0.0:
        return NotApplicable("the CPU states add up to no time in any interval that has them all", remedy)
    return States(
        uses,
        {name: values[known] for name, values in seen.columns.items()},
        seen.length_s[known],
        tuple(meter for meter in found if not {meter.count, meter.time} & seen.absent),
        [name for name in (*offered, *metered) if name in seen.absent],
    )


def gauges(log: Log) -> list[str]:
    """Columns that say how hard the machine was used."""
    return [
        column.name
        for column in log.schema("samples")
        if column.kind == "gauge" and (column.role == "load" or column.name in GAUGES)
    ]


def told_cpus(log: Log) -> list[float]:
    """Tell the number of CPUs of each session that says it."""
    told = ((session.get("machine") or {}).get("cpus") for session in log.manifest.get("sessions", []))
    return [float(cpus) for cpus in told if isinstance(cpus, int | float) and cpus > 0]


def part_of(amounts: _Array, capacity: _Array, level: float) -> Estimate:
    """Part of the capacity, 0 to 1, with a batch-means interval within these bounds."""
    share = batch_means.batch_ratio(amounts, capacity, level)
    low = None if share.low is None else max(0.0, share.low)
    high = None if share.high is None else min(1.0, share.high)
    return dataclasses.replace(share, low=low, high=high)
