"""What an event trace says: who waits where, how often the swap disk is used, and how long until service.

Any source that writes these kinds of `events` is read by the same code, a simulated system or a machine:
``input``, ``slice_start``, ``slice_end``, ``swap_in_start``, ``swap_in_end``, ``swap_out_start``,
``swap_out_end``, ``library_load_start``, ``library_load_end``, ``output_wait_start``, ``output_wait_end``,
``completion``; each with the ``user`` to whom it happened and, for slices, the ``cpu``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.waits.event_trace import EventTrace, read
from thinktime.log import interactions
from thinktime.log.periods import Span, cut, integral, sessions
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.stats.series import batch_means

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = ["QUEUES", "Queue", "Trace", "TraceInterval", "analyse"]

Array = NDArray[np.float64]

QUEUES: dict[str, str] = {
    "system": "input received, not completed",
    "foreground": "waiting for the first slice or in it",
    "background": "after the first slice, not waiting for output",
    "output_bound": "waiting for output buffers",
    "command": "commands after their first slice",
    "unserved": "the part of foreground whose first slice has not begun",
}
"""Where an interaction can be, and what that means (Anderson and Sargent 1974, Figure 6)."""

CONSERVED = 0.02
"""Relative difference of the two ways to Little's law above which it is said."""


@dataclass(frozen=True, slots=True)
class Queue:
    """One queue: how many are in it, by integration and by Little's law."""

    name: str
    number: Estimate
    """Mean number, the events integrated over time."""
    entered: Estimate
    """Visits begun per second."""
    time: Estimate | None
    """Mean time of a visit [s] by Little's law, number over visits per second; None without a visit."""
    by_interactions: float | None
    """Mean number as rate times mean time from the table of interactions; None where it has no such time.

    What was unfinished counts with the time until its session ended.
    """


@dataclass(frozen=True, slots=True)
class TraceInterval:
    """One interval, ten minutes by default: the unit of regressions (Anderson and Sargent 1974, page 131)."""

    start_s: float
    """Since the first event [s]."""
    length_s: float
    users: int
    """Users who had an interaction."""
    inputs: int
    completions: int
    swap_ins: int
    swap_outs: int
    library_loads: int
    numbers: tuple[float, ...]
    """Mean number in each of `QUEUES`."""
    processor: float
    """Part of the time in which a slice ran, 0 to 1, of all processors."""
    disk: float
    """Part of the time with a swap or library load in progress, 0 to 1."""
    reaction_mean_s: float | None
    reaction_max_s: float | None
    """Input to first slice, of the inputs of this interval that had one."""
    reaction_log: float | None
    """Mean of log10(R + 0.5), R the reaction time [s]: nearly normal."""

    @property
    def accesses(self) -> int:
        """D: disk accesses, swaps in and out and library loads."""
        return self.swap_ins + self.swap_outs + self.library_loads


@dataclass(frozen=True, slots=True)
class Trace:
    """Queues, disk accesses and utilisations from events."""

    queues: tuple[Queue, ...]
    """In the order of `QUEUES`; those that nothing ever entered are left out."""
    accesses: Estimate
    """D: disk accesses per second."""
    swap_ins: Estimate
    swap_outs: Estimate
    library_loads: Estimate
    processor: Estimate
    """Utilisation of the processors, 0 to 1."""
    disk: Estimate
    """Utilisation of the swap disk, 0 to 1; with more than one access at a time it can exceed 1."""
    slice: Estimate | None
    """Mean length of a slice [s]."""
    cpus: int
    intervals: tuple[TraceInterval, ...]
    caveats: tuple[str, ...]


