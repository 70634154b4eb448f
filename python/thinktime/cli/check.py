"""`thinktime check`: the defects of a log."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from thinktime.cli import completion, messages
from thinktime.cli.progress import counted
from thinktime.errors import WorkError

INCIDENTS_MOST = 20
"""Kinds of incident that are listed."""


def command(
    log: Annotated[
        Path, typer.Argument(help="Folder of the log.", metavar="LOG", autocompletion=completion.logs)
    ],
    form: Annotated[Literal["text", "json"], typer.Option("--format", help="Output format.")] = "text",
) -> None:
    """List the defects of a log, with file, place and remedy.

    Reads the whole log. Exit status 0 if all rows can be read and obey the laws of their tables, and the
    manifest is as analyses expect it (notes may be printed); 1 if data are lost or wrong. Incidents are what
    the recorder itself told: gaps, a full disk, samples that could not be written.

    Examples:

      thinktime check run

      thinktime check run --format json
    """
    from thinktime.documents.format import count
    from thinktime.log import Log

    opened = Log.open(log)
    with counted(f"checking {log}"):
        defects = opened.check()
    if form == "json":
        messages.as_json("defects", [asdict(defect) for defect in defects])
    else:
        for defect in defects:
            place = " ".join(text for text in (defect.file, defect.place, defect.item) if text)
            messages.line(f"{defect.severity}: {place}: {defect.message}; {defect.remedy}")
        incidents = opened.manifest["incidents"]
        for incident in incidents[:INCIDENTS_MOST]:
            kind = incident["kind"].replace("_", " ")
            messages.line(f"incident: {kind}, {count(incident['count'], 'time')}: {incident['detail']}")
        if len(incidents) > INCIDENTS_MOST:
            messages.line(
                f"{count(len(incidents) - INCIDENTS_MOST, 'further kind')} of incident: see manifest.json"
            )
        messages.line(f"{log}: tables {', '.join(opened.tables) or 'none'}; {count(len(defects), 'defect')}")
    errors = sum(defect.severity == "error" for defect in defects)
    if errors:
        raise WorkError(f"{log}: {count(errors, 'error')}, listed above")
