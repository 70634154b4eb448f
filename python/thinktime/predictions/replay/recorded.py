"""Users of a log as a simulation takes them: interactions with think time, CPU time and other delay."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.log import facts, interactions, observations
from thinktime.log.periods import Span, sessions
from thinktime.predictions.size.measured import BUSY
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.log.interactions import Interactions

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

N_LEAST = 20
"""Completed interactions below which nothing is predicted."""
USERS_MOST = 100_000
"""Users, or requests that overlap, that the simulation takes."""
OVERLAPPING = 0.05
"""Share of a user's inputs that were sent before the reply to the one before, above which they are requests
that do not wait for each other."""
AHEAD = 0.05
"""Share of a user's inputs that were due before the reply to the one before, above which all are scheduled:
think times then count from the input before."""
AT_ONCE_S = 1e-3
"""Two times this close are one: clocks of logs have microseconds, and a driver takes its time."""
PARALLEL = 1.05
"""Ratio of CPU time to response time above which an interaction ran on several CPUs at once."""
STRETCHES = 20
"""Stretches of time that are the blocks of requests without users."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedUser:
    """A user of one session, or a request that waits for no other."""

    group: int
    """Block that it belongs to."""
    from_s: float
    """When the first input was due [s], since the first of the log."""
    until_s: float
    """When the last one was due [s]."""
    scheduled: bool
    """True if think times count from the input before, whatever becomes of that."""
    rows: Rows
    """Numbers of its interactions in `Recorded`."""
    think_s: Array
    """Time before each of them [s]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Completed interactions of a log, and the machine."""

    name: str
    cpus: int
    """CPUs of the machine."""
    seconds: float
    """Time from the first input of each session to its last completion [s]."""
    users: tuple[RecordedUser, ...]
    present: int
    """Users of the session that has most of them; requests that overlap have none."""
    groups: int
    """Blocks of users or of time, by which intervals are computed."""
    by_time: bool
    """True if the blocks are stretches of time: the log has requests that overlap, not users."""
    classes: tuple[str, ...]
    """Names of the classes."""
    kinds: Rows
    """Class of each interaction, as its place among `classes`."""
    group: Rows
    """Block of each."""
    response: Array
    """Response time of each [s]."""
    cpu: Array
    """CPU time of each [s]."""
    delay: Array
    """What else each waited for but a CPU [s]."""
    waited: Array
    """Wait for a CPU of each, as the kernel counted it [s]; nan where it did not."""
    background: float | None
    """CPUs that all else than the interactions used; None where the log does not say."""
    low_priority: float
    """CPUs used at low priority, which are not in `background`."""
    unfinished: int
    """Inputs without a completion, which are left out."""
    without_cpu: int
    """Completed interactions without CPU time, which are left out."""
    parallel: int
    """Interactions with more CPU time than response time."""


def recorded(log: Log, name: str) -> Recorded | NotApplicable:
    """Interactions of a log with their demands, by user.

    Of a response time, what is neither CPU time nor a wait for a CPU is a delay that the load of the CPUs
    does not change. Where the kernel did not count the wait of an interaction, it is the share of the rest
    that it was for those where it did; where it counted none, all of the rest but block I/O.
    """
    if facts.driver_was_load(log) is not None:
        return NotApplicable(
            f"{name} has response times that are not those of the system: the driver of this play was the "
            f"load ({facts.driver_problem(log)})",
            "play again with fewer users or longer think times, or from another machine (--on ssh://HOST)",
        )
    inputs = interactions.read(log, ["think_s", "run_delay_s", "io_delay_s", "waited"])
    if inputs is None:
        return NotApplicable(
            f"{name} has no interactions: what users asked for, and when, was not recorded",
            "play users while recording (`thinktime play`), or import a table of requests "
            "(`thinktime import table`); `thinktime size` answers for more CPUs from what users used",
        )
    machine_cpus = facts.last_machine(log).whole("cpus", least=1)
    if machine_cpus is None:
        return NotApplicable(f"{name} does not say how many CPUs the machine has", "record it anew")
    completed = ~np.isnan(inputs.response)
    if np.isnan(inputs.service[completed]).all():
        return NotApplicable(
            f"{name} does not have the CPU time of its interactions",
            "play users while recording (`thinktime play`), or import a table with its column service_s",
        )
    rows = np.flatnonzero(completed & ~np.isnan(inputs.service))
    return _recorded(log, name, int(machine_cpus), inputs, rows)


