"""Importers: what other tools recorded becomes a log that every question reads.

Each kind of file is a folder of this room with one `Importer`, and `IMPORTERS` is their one registry: the
command line, its help and the messages follow from it. A file is recognised by its content, read as a stream
in bounded memory, and written with the columns of the common vocabulary; what a tool does not record is null.
Losses are counted among the incidents of the log, with their places.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from thinktime.errors import InputError, WorkError, offered
from thinktime.sources.importers.importer import Given, Head, Importer, Opened, Source, files_of, head_of
from thinktime.sources.importers.iostat import IostatImporter
from thinktime.sources.importers.pcp import PcpImporter
from thinktime.sources.importers.perf import PerfImporter
from thinktime.sources.importers.pidstat import PidstatImporter
from thinktime.sources.importers.problems import Problems
from thinktime.sources.importers.prometheus import PrometheusImporter
from thinktime.sources.importers.rezolus import RezolusImporter
from thinktime.sources.importers.sacct import SacctImporter
from thinktime.sources.importers.sar import SarImporter
from thinktime.sources.importers.table import TableImporter
from thinktime.sources.importers.vmstat import VmstatImporter
from thinktime.sources.importers.wtmp import WtmpImporter

if TYPE_CHECKING:
    from thinktime.log import LogWriter
    from thinktime.sources.importers.interval import Row

__all__ = ["IMPORTERS", "Given", "Imported", "Importer", "import_file"]

IMPORTERS: tuple[Importer, ...] = (
    SarImporter(),
    VmstatImporter(),
    IostatImporter(),
    PidstatImporter(),
    PrometheusImporter(),
    PcpImporter(),
    SacctImporter(),
    WtmpImporter(),
    RezolusImporter(),
    PerfImporter(),
    TableImporter(),
)
"""Kinds of file in the order in which they are tried: the last one takes any table."""

_COMPRESSED = {
    b"\x1f\x8b": "gzip -dk",
    b"\xfd7zXZ\x00": "xz -dk",
    b"BZh": "bzip2 -dk",
    b"\x28\xb5\x2f\xfd": "zstd -dk",
}
PARQUET = b"PAR1"
"""First and last bytes of a Parquet file."""
_REASONS = ("damaged_record", "truncated", "reboot", "interval_dropped", "suspend", "unread_series")
"""Kinds of problem that explain why a file has no interval, the likeliest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """Summary of an import."""

    log: Path
    """Folder of the log."""
    kind: str
    """Name of the importer."""
    form: str
    """Form of the input, by its content: ``binary``, ``json``, ``text``."""
    intervals: int
    """Number of intervals written."""
    rows: int
    """Number of rows of other tables than `samples`."""
    seconds: float
    """Total length of the intervals."""
    start_us: int
    """Start of the first interval, microseconds since 1970 UTC."""
    end_us: int
    """End of the last interval, microseconds since 1970 UTC."""
    incidents: tuple[tuple[str, str, int], ...]
    """Kind, detail and count, as in the manifest of the log."""


def _called(name: str) -> Importer:
    """Importer called `name`.

    Raises
    ------
    InputError
        There is no such kind of file; the message names the nearest.
    """
    found = next((item for item in IMPORTERS if item.name == name), None)
    if found is None:
        raise InputError(f"{name}: there is no such kind of file; {offered(name, _names())}")
    return found


