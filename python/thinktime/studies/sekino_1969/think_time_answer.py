"""The experiment on the length of the think time: result, reasons, and the power of the plan of 1969."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from thinktime.documents import document
from thinktime.documents.document import Cell, Column, Table
from thinktime.stats.estimate import Estimate
from thinktime.stats.hypothesis import ALPHA, holm
from thinktime.studies.cells import Claim
from thinktime.studies.estimates import interval
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.sekino_1969.charts import Point, curves
from thinktime.studies.sekino_1969.loads import PAPER, fact
from thinktime.studies.sekino_1969.think_time import (
    ALONE,
    CPU,
    FAULTS,
    PLANS_MOST,
    POWER,
    THINK_S,
    UNITS,
    Trend,
    command,
    loads_of,
    measured,
    plan,
    trends,
    uncontrolled,
)
from thinktime.studies.study import Chapter

SCRIPTS_S = 30
"""Think time of the script."""
FEW = 0.1
"""Part of the trend with others that counts as none."""
PARTS = {
    "run time": "run_per_interaction_s",
    "page faults": "page_fault_s_per_interaction",
    "other faults": "other_fault_s_per_interaction",
}


def chapter(laboratory: Laboratory) -> Chapter:
    """Sentences on the result of the experiment with enough runs, its reasons, and the power of the plan."""
    every = {quantity: trends(laboratory, quantity) for quantity in UNITS}
    issues = Estimate(
        value=fact("think-time-question").value,
        n=1,
        method="issues of each replication at each think time",
    )
    summary = (
        *_answers(every[CPU]),
        *_why(laboratory, every),
        *_lost(laboratory),
        *_plan_of_1969(laboratory, every[CPU]),
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
        cells=(PAPER.fact("think-time-question", issues),),
        summary=summary,
        charts=tuple(_picture(laboratory, quantity) for quantity in UNITS),
        tables=(_tests(every), _cells(laboratory)),
        method=method,
    )


def _adjusted(every: dict[str, list[Trend]]) -> dict[tuple[str, int], float]:
    """Probabilities of all tests together, by quantity and load."""
    tests = [item for selected in every.values() for item in selected]
    result = holm([item.p for item in tests])
    return {(item.quantity, item.users): float(p) for item, p in zip(tests, result, strict=True)}


def _answers(every: list[Trend]) -> Iterator[str]:
    doublings = math.log2(THINK_S[-1] / THINK_S[0])
    for item in every:
        slope = item.slope
        ends = "" if slope.low is None else f" (95 % interval {slope.low:+.1f} to {slope.high:+.1f})"
        share = 100.0 * slope.value * doublings / item.level if item.level else 0.0
        yield (
            f"{item.words.capitalize()}: CPU time per issue changes by {slope.value:+.1f} ms{ends} with each "
            f"doubling of the think time, {share:+.0f} % from {THINK_S[0]} to {THINK_S[-1]} s."
        )


def _why(laboratory: Laboratory, every: dict[str, list[Trend]]) -> Iterator[str]:
    """Sentence on the components of the added CPU time, where it is largest."""
    most = max(every[CPU], key=lambda item: item.slope.value)
    count = next(item for item in every[FAULTS] if item.users == most.users)
    added = {}
    for name, response in PARTS.items():
        first, last = (
            1000.0 * float(np.nanmean(plan(laboratory, most.users, think, response)))
            for think in (THINK_S[0], THINK_S[-1])
        )
        added[name] = last - first
    listed = ", ".join(f"{value:+.0f} ms {name}" for name, value in added.items())
    alone = next(item for item in every[FAULTS] if item.users == ALONE)
    yield (
        f"With {most.words}, {listed} are added from {THINK_S[0]} to {THINK_S[-1]} s, and "
        f"{count.slope.value:+.1f} page faults with each doubling; without anybody else, "
        f"{alone.slope.value:+.2f} page faults."
    )
    if count.slope.value > 0.0 and abs(alone.slope.value) < FEW * count.slope.value:
        yield "So it is others who take the pages while the user thinks, and the longer, the more of them."


def _plan_of_1969(laboratory: Laboratory, every: list[Trend]) -> Iterator[str]:
    listed = [
        f"{item.power(1):.2f} with {item.words} ({100 * item.found:.0f} % of {item.slope.n} such plans did; "
        f"{_enough(item.plans_needed())} for {POWER:g})"
        for item in every
        if item.users != ALONE
    ]
    loads = ", ".join(str(users) for users in loads_of(laboratory) if users != ALONE)
    yield (
        "The plan of 1969, ten issues at each think time, finds the trend with probability "
        f"{'; '.join(listed)}. If each think time is tried at another load, by chance one of {loads} users, "
        f"{100 * uncontrolled(laboratory):.0f} % of the plans find it."
    )


def _enough(plans: int | None) -> str:
    if plans == 1:
        return "one is enough"
    return f"{plans} together are enough" if plans else f"more than {PLANS_MOST} are needed"


def _lost(laboratory: Laboratory) -> Iterator[str]:
    """Sentence on the part of the cost of the longest think time that is there at that of the script."""
    listed = []
    for users in loads_of(laboratory):
        if users != ALONE:
            means = np.nanmean(measured(laboratory, users, FAULTS), axis=0)
            part = means[THINK_S.index(SCRIPTS_S)] / means[-1] if means[-1] else 0.0
            listed.append(f"{100 * part:.0f} % with {users} users")
    yield (
        f"Of the page faults that a command has with a think time of {THINK_S[-1]} s, it has so many with "
        f"that of the script, {SCRIPTS_S} s: {', '.join(listed)}. Where nearly all pages are lost already, "
        "longer think times cost no more."
    )


def _tests(every: dict[str, list[Trend]]) -> Table:
    adjusted = _adjusted(every)
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            f"{quantity}, {item.words}",
            item.slope,
            adjusted[quantity, item.users],
            f"{item.detectable():.2g}",
            f"{item.power(1):.2f}",
            f"{100 * item.found:.0f}",
            str(item.plans_needed() or f"over {PLANS_MOST}"),
        )
        for quantity, selected in every.items()
        for item in selected
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


def _cells(laboratory: Laboratory) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for quantity in UNITS:
        for users in loads_of(laboratory):
            values = measured(laboratory, users, quantity)
            means = (interval(values[:, index]) for index in range(len(THINK_S)))
            words = "alone" if users == ALONE else f"{users} users"
            rows.append((f"{quantity}, {words}", *means))
    columns = (
        Column("quantity"),
        *(Column(f"{think} s", scaled=False) for think in THINK_S),
    )
    caption = "What an issue of the command costs by think time: CPU time in ms, and page faults"
    return Table(name="think-time-means", caption=caption, columns=columns, rows=tuple(rows), folded=True)


def _picture(laboratory: Laboratory, quantity: str) -> document.Figure:
    ours = {}
    for users in loads_of(laboratory):
        values = measured(laboratory, users, quantity)
        ours["alone" if users == ALONE else f"{users} users"] = [
            Point(x=think, y=interval(values[:, index]), words=f"{think} s")
            for index, think in enumerate(THINK_S)
        ]
    listed = "; ".join(
        f"{name} from {points[0].y.value:.3g} to {points[-1].y.value:.3g}" for name, points in ours.items()
    )
    unit = f"{quantity}, ms" if quantity == CPU else quantity
    return curves(
        f"think-time-{quantity.replace(' ', '-').lower()}",
        f"{quantity[0].upper()}{quantity[1:]} of a command against think time",
        axes=("think time", unit),
        ours=ours,
        printed={},
        alt=f"From {THINK_S[0]} to {THINK_S[-1]} s of think time: {listed}.",
        log_x="s",
    )


def findings(laboratory: Laboratory) -> Iterator[Claim]:
    """The answer of the experiment, and whether ten issues could have given it."""
    every = {quantity: trends(laboratory, quantity) for quantity in UNITS}
    adjusted = _adjusted(every)
    listed = [
        f"{item.words} {item.slope.value:+.1f} ms (p {adjusted[CPU, item.users]:.2g})" for item in every[CPU]
    ]
    others = [item for item in every[CPU] if item.users != ALONE]
    rising = [item for item in others if adjusted[CPU, item.users] < ALPHA and item.slope.value > 0.0]
    yield PAPER.claim(
        "think-time-matters",
        bool(rising),
        f"CPU time of an issue with each doubling of the think time: {', '.join(listed)}; it "
        f"rises at "
        f"{ALPHA:g}, all tests together, with {', '.join(str(item.users) for item in rising) or 'none'} of "
        f"{', '.join(str(item.users) for item in others)} users",
    )
    powers = {item.words: item.power(1) for item in others}
    yield PAPER.claim(
        "think-time-undecided",
        any(power < POWER for power in powers.values()),
        f"probability of finding the trend with ten issues at each think time: "
        f"{', '.join(f'{power:.2f} with {words}' for words, power in powers.items())}; below {POWER:g} "
        f"it may well find nothing; with another load at each think time {uncontrolled(laboratory):.2f}",
    )
