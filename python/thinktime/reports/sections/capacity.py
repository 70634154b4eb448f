"""Where the CPU capacity went: by state, over time, and by event."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from thinktime.reports import charts, timeline
from thinktime.reports import format as shown
from thinktime.reports.document import Column, Figure, Key, Section, Table
from thinktime.reports.prose import bare, capital, listed, noun, refused, share
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.capacity import Capacity
    from thinktime.log import Log

__all__ = ["BUSY", "section"]

TITLE = "Where did the CPU capacity go?"
BUSY = ("user", "nice", "system", "irq", "softirq")
"""States in which the machine works for somebody."""
STATES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("user programs", "user", ("user",)),
    ("user programs at low priority", "nice", ("nice",)),
    ("system", "system", ("system",)),
    ("interrupts", "interrupt", ("irq", "softirq")),
    ("taken by the hypervisor", "steal", ("steal",)),
    ("idle, a disk pending", "iowait", ("iowait",)),
    ("idle", "idle", ("idle",)),
)
"""What is drawn: name, colour, and the kernel's states that it adds up."""
VISIBLE = 5e-4
"""Part of the capacity below which a state cannot be seen in a chart."""


def section(log: Log, result: Capacity | NotApplicable) -> Section:
    """Section of the capacity analysis."""
    if isinstance(result, NotApplicable):
        return refused("capacity", TITLE, result)
    shares = {part.name: part.share.value for part in result.parts}
    drawn = [
        (Key(name, colour), sum(shares.get(state, 0.0) for state in states), states)
        for name, colour, states in STATES
    ]
    drawn = [item for item in drawn if item[1] > VISIBLE]
    figures = [_total(drawn)]
    over_time = _over_time(log, drawn)
    if over_time is not None:
        figures.append(over_time)
    tables = [_parts(result)]
    if result.events:
        tables.append(_events(result))
    return Section(
        "capacity",
        TITLE,
        tuple(_sentences(result, drawn)),
        tuple(tables),
        tuple(figures),
        result.caveats,
        "Shares of the CPU time of all processors. The system's share is laid to events as share = "
        "overhead per event "
        "/ mean time between events (Sekino 1971, Tables 1 to 3), with the costs of the overhead regression.",
    )


Drawn = list[tuple[Key, float, tuple[str, ...]]]


def _sentences(result: Capacity, drawn: Drawn) -> list[str]:
    shares = {part.name: part.share.value for part in result.parts}
    busy = sum(shares.get(state, 0.0) for state in BUSY)
    user = shares.get("user", 0.0) + shares.get("nice", 0.0)
    sentences = [
        f"{shown.quantity(busy, 'share')} of the CPU time was used: {shown.quantity(user, 'share')} by "
        "user programs, "
        f"{shown.quantity(result.system.value, 'share')} by the system for them."
    ]
    if result.events:
        top = [
            f"{shown.plural(noun(event.request, event.label))} {shown.quantity(event.share.value, 'share')}"
            for event in result.events[:3]
        ]
        sentences.append(f"Of the capacity, the costliest events took: {listed(top)}.")
    if shares.get("steal", 0.0) > 0.005:
        sentences.append(f"The hypervisor gave {shown.quantity(shares['steal'], 'share')} to other machines.")
    if result.recorder is not None:
        sentences.append(f"The recorder itself took {shown.quantity(result.recorder.value, 'share')}.")
    del drawn
    return sentences


def _total(drawn: Drawn) -> Figure:
    rows: list[dict[str, object]] = []
    at = 0.0
    whole = sum(value for _, value, _ in drawn) or 1.0
    for key, value, _ in drawn:
        part = value / whole
        rows.append(
            {
                "part": key.name,
                "share": part,
                "start": at,
                "end": at + part,
                "shown": shown.quantity(value, "share"),
            }
        )
        at += part
    keys = tuple(key for key, _, _ in drawn)
    table = Table(
        "capacity-total-data",
        "Share of all CPU time, by state",
        (Column("state"), Column("share", "share")),
        tuple((key.name, value) for key, value, _ in drawn),
    )
    words = listed([f"{key.name} {shown.quantity(value, 'share')}" for key, value, _ in drawn])
    title = "CPU time of the whole record"
    return Figure("capacity-total", title, partial(charts.bar, rows, keys), table, f"{capital(words)}.", keys)


