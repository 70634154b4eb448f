"""`thinktime report`: the whole story of a log in one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thinktime.cli import writing

__all__ = ["command"]


def command(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG...", help="Folders of one or more logs.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="File to write, - for standard output. Its ending chooses the format."
        ),
    ] = None,
    form: Annotated[
        writing.Form | None,
        typer.Option("--format", help="html by default with -o FILE, text without."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over the file if there is one.")] = False,
) -> None:
    """Tell the whole story of a log: what the machine is, how busy, what limits it, what a request costs.

    Without -o, the report is printed as text. An HTML report is one file that works offline: nothing is
    loaded from anywhere, and the same log gives the same bytes.

    Examples:

      thinktime report run

      thinktime report run -o report.html

      thinktime report monday tuesday -o both.html --force

      thinktime report run --format json | jq '.findings[].text'
    """
    chosen = form or writing.form_of(output)
    writing.check(output, force, chosen)
    writing.write(output, _rendered(logs, chosen))


def _rendered(logs: list[Path], form: writing.Form) -> str:
    from thinktime import reports
    from thinktime.documents.render import render
    from thinktime.log import Log

    document = reports.build([Log.open(path) for path in logs])
    return render(document, form)
