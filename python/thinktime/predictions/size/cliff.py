"""Number of users with whom memory is full: beyond it, pages are taken from some to serve others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from thinktime.models.sizing import ENDS
from thinktime.predictions.size.memory import Memory
from thinktime.stats.estimate import Estimate

HALF = 0.5
"""Probability at which memory counts as full."""


def cliff(memory: Memory | None, there_bytes: float | None, most: int, draws: int) -> Estimate | None:
    """Users with whom memory suffices at half of the moments, by draws; None if it is not reached.

    Parameters
    ----------
    memory : Memory or None
    there_bytes : float or None
        Memory that users and everything else may use [byte].
    most : int
        Users looked at.
    draws : int
    """
    if memory is None or there_bytes is None:
        return None
    fails = memory.suffices(there_bytes, np.arange(1.0, most + 1.0), draws) < HALF
    reached = np.where(fails.any(axis=1), fails.argmax(axis=1), most)
    low, middle, high = np.quantile(reached, ENDS, method="inverted_cdf")
    if middle >= most:
        return None
    return Estimate(
        value=float(middle),
        unit="user",
        low=float(low),
        high=None if high >= most else float(high),
        n=max(memory.seen, memory.user.n),
        method="largest number whose memory suffices at half of the moments",
    )


def words(found: Estimate | None, most: int) -> Iterator[str]:
    """The cliff if it is within `most` users, and that the curves say nothing beyond it."""
    if found is None or found.low is None or found.low > most:
        return
    ends = "" if found.high is None or found.low == found.high else f" ({found.low:.0f} to {found.high:.0f})"
    yield (
        f"Memory is full with {found.value:.0f}{ends} users. Beyond that, pages are reclaimed or swapped: "
        "the number is predicted, but response times beyond it leave out the time to read pages back, and "
        "are too short. For a machine that swaps whole processes, `thinktime predict swapping` has that time."
    )
