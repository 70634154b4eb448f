"""Where the CPU capacity went: by state, over time, and by event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from thinktime.analyses.timeline.section import TimeAxis
from thinktime.documents import charts
from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Column, Figure, Key, Section, Table
from thinktime.documents.wording import bare, capital, listed, noun, nouns, refused, share
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.capacity.analysis import Capacity, Event
    from thinktime.analyses.timeline.analysis import Timeline

__all__ = ["METHODS", "Group", "bars", "conditioned", "groups", "section", "unitless"]

TITLE = "Where did the CPU capacity go?"
STATES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("user programs", "user", ("user",)),
    ("user programs at low priority", "nice", ("nice",)),
    ("system", "system", ("system",)),
    ("interrupts", "interrupt", ("irq", "softirq")),
    ("taken by the hypervisor", "steal", ("steal",)),
    ("idle, a disk pending", "iowait", ("iowait",)),
    ("idle", "idle", ("idle",)),
)
"""What is drawn of Linux: name, colour, and the kernel's states that it adds up."""
USES = {"user": "user", "system": "system", "steal": "steal", "idle": "idle"}
"""Colours of states that other systems have."""
METERED = ("iowait", "system", "interrupt", "queue", "memory", "steal")
"""Colours of events whose time is metered, in the order of the meters; with more they come round again."""
REST = "other"
"""Colour of system work that no meter counts, where there are meters."""
VISIBLE = 5e-4
"""Part of the capacity below which a state cannot be seen in a chart."""
SHARES = "Shares of the CPU time of all processors. "
METHODS = {
    True: f"{SHARES}Counts and times of events are metered: share = time / time of all states, overhead per "
    "event = time / count, time between events = CPUs x time / count (Sekino 1971, Tables 1 to 3). "
    "Intervals: batch means of ratios.",
    False: f"{SHARES}The system's share is laid to events as share = overhead per event / mean time between "
    "events (Sekino 1971, Tables 1 to 3), with the costs of the overhead regression.",
}
"""How it was computed, by whether events were metered."""


@dataclass(frozen=True, slots=True)
class Group:
    """States that are drawn as one."""

    key: Key
    share: float
    columns: tuple[str, ...]
    busy: bool


def groups(result: Capacity) -> list[Group]:
    """States as they are drawn, from useful work to idle; those too small to be seen are left out."""
    events = [part.column for part in result.parts if _is_event(result, part.label)]
    named = {state: (name, colour) for name, colour, states in STATES for state in states}
    ranks = {name: rank for rank, (name, _, _) in enumerate(STATES)}
    found: dict[str, list[tuple[tuple[int, int], Group]]] = {}
    for at, part in enumerate(result.parts):
        if part.column in events:
            name, colour = part.label, METERED[events.index(part.column) % len(METERED)]
        else:
            own = REST if result.metered and part.use == "system" else USES[part.use]
            name, colour = named.get(part.name, (part.label, own))
        rank = (list(USES).index(part.use), ranks.get(name, at))
        busy = part.use in ("user", "system")
        group = Group(Key(name, colour=colour), part.share.value, (part.column,), busy)
        found.setdefault(name, []).append((rank, group))
    joined = [
        (
            min(rank for rank, _ in own),
            Group(
                own[0][1].key,
                sum(group.share for _, group in own),
                tuple(column for _, group in own for column in group.columns),
                own[0][1].busy,
            ),
        )
        for own in found.values()
    ]
    return [group for _, group in sorted(joined, key=lambda item: item[0]) if group.share > VISIBLE]


def _is_event(result: Capacity, label: str) -> bool:
    return result.metered and any(event.label == label for event in result.events)


def bars(drawn: Sequence[Group]) -> list[dict[str, object]]:
    """Rows of `charts.bar`."""
    rows: list[dict[str, object]] = []
    at = 0.0
    whole = sum(group.share for group in drawn) or 1.0
    for group in drawn:
        part = group.share / whole
        text = shown.quantity(group.share, "share")
        rows.append({"part": group.key.name, "share": part, "start": at, "end": at + part, "shown": text})
        at += part
    return rows


