"""Length, cost and gaps of a recording, and the host it was made on."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.log import facts
from thinktime.log.observations import ROWS
from thinktime.log.users import Crowd, crowd
from thinktime.questions.checks import check_log
from thinktime.results import Result
from thinktime.stats.estimate import Caveat, Plain
from thinktime.stats.ordered import order_statistics

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
DELAY = "recorder_delay_s"
OWN = ("cpu_exact_s", "recorder_cpu_s", "recorder_written_bytes", DELAY)


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
    check_log(log)
    result = _measured(log, _Sums.of(log))
    return replace(result, caveats=_caveats(result))


class _Sums:
    """Sums over the samples, which are read in pieces."""

    def __init__(self, cpus: int) -> None:
        self.intervals = 0
        self.measured_s = 0.0
        self.first_start: datetime | None = None
        self.own: dict[str, float] = {}
        """Of the columns `OWN` that have a value: its sum, of the delay the most."""
        self.ticks_s: float | None = None
        self.exact_s = 0.0
        self.largest_difference: float | None = None
        self.counts: dict[str, int] = {}
        """Values of each column."""
        self.median_s: float | None = None
        self._cpus = cpus

    @classmethod
    def of(cls, log: Log) -> _Sums:
        """Sums over the samples of a log."""
        import polars as pl

        sums = cls(facts.last_machine(log).whole("cpus", least=1) or 1)
        wanted = [name for name in (*TICKS, *OWN) if name in {item.name for item in log.schema("samples")}]
        for part in log.in_turn("samples"):
            for name, count in part.select(pl.all().count()).collect().row(0, named=True).items():
                sums.counts[name] = sums.counts.get(name, 0) + count
            for frame in part.select("start", "length_s", *wanted).collect_batches(
                chunk_size=ROWS, maintain_order=True
            ):
                sums._absorb(frame)
        sums.median_s = _median(lambda: _lengths(log), sums.counts.get("length_s", 0))
        return sums

    def _absorb(self, frame: pl.DataFrame) -> None:
        import polars as pl

        self.intervals += frame.height
        self.measured_s += float(frame["length_s"].sum() or 0.0)
        begun = frame["start"].min()
        if isinstance(begun, datetime) and (self.first_start is None or begun < self.first_start):
            self.first_start = begun
        for name in OWN[1:]:
            known = frame[name].drop_nulls() if name in frame.columns else frame["length_s"].clear()
            if not known.is_empty():
                before = self.own.get(name)
                value = float(known.max() if name == DELAY else known.sum())  # type: ignore[arg-type]
                combined = max if name == DELAY else operator.add
                self.own[name] = value if before is None else combined(before, value)
        ticks = [name for name in TICKS if name in frame.columns]
        if not ticks or OWN[0] not in frame.columns:
            return
        both = frame.with_columns(tick=pl.sum_horizontal(ticks)).drop_nulls([ticks[0], OWN[0]])
        if both.is_empty():
            return
        self.ticks_s = (self.ticks_s or 0.0) + float(both["tick"].sum())
        self.exact_s += float(both[OWN[0]].sum())
        difference = ((both["tick"] - both[OWN[0]]).abs() / (both["length_s"] * self._cpus)).max()
        if isinstance(difference, float):
            self.largest_difference = max(self.largest_difference or 0.0, difference)

    def per_second(self, name: str) -> float | None:
        """Sum of a column per second of the measured time; None where nothing was measured."""
        total = self.own.get(name)
        return None if total is None or self.measured_s <= 0 else total / self.measured_s


def _lengths(log: Log) -> Iterator[NDArray[np.float64]]:
    import polars as pl

    for part in log.in_turn("samples"):
        lengths = part.select(pl.col("length_s").cast(pl.Float64)).drop_nulls()
        for frame in lengths.collect_batches(chunk_size=ROWS, maintain_order=True):
            yield frame["length_s"].to_numpy()


def _median(pieces: Callable[[], Iterator[NDArray[np.float64]]], n: int) -> float | None:
    """Median of n values; None where there is none."""
    if not n:
        return None
    low, high = order_statistics(pieces, ((n - 1) // 2, n // 2))
    return 0.5 * (low + high)


def _measured(log: Log, sums: _Sums) -> Recording:
    """Recording of the samples with these sums, without its caveats."""
    sessions = facts.sessions(log)
    last = sessions[-1].facts if sessions else facts.none(log)
    host = _host(facts.last_machine(log), sessions[-1].source if sessions else "unknown", last)
    terminals = last.table("terminals")
    incidents = tuple(
        Incident(kind=item["kind"], detail=item["detail"], count=item["count"])
        for item in log.manifest["incidents"]
    )
    return Recording(
        host=host,
        sessions=max(len(sessions), 1),
        users_by=last.table("options").text("by"),
        workload=_workload(terminals, crowd(log)) if "terminals" in last else None,
        intervals=sums.intervals,
        measured_s=sums.measured_s,
        interval_s=sums.median_s,
        first_start=sums.first_start,
        dropped=sum(item.count for item in incidents if item.kind == "interval_dropped"),
        lost=sum(item.count for item in incidents if item.kind == "rows_lost"),
        recorder_cpu_share=sums.per_second("recorder_cpu_s"),
        # The first sample is taken before anything has been written.
        written_bytes_per_s=sums.per_second("recorder_written_bytes") if sums.intervals > 1 else None,
        longest_delay_s=sums.own.get(DELAY),
        busy_ticks_s=sums.ticks_s,
        busy_exact_s=None if sums.ticks_s is None else sums.exact_s,
        largest_difference=sums.largest_difference,
        incidents=incidents,
        baseline=terminals.table("floor").values,
        recorder=last.table("recorder").values,
        absent=_absent(sums.counts),
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
