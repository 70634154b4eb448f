"""`thinktime report`: the whole story of a log in one page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from thinktime.errors import InputError, WorkError

__all__ = ["command"]

Form = Literal["html", "text", "json", "csv"]
SUFFIXES: dict[str, Form] = {".html": "html", ".htm": "html", ".txt": "text", ".json": "json", ".csv": "csv"}


def command(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG...", help="Folders of one or more logs.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="File to write, - for standard output. Its ending chooses the format."
        ),
    ] = None,
    form: Annotated[
        Form | None,
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
    chosen = form or _form(output)
    target = None if output is None or str(output) == "-" else output
    _check(target, force)
    if chosen == "html" and target is None and output is None and sys.stdout.isatty():
        raise InputError("--format html: a page is not for a terminal; give a file with -o report.html")
    text = _rendered(logs, chosen)
    if target is None:
        sys.stdout.write(text)
        return
    _write(target, text)
    typer.echo(f"{target}", err=False)


def _form(output: Path | None) -> Form:
    if output is None or str(output) == "-":
        return "text"
    return SUFFIXES.get(output.suffix.lower(), "html")


def _check(target: Path | None, force: bool) -> None:
    """Refuse before the work, not after it."""
    if target is None:
        return
    if target.is_dir():
        raise InputError(f"{target}: is a folder; give the name of a file with -o")
    if target.exists() and not force:
        raise InputError(f"{target}: is there already; --force writes over it, -o chooses another name")
    if not target.parent.is_dir():
        raise InputError(
            f"{target}: there is no folder {target.parent}; make it, or choose another name with -o"
        )


def _rendered(logs: list[Path], form: Form) -> str:
    from thinktime import reports
    from thinktime.log import Log

    document = reports.build([Log.open(path) for path in logs])
    return reports.render(document, form)


def _write(target: Path, text: str) -> None:
    """Write all or nothing: a report that was cut short would look complete."""
    part = target.with_name(f".{target.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(target)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise WorkError(f"{target}: cannot be written: {error.strerror or error}") from None
