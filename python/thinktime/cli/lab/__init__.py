"""`thinktime lab`: experiments that change this machine while they run, and leave it as it was."""

from __future__ import annotations

import typer

from thinktime.cli.lab import swap
from thinktime.cli.program.plain import PlainCommand, PlainGroup

__all__ = ["command"]

command = typer.Typer(
    cls=PlainGroup,
    help="Run an experiment that changes this machine while it runs, and leaves it as it was.",
    epilog="""\
Examples:

thinktime lab swap --dry-run

sudo thinktime lab swap -o swapping
""",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@command.callback()
def _group() -> None:
    """Keep `swap` a word of its own: with a single command, Typer would leave it out."""


command.command("swap", cls=PlainCommand, short_help="Let processes swap on a device of known speed")(
    swap.command
)
