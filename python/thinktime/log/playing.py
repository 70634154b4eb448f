"""Interactions beside the intervals of the samples: how many were completed, and how many users played."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.log import interaction_pieces
from thinktime.log.interaction_pieces import Stream
from thinktime.log.observations import Observations

if TYPE_CHECKING:
    from thinktime.log import Log

Array = NDArray[np.float64]


def read(log: Log) -> Playing | None:
    """What the interactions of the log say about intervals; None if it has none."""
    stream = interaction_pieces.read(log)
    return None if stream is None else Playing(stream)


class Playing:
    """What the interactions say about intervals, a piece at a time.

    Pieces that go on in time share one look at the interactions; one that goes back takes another.

    Parameters
    ----------
    stream : Stream
        Interactions with their ``population``.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._passed = Passed(stream.ended)
        self._latest = _Latest(self._counted)

    def _counted(self) -> Iterator[tuple[Array, Array]]:
        for due, population in self._stream.arrivals():
            counted = ~np.isnan(population)
            yield due[counted], population[counted]

    def _start(self, observed: Observations) -> Array:
        return (observed.start_us - self._stream.origin_us) / 1e6

    def completed_in(self, observed: Observations) -> Array:
        """Interactions completed in each interval; nan before the first arrival and after the last end."""
        start = self._start(observed)
        end = start + observed.length_s
        before = self._passed.before(np.concatenate([start, end]))
        counts = (before[len(start) :] - before[: len(start)]).astype(np.float64)
        return np.where((end > 0.0) & (start < self._stream.last), counts, np.nan)

    def population_in(self, observed: Observations) -> Array:
        """Users playing in each interval, by the arrivals; nan before the first and after the last."""
        start = self._start(observed)
        # The population in the middle of the interval is that of the last arrival before it.
        population = self._latest.at(start + observed.length_s / 2)
        return np.where(start < self._stream.last_counted, population, np.nan)


class Passed:
    """Numbers of ordered times that lie before instants; the times come in pieces.

    Parameters
    ----------
    pieces : callable
        Gives the times from the first, each time.
    """

    def __init__(self, pieces: Callable[[], Iterator[Array]]) -> None:
        self._pieces = pieces
        self._begin()

    def _begin(self) -> None:
        self._rest = (piece for piece in self._pieces() if len(piece))
        self._piece = next(self._rest, None)
        self._before, self._asked = 0, -np.inf

    def before(self, instants: Array) -> NDArray[np.int64]:
        """Number of times before each instant."""
        counts = np.zeros(len(instants), dtype=np.int64)
        order = np.argsort(instants, kind="stable")
        ordered = instants[order]
        if len(ordered) and ordered[0] < self._asked:
            self._begin()
        done = 0
        while done < len(ordered):
            piece = self._piece
            if piece is None:
                counts[order[done:]] = self._before
                break
            # Later pieces have nothing that is earlier than the last of this one.
            until = int(np.searchsorted(ordered, piece[-1], side="right"))
            if until > done:
                counts[order[done:until]] = self._before + np.searchsorted(piece, ordered[done:until])
                done = until
            if done < len(ordered):
                self._before += len(piece)
                self._piece = next(self._rest, None)
        self._asked = float(ordered[-1]) if len(ordered) else self._asked
        return counts


class Within:
    """Ordered times that lie in stretches of time; they come in pieces.

    Parameters
    ----------
    pieces : callable
        Gives the times from the first, each time, with values beside them: each a tuple of arrays.
    """

    def __init__(self, pieces: Callable[[], Iterator[tuple[Array, ...]]]) -> None:
        self._pieces = pieces
        self._begin()

    def _begin(self) -> None:
        self._rest = self._pieces()
        self._held = next(self._rest, None)
        self._before, self._asked = 0, -np.inf

    def of(self, start: float, end: float) -> tuple[int, tuple[Array, ...]]:
        """Number of times before `start`, and those from `start` on and before `end`, with their values."""
        if start < self._asked:
            self._begin()
        self._asked = start
        while self._held is not None:
            times = self._held[0]
            passed = int(np.searchsorted(times, start))
            self._before += passed
            self._held = tuple(values[passed:] for values in self._held)
            if len(self._held[0]) and self._held[0][-1] >= end:
                break
            following = next(self._rest, None)
            if following is None:
                break
            self._held = tuple(
                np.concatenate([mine, theirs]) for mine, theirs in zip(self._held, following, strict=True)
            )
        if self._held is None:
            return self._before, ()
        until = int(np.searchsorted(self._held[0], end))
        return self._before, tuple(values[:until] for values in self._held)


class _Latest:
    """Values of the last of ordered times up to instants; times and values come in pieces."""

    def __init__(self, pieces: Callable[[], Iterator[tuple[Array, Array]]]) -> None:
        self._pieces = pieces
        self._begin()

    def _begin(self) -> None:
        self._rest = (piece for piece in self._pieces() if len(piece[0]))
        self._piece = next(self._rest, None)
        self._value, self._asked = np.nan, -np.inf

    def at(self, instants: Array) -> Array:
        """Value at each instant; nan before the first time."""
        values = np.full(len(instants), np.nan)
        order = np.argsort(instants, kind="stable")
        ordered = instants[order]
        if len(ordered) and ordered[0] < self._asked:
            self._begin()
        done = 0
        while done < len(ordered):
            if self._piece is None:
                values[order[done:]] = self._value
                break
            times, held = self._piece
            # Of equal times the last counts, which may be in the next piece.
            until = int(np.searchsorted(ordered, times[-1], side="left"))
            if until > done:
                place = np.searchsorted(times, ordered[done:until], side="right") - 1
                values[order[done:until]] = np.where(place >= 0, held[np.maximum(place, 0)], self._value)
                done = until
            if done < len(ordered):
                self._value = float(held[-1])
                self._piece = next(self._rest, None)
        self._asked = float(ordered[-1]) if len(ordered) else self._asked
        return values
