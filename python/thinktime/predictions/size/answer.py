"""How many users a machine holds: predictions, the number that meets every goal, and its limit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from thinktime.errors import InputError
from thinktime.models.sizing import ENDS, Changes, Courses, Fit, Machine
from thinktime.predictions.size import disks
from thinktime.predictions.size.cliff import MORE, Beyond, Full, Room, beyond, cliff
from thinktime.predictions.size.fits import Fits, Otherwise, Seen, alone, reconciled, refuting, seen
from thinktime.predictions.size.goals import Goal
from thinktime.predictions.size.measured import Measured
from thinktime.predictions.size.memory import Memory
from thinktime.predictions.size.percentiles import SHARING, Percentiles, Scheduler, percentiles
from thinktime.predictions.size.rules import Case, Judged, Past, judge
from thinktime.stats.estimate import Estimate

Array = NDArray[np.float64]

USERS_MOST = 2000
"""Most users that are looked at."""
RESERVE = 0.03
"""Part of the memory that the kernel needs free: below, it reclaims."""
P90 = 0.9
NEAR = 0.85
"""Utilisation from which a resource is named as the limit of a response time."""
WIDE = 3.0
"""Ratio of the ends of an interval from which a response is hardly known."""
SEED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassPlan:
    """Changes of one class of users; None for what was measured, or asked for."""

    name: str
    users: int | None = None
    think_s: float | None = None
    cpu: float = 1.0
    rest: float = 1.0
    memory: float = 1.0

    @property
    def changes(self) -> Changes:
        """Changes of the work."""
        return Changes(cpu=self.cpu, serial=self.rest, delay=self.rest, think_s=self.think_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Machine and work to predict for; None for what was measured."""

    cpus: int | None = None
    cpu_speed: float = 1.0
    """Relative to the machine measured."""
    disk_speed: float = 1.0
    """Speed of what serves one interaction at a time."""
    memory_bytes: float | None = None
    swap_speed: float | None = None
    """Bytes per second of the swap device; None if not known."""
    think_s: float | None = None
    cpu: float = 1.0
    """Factor of the CPU time of an interaction."""
    rest: float = 1.0
    """Factor of the time without a CPU."""
    memory: float = 1.0
    """Factor of the memory of a user."""
    scheduler: Scheduler = SHARING
    mix: tuple[tuple[str, float], ...] = ()
    """Classes of interactions with the factors of their frequencies, or, where users are asked for by class,
    classes of users with those of their numbers; 0 removes a class."""
    mix_cpu: float = 1.0
    """Factor of the mean CPU time by `mix`, and"""
    mix_error: float = 0.0
    """standard error of its logarithm."""
    own: tuple[ClassPlan, ...] = ()
    """Changes of single classes of users, where users are asked for by class."""

    def machine(self, measured: Machine) -> Machine:
        """Machine to predict for; its background load is that of the machine measured."""
        return replace(
            measured,
            cpus=self.cpus or measured.cpus,
            cpu_speed=self.cpu_speed,
            serial_speed=self.disk_speed,
        )

    def on(self, measured: Machine) -> Plan:
        """The same plan, where the CPUs that it names are those measured, as one that changes none."""
        return replace(self, cpus=None) if self.cpus == measured.cpus else self

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
        """True if nothing is changed that takes time: memory may be another."""
        return replace(self, memory_bytes=None, swap_speed=None, memory=1.0) == Plan()


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
    """Users who fit, what limits them, and what more of them cost: all that does not depend on `--users`."""

    plan: Plan
    machine: Machine
    memory_bytes: float | None
    fits: tuple[Fits, ...]
    """One for each goal; the first to fail comes first."""
    marginal_s: float | None
    """Mean response that one more user adds at the number of users that fits [s]."""
    knee: Estimate
    """Users at which a resource would be busy all the time if nobody waited."""
    at: Row | None
    """Prediction for the number that fits; None where that is none, or more than were looked at."""
    most: int
    """Users looked at."""
    agreement: float
    """Largest relative difference between simulated means and those of the model, up to `most` users."""
    full: Full | None
    """Where memory is full; None where it is not within the numbers looked at, or not known."""
    rules: tuple[Judged, ...]
    """Rules that others use, with their errors on the log."""
    disks: tuple[disks.DiskThen, ...]
    """Disks with the number of users that fits; empty where that is not known."""
    refuted: Otherwise | None
    """What was measured against the model, where it does not describe the log; for every plan."""

    @property
    def answer(self) -> Fits:
        """Goal that limits the number of users."""
        return self.fits[0]

    @property
    def number(self) -> int:
        """Users who fit, at the least."""
        return self.answer.number

    @property
    def is_refuted(self) -> bool:
        """True if this is an answer for what was measured, and the model does not describe it."""
        return self.refuted is not None and self.plan.is_as_measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Answer for one plan, with predictions for the numbers of users that were asked for."""

    found: Reached
    rows: tuple[Row, ...]
    course: tuple[Row, ...] = field(repr=False)
    """For every number of users of the curves."""
    unknown: Unknown | None
    beyond: tuple[Beyond, ...]
    """Bounds of the response for numbers of `rows` beyond full memory."""

    @property
    def answer(self) -> Fits:
        """Goal that limits the number of users."""
        return self.found.answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """Numbers of users whose mean response is hardly known."""

    users: int
    """The first of them."""
    until: int | None
    """The last of them; None where they go on to the most that were looked at."""
    queue: bool
    """True if it is not known whether interactions wait for each other for what is not a CPU."""


class Known:
    """Predictions of one measurement for many plans; what several have in common is computed once."""

    def __init__(self, measured: Measured, fitted: Fit, goals: Sequence[Goal]) -> None:
        self.measured, self.fitted, self.goals = measured, fitted, tuple(goals)
        self._curves: dict[Plan, Curves] = {}
        self._sufficing: dict[tuple[float, float], Sufficing] = {}
        self._cliffs: dict[tuple[float, float], Estimate | None] = {}
        self._past: Past | None = None
        self._seen: dict[Goal, tuple[Seen, ...]] | None = None
        self._refuted: tuple[Otherwise | None] | None = None

    @property
    def seen(self) -> dict[Goal, tuple[Seen, ...]]:
        """What was measured of each goal; empty where nothing was."""
        if self._seen is None:
            works = self.fitted.works
            least = float(np.quantile(works.cpu_s + works.serial_s + works.delay_s, ENDS[0]))
            ends = alone(self.measured, least) if self.measured.stretches else (0.0, 0.0)
            self._seen = {goal: seen(goal, self.measured, ends) for goal in self.goals}
        return self._seen

    @property
    def refuted(self) -> Otherwise | None:
        """What was measured against the model, where it does not describe the log."""
        if self._refuted is None:
            curves = self.curves(Plan(), 2 * self.measured.peak)
            fits = _reconciled(self, [meeting(goal, curves) for goal in self.goals], curves)
            self._refuted = (refuting(fits),)
        return self._refuted[0]

    def curves(self, plan: Plan, most: int) -> Curves:
        """Predictions for 1 to `most` users; those made before serve every memory, and fewer users."""
        key = replace(plan, memory_bytes=None, swap_speed=None, memory=1.0)
        if key not in self._curves or self._curves[key].most < most:
            self._curves[key] = _curves(self.measured, self.fitted, key, most, self._curves.get(key))
        found = self._curves[key]
        return replace(found, courses=found.courses.upto(most), sufficing=self.sufficing(plan))

    def sufficing(self, plan: Plan) -> Sufficing | None:
        """Probability that the memory of a plan suffices."""
        room, memory = self.room(plan), self.memory(plan)
        if room is None or memory is None:
            return None
        return self._sufficing.setdefault(
            (plan.memory, room), Sufficing(memory=memory, room_bytes=room, draws=len(self.fitted.draws))
        )

    def memory(self, plan: Plan) -> Memory | None:
        """Memory of the users of a plan."""
        memory = self.measured.memory
        return memory if memory is None or plan.memory == 1.0 else memory.times(plan.memory)

    def memory_bytes(self, plan: Plan) -> float | None:
        """Memory of the machine of a plan."""
        memory = self.measured.memory
        return plan.memory_bytes or (memory.total_bytes if memory else None)

    def room(self, plan: Plan) -> float | None:
        """Memory for users and everything else [byte]."""
        total = self.memory_bytes(plan)
        return None if total is None else total * (1.0 - RESERVE)

    def full(self, plan: Plan, curves: Curves) -> Full | None:
        """Users with whom memory is full, and bounds of the response beyond."""
        memory, room = self.memory(plan), self.room(plan)
        if memory is None or room is None:
            return None
        key = (plan.memory, room)
        if key not in self._cliffs:
            self._cliffs[key] = cliff(memory, room, USERS_MOST, len(self.fitted.draws))
        users = self._cliffs[key]
        if users is None:
            return None
        # Where not even one has room, the bounds are those of one.
        more = max(math.ceil(MORE * users.value), 1)
        rows = [(more, curves.row(more).response)] if more <= curves.most else []
        bounds = self.beyond(plan, curves.machine, rows)
        return Full(users=users, swap_bytes=memory.swap_bytes, bounds=bounds[0] if bounds else None)

    def beyond(
        self, plan: Plan, machine: Machine, rows: Sequence[tuple[int, Estimate]]
    ) -> tuple[Beyond, ...]:
        """Bounds of the mean responses of `rows` beyond full memory."""
        return beyond(
            self.memory(plan),
            Room(bytes=self.room(plan), swap_speed=plan.swap_speed),
            rows,
            partial(_swapped, self.fitted, machine, plan),
        )

    def unknown(self, plan: Plan, most: int) -> Unknown | None:
        """First number of up to `most` users whose interval of the mean response spans a factor of `WIDE`."""
        curves = self.curves(plan, most)
        low, high = np.quantile(curves.courses.response_s, (ENDS[0], ENDS[2]), axis=0)
        wide = np.flatnonzero(high > WIDE * low)
        if not len(wide):
            return None
        works = plan.changes.of_all(self.fitted.works)
        least, longest = np.quantile(works.serial_s, (ENDS[0], ENDS[2]))
        cpu_s = float(np.median(works.cpu_s))
        # It may be what limits the throughput, or next to nothing.
        machine = curves.machine
        limits = longest / machine.serial_speed > cpu_s / (machine.cpus * machine.cpu_speed)
        ends = np.flatnonzero(np.diff(wide) > 1)
        last = int(wide[ends[0]] if len(ends) else wide[-1]) + 1
        return Unknown(
            users=int(wide[0]) + 1,
            until=None if last == most else last,
            queue=bool(limits and least < 0.5 * longest),
        )

    def judged(self, plan: Plan, curves: Curves) -> tuple[Judged, ...]:
        """Rules that others use, for a plan."""
        case = Case(
            measured=self.measured,
            levels=len(self.measured.stretches),
            goal=next((goal for goal in self.goals if goal.kind in ("response", "utilisation")), None),
            alone_s=float(np.median(curves.alone_s)),
            cpus=curves.machine.cpus,
            memory_bytes=self.memory_bytes(plan),
            as_measured=plan.is_as_measured,
        )
        if self._past is None and self.measured.stretches:
            alone = self.fitted.courses(self.measured.machine, 1).response_s
            self._past = Past.of(replace(case, alone_s=float(np.median(alone))))
        return judge(case, self.goals, self._past)


def size(
    measured: Measured,
    fitted: Fit,
    plan: Plan,
    goals: Sequence[Goal],
    asked: Sequence[int],
    *,
    known: Known | None = None,
) -> Size:
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
    known : Known, optional
        Of this measurement and these goals, where other plans have been answered.

    Raises
    ------
    InputError
        The background load fills the machine of the plan, or the numbers of users are too large.
    """
    if asked and max(asked) > USERS_MOST:
        raise InputError(f"--users {max(asked)}: give at most {USERS_MOST}")
    known = known or Known(measured, fitted, goals)
    plan = plan.on(measured.machine)
    found = reached(known, plan)
    chosen = sorted(set(asked)) or (
        # Beside what was measured: of other numbers of users the model knows as little.
        [one.users for one in measured.stretches]
        if found.is_refuted
        else _around(found.number, measured.peak, found.most)
    )
    most = max(found.most, *chosen)
    curves = known.curves(plan, most)
    drawn = sorted({*range(1, min(most, 40) + 1), *np.rint(np.geomspace(1, most, 60)).astype(int).tolist()})
    rows = curves.rows(chosen)
    return Size(
        found=found,
        rows=rows,
        course=curves.rows(drawn),
        unknown=known.unknown(plan, most),
        beyond=known.beyond(plan, found.machine, [(row.users, row.response) for row in rows]),
    )


