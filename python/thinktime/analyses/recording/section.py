"""How far the rest of the report can be trusted: what the recording cost and what it missed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from thinktime.analyses.recording.analysis import SHORT, length
from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Column, Section, Table

if TYPE_CHECKING:
    from thinktime.analyses.recording.analysis import RecordedLog, Recording

__all__ = ["section"]

TITLE = "How good is the recording?"


def section(result: RecordedLog) -> Section:
    """Section that says how far the rest can be trusted."""
    said = result.recording
    if not said.intervals:
        return Section(name="recording", title=TITLE, summary=(), not_applicable="the log has no samples.")
    incidents: Sequence[Mapping[str, Any]] = result.manifest.get("incidents") or ()
    tables = (
        _cost_table(said),
        _incident_table(incidents),
        _floor_table(result.manifest),
        _recorder_table(result.manifest),
        _absent(result.absent),
    )
    return Section(
        name="recording",
        title=TITLE,
        summary=_summary(said, incidents),
        tables=tuple(table for table in tables if table.rows),
        caveats=_caveats(said, incidents),
        method="Lengths are measured on a monotonic clock; an interval that spans a reboot, a suspend or a "
        "counter "
        "reset is dropped and counted here. Tick-sampled CPU time credits a whole tick to whatever runs "
        "at its end; "
        "exact CPU time is taken at every switch.",
    )


def _summary(said: Recording, incidents: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    dropped = f"; {said.dropped} more had to be dropped" if said.dropped else ""
    sentences = [f"{length(said)} are complete{dropped}."]
    if said.recorder_share is not None:
        sentences.append(
            f"The recorder itself used {shown.quantity(said.recorder_share, 'share')} of one CPU."
        )
    if said.tick_s and said.exact_s:
        ratio = said.tick_s / said.exact_s
        sentences.append(
            f"Tick-sampled CPU time comes to {shown.quantity(ratio, 'share')} of the exact CPU time "
            "over the record."
        )
    others = [item for item in incidents if item.get("kind") != "interval_dropped"]
    sentences.append(
        "Nothing went wrong while it was written."
        if not incidents
        else f"{shown.count(len(others), 'kind')} of incident while it was written, listed below."
    )
    return tuple(sentences)


def _caveats(said: Recording, incidents: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    caveats = []
    if said.intervals < SHORT:
        caveats.append(f"Only {said.intervals} intervals: record at least {SHORT}, better a few hundred.")
    if said.disagrees:
        caveats.append(
            "Tick-sampled and exact CPU time disagree by more than chance allows: something here runs "
            "in step "
            "with the clock tick. Rely on the exact figure; the split into user and system time is doubtful."
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
        name="recording-cost",
        caption="What the recording cost, and how its clocks agree",
        columns=(Column("what"), Column("figure")),
        rows=tuple(rows),
    )


def _incident_table(incidents: Sequence[Mapping[str, Any]]) -> Table:
    rows = tuple(
        (str(item.get("kind", "")).replace("_", " "), str(item.get("detail", "")), int(item.get("count", 1)))
        for item in incidents
    )
    return Table(
        name="recording-incidents",
        caption="What went wrong",
        columns=(Column("kind"), Column("detail"), Column("times")),
        rows=rows,
    )


def _floor_table(manifest: Mapping[str, Any]) -> Table:
    """List what an input costs that asks for nothing: below it, response times are the instrument's."""
    sessions = manifest.get("sessions") or [{}]
    terminals = sessions[-1].get("terminals")
    floor = terminals.get("floor") if isinstance(terminals, Mapping) else None
    rows = tuple(_flat(floor)) if isinstance(floor, Mapping) else ()
    caption = "Inputs that ask for nothing: the floor below every response time"
    return Table(
        name="recording-floor",
        caption=caption,
        columns=(Column("what"), Column("value")),
        rows=rows,
        folded=True,
    )


def _recorder_table(manifest: Mapping[str, Any]) -> Table:
    sessions = manifest.get("sessions") or [{}]
    said = sessions[-1].get("recorder")
    rows = tuple(_flat(said)) if isinstance(said, Mapping) else ()
    return Table(
        name="recording-recorder",
        caption="What the recorder says of itself (last session)",
        columns=(Column("what"), Column("value")),
        rows=rows,
        folded=True,
    )


def _flat(value: Mapping[str, Any], before: str = "") -> list[tuple[Cell, ...]]:
    """Nested facts as rows: a name of words, the unit from the end of the key."""
    rows: list[tuple[Cell, ...]] = []
    for key, item in value.items():
        label, unit = _label(str(key))
        if isinstance(item, Mapping):
            rows.extend(_flat(item, f"{before}{label}: "))
        elif isinstance(item, (list, tuple)):
            rows.append((before + label, "; ".join(map(str, item)) or "none"))
        elif isinstance(item, bool) or not isinstance(item, (int, float)):
            rows.append((before + label, None if item is None else str(item)))
        else:
            rows.append((before + label, shown.quantity(item, unit)))
    return rows


def _label(key: str) -> tuple[str, str]:
    for ending, unit in (("_s", "s"), ("_bytes", "byte")):
        if key.endswith(ending):
            return key.removesuffix(ending).replace("_", " "), unit
    return key.replace("_", " "), "share" if key.startswith("share") else ""


def _absent(rows: tuple[tuple[str, str], ...]) -> Table:
    """Columns of the samples in which nothing was measured."""
    return Table(
        name="recording-absent",
        caption="Not measured here",
        columns=(Column("column"), Column("what it would say")),
        rows=rows,
        folded=True,
    )
