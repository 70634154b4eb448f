"""What the program answers without Typer: help, version, first steps, and what may follow in a shell's line.

Nothing here loads Typer or a command, which take most of the time of a short call. Where more is asked for,
`answered` says so and `application` takes over, with the same records.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from thinktime import __version__
from thinktime.cli import messages
from thinktime.cli.program import catalogue
from thinktime.errors import WorkError

FIRST_STEPS = """\
thinktime measures, explains and predicts interactive multi-user systems.

  thinktime demo                            what it does, shown on this machine in three minutes
  thinktime record -o run --duration 60s    record this machine for a minute
  thinktime report run -o report.html       report on that log, in one page

All commands: thinktime --help; one of them: thinktime help COMMAND.
"""
VERSION = ("-V", "--version")
"""Options that ask for the version."""
HELP = ("-h", "--help")
"""Options that ask for help."""
VARIABLE = f"_{catalogue.PROGRAM.upper()}_COMPLETE"
"""Environment variable with which a shell asks for what may follow."""


def answered(arguments: Sequence[str]) -> int | None:
    """Exit status after an answer to a call; None if Typer is needed.

    Parameters
    ----------
    arguments : sequence of str
        Words behind ``thinktime``.
    """
    if VARIABLE in os.environ:
        # Its own modules are needed by nothing else here.
        from thinktime.cli.program import following

        found = following.answer(os.environ[VARIABLE])
        if found is None:
            return None
        text, status = found
        return _printed(text) or status
    if not arguments:
        return _printed(FIRST_STEPS)
    if len(arguments) == 1 and arguments[0] in VERSION:
        return _printed(f"{version()}\n")
    if arguments[-1] not in HELP:
        return None
    asked = catalogue.program().below(arguments[:-1])
    if asked is None:
        return None
    from thinktime.cli.program.helptext import columns, page

    return _printed(page(asked, columns()))


def version() -> str:
    """Answer to ``--version``."""
    return f"{catalogue.PROGRAM} {__version__}"


def _printed(text: str) -> int:
    """Exit status after printing an answer: 0, or 1 if nobody reads it or it cannot be written."""
    try:
        # As it is: nothing in it comes from outside, and shells read tabs.
        messages.rendered(text)
        messages.flush()
    except BrokenPipeError:
        # As every command ends whose reader has gone.
        return 1
    except WorkError as error:
        messages.failure(f"{catalogue.PROGRAM}: {error}")
        return 1
    return 0
