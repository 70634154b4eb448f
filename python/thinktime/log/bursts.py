"""Bursts of service from the trace of a scheduler: from the wake-up of a task until it waits again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.log import interaction_pieces
from thinktime.log.interaction_pieces import Sampled, evenly
from thinktime.log.interactions import INSTANTS, Interactions
from thinktime.log.observations import ROWS

if TYPE_CHECKING:
    import polars as pl

    from thinktime.log import Log

KINDS = ("wake_up", "dispatch", "switch_out")
"""Events that begin and end the states of a task."""
PREEMPTED = "preempted"


def read(log: Log) -> Interactions | None:
    """Bursts of a trace, as interactions with a task; None if the log has no such events.

    A burst is due when the task is woken, gets its first service when it is dispatched, and is complete
    when the task waits again or ends; its service is the sum of its slices, exact. Its class is the
    command. Bursts whose beginning or end the trace does not have are left out.
    """
    import polars as pl

    found = list(_pieces(log))
    return _table(pl.concat(found)) if found else None


def sampled(log: Log, seed: int) -> Sampled | None:
    """Bursts of a trace, or a uniform sample without replacement of many; None as `read`.

    Numbers as of `interaction_pieces.sampled`. Each burst draws a random number, in the order in which they
    end, and of many those with the least are taken: the events are read once, in pieces.

    Parameters
    ----------
    log : Log
    seed : int
        Of the sample: the same log and seed give the same one.
    """
    import polars as pl

    random = np.random.default_rng(seed)
    most, size = interaction_pieces.SAMPLED_FROM, interaction_pieces.SAMPLE
    kept: list[pl.DataFrame] = []
    n = held = 0
    for piece in _pieces(log):
        kept.append(piece.with_columns(_drawn=random.random(len(piece))))
        n += len(piece)
        held += len(piece)
        if n > most and held > 2 * size:
            kept = [_least(pl.concat(kept), size)]
            held = size
    if not n:
        return None
    bursts = pl.concat(kept)
    table = _table((_least(bursts, size) if n > most else bursts).drop("_drawn"))
    return Sampled(table=table, n=n, unfinished=0)


def _least(bursts: pl.DataFrame, size: int) -> pl.DataFrame:
    """Bursts with the least random numbers, in their order."""
    chosen = np.sort(np.argsort(bursts["_drawn"].to_numpy(), kind="stable")[:size])
    return bursts[chosen]


def _pieces(log: Log) -> Iterator[pl.DataFrame]:
    """Bursts that have begun and ended, as the events of their ends are read."""
    if not log.has("events") or not {"task", "reason"} <= {column.name for column in log.schema("events")}:
        return
    opened: pl.DataFrame | None = None
    for frame in evenly(_events(log), ROWS):
        bursts = _added(opened, _of_events(frame))
        # Only the last burst of a task may go on, and only if the task did not wait at its end.
        ended = bursts["completion"].is_not_null()
        opened = bursts.filter(~ended)
        closed = bursts.filter(ended & bursts["due"].is_not_null() & (bursts["unseen"] == 0))
        if len(closed):
            yield closed.sort("at").select(
                "due", "first_service", "completion", "service", "command", "user", "task"
            )


def _events(log: Log) -> Iterator[pl.DataFrame]:
    """Events of tasks, in the order of time, and those of one instant in that of their happening."""
    import polars as pl

    texts = [pl.col(name).cast(pl.String) for name in ("kind", "reason", "command", "user")]
    for part in log.in_turn("events"):
        chosen = part.filter(
            pl.col("kind").cast(pl.String).is_in(KINDS), pl.col("task").is_not_null()
        ).select(pl.col("time").dt.epoch("us"), "task", "amount", *texts)
        yield from chosen.collect_batches(chunk_size=ROWS, maintain_order=True)


def _of_events(frame: pl.DataFrame) -> pl.DataFrame:
    """Bursts of a piece of the events, by task; the first and the last of a task may be parts of one."""
    import polars as pl

    return (
        frame.lazy()
        .with_row_index("at")
        .sort("task", maintain_order=True)
        .with_columns(waits=(pl.col("kind") == "switch_out") & pl.col("reason").ne_missing(pl.lit(PREEMPTED)))
        .with_columns(burst=pl.col("waits").cum_sum() - pl.col("waits").cast(pl.UInt32))
        .group_by("task", "burst", maintain_order=True)
        .agg(
            due=pl.col("time").filter(pl.col("kind") == "wake_up").first(),
            first_service=pl.col("time").filter(pl.col("kind") == "dispatch").first(),
            completion=pl.col("time").filter("waits").last(),
            service=pl.col("amount").filter(pl.col("kind") == "switch_out").sum(),
            unseen=pl.col("amount").filter(pl.col("kind") != "wake_up").null_count(),
            command=pl.col("command").last(),
            user=pl.col("user").last(),
            at=pl.col("at").last(),
        )
        .collect()
    )


def _added(opened: pl.DataFrame | None, bursts: pl.DataFrame) -> pl.DataFrame:
    """Bursts of a piece, with what the pieces before have of the first burst of each task."""
    import polars as pl

    if opened is None or opened.is_empty():
        return bursts
    before = opened.select("task", "due", "first_service", "service", "unseen", begins=True)
    keys = ["task", "begins"]
    joined = bursts.with_columns(begins=pl.col("task").is_first_distinct()).join(
        before, on=keys, how="left", suffix="_before", maintain_order="left"
    )
    added = joined.with_columns(
        *(pl.coalesce(f"{name}_before", name).alias(name) for name in ("due", "first_service")),
        *(
            (pl.col(f"{name}_before").fill_null(0) + pl.col(name)).alias(name)
            for name in ("service", "unseen")
        ),
    )
    idle = opened.join(bursts, on="task", how="anti", maintain_order="left")
    return pl.concat([idle, added.select(bursts.columns)])


def _table(bursts: pl.DataFrame) -> Interactions:
    """Bursts in the order in which they were due, as interactions."""
    import polars as pl

    frame = bursts.sort("task", maintain_order=True).sort("due", maintain_order=True)
    origin = int(frame["due"][0])
    absent = np.full(len(frame), np.nan)
    times = {
        name: ((frame[name] - origin).cast(pl.Float64) / 1e6).to_numpy() if name in frame.columns else absent
        for name in INSTANTS
    }
    columns = dict.fromkeys(("population", "user_s", "system_s"), absent)
    return Interactions(
        origin_us=origin,
        times=times,
        columns={**columns, "service_s": frame["service"].to_numpy()},
        classes=_texts(frame["command"]),
        users=_texts(frame["user"]),
        ended=np.sort(times["completion"]),
    )


def _texts(column: pl.Series) -> NDArray[np.str_]:
    return column.fill_null("").to_numpy().astype(np.str_)