def section(result: Capacity | NotApplicable) -> Section:
    """Section of the capacity analysis."""
    if isinstance(result, NotApplicable):
        return refused("capacity", TITLE, result)
    drawn = groups(result)
    figures = [_total(drawn)]
    over_time = _over_time(result.over_time, drawn)
    if over_time is not None:
        figures.append(over_time)
    tables = (_parts(result), _events(result), _checks(result), _conditions(result))
    return Section(
        name="capacity",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=tuple(table for table in tables if table.rows),
        figures=tuple(figures),
        caveats=result.caveats,
        method=METHODS[result.metered],
    )


def _sentences(result: Capacity) -> list[str]:
    busy = result.user.value + result.system.value
    sentences = [
        f"{shown.quantity(busy, 'share')} of the CPU time was used: "
        f"{shown.quantity(result.user.value, 'share')} by user programs, "
        f"{shown.quantity(result.system.value, 'share')} by the system for them."
    ]
    if result.events:
        costly = sorted(result.events, key=lambda event: -event.share.value)[:3]
        top = [f"{_plural(result, event)} {shown.quantity(event.share.value, 'share')}" for event in costly]
        sentences.append(f"Of the capacity, the costliest events took: {listed(top)}.")
    if result.lock_wait is not None:
        waited = shown.quantity(result.lock_wait.value, "share")
        sentences.append(f"Waiting for locks, inside the events' times, took {waited}.")
    stolen = sum(part.share.value for part in result.parts if part.use == "steal")
    if stolen > 0.005:
        sentences.append(f"The hypervisor gave {shown.quantity(stolen, 'share')} to other machines.")
    if result.recorder is not None:
        sentences.append(f"The recorder itself took {shown.quantity(result.recorder.value, 'share')}.")
    return sentences


def _plural(result: Capacity, event: Event) -> str:
    """Several of an event; a meter names one of them."""
    return shown.plural(event.label) if result.metered else nouns(event.request, event.label)


def _total(drawn: Sequence[Group]) -> Figure:
    table = Table(
        name="capacity-total-data",
        caption="Share of all CPU time, by state",
        columns=(Column("state"), Column("share", unit="share")),
        rows=tuple((group.key.name, group.share) for group in drawn),
    )
    words = listed([f"{group.key.name} {shown.quantity(group.share, 'share')}" for group in drawn])
    title, keys = "CPU time of the whole record", tuple(group.key for group in drawn)
    chart = partial(charts.bar, bars(drawn), keys)
    return Figure(
        name="capacity-total", title=title, chart=chart, data=table, alt=f"{capital(words)}.", keys=keys
    )


def _over_time(data: Timeline | None, drawn: Sequence[Group]) -> Figure | None:
    if data is None or len(data.starts_s) < 2:
        return None
    time = TimeAxis.of(data)
    values: dict[str, list[float]] = {group.key.name: [] for group in drawn}
    for at in range(len(data.starts_s)):
        amounts = [sum(data.series[column][at] or 0.0 for column in group.columns) for group in drawn]
        whole = sum(amounts) or 1.0
        for group, amount in zip(drawn, amounts, strict=True):
            values[group.key.name].append(amount / whole)
    keys = tuple(group.key for group in drawn)
    table = Table(
        name="capacity-time-data",
        caption="Share of CPU time by state, for each stretch of the record by its start",
        columns=(Column(time.heading), *(Column(key.name, unit="share") for key in keys)),
        rows=tuple(
            (round(start, 3), *(values[key.name][at] for key in keys)) for at, start in enumerate(time.starts)
        ),
    )
    used = [
        sum(values[group.key.name][at] for group in drawn if group.busy) for at in range(len(data.starts_s))
    ]
    top = max(range(len(used)), key=used.__getitem__)
    alt = (
        f"The CPUs were busy between {shown.quantity(min(used), 'share')} and "
        f"{shown.quantity(used[top], 'share')} of "
        f"their time, most around {shown.number(time.starts[top])} {time.unit} after the start."
    )
    return Figure(
        name="capacity-time",
        title="CPU time by state, over time",
        chart=partial(_chart, time, values, keys),
        data=table,
        alt=alt,
        keys=keys,
    )


