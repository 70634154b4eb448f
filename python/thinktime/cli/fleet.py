"""`thinktime fleet`: many machines by their logs, in one page."""

from __future__ import annotations

from typing import Annotated

import typer

from thinktime.cli import completion, destination
from thinktime.cli.parameters import Threads
from thinktime.cli.progress import counted


def command(
    logs: Annotated[
        list[str],
        typer.Argument(
            metavar="LOGS...",
            help="Folders of logs, folders with logs below them, or patterns in quotes.",
            autocompletion=completion.logs,
        ),
    ],
    output: destination.PageFile = None,
    form: destination.PageForm = None,
    force: destination.PageForce = False,
    level: Annotated[
        float, typer.Option("--level", min=0.5, max=0.999, help="Confidence of the intervals.")
    ] = 0.95,
    threads: Threads = None,
) -> None:
    """Look after many machines: which saturate and when, what requests cost on each model, where is room.

    Each log is reduced to a few numbers for each hour before machines are compared; logs of one host are one
    machine, and logs of all versions of the format go together. Logs that are damaged, too short or in other
    units are named in the answer and left out. Pages and texts have the first 100 machines, --format csv and
    json all of them.

    Examples:

      thinktime fleet /var/log/fleet -o fleet.html

      thinktime fleet 'logs/2026-11-*' --format csv

      thinktime fleet web1 web2 db1 --format json | jq '.findings[].text'
    """
    from thinktime.documents.render import render
    from thinktime.fleets.answer import fleet
    from thinktime.fleets.page import ROWS_MOST, document

    chosen = form or destination.form_of(output)
    destination.check(output, force, chosen)
    with counted("reading") as show:
        found = fleet(*logs, level=level, threads=threads, on_progress=show)
        page = document(found, ROWS_MOST if chosen in ("html", "text") else None)
        text = render(page, chosen, destination.width(output))
    destination.write(output, text)
