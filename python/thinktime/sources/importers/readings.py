"""Readings of counters and gauges at one time after another, and the rows of the log between two of them.

What Prometheus, PCP and Rezolus have in common: a series is a counter or a gauge of the machine, or of a
device, a control group or a command.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from thinktime.sources.importers.interval import COUNT_MAX, Interval, Row, is_stacked, whole_disks
from thinktime.sources.importers.problems import Problems

Table = Literal["samples", "cpus", "disks", "interfaces", "groups", "commands"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Place of a metric in the log."""

    table: Table
    column: str
    """Name of the column; empty where a label chooses it."""
    counter: bool = True
    """True for a total that grows, of which the log has the increase; False for a reading."""
    by: str = ""
    """Label that chooses the column."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Column by the value of that label; series with others are left out."""
    scale: float = 1.0
    """Factor to the unit of the column."""
    greatest: bool = False
    """True if several series of one row give their greatest value instead of their sum."""
    whole: bool = True
    """True for a column of whole numbers."""


def rules_of(
    table: Table, columns: Mapping[str, str], *, counter: bool = True, whole: bool = True
) -> dict[str, Rule]:
    """Rule of each metric, given its column by its name."""
    return {
        name: Rule(table=table, column=column, counter=counter, whole=whole)
        for name, column in columns.items()
    }


PAGE_FAULTS = "page_faults"
"""Minor and major faults together, of which the major ones are taken."""
BOOT_STEP_S = 5.0
"""Differences of the time of boot that are no boot: the clock was set, or is slewed."""
LENGTH_MAX_S = 10 * 366 * 86_400
NONE = 0xFFFF_FFFF_FFFF_F000
"""From here on a limit of memory is none: cgroups of version 1 say so by the largest number."""
_NAMES = {
    "cpus": "cpu",
    "disks": "device",
    "interfaces": "interface",
    "groups": "group",
    "commands": "command",
}
_UNIT = re.compile(r"\.(slice|service|scope)$")
_LOOPBACK = "lo"
_PASSING = "veth"
"""Interfaces that come and go with containers: a total without one that is new is still given."""
_DISKS = {
    "disk_reads": "reads",
    "disk_writes": "writes",
    "disk_read_bytes": "read_bytes",
    "disk_write_bytes": "write_bytes",
    "disk_busy_s": "busy_s",
}
_NETWORK = {
    "net_packets_in": "packets_in",
    "net_packets_out": "packets_out",
    "net_bytes_in": "bytes_in",
    "net_bytes_out": "bytes_out",
}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Series:
    """One series that is read: its place in the log. Each is one object, compared by identity."""

    rule: Rule
    column: str
    key: str
    """CPU, device, group or command; empty for the machine."""
    label: str
    """Name with labels, for messages."""
    names: Row = field(default_factory=dict)
    """Texts of the row, such as the name of a container."""
    scale: float = 1.0
    """Factor of the source to seconds, bytes or a count, besides that of the rule."""
    bits: int = 64
    """Width of the counter: one of 32 bits may begin again at zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrape:
    """Values of all series that are read, at one time."""

    time_us: int
    values: Mapping[Series, float]
    boot_s: float | None = None
    """Time of the machine's boot."""


