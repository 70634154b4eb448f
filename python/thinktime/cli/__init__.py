"""The command line: one file per command, loaded when that command is called.

Exit status: 0 done, 1 the work failed, 2 bad usage or bad input, 130 interrupted.
"""

from __future__ import annotations

import errno
import importlib
import os
import re
import resource
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from thinktime import __version__
from thinktime.cli import config, messages
from thinktime.cli.catalogue import PlainCommand, PlainGroup
from thinktime.errors import InputError, InterruptedWorkError, WorkError

__all__ = ["COMMANDS", "main", "run"]

COMMANDS: dict[str, str] = {
    "record": "thinktime.cli.record",
    "live": "thinktime.cli.live",
    "play": "thinktime.cli.play",
    "simulate": "thinktime.cli.simulate",
    "predict": "thinktime.cli.predict",
    "size": "thinktime.cli.size",
    "experiment": "thinktime.cli.experiment",
    "systems": "thinktime.cli.systems",
    "scripts": "thinktime.cli.scripts",
    "report": "thinktime.cli.report",
    "analyse": "thinktime.cli.analyse",
    "import": "thinktime.cli.exchange.import_",
    "export": "thinktime.cli.exchange.export",
    "study": "thinktime.cli.study",
    "logs": "thinktime.cli.logs",
    "check": "thinktime.cli.check",
    "doctor": "thinktime.cli.doctor",
    "demo": "thinktime.cli.demo",
    "config": "thinktime.cli.config",
    "man": "thinktime.cli.man",
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


class _Program(PlainGroup):
    """The program; its commands are listed in the order of `COMMANDS`, whatever they are made of."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=list(COMMANDS).index)


def application(arguments: Sequence[str] = ()) -> typer.Typer:
    """Application with all commands, or only with the one that the arguments call."""
    app = typer.Typer(
        cls=_Program,
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
        verbose: Annotated[
            bool,
            typer.Option("-v", "--verbose", help="Print notes on files, defaults, time and memory as well."),
        ] = False,
    ) -> None:
        if quiet and verbose:
            raise InputError("--quiet --verbose: one asks for fewer notes, the other for more; give one")
        messages.set_volume(quiet=quiet, verbose=verbose)
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
            app.command(name, cls=PlainCommand, short_help=_short(command))(command)
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
    settings: list[config.Setting] = []
    start = time.monotonic()
    try:
        settings = _settings(asked)
        status = _called(asked, settings)
        messages.flush()
        _note_cost(start)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except _UsageError as error:
        return _refused(error, settings, asked)
    except InputError as error:
        return _failed(config.located(str(error), settings, asked), 2)
    except InterruptedWorkError as error:
        return _failed(str(error), error.status)
    except WorkError as error:
        return _failed(str(error), 1)
    except OSError as error:
        if isinstance(error, PermissionError) and error.filename:
            return _failed(
                f"{error.filename}: you may not read or write it; choose another, or run as its owner", 2
            )
        if error.errno != errno.ENOSPC:
            raise
        # Help is printed by Typer itself, not by a command.
        return _failed(f"standard output: cannot be written: {error.strerror}", 1)
    except (KeyboardInterrupt, typer.Abort):
        # Older versions of Typer make the one the other.
        status = INTERRUPTED
    if status == INTERRUPTED:
        messages.failure("thinktime: interrupted; the answer is incomplete; the same command begins again")
    # The status of --help and --version; a command that is done returns None.
    return status or 0


def _called(asked: Sequence[str], settings: Sequence[config.Setting]) -> int | None:
    """Call of the command, with the defaults of configuration files."""
    from typer.main import get_command

    command = get_command(application(asked))
    how: dict[str, Any] = {}
    if settings:
        from thinktime.cli.catalogue import described

        how["default_map"] = config.defaults(settings, described(command, (), None))
    status: int | None = command.main([*asked], prog_name="thinktime", standalone_mode=False, **how)
    return status


def _settings(asked: Sequence[str]) -> list[config.Setting]:
    """Settings of configuration files; none where help is asked for, which a wrong file must not prevent."""
    helps = {"-h", "--help", "-V", "--version"} & set(asked)
    is_completion = "_THINKTIME_COMPLETE" in os.environ
    return [] if helps or is_completion or not asked or _words(asked)[:1] == ["config"] else config.read()


def _refused(error: Any, settings: Sequence[config.Setting], asked: Sequence[str]) -> int:
    """Status of a call that is wrong, after one line on it; a group that is called alone shows its help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        for text in str(error.message).split("\n"):
            messages.failure(text)
        return 2
    from thinktime.cli.voice import in_words

    return _failed(config.located(in_words(error), settings, asked), 2)


def _failed(text: str, status: int) -> int:
    """The status, after the line on the failure."""
    messages.failure(f"thinktime: {text}")
    if messages.is_verbose():
        for entry in traceback.format_exc().splitlines():
            messages.failure(entry)
    return status


def _note_cost(start: float) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    messages.detail(
        f"done in {time.monotonic() - start:.1f} s, {used.ru_utime + used.ru_stime:.1f} s of CPU time, "
        f"at most {used.ru_maxrss / 1000:.0f} MB of memory"
    )


def main() -> None:
    """Run the command that `sys.argv` names, and exit with its status."""
    status = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except OSError:
        # Python would try again at its end, and report a traceback for an error that has been reported.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)
