"""Intervals from the text of vmstat."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from thinktime.errors import InputError
from thinktime.log import Column
from thinktime.sources.importers.importer import Given, Opened
from thinktime.sources.importers.interval import Interval, Row
from thinktime.sources.importers.problems import Problems
from thinktime.sources.importers.reports import Amounts, Stamp, Times, lines, number, stamp, total, whole
from thinktime.sources.importers.vmstat import FIRST_WORDS

PAGE_BYTES = 4096
"""Size of a page that is assumed: vmstat prints KiB, the log has pages."""
KIB = 1024
SHARES = ("us", "sy", "id", "wa", "st", "gu")
SHARES_OFF = 3
"""Percents by which the shares, each rounded, may differ from 100 in all."""
SMALL_KIB = 64 << 10
"""Memory in KiB below which no machine of today works: the unit was another one."""
OWN = (
    Column(name="swap_used_bytes", type="u64", unit="byte", kind="gauge", description="Swap space in use"),
    Column(
        name="memory_cached_with_slab_bytes",
        type="u64",
        unit="byte",
        kind="gauge",
        description="Page cache and reclaimable kernel objects, which vmstat prints together",
    ),
)
_MEMORY = {
    "swpd": "swap_used_bytes",
    "free": "memory_free_bytes",
    "buff": "memory_buffers_bytes",
    "cache": "memory_cached_with_slab_bytes",
}
_RATES = {
    "si": ("swap_in_pages", KIB / PAGE_BYTES),
    "so": ("swap_out_pages", KIB / PAGE_BYTES),
    "bi": ("paged_in_bytes", KIB),
    "bo": ("paged_out_bytes", KIB),
    "in": ("interrupts", 1),
    "cs": ("context_switches", 1),
}
"""Rate per second: column, and factor to its unit."""
_CPU = {"us": "user_s", "sy": "system_s", "id": "idle_s", "wa": "iowait_s", "st": "steal_s"}


def opened(path: Path, given: Given, problems: Problems) -> Opened:
    """Opened text of vmstat.

    Raises
    ------
    InputError
        The number of CPUs is not given, or there are no times and no interval is given.
    """
    if given.cpus is None:
        raise InputError(
            f"{path}: vmstat prints shares of all CPUs, and not how many there are; give --cpus N, which "
            f"`nproc` "
            "prints on that machine"
        )
    problems.add("rounded_input", "vmstat prints whole percents of CPU time, and whole rates per second")
    options = {
        "cpus_source": "given",
        "page_bytes": PAGE_BYTES,
        "page_bytes_source": "assumed",
        "memory_unit": "KiB",
    }
    return Opened(
        intervals=_Text(path, given, given.cpus, problems).intervals(),
        machine={"system": "Linux", "cpus": given.cpus},
        options=options,
        columns={"samples": OWN},
    )


class _Text:
    def __init__(self, path: Path, given: Given, cpus: int, problems: Problems) -> None:
        self.path, self.cpus, self.problems = path, cpus, problems
        self.times = Times(path=path, given=given, problems=problems)
        self.names: list[str] = []
        self.has_time = False
        self.step_us = 0
        """Time between the two reports before."""

    def intervals(self) -> Iterator[Interval]:
        """Intervals of all reports but the first, which counts since the boot."""
        is_first, after_head = True, False
        for line_number, line in lines(self.path, self.problems):
            words = line.split()
            if not words or "procs" in words[0]:
                continue
            if tuple(words[:4]) == FIRST_WORDS:
                self._head(words)
                after_head = True
                continue
            report = self._report(words, line_number)
            if report is None:
                self.times.lost()
                continue
            shares, at = report
            if is_first:
                is_first, after_head = False, False
                if at is not None:
                    self.times.begin(at)
                continue
            interval = self._interval(shares, at, line_number, after_head=after_head)
            after_head = False
            if interval is not None:
                yield interval

    def _head(self, words: list[str]) -> None:
        last = max((index for index, word in enumerate(words) if word in SHARES), default=len(words) - 1)
        self.names = words[: last + 1]
        zone = words[last + 1 :]
        self.has_time = bool(zone)
        self.times.zone_is_utc = zone in (["UTC"], ["GMT"])

    def _report(self, words: list[str], line_number: int) -> tuple[dict[str, float], Stamp | None] | None:
        """Numbers of a report by the words of the head line, and its time."""
        if not self.names:
            self.problems.add("damaged_record", f"line {line_number}: stands before any head line")
            return None
        values = [number(word) for word in words[: len(self.names)]]
        rest = words[len(self.names) :]
        at = stamp(" ".join(rest), self.problems) if rest else None
        if len(values) < len(self.names) or None in values or ((self.has_time or rest) and at is None):
            self.problems.add(
                "damaged_record",
                f"line {line_number}: {len(self.names)} numbers"
                f"{' and a time' if self.has_time else ''} are needed; the report is left out",
            )
            return None
        row = {name: value for name, value in zip(self.names, values, strict=True) if value is not None}
        sum_of_shares = sum(row[name] for name in SHARES if name in row)
        # Whether time in guests is part of user time differs by version; the sum tells.
        if abs(sum_of_shares - row.get("gu", 0.0) - 100) <= SHARES_OFF:
            row.pop("gu", None)
        elif abs(sum_of_shares - 100) > SHARES_OFF:
            self.problems.add(
                "damaged_record",
                f"line {line_number}: shares of CPU time add up to {sum_of_shares:.0f} %; the report is "
                f"left out",
            )
            return None
        return row, at

    def _interval(
        self, row: dict[str, float], at: Stamp | None, line_number: int, *, after_head: bool
    ) -> Interval | None:
        timed = self.times.interval(at, line_number)
        if timed is None:
            return None
        start_us, length_s = timed
        step_us = round(length_s * 1e6)
        # A head line in the middle may be that of a new run, whose first report counts since the boot.
        if after_head and self.step_us and abs(step_us - self.step_us) > 1_500_000:
            self.problems.add("interval_dropped", f"line {line_number}: vmstat was started again")
            return None
        self.step_us = step_us
        return Interval(start_us=start_us, length_s=length_s, samples=self._samples(row, length_s))

    def _samples(self, report: dict[str, float], length_s: float) -> Row:
        amounts = Amounts(length_s=length_s, problems=self.problems)
        row: Row = {
            column: amounts.count(report.get(name), scale) for name, (column, scale) in _RATES.items()
        }
        for name, column in _CPU.items():
            row[column] = amounts.seconds(report.get(name), 0.01 * self.cpus)
        # What stands apart of it is time in guests, which the kernel, and the log, count as user time.
        row["user_s"] = total([row["user_s"], amounts.seconds(report.get("gu"), 0.01 * self.cpus)])
        row["runnable"] = whole(report.get("r"), self.problems)
        row["blocked"] = whole(report.get("b"), self.problems)
        seen = total([report.get(name) for name in ("free", "buff", "cache", "inact", "active")])
        if seen is not None and seen < SMALL_KIB:
            self.problems.add(
                "unit_unknown",
                "memory adds up to less than 64 MiB in KiB: vmstat was told another unit (-S), which the "
                "text does not "
                "say; memory and swapping are null",
            )
            return row | {"swap_in_pages": None, "swap_out_pages": None}
        for name, column in _MEMORY.items():
            kib = report.get(name)
            row[column] = None if kib is None else whole(kib * KIB, self.problems)
        return row
