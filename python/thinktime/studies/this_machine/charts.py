"""Charts of the study: the figures of 1969 for this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from thinktime.analyses.capacity import section as capacity_section
from thinktime.documents import format as shown
from thinktime.documents.charts.axis import Axis
from thinktime.documents.document import Column, Figure, Key
from thinktime.documents.series import Point, Series
from thinktime.documents.wording import users
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.studies.this_machine.analysis import Cost, Level, MachineStudy

if TYPE_CHECKING:
    from thinktime.documents.charts.axis import Chart

PREDICTED = Key("predicted", colour="user", shape="line")
USED = Key("measured, first half", colour="system", shape="circle")
HELD_OUT = Key("measured, second half", colour="queue", shape="circle")
PARTS: tuple[tuple[Key, Callable[[Cost], Estimate | None]], ...] = (
    (Key("CPU time", colour="plain", shape="circle"), lambda cost: cost.cpu),
    (Key("user time", colour="user", shape="circle"), lambda cost: cost.user),
    (Key("page faults", colour="memory", shape="circle"), lambda cost: cost.fault),
    (Key("other system time", colour="system", shape="circle"), lambda cost: cost.other),
)
"""Parts of the CPU time of an interaction, the whole first."""


def responses(study: MachineStudy) -> Figure:
    """Response time against users: the curve of the first half, and what was measured."""
    points = [Point(key=PREDICTED, x=number, label=str(number), y=value) for number, value in study.curve]
    points += [
        Point(
            key=HELD_OUT if level.held_out else USED, x=level.users, label=str(level.users), y=level.response
        )
        for level in study.levels
    ]
    series = Series(points, order=(PREDICTED, USED, HELD_OUT))
    return Figure(
        name="machine-response",
        title="Response time against users, and as predicted from the first half of them",
        chart=series.curves(Axis("users"), Axis.from_zero("mean response time [s]", series.rows())),
        data=series.table("machine-response-data", "Mean response time", "users", folded=True),
        alt=f"Mean response, predicted from the first half: {series.course(PREDICTED, 'users')}; measured in "
        f"the second, of which the model knew nothing: {series.course(HELD_OUT, 'users')}.",
        keys=series.legend,
    )


def throughputs(study: MachineStudy) -> Figure:
    """Interactions per second against users."""
    key = Key("throughput", colour="users", shape="circle")
    return _against_users(
        "throughput",
        "Throughput against users",
        "interactions per second",
        [(key, level, level.throughput) for level in study.levels],
        unit="1/s",
    )


def costs(study: MachineStudy) -> Figure:
    """CPU time of an interaction and its parts against users (Figure 1)."""
    return _against_users(
        "cost",
        "CPU time of an interaction against users",
        "CPU time [s]",
        [
            (key, level, of(level.cost))
            for key, of in PARTS
            for level in study.levels
            if level.cost is not None and of(level.cost) is not None
        ],
        unit="s",
        half=False,
    )


def faults(study: MachineStudy) -> Figure:
    """Page faults of an interaction against users (Figure 2)."""
    key = Key("page faults", colour="memory", shape="circle")
    return _against_users(
        "faults",
        "Page faults of an interaction against users",
        "page faults",
        [(key, level, level.cost.faults) for level in study.levels if level.cost is not None],
    )


def shares(study: MachineStudy) -> Figure | None:
    """What an interaction's CPU time consists of, a bar for each number of users."""
    points = [
        Point(key=key, label=users(str(level.users)), y=max(value.value, 0.0) / level.cost.cpu.value)
        for level in study.levels
        if level.cost is not None and level.cost.other is not None and level.cost.cpu.value > 0.0
        for key, of in PARTS[1:]
        if (value := of(level.cost)) is not None
    ]
    if not points:
        return None
    return _bars(
        "cost-shares", "What the CPU time of an interaction consists of", points, "share of its CPU time"
    )


def capacities(study: MachineStudy) -> Figure | None:
    """CPU capacity by state, a bar for each number of users."""
    points = [
        point
        for level in study.levels
        if not isinstance(level.capacity, NotApplicable)
        for point in capacity_section.shares_of(
            capacity_section.groups(level.capacity), users(str(level.users))
        )
    ]
    return (
        _bars("capacity", "CPU capacity against users", points, "share of all CPU time") if points else None
    )


def _bars(name: str, title: str, points: Sequence[Point], whole: str) -> Figure:
    series = Series(points, unit="share")
    ends = list(dict.fromkeys(point.label for point in points))
    said = [
        f"{label}: "
        + ", ".join(
            f"{point.key.name} {shown.cell(point.y, 'share')}" for point in points if point.label == label
        )
        for label in dict.fromkeys((ends[0], ends[-1]))
    ]
    return Figure(
        name=f"machine-{name}",
        title=title,
        chart=series.bars(whole, filled=True),
        data=series.table(f"machine-{name}-data", title, "users", folded=True),
        alt=f"{'; '.join(said)}.",
        keys=series.keys,
    )


def _against_users(
    name: str,
    title: str,
    axis: str,
    values: Sequence[tuple[Key, Level, Estimate | None]],
    *,
    unit: str = "",
    half: bool = True,
) -> Figure:
    series = Series(
        [Point(key=key, x=level.users, label=str(level.users), y=value) for key, level, value in values],
        unit=unit,
    )
    chart: Chart = series.curves(Axis("users"), Axis.from_zero(axis, series.rows()))
    said = "; ".join(f"{key.name} {series.course(key, 'users')}" for key in series.keys if series.of(key))
    return Figure(
        name=f"machine-{name}",
        title=title,
        chart=chart,
        data=series.table(f"machine-{name}-data", title, Column("users"), folded=True),
        alt=f"{said[:1].upper()}{said[1:]}.",
        keys=series.legend,
        half=half,
    )
