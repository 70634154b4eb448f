"""Logins, logouts and boots from the records of wtmp and utmp."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from thinktime.sources.importers.importer import HEAD_BYTES, Source
from thinktime.sources.importers.problems import Problems
from thinktime.sources.importers.wtmp.sessions import Event

RECORDS_SEEN = 4
"""Records at the head of a file of which the first, and half of all, must be those of a layout."""
SLOTS_MAX = 4096
"""Most records of a file that may be of utmp, which has them in the order of terminals."""
LINES_MAX = 16_384
"""Terminals whose last record is known."""
BLOCK_RECORDS = 256
"""Records that are read at once."""

_TEXTS = "<hHi32s4s32s256shh"
LAYOUTS = (struct.Struct(f"{_TEXTS}iIi16s20s"), struct.Struct(f"{_TEXTS}qqq16s20s4x"))
"""Records of glibc: of 384 bytes on x86-64, and of 400 on ARM64, where times have 64 bits."""
SECONDS_MAX = 2**33
_EMPTY, _RUN_LEVEL, _BOOT, _NEW_TIME, _OLD_TIME, _INIT, _LOGIN, _USER, _DEAD, _ACCOUNTING = range(10)
_DOWN = (ord("0"), ord("6"))
"""Run levels in which a machine stops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record of wtmp that may be one."""

    type: int
    pid: int
    line: str
    id: bytes
    user: str
    host: str
    time_us: int


def layout_of(data: bytes, *, asked: bool) -> struct.Struct | None:
    """Layout of the records at the head of a file; None if they are of none.

    Parameters
    ----------
    data : bytes
        Head of the file.
    asked : bool
        True if the user says that there are records: one that can be read is enough.
    """
    for layout in LAYOUTS:
        places = range(0, len(data) - layout.size + 1, layout.size)
        first = [record_of(data, at, layout) is not None for at in places[:RECORDS_SEEN]]
        if 2 * sum(first) >= len(first) > 0 and record_of(data, 0, layout, must_say=True):
            return layout
    if not asked:
        return None
    said = {
        layout: sum(
            record_of(data, at, layout, must_say=True) is not None
            for at in range(0, len(data) - layout.size + 1, layout.size)
        )
        for layout in LAYOUTS
    }
    most = max(LAYOUTS, key=said.__getitem__)
    return most if said[most] else None


def record_of(data: bytes, at: int, layout: struct.Struct, *, must_say: bool = False) -> Record | None:
    """Record at a place in `data`; None if the bytes there can be none.

    Parameters
    ----------
    data : bytes
    at : int
        Place of its first byte; as many as the layout has must follow.
    layout : struct.Struct
        One of `LAYOUTS`.
    must_say : bool
        Refuse records that say nothing (zeros), which may be anything.
    """
    kind, pad, pid, line, id_, user, host, _, _, _, seconds, micro, _, unused = layout.unpack_from(data, at)
    texts = [text.partition(b"\0")[0] for text in (line, user, host)]
    if not _EMPTY <= kind <= _ACCOUNTING or pad or any(unused):
        return None
    if not (0 <= micro < 1_000_000 and 0 <= seconds < SECONDS_MAX):
        return None
    if any(byte < 0x20 for text in texts for byte in text):
        return None
    if must_say and (kind == _EMPTY or not seconds or not any(texts)):
        return None
    decoded = [text.decode("utf-8", "replace") for text in texts]
    return Record(
        type=kind,
        pid=pid,
        line=decoded[0],
        id=id_,
        user=decoded[1],
        host=decoded[2],
        time_us=seconds * 1_000_000 + micro,
    )


def events(source: Source) -> Iterator[Event]:
    """Logins, logouts and boots of a file, in the order of its records; those of utmp by time."""
    with source.path.open("rb") as file:
        layout = layout_of(file.read(HEAD_BYTES), asked=True) or LAYOUTS[0]
    records = _records(source.path, layout, source.problems)
    if _is_utmp(source.path, layout):
        records = iter(sorted(records, key=lambda item: item[1].time_us))
    return _events(records, source.problems)


def _is_utmp(path: Path, layout: struct.Struct) -> bool:
    """True if no terminal has two records: utmp has one of each, wtmp a history."""
    if path.stat().st_size > SLOTS_MAX * layout.size:
        return False
    slots: set[object] = set()
    for _, record in _records(path, layout, Problems()):
        if record.type != _EMPTY:
            slot = (record.type, record.id) if record.type < _INIT else record.id + record.line.encode()
            if slot in slots:
                return False
            slots.add(slot)
    return True


def _records(path: Path, layout: struct.Struct, problems: Problems) -> Iterator[tuple[int, Record]]:
    """Records with the places where they begin; bytes that are none are counted and passed over."""
    size = layout.size
    with path.open("rb") as file:
        data, base, at = b"", 0, 0
        while True:
            if len(data) - at < 2 * size:
                data, base, at = data[at:] + file.read(BLOCK_RECORDS * size), base + at, 0
            if len(data) - at < size:
                break
            record = record_of(data, at, layout)
            if record is not None:
                yield base + at, record
                at += size
                continue
            last = min(at + size, len(data) - size)
            found = (
                place for place in range(at + 1, last + 1) if record_of(data, place, layout, must_say=True)
            )
            after = next(found, min(at + size, len(data)))
            problems.add("damaged_record", f"byte {base + at}: {after - at} bytes are no record; left out")
            at = after
        if len(data) > at:
            problems.add(
                "truncated",
                f"byte {base + at}: the file ends in the middle of a record, after {len(data) - at} of "
                f"{size} bytes",
            )


def _events(records: Iterator[tuple[int, Record]], problems: Problems) -> Iterator[Event]:
    known: set[str] = set()
    """Terminals that had a record: a logout at another one ends a session from before the file."""
    old_us: int | None = None
    for at, record in records:
        place, kind = f"byte {at}", record.type
        if record.time_us == 0 or kind in (_EMPTY, _ACCOUNTING):
            continue
        if kind == _BOOT or (kind == _RUN_LEVEL and record.user == "reboot"):
            yield Event(time_us=record.time_us, kind="boot", place=place)
        elif kind == _RUN_LEVEL:
            if record.user == "shutdown" or record.pid % 256 in _DOWN:
                yield Event(time_us=record.time_us, kind="down", place=place)
        elif kind == _OLD_TIME:
            old_us = record.time_us
        elif kind == _NEW_TIME:
            by_s = "" if old_us is None else f" by {(record.time_us - old_us) / 1e6:+.0f} s"
            problems.add("clock_step", f"{place}: the clock was set{by_s}")
            yield Event(time_us=record.time_us, before_us=old_us or 0, kind="clock", place=place)
            old_us = None
        elif kind == _USER and record.user:
            yield Event(
                time_us=record.time_us,
                kind="login",
                place=place,
                session=record.line,
                user=record.user,
                terminal=record.line,
                host=record.host,
            )
        elif kind in (_DEAD, _USER):
            # Of a terminal at which nobody has logged in yet, the process is that which asks for the name.
            if record.line and record.line not in known and record.line != "~" and not record.user:
                problems.add("login_missing", f"a logout whose login is not in the file ({record.line[:40]})")
            yield Event(time_us=record.time_us, kind="logout", place=place, session=record.line)
        if len(known) < LINES_MAX:
            known.add(record.line)
