"""Users of a log that knows who was logged in, and not what they used: by falling time logged in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinktime.log import users as people
from thinktime.log.sums import by_group
from thinktime.results import Result

if TYPE_CHECKING:
    import polars as pl

    from thinktime.log import Log

AMOUNTS = ("session_s", "logins")


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Sessions of one user over the whole log."""

    user: str
    """As the log identifies it."""
    name: str
    session_s: float
    """Time logged in, summed over the sessions."""
    logins: int
    """Sessions that began."""
    sessions_most: int
    """Most sessions at the end of an interval."""
    terminals: str | None
    """Terminals of the last interval with the user, and from where."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Logins(Result):
    """Everybody who was logged in."""

    MAIN = "people"

    people: tuple[Person, ...]
    """By falling time logged in."""
    recorded_s: float
    """Length of all intervals."""
    sessions_mean: float
    """Sessions at once, mean over that time."""
    sessions_most: int | None
    """Most sessions at the end of an interval."""


def analyse(log: Log) -> Logins | None:
    """Time logged in and sessions of each user; None for a log that does not know them."""
    import polars as pl

    if not log.has("presence") or "session_s" not in {item.name for item in log.schema("presence")}:
        return None
    sums = by_group((_amounts(part) for part in log.in_turn("presence")), "user", AMOUNTS)
    if sums.is_empty():
        return None
    most: dict[str, int] = {}
    for part in log.in_turn("presence"):
        counts = part.group_by("user").agg(pl.col("sessions").max()).drop_nulls().collect()
        for user, sessions in counts.rows():
            most[user] = max(most.get(user, 0), sessions)
    names, terminals = people.readable(log), people.latest(log, "presence", "user", "terminals")
    rows = sorted(sums.to_dicts(), key=lambda row: (-(row["session_s"] or 0.0), row["user"]))
    recorded = log.samples().select(pl.col("length_s").sum(), pl.col("sessions").max()).collect()
    recorded_s = float(recorded["length_s"][0] or 0.0)
    return Logins(
        people=tuple(
            Person(
                user=row["user"],
                name=names.get(row["user"], row["user"]),
                session_s=row["session_s"] or 0.0,
                logins=round(row["logins"] or 0.0),
                sessions_most=most.get(row["user"], 0),
                terminals=terminals.get(row["user"]),
            )
            for row in rows
        ),
        recorded_s=recorded_s,
        sessions_mean=sum(row["session_s"] or 0.0 for row in rows) / recorded_s if recorded_s else 0.0,
        sessions_most=recorded["sessions"][0],
    )


def _amounts(part: pl.LazyFrame) -> pl.LazyFrame:
    import polars as pl

    return part.select(
        pl.col("user").fill_null(people.NOBODY), *(pl.col(name).cast(pl.Float64) for name in AMOUNTS)
    )
