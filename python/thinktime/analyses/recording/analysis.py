"""What was measured: the machine by the manifest, and the samples in a handful of figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from thinktime.documents import format as shown

if TYPE_CHECKING:
    import polars as pl

    from thinktime.log import Log

__all__ = ["Machine", "Recording", "facts", "length", "moment", "name", "recording", "words"]

DISAGREEMENT = 0.05
"""Part of the exact CPU time by which the tick-sampled one may be off before anybody is warned."""
TICK_S = 0.01
SHORT = 30
"""Intervals below which few analyses can say anything."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What the manifest says about the machine; None where it does not say."""

    hostname: str | None
    cpu_model: str | None
    cpus: int | None
    memory_bytes: int | None
    system: str
    source: str

    @classmethod
    def of(cls, log: Log) -> Machine:
        """Machine of the last session: a log that goes on after a change of hardware ends with it."""
        sessions = log.manifest.get("sessions") or [{}]
        said = sessions[-1].get("machine") or {}
        cpus, memory = said.get("cpus"), said.get("memory_bytes")
        system = " ".join(str(said[key]) for key in ("system", "kernel", "architecture") if said.get(key))
        return cls(
            hostname=_text(said.get("hostname")),
            cpu_model=_text(said.get("cpu_model")),
            cpus=cpus if isinstance(cpus, int) and cpus > 0 else None,
            memory_bytes=memory if isinstance(memory, int) and memory > 0 else None,
            system=system,
            source=str(sessions[-1].get("source") or "unknown"),
        )


@dataclass(frozen=True, slots=True)
class Recording:
    """How much was recorded, and what it cost."""

    intervals: int
    measured_s: float
    interval_s: float | None
    """Median length of an interval."""
    first: datetime | None
    dropped: int
    recorder_share: float | None
    """CPU time of the recorder, as a share of one CPU."""
    written_bytes_per_s: float | None
    late_s: float | None
    """Longest delay of a sample after its deadline."""
    tick_s: float | None
    """Busy CPU time by the tick, over the intervals that also have the exact figure."""
    exact_s: float | None
    worst_share: float | None
    """Largest disagreement of an interval, as a share of the capacity."""

    @property
    def disagrees(self) -> bool:
        """Whether ticks and exact time differ by more than sampling explains.

        A tick hits a busy CPU by chance where the load is not in step with it: over an exact time T the
        tick-sampled one then has a standard deviation of at most the square root of T times the tick.
        """
        if self.tick_s is None or self.exact_s is None:
            return False
        chance = 4 * math.sqrt(TICK_S * self.exact_s)
        return abs(self.tick_s - self.exact_s) > max(DISAGREEMENT * self.exact_s, chance)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedLog:
    """The machine, its recording, and what the log notes about both."""

    machine: Machine
    recording: Recording
    manifest: Mapping[str, Any]
    absent: tuple[tuple[str, str], ...]
    """Name and description of the columns of the samples in which nothing was measured."""


def analyse(log: Log) -> RecordedLog:
    """Machine, length, cost and gaps of the recording."""
    from thinktime.log import vocabulary

    machine = Machine.of(log)
    counts = log.samples().count().collect().to_dicts()[0]
    return RecordedLog(
        machine=machine,
        recording=recording(log, machine.cpus),
        manifest=log.manifest,
        absent=tuple(
            (column.name, column.description)
            for column in vocabulary("samples")
            if not counts.get(column.name)
        ),
    )


def _text(value: object) -> str | None:
    return str(value) if value not in (None, "") else None


