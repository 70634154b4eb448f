"""Counters and figures of each drive or block device."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.disks.intervals import Intervals, Reading
from thinktime.analyses.disks.result import Compared, Drive, Maker
from thinktime.log import facts
from thinktime.stats.estimate import Estimate

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.log.facts import Facts

Array = NDArray[np.float64]

DRIVE_COLUMN = re.compile(r"drive(\d+)_(requests|bytes|seeks|access_s|transfer_s|busy_s)")
"""Columns of the samples that belong to one drive."""
ALL_DISKS = "all disks"
"""Name of the device that stands for all disks where the log has only their sums."""
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
"""Excess of busy time over the interval that is no error: a kernel rounds busy time to its clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
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
        """True if any counter is above zero anywhere."""
        return any(bool(np.nansum(values) > 0) for values in self.counters.values())

    def get(self, name: str) -> Array:
        """Values of a counter; nan throughout where it is not counted."""
        return self.counters[name]


def devices(log: Log, intervals: Intervals) -> tuple[Device, ...]:
    """Drives of the samples, else devices of table `disks`, else all disks as one device."""
    described = _described(log, intervals)
    numbers = sorted(
        {
            int(match[1])
            for name in intervals.columns
            if (match := DRIVE_COLUMN.fullmatch(name)) and intervals.has(name)
        }
    )
    if numbers:
        drives = {number: _device(described, number, intervals) for number in numbers}
        # A system with columns for more drives than it has writes zeros for the others.
        there = len(described) or max(numbers) + 1
        return tuple(item for number, item in drives.items() if number < there or item.did_anything)
    if log.has("disks"):
        return _of_table(log, intervals)
    if any(intervals.has(name) for name in TOTALS.values()):
        counters = {name: intervals.column(column) for name, column in TOTALS.items()}
        return (_limited(ALL_DISKS, None, counters, None),)
    return ()


def _described(log: Log, intervals: Intervals) -> Sequence[Facts]:
    """Entries of the manifest on the drives of the first session that is used."""
    sessions = facts.sessions(log)
    number = intervals.sessions[0]
    return sessions[number].machine.tables("drives") if number < len(sessions) else ()


def _device(described: Sequence[Facts], number: int, intervals: Intervals) -> Device:
    names = [item.text("name") for item in described]
    given = names[number] if number < len(names) else None
    name = given if given and names.count(given) == 1 else f"drive{number}"
    counted = ("requests", "bytes", "seeks", "access_s", "transfer_s", "busy_s")
    counters = {item: intervals.column(f"drive{number}_{item}") for item in counted}
    return _limited(name, number, counters, intervals.length_s)


def _limited(name: str, number: int | None, counters: Mapping[str, Array], length_s: Array | None) -> Device:
    """Device whose busy time is left out where it is longer than the interval."""
    size = len(next(iter(counters.values())))
    measured = {
        item: counters.get(item, np.full(size, np.nan))
        for item in (*TABLE, "requests", "bytes", "seeks", "access_s", "transfer_s")
    }
    over = np.zeros(size, dtype=bool)
    if length_s is not None:
        over = measured["busy_s"] > length_s * (1 + BUSY_SLACK) + BUSY_SLACK_S
        measured["busy_s"] = np.where(over, np.nan, measured["busy_s"])
    if np.isnan(measured["requests"]).all():
        # A source may count operations without distinguishing reads and writes.
        both = measured["reads"] + measured["writes"]
        measured["requests"] = both if np.isfinite(both).any() else measured["operations"]
    if np.isnan(measured["bytes"]).all():
        measured["bytes"] = measured["read_bytes"] + measured["write_bytes"]
    return Device(name=name, number=number, counters=measured, overfull=int(over.sum()))


