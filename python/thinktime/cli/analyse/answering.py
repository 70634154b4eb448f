"""What the analyses' commands have in common: their arguments, and how an answer is printed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

if TYPE_CHECKING:
    from thinktime.documents.document import Section
    from thinktime.log import Log

__all__ = ["Form", "LogArgument", "LogsArgument", "names", "opened", "show"]

LogArgument: TypeAlias = Annotated[Path, typer.Argument(metavar="LOG", help="Folder of a log.")]
LogsArgument: TypeAlias = Annotated[
    list[Path], typer.Argument(metavar="LOG...", help="Folders of logs; several are compared.")
]
Form: TypeAlias = Annotated[
    Literal["text", "json", "csv"],
    typer.Option("--format", help="How to print the figures; json and csv are unrounded, in SI units."),
]


def opened(paths: Sequence[Path]) -> tuple[Log, ...]:
    """Open the logs, none of them twice.

    Raises
    ------
    InputError
        A log is given twice: compared with itself it would agree too well.
    LogError
        One of them is no log.
    """
    from thinktime.errors import InputError
    from thinktime.log import Log

    seen: set[Path] = set()
    for path in paths:
        if (whole := path.resolve()) in seen:
            raise InputError(f"{path}: is given twice; give each log once")
        seen.add(whole)
    return tuple(Log.open(path) for path in paths)


def names(paths: Sequence[Path]) -> tuple[str, ...]:
    """Name each log by its folder; by its whole path where two folders are called the same."""
    from thinktime.reports import log_names

    return log_names(paths)


def show(section: Section, form: Literal["text", "json", "csv"]) -> None:
    """Print the answer."""
    from thinktime import reports

    sys.stdout.write(reports.render_section(section, form))
