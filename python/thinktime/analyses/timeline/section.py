"""What happened when: the samples themselves, before any analysis."""

from __future__ import annotations

from functools import partial

from thinktime.analyses.timeline import analysis as timeline
from thinktime.documents import charts
from thinktime.documents import format as shown
from thinktime.documents.document import Column, Figure, Section, Table

__all__ = ["section"]

TITLE = "What happened when?"


def section(data: timeline.Timeline) -> Section:
    """Section of the log's samples."""
    if not data.starts:
        return Section(name="timeline", title=TITLE, summary=(), not_applicable="the log has no samples.")
    series = [item for item in _series(data, data.cpus) if any(value is not None for value in item[3])]
    if not series:
        return Section(
            name="timeline",
            title=TITLE,
            summary=(),
            not_applicable="the samples of this log have no column to draw.",
        )
    span = data.ends[-1] * data.unit.seconds
    table = Table(
        name="timeline-data",
        caption="Means over each stretch of the record, by its start",
        columns=(
            Column(f"start [{data.unit.name}]"),
            *(Column(name, unit=unit) for name, unit, _, _ in series),
        ),
        rows=tuple(
            (round(start, 3), *(values[at] for _, _, _, values in series))
            for at, start in enumerate(data.starts)
        ),
    )
    words = "; ".join(_peak(name, unit, values) for name, unit, _, values in series)
    figure = Figure(
        name="timeline",
        title="Load, CPU, queue, faults and disk over time",
        chart=partial(_chart, data, tuple(series)),
        data=table,
        alt=f"{words}.",
    )
    gaps = len(set(data.segments)) - 1
    caveats = (f"The record has {shown.count(gaps, 'gap')}; nothing is drawn across.",) if gaps else ()
    each = shown.quantity((data.ends[0] - data.starts[0]) * data.unit.seconds, "s")
    sentence = f"The record covers {shown.duration(span)}; each step of the figure is {each}."
    return Section(name="timeline", title=TITLE, summary=(sentence,), figures=(figure,), caveats=caveats)


Item = tuple[str, str, str, tuple[float | None, ...]]
"""Name, unit, colour and values of a series."""


def _series(data: timeline.Timeline, cpus: int | None) -> list[Item]:
    ticks = _sum(data, "user_s", "nice_s", "system_s", "irq_s", "softirq_s")
    busy = data.values["cpu_exact_s"] if data.has("cpu_exact_s") else ticks
    if cpus:
        busy = tuple(None if value is None else value / cpus for value in busy)
    return [
        ("Active users", "user", "users", data.values["active_users"]),
        ("CPU busy", "share" if cpus else "CPU", "user", busy),
        ("Tasks running or waiting for a CPU", "task", "queue", data.values["runnable"]),
        ("Page faults", "fault/s", "memory", _sum(data, "page_faults_minor", "page_faults_major")),
        ("Disk operations", "operation/s", "disk", _sum(data, "disk_reads", "disk_writes")),
    ]


def _sum(data: timeline.Timeline, *names: str) -> tuple[float | None, ...]:
    """Sum of the columns that were measured; None where none was."""
    rows = zip(*(data.values[name] for name in names), strict=True)
    present = ([value for value in row if value is not None] for row in rows)
    return tuple(sum(values) if values else None for values in present)


def _peak(name: str, unit: str, values: tuple[float | None, ...]) -> str:
    measured = [value for value in values if value is not None]
    top, mean = max(measured), sum(measured) / len(measured)
    return f"{name}: mean {shown.quantity(mean, unit)}, highest {shown.quantity(top, unit)}"


def _chart(data: timeline.Timeline, series: tuple[Item, ...]) -> charts.Spec:
    strips = []
    for name, unit, colour, values in series:
        drawn = timeline.Timeline(data.unit, data.starts, data.ends, data.segments, {name: values}).drawn(
            name
        )
        rows = [{**row, "shown": shown.quantity(row["value"], unit)} for row in drawn]
        share = unit == "share"
        title = name if share else f"{name} [{shown.plural(unit)}]"
        strips.append(
            charts.Strip(
                title=title,
                colour=colour,
                rows=rows,
                format=".0%" if share else "~s",
                high=1.0 if share else None,
            )
        )
    return charts.strips(strips, charts.Axis(f"time since the start [{data.unit.name}]"))