def _swapped(fitted: Fit, machine: Machine, plan: Plan, users: int, swapped_s: float) -> Estimate:
    """Mean response if interactions are served for a further time, one at a time."""
    # Neither a faster disk nor a change of the waits changes it.
    more = swapped_s * machine.serial_speed / plan.changes.serial
    draws = tuple(replace(work, serial_s=work.serial_s + more) for work in fitted.draws)
    found = replace(fitted, draws=draws).courses(machine, users, plan.changes).response_s[:, -1]
    low, middle, high = np.quantile(found, ENDS)
    return Estimate(
        value=float(middle), unit="s", low=float(low), high=float(high), n=len(found), method="bound"
    )


def reached(known: Known, plan: Plan) -> Reached:
    """Users who fit.

    The number of users looked at depends on the answer alone, not on the numbers that are asked for, so that
    the answer does not either.
    """
    most = 2 * known.measured.peak
    while True:
        curves = known.curves(plan, most)
        fits = tuple(sorted((meeting(goal, curves) for goal in known.goals), key=attrgetter("order")))
        if most >= USERS_MOST or (fits[0].users is not None and fits[0].users.value * 1.5 <= most):
            break
        most = min(2 * most, USERS_MOST)
    if plan.is_as_measured:
        fits = tuple(sorted(_reconciled(known, fits, curves), key=attrgetter("order")))
    best, refuted = fits[0], None
    if known.measured.stretches:
        refuted = refuting(fits) if plan.is_as_measured else known.refuted
    described = refuted is None or not plan.is_as_measured
    at = curves.row(best.number) if best.users is not None and best.number >= 1 and described else None
    full = known.full(plan, curves)
    return Reached(
        plan=plan,
        machine=curves.machine,
        memory_bytes=known.memory_bytes(plan),
        fits=fits,
        marginal_s=curves.marginal(best.number) if described else None,
        knee=_knee(known.fitted, curves, plan),
        at=at,
        most=most,
        agreement=curves.percentiles.agreement(most),
        full=full if full is None or described else replace(full, bounds=None),
        rules=known.judged(plan, curves),
        disks=() if at is None else tuple(disks_then(known.measured, plan, at)),
        refuted=refuted,
    )


