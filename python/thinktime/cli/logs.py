"""`thinktime logs`: the logs below a folder."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from thinktime.cli import messages
from thinktime.cli.destination import width
from thinktime.errors import InputError

if TYPE_CHECKING:
    from thinktime.documents.document import Section


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A log, described by its manifest and the sizes of its files."""

    path: str
    """Path, as other commands take it."""
    source: str | None = None
    """Source of the last session: linux, terminals, sar, or a simulated system."""
    machine: str | None = None
    """Host name of the machine, or name of the simulated one."""
    start: str | None = None
    """Start of the first session, ISO 8601, UTC; None for simulated time."""
    length_s: float | None = None
    """Sum of the lengths of the sessions that have an end [s]."""
    sessions: int = 0
    """Number of sessions."""
    size_bytes: int = 0
    """Size of all files [bytes]."""
    has_interactions: bool = False
    """True if the log has a table of interactions."""
    has_users: bool = False
    """True if the log has a table of users."""
    is_ended: bool = False
    """True if the last session has an end, and no simulation was interrupted before all were there."""
    error: str | None = None
    """Reason why the manifest cannot be read; None if it can."""


def command(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder that is searched.")] = Path(),
    form: Annotated[Literal["text", "json"], typer.Option("--format", help="Output format.")] = "text",
) -> None:
    """List the logs below a folder: source, machine, start, length, size, and what they can answer.

    Searches the folder and three levels below it; reads manifests and sizes of files, no rows. A log
    whose manifest cannot be read is listed with the reason.

    Examples:

      thinktime logs

      thinktime logs /var/log/thinktime

      thinktime logs --format json | jq -r '.records[] | select(.has_interactions) | .path'
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: is no folder; name one that contains logs")
    from thinktime.log.below import logs_below

    entries = [_entry(path) for path in logs_below(folder)]
    if form == "json":
        messages.as_json("logs", [asdict(entry) for entry in entries])
        return
    if not entries:
        messages.note(f"thinktime: no logs below {folder}; `thinktime record -o run` makes one")
        return
    from thinktime.documents.render import render_section

    messages.rendered(render_section(_section(entries, folder), form, width()))


def _entry(path: Path) -> Entry:
    from thinktime.log import Log
    from thinktime.log.log import LogError

    size = sum(file.lstat().st_size for file in path.rglob("*") if file.is_file())
    try:
        log = Log.open(path)
    except LogError as error:
        return Entry(path=str(path), size_bytes=size, error=str(error))
    sessions: list[dict[str, Any]] = log.manifest["sessions"]
    last: dict[str, Any] = sessions[-1] if sessions else {}
    machine = last.get("machine") or {}
    lengths = [length for length in map(_length_s, sessions) if length is not None]
    return Entry(
        path=str(path),
        source=last.get("source"),
        machine=machine.get("hostname") or machine.get("name"),
        start=_start(sessions[0]) if sessions else None,
        length_s=sum(lengths) if lengths else None,
        sessions=len(sessions),
        size_bytes=size,
        has_interactions="interactions" in log.tables,
        has_users="users" in log.tables,
        is_ended=last.get("end_us") is not None and not log.unfinished,
    )


def _length_s(session: dict[str, Any]) -> float | None:
    start, end = session.get("start_us"), session.get("end_us")
    return (end - start) / 1e6 if isinstance(start, int) and isinstance(end, int) else None


def _start(session: dict[str, Any]) -> str | None:
    """Start of a session; None if it is simulated, and its dates are of no calendar."""
    start = session.get("start_us")
    is_simulated = "parameters" in (session.get("machine") or {})
    if is_simulated or not isinstance(start, int) or not 0 < start < 2**57:
        return None
    return datetime.fromtimestamp(start // 1_000_000, timezone.utc).isoformat()


def _section(entries: list[Entry], folder: Path) -> Section:
    from thinktime.documents import format as shown
    from thinktime.documents.document import Col, Section, Table

    table = Table.of(
        entries,
        Col("log", lambda entry: entry.path),
        Col("source", lambda entry: entry.source or "-"),
        Col("machine", lambda entry: entry.machine or "-"),
        Col("start", _local_start),
        Col("length", lambda entry: "-" if entry.length_s is None else shown.duration(entry.length_s)),
        Col("size", lambda entry: shown.quantity(entry.size_bytes, "byte")),
        Col("with", _contents),
        name="logs",
        caption=f"Logs below {folder}",
    )
    return Section(
        name="logs",
        title="Which logs are here?",
        summary=(shown.count(len(entries), "log"),),
        tables=(table,),
    )


def _local_start(entry: Entry) -> str:
    from thinktime.documents import format as shown

    return "-" if entry.start is None else shown.local_minute(datetime.fromisoformat(entry.start))


def _contents(entry: Entry) -> str:
    if entry.error is not None:
        return "unreadable; see `thinktime check`"
    tables = [("interactions", entry.has_interactions), ("users", entry.has_users)]
    found = [name for name, is_there in tables if is_there]
    return ", ".join([*found, *(() if entry.is_ended else ("no end",))]) or "-"
