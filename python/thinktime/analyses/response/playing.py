"""Completions per second while a number of users was playing."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thinktime.log.interaction_pieces import Piece, Stream
from thinktime.log.periods import Span
from thinktime.log.playing import Passed
from thinktime.stats.estimate import Estimate
from thinktime.stats.series.batch_means import Batches
from thinktime.stats.series.looks import Request

Array = NDArray[np.float64]
Users = tuple[float, float]
"""Fewest and most users of a range."""

PIECES = 16
"""Parts of a stretch of time, whose completions are counted."""


class ThroughputByUsers(Request[Piece, "dict[Users, Estimate | None]"]):
    """Completions per second in the stretches of time that had a number of users, for ranges of numbers.

    A stretch lasts from its first arrival to the first arrival of the next. The time between two sessions, in
    which nobody played, does not count.

    Parameters
    ----------
    stream : Stream
        Interactions.
    playing : sequence of (float, float)
        Ranges of users, which do not overlap.
    covered : sequence of Span
        Time in which users played.
    level : float
        Confidence of the intervals.
    """

    def __init__(
        self, stream: Stream, playing: Sequence[Users], covered: Sequence[Span], level: float
    ) -> None:
        self._stream, self._playing, self._covered, self._level = stream, tuple(playing), covered, level
        self._counts = dict.fromkeys(self._playing, 0)
        self._batches: dict[Users, Batches] = {}
        self._completed = dict.fromkeys(self._playing, 0)
        self._begin()

    def _begin(self) -> None:
        self._seen = 0
        self._begun: dict[Users, float] = {}
        """First arrival of the stretch that lasts."""

    def absorb(self, piece: Piece) -> None:
        """Look at a piece."""
        self._seen += len(piece)
        ended = {users: self._ended(piece, users) for users in self._playing}
        if not self._batches:
            for users, parts in ended.items():
                self._counts[users] += PIECES * len(parts)
            return
        edges = [part for parts in ended.values() for part in parts]
        if not edges:
            return
        before = iter(self._passed.before(np.concatenate(edges)).reshape(len(edges), -1))
        for users, parts in ended.items():
            if not parts:
                continue
            counts = np.concatenate([np.diff(next(before)) for _ in parts])
            lengths = np.concatenate([np.diff(part) for part in parts])
            self._batches[users].absorb(counts[:, None].astype(np.float64), lengths)
            self._completed[users] += int(counts.sum())

    def _ended(self, piece: Piece, users: Users) -> list[Array]:
        """Edges of the parts of the stretches that end in a piece."""
        arrival, load = piece.times["due"], np.rint(piece.columns["population"])
        counted = ~np.isnan(load)
        arrival, load = arrival[counted], load[counted]
        inside = (load >= users[0]) & (load <= users[1])
        changes = np.flatnonzero(np.diff(inside, prepend=users in self._begun)).tolist()
        stretches = []
        for at in changes:
            if inside[at]:
                self._begun[users] = float(arrival[at])
            else:
                stretches.append((self._begun.pop(users), float(arrival[at])))
        if self._seen == self._stream.n and users in self._begun:
            stretches.append((self._begun.pop(users), self._stream.last))
        return [
            np.linspace(max(low, span.start), min(high, span.end), PIECES + 1)
            for low, high in stretches
            for span in self._covered
            if min(high, span.end) > max(low, span.start)
        ]

    def more(self) -> bool:
        """End a look; True if there must be another."""
        if self._batches or not any(self._counts.values()):
            return False
        self._batches = {users: Batches(count, 1) for users, count in self._counts.items() if count}
        self._passed = Passed(self._stream.ended)
        self._begin()
        return True

    def answer(self) -> dict[Users, Estimate | None]:
        """Answer, after the last look."""
        return {users: self._rate(users) for users in self._playing}

    def _rate(self, users: Users) -> Estimate | None:
        if users not in self._batches:
            return None
        rate = self._batches[users].interval(0, self._level)
        return dataclasses.replace(rate, n=self._completed[users]).with_unit("interaction/s")
