"""`thinktime doctor`: what this machine can measure."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import typer

__all__ = ["command"]


def command(
    form: Annotated[
        Literal["text", "json"], typer.Option("--format", help="How the findings are printed.")
    ] = "text",
) -> None:
    """Say what this machine can measure, what is sampled or always zero here, and what a sample costs.

    Nothing is taken from versions or configuration: every source is read, and a load of known size is run
    in step with the kernel's tick to see what becomes of it. Takes about two seconds. Run it as the user
    that is to record; as root it shows what root would add.

    Examples:

      thinktime doctor

      sudo thinktime doctor

      thinktime doctor --format json
    """
    from thinktime.sources.linux import examine

    found = examine()
    typer.echo(json.dumps(found.facts, indent=2) if form == "json" else found.text)
