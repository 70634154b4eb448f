"""Charts of the study, each with its data table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from thinktime.documents import format as shown
from thinktime.documents.charts.axis import Axis
from thinktime.documents.document import Col, Column, Figure, Key, Table
from thinktime.documents.series import Point, Series
from thinktime.stats.estimate import Estimate
from thinktime.studies.swapping_linux.analysis import SwappingStudy, read_again
from thinktime.studies.swapping_linux.data import Configuration

RATIO = Key("ratio model", colour="system", shape="circle")
GENERAL = Key("general model", colour="user", shape="circle")
COLOURS = ("user", "memory", "system", "queue")
"""Of memories, the smallest first."""
MIB = 1 << 20


def predicted_against_measured(study: SwappingStudy) -> Figure:
    """Elapsed time of each configuration that swaps, predicted from the others, against measured."""
    points = []
    for one in study.predicted:
        for key, value in ((RATIO, one.ratio.mean_s), (GENERAL, one.general_s)):
            words = f"{one.measured.words}: {value:.0f} s predicted, {one.elapsed.value:.0f} s measured"
            points.append(Point(key=key, label=one.measured.words, x=one.elapsed.value, y=value, words=words))
    series = Series(points, unit="s", order=(RATIO, GENERAL))
    # Errors are ratios: on logarithms, an error is as far from the line wherever it is.
    both = [
        value for one in study.predicted for value in (one.elapsed.value, one.ratio.mean_s, one.general_s)
    ]
    x, y = (Axis.logarithmic(f"{who} elapsed time", both, symbol="s") for who in ("measured", "predicted"))
    ends = [(end, end) for end in (x.low, x.high) if end is not None]
    ratio, general = study.median_error()
    return Figure(
        name="swapping-predicted",
        title="Elapsed time of each configuration, predicted from the others",
        chart=series.scatter(x, y, ends),
        data=Table.of(
            study.predicted,
            Col("configuration", lambda one: one.measured.words),
            Col("measured", lambda one: one.elapsed),
            Col("ratio model", lambda one: one.ratio.mean_s, unit="s"),
            Col("general model", lambda one: one.general_s, unit="s"),
            name="swapping-predicted-data",
            caption="Elapsed time, measured and predicted",
            folded=True,
        ),
        alt=f"{len(study.predicted)} configurations; on the line, predictions would be right. Half of those "
        f"of the ratio model are off by more than {shown.quantity(ratio, 'share')}, of the general model by "
        f"more than {shown.quantity(general, 'share')}.",
        keys=series.keys,
    )


def elapsed(study: SwappingStudy, size: int) -> Figure:
    """Elapsed time against processes, a line for each memory, with the shortest bursts (Figure 2)."""
    return _against_processes(
        study,
        size,
        name="elapsed",
        title=f"Elapsed time against processes of {size / MIB:g} MiB",
        axis="elapsed time [s]",
        unit="s",
        of=study.measured.elapsed,
    )


def again(study: SwappingStudy, size: int) -> Figure:
    """Share of its image that a process reads again in each interaction, against processes."""
    return _against_processes(
        study,
        size,
        name="read-again",
        title=f"Pages read in an interaction, against processes of {size / MIB:g} MiB",
        axis="pages in, relative to those of a process",
        unit="",
        of=lambda one: read_again(one, study.measured),
    )


def used(study: SwappingStudy, size: int) -> Figure:
    """Use of the busier direction of the device, against processes."""
    return _against_processes(
        study,
        size,
        name="used",
        title=f"Use of the device, against processes of {size / MIB:g} MiB",
        axis="share of what it can write or read",
        unit="share",
        of=lambda one: max(one.mean("read_utilisation"), one.mean("write_utilisation")),
    )


def _against_processes(
    study: SwappingStudy,
    size: int,
    *,
    name: str,
    title: str,
    axis: str,
    unit: str,
    of: Callable[[Configuration], Estimate | float],
) -> Figure:
    found = shortest(study, size)
    memories = sorted({one.memory_bytes for one in found})
    keys = {
        memory: Key(f"{memory / MIB:g} MiB", colour=COLOURS[place % len(COLOURS)], shape="circle")
        for place, memory in enumerate(memories)
    }
    points = [
        Point(key=keys[one.memory_bytes], x=one.processes, label=str(one.processes), y=of(one))
        for one in sorted(found, key=lambda one: (one.memory_bytes, one.processes))
    ]
    series = Series(points, unit=unit)
    named = f"swapping-{name}-{size // MIB or size}"
    said = "; ".join(f"{key.name} {series.course(key, 'processes')}" for key in series.keys)
    return Figure(
        name=named,
        title=title,
        chart=series.curves(Axis("processes"), Axis.from_zero(axis, series.rows())),
        data=series.table(f"{named}-data", title, Column("processes"), folded=True),
        alt=f"With a memory of {said}.",
        keys=series.legend,
        half=True,
    )


def shortest(study: SwappingStudy, size: int) -> Sequence[Configuration]:
    """Configurations of a size with the shortest bursts."""
    least = min(one.burst_ms for one in study.measured.configurations)
    return [
        one
        for one in study.measured.configurations
        if one.size_bytes == size and one.burst_ms == least and one not in study.unsettled
    ]
