"""The command line: one file per command, loaded when that command is called.

Exit status: 0 done, 1 the work failed, 2 bad usage or bad input, 130 interrupted.
"""

from __future__ import annotations

import errno
import importlib
import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from thinktime import __version__
from thinktime.cli import messages
from thinktime.errors import InputError, WorkError

__all__ = ["COMMANDS", "main", "run"]

COMMANDS: dict[str, str] = {
    "record": "thinktime.cli.record",
    "play": "thinktime.cli.play",
    "simulate": "thinktime.cli.simulate",
    "predict": "thinktime.cli.predict",
    "size": "thinktime.cli.size",
    "experiment": "thinktime.cli.experiment",
    "systems": "thinktime.cli.systems",
    "scripts": "thinktime.cli.scripts",
    "report": "thinktime.cli.report",
    "analyse": "thinktime.cli.analyse",
    "import": "thinktime.cli.import_",
    "study": "thinktime.cli.study",
    "logs": "thinktime.cli.logs",
    "check": "thinktime.cli.check",
    "doctor": "thinktime.cli.doctor",
    "demo": "thinktime.cli.demo",
}
"""Name of each command, and the module that defines it as ``command``: a function, or a group of
functions."""

INTERRUPTED = 130
"""Status of a command that Ctrl-C ended: 128 and the number of SIGINT, as shells have it."""

_UsageError: Any = typer.BadParameter.__bases__[0]
"""Wrong usage: Click's own class, or, in newer versions, Typer's copy of it."""

EPILOG = """\
Examples:

thinktime demo

thinktime record -o run --duration 60s

thinktime report run -o report.html
"""


FIRST_STEPS = """\
thinktime measures, explains and predicts interactive multi-user systems.

  thinktime demo                            what it does, shown on this machine in three minutes
  thinktime record -o run --duration 60s    record this machine for a minute
  thinktime report run -o report.html       report on that log, in one page

All commands: thinktime --help; one of them: thinktime help COMMAND.
"""


def application(arguments: Sequence[str] = ()) -> typer.Typer:
    """Application with all commands, or only with the one that the arguments call."""
    app = typer.Typer(
        help="Measure, explain and predict interactive multi-user systems.",
        epilog=EPILOG,
        add_completion=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )

    # With a callback the application is a group even when one command alone is registered.
    @app.callback(invoke_without_command=True)
    def root(
        context: typer.Context,
        version: Annotated[bool, typer.Option("-V", "--version", help="Print the version and exit.")] = False,
        quiet: Annotated[
            bool, typer.Option("-q", "--quiet", help="Print answers and errors, no notes and no progress.")
        ] = False,
    ) -> None:
        messages.set_quiet(quiet)
        if version:
            messages.line(f"thinktime {__version__}")
            raise typer.Exit
        if context.invoked_subcommand is None:
            messages.lines(FIRST_STEPS.splitlines())

    # Only the command that is called is loaded; for `--help` and for a misspelt name, all are.
    called = [name for name in _words(arguments)[:1] if name in COMMANDS]
    for name in called or COMMANDS:
        command = importlib.import_module(COMMANDS[name]).command
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name, short_help=_short(command))(command)
    return app


def _words(arguments: Sequence[str]) -> list[str]:
    """Arguments from the first on that is no option of all commands."""
    first = next((at for at, text in enumerate(arguments) if not text.startswith("-")), len(arguments))
    return list(arguments[first:])


def _asked(arguments: Sequence[str]) -> list[str]:
    """Arguments, with ``help COMMAND...`` in its other form, ``COMMAND... --help``."""
    words = _words(arguments)
    return [*words[1:], "--help"] if words[:1] == ["help"] else list(arguments)


def _short(command: Callable[..., None]) -> str:
    """First words of a command's docstring, up to the details."""
    return re.split(r"[:.,]", command.__doc__ or "", maxsplit=1)[0].strip()


def run(arguments: Sequence[str]) -> int:
    """Exit status of the command that the arguments name: 0 done, 1 failed, 2 bad usage, 130 interrupted."""
    asked = _asked(arguments)
    try:
        status: int | None = application(asked)(asked, prog_name="thinktime", standalone_mode=False)
        messages.flush()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except _UsageError as error:
        text = io.StringIO()
        error.show(text)
        for line in text.getvalue().expandtabs().removesuffix("\n").split("\n"):
            messages.failure(line)
        return int(error.exit_code)
    except InputError as error:
        messages.failure(f"thinktime: {error}")
        return 2
    except (WorkError, typer.Abort) as error:
        messages.failure(f"thinktime: {error or 'aborted'}")
        return 1
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        # Help is printed by Typer itself, not by a command.
        messages.failure(f"thinktime: standard output: cannot be written: {error.strerror}")
        return 1
    except KeyboardInterrupt:
        status = INTERRUPTED
    if status == INTERRUPTED:
        messages.failure("thinktime: interrupted")
    # The status of --help and --version; a command that is done returns None.
    return status or 0


def main() -> None:
    """Run the command that `sys.argv` names, and exit with its status."""
    status = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except OSError:
        # Python would try again at its end, and report a traceback for an error that has been reported.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)
