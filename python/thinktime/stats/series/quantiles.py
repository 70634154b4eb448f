"""Quantiles of values that do not fit into memory, with their intervals, in two or three looks at them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from thinktime.stats.estimate import Estimate
from thinktime.stats.ordered import ALL_BITS, Counts, Keys, Search, keys
from thinktime.stats.series.batch_means import KEPT_MOST, following
from thinktime.stats.series.looks import Request
from thinktime.stats.series.shares import QuantileEnds, quantile_in_time

Array = NDArray[np.float64]
Piece = TypeVar("Piece")

KEPT = 1 << 16
"""Values next to a quantile that are kept."""
REACHES = (24_576, 12_288, 8_192)
"""Places on both sides of a quantile among which the ends of its interval are looked for, the most first."""
DEVIATIONS = 4.0
"""Standard deviations of the number of independent values below a quantile that these reach at least."""
CELLS_MOST = 1 << 16
"""Cells by which the values next to a quantile are counted where they are too many."""
LEADING_BITS, FURTHER_BITS = 20, 12
"""See `stats.ordered`."""


class Quantiles(Request[Piece, "tuple[Estimate, ...]"]):
    """`shares.quantile_in_time` for several shares of the same values; empty without a value.

    The quantiles and the ends of their intervals are exact, of any number of values. A first look counts them
    by their leading bits. The next keeps those next to each quantile, with the batch that each is in, and
    counts those below by batch, from which the interval follows; before that, where too many are next to it,
    a look counts these by further bits. Only where many values are equal, or an end is not among those that
    were kept, the values in those places are searched by themselves (`ordered.Search`).

    Parameters
    ----------
    values : callable
        Values of a piece, none of them nan.
    qs : sequence of float
        Shares, from 0 to 1.
    level : float
        Confidence of the intervals.
    """

    def __init__(self, values: Callable[[Piece], Array], qs: Sequence[float], level: float) -> None:
        self._values, self._qs, self._level = values, tuple(qs), level
        self._counts = Counts(LEADING_BITS)
        self._near: list[_Near] = []
        self._batches: _Batches | None = None
        self._search: Search | None = None
        self._found: list[float] = []
        self._ends: list[QuantileEnds] = []
        self._at: dict[int, float] = {}
        """Values by their places."""

    def whole(self, piece: Piece) -> tuple[Estimate, ...]:
        """Answer from the only piece that there is."""
        values = self._values(piece)
        return tuple(quantile_in_time(values, q, self._level) for q in self._qs) if len(values) else ()

    def absorb(self, piece: Piece) -> None:
        """Look at a piece."""
        values = self._values(piece)
        if not len(values):
            return
        if self._search is not None:
            self._search.absorb(values)
        elif self._batches is None:
            self._counts.absorb(values)
        elif self._found:
            first, batch = self._batches.go_on(len(values))
            for sums, found in zip(self._batches.sums, self._found, strict=True):
                sums[batch] += _added(values <= found, first)
        else:
            numbers = keys(values)
            first, batch = self._batches.go_on(len(values))
            for near in self._near:
                near.absorb(values, numbers, first, batch)

    def more(self) -> bool:
        """End a look; True if there must be another."""
        if self._search is not None:
            return self._searched(self._search)
        n = self._counts.n
        if not n:
            return False
        if self._batches is None:
            self._near = [_Near(self._counts, q) for q in self._qs]
        elif self._found:
            return self._bounded(list(self._batches.sums))
        else:
            for near in self._near:
                near.end_look()
        if all(near.is_done for near in self._near):
            self._found = [self._between(q, near.at) for q, near in zip(self._qs, self._near, strict=True)]
            return self._bounded(
                [near.hits(found) for near, found in zip(self._near, self._found, strict=True)]
            )
        if any(near.is_lost for near in self._near):
            self._near = []
            self._search = self._searching([place for q in self._qs for place in _around(n, q)[0]])
            return self._search.more or self._searched(self._search)
        self._batches = _Batches(n, len(self._qs))
        return True

    def _searched(self, search: Search) -> bool:
        """End a look of a search, or one that needs no look; True if there must be another."""
        if search.more:
            search.advance()
        if search.more:
            return True
        self._at |= search.found
        self._search = None
        if self._found:
            return False
        self._found = [self._between(q, self._at.get) for q in self._qs]
        self._batches = _Batches(self._counts.n, len(self._qs))
        return True

    def _bounded(self, sums: Sequence[Array]) -> bool:
        """Ends of the intervals from the hits in each batch; True if a look for their values is needed."""
        assert self._batches is not None
        sizes, self._batches = self._batches.sizes, None
        self._ends = [
            QuantileEnds.of(hits, sizes, q, self._level) for hits, q in zip(sums, self._qs, strict=True)
        ]
        wanted = {place for ends in self._ends for place in ends.places if place is not None}
        for near in self._near:
            self._at |= {place: value for place in wanted if (value := near.at(place)) is not None}
        self._near = []
        missing = sorted(wanted - self._at.keys())
        self._search = self._searching(missing)
        return self._search.more or self._searched(self._search)

    def _searching(self, places: Sequence[int]) -> Search:
        return Search(places, self._counts, further_bits=FURTHER_BITS, kept_most=KEPT >> 2)

    def _between(self, q: float, at: Callable[[int], float | None]) -> float:
        """Quantile between two order statistics, with the arithmetic of `numpy.quantile`."""
        (low, high), part = _around(self._counts.n, q)
        below, above = at(low), at(high)
        assert below is not None
        assert above is not None
        step = above - below
        return above - step * (1.0 - part) if part >= 0.5 else below + step * part

    def answer(self) -> tuple[Estimate, ...]:
        """Answer, after the last look."""
        if not self._found:
            return ()
        at, results = self._at, []
        for value, ends in zip(self._found, self._ends, strict=True):
            low, high = (None if place is None else at[place] for place in ends.places)
            results.append(ends.estimate(value, (low, high)))
        return tuple(results)


def _around(n: int, q: float) -> tuple[tuple[int, int], float]:
    """Places between which a quantile lies, and the part of the way from the first."""
    place = (n - 1) * q
    low = math.floor(place)
    return (low, min(low + 1, n - 1)), place - low


class _Batches:
    """Batches of `shares` of a series whose length is known, as it goes on."""

    def __init__(self, n: int, columns: int) -> None:
        self._starts = np.linspace(0, n, min(n, KEPT_MOST) + 1).astype(np.int64)
        self._seen = 0
        self.sums = np.zeros((columns, len(self._starts) - 1))

    @property
    def sizes(self) -> Array:
        """Observations in each batch."""
        return np.diff(self._starts).astype(np.float64)

    def go_on(self, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First observation of each batch among those that follow, and these batches."""
        found = following(self._starts[:-1], self._seen, count)
        self._seen += count
        return found