def _over_time(log: Log, drawn: Drawn) -> Figure | None:
    data = timeline.read(log, rates=[f"{state}_s" for _, _, states in drawn for state in states], gauges=())
    if len(data.starts) < 2:
        return None
    values: dict[str, list[float]] = {key.name: [] for key, _, _ in drawn}
    for at in range(len(data.starts)):
        amounts = [sum(data.values[f"{state}_s"][at] or 0.0 for state in states) for _, _, states in drawn]
        whole = sum(amounts) or 1.0
        for (key, _, _), amount in zip(drawn, amounts, strict=True):
            values[key.name].append(amount / whole)
    keys = tuple(key for key, _, _ in drawn)
    table = Table(
        "capacity-time-data",
        "Share of CPU time by state, for each stretch of the record by its start",
        (Column(f"start [{data.unit.name}]"), *(Column(key.name, "share") for key in keys)),
        tuple(
            (round(start, 3), *(values[key.name][at] for key in keys)) for at, start in enumerate(data.starts)
        ),
    )
    used = [
        1.0 - sum(values[key.name][at] for key in keys if key.colour in {"idle", "iowait", "steal"})
        for at in range(len(data.starts))
    ]
    top = max(range(len(used)), key=used.__getitem__)
    alt = (
        f"The CPUs were busy between {shown.quantity(min(used), 'share')} and "
        f"{shown.quantity(used[top], 'share')} of "
        f"their time, most around {shown.number(data.starts[top])} {data.unit.name} after the start."
    )
    return Figure(
        "capacity-time", "CPU time by state, over time", partial(_chart, data, values, keys), table, alt, keys
    )


def _chart(data: timeline.Timeline, values: dict[str, list[float]], keys: tuple[Key, ...]) -> charts.Spec:
    rows = [
        {**row, "part": key.name, "shown": shown.quantity(row["value"], "share")}
        for key in keys
        for row in timeline.Timeline(
            data.unit, data.starts, data.ends, data.segments, {"": tuple(values[key.name])}
        ).drawn("")
    ]
    time = charts.Axis(f"time since the start [{data.unit.name}]")
    return charts.stack(rows, keys, time, charts.Axis("share of CPU time", format=".0%", low=0.0, high=1.0))


def _cpus(result: Capacity) -> str:
    return shown.quantity(
        float(round(result.cpus)) if abs(result.cpus - round(result.cpus)) < 0.01 else result.cpus, "CPU"
    )


def _parts(result: Capacity) -> Table:
    rows = tuple((capital(part.label), share(part.share)) for part in result.parts)
    return Table(
        "capacity-parts",
        f"Share of the capacity of {_cpus(result)}, by the kernel's states",
        (Column("state"), Column("share", "share")),
        rows,
        (f"Means over {result.intervals} intervals.",),
    )


def _events(result: Capacity) -> Table:
    rows: list[tuple[str, Estimate | None, Estimate, Estimate]] = [
        (
            capital(noun(event.request, event.label)),
            share(event.share),
            bare(event.overhead),
            bare(event.time_between),
        )
        for event in result.events
    ]
    notes: tuple[str, ...] = ()
    if result.unattributed is not None:
        rest = shown.estimate(share(result.unattributed) or result.unattributed)
        notes = (f"No event explains {rest} of the capacity that the system used.",)
    columns = (
        Column("event"),
        Column("share", "share"),
        Column("overhead an event", "s"),
        Column("time between, per CPU", "s"),
    )
    return Table("capacity-events", "The system's share, by event", columns, tuple(rows), notes)
