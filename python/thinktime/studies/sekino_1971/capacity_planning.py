"""Capacity planning: the effect of more core, a second processor, or more users."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thinktime.documents import format as shown
from thinktime.documents.charts.axis import Axis
from thinktime.documents.document import Col, Column, Figure, Key, Table
from thinktime.documents.series import Point, Series
from thinktime.stats.estimate import Estimate
from thinktime.studies import charts
from thinktime.studies.estimates import Array, interval
from thinktime.studies.laboratory import Laboratory, Parameters
from thinktime.studies.sekino_1971.configurations import (
    CAPACITY,
    FULL,
    LARGE,
    PERIOD,
    SMALL,
    SYSTEMS,
    compared,
    line,
    value_of,
)
from thinktime.studies.study import Chapter

CORES = (192, 256, 320, 384, 448, 512)
"""Core sizes of the curves, Kwords."""
USERS = (20, 30, 40, 50, 60)
CPUS = (1, 2)
SHORTER: dict[str, Any] = {"length": 1800.0}
"""Length of a replication of a point of a curve [s]."""
THINK_S = 30.0
"""Think time of the script [s]."""
SHADES = ("system", "user", "memory")
"""Colours of the machines of a chart."""
Run = tuple[str, int, Parameters]
"""A point of a curve before it is simulated: name of the machine, x, and parameters."""
ELIGIBLE_PER_KWORD = (LARGE.eligible - SMALL.eligible) / (LARGE.core_kwords - SMALL.core_kwords)
ELIGIBLE_PER_CPU = FULL.eligible - LARGE.eligible


def eligible(cpus: int, core_kwords: int) -> float:
    """Limit of eligible processes: linear in core and processors, through the three of Table 1."""
    core = ELIGIBLE_PER_KWORD * (core_kwords - SMALL.core_kwords)
    return round(SMALL.eligible + core + ELIGIBLE_PER_CPU * (cpus - SMALL.cpus), 2)


def purchase(cpus: int, core_kwords: int) -> dict[str, Any]:
    """Parameters of a machine that could be bought, with the users of the largest configuration."""
    limit = eligible(cpus, core_kwords)
    return {
        **PERIOD,
        **SHORTER,
        "cpus": cpus,
        "core": core_kwords,
        "users": FULL.users,
        "max_eligible": limit,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A quantity that follows from a response of the simulated system."""

    title: str
    """Name and unit."""
    response: str
    of: Callable[[Array, Mapping[str, Any]], Array]
    """Computes it from the values of the response and the parameters."""

    def mean(self, laboratory: Laboratory, parameters: Parameters) -> Estimate:
        """Mean over the replications that have a value; n is 0 where none has."""
        return interval(self._values(laboratory, parameters))

    def gain(self, laboratory: Laboratory, before: Parameters, after: Parameters) -> Estimate:
        """Mean difference on the same work."""
        return interval(self._values(laboratory, after) - self._values(laboratory, before))

    def _values(self, laboratory: Laboratory, parameters: Parameters) -> Array:
        return self.of(compared(laboratory, parameters, self.response), parameters)


def _processors(share: Array, parameters: Mapping[str, Any]) -> Array:
    """Share of each processor, in processors."""
    values: Array = share * int(parameters["cpus"])
    return values


def _without_thinking(throughput: Array, parameters: Mapping[str, Any]) -> Array:
    """Mean time of an interaction by the response time law, N / X - Z."""
    values: Array = int(parameters["users"]) / throughput - THINK_S
    return values


WORK = Quantity(title="useful work, processors", response="useful_share", of=_processors)
RESPONSE = Quantity(
    title="mean response time of light commands, s",
    response="response_light_mean_s",
    of=lambda time, _: time,
)
TAKEN = Quantity(
    title="mean time of an interaction without thinking, s",
    response="interactions_per_s",
    of=_without_thinking,
)
PAGING = Quantity(
    title="mean time between page faults of a processor, ms",
    response="page_fault_between_s",
    of=lambda time, _: 1000.0 * time,
)


def chapter(laboratory: Laboratory) -> Chapter:
    """Comparison of machines that could be bought, and curves by core and by users."""
    by_core = [(_words(cpus), core, purchase(cpus, core)) for cpus in CPUS for core in CORES]
    by_users = [
        (item.words, users, {**item.parameters, **SHORTER, "users": users})
        for item in SYSTEMS.values()
        for users in USERS
    ]

    def curve(name: str, title: str, axis: str, runs: Sequence[Run], quantity: Quantity) -> Figure:
        values = [(machine, x, quantity.mean(laboratory, parameters)) for machine, x, parameters in runs]
        return _curves(name, title, (axis, quantity.title), values)

    core, users = "core, Kwords", "users"
    return Chapter(
        summary=(
            *_by_configuration(laboratory),
            _gains(laboratory),
            "Limits of eligible processes follow core and processors as in Table 1: "
            f"{128 * ELIGIBLE_PER_KWORD:.2f} more for 128 Kwords, {ELIGIBLE_PER_CPU:.2f} for a processor.",
        ),
        charts=(
            curve("work-by-core", f"Useful work by core, {FULL.users} users", core, by_core, WORK),
            curve("paging-by-core", f"Paging by core, {FULL.users} users", core, by_core, PAGING),
            curve("work-by-users", "Useful work by users", users, by_users, WORK),
            curve("time-by-users", "Time of an interaction by users", users, by_users, TAKEN),
            curve("response-by-users", "Response time by users", users, by_users, RESPONSE),
        ),
        tables=(_purchases(laboratory),),
        method=(
            "Means over replications of the same work. The time of an interaction is N / X - Z by the "
            "response time law, with N users, X interactions per second and a think time Z of "
            f"{THINK_S:g} s."
        ),
    )


