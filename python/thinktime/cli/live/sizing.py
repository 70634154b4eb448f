"""Predictions of how many users fit, now and then while a view is on the screen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thinktime.cli import messages
from thinktime.errors import InputError, WorkError
from thinktime.notation import plain

if TYPE_CHECKING:
    from thinktime._native import NativeView, _Prediction
    from thinktime.log import Log
    from thinktime.stats.estimate import Estimate

FIRST_S = 120.0
"""Time until a recording that has just begun is asked how many users fit [s]; doubled until it answers."""
LOWEST = 19
"""Priority of the process that computes it: it takes what others leave."""
LIMITS = {"cpu": "CPU", "rest": "a disk or a lock", "memory": "memory"}
"""Words for what runs short, on a line with others."""


class Sizing:
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
        command_ = [sys.executable, "-c", "from thinktime.cli.live.sizing import answer; answer()", str(log)]
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
    """Print as JSON how many users fit by the log that the last argument names; for a process of its own."""
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
        "goal": plain(goal),
        "by_people": by_people,
    }
