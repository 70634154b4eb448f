"""The classes of Typer with the help of the catalogue: what ``--help`` prints, with and without Typer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

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


class MadeGroup(PlainGroup):
    """Group whose commands are made when they are called: all of them would take as long as Typer itself."""

    def names(self) -> list[str]:
        """Names of the commands, in the order of the help."""
        raise NotImplementedError

    def made(self, name: str) -> Callable[..., None]:
        """Function of a command."""
        raise NotImplementedError

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of the commands."""
        del ctx
        return self.names()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Command of that name; None if there is none."""
        del ctx
        if cmd_name not in self.names():
            return None
        alone = typer.Typer(rich_markup_mode=None, add_completion=False)
        alone.command(cmd_name, cls=PlainCommand)(self.made(cmd_name))
        return get_command(alone)
