"""Resources used by each user, by falling CPU time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from thinktime.log import facts
from thinktime.log.sums import by_group
from thinktime.questions.results import Result, check_log
from thinktime.stats.estimate import Caveat, NotApplicable

if TYPE_CHECKING:
    import polars as pl

    from thinktime.log import Log

LISTED_MAX = 12
"""Users that a reader sees one by one; the others are summed."""
AMOUNTS = ("cpu_s", "run_delay_s", "page_faults", "read_bytes", "written_bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Resources used by one user over the whole log; None where not measured."""

    user: str
    """As the log identifies it: a uid, a session, a cgroup, or ``nobody``."""
    played_as: str | None
    """Name of the synthetic user that this session belonged to, if it was played."""
    cpu_s: float | None
    """CPU time: exact if it was measured, otherwise user and system time by the tick."""
    cpu_share: float
    """Share of the CPU time that was attributed to users."""
    run_delay_s: float | None
    """Time for which the user's tasks were runnable and waited for a CPU."""
    page_faults: float | None
    read_bytes: float | None
    written_bytes: float | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Users(Result):
    """Every user of a log."""

    MAIN = "users"

    users: tuple[User, ...]
    """By falling CPU time."""
    others: User | None
    """Sum over all users after the first `LISTED_MAX`; None if there are none."""
    caveats: tuple[Caveat, ...] = ()


def analyse(log: Log) -> Users | NotApplicable:
    """Resources used by each user of a log, by falling CPU time.

    Raises
    ------
    TypeError
        `log` is not a `Log`.
    """
    check_log(log)
    if not log.has("users"):
        return NotApplicable("the log does not distinguish users", "record with `--by uid` or `--by session`")
    frame = _by_user(log)
    if frame.is_empty():
        return NotApplicable("no user used the machine while it was recorded", "record for longer")
    total_s = float(frame["cpu_s"].sum() or 0.0) or 1.0
    played = _played(log)

    def user(row: dict[str, Any]) -> User:
        share = (row["cpu_s"] or 0.0) / total_s
        return User(cpu_share=share, played_as=played.get(row["user"]), **row)

    rest = frame.slice(LISTED_MAX)
    others = None
    if rest.height:
        sums = rest.select(_total(name).alias(name) for name in AMOUNTS).to_dicts()[0]
        others = user({"user": f"{rest.height} others", **sums})
    users = tuple(map(user, frame.to_dicts()))
    return Users(users=users, others=others, caveats=facts.caveats_of_users(log))


def _total(name: str) -> pl.Expr:
    """Sum of a column; null, not zero, where nothing was measured."""
    import polars as pl

    return pl.when(pl.col(name).count() > 0).then(pl.col(name).sum())


def _by_user(log: Log) -> pl.DataFrame:
    """Sums of the amounts of each user, by falling CPU time."""
    parts = (_amounts(part) for part in log.in_turn("users"))
    return by_group(parts, "user", AMOUNTS).sort(["cpu_s", "user"], descending=[True, False])


def _amounts(users: pl.LazyFrame) -> pl.LazyFrame:
    """Amounts of each row of table `users`."""
    import polars as pl

    names = users.collect_schema().names()

    def column(name: str) -> pl.Expr:
        return pl.col(name).cast(pl.Float64) if name in names else pl.lit(None, pl.Float64)

    ticks = column("user_s").fill_null(0.0) + column("system_s").fill_null(0.0)
    return users.select(
        pl.col("user").fill_null("nobody"),
        cpu_s=pl.coalesce(column("cpu_exact_s"), ticks),
        run_delay_s=column("run_delay_s"),
        page_faults=pl.sum_horizontal(column("page_faults_minor"), column("page_faults_major")),
        read_bytes=column("read_bytes"),
        written_bytes=column("write_bytes"),
    )


def _played(log: Log) -> dict[str, str]:
    """Synthetic user of each session that was played: ``session:4711`` is user 3."""
    names = {}
    for session in facts.sessions(log):
        played = session.facts.table("terminals").table("outcome").table("sessions")
        names.update({name: user for user in played.values if (name := played.text(user))})
    return names
