"""Classes of users of a log: who belongs to each, and what their interactions and their memory need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.errors import InputError
from thinktime.log import interactions
from thinktime.log import users as people
from thinktime.predictions.size import memory
from thinktime.predictions.size.measured import QUANTILES, share_within, with_cut
from thinktime.stats.estimate import Estimate
from thinktime.stats.series import batch_means
from thinktime.stats.series.shares import quantile_in_time

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.log.interactions import Interactions

Array = NDArray[np.float64]

N_LEAST = 20
"""Completed interactions below which a class gives no prediction."""
OTHERS = "others"
"""Name of the class of users who are in no other."""

Who = Mapping[str, tuple[str, ...]]
"""Patterns of the members of each class; empty for classes by what users run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserClass:
    """Users of one class, and what an interaction of theirs needs."""

    name: str
    members: tuple[frozenset[str], ...]
    """Keys of the users, by log."""
    n: int
    """Completed interactions."""
    cpu: Estimate
    """CPU time of an interaction [s], as its own processes used it."""
    think: Estimate
    response: Estimate
    rest_s: float | None
    """Mean time that was neither CPU time nor wait for a CPU; None where waits were not measured."""
    services: Array
    """CPU time of each interaction [s]."""
    quantiles: Mapping[float, Estimate]
    """Percentiles of the response time [s], by the part of the responses."""
    memory: Estimate | None
    """Memory of a user [byte]."""
    memory_sd_bytes: float

    @property
    def users(self) -> int:
        """Users of the class in the log that has most of them."""
        return max(map(len, self.members))


def classes(logs: Sequence[Log], who: Who) -> tuple[UserClass, ...]:
    """Classes of the users of logs with interactions, in the order of `who`, or by name.

    A user belongs to the first class of which a pattern matches its key, its name, or the kind of the most of
    its interactions; the rest are `OTHERS`. Without patterns, a class is the users with most interactions of
    one kind.

    Raises
    ------
    InputError
        A class of `who` has no users, or too few interactions.
    """
    found: dict[str, list[_Rows]] = {}
    for number, log in enumerate(logs):
        inputs = interactions.read(log, ["think_s", "run_delay_s", "waited"])
        if inputs is None:
            continue
        names = people.readable(log)
        runs = _mostly(inputs)
        placed = {user: _placed([user, names.get(user, user), kind], who) for user, kind in runs.items()}
        classed = np.array([placed[user] for user in inputs.users.tolist()])
        for name in sorted(set(placed.values())):
            members = frozenset(user for user, its in placed.items() if its == name)
            rows = classed == name
            found.setdefault(name, []).append(_Rows(log=number, inputs=inputs, rows=rows, members=members))
    missing = [name for name in who if name not in found]
    if missing:
        raise InputError(f"--class {missing[0]}: no user of the log matches it; {_there(logs)}")
    order = [*who, *sorted(set(found) - set(who))]
    return tuple(_class(name, found[name], logs) for name in order if name in found)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """Interactions of a class in one log."""

    log: int
    inputs: Interactions
    rows: NDArray[np.bool_]
    members: frozenset[str]


def _mostly(inputs: Interactions) -> dict[str, str]:
    """Kind of the most interactions of each user."""
    counts: dict[str, Counter[str]] = {}
    for user, kind in zip(inputs.users.tolist(), inputs.classes.tolist(), strict=True):
        counts.setdefault(user, Counter())[kind] += 1
    return {user: min(count, key=lambda kind: (-count[kind], kind)) for user, count in counts.items()}


def _placed(texts: Sequence[str], who: Who) -> str:
    """Class of a user who is known by these texts, the last of which is what it mostly runs."""
    for name, patterns in who.items():
        if any(fnmatchcase(text, pattern) for pattern in patterns for text in texts):
            return name
    return OTHERS if who else texts[-1] or OTHERS


def _there(logs: Sequence[Log]) -> str:
    users: dict[str, str] = {}
    for log in logs:
        inputs = interactions.read(log)
        if inputs is not None:
            users.update(_mostly(inputs))
    kinds = sorted(set(users.values()) - {""})
    shown = ", ".join(sorted(users)[:5]) + (", .." if len(users) > 5 else "")
    return f"its users are {shown}" + (f", who mostly run {', '.join(kinds)}" if kinds else "")


def _class(name: str, parts: Sequence[_Rows], logs: Sequence[Log]) -> UserClass:
    members = [frozenset[str]()] * len(logs)
    for part in parts:
        members[part.log] = part.members

    def joined(of: str) -> Array:
        found = []
        for part in parts:
            inputs = part.inputs
            done = part.rows & ~np.isnan(inputs.response) & (inputs.columns["waited"] != 0.0)
            values = getattr(inputs, of) if of in ("response", "service") else inputs.columns[of]
            found.append(values[done])
        return np.concatenate(found)

    response, service, think, waited = map(joined, ("response", "service", "think_s", "run_delay_s"))
    served = ~np.isnan(service)
    cut = np.concatenate([_cut(part) for part in parts])
    if served.sum() < N_LEAST:
        raise InputError(
            f"class {name}: {served.sum()} completed interactions of its users have a CPU time; "
            f"{N_LEAST} are needed. Record for longer, or join it with another class (--class)"
        )
    rest = response - service - waited
    # Those that were cut off got CPU time at the rate at which the completed ones did.
    rate = float(service[served].sum()) / max(float(response[served].sum()), 1e-9)
    held, spread = _memory(logs, members)
    return UserClass(
        name=name,
        members=tuple(members),
        n=int(served.sum()),
        cpu=with_cut(service[served], rate * cut).with_unit("s"),
        think=batch_means.batch_ratio(think[~np.isnan(think)]).with_unit("s"),
        response=with_cut(response, cut).with_unit("s"),
        rest_s=float(np.nanmean(rest)) if not np.isnan(rest).all() else None,
        services=service[served],
        quantiles={
            q: quantile_in_time(response, share_within(response, cut, q)).with_unit("s")
            for q in (0.9, *QUANTILES)
        },
        memory=held,
        memory_sd_bytes=spread,
    )


def _cut(part: _Rows) -> Array:
    """Time that the interactions of a class had taken which the end of the log cut off [s]."""
    due, completion = part.inputs.times["due"], part.inputs.times["completion"]
    rows = part.rows & np.isnan(completion) & (part.inputs.columns["waited"] != 0.0)
    result: Array = float(np.nanmax(np.concatenate([due, completion]))) - due[rows]
    return result


def _memory(logs: Sequence[Log], members: Sequence[frozenset[str]]) -> tuple[Estimate | None, float]:
    """Memory of a user of the class, and its standard deviation between users and over time [byte]."""
    seen = []
    for log, own in zip(logs, members, strict=True):
        sessions = {session for session, user in people.played(log).items() if user in own}
        found = memory.seen(log, sessions | own)
        if found is not None:
            seen.append(found)
    each = np.concatenate([one.means for one in seen]) if seen else np.empty(0)
    if len(each) < 2:
        return None, 0.0
    within = float(np.mean([one.within for one in seen]))
    return (
        batch_means.plain_mean(each.tolist()).with_unit("byte"),
        float(np.hypot(np.std(each, ddof=1), within**0.5)),
    )
