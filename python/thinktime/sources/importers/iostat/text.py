"""Intervals from the text of iostat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thinktime.sources.importers.importer import Given, Opened
from thinktime.sources.importers.interval import Interval, Row, Sums, is_stacked, whole_disks
from thinktime.sources.importers.problems import Problems
from thinktime.sources.importers.reports import (
    BANNER,
    NAME_MAX,
    Amounts,
    Stamp,
    Times,
    day,
    lines,
    machine_of,
    number,
    stamp,
)

DISKS_MAX = 10_000
"""Most disks of a report that are kept."""
SHARES_OFF = 1.0
"""Percents by which the shares, each rounded, may differ from 100 in all."""
_UNITS = {"kB": 1024, "MB": 1 << 20, "Blk": 512, "sec": 512}
"""Bytes of the units in the names of columns; kB and MB are powers of two in iostat."""
_CPU = {
    "%user": "user_s",
    "%nice": "nice_s",
    "%system": "system_s",
    "%iowait": "iowait_s",
    "%steal": "steal_s",
    "%idle": "idle_s",
}
_SUMS = {
    "reads": "disk_reads",
    "writes": "disk_writes",
    "read_bytes": "disk_read_bytes",
    "write_bytes": "disk_write_bytes",
    "busy_s": "disk_busy_s",
}


def opened(path: Path, given: Given, problems: Problems) -> Opened:
    """Opened text of iostat; the machine is known when its head line has been read."""
    from thinktime.sources.importers.parts import OPERATIONS

    problems.add("rounded_input", "iostat prints rates and shares rounded to 0.01")
    text = _Text(path=path, times=Times(path=path, given=given, problems=problems), problems=problems)
    return Opened(intervals=text.intervals(), machine=text.machine, columns={"disks": (OPERATIONS,)})


@dataclass(slots=True, kw_only=True)
class _Report:
    """One report: its place, its time, and the numbers in it."""

    line: int
    at: Stamp | None = None
    cpu: dict[str, float] | None = None
    disks: dict[str, dict[str, float]] = field(default_factory=dict)
    is_whole: bool = True
    has_disks: bool = False


@dataclass(slots=True, kw_only=True)
class _Text:
    path: Path
    times: Times
    problems: Problems
    machine: dict[str, Any] = field(default_factory=dict)
    cpus: int = 0
    names: list[str] = field(default_factory=list)
    """Columns of the table that is read; the first is that of the disk's name, or none for CPU time."""

    def intervals(self) -> Iterator[Interval]:
        """Intervals of all reports but the first after each head line."""
        since_boot = True
        for report in self._reports():
            if report is None:
                since_boot = True
                self.times.restart()
                continue
            if since_boot:
                # It counts since the boot; its time is the start of the next.
                since_boot = False
                if report.at is not None:
                    self.times.begin(report.at)
                continue
            timed = self.times.interval(report.at, report.line)
            if timed is None:
                continue
            start_us, length_s = timed
            samples, disks = self._rows(report, length_s)
            yield Interval(start_us=start_us, length_s=length_s, samples=samples, tables={"disks": disks})

    def _reports(self) -> Iterator[_Report | None]:
        """Reports of the text; None where iostat was started anew."""
        report: _Report | None = None
        for line_number, line in lines(self.path, self.problems):
            words = line.split()
            if not words:
                continue
            if banner := BANNER.match(line):
                if report is not None:
                    yield report
                report = None
                yield None
                self.machine.update(machine_of(banner) | self.machine)
                self.cpus = int(banner[5])
                self.times.day = day(banner[3], self.problems) or self.times.day
                continue
            begins = self._begins(words, line, report)
            if begins is not None:
                if report is not None:
                    yield report
                report = begins
                report.line = line_number
            if report is not None:
                self._line(report, words, line_number)
            elif words[0] not in ("avg-cpu:",):
                self.problems.add("damaged_record", f"line {line_number}: stands before any report")
        if report is not None:
            yield report

    def _begins(self, words: list[str], line: str, report: _Report | None) -> _Report | None:
        """New report if it begins here: with its time, or with its first table."""
        at = stamp(line, self.problems) if line[:1].isdigit() and len(words) <= 3 else None
        if at is not None:
            return _Report(line=0, at=at)
        if words[0] == "avg-cpu:":
            is_new = report is None or report.cpu is not None or report.has_disks
            return _Report(line=0) if is_new else None
        if words[0].startswith("Device"):
            return _Report(line=0) if report is None or report.has_disks else None
        return None

    def _line(self, report: _Report, words: list[str], line_number: int) -> None:
        if words[0] == "avg-cpu:":
            self.names = ["", *words[1:]]
            report.cpu = {}
        elif words[0].startswith("Device"):
            self.names = words
            report.has_disks = True
        elif (
            stamp(" ".join(words), self.problems) is not None and report.cpu is None and not report.has_disks
        ):
            return
        elif self.names and self.names[0] == "":
            self._cpu(report, words, line_number)
        elif self.names:
            self._disk(report, words, line_number)

    def _cpu(self, report: _Report, words: list[str], line_number: int) -> None:
        values = [number(word) for word in words]
        names = self.names[1:]
        row = {name: value for name, value in zip(names, values, strict=False) if value is not None}
        if len(values) != len(names) or len(row) != len(names) or abs(sum(row.values()) - 100) > SHARES_OFF:
            self.problems.add(
                "damaged_record",
                f"line {line_number}: {len(names)} shares that add up to 100 are needed; CPU time is null",
            )
            row = {}
        report.cpu = row

    def _disk(self, report: _Report, words: list[str], line_number: int) -> None:
        values = [number(word) for word in words[1:]]
        if len(words) != len(self.names) or None in values or len(words[0]) > NAME_MAX:
            hint = "; leave out -h and --human" if any(word[-1:] in "kMGT%" for word in words[1:]) else ""
            self.problems.add(
                "damaged_record",
                f"line {line_number}: a device and {len(self.names) - 1} numbers are needed; left out{hint}",
            )
            report.is_whole = False
        elif words[0] in report.disks or len(report.disks) >= DISKS_MAX:
            self.problems.add(
                "damaged_record", f"line {line_number}: the device has a line before, or is too many"
            )
            report.is_whole = False
        else:
            named = zip(self.names[1:], values, strict=True)
            report.disks[words[0]] = {name: value for name, value in named if value is not None}

    def _rows(self, report: _Report, length_s: float) -> tuple[Row, list[Row]]:
        amounts = Amounts(length_s=length_s, problems=self.problems)
        samples: Row = {}
        if report.cpu and self.cpus:
            for name, column in _CPU.items():
                samples[column] = amounts.seconds(report.cpu.get(name), 0.01 * self.cpus)
        whole = whole_disks(report.disks)
        rows = [
            {"device": name, **_disk(report.disks[name], amounts)} for name in report.disks if name in whole
        ]
        sums = Sums(_SUMS)
        for row in rows:
            if not is_stacked(row["device"]):
                for name in _SUMS:
                    sums.add(name, row.get(name))
        # A total without one of its disks would be too small.
        if report.is_whole:
            samples |= {column: sums.totals[name] for name, column in _SUMS.items()}
        return samples, [row for row in rows if any(value for name, value in row.items() if name != "device")]


