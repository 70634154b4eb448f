r"""Lines that commands print: the only place in which text reaches the terminal.

Whatever a line contains (a path, a key of a manifest, a name from a log), it stays one line and shows its
control characters as ``\x1b``. Answers come complete from a renderer, which escapes them itself.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterable
from typing import Any

import typer

from thinktime.escape import escaped


def line(text: str) -> None:
    """Print one line of an answer."""
    typer.echo(escaped(text))


def lines(texts: Iterable[str]) -> None:
    """Print several lines of an answer."""
    for text in texts:
        line(text)


def note(text: str) -> None:
    """Print one line about the work, on standard error."""
    typer.echo(escaped(text), err=True)


def rendered(text: str) -> None:
    """Print an answer that a renderer made, as it is."""
    sys.stdout.write(text)


def as_json(value: Any) -> None:
    """Print `value` as JSON: exact, and in ASCII, so that no character acts on the terminal."""
    typer.echo(json.dumps(value, indent=2))


def status(text: str) -> None:
    """Write `text` over the previous status, on standard error; the terminal must be one."""
    # A closed terminal is no reason to stop the work. The sequence at the end erases the rest of the line.
    with contextlib.suppress(OSError):
        print(f"\r{escaped(text)}\x1b[K", end="", file=sys.stderr, flush=True)
