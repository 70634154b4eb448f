"""Section of the states of responses: where does the time of the slowest tenth go?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from thinktime.documents import format as shown
from thinktime.documents import palette
from thinktime.documents.document import Col, Figure, Key, Section, Table
from thinktime.documents.series import Point, Series
from thinktime.documents.wording import listed, share, worded

if TYPE_CHECKING:
    from thinktime.analyses.waits.states import State, StateName, States

TITLE = "Where do interactions wait?"
KEYS: Mapping[StateName, Key] = {
    "cpu": Key("CPU time", colour=palette.STATES["user"]),
    "cpu_wait": palette.state("wait for a CPU"),
    "io_wait": palette.state("wait for I/O"),
    "rest": palette.state("rest"),
    "undivided": palette.state("not divided"),
}
DOING: Mapping[StateName, str] = {
    "cpu": "on a CPU",
    "cpu_wait": "waiting for a CPU",
    "io_wait": "waiting for I/O",
    "rest": "in the rest (locks, pauses, the terminal)",
    "undivided": "in responses that could not be divided",
}
WORDS: Mapping[str, Callable[..., str]] = {
    "slow_unfinished": lambda unfinished, interactions: (
        f"{unfinished} of {interactions} interactions were never completed: they may be slower than those "
        "shown, and are in no figure here."
    ),
    "undivided": lambda interactions, of: (
        f"{interactions} of {of} responses could not be divided, since their work went on beside other work "
        "of the same shell or was not accounted: their time is shown as not divided."
    ),
    "io_unknown": lambda: (
        "The wait for I/O is in the rest: the kernel did not account it (sysctl kernel.task_delayacct=1 "
        "before the play)."
    ),
    "rest_negative": lambda share: (
        f"The rest is {shown.quantity(share, 'share')} of the time, less than nothing: work of several "
        "processes at once counts more than the time that it took."
    ),
}
METHOD = (
    "CPU time, waits for a CPU and for block I/O of each response are the kernel's accounts of the "
    "processes that worked for it; the rest is the difference from the response time: locks, pauses, the "
    "network, the terminal. Page faults that wait for a disk are in the wait for I/O, others in the CPU "
    "time. Shares are sums over the group's responses; intervals are the wider of those by correlation in "
    "time and by differences between users, and allow for the estimated limit of the slowest tenth."
)


def section(result: States) -> Section:
    """Section of the result."""
    tables = (_states(result), _classes(result))
    return Section(
        name="waits",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=tuple(table for table in tables if table.rows),
        figures=(_bars(result),),
        caveats=worded(result.caveats, WORDS),
        method=METHOD,
    )


def _sentences(result: States) -> Iterator[str]:
    known = [state for state in result.states if state.name != "undivided"]
    longest = max(known, key=lambda state: state.slow_share.value)
    slow, every = (shown.estimate(value.with_unit("share")) for value in (longest.slow_share, longest.share))
    limit = shown.quantity(result.threshold.value, "s")
    most = ", more than in any other state" if len(known) == len(result.states) else ""
    yield (
        f"The slowest tenth of {result.interactions} interactions, those above {limit}, spent {slow} of "
        f"their time {DOING[longest.name]}{most}; all interactions spent {every} there."
    )
    for state in result.states:
        if state.name == "undivided":
            yield (
                f"Of the slowest, {shown.estimate(state.slow_share.with_unit('share'))} of the time was in "
                "responses that could not be divided: where it went is not known."
            )
    longer = sum(state.slow_mean.value - state.mean.value for state in result.states)
    grown = max(known, key=lambda state: state.slow_mean.value - state.mean.value)
    part = (grown.slow_mean.value - grown.mean.value) / longer if longer > 0.0 else 0.0
    if part > 0.5:
        yield (
            f"A slow one took {shown.quantity(longer, 's')} longer than the mean of all, and "
            f"{shown.quantity(min(part, 1.0), 'share')} of that was time {DOING[grown.name]}."
        )
    if result.classes and (top := result.classes[0]).slow:
        words = f"{shown.quantity(top.share_of_slow.value, 'share')} of the slowest tenth were {top.name}"
        if top.longest_state is not None and top.longest_share is not None:
            words += (
                f", {shown.quantity(top.longest_share, 'share')} of their time {DOING[top.longest_state]}"
            )
        yield f"{words}."


def _states(result: States) -> Table:
    notes = []
    if result.major_faults is not None and result.slow_major_faults is not None:
        every, slow = (shown.estimate(value) for value in (result.major_faults, result.slow_major_faults))
        notes.append(f"Page faults that waited for a disk: {every} per interaction, {slow} per slow one.")
    return Table.of(
        result.states,
        Col("state", lambda state: KEYS[state.name].name),
        Col("share of the slowest tenth", lambda state: share(state.slow_share), unit="share"),
        Col("share of all", lambda state: share(state.share), unit="share"),
        Col("mean in a slow one", lambda state: state.slow_mean, unit="s"),
        Col("mean of all", lambda state: state.mean, unit="s"),
        name="waits-states",
        caption=f"Time of the responses by state: the slowest {result.slow}, and all {result.interactions}",
        notes=notes,
    )


def _classes(result: States) -> Table:
    return Table.of(
        result.classes,
        Col("class", lambda item: item.name),
        Col("interactions", lambda item: item.n),
        Col("slow ones", lambda item: item.slow),
        Col("share of the slowest tenth", lambda item: share(item.share_of_slow), unit="share"),
        Col("mean response", lambda item: item.response, unit="s"),
        Col(
            "the slow ones were mostly",
            lambda item: None if item.longest_state is None else DOING[item.longest_state],
        ),
        Col("for", lambda item: item.longest_share, unit="share"),
        name="waits-classes",
        caption="The slowest tenth by class of input",
    )


def _bars(result: States) -> Figure:
    groups = (("slowest tenth", _slow), ("all", _all))
    labels = {
        name: f"{name}, {shown.quantity(sum(_mean(state, name) for state in result.states), 's')}"
        for name, _ in groups
    }
    points = [
        Point(key=KEYS[state.name], label=labels[name], y=max(of(state), 0.0))
        for name, of in groups
        for state in result.states
    ]
    keys = tuple(KEYS[state.name] for state in result.states)
    series = Series(points, unit="share", order=keys)
    title = "States of the responses, slowest tenth and all"
    divided = [
        f"{labels[name]}: "
        + listed([f"{KEYS[state.name].name} {shown.quantity(of(state), 'share')}" for state in result.states])
        for name, of in groups
    ]
    return Figure(
        name="waits-states-bars",
        title=title,
        chart=series.bars("share of the time of the responses"),
        data=series.table("waits-states-data", title, "interactions"),
        alt=f"{'; '.join(divided)}.",
        keys=keys,
    )


def _slow(state: State) -> float:
    return state.slow_share.value


def _all(state: State) -> float:
    return state.share.value


def _mean(state: State, group: str) -> float:
    return state.mean.value if group == "all" else state.slow_mean.value
