"""Resources used by each user of the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.documents.document import Cell
    from thinktime.log import Log

SHOWN = 12
"""Users listed by name; the others are added up."""
AMOUNTS = ("cpu", "page_faults", "read_bytes", "write_bytes", "run_delay_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Users:
    """Users by CPU time."""

    rows: tuple[tuple[Cell, ...], ...]
    users: int


def analyse(log: Log) -> Users | NotApplicable:
    """Users by CPU time; those beyond the first `SHOWN` are added up."""
    if not log.has("users"):
        return NotApplicable("The log tells no users apart", "Record with `--by uid` or `--by session`")
    rows, users = _rows(log)
    return Users(rows=rows, users=users)


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
