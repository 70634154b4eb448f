"""Records of a file of perf, in the order of their times.

perf empties the buffer of one CPU after the other. What it wrote is therefore in order for each CPU only,
until it marks the end of a round: then everything up to the latest time of the round before is complete,
and can be put in order. Thus only two rounds are in memory, whatever the length of the file.

Records are walked one by one; their fields are taken from all of them at once, by NumPy.
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from thinktime.errors import InputError
from thinktime.sources.importers.perf.header import (
    ATTRIBUTE_BYTES_LEAST,
    DESCRIPTION_BYTES_MAX,
    Description,
    Event,
    event_of,
)
from thinktime.sources.importers.problems import Problems

Bytes = NDArray[np.uint8]
Whole = NDArray[np.int64]

BLOCK_BYTES = 4 << 20
PENDING_MAX = 4_000_000
"""Samples that wait for the end of a round; more than a buffer of perf holds on 500 CPUs."""
CHAIN = 8
"""Sound records in a row after damage before they are taken for records."""
CPUS_MAX = 1 << 16
TASK_MAX = 1 << 22
"""Greatest number of a task on Linux (PID_MAX_LIMIT)."""

_LOST, _COMM, _FORK, _SAMPLE, _LOST_SAMPLES = 2, 3, 7, 9, 13
_KERNEL_MOST = 22
_ATTRIBUTE, _TRACING_DATA, _ROUND, _TRACE_DATA, _FEATURE, _COMPRESSED, _COMPRESSED_2 = (
    64,
    66,
    68,
    71,
    80,
    81,
    83,
)
_USER_MOST = 84

# Bits of sample_type, in the order in which their values are in a sample, all of 8 bytes each.
_IP, _TID, _TIME, _ADDR, _READ, _CALLCHAIN, _ID, _CPU, _PERIOD, _STREAM, _RAW = (
    1 << bit for bit in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
)
_IDENTIFIER = 1 << 16
_BEFORE_READ = (_IDENTIFIER, _IP, _TID, _TIME, _ADDR, _ID, _STREAM, _CPU, _PERIOD)
_AT_END = (_TID, _TIME, _ID, _STREAM, _CPU, _IDENTIFIER)
_GROUP = 1 << 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """Samples of one tracepoint, or the losses among all (`number` is -1)."""

    number: int
    """Of the tracepoint."""
    time: Whole
    """By the clock of the records [ns]."""
    place: Whole
    """Byte of the file: the order of samples of the same time."""
    cpu: Whole
    process: Whole
    task: Whole
    raw: Whole
    """Bytes of the tracepoint's own data in `data`, at which each begins."""
    raw_bytes: Whole
    data: Bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A name that a task took, or that it has already when the recording begins (``PERF_RECORD_COMM``)."""

    process: int
    task: int
    name: bytes
    time: int
    """0 for what was so at the start."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """Places of the values in a sample of one sample type; -1 for what is not there."""

    sample_type: int
    tid: int
    time: int
    cpu: int
    variable: int
    """Where the values of variable length begin."""
    read_bytes: int

    @classmethod
    def of(cls, event: Event) -> _Layout:
        places = {}
        at = 8
        for bit in _BEFORE_READ:
            places[bit] = at if event.sample_type & bit else -1
            at += 8 if event.sample_type & bit else 0
        extra = bin(event.read_format & 0b10111).count("1")
        return cls(
            event.sample_type,
            places[_TID],
            places[_TIME],
            places[_CPU],
            at,
            8 * (1 + extra) if event.sample_type & _READ else 0,
        )


@dataclass(slots=True, kw_only=True)
class Records:
    """Records of a file, walked once.

    Parameters
    ----------
    path : Path
    description : Description
        Of the file; one of a pipe fills while the records are read.
    problems : Problems
        Where damage is counted.
    """

    path: Path
    description: Description
    problems: Problems
    names: list[Named] = field(default_factory=list)
    """Names since the reader last took them away."""
    tasks: list[tuple[int, int, int]] = field(default_factory=list)
    """Task, its process and the parent of that, of tasks that began, since the reader last took them away."""
    lost: int = 0
    """Records that the kernel dropped, as perf was late to read its buffers (``PERF_RECORD_LOST``)."""
    lost_samples: int = 0
    """The same by the counters of the events (``PERF_RECORD_LOST_SAMPLES``), which count them again."""
    late: int = 0
    """Samples earlier than what was taken to be complete."""
    _layouts: dict[int, tuple[_Layout, int]] = field(default_factory=dict)
    """By number of an event on a CPU: layout and tracepoint."""
    _only: tuple[_Layout, int] | None = None

    def batches(self) -> Iterator[list[Samples]]:
        """Samples of each round, all earlier than those of the next; in themselves not in order."""
        self._prepare()
        order = _Rounds()
        with self.path.open("rb") as file:
            for samples in self._blocks(file):
                if isinstance(samples, Samples):
                    order.add(samples)
                elif order.pending and (ready := order.end_round()):
                    yield ready
                if order.pending > PENDING_MAX and (ready := order.end_round()):
                    self.problems.once(
                        "unordered_events",
                        f"{self.path.name}: has no ends of rounds, so that events of different CPUs may be "
                        "out of order",
                    )
                    yield ready
        self.late = order.late
        if rest := order.rest():
            yield rest

    def _prepare(self) -> None:
        found = [(_Layout.of(event), _number_of(event), event) for event in self.description.events]
        for layout, number, event in found:
            if event.is_tracepoint and event.sample_type & _READ and event.read_format & _GROUP:
                raise InputError(
                    f"{self.path}: has samples of groups of events (`:S`), which are not read; record the "
                    "events without groups"
                )
            for each in event.ids:
                self._layouts[each] = (layout, number)
        if len(found) == 1:
            self._only = found[0][:2]
        elif found and all(layout.sample_type == found[0][0].sample_type for layout, _, _ in found):
            # No numbers are needed where all are alike: the data of a tracepoint begin with its number.
            self._only = (found[0][0], -2)

    # Blocks

    def _blocks(self, file: BinaryIO) -> Iterator[Samples | None]:
        """Samples of each block; None at the end of a round."""
        at, end = self.description.data
        while at < end:
            file.seek(at)
            data = file.read(min(BLOCK_BYTES, end - at))
            is_last = at + len(data) >= end or len(data) < BLOCK_BYTES
            used = yield from self._block(data, at, file, is_last=is_last)
            if not used:
                self.problems.add("truncated", f"{self.path.name}, byte {at}: the file ends within a record")
                return
            at += used

    def _block(
        self, data: bytes, base: int, file: BinaryIO, *, is_last: bool
    ) -> Generator[Samples | None, None, int]:
        """Walk the complete records of a block; the number of bytes that were used."""
        head = struct.Struct(f"{self.description.order}IHH").unpack_from
        at, end = 0, len(data)
        places: list[int] = []
        sizes: list[int] = []
        while at + 8 <= end:
            kind, _, size = head(data, at)
            if kind == _SAMPLE and size >= 8 and not size & 7:
                if at + size > end:
                    break
                places.append(at)
                sizes.append(size)
                at += size
                continue
            if not _is_sound(kind, size):
                after = self._next(data, at)
                if after is None and not is_last:
                    after = max(at + 4, end - (1 << 16))
                after = end if after is None else after
                self.problems.add(
                    "damaged_record",
                    f"{self.path.name}, byte {base + at}: {after - at} bytes are no record; left out",
                )
                at = after
                continue
            if at + size > end:
                break
            if kind in (_COMPRESSED, _COMPRESSED_2):
                self._refuse_compressed(base + at)
            if kind == _ROUND:
                yield from self._samples(data, base, places, sizes)
                places, sizes = [], []
                yield None
            elif kind in (_TRACING_DATA, _TRACE_DATA):
                # The data follow the record, and may be longer than the block.
                yield from self._samples(data, base, places, sizes)
                return int(at + size + self._following(data[at : at + size], kind, base + at, file))
            else:
                lost = self._other(kind, data[at : at + size], base + at)
                if lost is not None:
                    yield lost
            at += size
        yield from self._samples(data, base, places, sizes)
        return at

    def _refuse_compressed(self, place: int) -> None:
        raise InputError(
            f"{self.path}, byte {place}: its records are compressed, which is not read; record again "
            "without -z"
        )

    def _next(self, data: bytes, at: int) -> int | None:
        """Place of the next `CHAIN` sound records in a row, at any byte: damage may move what follows."""
        head = struct.Struct(f"{self.description.order}IHH").unpack_from
        cells = np.frombuffer(data, dtype=np.uint8)[at + 1 :]
        kind, *zeros = (0, 1, 2, 3) if self.description.order == "<" else (3, 0, 1, 2)
        count = len(cells) - 7
        if count <= 0:
            return None
        may_be = cells[kind : kind + count] != 0
        for place in zeros:
            may_be &= cells[place : place + count] == 0
        for first in (np.flatnonzero(may_be) + at + 1).tolist():
            place, found = first, 0
            while found < CHAIN and place + 8 <= len(data):
                number, _, size = head(data, place)
                if not _is_sound(number, size):
                    break
                place, found = place + size, found + 1
            if found == CHAIN or (found and place == len(data)):
                return int(first)
        return None

    # Records that are no samples

    def _following(self, record: bytes, kind: int, place: int, file: BinaryIO) -> int:
        """Length of the data behind a record; those that describe tracepoints are read."""
        order = self.description.order
        if kind == _TRACE_DATA:
            return int(struct.unpack_from(f"{order}Q", record, 8)[0]) if len(record) >= 16 else 0
        length = int(struct.unpack_from(f"{order}I", record, 8)[0]) if len(record) >= 12 else 0
        if length > DESCRIPTION_BYTES_MAX:
            raise InputError(
                f"{self.path}, byte {place}: a description of {length} bytes; the file is damaged"
            )
        file.seek(place + len(record))
        try:
            self.description.add_feature(1, file.read(length))
        except ValueError as error:
            raise InputError(
                f"{self.path}, byte {place}: the description of its tracepoints is damaged ({error}); record "
                "again"
            ) from None
        return (length + 7) & ~7

    def _other(self, kind: int, record: bytes, place: int) -> Samples | None:
        """Take over a record that is no sample; a loss is handed on, for nothing spans it."""
        order = self.description.order
        try:
            if kind == _COMM:
                process, task = struct.unpack_from(f"{order}2i", record, 8)
                name = record[16:].partition(b"\0")[0][:15]
                self.names.append(
                    Named(process=process, task=task, name=name, time=self._time_at_end(record) or 0)
                )
            elif kind == _FORK:
                process, parent, task = struct.unpack_from(f"{order}3i", record, 8)
                self.tasks.append((task, process, parent))
            elif kind == _LOST:
                self.lost += _possible(struct.unpack_from(f"{order}2Q", record, 8)[1])
                time = self._time_at_end(record)
                return None if time is None else _loss(time, place)
            elif kind == _LOST_SAMPLES:
                self.lost_samples += _possible(struct.unpack_from(f"{order}Q", record, 8)[0])
            elif kind == _ATTRIBUTE:
                self._attribute(record)
            elif kind == _FEATURE:
                self.description.add_feature(struct.unpack_from(f"{order}Q", record, 8)[0], record[16:])
        except (struct.error, ValueError) as error:
            self.problems.add(
                "damaged_record",
                f"{self.path.name}, byte {place}: a record of kind {kind} that cannot be read ({error})",
            )
        return None

    def _attribute(self, record: bytes) -> None:
        """Take over an event that a file from a pipe describes."""
        order = self.description.order
        (length,) = struct.unpack_from(f"{order}I", record, 12)
        if not ATTRIBUTE_BYTES_LEAST <= length <= len(record) - 8:
            raise ValueError(f"{length} bytes of an event")
        event = event_of(record[8 : 8 + length], record[8 + length :], order)
        self.description.events.append(event)
        self._only = None
        self._prepare()

    def _time_at_end(self, record: bytes) -> int | None:
        """Time in the values that end a record; None where there are none."""
        event = next((item for item in self.description.events if item.has_sample_id), None)
        if event is None or not event.sample_type & _TIME:
            return None
        behind = sum(8 for bit in _AT_END[1:] if event.sample_type & bit)
        if len(record) < 8 + behind:
            return None
        return int(struct.unpack_from(f"{self.description.order}q", record, len(record) - behind)[0])

    # Samples

    def _samples(self, data: bytes, base: int, places: list[int], sizes: list[int]) -> Iterator[Samples]:
        """Samples of the records at `places`, by tracepoint."""
        if not places:
            return
        if self._only is None and not self._layouts:
            raise InputError(
                f"{self.path}, byte {base + places[0]}: a sample comes before the description of its event; "
                "record again"
            )
        array = np.frombuffer(data, dtype=np.uint8)
        at, size = np.array(places, dtype=np.int64), np.array(sizes, dtype=np.int64)
        if self._only is not None:
            yield from self._of_layout(array, base, at, size, *self._only)
            return
        long_enough = size >= 16
        self._damaged(base, at[~long_enough], "a sample without a number of its event")
        at, size = at[long_enough], size[long_enough]
        ids = self._numbers(array, at + 8, 8, signed=False).astype(np.int64)
        known, which = np.unique(ids, return_inverse=True)
        groups: dict[tuple[_Layout, int], list[int]] = {}
        for index, each in enumerate(known.tolist()):
            found = self._layouts.get(each)
            if found is None:
                self._damaged(
                    base, at[which == index], "a sample of an event that the file does not describe"
                )
            else:
                groups.setdefault(found, []).append(index)
        for (layout, number), indices in groups.items():
            chosen = np.isin(which, indices)
            yield from self._of_layout(array, base, at[chosen], size[chosen], layout, number)

    def _of_layout(
        self, data: Bytes, base: int, at: Whole, size: Whole, layout: _Layout, number: int
    ) -> Iterator[Samples]:
        if number == -1 or not layout.sample_type & _RAW:
            return
        if layout.time < 0 or layout.cpu < 0:
            raise InputError(
                f"{self.path}: its samples have no time or no CPU; record with `perf sched record`, or with "
                "perf record -a -R -T"
            )
        raw, raw_bytes, sound = self._raw(data, at, size, layout)
        time = self._numbers(data, np.where(sound, at + layout.time, 0), 8, signed=True)
        cpu = self._numbers(data, np.where(sound, at + layout.cpu, 0), 4, signed=False)
        sound &= self._is_possible(time, sound) & (cpu < CPUS_MAX)
        self._damaged(base, at[~sound], "a sample with an impossible time, CPU or length")
        at, time, cpu, raw, raw_bytes = (part[sound] for part in (at, time, cpu, raw, raw_bytes))
        if not len(at):
            return
        ids = np.full(len(at), -1, dtype=np.int64)
        process, task = ids, ids
        if layout.tid >= 0:
            process = self._numbers(data, at + layout.tid, 4, signed=True)
            task = self._numbers(data, at + layout.tid + 4, 4, signed=True)
        own = self._numbers(data, raw, 2, signed=False)
        for found in np.unique(own).tolist() if number == -2 else (number,):
            chosen = own == found
            self._damaged(base, at[~chosen] if number != -2 else at[:0], "data of another tracepoint")
            yield Samples(
                number=found,
                time=time[chosen],
                place=base + at[chosen],
                cpu=cpu[chosen],
                process=process[chosen],
                task=task[chosen],
                raw=raw[chosen],
                raw_bytes=raw_bytes[chosen],
                data=data,
            )

    def _raw(
        self, data: Bytes, at: Whole, size: Whole, layout: _Layout
    ) -> tuple[Whole, Whole, NDArray[np.bool_]]:
        """Places and lengths of the tracepoints' data, and which samples have all of it."""
        place = np.full(len(at), layout.variable + layout.read_bytes, dtype=np.int64)
        sound = size >= place + 8
        if layout.sample_type & _CALLCHAIN:
            depth = self._numbers(data, np.where(sound, at + place, 0), 8, signed=False)
            sound &= (depth >= 0) & (depth < 1 << 13)
            place = place + 8 + 8 * np.where(sound, depth, 0)
            sound &= size >= place + 8
        length = self._numbers(data, np.where(sound, at + place, 0), 4, signed=False)
        sound &= (length >= 2) & (size >= place + 4 + length)
        return at + place + 4, np.where(sound, length, 0), sound

    def _is_possible(self, time: Whole, sound: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which times may be: within those that perf noted, or else not far from most of the others."""
        if self.description.span_ns is not None and self.description.span_ns[0] > 0:
            first, last = self.description.span_ns
            return (time >= first - 10**9) & (time <= last + 10**9)
        if not sound.any():
            return sound
        low, middle, high = np.quantile(time[sound].astype(np.float64), (0.25, 0.5, 0.75))
        reach = 3600e9 + 100.0 * (high - low)
        near: NDArray[np.bool_] = np.abs(time - middle) <= reach
        return near & (time > 0)

    def _numbers(self, data: Bytes, at: Whole, size: int, *, signed: bool) -> Whole:
        return numbers(data, at, size, signed=signed, order=self.description.order)

    def _damaged(self, base: int, at: Whole, what: str) -> None:
        for place in at.tolist():
            self.problems.add("damaged_record", f"{self.path.name}, byte {base + place}: {what}; left out")


class _Rounds:
    """Samples that wait until everything earlier has been read."""

    def __init__(self) -> None:
        self._waiting: list[Samples] = []
        self._complete: int | None = None
        """Everything up to this time has been read when the round ends."""
        self._last: int | None = None
        self._given: int | None = None
        self.pending = 0
        self.late = 0

    def add(self, samples: Samples) -> None:
        """Add samples of the round."""
        self._waiting.append(samples)
        self.pending += len(samples.time)
        last = int(samples.time.max())
        self._last = last if self._last is None else max(self._last, last)

    def end_round(self) -> list[Samples]:
        """Samples that are complete now."""
        complete, self._complete = self._complete, self._last
        if complete is None:
            return []
        ready, waiting = [], []
        for samples in self._waiting:
            done = samples.time <= complete
            if done.all():
                ready.append(samples)
            elif done.any():
                ready.append(chosen(samples, done))
                waiting.append(chosen(samples, ~done))
            else:
                waiting.append(samples)
        self._waiting = waiting
        self.pending = sum(len(samples.time) for samples in waiting)
        self._count_late(ready)
        self._given = complete
        return ready

    def rest(self) -> list[Samples]:
        """Samples that are left at the end of the file."""
        self._count_late(self._waiting)
        return self._waiting

    def _count_late(self, ready: list[Samples]) -> None:
        if self._given is not None:
            self.late += sum(int((samples.time <= self._given).sum()) for samples in ready)


def chosen(samples: Samples, which: NDArray[np.bool_]) -> Samples:
    """Those of the samples that are chosen, without the data of the others."""
    raw, length = samples.raw[which], samples.raw_bytes[which]
    data = samples.data
    if int(length.sum()) * 4 < len(data):
        # A few samples must not keep a whole block in memory.
        width = int(length.max()) if len(length) else 0
        reach = np.minimum(raw[:, None] + np.arange(width), len(data) - 1)
        data = data[reach].reshape(-1)
        raw = np.arange(len(raw), dtype=np.int64) * width
    return Samples(
        number=samples.number,
        time=samples.time[which],
        place=samples.place[which],
        cpu=samples.cpu[which],
        process=samples.process[which],
        task=samples.task[which],
        raw=raw,
        raw_bytes=length,
        data=data,
    )


def numbers(data: Bytes, at: Whole, size: int, *, signed: bool, order: str) -> Whole:
    """Whole numbers of `size` bytes at the places `at`, which must be inside; 8 bytes are taken as signed."""
    cells = np.ascontiguousarray(data[at[:, None] + np.arange(size)])
    code = f"{order}{'i' if signed or size == 8 else 'u'}{size}"
    return cells.view(code).reshape(-1).astype(np.int64)


def _loss(time: int, place: int) -> Samples:
    one = np.zeros(1, dtype=np.int64)
    return Samples(
        number=-1,
        time=one + time,
        place=one + place,
        cpu=one,
        process=one - 1,
        task=one - 1,
        raw=one,
        raw_bytes=one,
        data=np.zeros(0, dtype=np.uint8),
    )


def _number_of(event: Event) -> int:
    return event.config if event.is_tracepoint else -1


def _is_sound(kind: int, size: int) -> bool:
    # Those of the kernel are aligned, those of perf itself are not.
    if 1 <= kind <= _KERNEL_MOST:
        return size >= 8 and not size & 7
    return size >= 8 and _ATTRIBUTE <= kind <= _USER_MOST


def _possible(count: int) -> int:
    return count if count < 1 << 48 else 0
