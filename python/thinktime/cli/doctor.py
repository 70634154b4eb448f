"""`thinktime doctor`: list the counters that this machine can measure."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer

from thinktime.cli import messages


def command(
    form: Annotated[Literal["text", "json"], typer.Option("--format", help="Output format.")] = "text",
) -> None:
    """List the counters that this machine measures, samples or always shows as zero, and a sample's cost.

    Does not rely on versions or configuration: reads every source, and runs a load of known size in step with
    the kernel's tick to see how much of it is counted. Takes about two seconds. Run it as the user that will
    record; run as root, it shows the additional counters.

    Examples:

      thinktime doctor

      sudo thinktime doctor

      thinktime doctor --format json
    """
    from thinktime.sources.linux import examine

    # A bar that moves would be one more load on the machine that is examined.
    if sys.stderr.isatty():
        messages.status("examining this machine, for about two seconds")
    examination = examine()
    if sys.stderr.isatty():
        messages.status("")
    if form == "json":
        messages.as_json("examination", examination.facts)
    else:
        messages.lines(examination.text.split("\n"))
