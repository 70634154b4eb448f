"""Programs: the places they refer to, and the lengths of their stays as eligible processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from thinktime.models.distributions import Distribution
from thinktime.models.prediction import at_least_zero, positive
from thinktime.stats import arguments

Array = NDArray[np.float64]

TABLE = 385
"""Number of useful times at which the number of longer stays is tabulated; denser for short times."""
TAIL = 1e-4
"""Probability of longer runs that is neglected."""
HALVINGS = 20
"""Of the search for the longest stay: the end of a table, of which six digits are enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifetime:
    """Lifetime function L(m) = `headway_s` (m / `places`)^`exponent`, in seconds of useful time."""

    headway_s: float
    exponent: float
    places: float

    @property
    def growth(self) -> float:
        """Growth rate of m^(exponent + 1) / (exponent + 1), in places^exponent per second."""
        return float(self.places**self.exponent / self.headway_s)

    def at(self, held: float) -> float:
        """Mean useful time between misses of a process that holds `held` places [s]."""
        return float(self.headway_s * (max(held, 1.0) / self.places) ** self.exponent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Demands of a class of interactions.

    Raises
    ------
    InputError
        A number is out of range.
    TypeError
        An argument is of the wrong kind.
    """

    share: float
    """Fraction of all interactions."""
    useful: Distribution
    """Useful time [s]."""
    pages: float
    segments: float
    """Total number of pages and segments that one refers to."""
    lines: float
    """Lines of its reply."""
    factor: float = 1.0
    """Factor of the useful time."""

    def __post_init__(self) -> None:
        """Check every field."""
        arguments.record(self.useful, Distribution, "useful")
        for name in ("share", "pages", "segments", "lines"):
            at_least_zero(name, getattr(self, name))
        positive("factor", self.factor)

    @property
    def useful_s(self) -> float:
        """Mean useful time [s]."""
        return self.factor * self.useful.mean

    def beyond(self, useful_s: float | Array) -> Array:
        """Probability that one takes longer."""
        return self.useful.survival(np.asarray(useful_s) / self.factor)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stays:
    """Lengths of the stays of processes as eligible: of all first stays, or of all later ones."""

    limits: Array
    """Total number of places referred to, one column each."""
    longest_s: float
    """Useful time that no stay exceeds [s]."""
    running: Array
    """Longer stays per interaction, by column and by useful time (`TABLE`)."""
    cut: Array
    """Those of them that end with the quantum."""
    rest: Array
    """Later useful time of an interaction, by the same."""

    @property
    def number(self) -> float:
        """Number of stays of an interaction."""
        return float(self.running[:, 0].sum())

    @property
    def useful_s(self) -> float:
        """Useful time of an interaction in these stays [s]."""
        return float(self.rest[:, 0].sum())

    def at(self, table: Array, useful_s: Array) -> Array:
        """Interpolated values of a table at useful times, by step and column."""
        place = np.cbrt(np.minimum(useful_s / self.longest_s, 1.0)) * (TABLE - 1)
        below = np.minimum(place.astype(np.int64), TABLE - 2)
        columns = np.arange(len(self.limits))
        low, high = table[columns, below], table[columns, below + 1]
        result: Array = low + (place - below) * (high - low)
        return result


def cut_into_stays(
    programs: Sequence[Program], places: Sequence[float], ends_s: Sequence[float]
) -> tuple[Stays, ...]:
    """First stays, and later ones where there are any: interactions cut at the useful times `ends_s`.

    `places` is the number of places that each program refers to.
    """
    longest = max(_longest(program) for program in programs)
    bounds = [0.0, *(end for end in ends_s if end < longest), longest]
    pieces = list(pairwise(bounds))
    stays = [_stays(programs, places, part, longest) for part in (pieces[:1], pieces[1:]) if part]
    return tuple(item for item in stays if item.number > 0.0)


def _stays(
    programs: Sequence[Program],
    places: Sequence[float],
    pieces: Sequence[tuple[float, float]],
    longest_s: float,
) -> Stays:
    limits = sorted(set(places))
    longest = max(end - begin for begin, end in pieces)
    times = longest * np.linspace(0.0, 1.0, TABLE) ** 3
    running, cut = np.zeros((len(limits), TABLE)), np.zeros((len(limits), TABLE))
    for begin, end in pieces:
        inside = times < end - begin
        for program, limit in zip(programs, places, strict=True):
            column = limits.index(limit)
            running[column] += np.where(inside, program.share * program.beyond(begin + times), 0.0)
            if end < longest_s:
                cut[column] += np.where(inside, program.share * float(program.beyond(end)), 0.0)
    some = running[:, 0] > 0.0
    running, cut = running[some], cut[some]
    pieces_s = 0.5 * (running[:, 1:] + running[:, :-1]) * np.diff(times)
    rest = np.concatenate(
        [np.cumsum(pieces_s[:, ::-1], axis=1)[:, ::-1], np.zeros((len(running), 1))], axis=1
    )
    return Stays(limits=np.array(limits)[some], longest_s=longest, running=running, cut=cut, rest=rest)


def _longest(program: Program) -> float:
    """Useful time that is exceeded with probability `TAIL` [s]."""
    low, high = 0.0, 2.0 * program.useful_s
    while float(program.beyond(high)) > TAIL:
        low, high = high, 2.0 * high
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if float(program.beyond(middle)) > TAIL else (low, middle)
    return high
