"""Intervals from the JSON of ``sadf -j``, whose rates are rounded to 0.01."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thinktime.sources.importers.interval import (
    SECTOR_BYTES,
    Counters,
    Interval,
    Row,
    Sums,
    is_stacked,
    whole_disks,
)
from thinktime.sources.importers.json_stream import DamagedJsonError, JsonStream
from thinktime.sources.importers.problems import Problems

RATE_STEP = 0.01
"""Step to which `sadf -j` rounds rates and shares."""
UPTIME_WENT_BACK_MIN = 2**56
"""sadf prints a negative length as 2^64 / 100 less that many seconds."""
_RECORD = re.compile(r'\{\s*"timestamp"\s*:')
_RECORD_CHARS = 64

_RATES: tuple[tuple[str, str, float], ...] = (
    ("process-and-context-switch.proc", "forks", 1),
    ("process-and-context-switch.cswch", "context_switches", 1),
    ("swap-pages.pswpin", "swap_in_pages", 1),
    ("swap-pages.pswpout", "swap_out_pages", 1),
    ("paging.pgpgin", "paged_in_bytes", 1024),
    ("paging.pgpgout", "paged_out_bytes", 1024),
    ("paging.majflt", "page_faults_major", 1),
    ("paging.pgfree", "pages_freed", 1),
    ("paging.pgsteal", "pages_reclaimed", 1),
    ("io.io-reads.rtps", "disk_reads", 1),
    ("io.io-writes.wtps", "disk_writes", 1),
    ("io.io-reads.bread", "disk_read_bytes", SECTOR_BYTES),
    ("io.io-writes.bwrtn", "disk_write_bytes", SECTOR_BYTES),
)
"""Place in the record, column, and factor to the unit of the column."""

MACHINE = {
    "nodename": "hostname",
    "sysname": "system",
    "release": "kernel",
    "machine": "architecture",
    "number-of-cpus": "cpus",
}
"""Keys of sadf for the machine, and the keys of the manifest."""

_SHARES = {
    "psi.psi-cpu.some_avg": "psi_cpu_some_s",
    "psi.psi-io.some_avg": "psi_io_some_s",
    "psi.psi-io.full_avg": "psi_io_full_s",
    "psi.psi-mem.some_avg": "psi_memory_some_s",
    "psi.psi-mem.full_avg": "psi_memory_full_s",
}
"""Percent of the interval."""

_KILOBYTES = {
    "memfree": "memory_free_bytes",
    "avail": "memory_available_bytes",
    "buffers": "memory_buffers_bytes",
    "cached": "memory_cached_bytes",
    "commit": "memory_committed_bytes",
    "dirty": "memory_dirty_bytes",
    "anonpg": "memory_anonymous_bytes",
    "slab": "memory_slab_bytes",
    "pgtbl": "memory_page_tables_bytes",
    "swpfree": "swap_free_bytes",
}
_QUEUE = {"runq-sz": "runnable", "plist-sz": "threads", "blocked": "blocked"}
_LOADS = {"ldavg-1": "load_1m", "ldavg-5": "load_5m", "ldavg-15": "load_15m"}
_CPU: dict[str, tuple[str, ...]] = {
    "user_s": ("usr", "user", "guest"),
    "nice_s": ("nice", "gnice"),
    "system_s": ("sys", "system"),
    "irq_s": ("irq",),
    "softirq_s": ("soft",),
    "steal_s": ("steal",),
    "idle_s": ("idle",),
    "iowait_s": ("iowait",),
}
"""Column: the percentages that add up to it."""


@dataclass(slots=True, kw_only=True)
class JsonText:
    """Reader of one JSON text; `machine` fills while it is read.

    Parameters
    ----------
    path : Path
        The text.
    problems : Problems
        Where damage, restarts and the like are counted.
    """

    path: Path
    problems: Problems
    machine: dict[str, Any] = field(default_factory=dict)
    first_end: str = ""
    """Date and time of the first record, as written in the text."""

    def intervals(self) -> Iterator[Interval]:
        """Intervals in the order of the file; records that cannot be read are counted and omitted."""
        self.problems.add(
            "rounded_input",
            f"sadf -j holds rates rounded to {RATE_STEP} and lengths in whole seconds, no counters; "
            "import the binary file or the text of sadf -r -U -O debug for exact amounts",
        )
        stream = JsonStream(self.path)
        try:
            yield from self._document(stream)
        except DamagedJsonError as error:
            self.problems.add("truncated", f"{error}; the records before it are kept")
        finally:
            stream.close()

    def _document(self, stream: JsonStream) -> Iterator[Interval]:
        for key in stream.fields():
            if key != "sysstat":
                stream.value()
                continue
            for inner in stream.fields():
                if inner != "hosts":
                    stream.value()
                    continue
                for host in stream.elements():
                    if host:
                        self.problems.add(
                            "damaged_record", f"hosts[{host}]: only the first host of a file is read"
                        )
                        stream.value()
                    else:
                        yield from self._host(stream)

    def _host(self, stream: JsonStream) -> Iterator[Interval]:
        for key in stream.fields():
            if key == "statistics":
                yield from self._statistics(stream)
            elif key == "restarts":
                self._restarts(stream.value())
            else:
                value = stream.value()
                if key in MACHINE and isinstance(value, (str, int)):
                    self.machine[MACHINE[key]] = value if isinstance(value, int) else value[:200]

    def _statistics(self, stream: JsonStream) -> Iterator[Interval]:
        elements = stream.elements()
        at = 0
        while True:
            try:
                if next(elements, None) is None:
                    return
                record = stream.value()
            except DamagedJsonError as error:
                self.problems.add("damaged_record", f"hosts[0].statistics[{at}]: {error}")
                if not stream.skip_to(_RECORD, _RECORD_CHARS):
                    raise DamagedJsonError(f"{stream.place}: the file ends within the records") from None
                elements = _resumed(stream)
                continue
            interval = _Record(self, f"hosts[0].statistics[{at}]", record).interval()
            if interval is not None:
                yield interval
            at += 1

    def _restarts(self, restarts: object) -> None:
        for at, restart in enumerate(restarts if isinstance(restarts, list) else []):
            boot = restart.get("boot") if isinstance(restart, dict) else None
            if isinstance(boot, dict):
                when = f"{boot.get('date')} {boot.get('time')}"[:40]
                # A mark before the first record spans no interval.
                if self.first_end and when > self.first_end:
                    self.problems.add("reboot", f"RESTART record of {when}")
            else:
                self.problems.add(
                    "damaged_record", f"hosts[0].restarts[{at}]: an object with the key boot is needed"
                )


def _resumed(stream: JsonStream) -> Iterator[int]:
    """Remaining elements of an array whose beginning was read."""
    number = 0
    while True:
        yield number
        number += 1
        if stream.peek() != ",":
            break
        stream.expect(",")
    stream.expect("]")


class _Record:
    """One element of ``statistics``."""

    def __init__(self, text: JsonText, path: str, record: object) -> None:
        self.text, self.path = text, path
        self.problems = text.problems
        self.counters = Counters(problems=text.problems)
        self.record = record
        self.length_s = 0.0

    def _damaged(self, item: str, needed: str, found: object) -> None:
        self.problems.add(
            "damaged_record", f"{self.path}.{item}: {needed} is needed, found {str(found)[:40]!r}"
        )

    def interval(self) -> Interval | None:
        """Interval of a record; None if the record has no usable time."""
        if not isinstance(self.record, dict) or not isinstance(self.record.get("timestamp"), dict):
            self._damaged("timestamp", "an object with date, time and interval", self.record)
            return None
        start_us = self._times(self.record["timestamp"])
        if start_us is None:
            return None
        cpus = self._items("cpu-load", "cpu") or self._items("cpu-load-all", "cpu")
        row = self._samples(cpus)
        return Interval(
            start_us=start_us,
            length_s=self.length_s,
            samples=row,
            tables={
                "cpus": [
                    {"cpu": int(name), **self._cpu(place, item)}
                    for name, (place, item) in cpus.items()
                    if name.isdecimal()
                ],
                "disks": self._disks(row),
                "interfaces": self._interfaces(row),
            },
        )

    def _times(self, stamp: dict[str, Any]) -> int | None:
        """Length, and start in microseconds since 1970 UTC."""
        length = stamp.get("interval")
        if isinstance(length, int) and UPTIME_WENT_BACK_MIN <= length < 2**64:
            self.problems.add(
                "reboot", f"the uptime went back before {stamp.get('date')} {stamp.get('time')}"[:100]
            )
            return None
        if isinstance(length, bool) or not isinstance(length, int) or not 0 <= length < 10**9:
            self._damaged("timestamp.interval", "a whole number of seconds", length)
            return None
        if length == 0:
            self.problems.add("interval_dropped", "two records at the same time: an interval of length 0")
            return None
        try:
            end = datetime.datetime.strptime(f"{stamp.get('date')} {stamp.get('time')}", "%Y-%m-%d %H:%M:%S")
            self.text.first_end = self.text.first_end or f"{end:%Y-%m-%d %H:%M:%S}"
            end = end.replace(tzinfo=datetime.timezone.utc)
            start_s = int(end.timestamp()) - length
        except (ValueError, OverflowError):
            self._damaged("timestamp", "a date as 2026-11-21 and a time as 08:47:26", stamp)
            return None
        if stamp.get("utc") != 1 and stamp.get("tz") != "UTC":
            self.problems.add("timezone_unknown", "local times are taken as UTC; leave out -t and -T")
        self.length_s = float(length)
        return start_s * 1_000_000

    def _at(self, place: str) -> object:
        value: object = self.record
        for key in place.split("."):
            if not isinstance(value, dict) or key not in value:
                return None
            value = value[key]
        return value

    def _number(self, place: str, found: object) -> float | None:
        """Number that is not negative; None if there is none, and counted if it is damaged."""
        if found is None:
            return None
        is_number = isinstance(found, (int, float)) and not isinstance(found, bool)
        # Compared as it stands: an integer may be too large for a double.
        if not is_number or not 0 <= found < 2**63:  # type: ignore[operator]
            self._damaged(place, "a number that is not negative", found)
            return None
        value = float(found)  # type: ignore[arg-type]
        return value if math.isfinite(value) else None

    def _count(self, place: str, rate: float | None, scale: float = 1) -> int | None:
        """Amount in the interval from a rate per second."""
        return None if rate is None else self.counters.checked(place, round(rate * self.length_s * scale))

    def _items(self, place: str, name: str) -> dict[str, tuple[str, dict[str, Any]]]:
        """Elements of a list of objects by their name, with their places."""
        entries = self._at(place)
        items: dict[str, tuple[str, dict[str, Any]]] = {}
        if entries is None:
            return items
        if not isinstance(entries, list):
            self._damaged(place, "a list", entries)
            return items
        for index, item in enumerate(entries):
            where = f"{place}[{index}]"
            if not isinstance(item, dict) or not isinstance(item.get(name), (str, int)):
                self._damaged(where, f"an object with the key {name}", item)
            elif str(item[name]) not in items and len(str(item[name])) <= 255:
                items[str(item[name])] = (where, item)
        return items

    def _samples(self, cpus: dict[str, tuple[str, dict[str, Any]]]) -> Row:
        row: Row = {}
        if "all" in cpus:
            number = max(len(cpus) - 1, self._cpu_number() if len(cpus) == 1 else 0)
            if number:
                states = self._cpu(*cpus["all"])
                row.update(
                    {name: None if value is None else value * number for name, value in states.items()}
                )
        for place, column, scale in _RATES:
            row[column] = self._count(place, self._number(place, self._at(place)), scale)
        self._faults_and_interrupts(row)
        for place, column in _SHARES.items():
            share = self._number(place, self._at(place))
            row[column] = None if share is None else share / 100 * self.length_s
        for name, column in _KILOBYTES.items():
            row[column] = self._count_now(f"memory.{name}", 1024)
        self._totals_of_memory(row)
        for name, column in _QUEUE.items():
            row[column] = self._count_now(f"queue.{name}")
        for name, column in _LOADS.items():
            row[column] = self._number(f"queue.{name}", self._at(f"queue.{name}"))
        return row

    def _count_now(self, place: str, scale: int = 1) -> int | None:
        value = self._number(place, self._at(place))
        return None if value is None else self.counters.checked(place, round(value) * scale)

    def _cpu_number(self) -> int:
        number = self.text.machine.get("cpus")
        return number if isinstance(number, int) and 0 < number < 10**6 else 0

    def _cpu(self, place: str, item: dict[str, Any]) -> Row:
        row: Row = {}
        for column, names in _CPU.items():
            shares = [self._number(f"{place}.{name}", item[name]) for name in names if name in item]
            if shares:
                row[column] = (
                    None if None in shares else sum(share or 0 for share in shares) / 100 * self.length_s
                )
        return row

    def _faults_and_interrupts(self, row: Row) -> None:
        faults = self._number("paging.fault", self._at("paging.fault"))
        major = self._number("paging.majflt", self._at("paging.majflt"))
        if faults is not None and major is not None:
            row["page_faults_minor"] = self._count("paging.fault", max(faults - major, 0))
        scans = [
            self._number(f"paging.{name}", self._at(f"paging.{name}")) for name in ("pgscank", "pgscand")
        ]
        if None not in scans:
            row["pages_scanned"] = self._count("paging.pgscank", sum(scan or 0 for scan in scans))
        found = self._items("interrupts", "intr").get("sum")
        if found is not None:
            name = "all" if "all" in found[1] else "value"
            rate = self._number(f"{found[0]}.{name}", found[1].get(name))
            row["interrupts"] = self._count(f"{found[0]}.{name}", rate)

    def _totals_of_memory(self, row: Row) -> None:
        """Totals, which sadf omits, from the amounts used, whose meaning changed with version 11.7."""
        used = self._count_now("memory.memused", 1024)
        share = self._number("memory.memused-percent", self._at("memory.memused-percent"))
        free = row["memory_free_bytes"]
        if used is not None and share is not None and free is not None:
            parts = [row[f"memory_{name}_bytes"] or 0 for name in ("buffers", "cached", "slab")]
            for total in (used + free + sum(parts), used + free):
                if total and abs(100 * used / total - share) <= RATE_STEP:
                    row["memory_total_bytes"] = total
                    break
        swap_used, swap_free = self._count_now("memory.swpused", 1024), row["swap_free_bytes"]
        if swap_used is not None and swap_free is not None:
            row["swap_total_bytes"] = swap_used + swap_free

    def _disks(self, samples: Row) -> list[Row]:
        items = self._items("disk", "disk-device")
        whole = whole_disks(items)
        rows: list[Row] = []
        busy = Sums(("busy_s",))
        for name, (place, item) in items.items():
            if name not in whole:
                continue
            rates = {
                key: self._number(f"{place}.{key}", item.get(key)) for key in ("tps", "rd_sec", "wr_sec")
            }
            share = self._number(f"{place}.util-percent", item.get("util-percent"))
            queue = self._number(f"{place}.aqu-sz", item.get("aqu-sz", item.get("avgqu-sz")))
            row: Row = {
                "device": name,
                "operations": self._count(place, rates["tps"]),
                "read_bytes": self._count(place, rates["rd_sec"], SECTOR_BYTES),
                "write_bytes": self._count(place, rates["wr_sec"], SECTOR_BYTES),
                "busy_s": None if share is None else share / 100 * self.length_s,
                "queue_s": None if queue is None else queue * self.length_s,
            }
            rows.append(row)
            if not is_stacked(name):
                busy.add("busy_s", row["busy_s"])
        samples["disk_busy_s"] = busy.totals["busy_s"]
        return [row for row in rows if any(value for key, value in row.items() if key != "device")]

    def _interfaces(self, samples: Row) -> list[Row]:
        traffic, errors = self._items("network.net-dev", "iface"), self._items("network.net-edev", "iface")
        columns = {
            "rxpck": ("packets_in", 1),
            "txpck": ("packets_out", 1),
            "rxkB": ("bytes_in", 1024),
            "txkB": ("bytes_out", 1024),
        }
        sums = Sums(
            (*(f"net_{column}" for column, _ in columns.values()), "loopback_packets", "loopback_bytes")
        )
        rows: list[Row] = []
        for name in dict.fromkeys((*traffic, *errors)):
            row: Row = {"interface": name}
            place, item = traffic.get(name, ("network.net-dev", {}))
            for key, (column, scale) in columns.items():
                row[column] = self._count(place, self._number(f"{place}.{key}", item.get(key)), scale)
                if name != "lo":
                    sums.add(f"net_{column}", row[column])
                elif key.startswith("rx"):
                    sums.add(f"loopback_{column.removesuffix('_in')}", row[column])
            place, item = errors.get(name, ("network.net-edev", {}))
            for column, keys in (("errors", ("rxerr", "txerr")), ("drops", ("rxdrop", "txdrop"))):
                rates = [self._number(f"{place}.{key}", item.get(key)) for key in keys]
                row[column] = None if None in rates else self._count(place, sum(rate or 0 for rate in rates))
            if any(value for key, value in row.items() if key != "interface"):
                rows.append(row)
        samples.update(sums.totals)
        return rows
