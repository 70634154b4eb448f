"""The machines of a fleet: the logs of each joined, how busy it is, when it saturates, and its room."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from thinktime.fleets.costs import Coefficient, pooled
from thinktime.fleets.summary import HOUR_US, MEMORY, OFF, USER, Hours, Summary
from thinktime.stats import critical_values
from thinktime.stats.estimate import Estimate
from thinktime.stats.series import batch_means
from thinktime.stats.series.shares import proportion_in_blocks

Array = NDArray[np.float64]

HOUR_FULL = 0.5
"""Share of an hour's intervals with an exhausted resource from which the hour counts as saturated."""
HOUR_LEAST_S = 900.0
"""Measured time below which an hour is not judged."""
BUSY_MOST = 0.8
"""Utilisation of the CPUs up to which users have room: waits grow fast beyond it on a machine of few CPUs. As
in the question how many users fit where response times are not known."""
MEMORY_MOST = 0.97
"""Part of the memory up to which users have room: below the rest, the kernel reclaims."""
DAY = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """More active users that a machine has room for, beyond those of its busiest hour."""

    users: Estimate | None
    """None where it cannot be told."""
    limit: str
    """``cpu`` or ``memory``: what they would fill first; empty where that is not known."""
    reason: str = ""
    """Why it cannot be told, or why there is none: ``saturated``, ``busy``, ``few_users``, ``no_users``,
    ``unrelated``, ``short``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine of the fleet."""

    name: str
    model: str
    """Model of its CPUs, or name of the simulated system; ``not recorded`` where the logs do not say."""
    cpus: int | None
    paths: tuple[str, ...]
    """Its logs."""
    start_us: int
    end_us: int
    hours: int
    """Hours that were measured for long enough to be judged."""
    busy: Estimate
    """Share of the CPUs in use."""
    busiest_us: int | None
    """Start of the busiest hour, microseconds since 1970 UTC; None where no hour could be judged."""
    busiest: float | None
    """Share of the CPUs in use in it."""
    exhausted: Estimate
    """Share of the intervals in which a resource was exhausted."""
    limit: str
    """Resource that was exhausted most often; ``none`` where none was."""
    saturated: tuple[int, ...]
    """Starts of the saturated hours, microseconds since 1970 UTC."""
    room: Room
    cpu_of_user: Estimate | None
    """Share of the CPUs that one more active user takes; None where that is not known."""
    notes: tuple[str, ...]
    """``backwards``, ``cpus`` and ``apart``: why clocks, units or dates of its logs may be wrong."""


@dataclass(frozen=True)
class Joined:
    """The summaries of one machine, before it is compared with others."""

    name: str
    summaries: tuple[Summary, ...]

    @property
    def model(self) -> str:
        """Model, or that it is not known."""
        return self.summaries[-1].model or UNNAMED

    @cached_property
    def hours(self) -> Hours:
        """Sums by hour of all its logs."""
        return _joined(self.summaries, self.limits)

    @cached_property
    def limits(self) -> tuple[str, ...]:
        """Resources that can have been exhausted in any of its logs."""
        return tuple(dict.fromkeys(name for item in self.summaries for name in item.limits))

    def coefficient(self, name: str) -> Coefficient | None:
        """Coefficient of that name, pooled over its logs; None where none has it."""
        found = [item.coefficients[name] for item in self.summaries if name in item.coefficients]
        return pooled(found) if found else None


UNNAMED = "not recorded"
"""Model of a machine whose logs do not say which it is."""


def join(summaries: Iterable[Summary]) -> tuple[Joined, ...]:
    """Machines by their names: logs of one host and one model of CPUs are of one machine."""
    groups: dict[tuple[str | None, str | None], list[Summary]] = {}
    for item in summaries:
        key = (None, item.path) if item.host is None else (item.host, item.model)
        groups.setdefault(key, []).append(item)
    names = [host or Path(group[0].path).name for (host, _), group in groups.items()]
    times = Counter(names)
    return tuple(
        Joined(
            name=name if times[name] == 1 else f"{name} ({group[0].path})",
            summaries=tuple(sorted(group, key=lambda item: (item.start_us, item.path))),
        )
        for name, group in zip(names, groups.values(), strict=True)
    )


