"""Does what a command costs depend on the think time? The experiment that gave no result in 1969."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinktime.stats import critical_values
from thinktime.stats.estimate import Estimate
from thinktime.stats.hypothesis import ALPHA
from thinktime.stats.randomisation.power import t_detectable, t_power
from thinktime.studies.estimates import Array, interval
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.sekino_1969.loads import ENOUGH, MULTICS, SCRIPT, column, fact, on_multics

THINK_S = (5, 10, 20, 30, 60, 120)
BEFORE_S = 300.0
"""Time until the first issue that counts."""
ALONE = 1
LOADS = (ALONE, 4, 10, 17)
"""Users: the one who issues the command, and normal users; one is alone, without housekeeping either."""
POWER = 0.8
PLANS = 16
"""Replications, each of them the plan of 1969 once."""
PLANS_MOST = 10_000
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

    asked = [step.demands[MULTICS] for step in scripts.read(SCRIPT).interactions]
    return {name: float(np.mean([_mean(selected[name]) for selected in asked])) for name in asked[0]}


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
    found: float
    """Share of the plans, each tested by itself with the residuals of its own line, that find the trend."""

    @property
    def words(self) -> str:
        """Users, for a reader."""
        return "alone" if self.users == ALONE else f"{self.users} users"

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


def trend(laboratory: Laboratory, users: int, quantity: str) -> Trend:
    """Trend of one quantity at one load, with its test."""
    values = measured(laboratory, users, quantity)
    slopes, found = _lines(values)
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
        found=float(found.mean()),
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
