"""The format of archives of Performance Co-Pilot (LOGARCHIVE(5)): labels, metadata and fetches."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from thinktime.errors import InputError
from thinktime.sources.importers.pcp import MAGIC
from thinktime.sources.importers.problems import Problems

RECORD_BYTES_MAX = 16 << 20
"""Longest record that is read; one of ten thousand processes has a megabyte."""
SEARCHED_BYTES = 1 << 20
"""How far after damage the next record is looked for."""
INSTANCES_MAX = 65_536
"""Most instances of a domain that are named."""
VOLUMES_MAX = 100_000
TEXT_MAX = 255
VERSIONS = (2, 3)
TIME_S = (1e-9, 1e-6, 1e-3, 1.0, 60.0, 3600.0)
COUNTER, INSTANT, DISCRETE = 1, 3, 4
"""Semantics of a metric."""
NO_INSTANCE = -1

_DESC, _INDOM_2, _INDOM, _INDOM_DELTA = 1, 2, 5, 6
_STRING, _FLOAT, _DOUBLE = 6, 4, 5
_NUMBERS = {0: ">i", 1: ">I", 2: ">q", 3: ">Q", _FLOAT: ">f", _DOUBLE: ">d"}
"""Type of a number by its code."""
_DELETED = -1

Value = float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """Description of a metric in the archive."""

    name: str
    pmid: int
    type: int
    domain: int
    """Number of its instance domain."""
    semantics: int
    units: int
    """Dimensions and scales, packed as in the archive."""

    @property
    def bits(self) -> int:
        """Width of its values."""
        return 32 if self.type in (0, 1) else 64

    def scale_to(self, unit: str) -> float | None:
        """Factor to the second (``s``), the byte, or a count (anything else); None for another dimension."""
        space, time, count = (_signed(self.units >> shift & 15) for shift in (28, 24, 20))
        of_space, of_time, of_count = (self.units >> shift & 15 for shift in (16, 12, 8))
        if (space, time, count) == (0, 1, 0) and unit == "s" and of_time < len(TIME_S):
            return TIME_S[of_time]
        if (space, time, count) == (1, 0, 0) and unit == "byte":
            return 1024.0**of_space
        if (space, time) == (0, 0) and count in (0, 1) and unit not in ("s", "byte"):
            return 10.0 ** _signed(of_count)
        return None


def _signed(nibble: int) -> int:
    return nibble - 16 if nibble > 7 else nibble


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """Values of the metrics that are read, at one time; without any it is a mark: logging was interrupted."""

    time_us: int
    place: str
    """Volume and byte, for messages."""
    values: Mapping[str, Mapping[int, Value]]
    """By name of the metric and by instance."""
    is_mark: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """Beginning of each file of an archive."""

    version: int
    host: str
    bytes: int
    """Length of the label."""


def label_of(path: Path, file: BinaryIO) -> Label:
    """Label at the beginning of a file.

    Raises
    ------
    InputError
        There is none, or it is of another version.
    """
    head = file.read(820)
    if len(head) < 8 or head[4:7] != MAGIC:
        raise InputError(f"{path}: does not begin with the label of an archive; restore it from a copy")
    version, length = head[7], struct.unpack_from(">I", head)[0]
    if version not in VERSIONS:
        raise InputError(
            f"{path}: is an archive of version {version}; give one of version 2 or 3, as `pmlogextract -V 3` "
            "makes it"
        )
    host = head[24:88] if version == 2 else head[36:292]
    if length != (132 if version == 2 else 808) or len(head) < length:
        raise InputError(f"{path}: its label has {length} bytes, which is no length of one; it is damaged")
    return Label(version=version, host=_text(host), bytes=length)


@dataclass(slots=True, kw_only=True)
class Archive:
    """Files of one archive.

    Parameters
    ----------
    base : Path
        Path that its files have in common.
    volumes : list of Path
        Files with values, in their order.
    problems : Problems
        Where damage is counted.
    """

    base: Path
    volumes: list[Path]
    problems: Problems

    @classmethod
    def of(cls, path: Path, problems: Problems) -> Archive:
        """Archive that a file belongs to.

        Raises
        ------
        InputError
            Its other files are not there.
        """
        stem, _, ending = path.name.rpartition(".")
        if not stem or not (ending in ("meta", "index") or ending.isdecimal()):
            raise InputError(
                f"{path}: is of an archive, whose files are named as in load.meta, load.index and load.0; "
                "name it so, beside the others"
            )
        base = path.with_name(stem)
        meta = base.with_name(f"{stem}.meta")
        if not meta.is_file():
            raise InputError(f"{meta}: is missing, without which {path.name} has no names; {_unpack(meta)}")
        volumes: dict[int, Path] = {}
        for found in path.parent.iterdir():
            ending = found.name.removeprefix(f"{stem}.")
            if found.name.startswith(f"{stem}.") and ending.isascii() and ending.isdecimal():
                volumes[int(ending[:9])] = found
            if len(volumes) > VOLUMES_MAX:
                raise InputError(f"{base}: has more than {VOLUMES_MAX} volumes; import them in parts")
        if not volumes:
            first = base.with_name(f"{stem}.0")
            raise InputError(f"{first}: is missing, which has the values; {_unpack(first)}")
        lacking = next((number for number in range(len(volumes)) if number not in volumes), None)
        if lacking is not None:
            problems.once("truncated", f"{stem}.{lacking} is missing, and perhaps others: a gap")
        return cls(base=base, volumes=[volumes[number] for number in sorted(volumes)], problems=problems)

    def fetches(self, wanted: Mapping[str, bool]) -> Iterator[tuple[Fetch, Metadata]]:
        """Fetches of all volumes, each with the metadata of its time.

        Parameters
        ----------
        wanted : mapping of str to bool
            Metrics that are read, and whether the names of their instances are needed.
        """
        metadata = Metadata(path=self.base.with_name(f"{self.base.name}.meta"), wanted=wanted)
        with metadata.path.open("rb") as described:
            metadata.begin(described, self.problems)
            for path in self.volumes:
                with path.open("rb") as file:
                    label = label_of(path, file)
                    if label.version != metadata.label.version:
                        raise InputError(f"{path}: is of another version than {metadata.path.name}")
                    for at, record in _records(path, file, label.bytes, self.problems):
                        time_us = _time_us(record, 0, label.version)
                        metadata.advance(time_us)
                        try:
                            yield _fetch(record, time_us, f"{path.name}, byte {at}", metadata), metadata
                        except (struct.error, ValueError) as error:
                            self.problems.add(
                                "damaged_record",
                                f"{path.name}, byte {at}: a fetch that cannot be read ({error}); left out",
                            )


def _unpack(path: Path) -> str:
    for ending, command in (
        (".xz", "xz -dk"),
        (".gz", "gzip -dk"),
        (".zst", "zstd -dk"),
        (".bz2", "bzip2 -dk"),
    ):
        packed = path.with_name(path.name + ending)
        if packed.is_file():
            return f"unpack it: {command} {packed}"
    return "put it beside the other files of the archive"


@dataclass(slots=True, kw_only=True)
class Metadata:
    """Names of metrics and instances at the time of the fetch that is read."""

    path: Path
    wanted: Mapping[str, bool]
    """Metrics that are read, and whether the names of their instances are needed."""
    metrics: dict[int, Metric] = field(default_factory=dict)
    """By number, those that are wanted."""
    names: dict[int, dict[int, str]] = field(default_factory=dict)
    """Names of instances by domain, of those that are needed."""
    label: Label = field(init=False)
    _problems: Problems = field(init=False)
    _records: Iterator[tuple[int, bytes]] = field(init=False)
    _waiting: tuple[int, bytes] | None = None

    def begin(self, file: BinaryIO, problems: Problems) -> None:
        """Read the label and describe all metrics; names of instances follow as time goes on."""
        self.label = label_of(self.path, file)
        self._problems = problems
        # A metric may stand after its instances. What is damaged is counted by the second reading.
        for _, record in _records(self.path, file, self.label.bytes, Problems()):
            with contextlib.suppress(struct.error, ValueError):
                if struct.unpack_from(">i", record)[0] == _DESC:
                    self._describe(record)
        self._records = _records(self.path, file, self.label.bytes, problems)

    def advance(self, time_us: int) -> None:
        """Take everything that was known at a time."""
        while True:
            if self._waiting is None:
                self._waiting = next(self._records, None)
                if self._waiting is None:
                    return
            at, record = self._waiting
            try:
                if not self._take(record, time_us):
                    return
            except (struct.error, ValueError) as error:
                self._problems.add(
                    "damaged_record", f"{self.path.name}, byte {at}: cannot be read ({error}); left out"
                )
            self._waiting = None

    def _take(self, record: bytes, time_us: int) -> bool:
        """Whether a record is from that time or before; then it is taken over."""
        (kind,) = struct.unpack_from(">i", record)
        if kind in (_INDOM_2, _INDOM, _INDOM_DELTA):
            version = 2 if kind == _INDOM_2 else 3
            if _time_us(record, 4, version) > time_us:
                return False
            self._name(record, 12 if version == 2 else 16, is_delta=kind == _INDOM_DELTA)
        return True

    def _describe(self, record: bytes) -> None:
        pmid, kind, domain, semantics, units, count = struct.unpack_from(">IiIiIi", record, 4)
        at = 28
        for _ in range(min(count, 100)):
            (length,) = struct.unpack_from(">i", record, at)
            name = record[at + 4 : at + 4 + length].decode("utf-8", "replace")
            if length < 0:
                raise ValueError("a name of negative length")
            if name in self.wanted:
                self.metrics[pmid] = Metric(
                    name=name, pmid=pmid, type=kind, domain=domain, semantics=semantics, units=units
                )
                if self.wanted[name]:
                    self.names.setdefault(domain, {})
                return
            at += 4 + length

    def _name(self, record: bytes, at: int, *, is_delta: bool) -> None:
        domain, count = struct.unpack_from(">Ii", record, at)
        if domain not in self.names:
            return
        if not 0 <= count <= (len(record) - at) // 8:
            raise ValueError(f"{count} instances")
        numbers = struct.unpack_from(f">{count}i", record, at + 8)
        offsets = struct.unpack_from(f">{count}i", record, at + 8 + 4 * count)
        texts = at + 8 + 8 * count
        names = self.names[domain] if is_delta else {}
        for number, offset in zip(numbers, offsets, strict=True):
            if is_delta and offset == _DELETED:
                names.pop(number, None)
            elif offset >= 0 and len(names) < INSTANCES_MAX:
                names[number] = _text(record[texts + offset : texts + offset + 4 * TEXT_MAX])
        self.names[domain] = names


def _fetch(record: bytes, time_us: int, place: str, metadata: Metadata) -> Fetch:
    version = metadata.label.version
    at = 12 if version == 2 else 16
    (count,) = struct.unpack_from(">i", record, at - 4)
    if not 0 <= count <= len(record) // 8:
        raise ValueError(f"{count} metrics")
    values: dict[str, Mapping[int, Value]] = {}
    for _ in range(count):
        pmid, number = struct.unpack_from(">Ii", record, at)
        at += 8
        if number <= 0:  # None, or the code of an error.
            continue
        (form,) = struct.unpack_from(">i", record, at)
        if number > len(record) // 8:
            raise ValueError(f"{number} values")
        metric = metadata.metrics.get(pmid)
        if metric is not None:
            values[metric.name] = _values(record, at + 4, number, form, metric)
        at += 4 + 8 * number
    return Fetch(time_us=time_us, place=place, values=values, is_mark=count == 0)


def _values(record: bytes, at: int, number: int, form: int, metric: Metric) -> dict[int, Value]:
    """Values by instance; those of a type that is not read are left out."""
    cells = struct.unpack_from(f">{2 * number}i", record, at)
    pairs = zip(cells[::2], cells[1::2], strict=True)
    if form == 0:
        if metric.type == _FLOAT:
            return {inst: struct.unpack(">f", struct.pack(">i", cell))[0] for inst, cell in pairs}
        return {inst: cell & 0xFFFF_FFFF if metric.type == 1 else cell for inst, cell in pairs}
    found: dict[int, Value] = {}
    for inst, cell in pairs:
        # Counted in words from two words before the record, as in the message of the protocol.
        place = 4 * cell - 12
        if not 0 <= place <= len(record) - 4:
            raise ValueError("a value outside of the record")
        (head,) = struct.unpack_from(">I", record, place)
        kind, length = head >> 24, head & 0xFF_FFFF
        if kind == _STRING:
            found[inst] = _text(record[place + 4 : place + min(length, 4 * TEXT_MAX)])
        elif kind in _NUMBERS:
            found[inst] = struct.unpack_from(_NUMBERS[kind], record, place + 4)[0]
    return found


def _time_us(record: bytes, at: int, version: int) -> int:
    if version == 2:
        seconds, micro = struct.unpack_from(">Ii", record, at)
        return int(seconds * 1_000_000 + micro)
    # The lower half of the seconds comes first.
    low, high, nano = struct.unpack_from(">Iii", record, at)
    return int((high << 32 | low) * 1_000_000 + nano // 1000)


def _text(data: bytes) -> str:
    return data.partition(b"\0")[0].decode("utf-8", "replace")[:TEXT_MAX]


def _records(path: Path, file: BinaryIO, at: int, problems: Problems) -> Iterator[tuple[int, bytes]]:
    """Records after the label, without their lengths; what is none is counted and passed over."""
    size = path.stat().st_size
    while at < size:
        record = _record(file, at, size)
        if record is not None:
            yield at, record
            at += len(record) + 8
            continue
        after = _next(file, at, size)
        if after is None:
            problems.add(
                "truncated",
                f"{path.name}, byte {at}: the file ends within a record, or is damaged from here on",
            )
            return
        problems.add("damaged_record", f"{path.name}, byte {at}: {after - at} bytes are no record; left out")
        at = after


def _record(file: BinaryIO, at: int, size: int) -> bytes | None:
    """Record at a place; None if its two lengths are not there or differ."""
    file.seek(at)
    head = file.read(4)
    if len(head) < 4:
        return None
    (length,) = struct.unpack(">I", head)
    if not 16 <= length <= min(RECORD_BYTES_MAX, size - at):
        return None
    rest = file.read(length - 4)
    return rest[:-4] if rest[-4:] == head else None


def _next(file: BinaryIO, at: int, size: int) -> int | None:
    """Place of the first record after damage."""
    file.seek(at + 1)
    data = file.read(SEARCHED_BYTES)
    for place in range(len(data) - 3):
        # The first byte of a length is zero.
        may_be = data[place] == 0 and (data[place + 1] or data[place + 2] or data[place + 3] >= 16)
        if may_be and _record(file, at + 1 + place, size) is not None:
            return at + 1 + place
    return None