def _joined(summaries: Sequence[Summary], limits: tuple[str, ...]) -> Hours:
    """Hours of several logs; where two recorded one hour at the same time, that which measured more of it."""
    if len(summaries) == 1:
        return summaries[0].hours
    columns = {
        item.name: np.concatenate([getattr(one.hours, item.name) for one in summaries])
        for item in fields(Hours)
        if item.name != "full"
    }
    full = np.zeros((len(columns["hour"]), len(limits)))
    at = 0
    for one in summaries:
        places = [limits.index(name) for name in one.limits]
        full[at : at + len(one.hours.hour), places] = one.hours.full
        at += len(one.hours.hour)
    hours, place = np.unique(columns["hour"], return_inverse=True)
    measured = columns["measured_s"]
    together = np.bincount(place, measured, len(hours))
    longest = np.zeros(len(hours))
    np.maximum.at(longest, place, measured)
    twice = (together > 1.01 * HOUR_US / 1e6)[place]
    # Of those that overlap only the longest counts, the first of equal ones.
    order = np.lexsort((np.arange(len(place)), -measured, place))
    first = np.zeros(len(place), dtype=np.bool_)
    first[order[np.concatenate([[True], np.diff(place[order]) > 0])]] = True
    kept = ~twice | first

    def summed(values: Array) -> Array:
        sums: Array = np.bincount(place[kept], values[kept], len(hours)).astype(np.float64)
        return sums

    summed_up = {name: summed(values) for name, values in columns.items() if name != "hour"}
    return Hours(hour=hours, full=np.stack([summed(column) for column in full.T], axis=1), **summed_up)


def describe(joined: Joined, common: tuple[int, int], level: float) -> Machine:
    """Machine with its use, saturation and room.

    Parameters
    ----------
    joined : Joined
    common : (int, int)
        Time in which most of the fleet was recorded, microseconds since 1970 UTC.
    level : float
        Confidence of the intervals.
    """
    hours, limits, last = joined.hours, joined.limits, joined.summaries[-1]
    exhausted = _exhausted(hours, limits)
    judged = (hours.measured_s >= HOUR_LEAST_S) & (hours.intervals > 0) & (hours.known_s > 0.0)
    full = np.divide(exhausted, hours.intervals, out=np.zeros(len(exhausted)), where=hours.intervals > 0)
    saturated = hours.hour[judged & (full >= HOUR_FULL)]
    use = np.divide(hours.used_s, hours.known_s, out=np.full(len(full), -1.0), where=judged)
    top = int(np.argmax(use)) if judged.any() else None
    counts = {name: float(hours.full[:, place].sum()) for place, name in enumerate(limits)}
    often = {name: count for name, count in counts.items() if name not in ("none", "unknown") and count}
    each = joined.coefficient(USER)
    return Machine(
        name=joined.name,
        model=joined.model,
        cpus=last.cpus,
        paths=tuple(item.path for item in joined.summaries),
        start_us=min(item.start_us for item in joined.summaries),
        end_us=max(item.end_us for item in joined.summaries),
        hours=int(judged.sum()),
        busy=_busy(hours, level),
        busiest_us=None if top is None else int(hours.hour[top]) * HOUR_US,
        busiest=None if top is None else float(use[top]),
        exhausted=proportion_in_blocks(exhausted, hours.intervals, level)
        if hours.intervals.sum() > 0
        else Estimate(value=0.0, n=0, method="not measured", level=level),
        limit=max(often, key=lambda name: often[name]) if often else "none",
        saturated=tuple((saturated * HOUR_US).tolist()),
        room=_room(joined, judged, bool(len(saturated)), level),
        cpu_of_user=None if each is None else estimate(each, "", level),
        notes=_notes(joined, common),
    )


def _exhausted(hours: Hours, limits: Sequence[str]) -> Array:
    """Number of intervals of each hour in which a resource was exhausted."""
    places = [place for place, name in enumerate(limits) if name not in ("none", "unknown")]
    result: Array = hours.full[:, places].sum(axis=1)
    return result


def _busy(hours: Hours, level: float) -> Estimate:
    known = hours.known_s > 0.0
    found = batch_means.batch_ratio(hours.used_s[known], hours.known_s[known], level)
    high = None if found.high is None else min(found.high, 1.0)
    return Estimate(
        value=found.value,
        unit="share",
        low=found.low,
        high=high,
        n=found.n,
        method=f"{found.method}, by hour",
        level=level,
        caveat=found.caveat,
    )


