"""Files of sar (sysstat) into a log.

Three inputs, told apart by content: the binary file that ``sadc`` writes (read through the installed
``sadf``), the raw text that ``sadf -r`` prints, and the JSON that ``sadf -j`` prints. The first two
hold cumulative counters, of which the log gets exact differences; JSON holds rates rounded to 0.01.

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


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of an import."""

    log: Path
    kind: Kind
    intervals: int
    seconds: float
    """Length of all intervals together."""
    start_us: int
    end_us: int
    incidents: tuple[tuple[str, str, int], ...]
    """Kind, detail and count, as in the log's manifest."""


@dataclass(slots=True)
class _Source:
    """One file, ready to be read: its intervals and what the manifest says about it."""

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
    """Write the intervals of a file of sar into a new log.

    A truncated or damaged file gives the records that can be read; what was lost is counted among the
    log's incidents.

    Parameters
    ----------
    file : str or Path
        Binary file, raw text or JSON.
    log : str or Path
        Folder of the log to make.
    force : bool
        Replace a log that is there. It is removed when the first interval has been read, not before.
    date : datetime.date, optional
        Day of the first record, for a raw text that has times of day only.
    progress : callable
        Called with the number of intervals so far, once for every thousand.

    Raises
    ------
    WorkError
        The disk is full, or the file went away while it was read.
    InputError
        The file cannot be read, is none of sar's, or has no interval; or `log` is there already.
    """
    path, folder = Path(file), Path(log)
    if folder.exists() and not force and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(
            f"{folder}: it is there already; give another folder with -o, or --force to replace it"
        )
    kind = detect(path)
    problems = Problems()
    mode = "replace" if force else "create"
    try:
        with ExitStack() as stack:
            source = _source(path, kind, problems, date, stack)
            return _write(path, kind, folder, mode, source, problems, progress)
    except OSError as error:
        # A full disk, or a file that went away while it was read.
        place = f" ({error.filename})" if error.filename else ""
        raise WorkError(f"{path}: the import failed: {error.strerror or error}{place}") from None


def _source(
    path: Path, kind: Kind, problems: Problems, date: datetime.date | None, stack: ExitStack
) -> _Source:
    options: dict[str, Any] = {"file": path.name, "input": kind}
    if kind == "json":
        text = JsonText(path, problems)
        options |= {"rates_rounded_to": RATE_STEP, "clock": "wall clock, whole seconds"}
        return _Source(text.intervals(), text.machine, options)
    if kind == "binary":
        temporary = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="thinktime-sar-")))
        raw, facts = raw_text(path, temporary, problems)
        options |= _options(facts)
        text_of_file = RawText(raw, problems, facts.hz, facts.long_bits)
        found = text_of_file.index()
        if not found.boots[0].blocks and _version(facts.file_version) > _version(facts.sadf_version):
            raise InputError(
                f"{path}: sysstat {facts.file_version} wrote it, and the sadf installed here, of version "
                f"{facts.sadf_version}, finds no record in it; run a sadf of that version, "
                "`sadf -r -U -O debug FILE -- -A > text`, and import the text"
            )
        machine: dict[str, Any] = facts.machine
    else:
        text_of_file = RawText(path, problems, date=date)
        found = text_of_file.index()
        options |= {"hz": USER_HZ, "hz_source": "assumed: USER_HZ of Linux"}
        machine = {}
    options["clock"] = "uptime, 0.01 s" if found.has_headers else "wall clock, whole seconds"
    return _Source(text_of_file.intervals(found), machine, options)


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
    # The Arrow library behind the log takes a while to load; a file that is none of sar's needs none of it.
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
        raise InputError(f"{path}: it holds no interval that can be read: {_reason(problems)}")
    with parts.writer as writer:
        writer.end_us = parts.end_us
        # When in the recording it was, the problems do not know: somewhere between its two ends.
        for what, detail, count in problems:
            writer.incident(what, detail, count=count, span_us=(parts.first_us, parts.end_us))
    return Imported(
        folder, kind, parts.intervals, parts.seconds, parts.first_us, parts.end_us, tuple(problems)
    )


def _hardware(interval: Interval) -> dict[str, Any]:
    """Say what an interval tells of the machine, for a file that says nothing else."""
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
