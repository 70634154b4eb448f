"""What processes refer to, and for how long they run each time that they are eligible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from thinktime.models.distributions import Distribution

Array = NDArray[np.float64]

TABLE = 385
"""Useful times at which the number of stays that last longer is kept; closer where they are short."""
TAIL = 1e-4
"""Chance to run longer that is left out."""
HALVINGS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifetime:
    """L(m) = `headway_s` (m / `places`)^`exponent`, in seconds of useful time."""

    headway_s: float
    exponent: float
    places: float

    @property
    def growth(self) -> float:
        """Places^exponent per second: the rate of m^(exponent + 1) / (exponent + 1)."""
        return float(self.places**self.exponent / self.headway_s)

    def at(self, held: float) -> float:
        """Mean useful time between misses of who holds so many, in seconds."""
        return float(self.headway_s * (max(held, 1.0) / self.places) ** self.exponent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What a part of the interactions asks for.

    Parameters
    ----------
    share : float
        Part of all interactions.
    useful : Distribution
        Useful time of one, in seconds.
    pages, segments : float
        Pages and segments that it refers to in all.
    lines : float
        Lines of its reply.
    factor : float
        By which the useful time is multiplied.
    """

    share: float
    useful: Distribution
    pages: float
    segments: float
    lines: float
    factor: float = 1.0

    @property
    def useful_s(self) -> float:
        """Mean useful time, in seconds."""
        return self.factor * self.useful.mean

    def beyond(self, useful_s: float | Array) -> Array:
        """Chance that one takes longer."""
        return self.useful.survival(np.asarray(useful_s) / self.factor)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stays:
    """How long processes run each time that they are eligible: all first stays, or all later ones.

    Parameters
    ----------
    limits : array
        Places referred to in all; a column each.
    longest_s : float
        Useful time that none exceeds, in seconds.
    running : array
        Stays an interaction that last longer, by column and by useful time, as `TABLE` says.
    cut : array
        Those of them that the quantum will end.
    rest : array
        Useful time of an interaction that is later, by the same.
    """

    limits: Array
    longest_s: float
    running: Array
    cut: Array
    rest: Array

    @property
    def number(self) -> float:
        """Stays of an interaction."""
        return float(self.running[:, 0].sum())

    @property
    def useful_s(self) -> float:
        """Useful time of an interaction in them, in seconds."""
        return float(self.rest[:, 0].sum())

    def at(self, table: Array, useful_s: Array) -> Array:
        """Values of one of the tables at useful times, by step and column."""
        place = np.cbrt(np.minimum(useful_s / self.longest_s, 1.0)) * (TABLE - 1)
        below = np.minimum(place.astype(np.int64), TABLE - 2)
        columns = np.arange(len(self.limits))
        low, high = table[columns, below], table[columns, below + 1]
        found: Array = low + (place - below) * (high - low)
        return found


def cut_into_stays(
    programs: Sequence[Program], places: Sequence[float], ends_s: Sequence[float]
) -> tuple[Stays, ...]:
    """Cut interactions at the useful times `ends_s`: first stays, and later ones where there are any.

    They refer to so many `places`.
    """
    longest = max(_longest(program) for program in programs)
    bounds = [0.0, *(end for end in ends_s if end < longest), longest]
    pieces = list(pairwise(bounds))
    found = [_stays(programs, places, part, longest) for part in (pieces[:1], pieces[1:]) if part]
    return tuple(stays for stays in found if stays.number > 0.0)


def _stays(
    programs: Sequence[Program],
    places: Sequence[float],
    pieces: Sequence[tuple[float, float]],
    longest_s: float,
) -> Stays:
    limits = sorted(set(places))
    own_s = max(end - begin for begin, end in pieces)
    at = own_s * np.linspace(0.0, 1.0, TABLE) ** 3
    running, cut = np.zeros((len(limits), TABLE)), np.zeros((len(limits), TABLE))
    for begin, end in pieces:
        inside = at < end - begin
        for program, limit in zip(programs, places, strict=True):
            column = limits.index(limit)
            running[column] += np.where(inside, program.share * program.beyond(begin + at), 0.0)
            if end < longest_s:
                cut[column] += np.where(inside, program.share * float(program.beyond(end)), 0.0)
    some = running[:, 0] > 0.0
    running, cut = running[some], cut[some]
    pieces_s = 0.5 * (running[:, 1:] + running[:, :-1]) * np.diff(at)
    rest = np.concatenate(
        [np.cumsum(pieces_s[:, ::-1], axis=1)[:, ::-1], np.zeros((len(running), 1))], axis=1
    )
    return Stays(limits=np.array(limits)[some], longest_s=own_s, running=running, cut=cut, rest=rest)


def _longest(program: Program) -> float:
    """Find the useful time that is passed with a chance of `TAIL`, in seconds."""
    low, high = 0.0, 2.0 * program.useful_s
    while float(program.beyond(high)) > TAIL:
        low, high = high, 2.0 * high
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if float(program.beyond(middle)) > TAIL else (low, middle)
    return high
