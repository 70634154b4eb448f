"""Sums over the intervals of a trace, of what ended in each piece of its events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.waits.event_pieces import Events
from thinktime.analyses.waits.event_trace import EventTrace, Stretches
from thinktime.analyses.waits.event_tracing import slices, traces
from thinktime.log.periods import Span, integral
from thinktime.stats.series.batch_means import Batches

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

ACCESSES = ("swap_ins", "swap_outs", "library_loads")
"""Accesses to the disk, by the names of their stretches."""


class Sums:
    """Sums over the intervals; memory grows with the intervals, and with the users of each.

    Parameters
    ----------
    spans : sequence of Span
        Intervals, in the order of time.
    users : int
        Number of users of the trace.
    """

    def __init__(self, spans: Sequence[Span], users: int) -> None:
        self._spans = spans
        self._starts = np.array([span.start for span in spans])
        self._ends = np.array([span.end for span in spans])
        n = len(spans)
        self.interactions = self.overlapping = self.unfinished = 0
        self.counts = {name: np.zeros(n, dtype=np.int64) for name in ("inputs", "completions", *ACCESSES)}
        """Of each interval, what began in it; of completions, what ended."""
        self.active = np.zeros((n, users), dtype=np.bool_)
        """Users who had an interaction in each interval."""
        self.reactions = np.zeros(n, dtype=np.int64)
        """Inputs of each interval that had a slice."""
        self.reaction_s, self.reaction_log = np.zeros(n), np.zeros(n)
        """Sums of R and of log10(R + 0.5), R their times to the first slice [s]."""
        self.reaction_max_s = np.full(n, -np.inf)
        self.visits: dict[str, int] = {}
        """Visits to each queue."""
        self.begun: dict[str, Codes] = {}
        """Visits to each queue that began in each interval."""
        self.slices = 0
        """Slices that begin and end in an interval."""
        self.late: list[Stretches] = []
        """Those of them that ended more than a piece after the one in which they began."""
        self.pieces = 0
        self._presence: dict[str, Array] = {}

    def mean_number(self, name: str) -> Array:
        """Mean number in a queue, of slices that run, or of accesses in progress, in each interval."""
        means: Array = self._presence[name] / (self._ends - self._starts)
        return means

    def absorb(self, trace: EventTrace) -> None:
        """Add what ended in a piece, censored."""
        self.interactions += len(trace)
        self.overlapping += trace.overlapping
        self.unfinished += trace.unfinished
        for name, (start, end) in _visits(trace).items():
            self.visits[name] = self.visits.get(name, 0) + len(start)
            self.begun[name] = self.begun.get(name, 0) + self._inside(start)
            self._be_present(name, trace, start, end)
        accesses = {name: getattr(trace, name) for name in ACCESSES}
        for name, kind in {"slices": trace.slices, **accesses}.items():
            self._be_present(name, trace, kind.start, kind.end)
        counted = {"inputs": trace.arrival, "completions": trace.completed}
        for name, instants in {**counted, **{name: kind.start for name, kind in accesses.items()}}.items():
            self.counts[name] += self._inside(instants)
        self._react(trace)
        self._note_users(trace)
        within = trace.slices.within(self._spans)
        self.slices += len(within)
        self.late.append(within.chosen(within.began < self.pieces - 1))
        self.pieces += 1

    def _be_present(self, name: str, trace: EventTrace, start: Array, end: Array) -> None:
        """Add the time that visits cover in each interval."""
        # Times since the begin of the piece, and edges no further than its end: large numbers whose
        # difference is small would lose digits.
        base = trace.read_from
        reach = max(trace.read_until, float(np.max([start, end], initial=-np.inf)))
        edges = np.minimum(np.concatenate([self._starts, self._ends]), reach) - base
        # All edges at once, so that the visits are sorted only once.
        reached = integral(start - base, end - base, edges)
        covered = reached[len(self._starts) :] - reached[: len(self._starts)]
        self._presence[name] = self._presence[name] + covered if name in self._presence else covered

    def _inside(self, instants: Array) -> Codes:
        """Number of instants in each interval."""
        ordered = np.sort(instants)
        inside: Codes = np.searchsorted(ordered, self._ends) - np.searchsorted(ordered, self._starts)
        return inside

    def _react(self, trace: EventTrace) -> None:
        """Add the times to the first slice, by the intervals of the inputs."""
        reached = ~np.isnan(trace.first_slice)
        arrival = trace.arrival[reached]
        reaction = trace.first_slice[reached] - arrival
        place = np.searchsorted(self._starts, arrival, side="right") - 1
        inside = (place >= 0) & (arrival < self._ends[place])
        order = np.argsort(place[inside], kind="stable")
        place, reaction = place[inside][order], reaction[inside][order]
        which, first = np.unique(place, return_index=True)
        for at, values in zip(which.tolist(), np.split(reaction, first)[1:], strict=True):
            self.reactions[at] += len(values)
            self.reaction_s[at] += float(values.sum())
            self.reaction_max_s[at] = max(float(self.reaction_max_s[at]), float(values.max()))
            self.reaction_log[at] += float(np.log10(values + 0.5).sum())

    def _note_users(self, trace: EventTrace) -> None:
        """Note who had an interaction in which intervals."""
        first = np.searchsorted(self._ends, trace.arrival, side="right")
        after = np.searchsorted(self._starts, trace.completion, side="left")
        lengths = np.maximum(after - first, 0)
        rows = np.repeat(np.arange(len(trace)), lengths)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        self.active[first[rows] + within, trace.user[rows]] = True


def added(events: Events, spans: Sequence[Span], intervals: Sequence[Span]) -> Sums:
    """Sums of a trace.

    Parameters
    ----------
    events : Events
    spans : sequence of Span
        Sessions, at whose ends ends what has none.
    intervals : sequence of Span
    """
    sums = Sums(intervals, len(events.users))
    for trace in traces(events):
        sums.absorb(trace.censored(spans))
    return sums


def slice_lengths(
    events: Events, spans: Sequence[Span], intervals: Sequence[Span], sums: Sums
) -> Batches | None:
    """Batches of the lengths of the slices that lie in an interval, in the order in which they begin.

    None without a slice. `sums` is what `added` gave: it knows how many there are, and which of them ended
    long after they began, so that the order is found among the slices of two pieces.
    """
    if not sums.slices:
        return None
    batches = Batches(sums.slices, 1)
    for begun in _in_order(events, spans, intervals, sums):
        order = np.lexsort((begun.user, begun.start))
        batches.absorb((begun.end - begun.start)[order][:, None])
    return batches


def _in_order(
    events: Events, spans: Sequence[Span], intervals: Sequence[Span], sums: Sums
) -> Iterator[Stretches]:
    """Slices by the piece in which they begin."""
    ends = np.array([span.end for span in spans])
    held: list[Stretches] = []
    for number, piece in enumerate(slices(events)):
        at = np.minimum(np.searchsorted(ends, piece.start, side="left"), len(ends) - 1)
        within = piece.censored(np.maximum(ends[at], piece.start)).within(intervals)
        if number:
            before = within.chosen(within.began == number - 1)
            yield Stretches.joined(
                [*held, before, *(late.chosen(late.began == number - 1) for late in sums.late)]
            )
        held = [within.chosen(within.began == number)]
    yield Stretches.joined(held)


Visits = dict[str, tuple[Array, Array]]


def _visits(trace: EventTrace) -> Visits:
    """Start and end of each visit to each queue."""
    reached = ~np.isnan(trace.first_slice)
    unserved = np.where(reached, trace.first_slice, trace.completion)
    foreground = np.where(reached, trace.first_slice_end, trace.completion)
    commands = reached & trace.command
    others = reached & ~trace.command
    waits = trace.output_waits
    within = trace.waited_in >= 0
    by_command = within & np.append(trace.command, False)[trace.waited_in]

    def outside_waits(served: NDArray[np.bool_], waiting: NDArray[np.bool_]) -> tuple[Array, Array]:
        # Waits for output are taken out of the visits that they interrupt.
        return (
            np.concatenate([trace.first_slice_end[served], waits.end[waiting]]),
            np.concatenate([trace.completion[served], waits.start[waiting]]),
        )

    return {
        "system": (trace.arrival, trace.completion),
        "foreground": (trace.arrival, foreground),
        "background": outside_waits(others, within & ~by_command),
        "output_bound": (waits.start, waits.end),
        "command": outside_waits(commands, by_command),
        "unserved": (trace.arrival, unserved),
    }
