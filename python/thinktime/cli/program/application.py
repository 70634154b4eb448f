"""The call of a command: the program in Typer, with that command alone, and the status of the call."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import resource
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer
from typer.main import get_command

from thinktime.cli import COMMANDS, config, messages, words_of
from thinktime.cli.program import front
from thinktime.cli.program.catalogue import program
from thinktime.cli.program.interrupts import one_for_each_signal
from thinktime.cli.program.plain import PlainCommand, PlainGroup
from thinktime.errors import InputError, InterruptedWorkError, WorkError

EXAMPLES = (
    "thinktime demo",
    "thinktime record -o run --duration 60s",
    "thinktime report run -o report.html",
)
INTERRUPTED = 130
"""Status of a command that Ctrl-C ended: 128 and the number of SIGINT, as shells have it."""

_UsageError: Any = typer.BadParameter.__bases__[0]
"""Wrong usage: Click's own class, or, in newer versions, Typer's copy of it."""


class _Program(PlainGroup):
    """The program; its commands are listed in the order of `COMMANDS`, whatever they are made of."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=list(COMMANDS).index)


def application(arguments: Sequence[str] = ()) -> typer.Typer:
    """Application with all commands, or only with the one that the arguments call."""
    app = typer.Typer(
        cls=_Program,
        help="Measure, explain and predict interactive multi-user systems.",
        epilog="\n\n".join(["Examples:", *EXAMPLES]),
        add_completion=True,
        context_settings={"help_option_names": [*front.HELP]},
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )

    # With a callback the application is a group even when one command alone is registered.
    @app.callback(invoke_without_command=True)
    def root(
        context: typer.Context,
        version: Annotated[bool, typer.Option(*front.VERSION, help="Print the version and exit.")] = False,
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
            messages.line(front.version())
            raise typer.Exit
        if context.invoked_subcommand is None:
            messages.lines(front.FIRST_STEPS.splitlines())

    # Only the command that is called is loaded; for a misspelt name, all are.
    called = [name for name in words_of(arguments)[:1] if name in COMMANDS]
    for name in called or COMMANDS:
        module, summary = COMMANDS[name]
        command = importlib.import_module(module).command
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, short_help=summary)
        else:
            app.command(name, cls=PlainCommand, short_help=summary)(command)
    return app


def run(asked: Sequence[str]) -> int:
    """Exit status of a call with these arguments: 0 done, 1 failed, 2 bad usage, 130 interrupted."""
    settings: list[config.Setting] = []
    start = time.monotonic()
    try:
        settings = _settings(asked)
        with one_for_each_signal(), _log_warnings_as_notes():
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


@contextlib.contextmanager
def _log_warnings_as_notes() -> Iterator[None]:
    """What the library warns of in a log is a sentence for the reader, without a place in the source."""
    with warnings.catch_warnings():
        show = warnings.showwarning

        def shown(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            from thinktime.log import LogWarning

            if issubclass(category, LogWarning):
                messages.note(f"thinktime: {message}")
            else:
                show(message, category, *place, **more)

        warnings.showwarning = shown
        yield


def _called(asked: Sequence[str], settings: Sequence[config.Setting]) -> int | None:
    """Call of the command, with the defaults of configuration files."""
    command = get_command(application(asked))
    how: dict[str, Any] = {}
    if settings:
        whole = program()
        called = tuple(one for one in whole.commands if one.path == tuple(words_of(asked)[:1]))
        how["default_map"] = config.defaults(settings, whole._replace(commands=called or whole.commands))
    status: int | None = command.main([*asked], prog_name="thinktime", standalone_mode=False, **how)
    return status


def _settings(asked: Sequence[str]) -> list[config.Setting]:
    """Settings of configuration files; none where help is asked for, which a wrong file must not prevent."""
    helps = {*front.HELP, *front.VERSION} & set(asked)
    is_completion = front.VARIABLE in os.environ
    return [] if helps or is_completion or not asked or words_of(asked)[:1] == ["config"] else config.read()


def _refused(error: Any, settings: Sequence[config.Setting], asked: Sequence[str]) -> int:
    """Status of a call that is wrong, after one line on it; a group that is called alone shows its help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        for text in str(error.message).split("\n"):
            messages.failure(text)
        return 2
    from thinktime.cli.program.voice import in_words

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
