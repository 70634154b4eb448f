"""`thinktime analyse experiment`: what each factor of a designed experiment does."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from thinktime.cli.analyse.answering import Form

__all__ = ["command"]


def command(
    runs: Annotated[Path, typer.Argument(metavar="RUNS", help="Folder of runs of a designed experiment.")],
    form: Form = "text",
) -> None:
    """Tell what each factor of an experiment does.

    Examples:

      thinktime analyse experiment scheduling

      thinktime analyse experiment scheduling --format json | jq '.findings'
    """
    from thinktime import reports
    from thinktime.cli.experiment import analysed
    from thinktime.log.runs import Runs

    sys.stdout.write(reports.render(analysed(Runs.open(runs), []), form))
