"""Everything that the checks read from a log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.health.intervals import COLUMNS, STATES, First, Second
from thinktime.log import facts, observations, users
from thinktime.log.alongside import Pieces, alongside
from thinktime.log.sums import by_group

if TYPE_CHECKING:
    import polars as pl

    from thinktime.log import Log
    from thinktime.log.observations import Observations

Array = NDArray[np.float64]

USERS = ("cpu_s", "run_delay_s", "io_delay_s", "swap_delay_s", "inherited_s", "moved_bytes")
DISKS = ("reads", "writes", "read_wait_s", "write_wait_s", "busy_s")
INTERFACES = ("packets_in", "packets_out", "bytes_in", "bytes_out", "errors", "drops")
GROUPS = ("cpu_s", "throttled_s", "throttled_periods", "periods", "memory_oom_kills")
LARGEST = 5
"""Users whose CPU time is followed from interval to interval."""
HOLDS = 0.5
"""Share of the CPUs from which one user can hold up the others: half of them, so that there is but one."""
LEAVES = 0.25
"""Share of the CPUs below which that user is as good as absent."""
STEADY_WITHIN = 0.05
"""Distance from the highest rate of an interface within which its rate counts as the same."""

Sums = dict[str, dict[str, float | None]]
"""Sums of columns, by the name of a user, device or group; None where nothing was measured."""


@dataclass(slots=True)
class Traffic:
    """Bytes per second of an interface, both ways, in the intervals in which it did anything."""

    highest: float = 0.0
    near: int = 0
    """Intervals within 5 % of the highest rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """Sums over the intervals of a log, and by user, device and control group."""

    first: First
    second: Second
    cpus: float
    """Number of CPUs; that of the CPU time accounted for where the log does not say it."""
    attributed: float | None
    """Share of the CPU time that was attributed to users; None where no recorder accounted for it."""
    users: Sums
    """Empty where so little was attributed that the users seen do not stand for all."""
    names: dict[str, str]
    """Readable names by key of a user."""
    clock_steps: int
    """Times at which the wall clock was set forward, each of which looks like a gap."""
    ends_told: bool
    """True if the kernel told the recorder of the last session which processes ended."""
    disks: Sums
    interfaces: Sums
    traffic: dict[str, Traffic]
    """Of each interface but the loopback."""
    groups: Sums
    """By path."""
    group_names: dict[str, str]
    """Readable names by path."""
    filled: dict[str, float]
    """Largest share of its own limit of memory that each group with one held at any reading, by path."""

    INTERVALS_LEAST: ClassVar[int] = 5
    """Intervals below which waits are no finding: a few bad seconds may be the start of the recording."""

    @property
    def intervals(self) -> int:
        """Number of intervals."""
        return self.first.intervals

    @property
    def enough(self) -> bool:
        """True if there are intervals enough for a finding."""
        return self.intervals >= self.INTERVALS_LEAST

    @property
    def time_s(self) -> float:
        """Measured time, without gaps."""
        return self.first.time_s

    @property
    def capacity_s(self) -> float:
        """CPU time that there was."""
        return self.time_s * self.cpus

    def name(self, user: str) -> str:
        """Readable name of a user."""
        return self.names.get(user, user)

    def group(self, path: str) -> str:
        """Readable name of a control group."""
        return self.group_names.get(path, path)

    def total(self, *names: str) -> float | None:
        """Sum of columns of the samples over the log; None where nothing was measured."""
        return self.first.sums[names].value

    @property
    def low_priority_s(self) -> float | None:
        """CPU time of work that gives way to other work; None where nothing was measured."""
        return self.first.low_priority.value

    def worst(self, name: str) -> int | None:
        """Start of the interval with the highest rate of a column of the samples."""
        return self.first.worst[name].start_us

    def of_users(self, name: str) -> float | None:
        """Sum of an amount over all users; None where nothing was measured."""
        known = [value for sums in self.users.values() if (value := sums[name]) is not None]
        return sum(known) if known else None