def _reconciled(known: Known, fits: Sequence[Fits], curves: Curves) -> tuple[Fits, ...]:
    """Users who meet each goal, none of them refuted by what was measured."""
    return reconciled(fits, known.seen, partial(_largest, curves=curves))


def _largest(goal: Goal, curves: Curves) -> NDArray[np.int64]:
    """Most users with whom a goal is met, among those looked at, by draw."""
    meets = curves.meets(goal)
    assert meets is not None
    # Up to the first number that fails: a goal that is met again beyond it is of no use.
    fails = ~meets
    result: NDArray[np.int64] = np.where(fails.any(axis=1), fails.argmax(axis=1), curves.most)
    return result


def disks_then(measured: Measured, plan: Plan, row: Row) -> Iterator[disks.DiskThen]:
    """How busy each disk would be at the throughput of a prediction."""
    for disk in measured.disks:
        busy = disk.busy(row.throughput, speed=plan.disk_speed, factor=plan.rest)
        yield disks.DiskThen(disk=disk, busy=busy)


def _knee(fitted: Fit, curves: Curves, plan: Plan) -> Estimate:
    r"""Users at the knee, by draws.

    .. math:: N^* = X_{max} \, (Z + R_1)

    where the line of a user alone meets the largest throughput (Kleinrock 1968), by the growth of the demand
    of a crowded machine.
    """
    machine, works = curves.machine, plan.changes.of_all(fitted.works)
    left = machine.cpus * machine.cpu_speed - machine.background
    with np.errstate(divide="ignore"):
        most = np.minimum(left / (works.cpu_s * (1.0 + works.growth)), machine.serial_speed / works.serial_s)
    low, middle, high = np.quantile(most * (works.think_s + curves.alone_s), ENDS)
    return Estimate(
        value=float(middle), unit="user", low=float(low), high=float(high), n=curves.n, method="asymptotes"
    )


