"""What the disks did, how many waited for them, and what the CPU did meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from thinktime.analyses.disks import section_figures as iostat_figures
from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Column, Figure, Section, Table
from thinktime.documents.wording import listed, refused, share, whole
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.disks.result import Amount, Compared, Drive, Iostat

__all__ = ["PARTS", "section"]

TITLE = "What do the disks do, and who waits for them?"
NAMED_MAX = 4
"""Drives named in a sentence."""
LONG = 12
"""A table with more rows is folded."""

PARTS: dict[str, str] = {
    "cache": "reads, read-aheads, cache hits, writes",
    "queue": "mean queue length and its distribution",
    "drives": "requests, bytes, access and transfer times of each drive",
    "busy": "utilisation of the drives, of each and of any",
    "cpu": "CPU time by state, and waiting for disks",
    "matrix": "CPU state by drive state",
    "terminal": "characters in and out",
    "swaps": "swaps, and how much was swapped",
    "periods": "the same over time",
}
"""What can be asked for alone."""
SAID = ("busy", "queue", "cpu", "cache", "swaps")
"""Parts that have a sentence, most important first."""
METHOD = (
    "Amounts are differences of counters over measured time. Sampled figures are parts of the clock ticks "
    "(or of the ends of the intervals) that found it so, after the iostat of Brachman (1983); exact ones are "
    "sums of the times themselves. Readings follow their own past: intervals are by batch means over the "
    "sample intervals, over replications by Student's t. The difference is taken interval by interval, so "
    "that what both saw drops out."
)


def section(result: Iostat | NotApplicable, parts: Sequence[str] = ()) -> Section:
    """Section of the disks; `parts` names those of `PARTS` that are wanted, all by default."""
    if isinstance(result, NotApplicable):
        return refused("iostat", TITLE, result)
    wanted = tuple(parts) or tuple(PARTS)
    absent = _absent(result)
    if parts and all(part in absent for part in parts):
        return refused("iostat", TITLE, absent[parts[0]])
    tables = [table for part in wanted if part not in absent for table in _TABLES[part](result)]
    left_out = {PARTS[part]: why for part, why in absent.items() if part in wanted}
    if "cache" in wanted and "cache" not in absent and isinstance(result.hit_ratio, NotApplicable):
        left_out["cache hits"] = result.hit_ratio
    if left_out:
        tables.append(_left_out(left_out))
    return Section(
        name="iostat",
        title=TITLE,
        summary=tuple(
            words
            for part in SAID
            if part in wanted and part not in absent
            for words in _sentences(part, result)
        ),
        tables=tuple(table for table in tables if table.rows),
        figures=tuple(figure for part in wanted if part not in absent for figure in _figures(part, result)),
        caveats=result.caveats,
        method=METHOD,
    )


def _absent(result: Iostat) -> dict[str, NotApplicable]:
    """Find the parts that this log cannot have, and why."""
    found: dict[str, object] = {
        "cache": result.cache,
        "queue": result.queues,
        "drives": result.drives,
        "busy": result.controller if isinstance(result.drives, NotApplicable) else None,
        "cpu": result.cpu,
        "matrix": result.matrix,
        "terminal": result.terminal,
        "swaps": result.swapping,
    }
    return {part: why for part, why in found.items() if isinstance(why, NotApplicable)}


def _left_out(absent: dict[str, NotApplicable]) -> Table:
    columns = (Column("part"), Column("why"), Column("what would help"))
    rows = tuple((part, why.reason, why.remedy) for part, why in absent.items())
    return Table(
        name="iostat-absent", caption="What this log cannot tell", columns=columns, rows=rows, folded=True
    )


def _part(value: Estimate | None) -> str:
    return shown.estimate(share(value)) if value is not None else shown.ABSENT  # type: ignore[arg-type]


def _sentences(part: str, result: Iostat) -> list[str]:
    if part == "busy":
        return _busy_words(result)
    if part == "queue" and not isinstance(result.queues, NotApplicable):
        fullest = max(result.queues, key=lambda queue: queue.mean.best.value if queue.mean.best else 0.0)
        if fullest.mean.best is None:
            return []
        place = fullest.place if fullest.place != "controller" else "the controller"
        empty = f"; none {_part(fullest.distribution[0])} of the time" if fullest.distribution else ""
        return [
            f"On average {shown.estimate(fullest.mean.best)} were at {place}, in service or waiting{empty}."
        ]
    if part == "cpu" and not isinstance(result.cpu, NotApplicable) and result.cpu.waiting is not None:
        part_of_time = _part(result.cpu.waiting)
        if result.cpu.is_hint:
            return [f"The CPU was idle with a disk pending {part_of_time} of the time (iowait, a hint)."]
        return [f"The CPU was idle while a drive was busy {part_of_time} of the time."]
    if part == "cache" and isinstance(result.hit_ratio, Estimate):
        return [f"Of the blocks asked for, {_part(result.hit_ratio)} were found in the cache."]
    if part == "swaps" and not isinstance(result.swapping, NotApplicable) and result.swapping.between:
        return [f"A swap began every {shown.estimate(result.swapping.between)}."]
    return []


def _busy_words(result: Iostat) -> list[str]:
    drives = () if isinstance(result.drives, NotApplicable) else result.drives
    known = [(drive.name, drive.utilisation.best) for drive in drives]
    if not isinstance(result.controller, NotApplicable) and len(drives) != 1:
        known.insert(0, ("any drive", result.controller.best))
    words = [f"{name} {_part(part)}" for name, part in known if part is not None]
    return [f"Busy, of the time: {listed(words[:NAMED_MAX])}."] if words else []


def _amounts(
    name: str, caption: str, amounts: Sequence[Amount], more: Sequence[tuple[Cell, ...]] = ()
) -> Table:
    columns = (Column("what"), Column("mean"), Column("in all"))
    rows = tuple((amount.label, amount.rate, whole(amount.total)) for amount in amounts)
    return Table(name=name, caption=caption, columns=columns, rows=(*rows, *more))


def _cache(result: Iostat) -> list[Table]:
    assert not isinstance(result.cache, NotApplicable), "asked for only where it is"
    ratio = result.hit_ratio
    more: list[tuple[Cell, ...]] = [("hit ratio", share(ratio), None)] if isinstance(ratio, Estimate) else []
    return [_amounts("iostat-cache", "Read and written", result.cache, more)]


def _compared(both: Compared, is_part: bool) -> tuple[Cell, ...]:
    figures = (both.sampled, both.exact, both.difference)
    return tuple(share(figure) if is_part else figure for figure in figures)


def _filled(
    name: str, caption: str, columns: Sequence[Column], rows: Sequence[tuple[Cell, ...]], *notes: str
) -> Table:
    """Table without the columns in which nothing stands."""
    kept = [at for at in range(len(columns)) if at == 0 or any(row[at] is not None for row in rows)]
    shorter = tuple(tuple(row[at] for at in kept) for row in rows)
    return Table(
        name=name, caption=caption, columns=tuple(columns[at] for at in kept), rows=shorter, notes=notes
    )


TWO_WAYS = (Column("sampled"), Column("exact"), Column("sampled less exact"))


def _queue(result: Iostat) -> list[Table]:
    assert not isinstance(result.queues, NotApplicable), "asked for only where it is"
    means = _filled(
        "iostat-queue",
        "Mean number of requests, those in service included",
        (Column("at"), *TWO_WAYS, Column("readings")),
        tuple(
            (queue.place, *_compared(queue.mean, False), queue.readings or None) for queue in result.queues
        ),
    )
    longest = max(map(iostat_figures.longest, result.queues))
    rows = []
    for length in range(longest):
        open_ended = any(
            queue.open_ended and len(queue.distribution) == length + 1 for queue in result.queues
        )
        cells = [
            share(queue.distribution[length]) if length < len(queue.distribution) else None
            for queue in result.queues
        ]
        rows.append((f"{length} and more" if open_ended else str(length), *cells))
    places = tuple(Column(queue.place) for queue in result.queues)
    caption = "How many requests the readings found"
    return [
        means,
        Table(
            name="iostat-lengths", caption=caption, columns=(Column("requests"), *places), rows=tuple(rows)
        ),
    ]


def _drives(result: Iostat) -> list[Table]:
    assert not isinstance(result.drives, NotApplicable), "asked for only where it is"
    columns = (
        Column("drive"),
        Column("requests"),
        Column("reads"),
        Column("writes"),
        Column("requests in all", unit="request"),
        Column("moved"),
        Column("moved in all", unit="byte"),
        Column("with a seek"),
        Column("size of a request"),
        Column("access"),
        Column("access, maker's", unit="s"),
        Column("transfer"),
        Column("transfer, maker's", unit="s"),
        Column("service"),
        Column("issue to completion"),
    )
    rows = [_drive(drive) for drive in result.drives]
    note = "Access: seek and latency. Service: busy time over requests."
    table = _filled("iostat-drives", "What each drive did", columns, rows, note)
    return [table] if len(table.columns) > 1 else []


def _drive(drive: Drive) -> tuple[Cell, ...]:
    maker = drive.maker
    return (
        drive.name,
        drive.requests,
        drive.reads,
        drive.writes,
        whole(drive.requests_total),
        drive.amount,
        drive.amount_total,
        drive.seeks,
        drive.bytes_per_request,
        drive.access,
        None if maker is None else maker.access_s,
        drive.transfer,
        None if maker is None else maker.transfer_s,
        drive.service,
        drive.response,
    )


def _busy(result: Iostat) -> list[Table]:
    rows: list[tuple[Cell, ...]] = []
    if not isinstance(result.controller, NotApplicable):
        rows.append(("any drive", *_compared(result.controller, True)))
    if not isinstance(result.drives, NotApplicable):
        rows += [(drive.name, *_compared(drive.utilisation, True)) for drive in result.drives]
    return [_filled("iostat-busy", "Part of the time busy", (Column("what"), *TWO_WAYS), rows)]


def _cpu(result: Iostat) -> list[Table]:
    assert not isinstance(result.cpu, NotApplicable), "asked for only where it is"
    rows: list[tuple[Cell, ...]] = [
        (state.name, *_compared(state.share, True)) for state in result.cpu.states
    ]
    if result.cpu.waiting is not None:
        words = "idle, a disk pending (a hint)" if result.cpu.is_hint else "idle while a drive was busy"
        rows.append((words, share(result.cpu.waiting), None, None))
    if result.cpu.stalled is not None:
        rows.append(("some task stalled on a disk, of the time", None, share(result.cpu.stalled), None))
    return [_filled("iostat-cpu", "Part of the CPU time", (Column("state"), *TWO_WAYS), rows)]


def _matrix(result: Iostat) -> list[Table]:
    assert not isinstance(result.matrix, NotApplicable), "asked for only where it is"
    found = result.matrix
    columns = (
        Column("CPU"),
        *(Column(iostat_figures.drive_state(name)) for name in found.drives),
        Column("all"),
    )
    rows = tuple(
        (state, *(share(cell) for cell in cells), share(total))
        for state, cells, total in zip(found.cpu, found.shares, found.cpu_totals, strict=True)
    )
    last = ("all", *(share(cell) for cell in found.drive_totals), None)
    caption = f"CPU state by drive state, part of {shown.count(found.ticks, 'clock tick')}"
    return [Table(name="iostat-matrix", caption=caption, columns=columns, rows=(*rows, last))]


def _terminal(result: Iostat) -> list[Table]:
    assert not isinstance(result.terminal, NotApplicable), "asked for only where it is"
    return [_amounts("iostat-terminal", "Characters of the terminals", result.terminal)]


def _swaps(result: Iostat) -> list[Table]:
    assert not isinstance(result.swapping, NotApplicable), "asked for only where it is"
    found = result.swapping
    more = (("amount of a swap", found.size), ("time between swaps", found.between))
    known = [(words, figure, None) for words, figure in more if figure is not None]
    return [_amounts("iostat-swaps", "Swapping", found.amounts, known)]


def _periods(result: Iostat) -> list[Table]:
    queues = () if isinstance(result.queues, NotApplicable) else result.queues
    drives = () if isinstance(result.drives, NotApplicable) else result.drives
    many = len(result.sessions) > 1
    columns = (
        Column("from", unit="s"),
        *([Column("session")] if many else []),
        Column("length", unit="s"),
        Column("reads", unit="1/s"),
        Column("writes", unit="1/s"),
        Column("hit ratio", unit="share"),
        *(Column(f"queue, {queue.place}") for queue in queues),
        *(Column(f"busy, {drive.name}", unit="share") for drive in drives),
        Column("CPU waiting", unit="share"),
    )
    rows = tuple(
        (
            period.start_s,
            *([period.session] if many else []),
            period.length_s,
            period.reads,
            period.writes,
            period.hit_ratio,
            *period.queues,
            *period.utilisations,
            period.waiting,
        )
        for period in result.periods
    )
    table = _filled("iostat-periods", "Period by period", columns, rows)
    return [replace(table, folded=len(rows) > LONG)]


_TABLES: dict[str, Callable[[Iostat], list[Table]]] = {
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


def _figures(part: str, result: Iostat) -> list[Figure]:
    if part == "queue" and not isinstance(result.queues, NotApplicable):
        return iostat_figures.lengths(result.queues)
    if part == "matrix" and not isinstance(result.matrix, NotApplicable):
        return [iostat_figures.states(result.matrix)]
    return []
