"""Section of the question about scheduling."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from thinktime.documents import format as shown
from thinktime.documents import palette
from thinktime.documents.charts.axis import Axis
from thinktime.documents.document import Col, Figure, Key, Section, Table
from thinktime.documents.series import Point, Series
from thinktime.documents.wording import listed, percent, refused, share, worded
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.scheduling.result import Durations, Scheduling, TaskStates, Waiter
    from thinktime.stats.estimate import Estimate

TITLE = "How long do tasks wait for a CPU?"
NAMES: Mapping[str, str] = {
    "woken": "after a wake-up",
    "started": "when new",
    "preempted": "put off a CPU, still ready",
    "exit": "end of the task",
    "io": "I/O of a disk",
    "page_io": "a page from a disk",
    "futex": "a lock, or work from other threads (futex)",
    "timer": "a timer",
    "child": "a child",
    "input": "input",
    "output": "output",
    "poll": "an event (poll)",
    "sleep": "sleep, for anything",
    "uninterruptible": "uninterruptible: a disk, or a lock of the kernel",
    "stopped": "stopped",
    "unknown": "not known",
}
"""Reasons in words; others stand for themselves."""
ENDS: Mapping[str, str] = {**NAMES, "preempted": "preempted or yielded, still ready"}
WORDS: Mapping[str, Callable[..., str]] = {
    "events_lost": lambda events: (
        f"{events} events were lost: the waits and slices around the gaps are not in these figures, and "
        "rates and numbers of tasks are too low."
    ),
    "partial_cpus": lambda: (
        "Only some of the CPUs were traced: waits of tasks that moved to the others and back are too long."
    ),
    "histograms": lambda: (
        "The trace has histograms: means and sums are exact, quantiles are interpolated in their bucket, "
        "and their intervals reach to the bounds of buckets."
    ),
    "counted_events": lambda events, width: (
        f"The durations of {events} events were counted in buckets {width:.1%} wide: means and sums are "
        "exact, quantiles are interpolated in their bucket, and their intervals reach to the bounds of "
        "buckets."
    ),
    "unseen_waits": lambda dispatches: (
        f"Of {dispatches} dispatches the beginning of the wait is not known: they are in no figure here."
    ),
    "more_commands": lambda shown, commands: (
        f"The {shown} of {commands} commands that waited most are shown."
    ),
    "no_users": lambda: "The trace does not say whose the tasks are: commands alone are told apart.",
}
FINDINGS = 3
"""Sentences that the head of a report has."""
METHOD = (
    "Reaction time is the time from the wake-up of a task, or its start, to its dispatch. A slice lasts "
    "from a dispatch until the task leaves the CPU. Mean numbers of tasks are the sums of the waits, or "
    "slices, that ended, over the length of the trace (Little's law). Intervals allow for correlation in "
    "time."
)
STATES: Mapping[str, Key] = {
    "cpu": Key("on a CPU", colour=palette.STATES["user"]),
    "cpu_wait": palette.state("wait for a CPU"),
    "io": palette.state("wait for I/O"),
    "uninterruptible": palette.state("other uninterruptible wait"),
}
_COURSE = (
    Key("running", colour="user", shape="line"),
    Key("waiting for a CPU", colour="queue", shape="line"),
)


def section(result: Scheduling | NotApplicable) -> Section:
    """Section of the result."""
    if isinstance(result, NotApplicable):
        return refused("scheduling", TITLE, result)
    tables = (
        _waiters("commands", "command", result.commands),
        _waiters("users", "user", result.users),
        _states(result.states),
        _durations(
            "waits-for-cpu", "Waits for a CPU, by how they began", "wait", NAMES, result.waits_for_cpu
        ),
        _durations("slices", "Slices, by how they ended", "slice ended by", ENDS, result.slices),
        _durations(
            "waits", "Waits of tasks that were not ready, by what for", "wait for", NAMES, result.waits
        ),
        _durations("others", "Requests and page faults", "kind", NAMES, result.others),
    )
    figures = (_bars(result), _course(result))
    return Section(
        name="scheduling",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=tuple(table for table in tables if table.rows),
        figures=tuple(figure for figure in figures if figure is not None),
        caveats=worded(result.caveats, WORDS),
        method=METHOD,
    )


def findings(result: Scheduling) -> list[str]:
    """Sentences for the head of a report."""
    return list(_sentences(result))[:FINDINGS]


def _sentences(result: Scheduling) -> Iterator[str]:
    if (reaction := result.reaction) is not None:
        yield (
            f"A task that was woken or started waited {shown.estimate(reaction.p50)} for a CPU in the "
            f"median, and one in a hundred waited longer than {shown.estimate(reaction.p99)}."
        )
    on = "the CPUs" if result.cpus is None else shown.quantity(float(result.cpus), "CPU")
    yield (
        f"On average {shown.estimate(result.running)} ran on {on}, and {shown.estimate(result.waiting)} "
        "waited for one."
    )
    if result.commands and result.waiting.value > 0.0:
        yield _concentrated(result)
    if result.slices:
        most = max(result.slices, key=lambda item: item.n)
        total = sum(item.n for item in result.slices)
        yield (
            f'The most frequent end of a slice was "{_word(ENDS, most.name)}", with '
            f"{shown.quantity(most.n / total, 'share')} of all; such slices lasted "
            f"{shown.estimate(most.mean)} on average."
        )


def _concentrated(result: Scheduling) -> str:
    top = result.commands[0]
    text = f"{top.name} did {shown.estimate(share(top.waited) or top.waited)} of the waiting for a CPU"
    if top.ran is not None:
        text += f", with {shown.estimate(share(top.ran) or top.ran)} of the CPU time"
    many = next((item for item in result.concentration if item.share >= 0.8), None)
    if many is None or many.of < 2:
        return f"{text}."
    return f"{text}; {percent(many.share)} of the waiting was that of {many.commands} of {many.of} commands."


def _word(words: Mapping[str, str], name: str) -> str:
    prefix, separator, reason = name.rpartition(", ")
    return f"{prefix}{separator}{words.get(reason, reason)}"


def _durations(
    name: str, caption: str, heading: str, words: Mapping[str, str], items: Sequence[Durations]
) -> Table:
    return Table.of(
        items,
        Col(heading, lambda item: _word(words, item.name)),
        Col("number", lambda item: item.n),
        Col("share of the time", lambda item: share(item.share), unit="share"),
        Col("mean", lambda item: item.mean, unit="s"),
        Col("median", lambda item: item.p50, unit="s"),
        Col("p90", lambda item: item.p90, unit="s"),
        Col("p99", lambda item: item.p99, unit="s"),
        Col("longest", lambda item: item.longest_s, unit="s"),
        Col("rate", lambda item: item.rate, unit="1/s"),
        name=f"scheduling-{name}",
        caption=caption,
    )


def _waiters(name: str, heading: str, items: Sequence[Waiter]) -> Table:
    return Table.of(
        items,
        Col(heading, lambda item: item.name),
        Col("share of the waiting", lambda item: share(item.waited), unit="share"),
        Col("with those above", lambda item: item.cumulative, unit="share"),
        Col("share of the CPU time", lambda item: share(item.ran), unit="share"),
        Col("wake-ups", lambda item: None if item.reaction is None else item.reaction.n),
        Col("median reaction", lambda item: None if item.reaction is None else item.reaction.p50, unit="s"),
        Col("p90", lambda item: None if item.reaction is None else item.reaction.p90, unit="s"),
        Col("p99", lambda item: None if item.reaction is None else item.reaction.p99, unit="s"),
        Col("longest", lambda item: None if item.reaction is None else item.reaction.longest_s, unit="s"),
        name=f"scheduling-{name}",
        caption=f"Waiting for a CPU by {heading}: who waits most, and their reaction times",
    )


def _states(items: Sequence[TaskStates]) -> Table:
    def of(state: str) -> Callable[[TaskStates], Estimate]:
        return lambda item: replace(getattr(item, state), unit="share")

    return Table.of(
        items,
        Col("command", lambda item: item.name),
        Col("time", lambda item: item.total_s, unit="s"),
        *(Col(key.name, of(state), unit="share") for state, key in STATES.items()),
        name="scheduling-states",
        caption="Where the time of tasks goes while they have work",
        notes=[
            "Pauses of their own are left out, and waits on a futex, on which a thread without work waits "
            "just as one does for a lock: the table of waits has them."
        ],
    )


def _bars(result: Scheduling) -> Figure | None:
    drawn = [item for item in result.states if item.total_s > 0.0]
    if not drawn:
        return None
    points = [
        Point(
            key=key,
            label=f"{item.name}, {shown.quantity(item.total_s, 's')}",
            y=getattr(item, state).value,
        )
        for item in drawn
        for state, key in STATES.items()
    ]
    keys = tuple(key for key in STATES.values() if any(point.y for point in points if point.key is key))
    series = Series([point for point in points if point.key in keys], unit="share", order=keys)
    title = "States of the tasks that have work, by command"
    every = drawn[0]
    words = [
        f"{key.name} {shown.quantity(getattr(every, state).value, 'share')}"
        for state, key in STATES.items()
        if key in keys
    ]
    return Figure(
        name="scheduling-states-bars",
        title=title,
        chart=series.bars("share of the time with work"),
        data=series.table("scheduling-states-data", title, "command"),
        alt=f"All tasks: {listed(words)}.",
        keys=keys,
    )


def _course(result: Scheduling) -> Figure | None:
    if len(result.stretches) < 2:
        return None
    points = [
        Point(key=key, x=stretch.start_s + stretch.length_s / 2.0, y=value)
        for key, values in zip(
            _COURSE,
            ([item.running for item in result.stretches], [item.waiting for item in result.stretches]),
            strict=True,
        )
        for stretch, value in zip(result.stretches, values, strict=True)
    ]
    series = Series(points, unit="task", order=_COURSE)
    most = max(result.stretches, key=lambda item: item.waiting)
    title = "Tasks on a CPU and waiting for one, over time"
    return Figure(
        name="scheduling-course",
        title=title,
        chart=series.curves(
            Axis("seconds since the beginning", low=0.0, high=result.length_s),
            Axis.from_zero("mean number of tasks", series.rows()),
            dotted=False,
        ),
        data=Table.of(
            result.stretches,
            Col("from", lambda item: item.start_s, unit="s"),
            Col("length", lambda item: item.length_s, unit="s"),
            Col("running", lambda item: item.running),
            Col("waiting for a CPU", lambda item: item.waiting),
            name="scheduling-course-data",
            caption="Mean number of tasks in each stretch of the trace",
        ),
        alt=(
            f"Most tasks waited {shown.quantity(most.start_s, 's')} after the beginning: "
            f"{shown.number(most.waiting)} on average, beside {shown.number(most.running)} that ran."
        ),
        keys=_COURSE,
    )
