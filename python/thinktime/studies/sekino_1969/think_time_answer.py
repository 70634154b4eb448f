"""What the experiment on the length of the think time says, why, and what the plan of 1969 could see."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from thinktime.documents import document
from thinktime.documents.document import Cell, Column, Table
from thinktime.stats.estimate import Estimate
from thinktime.stats.hypothesis import ALPHA, holm
from thinktime.studies.cells import Claim, Tolerance
from thinktime.studies.sekino_1969.charts import Point, curves
from thinktime.studies.sekino_1969.machines import Machines, interval
from thinktime.studies.sekino_1969.tables import NAME, PAPER, fact
from thinktime.studies.sekino_1969.think_time import (
    ALONE,
    CPU,
    FAULTS,
    LOADS,
    PLANS_MOST,
    POWER,
    THINK_S,
    UNITS,
    Trend,
    command,
    measured,
    plan,
    trends,
    uncontrolled,
)
from thinktime.studies.study import Chapter

__all__ = ["TABLES", "chapter", "findings"]

TABLES = ("facts",)
SCRIPTS_S = 30
"""Think time of the script."""
FEW = 0.1
"""Part of the trend with others that counts as none."""
PARTS = {
    "run time": "run_per_interaction_s",
    "page faults": "page_fault_s_per_interaction",
    "other faults": "other_fault_s_per_interaction",
}


def chapter(machines: Machines) -> Chapter:
    """Tell what the experiment says when it is done with enough runs, why, and what the plan could see."""
    every = {quantity: trends(machines, quantity) for quantity in UNITS}
    issues = Estimate(
        value=fact("M-F22").value, unit="", n=1, method="issues of each replication at each think time"
    )
    summary = (
        *_answers(every[CPU]),
        *_why(machines, every),
        *_lost(machines),
        *_plan_of_1969(machines, every[CPU]),
    )
    method = (
        f"One command of {1000 * command()['cpu']:.0f} ms of run time and {command()['pages']:.0f} pages, "
        "means of the script, is issued ten times with a period equal to the think time of "
        f"{', '.join(map(str, THINK_S))} s, while the other users type the same command after their own "
        "think times. Each replication does this once. Slopes on "
        "the logarithm of the think time, one a replication, are tested two-sided by Student's t; "
        f"probabilities of all tests are adjusted together (Holm 1979), at a false-alarm rate of {ALPHA:g}."
    )
    return Chapter(
        cells=(PAPER.fact("M-F22", issues, "fitted", Tolerance("digits")),),
        summary=summary,
        charts=tuple(_picture(machines, quantity) for quantity in UNITS),
        tables=(_tests(every), _cells(machines)),
        method=method,
    )


def _adjusted(every: dict[str, list[Trend]]) -> dict[tuple[str, int], float]:
    """Probabilities of all tests together, by quantity and load."""
    tests = [each for own in every.values() for each in own]
    found = holm([each.p for each in tests])
    return {(each.quantity, each.users): float(p) for each, p in zip(tests, found, strict=True)}


def _answers(every: list[Trend]) -> Iterator[str]:
    doublings = math.log2(THINK_S[-1] / THINK_S[0])
    for each in every:
        slope = each.slope
        ends = "" if slope.low is None else f" (95 % interval {slope.low:+.1f} to {slope.high:+.1f})"
        share = 100.0 * slope.value * doublings / each.level if each.level else 0.0
        yield (
            f"{each.words.capitalize()}: CPU time per issue changes by {slope.value:+.1f} ms{ends} with each "
            f"doubling of the think time, {share:+.0f} % from {THINK_S[0]} to {THINK_S[-1]} s."
        )


def _why(machines: Machines, every: dict[str, list[Trend]]) -> Iterator[str]:
    """Say what the added CPU time is made of, where it is largest."""
    most = max(every[CPU], key=lambda each: each.slope.value)
    count = next(each for each in every[FAULTS] if each.users == most.users)
    added = {}
    for name, response in PARTS.items():
        first, last = (
            1000.0 * float(np.nanmean(plan(machines, most.users, think, response)))
            for think in (THINK_S[0], THINK_S[-1])
        )
        added[name] = last - first
    listed = ", ".join(f"{value:+.0f} ms {name}" for name, value in added.items())
    alone = next(each for each in every[FAULTS] if each.users == ALONE)
    yield (
        f"With {most.words}, {listed} are added from {THINK_S[0]} to {THINK_S[-1]} s, and "
        f"{count.slope.value:+.1f} page faults with each doubling; without anybody else, "
        f"{alone.slope.value:+.2f} page faults."
    )
    if count.slope.value > 0.0 and abs(alone.slope.value) < FEW * count.slope.value:
        yield "So it is others who take the pages while the user thinks, and the longer, the more of them."


def _plan_of_1969(machines: Machines, every: list[Trend]) -> Iterator[str]:
    said = [
        f"{each.power(1):.2f} with {each.words} ({100 * each.found:.0f} % of {each.slope.n} such plans did; "
        f"{_enough(each.plans_needed())} for {POWER:g})"
        for each in every
        if each.users != ALONE
    ]
    loads = ", ".join(str(users) for users in LOADS if users != ALONE)
    yield (
        "The plan of 1969, ten issues at each think time, finds the trend with probability "
        f"{'; '.join(said)}. If each think time is tried at another load, by chance one of {loads} users, "
        f"{100 * uncontrolled(machines):.0f} % of the plans find it."
    )


def _enough(plans: int | None) -> str:
    if plans == 1:
        return "one is enough"
    return f"{plans} together are enough" if plans else f"more than {PLANS_MOST} are needed"


def _lost(machines: Machines) -> Iterator[str]:
    """Say how much of what the longest think time costs is lost at that of the script."""
    said = []
    for users in LOADS:
        if users != ALONE:
            means = np.nanmean(measured(machines, users, FAULTS), axis=0)
            part = means[THINK_S.index(SCRIPTS_S)] / means[-1] if means[-1] else 0.0
            said.append(f"{100 * part:.0f} % with {users} users")
    yield (
        f"Of the page faults that a command has with a think time of {THINK_S[-1]} s, it has so many with "
        f"that of the script, {SCRIPTS_S} s: {', '.join(said)}. Where nearly all pages are lost already, "
        "longer think times cost no more."
    )


def _tests(every: dict[str, list[Trend]]) -> Table:
    adjusted = _adjusted(every)
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            f"{quantity}, {each.words}",
            each.slope,
            adjusted[quantity, each.users],
            f"{each.detectable():.2g}",
            f"{each.power(1):.2f}",
            f"{100 * each.found:.0f}",
            str(each.plans_needed() or f"over {PLANS_MOST}"),
        )
        for quantity, own in every.items()
        for each in own
    )
    columns = (
        Column("quantity"),
        Column("slope a doubling, ms or faults", scaled=False),
        Column("p, adjusted", unit="p"),
        Column("least slope found", scaled=False),
        Column("power of the plan of 1969", scaled=False),
        Column("plans that find it, %", scaled=False),
        Column("plans for a power of 0.8", scaled=False),
    )
    caption = "Trend of what an issue costs with the logarithm of the think time"
    note = (
        "Least slope found: by all replications together, with probability 0.8. Plans that find it: each "
        "tested by itself, with the residuals of its own line."
    )
    return Table(name="think-time-tests", caption=caption, columns=columns, rows=rows, notes=(note,))


def _cells(machines: Machines) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for quantity in UNITS:
        for users in LOADS:
            values = measured(machines, users, quantity)
            means = (interval(values[:, at]) for at in range(len(THINK_S)))
            words = "alone" if users == ALONE else f"{users} users"
            rows.append((f"{quantity}, {words}", *means))
    columns = (
        Column("quantity"),
        *(Column(f"{think} s", scaled=False) for think in THINK_S),
    )
    caption = "What an issue of the command costs by think time: CPU time in ms, and page faults"
    return Table(name="think-time-means", caption=caption, columns=columns, rows=tuple(rows), folded=True)


def _picture(machines: Machines, quantity: str) -> document.Figure:
    ours = {}
    for users in LOADS:
        values = measured(machines, users, quantity)
        ours["alone" if users == ALONE else f"{users} users"] = [
            Point(think, interval(values[:, at]), f"{think} s") for at, think in enumerate(THINK_S)
        ]
    said = "; ".join(
        f"{name} from {points[0].y.value:.3g} to {points[-1].y.value:.3g}" for name, points in ours.items()
    )
    unit = f"{quantity}, ms" if quantity == CPU else quantity
    return curves(
        f"think-time-{quantity.replace(' ', '-').lower()}",
        f"{quantity[0].upper()}{quantity[1:]} of a command against think time",
        ("think time", unit),
        ours,
        {},
        f"From {THINK_S[0]} to {THINK_S[-1]} s of think time: {said}.",
        log_x="s",
    )


def findings(machines: Machines) -> Iterator[Claim]:
    """Give the answer of the experiment, and whether ten issues could have given it."""
    every = {quantity: trends(machines, quantity) for quantity in UNITS}
    adjusted = _adjusted(every)
    said = [
        f"{each.words} {each.slope.value:+.1f} ms (p {adjusted[CPU, each.users]:.2g})" for each in every[CPU]
    ]
    others = [each for each in every[CPU] if each.users != ALONE]
    rising = [each for each in others if adjusted[CPU, each.users] < ALPHA and each.slope.value > 0.0]
    yield Claim(
        study=NAME,
        id="think-time-matters",
        source="think-time experiment",
        holds=bool(rising),
        statistic=f"CPU time of an issue with each doubling of the think time: {', '.join(said)}; it "
        f"rises at "
        f"{ALPHA:g}, all tests together, with {', '.join(str(each.users) for each in rising) or 'none'} of "
        f"{', '.join(str(each.users) for each in others)} users",
        text="CPU time of a command depends on the length of the think time (asked, not answered in 1969)",
    )
    powers = {each.words: each.power(1) for each in others}
    yield Claim(
        study=NAME,
        id="think-time-undecided",
        source="think-time experiment",
        holds=any(power < POWER for power in powers.values()),
        statistic=f"probability of finding the trend with ten issues at each think time: "
        f"{', '.join(f'{power:.2f} with {words}' for words, power in powers.items())}; below {POWER:g} "
        f"it may well find nothing; with another load at each think time {uncontrolled(machines):.2f}",
        text="ten issues of the command at each think time need not give a significant result",
    )
