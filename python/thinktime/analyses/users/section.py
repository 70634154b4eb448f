"""Who used the machine: the users of the log by CPU time, before any analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Column, Section, Table

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = ["section"]

TITLE = "Who used it?"
SHOWN = 12
"""Users listed by name; the others are added up."""
AMOUNTS = ("cpu", "page_faults", "read_bytes", "write_bytes", "run_delay_s")


def section(log: Log) -> Section:
    """Section of the users by CPU time."""
    if not log.has("users"):
        reason = "The log tells no users apart. Record with `--by uid` or `--by session`."
        return Section(name="who", title=TITLE, summary=(), not_applicable=reason)
    rows, users = _rows(log)
    first = rows[0]
    most = shown.cell(first[2], "share")
    sentence = f"{shown.count(users, 'user')} used it; {first[0]} had {most} of the CPU time."
    columns = (
        Column("user"),
        Column("CPU time", unit="s"),
        Column("of CPU time", unit="share"),
        Column("waited for a CPU", unit="s"),
        Column("page faults"),
        Column("read", unit="byte"),
        Column("written", unit="byte"),
    )
    table = Table(name="who-users", caption="Users by CPU time", columns=columns, rows=rows)
    method = (
        "CPU time is the exact one where it was measured, else user and system time by the tick. Time "
        "waited for a CPU "
        "is that of the user's tasks while they could have run."
    )
    return Section(name="who", title=TITLE, summary=(sentence,), tables=(table,), method=method)


def _rows(log: Log) -> tuple[tuple[tuple[Cell, ...], ...], int]:
    import polars as pl

    def column(name: str) -> pl.Expr:
        return pl.col(name).cast(pl.Float64) if name in there else pl.lit(None, pl.Float64)

    def total(name: str) -> pl.Expr:
        # Polars adds nothing up to zero; nothing measured is not zero.
        return pl.when(pl.col(name).count() > 0).then(pl.col(name).sum())

    users = log.users()
    there = users.collect_schema().names()
    ticks = column("user_s").fill_null(0.0) + column("system_s").fill_null(0.0)
    frame = (
        users.select(
            pl.col("user").fill_null("nobody"),
            cpu=pl.coalesce(column("cpu_exact_s"), ticks),
            page_faults=pl.sum_horizontal(column("page_faults_minor"), column("page_faults_major")),
            read_bytes=column("read_bytes"),
            write_bytes=column("write_bytes"),
            run_delay_s=column("run_delay_s"),
        )
        .group_by("user")
        .agg(total(name).alias(name) for name in AMOUNTS)
        .sort(["cpu", "user"], descending=[True, False])
        .collect()
    )
    whole = float(frame["cpu"].sum() or 0.0) or 1.0
    records = frame.head(SHOWN).to_dicts()
    rest = frame.slice(SHOWN)
    if rest.height:
        sums = rest.select(total(name).alias(name) for name in AMOUNTS).to_dicts()[0]
        records.append({"user": f"{rest.height} others", **sums})
    played = _played(log)
    rows = tuple(
        (
            played.get(record["user"], str(record["user"])),
            record["cpu"],
            (record["cpu"] or 0.0) / whole,
            record["run_delay_s"],
            record["page_faults"],
            record["read_bytes"],
            record["write_bytes"],
        )
        for record in records
    )
    return rows, frame.height


def _played(log: Log) -> dict[str, str]:
    """Names of the sessions that were played: `session:4711` is synthetic user 3."""
    names: dict[str, str] = {}
    for session in log.manifest.get("sessions") or ():
        outcome = (session.get("terminals") or {}).get("outcome") or {}
        for user, name in (outcome.get("sessions") or {}).items():
            names[str(name)] = f"{name} (played, {user})"
    return names
