"""What the logs of a study say, and how well the model of the first half predicts the second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from thinktime.analyses.capacity import analysis as capacity_analysis
from thinktime.analyses.capacity.result import Capacity
from thinktime.analyses.cpu_per_interaction import analysis as cpu_analysis
from thinktime.analyses.cpu_per_interaction.analysis import CpuPerInteraction
from thinktime.analyses.cpu_per_interaction.analysis import Point as CpuPoint
from thinktime.errors import InputError
from thinktime.log import Log, facts
from thinktime.models.sizing import fit
from thinktime.predictions.size import goals
from thinktime.predictions.size.answer import Plan, Size, size
from thinktime.predictions.size.measured import Measured, Stretch, measured
from thinktime.predictions.size.own_error import Checked, course, held_out
from thinktime.results import Result
from thinktime.stats.difference import difference, ratio
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable
from thinktime.studies.estimates import scaled
from thinktime.studies.this_machine.design import Design, Play

if TYPE_CHECKING:
    from thinktime._native import _DirectCost

DRAWN_MOST = 60
"""Numbers of users at which the curve of the prediction is computed, at most."""
FAULT = "page_faults_minor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """CPU time of an interaction at one number of users, and its parts (Sekino 1969, Figures 1 to 3)."""

    cpu: Estimate
    """CPU time of an interaction [s]."""
    user: Estimate
    """User time: the run time of 1969."""
    system: Estimate
    """System time."""
    faults: Estimate | None
    """Page faults of an interaction; None where they were not counted."""
    fault: Estimate | None
    """Time of the page faults: their number times the cost of one, measured directly."""
    other: Estimate | None
    """System time besides that of the page faults."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One number of users."""

    users: int
    held_out: bool
    """True if the model was fitted without it."""
    seconds: float
    """Time in which as many played, warm-up left out [s]."""
    n: int | None
    """Interactions completed; None where the response times are those of the driver too."""
    response: Estimate | None
    """Mean response time [s], and"""
    p90: Estimate | None
    """that within which 90 % stay."""
    throughput: Estimate | None
    """Interactions completed per second whose reply was waited for."""
    cost: Cost | None
    """None where CPU times were not measured by interaction."""
    capacity: Capacity | NotApplicable
    driver_share: float | None
    """CPU time that the driver of the play took, per second."""
    problem: str | None
    """Why the driver was the load; None if it was not."""
    driver_nice: float | None
    """Nice value of the driver: below zero where it went before the users; None where that is not known."""
    checked: Checked | None = None
    """Prediction from the first half of the numbers of users, where this is held out."""

    @property
    def busy(self) -> float | None:
        """Share of the CPU capacity that was used."""
        if isinstance(self.capacity, NotApplicable):
            return None
        return self.capacity.user.value + self.capacity.system.value


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MachineStudy(Result):
    """What a study of this machine found, by number of users."""

    MAIN = "levels"

    design: Design
    machine: str
    """Processor, kernel and host name, as far as the log has them."""
    start_us: int
    """Begin of the first play, microseconds since 1970 UTC."""
    levels: tuple[Level, ...]
    """By number of users."""
    curve: tuple[tuple[int, Estimate], ...]
    """Mean response by number of users, predicted from the first half."""
    drift: Estimate | None
    """Mean response of the repetition at the end over that of the first play; None where one is missing."""
    cpu: CpuPerInteraction | NotApplicable
    """All numbers of users together."""
    caveats: tuple[Caveat, ...]
    _size: Size
    """How many users fit, by all numbers of users."""
    _measured: Measured

    @property
    def fitted(self) -> tuple[Level, ...]:
        """Numbers of users to which the model was fitted."""
        return tuple(level for level in self.levels if not level.held_out and level.response is not None)

    @property
    def checked(self) -> tuple[Checked, ...]:
        """Predictions of the numbers of users that were held out."""
        return tuple(level.checked for level in self.levels if level.checked is not None)

    @property
    def size(self) -> Size:
        """How many users fit."""
        return self._size

    @property
    def measured(self) -> Measured:
        """Work and waits by number of users."""
        return self._measured


def analyse(folder: Path, design: Design, plays: Sequence[Play]) -> MachineStudy | NotApplicable:
    """What the plays in `folder` say, together.

    Of each play, the time counts in which all users played. The model is fitted to the first half of the
    numbers of users, with the background load of these plays alone: nothing of the others is known to it.

    Parameters
    ----------
    folder : Path
    design : Design
    plays : sequence of Play
        Those that were completed.

    Raises
    ------
    InputError
        A log is not one of a play with so many users.
    """
    logs = {play: settled(Log.open(folder / play.name), play.users) for play in plays}
    once = {play.users: log for play, log in logs.items() if not play.repeats}
    usable = {users: log for users, log in once.items() if facts.driver_was_load(log) is None}
    first = [users for users in sorted(usable) if users in design.first_half]
    if not first or len(usable) == len(first):
        return _too_few(folder, design, once, usable)
    names = {users: f"{users} users" for users in once}
    known, whole = (
        measured([usable[users] for users in chosen], [names[users] for users in chosen])
        for chosen in (first, sorted(usable))
    )
    for found in (known, whole):
        if isinstance(found, NotApplicable):
            return found
    assert not isinstance(known, NotApplicable)
    assert not isinstance(whole, NotApplicable)
    others = [one for one in whole.stretches if one.users not in design.first_half]
    cpu = cpu_analysis.analyse(
        [once[users] for users in sorted(once)], [names[users] for users in sorted(once)]
    )
    levels = tuple(_levels(once, design, whole, held_out(known, others), cpu))
    last = facts.sessions(next(iter(logs.values())))[-1]
    return MachineStudy(
        design=design,
        machine=", ".join(
            filter(None, (last.machine.text(key) for key in ("cpu_model", "kernel", "hostname")))
        ),
        start_us=min(session.start_us for log in logs.values() for session in facts.sessions(log)),
        levels=levels,
        curve=course(known, _drawn(max(once))),
        drift=_drift(logs),
        cpu=cpu,
        caveats=whole.caveats,
        _size=size(whole, fit(whole.levels(), whole.machine), Plan(), goals.default(), ()),
        _measured=whole,
    )


