"""A play and the recording of the machine, in one log."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

from thinktime.errors import InputError
from thinktime.log import LogError, LogWriter
from thinktime.sources.linux import Recording, RecordOptions, session
from thinktime.sources.terminals.users import OnProgress, Plan, Terminals


def play_into(
    terminals: Terminals,
    plan: Plan,
    prepared: dict[str, Any],
    path: Path,
    force: bool,
    interval_s: float | None,
    on_progress: OnProgress,
    facts: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Play `plan` into a new log at `path`, recording this machine at `interval_s` unless that is None.

    The recording identifies users by session, so that each terminal is a user of the table ``users``. The
    manifest has the session of each user under ``terminals``, ``outcome``, ``sessions``.

    Parameters
    ----------
    facts : dict, optional
        More facts of the session, such as ``direct_costs``.

    Returns
    -------
    dict
        As `Terminals.play`, with ``open_loop`` (whether the play was) and ``recording`` (the recorder's
        summary, or None).

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
            played = terminals.play(plan, prepared, writer, on_progress)
    summary = recording.summary if isinstance(recording, Recording) else None
    return played | {"open_loop": plan.open_loop, "recording": summary}


def _open(path: Path, force: bool, options: RecordOptions, plan: Plan, recorded: bool) -> LogWriter:
    facts = session(options)
    played = asdict(plan) | {"scratch": str(plan.scratch)}
    del played["workload"]  # It stands in the manifest under `terminals`, with what came of it.
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
