"""`thinktime import`: convert a file of another tool into a log."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from thinktime.cli import messages
from thinktime.cli.progress import counted
from thinktime.errors import InputError, offered
from thinktime.sources.importers import IMPORTERS

if TYPE_CHECKING:
    from thinktime.sources.importers import Given, Imported

KINDS = [item.name for item in IMPORTERS]


Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILE",
        help="File to import, or a folder of scrapes; before it, its kind, if its content does not tell.",
    ),
]
LogFolder = Annotated[
    Path | None, typer.Option("--output", "-o", help="Folder of the new log.", metavar="LOG")
]
Kind = Annotated[
    str, typer.Option("--as", metavar="KIND", help="Kind of the file, instead of what its content tells.")
]
Day = Annotated[
    str,
    typer.Option(
        "--date",
        metavar="DAY",
        help="Day of the first record (YYYY-MM-DD, or with THH:MM:SS), for text that has only times of "
        "day, or none.",
    ),
]
Interval = Annotated[
    str,
    typer.Option(
        "--interval",
        metavar="TIME",
        help="Time between two reports, as in 10s, of text without times; length of the intervals of logins.",
    ),
]
Zone = Annotated[
    str,
    typer.Option(
        "--timezone", metavar="ZONE", help="Zone of times without one, as in Europe/Berlin; by default, UTC."
    ),
]
Cpus = Annotated[
    int | None,
    typer.Option("--cpus", metavar="N", min=1, max=100_000, help="CPUs of the machine, for text of vmstat."),
]
Mapping = Annotated[
    Path | None, typer.Option("--mapping", metavar="FILE", help="What each column of a table is, in TOML.")
]
Example = Annotated[
    bool, typer.Option("--example-mapping", help="Print a mapping with every key, and import nothing.")
]


def command(
    words: Words = None,
    output: LogFolder = None,
    kind: Kind = "",
    force: Annotated[bool, typer.Option("--force", help="Replace a log that already exists.")] = False,
    date: Day = "",
    interval: Interval = "",
    timezone: Zone = "",
    cpus: Cpus = None,
    mapping: Mapping = None,
    example_mapping: Example = False,
    form: Annotated[Literal["text", "json"], typer.Option("--format", help="Output format.")] = "text",
) -> None:
    """Convert a file of another tool into a log."""
    from thinktime.sources.importers import import_file

    if example_mapping:
        from thinktime.sources.importers.table import EXAMPLE

        messages.lines(EXAMPLE.rstrip("\n").splitlines())
        return
    named, file = _named(words or [], kind)
    if output is None:
        raise InputError("--output: is missing; name the folder of the new log, as in -o monday")
    given = _given(date=date, interval=interval, timezone=timezone, cpus=cpus, mapping=mapping)
    reading = f"reading {file.name}"
    with counted(reading) as show:

        def progress(intervals: int) -> None:
            if show is not None:
                show(intervals, stage=f"{reading}: {intervals} intervals")

        done = import_file(file, output, kind=named, given=given, force=force, progress=progress)
    if form == "json":
        messages.as_json("import", _facts(done))
    else:
        messages.lines(_lines(done))


_KINDS = "\n\n    ".join(f"{item.name}: {item.help}." for item in IMPORTERS)
command.__doc__ = f"""Convert a file of another tool into a log.

    The kind of FILE is recognised from its content; a word before it, or --as, says it instead. There are:

    {_KINDS}

    What the tool does not record is null, and every loss is printed and kept in the log.

    Examples:

      thinktime import /var/log/sysstat/sa21 -o monday

      thinktime import vmstat.txt --cpus 4 -o monday

      thinktime import prometheus scrapes -o monday

      thinktime import /var/log/wtmp --interval 1h -o logins

      thinktime import perf.data -o trace

      thinktime import data.csv --mapping map.toml -o monday
    """


def _named(words: list[str], kind: str) -> tuple[str | None, Path]:
    """Kind, if it is said, and file."""
    if not words or (len(words) == 1 and words[0] in KINDS and not Path(words[0]).exists()):
        raise InputError(f"FILE: is missing; give a file of one of these kinds: {', '.join(KINDS)}")
    if len(words) > 2:
        raise InputError(f"{words[2]}: is one argument too many; give [KIND] FILE")
    said = words[0] if len(words) == 2 else kind
    if len(words) == 2 and kind and kind != words[0]:
        raise InputError(f"--as {kind}: the file is said to be of {words[0]} too; give one kind")
    if said and said not in KINDS:
        raise InputError(f"{said}: there is no such kind of file; {offered(said, KINDS)}")
    return said or None, Path(words[-1])


def _given(*, date: str, interval: str, timezone: str, cpus: int | None, mapping: Path | None) -> Given:
    from thinktime.quantity import parse_seconds
    from thinktime.sources.importers import Given

    seconds = None
    if interval:
        seconds = parse_seconds(interval, "--interval")
        if not 1e-3 <= seconds <= 1e9:
            raise InputError(f"--interval {interval}: give a time from 1ms to 30 years")
    return Given(date=_day(date), interval=seconds, timezone=_zone(timezone), cpus=cpus, mapping=mapping)


def _zone(name: str) -> datetime.tzinfo | None:
    if not name:
        return None
    from thinktime.sources.importers.importer import zone_of

    zone = zone_of(name)
    if zone is None:
        raise InputError(f"--timezone {name}: there is no such zone; give one such as Europe/Berlin")
    return zone


def _day(text: str) -> datetime.date | None:
    if not text:
        return None
    try:
        try:
            return datetime.date.fromisoformat(text)
        except ValueError:
            moment = datetime.datetime.fromisoformat(text)
            moment.timestamp()
            return moment
    except (ValueError, OverflowError, OSError):
        raise InputError(f"--date {text}: give a day such as 2026-11-21, or 2026-11-21T08:00:00") from None


def _time(microseconds: int) -> str:
    moment = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(
        microseconds=microseconds
    )
    return moment.isoformat(sep=" ", timespec="seconds").replace("+00:00", " UTC")


def _lines(done: Imported) -> list[str]:
    intervals = f"{done.intervals} interval{'' if done.intervals == 1 else 's'}, {done.seconds:.0f} s in all"
    if not done.intervals:
        intervals = f"{done.rows} row{'' if done.rows == 1 else 's'}"
    lines = [
        f"{done.log}: {intervals}, {_time(done.start_us)} to {_time(done.end_us)}, from {done.kind} "
        f"({done.form})"
    ]
    lines += [
        f"  {kind}: {detail}" + (f" ({count} times)" if count > 1 else "")
        for kind, detail, count in done.incidents
    ]
    return [*lines, f"Next: thinktime report {done.log} -o report.html"]


def _facts(done: Imported) -> dict[str, Any]:
    return {
        "log": str(done.log),
        "tool": done.kind,
        "input": done.form,
        "intervals": done.intervals,
        "rows": done.rows,
        "seconds": done.seconds,
        "start": _time(done.start_us),
        "end": _time(done.end_us),
        "incidents": [
            {"kind": kind, "detail": detail, "count": count} for kind, detail, count in done.incidents
        ],
    }
