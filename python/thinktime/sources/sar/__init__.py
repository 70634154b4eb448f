"""Import of sar (sysstat) files into a log.

Three inputs, recognised by content: the binary file that ``sadc`` writes (read with the installed
``sadf``), the raw text that ``sadf -r`` prints, and the JSON that ``sadf -j`` prints. The first two
hold cumulative counters, so that the log gets exact differences; JSON holds rates rounded to 0.01.

Limitations
-----------
sar records no users, no exact CPU time and no interactions: those columns are null. CPU states are
tick-sampled by the kernel. Device names in a binary file are those of the machine that runs sadf.
"""

from __future__ import annotations

import datetime
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thinktime.errors import InputError, WorkError
from thinktime.sources.sar.detect import Kind, detect
from thinktime.sources.sar.interval import Interval
from thinktime.sources.sar.json_stream import DamagedJsonError
from thinktime.sources.sar.json_text import RATE_STEP, JsonText
from thinktime.sources.sar.problems import Problems
from thinktime.sources.sar.raw import USER_HZ, RawText
from thinktime.sources.sar.sadf import Facts, raw_text

__all__ = ["Imported", "import_sar"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """Summary of an import."""

    log: Path
    """Folder of the log."""
    kind: Kind
    """Kind of the input, by its content."""
    intervals: int
    """Number of intervals written."""
    seconds: float
    """Total length of the intervals."""
    start_us: int
    """Start of the first interval, microseconds since 1970 UTC."""
    end_us: int
    """End of the last interval, microseconds since 1970 UTC."""
    incidents: tuple[tuple[str, str, int], ...]
    """Kind, detail and count, as in the manifest of the log."""


@dataclass(slots=True, kw_only=True)
class _Source:
    """File ready to be read: its intervals, and the description for the manifest."""

    intervals: Iterator[Interval]
    machine: dict[str, Any]
    options: dict[str, Any]


def import_sar(
    file: str | Path,
    log: str | Path,
    *,
    force: bool = False,
    date: datetime.date | None = None,
    progress: Callable[[int], None] | None = None,
) -> Imported:
    """Summary of an import of a sar file into a new log.

    From a truncated or damaged file, all readable records are imported; losses are counted among the
    incidents of the log.

    Parameters
    ----------
    file : str or Path
        Binary file, raw text or JSON.
    log : str or Path
        Folder of the new log.
    force : bool
        Replace a log that already exists. It is removed only when the first interval has been read.
    date : datetime.date, optional
        Day of the first record, for raw text that has only times of day.
    progress : callable
        Called with the number of intervals so far, after every thousand.

    Raises
    ------
    WorkError
        The disk is full, or the file disappeared while it was read.
    InputError
        The file cannot be read, is not a sar file, or has no interval; or `log` already exists.
    """
    path, folder = Path(file), Path(log)
    if folder.exists() and not force and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(
            f"{folder} already exists; name another folder with -o, or use --force to replace it"
        )
    kind = detect(path)
    problems = Problems()
    mode = "replace" if force else "create"
    try:
        with ExitStack() as stack:
            source = _source(path, kind, problems, date, stack)
            return _write(path, kind, folder, mode, source, problems, progress)
    except OSError as error:
        # A full disk, or a file that disappeared while it was read.
        place = f" ({error.filename})" if error.filename else ""
        raise WorkError(f"{path}: the import failed: {error.strerror or error}{place}") from None


def _source(
    path: Path, kind: Kind, problems: Problems, date: datetime.date | None, stack: ExitStack
) -> _Source:
    options: dict[str, Any] = {"file": path.name, "input": kind}
    if kind == "json":
        text = JsonText(path=path, problems=problems)
        options |= {"rates_rounded_to": RATE_STEP, "clock": "wall clock, whole seconds"}
        return _Source(intervals=text.intervals(), machine=text.machine, options=options)
    if kind == "binary":
        temporary = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="thinktime-sar-")))
        raw, facts = raw_text(path, temporary, problems)
        options |= _options(facts)
        text_of_file = RawText(path=raw, problems=problems, hz=facts.hz, long_bits=facts.long_bits)
        index = text_of_file.index()
        if not index.boots[0].blocks and _version(facts.file_version) > _version(facts.sadf_version):
            raise InputError(
                f"{path}: sysstat {facts.file_version} wrote it, and the sadf installed here, of version "
                f"{facts.sadf_version}, finds no record in it; run a sadf of that version, "
                "`sadf -r -U -O debug FILE -- -A > text`, and import the text"
            )
        machine: dict[str, Any] = facts.machine
    else:
        text_of_file = RawText(path=path, problems=problems, date=date)
        index = text_of_file.index()
        options |= {"hz": USER_HZ, "hz_source": "assumed: USER_HZ of Linux"}
        machine = {}
    options["clock"] = "uptime, 0.01 s" if index.has_headers else "wall clock, whole seconds"
    return _Source(intervals=text_of_file.intervals(index), machine=machine, options=options)


def _options(facts: Facts) -> dict[str, Any]:
    return {
        "sysstat_of_file": facts.file_version,
        "sadf": facts.sadf_version,
        "converted": facts.converted,
        "hz": facts.hz,
        "hz_source": "the file's header" if facts.hz_is_known else "assumed: USER_HZ of Linux",
    }


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdecimal())


def _write(
    path: Path,
    kind: Kind,
    folder: Path,
    mode: Any,
    source: _Source,
    problems: Problems,
    progress: Callable[[int], None] | None,
) -> Imported:
    # The Arrow library of the log is slow to load, and not needed to refuse a file that is not of sar.
    from thinktime.log import LogWriter
    from thinktime.sources.sar.parts import Parts

    def open_writer(start_us: int) -> LogWriter:
        return LogWriter.open(
            folder, mode, source="sar", machine=source.machine, options=source.options, start_us=start_us
        )

    parts = Parts(open_writer)
    try:
        for interval in source.intervals:
            if not parts.intervals:
                source.machine.update(_hardware(interval) | source.machine)
            parts.add(interval)
            if progress is not None and parts.intervals % 1000 == 0:
                progress(parts.intervals)
    except DamagedJsonError as error:
        problems.add("truncated", str(error))
    parts.flush()
    if parts.writer is None:
        raise InputError(f"{path}: has no readable interval: {_reason(problems)}")
    with parts.writer as writer:
        writer.end_us = parts.end_us
        # The problems do not know their time; it is between the ends of the recording.
        for what, detail, count in problems:
            writer.incident(what, detail, count=count, span_us=(parts.first_us, parts.end_us))
    return Imported(
        log=folder,
        kind=kind,
        intervals=parts.intervals,
        seconds=parts.seconds,
        start_us=parts.first_us,
        end_us=parts.end_us,
        incidents=tuple(problems),
    )


def _hardware(interval: Interval) -> dict[str, Any]:
    """Description of the machine from an interval, for a file without a better one."""
    facts = {
        "cpus": len(interval.cpus),
        "memory_bytes": interval.samples.get("memory_total_bytes"),
        "swap_bytes": interval.samples.get("swap_total_bytes"),
    }
    return {name: value for name, value in facts.items() if value}


def _reason(problems: Problems) -> str:
    for kind in ("damaged_record", "truncated", "reboot", "interval_dropped", "suspend"):
        detail = problems.first(kind)
        if detail is not None:
            return detail
    return "an interval needs two records of one boot; record for longer, or more activities (sadc -S XALL)"
