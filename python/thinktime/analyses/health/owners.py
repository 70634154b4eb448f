"""Checks of control groups, of the ownership of CPU time, and of gaps in the record."""

from __future__ import annotations

from thinktime.analyses.health.readings import Readings
from thinktime.analyses.health.result import Check
from thinktime.log.facts import ATTRIBUTED_LEAST

THROTTLED_LIMIT = 0.1
"""Share of a group's periods in which it was stopped: the alert of the Kubernetes mixin begins at 25 %, when
most requests already wait; one period in ten is felt by one request in ten."""
THROTTLED_LEAST = 0.01
"""Time stopped per second of the record below which nobody notices."""
INHERITED_LIMIT = 0.05
"""Share of the CPU time that was counted for those who waited: the table of users may be wrong by as much."""
UNATTRIBUTED_LIMIT = 1.0 - ATTRIBUTED_LEAST
"""Share of the CPU time of hidden processes from which no sentence about users holds for the machine."""
GAPS_LIMIT = 0.01
"""Share of the stretch in which nothing was measured."""
LISTED_MAX = 3


def killed(log: Readings) -> Check:
    """Processes that the kernel killed because a control group had no memory left."""
    kills = {group: sums["memory_oom_kills"] for group, sums in log.groups.items()}
    known = _without_below({group: number for group, number in kills.items() if number is not None})
    value = None if all(number is None for number in kills.values()) else sum(known.values())
    worst = sorted(((number, group) for group, number in known.items() if number), reverse=True)
    return Check(
        kind="killed",
        value=value,
        unit="process",
        limit=1.0,
        found=bool(worst),
        evidence=("groups.memory_oom_kills",),
        section="users",
        rank=0,
        lost=value or 0.0,
        values={"killed": value, "groups": [log.group(group) for _, group in worst[:LISTED_MAX]]}
        if worst
        else {},
    )


def _without_below(amounts: dict[str, float]) -> dict[str, float]:
    """Amounts of control groups less those of the groups below them, which the counters of some include."""

    def below(group: str) -> float:
        inside = [other for other in amounts if other.startswith(group.rstrip("/") + "/") and other != group]
        nearest = [item for item in inside if not any(item.startswith(f"{other}/") for other in inside)]
        return sum(amounts[item] for item in nearest)

    return {group: max(amount - below(group), 0.0) for group, amount in amounts.items() if amount}


def stopped(log: Readings) -> dict[str, float]:
    """Share of its periods in which each group used up its quota, of groups that were stopped for long."""
    shares: dict[str, float] = {}
    for group, sums in log.groups.items():
        periods, used_up = sums["periods"], sums["throttled_periods"]
        share = used_up / periods if periods and used_up is not None else 0.0
        if share >= THROTTLED_LIMIT and (sums["throttled_s"] or 0.0) >= THROTTLED_LEAST * log.time_s:
            shares[group] = share
    return shares if log.enough else {}


def stopped_s(log: Readings) -> float:
    """Time for which quotas stopped these groups [s], which the kernel counts as a wait for a CPU."""
    return sum(log.groups[group]["throttled_s"] or 0.0 for group in stopped(log))


def throttled(log: Readings) -> Check:
    """Share of the periods in which a group used up its quota of CPU time, of the worst group."""
    value = None
    for sums in log.groups.values():
        periods, used_up = sums["periods"], sums["throttled_periods"]
        if periods is not None and used_up is not None:
            value = max(value or 0.0, used_up / periods if periods else 0.0)
    shares = stopped(log)
    groups = sorted(shares, key=lambda group: -(log.groups[group]["throttled_s"] or 0.0))
    return Check(
        kind="throttled",
        value=value,
        unit="share",
        limit=THROTTLED_LIMIT,
        found=bool(groups),
        evidence=("groups.throttled_periods", "groups.throttled_s"),
        section="users",
        rank=1,
        lost=stopped_s(log) / log.time_s,
        values={
            "groups": [
                (log.group(group), shares[group], log.groups[group]["throttled_s"])
                for group in groups[:LISTED_MAX]
            ],
            "more": max(len(groups) - LISTED_MAX, 0),
        }
        if groups
        else {},
    )


def inherited(log: Readings) -> Check:
    """Share of the CPU time of processes that nobody saw at work, counted for their parents' owners."""
    unseen, used = log.of_users("inherited_s"), log.of_users("cpu_s")
    value = None if unseen is None else unseen / used if used else 0.0
    found = log.enough and value is not None and value >= INHERITED_LIMIT
    user = max(log.users, key=lambda user: log.users[user]["inherited_s"] or 0.0, default="")
    return Check(
        kind="inherited",
        value=value,
        unit="share",
        limit=INHERITED_LIMIT,
        found=found,
        evidence=("users.inherited_s",),
        section="users",
        rank=3,
        values={
            "share": value,
            "user": log.name(user),
            "user_s": log.users[user]["inherited_s"],
            "of_s": log.users[user]["cpu_s"],
            "told": log.ends_told,
        }
        if found
        else {},
    )


def unattributed(log: Readings) -> Check:
    """Share of the CPU time of processes that the recorder may not see."""
    value = None if log.attributed is None else 1.0 - log.attributed
    found = value is not None and value > UNATTRIBUTED_LIMIT
    return Check(
        kind="unattributed",
        value=value,
        unit="share",
        limit=UNATTRIBUTED_LIMIT,
        found=found,
        evidence=("recorder.users",),
        section="users",
        rank=3,
        values={"share": log.attributed} if found else {},
    )


def gaps(log: Readings) -> Check:
    """Share of the stretch from first to last interval in which nothing was measured."""
    missing = log.first.gaps
    lost_s = missing.missing_s
    value = lost_s / (log.time_s + lost_s) if log.time_s else None
    found = value is not None and value >= GAPS_LIMIT
    return Check(
        kind="gaps",
        value=value,
        unit="share",
        limit=GAPS_LIMIT,
        found=found,
        evidence=("samples.start", "samples.length_s"),
        section="recording",
        rank=3,
        worst_us=missing.longest_us,
        values={
            "gaps": missing.number,
            "missing_s": lost_s,
            "longest_s": missing.longest_s,
            "steps": log.clock_steps,
        }
        if found
        else {},
    )
