"""Output of commands: a file, written completely or not at all, or standard output."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from thinktime.cli import messages
from thinktime.documents import render
from thinktime.errors import InputError, WorkError

if TYPE_CHECKING:
    from thinktime.documents.document import Document, Section

Form = render.Form
# Options of commands that write a page, and of those that write the answer to one question.
PageFile = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="File to write, or - for standard output; its ending chooses the format.",
    ),
]
PageForm = Annotated[Form | None, typer.Option("--format", help="By the ending of FILE, otherwise text.")]
PageForce = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]
AnswerFile = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write to FILE; its ending chooses the format."),
]
AnswerForm = Annotated[
    Form | None,
    typer.Option(
        "--format", help="By the ending of FILE, otherwise text; json and csv are unrounded, in SI units."
    ),
]
AnswerForce = Annotated[bool, typer.Option("--force", help="Overwrite FILE if it exists.")]
SectionForm = Literal["text", "json", "csv"]
"""Format of a section: only documents become pages."""
WIDTHS = (40, 200)
"""Least and greatest width of text: no table fits less than the one, nobody reads more than the other."""
SUFFIXES: dict[str, Form] = {".html": "html", ".htm": "html", ".txt": "text", ".json": "json", ".csv": "csv"}


def form_of(output: Path | None) -> Form:
    """Format by the ending of a file's name; text for standard output, a page for a device or a pipe.

    Raises
    ------
    InputError
        The ending is none of `SUFFIXES`: a page in a file called .pdf would look like a broken PDF.
    """
    target = _target(output)
    if target is None:
        return "text"
    if os.path.isdir(target) or is_special(target):
        return "html"
    ending = target.suffix.lower()
    if ending not in SUFFIXES:
        was = f"ends in {ending}, which is not a known format" if ending else "has no ending"
        raise InputError(f"-o {target}: {was}; give one of {', '.join(SUFFIXES)}, or --format")
    return SUFFIXES[ending]


def width(output: Path | None = None) -> int:
    """Columns of text: as COLUMNS says, or those of the terminal; a file has the same wherever it is made."""
    if _target(output) is not None:
        return render.WIDTH
    asked = os.environ.get("COLUMNS", "")
    columns = int(asked) if asked.isdecimal() else 0
    if not columns and sys.stdout.isatty():
        columns = os.get_terminal_size(sys.stdout.fileno()).columns
    return min(max(columns, WIDTHS[0]), WIDTHS[1]) if columns else render.WIDTH


def check(output: Path | None, force: bool, form: Form) -> None:
    """Refuse an output that cannot be written, before the work rather than after it.

    Raises
    ------
    InputError
        The file exists and `force` is not given, its folder does not exist, or a page would go to a terminal.
    """
    if form == "html" and output is None and sys.stdout.isatty():
        raise InputError("--format html: cannot be shown on a terminal; give a file with -o report.html")
    target = _target(output)
    if target is not None:
        check_file(target, force)


def check_file(target: Path, force: bool) -> None:
    """Refuse a file that cannot be written, or that exists where `force` is not given.

    Raises
    ------
    InputError
        It cannot be written, with the reason.
    """
    if os.path.isdir(target):
        raise InputError(f"{target}: is a folder; give the name of a file with -o")
    if os.path.exists(target) and not is_special(target) and not force:
        raise InputError(
            f"{target}: already exists; use --force to overwrite it, or choose another name with -o"
        )
    if not os.path.isdir(target.parent):
        raise InputError(
            f"{target}: the folder {target.parent} does not exist; create it, or choose another name with -o"
        )
    if not is_special(target) and not os.access(target.parent, os.W_OK | os.X_OK):
        raise InputError(f"{target}: you may not write into {target.parent}; choose another name with -o")


def rendered(answer: Section | Document, form: Form, width: int) -> str:
    """Text of an answer; a page must be a document."""
    from thinktime.documents.document import Document

    if isinstance(answer, Document):
        return render.render(answer, form, width)
    if form == "html":
        raise TypeError("a page is made of a document, not of a section")
    return render.render_section(answer, form, width)


def write(output: Path | None, text: str, *, announced: bool = True) -> None:
    """Write the text to the output, completely or not at all: a truncated report would look complete.

    Raises
    ------
    WorkError
        The file cannot be written.
    """
    target = _target(output)
    if target is None:
        messages.rendered(text)
        return
    part = target if is_special(target) else target.with_name(f".{target.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        if part != target:
            part.replace(target)
    except OSError as error:
        if part != target:
            part.unlink(missing_ok=True)
        raise WorkError(f"{target}: cannot be written: {error.strerror or error}") from None
    if announced:
        messages.line(f"{target}")


def is_special(target: Path) -> bool:
    """True for a device, a pipe or ``-``, which is written to and never replaced by a file."""
    return str(target) == "-" or (
        os.path.exists(target) and not os.path.isfile(target) and not os.path.isdir(target)
    )


def _target(output: Path | None) -> Path | None:
    return None if output is None or str(output) == "-" else output
