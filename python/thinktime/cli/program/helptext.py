"""The help of a command as text: its record in paragraphs and columns, as wide as the terminal."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterator, Sequence

from thinktime.cli.program.catalogue import Command

WIDTHS = (50, 78)
"""Least and greatest width, as Click has them."""
NAMES_WIDTH = 30
"""Longer names stand on a line of their own, as Click has it."""
EXPLANATION_WIDTH = 10
"""Least width of what stands beside a name, as Click has it."""
USAGE_WIDTH = 20
"""Least width of the form of a call beside the name, as Click has it."""
USAGE_INDENT = 11
"""Blanks in front of it on a line of its own, as Click has them."""
_SHELL_WORD = re.compile(r"""(?:[^\s"']|"[^"]*"|'[^']*')+""")
"""A word as a shell reads it: what is quoted is one."""


def columns() -> int:
    """Width of help, which follows the terminal within `WIDTHS`."""
    least, most = WIDTHS
    return max(min(shutil.get_terminal_size().columns - 2, most), least)


def page(one: Command, width: int) -> str:
    """Help of a command; of a group, the examples stand behind its commands.

    Parameters
    ----------
    one : Command
        Its record.
    width : int
        Columns.
    """
    shown = [item for item in one.parameters if not item.hidden]
    lists = {
        "Arguments": [(item.face, item.explanation) for item in shown if item.kind == "argument"],
        "Options": [(item.face, item.explanation) for item in shown if item.kind == "option"],
        "Commands": [(below.path[-1], below.listed) for below in one.commands],
    }
    listed = ["\n".join((f"{title}:", *_listed(rows, width))) for title, rows in lists.items() if rows]
    prose = [_filled(text, width) for text in one.paragraphs]
    examples = ["  Examples:", *(_example(text, width) for text in one.examples)] if one.examples else []
    parts = [prose, listed, examples] if one.commands else [prose, examples, listed]
    return "\n\n".join([_usage(one, width), *(text for part in parts for text in part)]) + "\n"


def _usage(one: Command, width: int) -> str:
    """Form of a call; where the name leaves little room, the words behind it begin on a line of their own."""
    name = f"Usage: {one.name} "
    words = one.usage.removeprefix(one.name).strip()
    if len(name) + USAGE_WIDTH <= width:
        return textwrap.fill(words, width, initial_indent=name, subsequent_indent=" " * len(name))
    indent = " " * USAGE_INDENT
    return "\n".join(
        (name.rstrip(), textwrap.fill(words, width, initial_indent=indent, subsequent_indent=indent))
    )


def _listed(rows: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    """Lines of names with their explanations, in two columns."""
    first = min(max(len(name) for name, _ in rows), NAMES_WIDTH) + 2
    for name, text in rows:
        lines = textwrap.wrap(text, max(width - first - 2, EXPLANATION_WIDTH))
        if len(name) + 2 > first:
            yield f"  {name}"
        elif lines:
            yield f"  {name:<{first}}{lines.pop(0)}"
        for line in lines:
            yield f"  {'':<{first}}{line}"


def _filled(text: str, width: int) -> str:
    """Paragraph whose lines never end within an option."""
    fill = textwrap.TextWrapper(width, break_on_hyphens=False, break_long_words=False)
    fill.initial_indent = fill.subsequent_indent = "  "
    return fill.fill(text)


def _example(text: str, width: int) -> str:
    """Lines of a command that a shell reads as one; the others begin behind a backslash."""
    lines = ["  "]
    for word in _SHELL_WORD.findall(text):
        joint = "" if lines[-1].isspace() else " "
        # Room for the blank and the backslash.
        if joint and len(lines[-1]) + len(word) + 3 > width:
            lines[-1] += " \\"
            lines.append(f"      {word}")
        else:
            lines[-1] += joint + word
    return "\n".join(lines)
