"""Whether user time may be a regressor: not where user and system time share all of the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thinktime.log import observations
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.log import Log

FULL = 0.02
"""Idle share of the CPU below which an interval is full."""
FULL_MOST = 0.5
"""Share of full intervals above which user time says nothing about the causes of system time."""


def refusal(log: Log) -> NotApplicable | None:
    """Refusal of user time as a regressor where most intervals are full; None elsewhere.

    There system time is the capacity less user time, whatever causes it: every cost becomes zero, and that of
    user time -1 s/s.
    """
    states = {
        role: observations.role_columns(log, role) for role in ("user_time", "system_time", "idle_time")
    }
    if not states["idle_time"]:
        return None
    intervals = full = 0
    for piece in observations.chunks(log, [name for names in states.values() for name in names]):
        idle = piece.total(states["idle_time"])
        capacity = idle + piece.total(states["user_time"]) + piece.total(states["system_time"])
        measured = ~np.isnan(capacity) & (capacity > 0.0)
        intervals += int(measured.sum())
        full += int((idle[measured] < FULL * capacity[measured]).sum())
    if not intervals or full <= FULL_MOST * intervals:
        return None
    return NotApplicable(
        f"the CPU is full in {full} of {intervals} intervals, so that system time is what user time leaves: "
        "as a regressor it would take the place of every cause",
        "leave out --request user_time, or record a load that leaves the CPU idle at times",
    )
