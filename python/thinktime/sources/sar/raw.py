"""The raw text of ``sadf -r``: cumulative counters, two readings a line, into intervals."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from thinktime.sources.sar.interval import (
    SECTOR_BYTES,
    Counters,
    Interval,
    Row,
    Sums,
    is_stacked,
    whole_disks,
)
from thinktime.sources.sar.problems import Problems
from thinktime.sources.sar.raw_blocks import Boot, Clock, Index, Moment, Record, index, records
from thinktime.sources.sar.raw_lines import DamagedLineError, Readings

__all__ = ["USER_HZ", "RawText"]

USER_HZ = 100
"""Ticks a second of /proc/stat on every Linux architecture but Alpha and IA-64."""
CLOCK_STEP_S = 1.5
"""Wall clock and uptime of a record may differ by the second to which sadc truncates the former."""
SUSPEND_S = 2.0
LENGTH_MIN_S = 0.1

_COUNTERS: dict[str, tuple[tuple[str, str, int], ...]] = {
    "tasks": (("proc/s", "forks", 1), ("cswch/s", "context_switches", 1)),
    "interrupts": (("all", "interrupts", 1), ("intr/s", "interrupts", 1)),
    "swapping": (("pswpin/s", "swap_in_pages", 1), ("pswpout/s", "swap_out_pages", 1)),
    "paging": (
        ("pgpgin/s", "paged_in_bytes", 1024),
        ("pgpgout/s", "paged_out_bytes", 1024),
        ("majflt/s", "page_faults_major", 1),
        ("pgfree/s", "pages_freed", 1),
        ("pgsteal/s", "pages_stolen", 1),
    ),
    "io": (
        ("rtps", "disk_reads", 1),
        ("wtps", "disk_writes", 1),
        ("bread/s", "disk_read_bytes", SECTOR_BYTES),
        ("bwrtn/s", "disk_write_bytes", SECTOR_BYTES),
    ),
}
"""Activity: sadf's field, the column, and what one count of it stands for."""

_STALLS = {
    "pressure_cpu": {"%scpu": "psi_cpu_some_s"},
    "pressure_io": {"%sio": "psi_io_some_s", "%fio": "psi_io_full_s"},
    "pressure_memory": {"%smem": "psi_memory_some_s", "%fmem": "psi_memory_full_s"},
}
"""Stall totals, which the kernel counts in microseconds."""

_KILOBYTES = {
    "memory": {
        "kbmemfree": "memory_free_bytes",
        "kbavail": "memory_available_bytes",
        "kbttlmem": "memory_total_bytes",
        "kbbuffers": "memory_buffers_bytes",
        "kbcached": "memory_cached_bytes",
        "kbcommit": "memory_committed_bytes",
        "kbdirty": "memory_dirty_bytes",
        "kbanonpg": "memory_anonymous_bytes",
        "kbslab": "memory_slab_bytes",
        "kbpgtbl": "memory_page_tables_bytes",
    },
    "swap_space": {"kbswpfree": "swap_free_bytes", "kbttlswp": "swap_total_bytes"},
}
_QUEUE = {"runq-sz": "runnable", "plist-sz": "threads", "blocked": "blocked"}
_LOADS = {"ldavg-1": "load_1m", "ldavg-5": "load_5m", "ldavg-15": "load_15m"}

_CPU = {
    "%iowait": "iowait_s",
    "%steal": "steal_s",
    "%irq": "irq_s",
    "%soft": "softirq_s",
    "%idle": "idle_s",
    "%sys": "system_s",
    "%system": "system_s",
    "%nice": "nice_s",
    "%usr": "user_s",
    "%user": "user_s",
}
_MAY_STEP_BACK = ("idle_s", "iowait_s")
_GUESTS = {"%usr": "%guest", "%nice": "%gnice"}
"""With all states shown, sadf takes guest time out of user time; the kernel, and the log, count it there."""

