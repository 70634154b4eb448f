"""What a buyer asks: what more core, a second processor, or more users do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinktime.documents import charts, document
from thinktime.documents import format as shown
from thinktime.documents.charts import Axis
from thinktime.documents.document import Cell, Column, Key, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.sekino_1971.machine import PERIOD, Machine, interval, parameters_of
from thinktime.studies.sekino_1971.recomputed import known
from thinktime.studies.sekino_1971.tables import CAPACITY, FULL, LARGE, SMALL, SYSTEMS, cell
from thinktime.studies.study import Chapter

__all__ = ["CORES", "USERS", "chapter", "eligible", "machine_of"]

Array = NDArray[np.float64]

CORES = (192, 256, 320, 384, 448, 512)
"""Core sizes of the curves, Kwords."""
USERS = (20, 30, 40, 50, 60)
CPUS = (1, 2)
SHORTER: dict[str, Any] = {"length": 1800.0}
"""Length of a replication of a point of a curve [s]."""
THINK_S = 30.0
"""Think time of the script [s]."""
SHADES = ("system", "user", "memory")
ELIGIBLE_PER_KWORD = (LARGE.eligible - SMALL.eligible) / (LARGE.core_kwords - SMALL.core_kwords)
ELIGIBLE_PER_CPU = FULL.eligible - LARGE.eligible


def eligible(cpus: int, core_kwords: int) -> float:
    """Limit of eligible processes: linear in core and processors, through the three of Table 1."""
    core = ELIGIBLE_PER_KWORD * (core_kwords - SMALL.core_kwords)
    return round(SMALL.eligible + core + ELIGIBLE_PER_CPU * (cpus - SMALL.cpus), 2)


def machine_of(cpus: int, core_kwords: int, users: int) -> dict[str, Any]:
    """Parameters of a machine that could be bought."""
    limit = eligible(cpus, core_kwords)
    own = {"cpus": cpus, "core": core_kwords, "users": users, "max_eligible": limit}
    return PERIOD | SHORTER | own


def chapter(machine: Machine) -> Chapter:
    """Compare what could be bought, and draw what follows from core and from users."""
    by_core = [
        Point(f"{cpus} CPU{'s' if cpus > 1 else ''}", core, machine_of(cpus, core, FULL.users))
        for cpus in CPUS
        for core in CORES
    ]
    by_users = [
        Point(each.words, users, parameters_of(each) | SHORTER | {"users": users})
        for each in SYSTEMS.values()
        for users in USERS
    ]
    summary = (
        *_worth(machine),
        *_bought(machine),
        "Limits of eligible processes follow core and processors as in Table 1: "
        f"{128 * ELIGIBLE_PER_KWORD:.2f} more for 128 Kwords, {ELIGIBLE_PER_CPU:.2f} for a processor.",
    )
    core, users = "core, Kwords", "users"
    pictures = (
        _curve(machine, "work-by-core", f"Useful work by core, {FULL.users} users", by_core, core, WORK),
        _curve(machine, "paging-by-core", f"Paging by core, {FULL.users} users", by_core, core, PAGING),
        _curve(machine, "work-by-users", "Useful work by users", by_users, users, WORK),
        _curve(machine, "time-by-users", "Time of an interaction by users", by_users, users, TAKEN),
        _curve(machine, "response-by-users", "Response time by users", by_users, users, RESPONSE),
    )
    method = (
        "Means over replications of the same work. The time of an interaction is N / X - Z by the response "
        f"time law, with N users, X interactions a second and a think time Z of {THINK_S:g} s."
    )
    return Chapter(summary=summary, pictures=pictures, tables=(_purchases(machine),), method=method)


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a curve: one machine with its load."""

    series: str
    x: int
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Quantity:
    """What a curve shows of a machine.

    Parameters
    ----------
    title : str
        Name and unit.
    response : str
        Of the simulated system, from which it follows.
    work : callable
        Makes it of the values of the response and of the parameters.
    """

    title: str
    response: str
    work: Callable[[Array, Mapping[str, Any]], Array]

    def of(self, machine: Machine, parameters: Mapping[str, Any]) -> Estimate:
        """Mean over the replications that have one; n is 0 where none has."""
        return _mean(self._values(machine, parameters))

    def gain(self, machine: Machine, before: Mapping[str, Any], after: Mapping[str, Any]) -> Estimate:
        """Mean difference on the same work."""
        return _mean(self._values(machine, after) - self._values(machine, before))

    def _values(self, machine: Machine, parameters: Mapping[str, Any]) -> Array:
        return self.work(machine.values(parameters, self.response), parameters)


def _mean(values: Array) -> Estimate:
    known = values[~np.isnan(values)]
    return interval(known) if len(known) else Estimate(value=float("nan"), unit="", n=0, method="none")


def _of_all(share: Array, parameters: Mapping[str, Any]) -> Array:
    """Share of each processor, in processors."""
    found: Array = share * int(parameters["cpus"])
    return found


def _beyond_think(throughput: Array, parameters: Mapping[str, Any]) -> Array:
    """Mean time of an interaction by the response time law, N / X - Z."""
    found: Array = int(parameters["users"]) / throughput - THINK_S
    return found


