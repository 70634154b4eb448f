"""`thinktime analyse decomposition`: what the CPU time of an interaction is made of."""

from __future__ import annotations

from typing import Annotated

import typer

from thinktime.cli.analyse.answering import Form, LogsArgument, names, opened, show

__all__ = ["command"]


def command(
    logs: LogsArgument,
    form: Form = "text",
    width: Annotated[
        int | None,
        typer.Option(
            "--width",
            metavar="N",
            min=1,
            help="Numbers of users looked at together; 2 gives 1 to 2, 3 to 4, ...",
        ),
    ] = None,
) -> None:
    """Tell what the CPU time of an interaction is made of.

    Run time and the time for page faults and others, by number of users and by page faults (Sekino 1969):
    of one log whose users vary, or of several, one a number of users.

    Examples:

      thinktime analyse decomposition run

      thinktime analyse decomposition users-4 users-10 users-17

      thinktime analyse decomposition run --format csv > decomposition.csv
    """
    from thinktime.analyses.cpu_per_interaction import analysis as decomposition
    from thinktime.analyses.cpu_per_interaction.section import section

    show(section(decomposition.analyse(opened(logs), names(logs), width=width)), form)