def recording(log: Log, cpus: int | None) -> Recording:
    """Fold the samples into what a reader must know about them."""
    import polars as pl

    samples = log.samples()
    there = set(samples.collect_schema().names())
    ticks = [name for name in ("user_s", "nice_s", "system_s", "irq_s", "softirq_s") if name in there]
    wanted = [*ticks, "cpu_exact_s", "recorder_cpu_s", "recorder_written_bytes", "recorder_delay_s"]
    frame = samples.select("start", "length_s", *(name for name in wanted if name in there)).collect()
    missing = [pl.lit(None, pl.Float64).alias(name) for name in wanted if name not in frame.columns]
    frame = frame.with_columns(missing).with_columns(
        tick=pl.sum_horizontal(ticks) if ticks else pl.lit(None, pl.Float64)
    )
    measured = float(frame["length_s"].sum() or 0.0)
    both = frame.drop_nulls([*ticks[:1], "cpu_exact_s"]) if ticks else frame.clear()
    apart = (both["tick"] - both["cpu_exact_s"]).abs() / (both["length_s"] * (cpus or 1))
    incidents: Sequence[Mapping[str, Any]] = log.manifest.get("incidents") or ()
    return Recording(
        intervals=frame.height,
        measured_s=measured,
        interval_s=_number(frame["length_s"].median()),
        first=_first(frame),
        dropped=sum(
            int(item.get("count", 1)) for item in incidents if item.get("kind") == "interval_dropped"
        ),
        recorder_share=_share(frame["recorder_cpu_s"], measured),
        written_bytes_per_s=_share(frame["recorder_written_bytes"], measured),
        late_s=_number(frame["recorder_delay_s"].max()),
        tick_s=None if both.is_empty() else float(both["tick"].sum()),
        exact_s=None if both.is_empty() else float(both["cpu_exact_s"].sum()),
        worst_share=_number(apart.max()),
    )


def _first(frame: pl.DataFrame) -> datetime | None:
    first = frame["start"].drop_nulls().min()
    return first if isinstance(first, datetime) else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _share(column: pl.Series, whole: float) -> float | None:
    return None if column.null_count() == column.len() or whole <= 0 else float(column.sum()) / whole


def name(machine: Machine) -> str:
    """Name of the machine in a sentence."""
    return machine.hostname or "this machine"


def words(machine: Machine) -> str:
    """Machine in half a sentence: 2 CPUs, 8.0 GB of memory, Linux 6.1."""
    parts = []
    if machine.cpus:
        parts.append(f"{machine.cpus} CPU{'s' if machine.cpus > 1 else ''}")
    if machine.memory_bytes:
        parts.append(f"{shown.quantity(float(machine.memory_bytes), 'byte')} of memory")
    if machine.system:
        parts.append(machine.system)
    return ", ".join(parts) or f"a machine of which the log says only its source, {machine.source}"


def facts(machine: Machine, said: Recording, manifest: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Labels and values for the head of the report."""
    sessions = manifest.get("sessions") or [{}]
    options = sessions[-1].get("options") or {}
    rows = [
        ("Machine", machine.hostname),
        ("Processor", _processor(machine)),
        ("Memory", machine.memory_bytes and shown.quantity(float(machine.memory_bytes), "byte")),
        ("System", machine.system or None),
        ("Source", machine.source if len(sessions) == 1 else f"{machine.source}, {len(sessions)} sessions"),
        ("First interval", moment(said.first)),
        ("Recorded", length(said)),
        ("Users told apart by", _text(options.get("by"))),
        ("Workload played", _workload(sessions[-1].get("terminals"))),
    ]
    return tuple((label, value) for label, value in rows if value)


def _processor(machine: Machine) -> str | None:
    if machine.cpus is None:
        return machine.cpu_model
    return f"{machine.cpus} × {machine.cpu_model}" if machine.cpu_model else f"{machine.cpus} CPUs"


def moment(first: datetime | None) -> str | None:
    """Write an instant to the second."""
    return None if first is None else first.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


def length(said: Recording) -> str:
    """Length of the record in words: 4 min in 120 intervals of 2.00 s."""
    every = f" of {shown.quantity(said.interval_s, 's')}" if said.interval_s else ""
    return f"{shown.duration(said.measured_s)} in {said.intervals} intervals{every}"


def _workload(terminals: object) -> str | None:
    """Say what was played: mixed, 1..10 users, seed 1."""
    if not isinstance(terminals, Mapping):
        return None
    workload = terminals.get("workload")
    name = workload.get("name") if isinstance(workload, Mapping) else workload
    parts = [_text(name) or "unnamed"]
    if terminals.get("users") is not None:
        parts.append(f"{terminals['users']} users")
    if terminals.get("seed") is not None:
        parts.append(f"seed {terminals['seed']}")
    return ", ".join(parts)
