"""Section of the recording: cost, gaps and agreement of its clocks; words for its host."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from thinktime.analyses.recording.analysis import SHORT
from thinktime.documents import format as shown
from thinktime.documents.document import Col, Section, Table
from thinktime.documents.wording import crowd_words, worded

if TYPE_CHECKING:
    from thinktime.analyses.recording.analysis import Host, Recording, Workload

TITLE = "How good is the recording?"
ALIKE = 0.01
"""Relative difference of the mean and the median length of an interval below which they are one."""
METHOD = (
    "Lengths are measured on a monotonic clock; an interval that spans a reboot, a suspend or a counter "
    "reset is dropped and counted here. Tick-sampled CPU time credits a whole tick to the task that runs at "
    "its end; exact CPU time is taken at every switch."
)
WORDS: Mapping[str, Callable[..., str]] = {
    "few_intervals": lambda intervals: (
        f"Only {shown.count(intervals, 'interval')}: record at least {SHORT}, better a few hundred."
    ),
    "ticks_biased": lambda: (
        "Tick-sampled and exact CPU time differ by more than chance allows: some load here runs in step with "
        "the clock tick. Rely on the exact time; the split into user and system time is doubtful."
    ),
    "no_exact_time": lambda: (
        "No exact CPU time in this log: a load in step with the clock tick would not be noticed."
    ),
    "missed_deadlines": lambda samples: (
        f"{shown.count(samples, 'sample')} missed {'its' if samples == 1 else 'their'} deadline; lengths are "
        "as measured, so rates still hold."
    ),
    "ends_lost": lambda intervals: (
        f"In {shown.count(intervals, 'interval')}, more processes ended than the kernel could tell the "
        "recorder: what they used is counted for the users who waited for them, and the time of those for "
        "whom nobody waited is missing. Record at a higher priority: a recorder that is not held up reads "
        "the ends in time."
    ),
}


def section(result: Recording) -> Section:
    """Section of the recording, on which the trust in all other sections depends."""
    if not result.intervals:
        return Section(name="recording", title=TITLE, summary=(), not_applicable="The log has no samples.")
    tables = (
        _cost(result),
        _incidents(result),
        _facts_table(
            result.baseline,
            name="recording-floor",
            caption="Inputs that request no work: the lower bound of every response time",
        ),
        _facts_table(
            result.recorder,
            name="recording-recorder",
            caption="The recorder's own cost (last session)",
        ),
        _absent(result),
    )
    return Section(
        name="recording",
        title=TITLE,
        summary=_summary(result),
        tables=tuple(table for table in tables if table.rows),
        caveats=worded(result.caveats, WORDS),
        method=METHOD,
    )


def _summary(result: Recording) -> tuple[str, ...]:
    dropped = f"; {result.dropped} more had to be dropped" if result.dropped else ""
    verb = "is" if result.intervals == 1 else "are"
    sentences = [f"{length(result)} {verb} complete{dropped}."]
    if result.lost:
        sentences.append(lost(result.lost))
    if result.recorder_cpu_share is not None:
        share = shown.quantity(result.recorder_cpu_share, "share")
        sentences.append(f"The recorder itself used {share} of one CPU.")
    if result.busy_ticks_s and result.busy_exact_s:
        ratio = shown.quantity(result.busy_ticks_s / result.busy_exact_s, "share")
        sentences.append(f"Tick-sampled CPU time is {ratio} of the exact CPU time over the record.")
    others = [item for item in result.incidents if item.kind != "interval_dropped"]
    sentences.append(
        f"{shown.count(len(others), 'kind')} of incident occurred while it was written; see below."
        if result.incidents
        else "No incident occurred while it was written."
    )
    return tuple(sentences)


def lost(samples: int) -> str:
    """Sentence on samples that were taken in vain."""
    were = "was" if samples == 1 else "were"
    taken = f"{shown.count(samples, 'sample')} {were} taken and could not be kept in the log"
    return f"{taken}: nothing here is about that time."


def _cost(result: Recording) -> Table:
    rows = (
        ("Recorder's CPU time, share of one CPU", result.recorder_cpu_share, "share"),
        ("Bytes written to the log", result.written_bytes_per_s, "byte/s"),
        ("Longest delay of a sample after its deadline", result.longest_delay_s, "s"),
        ("Busy CPU time, tick-sampled", result.busy_ticks_s, "s"),
        ("Busy CPU time, exact", result.busy_exact_s, "s"),
        ("Largest difference in an interval, share of capacity", result.largest_difference, "share"),
    )
    return Table.of(
        rows,
        Col("quantity", lambda row: row[0]),
        Col("value", lambda row: shown.quantity(row[1], row[2])),
        name="recording-cost",
        caption="Cost of the recording, and agreement of its clocks",
    )


def _incidents(result: Recording) -> Table:
    return Table.of(
        result.incidents,
        Col("kind", lambda item: item.kind.replace("_", " ")),
        Col("detail", lambda item: item.detail),
        Col("times", lambda item: item.count),
        name="recording-incidents",
        caption="Incidents",
    )


def _absent(result: Recording) -> Table:
    return Table.of(
        result.absent,
        Col("column", lambda item: item.column),
        Col("meaning", lambda item: item.description),
        name="recording-absent",
        caption="Not measured here",
        folded=True,
    )


def _facts_table(facts: Mapping[str, Any], *, name: str, caption: str) -> Table:
    """Table of nested facts of the manifest."""
    return Table.of(
        _flat(facts),
        Col("quantity", lambda row: row[0]),
        Col("value", lambda row: row[1]),
        name=name,
        caption=caption,
        folded=True,
    )


def _flat(facts: Mapping[str, Any], before: str = "") -> list[tuple[str, str | None]]:
    """Nested facts as rows: a name in words, and the value with the unit from the end of the key."""
    rows: list[tuple[str, str | None]] = []
    for key, item in facts.items():
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


# Words for the host and the record, which the head of a report uses too


def host_name(host: Host) -> str:
    """Name of the host in a sentence."""
    return host.hostname or "this machine"


def host_words(host: Host) -> str:
    """Host in half a sentence: 2 CPUs, 8.0 GB of memory, Linux 6.1."""
    parts = []
    if host.cpus:
        parts.append(f"{host.cpus} CPU{'s' if host.cpus > 1 else ''}")
    if host.memory_bytes:
        parts.append(f"{shown.quantity(float(host.memory_bytes), 'byte')} of memory")
    if host.system:
        parts.append(host.system)
    return ", ".join(parts) or f"a machine of which the log records only the source, {host.source}"


def facts(result: Recording) -> tuple[tuple[str, str], ...]:
    """Labels and values for the head of a report."""
    host = result.host
    source = host.source if result.sessions == 1 else f"{host.source}, {result.sessions} sessions"
    rows = [
        ("Machine", host.hostname),
        ("Processor", _processor(host)),
        ("Memory", host.memory_bytes and shown.quantity(float(host.memory_bytes), "byte")),
        ("System", host.system or None),
        ("Source", source),
        ("First interval", result.first_start and shown.moment(result.first_start)),
        ("Recorded", length(result)),
        ("Users identified by", result.users_by),
        ("Workload played", None if result.workload is None else _workload(result.workload)),
        ("Users played", None if result.workload is None else users_played(result.workload)),
    ]
    return tuple((label, value) for label, value in rows if value)


def length(result: Recording) -> str:
    """Length of the record in words: 4 min in 120 intervals of 2.00 s."""
    if not result.intervals:
        return "no intervals of the machine's counters"
    intervals = f"{shown.duration(result.measured_s)} in {shown.count(result.intervals, 'interval')}"
    if not result.interval_s:
        return intervals
    mean_s = result.measured_s / result.intervals
    if abs(mean_s - result.interval_s) <= ALIKE * mean_s:
        # Number and length then multiply to the time that is printed beside them.
        return f"{intervals} of {shown.quantity(mean_s, 's')}"
    return f"{intervals} of {shown.quantity(result.interval_s, 's')} in the median"


def users_played(workload: Workload) -> str | None:
    """Numbers of users in words, as `wording.crowd_words` has them; None where none is known."""
    if workload.crowd is None:
        return None
    return crowd_words(workload.crowd.asked, workload.crowd.started, workload.crowd.active)


def _processor(host: Host) -> str | None:
    if host.cpus is None:
        return host.cpu_model
    return f"{host.cpus} × {host.cpu_model}" if host.cpu_model else shown.count(host.cpus, "CPU")


def _workload(workload: Workload) -> str:
    """Workload in words: mixed, 1..10 users asked for, seed 1."""
    parts = [workload.name]
    if workload.users is not None:
        parts.append(f"{workload.users} users asked for")
    if workload.seed is not None:
        parts.append(f"seed {workload.seed}")
    return ", ".join(parts)
