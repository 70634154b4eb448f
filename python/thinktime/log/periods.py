"""Stretches of time to analyse separately, and integrals over them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.log import facts

if TYPE_CHECKING:
    from thinktime.log import Log

Array = NDArray[np.float64]

PERIOD_S = 600.0
"""Ten minutes, the unit of Anderson and Sargent (1974)."""
PERIODS_LEAST = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of time, in seconds since the origin of the times it is used with."""

    start: float
    end: float
    users: float | None = None
    """Number of users throughout it, if they were counted and did not change."""

    @property
    def length(self) -> float:
        """Length [s]."""
        return self.end - self.start


def sessions(log: Log, origin_us: int, first: float, last: float) -> list[Span]:
    """Time that each session covers between `first` and `last`, without its warm-up.

    Parameters
    ----------
    log : Log
    origin_us : int
        Origin of `first` and `last`, microseconds since 1970 UTC.
    first, last : float
        Times of the first and the last event [s].
    """
    entries = facts.sessions(log)
    starts = [(session.start_us - origin_us) / 1e6 for session in entries]
    spans = []
    for number, session in enumerate(entries):
        after = starts[number + 1] if number + 1 < len(entries) else last
        end = after if session.end_us is None else (session.end_us - origin_us) / 1e6
        start, end = max(first, starts[number] + session.warm_up_s), min(last, end)
        if end > start:
            spans.append(Span(start=start, end=end))
    # A log whose sessions lie elsewhere in time (an import, a test) is one stretch.
    return spans or [Span(start=first, end=last)]


def cut(spans: Sequence[Span], period_s: float | None = None) -> list[Span]:
    """Equal pieces of the spans of about `period_s`: ten minutes, or less if that makes fewer than four."""
    total = math.fsum(span.length for span in spans)
    if period_s is None:
        period_s = min(PERIOD_S, total / PERIODS_LEAST)
    if not period_s > 0.0:
        # Everything happened at one instant: there is nothing to cut.
        return list(spans)
    pieces = []
    for span in spans:
        edges = np.linspace(span.start, span.end, max(1, round(span.length / period_s)) + 1).tolist()
        pieces += [Span(start=low, end=high, users=span.users) for low, high in itertools.pairwise(edges)]
    return pieces


class Changes:
    """Times at which the number of users changed.

    Parameters
    ----------
    arrivals : callable
        Gives arrivals, ascending, and the users playing at each, from the start each time, in pieces; nan
        where they were not counted.
    least : int
        Mean number of arrivals between two changes below which the number drifts.
    """

    def __init__(self, arrivals: Callable[[], Iterable[tuple[Array, Array]]], least: int) -> None:
        self._arrivals, self._least = arrivals, least
        self.n = self.number = 0
        """Arrivals at which the users were counted, and changes of their number."""
        self.most = -math.inf
        """Largest number of users; below all numbers where they were not counted."""
        for _, users, changes in self._counted():
            self.n += len(users)
            self.number += len(changes)
            self.most = max(self.most, float(users.max()))

    def _counted(self) -> Iterator[tuple[Array, Array, NDArray[np.int64]]]:
        """Arrivals at which the users were counted, with their number, and where it changed."""
        last: float | None = None
        for arrival, population in self._arrivals():
            counted = ~np.isnan(population)
            instants, users = arrival[counted], np.rint(population[counted])
            if len(users):
                yield (
                    instants,
                    users,
                    np.flatnonzero(np.diff(users, prepend=users[0] if last is None else last)),
                )
                last = float(users[-1])

    @property
    def drifts(self) -> bool:
        """True if the number changes too often for its changes to be ends of periods."""
        return self.n > 0 and self.n / (self.number + 1) < self._least

    def steady(self, spans: Sequence[Span]) -> list[Span]:
        """Spans cut where the number of users changes; as they are where it drifts, or was not counted."""
        if not self.n or self.drifts:
            return list(spans)
        found = [
            (instants[changes], users[changes], users[:1]) for instants, users, changes in self._counted()
        ]
        bounds = np.concatenate([instants for instants, _, _ in found])
        users = np.concatenate([found[0][2], *(numbers for _, numbers, _ in found)])
        parts = []
        for span in spans:
            inside = bounds[(bounds > span.start) & (bounds < span.end)].tolist()
            for low, high in itertools.pairwise([span.start, *inside, span.end]):
                before = int(np.searchsorted(bounds, (low + high) / 2, side="right"))
                parts.append(Span(start=low, end=high, users=float(users[before])))
        return parts


def integral(start: Array, end: Array, edges: Array) -> Array:
    r"""Time that intervals [start, end] cover up to each edge: :math:`\int_{-\infty}^{e} N(t)\, dt`.

    Its difference between two edges, divided by their distance, is the mean number present.
    """
    return _ramp(start, edges) - _ramp(end, edges)


def _ramp(instants: Array, edges: Array) -> Array:
    ordered = np.sort(instants)
    running = np.concatenate([[0.0], np.cumsum(ordered)])
    passed = np.searchsorted(ordered, edges)
    result: Array = passed * edges - running[passed]
    return result
