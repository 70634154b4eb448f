"""The plays of a study of this machine: what is measured before, then each number of users into its log."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import numpy as np

from thinktime.errors import InputError, WorkError
from thinktime.log import Log, interactions
from thinktime.sources import room
from thinktime.sources.plans import SHELL_BYTES, Scale, ScriptPlan
from thinktime.sources.scripts import read
from thinktime.sources.terminals import OnProgress, Terminals, play_into
from thinktime.studies.this_machine.design import SCRIPT, Design, Play, Wanted, decided, exponential

REHEARSAL = "rehearsal"
REHEARSAL_THINK_S = 0.01
IMAGE_BYTES = 1 << 20
"""Array of the process in which direct costs are measured: of the size of a program of the script."""
PUNCTUAL = -10
"""Nice value of the driver, where it may have it."""
INTERVAL_S = 0.5
"""Mean recording interval."""

OnStage = Callable[[str, float, float], AbstractContextManager[OnProgress]]
"""Called with the words of a stage, the time that is over by plan and that of the whole work [s]; returns a
context with the callback of its progress."""


class StoppedError(WorkError):
    """The callback of the progress ended a play."""


def cpus() -> int:
    """CPUs on which users of this process may run."""
    return len(os.sched_getaffinity(0))


def check(wanted: Wanted) -> None:
    """Refuse what this machine cannot play, before anything starts.

    Raises
    ------
    InputError
        It lacks programs that the script needs, or room for the users; or as `Wanted.check`.
    """
    wanted.check()
    _rehearsal(wanted).playable()
    # The most users that a think time is chosen for, unless they are named.
    room.check(max(wanted.users, default=int(1.5 * Scale.of(1.0, cpus()).saturation) + 1), SHELL_BYTES)


def begin(
    folder: Path, wanted: Wanted, terminals: Terminals, on_stage: OnStage, on_note: Callable[[str], None]
) -> Design:
    """Design for this machine, written into the new `folder`; measures what it depends on.

    Raises
    ------
    WorkError
        The users failed, or the callback ended the work: nothing is kept.
    """
    folder.mkdir(parents=True)
    total_s = wanted.seconds
    plan = _rehearsal(wanted)
    try:
        with on_stage("measuring the floor of a terminal", 0.0, total_s) as progress, punctual():
            floor = terminals.floor(plan, progress)
        with on_stage("measuring the cost of a page fault", wanted.floor_s, total_s) as progress:
            costs = terminals.measure_direct(IMAGE_BYTES, progress)
        before_s = wanted.before_s - wanted.rehearsal_s
        with on_stage("rehearsing: what does an interaction take?", before_s, total_s) as progress:
            problem = _played(folder / REHEARSAL, plan, terminals, progress, accept=False)
        if problem is not None and not wanted.accept_driver_load:
            on_note(
                f"the driver was the load in the rehearsal already ({problem}): this machine is busy with "
                "other work, and response times may be refused"
            )
        design = decided(
            wanted,
            service_s=_service_s(Log.open(folder / REHEARSAL)),
            cpus=cpus(),
            floor=floor,
            direct_costs=costs,
        )
        design.write(folder)
    except BaseException:
        # Without a design nobody can go on here.
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return design


def carry_out(
    folder: Path, design: Design, terminals: Terminals, on_stage: OnStage, on_note: Callable[[str], None]
) -> None:
    """Play all that `folder` does not hold yet.

    Raises
    ------
    InputError
        This machine has another number of CPUs than the one on which the study was begun.
    StoppedError
        The callback ended the work; the plays that were completed are kept.
    WorkError
        The users or the recorder failed; likewise.
    """
    if design.cpus != cpus():
        raise InputError(
            f"{folder}: was begun on {design.cpus} CPUs, and {cpus()} can be used here; begin a new study"
        )
    left = [play for play in design.plays if not (folder / play.name).exists()]
    total_s = len(left) * design.seconds_each
    for number, play in enumerate(left):
        place = len(design.plays) - len(left) + number + 1
        words = f"play {place} of {len(design.plays)}"
        with on_stage(words, number * design.seconds_each, total_s) as progress:
            problem = _played(
                folder / play.name, design.plan(play), terminals, progress, design.accept_driver_load
            )
        if problem is not None and not design.accept_driver_load:
            on_note(
                f"with {'1 user' if play.users == 1 else f'{play.users} users'} the driver was the load "
                f"({problem}): left out of response times"
            )


@contextmanager
def punctual() -> Iterator[int]:
    """Nice value of this thread, which drives the play: below that of the users where this process may.

    The driver stands for hands, which wait for no CPU: of a saturated machine, inputs would be sent late by a
    part of the response time. It takes some per cent of a CPU, which the plays measure.
    """
    thread, before = threading.get_native_id(), os.getpriority(os.PRIO_PROCESS, 0)
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, thread, min(before, PUNCTUAL))
    try:
        yield os.getpriority(os.PRIO_PROCESS, thread)
    finally:
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, thread, before)


def complete(folder: Path, design: Design) -> tuple[Play, ...]:
    """Plays that `folder` holds, in the order of the design."""
    return tuple(play for play in design.plays if (folder / play.name).is_dir())


def _rehearsal(wanted: Wanted) -> ScriptPlan:
    return ScriptPlan(
        script=read(SCRIPT),
        users="1",
        step_s=wanted.rehearsal_s,
        think=exponential(REHEARSAL_THINK_S),
        # Think times differ from those of the plays.
        seed=wanted.seed + 1_000_000,
        baseline_s=wanted.floor_s,
    )


def _played(
    path: Path, plan: ScriptPlan, terminals: Terminals, progress: OnProgress, accept: bool
) -> str | None:
    """Why the driver was the load in a play, whose log is then at `path`; None if it was not."""
    part = path.with_name(f"{path.name}.part")
    with punctual() as nice:
        played = play_into(
            terminals,
            plan,
            None,
            part,
            force=True,
            interval_s=INTERVAL_S,
            on_progress=progress,
            facts={"driver_nice": nice} | ({"driver_load_accepted": True} if accept else {}),
        )
    if played.outcome["stopped"]:
        shutil.rmtree(part, ignore_errors=True)
        raise StoppedError("the play was ended before its time")
    part.rename(path)
    return played.driver_problem


def _service_s(log: Log) -> float:
    """Mean CPU time of an interaction; where it was not measured, its response time, which is no less."""
    found = interactions.read(log)
    for values in () if found is None else (found.service, found.response):
        known = values[~np.isnan(values)]
        if len(known) and known.mean() > 0.0:
            return float(known.mean())
    raise WorkError("the rehearsal completed no interaction; is this machine very busy? try again")