def read(log: Log) -> Readings:
    """Readings of a log, whose tables are read a few times each, in pieces."""
    pieces = observations.held(lambda: observations.chunks(log, COLUMNS))
    first = First()
    for piece in pieces():
        first.absorb(piece)
    attribution = facts.attribution(log)
    partial = attribution is not None and attribution.is_partial
    by_user = (_of_users(part) for part in log.in_turn("users"))
    stated = facts.last_machine(log).whole("cpus", least=1)
    accounted = first.sums[STATES].value or 0.0
    cpus = float(stated) if stated else accounted / first.time_s if first.time_s else 0.0
    second = Second(first.memory.known, (HOLDS * cpus, LEAVES * cpus))
    for piece, times in users.over_time(log, pieces, LARGEST):
        second.absorb(piece, times)
    return Readings(
        first=first,
        second=second,
        cpus=cpus,
        attributed=None if attribution is None else attribution.share,
        users={} if partial else _named(by_group(by_user, "user", USERS), "user"),
        names=users.readable(log) | users.played(log),
        clock_steps=_clock_steps(log),
        ends_told=_ends_told(log),
        disks=_table(log, "disks", "device", DISKS),
        interfaces=_table(log, "interfaces", "interface", INTERFACES),
        traffic=_traffic(log, pieces),
        groups=_table(log, "groups", "group", GROUPS),
        group_names=users.readable(log, ("groups",), "group"),
        filled=_filled(log),
    )


def _clock_steps(log: Log) -> int:
    incidents = log.manifest["incidents"]
    return sum(
        item["count"] for item in incidents if item["kind"] == "clock_step" and "forward" in item["detail"]
    )


def _ends_told(log: Log) -> bool:
    sessions = facts.sessions(log)
    last = sessions[-1].facts.table("recorder").table("processes") if sessions else None
    return last is not None and last.text("exits") == "taskstats"


def _of_users(part: pl.LazyFrame) -> pl.LazyFrame:
    import polars as pl

    names = part.collect_schema().names()
    moved = [users.column(names, name) for name in ("read_bytes", "write_bytes")]
    return part.select(
        pl.col("user").fill_null(users.NOBODY),
        users.cpu_time(names).alias("cpu_s"),
        *(users.column(names, name).alias(name) for name in USERS[1:-1]),
        # The sum of what is not known is no zero.
        pl.when(pl.any_horizontal(item.is_not_null() for item in moved))
        .then(pl.sum_horizontal(moved))
        .alias("moved_bytes"),
    )


def _table(log: Log, table: str, key: str, columns: tuple[str, ...]) -> Sums:
    """Sums of columns of a table by its key; empty where the log has no such table."""
    import polars as pl

    if not log.has(table):
        return {}

    def of(part: pl.LazyFrame) -> pl.LazyFrame:
        names = part.collect_schema().names()
        return part.select(
            pl.col(key).fill_null(users.NOBODY), *(users.column(names, name).alias(name) for name in columns)
        )

    return _named(by_group(map(of, log.in_turn(table)), key, columns), key)


def _filled(log: Log) -> dict[str, float]:
    """Largest share of its limit of memory that each control group held, of those with a limit."""
    import polars as pl

    if not log.has("groups"):
        return {}
    most: dict[str, float] = {}
    for part in log.in_turn("groups"):
        names = part.collect_schema().names()
        share = users.column(names, "memory_bytes") / users.column(names, "memory_limit_bytes")
        rows = part.select(pl.col("group").fill_null(users.NOBODY), share=share).filter(
            pl.col("share") >= 0.0
        )
        for group, highest in rows.group_by("group").agg(pl.col("share").max()).collect().rows():
            most[group] = max(most.get(group, 0.0), highest)
    return most


def _named(frame: pl.DataFrame, key: str) -> Sums:
    return {row.pop(key): row for row in frame.to_dicts()}


def _traffic(log: Log, pieces: Pieces[Observations]) -> dict[str, Traffic]:
    """Traffic of each interface but the loopback, where the length of the interval is known."""
    if not log.has("interfaces"):
        return {}
    found: dict[str, Traffic] = {}
    for name, rates in _rates(log, pieces):
        of = found.setdefault(name, Traffic())
        of.highest = max(of.highest, float(rates.max(initial=0.0)))
    for name, rates in _rates(log, pieces):
        of = found[name]
        of.near += int(np.count_nonzero(rates >= (1.0 - STEADY_WITHIN) * of.highest))
    return found


def _rates(log: Log, pieces: Pieces[Observations]) -> Iterator[tuple[str, Array]]:
    """Bytes per second of an interface, both ways, in some intervals."""
    import polars as pl

    def select(part: pl.LazyFrame) -> pl.LazyFrame:
        names = part.collect_schema().names()
        moved = pl.sum_horizontal(users.column(names, name) for name in ("bytes_in", "bytes_out"))
        return part.select(pl.col("start").dt.epoch("us"), pl.col("interface"), moved=moved).filter(
            pl.col("interface").is_not_null() & (pl.col("interface") != "lo")
        )

    for piece, frames in alongside(log, "interfaces", pieces, select):
        for frame, place in frames:
            rows = frame.with_columns(moved=pl.col("moved") / pl.Series(piece.length_s[place]))
            for (name,), own in rows.partition_by("interface", as_dict=True, maintain_order=True).items():
                yield str(name), own["moved"].to_numpy()
