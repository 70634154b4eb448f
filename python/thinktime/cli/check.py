"""``thinktime check``."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from thinktime.errors import WorkError


def command(
    log: Annotated[Path, typer.Argument(help="Folder of the log.", metavar="LOG")],
    format: Annotated[Literal["text", "json"], typer.Option(help="How to print.")] = "text",  # noqa: A002
) -> None:
    """Say what is wrong with a log, and where.

    Reads everything. Exit status 0 when all rows can be read and obey the laws of their tables
    (notes may be printed), 1 when something is lost or wrong.

    Examples:

        thinktime check run

        thinktime check run --format json
    """
    from thinktime.log import Log

    opened = Log.open(log)
    findings = opened.check()
    if format == "json":
        typer.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        for finding in findings:
            where = " ".join(part for part in (finding.file, finding.place, finding.item) if part)
            typer.echo(f"{finding.severity}: {where}: {finding.message}; {finding.remedy}")
        typer.echo(f"{log}: tables {', '.join(opened.tables) or 'none'}; {len(findings)} findings")
    if any(finding.severity == "error" for finding in findings):
        raise WorkError(f"{log}: parts of the log are lost or wrong (see above)")
