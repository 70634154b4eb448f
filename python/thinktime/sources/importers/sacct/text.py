"""Interactions from the text of sacct."""

from __future__ import annotations

import datetime
import re
from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from thinktime.errors import InputError
from thinktime.log import Column
from thinktime.sources.importers.importer import Given, Opened
from thinktime.sources.importers.interval import COUNT_MAX, Interval, Row
from thinktime.sources.importers.problems import Problems
from thinktime.sources.importers.reports import DAY_S, EPOCH, LINE_BYTES_MAX, NAME_MAX, YEARS
from thinktime.sources.importers.sacct import NEEDED, names_of

BATCH = 1000
"""Jobs that become rows at once."""
NEVER = 2**62
"""Place in the order of a job that has not ended."""
CPU_S_MAX = 1e12
"""CPU time of a job beyond which it is damage [s]: a million CPUs for eleven days."""
ABSENT = {"", "unknown", "none", "n/a", "invalid"}
OWN = (
    Column(
        name="cpus_allocated", type="u64", unit="CPU", kind="gauge", description="CPUs allocated to the job"
    ),
    Column(
        name="state", type="text", unit="", kind="label", description="State of the job, as Slurm names it"
    ),
)

_TIME = re.compile(r"(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})", re.ASCII)
_EPOCH = re.compile(r"\d{9,11}", re.ASCII)
_CPU = re.compile(r"(?:(?:(\d{1,6})-)?(\d{1,6}):)?(\d{1,3}):(\d{2}(?:\.\d{1,6})?)", re.ASCII)


def opened(path: Path, given: Given, problems: Problems) -> Opened:
    """Opened text of sacct.

    Raises
    ------
    InputError
        Its head line lacks a column that is needed.
    """
    problems.add("coarse_clock", "times of jobs are whole seconds")
    return Opened(
        intervals=_Jobs(path, given, problems).batches(),
        machine={"system": "Slurm"},
        options={"class": "partition"},
        columns={"interactions": OWN},
    )


