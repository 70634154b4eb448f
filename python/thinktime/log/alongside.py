"""Rows of another table beside the intervals of the samples, a piece of either at a time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from thinktime.log.observations import ROWS, Observations

if TYPE_CHECKING:
    import polars as pl

    from thinktime.log import Log

Piece = TypeVar("Piece", bound=Observations)
Pieces = Callable[[], Iterator[Piece]]
"""Gives the intervals of a log from the start, each time (`observations.held`)."""
Select = Callable[["pl.LazyFrame"], "pl.LazyFrame"]
"""Chooses the columns of a part; its ``start`` is in microseconds since 1970 UTC."""
Matched = tuple["pl.DataFrame", NDArray[np.int64]]
"""Rows, and for each the index of its interval within the piece."""


def alongside(
    log: Log, table: str, pieces: Pieces[Piece], select: Select, *, in_order: bool | None = None
) -> Iterator[tuple[Piece, Iterator[Matched]]]:
    """Each piece of the samples, with the rows of `table` that begin when one of its intervals does.

    Rows are in their order; those that begin with no interval are left out, for nothing is known of their
    length. Where several intervals begin at once, the rows are those of the first. Both tables are read once
    if their rows are in the order of time; of a log of several pieces in which the clock was set back, they
    are read once for each piece. Memory holds a piece of either.

    Parameters
    ----------
    log : Log
    table : str
        Name of the other table.
    pieces : callable
        The intervals.
    select : callable
        Columns that are wanted, ``start`` among them.
    in_order : bool, optional
        `can_follow` of the same arguments, for whoever reads the rows several times.

    Yields
    ------
    (piece, rows)
        The rows have to be used before the next piece is asked for.
    """
    if in_order is None:
        in_order = can_follow(log, table, pieces)
    if in_order:
        rows = _Following(_frames(log, table, select))
        last: int | None = None
        for piece in pieces():
            yield piece, rows.of(piece, last)
            last = int(piece.start_us[-1]) if len(piece) else last
        return
    for number, piece in enumerate(pieces()):
        yield piece, _anywhere(log, table, piece, itertools.islice(pieces(), number), select)


def can_follow(log: Log, table: str, pieces: Pieces[Observations]) -> bool:
    """True if a log of several pieces has the rows of the samples and of `table` in the order of time."""
    several = len(list(itertools.islice(pieces(), 2))) > 1
    return several and _is_ordered(log, "samples") and _is_ordered(log, table)


def _frames(log: Log, table: str, select: Select) -> Iterator[pl.DataFrame]:
    """Rows of the table with an instant, a few at a time."""
    import polars as pl

    for part in log.in_turn(table):
        chosen = select(part).filter(pl.col("start").is_not_null())
        for frame in chosen.collect_batches(chunk_size=ROWS, maintain_order=True):
            if len(frame):
                yield frame


def _is_ordered(log: Log, table: str) -> bool:
    """True if no row begins before the one in front of it."""
    import polars as pl

    last: int | None = None
    for frame in _frames(log, table, lambda part: part.select(pl.col("start").dt.epoch("us"))):
        starts = frame["start"].to_numpy()
        if (last is not None and starts[0] < last) or (np.diff(starts) < 0).any():
            return False
        last = int(starts[-1])
    return True


def _anywhere(
    log: Log, table: str, piece: Observations, before: Iterable[Observations], select: Select
) -> Iterator[Matched]:
    """Rows of a piece, wherever they stand in the table, but for those of the pieces before it."""
    import polars as pl

    starts, first = _ascending(piece.start_us)
    for earlier in before:
        new = ~np.isin(starts, earlier.start_us)
        starts, first = starts[new], first[new]
    if not len(starts):
        return
    inside = pl.col("start").is_between(int(starts[0]), int(starts[-1]))
    for frame in _frames(log, table, lambda part: select(part).filter(inside)):
        yield _matched(frame, starts, first)


class _Following:
    """Rows in the order of time, of which each piece takes those that follow the piece before."""

    def __init__(self, frames: Iterator[pl.DataFrame]) -> None:
        self._frames = frames
        self._frame = next(frames, None)

    def of(self, piece: Observations, after: int | None) -> Iterator[Matched]:
        """Rows of a piece; those that begin at `after` or before are those of a piece before it."""
        starts, first = _ascending(piece.start_us)
        new = starts > after if after is not None else np.ones(len(starts), dtype=np.bool_)
        starts, first = starts[new], first[new]
        while self._frame is not None and len(starts):
            yield _matched(self._frame, starts, first)
            if self._frame["start"][-1] > starts[-1]:
                # The piece after this one needs its last rows.
                return
            self._frame = next(self._frames, None)


def _ascending(starts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Different starts, ascending, and the place of the first of each."""
    if (np.diff(starts) > 0).all():
        return starts, np.arange(len(starts))
    return np.unique(starts, return_index=True)


def _matched(frame: pl.DataFrame, starts: NDArray[np.int64], first: NDArray[np.int64]) -> Matched:
    begun = frame["start"].to_numpy()
    place = np.minimum(np.searchsorted(starts, begun), len(starts) - 1)
    used = starts[place] == begun
    return (frame, first[place]) if used.all() else (frame.filter(used), first[place[used]])