def settled(log: Log, users: int) -> Log:
    """The log from the first input that was due with all users on, to its end.

    Raises
    ------
    InputError
        Nothing was typed with so many users.
    """
    import polars as pl

    due = pl.col("due").dt.epoch("us")
    first, last = (
        log.interactions()
        .filter(pl.col("population") == users)
        .select(due.min().alias("first"), due.max().alias("last"))
        .collect()
        .row(0)
    )
    if first is None:
        raise InputError(
            f"{log.path}: holds no input of {users} users; remove the folder, and --resume plays it again"
        )
    ends = [session.end_us for session in facts.sessions(log) if session.end_us is not None]
    return log.between(first, max([last, *ends]))


def _too_few(folder: Path, design: Design, once: dict[int, Log], usable: dict[int, Log]) -> NotApplicable:
    """Why there is nothing to fit, or nothing to check."""
    refused = [users for users in sorted(once) if users not in usable]
    load = f"; the driver was the load with {', '.join(map(str, refused))} users" if refused else ""
    left = len([play for play in design.plays if not play.repeats]) - len(once)
    return NotApplicable(
        f"{folder}: {len(usable)} of {len(design.users)} numbers of users can be used{load}, and the model "
        "needs some of the first half to be fitted to, and some of the second to be checked by",
        f"thinktime study this-machine --resume {folder}"
        if left
        else "begin a new study while the machine does nothing else, or with --accept-driver-load",
    )


def _levels(
    once: dict[int, Log],
    design: Design,
    whole: Measured,
    checks: Sequence[Checked],
    cpu: CpuPerInteraction | NotApplicable,
) -> Iterator[Level]:
    stretches: dict[int, Stretch] = {one.users: one for one in whole.stretches}
    by_users = {one.users: one for one in checks}
    points = {} if isinstance(cpu, NotApplicable) else {round(one.users): one for one in cpu.points}
    nothing = NotApplicable("system time is not divided here", "see the decomposition by page faults")
    for users in sorted(once):
        log, stretch, point = once[users], stretches.get(users), points.get(users)
        outcome = facts.sessions(log)[-1].facts.table("terminals").table("outcome")
        driver_s, elapsed_s = outcome.number("driver_cpu_s"), outcome.number("elapsed_s")
        yield Level(
            users=users,
            held_out=users not in design.first_half,
            seconds=design.settled_s if stretch is None else stretch.seconds,
            n=None if stretch is None else stretch.n,
            response=None if stretch is None else stretch.response,
            p90=None if stretch is None else stretch.p90,
            throughput=None if stretch is None else stretch.throughput,
            cost=None if point is None else _cost(point, _of_a_fault(design.direct_costs)),
            capacity=capacity_analysis.analyse(log, overhead=nothing),
            driver_share=driver_s / elapsed_s if driver_s is not None and elapsed_s else None,
            problem=facts.driver_problem(log),
            driver_nice=facts.sessions(log)[-1].facts.number("driver_nice"),
            checked=by_users.get(users),
        )


def _of_a_fault(costs: Sequence[_DirectCost]) -> float | None:
    """CPU time of one page fault [s]."""
    return next((cost["seconds"] for cost in costs if cost["request"] == FAULT), None)


def _cost(point: CpuPoint, fault_s: float | None) -> Cost:
    r"""CPU time of an interaction in parts: :math:`t = u + f c + o`, for f faults of cost c."""
    user, system = point.components
    fault = None if point.events is None or fault_s is None else scaled(point.events, fault_s, "s")
    return Cost(
        cpu=point.cpu,
        user=user,
        system=system,
        faults=None if point.events is None else point.events.with_unit(""),
        fault=fault,
        other=None if fault is None else difference(fault, system),
    )


def _drawn(most: int) -> list[int]:
    """Numbers of users of the curve."""
    step = max(1, -(-most // DRAWN_MOST))
    return sorted({*range(1, most + 1, step), most})


def _drift(logs: dict[Play, Log]) -> Estimate | None:
    """Mean response of the repetition over that of the first play of the same users."""
    again = next((play for play in logs if play.repeats), None)
    before = next((play for play in logs if again and not play.repeats and play.users == again.users), None)
    if again is None or before is None:
        return None
    found = [measured([logs[play]], [play.name]) for play in (before, again)]
    means = [one.stretches[0].response for one in found if not isinstance(one, NotApplicable)]
    return ratio(means[0], means[1]) if len(means) == 2 else None
