"""Use of a machine by its users where their interactions were not recorded: CPU, transfers and activity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.log import facts, observations
from thinktime.log import users as people
from thinktime.notation import count, quantity
from thinktime.predictions.size import memory
from thinktime.predictions.size.measured import BUSY
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.stats.series import batch_means

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.log.observations import Observations

Array = NDArray[np.float64]

INTERVALS_LEAST = 30
"""Intervals below which a log gives no answer."""
BLOCKS = 60
"""Parts of the time by which the variation over time is estimated; fewer in short logs."""
REMEDY = "record the machine with its users: thinktime record --by uid"


FULL = 0.95
"""Use of the CPUs in an interval above which they count as full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Use of the machine by one user, while present."""

    name: str
    present_s: float
    """Time from the first interval to the last in which the user was seen, or was listed in `presence`."""
    cpu_s: float
    """CPU time in all [s]."""
    active_s: float
    """Time of the intervals in which the user used a CPU."""
    transferred_bytes: float
    """Read from and written to block devices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """Use of a machine by its users, idle ones included."""

    name: str
    cpus: int
    seconds: float
    people: tuple[Person, ...]
    """By falling CPU time."""
    cpu: Estimate
    """CPU time per second of a user who is present [s/s]."""
    active: Estimate
    """Share of the time in which a user who is present is active."""
    transferred: Estimate
    """Bytes per second of a user who is present."""
    background: Estimate
    """CPU time per second that is nobody's."""
    aside: float
    """CPU time per second of work at low priority, which gives way to users and is in no other figure."""
    busiest: float
    """CPU time of a present user in the busiest tenth of the time, relative to the mean."""
    full: float
    """Share of the time in which work that does not give way filled the CPUs: it may have asked for more."""
    peak: int
    """Most users present at once."""
    memory: memory.Memory | None
    idle_seen: bool
    """True if users who were present but idle are known, from `presence`."""
    seen: tuple[tuple[int, Estimate], ...] = ()
    """Utilisation of the CPUs by number of users present, ascending, of those seen for long enough."""


def _nobody(log: Log) -> NotApplicable:
    """Answer for a log in which no user is a person."""
    reason = f"{log.path.name} has no user who is a person"
    sessions = facts.sessions(log)
    if not sessions or sessions[-1].facts.table("options").text("by") != "uid":
        return NotApplicable(reason, REMEDY)
    return NotApplicable(
        f"{reason}: none of the accounts in it is one with which people log in (uid 1000 and above)",
        "people who share an account, root too, are told apart by their sessions: thinktime record "
        "--by session",
    )


