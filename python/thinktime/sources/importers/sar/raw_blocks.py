"""The order of ``sadf -r``: activity by activity within a boot, put back together record by record.

sadf prints all records of one activity, then all of the next. One pass notes where each block lies;
then a cursor a block reads along, and records with the same time are joined. Memory stays the same
however long the file is.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from thinktime.sources.importers.problems import Problems
from thinktime.sources.importers.sar.raw_lines import (
    COMMENT,
    LINE_BYTES_MAX,
    OTHER,
    RESTART,
    DamagedLineError,
    Header,
    Line,
    Readings,
    parse_header,
    parse_line,
    parse_readings,
)

RUN_MARK = b"# thinktime: another run of sadf on the same file\n"
"""Separator between the outputs of several runs of sadf that are read as one: the count of boots restarts."""
DAY_S = 86_400
STATISTICS = 1


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Moment:
    """Time of a record."""

    wall_s: int
    uptime_cs: int = -1
    """Hundredths of a second since boot; -1 where the text has no record headers."""


@dataclass(slots=True, kw_only=True)
class _Block:
    offset: int
    line: int
    end: int


@dataclass(slots=True, kw_only=True)
class Boot:
    """The blocks between two RESTART lines, or of one file of several, by activity."""

    blocks: dict[str, list[_Block]] = field(default_factory=dict)
    first: Moment | None = None
    """First record, which has no interval before it."""
    is_other_file: bool = False
    """True if it begins where the text of another file does, not at a RESTART line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """All lines of one record: by activity, the readings with their line numbers."""

    moment: Moment
    activities: dict[str, list[tuple[int, Readings]]]


def read_lines(file: IO[bytes], offset: int, number: int) -> Iterator[tuple[int, int, bytes]]:
    """Offset, number and bytes of each line from `offset` on; a line that is too long comes in pieces."""
    file.seek(offset)
    while line := file.readline(LINE_BYTES_MAX):
        yield offset, number, line if offset else line.removeprefix(codecs.BOM_UTF8)
        offset += len(line)
        number += 1


@dataclass(slots=True, kw_only=True)
class Index:
    """Index of a raw text: its blocks, and the kind of text."""

    boots: list[Boot] = field(default_factory=lambda: [Boot()])
    has_headers: bool = False
    has_date: bool = False
    is_utc: bool = True


def index(path: Path, problems: Problems) -> Index:
    """Index of the blocks of a raw text.

    Lines that cannot be read are counted as ``damaged_record``.
    """
    indexer = _Indexer(problems)
    with path.open("rb") as file:
        for offset, number, text in read_lines(file, 0, 1):
            indexer.add(offset, number, text)
    return indexer.index


class _Indexer:
    """Scanner of the lines, which keeps the places where blocks and boots begin and end."""

    def __init__(self, problems: Problems) -> None:
        self.index = Index()
        self._problems = problems
        self._begin_run()

    def _begin_run(self) -> None:
        self._boot = 0
        self._seen: list[str] = []  # activities of this boot in this run, in order
        self._block: tuple[str, _Block] | None = None
        self._pending: tuple[int, int] | None = None  # place of a header whose lines are still to come
        self._bare: Header | None = None  # header of the line before

    def add(self, offset: int, number: int, text: bytes) -> None:
        """Take the next line."""
        if text == RUN_MARK:
            self._begin_run()
            return
        header = parse_header(text)
        if header is not None:
            self.index.has_headers = True
            if header.kind == STATISTICS:
                if self._bare is not None:
                    self._first_record(self._bare)
                self._bare, self._pending = header, (offset, number)
            return
        self._bare = None
        try:
            line = parse_line(text)
        except DamagedLineError as error:
            self._problems.add("damaged_record", f"line {number}: {error}")
            return
        if line is None or line.activity == COMMENT:
            return
        if line.activity == RESTART:
            # The mark before the first record opens the first boot.
            if self._seen:
                self._next_boot(is_other_file=False)
        elif line.activity == OTHER:
            self._block, self._pending = None, None
        else:
            self._data(line, offset, number, offset + len(text))

    def _first_record(self, header: Header) -> None:
        """Two headers in a row: the former is of a record that only lends its readings to the next."""
        if self._seen:
            self._next_boot(is_other_file=True)
        boot = self.index.boots[self._boot]
        boot.first = boot.first or Moment(wall_s=header.wall_s, uptime_cs=header.uptime_cs)

    def _next_boot(self, is_other_file: bool) -> None:
        self._boot += 1
        if self._boot == len(self.index.boots):
            self.index.boots.append(Boot(is_other_file=is_other_file))
        self._seen, self._block, self._pending = [], None, None

    def _data(self, line: Line, offset: int, number: int, end: int) -> None:
        self.index.has_date = self.index.has_date or line.has_date
        self.index.is_utc = self.index.is_utc and line.is_utc
        activity = line.activity
        if self._block is None or self._block[0] != activity:
            # Without headers, a new file shows only in its first activity, which comes again after others.
            if not self.index.has_headers and len(self._seen) > 1 and activity == self._seen[0]:
                self._next_boot(is_other_file=True)
            start, first_line = self._pending or (offset, number)
            self._block = (activity, _Block(offset=start, line=first_line, end=offset))
            self.index.boots[self._boot].blocks.setdefault(activity, []).append(self._block[1])
            if activity not in self._seen:
                self._seen.append(activity)
        self._block[1].end = end
        self._pending = None


