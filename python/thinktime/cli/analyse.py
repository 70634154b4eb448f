"""`thinktime analyse`: one question about a log."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

__all__ = ["command"]


def command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="rates, throughput, response, service, overhead, saturation or capacity.",
        ),
    ],
    log: Annotated[Path, typer.Argument(metavar="LOG", help="Folder of a log.")],
    form: Annotated[
        Literal["text", "json", "csv"],
        typer.Option("--format", help="How to print the figures; json and csv are unrounded, in SI units."),
    ] = "text",
) -> None:
    """Answer one question about a log, with intervals, numbers of observations and caveats.

    An analysis that does not apply to the log says why; that is an answer, and the exit status is 0.

    Examples:

      thinktime analyse overhead run

      thinktime analyse throughput run --format csv > throughput.csv

      thinktime analyse response run --format json | jq '.tables[0].rows'
    """
    from thinktime import reports
    from thinktime.log import Log

    section = reports.answer(name, Log.open(log))
    sys.stdout.write(reports.render_section(section, form))
