"""The classes of Typer with the help of the catalogue: what ``--help`` prints, with and without Typer."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup

from thinktime.cli.program.catalogue import program
from thinktime.cli.program.helptext import page


def _page(context: Any, width: int) -> str:
    """Help of the command of a context."""
    words = context.command_path.split()[1:]
    one = program().below(words)
    assert one is not None, f"{' '.join(words)}: `make golden` writes the table of commands"
    return page(one, width)


class PlainGroup(TyperGroup):
    """Group whose help is that of its record."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the page that is printed without Typer, too."""
        formatter.write(_page(ctx, formatter.width))


class PlainCommand(TyperCommand):
    """Command whose help is that of its record."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the page that is printed without Typer, too."""
        formatter.write(_page(ctx, formatter.width))
