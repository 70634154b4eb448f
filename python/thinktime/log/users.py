"""The users of a log: their readable names, and the CPU time and waits of the largest in each interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.log import facts
from thinktime.log.alongside import Pieces, alongside
from thinktime.log.sums import by_group

if TYPE_CHECKING:
    import polars as pl

    from thinktime.log import Log
    from thinktime.log.observations import Observations

Array = NDArray[np.float64]

NOBODY = "nobody"
"""Name of the user of rows that name none."""
PERSON_LEAST, PERSON_ABSENT = 1000, 65_534
"""First number of the accounts of people on Linux, and the number that stands for no account."""
PERSON = "person"
"""Kind of a user who may log in."""
NAMED = ("users", "presence")
"""Tables in which a user may have a readable name and a kind; those of a later table replace them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserTimes:
    """CPU time and waits for a CPU by interval, of the largest users and of all together."""

    users: tuple[str, ...]
    """Keys of the users, by falling CPU time."""
    cpu_s: Array
    """Shape (users, intervals)."""
    all_cpu_s: Array
    """Of all users, shape (intervals,)."""
    delay_s: Array
    """Time runnable but not running, shape (users, intervals); zero throughout where it was not measured."""
    all_delay_s: Array
    """Of all users, shape (intervals,)."""


def cpu_time(names: Sequence[str]) -> pl.Expr:
    """CPU time of a row of `users` or `commands`: exact where it was measured, otherwise by the tick."""
    import polars as pl

    ticks = column(names, "user_s").fill_null(0.0) + column(names, "system_s").fill_null(0.0)
    return pl.coalesce(column(names, "cpu_exact_s"), ticks)


def column(names: Sequence[str], name: str) -> pl.Expr:
    """Column of a table with columns `names`, as floats; null throughout where the table lacks it."""
    import polars as pl

    return pl.col(name).cast(pl.Float64) if name in names else pl.lit(None, pl.Float64)


def kinds(log: Log) -> dict[str, str]:
    """Kind of each user by key, as recorded: ``person`` or ``system``; users without one are absent."""
    found: dict[str, str] = {}
    for table in NAMED:
        found.update(latest(log, table, "user", "kind"))
    return found


def is_person(user: str, kind: str | None = None) -> bool:
    """True for somebody who may log in.

    By the kind that was recorded. Without one, by the key: an account from 1000 on, a session, a user's
    slice.

    Parameters
    ----------
    user : str
        Key.
    kind : str, optional
        Value of `kinds`; None where the log has none.
    """
    if kind is not None:
        return kind == PERSON
    kind, colon, number = user.partition(":")
    if user.startswith("/"):
        return "/user" in user
    if not colon:
        return user != NOBODY
    if kind == "uid":
        return number.isdigit() and int(number) >= PERSON_LEAST and int(number) != PERSON_ABSENT
    return not (kind == "session" and number == "0")


def readable(log: Log, tables: Sequence[str] = NAMED, key: str = "user") -> dict[str, str]:
    """Readable name of each user by key, the latest; empty for a log that has none.

    Users with the same name have their key with it: ``alice (uid:1003)``.

    Parameters
    ----------
    log : Log
    tables : sequence of str
        Tables in which names are looked for; that of a later table replaces that of an earlier one.
    key : str
        Column of the keys: ``group`` for control groups.
    """
    found: dict[str, str] = {}
    for table in tables:
        found.update(latest(log, table, key, "name"))
    times = Counter(found.values())
    return {user: name if times[name] == 1 else f"{name} ({user})" for user, name in found.items()}


def played(log: Log) -> dict[str, str]:
    """Synthetic user of each session that was played: ``session:4711`` is user 3."""
    names = {}
    for session in facts.sessions(log):
        played = session.facts.table("terminals").table("outcome").table("sessions")
        names.update({name: user for user in played.values if (name := played.text(user))})
    return names


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """Number of synthetic users of a play: asked for, started, and active; None where it is not known."""

    asked: int | None
    """Most users asked for."""
    started: int | None
    """Users whose process was started."""
    active: float | None
    """Mean number of them with CPU time in an interval, over the intervals with any."""


