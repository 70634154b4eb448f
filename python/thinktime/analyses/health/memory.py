"""Checks of memory: stalls, swapping, reclaim, and whether there is enough."""

from __future__ import annotations

import numpy as np

from thinktime.analyses.health.intervals import PARTS
from thinktime.analyses.health.readings import Readings
from thinktime.analyses.health.result import Check

PRESSURE_LIMIT = 0.01
"""Share of the time with a task stalled on memory: zero where memory suffices, since only tasks that wait for
reclaim, swap or pages just evicted count as stalled."""
SWAP_LIMIT = 1.0
"""Pages swapped in per second: each is a read that a program waits for. Less is not noticed."""
RECLAIM_LIMIT = 0.3
RECLAIM_SCANNED_LEAST = 100.0
"""Pages freed per page examined: sar(1) takes less than 30 % as a sign of trouble. Fewer than 100 pages
examined per second are the kernel's housekeeping."""
AVAILABLE_LIMIT = 0.1
"""Available share of memory: earlyoom begins to kill at 10 %."""
SHRINKING_LIMIT = 1.0
"""Time until nothing is left, at the pace of the record, over the length of the record: a forecast further
ahead than the past goes back is not worth much."""
FILLED_LIMIT = 0.95
"""Share of its own limit of memory from which a group may be what stalls, where the machine has memory left.
A page cache fills any limit: without stalls it says nothing."""
NAMED_MAX = 3
FALLS_LEAST = 7
"""Parts of the record whose means must fall: a single step is a program that started, and no pace."""


def pressure(log: Readings) -> Check:
    """Share of the time in which some task was stalled on memory."""
    stalled = log.total("psi_memory_some_s")
    value = None if stalled is None else stalled / log.time_s
    found = log.enough and value is not None and value >= PRESSURE_LIMIT
    return Check(
        kind="memory_pressure",
        value=value,
        unit="share",
        limit=PRESSURE_LIMIT,
        found=found,
        evidence=("samples.psi_memory_some_s",),
        section="rates",
        rank=1,
        lost=value or 0.0,
        worst_us=log.worst("psi_memory_some_s"),
        values={
            "share": value,
            "stalled_s": stalled,
            "available": None if low(log).found else log.first.memory.share,
            "groups": _filled(log),
        }
        if found
        else {},
    )


def _filled(log: Readings) -> list[tuple[str, float]]:
    """Control groups that were at their own limit of memory, and the share of it that they held."""
    order = sorted(log.filled.items(), key=lambda item: (-item[1], item[0]))
    return [(log.group(group), share) for group, share in order if share >= FILLED_LIMIT][:NAMED_MAX]


def swapping(log: Readings) -> Check:
    """Pages swapped in per second."""
    pages, delay = log.total("swap_in_pages"), log.of_users("swap_delay_s")
    value = None if pages is None else pages / log.time_s
    found = log.enough and value is not None and value >= SWAP_LIMIT
    return Check(
        kind="swapping",
        value=value,
        unit="page/s",
        limit=SWAP_LIMIT,
        found=found,
        evidence=("samples.swap_in_pages", "samples.swap_out_pages"),
        section="rates",
        rank=1,
        lost=(delay or 0.0) / log.time_s,
        worst_us=log.worst("swap_in_pages"),
        values={
            "read": value,
            "written": (log.total("swap_out_pages") or 0.0) / log.time_s,
            "waited_s": delay,
        }
        if found
        else {},
    )


def reclaim(log: Readings) -> Check:
    """Pages that were freed for each page that the kernel examined, where it examined many."""
    scanned, freed = log.total("pages_scanned"), log.total("pages_reclaimed")
    measured = scanned is not None and freed is not None
    rate = (scanned or 0.0) / log.time_s
    value = freed / scanned if measured and scanned and freed is not None else 1.0 if measured else None
    found = log.enough and value is not None and value < RECLAIM_LIMIT and rate >= RECLAIM_SCANNED_LEAST
    return Check(
        kind="reclaim",
        value=value,
        unit="share",
        limit=RECLAIM_LIMIT,
        below=True,
        instead="" if scanned else "none examined",
        found=found,
        evidence=("samples.pages_reclaimed", "samples.pages_scanned"),
        section="rates",
        rank=2,
        lost=0.0,
        worst_us=log.worst("pages_scanned"),
        values={"rate": rate, "share": value} if found else {},
    )


def low(log: Readings) -> Check:
    """Smallest share of memory that was available."""
    least = log.first.memory
    value = least.share
    found = value is not None and value < AVAILABLE_LIMIT
    return Check(
        kind="memory_low",
        value=value,
        unit="share",
        limit=AVAILABLE_LIMIT,
        below=True,
        found=found,
        evidence=("samples.memory_available_bytes",),
        section="rates",
        rank=2,
        lost=0.2,
        worst_us=least.start_us,
        values={
            "share": value,
            "available_bytes": least.available_bytes,
            "total_bytes": least.total_bytes,
        }
        if found
        else {},
    )


def shrinking(log: Readings) -> Check:
    """Time until no memory would be available at the pace of the record, over the length of the record."""
    memory = log.first.memory
    value, means, span_s = None, np.zeros(PARTS), 0.0
    if memory.known >= PARTS * log.INTERVALS_LEAST:
        means = log.second.falling.means
        # From the middle of the first part to the middle of the last.
        span_s = memory.length_s * (PARTS - 1) / PARTS
        fall = means[0] - means[-1]
        value = float(means[-1] / fall * (PARTS - 1) / PARTS) if fall > 0.0 else np.inf
    steps = -np.diff(means)
    steadily = np.count_nonzero(steps > 0) >= FALLS_LEAST and steps.max() <= 0.5 * steps.sum()
    found = value is not None and value <= SHRINKING_LIMIT and bool(steadily)
    return Check(
        kind="memory_shrinking",
        value=value,
        unit="",
        limit=SHRINKING_LIMIT,
        below=True,
        found=found,
        evidence=("samples.memory_available_bytes",),
        section="rates",
        rank=2,
        lost=0.1,
        worst_us=None,
        values={
            "first_bytes": float(means[0]),
            "last_bytes": float(means[-1]),
            "left_s": float(means[-1] / (means[0] - means[-1]) * span_s),
        }
        if found
        else {},
    )
