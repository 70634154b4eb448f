"""Waits for a CPU, slices and other waits, from a trace of the scheduler."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from thinktime.analyses.scheduling import durations
from thinktime.analyses.scheduling.durations import Buckets, Trace
from thinktime.analyses.scheduling.result import (
    Concentration,
    Durations,
    Scheduling,
    Stretch,
    TaskStates,
    Waiter,
)
from thinktime.log import facts
from thinktime.questions.checks import check_level, check_log
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable
from thinktime.stats.series import batch_means

if TYPE_CHECKING:
    import polars as pl

    from thinktime.log import Log

STATES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "cpu": ("slice", ()),
    "cpu_wait": ("run_queue_wait", ()),
    "io": ("wait", ("io", "page_io")),
    "uninterruptible": ("wait", ("uninterruptible",)),
}
"""States of a task with work: quantity, and reasons; all of them where none is named. Other waits are
pauses."""
STATES_MAX = 8
"""Commands whose states are shown."""
WAITERS_MAX = 20
"""Commands and users that are named, those that waited most."""
SHARES = (0.5, 0.8, 0.95)
"""Shares of the waiting whose commands are counted."""
STRETCHES_MAX = 64
"""Points of the course over time."""
REACTIONS = ("woken", "started")
"""Reasons of waits for a CPU that begin with a wake-up."""
N_LEAST = 20
"""Dispatches below which nothing is said."""
LOST, PARTIAL = "trace_events_lost", "partial_cpus"
"""Incidents of a trace that is incomplete."""


def analyse(log: Log, *, level: float = 0.95) -> Scheduling | NotApplicable:
    r"""Waits for a CPU, slices and other waits of a traced machine.

    Reaction time is that from the wake-up of a task to its dispatch (of APL/360: from the input to the
    first slice; Anderson and Sargent 1974). The mean number of tasks that wait is :math:`L = \sum_i W_i /
    T`, the sum of the waits that ended over the length of the trace (Little 1961), and that of running
    tasks :math:`\sum_i S_i / T`. Of histograms, and of more than four million events, sums and means are
    exact, and quantiles lie between the bounds of a bucket. Intervals allow for correlation in time
    (`batch_means.batch_ratio` over stretches of the trace).

    Parameters
    ----------
    log : Log
        With the table `events` of a scheduler, or `latencies`.
    level : float
        Confidence of the intervals.

    Raises
    ------
    TypeError
        `log` is not an open log.
    """
    import polars as pl

    check_log(log)
    check_level(level)
    trace = durations.read(log)
    if trace is None:
        return NotApplicable(
            "the log has no trace of the scheduler",
            "record one with `thinktime record --trace`, or import a file of `perf sched record`",
        )
    waits = trace.of("run_queue_wait")
    if int(waits["count"].sum()) < N_LEAST:
        return NotApplicable(
            f"only {int(waits['count'].sum())} waits for a CPU were traced; {N_LEAST} are needed",
            "trace for longer",
        )
    slices = trace.of("slice")
    reactions = waits.filter(pl.col("reason").cast(pl.String).is_in(REACTIONS))
    return Scheduling(
        source=trace.source,
        length_s=trace.length_s,
        cpus=_cpus(log),
        reaction=_durations("reaction time", trace, reactions, waits, level),
        waits_for_cpu=_by_reason(trace, waits, level),
        slices=_by_reason(trace, slices, level),
        waits=_by_reason(trace, trace.of("wait"), level),
        others=(
            *_by_reason(trace, trace.of("block_io"), level, "disk request, "),
            *_by_reason(trace, trace.of("page_fault"), level, "page fault, "),
        ),
        commands=_waiters(trace, "command", level),
        users=_waiters(trace, "user", level),
        concentration=_concentration(waits),
        states=_states(trace, level),
        waiting=_number(trace, waits, level),
        running=_number(trace, slices, level),
        stretches=tuple(_stretches(trace, waits, slices)),
        caveats=tuple(_caveats(log, trace)),
    )


def _cpus(log: Log) -> int | None:
    found = {session.machine.number("cpus") for session in facts.sessions(log)}
    known = [cpus for cpus in found if cpus]
    return int(known[0]) if len(found) == 1 and known else None


def _durations(
    name: str, trace: Trace, rows: pl.DataFrame, whole: pl.DataFrame, level: float
) -> Durations | None:
    if rows.is_empty():
        return None
    count, total = trace.sums(rows, "count"), trace.sums(rows, "total")
    buckets = Buckets.of(trace, rows)
    n = int(count.sum())
    p50, p90, p99 = (buckets.quantile(q, level) for q in (0.5, 0.9, 0.99))
    return Durations(
        name=name,
        n=n,
        mean=_ratio(total, count, n, level).with_unit("s"),
        p50=p50,
        p90=p90,
        p99=p99,
        longest_s=buckets.longest,
        share=_share(total, trace.sums(whole, "total"), n, level),
        rate=_ratio(count, trace.lengths, n, level).with_unit("1/s"),
    )


def _ratio(amounts: durations.Array, lengths: durations.Array, n: int, level: float) -> Estimate:
    return dataclasses.replace(batch_means.batch_ratio(amounts, lengths, level), n=n)


def _share(amounts: durations.Array, lengths: durations.Array, n: int, level: float) -> Estimate:
    """Share of a sum, its interval cut at 0 and 1; 0 where there is nothing to share."""
    if not lengths.sum() > 0.0:
        return Estimate(value=0.0, n=n, method="nothing to share", level=level)
    found = _ratio(amounts, lengths, n, level)
    if found.low is None or found.high is None:
        return found
    return dataclasses.replace(found, low=max(0.0, found.low), high=min(1.0, found.high))


def _by_reason(trace: Trace, rows: pl.DataFrame, level: float, prefix: str = "") -> tuple[Durations, ...]:
    """Durations by reason, those that add up to most first."""
    import polars as pl

    found = []
    for reason in rows["reason"].cast(pl.String).unique().sort().to_list():
        part = rows.filter(pl.col("reason").cast(pl.String) == reason)
        item = _durations(f"{prefix}{reason or 'unknown'}", trace, part, rows, level)
        if item is not None:
            found.append(item)
    return tuple(sorted(found, key=lambda item: (-item.share.value, item.name)))


def _waiters(trace: Trace, column: str, level: float) -> tuple[Waiter, ...]:
    """Commands or users that waited most for a CPU, by decreasing waiting."""
    import polars as pl

    waits, slices = trace.of("run_queue_wait"), trace.of("slice")
    totals = (
        waits.group_by(pl.col(column).cast(pl.String).alias("name"))
        .agg(pl.col("total").sum())
        .sort(["total", "name"], descending=[True, False])
    )
    if column == "user" and totals["name"].to_list() in ([""], []):
        return ()
    whole = float(totals["total"].sum())
    of_all, cpu = trace.sums(waits, "total"), trace.sums(slices, "total")
    found, cumulative = [], 0.0
    for name, total in totals.head(WAITERS_MAX).iter_rows():
        cumulative += total / whole if whole > 0.0 else 0.0
        own = waits.filter(pl.col(column).cast(pl.String) == name)
        ran = slices.filter(pl.col(column).cast(pl.String) == name)
        n = int(own["count"].sum())
        reactions = own.filter(pl.col("reason").cast(pl.String).is_in(REACTIONS))
        found.append(
            Waiter(
                name=name or "(unknown)",
                reaction=_durations(name, trace, reactions, own, level),
                waited=_share(trace.sums(own, "total"), of_all, n, level),
                ran=_share(trace.sums(ran, "total"), cpu, n, level) if cpu.sum() > 0.0 else None,
                cumulative=min(cumulative, 1.0),
            )
        )
    return tuple(found)


def _concentration(waits: pl.DataFrame) -> tuple[Concentration, ...]:
    import polars as pl

    totals = waits.group_by("command").agg(pl.col("total").sum())["total"].to_numpy()
    ordered = np.sort(totals)[::-1]
    whole = float(ordered.sum())
    if not whole > 0.0:
        return ()
    reached = np.cumsum(ordered) / whole
    return tuple(
        Concentration(
            share=share,
            commands=int(np.searchsorted(reached, share - 1e-12)) + 1,
            of=int((ordered > 0).sum()),
        )
        for share in SHARES
    )


def _states(trace: Trace, level: float) -> tuple[TaskStates, ...]:
    """States of all tasks, and of the commands with most time in them."""
    import polars as pl

    parts = {}
    for state, (quantity, reasons) in STATES.items():
        rows = trace.of(quantity)
        parts[state] = rows.filter(pl.col("reason").cast(pl.String).is_in(reasons)) if reasons else rows
    if parts["cpu"].is_empty():
        return ()
    whole = pl.concat(list(parts.values()))
    totals = (
        whole.group_by(pl.col("command").cast(pl.String).alias("name"))
        .agg(pl.col("total").sum())
        .sort(["total", "name"], descending=[True, False])
        .head(STATES_MAX)
    )

    def of(name: str, command: str | None) -> TaskStates:
        own = {
            state: rows if command is None else rows.filter(pl.col("command").cast(pl.String) == command)
            for state, rows in parts.items()
        }
        sums = {state: trace.sums(rows, "total") for state, rows in own.items()}
        total = np.sum(list(sums.values()), axis=0)
        n = sum(int(rows["count"].sum()) for rows in own.values())
        shares = {state: _share(amounts, total, n, level) for state, amounts in sums.items()}
        return TaskStates(name=name, total_s=float(total.sum()), **shares)

    return (of("all", None), *(of(name or "(unknown)", name) for name in totals["name"]))


def _number(trace: Trace, rows: pl.DataFrame, level: float) -> Estimate:
    """Mean number of tasks in a state."""
    return _ratio(trace.sums(rows, "total"), trace.lengths, int(rows["count"].sum()), level).with_unit("task")


def _stretches(trace: Trace, waits: pl.DataFrame, slices: pl.DataFrame) -> Iterator[Stretch]:
    """Course over time; what lasts over the end of a stretch counts where it ended."""
    waiting, running = trace.sums(waits, "total"), trace.sums(slices, "total")
    for part in np.array_split(np.arange(trace.blocks), min(STRETCHES_MAX, trace.blocks)):
        length = float(trace.lengths[part].sum())
        if length > 0.0:
            yield Stretch(
                start_s=float(trace.starts[part[0]]),
                length_s=length,
                waiting=float(waiting[part].sum()) / length,
                running=float(running[part].sum()) / length,
            )


def _caveats(log: Log, trace: Trace) -> Iterator[Caveat]:
    import polars as pl

    waits = trace.of("run_queue_wait")
    lost = sum(item["count"] for item in log.manifest["incidents"] if item["kind"] == LOST)
    if lost:
        yield Caveat("events_lost", events=lost)
    if any(item["kind"] == PARTIAL for item in log.manifest["incidents"]):
        yield Caveat("partial_cpus")
    if trace.source == "histograms":
        yield Caveat("histograms")
    if trace.events is not None:
        yield Caveat("counted_events", events=trace.events, width=trace.width)
    if trace.unseen:
        yield Caveat("unseen_waits", dispatches=trace.unseen)
    commands = waits["command"].n_unique()
    if commands > WAITERS_MAX:
        yield Caveat("more_commands", shown=WAITERS_MAX, commands=commands)
    if not (waits["user"].cast(pl.String) != "").any():
        yield Caveat("no_users")
