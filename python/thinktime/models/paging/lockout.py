r"""Interference of two processors: memory cycles, and locks on the supervisor's tables.

Both are active. Work takes I times as long as on one, and J times while the other processor spins for the
lock. With sections of length s under the lock after a of other work, the number of processors that hold it or
wait for it is a Markov chain with

.. math:: p_1 = 2\,\frac sa\,p_0, \qquad p_2 = \frac sa\,\frac JI\,\rho\,p_1, \qquad
          \rho = \frac{E[s^2]}{2\,E[s]^2}

exact for exponential sections (:math:`\rho = 1`); for others the residual section is approximated by its
mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

KINDS = ("page_fault", "getwork", "drum_interrupt", "interrupt", "segment_fault", "gate_fault")
PAGE_FAULT, GETWORK, DRUM_INTERRUPT, INTERRUPT, SEGMENT_FAULT, GATE_FAULT = range(6)
LOCKS = ("none", "global", "by_data_base")
BEFORE_PAGE, AFTER_PAGE = 0.7, 0.3
"""Fractions of the path of a page fault: up to the wait for the page, and after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Locking:
    """Parameters of interference and locks."""

    interference: float = 0.0
    """Relative slowing of two active processors, over all boxes of core."""
    spin_interference: float = 0.0
    """Further relative slowing of one while the other spins."""
    locks: str = "none"
    """One of `LOCKS`."""
    segment_share: float = 1.0
    traffic_share: float = 0.0
    """Fractions of the path of a segment fault under the lock of page control, and of getwork under that of
    the traffic controller."""
    through_getwork: bool = False
    """True if the lock of page control is held from a page fault until another process is chosen."""
    path_variation: float = 1.0
    """Coefficient of variation of a path."""

    def sections(self) -> list[list[LockedSection]]:
        """Sections of paths by lock."""
        if self.locks == "none":
            return []
        share = 1.0 if self.locks == "global" else self.segment_share
        chosen = ((GETWORK, 1.0),) if self.through_getwork else ()
        page = [
            LockedSection(kind=PAGE_FAULT, parts=((PAGE_FAULT, BEFORE_PAGE), *chosen)),
            LockedSection(kind=PAGE_FAULT, parts=((PAGE_FAULT, AFTER_PAGE),)),
            LockedSection(kind=DRUM_INTERRUPT, parts=((DRUM_INTERRUPT, 1.0),)),
            LockedSection(kind=SEGMENT_FAULT, parts=((SEGMENT_FAULT, share),)),
        ]
        if self.locks == "global":
            return [
                [
                    *page,
                    LockedSection(kind=GETWORK, parts=((GETWORK, 1.0),)),
                    LockedSection(kind=INTERRUPT, parts=((INTERRUPT, 1.0),)),
                ]
            ]
        return [page, [LockedSection(kind=GETWORK, parts=((GETWORK, self.traffic_share),))]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedSection:
    """Section under a lock that is taken once: the kind that spins for it, and fractions of paths."""

    kind: int
    parts: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """Work of an interaction while both processors are active."""

    work_s: float
    """Length of useful time and paths on one processor."""
    rate: float
    """Seconds of work per second of both processors."""
    slowed: float
    """Factor by which work outside locks is slowed."""
    paths_s: Array
    """Time in the paths of `KINDS`, spinning included."""
    spun_s: float
    """Part of it that is spent spinning."""


def together(useful_s: float, counts: Array, lengths_s: Array, locking: Locking) -> Together:
    """Time of the useful work and of the paths while both processors are active."""
    work = counts * lengths_s
    work_s = useful_s + float(work.sum())
    slowed = 1.0 + locking.interference
    spinning = slowed + locking.spin_interference
    spun, more = np.zeros(len(KINDS)), np.zeros(len(KINDS))
    for sections in locking.sections():
        number, locked, squares = _moments(sections, counts, lengths_s, locking)
        if locked <= 0.0:
            continue
        other = max(work_s - locked, 1e-9 * work_s)
        # Time per interaction with one processor spinning, relative to that with none, in which both work.
        one = 2.0 * locked / other
        two = one * locked / other * spinning / slowed * 0.5 * squares * number / locked**2
        spun_s = 0.5 * work_s * slowed * two / (1.0 + one + 0.5 * two * slowed / spinning)
        taken = np.zeros(len(KINDS))
        for section in sections:
            times = counts[section.kind]
            length = sum(part * lengths_s[kind] for kind, part in section.parts)
            spun[section.kind] += spun_s * times * (length > 0.0) / number
            for kind, part in section.parts:
                taken[kind] += times * part * lengths_s[kind]
        more += spun_s * (1.0 - slowed / spinning) * taken / locked
    paths_s = work * slowed + spun + more
    whole_s = useful_s * slowed + float(paths_s.sum())
    return Together(
        work_s=work_s, rate=2.0 * work_s / whole_s, slowed=slowed, paths_s=paths_s, spun_s=float(spun.sum())
    )


def _moments(
    sections: Sequence[LockedSection], counts: Array, lengths_s: Array, locking: Locking
) -> tuple[float, float, float]:
    """Number of sections of an interaction, the time in them, and the sum of their squares."""
    number = locked = squares = 0.0
    for section in sections:
        length = sum(part * lengths_s[kind] for kind, part in section.parts)
        if length > 0.0:
            times = counts[section.kind]
            square = sum((part * lengths_s[kind]) ** 2 for kind, part in section.parts)
            number += times
            locked += times * length
            squares += times * (length**2 + locking.path_variation**2 * square)
    return float(number), float(locked), float(squares)