def analyse(log: Log, *, interval_s: float | None = None, level: float = 0.95) -> Trace | NotApplicable:
    r"""Queues, swap rate and utilisations, in each interval and over all.

    The mean number in a queue is :math:`L = \frac1T \int N(t)\, dt` over the events; beside it stands
    :math:`\lambda W` with :math:`\lambda` and the mean times of the table of interactions (Little 1961):
    two ways that meet only if neither table has lost anything. Intervals are by batch means over the
    intervals, with the time before the warm-up of each session left out.

    Parameters
    ----------
    log : Log
    interval_s : float, optional
        Length of an interval [s]; by default ten minutes, less for a short trace.
    level : float
        Confidence of the intervals.
    """
    trace = read(log)
    if trace is None:
        return NotApplicable(
            "the log has no events",
            "use a source that writes them, such as `thinktime simulate apl360 --trace`",
        )
    if not len(trace.arrival):
        return NotApplicable(
            "none of the events is an `input`",
            "write the event kinds that thinktime.analyses.waits names",
        )
    spans = sessions(log, trace.origin_us, 0.0, trace.last)
    trace = trace.censored(spans)
    pieces = cut(spans, interval_s)
    visits = _visits(trace)
    present = _present(trace, visits, pieces)
    intervals = tuple(_interval(trace, present, at, span) for at, span in enumerate(pieces))
    lengths = np.array([item.length_s for item in intervals])

    def rate(amounts: Sequence[float], unit: str) -> Estimate:
        return batch_means.batch_ratio(np.array(amounts, dtype=np.float64), lengths, level).with_unit(unit)

    slices = trace.slices.within(pieces)
    queues = tuple(
        _queue(name, visits[name], pieces, lengths, [item.numbers[at] for item in intervals], level)
        for at, name in enumerate(QUEUES)
        if len(visits[name][0])
    )
    queues = _by_interactions(log, trace.origin_us, spans, queues)
    return Trace(
        queues,
        rate([item.accesses for item in intervals], "access/s"),
        rate([item.swap_ins for item in intervals], "swap/s"),
        rate([item.swap_outs for item in intervals], "swap/s"),
        rate([item.library_loads for item in intervals], "load/s"),
        rate([item.processor * item.length_s for item in intervals], ""),
        rate([item.disk * item.length_s for item in intervals], ""),
        batch_means.batch_ratio(slices, None, level).with_unit("s") if len(slices) else None,
        trace.cpus,
        intervals,
        _caveats(trace, queues, len(intervals)),
    )


Visits = dict[str, tuple[Array, Array]]


def _visits(trace: EventTrace) -> Visits:
    """Start and end of each visit to each queue."""
    served = ~np.isnan(trace.first_slice)
    unserved = np.where(served, trace.first_slice, trace.completion)
    foreground = np.where(served, trace.first_slice_end, trace.completion)
    commands = served & trace.command
    others = served & ~trace.command
    waits = trace.output_waits
    within = waits.interaction >= 0
    by_command = within & trace.command[np.maximum(waits.interaction, 0)]

    def outside_waits(own: NDArray[np.bool_], waiting: NDArray[np.bool_]) -> tuple[Array, Array]:
        # Waits for output are taken out of the visits that they interrupt.
        return (
            np.concatenate([trace.first_slice_end[own], waits.end[waiting]]),
            np.concatenate([trace.completion[own], waits.start[waiting]]),
        )

    return {
        "system": (trace.arrival, trace.completion),
        "foreground": (trace.arrival, foreground),
        "background": outside_waits(others, within & ~by_command),
        "output_bound": (waits.start, waits.end),
        "command": outside_waits(commands, by_command),
        "unserved": (trace.arrival, unserved),
    }


def _present(trace: EventTrace, visits: Visits, pieces: Sequence[Span]) -> dict[str, list[float]]:
    """Mean number in each queue, of slices that run, and of disk accesses in progress, by interval."""
    starts = np.array([span.start for span in pieces])
    ends = np.array([span.end for span in pieces])

    def mean_numbers(start: Array, end: Array) -> Array:
        # All edges at once: the visits are sorted once.
        reached: Array = integral(start, end, np.concatenate([starts, ends]))
        means: Array = (reached[len(starts) :] - reached[: len(starts)]) / (ends - starts)
        return means

    disk = [trace.swap_ins, trace.swap_outs, trace.library_loads]
    found = {name: mean_numbers(*visit) for name, visit in visits.items()}
    found["slices"] = mean_numbers(trace.slices.start, trace.slices.end)
    found["disk"] = np.sum([mean_numbers(kind.start, kind.end) for kind in disk], axis=0)
    return {name: means.tolist() for name, means in found.items()}


