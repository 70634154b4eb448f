"""The command line: one file per command, loaded when that command is called.

Exit status: 0 done, 1 the work failed, 2 bad usage or bad input.
"""

from __future__ import annotations

import importlib
import io
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
    "check": "thinktime.cli.check",
    "doctor": "thinktime.cli.doctor",
    "demo": "thinktime.cli.demo",
}
"""Name of each command, and the module that defines it as ``command``: a function, or a group of
functions."""

_UsageError: Any = typer.BadParameter.__bases__[0]
"""Wrong usage: Click's own class, or, in newer versions, Typer's copy of it."""

EPILOG = """\
Examples:

thinktime demo

thinktime record -o run --duration 60s

thinktime report run -o report.html
"""


def application(arguments: Sequence[str] = ()) -> typer.Typer:
    """Application with all commands, or only with the one that the arguments call."""
    app = typer.Typer(
        help="Measure, explain and predict interactive multi-user systems.",
        epilog=EPILOG,
        add_completion=True,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )

    # With a callback the application is a group even when one command alone is registered.
    @app.callback(invoke_without_command=True)
    def root(
        version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    ) -> None:
        if version:
            messages.line(f"thinktime {__version__}")
            raise typer.Exit

    # Only the command that is called is loaded; for `--help` and for a misspelt name, all are.
    called = [name for name in arguments[:1] if name in COMMANDS]
    for name in called or COMMANDS:
        command = importlib.import_module(COMMANDS[name]).command
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name, short_help=_short(command))(command)
    return app


def _short(command: Callable[..., None]) -> str:
    """First words of a command's docstring, up to the details."""
    return re.split(r"[:.,]", command.__doc__ or "", maxsplit=1)[0].strip()


def run(arguments: Sequence[str]) -> int:
    """Exit status of the command that the arguments name: 0 done, 1 the work failed, 2 bad usage or input."""
    try:
        status: int | None = application(arguments)(
            list(arguments), prog_name="thinktime", standalone_mode=False
        )
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except _UsageError as error:
        text = io.StringIO()
        error.show(text)
        for line in text.getvalue().expandtabs().removesuffix("\n").split("\n"):
            messages.note(line)
        return int(error.exit_code)
    except InputError as error:
        messages.note(f"thinktime: {error}")
        return 2
    except (WorkError, typer.Abort) as error:
        messages.note(f"thinktime: {error or 'aborted'}")
        return 1
    # The status of --help and --version; a command that is done returns None.
    return status or 0


def main() -> None:
    """Run the command that `sys.argv` names, and exit with its status."""
    sys.exit(run(sys.argv[1:]))
