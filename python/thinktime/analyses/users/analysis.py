"""Resources used by each user, command and control group, by falling CPU time."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from thinktime.analyses.timeline.analysis import STRETCHES_MAX, Cut, Timeline
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
    seen = {(row["user"],) for row in rows}
    # No row of an interval says that a user did nothing in it: zero, where others were measured.
    zero = {name: 0.0 if any(row[name] is not None for row in rows) else None for name in AMOUNTS}
    rows = [*rows, *({"user": key[0], **zero} for key in sorted(memory) if key not in seen)]
    rows.sort(key=lambda row: (-(row["cpu_s"] or 0.0), row["user"]))
    return [
        User(
            name=names.get(row["user"], row["user"]),
            played_as=played.get(row["user"]),
            cpu_share=(row["cpu_s"] or 0.0) / total_s,
            memory_bytes=memory.get((row["user"],)),
            gpu_memory_bytes=of_gpu.get((row["user"],)),
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


def _amounts(part: pl.LazyFrame, names: Sequence[str]) -> pl.LazyFrame:
    """Amounts of each row of table `users`, or of table `commands`, with its command."""
    import polars as pl

    has = part.collect_schema().names()
    special = {
        "cpu_s": people.cpu_time(has),
        "page_faults": pl.sum_horizontal(
            people.column(has, "page_faults_minor"), people.column(has, "page_faults_major")
        ),
        "written_bytes": people.column(has, "write_bytes"),
    }
    return part.select(
        pl.col("user").fill_null(people.NOBODY),
        *((pl.col("command").fill_null(""),) if "command" in has else ()),
        *((special.get(name, people.column(has, name))).alias(name) for name in names),
    )


def _memory(
    log: Log,
    table: str,
    key: Sequence[str] = ("user",),
    readings: Sequence[str] = MEMORY,
) -> dict[tuple[str, ...], float]:
    """Most memory of each user, command or group at any reading, by the values of its key."""
    import polars as pl

    most: dict[tuple[str, ...], float] = {}
    absent = {"command": ""}
    for part in log.in_turn(table):
        has = part.collect_schema().names()
        named = [pl.col(name).fill_null(absent.get(name, people.NOBODY)) for name in key]
        value = pl.coalesce(*(people.column(has, item) for item in readings))
        rows = part.select(*named, value=value).filter(pl.col("value").is_not_null())
        for *item, bytes_most in rows.group_by(list(key)).agg(pl.col("value").max()).collect().rows():
            most[tuple(item)] = max(most.get(tuple(item), 0.0), bytes_most)
    return most


def _commands(log: Log, names: dict[str, str]) -> tuple[Command, ...]:
    """Largest commands by falling CPU time."""
    if not log.has("commands"):
        return ()
    key = ("user", "command")
    parts = (_amounts(part, OF_COMMANDS) for part in log.in_turn("commands"))
    rows = by_group(parts, key, OF_COMMANDS).to_dicts()
    memory = _memory(log, "commands", key)
    total_s = sum(row["cpu_s"] or 0.0 for row in rows) or 1.0
    commands = []
    for row in sorted(rows, key=lambda row: (-(row["cpu_s"] or 0.0), row["user"], row["command"])):
        user = row.pop("user")
        commands.append(
            Command(
                user=names.get(user, user),
                cpu_share=(row["cpu_s"] or 0.0) / total_s,
                memory_bytes=memory.get((user, row["command"])),
                **row,
            )
        )
    return tuple(_largest(commands, ("run_delay_s", "memory_bytes", "read_bytes", "written_bytes")))


def _groups(log: Log) -> tuple[Group, ...]:
    """Largest control groups by falling CPU time; by memory where no group's CPU time was counted."""
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
    memory, limits = _memory(log, "groups", ("group",)), _limits(log)
    groups = [
        Group(
            name=names.get(path, path),
            kind=kinds.get(path, ""),
            memory_bytes=memory.get((path,)),
            memory_limit_bytes=limits.get(path),
            **row,
        )
        for row in sorted(
            rows,
            key=lambda row: (-(row["cpu_s"] or 0.0), -memory.get((row["group"],), 0.0), row["group"]),
        )
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
    pieces = observations.held(lambda: observations.chunks(log, ()))
    whole = Cut.of(pieces(), STRETCHES_MAX)
    if whole is None:
        return None
    sums: dict[str, list[float]] = {}
    lengths_s: list[float] = []
    rest_s = 0.0
    for piece, times in people.over_time(log, pieces, LARGEST):
        if not len(piece):
            continue
        stretch = whole.add(piece.start_us, piece.length_s)
        rest = np.maximum(times.all_cpu_s - times.cpu_s.sum(axis=0), 0.0)
        rest_s += float(rest.sum())
        parts = [*zip((names.get(user, user) for user in times.users), times.cpu_s, strict=True)]
        added = [(lengths_s, piece.length_s)]
        added += [(sums.setdefault(name, []), cpu_s) for name, cpu_s in (*parts, (OTHERS, rest))]
        edges = [0, *(np.flatnonzero(np.diff(stretch)) + 1).tolist(), len(piece)]
        for first, last in itertools.pairwise(edges):
            for totals, values in added:
                totals += [0.0] * (whole.count - len(totals))
                totals[stretch[first]] += float(values[first:last].sum())
    if not rest_s > 1e-9:
        sums.pop(OTHERS, None)
    series = {
        name: tuple(cpu_s / length_s for cpu_s, length_s in zip(totals, lengths_s, strict=True))
        for name, totals in sums.items()
    }
    return replace(whole.timeline(), series=series)