def _recorded(log: Log, name: str, cpus: int, inputs: Interactions, rows: Rows) -> Recorded | NotApplicable:
    end = float(np.nanmax(np.concatenate([inputs.times["due"], inputs.times["completion"]])))
    spans = [
        span
        for whole in sessions(log, inputs.origin_us, 0.0, end)
        if (span := _busy(inputs, whole)) is not None
    ]
    # Those of a warm-up, or outside of all sessions, are not replayed.
    due = inputs.times["due"][rows]
    inside = np.zeros(len(rows), dtype=np.bool_)
    for span in spans:
        inside |= (due >= span.start) & (due <= span.end)
    rows = rows[inside]
    seconds = math.fsum(span.length for span in spans)
    if len(rows) < N_LEAST:
        return NotApplicable(
            f"{name} has {len(rows)} completed interactions, fewer than {N_LEAST}",
            "record for longer, or with more users",
        )
    if not (seconds > 0.0 and inputs.response[rows].sum() > 0.0 and inputs.service[rows].sum() > 0.0):
        return NotApplicable(
            f"{name} has interactions that took no time, or no CPU time: there is nothing to wait for",
            "record users who use a CPU",
        )
    users, present = _users(inputs, rows, spans)
    by_time = not present
    if len(users) > USERS_MOST:
        return NotApplicable(
            f"{name} has {len(users)} {'requests that overlap' if by_time else 'users'}, more than the "
            f"{USERS_MOST} that are simulated",
            "import or record a shorter time",
        )
    group = np.zeros(len(rows), dtype=np.int64)
    for one in users:
        group[one.rows] = one.group
    classes, kinds = np.unique(inputs.classes[rows], return_inverse=True)
    response, cpu = inputs.response[rows], inputs.service[rows]
    waited = inputs.columns["run_delay_s"][rows]
    others, aside = _others(log, inputs, spans, float(cpu.sum()))
    return Recorded(
        name=name,
        cpus=cpus,
        seconds=seconds,
        users=tuple(users),
        present=present,
        groups=int(group.max()) + 1,
        by_time=by_time,
        classes=tuple(str(one) for one in classes),
        kinds=kinds.reshape(-1).astype(np.int64),
        group=group,
        response=response,
        cpu=cpu,
        delay=_delay(response, cpu, waited, inputs.columns["io_delay_s"][rows]),
        waited=waited,
        background=others,
        low_priority=aside,
        unfinished=int(np.isnan(inputs.response).sum()),
        without_cpu=int(np.isnan(inputs.service[~np.isnan(inputs.response)]).sum()),
        parallel=int((cpu > PARALLEL * response + AT_ONCE_S).sum()),
    )


def _busy(inputs: Interactions, span: Span) -> Span | None:
    """From the first input of a session to its last completion; None without an interaction."""
    inside = (inputs.times["due"] >= span.start) & (inputs.times["due"] <= span.end)
    if not inside.any():
        return None
    ends = np.concatenate([inputs.times["due"][inside], inputs.times["completion"][inside]])
    return Span(start=float(inputs.times["due"][inside].min()), end=float(np.nanmax(ends)))


def _delay(response: Array, cpu: Array, waited: Array, io: Array) -> Array:
    rest = np.maximum(response - cpu, 0.0)
    known = ~np.isnan(waited)
    if not known.any():
        return np.minimum(np.nan_to_num(io), rest)
    total = float(rest[known].sum())
    share = min(float(waited[known].sum()) / total, 1.0) if total > 0.0 else 0.0
    delay: Array = np.where(known, np.maximum(rest - np.nan_to_num(waited), 0.0), rest * (1.0 - share))
    return delay


