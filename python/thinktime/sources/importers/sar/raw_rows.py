"""Rows from one record of raw text: the column and unit of each reading."""

from __future__ import annotations

from collections.abc import Callable

from thinktime.sources.importers.interval import SECTOR_BYTES, Counters, Row, Sums, is_stacked, whole_disks
from thinktime.sources.importers.problems import Problems
from thinktime.sources.importers.sar.raw_blocks import Record
from thinktime.sources.importers.sar.raw_lines import DamagedLineError, Readings

SUSPEND_S = 2.0
"""Time that no CPU counted, above which (and above a tenth of the interval) the machine was suspended."""

_COUNTERS: dict[str, tuple[tuple[str, str, int], ...]] = {
    "tasks": (("proc/s", "forks", 1), ("cswch/s", "context_switches", 1)),
    "interrupts": (("all", "interrupts", 1), ("intr/s", "interrupts", 1)),
    "swapping": (("pswpin/s", "swap_in_pages", 1), ("pswpout/s", "swap_out_pages", 1)),
    "paging": (
        ("pgpgin/s", "paged_in_bytes", 1024),
        ("pgpgout/s", "paged_out_bytes", 1024),
        ("majflt/s", "page_faults_major", 1),
        ("pgfree/s", "pages_freed", 1),
        ("pgsteal/s", "pages_reclaimed", 1),
    ),
    "io": (
        ("rtps", "disk_reads", 1),
        ("wtps", "disk_writes", 1),
        ("bread/s", "disk_read_bytes", SECTOR_BYTES),
        ("bwrtn/s", "disk_write_bytes", SECTOR_BYTES),
    ),
}
"""By activity: field of sadf, column, and factor to the unit of the column."""

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


class Rows:
    """The rows of one record.

    Parameters
    ----------
    record : Record
        All lines of the record.
    problems : Problems
        Where damage, wraps and resets are counted.
    hz : int
        Ticks per second of the recorded machine.
    long_bits : int
        Width of its ``unsigned long``.
    """

    def __init__(self, record: Record, problems: Problems, hz: int, long_bits: int) -> None:
        self.problems = problems
        self.record = record
        self.hz = hz
        self.counters = Counters(problems=problems, long_bits=long_bits)
        self.cpus: list[Row] = []
        """Rows of `cpus`; available after `samples`."""

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
        states: Row = {}
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
            states[column] = None if ticks is None else ticks / self.hz
        if readings.item == "-1":
            row.update(states)
        else:
            self.cpus.append({"cpu": int(readings.item), **states})

    def _is_plausible(self, row: Row, length_s: float) -> bool:
        """True if CPU time and length agree: no suspend, no damaged digits. Needs the CPUs one by one."""
        if not self.cpus:
            return True
        elapsed_s = max(_cpu_total_s(cpu) for cpu in self.cpus)
        if length_s - elapsed_s > max(SUSPEND_S, 0.1 * length_s):
            self.problems.add(
                "suspend",
                f"interval dropped: {length_s:.0f} s long, no CPU counted more than {elapsed_s:.0f} s",
            )
            return False
        limit_s = 2 * length_s + SUSPEND_S
        total_s = _cpu_total_s(row)
        if elapsed_s > limit_s or total_s > limit_s * (len(self.cpus) + 1):
            self.problems.add(
                "damaged_record",
                f"interval dropped: {length_s:.2f} s long, but a CPU counted {elapsed_s:.0f} s",
            )
            return False
        if not row:
            for name in self.cpus[0]:
                parts = [cpu.get(name) for cpu in self.cpus]
                if name != "cpu" and None not in parts:
                    row[name] = sum(part for part in parts if part is not None)
        return True

    def disks(self, samples: Row) -> list[Row]:
        """Rows of `disks`, and the totals available only from them."""
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

    def interfaces(self, samples: Row) -> list[Row]:
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
