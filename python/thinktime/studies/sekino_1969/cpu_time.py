"""CPU time per interaction and its components: Figures 1 to 3, the shares, and the cost of an added fault."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from thinktime.reports import document
from thinktime.reports import format as shown
from thinktime.reports.compared import Figure, Kind, Tolerance
from thinktime.reports.document import Cell, Column, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.sekino_1969.machines import Array, Machines, interval
from thinktime.studies.sekino_1969.pictures import Point, Printed, curves
from thinktime.studies.sekino_1969.recomputed import at_twenty_ms, implied_faults
from thinktime.studies.sekino_1969.tables import PAPER, fact
from thinktime.studies.study import Chapter

__all__ = ["LEAST_USERS", "TABLES", "USERS", "Parts", "added_fault_ms", "chapter", "parts", "run_share"]

TABLES = ("facts",)
USERS = (2, 4, 6, 8, 10, 13, 15, 17, 20)
"""Of Figures 1 to 3."""
LEAST_USERS = 4
"""The run that the paper takes as the minimum."""
FROM_FIGURE_1, SHARE_AT = 17, 20
TIME = Tolerance("relative", 0.10)
SHARE = Tolerance("absolute", 4.0)
COMPONENTS = {
    "CPU time": "cpu_per_interaction_s",
    "run time": "run_per_interaction_s",
    "page faults": "page_fault_s_per_interaction",
    "other faults": "other_fault_s_per_interaction",
}
"""Responses of the simulated system by what Figure 3 draws."""
FAULTS = "page_faults_per_interaction"


@dataclass(frozen=True, slots=True)
class Parts:
    """Figures per interaction of the scripted user, a value a run.

    Parameters
    ----------
    users : int
    times_ms : mapping of str to ndarray
        By component.
    faults : ndarray
        Page faults.
    """

    users: int
    times_ms: dict[str, Array]
    faults: Array

    @property
    def words(self) -> str:
        """What it is the figure of."""
        return f"{self.users} users"


def parts(machines: Machines, users: int, **changes: object) -> Parts:
    """Components of the CPU time per interaction with so many users."""
    times = {name: 1000.0 * machines.values(own, users, **changes) for name, own in COMPONENTS.items()}
    return Parts(users, times, machines.values(FAULTS, users, **changes))


def run_share(machines: Machines, users: int) -> Array:
    """Run time as a part of CPU time in each run, per cent."""
    found = parts(machines, users).times_ms
    share: Array = 100.0 * found["run time"] / found["CPU time"]
    return share


def added_fault_ms(machines: Machines) -> Array:
    """Page-fault time over page faults that more users add, a slope over the loads for each run, ms."""
    every = [parts(machines, users) for users in USERS if users >= LEAST_USERS]
    faults = np.array([each.faults for each in every])
    times = np.array([each.times_ms["page faults"] for each in every])
    off = faults - faults.mean(axis=0)
    slopes: Array = np.sum(off * times, axis=0) / np.sum(off * off, axis=0)
    return slopes


def chapter(machines: Machines) -> Chapter:
    """Figures 1 to 3 and the numbers that the text takes from them."""
    figures = tuple(_facts(machines))
    least, most = (parts(machines, users) for users in (LEAST_USERS, USERS[-1]))
    summary = (
        f"From {least.users} to {most.users} users, CPU time per interaction rises from "
        f"{_mean(least, 'CPU time'):.0f} to {_mean(most, 'CPU time'):.0f} ms and page faults from "
        f"{least.faults.mean():.1f} to {most.faults.mean():.1f}; run time stays at "
        f"{_mean(least, 'run time'):.0f} and {_mean(most, 'run time'):.0f} ms.",
        *(_missed(figure) for figure in figures if figure.verdict == "misses"),
    )
    method = (
        "Means over runs of the script with Student's t; CPU time is what is charged to the scripted user: "
        "run time and the processing of page, segment and gate faults. Fitted: the run at "
        f"{LEAST_USERS} users, CPU time against users, and the time of an added fault. Times agree "
        f"{TIME.words}, shares {SHARE.words} points."
    )
    return Chapter(
        figures,
        summary=summary,
        pictures=tuple(_pictures(machines)),
        tables=(_table(machines),),
        method=method,
    )


def _mean(found: Parts, component: str) -> float:
    return float(found.times_ms[component].mean())


def _facts(machines: Machines) -> Iterator[Figure]:
    least = parts(machines, LEAST_USERS)
    each_ms = least.times_ms["page faults"] / least.faults
    run = np.mean([parts(machines, users).times_ms["run time"] for users in USERS], axis=0)
    high = parts(machines, FROM_FIGURE_1).times_ms["CPU time"]
    known: tuple[tuple[str, Estimate, Kind, Tolerance], ...] = (
        ("M-F08", interval(least.times_ms["CPU time"], "ms"), "fitted", TIME),
        ("M-F09", interval(least.times_ms["page faults"], "ms"), "fitted", TIME),
        ("M-F10", interval(each_ms, "ms"), "fitted", TIME),
        ("M-F13", interval(run, "ms"), "fitted", TIME),
        ("M-F14", interval(added_fault_ms(machines), "ms"), "fitted", TIME),
        ("M-F15", interval(run_share(machines, LEAST_USERS)), "fitted", SHARE),
        ("M-F16", interval(run_share(machines, SHARE_AT)), "fitted", SHARE),
        ("M-F19", interval(high / 1000.0, "s"), "fitted", TIME),
    )
    for name, ours, kind, tolerance in known:
        yield PAPER.fact(name, ours, kind, tolerance)


def _missed(figure: Figure) -> str:
    published = figure.published or 0.0
    return f"Misses: {figure.label}, {shown.number(figure.ours)} for {shown.number(published)}."


def _table(machines: Machines) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for users in USERS:
        found = parts(machines, users)
        times = [interval(values) for values in found.times_ms.values()]
        rows.append((str(users), *times, interval(found.faults), interval(run_share(machines, users))))
    columns = (
        Column("users", scaled=False),
        *(Column(f"{name}, ms", scaled=False) for name in COMPONENTS),
        Column("number of page faults", scaled=False),
        Column("run share, %", scaled=False),
    )
    caption = "CPU time per interaction, its components, and page faults, against users"
    return Table("components", caption, columns, tuple(rows))


def _pictures(machines: Machines) -> Iterator[document.Figure]:
    every = [parts(machines, users) for users in USERS]
    stated = (
        (LEAST_USERS, fact("M-F08").value),
        (FROM_FIGURE_1, 1000.0 * fact("M-F19").value),
        (SHARE_AT, at_twenty_ms()),
    )
    cpu = [Point(each.users, interval(each.times_ms["CPU time"]), each.words) for each in every]
    yield curves(
        "figure-1",
        "CPU time per interaction against users (Figure 1)",
        ("users", "CPU time, ms"),
        {"CPU time": cpu},
        {"stated or implied": [Printed(users, ms, f"{users} users") for users, ms in stated]},
        f"{_ends(cpu, 'ms')}. Diamonds are stated, at {SHARE_AT} users implied by the run share.",
    )
    faults = [Point(each.users, interval(each.faults), each.words) for each in every]
    implied = [Printed(users, implied_faults(ms), f"{users} users") for users, ms in stated]
    yield curves(
        "figure-2",
        "Page faults per interaction against users (Figure 2)",
        ("users", "page faults"),
        {"page faults": faults},
        {"implied": implied},
        f"{_ends(faults, 'page faults')}. Diamonds are what the CPU times imply.",
    )
    yield _against_faults(every, stated)


def _ends(points: list[Point], unit: str) -> str:
    first, last = points[0], points[-1]
    return (
        f"From {shown.number(first.y.value)} {unit} with {first.words} to {shown.number(last.y.value)} "
        f"{unit} with {last.words}"
    )


def _against_faults(every: list[Parts], stated: tuple[tuple[int, float], ...]) -> document.Figure:
    """Draw Figure 3: points by their number of users, components as further curves."""
    ours = {
        name: [Point(float(each.faults.mean()), interval(each.times_ms[name]), each.words) for each in every]
        for name in COMPONENTS
    }
    printed = {
        "CPU time, stated or implied": [
            Printed(implied_faults(ms), ms, f"{users} users") for users, ms in stated
        ],
        "run time, stated": [
            Printed(implied_faults(ms), fact("M-F13").value, f"{users} users") for users, ms in stated
        ],
    }
    return curves(
        "figure-3",
        "CPU time and its components against page faults (Figure 3)",
        ("page faults per interaction", "time per interaction, ms"),
        ours,
        printed,
        f"{_ends(ours['CPU time'], 'ms of CPU time')}; each point is a number of users.",
    )
