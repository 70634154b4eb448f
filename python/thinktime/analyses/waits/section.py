"""Section of the question about waits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from thinktime.analyses.waits.analysis import QUEUES
from thinktime.documents import format as shown
from thinktime.documents.charts.axis import Axis
from thinktime.documents.document import Cell, Col, Cols, Figure, Key, Section, Table
from thinktime.documents.series import Point, Series
from thinktime.documents.wording import capital, refused, share, there_are_only, worded
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.waits.analysis import Waits

TITLE = "Where do interactions wait?"
NAMES = {
    "system": "system, all",
    "foreground": "foreground",
    "unserved": "no slice yet",
    "background": "background",
    "output_bound": "output-bound",
    "command": "commands",
}
WORDS: dict[str, Callable[..., str]] = {
    "overlapping_inputs": lambda inputs: (
        f"{inputs} inputs came before the same user's last one was completed; the earlier one counts as "
        "ended there."
    ),
    "unfinished": lambda unfinished, interactions: (
        f"{unfinished} of {interactions} interactions were not completed when their session ended; they "
        "count in the queues until then."
    ),
    "not_conserved": lambda queue, by_events, by_interactions: (
        f"The mean number in {queue} is {by_events:.3g} by the events and {by_interactions:.3g} by the "
        "interactions and Little's law: the log is short, or one of the tables is incomplete."
    ),
    "few_intervals": lambda intervals: (
        f"{there_are_only(intervals, 'interval')}: confidence intervals are wide, or absent."
    ),
}


def section(result: Waits | NotApplicable) -> Section:
    """Section of the result."""
    if isinstance(result, NotApplicable):
        return refused("waits", TITLE, result)
    figure = _reactions(result)
    return Section(
        name="waits",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=(_queues(result), _rates(result), _intervals(result)),
        figures=() if figure is None else (figure,),
        caveats=worded(result.caveats, WORDS),
        method=(
            "Mean numbers integrate the events over time; time per visit is number over visits per second "
            "(Little's law). For comparison, the same number follows from the table of interactions, as rate "
            "times mean time. Queues after Anderson and Sargent (1974), Figure 6: "
            + "; ".join(f"{NAMES[name]}: {meaning}" for name, meaning in QUEUES.items())
            + ". Intervals allow for the correlation of the trace's intervals."
        ),
    )


def _sentences(result: Waits) -> list[str]:
    queues = {queue.name: queue for queue in result.queues}
    sentences = []
    if "system" in queues:
        system = queues["system"]
        time = f", each for {shown.estimate(system.time)}" if system.time is not None else ""
        sentences.append(f"On average {shown.estimate(system.number)} interactions were in the system{time}.")
    inner = [queue for queue in result.queues if queue.name not in {"system", "unserved"}]
    if inner:
        fullest = max(inner, key=lambda queue: queue.number.value)
        sentences.append(
            f"{capital(NAMES[fullest.name])} held most of them: {shown.estimate(fullest.number)}."
        )
    processor, disk = (
        shown.estimate(replace(value, unit="share")) for value in (result.processor, result.disk)
    )
    sentences.append(
        f"The processor was busy {processor} of the time, the swap disk {disk}, with "
        f"{shown.estimate(result.accesses)}."
    )
    return sentences


def _queues(result: Waits) -> Table:
    return Table.of(
        result.queues,
        Col("queue", lambda queue: NAMES[queue.name]),
        Col("mean number", lambda queue: queue.number),
        Col("by interactions", lambda queue: queue.by_interactions),
        Col("visits", lambda queue: queue.entered, unit="1/s"),
        Col("time per visit", lambda queue: queue.time, unit="s"),
        name="waits-queues",
        caption="Number of interactions in each queue, and time per visit",
    )


def _rates(result: Waits) -> Table:
    rows: tuple[tuple[str, Cell], ...] = (
        ("disk accesses", result.accesses),
        ("swaps in", result.swap_ins),
        ("swaps out", result.swap_outs),
        ("library loads", result.library_loads),
        ("processor utilisation", share(result.processor)),
        ("disk utilisation", share(result.disk)),
        ("slice", result.slice),
    )
    return Table.of(
        rows,
        Cols(("quantity", "mean"), lambda row: row),
        name="waits-rates",
        caption="Disk accesses and utilisations",
    )


def _intervals(result: Waits) -> Table:
    return Table.of(
        result.intervals,
        Col("from", lambda item: item.start_s, unit="s"),
        Col("length", lambda item: item.length_s, unit="s"),
        Col("users", lambda item: item.users),
        Col("inputs", lambda item: item.inputs),
        Col("completions", lambda item: item.completions),
        Col("swaps in", lambda item: item.swap_ins),
        Col("swaps out", lambda item: item.swap_outs),
        Col("library loads", lambda item: item.library_loads),
        Col("disk accesses", lambda item: item.accesses),
        Cols([f"mean number, {NAMES[name]}" for name in QUEUES], lambda item: item.numbers),
        Col("processor", lambda item: item.processor, unit="share"),
        Col("disk", lambda item: item.disk, unit="share"),
        Col("mean reaction", lambda item: item.reaction_mean_s, unit="s"),
        Col("longest reaction", lambda item: item.reaction_max_s, unit="s"),
        Col("mean log10(reaction + 0.5)", lambda item: item.reaction_log),
        name="waits-intervals",
        caption="Each interval of the trace",
        folded=True,
    )


def _reactions(result: Waits) -> Figure | None:
    """Figure of mean and longest reaction time against the rate of disk accesses, by interval."""
    mean, longest = (
        Key("mean", colour="user", shape="circle"),
        Key("longest", colour="system", shape="circle"),
    )
    items = sorted(
        (item for item in result.intervals if item.reaction_mean_s and item.reaction_max_s),
        key=lambda item: item.accesses / item.length_s,
    )
    rates = [item.accesses / item.length_s for item in items]
    if len(set(rates)) < 2:
        return None
    points = [
        Point(
            key=key,
            x=rate,
            y=value,
            words=f"{key.name} {shown.quantity(value, 's')} at {shown.number(rate)} accesses/s",
        )
        for item, rate in zip(items, rates, strict=True)
        for key, value in ((mean, item.reaction_mean_s), (longest, item.reaction_max_s))
    ]
    series = Series(points, unit="s", order=(mean, longest))
    quiet, busy = (
        f"{shown.quantity(items[index].reaction_mean_s, 's')} in the interval with "
        f"{amount} disk accesses ({shown.quantity(rates[index], 'access/s')})"
        for index, amount in ((0, "fewest"), (-1, "most"))
    )
    margin = (rates[-1] - rates[0]) / 20
    return Figure(
        name="waits-reaction",
        title="Reaction time against swapping",
        chart=series.scatter(
            Axis("disk accesses per second", low=max(0.0, rates[0] - margin), high=rates[-1] + margin),
            Axis.logarithmic("reaction time", series.values("value"), "s"),
        ),
        data=Table.of(
            zip(items, rates, strict=True),
            Col("disk accesses", lambda pair: pair[1], unit="access/s"),
            Col("mean reaction", lambda pair: pair[0].reaction_mean_s, unit="s"),
            Col("longest reaction", lambda pair: pair[0].reaction_max_s, unit="s"),
            name="waits-reaction-data",
            caption="Reaction time by rate of disk accesses",
        ),
        alt=f"Mean reaction time {quiet}, {busy}. Each interval has two points, its mean and its longest.",
        keys=series.keys,
    )
