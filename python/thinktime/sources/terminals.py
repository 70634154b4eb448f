"""Interactive users at real terminals, recorded in a log: synthetic ones, or those who type a script.

A small separate process starts the users' processes, so that `Terminals` works together with any library and
any number of threads.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from thinktime import _native
from thinktime.errors import InputError, WorkError
from thinktime.log import Log, LogError, LogWriter
from thinktime.log.users import crowd
from thinktime.results import Result
from thinktime.sources.linux import Recording, RecordOptions, session
from thinktime.sources.plans import Plan, ScriptPlan, checked

if TYPE_CHECKING:
    from thinktime._native import (
        _Baseline,
        _DirectCost,
        _InteractionDemand,
        _Played,
        _PlayOutcome,
        _PlayProgress,
        _Prepared,
        _RecordSummary,
        _StepSummary,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Progress of a play."""

    elapsed_s: float
    """Time since the start of the play."""
    end_s: float
    """Time at which the play ends, on the same clock."""
    users: int
    """Users playing."""
    started: int
    """Inputs that were due so far."""
    completed: int
    """Inputs that were answered so far."""
    response_s: float | None
    """Mean response time since the number of users last changed."""


OnProgress = Callable[[Progress], bool]
"""Callback, called with the progress five times per second; a result of False ends the play."""


class Terminals:
    """Processes of the users, from start to end.

    A context manager. When it exits, or when this process ends in any way, no process and no file of the
    users remains.

    Raises
    ------
    WorkError
        The process that starts the users cannot be started.
    """

    def __init__(self) -> None:
        code = "import sys; sys.path.insert(0, sys.argv[1]); import thinktime._native as n; n.serve_nursery()"
        # Without the user's site and environment: the users' processes are copies of this one, and what
        # each of their forks costs grows with its size.
        package = str(Path(_native.__file__).parents[1])
        try:
            self._nursery = _native.NativeNursery([sys.executable, "-I", "-S", "-c", code, package])
        except _native.NativePlayError as error:
            raise WorkError(str(error)) from None

    def __enter__(self) -> Terminals:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._nursery.close()

    def prepare(self, plan: Plan, on_progress: OnProgress) -> _Prepared:
        """Calibration of the compute loop, and baseline: response times of interactions that request nothing.

        Returns
        -------
        dict
            ``calibration`` (speed of the compute loop with a 95 % interval) and ``baseline`` (response,
            reaction and service time of empty interactions at the think time of the plan).

        Raises
        ------
        InputError
            The plan cannot be played.
        WorkError
            `on_progress` returned False, or a user's process failed.
        """
        return checked(self._nursery.prepare, plan.options(), _typed(on_progress))

    def rehearse(self, plan: Plan, prepared: _Prepared, on_progress: OnProgress) -> _InteractionDemand:
        """Demand of an interaction on this machine, estimated from a play of `plan` without a log.

        Returns
        -------
        dict
            ``service_s``, the mean CPU time of an interaction with a 95 % interval ``low_s``, ``high_s``
            over ``n`` interactions (the compute loop, which varies most, enters with its expected value:
            a control variate), and their mean ``response_s``.

        Raises
        ------
        InputError, WorkError
            As `prepare`.
        """
        return checked(self._nursery.rehearse, plan.options(), prepared, _typed(on_progress))

    def play(self, plan: Plan, prepared: _Prepared, writer: LogWriter, on_progress: OnProgress) -> _Played:
        """Outcome of a play of `plan` into the log of `writer`, with a row of ``interactions`` per input.

        Returns
        -------
        dict
            ``outcome`` (counts, the driver's own CPU time, whether it was stopped) and ``steps`` (for
            each number of users n, response and service time).

        Raises
        ------
        InputError, WorkError
            As `prepare`.
        """
        arguments = (plan.options(), prepared, writer.native, _typed(on_progress))
        return checked(self._nursery.play, *arguments)

    def floor(self, plan: ScriptPlan, on_progress: OnProgress) -> _Baseline | None:
        """Response time of an empty command on the channel of `plan`; None if `baseline_s` is 0 or too short.

        Raises
        ------
        InputError, WorkError
            As `prepare`.
        """
        return checked(self._nursery.floor, plan.options(), _typed(on_progress))

    def play_script(
        self, plan: ScriptPlan, floor: _Baseline | None, writer: LogWriter, on_progress: OnProgress
    ) -> _Played:
        """Outcome of a play of the script of `plan` into the log of `writer`, as `play`.

        Raises
        ------
        InputError, WorkError
            As `prepare`.
        """
        return checked(self._nursery.play_script, plan.options(), floor, writer.native, _typed(on_progress))

    def measure_direct(self, array_bytes: int, on_progress: OnProgress) -> list[_DirectCost]:
        """Costs of one fork, minor page fault and context switch, measured here with an exact CPU clock.

        Parameters
        ----------
        array_bytes : int
            Size of the array in which the page faults are caused.
        on_progress : callable

        Returns
        -------
        list of dict
            ``request`` (the column of ``samples`` that counts it), ``seconds`` of system CPU time for one
            request with a 95 % interval ``low``, ``high`` over ``n`` batches, and ``method``. Page faults and
            switches caused by a fork are subtracted from its ``seconds``, not from its ``gross_seconds``.

        Raises
        ------
        WorkError
            `on_progress` returned False, or a process that was measured failed.
        """
        return checked(self._nursery.measure_direct, array_bytes, _typed(on_progress))


