"""Does what a command costs depend on the think time? The experiment that gave no result in 1969."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinktime.documents import document
from thinktime.documents.document import Col, Cols, Table
from thinktime.stats import critical_values
from thinktime.stats.estimate import Estimate
from thinktime.stats.hypothesis import ALPHA, holm
from thinktime.stats.randomisation.power import t_detectable, t_power
from thinktime.studies.cells import Claim
from thinktime.studies.estimates import Array, interval
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.sekino_1969.charts import curves
from thinktime.studies.sekino_1969.loads import ENOUGH, MULTICS, PAPER, SCRIPT, column, fact, on_multics
from thinktime.studies.study import Chapter

THINK_S = (5, 10, 20, 30, 60, 120)
BEFORE_S = 300.0
"""Time until the first issue that counts."""
ALONE = 1
LOADS = (ALONE, 4, 10, 17)
"""Users: the one who issues the command, and normal users; one is alone, without housekeeping either."""
POWER = 0.8
"""Probability of finding a trend with which a plan counts as enough."""
PLANS = 16
"""Replications, each of them the plan of 1969 once."""
PLANS_MOST = 10_000
"""Repetitions of the plan beyond which their number is not computed."""
DRAWS = 100
"""Of loads for each plan."""
CPU, FAULTS = "CPU time", "page faults"
UNITS = {CPU: "ms", FAULTS: "page faults"}
RESPONSES = {CPU: ("cpu_per_interaction_s", 1000.0), FAULTS: ("page_faults_per_interaction", 1.0)}


def loads_of(laboratory: Laboratory) -> tuple[int, ...]:
    """Numbers of users at which the command is issued."""
    return laboratory.levels(LOADS, (ALONE, 4))


@cache
def command() -> dict[str, float]:
    """Demands of the command on Multics: means over the interactions of the standard script."""
    from thinktime.sources import scripts

    demands = [step.demands[MULTICS] for step in scripts.read(SCRIPT).interactions]
    return {name: float(np.mean([_mean(selected[name]) for selected in demands])) for name in demands[0]}


def _mean(demand: Any) -> float:
    """Mean of a demand that is a number, or a distribution described by its mean."""
    return float(demand["mean"] if isinstance(demand, dict) else demand)


def script(think_s: float) -> dict[str, Any]:
    """Script of one command, issued with a period of its think time, whether its reply is there or not."""
    step = {"command": "command", "types": "command", "think": think_s, "wait": False, MULTICS: command()}
    return {
        "name": f"every {think_s:g} s",
        "description": "one command, issued over and over",
        "commands": {"command": {"heavy": False}},
        "interaction": [step],
    }


def plan(laboratory: Laboratory, users: int, think_s: float, response: str) -> Array:
    """One response of ten issues of the command, of every replication."""
    changes: dict[str, Any] = {
        "script": script(think_s),
        "warm_up": BEFORE_S,
        "length": BEFORE_S + fact("think-time-question").value * think_s,
    }
    count = min(laboratory.settings.replications, PLANS)
    if users == ALONE:
        changes["housekeeping"] = 0
        count = min(count, ENOUGH)
    return column(on_multics(laboratory, users, replications=count, **changes), response)


def measured(laboratory: Laboratory, users: int, quantity: str) -> Array:
    """Figures of each replication (rows) at each think time (columns), ms or page faults."""
    response, factor = RESPONSES[quantity]
    result: Array = factor * np.array([plan(laboratory, users, think, response) for think in THINK_S]).T
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    r"""Straight line of a quantity on the logarithm of the think time.

    Each replication is the experiment of 1969 once, ten issues at each think time, with the same other users:
    its slope is one observation, and the mean slope is tested by Student's t.
    """

    users: int
    quantity: str
    slope: Estimate
    """Per doubling of the think time."""
    deviation: float
    """Standard deviation of the slope of one plan."""
    p: float
    """Probability of a mean slope at least as far from zero if there were no trend."""
    level: float
    """Mean of the quantity at the shortest think time."""
    detected: float
    """Share of the plans, each tested by itself with the residuals of its own line, that find the trend."""

    @property
    def words(self) -> str:
        """Users, for a reader."""
        return _load(self.users)

    def power(self, plans: int) -> float:
        """Probability that `plans` repetitions of the plan of 1969 together find this slope."""
        degrees = plans * len(THINK_S) - 2
        return t_power(self.slope.value, self.deviation, math.sqrt(plans), degrees)

    def plans_needed(self) -> int | None:
        """Repetitions of the plan that find this slope with a probability of 0.8; None beyond any reason."""
        plans = 1
        while plans <= PLANS_MOST and self.power(plans) < POWER:
            plans += 1 if plans < 100 else plans // 10
        return plans if plans <= PLANS_MOST else None

    def detectable(self) -> float:
        """Least slope that all replications together find with a probability of 0.8."""
        return t_detectable(self.deviation, math.sqrt(self.slope.n), self.slope.n - 1, POWER)


def _load(users: int) -> str:
    return "alone" if users == ALONE else f"{users} users"


def trend(laboratory: Laboratory, users: int, quantity: str) -> Trend:
    """Trend of one quantity at one load, with its test."""
    values = measured(laboratory, users, quantity)
    slopes, detected = _lines(values)
    mean = interval(slopes, f"{UNITS[quantity]} a doubling")
    deviation = float(slopes.std(ddof=1))
    error = deviation / math.sqrt(len(slopes))
    p = _p(mean.value, error, len(slopes) - 1)
    return Trend(
        users=users,
        quantity=quantity,
        slope=mean,
        deviation=deviation,
        p=p,
        level=float(np.nanmean(values[:, 0])),
        detected=float(detected.mean()),
    )


def _lines(values: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Slope of each plan (row) by least squares, and whether its own residuals make it significant.

    Plans in which no issue was answered in time at some think time are left out.
    """
    values = values[~np.isnan(values).any(axis=1)]
    x = np.log2(THINK_S)
    x -= x.mean()
    squares = float(x @ x)
    slopes: Array = values @ x / squares
    rest = values - values.mean(axis=1, keepdims=True) - slopes[:, None] * x
    errors = np.sqrt(np.sum(rest**2, axis=1) / (len(x) - 2) / squares)
    reach = critical_values.student_t(1.0 - ALPHA, len(x) - 2)
    return slopes, np.abs(slopes) > reach * errors