def _users(inputs: Interactions, rows: Rows, spans: Sequence[Span]) -> tuple[list[RecordedUser], int]:
    """Users of all sessions, and how many the largest session has; 0 if the log has requests that overlap."""
    due = inputs.times["due"][rows]
    found: list[RecordedUser] = []
    overlapping, most = False, 0
    for span in spans:
        inside = np.flatnonzero((due >= span.start) & (due <= span.end))
        names, which = np.unique(inputs.users[rows[inside]], return_inverse=True)
        order = np.argsort(which, kind="stable")
        parts = np.split(inside[order], np.cumsum(np.bincount(which.reshape(-1)))[:-1])
        most = max(most, len(names))
        for part in parts:
            overlapping = overlapping or _overlap(inputs, rows[part])
            found.append(_user(inputs, rows, part, len(found)))
    return (list(_requests(due, spans)), 0) if overlapping else (found, most)


def _before(ends: Array) -> Array:
    """Latest end of all that came before each."""
    return np.maximum.accumulate(np.concatenate([[-np.inf], ends]))[:-1]


def _overlap(inputs: Interactions, rows: Rows) -> bool:
    """True if a user sends inputs whatever has become of those before."""
    sent = inputs.times["sent"][rows]
    sent = np.where(np.isnan(sent), inputs.times["due"][rows], sent)
    early = sent < _before(inputs.times["completion"][rows]) - AT_ONCE_S
    return float(early.mean()) > OVERLAPPING


def _user(inputs: Interactions, rows: Rows, part: Rows, group: int) -> RecordedUser:
    """User of the interactions `part` among `rows`."""
    due, ends = inputs.times["due"][rows[part]], inputs.times["completion"][rows[part]]
    given = inputs.columns["think_s"][rows[part]]
    early = due < _before(ends) - AT_ONCE_S
    scheduled = float(early.mean()) > AHEAD
    since = np.concatenate([[np.nan], due[:-1] if scheduled else _before(ends)[1:]])
    # As it was, and not as it was drawn: time in which an unfinished input held the user up counts too.
    think = np.maximum(due - since, 0.0)
    later = think[1:]
    first = given[0] if not math.isnan(given[0]) else float(later.mean()) if len(later) else 0.0
    think[0] = first
    return RecordedUser(
        group=group,
        from_s=float(due[0]),
        until_s=float(due[-1]),
        scheduled=scheduled,
        rows=part,
        think_s=think,
    )


def _requests(due: Array, spans: Sequence[Span]) -> Iterator[RecordedUser]:
    """A user for each request, in blocks of stretches of time."""
    total = math.fsum(span.length for span in spans)
    passed = [0.0, *itertools.accumulate(span.length for span in spans)]
    for span, before in zip(spans, passed, strict=False):
        for row in np.flatnonzero((due >= span.start) & (due <= span.end)):
            place = (before + due[row] - span.start) / total if total > 0.0 else 0.0
            yield RecordedUser(
                group=min(int(place * STRETCHES), STRETCHES - 1),
                from_s=float(due[row]),
                until_s=float(due[row]),
                scheduled=False,
                rows=np.array([row]),
                # Never used: the only input comes when it was due.
                think_s=np.array([1.0]),
            )


def _others(
    log: Log, inputs: Interactions, spans: Sequence[Span], used_s: float
) -> tuple[float | None, float]:
    """CPUs that all but the interactions used, without low priority, and those at low priority."""
    if not log.has("samples"):
        return None, 0.0
    observed = observations.read(log, [*BUSY, "cpu_exact_s", *observations.LOW_PRIORITY])
    begin = (observed.start_us - inputs.origin_us) / 1e6
    middle = begin + observed.length_s / 2
    inside = np.zeros(len(begin), dtype=np.bool_)
    for span in spans:
        inside |= (middle >= span.start) & (middle <= span.end)
    busy = observed.columns["cpu_exact_s"]
    busy = np.where(np.isnan(busy), observed.total(BUSY), busy)
    inside &= ~np.isnan(busy)
    if not inside.any():
        return None, 0.0
    length = float(observed.length_s[inside].sum())
    aside = float(np.minimum(np.nan_to_num(observed.low_priority()), busy)[inside].sum()) / length
    of_users = used_s / max(math.fsum(span.length for span in spans), 1e-9)
    return max(float(busy[inside].sum()) / length - aside - of_users, 0.0), aside
