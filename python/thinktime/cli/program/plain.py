"""The classes of Typer with the help of the catalogue: what ``--help`` prints, and how its lines break."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup

from thinktime.cli.program.catalogue import parameter, usage_of
from thinktime.cli.program.front import in_paragraphs


def usage_pieces(command: Any, context: Any) -> list[str]:
    """Words of a command's usage behind its name: Typer's own has brackets within brackets."""
    parameters = [parameter(item, context) for item in command.get_params(context)]
    is_group = hasattr(command, "list_commands")
    return usage_of("", parameters, is_group=is_group).split()


_Context: Any = TyperCommand.context_class


class _Formatter(_Context.formatter_class):  # type: ignore[misc]
    """Help in paragraphs, whose lines never end within an option."""

    def write_text(self, text: str) -> None:
        """Write paragraphs; an example that is longer than a line goes on behind a backslash."""
        self.write(in_paragraphs(text, self.width, " " * self.current_indent) + "\n")


class _HelpContext(_Context):  # type: ignore[misc]
    formatter_class = _Formatter


class PlainGroup(TyperGroup):
    """Group whose help keeps options and examples whole."""

    context_class = _HelpContext


class PlainCommand(TyperCommand):
    """Command whose help has the usage, the arguments and the options of its record."""

    context_class = _HelpContext

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Words behind the name."""
        return usage_pieces(self, ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options as the manual has them: Typer names the types of the program."""
        shown = [item for one in self.get_params(ctx) if not (item := parameter(one, ctx)).hidden]
        for kind, title in (("argument", "Arguments"), ("option", "Options")):
            rows = [(item.face, item.explanation) for item in shown if item.kind == kind]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)
