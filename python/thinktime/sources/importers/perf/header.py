"""Head of a file of perf: its events, the fields of their tracepoints, and the machine.

The format is that of the kernel's tools/perf/Documentation/perf.data-file-format.txt. Where each field of a
tracepoint lies is read from the description that perf copied from the kernel into the file, for it differs
among kernels.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from thinktime.errors import InputError

MAGIC_LITTLE, MAGIC_BIG, MAGIC_OLD = b"PERFILE2", b"2ELIFREP", b"PERFFILE"
PIPE_HEADER_BYTES = 16
HEADER_BYTES = 104
ATTRIBUTE_BYTES_LEAST = 64
"""Length of the first version of the kernel's ``perf_event_attr``."""
EVENTS_MAX = 512
IDS_MAX = 1 << 14
"""Numbers of one event: one for each CPU."""
DESCRIPTION_BYTES_MAX = 1 << 27
TEXT_BYTES_MAX = 4096
LINE_MAX = 400
"""Longest line with a field that is read."""

_TRACEPOINT = 2
_TRACING_DATA, _DIR_FORMAT = 1, 24
_SAMPLE_TIME, _CLOCK_DATA = 21, 29
TEXTS = {3: "hostname", 4: "kernel", 5: "perf", 6: "architecture", 8: "cpu_model"}
"""Facts that are texts, by the number of their section."""
_CPUS, _MEMORY = 7, 10
_CLOCKS = {0: "CLOCK_REALTIME", 1: "CLOCK_MONOTONIC", 4: "CLOCK_MONOTONIC_RAW", 7: "CLOCK_BOOTTIME"}
_FIELD = re.compile(
    r"field:(?P<type>[^;]*?)\s*(?P<name>\w+)(?P<many>\[[^\]]*\])?;\s*offset:(?P<offset>\d+);\s*"
    r"size:(?P<size>\d+);(?:\s*signed:(?P<signed>[01]);)?"
)
_FLAG = re.compile(r"\{ (0x[0-9a-f]{1,16}|[1-9]\d{0,8}), \"(\w)\" \}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """Place of one field in the bytes of a tracepoint."""

    offset: int
    size: int
    signed: bool
    located: bool
    """True if the place has the offset and length of a text that lies elsewhere (``__data_loc``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracepoint:
    """A tracepoint as its kernel described it."""

    system: str
    name: str
    number: int
    fields: Mapping[str, Field]
    flags: Mapping[int, str]
    """Letters of bits, of a tracepoint that has such (`prev_state`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event that was recorded (``perf_event_attr``)."""

    kind: int
    config: int
    sample_type: int
    read_format: int
    has_sample_id: bool
    """True if records other than samples end with time and CPU."""
    clock: int | None
    """Clock that was asked for; None for the scheduler's own."""
    ids: tuple[int, ...]

    @property
    def is_tracepoint(self) -> bool:
        """True if it is a tracepoint; `config` is then its number."""
        return self.kind == _TRACEPOINT


@dataclass(slots=True, kw_only=True)
class Description:
    """What a file says about its records; in a pipe's file, it comes among them."""

    order: str = "<"
    """Byte order as the struct module has it."""
    is_pipe: bool = False
    data: tuple[int, int] = (0, 0)
    """Place and end of the records."""
    events: list[Event] = field(default_factory=list)
    tracepoints: dict[int, Tracepoint] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)
    perf: str | None = None
    """Version of perf."""
    wall_clock: tuple[int, int] | None = None
    """The same instant by the wall clock and by the clock of the records [ns]."""
    span_ns: tuple[int, int] | None = None
    """Times of the first and the last sample, where perf has noted them."""

    @property
    def clock(self) -> str | None:
        """Name of the clock that was asked for; None for the scheduler's own."""
        number = next((event.clock for event in self.events if event.is_tracepoint), None)
        return None if number is None else _CLOCKS.get(number, f"clock {number}")

    def add_feature(self, number: int, data: bytes) -> None:
        """Take over one section of the description; what is damaged or of no use is passed over.

        Raises
        ------
        ValueError
            The description of the tracepoints is damaged.
        """
        if number == _TRACING_DATA:
            self.tracepoints.update({item.number: item for item in tracepoints_of(data)})
        elif number in TEXTS and len(data) >= 4:
            (length,) = struct.unpack_from(f"{self.order}I", data)
            text = data[4 : 4 + min(length, TEXT_BYTES_MAX)].partition(b"\0")[0].decode("utf-8", "replace")
            if TEXTS[number] == "perf":
                self.perf = text
            else:
                self.machine[TEXTS[number]] = text
        elif number == _CPUS and len(data) >= 8:
            self.machine["cpus"] = struct.unpack_from(f"{self.order}2I", data)[1]
        elif number == _MEMORY and len(data) >= 8:
            kib = struct.unpack_from(f"{self.order}Q", data)[0]
            if kib < 1 << 50:
                self.machine["memory_bytes"] = kib * 1024
        elif number == _SAMPLE_TIME and len(data) >= 16:
            self.span_ns = struct.unpack_from(f"{self.order}2Q", data)
        elif number == _CLOCK_DATA and len(data) >= 24:
            _, _, wall, own = struct.unpack_from(f"{self.order}2I2Q", data)
            self.wall_clock = (wall, own)


def described(path: Path, file: BinaryIO) -> Description:
    """Head of a file, with what its sections describe.

    Raises
    ------
    InputError
        The file is damaged in its head, was never finished, or is of a form that is not read.
    """
    size = path.stat().st_size
    head = file.read(HEADER_BYTES)
    order = {MAGIC_LITTLE: "<", MAGIC_BIG: ">"}.get(head[:8])
    if head[:8] == MAGIC_OLD:
        raise InputError(
            f"{path}: is of a perf before Linux 2.6.37, whose files are not read; record with a later one"
        )
    if order is None or len(head) < PIPE_HEADER_BYTES:
        raise InputError(f"{path}: does not begin with a head of perf; give a file of `perf sched record`")
    found = Description(order=order)
    if struct.unpack_from(f"{order}Q", head, 8)[0] == PIPE_HEADER_BYTES:
        found.is_pipe, found.data = True, (PIPE_HEADER_BYTES, size)
        return found
    if len(head) < HEADER_BYTES:
        raise InputError(f"{path}: ends within its head, at byte {len(head)}; copy it again")
    words = struct.unpack_from(f"{order}12Q", head, 8)
    attribute_bytes, attributes, data = words[1], words[2:4], words[4:6]
    flags = words[8:]
    if data[1] == 0:
        raise InputError(
            f"{path}, byte 48: has no length of its records: perf was ended before it could finish the "
            "file; record again and end it with Ctrl-C"
        )
    if data[0] + data[1] > size:
        raise InputError(
            f"{path}: ends at byte {size}, within its records, which should reach byte {sum(data)}; the "
            "description of its events comes after them, so that nothing can be read; copy it again"
        )
    found.data = (data[0], data[0] + data[1])
    found.events = _events(path, file, order, attribute_bytes, attributes)
    for number, section in _sections(file, order, found.data[1], flags):
        if number == _DIR_FORMAT:
            raise InputError(
                f"{path}: is one of a folder of files; record again without --threads, into one file"
            )
        try:
            found.add_feature(number, _section(file, section, size))
        except ValueError as error:
            raise InputError(
                f"{path}, byte {section[0]}: the description of its tracepoints is damaged ({error}); copy "
                "the file again"
            ) from None
    return found


def _section(file: BinaryIO, section: tuple[int, int], size: int) -> bytes:
    at, length = section
    if at > size:
        return b""
    file.seek(at)
    return file.read(min(length, DESCRIPTION_BYTES_MAX))


def _sections(
    file: BinaryIO, order: str, at: int, flags: tuple[int, ...]
) -> Iterator[tuple[int, tuple[int, int]]]:
    """Numbers of the sections that a file has, and their places; the table of them follows the records."""
    numbers = [64 * word + bit for word, value in enumerate(flags) for bit in range(64) if value >> bit & 1]
    file.seek(at)
    table = file.read(16 * len(numbers))
    for index, number in enumerate(numbers[: len(table) // 16]):
        place, length = struct.unpack_from(f"{order}2Q", table, 16 * index)
        yield number, (place, length)


def _events(path: Path, file: BinaryIO, order: str, each: int, section: tuple[int, ...]) -> list[Event]:
    at, length = section
    count = length // each if each >= ATTRIBUTE_BYTES_LEAST + 16 else 0
    if not 0 < count <= EVENTS_MAX or at + length > path.stat().st_size:
        raise InputError(f"{path}, byte 16: has no readable list of its events; copy the file again")
    file.seek(at)
    data = file.read(length)
    events = []
    for index in range(count):
        record = data[index * each : (index + 1) * each]
        place, id_bytes = struct.unpack_from(f"{order}2Q", record, each - 16)
        if id_bytes > 8 * IDS_MAX:
            raise InputError(f"{path}, byte {at + index * each}: an event has {id_bytes // 8} numbers")
        ids = _section(file, (place, id_bytes), path.stat().st_size)
        events.append(event_of(record[:-16], ids, order))
    return events


def event_of(data: bytes, ids: bytes, order: str) -> Event:
    """Event of the bytes of a ``perf_event_attr`` and of its numbers.

    Raises
    ------
    struct.error
        There are too few bytes.
    """
    kind, _, config, _, sample_type, read_format, flags = struct.unpack_from(f"{order}2I5Q", data)

    def flag(bit: int) -> bool:
        # Bit fields begin with the lowest bit or with the highest, as the byte order does.
        return bool(flags >> (bit if order == "<" else 63 - bit) & 1)

    clock = struct.unpack_from(f"{order}i", data, 92)[0] if flag(25) and len(data) >= 96 else None
    return Event(
        kind=kind,
        config=config,
        sample_type=sample_type,
        read_format=read_format,
        has_sample_id=flag(18),
        clock=clock,
        ids=struct.unpack(f"{order}{len(ids) // 8}Q", ids[: len(ids) // 8 * 8]),
    )


class _Reader:
    """Bytes that are taken from the front."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at, self.order = data, 0, "<"

    def take(self, count: int) -> bytes:
        """Next bytes."""
        if not 0 <= count <= len(self.data) - self.at:
            raise ValueError(f"{count} bytes at byte {self.at} of {len(self.data)}")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, code: str) -> int:
        """Next number."""
        (value,) = struct.unpack(f"{self.order}{code}", self.take(struct.calcsize(f"<{code}")))
        return int(value)

    def text(self) -> str:
        """Next text, which ends with a zero."""
        end = self.data.find(b"\0", self.at)
        if end < 0:
            raise ValueError(f"a text without an end at byte {self.at}")
        found = self.take(end - self.at)
        self.at += 1
        return found.decode("utf-8", "replace")


def tracepoints_of(data: bytes) -> list[Tracepoint]:
    """Tracepoints of the section that perf copied from the kernel's tracing folder.

    Raises
    ------
    ValueError
        It ends early, or is no such section.
    """
    reader = _Reader(data)
    if reader.take(10) != b"\x17\x08\x44tracing":
        raise ValueError("it does not begin with the mark of one")
    reader.text()
    reader.order = ">" if reader.number("B") else "<"
    reader.take(5)  # Sizes of a long and of a page.
    for _ in range(2):  # header_page and header_event.
        reader.text()
        reader.take(reader.number("Q"))
    for _ in range(reader.number("I")):  # Formats of ftrace's own events.
        reader.take(reader.number("Q"))
    found = []
    for _ in range(reader.number("I")):
        system = reader.text()
        for _ in range(reader.number("I")):
            text = reader.take(reader.number("Q")).decode("utf-8", "replace")
            tracepoint = _tracepoint(system, text)
            if tracepoint is not None:
                found.append(tracepoint)
    return found


def _tracepoint(system: str, text: str) -> Tracepoint | None:
    name = re.search(r"^name: (\S+)$", text, re.MULTILINE)
    number = re.search(r"^ID: (\d{1,9})$", text, re.MULTILINE)
    if name is None or number is None:
        return None
    lines = (line for line in text.splitlines() if len(line) <= LINE_MAX)
    fields = {
        match["name"]: Field(
            offset=int(match["offset"]),
            size=int(match["size"]),
            signed=match["signed"] == "1",
            located=match["type"].startswith("__data_loc"),
        )
        for match in map(_FIELD.search, lines)
        if match is not None and len(match["offset"]) < 6 and len(match["size"]) < 6
    }
    flags = {int(match[1], 0): match[2] for match in _FLAG.finditer(text)}
    return Tracepoint(system=system, name=name[1], number=int(number[1]), fields=fields, flags=flags)
