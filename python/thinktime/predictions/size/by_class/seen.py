"""Goals judged by what was measured of each class, for the users of the log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from thinktime.predictions.size.by_class.classes import UserClass
from thinktime.predictions.size.by_class.network import Model, Numbers, alone
from thinktime.predictions.size.fits import TIMES, Ends, Seen, judged, quantity
from thinktime.predictions.size.goals import Goal
from thinktime.stats.estimate import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenMix:
    """The users of a log, who met every goal of time or missed one."""

    numbers: Numbers
    met: bool
    """True if every goal was met for sure, false if one was missed for sure."""
    by: tuple[tuple[str, Seen], ...]
    """What was measured of each class and goal, empty for the machine; only what missed, where one did."""

    def says(self, numbers: Numbers) -> bool | None:
        """True if users meet the goals for sure, false if they miss one for sure; None where it is not known.

        No more users of any class than those of the log wait no longer, and no fewer wait no less.
        """
        if self.met:
            return True if all(users <= self.numbers[name] for name, users in numbers.items()) else None
        return False if all(users >= self.numbers[name] for name, users in numbers.items()) else None


def seen_mix(model: Model) -> SeenMix | None:
    """What was measured of the users of a log, against the goals.

    None where the plan is another, the log has several numbers of users, or their goals were neither met nor
    missed for sure.
    """
    stretches = model.measured.stretches
    numbers = {one.name: one.users for one in model.classes}
    if not model.plan.is_as_measured or len(stretches) != 1 or sum(numbers.values()) != stretches[0].users:
        return None
    found = list(_judged(model))
    missed = tuple((name, seen) for name, seen in found if seen is not None and not seen.met)
    if missed:
        return SeenMix(numbers=numbers, met=False, by=missed)
    met = tuple((name, seen) for name, seen in found if seen is not None)
    return SeenMix(numbers=numbers, met=True, by=met) if met and len(met) == len(found) else None


def _judged(model: Model) -> Iterator[tuple[str, Seen | None]]:
    """Every class and goal that what was measured can judge; None where it was neither met nor missed."""
    measured = model.measured
    for goal in model.goals:
        if goal.kind == "utilisation":
            value = quantity(goal, measured.stretches[0], measured.machine.cpus)
            if value is not None:
                yield "", _seen(goal, measured.peak, value, (goal.limit, goal.limit))
        elif goal.kind in TIMES:
            for at, one in enumerate(model.classes):
                value = _response(goal, one)
                if value is not None:
                    low, high = np.quantile(alone(model, [at]), (0.025, 0.975)).tolist()
                    limit = (goal.limit * low, goal.limit * high) if goal.relative else (goal.limit,) * 2
                    yield one.name, _seen(goal, one.users, value, limit)


def _response(goal: Goal, one: UserClass) -> Estimate | None:
    return one.response if goal.quantile is None else one.quantiles.get(goal.quantile)


def _seen(goal: Goal, users: int, value: Estimate, limit: Ends) -> Seen | None:
    met = judged(goal, value, limit)
    return None if met is None else Seen(goal=goal, users=users, value=value, met=met)
