"""Recorded users under another scheduler or on other CPUs: simulated as recorded, and changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from thinktime.errors import InputError, offered
from thinktime.log import border
from thinktime.predictions.replay.recorded import Recorded, RecordedUser, recorded
from thinktime.predictions.size.background import MATTERS
from thinktime.results import Result
from thinktime.sources import simulated
from thinktime.sources.simulated import LIMITS, Limits
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.stats.series import batch_means, long_run
from thinktime.stats.series.shares import quantile_in_time

if TYPE_CHECKING:
    from thinktime.log import Log

Array = NDArray[np.float64]

SYSTEM = "timesharing"
SCHEDULERS: dict[str, tuple[str, str]] = {
    "round-robin": ("round_robin", "in turn, for a time slice each"),
    "feedback": ("feedback", "by level; one that uses up its slice goes a level up, with twice the slice"),
    "sharing": ("processor_sharing", "all at equal speeds"),
    "fcfs": ("fcfs", "first come, first served, to the end"),
    "priority": ("priority", "urgent users or classes first, and at once"),
    "shortest": ("shortest_remaining", "least CPU time to come first; no real scheduler knows it"),
}
"""Schedulers by the names of the command: name of the simulated one, and what it does."""
SLICED = ("round-robin", "feedback")
"""Schedulers with a time slice."""
DEFAULT = "round-robin"
"""What ran as recorded is taken to be."""
QUANTUM_S = 0.003
"""Time slice where none is given [s]: the base slice of Linux 6.6 with eight CPUs."""
REPLICATIONS = 8
RESAMPLED = 20_000
"""Interactions of all replications, where they are drawn."""
CYCLES = 20.0
"""Think times and responses of a user in each replication, at the least."""
WARM_UP = 0.1
QUANTILES = {"median_response_s": 0.5, "p90_response_s": 0.9, "p95_response_s": 0.95}
FITS = 6
"""Halvings of the background load by which the measured waits for a CPU are met: to a part in 64 of it."""
FIT_REPLICATIONS = 4
GAP_S = 1.0
"""Time after the last input and all demands until a simulation ends at the latest [s]."""
SLACK = 10.0
"""Factor of that for background work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPlan:
    """What to change."""

    scheduler: str = DEFAULT
    """One of `SCHEDULERS`."""
    quantum_s: float | None = None
    """Time slice of round robin, or of the first level of feedback [s]."""
    cpus: int | None = None
    """CPUs; None for as many as recorded."""
    users: int | None = None
    """Users, who draw interactions; None for those recorded."""
    resample: bool = False
    """True if users draw interactions from their own instead of repeating them in order."""
    urgent: tuple[str, ...] = ()
    """Classes that go first under ``priority``."""
    confined_to: int | None = None
    """CPUs of the machine that the recorded users were confined to; None for all."""

    @property
    def draws(self) -> bool:
        """True if interactions are drawn."""
        return self.resample or self.users is not None

    def changes(self, found: Recorded) -> bool:
        """True if the machine or its users differ from what was recorded."""
        return (
            self.scheduler != DEFAULT
            or self.quantum_s not in (None, QUANTUM_S)
            or self.cpus not in (None, self.confined_to or found.cpus)
            or self.users not in (None, found.present)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What users got, as recorded or simulated."""

    name: str
    """``recorded``, ``as recorded``, ``resampled`` or ``changed``."""
    cpus: int
    users: int
    scheduler: str | None
    """None where it was a real one."""
    mean: Estimate
    """Mean response time [s]."""
    median: Estimate
    p90: Estimate
    p95: Estimate
    throughput: Estimate
    """Interactions completed per second."""
    wait: Estimate | None
    """Mean wait for a CPU of an interaction [s]; None where it was not counted."""
    utilisation: Estimate | None
    """Share of the CPUs at work; None where it was not recorded."""
    by_class: tuple[Estimate, ...]
    """Mean response time of each class [s]."""
    _sums: tuple[Array, Array]
    """Sum of the response times of each block, and their number."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Replayed(Result):
    """Recorded users, as recorded and changed."""

    MAIN: ClassVar[str] = "outcomes"

    log: str
    outcomes: tuple[Outcome, ...]
    """Recorded, simulated as recorded, and where they are asked for resampled and changed."""
    error: Estimate
    """Mean response time as recorded, simulated over recorded, less one."""
    change: Estimate | None
    """Mean response time, changed over unchanged; None where nothing is changed."""
    classes: tuple[str, ...]
    interactions: int
    """Recorded interactions that are replayed."""
    background: float | None
    """CPUs that others used; None where the log does not say."""
    waited_for: float | None
    """As much of `background` as users waited for, by their measured waits; None where that is all of it."""
    waits_counted: bool
    """True if the kernel counted the waits for a CPU: the delays are then known apart from them."""
    replications: int
    seed: int
    plan: ReplayPlan
    _recorded: Recorded


def replay(
    log: Log,
    *,
    plan: ReplayPlan | None = None,
    name: str | None = None,
    seed: int = 1,
    replications: int = REPLICATIONS,
    threads: int | None = None,
    limits: Limits = LIMITS,
    progress: Callable[[int], object] | None = None,
) -> Replayed:
    r"""Responses of the recorded interactions, simulated as recorded and as `plan` changes them.

    Each interaction keeps its think time, CPU time and other delay; the wait for a CPU is what is simulated.
    With sums :math:`a_b` of the response times of block b, and their numbers :math:`n_b`, the mean is
    :math:`\sum a_b / \sum n_b`; blocks are users, or stretches of time where requests overlap. The interval
    of the ratio of two simulated means is over the same blocks, so that what they have in common drops out.

    Parameters
    ----------
    log : Log
        A log with interactions.
    plan : ReplayPlan, optional
        What to change; nothing by default, which checks the simulation on the log.
    name : str, optional
        Name of the log in messages; its path by default.
    seed : int
        Of all random numbers.
    replications : int
        Simulations of each case, where anything in it is random.
    threads : int, optional
        At most so many; one a core by default.
    limits : Limits
        Limits of each simulation.
    progress : callable of int, optional
        Called with the number of each replication that has ended.

    Raises
    ------
    InputError
        The log has no interactions or not enough of them, or the plan does not fit it.

    Examples
    --------
    >>> from thinktime.predictions.replay.answer import ReplayPlan, replay
    >>> found = replay(thinktime.Log.open("monday"), plan=ReplayPlan(cpus=4))
    >>> print(found.change)
    """
    plan = plan or ReplayPlan()
    name = str(log.path) if name is None else name
    with border.reading(log):
        found = recorded(log, name)
    if isinstance(found, NotApplicable):
        raise InputError(f"{found.reason}; {found.remedy}")
    _check(plan, found)
    how = _How(seed=seed, replications=replications, threads=threads, limits=limits, progress=progress)
    as_it_was = ReplayPlan(confined_to=plan.confined_to)
    real, used = _of_log(found, as_it_was), found.background
    waited_for = _waited_for(found, real, as_it_was, how)
    if waited_for is not None:
        found = replace(found, background=waited_for)
    _check_room(plan, found)
    base = _simulated("as recorded", found, as_it_was, how)
    outcomes = [real, base]
    if plan.draws:
        base = _simulated("resampled", found, replace(as_it_was, resample=True), how.after(1))
        outcomes.append(base)
    changed = None
    if plan.changes(found):
        changed = _simulated("changed", found, plan, how.after(len(outcomes) - 1))
    outcomes += [changed] if changed else []
    return Replayed(
        log=name,
        outcomes=tuple(outcomes),
        error=_error(outcomes[1], outcomes[0]),
        change=None if changed is None else _ratio(changed, base),
        classes=found.classes,
        interactions=len(found.response),
        background=used,
        waited_for=waited_for,
        waits_counted=bool((~np.isnan(found.waited)).any()),
        replications=replications,
        seed=seed,
        plan=plan,
        _recorded=found,
    )


def runs(plan: ReplayPlan, found: int) -> int:
    """Simulations that `replay` runs at most, `found` of each case."""
    return found * (2 + plan.draws)


def _check(plan: ReplayPlan, found: Recorded) -> None:
    if plan.scheduler not in SCHEDULERS:
        raise InputError(
            f"{plan.scheduler}: there is no such scheduler; {offered(plan.scheduler, SCHEDULERS)}"
        )
    if plan.quantum_s is not None and plan.scheduler not in SLICED:
        raise InputError(f"quantum: {plan.scheduler} has no time slice; give {' or '.join(SLICED)}")
    if (plan.scheduler == "priority") != bool(plan.urgent):
        raise InputError(
            "urgent: name the classes that go first, and give the scheduler priority; "
            f"{found.name} has the classes {', '.join(found.classes)}"
        )
    for one in plan.urgent:
        if one not in found.classes:
            raise InputError(f"urgent: {found.name} has no class {one}; {offered(one, found.classes)}")
    if plan.draws and found.by_time:
        raise InputError(
            f"{found.name} has requests that overlap, which no user thinks between: they are replayed at "
            "their times; leave out the number of users, and resample"
        )
    confined = plan.confined_to or found.cpus
    if confined > found.cpus:
        raise InputError(
            f"the machine of {found.name} has {found.cpus} CPUs, not the {confined} that were given"
        )


def _check_room(plan: ReplayPlan, found: Recorded) -> None:
    """Refuse CPUs that background load alone fills."""
    others, cpus = _background(found, plan), plan.cpus or plan.confined_to or found.cpus
    if others >= cpus:
        raise InputError(
            f"{found.name}: others than its users took {others:.2g} CPUs, which leaves nothing of {cpus}; "
            "give more CPUs"
        )


def _waited_for(found: Recorded, real: Outcome, plan: ReplayPlan, how: _How) -> float | None:
    """As much of the background load as users waited for; None for all of it, or where that is not known.

    The kernel gives users and others equal parts of the CPUs only if all are tasks of one group which never
    sleep. If users waited less than they would have for all of the load, even by the upper end of their
    measured mean wait, it is the part of the load with which the simulated mean wait is the measured one.
    """
    used = found.background
    if not used or used < MATTERS * found.cpus or real.wait is None or real.wait.high is None:
        return None
    quick = replace(how, replications=min(how.replications, FIT_REPLICATIONS), progress=None)

    def wait(background: float) -> float:
        outcome = _simulated("fitted", replace(found, background=background), plan, quick)
        assert outcome.wait is not None
        return outcome.wait.value

    if wait(used) <= real.wait.high:
        return None
    low, high = 0.0, used
    for _ in range(FITS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if wait(middle) < real.wait.value else (low, middle)
    return low if low == 0.0 else (low + high) / 2.0


def _background(found: Recorded, plan: ReplayPlan) -> float:
    """CPUs that others take; where users were confined, the part that falls on their CPUs."""
    return (found.background or 0.0) * (plan.confined_to or found.cpus) / found.cpus


@dataclass(frozen=True, slots=True, kw_only=True)
class _How:
    seed: int
    replications: int
    threads: int | None
    limits: Limits
    progress: Callable[[int], object] | None

    def after(self, cases: int) -> _How:
        """The same, with progress that counts on after so many cases."""
        show, done = self.progress, cases * self.replications
        return self if show is None else replace(self, progress=lambda more: show(done + more))


def _of_log(found: Recorded, plan: ReplayPlan) -> Outcome:
    """What was recorded."""
    cpus, n = plan.confined_to or found.cpus, len(found.response)
    sums, known = _by_block(found, found.response), ~np.isnan(found.waited)
    busy = None
    if found.background is not None:
        share = (float(found.cpu.sum()) / found.seconds + _background(found, plan)) / cpus
        busy = _plain(share, "share", n, "CPU time over time")
    median, p90, p95 = (quantile_in_time(found.response, q).with_unit("s") for q in QUANTILES.values())
    return Outcome(
        name="recorded",
        cpus=cpus,
        users=found.present,
        scheduler=None,
        mean=_mean(sums, found),
        median=median,
        p90=p90,
        p95=p95,
        throughput=_plain(n / found.seconds, "1/s", n, "count over time"),
        wait=_mean(_by_block(found, found.waited), found) if known.any() else None,
        utilisation=busy,
        by_class=tuple(
            _plain(float(some.mean()), "s", len(some), "mean")
            for some in (found.response[found.kinds == kind] for kind in range(len(found.classes)))
        ),
        _sums=sums,
    )


def _by_block(found: Recorded, values: Array) -> tuple[Array, Array]:
    """Sum of the known values in each block, and their number."""
    known = ~np.isnan(values)
    total = np.zeros(found.groups)
    counts = np.zeros(found.groups)
    np.add.at(total, found.group[known], values[known])
    np.add.at(counts, found.group[known], 1.0)
    return total, counts


def _simulated(name: str, found: Recorded, plan: ReplayPlan, how: _How) -> Outcome:
    """What the users get by simulation."""
    given = _parameters(found, plan, how)
    random = plan.draws or bool(given["background"])
    run = simulated.simulate(
        SYSTEM,
        given,
        seed=how.seed,
        # In recorded order and without background nothing is random: copies would say nothing more.
        replications=how.replications if random else 1,
        threads=how.threads,
        limits=how.limits,
        progress=how.progress,
    )

    def mean(response: str) -> float:
        values = run.responses[response].drop_nulls()
        average = values.mean()
        return float(average) if isinstance(average, (int, float)) else float("nan")

    n = round(mean("completed"))
    method = f"simulated, {len(run.responses)} replication{'s' * (len(run.responses) > 1)}"
    completed = np.array([mean(f"completed_by_group_{group}") for group in range(found.groups)])
    total = np.array([mean(f"responses_of_group_{group}_s") for group in range(found.groups)])
    if not completed.sum() > 0.0:
        raise InputError(
            f"{found.name}: with {given['cpus']} CPUs none of the interactions would have been completed, so "
            "much of them others take; give more CPUs"
        )
    quantiles = {one: _plain(mean(one), "s", n, method) for one in QUANTILES}
    several = len(found.classes) > 1
    # Over the time of the recording, as recorded: a simulation in recorded order ends a little later.
    rate = mean("throughput_per_s") if plan.draws else mean("completed") / found.seconds
    return Outcome(
        name=name,
        cpus=int(str(given["cpus"])),
        users=int(str(given["population"])) or found.present,
        scheduler=plan.scheduler,
        mean=_mean((total, completed), found),
        median=quantiles["median_response_s"],
        p90=quantiles["p90_response_s"],
        p95=quantiles["p95_response_s"],
        throughput=_plain(rate, "1/s", n, method),
        wait=_plain(mean("mean_wait_s"), "s", n, method),
        utilisation=_plain(mean("cpu_utilisation"), "share", n, method),
        by_class=tuple(
            _plain(
                mean(f"class_{kind}_mean_response_s" if several else "mean_response_s"),
                "s",
                round(mean(f"class_{kind}_completed" if several else "completed")),
                method,
            )
            for kind in range(len(found.classes))
        ),
        _sums=(total, completed),
    )


def _parameters(found: Recorded, plan: ReplayPlan, how: _How) -> dict[str, object]:
    """Parameters of the simulated system."""
    population = (plan.users or found.present) if plan.draws else 0
    length = _length(found, population, how) if plan.draws else _end(found)
    quantum = QUANTUM_S if plan.quantum_s is None else plan.quantum_s
    return {
        "users": [_user(found, one) for one in found.users],
        "population": population,
        "inputs": "resampled" if plan.draws else "recorded",
        "classes": [
            {"name": one or "interaction", "priority": int(bool(plan.urgent) and one not in plan.urgent)}
            for one in found.classes
        ],
        "cpus": plan.cpus or plan.confined_to or found.cpus,
        "scheduler": SCHEDULERS[plan.scheduler][0],
        "time_slice": quantum,
        "background": _background(found, plan),
        "length": length,
        "warm_up": WARM_UP * length if plan.draws else 0.0,
        "interval": length,
    }


def _user(found: Recorded, user: RecordedUser) -> dict[str, object]:
    """A user of the simulated system."""
    times = zip(
        user.think_s.tolist(),
        found.cpu[user.rows].tolist(),
        found.delay[user.rows].tolist(),
        # A class is a whole number among times.
        found.kinds[user.rows].tolist(),
        strict=True,
    )
    return {
        "from": user.from_s,
        "until": user.until_s,
        "scheduled": user.scheduled,
        "group": user.group,
        "interactions": [list(row) for row in times],
    }


def _end(found: Recorded) -> float:
    """Time by which every interaction has surely ended [s]."""
    demands = float((found.cpu + found.delay).sum())
    return max(one.until_s for one in found.users) + SLACK * demands + GAP_S


def _length(found: Recorded, users: int, how: _How) -> float:
    """Length of a replication with drawn interactions [s]."""
    think = float(np.concatenate([one.think_s for one in found.users]).mean())
    cycle = think + float(found.response.mean())
    return max(RESAMPLED / how.replications / users, CYCLES) * cycle / (1.0 - WARM_UP)


def _plain(value: float, unit: str, n: int, method: str) -> Estimate:
    return Estimate(value=value, unit=unit, n=n, method=method)


def _mean(sums: tuple[Array, Array], found: Recorded) -> Estimate:
    """Mean over all interactions of the blocks, with Student's t over them."""
    total, counts = sums
    some = counts > 0.0
    blocks = "stretches of time" if found.by_time else "users"
    ratio = batch_means.batch_ratio(total[some], counts[some], independent=True)
    return replace(
        ratio,
        unit="s",
        n=round(float(counts.sum())),
        method=f"mean over {int(some.sum())} {blocks}, Student's t" if ratio.low is not None else "mean",
    )


def _ratio(first: Outcome, second: Outcome) -> Estimate:
    """Mean response of `first` over that of `second`, of the same blocks."""
    (a, n), (b, m) = first._sums, second._sums
    some = (n > 0.0) & (m > 0.0)
    value = first.mean.value / second.mean.value
    # To first order: the relative deviations of a block from both means, one less the other.
    influences = value * (
        (a - first.mean.value * n)[some] / a[some].sum() - (b - second.mean.value * m)[some] / b[some].sum()
    )
    count = int(some.sum())
    if count < 2:
        return _plain(value, "", count, "one block")
    reach = long_run.independent(influences).reach(first.mean.level)
    return Estimate(
        value=value,
        low=max(value - reach, 0.0),
        high=value + reach,
        n=count,
        method="ratio of means over the same blocks, Student's t",
    )


def _error(simulated_: Outcome, real: Outcome) -> Estimate:
    ratio = _ratio(simulated_, real)
    low, high = (None if end is None else end - 1.0 for end in (ratio.low, ratio.high))
    return replace(ratio, value=ratio.value - 1.0, low=low, high=high)
