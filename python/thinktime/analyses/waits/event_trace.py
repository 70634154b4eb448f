"""The events of a log as interactions, visits and slices."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.log.periods import Span

Array = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretches:
    """Times that begin with one kind of event and end with another of the same user; nan for no end."""

    start: Array
    end: Array
    user: Codes
    began: Codes
    """Number of the piece of the events in which each began."""

    def __len__(self) -> int:
        return len(self.start)

    def within(self, spans: Sequence[Span]) -> Stretches:
        """Those that begin and end in one of `spans`, which are in the order of time."""
        starts, ends = (np.array([at(span) for span in spans]) for at in (_start, _end))
        place = np.searchsorted(starts, self.start, side="right") - 1
        return self.chosen((place >= 0) & (self.end <= ends[place]))

    def chosen(self, rows: NDArray[np.bool_] | Codes) -> Stretches:
        """Some of them, in the order of `rows`."""
        return Stretches(
            start=self.start[rows], end=self.end[rows], user=self.user[rows], began=self.began[rows]
        )

    @staticmethod
    def joined(parts: Sequence[Stretches]) -> Stretches:
        """All of several, one after another."""
        names = [field.name for field in dataclasses.fields(Stretches)]
        return Stretches(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})

    def censored(self, ends: Array) -> Stretches:
        """Stretches of which those without an end last until `ends`."""
        return dataclasses.replace(self, end=np.where(np.isnan(self.end), ends, self.end))


def _start(span: Span) -> float:
    return span.start


def _end(span: Span) -> float:
    return span.end


@dataclass(frozen=True, slots=True, kw_only=True)
class Interactions:
    """Interactions of users; seconds since the first event of the log."""

    user: Codes
    arrival: Array
    following: Array
    """Next arrival of the same user; infinite where there is none."""
    first_slice: Array
    """Start of the first slice; nan where there was none."""
    first_slice_end: Array
    completion: Array
    command: NDArray[np.bool_]
    """True if it loaded a library directory or is of a class of commands."""

    def __len__(self) -> int:
        return len(self.arrival)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTrace(Interactions):
    """Interactions in order of user and arrival, and slices, swaps and waits; seconds since the first event.

    Those of a piece of the events: what ended in it. What has no end is in the last piece.
    """

    read_from: float
    """First event of the piece; what ended in it may have begun before."""
    read_until: float
    """Last event of the piece."""
    completed: Array
    """Completions as they were seen; `completion` has the end of the session where there was none."""
    slices: Stretches
    swap_ins: Stretches
    swap_outs: Stretches
    library_loads: Stretches
    output_waits: Stretches
    waited_in: Codes
    """Interaction in which each wait for output began, its place here; -1 before its user's first input."""
    overlapping: int = 0
    """Inputs before the completion of the same user's last one; `censored` counts them."""

    @property
    def unfinished(self) -> int:
        """Interactions that were never completed."""
        return len(self.arrival) - len(self.completed)

    def censored(self, spans: Sequence[Span]) -> EventTrace:
        """Trace in which everything without an end lasts until its session ends, or the user's next input."""
        ends = np.array([span.end for span in spans])

        def until(start: Array) -> Array:
            at = np.minimum(np.searchsorted(ends, start, side="left"), len(ends) - 1)
            limit: Array = np.maximum(ends[at], start)
            return limit

        closing = until(self.arrival)
        open_ended = np.isnan(self.completion)
        in_first = ~np.isnan(self.first_slice) & np.isnan(self.first_slice_end)
        # A new input of the same user in the same session ends an interaction that was never completed.
        overtaken = open_ended & (self.following < closing)
        closing = np.where(overtaken, self.following, closing)
        return dataclasses.replace(
            self,
            overlapping=int(overtaken.sum()),
            first_slice_end=np.where(in_first, closing, self.first_slice_end),
            completion=np.where(open_ended, closing, self.completion),
            slices=self.slices.censored(until(self.slices.start)),
            swap_ins=self.swap_ins.censored(until(self.swap_ins.start)),
            swap_outs=self.swap_outs.censored(until(self.swap_outs.start)),
            library_loads=self.library_loads.censored(until(self.library_loads.start)),
            output_waits=self.output_waits.censored(until(self.output_waits.start)),
        )
