"""What was measured, and how well: the manifest as facts and as a section on the recording's quality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from thinktime.reports import format as shown
from thinktime.reports.document import Cell, Column, Section, Table

if TYPE_CHECKING:
    import polars as pl

    from thinktime.log import Log

__all__ = ["Machine", "Recording", "facts", "name", "quality", "recording", "words"]

TITLE = "How good is the recording?"
# Tick-sampled and exact CPU time agree to the tick's own noise where a load is not in step with it.
DISAGREEMENT = 0.05
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
        """The machine of the last session: a log that goes on after a change of hardware ends with it."""
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


def _text(value: object) -> str | None:
    return str(value) if value not in (None, "") else None


def recording(log: Log, cpus: int | None) -> Recording:
    """Fold the samples into what a reader must know about them."""
    import polars as pl

    samples = log.samples()
    there = set(samples.collect_schema().names())
    ticks = [name for name in ("user_s", "nice_s", "system_s", "irq_s", "softirq_s") if name in there]
    wanted = [*ticks, "busy_exact_s", "recorder_cpu_s", "recorder_written_bytes", "recorder_late_s"]
    frame = samples.select("start", "length_s", *(name for name in wanted if name in there)).collect()
    missing = [pl.lit(None, pl.Float64).alias(name) for name in wanted if name not in frame.columns]
    frame = frame.with_columns(missing).with_columns(
        tick=pl.sum_horizontal(ticks) if ticks else pl.lit(None, pl.Float64)
    )
    measured = float(frame["length_s"].sum() or 0.0)
    both = frame.drop_nulls([*ticks[:1], "busy_exact_s"]) if ticks else frame.clear()
    apart = (both["tick"] - both["busy_exact_s"]).abs() / (both["length_s"] * (cpus or 1))
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
        late_s=_number(frame["recorder_late_s"].max()),
        tick_s=None if both.is_empty() else float(both["tick"].sum()),
        exact_s=None if both.is_empty() else float(both["busy_exact_s"].sum()),
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
    """What to call the machine in a sentence."""
    return machine.hostname or "this machine"


def words(machine: Machine) -> str:
    """The machine in half a sentence: 2 CPUs, 8.0 GB of memory, Linux 6.1."""
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
        ("First interval", _moment(said.first)),
        ("Recorded", _length(said)),
        ("Users told apart by", _text(options.get("by"))),
        ("Workload played", _workload(sessions[-1].get("terminals"))),
    ]
    return tuple((label, value) for label, value in rows if value)


def _processor(machine: Machine) -> str | None:
    if machine.cpus is None:
        return machine.cpu_model
    return f"{machine.cpus} × {machine.cpu_model}" if machine.cpu_model else f"{machine.cpus} CPUs"


def _moment(first: datetime | None) -> str | None:
    return None if first is None else first.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


def _length(said: Recording) -> str:
    every = f" of {shown.quantity(said.interval_s, 's')}" if said.interval_s else ""
    return f"{shown.duration(said.measured_s)} in {said.intervals} intervals{every}"


def _workload(terminals: object) -> str | None:
    if not isinstance(terminals, Mapping):
        return None
    seed = terminals.get("seed")
    return f"{terminals.get('workload', 'unnamed')}" + ("" if seed is None else f", seed {seed}")


def quality(log: Log, said: Recording) -> Section:
    """The section that says how far the rest can be trusted."""
    if not said.intervals:
        return Section("recording", TITLE, (), not_applicable="the log has no samples.")
    incidents: Sequence[Mapping[str, Any]] = log.manifest.get("incidents") or ()
    tables = [_cost_table(said)]
    if incidents:
        tables.append(_incident_table(incidents))
    settings = _recorder_table(log.manifest)
    if settings.rows:
        tables.append(settings)
    absent = _absent(log)
    if absent.rows:
        tables.append(absent)
    return Section(
        "recording",
        TITLE,
        _summary(said, incidents),
        tables=tuple(tables),
        caveats=_caveats(said, incidents),
        method="Lengths are measured on a monotonic clock; an interval that spans a reboot, a suspend or a counter "
        "reset is dropped and counted here. Tick-sampled CPU time credits a whole tick to whatever runs at its end; "
        "exact CPU time is taken at every switch.",
    )  # fmt: skip


def _summary(said: Recording, incidents: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    dropped = f"; {said.dropped} more had to be dropped" if said.dropped else ""
    sentences = [f"{_length(said)} are complete{dropped}."]
    if said.recorder_share is not None:
        sentences.append(
            f"The recorder itself used {shown.quantity(said.recorder_share, 'share')} of one CPU."
        )
    if said.tick_s and said.exact_s:
        ratio = said.tick_s / said.exact_s
        sentences.append(
            f"Tick-sampled CPU time comes to {shown.quantity(ratio, 'share')} of the exact CPU time over the record."
        )
    others = [item for item in incidents if item.get("kind") != "interval_dropped"]
    sentences.append(
        "Nothing went wrong while it was written."
        if not incidents
        else f"{len(others)} kind{'s' if len(others) != 1 else ''} of incident while it was written, listed below."
    )
    return tuple(sentences)


def _caveats(said: Recording, incidents: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    caveats = []
    if said.intervals < SHORT:
        caveats.append(f"Only {said.intervals} intervals: record at least {SHORT}, better a few hundred.")
    if said.worst_share is not None and said.worst_share > DISAGREEMENT:
        caveats.append(
            f"In at least one interval the tick-sampled and the exact CPU time differ by "
            f"{shown.quantity(said.worst_share, 'share')} of the capacity: rely on the exact figure."
        )
    if said.tick_s is None:
        caveats.append("No exact CPU time in this log: a load in step with the clock tick would not be seen.")
    late = sum(int(item.get("count", 1)) for item in incidents if item.get("kind") == "missed_deadline")
    if late:
        caveats.append(f"{late} samples missed their deadline; lengths are as measured, so rates still hold.")
    return tuple(caveats)


def _cost_table(said: Recording) -> Table:
    rows: list[tuple[Cell, ...]] = [
        ("Recorder's CPU time, share of one CPU", shown.quantity(said.recorder_share, "share")),
        ("Bytes written to the log", shown.quantity(said.written_bytes_per_s, "byte/s")),
        ("Latest sample after its deadline", shown.quantity(said.late_s, "s")),
        ("Busy CPU time, tick-sampled", shown.quantity(said.tick_s, "s")),
        ("Busy CPU time, exact", shown.quantity(said.exact_s, "s")),
        ("Largest disagreement in an interval, share of capacity", shown.quantity(said.worst_share, "share")),
    ]
    return Table(
        "recording-cost",
        "What the recording cost, and how its clocks agree",
        (Column("what"), Column("figure")),
        tuple(rows),
    )


def _incident_table(incidents: Sequence[Mapping[str, Any]]) -> Table:
    rows = tuple(
        (str(item.get("kind", "")).replace("_", " "), str(item.get("detail", "")), int(item.get("count", 1)))
        for item in incidents
    )
    return Table(
        "recording-incidents", "What went wrong", (Column("kind"), Column("detail"), Column("times")), rows
    )


def _recorder_table(manifest: Mapping[str, Any]) -> Table:
    sessions = manifest.get("sessions") or [{}]
    said = sessions[-1].get("recorder")
    rows = tuple(_flat(said)) if isinstance(said, Mapping) else ()
    return Table(
        "recording-recorder",
        "What the recorder says of itself (last session)",
        (Column("what"), Column("value")),
        rows,
    )


def _flat(value: Mapping[str, Any], before: str = "") -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    for key, item in value.items():
        label = f"{before}{str(key).replace('_', ' ')}"
        if isinstance(item, Mapping):
            rows.extend(_flat(item, f"{label}: "))
        elif isinstance(item, (list, tuple)):
            rows.append((label, "; ".join(map(str, item)) or "none"))
        else:
            rows.append((label, None if item is None else str(item)))
    return rows


def _absent(log: Log) -> Table:
    """Columns of the samples in which nothing was measured."""
    from thinktime.log import vocabulary

    counts = log.samples().count().collect().to_dicts()[0]
    rows = tuple(
        (column.name, column.description) for column in vocabulary("samples") if not counts.get(column.name)
    )
    return Table(
        "recording-absent",
        "Not measured here",
        (Column("column"), Column("what it would say")),
        rows,
        folded=True,
    )
