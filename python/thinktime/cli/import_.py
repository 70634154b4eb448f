"""`thinktime import`: convert a file of another tool into a log."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from thinktime.cli import messages
from thinktime.cli.progress import counted
from thinktime.errors import InputError

if TYPE_CHECKING:
    from thinktime.sources.sar import Imported


def command(
    source: Annotated[Literal["sar"], typer.Argument(help="Tool that wrote FILE.")],
    file: Annotated[
        Path,
        typer.Argument(help="File to import; for sar: saDD, the text of sadf -r, or the JSON of sadf -j."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the new log.", metavar="LOG")],
    force: Annotated[bool, typer.Option("--force", help="Replace a log that already exists.")] = False,
    date: Annotated[
        str,
        typer.Option(
            "--date",
            metavar="DAY",
            help="Day of the first record (YYYY-MM-DD), for text that has only times of day.",
        ),
    ] = "",
    form: Annotated[Literal["text", "json"], typer.Option("--format", help="Output format.")] = "text",
) -> None:
    """Convert a file of another tool into a log.

    Reads the binary files of sar (sysstat) with the installed sadf; without sadf, the text of
    `sadf -r -U -O debug FILE -- -A` (exact counters) or the JSON of `sadf -j FILE -- -A` (rounded rates).

    Examples:

      thinktime import sar /var/log/sysstat/sa21 -o monday

      thinktime import sar day.json -o monday --force
    """
    from thinktime.sources.sar import import_sar

    del source  # there is one so far, and typer has checked it
    day = _day(date)
    reading = f"reading {file.name}"
    with counted(reading) as show:

        def progress(intervals: int) -> None:
            if show is not None:
                show(intervals, stage=f"{reading}: {intervals} intervals")

        done = import_sar(file, output, force=force, date=day, progress=progress)
    if form == "json":
        messages.as_json("import", _facts(done))
    else:
        messages.lines(_lines(done))


def _day(text: str) -> datetime.date | None:
    if not text:
        return None
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise InputError(f"--date {text}: give a day such as 2026-11-21") from None


def _time(microseconds: int) -> str:
    moment = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(
        microseconds=microseconds
    )
    return moment.isoformat(sep=" ", timespec="seconds").replace("+00:00", " UTC")


def _lines(done: Imported) -> list[str]:
    intervals = f"{done.intervals} interval{'' if done.intervals == 1 else 's'}"
    lines = [
        f"{done.log}: {intervals}, {done.seconds:.0f} s in all, "
        f"{_time(done.start_us)} to {_time(done.end_us)}, from {done.kind} input"
    ]
    lines += [
        f"  {kind}: {detail}" + (f" ({count} times)" if count > 1 else "")
        for kind, detail, count in done.incidents
    ]
    return [*lines, f"Next: thinktime report {done.log} -o report.html"]


def _facts(done: Imported) -> dict[str, Any]:
    return {
        "log": str(done.log),
        "input": done.kind,
        "intervals": done.intervals,
        "seconds": done.seconds,
        "start": _time(done.start_us),
        "end": _time(done.end_us),
        "incidents": [
            {"kind": kind, "detail": detail, "count": count} for kind, detail, count in done.incidents
        ],
    }