class _Jobs:
    """Jobs of a file in the order of their ends; sacct prints them in the order of their numbers.

    The file is read twice: of each job, only its end and its place in the file are kept.
    """

    def __init__(self, path: Path, given: Given, problems: Problems) -> None:
        self.path, self.problems = path, problems
        self.zone = given.timezone or datetime.timezone.utc
        self.says_zone = given.timezone is not None
        with path.open("rb") as file:
            self.names = names_of(file.readline(LINE_BYTES_MAX).decode("utf-8", "replace"))
        self.places = {name: at for at, name in enumerate(self.names) if name}
        if missing := [name for name in NEEDED if name not in self.places]:
            raise InputError(
                f"{path}, line 1: has no column {missing[0]}; run sacct with {missing[0]} in --format"
            )

    def batches(self) -> Iterator[Interval]:
        """Rows of interactions, some at once."""
        ends, offsets = self._ends()
        order = sorted(range(len(ends)), key=ends.__getitem__)
        rows: list[Row] = []
        with self.path.open("rb") as file:
            for index in order:
                file.seek(offsets[index])
                number, cells = self._cells(file.readline(LINE_BYTES_MAX), offsets[index])
                row = self._row(number, cells)
                if row is not None:
                    rows.append(row)
                if len(rows) >= BATCH:
                    yield _batch(rows)
                    rows = []
        if rows:
            yield _batch(rows)

    def _ends(self) -> tuple[array[int], array[int]]:
        """End of each job [us], and where its line begins."""
        ends, offsets = array("q"), array("q")
        with self.path.open("rb") as file:
            file.readline(LINE_BYTES_MAX)
            for offset, line in self._lines(file):
                place, cells = self._cells(line, offset)
                if len(cells) != len(self.names):
                    self.problems.add(
                        "damaged_record",
                        f"{place}: has {len(cells)} columns, not {len(self.names)}; left out",
                    )
                    continue
                # Steps: 17.batch, 17.0; parts of a heterogeneous job are jobs of their own.
                if "." in cells[self.places["JobID"]]:
                    continue
                end_us = self._time(cells, "End", place)
                ends.append(NEVER if end_us is None else end_us)
                offsets.append(offset)
        return ends, offsets

    def _lines(self, file: BinaryIO) -> Iterator[tuple[int, bytes]]:
        """Lines and where they begin; those that are too long are counted and left out."""
        while True:
            offset = file.tell()
            line = file.readline(LINE_BYTES_MAX)
            if not line:
                return
            if len(line) == LINE_BYTES_MAX and not line.endswith(b"\n"):
                self.problems.add(
                    "damaged_record", f"byte {offset}: a line longer than {LINE_BYTES_MAX} bytes"
                )
                while line and not line.endswith(b"\n"):
                    line = file.readline(LINE_BYTES_MAX)
                continue
            if line.strip():
                yield offset, line

    def _cells(self, line: bytes, offset: int) -> tuple[str, list[str]]:
        cells = line.decode("utf-8", "replace").rstrip("\r\n").split("|")
        # `--parsable` ends each line with a bar, the head line too.
        return f"byte {offset}", cells

    def _row(self, place: str, cells: list[str]) -> Row | None:
        times = {
            "due": self._time(cells, "Submit", place),
            "first_service": self._time(cells, "Start", place),
            "completion": self._time(cells, "End", place),
        }
        known = [time for time in times.values() if time is not None]
        if times["due"] is None or known != sorted(known):
            self.problems.add("damaged_record", f"{place}: has no time, or times that go back; left out")
            return None
        # Slurm adds the CPU time up when a job ends: until then it says zero.
        has_ended = times["completion"] is not None
        used = {
            column: self._cpu_s(cells, name, place) if has_ended else None
            for column, name in (("service_s", "TotalCPU"), ("user_s", "UserCPU"), ("system_s", "SystemCPU"))
        }
        return {
            **times,
            **used,
            "sent": times["due"],
            "user": self._text(cells, "User"),
            "class": self._text(cells, "Partition") or self._text(cells, "JobName"),
            "cpus_allocated": self._count(cells, "AllocCPUS", place) or None,
            "state": self._text(cells, "State"),
        }

    def _cell(self, cells: list[str], name: str) -> str | None:
        at = self.places.get(name)
        cell = None if at is None else cells[at].strip()
        return None if cell is None or cell.lower() in ABSENT else cell

    def _text(self, cells: list[str], name: str) -> str | None:
        cell = self._cell(cells, name)
        return None if cell is None else cell[:NAME_MAX]

    def _count(self, cells: list[str], name: str, place: str) -> int | None:
        cell = self._cell(cells, name)
        if cell is None:
            return None
        if not (cell.isascii() and cell.isdigit() and len(cell) < 20 and int(cell) <= COUNT_MAX):
            self.problems.add("damaged_record", f"{place}: {name} is {cell[:30]!r}, no number")
            return None
        return int(cell)

    def _time(self, cells: list[str], name: str, place: str) -> int | None:
        """Time in microseconds since 1970 UTC; None where there is none."""
        cell = self._cell(cells, name)
        if cell is None:
            return None
        if _EPOCH.fullmatch(cell):
            return int(cell) * 1_000_000
        match = _TIME.fullmatch(cell)
        try:
            if match is None or int(match[1]) not in YEARS:
                raise ValueError
            year, month, day, hour, minute, second = (int(part) for part in match.groups())
            local = datetime.datetime(year, month, day, hour, minute, second, tzinfo=self.zone)
        except (ValueError, OverflowError):
            self.problems.add("damaged_record", f"{place}: {name} is {cell[:30]!r}, no time")
            return None
        if not self.says_zone:
            self.problems.once(
                "timezone_unknown",
                "times without a zone are taken as UTC; --timezone Europe/Berlin says which; or run sacct "
                "with SLURM_TIME_FORMAT=%s",
            )
        return (local - EPOCH) // datetime.timedelta(microseconds=1)

    def _cpu_s(self, cells: list[str], name: str, place: str) -> float | None:
        """CPU time, ``[D-]HH:MM:SS`` or ``MM:SS.mmm``; None where Slurm did not gather it."""
        cell = self._cell(cells, name)
        if cell is None:
            return None
        match = _CPU.fullmatch(cell)
        if match is None:
            self.problems.add("damaged_record", f"{place}: {name} is {cell[:30]!r}, no time")
            return None
        days, hours, minutes, seconds = match.groups()
        total = int(days or 0) * DAY_S + int(hours or 0) * 3600 + int(minutes) * 60 + float(seconds)
        if total > CPU_S_MAX:
            self.problems.add("damaged_record", f"{place}: {name} of {cell[:30]!r} is impossible")
            return None
        return total


def _batch(rows: list[Row]) -> Interval:
    starts = [row["due"] for row in rows]
    ends = [end for row in rows for end in _ends_of(row)]
    return Interval(
        start_us=min(starts),
        length_s=(max(ends) - min(starts)) / 1e6,
        samples=None,
        tables={"interactions": rows},
    )


def _ends_of(row: Mapping[str, int | None]) -> list[int]:
    return [time for name in ("due", "first_service", "completion") if (time := row[name]) is not None]
