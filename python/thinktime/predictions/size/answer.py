"""How many users a machine holds: predictions, the number that meets every goal, and its limit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from thinktime.errors import InputError
from thinktime.models.sizing import ENDS, Changes, Courses, Fit, Machine
from thinktime.predictions.size.cliff import cliff
from thinktime.predictions.size.goals import Goal
from thinktime.predictions.size.measured import Measured
from thinktime.predictions.size.memory import Memory
from thinktime.predictions.size.percentiles import SHARING, Percentiles, Scheduler, percentiles
from thinktime.predictions.size.rules import Case, Judged, judge
from thinktime.stats.estimate import Estimate

Array = NDArray[np.float64]

USERS_MOST = 2000
"""Most users that are looked at."""
RESERVE = 0.03
"""Part of the memory that the kernel needs free: below, it reclaims."""
P90 = 0.9
NEAR = 0.85
"""Utilisation from which a resource is named as the limit of a response time."""
SEED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Machine and work to predict for; None for what was measured."""

    cpus: int | None = None
    cpu_speed: float = 1.0
    """Relative to the machine measured."""
    disk_speed: float = 1.0
    """Speed of what serves one interaction at a time."""
    memory_bytes: float | None = None
    think_s: float | None = None
    cpu: float = 1.0
    """Factor of the CPU time of an interaction."""
    rest: float = 1.0
    """Factor of the time without a CPU."""
    memory: float = 1.0
    """Factor of the memory of a user."""
    scheduler: Scheduler = SHARING
    mix: tuple[tuple[str, float], ...] = ()
    """Classes of interactions with the factors of their frequencies; 0 removes a class."""
    mix_cpu: float = 1.0
    """Factor of the mean CPU time by `mix`, and"""
    mix_error: float = 0.0
    """standard error of its logarithm."""

    def machine(self, measured: Machine) -> Machine:
        """Machine to predict for; its background load is that of the machine measured."""
        return Machine(
            cpus=self.cpus or measured.cpus,
            cpu_speed=self.cpu_speed,
            background=measured.background,
            serial_speed=self.disk_speed,
        )

    @property
    def changes(self) -> Changes:
        """Changes of the work."""
        return Changes(
            cpu=self.cpu * self.mix_cpu,
            cpu_error=self.mix_error,
            serial=self.rest,
            delay=self.rest,
            think_s=self.think_s,
        )

    @property
    def is_as_measured(self) -> bool:
        """True if nothing is changed."""
        return self == Plan()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fits:
    """Users who meet one goal."""

    goal: Goal
    users: Estimate | None
    """None where more meet it than were looked at."""
    at_least: int
    """Users looked at, all of whom meet it, where `users` is None; of a throughput, the fewest that
    give it, 0 where none do."""
    limit: str
    """What runs short: ``cpu``, ``rest``, ``memory``, or ``users`` where nothing does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Prediction for one number of users."""

    users: int
    response: Estimate
    p90: Estimate
    throughput: Estimate
    utilisation: Estimate
    rest: Estimate
    """Utilisation of what serves one interaction at a time."""
    memory: Estimate | None
    """Probability that the memory suffices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """Users who fit, what limits them, and what more of them cost."""

    machine: Machine
    fits: tuple[Fits, ...]
    """One for each goal; the first to fail comes first."""
    marginal_s: float | None
    """Mean response that one more user adds at the number of users that fits [s]."""
    knee: Estimate
    """Users at which a resource would be busy all the time if nobody waited."""

    @property
    def answer(self) -> Fits:
        """Goal that limits the number of users."""
        return self.fits[0]

    @property
    def number(self) -> int:
        """Users who fit, at the least."""
        best = self.answer
        return best.at_least if best.users is None else int(best.users.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size(Reached):
    """Answer for one plan."""

    plan: Plan
    memory_bytes: float | None
    rows: tuple[Row, ...]
    """For the numbers of users that were asked for."""
    course: tuple[Row, ...] = field(repr=False)
    """For every number of users of the curves."""
    agreement: float
    """Largest relative difference between simulated means and those of the model."""
    rules: tuple[Judged, ...]
    """Rules that others use, with their errors on the log."""
    cliff: Estimate | None
    """Users with whom memory is full; None where it is not within the numbers looked at, or not known."""


Kept = dict[Plan, "Curves"]
"""Predictions made so far for the most users, by plan without its memory."""


def size(measured: Measured, fitted: Fit, plan: Plan, goals: Sequence[Goal], asked: Sequence[int]) -> Size:
    """Answer of a measurement for a plan.

    Parameters
    ----------
    measured : Measured
    fitted : Fit
        Work that agrees with it.
    plan : Plan
        Machine and work to predict for.
    goals : sequence of Goal
    asked : sequence of int
        Numbers of users to predict; empty for a choice around the answer.

    Raises
    ------
    InputError
        The background load fills the machine of the plan, or the numbers of users are too large.
    """
    if asked and max(asked) > USERS_MOST:
        raise InputError(f"--users {max(asked)}: give at most {USERS_MOST}")
    kept: Kept = {}
    found, curves = reached(measured, fitted, plan, goals, kept)
    chosen = sorted(set(asked)) or _around(found.number, measured.peak, curves.most)
    most = max(curves.most, *chosen)
    curves = Curves.of(measured, fitted, plan, most, kept)
    drawn = sorted({*range(1, min(most, 40) + 1), *np.rint(np.geomspace(1, most, 60)).astype(int).tolist()})
    return Size(
        plan=plan,
        machine=found.machine,
        memory_bytes=curves.memory_bytes,
        rows=tuple(curves.row(users) for users in chosen),
        course=tuple(curves.row(users) for users in drawn),
        fits=found.fits,
        marginal_s=found.marginal_s,
        knee=found.knee,
        agreement=curves.percentiles.agreement,
        cliff=cliff(
            curves.memory,
            None if curves.memory_bytes is None else curves.memory_bytes * (1.0 - RESERVE),
            USERS_MOST,
            len(curves.alone_s),
        ),
        rules=judge(
            Case(
                measured=measured,
                levels=len(measured.stretches),
                goal=next((goal for goal in goals if goal.kind in ("response", "utilisation")), None),
                alone_s=float(np.median(curves.alone_s)),
                cpus=found.machine.cpus,
                memory_bytes=curves.memory_bytes,
                as_measured=plan == replace(Plan(), memory_bytes=plan.memory_bytes),
            ),
            goals,
        ),
    )


def reached(
    measured: Measured, fitted: Fit, plan: Plan, goals: Sequence[Goal], kept: Kept
) -> tuple[Reached, Curves]:
    """Users who fit, and the predictions from which that follows.

    The number of users looked at depends on the answer alone, not on the numbers that are asked for, so that
    the answer does not either.
    """
    most = 2 * measured.peak
    while True:
        curves = Curves.of(measured, fitted, plan, most, kept)
        fits = tuple(sorted((meeting(goal, curves) for goal in goals), key=_order))
        if most >= USERS_MOST or (fits[0].users is not None and fits[0].users.value * 1.5 <= most):
            break
        most = min(2 * most, USERS_MOST)
    best = fits[0]
    number = best.at_least if best.users is None else int(best.users.value)
    found = Reached(
        machine=curves.machine,
        fits=fits,
        marginal_s=curves.marginal(number),
        knee=_knee(fitted, curves, plan),
    )
    return found, curves


def _knee(fitted: Fit, curves: Curves, plan: Plan) -> Estimate:
    r"""Users at the knee, by draws.

    .. math:: N^* = X_{max} \, (Z + R_1)

    where the line of a user alone meets the largest throughput (Kleinrock 1968), by the growth of the demand
    of a crowded machine.
    """
    machine = curves.machine
    knees = []
    for work, alone in zip(map(plan.changes.of, fitted.draws), curves.alone_s, strict=True):
        left = machine.cpus * machine.cpu_speed - machine.background
        most = left / (work.cpu_s * (1.0 + work.growth))
        if work.serial_s > 0.0:
            most = min(most, machine.serial_speed / work.serial_s)
        knees.append(most * (work.think_s + alone))
    low, middle, high = np.quantile(knees, ENDS)
    return Estimate(
        value=float(middle), unit="user", low=float(low), high=float(high), n=curves.n, method="asymptotes"
    )


def _order(one: Fits) -> tuple[float, str]:
    return (math.inf if one.users is None else one.users.value, one.goal.kind)


def _around(number: int, peak: int, most: int) -> list[int]:
    """Numbers of users to print where none are asked for: up to one and a half times the answer."""
    top = min(max(round(1.5 * max(number, 1)), min(peak, 2 * max(number, 1)), 2), most)
    steps = np.unique(np.rint(np.linspace(1, top, min(top, 8))).astype(int)).tolist()
    return sorted({*steps, *([number] if 1 <= number <= most else [])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """Predictions by every draw, for 1, 2, ... users."""

    machine: Machine
    courses: Courses
    percentiles: Percentiles
    memory: Memory | None
    memory_bytes: float | None
    alone_s: Array
    """Mean response of a user alone, by draw."""
    n: int
    """Interactions measured."""

    @classmethod
    def of(cls, measured: Measured, fitted: Fit, plan: Plan, most: int, kept: Kept) -> Curves:
        """Predictions for 1 to `most` users; those in `kept` serve every memory, and fewer users."""
        memory = measured.memory
        if memory is not None and plan.memory != 1.0:
            memory = memory.times(plan.memory)
        total = plan.memory_bytes or (memory.total_bytes if memory else None)
        key = replace(plan, memory_bytes=None)
        if key not in kept or kept[key].most < most:
            made = cls._made(measured, fitted, key, most, kept.get(key))
            kept[key] = replace(made, memory=memory)
        found = kept[key]
        return replace(found, courses=found.courses.upto(most), memory_bytes=total)

    @classmethod
    def _made(cls, measured: Measured, fitted: Fit, plan: Plan, most: int, known: Curves | None) -> Curves:
        machine = plan.machine(measured.machine)
        courses = fitted.courses(machine, most, plan.changes)
        found = percentiles(
            plan.changes.of(fitted.central),
            machine,
            measured.services_of(plan.mix),
            most,
            (P90, 0.5, 0.95, 0.99),
            seed=SEED,
            known=known.percentiles if known else None,
            scheduler=plan.scheduler,
        )
        if plan.scheduler != SHARING:
            share = machine.background / (machine.cpu_speed * machine.cpus)
            courses = courses.times(found.slower(most), found.fewer(most), share)
        return cls(
            machine=machine,
            courses=courses,
            percentiles=found,
            memory=None,
            memory_bytes=None,
            alone_s=courses.response_s[:, 0],
            n=measured.n,
        )

    @property
    def most(self) -> int:
        """Users looked at."""
        return int(self.courses.response_s.shape[1])

    def response(self, quantile: float | None) -> Array:
        """Response times by draw and number of users, or a percentile of them."""
        if quantile is None:
            return self.courses.response_s
        return self.courses.response_s * self.percentiles.ratio(quantile, self.most)

    def enough(self, users: Array) -> Array:
        """Probability that the memory suffices for these users, by draw of the memory of a user."""
        assert self.memory is not None
        assert self.memory_bytes is not None
        return self.memory.suffices(self.memory_bytes * (1.0 - RESERVE), users, len(self.alone_s))

    def meets(self, goal: Goal) -> NDArray[np.bool_] | None:
        """True where a draw meets a goal; None where it was not measured."""
        if goal.kind == "memory":
            if self.memory is None:
                return None
            return self.enough(np.arange(1.0, self.most + 1.0)) >= goal.limit
        if goal.kind == "utilisation":
            return self.courses.utilisation <= goal.limit
        if goal.kind == "throughput":
            return self.courses.throughput_per_s >= goal.limit
        limit = goal.limit * self.alone_s[:, None] if goal.relative else goal.limit
        return self.response(goal.quantile) <= limit

    def row(self, users: int) -> Row:
        """Prediction for one number of users."""
        at = users - 1

        def of(values: Array, unit: str) -> Estimate:
            low, middle, high = np.quantile(values[:, at], ENDS)
            return Estimate(
                value=float(middle), unit=unit, low=float(low), high=float(high), n=self.n, method="predicted"
            )

        enough = None
        if self.memory is not None:
            found = self.enough(np.array([float(users)]))[:, 0]
            low, high = np.quantile(found, (ENDS[0], ENDS[2]))
            enough = Estimate(
                value=float(found.mean()),
                unit="share",
                low=float(low),
                high=float(high),
                n=self.n,
                method="predicted",
            )
        return Row(
            users=users,
            response=of(self.courses.response_s, "s"),
            p90=of(self.response(P90), "s"),
            throughput=of(self.courses.throughput_per_s, "1/s"),
            utilisation=of(self.courses.utilisation, "share"),
            rest=of(self.courses.serial, "share"),
            memory=enough,
        )

    def marginal(self, users: int) -> float | None:
        """Mean response that a further user adds [s]."""
        if not 1 <= users < self.most:
            return None
        middle = np.median(self.courses.response_s[:, users - 1 : users + 1], axis=0)
        return float(middle[1] - middle[0])


def meeting(goal: Goal, curves: Curves) -> Fits:
    """Users who meet a goal, among those looked at."""
    meets = curves.meets(goal)
    if meets is None:
        return Fits(goal=goal, users=None, at_least=0, limit="unmeasured")
    if goal.kind == "throughput":
        # More users give more, never less: the goal is met from some number on.
        return _from(goal, meets, curves)
    # Up to the first number that fails: a goal that is met again beyond it is of no use.
    fails = ~meets
    reached = np.where(fails.any(axis=1), fails.argmax(axis=1), curves.most)
    low, middle, high = np.quantile(reached, ENDS, method="inverted_cdf")
    if middle >= curves.most:
        return Fits(goal=goal, users=None, at_least=int(low), limit="users")
    users = Estimate(
        value=float(middle),
        unit="user",
        low=float(low),
        high=None if high >= curves.most else float(high),
        n=curves.n,
        method="largest number that meets the goal, over draws",
    )
    return Fits(goal=goal, users=users, at_least=int(low), limit=_limit(goal, curves, int(middle)))


def _from(goal: Goal, meets: NDArray[np.bool_], curves: Curves) -> Fits:
    enough = np.flatnonzero(meets.mean(axis=0) >= 0.5)
    reached = len(enough) > 0
    limit = "users" if reached else _limit(goal, curves, curves.most)
    return Fits(goal=goal, users=None, at_least=int(enough[0]) + 1 if reached else 0, limit=limit)


def _limit(goal: Goal, curves: Curves, users: int) -> str:
    """What runs short where a goal fails."""
    if goal.kind == "memory":
        return "memory"
    at = min(users, curves.most - 1)
    cpu = float(np.median(curves.courses.utilisation[:, at]))
    rest = float(np.median(curves.courses.serial[:, at]))
    if goal.kind == "utilisation" or cpu >= max(rest, NEAR):
        return "cpu"
    return "rest" if rest >= NEAR else "cpu" if cpu >= rest else "rest"


def longer(measured: Measured, share: float, estimate: Estimate) -> float | None:
    """Time to record in all for an interval of plus or minus `share` of the value [s]; None if it has it."""
    if estimate.low is None or estimate.high is None:
        return None
    half = (estimate.high - estimate.low) / (2.0 * estimate.value)
    seconds = sum(one.seconds for one in measured.stretches)
    return None if half <= share else seconds * (half / share) ** 2