def estimate(item: Coefficient, unit: str, level: float) -> Estimate:
    """Coefficient with its interval."""
    reach = critical_values.student_t(level, item.degrees) * item.error
    return Estimate(
        value=item.value,
        unit=unit,
        low=item.value - reach,
        high=item.value + reach,
        n=item.n,
        method="least squares, long-run variance",
        level=level,
    )


def _room(joined: Joined, judged: NDArray[np.bool_], saturated: bool, level: float) -> Room:
    r"""Users beyond those of the busiest hour until CPUs or memory are used up to a limit.

    .. math:: N = (u_{max} - u) / b

    with u the use in the busiest hour, as it was measured, and b the use by one more user (a coefficient with
    its interval). The least of the resources counts.
    """
    hours = joined.hours
    if saturated:
        return Room(users=_none(joined, level), limit="", reason="saturated")
    if not judged.any():
        return Room(users=None, limit="", reason="short")
    if not hours.users_known_s.sum() > 0.0:
        return Room(users=None, limit="", reason="no_users")
    use = (hours.used_s - hours.low_s)[judged] / hours.known_s[judged]
    if float(use.max()) >= BUSY_MOST:
        return Room(users=_none(joined, level), limit="", reason="busy")
    found = [_more(joined.coefficient(USER), BUSY_MOST - float(use.max()), "cpu", level)]
    memory = judged & (hours.memory_known_s > 0.0)
    if memory.any():
        filled = float((hours.memory_s[memory] / hours.memory_known_s[memory]).max())
        found.append(_more(joined.coefficient(MEMORY), max(MEMORY_MOST - filled, 0.0), "memory", level))
    told = [room for room in found if room is not None and room.users is not None]
    if found[0] is None:
        return Room(
            users=None, limit="", reason="few_users" if joined.coefficient(USER) is None else "unrelated"
        )
    return min(told, key=lambda room: room.users.value if room.users is not None else np.inf)


def _none(joined: Joined, level: float) -> Estimate:
    return Estimate(
        value=0.0,
        unit="user",
        n=sum(item.intervals for item in joined.summaries),
        method="measured",
        level=level,
    )


def _more(each: Coefficient | None, left: float, limit: str, level: float) -> Room | None:
    """Users who fit into what is left of a resource; None where what one takes is not told from nothing."""
    if each is None or not each.error > 0.0:
        return None
    found = estimate(each, "", level)
    if found.low is None or found.high is None or found.low <= 0.0:
        return None
    # Nobody has room for a part of a user.
    value, low, high = (math.floor(left / one) for one in (found.value, found.high, found.low))
    users = Estimate(
        value=value,
        unit="user",
        low=low,
        high=high,
        n=each.n,
        method="what is left in the busiest hour over what one more user takes",
        level=level,
    )
    return Room(users=users, limit=limit)


def _notes(joined: Joined, common: tuple[int, int]) -> tuple[str, ...]:
    notes = []
    if any(item.backwards for item in joined.summaries):
        notes.append("backwards")
    if any(
        item.cpus and item.measured_cpus and abs(item.measured_cpus / item.cpus - 1.0) > OFF
        for item in joined.summaries
    ):
        notes.append("cpus")
    start = min(item.start_us for item in joined.summaries)
    end = max(item.end_us for item in joined.summaries)
    if end < common[0] or start > common[1]:
        notes.append("apart")
    return tuple(notes)


def common_time(joined: Sequence[Joined]) -> tuple[int, int]:
    """Time from the first start to the last end, without the outermost tenth of the machines on each side.

    Of four to nine machines, without one. A machine with no record in it was recorded at another time than
    the rest of the fleet, or its clock is wrong.
    """
    starts = sorted(min(item.start_us for item in one.summaries) for one in joined)
    ends = sorted(max(item.end_us for item in one.summaries) for one in joined)
    tenth = max(len(starts) // 10, len(starts) >= 4)
    return starts[tenth], ends[len(ends) - 1 - tenth]


def hour_of_day(start_us: int) -> int:
    """Hour of the day, 0 to 23, UTC."""
    return datetime.fromtimestamp(start_us // 1_000_000, timezone.utc).hour