def _typed(on_progress: OnProgress) -> Callable[[_PlayProgress], bool]:
    return lambda progress: on_progress(Progress(**progress))


class Interruption:
    """Record of SIGINT and SIGTERM, so that the work can end in good order; a second signal ends it at once.

    A context manager; `requested` is true after the first signal.
    """

    def __init__(self) -> None:
        self.requested = False
        self.status = 0
        """Exit status of a command that the signal ended, as shells have it: 128 and its number."""
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interruption:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        del frame
        self.requested = True
        self.status = 128 + number
        signal.signal(number, signal.SIG_DFL)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Played(Result):
    """Result of a play: a row of its main table is a number of users."""

    MAIN: ClassVar[str] = "steps"

    log: str
    """Folder of the log."""
    outcome: _PlayOutcome
    """Counts, the driver's own CPU time, and whether the play was stopped."""
    steps: list[_StepSummary]
    """Response and service times by the number of users asked for; response times are None where the driver
    was the load, unless that was accepted."""
    users_asked: int
    """Most users asked for."""
    users_started: int
    """Users whose process was started by the end of the play."""
    users_active: float | None
    """Mean number of users with CPU time in an interval; None if nothing was recorded."""
    users_typed: dict[int, int]
    """Users who typed, by the number of users asked for."""
    open_loop: bool
    """True for an open-loop play."""
    floor: _Baseline | None
    """Times of an interaction that requests nothing, measured before; None if they were not."""
    driver_problem: str | None
    """Why the response times are those of the driver too; None if they are those of the system alone."""
    recording: _RecordSummary | None
    """Summary of the recorder; None if nothing was recorded."""


def play(
    log: str | Path,
    plan: Plan | ScriptPlan,
    *,
    mode: Literal["create", "replace"] = "create",
    interval_s: float | None = 0.5,
    on_stage: Callable[[str], AbstractContextManager[OnProgress]] | None = None,
    accept_driver_load: bool = False,
) -> Played:
    """Result of a play of `plan` into a new log, while this machine is recorded.

    Parameters
    ----------
    log : str or Path
        Folder of the log.
    plan : Plan or ScriptPlan
        Workload or script, users and think times.
    mode : {"create", "replace"}
        For a log that already exists: refuse it, or remove it first.
    interval_s : float or None
        Mean recording interval [s]; None to record only the interactions.
    on_stage : callable, optional
        Called with the name of each stage; returns a context with the callback of its progress.
    accept_driver_load : bool
        Give the response times of a play whose driver was the load too: they are None otherwise. The log
        then has them for every question, with a warning.

    Raises
    ------
    InputError
        There is a log already and `mode` is ``"create"``, the plan cannot be played, or it asks for more
        users than this machine can start, or for programs that a host does not have.
    WorkError
        The users or the recorder failed, or a callback ended the play before there was a log.

    Examples
    --------
    >>> plan = thinktime.Plan(workload=thinktime.workload("prototype"), users="1..8", step_s=10, seed=1)
    >>> thinktime.play("run", plan)
    """
    path = Path(log)
    plan.playable()
    if path.exists() and mode == "create":
        raise InputError(f"{path}: already exists; replace it, or choose another name")
    stage = on_stage or _unwatched
    with Terminals() as terminals:
        prepared: _Prepared | _Baseline | None
        with stage("measuring the baseline") as progress:
            if isinstance(plan, ScriptPlan):
                prepared = terminals.floor(plan, progress)
            else:
                prepared = terminals.prepare(plan, progress)
        with stage("playing") as progress:
            played = play_into(
                terminals,
                plan,
                prepared,
                path,
                force=mode == "replace",
                interval_s=interval_s,
                on_progress=progress,
                facts={"driver_load_accepted": True} if accept_driver_load else None,
            )
    if played.driver_problem is None or accept_driver_load:
        return played
    return replace(played, steps=[_withheld(step) for step in played.steps])


