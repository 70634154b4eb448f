"""What each drive or block device did."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.disks.data import Reading, Watched
from thinktime.analyses.disks.result import Compared, Drive, Maker
from thinktime.stats.estimate import Estimate

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = ["ALL_DISKS", "DRIVE_COLUMN", "TOTALS", "Device", "devices", "drive", "makers"]

Array = NDArray[np.float64]

DRIVE_COLUMN = re.compile(r"drive(\d+)_(requests|bytes|seeks|access_s|transfer_s|busy_s)")
"""Columns of the samples that tell drives apart."""
ALL_DISKS = "all disks"
"""Name of what is known of disks that are not told apart."""
TOTALS = {
    "reads": "disk_reads",
    "writes": "disk_writes",
    "read_bytes": "disk_read_bytes",
    "write_bytes": "disk_write_bytes",
    "busy_s": "disk_busy_s",
}
"""Columns of the samples that add all disks up."""
TABLE = (
    "reads",
    "writes",
    "operations",
    "read_bytes",
    "write_bytes",
    "read_wait_s",
    "write_wait_s",
    "busy_s",
    "queue_s",
    "in_progress",
)
BUSY_SLACK = 0.01
BUSY_SLACK_S = 0.02
"""A kernel rounds busy time to its clock: so much more than the interval is not an error."""


@dataclass(frozen=True, slots=True)
class Device:
    """Counters of one drive, interval by interval; nan is not measured."""

    name: str
    number: int | None
    """Of a drive with columns of its own in the samples."""
    counters: Mapping[str, Array]
    overfull: int
    """Intervals with more busy time than they are long; it is left out."""

    @property
    def did_anything(self) -> bool:
        """Whether any counter is above zero anywhere."""
        return any(bool(np.nansum(values) > 0) for values in self.counters.values())

    def get(self, name: str) -> Array:
        """Values of a counter; nan throughout where it is not counted."""
        return self.counters[name]


def devices(log: Log, watched: Watched) -> tuple[Device, ...]:
    """Drives of the samples, else devices of table `disks`, else all disks together; none at all."""
    said = _said(log, watched)
    numbers = sorted(
        {
            int(match[1])
            for name in watched.columns
            if (match := DRIVE_COLUMN.fullmatch(name)) and watched.has(name)
        }
    )
    if numbers:
        found = {number: _device(said, number, watched) for number in numbers}
        # A system with columns for more drives than it has writes zeros for the others.
        there = len(said) or max(numbers) + 1
        return tuple(item for number, item in found.items() if number < there or item.did_anything)
    if log.has("disks"):
        return _of_table(log, watched)
    if any(watched.has(name) for name in TOTALS.values()):
        counters = {name: watched.column(column) for name, column in TOTALS.items()}
        return (_limited(ALL_DISKS, None, counters, None),)
    return ()


def _said(log: Log, watched: Watched) -> list[Mapping[str, Any]]:
    """Find what the manifest says of the drives of the first session looked at."""
    sessions = log.manifest.get("sessions") or []
    number = watched.sessions[0]
    machine = (sessions[number].get("machine") if number < len(sessions) else None) or {}
    said = machine.get("drives") or []
    return [item if isinstance(item, Mapping) else {} for item in said] if isinstance(said, list) else []


def _device(said: Sequence[Mapping[str, Any]], number: int, watched: Watched) -> Device:
    names = [item.get("name") for item in said]
    own = names[number] if number < len(names) else None
    name = own if isinstance(own, str) and own and names.count(own) == 1 else f"drive{number}"
    counted = ("requests", "bytes", "seeks", "access_s", "transfer_s", "busy_s")
    counters = {item: watched.column(f"drive{number}_{item}") for item in counted}
    return _limited(name, number, counters, watched.length_s)


def _limited(name: str, number: int | None, counters: Mapping[str, Array], length_s: Array | None) -> Device:
    """Device whose busy time is left out where it is longer than the interval."""
    size = len(next(iter(counters.values())))
    known = {
        item: counters.get(item, np.full(size, np.nan))
        for item in (*TABLE, "requests", "bytes", "seeks", "access_s", "transfer_s")
    }
    over = np.zeros(size, dtype=bool)
    if length_s is not None:
        over = known["busy_s"] > length_s * (1 + BUSY_SLACK) + BUSY_SLACK_S
        known["busy_s"] = np.where(over, np.nan, known["busy_s"])
    if np.isnan(known["requests"]).all():
        # A source may count operations without telling reads from writes.
        both = known["reads"] + known["writes"]
        known["requests"] = both if np.isfinite(both).any() else known["operations"]
    if np.isnan(known["bytes"]).all():
        known["bytes"] = known["read_bytes"] + known["write_bytes"]
    return Device(name, number, known, int(over.sum()))


def _of_table(log: Log, watched: Watched) -> tuple[Device, ...]:
    """Devices of table `disks`: an interval without a row is one in which a device did nothing."""
    import polars as pl

    named = {column.name for column in log.schema("disks")}
    columns = [name for name in TABLE if name in named]
    frame = (
        log.disks()
        .select(
            pl.col("start").dt.epoch("us").alias("_start"),
            pl.col("device"),
            *(pl.col(name).cast(pl.Float64) for name in columns),
        )
        .filter(pl.col("device").is_not_null())
        .collect()
    )
    starts, first = np.unique(watched.start_us, return_index=True)
    found = []
    for (device,), rows in frame.partition_by("device", as_dict=True, maintain_order=True).items():
        begun = rows["_start"].to_numpy()
        place = np.minimum(np.searchsorted(starts, begun), len(starts) - 1)
        own = starts[place] == begun
        if not own.any():
            continue
        counters = {
            name: _spread(rows[name].to_numpy()[own], first[place[own]], len(watched)) for name in columns
        }
        found.append(_limited(str(device), None, counters, watched.length_s))
    return tuple(sorted(found, key=lambda item: (-float(np.nansum(item.get("busy_s"))), item.name)))


def _spread(values: Array, at: NDArray[np.int64], size: int) -> Array:
    """Values at their intervals, zero elsewhere; nan throughout where there is none at all."""
    values = np.where(np.isfinite(values) & (values >= 0.0), values, np.nan)
    if np.isnan(values).all():
        return np.full(size, np.nan)
    result: Array = np.bincount(at, values, minlength=size).astype(np.float64)
    return result


def makers(log: Log, watched: Watched) -> list[tuple[float | None, float | None]]:
    """Mean access time [s] and transfer time of a byte [s] that the maker gives, by drive."""
    return [
        (_positive(item.get("mean_access_s")), _positive(item.get("transfer_s_per_byte")))
        for item in _said(log, watched)
    ]


def _positive(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) and value > 0 else None


def drive(
    device: Device,
    watched: Watched,
    sampled: Reading | None,
    said: list[tuple[float | None, float | None]],
) -> tuple[Drive, Reading]:
    """Figures of one device, and the reading of its utilisation for the periods.

    Parameters
    ----------
    device : Device
    watched : Watched
    sampled : Reading or None
        Ticks that found it busy.
    said : list
        The maker's figures, by number of drive.
    """
    requests, busy = device.get("requests"), device.get("busy_s")
    count = int(np.nansum(requests))

    def mean(amounts: Array, unit: str) -> Estimate | None:
        return watched.ratio(Reading(amounts, requests, count), unit)

    exact = Reading(busy, watched.length_s) if np.isfinite(busy).any() else None
    size = mean(device.get("bytes"), "byte")
    waits = device.get("read_wait_s") + device.get("write_wait_s")
    figures = Drive(
        device.name,
        watched.rate(requests, "request/s"),
        _total(requests),
        watched.rate(device.get("bytes"), "byte/s"),
        _total(device.get("bytes")),
        watched.rate(device.get("reads"), "operation/s"),
        watched.rate(device.get("writes"), "operation/s"),
        watched.rate(device.get("seeks"), "seek/s"),
        size,
        mean(device.get("access_s"), "s"),
        mean(device.get("transfer_s"), "s"),
        mean(busy, "s"),
        mean(waits, "s"),
        watched.compared(sampled, exact) if sampled or exact else Compared(None, None),
        _maker(device, said, size),
    )
    unknown = Reading(np.full(len(watched), np.nan), watched.length_s)
    return figures, exact or sampled or unknown


def _total(values: Array) -> float | None:
    return float(np.nansum(values)) if np.isfinite(values).any() else None


def _maker(
    device: Device, said: list[tuple[float | None, float | None]], size: Estimate | None
) -> Maker | None:
    if device.number is None or device.number >= len(said):
        return None
    access, a_byte = said[device.number]
    if access is None and a_byte is None:
        return None
    return Maker(access, None if a_byte is None or size is None else a_byte * size.value)