def _interval(
    trace: EventTrace, present: Mapping[str, Sequence[float]], at: int, span: Span
) -> TraceInterval:
    own = (trace.arrival >= span.start) & (trace.arrival < span.end)
    active = (trace.arrival < span.end) & (trace.completion > span.start)
    reaction = (trace.first_slice - trace.arrival)[own]
    reaction = reaction[~np.isnan(reaction)]
    some = len(reaction) > 0
    return TraceInterval(
        span.start,
        span.length,
        len(np.unique(trace.user[active])),
        int(own.sum()),
        int(((trace.completed >= span.start) & (trace.completed < span.end)).sum()),
        trace.swap_ins.begun_in(span),
        trace.swap_outs.begun_in(span),
        trace.library_loads.begun_in(span),
        tuple(present[name][at] for name in QUEUES),
        present["slices"][at] / trace.cpus,
        present["disk"][at],
        float(reaction.mean()) if some else None,
        float(reaction.max()) if some else None,
        float(np.log10(reaction + 0.5).mean()) if some else None,
    )


def _queue(
    name: str,
    visits: tuple[Array, Array],
    pieces: Sequence[Span],
    lengths: Array,
    numbers: Sequence[float],
    level: float,
) -> Queue:
    amounts = np.array(numbers) * lengths
    begun = np.array([float(((visits[0] >= span.start) & (visits[0] < span.end)).sum()) for span in pieces])
    entered = batch_means.batch_ratio(begun, lengths, level)
    some = begun.sum() > 0
    return Queue(
        name,
        batch_means.batch_ratio(amounts, lengths, level),
        dataclasses.replace(entered, n=int(begun.sum())).with_unit("1/s"),
        batch_means.batch_ratio(amounts, begun, level).with_unit("s") if some else None,
        None,
    )


def _by_interactions(
    log: Log, origin_us: int, spans: Sequence[Span], queues: tuple[Queue, ...]
) -> tuple[Queue, ...]:
    """Add the numbers that Little's law gives from the table of interactions."""
    seen = interactions.read(log)
    if seen is None:
        return queues
    shift = (seen.origin_us - origin_us) / 1e6
    arrival = seen.times["due"] + shift
    total = sum(span.length for span in spans)

    def number(name: str) -> float | None:
        end = {"system": seen.times["completion"], "unserved": seen.times["first_service"]}.get(name)
        if end is None or np.isnan(end).all():
            return None
        waited = 0.0
        for span in spans:
            own = (arrival >= span.start) & (arrival < span.end)
            # What had not ended with its session has waited until then at least.
            until = np.where(np.isnan(end[own]), span.end, end[own] + shift)
            waited += float((until - arrival[own]).sum())
        return waited / total

    return tuple(dataclasses.replace(queue, by_interactions=number(queue.name)) for queue in queues)


def _caveats(trace: EventTrace, queues: Sequence[Queue], intervals: int) -> tuple[str, ...]:
    caveats = []
    if trace.overlapping:
        caveats.append(
            f"{trace.overlapping} inputs came before the same user's last one was completed; the earlier one "
            "counts as ended there."
        )
    if trace.unfinished:
        caveats.append(
            f"{trace.unfinished} of {len(trace.arrival)} interactions were not completed when their session "
            "ended; they count in the queues until then."
        )
    for queue in queues:
        other = queue.by_interactions
        if other is not None and abs(other - queue.number.value) > CONSERVED * max(other, queue.number.value):
            caveats.append(
                f"The mean number in {queue.name} is {queue.number.value:.3g} by the events and "
                f"{other:.3g} by the interactions and Little's law: the log is short, or one of the tables "
                "is incomplete."
            )
    if intervals < batch_means.BATCHES_MIN:
        caveats.append(f"There are only {intervals} intervals: those of the figures are wide, or absent.")
    return tuple(caveats)
