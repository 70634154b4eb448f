"""Intervals from scrapes in the text formats, one after the other in a file or in the files of a folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from thinktime.errors import InputError
from thinktime.log import Column
from thinktime.sources.importers.importer import Opened, files_of
from thinktime.sources.importers.interval import Interval
from thinktime.sources.importers.problems import Problems
from thinktime.sources.importers.prometheus.exposition import (
    DamagedLineError,
    labels_of,
    name_of,
    sample,
    split,
)
from thinktime.sources.importers.prometheus.rows import BOOT, SERIES_MAX, TIME, Known, Rows, Scrape, Series
from thinktime.sources.importers.prometheus.rules import PREFIXES, RULES, UNAME, own_columns
from thinktime.sources.importers.reports import lines

TIMES_S = range(7_258_118_400)
"""Times of scrapes, up to the year 2200."""
_MARK = re.compile(r"# time (\d{1,12}(?:\.\d{1,9})?)\s*", re.ASCII)
_FAMILY = re.compile(r"# TYPE (\S+)")
ADVICE = 'put a line with the time before each scrape, `echo "# time $(date +%s.%N)"`'


@dataclass(slots=True, kw_only=True)
class _Open:
    """The scrape that is read."""

    line: int
    time_s: float | None = None
    """Time of a line before it, or of its samples."""
    node_s: float | None = None
    """Time that node_exporter says."""
    boot_s: float | None = None
    values: dict[Series, float] = field(default_factory=dict)
    families: set[str] = field(default_factory=set)


def opened(path: Path, problems: Problems) -> Opened:
    """Opened scrapes."""
    known = Known(problems=problems)
    columns: dict[str, tuple[Column, ...]] = {}
    reader = _Scrapes(path=path, problems=problems, known=known)
    return Opened(
        intervals=_intervals(reader, known, columns, problems), machine=known.machine, columns=columns
    )


def _intervals(
    reader: _Scrapes, known: Known, columns: dict[str, tuple[Column, ...]], problems: Problems
) -> Iterator[Interval]:
    rows = Rows(problems=problems)
    is_first = True
    for scrape in reader.scrapes():
        interval = rows.interval(scrape)
        if interval is None:
            continue
        if is_first:
            is_first = False
            settle(known, columns)
        yield without_others(interval, columns, problems)


def settle(known: Known, columns: dict[str, tuple[Column, ...]]) -> None:
    """Decide, by what the first interval has, which columns the log has."""
    if any(name.startswith("vllm:") for name in known.metrics):
        columns["samples"] = own_columns()


def without_others(
    interval: Interval, columns: dict[str, tuple[Column, ...]], problems: Problems
) -> Interval:
    """The interval without columns that were not there at the beginning."""
    samples = interval.samples or {}
    if "samples" not in columns and any(name.startswith("vllm_") for name in samples):
        problems.add("unread_series", "metrics of vLLM that begin after the first interval are left out")
        for name in [name for name in samples if name.startswith("vllm_")]:
            del samples[name]
    return interval


@dataclass(slots=True, kw_only=True)
class _Scrapes:
    path: Path
    problems: Problems
    known: Known
    has_times: bool = False
    """Whether a scrape had a time: what has none later is damaged."""

    def scrapes(self) -> Iterator[Scrape]:
        """Scrapes with values in the order of the text."""
        number = 0
        files = files_of(self.path) if self.path.is_dir() else [self.path]
        for file in files:
            for scrape in self._of_file(file):
                if scrape.values:
                    number += 1
                    yield scrape
        if number == 1:
            self.problems.add(
                "interval_dropped", "there is one scrape with a metric that is read; two make an interval"
            )
        elif not number:
            self.problems.add(
                "unread_series",
                "no metric of node_exporter, cAdvisor, process-exporter or vLLM is in it; for others, give "
                "a CSV file "
                "with --mapping",
            )

    def _of_file(self, file: Path) -> Iterator[Scrape]:
        current = _Open(line=1)
        is_marked = False
        for number, line in lines(file, self.problems):
            if not line.startswith("#"):
                if line and not line.isspace():
                    is_again = self._sample(current, line, number, file)
                    if is_again and is_marked:
                        self.problems.add(
                            "duplicate_series", f"{file.name}, line {number}: the series has a value"
                        )
                    elif is_again:
                        yield from self._closed(current, file)
                        current = _Open(line=number)
                        self._sample(current, line, number, file)
                continue
            mark = _MARK.fullmatch(line)
            family = _FAMILY.match(line)
            if mark is not None or line.startswith("# EOF"):
                yield from self._closed(current, file)
                time_s = float(mark[1]) if mark else None
                current = _Open(line=number, time_s=time_s)
                is_marked = is_marked or mark is not None
            elif family is not None and len(current.families) < SERIES_MAX:
                if family[1] in current.families and not is_marked:
                    yield from self._closed(current, file)
                    current = _Open(line=number)
                current.families.add(family[1])
        yield from self._closed(current, file)

    def _sample(self, current: _Open, line: str, number: int, file: Path) -> bool:
        """Add the value of a line; True if the series has one in this scrape already."""
        name = name_of(line)
        if name not in RULES and name not in (BOOT, TIME, UNAME):
            if not name and not line.startswith(("{", '"')):
                self.problems.add(
                    "damaged_record", f"{file.name}, line {number}: begins with no name of a metric"
                )
            return False
        try:
            label, rest = split(line)
            found = sample(rest)
        except DamagedLineError as error:
            self.problems.add("damaged_record", f"{file.name}, line {number}: {name}: {error}")
            return False
        if name == TIME:
            current.node_s = found.value
        elif name == BOOT:
            current.boot_s = found.value if found.value == found.value else None
        series = self._series(name, label)
        if series is None:
            return False
        if series in current.values:
            return True
        # cAdvisor has the times at which it looked at each container; the scrape is at the last of them.
        if found.time_s is not None and name.startswith(PREFIXES):
            current.node_s = max(found.time_s, current.node_s or 0.0)
        current.values[series] = found.value
        return False

    def _series(self, name: str, label: str) -> Series | None:
        known = self.known.series
        if label not in known:
            if len(known) >= 2 * SERIES_MAX:
                self.problems.add(
                    "unread_series", f"there are more than {2 * SERIES_MAX} series; the others are left out"
                )
                return None
            known[label] = self.known.of(name, labels_of(label), label)
        return known[label]

    def _closed(self, current: _Open, file: Path) -> Iterator[Scrape]:
        if not current.values:
            return
        time_s = current.time_s if current.time_s is not None else current.node_s
        if time_s is None and self.path.is_dir():
            time_s = file.stat().st_mtime
            self.problems.once(
                "time_from_file", "scrapes without a time have that of their file's last change"
            )
        if time_s is None or not TIMES_S.start <= time_s < TIMES_S.stop:
            place = f"{file}, line {current.line}: the scrape that begins here has no time"
            if not self.has_times:
                raise InputError(f"{place}; {ADVICE}")
            self.problems.add("damaged_record", f"{place}; left out")
            return
        self.has_times = True
        yield Scrape(time_us=round(time_s * 1e6), values=current.values, boot_s=current.boot_s)
