"""Intervals from the rows of a Parquet file of Rezolus."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thinktime.errors import InputError
from thinktime.log import Column
from thinktime.sources.importers.importer import Opened
from thinktime.sources.importers.interval import COUNT_MAX, Interval
from thinktime.sources.importers.problems import Problems
from thinktime.sources.importers.readings import Rows, Rule, Scrape, Series, group_names
from thinktime.sources.importers.rezolus.fields import labels_of

if TYPE_CHECKING:
    import polars as pl

BATCH = 512
"""Rows that are read at once."""
ROWS_MAX = 100_000_000
"""Most rows of a file: three years of seconds."""
SERIES_MAX = 20_000
"""Most columns that are read."""
CPUS_MAX = 1_000_000
TIME_NS_MAX = 2**63
NANOSECONDS = 1e-9
RUNQUEUE = Column(
    name="runqueue_wait_s",
    type="f64",
    unit="s",
    kind="counter",
    description="Time that tasks waited for a CPU, summed over the tasks",
)
_STATES = {"user": "user_s", "system": "system_s"}
_SOFTIRQS = ("hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched", "hrtimer", "rcu")
RULES: dict[str, Rule] = {
    "cpu_usage": Rule(table="cpus", column="", by="state", columns=_STATES, scale=NANOSECONDS, whole=False),
    "scheduler_context_switch": Rule(
        table="samples",
        column="",
        by="kind",
        columns=dict.fromkeys(("voluntary", "involuntary"), "context_switches"),
    ),
    "scheduler_runqueue_wait": Rule(
        table="samples", column="runqueue_wait_s", scale=NANOSECONDS, whole=False
    ),
    "softirq": Rule(
        table="samples", column="", by="kind", columns={kind: f"softirq_{kind}" for kind in _SOFTIRQS}
    ),
    "blockio_operations": Rule(
        table="samples", column="", by="op", columns={"read": "disk_reads", "write": "disk_writes"}
    ),
    "blockio_bytes": Rule(
        table="samples", column="", by="op", columns={"read": "disk_read_bytes", "write": "disk_write_bytes"}
    ),
    "cgroup_cpu_usage": Rule(
        table="groups", column="", by="state", columns=_STATES, scale=NANOSECONDS, whole=False
    ),
    "cgroup_cpu_throttled_time": Rule(table="groups", column="throttled_s", scale=NANOSECONDS, whole=False),
    "cgroup_cpu_throttled": Rule(table="groups", column="throttled_periods"),
    "cgroup_cpu_bandwidth_periods": Rule(table="groups", column="periods"),
    **{
        f"memory_{name}": Rule(table="samples", column=f"memory_{name}_bytes", counter=False)
        for name in ("total", "free", "available", "buffers", "cached")
    },
}
"""Rule of each metric that is read."""
_CPUS = "cpu_cores"


def opened(path: Path, problems: Problems) -> Opened:
    """Opened file.

    Raises
    ------
    InputError
        It cannot be read, is of several machines, or has no metric that is read.
    """
    import polars as pl
    import polars.exceptions

    try:
        metadata = pl.read_parquet_metadata(path)
        labels = labels_of(metadata.get("ARROW:schema", ""))
        scan = pl.scan_parquet(path, glob=False)
        types = scan.collect_schema()
        rows = scan.select(pl.len()).collect().item()
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException, ValueError) as error:
        raise _unreadable(path, error) from None
    if rows > ROWS_MAX:
        raise InputError(f"{path}: says that it has {rows} rows, more than years of seconds; it is damaged")
    labels = _of_rezolus(path, labels)
    reading = _Reading(path=path, problems=problems)
    for name, of_field in labels.items():
        if name in types and types[name].is_integer():
            reading.add(name, of_field)
    if "timestamp" not in types or not types["timestamp"].is_integer() or not reading.series:
        raise InputError(
            f"{path}: has no column timestamp, or no metric that is read; give a recording of Rezolus"
        )
    reading.check_kinds()
    machine = _machine(metadata.get("systeminfo", ""))
    version = metadata.get("version", "")[:40]
    return Opened(
        intervals=reading.intervals(scan, machine),
        machine=machine,
        options={"version": version} if version else {},
        columns={"samples": (RUNQUEUE,)},
    )


def _unreadable(path: Path, error: BaseException) -> InputError:
    words = str(error).strip().partition("\n")[0][:200]
    return InputError(f"{path}: cannot be read as Parquet of Rezolus: {words}; record or export it anew")


def _of_rezolus(path: Path, labels: Mapping[str, Mapping[str, str]]) -> dict[str, Mapping[str, str]]:
    """Labels of the columns that Rezolus measured, by the name of the column."""
    own = {
        name: found
        for name, found in labels.items()
        if found.get("metric") and (found.get("source", "rezolus") == "rezolus" or _is_known(found))
    }
    nodes = {found.get("node", found.get("instance", "")) for found in own.values()}
    if len(nodes) > 1:
        raise InputError(
            f"{path}: is of {len(nodes)} machines ({', '.join(sorted(nodes)[:5])}); a log is of one: give "
            "the recording of one of them"
        )
    return own


def _is_known(labels: Mapping[str, str]) -> bool:
    """Whether a metric is one of Rezolus by its name: the source may be the address that was recorded."""
    return labels["metric"] in RULES


def _machine(text: str) -> dict[str, Any]:
    """Description of the machine from the text of key ``systeminfo``."""
    try:
        found = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    facts = {"hostname": found.get("hostname"), "architecture": found.get("arch")}
    kernel = found.get("kernel")
    if isinstance(kernel, str):
        words = kernel.split()
        facts["kernel"] = words[2] if kernel.startswith("Linux version ") and len(words) > 2 else kernel
        facts["system"] = "Linux" if kernel.startswith("Linux") else None
    return {name: fact[:200] for name, fact in facts.items() if isinstance(fact, str) and fact}


@dataclass(slots=True, kw_only=True)
class _Reading:
    path: Path
    problems: Problems
    series: dict[str, Series] = field(default_factory=dict)
    """Series by the name of the column."""
    kinds: set[str] = field(default_factory=set)
    """Kinds of context switches that the file has."""
    cpus: str | None = None
    """Column with the number of CPUs."""

    def add(self, name: str, labels: Mapping[str, str]) -> None:
        """Read a column, if its metric is one that has a place in the log."""
        if labels["metric"] == _CPUS:
            self.cpus = name
        rule = RULES.get(labels["metric"])
        if rule is None or labels.get("metric_type") != ("counter" if rule.counter else "gauge"):
            return
        column = rule.columns.get(labels.get(rule.by, ""), "") if rule.by else rule.column
        key = {"cpus": labels.get("id", ""), "groups": labels.get("name", "")}.get(rule.table, "")
        if not column or (rule.table != "samples" and not key) or len(self.series) >= SERIES_MAX:
            return
        if rule.table == "cpus" and not (key.isascii() and key.isdecimal() and int(key[:9]) < CPUS_MAX):
            self.problems.add("damaged_record", f"column {name[:80]}: {key[:20]} is no number of a CPU")
            return
        if column == "context_switches":
            self.kinds.add(labels[rule.by])
        self.series[name] = Series(
            rule=rule,
            column=column,
            key=key,
            label=name[:400],
            names=group_names(key) if rule.table == "groups" else {},
        )

    def check_kinds(self) -> None:
        """Leave context switches out where the file has one kind of them only."""
        if len(self.kinds) == 1:
            kind = self.kinds.pop()
            self.problems.add("unread_series", f"context switches: the file has the {kind} ones only")
            self.series = {
                name: item for name, item in self.series.items() if item.column != "context_switches"
            }

    def intervals(self, scan: pl.LazyFrame, machine: dict[str, Any]) -> Iterator[Interval]:
        """Intervals between the rows."""
        import polars as pl
        import polars.exceptions

        rows = Rows(problems=self.problems)
        names = ["timestamp", *self.series, *([self.cpus] if self.cpus else [])]
        try:
            batches = scan.select(list(dict.fromkeys(names))).collect_batches(
                chunk_size=BATCH, maintain_order=True
            )
            for frame in batches:
                if self.cpus and "cpus" not in machine and frame.height:
                    most = frame[self.cpus].cast(pl.Int64, strict=False).max()
                    if isinstance(most, int) and 0 < most < CPUS_MAX:
                        machine["cpus"] = most
                for row in frame.iter_rows(named=True):
                    interval = self._interval(rows, row)
                    if interval is not None:
                        yield interval
        except (polars.exceptions.PolarsError, polars.exceptions.PanicException) as error:
            raise _unreadable(self.path, error) from None

    def _interval(self, rows: Rows, row: Mapping[str, int | None]) -> Interval | None:
        time_ns = row["timestamp"]
        if time_ns is None or not 0 < time_ns < TIME_NS_MAX:
            self.problems.add("damaged_record", f"{time_ns} is no time; the row is left out")
            return None
        values = {
            series: value
            for name, series in self.series.items()
            if (value := row[name]) is not None and 0 <= value <= COUNT_MAX
        }
        interval = rows.interval(Scrape(time_us=time_ns // 1000, values=values))
        if interval is not None:
            _complete(interval)
        return interval


def _complete(interval: Interval) -> None:
    """Add what follows from the amounts: the idle time of each CPU, and the CPU time of each group."""
    idle: list[float | None] = []
    for cpu in interval.tables.get("cpus", ()):
        used = [cpu.get(name) for name in _STATES.values()]
        known = [time for time in used if time is not None]
        is_known = len(known) == len(used)
        cpu["idle_s"] = max(interval.length_s - sum(known), 0.0) if is_known else None
        idle.append(cpu["idle_s"])
    if interval.samples is not None and idle:
        known = [time for time in idle if time is not None]
        interval.samples["idle_s"] = sum(known) if len(known) == len(idle) else None
    for group in interval.tables.get("groups", ()):
        times = [group.get(name) for name in _STATES.values()]
        group["cpu_s"] = None if None in times else sum(time for time in times if time is not None)
