"""Intervals from the fetches of an archive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thinktime.errors import InputError
from thinktime.sources.importers.importer import Opened
from thinktime.sources.importers.interval import Interval, Row
from thinktime.sources.importers.pcp.archive import COUNTER, Archive, Fetch, Metadata, Metric, Value
from thinktime.sources.importers.pcp.processes import Processes
from thinktime.sources.importers.pcp.rules import BEATS, FAMILIES, MACHINE, OF_PROCESSES, RULES, wanted
from thinktime.sources.importers.problems import Problems
from thinktime.sources.importers.readings import Rows, Scrape, Series, group_names

TOGETHER_US = 500_000
"""Fetches closer than this are one reading: pmlogger fetches each group of metrics by itself."""
SERIES_MAX = 200_000
"""Most series that are kept."""
CPUS_MAX = 1_000_000


def opened(path: Path, problems: Problems) -> Opened:
    """Opened archive that `path` is a file of."""
    archive = Archive.of(path, problems)
    reading = _Reading(archive=archive, problems=problems)
    return Opened(
        intervals=reading.intervals(),
        machine=reading.machine,
        options={"volumes": len(archive.volumes)},
        columns={},
    )


@dataclass(slots=True, kw_only=True)
class _Reading:
    archive: Archive
    problems: Problems
    machine: dict[str, Any] = field(default_factory=dict)
    series: dict[tuple[str, int, str], Series | None] = field(default_factory=dict)
    """Series by metric, instance and the name of the instance."""
    units: dict[str, float | None] = field(default_factory=dict)
    """Factor to the unit of the column by metric; None for one that is not read."""
    beat: str | None = None

    def intervals(self) -> Iterator[Interval]:
        """Intervals between the readings of the archive."""
        rows, processes = Rows(problems=self.problems), Processes(problems=self.problems)
        before: dict[int, Value] = {}
        for reading, metadata in _together(self.archive.fetches(wanted())):
            if not self.machine:
                self.machine["hostname"] = metadata.label.host
            if reading.is_mark:
                self.problems.add("interval_dropped", f"{reading.place}: logging was interrupted here")
                rows.before, before = None, {}
                processes.forget()
                continue
            self._describe(reading)
            beat = reading.values.get(self._beat(metadata), {})
            if not beat:
                continue
            if any(_went_back(before.get(inst), value) for inst, value in beat.items()):
                self.problems.add("reboot", f"{reading.place}: the CPU time began again; interval dropped")
                rows.before = None
                processes.forget()
            before = dict(beat)
            scrape = Scrape(time_us=reading.time_us, values=self._values(reading, metadata))
            earlier = rows.before
            interval = rows.interval(scrape)
            length_s = 0.0 if earlier is None else (scrape.time_us - earlier.time_us) / 1e6
            cpus = (
                self.machine.get("cpus") or len(reading.values.get("kernel.percpu.cpu.user", ())) or CPUS_MAX
            )
            of_processes = processes.rows(reading, self._scales(metadata), length_s * cpus)
            if interval is not None:
                yield _with(interval, of_processes)
        if self.beat is None:
            damage = self.problems.first("damaged_record") or self.problems.first("truncated")
            raise InputError(
                f"{self.archive.base}: has no CPU time of the machine; "
                + (
                    f"it is damaged: {damage}"
                    if damage
                    else "log kernel.all.cpu, as pmlogger does by default"
                )
            )

    def _beat(self, metadata: Metadata) -> str:
        """Metric whose fetches end the intervals."""
        if self.beat is None:
            known = {metric.name for metric in metadata.metrics.values()}
            self.beat = next((name for name in BEATS if name in known), None)
        return self.beat or ""

    def _describe(self, reading: Fetch) -> None:
        for name, fact in MACHINE.items():
            for value in reading.values.get(name, {}).values():
                is_text = isinstance(value, str)
                if is_text != (fact == "cpus") and (isinstance(value, str) or 0 < value < CPUS_MAX):
                    self.machine[fact] = value

    def _values(self, reading: Fetch, metadata: Metadata) -> dict[Series, float]:
        by_name = {metric.name: metric for metric in metadata.metrics.values()}
        found: dict[Series, float] = {}
        for name, values in reading.values.items():
            if name not in RULES:
                continue
            metric = by_name[name]
            names = metadata.names.get(metric.domain, {})
            for inst, value in values.items():
                series = self._series(metric, inst, names.get(inst, ""))
                if series is not None and not isinstance(value, str):
                    found[series] = value
        return found

    def _series(self, metric: Metric, inst: int, instance: str) -> Series | None:
        key = metric.name, inst, instance
        if key not in self.series:
            if len(self.series) >= SERIES_MAX:
                self.problems.once("unread_series", f"more than {SERIES_MAX} series; the others are left out")
                return None
            self.series[key] = self._made(metric, inst, instance)
        return self.series[key]

    def _made(self, metric: Metric, inst: int, instance: str) -> Series | None:
        rule = RULES[metric.name]
        column = rule.columns.get(str(inst), "") if rule.by else rule.column
        scale = self._scale(metric, column, counter=rule.counter)
        key = {"samples": "", "cpus": str(inst)}.get(rule.table, instance)
        if not column or scale is None or (rule.table != "samples" and not key):
            return None
        if rule.table == "cpus" and not 0 <= inst < CPUS_MAX:
            self.problems.add("damaged_record", f"{metric.name}: {inst} is no number of a CPU")
            return None
        return Series(
            rule=rule,
            column=column,
            key=key,
            label=f"{metric.name}[{instance}]" if instance else metric.name,
            names=group_names(key) if rule.table == "groups" else {},
            scale=scale,
            bits=metric.bits,
        )

    def _scale(self, metric: Metric, column: str, *, counter: bool) -> float | None:
        """Factor from the unit of the metric to that of the column; None, and told, if it has another."""
        if metric.name not in self.units:
            unit = "s" if column.endswith("_s") else "byte" if "bytes" in column else ""
            # What the kernel counts in units of its own is said to be a count.
            is_plain = metric.name.startswith("mem.vmstat.")
            scale = metric.scale_to("" if is_plain else unit)
            if scale is None or counter != (metric.semantics == COUNTER):
                self.problems.add(
                    "unit_unknown", f"{metric.name} has another unit or meaning than usual; null"
                )
                scale = None
            self.units[metric.name] = scale
        return self.units[metric.name]

    def _scales(self, metadata: Metadata) -> Mapping[str, float | None]:
        """Factor of each metric of processes."""
        for metric in metadata.metrics.values():
            family, _, name = metric.name.partition(".")
            if family in FAMILIES and name in OF_PROCESSES:
                column = OF_PROCESSES[name]
                self._scale(metric, column, counter=column != "memory_bytes")
        return self.units


def _together(fetches: Iterator[tuple[Fetch, Metadata]]) -> Iterator[tuple[Fetch, Metadata]]:
    """Fetches at one time as one reading."""
    whole: Fetch | None = None
    metadata: Metadata | None = None
    for fetch, known in fetches:
        is_same = (
            whole is not None
            and not (whole.is_mark or fetch.is_mark)
            and 0 <= fetch.time_us - whole.time_us < TOGETHER_US
            and not whole.values.keys() & fetch.values.keys()
        )
        if whole is not None and is_same:
            values = {**whole.values, **fetch.values}
            whole = Fetch(time_us=whole.time_us, place=whole.place, values=values)
            continue
        if whole is not None and metadata is not None:
            yield whole, metadata
        whole, metadata = fetch, known
    if whole is not None and metadata is not None:
        yield whole, metadata


def _went_back(before: Value | None, value: Value) -> bool:
    return (
        before is not None and not isinstance(before, str) and not isinstance(value, str) and value < before
    )


def _with(interval: Interval, of_processes: Mapping[str, list[Row]] | None) -> Interval:
    """The interval with rows of users and commands."""
    if of_processes is None or interval.samples is None:
        return interval
    active = sum((row["user_s"] or 0.0) > 0.0 for row in of_processes["users"])
    return Interval(
        start_us=interval.start_us,
        length_s=interval.length_s,
        samples={**interval.samples, "active_users": active},
        tables={**interval.tables, **of_processes},
    )
