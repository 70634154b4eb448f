"""What each piece of the events of interactions ends, and what it leaves open for the next."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.waits.event_pieces import (
    COMPLETION,
    INPUT,
    KINDS,
    LIBRARY_LOAD,
    OUTPUT_WAIT,
    PAIRS,
    SLICE,
    Events,
    Rows,
)
from thinktime.analyses.waits.event_trace import EventTrace, Interactions, Stretches
from thinktime.log import interaction_pieces
from thinktime.log.playing import Within

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Flags = NDArray[np.bool_]


def traces(events: Events) -> Iterator[EventTrace]:
    """What ended in each piece."""
    tracing = _Tracing(len(events.users), _Commands(events))
    for rows, is_last in _with_last(events.frames()):
        yield tracing.absorb(rows, is_last=is_last)


def slices(events: Events) -> Iterator[Stretches]:
    """Slices of the traces alone."""
    opened = _Opened(len(events.users))
    for rows, is_last in _with_last(events.frames((f"{SLICE}_start", f"{SLICE}_end"))):
        yield opened.absorb(rows, SLICE, np.full(len(rows), -1), is_last=is_last).stretches


def _with_last(pieces: Iterator[Rows]) -> Iterator[tuple[Rows, bool]]:
    """Pieces, each with whether it is the last."""
    following = next(pieces, None)
    while following is not None:
        piece, following = following, next(pieces, None)
        yield piece, following is None


class _Commands:
    """Inputs of the classes of commands, by the table of interactions."""

    def __init__(self, events: Events) -> None:
        self._due: Within | None = None
        stream = interaction_pieces.read(events.log, unanswered=True)
        if stream is None:
            return
        wanted = np.array(["command" in name.lower() for name in stream.classes], dtype=np.bool_)
        if not wanted.any():
            return
        place = {name: number for number, name in enumerate(events.users) if name}
        code = np.array([place.get(name, -1) for name in stream.users], dtype=np.int64)
        shift = stream.origin_us

        def inputs() -> Iterator[tuple[Array, ...]]:
            for piece in stream.pieces():
                user = code[piece.user_of]
                rows = wanted[piece.class_of] & (user >= 0)
                # Whole microseconds, exact as numbers below 2^53.
                yield np.rint(piece.times["due"][rows] * 1e6) + shift, user[rows].astype(np.float64)

        self._due = Within(inputs)

    def of(self, user: Codes, epoch_us: Codes) -> Flags:
        """True for the inputs of a user at an instant that are commands; later pieces go on in time."""
        import polars as pl

        if self._due is None or not len(user):
            return np.zeros(len(user), dtype=np.bool_)
        _, found = self._due.of(float(epoch_us.min()), float(epoch_us.max()) + 1.0)
        keys = ["user", "time"]
        columns = [values.astype(np.int64) for values in reversed(found)] or [user[:0], epoch_us[:0]]
        commands = pl.DataFrame(dict(zip(keys, columns, strict=True))).unique(keys)
        inputs = pl.DataFrame({"user": user, "time": epoch_us})
        joined = inputs.join(commands.with_columns(command=True), on=keys, how="left", maintain_order="left")
        commands_of: Flags = joined["command"].fill_null(False).to_numpy()
        return commands_of


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ended:
    """Stretches that ended in a piece."""

    stretches: Stretches
    interaction: Codes
    """Interaction in which each began; -1 before its user's first input."""
    is_first: Flags
    """True if it is the first of its interaction."""


