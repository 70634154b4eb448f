"""`thinktime man`: manual pages, generated from the commands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from thinktime import __version__
from thinktime.cli import messages
from thinktime.cli.program.catalogue import Command, Parameter, program
from thinktime.errors import InputError, WorkError, offered

ENVIRONMENT = (
    ("THINKTIME_CONFIG", "Configuration file to read instead of the usual ones; empty for none."),
    (
        "XDG_CONFIG_HOME, XDG_CONFIG_DIRS",
        "Folders with thinktime/config.toml, the user's (by default ~/.config) and the system's (/etc/xdg).",
    ),
    ("COLUMNS", "Width of text on standard output, from 80 to 160; by default that of the terminal."),
    ("NO_COLOR", "If set, progress is shown without colours."),
    ("TMPDIR", "Folder of the scratch files of `thinktime play`."),
)
"""Environment variables that commands read, with their meaning."""

STATUS = (
    ("0", "Done; also where a log cannot answer a question, and the reason is the answer."),
    ("1", "The work failed, or `thinktime check` found an error."),
    ("2", "Bad usage or bad input: one line on standard error names the item and the remedy."),
    ("130, 143", "Ended by Ctrl-C or SIGTERM; what is kept is said on standard error."),
)
"""Exit statuses, with their meaning."""


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[COMMAND...]", help="Words of the command; without them, the program."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Write the pages of all commands into DIR."),
    ] = None,
) -> None:
    """Print the manual page of a command, or write those of all commands.

    The pages are generated from the commands themselves, so that they agree with --help.

    Examples:

      thinktime man report | man -l -

      thinktime man -o ~/.local/share/man/man1
    """
    whole = program()
    if output is None:
        messages.rendered(page(_found(whole, names or [])))
        return
    if names:
        raise InputError(f"-o {output}: writes the pages of all commands; leave out {' '.join(names)}")
    try:
        output.mkdir(parents=True, exist_ok=True)
        for one in whole.walk():
            (output / file_name(one)).write_text(page(one), encoding="utf-8")
    except OSError as error:
        raise WorkError(f"{output}: cannot be written: {error.strerror or error}") from None
    messages.line(f"{output}")


def _found(whole: Command, words: Sequence[str]) -> Command:
    for number, word in enumerate(words):
        below = {one.path[-1]: one for one in whole.commands}
        if word not in below:
            raise InputError(
                f"{' '.join(words[: number + 1])}: there is no such command; {offered(word, below)}"
            )
        whole = below[word]
    return whole


def file_name(one: Command) -> str:
    """Name of the file of a page: ``thinktime-analyse-overhead.1``."""
    return f"{one.name.replace(' ', '-')}.1"


def page(one: Command) -> str:
    """Manual page of a command, in the macros of man(7)."""
    return "\n".join(_lines(one)) + "\n"


def _lines(one: Command) -> Iterator[str]:
    title = one.name.replace(" ", "-")
    yield f'.TH "{_text(title.upper())}" "1" "" "thinktime {__version__}" "thinktime"'
    yield ".SH NAME"
    yield f"{_text(title)} \\- {_text(one.summary[0].lower() + one.summary[1:])}"
    yield ".SH SYNOPSIS"
    yield f"\\fB{_text(one.name)}\\fR{_text(one.usage.removeprefix(one.name))}"
    yield ".SH DESCRIPTION"
    for paragraph in one.paragraphs:
        yield from (".PP", _text(paragraph))
    arguments = [item for item in one.parameters if item.kind == "argument"]
    for heading, items in (("ARGUMENTS", arguments), ("OPTIONS", one.options)):
        shown = [item for item in items if not item.hidden]
        if shown:
            yield f".SH {heading}"
        for item in shown:
            yield from (".TP", _heading(item), _text(_explained(item)))
    if one.commands:
        yield ".SH COMMANDS"
        for below in one.commands:
            yield from (".TP", f"\\fB{_text(' '.join(below.path))}\\fR", _text(f"{below.summary}."))
    if one.examples:
        yield ".SH EXAMPLES"
    for example in one.examples:
        yield from (".PP", ".nf", _text(example), ".fi")
    yield from _common(one)


def _common(one: Command) -> Iterator[str]:
    """Sections that every page has, in full on that of the program."""
    if one.path:
        parents = [one.path[:length] for length in range(len(one.path))]
        yield ".SH SEE ALSO"
        yield ", ".join(f"\\fB{_text('-'.join(('thinktime', *path)))}\\fR(1)" for path in parents)
        return
    for heading, entries in (("EXIT STATUS", STATUS), ("ENVIRONMENT", ENVIRONMENT)):
        yield f".SH {heading}"
        for name, text in entries:
            yield from (".TP", f"\\fB{_text(name)}\\fR", _text(text))
    yield ".SH FILES"
    yield from (".TP", "\\fI~/.config/thinktime/config.toml\\fR")
    yield _text("Defaults of options; `thinktime config` shows and explains them.")
    yield ".SH SEE ALSO"
    yield ", ".join(f"\\fB{_text('-'.join(('thinktime', *below.path)))}\\fR(1)" for below in one.commands)


def _heading(item: Parameter) -> str:
    if item.kind == "argument":
        return f"\\fI{_text(item.metavar)}\\fR"
    names = ", ".join(f"\\fB{_text(text)}\\fR" for text in (*item.spellings, *item.opposites))
    return f"{names} \\fI{_text(item.metavar)}\\fR" if item.metavar else names


def _explained(item: Parameter) -> str:
    extra = [f"By default, {item.default}."] if item.default and not item.flag else []
    return " ".join([item.help, *extra])


def _text(text: str) -> str:
    """Text without meaning to roff: no request at its start, hyphens that can be copied."""
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", plain)
