"""`thinktime check`: the defects of a log."""

from __future__ import annotations

import fcntl
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from thinktime.cli import messages
from thinktime.errors import WorkError

if TYPE_CHECKING:
    from thinktime.log import Defect, Log


def command(
    log: Annotated[Path, typer.Argument(help="Folder of the log.", metavar="LOG")],
    form: Annotated[Literal["text", "json"], typer.Option("--format", help="Output format.")] = "text",
) -> None:
    """List the defects of a log, with file, place and remedy.

    Reads the whole log. Exit status 0 if all rows can be read and obey the laws of their tables, and the
    manifest is as analyses expect it (notes may be printed); 1 if data are lost or wrong.

    Examples:

      thinktime check run

      thinktime check run --format json
    """
    from thinktime.documents.format import count
    from thinktime.log import Log

    opened = Log.open(log)
    defects = [*opened.check(), *_without_end(opened)]
    if form == "json":
        messages.as_json([asdict(defect) for defect in defects])
    else:
        for defect in defects:
            place = " ".join(text for text in (defect.file, defect.place, defect.item) if text)
            messages.line(f"{defect.severity}: {place}: {defect.message}; {defect.remedy}")
        messages.line(f"{log}: tables {', '.join(opened.tables) or 'none'}; {count(len(defects), 'defect')}")
    errors = sum(defect.severity == "error" for defect in defects)
    if errors:
        raise WorkError(f"{log}: {count(errors, 'error')}, listed above")


def _without_end(log: Log) -> list[Defect]:
    """Note on a last session that has no end although no writer holds the log."""
    from thinktime.log import Defect

    sessions = log.manifest["sessions"]
    if not sessions or sessions[-1].get("end_us") is not None or _is_held(Path(log.path) / "lock"):
        return []
    note = Defect(
        severity="note",
        file=str(Path(log.path) / "manifest.json"),
        place=f"session {len(sessions)}",
        item="end_us",
        message="the session has no end, and nobody writes it: its writer was killed, or the disk was full",
        remedy="what was recorded last, and the incidents of that time, may be missing",
    )
    return [note]


def _is_held(lock: Path) -> bool:
    """True if a writer has the log, or nobody can know."""
    try:
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False
