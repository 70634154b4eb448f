"""`thinktime live`: a log on the terminal, while it is being written or replayed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from thinktime.cli import completion, messages
from thinktime.cli.live.sizing import FIRST_S, Sizing
from thinktime.cli.record import Interval
from thinktime.errors import InputError, WorkError
from thinktime.quantity import parse_seconds

if TYPE_CHECKING:
    from thinktime._native import NativeView
    from thinktime.log import Mode

Log_ = Annotated[
    Path | None,
    typer.Argument(
        metavar="[LOG]",
        help="Log to show; without it, this machine is recorded.",
        autocompletion=completion.logs,
    ),
]


def command(
    log: Log_ = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="LOG",
            help="Keep what is recorded; without it, it is removed at the end.",
        ),
    ] = None,
    interval: Interval = "1s",
    by: Annotated[
        Literal["uid", "session", "cgroup", "none"],
        typer.Option("--by", help="How to identify users: by uid, login session or cgroup."),
    ] = "uid",
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="TIME",
            help="Begin at TIME, paused: 14:30, '2026-11-24 14:30', or -1h from the end.",
        ),
    ] = None,
    speed: Annotated[
        float, typer.Option("--speed", metavar="N", help="Replay a finished log N times as fast.")
    ] = 10.0,
    size_every: Annotated[
        str,
        typer.Option(
            "--size-every",
            metavar="TIME",
            help="Time between predictions of how many users fit; never: none.",
        ),
    ] = "30min",
    mouse: Annotated[
        bool,
        typer.Option("--mouse", help="Let the mouse choose and scroll; the key M switches it."),
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Append to a log that already exists.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a log that already exists.")] = False,
) -> None:
    """Show a log on the terminal, interval by interval: one that is being written, or any finished one.

    Users by CPU time, wait for a CPU, memory and I/O, the commands of the selected user, control groups
    (services, containers, login sessions), disks and network interfaces by name, pressure, the CPUs by state,
    and response times where interactions are recorded. Nothing is measured for it: the figures are those of
    the log. Without LOG this machine is recorded meanwhile. A finished log is replayed. The key ? explains
    keys and figures, q ends the view.

    How many users fit is predicted from the log as `thinktime size` does, now and then, in a process of the
    lowest priority; where the log does not tell, nothing is said.

    Examples:

      thinktime live

      thinktime live /var/lib/thinktime/log

      thinktime live monday --at 14:30

      thinktime live -o tuesday --interval 2s --by session
    """
    _check(log, output, resume, force)
    if not (math.isfinite(speed) and speed > 0.0):
        raise InputError(f"--speed {speed:g}: give a factor above 0, such as 10")
    beat_s = None if size_every == "never" else parse_seconds(size_every, "--size-every")
    from thinktime._native import NativeView

    view = NativeView(mouse=mouse)
    sizing = Sizing(view, beat_s)
    try:
        if log is not None:
            _show(view, log, at, speed, sizing)
        else:
            if at is not None:
                raise InputError("--at: is for a log; name the log to show")
            mode: Mode = "resume" if resume else "replace" if force else "create"
            _record(view, output, mode, parse_seconds(interval, "--interval"), by, sizing)
    finally:
        sizing.stop()


def _check(log: Path | None, output: Path | None, resume: bool, force: bool) -> None:
    if log is not None and output is not None:
        raise InputError(f"{log}, -o {output}: a log is shown, or recorded and shown; give one of them")
    if resume and force:
        raise InputError("--resume --force: one appends to a log, the other replaces it; give one of them")
    if (resume or force) and output is None:
        raise InputError(f"{'--resume' if resume else '--force'}: is for a log that is kept; give it with -o")


def _show(view: NativeView, log: Path, at: str | None, speed: float, sizing: Sizing) -> None:
    # Later: what is wrong with the log or the terminal ends the command at once.
    sizing.begin(log, 1.0)
    try:
        view.show(log, {"at": at, "speed": speed})
    except ValueError as error:
        raise InputError(str(error)) from error
    except RuntimeError as error:
        raise WorkError(str(error)) from error


def _record(
    view: NativeView,
    output: Path | None,
    mode: Mode,
    interval_s: float,
    by: Literal["uid", "session", "cgroup", "none"],
    sizing: Sizing,
) -> None:
    from thinktime.sources.linux import RecordOptions, record_and_view

    options = RecordOptions(interval_s=interval_s, by=by)
    summary = record_and_view(view, output, options, mode, lambda log: sizing.begin(log, FIRST_S))
    if output is not None:
        taken, lost = summary["samples_taken"], summary["samples_lost"]
        messages.line(f"{taken} samples taken: {summary['samples']} in the log, {lost} lost")
        messages.line(str(output))
    if summary["samples_lost"]:
        raise typer.Exit(1)
