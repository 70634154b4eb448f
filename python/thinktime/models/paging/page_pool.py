r"""Rate at which processes miss places of a pool that they share under a clock algorithm.

One model for two pools: frames of core, and entries of the table of active segments. A process that holds m
places runs for L(m) of useful time until it refers to another one, and has used u of them since the hand last
passed:

.. math:: \frac{du}{dt} = \frac1{L(u)} + \frac1{L(m)} - s\,\frac um, \quad
          \frac{dm}{dt} = \frac1{L(m)} - s\,\Bigl(1 - \frac um\Bigr)

with s(t) the rate at which the hand passes places of the process: those that it got, or kept, one revolution
before. The places that it holds when it stops running remain until the hand comes. The time of a revolution
is the one for which all places held fill the pool.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.models.paging import clock
from thinktime.models.paging.clock import Pace
from thinktime.models.paging.stays import Lifetime, Stays

SOURCE = (
    "lifetime function: Belady and Kuehner, Communications of the ACM 12 (1969); pages used: Denning and"
    " Schwartz, Communications of the ACM 15 (1972)"
)

Array = NDArray[np.float64]

ROUNDS = 40
"""Bound on the rounds from no solution: more than bisection of the bounds on a revolution needs."""
ROUNDS_AGAIN = 3
"""Rounds where a similar load was solved before: the caller iterates over the load."""
CLOSE = 1e-3
"""Relative error of the places held with which the rounds end."""
SLOPES = (0.2, 2.0)
"""Bounds of the power with which the number of places held grows with the revolution."""
LONG_S = 1e5
"""Time of a revolution beyond which the hand stands still in practice [s]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """Use of a pool by first stays, which have priority, and by later ones."""

    stays: tuple[Stays, ...]
    """First stays, and later ones where there are any."""
    paces: tuple[Pace, ...]
    """Pace of each."""
    eligible: float
    """Mean number of eligible processes."""
    away_s: tuple[float, float]
    """Time for which a process is not eligible, before an interaction and before a later stay; infinite
    where it loses all places meanwhile."""
    kept: float
    """Fraction of the places of a process that its next interaction uses too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loads:
    """Load of a pool per interaction."""

    misses: tuple[float, ...]
    """Places requested, in first stays and in later ones."""
    examined: float
    """Places that the hand examined."""
    held: float
    """Places that an eligible process holds, on average."""
    revolution_s: float
    """Time of a revolution of the hand; infinite where all fit."""
    begin: Array
    """Places held and used at the beginning of an interaction, and of a later stay."""

    @property
    def full(self) -> bool:
        """True if every place requested is taken from another process."""
        return self.revolution_s < math.inf


def solve(lifetime: Lifetime, use: Use, capacity: float, like: Loads | None = None) -> Loads:
    """Load of the pool at the revolution for which eligible processes and places left behind fill it.

    `like` is the solution for a similar use.
    """
    begin = np.zeros((2, 2)) if like is None else like.begin
    low, high = -math.log(LONG_S), math.log(LONG_S)
    log_turn, slope = (math.log(like.revolution_s) if like is not None and like.full else 0.0), 1.0
    before: tuple[float, float] | None = None
    for _ in range(ROUNDS if like is None else ROUNDS_AGAIN):
        turn_s = math.exp(log_turn)
        courses = [
            clock.march(lifetime, stays, turn_s, pace, start)
            for stays, pace, start in zip(use.stays, use.paces, begin, strict=False)
        ]
        away = (use.away_s[0] / turn_s, use.away_s[1] / turn_s)
        begin, left_behind = clock.left(np.sum([course.ends for course in courses], axis=0), away, use.kept)
        held_s = math.fsum(course.held_s for course in courses)
        # The throughput follows from the time that each is eligible (Little's law).
        per_s = use.eligible / math.fsum(course.real_s for course in courses)
        over = math.log(per_s * (held_s + turn_s * left_behind) / capacity)
        if abs(over) < CLOSE or high - low < CLOSE or (over < 0.0 and log_turn > math.log(LONG_S) - 1.0):
            break
        low, high = (log_turn, high) if over < 0.0 else (low, log_turn)
        if before is not None and log_turn != before[0]:
            slope = min(max((over - before[1]) / (log_turn - before[0]), SLOPES[0]), SLOPES[1])
        before = log_turn, over
        log_turn = log_turn - over / slope
        if not low < log_turn < high:
            log_turn = 0.5 * (low + high)
    full = log_turn < math.log(LONG_S) - 1.0
    return Loads(
        misses=tuple(course.misses for course in courses),
        examined=capacity / turn_s / per_s if full else 0.0,
        held=per_s * held_s / use.eligible,
        revolution_s=turn_s if full else math.inf,
        begin=begin,
    )
