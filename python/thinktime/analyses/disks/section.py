"""Section of the question about disks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from thinktime.documents import format as shown
from thinktime.documents.charts import distributions, wholes
from thinktime.documents.charts.axis import Axis
from thinktime.documents.document import Cell, Col, Cols, Figure, Section, Table
from thinktime.documents.wording import listed, refused, share, there_are_only, whole, worded
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.disks.result import (
        Amount,
        Compared,
        Disks,
        Drive,
        Maker,
        Period,
        Queue,
        StateMatrix,
    )

TITLE = "What do the disks do, and who waits for them?"
NAMED_MAX = 4
"""Drives named in a sentence."""
QUEUES_MAX = 4
"""Distributions of queues that are drawn; the table has all."""
LONG = 12
"""Rows beyond which a table is folded."""

TOPICS: dict[str, str] = {
    "cache": "reads, read-aheads, cache hits, writes",
    "queue": "mean queue length and its distribution",
    "drives": "requests, bytes, access and transfer times of each drive",
    "busy": "utilisation of each drive, and of any",
    "cpu": "CPU time by state, and waiting for disks",
    "matrix": "CPU state by drive state",
    "terminal": "characters in and out",
    "swaps": "swaps, and the amount swapped",
    "periods": "the same over time",
}
"""Topics that can be shown alone."""
IN_WORDS = ("busy", "queue", "cpu", "cache", "swaps")
"""Topics that have a sentence, most important first."""
METHOD = (
    "Amounts are differences of counters over measured time. Sampled values are fractions of the clock "
    "ticks (or of the ends of the intervals), after the iostat of Brachman (1983); exact ones are sums of "
    "times. Successive readings are correlated: confidence intervals allow for it, "
    "or come from Student's t over replications."
    " The difference is taken interval by interval, so that "
    "variation common to both cancels."
)
COMPARED = {"queue": "mean queue ({})", "drive": "utilisation of {}", "cpu": "CPU time, {}"}
WORDS: dict[str, Callable[..., str]] = {
    "dropped_rows": lambda rows: f"{rows} rows without a positive length are left out.",
    "negative_counts": lambda counts: f"{counts} counts below zero are left out: no counter can be negative.",
    "contradictory_ticks": lambda intervals, total: (
        f"In {intervals} of {total} intervals the sampled states do not add up to the clock ticks: samples "
        "of these intervals are left out."
    ),
    "overfull": lambda intervals, total, device: (
        f"In {intervals} of {total} intervals {device} was busy for longer than they lasted: its busy time "
        "is left out there."
    ),
    "few_intervals": lambda intervals: (
        f"{there_are_only(intervals, 'interval')}: too few to see correlation; confidence intervals treat "
        "them as independent, which they are not, and are too narrow."
    ),
    "sampling_error": lambda differences: (
        "Sampled and exact values differ by more than chance: "
        + ", ".join(f"{COMPARED[kind].format(name)} ({value:+.2g})" for kind, name, value in differences)
        + ". Some activity runs in step with the sampling; rely on the exact values, and distrust those that "
        "were only sampled."
    ),
    "lower_bound": lambda longest, place: (
        f"Queues of {longest} and more were counted together: the sampled mean at {place} is a lower bound."
    ),
    "iowait": lambda: (
        "CPU time waiting for disks is the kernel's iowait: a hint, which shrinks when other work fills the "
        "CPU and does not follow a task to another CPU."
    ),
    "parallel_requests": lambda: (
        "A device that serves several requests at once is busy long before it is full: its utilisation does "
        "not show a limit, and its mean service time is shorter than the time that a request takes."
    ),
    "all_disks": lambda: "The log does not distinguish disks: their busy times are added up.",
    "mixed_requests": lambda: (
        "The log does not distinguish requests for files from pages swapped: where both go to the same "
        "device, the time of a file request is a mean over both."
    ),
}


def section(result: Disks | NotApplicable, topics: Sequence[str] = ()) -> Section:
    """Section of the result; `topics` selects some of `TOPICS`, all by default."""
    if isinstance(result, NotApplicable):
        return refused("disks", TITLE, result)
    selected = tuple(topics) or tuple(TOPICS)
    absent = _absent(result)
    if topics and all(topic in absent for topic in topics):
        return refused("disks", TITLE, absent[topics[0]])
    present = [topic for topic in selected if topic not in absent]
    tables = [table for topic in present for table in _TABLES[topic](result)]
    missing = {TOPICS[topic]: why for topic, why in absent.items() if topic in selected}
    if "cache" in present and isinstance(result.hit_ratio, NotApplicable):
        missing["cache hits"] = result.hit_ratio
    if missing:
        tables.append(_missing(missing))
    return Section(
        name="disks",
        title=TITLE,
        summary=tuple(
            sentence for topic in IN_WORDS if topic in present for sentence in _sentences(topic, result)
        ),
        tables=tuple(table for table in tables if table.rows),
        figures=tuple(figure for topic in present for figure in _figures(topic, result)),
        caveats=worded(result.caveats, WORDS),
        method=METHOD,
    )


def _absent(result: Disks) -> dict[str, NotApplicable]:
    """Topics that this log has no data on, and why."""
    values: dict[str, object] = {
        "cache": result.cache,
        "queue": result.queues,
        "drives": result.drives,
        "busy": result.controller if isinstance(result.drives, NotApplicable) else None,
        "cpu": result.cpu,
        "matrix": result.matrix,
        "terminal": result.terminal,
        "swaps": result.swapping,
    }
    return {topic: why for topic, why in values.items() if isinstance(why, NotApplicable)}


def _missing(absent: dict[str, NotApplicable]) -> Table:
    return Table.of(
        absent.items(),
        Col("topic", lambda item: item[0]),
        Col("why", lambda item: item[1].reason),
        Col("remedy", lambda item: item[1].remedy),
        name="disks-absent",
        caption="Topics that this log cannot cover",
        folded=True,
    )


def _fraction(value: Estimate | None) -> str:
    return shown.cell(share(value))


def _sentences(topic: str, result: Disks) -> list[str]:
    if topic == "busy":
        return _busy_sentences(result)
    if topic == "queue" and not isinstance(result.queues, NotApplicable):
        fullest = max(result.queues, key=lambda queue: queue.mean.best.value if queue.mean.best else 0.0)
        if fullest.mean.best is None:
            return []
        place = fullest.place if fullest.place != "controller" else "the controller"
        empty = f"; none {_fraction(fullest.distribution[0])} of the time" if fullest.distribution else ""
        return [
            f"On average {shown.estimate(fullest.mean.best)} were at {place}, in service or waiting{empty}."
        ]
    if topic == "cpu" and not isinstance(result.cpu, NotApplicable) and result.cpu.waiting is not None:
        fraction = _fraction(result.cpu.waiting)
        if result.cpu.is_hint:
            return [f"The CPU was idle with a disk pending {fraction} of the time (iowait, a hint)."]
        return [f"The CPU was idle while a drive was busy {fraction} of the time."]
    if topic == "cache" and isinstance(result.hit_ratio, Estimate):
        return [f"Of the blocks requested, {_fraction(result.hit_ratio)} were in the cache."]
    if topic == "swaps" and not isinstance(result.swapping, NotApplicable) and result.swapping.between:
        return [f"A swap began every {shown.estimate(result.swapping.between)}."]
    return []


def _busy_sentences(result: Disks) -> list[str]:
    drives = () if isinstance(result.drives, NotApplicable) else result.drives
    utilisations = [(drive.name, drive.utilisation.best) for drive in drives]
    if not isinstance(result.controller, NotApplicable) and len(drives) != 1:
        utilisations.insert(0, ("any drive", result.controller.best))
    words = [f"{name} {_fraction(value)}" for name, value in utilisations if value is not None]
    return [f"Busy share of the time: {listed(words[:NAMED_MAX])}."] if words else []


def _amounts(
    name: str, caption: str, amounts: Sequence[Amount], more: Sequence[tuple[str, Estimate | None]] = ()
) -> Table:
    rows: list[tuple[Cell, ...]] = [(item.label, item.rate, _in_all(item)) for item in amounts]
    rows += [(label, value, None) for label, value in more if value is not None]
    return Table.of(rows, Cols(("quantity", "mean", "total"), lambda row: row), name=name, caption=caption)


def _in_all(item: Amount) -> Estimate:
    """Total with its unit: the rows of a table have several."""
    unit = item.rate.unit.removesuffix("/s")
    return Estimate(value=item.total, unit=unit, n=item.rate.n, method="counted")


def _filled(table: Table) -> Table:
    """Table without the columns in which all cells are empty."""
    filled = [
        True,
        *(any(row[index] is not None for row in table.rows) for index in range(1, len(table.columns))),
    ]
    return replace(
        table,
        columns=tuple(itertools.compress(table.columns, filled)),
        rows=tuple(tuple(itertools.compress(row, filled)) for row in table.rows),
    )


def _both_ways(
    items: Sequence[tuple[str, Compared]], heading: str, name: str, caption: str, *, is_share: bool
) -> Table:
    """Table of values in two ways: sampled, exact, and their difference."""

    def cells(item: tuple[str, Compared]) -> list[Cell]:
        both = item[1]
        values = (both.sampled, both.exact, both.difference)
        return [share(value) if is_share else value for value in values]

    return _filled(
        Table.of(
            items,
            Col(heading, lambda item: item[0]),
            Cols(("sampled", "exact", "sampled minus exact"), cells),
            name=name,
            caption=caption,
        )
    )


def _cache(result: Disks) -> list[Table]:
    assert not isinstance(result.cache, NotApplicable), "shown only where it is"
    ratio = None if isinstance(result.hit_ratio, NotApplicable) else share(result.hit_ratio)
    return [_amounts("disks-cache", "Read and written", result.cache, [("hit ratio", ratio)])]


def _queue(result: Disks) -> list[Table]:
    assert not isinstance(result.queues, NotApplicable), "shown only where it is"
    queues = result.queues
    means = Table.of(
        queues,
        Col("at", lambda queue: queue.place),
        Col("sampled", lambda queue: queue.mean.sampled),
        Col("exact", lambda queue: queue.mean.exact),
        Col("sampled minus exact", lambda queue: queue.mean.difference),
        Col("readings", lambda queue: queue.readings or None),
        name="disks-queue",
        caption="Mean number of requests, those in service included",
    )

    def label(length: int) -> str:
        last = any(queue.open_ended and len(queue.distribution) == length + 1 for queue in queues)
        return f"{length} and more" if last else str(length)

    def cells(length: int) -> list[Cell]:
        return [
            share(queue.distribution[length]) if length < len(queue.distribution) else None
            for queue in queues
        ]

    lengths = Table.of(
        range(max(map(_longest, queues))),
        Col("requests", label),
        Cols([queue.place for queue in queues], cells),
        name="disks-lengths",
        caption="Number of requests, by share of the readings",
    )
    return [_filled(means), lengths]


def _drives(result: Disks) -> list[Table]:
    assert not isinstance(result.drives, NotApplicable), "shown only where it is"
    table = Table.of(
        result.drives,
        Col("drive", lambda drive: drive.name),
        Col("requests", lambda drive: drive.requests),
        Col("reads", lambda drive: drive.reads),
        Col("writes", lambda drive: drive.writes),
        Col("requests, total", lambda drive: whole(drive.requests_total), unit="request"),
        Col("moved", lambda drive: drive.amount),
        Col("moved, total", lambda drive: drive.amount_total, unit="byte"),
        Col("with a seek", lambda drive: drive.seeks),
        Col("size of a request", lambda drive: drive.bytes_per_request),
        Col("access", lambda drive: drive.access),
        Col("access, maker's", lambda drive: _by_maker(drive).access_s, unit="s"),
        Col("transfer", lambda drive: drive.transfer),
        Col(
            "transfer, maker's",
            lambda drive: None if drive.maker is None else drive.maker.transfer_s,
            unit="s",
        ),
        Col("service", lambda drive: drive.service),
        Col("issue to completion", lambda drive: drive.response),
        name="disks-drives",
        caption="Requests and times of each drive",
        notes=("Access: seek and latency. Service: busy time over requests.",),
    )
    table = _filled(table)
    return [table] if len(table.columns) > 1 else []


def _by_maker(drive: Drive) -> Maker:
    from thinktime.analyses.disks.result import Maker

    return drive.maker or Maker(access_s=None, transfer_s=None)


def _busy(result: Disks) -> list[Table]:
    items: list[tuple[str, Compared]] = []
    if not isinstance(result.controller, NotApplicable):
        items.append(("any drive", result.controller))
    if not isinstance(result.drives, NotApplicable):
        items += [(drive.name, drive.utilisation) for drive in result.drives]
    return [_both_ways(items, "drive", "disks-busy", "Fraction of the time busy", is_share=True)]


def _cpu(result: Disks) -> list[Table]:
    from thinktime.analyses.disks.result import Compared

    assert not isinstance(result.cpu, NotApplicable), "shown only where it is"
    items = [(state.name, state.share) for state in result.cpu.states]
    if result.cpu.waiting is not None:
        label = "idle, a disk pending (a hint)" if result.cpu.is_hint else "idle while a drive was busy"
        items.append((label, Compared(sampled=result.cpu.waiting, exact=None)))
    if result.cpu.stalled is not None:
        stalled = Compared(sampled=None, exact=result.cpu.stalled)
        items.append(("some task stalled on a disk, of the time", stalled))
    return [_both_ways(items, "state", "disks-cpu", "Fraction of the CPU time", is_share=True)]


def _matrix(result: Disks) -> list[Table]:
    assert not isinstance(result.matrix, NotApplicable), "shown only where it is"
    matrix = result.matrix
    rows: list[tuple[Cell, ...]] = [
        (state, *map(share, shares), share(total))
        for state, shares, total in zip(matrix.cpu, matrix.shares, matrix.cpu_totals, strict=True)
    ]
    rows.append(("all", *map(share, matrix.drive_totals), None))
    headings = ("CPU", *map(_drive_state, matrix.drives), "all")
    return [
        Table.of(
            rows,
            Cols(headings, lambda row: row),
            name="disks-matrix",
            caption=f"CPU state by drive state, share of {shown.count(matrix.ticks, 'clock tick')}",
        )
    ]


def _terminal(result: Disks) -> list[Table]:
    assert not isinstance(result.terminal, NotApplicable), "shown only where it is"
    return [_amounts("disks-terminal", "Characters of the terminals", result.terminal)]


def _swaps(result: Disks) -> list[Table]:
    assert not isinstance(result.swapping, NotApplicable), "shown only where it is"
    swapping = result.swapping
    more = [("amount of a swap", swapping.size), ("time between swaps", swapping.between)]
    return [_amounts("disks-swaps", "Swapping", swapping.amounts, more)]


def _periods(result: Disks) -> list[Table]:
    queues = () if isinstance(result.queues, NotApplicable) else result.queues
    drives = () if isinstance(result.drives, NotApplicable) else result.drives
    sessions: list[Col[Period]] = (
        [Col("session", lambda period: period.session)] if len(result.sessions) > 1 else []
    )
    table = Table.of(
        result.periods,
        Col("from", lambda period: period.start_s, unit="s"),
        *sessions,
        Col("length", lambda period: period.length_s, unit="s"),
        Col("reads", lambda period: period.reads, unit="1/s"),
        Col("writes", lambda period: period.writes, unit="1/s"),
        Col("hit ratio", lambda period: period.hit_ratio, unit="share"),
        Cols([f"queue, {queue.place}" for queue in queues], lambda period: period.queues),
        Cols([f"busy, {drive.name}" for drive in drives], lambda period: period.utilisations, unit="share"),
        Col("CPU waiting", lambda period: period.waiting, unit="share"),
        name="disks-periods",
        caption="Period by period",
        folded=len(result.periods) > LONG,
    )
    return [_filled(table)]


_TABLES: dict[str, Callable[[Disks], list[Table]]] = {
    "cache": _cache,
    "queue": _queue,
    "drives": _drives,
    "busy": _busy,
    "cpu": _cpu,
    "matrix": _matrix,
    "terminal": _terminal,
    "swaps": _swaps,
    "periods": _periods,
}


def _figures(topic: str, result: Disks) -> list[Figure]:
    if topic == "queue" and not isinstance(result.queues, NotApplicable):
        return _queue_figures(result.queues)
    if topic == "matrix" and not isinstance(result.matrix, NotApplicable):
        return [_states_figure(result.matrix)]
    return []


def _drive_state(name: str) -> str:
    """Drive state in words."""
    return {"none": "no drive busy", "both": "both drives busy"}.get(name, f"{name} busy")


def _longest(queue: Queue) -> int:
    """Number of lengths in a table: up to the last one that occurred."""
    occurred = [length for length, value in enumerate(queue.distribution) if value.value > 0.0]
    return occurred[-1] + 1 if occurred else len(queue.distribution)


def _queue_figures(queues: Sequence[Queue]) -> list[Figure]:
    """Figures of the number of requests, one for each queue; of the fullest where there are many."""
    drawn = [queue for queue in queues if len(queue.distribution) > 1 and queue.mean.best is not None]
    drawn.sort(key=lambda queue: -(queue.mean.best.value if queue.mean.best else 0.0))
    return [_queue_figure(queue, half=len(drawn) > 1) for queue in drawn[:QUEUES_MAX]]


def _queue_figure(queue: Queue, *, half: bool) -> Figure:
    bins = list(enumerate(queue.distribution[: _longest(queue)]))
    names = [str(length) for length, _ in bins]
    if queue.open_ended and len(bins) == len(queue.distribution):
        names[-1] += " and more"
    rows = [
        {
            "low": length - 0.4,
            "high": length + 0.4,
            "value": value.value,
            "least": value.low,
            "most": value.high,
            "shown": f"{names[length]} requests: {_fraction(value)} of the readings",
        }
        for length, value in bins
    ]
    heights = [{"value": value.value, "high": value.high} for _, value in bins]
    most = max(bins, key=lambda item: item[1].value)[0]
    often, never = (shown.quantity(bins[length][1].value, "share") for length in (most, 0))
    none = f"; none in {never}" if most else ""
    mean = "" if queue.mean.best is None else f"; the mean is {shown.estimate(queue.mean.best)}"
    return Figure(
        name=f"disks-queue-{queue.place}",
        title=f"Number of requests at {'the ' if queue.place == 'controller' else ''}{queue.place}",
        chart=partial(
            distributions.histogram,
            rows,
            Axis("requests, in service or waiting", format="d", low=-0.6, high=len(bins) - 0.4),
            Axis.from_zero("share of the readings", heights, format=".0%"),
            "queue",
            "queue",
        ),
        data=Table.of(
            bins,
            Col("requests", lambda item: names[item[0]]),
            Col("share of the readings", lambda item: share(item[1])),
            name=f"disks-lengths-{queue.place}",
            caption=f"Requests at {queue.place}, share of {shown.count(queue.readings, 'reading')}",
        ),
        alt=(
            f"Most often, in {often} of the readings, there were {names[most] if most else 'no'} requests"
            f"{none}{mean}."
        ),
        half=half,
    )


def _states_figure(matrix: StateMatrix) -> Figure:
    """Figure of the states of the CPU by those of the drives."""
    cells = [
        (state, _drive_state(drive), value)
        for state, shares in zip(matrix.cpu, matrix.shares, strict=True)
        for drive, value in zip(matrix.drives, shares, strict=True)
    ]
    rows = [
        {
            "column": drive,
            "line": state,
            "value": value.value,
            "shown": shown.quantity(value.value, "share"),
        }
        for state, drive, value in cells
    ]
    state, drive, most = max(cells, key=lambda cell: cell[2].value)
    return Figure(
        name="disks-states",
        title="State of the CPU while drives are busy",
        chart=partial(wholes.grid, rows, "drives", "CPU", "disk"),
        data=Table.of(
            cells,
            Col("CPU", lambda cell: cell[0]),
            Col("drives", lambda cell: cell[1]),
            Col("share of the ticks", lambda cell: share(cell[2])),
            name="disks-states-data",
            caption=f"Share of {shown.count(matrix.ticks, 'clock tick')}",
        ),
        alt=(
            f"Most often, {shown.quantity(most.value, 'share')} of the clock ticks, the CPU is in state "
            f"{state} with {drive}."
        ),
    )