def _of_table(log: Log, intervals: Intervals) -> tuple[Device, ...]:
    """Devices of table `disks`: an interval without a row is one in which a device did nothing."""
    import polars as pl

    present = {column.name for column in log.schema("disks")}
    columns = [name for name in TABLE if name in present]
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
    starts, first = np.unique(intervals.start_us, return_index=True)
    devices = []
    for (device,), rows in frame.partition_by("device", as_dict=True, maintain_order=True).items():
        begun = rows["_start"].to_numpy()
        place = np.minimum(np.searchsorted(starts, begun), len(starts) - 1)
        used = starts[place] == begun
        if not used.any():
            continue
        counters = {
            name: _spread(rows[name].to_numpy()[used], first[place[used]], len(intervals)) for name in columns
        }
        devices.append(_limited(str(device), None, counters, intervals.length_s))
    return tuple(sorted(devices, key=lambda item: (-float(np.nansum(item.get("busy_s"))), item.name)))


def _spread(values: Array, place: NDArray[np.int64], size: int) -> Array:
    """Values at their intervals, zero elsewhere; nan throughout where none was measured."""
    values = np.where(np.isfinite(values) & (values >= 0.0), values, np.nan)
    if np.isnan(values).all():
        return np.full(size, np.nan)
    result: Array = np.bincount(place, values, minlength=size).astype(np.float64)
    return result


def makers(log: Log, intervals: Intervals) -> list[tuple[float | None, float | None]]:
    """Mean access time [s] and transfer time of a byte [s] by the maker, of each drive."""
    return [
        (_positive(item.number("mean_access_s")), _positive(item.number("transfer_s_per_byte")))
        for item in _described(log, intervals)
    ]


def _positive(value: float | None) -> float | None:
    return float(value) if value is not None and value > 0 else None


def drive(
    device: Device,
    intervals: Intervals,
    sampled: Reading | None,
    makers: list[tuple[float | None, float | None]],
) -> tuple[Drive, Reading]:
    """Figures of one device, and the reading of its utilisation for the periods.

    Parameters
    ----------
    device : Device
    intervals : Intervals
    sampled : Reading or None
        Ticks that found it busy.
    makers : list
        Figures of the maker, by number of the drive.
    """
    requests, busy = device.get("requests"), device.get("busy_s")
    count = int(np.nansum(requests))

    def mean(amounts: Array, unit: str) -> Estimate | None:
        return intervals.ratio(Reading(amounts, requests, n=count), unit)

    exact = Reading(busy, intervals.length_s) if np.isfinite(busy).any() else None
    size = mean(device.get("bytes"), "byte")
    figures = Drive(
        name=device.name,
        requests=intervals.rate(requests, "request/s"),
        requests_total=_total(requests),
        amount=intervals.rate(device.get("bytes"), "byte/s"),
        amount_total=_total(device.get("bytes")),
        reads=intervals.rate(device.get("reads"), "operation/s"),
        writes=intervals.rate(device.get("writes"), "operation/s"),
        seeks=intervals.rate(device.get("seeks"), "seek/s"),
        bytes_per_request=size,
        access=mean(device.get("access_s"), "s"),
        transfer=mean(device.get("transfer_s"), "s"),
        service=mean(busy, "s"),
        response=mean(device.get("read_wait_s") + device.get("write_wait_s"), "s"),
        utilisation=intervals.compared(sampled, exact)
        if sampled or exact
        else Compared(sampled=None, exact=None),
        maker=_maker(device, makers, size),
    )
    unknown = Reading(np.full(len(intervals), np.nan), intervals.length_s)
    return figures, exact or sampled or unknown


def _total(values: Array) -> float | None:
    return float(np.nansum(values)) if np.isfinite(values).any() else None


def _maker(
    device: Device, makers: list[tuple[float | None, float | None]], size: Estimate | None
) -> Maker | None:
    if device.number is None or device.number >= len(makers):
        return None
    access_s, byte_s = makers[device.number]
    if access_s is None and byte_s is None:
        return None
    transfer_s = None if byte_s is None or size is None else byte_s * size.value
    return Maker(access_s=access_s, transfer_s=transfer_s)
