"""`thinktime live`: a log on the terminal, while it is being written or replayed."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from thinktime.cli import completion, messages
from thinktime.cli.record import Interval
from thinktime.errors import InputError, WorkError
from thinktime.quantity import parse_seconds

if TYPE_CHECKING:
    from thinktime._native import NativeView, _Prediction
    from thinktime.log import Log, Mode
    from thinktime.stats.estimate import Estimate

FIRST_S = 120.0
"""Time until a recording that has just begun is first asked how many users fit [s]; it doubles until an answer."""
LOWEST = 19
"""Priority of the process that computes it: it takes what others leave."""
LIMITS = {"cpu": "CPU", "rest": "a disk or a lock", "memory": "memory"}
"""Words for what runs short, on a line with others."""

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
        float, typer.Option("--speed", help="Factor at which a finished log is replayed.")
    ] = 10.0,
    size_every: Annotated[
        str,
        typer.Option(
            "--size-every",
            metavar="TIME",
            help="Time between predictions of how many users fit; never: none.",
        ),
    ] = "30min",
    resume: Annotated[bool, typer.Option("--resume", help="Append to a log that already exists.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a log that already exists.")] = False,
) -> None:
    """Show a log on the terminal, interval by interval: one that is being written, or any finished one.

    Users by CPU time, wait for a CPU, memory and I/O, the commands of the selected user, pressure, the CPUs by
    state, and response times where interactions are recorded. Nothing is measured for it: the figures are those
    of the log. Without LOG this machine is recorded meanwhile. A finished log is replayed. The key ? explains
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

    view = NativeView()
    sizing = _Sizing(view, beat_s)
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


def _show(view: NativeView, log: Path, at: str | None, speed: float, sizing: _Sizing) -> None:
    sizing.begin(log, 0.0)
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
    sizing: _Sizing,
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


class _Sizing:
    """Predictions of how many users fit, now and then while a view is on the screen."""

    def __init__(self, view: NativeView, beat_s: float | None) -> None:
        self._view = view
        self._beat_s = beat_s
        self._ended = threading.Event()
        self._child: subprocess.Popen[str] | None = None
        self._thread: threading.Thread | None = None

    def begin(self, log: Path, wait_s: float) -> None:
        """Predict from `log`, the first time after `wait_s`; does nothing if nobody asked for it."""
        if self._beat_s is not None:
            arguments = (log, wait_s, self._beat_s)
            self._thread = threading.Thread(target=self._run, args=arguments, name="sizing", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End it, with the process that may be at work."""
        self._ended.set()
        child = self._child
        if child is not None and child.poll() is None:
            child.kill()
        if self._thread is not None:
            self._thread.join()

    def _run(self, log: Path, wait_s: float, beat_s: float) -> None:
        while not self._ended.wait(min(wait_s, beat_s)):
            found = self._asked(log)
            if self._ended.is_set() or found is None:
                return
            if "reason" in found:
                self._view.cannot_predict(found["reason"])
            else:
                self._view.predict(found["prediction"])
            if found["is_ended"]:
                return
            wait_s = max(2.0 * wait_s, FIRST_S) if "reason" in found else beat_s

    def _asked(self, log: Path) -> dict[str, Any] | None:
        """Answer of a process of its own; None if it gave none."""
        command_ = [sys.executable, "-c", "from thinktime.cli.live import answer; answer()", str(log)]
        pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
        with subprocess.Popen(
            command_, stdin=nothing, stdout=pipe, stderr=nothing, text=True, start_new_session=True
        ) as child:
            self._child = child
            if self._ended.is_set():
                child.kill()
            output, _ = child.communicate()
        try:
            found: dict[str, Any] = json.loads(output)
        except ValueError:
            return None
        return found


def answer() -> None:
    """Print, as JSON, what `thinktime size` says of the log that the last argument names; for a process of its own."""
    os.setpriority(os.PRIO_PROCESS, 0, LOWEST)
    messages.rendered(json.dumps(predicted(Path(sys.argv[-1]))))


def predicted(path: Path) -> dict[str, Any]:
    """How many users fit by the log at `path`.

    Returns
    -------
    dict
        ``prediction``, or ``reason`` why there is none; ``is_ended``, True if the log will not say more.
    """
    from thinktime.log import Log

    is_ended = True
    try:
        log = Log.open(path)
        is_ended = log.manifest["sessions"][-1].get("end_us") is not None
        found = _by_interactions(log) if log.has("interactions") else _by_use(log)
    except (InputError, WorkError) as error:
        return {"reason": str(error), "is_ended": is_ended}
    return {"prediction": found, "is_ended": is_ended}


def _by_interactions(log: Log) -> _Prediction:
    """Prediction from response times."""
    from thinktime.predictions.size.record import size

    found = size(log)
    knee = found.knee
    ends = None if knee.low is None or knee.high is None else (round(knee.low), round(knee.high))
    return _prediction(found.users, found.limit, found.goal, ends, by_people=False)


def _by_use(log: Log) -> _Prediction:
    """Prediction from what people use of CPU and memory, which knows no knee."""
    from thinktime.log import border
    from thinktime.predictions.size import goals
    from thinktime.predictions.size.activity import activity
    from thinktime.predictions.size.answer import Plan
    from thinktime.predictions.size.by_use import by_use
    from thinktime.stats.estimate import NotApplicable

    with border.reading(log):
        found = activity(log, str(log.path))
    if isinstance(found, NotApplicable):
        raise InputError(f"{found.reason}; {found.remedy}")
    best = by_use(found, Plan(), goals.read(()), ()).met[0]
    return _prediction(best.users, best.limit, best.goal.words, None, by_people=True)


def _prediction(
    users: Estimate | None, limit: str, goal: str, knee: tuple[int, int] | None, *, by_people: bool
) -> _Prediction:
    if limit not in LIMITS:
        # More fit than were looked at, or what limits them was not measured: no number is known.
        users = None

    def whole(value: float | None) -> int | None:
        return None if value is None else round(value)

    return {
        "fits": None if users is None else round(users.value),
        "low": None if users is None else whole(users.low),
        "high": None if users is None else whole(users.high),
        "knee": knee,
        "limit": LIMITS.get(limit, ""),
        "goal": goal.replace("\N{NO-BREAK SPACE}", " "),
        "by_people": by_people,
    }