def _curves(
    name: str, title: str, axes: tuple[str, str], values: Sequence[tuple[str, int, Estimate]]
) -> Figure:
    """Curve of each machine through its values, given as name of the machine, x and value."""
    machines = list(dict.fromkeys(machine for machine, _, _ in values))
    keys = {key.name: key for key in Key.each(machines, SHADES, "line")}
    series = Series(
        [Point(key=keys[machine], x=x, y=value) for machine, x, value in values if value.n],
        order=tuple(keys.values()),
    )
    x_title, y_title = axes
    return charts.curves(
        name,
        title,
        series,
        x=Axis(x_title, ticks=tuple(sorted({float(x) for _, x, _ in values}))),
        y=y_title,
        headings=(Column(x_title, scaled=False), "machine", Column(y_title, scaled=False)),
        alt=f"{'; '.join(f'{key.name} {series.course(key)}' for key in keys.values() if series.of(key))}.",
        half=True,
    )


def _by_configuration(laboratory: Laboratory) -> tuple[str, str]:
    """Useful work of each configuration in processors, simulated and published."""
    listed = []
    for item in SYSTEMS.values():
        ours = WORK.mean(laboratory, item.parameters).value
        printed = line(CAPACITY, item, "useful_work")
        theirs = f"{item.cpus * printed.value / 100.0:.2f} published" if printed else "not published here"
        listed.append(f"{item.words} {ours:.2f} ({theirs})")
    first, last = (WORK.mean(laboratory, item.parameters).value for item in (SMALL, FULL))
    theirs_first, theirs_last = (
        item.cpus * value_of(CAPACITY, item, "useful_work") for item in (SMALL, FULL)
    )
    return (
        f"Useful work in processors, with the users of Table 1: {', '.join(listed)}.",
        f"{FULL.words} does {last / first:.2f} times the work of {SMALL.words}, "
        f"{theirs_last / theirs_first:.2f} times published.",
    )


def _gains(laboratory: Laboratory) -> str:
    """Gain by each purchase, from the smallest machine on."""
    base = purchase(1, SMALL.core_kwords)
    core, processor, both = (
        WORK.gain(laboratory, base, purchase(cpus, core_kwords))
        for cpus, core_kwords in ((1, FULL.core_kwords), (2, SMALL.core_kwords), (2, FULL.core_kwords))
    )
    rest = both.value - core.value - processor.value
    together = "more" if rest > 0.0 else "less"
    return (
        f"With {FULL.users} users {SMALL.words} gains {shown.estimate(core)} processors of useful work by "
        f"{FULL.core_kwords - SMALL.core_kwords} Kwords of core, {shown.estimate(processor)} by a second "
        f"processor and {shown.estimate(both)} by both: {abs(rest):.2f} {together} than the two add up to."
    )


def _words(cpus: int, more: str = "") -> str:
    return f"{cpus} CPU{'s' if cpus > 1 else ''}{more}"


def _purchases(laboratory: Laboratory) -> Table:
    base = purchase(1, SMALL.core_kwords)
    machines = [
        purchase(cpus, core) for cpus in CPUS for core in (SMALL.core_kwords, FULL.core_kwords, CORES[-1])
    ]

    def mean(quantity: Quantity, machine: Parameters) -> Estimate | None:
        value = quantity.mean(laboratory, machine)
        return value if value.n else None

    def gain(quantity: Quantity, machine: Parameters) -> Estimate | None:
        value = None if machine == base else quantity.gain(laboratory, base, machine)
        return value if value and value.n else None

    return Table.of(
        machines,
        Col("machine", lambda machine: _words(machine["cpus"], f", {machine['core']}K")),
        Col("eligible at most", lambda machine: f"{machine['max_eligible']:.2f}", scaled=False),
        Col("useful work, processors", lambda machine: mean(WORK, machine), scaled=False),
        Col("gain", lambda machine: gain(WORK, machine), scaled=False),
        Col("time of an interaction, s", lambda machine: mean(TAKEN, machine), scaled=False),
        Col("change", lambda machine: gain(TAKEN, machine), scaled=False),
        Col("between page faults, ms", lambda machine: mean(PAGING, machine), scaled=False),
        name="purchases",
        caption=f"Machines that could be bought, {FULL.users} users",
        notes=[f"Gain and change against {SMALL.words} on the same work, with 95 % intervals."],
    )