_INTERFACE = {
    "rxpck/s": "packets_in",
    "txpck/s": "packets_out",
    "rxkB/s": "bytes_in",
    "txkB/s": "bytes_out",
}
"""The raw readings of rxkB/s are bytes."""
_DISK_TICKS = {
    "rd_ticks": "read_wait_s",
    "wr_ticks": "write_wait_s",
    "tot_ticks": "busy_s",
    "aqu-sz": "queue_s",
}
"""Milliseconds, which the kernel keeps in 32 bits."""


@dataclass(frozen=True, slots=True)
class RawText:
    """How to read one raw text.

    Parameters
    ----------
    path : Path
        The text.
    problems : Problems
        Where damage, reboots, resets and the like are counted.
    hz : int
        Ticks a second of the recorded machine.
    long_bits : int
        Width of its ``unsigned long``.
    date : datetime.date or None
        The day of the first record, for a text that has times of day only.
    """

    path: Path
    problems: Problems
    hz: int = USER_HZ
    long_bits: int = 64
    date: datetime.date | None = None

    def index(self) -> Index:
        """Note where everything lies; say what the text cannot tell."""
        found = index(self.path, self.problems)
        if not found.has_headers:
            self.problems.add(
                "coarse_clock",
                "the text has no record headers: lengths are differences of whole seconds, and the first "
                "interval of every boot has none; use sadf -r -U -O debug",
            )
            if not found.has_date and self.date is None:
                self.problems.add(
                    "date_unknown",
                    "the text has times of day only, taken as of 1970-01-01; use sadf -r -U -O debug, or "
                    "--date",
                )
            if not found.is_utc:
                self.problems.add(
                    "timezone_unknown", "times of day without UTC are taken as UTC; leave out -t and -T"
                )
        return found

    def intervals(self, found: Index) -> Iterator[Interval]:
        """Intervals of all boots, in the order in which they were recorded."""
        clock: Clock | None = None
        if not found.has_headers:
            date = self.date or datetime.date(1970, 1, 1)
            midnight = datetime.datetime.combine(date, datetime.time(), datetime.timezone.utc)
            clock = Clock(int(midnight.timestamp()), 0)
        last: Moment | None = None
        for boot in found.boots:
            wall = _WallClock(self.problems)
            previous = boot.first
            if last is not None:
                self._count_restart(last, boot)
            for record in records(self.path, boot, clock, self.problems):
                interval = self._interval(record, previous, wall)
                if interval is not None:
                    yield interval
                previous = record.moment
            last = previous
            if clock is not None and previous is not None and not found.has_date:
                clock = Clock(previous.wall_s - previous.wall_s % 86_400, previous.wall_s % 86_400)

    def _interval(self, record: Record, previous: Moment | None, wall: _WallClock) -> Interval | None:
        now = record.moment
        if previous is None:
            self.problems.add("interval_dropped", "no record before it: its length is not known")
            return None
        length_s = _length_s(previous, now)
        if length_s <= 0:
            self._count_no_length(now, length_s)
            if length_s < 0:
                wall.anchor = None
            return None
        if length_s < LENGTH_MIN_S:
            self.problems.add(
                "interval_dropped", f"shorter than {LENGTH_MIN_S} s; sar counts the time in 0.01 s"
            )
            return None
        row = _RowOf(self, record)
        samples = row.samples(length_s)
        if samples is None:
            return None
        start_us = wall.at(previous)
        return Interval(
            start_us, length_s, samples, row.cpu_rows, row.disk_rows(samples), row.interface_rows(samples)
        )

    def _count_restart(self, last: Moment, boot: Boot) -> None:
        first = boot.first
        if boot.is_other_file:
            self.problems.add("interval_dropped", f"the text of another file begins after {_time(last)}")
        elif first is None or first.uptime_cs < last.uptime_cs or last.uptime_cs < 0:
            self.problems.add("reboot", f"RESTART record after {_time(last)}")
        else:
            self.problems.add(
                "interval_dropped",
                f"RESTART record after {_time(last)}, but the uptime went on: sadc was restarted",
            )

    def _count_no_length(self, now: Moment, length_s: float) -> None:
        if length_s == 0:
            self.problems.add("interval_dropped", "two records at the same time: an interval of length 0")
        elif now.uptime_cs >= 0:
            self.problems.add("reboot", f"the uptime went back at {_time(now)}")
        else:
            self.problems.add(
                "clock_step", f"the clock went back by {-length_s:.0f} s at {_time(now)}; interval dropped"
            )


