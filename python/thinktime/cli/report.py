"""`thinktime report`: the answers to all questions about a log, in one page."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thinktime.cli import completion, destination
from thinktime.cli.progress import counted
from thinktime.errors import InputError
from thinktime.notation import plain

if TYPE_CHECKING:
    from thinktime.documents.document import Document


def command(
    logs: Annotated[
        list[Path],
        typer.Argument(metavar="LOG...", help="Folders of one or more logs.", autocompletion=completion.logs),
    ],
    output: destination.PageFile = None,
    form: destination.PageForm = None,
    force: destination.PageForce = False,
    everything: Annotated[
        bool | None,
        typer.Option(
            "--all/--short",
            help="Print all sections as text, or only the cards and findings; by default all, but on a "
            "terminal only these.",
            show_default=False,
        ),
    ] = None,
    accept_driver_load: Annotated[
        bool,
        typer.Option(
            "--accept-driver-load",
            help="Show the response times of a play whose driver was the load all the same.",
        ),
    ] = False,
) -> None:
    """Report on a log: how busy the machine is, what limits it, what each kind of request costs.

    Without -o, the report is printed as text: on a terminal its first screen, with --all the rest. An HTML
    report is a single file that works offline, and the same log gives the same bytes.

    Examples:

      thinktime report run

      thinktime report run -o report.html

      thinktime report monday tuesday -o both.html --force

      thinktime report run --format json | jq '.findings[].text'
    """
    chosen = form or destination.form_of(output)
    destination.check(output, force, chosen)
    is_short = not everything if everything is not None else output is None and sys.stdout.isatty()
    width = destination.width(output)
    text = _rendered(logs, chosen, width, is_short=is_short, accept_driver_load=accept_driver_load)
    destination.write(output, text)


def _rendered(
    logs: list[Path], form: destination.Form, width: int, *, is_short: bool, accept_driver_load: bool
) -> str:
    from thinktime.documents.render import render
    from thinktime.log import Log
    from thinktime.log.border import reading
    from thinktime.reports import report

    for number, path in enumerate(logs):
        if path.resolve() in [other.resolve() for other in logs[:number]]:
            raise InputError(f"{path}: given twice; give each log once")
    opened = [Log.open(path) for path in logs]
    with counted("reading") as show:
        with reading(*opened):
            document = report(*opened, on_progress=show, accept_driver_load=accept_driver_load)
        if form == "text" and is_short:
            return _short(document, logs, width)
        if show is not None:
            # Figures are drawn while the document is rendered.
            show(len(document.sections), total=len(document.sections), stage="writing")
        return render(document, form, width)


def _short(document: Document, logs: list[Path], width: int) -> str:
    """First screen, and the way to the rest."""
    from thinktime.documents.format import count
    from thinktime.documents.render.text import brief

    command_ = shlex.join(["thinktime", "report", *map(str, logs)])
    more = plain(count(len(document.sections), "section"))
    ways = [
        f"{more} with the details, here or as a page:",
        f"  {command_} --all",
        f"  {command_} -o report.html",
    ]
    return brief(document, width) + "\n" + "\n".join(ways) + "\n"
