"""What the disks did, how many requests waited for them, and what the CPU did meanwhile."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.disks import caveats as iostat_caveats
from thinktime.analyses.disks import data as iostat_data
from thinktime.analyses.disks import drives as iostat_drives
from thinktime.analyses.disks import states as iostat_states
from thinktime.analyses.disks.data import Reading, Watched
from thinktime.analyses.disks.drives import DRIVE_COLUMN, TOTALS, Device
from thinktime.analyses.disks.result import (
    Amount,
    Compared,
    Cpu,
    CpuState,
    Drive,
    Iostat,
    Maker,
    Period,
    Queue,
    StateMatrix,
    Swapping,
)
from thinktime.analyses.disks.states import Ticks
from thinktime.errors import InputError
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = [
    "Amount",
    "Compared",
    "Cpu",
    "CpuState",
    "Drive",
    "Iostat",
    "Maker",
    "Period",
    "Queue",
    "StateMatrix",
    "Swapping",
    "analyse",
]

Array = NDArray[np.float64]

CACHE = {
    "block_reads": "reads",
    "read_aheads": "read-aheads",
    "cache_hits": "cache hits",
    "block_writes": "writes",
}
"""Counters of a kernel that tells its block cache from its drives."""
KERNEL = {
    "disk_reads": "reads, all disks",
    "disk_writes": "writes, all disks",
    "disk_read_bytes": "read, all disks",
    "disk_write_bytes": "written, all disks",
    "page_faults_major": "page faults that waited for a disk",
}
"""Counters of a kernel that does not."""
TERMINAL = {
    "terminal_in_characters": "terminal characters in",
    "terminal_out_characters": "terminal characters out",
}
SWAPS = {"swap_ins": "swaps in", "swap_outs": "swaps out", "swapped_clicks": "swapped, both ways"}
PAGES = {"swap_in_pages": "pages swapped in", "swap_out_pages": "pages swapped out"}
COUNTERS = {**CACHE, **KERNEL, **TERMINAL, **SWAPS, **PAGES}
PERIODS = 20
"""Lines of the running report where nobody says how long one is."""
SAMPLING = (
    "a source whose kernel looks at the drives at its clock ticks, such as `thinktime simulate unix6`, has it"
)


def analyse(
    log: Log,
    *,
    session: int | None = None,
    start_s: float = 0.0,
    end_s: float | None = None,
    every_s: float | None = None,
    level: float = 0.95,
) -> Iostat | NotApplicable:
    r"""Counters and samples of disk traffic, as iostat of Sixth Edition UNIX printed them (Brachman 1983).

    Amounts are differences of kernel counters over the measured time. Of what is only looked at by the clock
    interrupt (is a drive busy, what does the CPU, how many requests are at the controller) each figure is
    the part of the ticks that found it; ticks follow their own past, so that intervals of confidence are by
    batch means over the sample intervals, and over replications where a simulation made several. Where
    exact sums are kept too, they stand beside, with the difference: what sampling at ticks missed.

    Parameters
    ----------
    log : Log
    session : int, optional
        Number of one session, from 0; by default all are pooled.
    start_s, end_s : float
        Look only at intervals that lie wholly within this stretch of their session [s].
    every_s : float, optional
        Length of a period of the running report [s]; by default a twentieth of the time.
    level : float
        Confidence of the intervals.

    Raises
    ------
    InputError
        There is no such session, or the stretch or the period has no length.
    """
    if every_s is not None and not every_s > 0.0:
        raise InputError(f"a period of {every_s:g} s has no length")
    known = [column.name for column in log.schema("samples")]
    names = [name for name in known if DRIVE_COLUMN.fullmatch(name) or name.startswith("ticks")]
    names += [*COUNTERS, *TOTALS.values(), *iostat_states.cpu_columns(log)]
    watched = iostat_data.read(log, names, session=session, start_s=start_s, end_s=end_s, level=level)
    if not len(watched):
        asked = "" if session is None and watched.is_whole else " in what was asked for"
        return NotApplicable(
            f"the log has no samples{asked}", "record with `thinktime record`, or ask for more"
        )
    devices = iostat_drives.devices(log, watched)
    seen = iostat_states.ticks(watched)
    if not devices and not seen.states and not seen.lengths and not any(map(watched.has, CACHE)):
        return NotApplicable(
            "the log says nothing of disks",
            "record with `thinktime record` where /proc/diskstats is there, or simulate a system with drives",
        )
    return _result(log, watched, devices, seen, every_s)


def _result(
    log: Log, watched: Watched, devices: tuple[Device, ...], seen: Ticks, every_s: float | None
) -> Iostat:
    said = iostat_drives.makers(log, watched)
    drives = [
        iostat_drives.drive(
            device, watched, None if device.number is None else seen.busy(device.number), said
        )
        for device in devices
    ]
    own = iostat_states.queue(log, watched, seen)
    queues = [own] if own else [iostat_states.device_queue(device, watched) for device in devices]
    held = [item for item in queues if item is not None]
    processor = iostat_states.cpu(log, watched, seen)
    waiting = None if processor is None else processor[1]
    cache = _amounts(log, watched, CACHE) or _amounts(log, watched, KERNEL)
    result = Iostat(
        watched.sessions,
        len(watched),
        float(watched.length_s.sum()),
        cache or NotApplicable("the log counts neither reads nor writes", "record /proc/diskstats"),
        _hit_ratio(watched),
        tuple(item for item, _ in held) or NotApplicable("the log has no length of a queue", SAMPLING),
        tuple(item for item, _ in drives) or NotApplicable("the log does not tell drives apart", SAMPLING),
        iostat_states.controller(watched, seen, devices)
        or NotApplicable("no sample says whether any drive was busy", SAMPLING),
        NotApplicable("the log has no CPU time by state", "record with `thinktime record`")
        if processor is None
        else processor[0],
        iostat_states.matrix(watched, seen, devices)
        or NotApplicable("nothing looked at CPU and drives at the same instants", SAMPLING),
        _amounts(log, watched, TERMINAL)
        or NotApplicable("the log counts no terminal characters", "simulate a system with a terminal"),
        _swapping(log, watched),
        _periods(
            watched, every_s, [reading for _, reading in held], [reading for _, reading in drives], waiting
        ),
        (),
    )
    return dataclasses.replace(result, caveats=iostat_caveats.caveats(result, watched, devices, seen))


def _amounts(log: Log, watched: Watched, labels: dict[str, str]) -> tuple[Amount, ...]:
    """Those of the counters that the log has."""
    units = {column.name: column.unit for column in log.schema("samples")}
    found = []
    for name, words in labels.items():
        rate = watched.rate(watched.column(name), f"{units.get(name, '')}/s")
        if rate is not None:
            found.append(Amount(name, words, rate, float(np.nansum(watched.column(name)))))
    return tuple(found)


def _hits(watched: Watched) -> Reading:
    hits = watched.column("cache_hits")
    return Reading(hits, hits + watched.column("block_reads"))


def _hit_ratio(watched: Watched) -> Estimate | NotApplicable:
    if not watched.has("cache_hits") or not watched.has("block_reads"):
        return NotApplicable("the log counts no hits of a block cache", "simulate a system that does")
    return watched.ratio(_hits(watched), "") or NotApplicable("no block was read", "look at a longer stretch")


def _swapping(log: Log, watched: Watched) -> Swapping | NotApplicable:
    amounts = _amounts(log, watched, SWAPS)
    if not amounts:
        pages = _amounts(log, watched, PAGES)
        if not pages:
            return NotApplicable("the log counts no swaps", "record with `thinktime record`")
        return Swapping(pages, None, None)
    both = watched.column("swap_ins") + watched.column("swap_outs")
    units = {column.name: column.unit for column in log.schema("samples")}
    count = int(np.nansum(both))
    size = watched.ratio(
        Reading(watched.column("swapped_clicks"), both, count), units.get("swapped_clicks", "")
    )
    return Swapping(amounts, size, watched.ratio(Reading(watched.length_s, both, count), "s"))


def _periods(
    watched: Watched,
    every_s: float | None,
    queues: Sequence[Reading],
    drives: Sequence[Reading],
    waiting: Reading | None,
) -> tuple[Period, ...]:
    """Sum the intervals into periods: one belongs to the period in which it begins."""
    if every_s is None:
        first_of = np.concatenate([[True], np.diff(watched.session) != 0])
        order = np.arange(len(watched)) - np.maximum.accumulate(
            np.where(first_of, np.arange(len(watched)), 0)
        )
        number = order // math.ceil(len(watched) / PERIODS)
    else:
        number = np.floor(watched.since_s / every_s + 1e-9).astype(np.int64)
    unique, at = np.unique(np.column_stack([watched.session, number]), axis=0, return_inverse=True)
    at = at.reshape(-1)

    def summed(reading: Reading) -> list[float | None]:
        known = np.isfinite(reading.amounts) & np.isfinite(reading.per)
        amounts = np.bincount(at[known], reading.amounts[known], minlength=len(unique))
        per = np.bincount(at[known], reading.per[known], minlength=len(unique))
        return [a / p if p > 0 else None for a, p in zip(amounts.tolist(), per.tolist(), strict=True)]

    def rate(*names: str) -> list[float | None]:
        name = next((name for name in names if watched.has(name)), names[0])
        return summed(Reading(watched.column(name), watched.length_s))

    nothing: list[float | None] = [None] * len(unique)
    first = np.full(len(unique), np.inf)
    np.minimum.at(first, at, watched.since_s)
    columns = (
        rate("block_reads", "disk_reads"),
        rate("block_writes", "disk_writes"),
        summed(_hits(watched)),
        list(zip(*(summed(item) for item in queues), strict=True)) or [()] * len(unique),
        list(zip(*(summed(item) for item in drives), strict=True)) or [()] * len(unique),
        nothing if waiting is None else summed(waiting),
    )
    lengths = np.bincount(at, watched.length_s, minlength=len(unique)).tolist()
    sessions = unique[:, 0].tolist()
    return tuple(Period(*row) for row in zip(sessions, first.tolist(), lengths, *columns, strict=True))
