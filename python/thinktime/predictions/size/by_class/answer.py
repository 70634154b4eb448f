"""Numbers of users by class: responses of each class, whether goals are met, and how many of each fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from thinktime.errors import InputError
from thinktime.models.sizing import ENDS, Fit, Machine
from thinktime.predictions.size.answer import NEAR, RESERVE, Plan
from thinktime.predictions.size.by_class.classes import UserClass
from thinktime.predictions.size.by_class.network import (
    DRAWS,
    SEED,
    Model,
    Numbers,
    Solved,
    alone,
    drawn,
    estimate,
    means,
    simulated,
)
from thinktime.predictions.size.by_class.seen import SeenMix, seen_mix
from thinktime.predictions.size.fits import TIMES
from thinktime.predictions.size.goals import Goal
from thinktime.predictions.size.measured import Measured
from thinktime.stats.estimate import Estimate

Array = NDArray[np.float64]

DRAWS_OF_LIMIT = 15
"""Combinations of the unknown quantities for which the largest number that fits is looked for."""
USERS_MOST = 500
"""Most users of a class that are looked at."""
LIKELY = 0.5
"""Share of the draws from which a goal counts as met."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfClass:
    """Prediction for one class in a mix."""

    name: str
    users: int
    response: Estimate
    p90: Estimate
    throughput: Estimate
    cpu_share: float
    """Of the users' CPU time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixed:
    """Prediction for users of several classes."""

    numbers: Numbers
    change: str
    """Difference from the mix that was asked for, in words; empty for that mix."""
    classes: tuple[OfClass, ...]
    """Of the classes with users."""
    utilisation: Estimate
    memory: Estimate | None
    """Probability that the memory suffices."""
    met: float
    """Share of the draws in which every goal is met; of those in which goals that are not of time are, where
    those of time were measured to be met, and 0 where one was measured to be missed."""
    first: str
    """What runs short first: ``cpu``, ``rest`` or ``memory``."""
    heaviest: str
    """Class with most of the users' CPU time."""
    model_met: float
    """As `met`, by the model alone."""
    refuted: SeenMix | None
    """What was measured against the model, where it says otherwise than `met`."""

    @property
    def fits(self) -> bool:
        """True if it is more likely than not that every goal is met."""
        return self.met >= LIKELY

    @property
    def agrees(self) -> bool:
        """True if the model holds what was measured for possible."""
        return self.refuted is None or ENDS[0] < self.model_met < ENDS[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class More:
    """Most users of one class who fit with the others as they are."""

    name: str
    users: Estimate | None
    """None where all that were looked at fit, or where only what was measured is known:"""
    at_least: int | None = None
    """users who were measured to fit, where the model says fewer; None where it does not,"""
    at_most: int | None = None
    """and one fewer than were measured not to fit, where the model says more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """Answer for one plan."""

    plan: Plan
    mix: Mixed
    more: tuple[More, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeByClass:
    """Answer for numbers of users by class."""

    measured: Measured
    classes: tuple[UserClass, ...]
    machine: Machine
    goals: tuple[Goal, ...]
    mixes: tuple[Mixed, ...]
    """The first is that which was asked for; then without each class, and with twice as many of it."""
    more: tuple[More, ...]
    plans: tuple[Planned, ...]
    """The plan that was asked for, then its variants; empty without variants."""
    checked: tuple[OfClass, ...]
    """Prediction for the numbers of users in the log."""


@dataclass(frozen=True, slots=True)
class _Shared:
    """What plans with other memories have in common."""

    solved: dict[tuple[Plan, object], tuple[Solved, dict[float, Array]]]
    """Means, and percentiles over them, by plan and users."""
    reached: dict[tuple[Plan, object], Array]
    """Most users of a class who meet the goals of time, by draw."""


class Question:
    r"""What is asked of a measurement by class; what several numbers of users share is computed once.

    A closed network with one class for each class of users, background load as an open one: exact up to
    `network.EXACT_MOST` populations (Baskett, Chandy, Muntz and Palacios 1975), beyond by the
    linearizer. The work of a class is that of all interactions of the log times the ratio of its means to
    theirs,

    .. math:: D_c = D \, \frac{\bar s_c}{\bar s},

    with the errors of both. Percentiles are those of a simulation with the CPU times of each class. Every
    class must meet the goals of responses.

    Parameters
    ----------
    measured : Measured
    fitted : Fit
        Work of all interactions.
    classes : tuple of UserClass
    plan : Plan
        Machine and changes of the work.
    goals : sequence of Goal
    """

    def __init__(
        self,
        measured: Measured,
        fitted: Fit,
        classes: tuple[UserClass, ...],
        plan: Plan,
        goals: Sequence[Goal],
        *,
        shared: _Shared | None = None,
    ) -> None:
        plan = plan.on(measured.machine)
        self.measured, self.classes, self.goals = measured, classes, tuple(goals)
        self._fitted, self.plan = fitted, plan
        self._model = Model.of(measured, fitted, classes, plan, goals)
        self._seen = seen_mix(self._model)
        self._more: dict[tuple[object, ...], More] = {}
        self._shared = _Shared({}, {}) if shared is None else shared

    @property
    def machine(self) -> Machine:
        """Machine to predict for."""
        return self._model.machine

    @property
    def memory_bytes(self) -> float | None:
        """Memory of the machine; None where it is not known."""
        held = self.measured.memory
        return self.plan.memory_bytes or (held.total_bytes if held else None)

    def under(self, plan: Plan) -> Question:
        """The same for another plan."""
        return Question(self.measured, self._fitted, self.classes, plan, self.goals, shared=self._shared)

    def alone_s(self, name: str) -> float:
        """Mean response of a user of a class alone on the machine [s]."""
        return float(np.median(alone(self._model, [self._place(name)])))

    def knee(self, numbers: Numbers, name: str) -> float:
        r"""Users of a class at the knee, with the others as they are; 0 where these reach it alone.

        .. math:: N_c^* = \frac{C - \sum_{o \ne c} x_o D_o}{x_c D_c}, \quad x_c = \frac{1}{Z_c + R_c}

        with the capacity C of the CPUs or of what serves one at a time, and responses R of users alone.
        """
        machine, at = self.machine, self._place(name)
        places = list(range(len(self.classes)))
        each = 1.0 / (
            np.stack([one.think_s for one in self._model.works], axis=1) + alone(self._model, places)
        )
        users = np.array([0 if one.name == name else numbers[one.name] for one in self.classes])
        knees = np.full(len(each), np.inf)
        for quantity, capacity in (
            ("cpu_s", machine.cpus * machine.cpu_speed - machine.background),
            ("serial_s", machine.serial_speed),
        ):
            rate = each * np.stack([getattr(one, quantity) for one in self._model.works], axis=1)
            with np.errstate(divide="ignore"):
                knees = np.minimum(knees, (capacity - rate @ users) / rate[:, at])
        return max(float(np.median(knees)), 0.0)

    def in_memory(self, numbers: Numbers, name: str) -> int | None:
        """Most users of a class for whom memory suffices with the others as they are; None for all."""
        most = _most_in_memory(self._model, numbers, name)
        return None if most >= USERS_MOST else most

    def _place(self, name: str) -> int:
        return [one.name for one in self.classes].index(name)

    def answer(
        self,
        numbers: Numbers,
        variants: Sequence[Plan] = (),
        show: Callable[[float], None] | None = None,
    ) -> SizeByClass:
        """Answer for numbers of users by class, and for variants of the plan; `show` gets those answered.

        Raises
        ------
        InputError
            A class is not in the log, there are no users, or too many.
        """
        _check(self.classes, numbers)
        full = {one.name: numbers.get(one.name, 0) for one in self.classes}
        asked = [("", full)]
        for name, users in full.items():
            if users and len([one for one in full.values() if one]) > 1:
                asked.append((f"without {name}", full | {name: 0}))
            if 0 < users <= USERS_MOST // 2:
                asked.append((f"twice as many {name}", full | {name: 2 * users}))
        # Before anything is computed: a wrong plan is refused at once.
        changed = [(plan, changed_numbers(plan, full)) for plan in variants]
        for plan in variants:
            plan.scheduler.station(plan.machine(self.measured.machine).cpus)
        mixes = tuple(self.mixed(mix, change) for change, mix in asked)
        more = self.more(full)
        plans = [Planned(plan=self.plan, mix=mixes[0], more=more)] if changed else []
        for plan, mix in changed:
            other = self.under(plan)
            plans.append(Planned(plan=plan, mix=other.mixed(mix), more=other.more(mix)))
            if show is not None:
                show(len(plans) - 1)
        return SizeByClass(
            measured=self.measured,
            classes=self.classes,
            machine=self.machine,
            goals=self.goals,
            mixes=mixes,
            more=more,
            plans=tuple(plans),
            checked=self.under(Plan()).mixed({one.name: one.users for one in self.classes}).classes,
        )

    def mixed(self, numbers: Numbers, change: str = "") -> Mixed:
        """Prediction for numbers of users of every class."""
        key = (self._timed, tuple(numbers.items()))
        if key not in self._shared.solved:
            places, users = self._model.present(numbers)
            self._shared.solved[key] = (
                means(self._model, numbers),
                _ratios(self._model, places, users),
            )
        return _mixed(self._model, numbers, change, self._shared.solved[key], self._seen)

    @property
    def _timed(self) -> Plan:
        """The plan without what does not change times: its memory."""
        return replace(self.plan, memory_bytes=None, swap_speed=None)

    def more(self, numbers: Numbers) -> tuple[More, ...]:
        """Most users of each class who fit with the others as they are."""
        found = []
        # The percentiles are those with the users of the class as they are; means do not depend on these.
        own = any(goal.quantile is not None for goal in self.goals)
        for name in numbers:
            key = (name, *(users for other, users in numbers.items() if own or other != name))
            if key not in self._more:
                known = (self._timed, key)
                if known not in self._shared.reached:
                    self._shared.reached[known] = _reached(self._model, numbers, name)
                self._more[key] = _more(self._model, numbers, name, self._shared.reached[known], self._seen)
            found.append(self._more[key])
        return tuple(found)


def mean_responses(
    measured: Measured, fitted: Fit, classes: tuple[UserClass, ...], plan: Plan, numbers: Numbers
) -> dict[str, Estimate]:
    """Mean response of each class that has users, without the rest of an answer.

    Raises
    ------
    InputError
        As `Question.answer`.
    """
    _check(classes, numbers)
    model = Model.of(measured, fitted, classes, plan, ())
    places, _ = model.present({one.name: numbers.get(one.name, 0) for one in classes})
    response = means(model, {one.name: numbers.get(one.name, 0) for one in classes}).response
    return {classes[at].name: estimate(response[:, row], "s", classes[at].n) for row, at in enumerate(places)}


def _check(classes: Sequence[UserClass], numbers: Numbers) -> None:
    names = [one.name for one in classes]
    for name, users in numbers.items():
        if name not in names:
            raise InputError(f"--users {name}={users}: the log has no such class; it has {', '.join(names)}")
        if users > USERS_MOST:
            raise InputError(f"--users {name}={users}: give at most {USERS_MOST} of a class")
    if not any(numbers.values()):
        raise InputError("--users: all classes have 0 users; give one or more to one of them")


def changed_numbers(plan: Plan, numbers: Numbers) -> Numbers:
    """Users of each class under a plan that changes them.

    Raises
    ------
    InputError
        A class is not in the log, or there are no users, or too many.
    """
    found = dict(numbers)
    changes: list[tuple[str, str, Callable[[int], int]]] = [
        (f"class:{name}", name, partial(_times, factor)) for name, factor in plan.mix
    ]
    for one in plan.own:
        if one.users is None:
            changes.append((f"change of {one.name}", one.name, int))
        else:
            changes.append((f"users:{one.name}", one.name, partial(_instead, one.users)))
    for item, name, change in changes:
        if name not in found:
            raise InputError(f"--what-if: {item}: the log has no such class; it has {', '.join(found)}")
        found[name] = change(found[name])
        if found[name] > USERS_MOST:
            raise InputError(
                f"--what-if: {item}: gives {found[name]} users; give at most {USERS_MOST} of a class"
            )
    if not any(found.values()):
        raise InputError("--what-if: no users are left in any class; leave one or more")
    return found


def _times(factor: float, users: int) -> int:
    return math.floor(factor * users + 0.5)


def _instead(number: int, _: int) -> int:
    return number


def _mixed(
    model: Model,
    numbers: Numbers,
    change: str,
    solution: tuple[Solved, dict[float, Array]],
    seen: SeenMix | None,
) -> Mixed:
    places, users = model.present(numbers)
    found, ratios = solution
    response, throughput, busy, serial = found.response, found.throughput, found.utilisation, found.serial
    demands = np.stack([model.works[at].cpu_s for at in places], axis=1)
    shares = np.median(throughput * demands / (throughput * demands).sum(axis=1)[:, None], axis=0)
    memory = _enough(model, numbers)
    met, else_met = np.ones(len(response), dtype=bool), np.ones(len(response), dtype=bool)
    for goal in model.goals:
        meets = _meets(goal, model, places, found, (ratios, memory))
        met &= meets
        if goal.kind not in TIMES:
            else_met &= meets
    model_met = float(met.mean())
    says = None if seen is None else seen.says(numbers)
    as_seen = {True: float(else_met.mean()), False: 0.0, None: model_met}[says]
    refuted = (as_seen >= LIKELY) != (model_met >= LIKELY)
    classes = tuple(
        OfClass(
            name=model.classes[at].name,
            users=users[row],
            response=estimate(response[:, row], "s", model.classes[at].n),
            p90=estimate(response[:, row] * ratios[0.9][row], "s", model.classes[at].n),
            throughput=estimate(throughput[:, row], "1/s", model.classes[at].n),
            cpu_share=float(shares[row]),
        )
        for row, at in enumerate(places)
    )
    short = memory is not None and float(np.median(memory)) < 0.5
    cpu_first = float(np.median(busy)) >= float(np.median(serial))
    return Mixed(
        numbers=dict(numbers),
        change=change,
        classes=classes,
        utilisation=estimate(busy, "share", model.measured.n),
        memory=None if memory is None else estimate(memory, "share", model.measured.n),
        met=as_seen if refuted else model_met,
        model_met=model_met,
        refuted=seen if refuted else None,
        first="memory" if short else "cpu" if cpu_first or float(np.median(busy)) >= NEAR else "rest",
        heaviest=max(classes, key=lambda one: one.cpu_share).name,
    )


def _ratios(model: Model, places: Sequence[int], users: Sequence[int]) -> dict[float, Array]:
    """Percentiles of the responses of each class over their means, by simulation of the middle draw."""
    return simulated(model, places, users, model.plan.scheduler).ratios


def _enough(model: Model, numbers: Numbers) -> Array | None:
    """Probability that the memory suffices, by draw; None where the memory of a class is not known.

    The sum over users is normal: means and variances of the classes add.
    """
    from scipy.special import ndtr

    held = model.measured.memory
    wanted = [one for one in model.classes if numbers[one.name]]
    if held is None or any(one.memory is None for one in wanted):
        return None
    random = np.random.default_rng([SEED, 1])
    there = (model.plan.memory_bytes or held.total_bytes) * (1.0 - RESERVE) - held.base_bytes
    mean, variance = np.zeros(DRAWS), 0.0
    for one in wanted:
        assert one.memory is not None
        factor = model.memory_of(one.name)
        mean += numbers[one.name] * factor * drawn(one.memory, random)
        variance += numbers[one.name] * (one.memory_sd_bytes * factor) ** 2
    result: Array = ndtr((there - mean) / max(variance, 1.0) ** 0.5)
    return result


def _meets(
    goal: Goal,
    model: Model,
    places: Sequence[int],
    found: Solved,
    others: tuple[dict[float, Array], Array | None],
) -> NDArray[np.bool_]:
    """Whether each draw meets a goal; goals of responses for every class with users, at these places."""
    (response, throughput, busy), (ratios, memory) = (
        (found.response, found.throughput, found.utilisation),
        others,
    )
    every = np.ones(len(response), dtype=bool)
    if goal.kind == "memory":
        return every if memory is None else memory >= goal.limit
    if goal.kind == "utilisation":
        return np.asarray(busy <= goal.limit)
    if goal.kind == "throughput":
        return np.asarray(throughput.sum(axis=1) >= goal.limit)
    value = response if goal.quantile is None else response * ratios[goal.quantile]
    if not goal.relative:
        return np.asarray((value <= goal.limit).all(axis=1))
    return np.asarray((value <= goal.limit * alone(model, places)).all(axis=1))


def _reached(model: Model, numbers: Numbers, name: str) -> Array:
    """Most users of a class with whom the goals of time are met, by draw: they are met up to a number."""
    ratios: dict[float, Array] = {}
    if any(goal.quantile is not None for goal in model.goals):
        places, users = model.present({**numbers, name: max(numbers[name], 1)})
        ratios = _ratios(model, places, users)
    # All draws at once for each number that any of them asks for: most ask for the same.
    few = replace(
        model,
        works=tuple(one.first(DRAWS_OF_LIMIT) for one in model.works),
        errors=model.errors[:DRAWS_OF_LIMIT],
    )

    @cache
    def meets(count: int) -> list[bool]:
        result: list[bool] = _timely(few, {**numbers, name: count}, ratios).tolist()
        return result

    def of_draw(draw: int, count: int) -> bool:
        return meets(count)[draw]

    return np.array([_largest(partial(of_draw, draw)) for draw in range(len(few.errors))])


def _more(model: Model, numbers: Numbers, name: str, reached: Array, seen: SeenMix | None) -> More:
    """Most users of one class who fit with the others as they are, not refuted by what was measured."""
    memory = _most_in_memory(model, numbers, name)
    if seen is not None and seen.says({**numbers, name: seen.numbers[name]}) is not None:
        measured = seen.numbers[name]
        middle = float(np.quantile(reached, ENDS[1], method="inverted_cdf"))
        if (middle < measured) if seen.met else (middle >= measured):
            agreeing = reached[(reached >= measured) == seen.met]
            if not len(agreeing):
                at_least = min(measured, memory) if seen.met else None
                at_most = None if seen.met else min(measured - 1, memory)
                return More(name=name, users=None, at_least=at_least, at_most=at_most)
            reached = agreeing
    found = np.minimum(reached, memory)
    low, middle, high = np.quantile(found, ENDS, method="inverted_cdf")
    if middle >= USERS_MOST:
        return More(name=name, users=None)
    return More(
        name=name,
        users=Estimate(
            value=float(middle),
            unit="user",
            low=float(low),
            high=None if high >= USERS_MOST else float(high),
            n=DRAWS_OF_LIMIT,
            method="largest number that meets the goals, over draws",
        ),
    )


def _most_in_memory(model: Model, numbers: Numbers, name: str) -> int:
    limits = [goal.limit for goal in model.goals if goal.kind == "memory"]
    low, high = 0, USERS_MOST
    if not limits or _enough(model, {**numbers, name: 1}) is None:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        enough = _enough(model, {**numbers, name: middle})
        assert enough is not None
        low, high = (middle, high) if float(np.median(enough)) >= max(limits) else (low, middle - 1)
    return low


def _timely(model: Model, numbers: Numbers, ratios: dict[float, Array]) -> NDArray[np.bool_]:
    """Whether each draw meets the goals of time."""
    places, _ = model.present(numbers)
    met = np.ones(len(model.errors), dtype=bool)
    if not places:
        return met
    found = means(model, numbers)
    used = {q: ratio[: len(places)] for q, ratio in ratios.items()}
    for goal in model.goals:
        if goal.kind in ("response", "utilisation"):
            met &= _meets(goal, model, places, found, (used, None))
    return met


def _largest(meets: Callable[[int], bool]) -> int:
    """Largest number up to `USERS_MOST` that meets, where all smaller ones do."""
    if not meets(1):
        return 0
    low, high = 1, 2
    while high <= USERS_MOST and meets(high):
        low, high = high, 2 * high
    high = min(high, USERS_MOST + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if meets(middle) else (low, middle)
    return low
