"""Where interactions wait, by the events."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from thinktime.analyses.waits.analysis import QUEUES
from thinktime.documents import charts
from thinktime.documents import format as shown
from thinktime.documents.document import Column, Figure, Key, Section, Table
from thinktime.documents.wording import capital, refused, share
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.waits.analysis import Trace

__all__ = ["section"]

TITLE = "Where do interactions wait?"
NAMES = {
    "system": "system, all",
    "foreground": "foreground",
    "unserved": "no slice yet",
    "background": "background",
    "output_bound": "output-bound",
    "command": "commands",
}


def section(result: Trace | NotApplicable) -> Section:
    """Section of the event trace."""
    if isinstance(result, NotApplicable):
        return refused("trace", TITLE, result)
    figure = _reactions(result)
    return Section(
        name="trace",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=(_queues(result), _rates(result), _intervals(result)),
        figures=() if figure is None else (figure,),
        caveats=result.caveats,
        method="Mean numbers integrate the events over time; time per visit is number over visits per second "
        "(Little's law). Beside them stands the same number from the table of interactions, rate times mean "
        "time. Queues after Anderson and Sargent (1974), Figure 6: "
        + "; ".join(f"{NAMES[name]}: {meaning}" for name, meaning in QUEUES.items())
        + ". Intervals are by batch means over the intervals of the trace.",
    )


def _sentences(result: Trace) -> list[str]:
    names = {queue.name: queue for queue in result.queues}
    sentences = []
    if "system" in names:
        whole = names["system"]
        time = f", each for {shown.estimate(whole.time)}" if whole.time is not None else ""
        sentences.append(f"On average {shown.estimate(whole.number)} interactions were in the system{time}.")
    inner = [queue for queue in result.queues if queue.name not in {"system", "unserved"}]
    if inner:
        fullest = max(inner, key=lambda queue: queue.number.value)
        sentences.append(
            f"{capital(NAMES[fullest.name])} held most of them: {shown.estimate(fullest.number)}."
        )
    processor, disk = (
        shown.estimate(replace(part, unit="share")) for part in (result.processor, result.disk)
    )
    sentences.append(
        f"The processor was busy {processor} of the time, the swap disk {disk}, with "
        f"{shown.estimate(result.accesses)}."
    )
    return sentences


def _queues(result: Trace) -> Table:
    columns = (
        Column("queue"),
        Column("mean number"),
        Column("by interactions"),
        Column("visits", unit="1/s"),
        Column("time per visit", unit="s"),
    )
    rows = tuple(
        (NAMES[queue.name], queue.number, queue.by_interactions, queue.entered, queue.time)
        for queue in result.queues
    )
    return Table(
        name="trace-queues", caption="How many wait where, and for how long", columns=columns, rows=rows
    )


def _rates(result: Trace) -> Table:
    columns = (Column("what"), Column("mean"))
    rows = (
        ("disk accesses", result.accesses),
        ("swaps in", result.swap_ins),
        ("swaps out", result.swap_outs),
        ("library loads", result.library_loads),
        ("processor utilisation", share(result.processor)),
        ("disk utilisation", share(result.disk)),
        ("slice", result.slice),
    )
    return Table(name="trace-rates", caption="Disk accesses and utilisations", columns=columns, rows=rows)


def _intervals(result: Trace) -> Table:
    columns = (
        Column("from", unit="s"),
        Column("length", unit="s"),
        *(Column(name) for name in ("users", "inputs", "completions")),
        *(Column(name) for name in ("swaps in", "swaps out", "library loads", "disk accesses")),
        *(Column(f"mean number, {name}") for name in NAMES.values()),
        Column("processor", unit="share"),
        Column("disk", unit="share"),
        Column("mean reaction", unit="s"),
        Column("greatest reaction", unit="s"),
        Column("mean log10(reaction + 0.5)"),
    )
    rows = tuple(
        (
            item.start_s,
            item.length_s,
            item.users,
            item.inputs,
            item.completions,
            item.swap_ins,
            item.swap_outs,
            item.library_loads,
            item.accesses,
            *item.numbers,
            item.processor,
            item.disk,
            item.reaction_mean_s,
            item.reaction_max_s,
            item.reaction_log,
        )
        for item in result.intervals
    )
    return Table(
        name="trace-intervals", caption="Each interval of the trace", columns=columns, rows=rows, folded=True
    )


def _reactions(result: Trace) -> Figure | None:
    """Mean and greatest reaction time against the rate of disk accesses, a point an interval."""
    items = [item for item in result.intervals if item.reaction_mean_s and item.reaction_max_s]
    rates = [item.accesses / item.length_s for item in items]
    if len(set(rates)) < 2:
        return None
    keys = (Key("mean", colour="user", shape="circle"), Key("greatest", colour="system", shape="circle"))
    rows: list[dict[str, object]] = []
    for item, rate in zip(items, rates, strict=True):
        for key, value in zip(keys, (item.reaction_mean_s, item.reaction_max_s), strict=True):
            words = f"{key.name} {shown.quantity(value, 's')} at {shown.number(rate)} accesses/s"
            rows.append({"x": rate, "y": value, "series": key.name, "shown": words})
    table = Table(
        name="trace-reaction-data",
        caption="Reaction time by rate of disk accesses",
        columns=(
            Column("disk accesses", unit="access/s"),
            Column("mean reaction", unit="s"),
            Column("greatest reaction", unit="s"),
        ),
        rows=tuple(
            (rate, item.reaction_mean_s, item.reaction_max_s)
            for item, rate in sorted(zip(items, rates, strict=True), key=lambda pair: pair[1])
        ),
    )
    quiet, busy = table.rows[0], table.rows[-1]
    alt = (
        f"Mean reaction time {shown.cell(quiet[1], 's')} in the interval with fewest disk accesses "
        f"({shown.cell(quiet[0], 'access/s')}), {shown.cell(busy[1], 's')} in that with most "
        f"({shown.cell(busy[0], 'access/s')}). Each interval has two points, its mean and its greatest."
    )
    y = charts.Axis.logarithmic("reaction time", [row["y"] for row in rows], "s")
    margin = (max(rates) - min(rates)) / 20
    x = charts.Axis("disk accesses per second", low=max(0.0, min(rates) - margin), high=max(rates) + margin)
    chart = partial(charts.scatter, rows, [], keys, x, y)
    return Figure(
        name="trace-reaction",
        title="Reaction time against swapping",
        chart=chart,
        data=table,
        alt=alt,
        keys=keys,
    )