def _disk(values: dict[str, float], amounts: Amounts) -> Row:
    """Row of a disk, from the columns of any version."""
    row: Row = {
        "reads": amounts.count(values.get("r/s")),
        "writes": amounts.count(values.get("w/s")),
        "operations": amounts.count(values.get("tps")),
        "busy_s": amounts.seconds(values.get("%util")),
        "read_bytes": None,
        "write_bytes": None,
        # aqu-sz is the integral of the queue over the interval, divided by its length.
        "queue_s": amounts.seconds(values.get("aqu-sz", values.get("avgqu-sz")), 1.0),
    }
    for unit, scale in _UNITS.items():
        for names, column in (
            ((f"r{unit}/s", f"{unit}_read/s"), "read_bytes"),
            ((f"w{unit}/s", f"{unit}_wrtn/s"), "write_bytes"),
        ):
            rate = next((values[name] for name in names if name in values), None)
            if rate is not None:
                row[column] = amounts.count(rate, scale)
    for kind, count in (("r", "reads"), ("w", "writes")):
        # Milliseconds of one, times their number: not the rounded one.
        wait_ms, rate = values.get(f"{kind}_await"), values.get(f"{kind}/s")
        if wait_ms is not None and rate is not None:
            row[f"{count[:-1]}_wait_s"] = amounts.seconds(wait_ms * rate, 0.001)
    return row
