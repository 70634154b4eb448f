"""Bursts of service from the trace of a scheduler: from the wake-up of a task until it waits again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thinktime.log.interactions import INSTANTS, Interactions

if TYPE_CHECKING:
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

    if not log.has("events") or not {"task", "reason"} <= {column.name for column in log.schema("events")}:
        return None
    texts = [pl.col(name).cast(pl.String) for name in ("kind", "reason", "command", "user")]
    frame = (
        log.events()
        .filter(pl.col("kind").cast(pl.String).is_in(KINDS), pl.col("task").is_not_null())
        .select(pl.col("time").dt.epoch("us"), "task", pl.col("amount"), *texts)
        # Rows are in the order of time, and events of one instant in that of their happening.
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
        )
        .filter(pl.col("due").is_not_null(), pl.col("completion").is_not_null(), pl.col("unseen") == 0)
        .sort("due", maintain_order=True)
        .collect()
    )
    if frame.is_empty():
        return None
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
        classes=frame["command"].fill_null("").to_numpy().astype(np.str_),
        users=frame["user"].fill_null("").to_numpy().astype(np.str_),
        ended=np.sort(times["completion"]),
    )