class _Opened:
    """Stretches of one kind that have begun and not ended: at most one of each user."""

    def __init__(self, users: int) -> None:
        self._start = np.full(users, np.nan)
        self._interaction = np.full(users, -1)
        self._is_first = np.zeros(users, dtype=np.bool_)
        self._began = np.zeros(users, dtype=np.int64)
        self._piece = 0

    def interactions(self, *, first: bool = False) -> Codes:
        """Interactions in which the open stretches began; only of those that are first in theirs."""
        held = ~np.isnan(self._start) & (self._is_first | (not first))
        interactions: Codes = self._interaction[held]
        return interactions

    def absorb(
        self, rows: Rows, name: str, interaction: Codes, *, is_last: bool, firsts: Codes | None = None
    ) -> _Ended:
        """Stretches of each start and the next event of its user, where that is the end.

        Parameters
        ----------
        rows : Rows
        name : str
            Kind of the stretches.
        interaction : array
            Interaction of each event.
        is_last : bool
            True if no piece follows: what has no end is given too.
        firsts : array, optional
            Rows that begin the first stretch of their interaction.
        """
        begin, end = KINDS.index(f"{name}_start"), KINDS.index(f"{name}_end")
        mine = np.flatnonzero((rows.kind == begin) | (rows.kind == end))
        carried = np.flatnonzero(~np.isnan(self._start))
        user = np.concatenate([carried, rows.user[mine]])
        order = np.argsort(user, kind="stable")
        user = user[order]
        time = np.concatenate([self._start[carried], rows.time[mine]])[order]
        begins = np.concatenate([np.ones(len(carried), dtype=np.bool_), rows.kind[mine] == begin])[order]
        number = np.concatenate([self._interaction[carried], interaction[mine]])[order]
        new = np.zeros(len(mine), dtype=np.bool_) if firsts is None else np.isin(mine, firsts)
        is_first = np.concatenate([self._is_first[carried], new])[order]
        began = np.concatenate([self._began[carried], np.full(len(mine), self._piece)])[order]
        followed = np.append(user[1:] == user[:-1], False)[: len(user)]
        ended = followed & ~np.append(begins[1:], True)[: len(user)]
        ends = np.where(ended, np.append(time[1:], np.nan)[: len(user)], np.nan)
        given = begins & (followed | is_last)
        left = begins & ~followed
        self._start[carried] = np.nan
        for held, values in (
            (self._start, time),
            (self._interaction, number),
            (self._is_first, is_first),
            (self._began, began),
        ):
            held[user[left]] = values[left]
        self._piece += 1
        return _Ended(
            stretches=Stretches(start=time[given], end=ends[given], user=user[given], began=began[given]),
            interaction=number[given],
            is_first=is_first[given],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table(Interactions):
    """Interactions that may still change, by their number."""

    number: Codes

    @classmethod
    def of(cls, number: Codes, user: Codes, arrival: Array, command: Flags) -> _Table:
        """Interactions of which nothing but their arrival is known."""
        first_slice, first_slice_end, completion = (np.full(len(number), np.nan) for _ in range(3))
        return cls(
            number=number,
            user=user,
            arrival=arrival,
            following=np.full(len(number), np.inf),
            first_slice=first_slice,
            first_slice_end=first_slice_end,
            completion=completion,
            command=command,
        )

    def interactions(self) -> dict[str, NDArray[np.generic]]:
        """Columns that do not depend on what is open, by name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(Interactions)}

    def columns(self) -> dict[str, NDArray[np.generic]]:
        """Columns by name."""
        return {"number": self.number, **self.interactions()}

    def chosen(self, rows: Flags | Codes) -> _Table:
        """Some of the interactions."""
        return _Table(**{name: values[rows] for name, values in self.columns().items()})  # type: ignore[arg-type]

    def with_more(self, other: _Table) -> _Table:
        """These, and those with higher numbers."""
        theirs = other.columns()
        joined = {name: np.concatenate([mine, theirs[name]]) for name, mine in self.columns().items()}
        return _Table(**joined)

    def at(self, numbers: Codes) -> Codes:
        """Places of these numbers, all of which are here."""
        return np.searchsorted(self.number, numbers)


class _Tracing:
    """Interactions and stretches of the events that come in pieces."""

    def __init__(self, users: int, commands: _Commands) -> None:
        self._commands = commands
        self._opened = {name: _Opened(users) for name in PAIRS}
        self._current = np.full(users, -1)
        """Interaction of each user; -1 before the first input."""
        self._count = 0
        none = np.zeros(0, dtype=np.int64)
        self._table = _Table.of(none, none, none.astype(np.float64), none.astype(np.bool_))
        self._waits = Stretches(start=np.zeros(0), end=np.zeros(0), user=none, began=none)
        self._waited_in = none
        """Waits for output whose interactions may still change, and those interactions."""

    def absorb(self, rows: Rows, *, is_last: bool) -> EventTrace:
        """What ended in a piece; with the last one also what never did."""
        number = self._numbered(rows)
        table = self._table
        self._complete(rows, number)
        loading = number[(rows.kind == KINDS.index(f"{LIBRARY_LOAD}_start")) & (number >= 0)]
        table.command[table.at(loading)] = True
        firsts = self._first_slices(rows, number)
        ended = {
            name: opened.absorb(rows, name, number, is_last=is_last, firsts=firsts if name == SLICE else None)
            for name, opened in self._opened.items()
        }
        slices = ended[SLICE]
        table.first_slice_end[table.at(slices.interaction[slices.is_first])] = slices.stretches.end[
            slices.is_first
        ]
        return self._given(rows, ended, is_last=is_last)

    def _numbered(self, rows: Rows) -> Codes:
        """Interaction to which each event belongs; those of new inputs are put into the table."""
        inputs = rows.kind == INPUT
        owner, arrival = rows.user[inputs], rows.time[inputs]
        index = np.cumsum(inputs) - 1
        own = (index >= 0) & (np.append(owner, -1)[index] == rows.user)
        number = np.where(own, self._count + index, self._current[rows.user])
        new = _Table.of(
            self._count + np.arange(len(owner)),
            owner,
            arrival,
            self._commands.of(owner, rows.epoch_us[inputs]),
        )
        same = owner[1:] == owner[:-1]
        new.following[:-1][same] = arrival[1:][same]
        # The first new input of a user follows the last one of a piece before.
        begins = np.append(True, ~same)[: len(owner)]
        before = self._current[owner[begins]]
        known = before >= 0
        self._table.following[self._table.at(before[known])] = arrival[begins][known]
        self._current[owner] = new.number
        self._count += len(owner)
        self._table = self._table.with_more(new)
        return number

    def _complete(self, rows: Rows, number: Codes) -> None:
        """Note the first completion of each interaction."""
        found = np.flatnonzero((rows.kind == COMPLETION) & (number >= 0))
        which, first = np.unique(number[found], return_index=True)
        at = self._table.at(which)
        completion = self._table.completion
        completion[at] = np.where(np.isnan(completion[at]), rows.time[found[first]], completion[at])

    def _first_slices(self, rows: Rows, number: Codes) -> Codes:
        """Rows that begin the first slice of an interaction, which is noted."""
        found = np.flatnonzero((rows.kind == KINDS.index(f"{SLICE}_start")) & (number >= 0))
        which, first = np.unique(number[found], return_index=True)
        at = self._table.at(which)
        new = np.isnan(self._table.first_slice[at])
        begun = found[first[new]]
        self._table.first_slice[at[new]] = rows.time[begun]
        return begun

    def _given(self, rows: Rows, ended: Mapping[str, _Ended], *, is_last: bool) -> EventTrace:
        """What does not change any more, which is then forgotten."""
        table = self._table
        held = [
            self._current[self._current >= 0],
            self._opened[SLICE].interactions(first=True),
            self._opened[OUTPUT_WAIT].interactions(),
        ]
        final = np.ones(len(table.number), dtype=np.bool_)
        if not is_last:
            final = ~np.isin(table.number, np.concatenate(held))
        closed = table.chosen(final)
        closed = closed.chosen(np.lexsort((closed.number, closed.user)))
        waits, waited_in = self._settled(ended[OUTPUT_WAIT], table.number[~final])
        place = np.argsort(closed.number)
        at = np.searchsorted(closed.number, waited_in, sorter=place)
        self._table = table.chosen(~final)
        return EventTrace(
            read_from=rows.ends[0],
            read_until=rows.ends[1],
            **closed.interactions(),  # type: ignore[arg-type]
            completed=closed.completion[~np.isnan(closed.completion)],
            slices=ended[SLICE].stretches,
            swap_ins=ended["swap_in"].stretches,
            swap_outs=ended["swap_out"].stretches,
            library_loads=ended[LIBRARY_LOAD].stretches,
            output_waits=waits,
            waited_in=np.where(waited_in >= 0, np.append(place, -1)[at], -1),
        )

    def _settled(self, ended: _Ended, changing: Codes) -> tuple[Stretches, Codes]:
        """Waits for output by user, without those of interactions that are `changing`, which are kept."""
        new = ended.stretches
        joined = Stretches.joined([self._waits, new])
        within = np.concatenate([self._waited_in, ended.interaction])
        kept = np.isin(within, changing)
        self._waits, self._waited_in = joined.chosen(kept), within[kept]
        given, number = joined.chosen(~kept), within[~kept]
        order = np.argsort(given.user, kind="stable")
        return given.chosen(order), number[order]
