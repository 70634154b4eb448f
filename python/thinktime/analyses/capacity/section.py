"""Section of the CPU capacity: by state, over time, and by event."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from thinktime.analyses.timeline.section import TimeAxis
from thinktime.documents import format as shown
from thinktime.documents import palette
from thinktime.documents.charts import wholes
from thinktime.documents.charts.axis import Axis, Spec
from thinktime.documents.document import Cell, Col, Cols, Figure, Key, Section, Table
from thinktime.documents.series import Point, Series
from thinktime.documents.wording import (
    bare,
    capital,
    few_attributed,
    listed,
    loads_chosen,
    noun,
    nouns,
    refused,
    share,
    worded,
)
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.capacity.result import Capacity, Check, Event, State
    from thinktime.analyses.timeline.analysis import Timeline

TITLE = "Where did the CPU capacity go?"
STATES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("user programs", ("user",)),
    ("user programs at a raised nice value", ("nice",)),
    ("system", ("system",)),
    ("interrupts", ("irq", "softirq")),
    ("taken by the hypervisor", ("steal",)),
    ("idle, a disk pending", ("iowait",)),
    ("idle", ("idle",)),
)
"""Groups of Linux states in a chart: name, and the kernel's states that it sums."""
USES = {"user": "user", "system": "system", "steal": "steal", "idle": "idle"}
"""Colours of states that other systems have."""
METERED = ("net", "system", "interrupt", "queue", "memory", "steal")
"""Colours of events whose time is metered, in the order of the meters; reused if there are more."""
REST = "other"
"""Colour of system work that no meter counts, where there are meters."""
VISIBLE = 5e-4
"""Share of the capacity below which a state cannot be seen in a chart."""
STOLEN_NAMED = 0.005
"""Share of the capacity from which on time taken by the hypervisor is worth a sentence."""
SHARES = "Shares of the CPU time of all processors. "
METHODS = {
    True: f"{SHARES}Counts and times of events are metered: share = time / time of all states, overhead per "
    "event = time / count, time between events = CPUs x time / count (Sekino 1971, Tables 1 to 3). "
    "Intervals allow for correlation in time.",
    False: f"{SHARES}The system's share is divided by event as share = overhead per event / mean time "
    "between events (Sekino 1971, Tables 1 to 3), with the costs of the overhead regression.",
}
"""How it was computed, by whether events were metered."""
WORDS: Mapping[str, Callable[..., str]] = {
    "few_attributed": few_attributed,
    "loads_chosen": loads_chosen,
    "meter_unusable": lambda reason: f"A meter of the manifest cannot be used: {reason}.",
    "cpus_differ": lambda counts, used: (
        f"Sessions differ in their number of CPUs ({', '.join(f'{count:g}' for count in counts)}): times "
        f"between events are for {used:g}."
    ),
    "states_incomplete": lambda measured, cpus: (
        f"The states add up to the time of {measured:.3g} CPUs, but the machine has {cpus:g}: ticks were "
        "lost or the number of CPUs changed. Shares are of the time accounted for."
    ),
    "cpus_derived": lambda cpus: (
        f"The log does not record the number of CPUs; {cpus:g} follows from the times."
    ),
    "not_measured": lambda columns: (
        f"Not measured: {', '.join(columns)}; if they hold time, the other shares are too high."
    ),
    "not_divided": lambda reason: f"The system's share is not divided by event: {reason}.",
    "by_regression": lambda: (
        "Overhead per event comes from a regression, not from a meter; see the caveats of overhead."
    ),
    "ticks_disagree": lambda disagreement: (
        f"States are sampled by ticks; their total differs from exact CPU time by {disagreement:+.0%}."
    ),
    "ticks_miss": lambda disagreement: (
        f"System time by ticks differs by {disagreement:+.0%} from that sampled out of step with them, of "
        "which events are shares; user and system are by ticks here."
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """States that are drawn as one."""

    key: Key
    share: float
    columns: tuple[str, ...]
    busy: bool


def groups(result: Capacity) -> list[Group]:
    """States as they are drawn, from useful work to idle, without those too small to be seen."""
    events = [event.label for event in result.events] if result.metered else []
    metered = [state.column for state in result.states if state.label in events]
    of_linux = {state: (name, palette.STATES[name]) for name, states in STATES for state in states}
    linux_ranks = {name: rank for rank, (name, _) in enumerate(STATES)}
    by_name: dict[str, list[State]] = {}
    colours: dict[str, str] = {}
    ranks: dict[str, tuple[int, int]] = {}
    for index, state in enumerate(result.states):
        if state.column in metered:
            name, colour = state.label, METERED[metered.index(state.column) % len(METERED)]
        else:
            other = REST if result.metered and state.use == "system" else USES[state.use]
            name, colour = of_linux.get(state.name, (state.label, other))
        rank = (list(USES).index(state.use), linux_ranks.get(name, index))
        by_name.setdefault(name, []).append(state)
        colours.setdefault(name, colour)
        ranks[name] = min(rank, ranks.get(name, rank))
    drawn = [
        Group(
            key=Key(name, colour=colours[name]),
            share=sum(state.share.value for state in by_name[name]),
            columns=tuple(state.column for state in by_name[name]),
            busy=by_name[name][0].use in ("user", "system"),
        )
        for name in sorted(by_name, key=lambda name: ranks[name])
    ]
    return [group for group in drawn if group.share > VISIBLE]


def shares_of(drawn: Sequence[Group], label: str = "") -> list[Point]:
    """Shares of the groups as points of a bar."""
    return [Point(key=group.key, label=label, y=group.share) for group in drawn]


def section(result: Capacity | NotApplicable) -> Section:
    """Section of the capacity analysis."""
    if isinstance(result, NotApplicable):
        return refused("capacity", TITLE, result)
    drawn = groups(result)
    figures = (_total(drawn), _over_time(result.over_time, drawn))
    tables = (_states(result), _events(result), _checks(result), _conditions(result))
    return Section(
        name="capacity",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=tuple(table for table in tables if table.rows),
        figures=tuple(figure for figure in figures if figure is not None),
        caveats=worded(result.caveats, WORDS),
        method=METHODS[result.metered],
    )


def _percent(value: float) -> str:
    return shown.quantity(value, "share")


def _sentences(result: Capacity) -> Iterator[str]:
    yield (
        f"{_percent(result.user.value + result.system.value)} of the CPU time was used: "
        f"{_percent(result.user.value)} by user programs, {_percent(result.system.value)} by the system for "
        "them."
    )
    if claimed := [event for event in result.events if event.claimed]:
        costly = sorted(claimed, key=lambda event: -event.share.value)[:3]
        top = [f"{_plural(result, event)} {_percent(event.share.value)}" for event in costly]
        yield f"Of the capacity, the costliest events took: {listed(top)}."
    if result.lock_wait is not None:
        yield f"Waiting for locks, included in the events' times, took {_percent(result.lock_wait.value)}."
    stolen = sum(state.share.value for state in result.states if state.use == "steal")
    if stolen > STOLEN_NAMED:
        yield f"The hypervisor gave {_percent(stolen)} to other machines."
    if result.recorder is not None:
        yield f"The recorder itself took {_percent(result.recorder.value)}."


def _plural(result: Capacity, event: Event) -> str:
    """Several of an event; a meter names one of them."""
    return shown.plural(event.label) if result.metered else nouns(event.request, event.label)


def _name(item: Event | Check) -> str:
    return capital(noun(item.request, item.label))


# Figures


def _total(drawn: Sequence[Group]) -> Figure:
    series = Series(shares_of(drawn), unit="share")
    words = listed([f"{group.key.name} {_percent(group.share)}" for group in drawn])
    return Figure(
        name="capacity-total",
        title="CPU time of the whole record",
        chart=series.bars(filled=True),
        data=Table.of(
            drawn,
            Col("state", lambda group: group.key.name),
            Col("share", lambda group: group.share, unit="share"),
            name="capacity-total-data",
            caption="Share of all CPU time, by state",
        ),
        alt=f"{capital(words)}.",
        keys=series.keys,
    )


def _over_time(timeline: Timeline | None, drawn: Sequence[Group]) -> Figure | None:
    if timeline is None or len(timeline.starts_s) < 2:
        return None
    time, keys = TimeAxis.of(timeline), tuple(group.key for group in drawn)
    stretches = []
    for index in range(len(timeline.starts_s)):
        amounts = [sum(timeline.series[column][index] or 0.0 for column in group.columns) for group in drawn]
        total = sum(amounts) or 1.0
        stretches.append([amount / total for amount in amounts])
    used = [
        sum(part for part, group in zip(shares, drawn, strict=True) if group.busy) for shares in stretches
    ]
    top = max(range(len(used)), key=used.__getitem__)
    return Figure(
        name="capacity-time",
        title="CPU time by state, over time",
        chart=partial(_stack, time, list(zip(*stretches, strict=True)), keys),
        data=Table.of(
            list(zip(time.starts, stretches, strict=True)),
            Col(time.heading, lambda row: round(row[0], 3)),
            Cols([key.name for key in keys], lambda row: row[1], unit="share"),
            name="capacity-time-data",
            caption="Share of CPU time by state, for each stretch of the record by its start",
        ),
        alt=(
            f"The CPUs were busy between {_percent(min(used))} and {_percent(used[top])} of their time, most "
            f"around {shown.number(time.starts[top])} {time.unit} after the start."
        ),
        keys=keys,
    )


def _stack(time: TimeAxis, shares: Sequence[Sequence[float]], keys: Sequence[Key]) -> Spec:
    rows = [
        {**row, "part": key.name, "shown": _percent(row["value"])}
        for key, values in zip(keys, shares, strict=True)
        for row in time.steps(values)
    ]
    return wholes.stack(rows, keys, time.axis, Axis("share of CPU time", format=".0%", low=0.0, high=1.0))


# Tables


def _states(result: Capacity) -> Table:
    whole = round(result.cpus)
    cpus = float(whole) if abs(result.cpus - whole) < 0.01 else result.cpus
    return Table.of(
        result.states,
        Col("state", lambda state: capital(state.label)),
        Col("share", lambda state: share(state.share), unit="share"),
        name="capacity-states",
        caption=f"Share of the capacity of {shown.quantity(cpus, 'CPU')}, by state",
        notes=[f"Means over {shown.count(result.intervals, 'interval')}."],
    )


def _events(result: Capacity) -> Table:
    notes = []
    if result.unattributed is not None:
        rest = shown.cell(share(result.unattributed))
        notes.append(
            f"The system used another {rest} of the capacity, which no event explains."
            if result.unattributed.value >= VISIBLE
            else f"The events explain what the system used; what is left is {rest} of the capacity."
        )
    table = Table.of(
        result.events,
        Col("event", _name),
        Col("share", lambda event: share(event.share), unit="share"),
        Col("overhead per event", lambda event: event.overhead and bare(event.overhead), unit="s"),
        Col("time between, per CPU", lambda event: event.time_between and bare(event.time_between), unit="s"),
        name="capacity-events",
        caption="The system's share, by event",
        notes=notes,
    )
    if not table.rows or result.lock_wait is None:
        return table
    locks = ("Waiting for locks, included in the above", share(result.lock_wait), None, None)
    return replace(table, rows=(*table.rows, locks))


def _checks(result: Capacity) -> Table:
    """Products of overhead and rate against the shares, and all states against CPUs x time."""
    rows = [
        *((_name(check), check.product, check.share) for check in result.checks),
        ("All states, of CPUs x time", result.accounted, 1.0),
    ]
    return Table.of(
        rows,
        Col("check", lambda row: row[0]),
        Col("overhead / time between", lambda row: row[1], unit="share"),
        Col("by its time" if result.metered else "by the regression", lambda row: row[2], unit="share"),
        # Rounding errors of the sums are no difference.
        Col("difference", lambda row: round(row[1] - row[2], 9), unit="share"),
        name="capacity-checks",
        caption="Check: share of an event = overhead / time between, and all shares add to "
        f"{shown.quantity(1.0, 'share')}",
    )


def _conditions(result: Capacity) -> Table:
    return Table.of(
        result.conditions,
        Col("condition", lambda item: condition_name(item.label, item.unit)),
        Col("mean", lambda item: unitless(item.value)),
        name="capacity-conditions",
        caption="While this was measured",
    )


def condition_name(label: str, unit: str) -> str:
    """Name of a condition with its unit: core [Kwords]."""
    return f"{capital(label)} [{shown.plural(unit)}]" if unit else capital(label)


def unitless(value: Estimate | float | str | None) -> Cell:
    """Value of a condition whose unit is in its name."""
    return value.with_unit("") if isinstance(value, Estimate) else value