def _around(number: int, peak: int, most: int) -> list[int]:
    """Numbers of users to print where none are asked for: up to one and a half times the answer."""
    top = min(max(round(1.5 * max(number, 1)), min(peak, 2 * max(number, 1)), 2), most)
    steps = np.unique(np.rint(np.linspace(1, top, min(top, 8))).astype(int)).tolist()
    return sorted({*steps, *([number] if 1 <= number <= most else [])})


class Sufficing:
    """Probability that a memory suffices, by draw of the memory of a user."""

    def __init__(self, *, memory: Memory, room_bytes: float, draws: int) -> None:
        self._memory, self._room_bytes, self._draws = memory, room_bytes, draws
        self._found = np.empty((draws, 0))

    def upto(self, users: int) -> Array:
        """Probabilities for 1, 2, ..., `users` users."""
        known = self._found.shape[1]
        if known < users:
            further = np.arange(known + 1.0, users + 1.0)
            found = self._memory.suffices(self._room_bytes, further, self._draws)
            self._found = np.concatenate([self._found, found], axis=1)
        return self._found[:, :users]


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """Predictions by every draw, for 1, 2, ... users."""

    machine: Machine
    courses: Courses
    percentiles: Percentiles
    sufficing: Sufficing | None
    """None where memory is not known."""
    alone_s: Array
    """Mean response of a user alone, by draw."""
    n: int
    """Interactions measured."""

    @property
    def most(self) -> int:
        """Users looked at."""
        return int(self.courses.response_s.shape[1])

    def response(self, quantile: float | None) -> Array:
        """Response times by draw and number of users, or a percentile of them."""
        if quantile is None:
            return self.courses.response_s
        return self.courses.response_s * self.percentiles.ratio(quantile, self.most)

    def meets(self, goal: Goal) -> NDArray[np.bool_] | None:
        """True where a draw meets a goal; None where it was not measured."""
        if goal.kind == "memory":
            return None if self.sufficing is None else self.sufficing.upto(self.most) >= goal.limit
        if goal.kind == "utilisation":
            return self.courses.utilisation <= goal.limit
        if goal.kind == "throughput":
            return self.courses.throughput_per_s >= goal.limit
        limit = goal.limit * self.alone_s[:, None] if goal.relative else goal.limit
        return self.response(goal.quantile) <= limit

    def row(self, users: int) -> Row:
        """Prediction for one number of users."""
        return self.rows([users])[0]

    def rows(self, numbers: Sequence[int]) -> tuple[Row, ...]:
        """Predictions for these numbers of users."""
        at = np.array(numbers, dtype=int) - 1

        def of(values: Array, unit: str, *, mean: bool = False) -> list[Estimate]:
            chosen = values[:, at]
            low, middle, high = np.quantile(chosen, ENDS, axis=0)
            value = chosen.mean(axis=0) if mean else middle
            # The mean of skew draws may lie beyond nearly all of them.
            low, high = np.minimum(low, value), np.maximum(high, value)
            return [
                Estimate(value=one, unit=unit, low=start, high=end, n=self.n, method="predicted")
                for one, start, end in zip(value.tolist(), low.tolist(), high.tolist(), strict=True)
            ]

        enough = (
            [None] * len(numbers)
            if self.sufficing is None
            else of(self.sufficing.upto(max(numbers)), "share", mean=True)
        )
        columns = (
            of(self.courses.response_s, "s"),
            of(self.response(P90), "s"),
            of(self.courses.throughput_per_s, "1/s"),
            of(self.courses.utilisation, "share"),
            of(self.courses.serial, "share"),
        )
        return tuple(
            Row(
                users=users,
                response=response,
                p90=p90,
                throughput=throughput,
                utilisation=utilisation,
                rest=rest,
                memory=memory,
            )
            for users, memory, response, p90, throughput, utilisation, rest in zip(
                numbers, enough, *columns, strict=True
            )
        )

    def marginal(self, users: int) -> float | None:
        """Mean response that a further user adds [s]."""
        if not 1 <= users < self.most:
            return None
        middle = np.median(self.courses.response_s[:, users - 1 : users + 1], axis=0)
        return float(middle[1] - middle[0])


def _curves(measured: Measured, fitted: Fit, plan: Plan, most: int, known: Curves | None) -> Curves:
    """Predictions for 1 to `most` users, without memory; percentiles `known` are not simulated again."""
    machine = plan.machine(measured.machine)
    plain = plan.scheduler == SHARING
    courses = fitted.courses(machine, most, plan.changes, known.courses if known and plain else None)
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
    if not plain:
        share = min(machine.others / machine.cpus, 1.0)
        courses = courses.times(found.slower(most), found.fewer(most), share)
    return Curves(
        machine=machine,
        courses=courses,
        percentiles=found,
        sufficing=None,
        alone_s=courses.response_s[:, 0],
        n=measured.n,
    )


def meeting(goal: Goal, curves: Curves) -> Fits:
    """Users who meet a goal, among those looked at."""
    meets = curves.meets(goal)
    if meets is None:
        return Fits(goal=goal, users=None, at_least=0, limit="unmeasured")
    if goal.kind == "throughput":
        # More users give more, never less: the goal is met from some number on.
        return _from(goal, meets, curves)
    reached = _largest(goal, curves)
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