def uncontrolled(laboratory: Laboratory) -> float:
    """Share of plans that find the trend of CPU time if each think time is tried at a load by chance."""
    every = np.array([measured(laboratory, users, CPU) for users in loads_of(laboratory) if users != ALONE])
    random = np.random.default_rng(laboratory.settings.seed)
    plans = np.arange(every.shape[1])[:, None]
    shares = []
    for _ in range(DRAWS):
        load = random.integers(len(every), size=every.shape[1:])
        shares.append(_lines(every[load, plans, np.arange(len(THINK_S))])[1].mean())
    return float(np.mean(shares))


def _p(mean: float, error: float, degrees: int) -> float:
    if error <= 0.0:
        return 0.0 if mean else 1.0
    return critical_values.f_tail((mean / error) ** 2, 1.0, degrees)


def trends(laboratory: Laboratory, quantity: str) -> list[Trend]:
    """Trend at each load."""
    return [trend(laboratory, users, quantity) for users in loads_of(laboratory)]


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
        charts=tuple(_chart(laboratory, quantity) for quantity in UNITS),
        tables=(_tests(every), _means(laboratory)),
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
        f"{item.power(1):.2f} with {item.words} ({100 * item.detected:.0f} % of {item.slope.n} such plans "
        f"did; {_enough(item.plans_needed())} for {POWER:g})"
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
        f"Share of the page faults of a command with a think time of {THINK_S[-1]} s that it also has with "
        f"that of the script, {SCRIPTS_S} s: {', '.join(listed)}. Where nearly all pages are lost already, "
        "longer think times cost no more."
    )


def _tests(every: dict[str, list[Trend]]) -> Table:
    adjusted = _adjusted(every)
    return Table.of(
        [(quantity, item) for quantity, selected in every.items() for item in selected],
        Col("quantity", lambda row: f"{row[0]}, {row[1].words}"),
        Col("slope a doubling, ms or faults", lambda row: row[1].slope, scaled=False),
        Col("p, adjusted", lambda row: adjusted[row[0], row[1].users], unit="p"),
        Col("least slope found", lambda row: f"{row[1].detectable():.2g}", scaled=False),
        Col("power of the plan of 1969", lambda row: f"{row[1].power(1):.2f}", scaled=False),
        Col("plans that find it, %", lambda row: f"{100 * row[1].detected:.0f}", scaled=False),
        Col(
            "plans for a power of 0.8",
            lambda row: str(row[1].plans_needed() or f"over {PLANS_MOST}"),
            scaled=False,
        ),
        name="think-time-tests",
        caption="Trend of what an issue costs with the logarithm of the think time",
        notes=[
            "Least slope found: by all replications together, with probability 0.8. Plans that find it: each "
            "tested by itself, with the residuals of its own line."
        ],
    )


def _means(laboratory: Laboratory) -> Table:
    return Table.of(
        [(quantity, users) for quantity in UNITS for users in loads_of(laboratory)],
        Col("quantity", lambda row: f"{row[0]}, {_load(row[1])}"),
        Cols(
            [f"{think} s" for think in THINK_S],
            lambda row: map(interval, measured(laboratory, row[1], row[0]).T),
            scaled=False,
        ),
        name="think-time-means",
        caption="What an issue of the command costs by think time: CPU time in ms, and page faults",
        folded=True,
    )


def _chart(laboratory: Laboratory, quantity: str) -> document.Figure:
    ours = {
        _load(users): [
            (think, interval(values), f"{think} s")
            for think, values in zip(THINK_S, measured(laboratory, users, quantity).T, strict=True)
        ]
        for users in loads_of(laboratory)
    }
    listed = "; ".join(
        f"{name} from {points[0][1].value:.3g} to {points[-1][1].value:.3g}" for name, points in ours.items()
    )
    return curves(
        f"think-time-{quantity.replace(' ', '-').lower()}",
        f"{quantity[0].upper()}{quantity[1:]} of a command against think time",
        axes=("think time", f"{quantity}, ms" if quantity == CPU else quantity),
        ours=ours,
        alt=f"From {THINK_S[0]} to {THINK_S[-1]} s of think time: {listed}.",
        log_x="s",
    )


def claims(laboratory: Laboratory) -> Iterator[Claim]:
    """Claims on the answer of the experiment, and on whether ten issues could have given it."""
    every = {quantity: trends(laboratory, quantity) for quantity in UNITS}
    adjusted = _adjusted(every)
    others = [item for item in every[CPU] if item.users != ALONE]
    yield PAPER.claim(
        "think-time-matters",
        {
            "slopes": [
                f"{item.words} {item.slope.value:+.1f} ms (p {adjusted[CPU, item.users]:.2g})"
                for item in every[CPU]
            ],
            "p_of_rise": {
                item.users: adjusted[CPU, item.users] if item.slope.value > 0.0 else 1.0 for item in others
            },
        },
    )
    powers = {item.words: item.power(1) for item in others}
    yield PAPER.claim(
        "think-time-undecided",
        {
            "powers": [f"{power:.2f} with {words}" for words, power in powers.items()],
            "least": min(powers.values()),
            "uncontrolled": uncontrolled(laboratory),
        },
    )