def _time(moment: Moment) -> str:
    return datetime.datetime.fromtimestamp(moment.wall_s, datetime.timezone.utc).strftime(
        "%Y-%m-%dT%H:%M:%SZ"
    )


def _length_s(previous: Moment, now: Moment) -> float:
    if previous.uptime_cs >= 0 and now.uptime_cs >= 0:
        return (now.uptime_cs - previous.uptime_cs) / 100
    return float(now.wall_s - previous.wall_s)


class _WallClock:
    """Wall clock of a record, to the hundredth of a second as far as the uptime tells it.

    sadc truncates the time of day to seconds. The first record of a boot is taken at its word; the
    others follow by uptime, so that one interval ends where the next begins, until wall clock and
    uptime disagree by more than the truncation: then the clock was set.
    """

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.anchor: Moment | None = None

    def at(self, moment: Moment) -> int:
        """Microseconds since 1970 UTC."""
        if moment.uptime_cs < 0:
            return moment.wall_s * 1_000_000
        anchor = self.anchor
        if anchor is None or moment.uptime_cs < anchor.uptime_cs:
            self.anchor = anchor = moment
        elapsed_s = (moment.uptime_cs - anchor.uptime_cs) / 100
        step_s = moment.wall_s - anchor.wall_s - elapsed_s
        if abs(step_s) >= CLOCK_STEP_S:
            self.problems.add(
                "clock_step", f"the wall clock was set by {step_s:+.0f} s before {_time(moment)}"
            )
            self.anchor, anchor = moment, moment
        return anchor.wall_s * 1_000_000 + (moment.uptime_cs - anchor.uptime_cs) * 10_000


