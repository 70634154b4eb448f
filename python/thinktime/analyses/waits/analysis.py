"""Queues, swap rate and reaction times, from the trace of events.

Any source that writes these kinds of `events`, a simulated system or a machine, can be analysed:
``input``, ``slice_start``, ``slice_end``, ``swap_in_start``, ``swap_in_end``, ``swap_out_start``,
``swap_out_end``, ``library_load_start``, ``library_load_end``, ``output_wait_start``, ``output_wait_end``,
``completion``; each with its ``user`` and, for slices, the ``cpu``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.waits.event_trace import EventTrace, has_inputs, read
from thinktime.log import interactions
from thinktime.log.periods import Span, cut, integral, sessions
from thinktime.questions.checks import check_level, check_log
from thinktime.results import Result
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable
from thinktime.stats.series import batch_means, long_run

if TYPE_CHECKING:
    from thinktime.log import Log

Array = NDArray[np.float64]

QUEUES: dict[str, str] = {
    "system": "input received, not completed",
    "foreground": "waiting for the first slice or in it",
    "background": "after the first slice, not waiting for output",
    "output_bound": "waiting for output buffers",
    "command": "commands after their first slice",
    "unserved": "those in foreground whose first slice has not begun",
}
"""States of an interaction, and their meaning (Anderson and Sargent 1974, Figure 6)."""

CONSERVED = 0.02
"""Relative difference of the two mean numbers above which a caveat is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """One queue: mean number, by integration and by Little's law."""

    name: str
    number: Estimate
    """Mean number, integrated over the events."""
    entered: Estimate
    """Visits begun per second."""
    time: Estimate | None
    """Mean time of a visit [s] by Little's law, number over visits per second; None without a visit."""
    by_interactions: float | None
    """Mean number as rate times mean time from the table of interactions; None where it has no such time.

    Unfinished interactions count with the time until their session ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceInterval:
    """One interval, ten minutes by default, as in the regressions of Anderson and Sargent (1974, p. 131)."""

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
    """Fraction of the time of all processors in which a slice ran."""
    disk: float
    """Fraction of the time with a swap or library load in progress."""
    reaction_mean_s: float | None
    reaction_max_s: float | None
    """Input to first slice, of the inputs of this interval that had one."""
    reaction_log: float | None
    """Mean of log10(R + 0.5), R the reaction time [s]: nearly normal."""

    @property
    def accesses(self) -> int:
        """D: disk accesses, swaps in and out and library loads."""
        return self.swap_ins + self.swap_outs + self.library_loads


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Waits(Result):
    """Queues, disk accesses and utilisations from events."""

    MAIN = "queues"

    queues: tuple[Queue, ...]
    """In the order of `QUEUES`; queues that no interaction entered are left out."""
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
    caveats: tuple[Caveat, ...]


def analyse(log: Log, *, interval_s: float | None = None, level: float = 0.95) -> Waits | NotApplicable:
    r"""Queues, swap rate and utilisations, in each interval and over all.

    The mean number in a queue is :math:`L = \frac1T \int N(t)\, dt` over the events. For comparison, the
    result also has :math:`\lambda W` with :math:`\lambda` and the mean times of the table of interactions
    (Little 1961): the two agree only if neither table has lost anything. Confidence intervals are by batch
    means over the intervals, without the warm-up of each session.

    Parameters
    ----------
    log : Log
    interval_s : float, optional
        Length of an interval [s]; by default ten minutes, less for a short trace.
    level : float
        Confidence of the intervals.

    Raises
    ------
    TypeError
        `log` is not an open log.
    """
    check_log(log)
    check_level(level)
    trace = read(log) if log.has("events") and has_inputs(log) else None
    if trace is None and log.has("events"):
        return NotApplicable(
            "none of the events is an `input`",
            "make a log with the events of interactions, such as `thinktime simulate apl360 --trace -o sim`",
        )
    if trace is None:
        return NotApplicable(
            "the log has no events",
            "use a source that writes them, such as `thinktime simulate apl360 --trace`",
        )
    spans = sessions(log, trace.origin_us, 0.0, trace.last)
    trace = trace.censored(spans)
    pieces = cut(spans, interval_s)
    visits = _visits(trace)
    present = _present(trace, visits, pieces)
    intervals = tuple(_interval(trace, present, index, span) for index, span in enumerate(pieces))
    lengths = np.array([item.length_s for item in intervals])

    def rate(amounts: Sequence[float], unit: str) -> Estimate:
        return batch_means.batch_ratio(np.array(amounts, dtype=np.float64), lengths, level).with_unit(unit)

    slices = trace.slices.within(pieces)
    queues = tuple(
        _queue(name, visits[name], pieces, [item.numbers[index] for item in intervals], level)
        for index, name in enumerate(QUEUES)
        if len(visits[name][0])
    )
    queues = _by_interactions(log, trace.origin_us, spans, queues)
    return Waits(
        queues=queues,
        accesses=rate([item.accesses for item in intervals], "access/s"),
        swap_ins=rate([item.swap_ins for item in intervals], "swap/s"),
        swap_outs=rate([item.swap_outs for item in intervals], "swap/s"),
        library_loads=rate([item.library_loads for item in intervals], "load/s"),
        processor=rate([item.processor * item.length_s for item in intervals], ""),
        disk=rate([item.disk * item.length_s for item in intervals], ""),
        slice=batch_means.batch_ratio(slices, None, level).with_unit("s") if len(slices) else None,
        cpus=trace.cpus,
        intervals=intervals,
        caveats=tuple(_caveats(trace, queues, len(intervals))),
    )


Visits = dict[str, tuple[Array, Array]]


def _visits(trace: EventTrace) -> Visits:
    """Start and end of each visit to each queue."""
    reached = ~np.isnan(trace.first_slice)
    unserved = np.where(reached, trace.first_slice, trace.completion)
    foreground = np.where(reached, trace.first_slice_end, trace.completion)
    commands = reached & trace.command
    others = reached & ~trace.command
    waits = trace.output_waits
    within = waits.interaction >= 0
    by_command = within & trace.command[np.maximum(waits.interaction, 0)]

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


def _present(trace: EventTrace, visits: Visits, pieces: Sequence[Span]) -> dict[str, list[float]]:
    """Mean number in each queue, of slices that run, and of disk accesses in progress, by interval."""
    starts = np.array([span.start for span in pieces])
    ends = np.array([span.end for span in pieces])

    def mean_numbers(start: Array, end: Array) -> Array:
        # All edges at once, so that the visits are sorted only once.
        reached: Array = integral(start, end, np.concatenate([starts, ends]))
        means: Array = (reached[len(starts) :] - reached[: len(starts)]) / (ends - starts)
        return means

    disk = [trace.swap_ins, trace.swap_outs, trace.library_loads]
    numbers = {name: mean_numbers(*visit) for name, visit in visits.items()}
    numbers["slices"] = mean_numbers(trace.slices.start, trace.slices.end)
    numbers["disk"] = np.sum([mean_numbers(kind.start, kind.end) for kind in disk], axis=0)
    return {name: means.tolist() for name, means in numbers.items()}


def _interval(
    trace: EventTrace, present: Mapping[str, Sequence[float]], index: int, span: Span
) -> TraceInterval:
    begun = (trace.arrival >= span.start) & (trace.arrival < span.end)
    active = (trace.arrival < span.end) & (trace.completion > span.start)
    reaction = (trace.first_slice - trace.arrival)[begun]
    reaction = reaction[~np.isnan(reaction)]
    some = len(reaction) > 0
    return TraceInterval(
        start_s=span.start,
        length_s=span.length,
        users=len(np.unique(trace.user[active])),
        inputs=int(begun.sum()),
        completions=int(((trace.completed >= span.start) & (trace.completed < span.end)).sum()),
        swap_ins=trace.swap_ins.begun_in(span),
        swap_outs=trace.swap_outs.begun_in(span),
        library_loads=trace.library_loads.begun_in(span),
        numbers=tuple(present[name][index] for name in QUEUES),
        processor=present["slices"][index] / trace.cpus,
        disk=present["disk"][index],
        reaction_mean_s=float(reaction.mean()) if some else None,
        reaction_max_s=float(reaction.max()) if some else None,
        reaction_log=float(np.log10(reaction + 0.5).mean()) if some else None,
    )


def _queue(
    name: str, visits: tuple[Array, Array], pieces: Sequence[Span], numbers: Sequence[float], level: float
) -> Queue:
    lengths = np.array([span.length for span in pieces])
    amounts = np.array(numbers) * lengths
    begun = np.array([float(((visits[0] >= span.start) & (visits[0] < span.end)).sum()) for span in pieces])
    entered = batch_means.batch_ratio(begun, lengths, level)
    some = begun.sum() > 0
    return Queue(
        name=name,
        number=batch_means.batch_ratio(amounts, lengths, level),
        entered=dataclasses.replace(entered, n=int(begun.sum())).with_unit("1/s"),
        time=batch_means.batch_ratio(amounts, begun, level).with_unit("s") if some else None,
        by_interactions=None,
    )


def _by_interactions(
    log: Log, origin_us: int, spans: Sequence[Span], queues: tuple[Queue, ...]
) -> tuple[Queue, ...]:
    """Queues with their numbers by Little's law from the table of interactions."""
    table = interactions.read(log)
    if table is None:
        return queues
    shift = (table.origin_us - origin_us) / 1e6
    arrival = table.times["due"] + shift
    total = sum(span.length for span in spans)

    def number(name: str) -> float | None:
        end = {"system": table.times["completion"], "unserved": table.times["first_service"]}.get(name)
        if end is None or np.isnan(end).all():
            return None
        waited = 0.0
        for span in spans:
            inside = (arrival >= span.start) & (arrival < span.end)
            # Interactions without an end have waited at least until their session ended.
            until = np.where(np.isnan(end[inside]), span.end, end[inside] + shift)
            waited += float((until - arrival[inside]).sum())
        return waited / total

    return tuple(dataclasses.replace(queue, by_interactions=number(queue.name)) for queue in queues)


def _caveats(trace: EventTrace, queues: Sequence[Queue], intervals: int) -> Iterator[Caveat]:
    if trace.overlapping:
        yield Caveat("overlapping_inputs", inputs=trace.overlapping)
    if trace.unfinished:
        yield Caveat("unfinished", unfinished=trace.unfinished, interactions=len(trace.arrival))
    for queue in queues:
        number, other = queue.number.value, queue.by_interactions
        if other is not None and abs(other - number) > CONSERVED * max(other, number):
            yield Caveat("not_conserved", queue=queue.name, by_events=number, by_interactions=other)
    if intervals < long_run.SHORTEST:
        yield Caveat("few_intervals", intervals=intervals)
