"""Resources used by each user, command and control group, by falling CPU time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from thinktime.analyses.timeline.analysis import STRETCHES_MAX, Timeline, cut
from thinktime.analyses.users import logins
from thinktime.analyses.users.result import Command, Group, User, Users
from thinktime.log import facts, observations
from thinktime.log import users as people
from thinktime.log.sums import by_group
from thinktime.questions.checks import check_log
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    import polars as pl

    from thinktime.analyses.users.logins import Logins
    from thinktime.log import Log

LISTED_MAX = 12
"""Users, commands or groups that a reader sees one by one for their CPU time; the others are summed."""
FURTHER = 3
"""Those that are listed besides for each other resource of which they had the most."""
LARGEST = 5
"""Users who are drawn one by one over time."""
OTHERS = "all others"
"""Name of the users who are drawn together."""
AMOUNTS = ("cpu_s", "run_delay_s", "io_delay_s", "page_faults", "read_bytes", "written_bytes", "gpu_s")
OF_COMMANDS = ("cpu_s", "run_delay_s", "io_delay_s", "read_bytes", "written_bytes", "started")
OF_GROUPS = (
    "cpu_s",
    "throttled_s",
    "psi_cpu_some_s",
    "psi_memory_some_s",
    "psi_io_some_s",
    "memory_oom_kills",
)
MEMORY = ("memory_proportional_bytes", "memory_resident_bytes", "memory_bytes")
"""Readings of memory, the truest first."""
GPU_MEMORY = ("gpu_memory_bytes",)
NUL = "\0"
"""Between user and command in a key: neither name can contain it."""


def analyse(log: Log) -> Users | Logins | NotApplicable:
    """Resources used by each user of a log, by falling CPU time; their commands, and control groups.

    For a log that knows who was logged in, and nothing else of users: their sessions.

    Raises
    ------
    TypeError
        `log` is not a `Log`.
    """
    check_log(log)
    if not log.has("users"):
        found = logins.analyse(log)
        if found is not None:
            return found
        return NotApplicable("the log does not distinguish users", "record with `--by uid` or `--by session`")
    frame = by_group((_amounts(part, AMOUNTS) for part in log.in_turn("users")), "user", AMOUNTS)
    if frame.is_empty():
        return NotApplicable("no user used the machine while it was recorded", "record for longer")
    names = people.readable(log)
    users = _users(log, frame.to_dicts(), names)
    further = ("run_delay_s", "memory_bytes", "read_bytes", "written_bytes", "gpu_s", "gpu_memory_bytes")
    listed = _largest(users, further)
    rest = [user for user in users if user not in listed]
    return Users(
        users=tuple(users),
        listed=tuple(listed),
        others=_summed(rest) if rest else None,
        commands=_commands(log, names | people.played(log)),
        groups=_groups(log),
        over_time=_over_time(log, names | people.played(log)),
        cpus=facts.last_machine(log).whole("cpus", least=1),
        caveats=facts.caveats_of_users(log),
    )


def _users(log: Log, rows: list[dict[str, Any]], names: dict[str, str]) -> list[User]:
    """Users by falling CPU time, those who were present without doing anything included."""
    total_s = sum(row["cpu_s"] or 0.0 for row in rows) or 1.0
    played, memory = people.played(log), _memory(log, "presence" if log.has("presence") else "users")
    of_gpu = _memory(log, "users", readings=GPU_MEMORY)
    seen = {row["user"] for row in rows}
    # No row of an interval says that a user did nothing in it: zero, where others were measured.
    zero = {name: 0.0 if any(row[name] is not None for row in rows) else None for name in AMOUNTS}
    rows = [*rows, *({"user": user, **zero} for user in sorted(memory) if user not in seen)]
    rows.sort(key=lambda row: (-(row["cpu_s"] or 0.0), row["user"]))
    return [
        User(
            name=names.get(row["user"], row["user"]),
            played_as=played.get(row["user"]),
            cpu_share=(row["cpu_s"] or 0.0) / total_s,
            memory_bytes=memory.get(row["user"]),
            gpu_memory_bytes=of_gpu.get(row["user"]),
            **row,
        )
        for row in rows
    ]


def _largest(items: Sequence[Any], further: Sequence[str]) -> list[Any]:
    """First items, and those that have the most of anything else, in their order."""
    chosen = set(range(min(LISTED_MAX, len(items))))
    for name in further:
        most = sorted(range(len(items)), key=lambda index: -(getattr(items[index], name) or 0.0))
        chosen.update(index for index in most[:FURTHER] if getattr(items[index], name))
    return [items[index] for index in sorted(chosen)]


def _summed(users: Sequence[User]) -> User:
    """All of these as one user."""

    def total(name: str) -> float | None:
        known = [value for user in users if (value := getattr(user, name)) is not None]
        return sum(known) if known else None

    label = "1 other" if len(users) == 1 else f"{len(users)} others"
    # The greatest memory of each was at another time: their sum is none that ever was.
    return User(
        user=label,
        name=label,
        played_as=None,
        cpu_share=sum(user.cpu_share for user in users),
        memory_bytes=None,
        gpu_memory_bytes=None,
        **{name: total(name) for name in AMOUNTS},
    )


def _amounts(part: pl.LazyFrame, names: Sequence[str], *, with_command: bool = False) -> pl.LazyFrame:
    """Amounts of each row of table `users`, or of table `commands` by user and command."""
    import polars as pl

    has = part.collect_schema().names()
    user = pl.col("user").fill_null(people.NOBODY)
    key = pl.concat_str(user, pl.col("command").fill_null(""), separator=NUL) if with_command else user
    special = {
        "cpu_s": people.cpu_time(has),
        "page_faults": pl.sum_horizontal(
            people.column(has, "page_faults_minor"), people.column(has, "page_faults_major")
        ),
        "written_bytes": people.column(has, "write_bytes"),
    }
    return part.select(
        key.alias("user"), *((special.get(name, people.column(has, name))).alias(name) for name in names)
    )


def _memory(
    log: Log,
    table: str,
    key: str = "user",
    *,
    with_command: bool = False,
    readings: Sequence[str] = MEMORY,
) -> dict[str, float]:
    """Most memory of each user, command or group at any reading."""
    import polars as pl

    most: dict[str, float] = {}
    for part in log.in_turn(table):
        has = part.collect_schema().names()
        name = pl.col(key).fill_null(people.NOBODY)
        if with_command:
            name = pl.concat_str(name, pl.col("command").fill_null(""), separator=NUL)
        value = pl.coalesce(*(people.column(has, item) for item in readings))
        rows = part.select(name.alias("key"), value=value).drop_nulls()
        for item, bytes_most in rows.group_by("key").agg(pl.col("value").max()).collect().rows():
            most[item] = max(most.get(item, 0.0), bytes_most)
    return most


def _commands(log: Log, names: dict[str, str]) -> tuple[Command, ...]:
    """Largest commands by falling CPU time."""
    if not log.has("commands"):
        return ()
    parts = (_amounts(part, OF_COMMANDS, with_command=True) for part in log.in_turn("commands"))
    rows = by_group(parts, "user", OF_COMMANDS).to_dicts()
    memory = _memory(log, "commands", with_command=True)
    total_s = sum(row["cpu_s"] or 0.0 for row in rows) or 1.0
    commands = []
    for row in sorted(rows, key=lambda row: (-(row["cpu_s"] or 0.0), row["user"])):
        key = row.pop("user")
        user, _, command = key.partition(NUL)
        share = (row["cpu_s"] or 0.0) / total_s
        commands.append(
            Command(
                command=command,
                user=names.get(user, user),
                cpu_share=share,
                memory_bytes=memory.get(key),
                **row,
            )
        )
    return tuple(_largest(commands, ("run_delay_s", "memory_bytes", "read_bytes", "written_bytes")))


def _groups(log: Log) -> tuple[Group, ...]:
    """Largest control groups by falling CPU time."""
    if not log.has("groups"):
        return ()
    import polars as pl

    def of(part: pl.LazyFrame) -> pl.LazyFrame:
        has = part.collect_schema().names()
        return part.select(
            pl.col("group").fill_null(people.NOBODY),
            *(people.column(has, name).alias(name) for name in OF_GROUPS),
        )

    rows = by_group(map(of, log.in_turn("groups")), "group", OF_GROUPS).to_dicts()
    names, kinds = people.readable(log, ("groups",), "group"), people.latest(log, "groups", "group", "kind")
    memory, limits = _memory(log, "groups", "group"), _limits(log)
    groups = [
        Group(
            name=names.get(path, path),
            kind=kinds.get(path, ""),
            memory_bytes=memory.get(path),
            memory_limit_bytes=limits.get(path),
            **row,
        )
        for row in sorted(rows, key=lambda row: (-(row["cpu_s"] or 0.0), row["group"]))
        if (path := row.pop("group"))
    ]
    return tuple(_largest(groups, ("throttled_s", "psi_memory_some_s", "memory_bytes", "memory_oom_kills")))


def _limits(log: Log) -> dict[str, float]:
    """Latest limit of the memory of each control group that has one."""
    import polars as pl

    limits: dict[str, float] = {}
    for part in log.in_turn("groups"):
        has = part.collect_schema().names()
        rows = part.select("group", limit=people.column(has, "memory_limit_bytes")).drop_nulls()
        latest = rows.group_by("group", maintain_order=True).agg(pl.col("limit").last()).collect()
        limits.update(latest.rows())
    return limits


def _over_time(log: Log, names: dict[str, str]) -> Timeline | None:
    """CPUs used by the largest users and by all others; None for a log without usable samples."""
    samples = observations.read(log, ())
    if not len(samples):
        return None
    times = people.over_time(log, samples.start_us, LARGEST)
    timeline, stretches = cut(samples.start_us, samples.length_s, STRETCHES_MAX)

    def used(cpu_s: np.ndarray) -> tuple[float | None, ...]:
        return tuple(
            float(cpu_s[part.start : part.stop].sum() / samples.length_s[part.start : part.stop].sum())
            for part in stretches
        )

    series = {names.get(user, user): used(times.cpu_s[rank]) for rank, user in enumerate(times.users)}
    rest = np.maximum(times.all_cpu_s - times.cpu_s.sum(axis=0), 0.0)
    if rest.sum() > 1e-9:
        series[OTHERS] = used(rest)
    return replace(timeline, series=series)