class _RowOf:
    """The rows of one record."""

    def __init__(self, text: RawText, record: Record) -> None:
        self.text = text
        self.problems = text.problems
        self.record = record
        self.counters = Counters(text.problems, text.long_bits)
        self.cpu_rows: list[Row] = []

    def samples(self, length_s: float) -> Row | None:
        """Row of `samples`; None where the interval spans a reset or a suspend."""
        row: Row = {}
        resets = self.problems.count("counter_reset")
        self._each(("cpu",), lambda _, readings: self._cpu(readings, row))
        self._each(("tasks",), lambda activity, readings: self._counters(activity, readings, row))
        went_back = any(
            name in row and row[name] is None for name in ("user_s", "system_s", "context_switches")
        )
        if went_back and self.problems.count("counter_reset") > resets:
            self.problems.add(
                "interval_dropped", "CPU time or context switches went back: a reboot without a mark"
            )
            return None
        if not self._is_plausible(row, length_s):
            return None
        self._each(tuple(_COUNTERS)[1:], lambda activity, readings: self._counters(activity, readings, row))
        self._each(("paging",), lambda _, readings: self._minor_faults(readings, row))
        self._each(tuple(_STALLS), lambda activity, readings: self._stalls(activity, readings, row))
        self._each(
            ("memory", "swap_space", "queue"),
            lambda activity, readings: self._gauges(activity, readings, row),
        )
        return row

    def _each(self, activities: tuple[str, ...], act: Callable[[str, Readings], None]) -> None:
        for activity in activities:
            for number, readings in self.record.activities.get(activity, ()):
                self._guard(number, act, activity, readings)

    def _guard(
        self, number: int, act: Callable[[str, Readings], None], activity: str, readings: Readings
    ) -> None:
        try:
            act(activity, readings)
        except DamagedLineError as error:
            self.problems.add("damaged_record", f"line {number}: {error}")

    def _amount(self, readings: Readings, name: str, bits: int | None = None) -> int | None:
        pair = readings.counter(name)
        if pair is None:
            return None
        label = f"{name} of {readings.item}" if readings.item else name
        return self.counters.checked(label, self.counters.amount(label, *pair, bits))

    def _scaled(self, readings: Readings, name: str, scale: int) -> int | None:
        amount = self._amount(readings, name)
        return None if amount is None else self.counters.checked(name, amount * scale)

    def _counters(self, activity: str, readings: Readings, row: Row) -> None:
        for name, column, scale in _COUNTERS[activity]:
            if name in readings.numbers:
                row[column] = self._scaled(readings, name, scale)

    def _minor_faults(self, readings: Readings, row: Row) -> None:
        faults, major = self._amount(readings, "fault/s"), row.get("page_faults_major")
        if faults is not None and major is not None:
            row["page_faults_minor"] = max(faults - major, 0)
        scans = [self._amount(readings, name) for name in ("pgscank/s", "pgscand/s")]
        row["pages_scanned"] = None if None in scans else sum(scan or 0 for scan in scans)

    def _stalls(self, activity: str, readings: Readings, row: Row) -> None:
        for name, column in _STALLS[activity].items():
            amount = self._amount(readings, name)
            row[column] = None if amount is None else amount / 1e6

    def _gauges(self, activity: str, readings: Readings, row: Row) -> None:
        for name, column in _KILOBYTES.get(activity, {}).items():
            kilobytes = readings.gauge(name)
            row[column] = None if kilobytes is None else self.counters.checked(name, kilobytes * 1024)
        if activity == "queue":
            for name, column in _QUEUE.items():
                row[column] = self.counters.checked(name, readings.gauge(name))
            for name, column in _LOADS.items():
                hundredths = readings.gauge(name)
                row[column] = None if hundredths is None else hundredths / 100

    def _cpu(self, readings: Readings, row: Row) -> None:
        pairs = {name: readings.counter(name) for name in readings.numbers}
        if not any(pair[0] for pair in pairs.values() if pair) or not any(
            pair[1] for pair in pairs.values() if pair
        ):
            return  # offline at one end of the interval: the kernel shows zeros, and then all since boot
        own: Row = {}
        for name, column in _CPU.items():
            pair = pairs.get(name)
            if pair is None:
                continue
            guest = pairs.get(_GUESTS.get(name, "")) or (0, 0)
            # sadf subtracts without looking: where guest time was ahead of user time it printed 2^64 - n.
            previous, current = (
                (reading + extra) % 2**64 for reading, extra in zip(pair, guest, strict=True)
            )
            label = f"{name} of CPU {readings.item}"
            ticks = self.counters.amount(label, previous, current, may_step_back=column in _MAY_STEP_BACK)
            ticks = self.counters.checked(label, ticks)
            own[column] = None if ticks is None else ticks / self.text.hz
        if readings.item == "-1":
            row.update(own)
        else:
            self.cpu_rows.append({"cpu": int(readings.item), **own})

    def _is_plausible(self, row: Row, length_s: float) -> bool:
        """Whether CPU time and length agree: no suspend, no damaged digits. Needs the CPUs one by one."""
        if not self.cpu_rows:
            return True
        elapsed_s = max(_cpu_total_s(cpu) for cpu in self.cpu_rows)
        if length_s - elapsed_s > max(SUSPEND_S, 0.1 * length_s):
            self.problems.add(
                "suspend",
                f"interval dropped: {length_s:.0f} s long, no CPU counted more than {elapsed_s:.0f} s",
            )
            return False
        limit_s = 2 * length_s + SUSPEND_S
        total_s = _cpu_total_s(row)
        if elapsed_s > limit_s or total_s > limit_s * (len(self.cpu_rows) + 1):
            self.problems.add(
                "damaged_record",
                f"interval dropped: {length_s:.2f} s long, but a CPU counted {elapsed_s:.0f} s",
            )
            return False
        if not row:
            for name in self.cpu_rows[0]:
                parts = [cpu.get(name) for cpu in self.cpu_rows]
                if name != "cpu" and None not in parts:
                    row[name] = sum(part for part in parts if part is not None)
        return True

    def disk_rows(self, samples: Row) -> list[Row]:
        """Rows of `disks`, and what the totals can have only from them."""
        lines = self.record.activities.get("disk", [])
        whole = whole_disks(readings.item for _, readings in lines)
        rows: list[Row] = []
        self._each(
            ("disk",),
            lambda _, readings: rows.append(self._disk(readings)) if readings.item in whole else None,
        )
        sums = Sums(("busy_s", "read_bytes", "write_bytes"))
        for row in rows:
            if not is_stacked(row["device"]):
                for name in sums.totals:
                    sums.add(name, row[name])
        samples["disk_busy_s"] = sums.totals["busy_s"]
        for name, column in (("read_bytes", "disk_read_bytes"), ("write_bytes", "disk_write_bytes")):
            samples.setdefault(column, sums.totals[name])
        return [row for row in rows if _did_anything(row)]

    def _disk(self, readings: Readings) -> Row:
        row: Row = {"device": readings.item, "operations": self._amount(readings, "tps")}
        # Readings of rkB/s are sectors, and are called rd_sec/s by older versions.
        for names, column in ((("rkB/s", "rd_sec/s"), "read_bytes"), (("wkB/s", "wr_sec/s"), "write_bytes")):
            name = names[0] if names[0] in readings.numbers else names[1]
            row[column] = self._scaled(readings, name, SECTOR_BYTES)
        for name, column in _DISK_TICKS.items():
            amount = self._amount(readings, name, bits=32)
            row[column] = None if amount is None else amount / 1000
        return row

    def interface_rows(self, samples: Row) -> list[Row]:
        """Rows of `interfaces`, and the totals over them."""
        rows: dict[str, Row] = {}
        self._each(("interface",), lambda _, readings: self._interface(readings, rows))
        self._each(("interface_errors",), lambda _, readings: self._errors(readings, rows))
        total_names = {
            f"{what}_{way}": f"net_{what}_{way}" for what in ("packets", "bytes") for way in ("in", "out")
        }
        sums = Sums((*total_names.values(), "loopback_packets", "loopback_bytes"))
        for row in rows.values():
            for name, total in total_names.items():
                if row["interface"] != "lo":
                    sums.add(total, row.get(name))
                elif name.endswith("_in"):
                    sums.add("loopback_" + name.removesuffix("_in"), row.get(name))
        samples.update(sums.totals)
        return [row for row in rows.values() if _did_anything(row)]

    def _interface(self, readings: Readings, rows: dict[str, Row]) -> None:
        row = rows.setdefault(readings.item, {"interface": readings.item})
        for name, column in _INTERFACE.items():
            row[column] = self._amount(readings, name)

    def _errors(self, readings: Readings, rows: dict[str, Row]) -> None:
        row = rows.setdefault(readings.item, {"interface": readings.item})
        for column, names in (("errors", ("rxerr/s", "txerr/s")), ("drops", ("rxdrop/s", "txdrop/s"))):
            parts = [self._amount(readings, name) for name in names]
            row[column] = None if None in parts else sum(part or 0 for part in parts)


def _cpu_total_s(row: Row) -> float:
    return float(sum(value for name, value in row.items() if name.endswith("_s") and value is not None))


def _did_anything(row: Row) -> bool:
    return any(value for value in row.values() if not isinstance(value, str))