def crowd(log: Log) -> Crowd | None:
    """Users of the last play in a log; None if nobody played."""
    plays = [session.facts.table("terminals") for session in facts.sessions(log)]
    terminals = next((play for play in reversed(plays) if play.values), None)
    if terminals is None:
        return None
    started = terminals.table("outcome").table("sessions").values
    return Crowd(
        asked=_asked(terminals), started=len(started) if started else None, active=_active(log, played(log))
    )


def _asked(terminals: facts.Facts) -> int | None:
    """Most users of a plan: a number, or a text such as ``1..12`` or ``10..40..10``."""
    if isinstance(terminals.values.get("users"), int):
        return terminals.whole("users")
    numbers = [part for part in (terminals.text("users") or "").split("..")[:2] if part.isdecimal()]
    return max(map(int, numbers), default=None)


def _active(log: Log, sessions: Mapping[str, str]) -> float | None:
    """Mean number of the users of `sessions` who were active, over the intervals with any."""
    import polars as pl

    if not sessions or not log.has("users"):
        return None
    rows, intervals = 0, 0
    names = [item.name for item in log.schema("users")]
    for part in log.in_turn("users"):
        used = part.filter(pl.col("user").is_in(list(sessions)) & (cpu_time(names) > 0.0))
        count = used.select(pl.len(), pl.col("start").n_unique().alias("intervals")).collect()
        rows, intervals = rows + count["len"][0], intervals + count["intervals"][0]
    return rows / intervals if intervals else None


def latest(log: Log, table: str, key: str, label: str) -> dict[str, str]:
    """Last text in column `label` for each text in column `key`; empty where the table lacks it."""
    import polars as pl

    found: dict[str, str] = {}
    if log.has(table) and label in {item.name for item in log.schema(table)}:
        for part in log.in_turn(table):
            rows = part.select(key, label).drop_nulls().filter(pl.col(label) != "")
            found.update(rows.group_by(key, maintain_order=True).last().collect().rows())
    return found


def over_time(log: Log, pieces: Pieces[Observations], most: int) -> Iterator[tuple[Observations, UserTimes]]:
    """CPU time and waits for a CPU of the `most` largest users in the intervals of a log, piece by piece.

    Rows that begin with none of the intervals are omitted: nothing is known of their length.

    Parameters
    ----------
    log : Log
    pieces : callable
        The intervals: ``observations.held(lambda: observations.chunks(log, names))``.
    most : int
        Users who are followed one by one.
    """
    import polars as pl

    sums = by_group(map(_rows, log.in_turn("users")), "user", ("cpu_s",))
    largest = sums.sort(["cpu_s", "user"], descending=[True, False]).head(most)["user"].to_list()
    rank = pl.col("user").replace_strict(
        largest, list(range(len(largest))), default=len(largest), return_dtype=pl.Int64
    )
    for piece, frames in alongside(log, "users", pieces, _rows):
        cpu, delay = (np.zeros((len(largest) + 1, len(piece))) for _ in range(2))
        for frame, place in frames:
            cell = frame.select(rank).to_series().to_numpy() * len(piece) + place
            for target, name in ((cpu, "cpu_s"), (delay, "run_delay_s")):
                np.add.at(target.reshape(-1), cell, frame[name].fill_null(0.0).to_numpy())
        yield (
            piece,
            UserTimes(
                users=tuple(largest),
                cpu_s=cpu[:-1],
                all_cpu_s=cpu.sum(axis=0),
                delay_s=delay[:-1],
                all_delay_s=delay.sum(axis=0),
            ),
        )


def _rows(part: pl.LazyFrame) -> pl.LazyFrame:
    import polars as pl

    names = part.collect_schema().names()
    return part.select(
        pl.col("start").dt.epoch("us"),
        pl.col("user").fill_null(NOBODY),
        cpu_s=cpu_time(names),
        run_delay_s=column(names, "run_delay_s"),
    )