def import_file(
    file: str | Path,
    log: str | Path,
    *,
    kind: str | None = None,
    given: Given | None = None,
    force: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Imported:
    """Summary of an import of a file of another tool into a new log.

    From a truncated or damaged file, all readable records are imported; losses are counted among the
    incidents of the log.

    Parameters
    ----------
    file : str or Path
        File, or a folder of files where the kind allows it.
    log : str or Path
        Folder of the new log.
    kind : str, optional
        Name of an importer; by default, the one that recognises the file.
    given : Given, optional
        What the file does not tell.
    force : bool
        Replace a log that already exists. It is removed only when the first interval has been read.
    progress : callable
        Called with the number of intervals so far, after every thousand, or each where it has many rows.

    Raises
    ------
    WorkError
        The disk is full, or the file disappeared while it was read.
    InputError
        The file cannot be read, is of no known kind, or has no interval; or `log` already exists.

    Examples
    --------
    >>> done = import_file("vmstat.txt", "monday", given=Given(cpus=4))
    """
    path, folder = Path(file), Path(log)
    given = given or Given()
    asked = None if kind is None else _called(kind)
    if folder.exists() and not force and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(
            f"{folder} already exists; name another folder with -o, or use --force to replace it"
        )
    reader, form = _recognised(path, asked, given)
    reader.check(given)
    problems = Problems()
    try:
        with ExitStack() as stack:
            source = Source(path=path, form=form, given=given, problems=problems, stack=stack)
            opened = reader.open(source)
            writing = _Writing(path=path, log=folder, force=force, source=reader.name, opened=opened)
            return writing.run(form, problems, progress)
    except OSError as error:
        # A full disk, or a file that disappeared while it was read.
        place = f" ({error.filename})" if error.filename else ""
        raise WorkError(f"{path}: the import failed: {error.strerror or error}{place}") from None


def _names() -> list[str]:
    return [item.name for item in IMPORTERS]


def _recognised(path: Path, asked: Importer | None, given: Given) -> tuple[Importer, str]:
    """Importer of the file, and the form that it recognises."""
    head = head_of(path)
    if asked is None and given.mapping is not None:
        asked = _called("table")
    if head.folder and asked is not None and not asked.folders:
        raise InputError(f"{path}: is a folder; give one file in it, such as {files_of(path)[0]}")
    for magic, command in _COMPRESSED.items():
        if head.data.startswith(magic):
            raise InputError(f"{path}: is compressed; unpack it first: {command} {path}")
    if head.data.startswith(PARQUET) and not _ends_with(path, PARQUET):
        raise InputError(
            f"{path}: is cut off: a Parquet file ends with a description of its columns, which is missing "
            "here; copy it again, or wait until it is written"
        )
    if asked is not None:
        form = asked.detect(head, asked=True)
        if form is not None:
            return asked, form
        others = [item.name for item in IMPORTERS if item.detect(head, asked=False) is not None]
        looks = f"it looks like one of {others[0]}" if others else f"it begins with {head.data[:16]!r}"
        raise InputError(f"{path}: is not a file of {asked.name} ({looks}); give {asked.help}")
    for item in IMPORTERS:
        if head.folder and not item.folders:
            continue
        form = item.detect(head, asked=False)
        if form is not None:
            return item, form
    raise InputError(_unknown(path, head))


def _ends_with(path: Path, end: bytes) -> bool:
    with path.open("rb") as file:
        file.seek(-min(len(end), path.stat().st_size), 2)
        return file.read() == end


def _unknown(path: Path, head: Head) -> str:
    if head.folder:
        folders = ", ".join(item.name for item in IMPORTERS if item.folders)
        return (
            f"{path}: is a folder, and its first file is none of {folders}, of which folders are read; "
            "give one file"
        )
    return (
        f"{path}: is of no kind that is recognised (it begins with {head.data[:16]!r}); say which it is with "
        f"--as KIND: {', '.join(_names())} (`thinktime import --help` says what they are)"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Writing:
    """Import of one opened file."""

    path: Path
    log: Path
    force: bool
    source: str
    opened: Opened

    def run(self, form: str, problems: Problems, progress: Callable[[int], None] | None) -> Imported:
        """Write all intervals; summary of the import."""
        # The Arrow library of the log is slow to load, and not needed to refuse a file of no known kind.
        from thinktime.sources.importers.json_stream import DamagedJsonError
        from thinktime.sources.importers.parts import Parts

        parts = Parts(lambda start_us: self._open(start_us, form), self.opened.columns)
        try:
            for interval in self.opened.intervals:
                if not parts.intervals and interval.samples is not None:
                    machine = _hardware(interval.samples, interval.tables.get("cpus", ()))
                    self.opened.machine.update(machine | self.opened.machine)
                parts.add(interval)
                if progress is not None and (interval.frames or parts.intervals % 1000 == 0):
                    progress(parts.intervals)
        except DamagedJsonError as error:
            problems.add("truncated", str(error))
        except InputError as error:
            # What is found only in the middle of a long file does not cost what was read before it.
            if parts.writer is None:
                raise
            problems.add("truncated", f"{error}; what was read before is kept")
        parts.flush()
        if parts.writer is None or parts.first_us is None:
            raise InputError(f"{self.path}: has no readable interval: {_reason(problems)}")
        with parts.writer as writer:
            writer.end_us = parts.end_us
            # The problems do not know their time; it is between the ends of the recording.
            for what, detail, count in problems:
                writer.incident(what, detail, count=count, span_us=(parts.first_us, parts.end_us))
        return Imported(
            log=self.log,
            kind=self.source,
            form=form,
            intervals=parts.intervals,
            rows=parts.rows,
            seconds=parts.seconds,
            start_us=parts.first_us,
            end_us=parts.end_us,
            incidents=tuple(problems),
        )

    def _open(self, start_us: int, form: str) -> LogWriter:
        from thinktime.log import LogWriter

        mode: Literal["replace", "create"] = "replace" if self.force else "create"
        return LogWriter.open(
            self.log,
            mode,
            source=self.opened.source or self.source,
            machine=self.opened.machine,
            options={"file": self.path.name, "input": form, **self.opened.options},
            start_us=start_us,
        )


def _hardware(samples: Row, cpus: object) -> Row:
    """Description of the machine from its first interval, for a file without a better one."""
    facts = {
        "cpus": len(cpus) if isinstance(cpus, list) else 0,
        "memory_bytes": samples.get("memory_total_bytes"),
        "swap_bytes": samples.get("swap_total_bytes"),
    }
    return {name: value for name, value in facts.items() if value}


def _reason(problems: Problems) -> str:
    for kind in _REASONS:
        detail = problems.first(kind)
        if detail is not None:
            return detail
    return "an interval needs two records of one boot; record for longer"
