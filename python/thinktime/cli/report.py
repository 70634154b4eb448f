"""`thinktime report`: the answers to all questions about a log, in one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thinktime.cli import destination


def command(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG...", help="Folders of one or more logs.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="File to write, or - for standard output; its ending chooses the format."
        ),
    ] = None,
    form: Annotated[
        destination.Form | None,
        typer.Option("--format", help="By the ending of FILE, otherwise text."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Report on a log: how busy the machine is, what limits it, what each kind of request costs.

    Without -o, the report is printed as text. An HTML report is a single file that works offline, and the
    same log gives the same bytes.

    Examples:

      thinktime report run

      thinktime report run -o report.html

      thinktime report monday tuesday -o both.html --force

      thinktime report run --format json | jq '.findings[].text'
    """
    chosen = form or destination.form_of(output)
    destination.check(output, force, chosen)
    destination.write(output, _rendered(logs, chosen, destination.width(output)))


def _rendered(logs: list[Path], form: destination.Form, width: int) -> str:
    from thinktime import reports
    from thinktime.documents.render import render
    from thinktime.log import Log
    from thinktime.log.border import reading

    opened = [Log.open(path) for path in logs]
    # Figures are drawn while the document is rendered.
    with reading(*opened):
        return render(reports.build(opened), form, width)