class Clock:
    """Moments of plain lines; a time of day that falls by hours is of the next day."""

    def __init__(self, base_s: int, last: int) -> None:
        self.base_s, self.last = base_s, last

    def moment(self, line: Line) -> Moment:
        """Moment of `line`; must be called with every line, in order."""
        if line.has_date:
            return Moment(wall_s=line.seconds)
        if line.seconds < self.last - DAY_S // 2:
            self.base_s += DAY_S
        self.last = line.seconds
        return Moment(wall_s=self.base_s + line.seconds)


_Group = tuple[Moment, list[tuple[int, Readings]]]


def _groups(
    file: IO[bytes], blocks: list[_Block], activity: str, clock: Clock | None, problems: Problems
) -> Iterator[_Group]:
    """Lines of one activity by record; with `clock`, the lines alone have times."""
    moment: Moment | None = None
    label: int | None = None
    lines: list[tuple[int, Readings]] = []
    for block in blocks:
        for offset, number, text in read_lines(file, block.offset, block.line):
            if offset >= block.end:
                break
            header = parse_header(text)
            if header is not None and clock is None:
                if moment is not None and lines:
                    yield moment, lines
                is_record = header.kind == STATISTICS
                moment, lines = (
                    (Moment(wall_s=header.wall_s, uptime_cs=header.uptime_cs) if is_record else None),
                    [],
                )
                continue
            try:
                line = parse_line(text)
                if line is None or line.activity != activity:
                    continue
                readings = parse_readings(line)
                if clock is None and moment is None:
                    raise DamagedLineError("the record header before it is missing")
            except DamagedLineError as error:
                if _has_time(text):
                    problems.add("damaged_record", f"line {number}: {error}")
                continue
            if clock is not None:
                is_repeated = any(readings.item == known.item for _, known in lines)
                if moment is None or line.seconds != label or is_repeated:
                    if moment is not None:
                        yield moment, lines
                    moment, label, lines = clock.moment(line), line.seconds, []
            lines.append((number, readings))
    if moment is not None and lines:
        yield moment, lines


def _has_time(text: bytes) -> bool:
    """True if a line begins with a time; others were counted when the blocks were indexed."""
    try:
        parse_line(text)
    except DamagedLineError:
        return False
    return True


def records(path: Path, boot: Boot, clock: Clock | None, problems: Problems) -> Iterator[Record]:
    """Records of one boot with all activities, in order of time."""
    files = [path.open("rb") for _ in boot.blocks]
    try:
        cursors: dict[str, Iterator[_Group]] = {}
        for file, (activity, blocks) in zip(files, boot.blocks.items(), strict=True):
            # Each cursor reads the whole boot: they cannot share the time of day.
            separate = None if clock is None else Clock(clock.base_s, clock.last)
            cursors[activity] = _groups(file, blocks, activity, separate, problems)
        heads = {activity: head for activity, cursor in cursors.items() if (head := next(cursor, None))}
        while heads:
            now = min(moment for moment, _ in heads.values())
            due = [activity for activity, (moment, _) in heads.items() if moment == now]
            yield Record(moment=now, activities={activity: heads[activity][1] for activity in due})
            for activity in due:
                head = next(cursors[activity], None)
                if head is None:
                    del heads[activity]
                else:
                    heads[activity] = head
    finally:
        for file in files:
            file.close()
