"""Checks of the CPU: waits for it, users who hold up others, time that the hypervisor took, low priority."""

from __future__ import annotations

from typing import Any

from thinktime.analyses.health import owners
from thinktime.analyses.health.intervals import BUSY, STATES, Held
from thinktime.analyses.health.readings import Readings
from thinktime.analyses.health.result import Check

WAIT_LIMIT = 1.0
"""Waiting over running: at 1, work takes twice as long as on a machine of its own.

With random arrivals that is a single CPU busy 50 % of the time, two CPUs 71 % (M/M/1, M/M/2).
"""
QUEUE_LEAST = 0.1
QUEUE_LEAST_PER_CPU = 0.01
"""Mean number of waiting tasks (waiting per second, Little's law) below which waits harm nobody.

Wake-ups take 20 to 100 microseconds even on an idle machine, and its daemons do little else.
"""
PRESSURE_LIMIT = 0.4
"""Share of the time with a waiting task (PSI) that stands for `WAIT_LIMIT` where users' waits are unknown.

It is the probability of a queue at two CPUs at which waiting equals running (M/M/2).
"""
CONTRAST = 0.5
"""If others wait half as much (or more) without that user, he is not what they wait for."""
STEAL_LIMIT = 0.05
"""Share of the wanted CPU time that the hypervisor gave to others: programs take 5 % longer."""
STEAL_LEAST = 0.01
"""Share of the capacity below which nobody notices: an idle machine wants next to nothing."""
LOW_PRIORITY_LIMIT = 0.1
"""Share of the intervals that are full only because of low priority: that which names a limit elsewhere."""


def cpu_wait(log: Readings) -> Check:
    """Time that users' tasks waited for a CPU, over the CPU time that they used."""
    waited, used = log.of_users("run_delay_s"), log.of_users("cpu_s")
    if waited is None or not used:
        return _by_pressure(log)
    least = _queue_least(log) * log.time_s
    worst = [
        (float(sums["run_delay_s"] or 0.0), float(sums["cpu_s"] or 0.0), user)
        for user, sums in log.users.items()
        if float(sums["run_delay_s"] or 0.0) >= max(least, WAIT_LIMIT * float(sums["cpu_s"] or 0.0))
    ]
    all_wait = waited >= max(least, WAIT_LIMIT * used)
    found = log.enough and (all_wait or bool(worst))
    busy = log.total(*BUSY)
    values: dict[str, Any] = {
        "waited_s": waited,
        "used_s": used,
        "all_wait": all_wait,
        "users": [(log.name(user), delay, cpu) for delay, cpu, user in sorted(worst, reverse=True)[:3]],
        "idle": log.second.idle_in_waits,
        "low_priority": _share(log.low_priority_s, busy),
        "stopped_s": owners.stopped_s(log),
        "time_s": log.time_s,
    }
    return Check(
        kind="cpu_wait",
        value=waited / used,
        unit="",
        limit=WAIT_LIMIT,
        found=found,
        evidence=("users.run_delay_s", "users.cpu_exact_s"),
        section="users",
        rank=1,
        lost=waited / log.time_s,
        worst_us=log.second.delayed.start_us,
        values=values if found else {},
    )


def _by_pressure(log: Readings) -> Check:
    """Share of the time in which some task waited for a CPU, where users' waits were not measured."""
    waited = log.total("psi_cpu_some_s")
    value = None if waited is None else waited / log.time_s
    found = log.enough and value is not None and value >= PRESSURE_LIMIT
    return Check(
        kind="cpu_wait",
        value=value,
        unit="share",
        limit=PRESSURE_LIMIT,
        found=found,
        evidence=("samples.psi_cpu_some_s",),
        section="rates",
        rank=1,
        lost=value or 0.0,
        worst_us=log.worst("psi_cpu_some_s"),
        values={"waited_s": waited, "used_s": None} if found else {},
    )


def _queue_least(log: Readings) -> float:
    return max(QUEUE_LEAST, QUEUE_LEAST_PER_CPU * log.cpus)


def held_up(log: Readings) -> Check:
    """Others' waiting over running while one user had half of the CPUs or more, for the worst such user."""
    measured = log.of_users("run_delay_s") is not None and log.cpus > 0.0
    found: dict[str, Any] = {}
    value = 0.0 if measured else None
    for user, held in log.second.held.items() if measured else ():
        ratio, values = _held_by(log, held)
        if values and values["waited_s"] > found.get("waited_s", 0.0):
            found = {"user": log.name(user), **values}
            value = ratio
        elif not found and ratio is not None and value is not None:
            value = max(value, ratio)
    return Check(
        kind="held_up",
        value=value,
        unit="",
        limit=WAIT_LIMIT,
        found=bool(found),
        evidence=("users.cpu_exact_s", "users.run_delay_s"),
        section="users",
        rank=1,
        lost=found.get("waited_s", 0.0) / log.time_s,
        worst_us=found.pop("worst_us", None),
        values=found,
    )


def _held_by(log: Readings, held: Held) -> tuple[float | None, dict[str, Any]]:
    """Others' waiting over running while a user had much of the CPUs, and the values if that is a finding."""
    if held.much < log.INTERVALS_LEAST or not held.ran_s > 0.0:
        return None, {}
    ratio = held.waited_s / held.ran_s
    without = held.waited_without_s / held.ran_without_s if held.ran_without_s > 0.0 else 0.0
    contrast = without if held.little >= log.INTERVALS_LEAST else None
    if (
        ratio < WAIT_LIMIT
        or held.waited_s < _queue_least(log) * held.time_s
        or (contrast is not None and contrast >= CONTRAST * ratio)
    ):
        return ratio, {}
    return ratio, {
        "used": held.used_s / held.time_s,
        "cpus": log.cpus,
        "time_s": held.time_s,
        "waited_s": held.waited_s,
        "ran_s": held.ran_s,
        "ratio": ratio,
        "without": contrast,
        "stopped_s": owners.stopped_s(log),
        "worst_us": held.worst.start_us,
    }


def stolen(log: Readings) -> Check:
    """Share of the wanted CPU time that the hypervisor gave to other machines."""
    taken, busy = log.total("steal_s"), log.total(*BUSY)
    value = None if taken is None else _share(taken, taken + (busy or 0.0))
    felt = (taken or 0.0) >= STEAL_LEAST * log.capacity_s
    found = log.enough and felt and value is not None and value >= STEAL_LIMIT
    return Check(
        kind="stolen",
        value=value,
        unit="share",
        limit=STEAL_LIMIT,
        found=found,
        evidence=("samples.steal_s",),
        section="capacity",
        rank=1,
        lost=(taken or 0.0) / log.time_s,
        worst_us=log.worst("steal_s"),
        values={"stolen_s": taken, "share": value} if found else {},
    )


def low_priority(log: Readings) -> Check:
    """Share of the intervals in which the CPUs were full only because of work at low priority."""
    counted = log.first.full
    value = full = full_without = None
    if counted.known:
        full, full_without = counted.full / counted.known, counted.without / counted.known
        value = full - full_without
    found = log.enough and value is not None and value >= LOW_PRIORITY_LIMIT
    return Check(
        kind="low_priority",
        value=value,
        unit="share",
        limit=LOW_PRIORITY_LIMIT,
        found=found,
        evidence=("samples.low_priority_s" if counted.seen else "samples.nice_s", "samples.idle_s"),
        section="capacity",
        rank=3,
        values={
            "full": full,
            "full_without": full_without,
            "share": _share(log.low_priority_s, log.total(*STATES)),
            "seen": counted.seen,
        }
        if found
        else {},
    )


def _share(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole
