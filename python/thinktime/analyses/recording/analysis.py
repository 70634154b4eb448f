"""Length, cost and gaps of a recording, and the host it was made on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from thinktime.log import facts
from thinktime.log.users import Crowd, crowd
from thinktime.questions.checks import check_log
from thinktime.results import Result
from thinktime.stats.estimate import Caveat, Plain

if TYPE_CHECKING:
    import polars as pl

    from thinktime.log import Log
    from thinktime.log.facts import Facts

DISAGREEMENT = 0.05
"""Relative difference between tick-sampled and exact CPU time below which there is no warning."""
TICK_S = 0.01
SHORT = 30
"""Number of intervals below which few analyses give a useful answer."""
TICKS = ("user_s", "nice_s", "system_s", "irq_s", "softirq_s")
OWN = ("cpu_exact_s", "recorder_cpu_s", "recorder_written_bytes", "recorder_delay_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Machine that was recorded or simulated, as the manifest describes it; None where it does not say."""

    hostname: str | None
    cpu_model: str | None
    cpus: int | None
    memory_bytes: int | None
    system: str
    """Operating system or simulated system, kernel and architecture; may be empty."""
    source: str
    """Kind of source that wrote the log: ``linux``, a simulated system, an importer."""
    is_simulated: bool = False
    """True if the last session is a replication of a simulation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """Something that went wrong while the log was written."""

    kind: str
    detail: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Workload that synthetic users played; None where the manifest does not say."""

    name: str
    users: str | None
    """Numbers of users asked for, as the plan has them: ``1..12``."""
    crowd: Crowd | None
    """Users asked for, started and active."""
    seed: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    """Column of the samples in which nothing was measured."""

    column: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Recording(Result):
    """Length, cost and gaps of a recording; times in seconds, None where not measured."""

    host: Host
    sessions: int
    users_by: str | None
    """Identification of users: ``uid``, ``session`` or ``cgroup``."""
    workload: Workload | None
    intervals: int
    measured_s: float
    """Sum of the lengths of the intervals."""
    interval_s: float | None
    """Median length of an interval."""
    first_start: datetime | None
    dropped: int
    """Intervals that could not be used: they spanned a reboot, a suspend or a counter reset."""
    lost: int
    """Samples that were taken and could not be kept: a full disk, or another program changed the log."""
    recorder_cpu_share: float | None
    """CPU time of the recorder, as a share of one CPU."""
    written_bytes_per_s: float | None
    longest_delay_s: float | None
    """Longest delay of a sample after its deadline."""
    busy_ticks_s: float | None
    """Busy CPU time by the clock tick, over the intervals that also have the exact time."""
    busy_exact_s: float | None
    """Exact busy CPU time over the same intervals."""
    largest_difference: float | None
    """Largest difference of the two in an interval, as a share of the capacity."""
    incidents: tuple[Incident, ...]
    baseline: Mapping[str, Plain]
    """Response of inputs that ask for no work, as the manifest has it; empty if not measured."""
    recorder: Mapping[str, Plain]
    """Recorder's account of itself in the last session, as the manifest has it."""
    absent: tuple[Absent, ...]
    caveats: tuple[Caveat, ...]

    @property
    def ticks_biased(self) -> bool:
        """True if ticks and exact time differ by more than sampling explains.

        A tick hits a busy CPU by chance if the load is not synchronous with it: over an exact time T the
        tick-sampled time then has a standard deviation of at most the square root of T times the tick.
        """
        if self.busy_ticks_s is None or self.busy_exact_s is None:
            return False
        chance = 4 * math.sqrt(TICK_S * max(self.busy_exact_s, 0.0))
        return abs(self.busy_ticks_s - self.busy_exact_s) > max(DISAGREEMENT * self.busy_exact_s, chance)


def analyse(log: Log) -> Recording:
    """Length, cost and gaps of a recording, the agreement of its clocks, and the host.

    A log without samples has a recording of no intervals.

    Raises
    ------
    TypeError
        `log` is not a `Log`.
    """
    import polars as pl

    check_log(log)
    samples = log.samples()
    names = set(samples.collect_schema().names())
    wanted = [name for name in (*TICKS, *OWN) if name in names]
    counts, frame = pl.collect_all([samples.count(), samples.select("start", "length_s", *wanted)])
    result = _measured(log, frame, _absent(counts.to_dicts()[0]))
    return replace(result, caveats=_caveats(result))


def _measured(log: Log, frame: pl.DataFrame, absent: tuple[Absent, ...]) -> Recording:
    """Recording of the samples in `frame`, without its caveats."""
    import polars as pl

    ticks = [name for name in TICKS if name in frame.columns]
    missing = [pl.lit(None, pl.Float64).alias(name) for name in OWN if name not in frame.columns]
    frame = frame.with_columns(missing).with_columns(
        tick=pl.sum_horizontal(ticks) if ticks else pl.lit(None, pl.Float64)
    )
    sessions = facts.sessions(log)
    last = sessions[-1].facts if sessions else facts.none(log)
    host = _host(facts.last_machine(log), sessions[-1].source if sessions else "unknown", last)
    terminals = last.table("terminals")
    measured_s = float(frame["length_s"].sum() or 0.0)
    both = frame.drop_nulls([*ticks[:1], "cpu_exact_s"]) if ticks else frame.clear()
    differences = (both["tick"] - both["cpu_exact_s"]).abs() / (both["length_s"] * (host.cpus or 1))
    incidents = tuple(
        Incident(kind=item["kind"], detail=item["detail"], count=item["count"])
        for item in log.manifest["incidents"]
    )
    return Recording(
        host=host,
        sessions=max(len(sessions), 1),
        users_by=last.table("options").text("by"),
        workload=_workload(terminals, crowd(log)) if "terminals" in last else None,
        intervals=frame.height,
        measured_s=measured_s,
        interval_s=_number(frame["length_s"].median()),
        first_start=_first(frame),
        dropped=sum(item.count for item in incidents if item.kind == "interval_dropped"),
        lost=sum(item.count for item in incidents if item.kind == "rows_lost"),
        recorder_cpu_share=_per_second(frame["recorder_cpu_s"], measured_s),
        written_bytes_per_s=_per_second(frame["recorder_written_bytes"], measured_s),
        longest_delay_s=_number(frame["recorder_delay_s"].max()),
        busy_ticks_s=None if both.is_empty() else float(both["tick"].sum()),
        busy_exact_s=None if both.is_empty() else float(both["cpu_exact_s"].sum()),
        largest_difference=_number(differences.max()),
        incidents=incidents,
        baseline=terminals.table("floor").values,
        recorder=last.table("recorder").values,
        absent=absent,
        caveats=(),
    )


def _host(machine: Facts, source: str, last: Facts) -> Host:
    words = (machine.text(key) for key in ("system", "kernel", "architecture"))
    return Host(
        hostname=machine.text("hostname"),
        cpu_model=machine.text("cpu_model"),
        cpus=machine.whole("cpus", least=1),
        memory_bytes=machine.whole("memory_bytes") or None,
        system=" ".join(word for word in words if word),
        source=source or "unknown",
        is_simulated="replication" in last,
    )


def _workload(terminals: Facts, users_of: Crowd | None) -> Workload:
    is_named = isinstance(terminals.values.get("workload"), str)
    name = terminals.text("workload") if is_named else terminals.table("workload").text("name")
    # Written as a plan, 1..12, or as a number.
    is_number = isinstance(terminals.values.get("users"), int)
    users = terminals.whole("users") if is_number else terminals.text("users")
    return Workload(
        name=name or "unnamed",
        users=None if users is None else str(users),
        crowd=users_of,
        seed=terminals.whole("seed"),
    )


def _absent(counts: Mapping[str, int]) -> tuple[Absent, ...]:
    """Columns of the vocabulary without a value."""
    from thinktime.log import vocabulary

    return tuple(
        Absent(column=column.name, description=column.description)
        for column in vocabulary("samples")
        if not counts.get(column.name)
    )


def _caveats(result: Recording) -> tuple[Caveat, ...]:
    caveats = []
    if result.intervals < SHORT:
        caveats.append(Caveat("few_intervals", intervals=result.intervals))
    if result.ticks_biased:
        caveats.append(Caveat("ticks_biased"))
    if result.busy_ticks_s is None:
        caveats.append(Caveat("no_exact_time"))
    missed = sum(item.count for item in result.incidents if item.kind == "missed_deadline")
    if missed:
        caveats.append(Caveat("missed_deadlines", samples=missed))
    lost = sum(item.count for item in result.incidents if item.kind == "exits_lost")
    if lost:
        caveats.append(Caveat("ends_lost", intervals=lost))
    return tuple(caveats)


def _first(frame: pl.DataFrame) -> datetime | None:
    first = frame["start"].drop_nulls().min()
    return first if isinstance(first, datetime) else None


def _per_second(column: pl.Series, measured_s: float) -> float | None:
    unmeasured = column.null_count() == column.len() or measured_s <= 0
    return None if unmeasured else float(column.sum()) / measured_s


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None