def _added(hits: NDArray[np.bool_], first: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number of hits from each of these observations to the next."""
    added: NDArray[np.int64] = np.add.reduceat(hits.view(np.int8), first, dtype=np.int64)
    return added


class _Near:
    """Values next to a quantile.

    Parameters
    ----------
    counts : Counts
        All values.
    q : float
        Share of the quantile.
    """

    def __init__(self, counts: Counts, q: float) -> None:
        self._n = counts.n
        self._places = _around(self._n, q)[0]
        deviation = math.sqrt(self._n * q * (1.0 - q))
        least = min(REACHES[0], math.ceil(DEVIATIONS * deviation))
        self._reaches: tuple[int, ...] = (*(reach for reach in REACHES if reach > least), least)
        self._kept: list[Array] = []
        self._batch_of: list[NDArray[np.int64]] = []
        self._below = np.zeros(min(self._n, KEPT_MOST))
        self._counts: Counts | None = None
        self.is_done = self.is_lost = False
        """True if the values next to the quantile are kept; if too many of them are equal."""
        self._narrow(counts, 0)

    def _narrow(self, counts: Counts, before: int) -> None:
        """Choose the cells whose values are kept, or counted by further bits.

        Parameters
        ----------
        counts : Counts
            Values of some cells.
        before : int
            Number of values before these cells.
        """
        until = before + np.cumsum(counts.of)
        first = last = inside = 0
        for reach in self._reaches:
            ends = max(self._places[0] - reach, 0), min(self._places[1] + reach, self._n - 1)
            first, last = np.searchsorted(until, ends, side="right").tolist()
            self._before = int(until[first] - counts.of[first])
            inside = int(until[last]) - self._before
            if inside <= KEPT:
                break
        shift = ALL_BITS - counts.bits
        self._low = np.uint64(counts.first + first << shift)
        self._most = np.uint64((last - first + 1 << shift) - 1)
        """Least number of the keys, and the most by which others are larger."""
        further = min(shift, CELLS_MOST.bit_length() - 1 - (last - first).bit_length())
        is_kept = inside <= KEPT
        self.is_lost = not is_kept and further <= 0
        self._counts = None if is_kept or self.is_lost else Counts(counts.bits + further)
        self._reaches = self._reaches[-1:]

    def absorb(
        self, values: Array, numbers: Keys, first: NDArray[np.int64], batch: NDArray[np.int64]
    ) -> None:
        """Look at values with their keys; `first` are the first ones of each `batch` among them."""
        if self.is_done:
            return
        inside = np.flatnonzero(numbers - self._low <= self._most)
        if self._counts is not None:
            self._counts.absorb_keys(numbers[inside])
            return
        self._kept.append(values[inside])
        self._batch_of.append(batch[np.searchsorted(first, inside, side="right") - 1])
        self._below[batch] += _added(numbers < self._low, first)

    def end_look(self) -> None:
        """Narrow what was counted, or put in order what was kept."""
        if self._counts is not None:
            self._narrow(self._counts, self._before)
        elif not self.is_done:
            kept, batch = np.concatenate(self._kept), np.concatenate(self._batch_of)
            order = np.argsort(kept, kind="stable")
            self._kept, self._batch_of = [kept[order]], [batch[order]]
            self.is_done = True

    def hits(self, found: float) -> Array:
        """Number of values up to this one in each batch, once it is done."""
        until = int(np.searchsorted(self._kept[0], found, side="right"))
        hits: Array = self._below + np.bincount(self._batch_of[0][:until], minlength=len(self._below))
        return hits

    def at(self, place: int) -> float | None:
        """Value in a place of all, once it is done; None if it was not kept."""
        within = place - self._before
        return float(self._kept[0][within]) if 0 <= within < len(self._kept[0]) else None
