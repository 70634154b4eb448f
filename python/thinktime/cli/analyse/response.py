"""`thinktime analyse response`: how long users waited."""

from __future__ import annotations

from typing import Annotated

import typer

from thinktime.cli.analyse.answering import Form, LogArgument, show

__all__ = ["command"]


def command(
    log: LogArgument,
    form: Form = "text",
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--without",
            metavar="CLASS",
            help="Give the mean without this class too: a heavy command hides the others in the mean of all. "
            "May be given several times.",
        ),
    ] = None,
) -> None:
    """Tell how long users waited, by their number and by class.

    Examples:

      thinktime analyse response run

      thinktime analyse response run --without fortran

      thinktime analyse response run --format json | jq '.tables[0].rows'
    """
    from thinktime.analyses.response import analysis as response
    from thinktime.analyses.response.section import section
    from thinktime.log import Log

    opened = Log.open(log)
    show(section(response.analyse(opened, without=without or ())), form)