def _chart(time: TimeAxis, values: dict[str, list[float]], keys: tuple[Key, ...]) -> charts.Spec:
    rows = [
        {**row, "part": key.name, "shown": shown.quantity(row["value"], "share")}
        for key in keys
        for row in time.steps(values[key.name])
    ]
    return charts.stack(
        rows, keys, time.axis, charts.Axis("share of CPU time", format=".0%", low=0.0, high=1.0)
    )


def _cpus(result: Capacity) -> str:
    return shown.quantity(
        float(round(result.cpus)) if abs(result.cpus - round(result.cpus)) < 0.01 else result.cpus, "CPU"
    )


def _parts(result: Capacity) -> Table:
    rows = tuple((capital(part.label), share(part.share)) for part in result.parts)
    return Table(
        name="capacity-parts",
        caption=f"Share of the capacity of {_cpus(result)}, by state",
        columns=(Column("state"), Column("share", unit="share")),
        rows=rows,
        notes=(f"Means over {result.intervals} intervals.",),
    )


def _events(result: Capacity) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            capital(noun(event.request, event.label)),
            share(event.share),
            None if event.overhead is None else bare(event.overhead),
            None if event.time_between is None else bare(event.time_between),
        )
        for event in result.events
    ]
    if rows and result.lock_wait is not None:
        rows.append(("Waiting for locks, inside the above", share(result.lock_wait), None, None))
    notes: tuple[str, ...] = ()
    if result.unattributed is not None:
        rest = shown.estimate(share(result.unattributed) or result.unattributed)
        notes = (f"No event explains {rest} of the capacity that the system used.",)
    columns = (
        Column("event"),
        Column("share", unit="share"),
        Column("overhead an event", unit="s"),
        Column("time between, per CPU", unit="s"),
    )
    return Table(
        name="capacity-events",
        caption="The system's share, by event",
        columns=columns,
        rows=tuple(rows),
        notes=notes,
    )


def _checks(result: Capacity) -> Table:
    """Set the identity beside the time that was measured, and all states beside CPUs x time."""
    rows: list[tuple[Cell, ...]] = [
        (capital(noun(check.request, check.label)), check.product, check.share, check.product - check.share)
        for check in result.checks
    ]
    rows.append(("All states, of CPUs x time", result.accounted, 1.0, result.accounted - 1.0))
    should = "by its time" if result.metered else "by the regression"
    # Rounding errors of the sums are no difference.
    rounded = tuple((*row[:3], round(row[3], 9) if isinstance(row[3], float) else None) for row in rows)
    columns = (
        Column("check"),
        Column("overhead / time between", unit="share"),
        Column(should, unit="share"),
        Column("difference", unit="share"),
    )
    caption = "Check: share of an event = overhead / time between, and all shares add to 100 %"
    return Table(name="capacity-checks", caption=caption, columns=columns, rows=rounded)


def _conditions(result: Capacity) -> Table:
    rows = tuple((conditioned(item.label, item.unit), unitless(item.value)) for item in result.conditions)
    caption = "While this was measured"
    return Table(
        name="capacity-conditions", caption=caption, columns=(Column("what"), Column("mean")), rows=rows
    )


def conditioned(label: str, unit: str) -> str:
    """Name a condition with its unit: core [Kwords]."""
    return f"{capital(label)} [{shown.plural(unit)}]" if unit else capital(label)


def unitless(value: Estimate | float | str | None) -> Cell:
    """Value of a condition whose unit stands in its name."""
    return replace(value, unit="") if isinstance(value, Estimate) else value
