"""Queues, swap rate and reaction times, from the trace of events.

Any source that writes these kinds of `events`, a simulated system or a machine, can be analysed:
``input``, ``slice_start``, ``slice_end``, ``swap_in_start``, ``swap_in_end``, ``swap_out_start``,
``swap_out_end``, ``library_load_start``, ``library_load_end``, ``output_wait_start``, ``output_wait_end``,
``completion``; each with its ``user`` and, for slices, the ``cpu``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.waits.event_pieces import Events, has_inputs
from thinktime.analyses.waits.event_sums import ACCESSES, Sums, added, slice_lengths
from thinktime.log import interaction_pieces
from thinktime.log.periods import Span, cut, sessions
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
    events = Events(log) if log.has("events") and has_inputs(log) else None
    if log.has("events") and (events is None or not events.n):
        return NotApplicable(
            "none of the events is an `input`",
            "make a log with the events of interactions, such as `thinktime simulate apl360 --trace -o sim`",
        )
    if events is None:
        return NotApplicable(
            "the log has no events",
            "use a source that writes them, such as `thinktime simulate apl360 --trace`",
        )
    spans = sorted(sessions(log, events.origin_us, 0.0, events.last), key=lambda span: (span.start, span.end))
    pieces = cut(spans, interval_s)
    sums = added(events, spans, pieces)
    intervals = tuple(_interval(sums, events.cpus, index, span) for index, span in enumerate(pieces))
    lengths = np.array([item.length_s for item in intervals])

    def rate(amounts: Sequence[float], unit: str) -> Estimate:
        return batch_means.batch_ratio(np.array(amounts, dtype=np.float64), lengths, level).with_unit(unit)

    queues = tuple(
        _queue(name, sums, lengths, [item.numbers[index] for item in intervals], level)
        for index, name in enumerate(QUEUES)
        if sums.visits[name]
    )
    queues = _by_interactions(log, events.origin_us, spans, queues)
    slices = slice_lengths(events, spans, pieces, sums)
    return Waits(
        queues=queues,
        accesses=rate([item.accesses for item in intervals], "access/s"),
        swap_ins=rate([item.swap_ins for item in intervals], "swap/s"),
        swap_outs=rate([item.swap_outs for item in intervals], "swap/s"),
        library_loads=rate([item.library_loads for item in intervals], "load/s"),
        processor=rate([item.processor * item.length_s for item in intervals], ""),
        disk=rate([item.disk * item.length_s for item in intervals], ""),
        slice=None if slices is None else slices.interval(0, level).with_unit("s"),
        cpus=events.cpus,
        intervals=intervals,
        caveats=tuple(_caveats(sums, queues, len(intervals))),
    )


def _interval(sums: Sums, cpus: int, index: int, span: Span) -> TraceInterval:
    n = int(sums.reactions[index])
    return TraceInterval(
        start_s=span.start,
        length_s=span.length,
        users=int(np.count_nonzero(sums.active[index])),
        inputs=int(sums.counts["inputs"][index]),
        completions=int(sums.counts["completions"][index]),
        swap_ins=int(sums.counts["swap_ins"][index]),
        swap_outs=int(sums.counts["swap_outs"][index]),
        library_loads=int(sums.counts["library_loads"][index]),
        numbers=tuple(float(sums.mean_number(name)[index]) for name in QUEUES),
        processor=float(sums.mean_number("slices")[index]) / cpus,
        disk=float(np.sum([sums.mean_number(name)[index] for name in ACCESSES])),
        reaction_mean_s=float(sums.reaction_s[index]) / n if n else None,
        reaction_max_s=float(sums.reaction_max_s[index]) if n else None,
        reaction_log=float(sums.reaction_log[index]) / n if n else None,
    )


def _queue(name: str, sums: Sums, lengths: Array, numbers: Sequence[float], level: float) -> Queue:
    amounts = np.array(numbers) * lengths
    begun = sums.begun[name].astype(np.float64)
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
    stream = interaction_pieces.read(log)
    if stream is None:
        return queues
    shift = (stream.origin_us - origin_us) / 1e6
    total = sum(span.length for span in spans)
    ends = {"system": "completion", "unserved": "first_service"}
    waited, known = dict.fromkeys(ends, 0.0), dict.fromkeys(ends, False)
    for piece in stream.pieces():
        arrival = piece.times["due"] + shift
        for name, event in ends.items():
            end = piece.times[event]
            known[name] = known[name] or not np.isnan(end).all()
            for span in spans:
                low, high = np.searchsorted(arrival, [span.start, span.end])
                if low == high:
                    continue
                # Interactions without an end have waited at least until their session ended.
                until = np.where(np.isnan(end[low:high]), span.end, end[low:high] + shift)
                waited[name] += float((until - arrival[low:high]).sum())
    return tuple(
        dataclasses.replace(
            queue, by_interactions=waited[queue.name] / total if known.get(queue.name) else None
        )
        for queue in queues
    )


def _caveats(sums: Sums, queues: Sequence[Queue], intervals: int) -> Iterator[Caveat]:
    if sums.overlapping:
        yield Caveat("overlapping_inputs", inputs=sums.overlapping)
    if sums.unfinished:
        yield Caveat("unfinished", unfinished=sums.unfinished, interactions=sums.interactions)
    for queue in queues:
        number, other = queue.number.value, queue.by_interactions
        if other is not None and abs(other - number) > CONSERVED * max(other, number):
            yield Caveat("not_conserved", queue=queue.name, by_events=number, by_interactions=other)
    if intervals < long_run.SHORTEST:
        yield Caveat("few_intervals", intervals=intervals)