@dataclass(slots=True, kw_only=True)
class Rows:
    """Intervals between readings.

    Parameters
    ----------
    problems : Problems
        Where resets, reboots and the like are counted.
    """

    problems: Problems
    before: Scrape | None = None

    def interval(self, scrape: Scrape) -> Interval | None:
        """Interval that ends with `scrape`; None if there is none before it, or it tells nothing."""
        before = self.before
        if before is not None and scrape.time_us <= before.time_us:
            if scrape.time_us < before.time_us:
                back_s = (before.time_us - scrape.time_us) / 1e6
                self.problems.add(
                    "clock_step", f"the time goes back by {back_s:.0f} s at a reading; interval dropped"
                )
                self.before = scrape
            else:
                self.problems.add("interval_dropped", "two readings at the same time: the second is left out")
            return None
        self.before = scrape
        if before is None:
            return None
        length_s = (scrape.time_us - before.time_us) / 1e6
        if length_s > LENGTH_MAX_S:
            self.problems.add("interval_dropped", "ten years without a reading")
            return None
        if (
            before.boot_s is not None
            and scrape.boot_s is not None
            and abs(scrape.boot_s - before.boot_s) > BOOT_STEP_S
        ):
            self.problems.add(
                "reboot", "the time of boot changed between two readings: the interval is dropped"
            )
            return None
        tables = self._tables(before, scrape)
        samples = tables.pop("samples", {}).get("", {})
        _faults(samples)
        rows = {table: list(_named(table, found)) for table, found in tables.items()}
        _machine_totals(samples, rows, _gone(before, scrape))
        return Interval(
            start_us=before.time_us,
            length_s=length_s,
            samples={name: value for name, value in samples.items() if name != PAGE_FAULTS},
            tables={
                table: [row for row in found if _did_anything(table, row)] for table, found in rows.items()
            },
        )

    def _tables(self, before: Scrape, scrape: Scrape) -> dict[str, dict[str, Row]]:
        """Rows by table and key; a value is null where one of its series has none."""
        tables: dict[str, dict[str, Row]] = {}
        for series, value in scrape.values.items():
            row = tables.setdefault(series.rule.table, {}).setdefault(series.key, dict(series.names))
            amount = self._amount(series, before.values.get(series), value)
            column = series.column
            if column not in row:
                row[column] = amount
            elif row[column] is not None:
                both = (row[column], amount)
                row[column] = None if amount is None else max(both) if series.rule.greatest else sum(both)
        for found in tables.values():
            for row in found.values():
                self._round(row)
        return tables

    def _amount(self, series: Series, previous: float | None, value: float) -> float | None:
        if not math.isfinite(value):
            self.problems.add("unread_value", f"{series.label} is {value}; it is null")
            return None
        rule, scale = series.rule, series.rule.scale * series.scale
        if not rule.counter:
            if value < 0 or (rule.whole and value > COUNT_MAX):
                if series.column != "memory_limit_bytes":
                    self.problems.add("unread_value", f"{series.label} is {value:g}; it is null")
                return None
            # A limit of zero, or of all that can be counted, is none.
            return None if series.column == "memory_limit_bytes" and not 0 < value < NONE else value * scale
        if previous is None or not math.isfinite(previous):
            return None
        if value < previous:
            # The kernel's own bookkeeping lets idle time and I/O wait step back.
            if series.column in ("idle_s", "iowait_s") and previous - value < 10:
                return 0.0
            half = 1 << (series.bits - 1)
            if series.bits == 32 and half <= previous < 2 * half and value < half:
                self.problems.add("counter_wrap", f"{series.label} wrapped at 32 bits")
                return (value - previous + 2 * half) * scale
            self.problems.add("counter_reset", f"{series.label} went back")
            return None
        grown = (value - previous) * scale
        if grown > COUNT_MAX:
            self.problems.add("damaged_record", f"{series.label} grew by {grown:g} in one interval")
            return None
        return grown

    @staticmethod
    def _round(row: Row) -> None:
        whole = {
            name for name in row if not name.endswith("_s") and not name.startswith(("load_", "vllm_kv_"))
        }
        for name in whole:
            if isinstance(row[name], float):
                row[name] = round(row[name]) if row[name] <= COUNT_MAX else None


def _faults(samples: Row) -> None:
    faults, major = samples.get(PAGE_FAULTS), samples.get("page_faults_major")
    if faults is not None and major is not None:
        samples["page_faults_minor"] = max(faults - major, 0)


def _named(table: str, found: Mapping[str, Row]) -> Iterator[Row]:
    for key, row in found.items():
        yield {_NAMES[table]: int(key) if table == "cpus" else key, **row}


def _gone(before: Scrape, scrape: Scrape) -> set[str]:
    """Tables of which a row is no longer there: what it did since the scrape before is not known."""
    lost = (series for series in before.values if series not in scrape.values)
    return {series.rule.table for series in lost if not series.key.startswith(_PASSING)}


def _machine_totals(samples: Row, rows: Mapping[str, list[Row]], gone: set[str]) -> None:
    """Sums over the CPUs, disks and interfaces, where every one of them is known; null elsewhere."""
    cpus = rows.get("cpus", [])
    for name in {name for row in cpus for name in row if name != "cpu"}:
        samples[name] = None if "cpus" in gone else _sum(cpus, name)
    disks = rows.get("disks", [])
    whole = whole_disks(str(row["device"]) for row in disks)
    hardware = [row for row in disks if row["device"] in whole and not is_stacked(str(row["device"]))]
    for total, name in _DISKS.items() if hardware else ():
        samples[total] = None if "disks" in gone else _sum(hardware, name)
    if "disks" in rows:
        rows["disks"][:] = [row for row in disks if row["device"] in whole]
    interfaces = rows.get("interfaces", [])
    outside = [row for row in interfaces if row["interface"] != _LOOPBACK]
    for total, name in _NETWORK.items() if interfaces else ():
        known = [row for row in outside if row.get(name) is not None or not _is_passing(row)]
        is_known = "interfaces" not in gone and (known or not outside)
        samples[total] = _sum(known, name) if is_known else None
    for row in interfaces:
        if row["interface"] == _LOOPBACK:
            samples["loopback_packets"], samples["loopback_bytes"] = (
                row.get("packets_in"),
                row.get("bytes_in"),
            )


def _is_passing(row: Row) -> bool:
    return str(row["interface"]).startswith(_PASSING)


def _sum(rows: Iterable[Row], name: str) -> float | int | None:
    values = [row.get(name) for row in rows]
    return None if None in values else sum(value for value in values if value is not None)


def _did_anything(table: str, row: Row) -> bool:
    names = set(row) - {_NAMES[table], "name", "kind"}
    return table == "cpus" or any(row[name] for name in names)


def group_names(path: str) -> Row:
    """Name and kind of a control group by its path alone."""
    unit = _UNIT.search(path)
    return {"name": path.rpartition("/")[2] or "/", "kind": unit[1] if unit else "group"}