def activity(log: Log, name: str) -> Activity | NotApplicable:
    """Use of the machine by its users, from the tables `users`, `presence` and `samples`.

    Users are the accounts of people, sessions and users' slices; the rest is background. A user is present
    from the first to the last interval in which the log has it; where the log has `presence`, only in
    intervals whose last reading lists it, or in which it was active.
    """
    if not log.has("users"):
        return NotApplicable(f"{log.path.name} has neither interactions nor users", REMEDY)
    observed = observations.read(log, [*BUSY, "cpu_exact_s", *observations.LOW_PRIORITY, *memory.COLUMNS])
    cpus = facts.last_machine(log).whole("cpus", least=1)
    if cpus is None:
        return NotApplicable(f"{log.path.name} does not say how many CPUs the machine has", REMEDY)
    attribution = facts.attribution(log)
    if attribution is not None and attribution.is_partial:
        return NotApplicable(
            f"only {quantity(attribution.share, 'share')} of the CPU time in {log.path.name} could be "
            "attributed to users, so that what a user needs is not known",
            "record as root, outside of a PID namespace",
        )
    if len(observed) < INTERVALS_LEAST:
        return NotApplicable(
            f"{count(len(observed), 'interval')} in {log.path.name}; an answer without interactions "
            f"needs {INTERVALS_LEAST}",
            "record for longer",
        )
    used = _used(log, observed)
    if not used.keys:
        return _nobody(log)
    busy = observed.columns["cpu_exact_s"]
    busy = np.where(np.isnan(busy), observed.total(BUSY), busy)
    length = observed.length_s
    blocks = np.array_split(np.arange(len(length)), min(BLOCKS, len(length) // 3))
    present_s = used.present * length
    names = people.readable(log)
    others = np.maximum(busy - used.cpu.sum(axis=0), 0.0)
    aside = np.minimum(np.nan_to_num(observed.low_priority()), others)
    others = others - aside
    known = ~np.isnan(others)
    order = np.argsort(-used.cpu.sum(axis=1), kind="stable")
    return Activity(
        name=name,
        cpus=cpus,
        seconds=float(length.sum()),
        people=tuple(
            Person(
                name=names.get(used.keys[row], used.keys[row]),
                present_s=float(present_s[row].sum()),
                cpu_s=float(used.cpu[row].sum()),
                active_s=float((used.active[row] * length).sum()),
                transferred_bytes=float(used.transferred[row].sum()),
            )
            for row in order.tolist()
        ),
        cpu=_each(used.cpu, present_s, blocks, "s/s"),
        active=_each(used.active * length, present_s, blocks, "share"),
        transferred=_each(used.transferred, present_s, blocks, "byte/s"),
        background=_each(others[None, known], length[None, known], _again(blocks, known), "s/s"),
        aside=float(aside[known].sum() / length[known].sum()) if known.any() else 0.0,
        busiest=_busiest(used.cpu, present_s, blocks),
        full=_share_full(busy - aside, length, cpus),
        peak=int(used.present.sum(axis=0).max()),
        memory=memory.of_people(log, used.present.sum(axis=0), observed),
        idle_seen=log.has("presence"),
        seen=tuple(_seen(used.present.sum(axis=0), busy - aside, length, cpus)),
    )


def _share_full(busy: Array, length: Array, cpus: int) -> float:
    """Share of the time of the intervals whose CPUs count as full."""
    known = ~np.isnan(busy)
    full = known & (busy > FULL * cpus * length)
    return float(length[full].sum() / length[known].sum()) if known.any() else 0.0


def _seen(present: Array, busy: Array, length: Array, cpus: int) -> Iterator[tuple[int, Estimate]]:
    """Utilisation of the CPUs by number of users present, of those with `INTERVALS_LEAST` intervals."""
    numbers, known = np.rint(present).astype(np.int64), ~np.isnan(busy)
    for users in np.unique(numbers[known]).tolist():
        at = known & (numbers == users)
        if users > 0 and at.sum() >= INTERVALS_LEAST:
            yield users, batch_means.batch_ratio(busy[at], length[at] * cpus).with_unit("share")


def _again(blocks: Sequence[NDArray[np.int64]], known: NDArray[np.bool_]) -> list[NDArray[np.int64]]:
    """Blocks as places among the intervals that are known."""
    place = np.cumsum(known) - 1
    return [place[block[known[block]]] for block in blocks if known[block].any()]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Used:
    """What each person used in each interval: arrays of shape (people, intervals)."""

    keys: list[str]
    cpu: Array
    active: Array
    transferred: Array
    present: Array


def _used(log: Log, observed: Observations) -> _Used:
    import polars as pl

    starts, first = np.unique(observed.start_us, return_index=True)
    rank: dict[str, int] = {}
    rows: list[tuple[NDArray[np.int64], ...]] = []
    values = []
    kinds = people.kinds(log)

    def is_person(user: str) -> bool:
        return people.is_person(user, kinds.get(user))

    for part in log.in_turn("users"):
        names = part.collect_schema().names()
        sizes = [people.column(names, name).fill_null(0.0) for name in ("read_bytes", "write_bytes")]
        frame = part.select(
            pl.col("start").dt.epoch("us"),
            pl.col("user").fill_null(people.NOBODY),
            cpu=people.cpu_time(names).fill_null(0.0),
            transferred=sizes[0] + sizes[1],
        ).collect()
        frame = frame.filter(pl.col("user").map_elements(is_person, return_dtype=pl.Boolean))
        place = np.searchsorted(starts, frame["start"].to_numpy())
        inside = place < len(starts)
        inside[inside] = starts[place[inside]] == frame["start"].to_numpy()[inside]
        who = np.array([rank.setdefault(user, len(rank)) for user in frame["user"].to_list()], dtype=np.int64)
        rows.append((who[inside], first[place[inside]]))
        values.append(frame.select("cpu", "transferred").to_numpy()[inside])
    beats = _beats(log, rank, kinds)
    shape = (len(rank), len(observed))
    cpu, transferred, active = (np.zeros(shape) for _ in range(3))
    for (who, at), value in zip(rows, values, strict=True):
        np.add.at(cpu, (who, at), value[:, 0])
        np.add.at(transferred, (who, at), value[:, 1])
        active[who, at] = np.maximum(active[who, at], value[:, 0] > 0.0)
    return _Used(
        keys=list(rank),
        cpu=cpu,
        active=active,
        transferred=transferred,
        present=_present(active, beats, observed.start_us),
    )


def _beats(log: Log, rank: dict[str, int], kinds: Mapping[str, str]) -> list[tuple[int, list[int]]]:
    """Readings of `presence`: instant, and the people listed; adds people who were never active to `rank`."""
    import polars as pl

    found: dict[int, list[int]] = {}
    if log.has("presence"):
        for part in log.in_turn("presence"):
            frame = part.select(pl.col("start").dt.epoch("us"), "user").drop_nulls().collect()
            for start, user in frame.iter_rows():
                if people.is_person(user, kinds.get(user)):
                    found.setdefault(start, []).append(rank.setdefault(user, len(rank)))
                else:
                    found.setdefault(start, [])
    return sorted(found.items())


def _present(active: Array, beats: Sequence[tuple[int, list[int]]], start_us: NDArray[np.int64]) -> Array:
    """1 in the intervals in which a person was present."""
    present = np.zeros(active.shape)
    if beats:
        listed = np.zeros((len(beats), len(active)))
        for row, (_, who) in enumerate(beats):
            listed[row, who] = 1.0
        last = np.searchsorted([at for at, _ in beats], start_us, side="right") - 1
        present[:] = np.maximum(listed[np.maximum(last, 0)].T, active)
        return present
    for row, seen in enumerate(active):
        at = np.flatnonzero(seen)
        if len(at):
            present[row, at[0] : at[-1] + 1] = 1.0
    return present


def _each(amount: Array, present_s: Array, blocks: Sequence[NDArray[np.int64]], unit: str) -> Estimate:
    """Amount per second of a user who is present: ratio of sums, as certain as users and times differ.

    Users are drawn from a population, and times from all times: the larger of the two variances of the ratio,
    each from the residuals of its sums, with one less degrees of freedom than there are sums (Cochran,
    *Sampling Techniques* (1977), 6.3).
    """
    from scipy import stats

    total = float(present_s.sum())
    value = float(amount.sum()) / total if total > 0.0 else 0.0
    residuals = amount - value * present_s
    variance, freedom = 0.0, 1
    for sums in (residuals.sum(axis=1), np.array([residuals[:, block].sum() for block in blocks])):
        if len(sums) > 1:
            one = float((sums**2).sum()) * len(sums) / (len(sums) - 1) / total**2
            if one >= variance:
                variance, freedom = one, len(sums) - 1
    reach = float(stats.t.ppf(0.975, freedom)) * variance**0.5
    return Estimate(
        value=value,
        unit=unit,
        low=max(value - reach, 0.0),
        high=value + reach,
        n=len(amount),
        method="ratio of sums over users and times",
    )


def _busiest(cpu: Array, present_s: Array, blocks: Sequence[NDArray[np.int64]]) -> float:
    """CPU time of a present user in the busiest tenth of the blocks over that in all."""
    there = np.array([present_s[:, block].sum() for block in blocks])
    used = np.array([cpu[:, block].sum() for block in blocks])
    if not there.sum() > 0.0 or not used.sum() > 0.0:
        return 1.0
    rate = np.divide(used, there, out=np.zeros(len(used)), where=there > 0.0)
    most = np.argsort(-rate, kind="stable")[: max(len(rate) // 10, 1)]
    return float(used[most].sum() / there[most].sum() / (used.sum() / there.sum()))
