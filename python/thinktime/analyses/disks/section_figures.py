"""Pictures of the disks: how many wait, and what the CPU does while drives are busy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from thinktime.documents import charts, grids
from thinktime.documents import format as shown
from thinktime.documents.document import Column, Figure, Table
from thinktime.documents.wording import share

if TYPE_CHECKING:
    from thinktime.analyses.disks.result import Queue, StateMatrix

__all__ = ["drive_state", "lengths", "longest", "states"]

QUEUES_MAX = 4
"""Distributions that are drawn; the table has all."""
DRIVE_STATES = {"none": "no drive busy", "both": "both drives busy"}


def drive_state(name: str) -> str:
    """Write a drive state in words."""
    return DRIVE_STATES.get(name, f"{name} busy")


def longest(queue: Queue) -> int:
    """Count the lengths that stand in a table: up to the last one that was found."""
    found = [length for length, part in enumerate(queue.distribution) if part.value > 0.0]
    return found[-1] + 1 if found else len(queue.distribution)


def lengths(queues: Sequence[Queue]) -> list[Figure]:
    """Draw how many requests were found, a figure a queue; the fullest where there are many."""
    drawn = [queue for queue in queues if len(queue.distribution) > 1 and queue.mean.best is not None]
    drawn.sort(key=lambda queue: -(queue.mean.best.value if queue.mean.best else 0.0))
    return [_lengths(queue, len(drawn) > 1) for queue in drawn[:QUEUES_MAX]]


def _lengths(queue: Queue, half: bool) -> Figure:
    parts = queue.distribution[: longest(queue)]
    names = [str(length) for length in range(len(parts))]
    if queue.open_ended and len(parts) == len(queue.distribution):
        names[-1] += " and more"
    rows = [
        {
            "low": length - 0.4,
            "high": length + 0.4,
            "value": part.value,
            "least": part.low,
            "most": part.high,
            "shown": f"{name} requests: {shown.cell(share(part))} of the readings",
        }
        for length, (name, part) in enumerate(zip(names, parts, strict=True))
    ]
    table = Table(
        name=f"iostat-lengths-{queue.place}",
        caption=f"Requests at {queue.place}, part of {shown.count(queue.readings, 'reading')}",
        columns=(Column("requests"), Column("part of the readings")),
        rows=tuple((name, share(part)) for name, part in zip(names, parts, strict=True)),
    )
    most = max(range(len(parts)), key=lambda length: parts[length].value)
    mean = "" if queue.mean.best is None else f"; the mean is {shown.estimate(queue.mean.best)}"
    often = shown.quantity(parts[most].value, "share")
    none = f"; none in {shown.quantity(parts[0].value, 'share')}" if most else ""
    number = names[most] if most else "no"
    alt = f"Most often, in {often} of the readings, there were {number} requests{none}{mean}."
    x = charts.Axis("requests, in service or waiting", format="d", low=-0.6, high=len(parts) - 0.4)
    heights = [{"value": part.value, "high": part.high} for part in parts]
    y = charts.Axis.from_zero("part of the readings", heights, format=".0%")
    title = f"How many requests are at {'the ' if queue.place == 'controller' else ''}{queue.place}"
    chart = partial(charts.histogram, rows, x, y, "queue", "queue")
    return Figure(
        name=f"iostat-queue-{queue.place}", title=title, chart=chart, data=table, alt=alt, half=half
    )


def states(matrix: StateMatrix) -> Figure:
    """Draw the states of the CPU by those of the drives."""
    rows = [
        {
            "column": drive_state(drive),
            "line": state,
            "value": cell.value,
            "shown": shown.quantity(cell.value, "share"),
        }
        for state, cells in zip(matrix.cpu, matrix.shares, strict=True)
        for drive, cell in zip(matrix.drives, cells, strict=True)
    ]
    table = Table(
        name="iostat-states-data",
        caption=f"Part of {shown.count(matrix.ticks, 'clock tick')}",
        columns=(Column("CPU"), Column("drives"), Column("part of the ticks")),
        rows=tuple(
            (state, drive_state(drive), share(cell))
            for state, cells in zip(matrix.cpu, matrix.shares, strict=True)
            for drive, cell in zip(matrix.drives, cells, strict=True)
        ),
    )
    most = max(rows, key=lambda row: float(str(row["value"])))
    alt = (
        f"Most often, {most['shown']} of the clock ticks, the CPU is in state {most['line']} with "
        f"{most['column']}."
    )
    chart = partial(grids.grid, rows, "drives", "CPU", "disk")
    return Figure(
        name="iostat-states",
        title="What the CPU does while drives are busy",
        chart=chart,
        data=table,
        alt=alt,
    )