WORK = Quantity("useful work, processors", "useful_share", _of_all)
RESPONSE = Quantity("mean response time of light commands, s", "response_light_mean_s", lambda time, _: time)
TAKEN = Quantity("mean time of an interaction without thinking, s", "interactions_per_s", _beyond_think)
PAGING = Quantity(
    "mean time between page faults of a processor, ms", "page_fault_between_s", lambda time, _: 1000.0 * time
)


def _worth(machine: Machine) -> tuple[str, ...]:
    """Put useful work of each configuration in processors beside the published one."""
    said = []
    for configuration in SYSTEMS.values():
        ours = WORK.of(machine, parameters_of(configuration)).value
        printed = known(CAPACITY, configuration.name, "useful_work")
        theirs = (
            f"{configuration.cpus * printed.value / 100.0:.2f} published" if printed else "not published here"
        )
        said.append(f"{configuration.words} {ours:.2f} ({theirs})")
    first, last = (WORK.of(machine, parameters_of(each)).value for each in (SMALL, FULL))
    theirs_first, theirs_last = (each.cpus * cell(CAPACITY, each, "useful_work") for each in (SMALL, FULL))
    return (
        f"Useful work in processors, with the users of Table 1: {', '.join(said)}.",
        f"{FULL.words} does {last / first:.2f} times the work of {SMALL.words}, "
        f"{theirs_last / theirs_first:.2f} times published.",
    )


def _bought(machine: Machine) -> tuple[str, ...]:
    """Say what each purchase brings, from the smallest machine on."""
    base = machine_of(1, SMALL.core_kwords, FULL.users)
    core = WORK.gain(machine, base, machine_of(1, FULL.core_kwords, FULL.users))
    processor = WORK.gain(machine, base, machine_of(2, SMALL.core_kwords, FULL.users))
    both = WORK.gain(machine, base, machine_of(2, FULL.core_kwords, FULL.users))
    rest = both.value - core.value - processor.value
    together = "more" if rest > 0.0 else "less"
    return (
        f"With {FULL.users} users {SMALL.words} gains {shown.estimate(core)} processors of useful work by "
        f"{FULL.core_kwords - SMALL.core_kwords} Kwords of core, {shown.estimate(processor)} by a second "
        f"processor and {shown.estimate(both)} by both: {abs(rest):.2f} {together} than the two apart.",
    )


def _purchases(machine: Machine) -> Table:
    base = machine_of(1, SMALL.core_kwords, FULL.users)
    rows: list[tuple[Cell, ...]] = []
    for cpus in CPUS:
        for core in (SMALL.core_kwords, FULL.core_kwords, CORES[-1]):
            own = machine_of(cpus, core, FULL.users)
            gain = None if own == base else WORK.gain(machine, base, own)
            shorter = None if own == base else TAKEN.gain(machine, base, own)
            name = f"{cpus} CPU{'s' if cpus > 1 else ''}, {core}K"
            cells = (WORK.of(machine, own), gain, TAKEN.of(machine, own), shorter, PAGING.of(machine, own))
            shown_cells = (each if each is not None and each.n else None for each in cells)
            rows.append((name, f"{own['max_eligible']:.2f}", *shown_cells))
    columns = (
        Column("machine"),
        Column("eligible at most", scaled=False),
        Column("useful work, processors", scaled=False),
        Column("gain", scaled=False),
        Column("time of an interaction, s", scaled=False),
        Column("change", scaled=False),
        Column("between page faults, ms", scaled=False),
    )
    caption = f"What could be bought, {FULL.users} users"
    note = f"Gain and change against {SMALL.words} on the same work, with 95 % intervals."
    return Table(name="purchases", caption=caption, columns=columns, rows=tuple(rows), notes=(note,))


def _curve(
    machine: Machine, name: str, title: str, points: Sequence[Point], axis: str, quantity: Quantity
) -> document.Figure:
    rows: list[dict[str, Any]] = []
    for point in points:
        value = quantity.of(machine, point.parameters)
        if not value.n:
            continue
        ends = {"value": value.value, "low": value.low, "high": value.high}
        rows.append({"x": point.x, "series": point.series, "shown": shown.estimate(value), **ends})
    names = list(dict.fromkeys(point.series for point in points))
    keys = tuple(
        Key(series, colour=shade, shape="line") for series, shade in zip(names, SHADES, strict=False)
    )
    said = []
    for series in names:
        own = [row for row in rows if row["series"] == series]
        both = ", ".join(f"{row['shown']} at {row['x']}" for row in own[:1] + own[1:][-1:])
        said.append(f"{series} {both or 'none'}")
    columns = (Column(axis, scaled=False), Column("of"), Column(quantity.title, scaled=False))
    data = tuple((f"{row['x']}", str(row["series"]), str(row["shown"])) for row in rows)
    y = Axis.from_zero(quantity.title, rows)
    ticks = tuple(sorted({float(point.x) for point in points}))
    return document.Figure(
        name=name,
        title=title,
        chart=partial(charts.curves, rows, keys, Axis(axis, ticks=ticks), y),
        data=Table(name=f"{name}-data", caption=title, columns=columns, rows=data),
        alt=f"{'; '.join(said)}.",
        keys=keys,
        half=True,
    )