def _unwatched(stage: str) -> AbstractContextManager[OnProgress]:
    del stage
    return nullcontext(lambda _: True)


def play_into(
    terminals: Terminals,
    plan: Plan | ScriptPlan,
    prepared: _Prepared | _Baseline | None,
    path: Path,
    *,
    force: bool,
    interval_s: float | None,
    on_progress: OnProgress,
    facts: Mapping[str, object] | None = None,
) -> Played:
    """Result of a play of `plan` into a new log at `path`, by users who have been prepared.

    `prepared` is what `Terminals.prepare` gives for a `Plan`, `Terminals.floor` for a `ScriptPlan`.

    This machine is recorded at `interval_s` unless that is None. The recording identifies users by session,
    so that each terminal is a user of the table ``users``. The manifest has the session of each user under
    ``terminals``, ``outcome``, ``sessions``.

    Parameters
    ----------
    facts : mapping, optional
        More facts of the session, such as ``direct_costs``.

    Raises
    ------
    InputError
        There is a log at `path` and `force` is false, or the plan cannot be played.
    WorkError
        The users or the recorder failed.
    """
    options = RecordOptions(interval_s=interval_s or RecordOptions().interval_s, by="session")
    with _open(path, force, options, plan, recorded=interval_s is not None) as writer:
        for key, value in (facts or {}).items():
            writer.set(key, value)
        recording = nullcontext() if interval_s is None else Recording(writer, options)
        with recording:
            if isinstance(plan, ScriptPlan):
                floor = cast("_Baseline | None", prepared)
                played = terminals.play_script(plan, floor, writer, on_progress)
            else:
                measured = cast("_Prepared", prepared)
                floor = measured["baseline"]
                played = terminals.play(plan, measured, writer, on_progress)
    users = crowd(Log.open(path))
    return Played(
        log=str(path),
        outcome=played["outcome"],
        steps=played["steps"],
        users_asked=max((step["users"] for step in plan.schedule()["steps"]), default=0),
        users_started=len(played["outcome"]["sessions"]),
        users_active=None if users is None else users.active,
        users_typed=_who_typed(path),
        open_loop=plan.open_loop,
        floor=floor,
        driver_problem=played["driver_problem"],
        recording=recording.summary if isinstance(recording, Recording) else None,
    )


def _withheld(step: _StepSummary) -> _StepSummary:
    """Summary without the response times, which are not those of the system."""
    return {**step, "response_mean_s": None, "response_median_s": None, "response_p95_s": None}


def _who_typed(path: Path) -> dict[int, int]:
    """Users with an input, by the number of users asked for when it was due."""
    rows = Log.open(path).table("interactions").select("population", "user").unique().collect()
    return dict(rows.group_by("population").len().sort("population").iter_rows())


def _open(
    path: Path, force: bool, options: RecordOptions, plan: Plan | ScriptPlan, recorded: bool
) -> LogWriter:
    facts = session(options)
    played: dict[str, object] = {**plan.options()}
    # The manifest has it under `terminals`, next to the outcome.
    del played["script" if isinstance(plan, ScriptPlan) else "workload"]
    try:
        return LogWriter.open(
            path,
            "replace" if force else "create",
            source=facts["source"],
            machine=facts["machine"],
            boot_id=facts.get("boot_id"),
            options={"play": played} | ({"record": facts["options"]} if recorded else {}),
            start_us=time.time_ns() // 1000,
        )
    except LogError as error:
        raise InputError(str(error)) from None
