"""Everything that the checks read from a log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from thinktime.log import facts, observations, users
from thinktime.log.observations import Observations
from thinktime.log.sums import by_group
from thinktime.log.users import UserTimes

if TYPE_CHECKING:
    import polars as pl

    from thinktime.log import Log

Array = NDArray[np.float64]

STATES = ("user_s", "nice_s", "system_s", "irq_s", "softirq_s", "steal_s", "idle_s", "iowait_s")
SAMPLES = (
    *STATES,
    "low_priority_s",
    "cpu_exact_s",
    "psi_cpu_some_s",
    "psi_memory_some_s",
    "psi_io_some_s",
    "swap_in_pages",
    "swap_out_pages",
    "pages_scanned",
    "pages_reclaimed",
    "memory_total_bytes",
    "memory_available_bytes",
)
USERS = ("cpu_s", "run_delay_s", "io_delay_s", "swap_delay_s", "inherited_s", "moved_bytes")
DISKS = ("reads", "writes", "read_wait_s", "write_wait_s", "busy_s")
INTERFACES = ("packets_in", "packets_out", "bytes_in", "bytes_out", "errors", "drops")
GROUPS = ("cpu_s", "throttled_s", "throttled_periods", "periods", "memory_oom_kills")
LARGEST = 5
"""Users whose CPU time is followed from interval to interval."""

Sums = dict[str, dict[str, float | None]]
"""Sums of columns, by the name of a user, device or group; None where nothing was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """Intervals of a log, and sums over it by user, device and control group."""

    samples: Observations
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
    largest: UserTimes
    disks: Sums
    interfaces: Sums
    traffic: dict[str, Array]
    """Bytes per second of each interface, both ways, in the intervals in which it did anything."""
    groups: Sums
    """By path."""
    group_names: dict[str, str]
    """Readable names by path."""

    INTERVALS_LEAST: ClassVar[int] = 5
    """Intervals below which waits are no finding: a few bad seconds may be the start of the recording."""

    @property
    def enough(self) -> bool:
        """True if there are intervals enough for a finding."""
        return len(self.samples) >= self.INTERVALS_LEAST

    @property
    def time_s(self) -> float:
        """Measured time, without gaps."""
        return float(self.samples.length_s.sum())

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

    def rate(self, *names: str) -> Array:
        """Sum of columns of the samples per second in each interval."""
        return self.samples.rate(names)

    def total(self, *names: str) -> float | None:
        """Sum of columns of the samples over the log; None where nothing was measured."""
        return _sum(self.samples.total(names))

    @property
    def low_priority_s(self) -> float | None:
        """CPU time of work that gives way to other work; None where nothing was measured."""
        return _sum(self.samples.low_priority())

    def of_users(self, name: str) -> float | None:
        """Sum of an amount over all users; None where nothing was measured."""
        known = [value for sums in self.users.values() if (value := sums[name]) is not None]
        return sum(known) if known else None

    def when(self, values: Array) -> int | None:
        """Start of the interval with the greatest value."""
        if not np.nanmax(values, initial=0.0) > 0.0:
            return None
        return int(self.samples.start_us[int(np.nanargmax(values))])


def read(log: Log) -> Readings:
    """Readings of a log, whose tables are read once or twice each, in pieces."""
    samples = observations.read(log, SAMPLES)
    attribution = facts.attribution(log)
    partial = attribution is not None and attribution.is_partial
    by_user = (_of_users(part) for part in log.in_turn("users"))
    stated = facts.last_machine(log).whole("cpus", least=1)
    accounted = _sum(samples.total(STATES))
    length_s = float(samples.length_s.sum())
    return Readings(
        samples=samples,
        cpus=float(stated) if stated else (accounted or 0.0) / length_s if length_s else 0.0,
        attributed=None if attribution is None else attribution.share,
        users={} if partial else _named(by_group(by_user, "user", USERS), "user"),
        names=users.readable(log) | users.played(log),
        clock_steps=_clock_steps(log),
        ends_told=_ends_told(log),
        largest=users.over_time(log, samples.start_us, LARGEST),
        disks=_table(log, "disks", "device", DISKS),
        interfaces=_table(log, "interfaces", "interface", INTERFACES),
        traffic=_traffic(log, samples),
        groups=_table(log, "groups", "group", GROUPS),
        group_names=users.readable(log, ("groups",), "group"),
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


def _sum(values: Array) -> float | None:
    return float(np.nansum(values)) if np.isfinite(values).any() else None


def _of_users(part: pl.LazyFrame) -> pl.LazyFrame:
    import polars as pl

    names = part.collect_schema().names()
    moved = [users.column(names, name) for name in ("read_bytes", "write_bytes")]
    return part.select(
        pl.col("user").fill_null(users.NOBODY),
        users.cpu_time(names).alias("cpu_s"),
        *(users.column(names, name).alias(name) for name in USERS[1:-1]),
        pl.sum_horizontal(moved).alias("moved_bytes"),
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


def _named(frame: pl.DataFrame, key: str) -> Sums:
    return {row.pop(key): row for row in frame.to_dicts()}


def _traffic(log: Log, samples: Observations) -> dict[str, Array]:
    """Bytes per second of each interface but the loopback, where the length of the interval is known."""
    import polars as pl

    if not log.has("interfaces") or not len(samples):
        return {}
    lengths = pl.DataFrame({"begun": samples.start_us, "length_s": samples.length_s}).unique(
        "begun", keep="first", maintain_order=True
    )
    rates: dict[str, list[Array]] = {}
    for part in log.in_turn("interfaces"):
        names = part.collect_schema().names()
        moved = pl.sum_horizontal(users.column(names, name) for name in ("bytes_in", "bytes_out"))
        frame = (
            part.select(pl.col("start").dt.epoch("us").alias("begun"), pl.col("interface"), moved=moved)
            .filter(pl.col("interface").is_not_null() & (pl.col("interface") != "lo"))
            .collect()
            .join(lengths, on="begun", how="inner", maintain_order="left")
        )
        for (name,), rows in frame.partition_by("interface", as_dict=True, maintain_order=True).items():
            rates.setdefault(str(name), []).append((rows["moved"] / rows["length_s"]).to_numpy())
    return {name: np.concatenate(parts) for name, parts in rates.items()}
