"""A play and the recording of the machine beside it, in one log."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

from thinktime.errors import InputError, WorkError
from thinktime.log import LogError, LogWriter
from thinktime.sources.terminals.users import OnProgress, Plan, Terminals

__all__ = ["play_into"]


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

    Parameters
    ----------
    facts : dict, optional
        More facts of the session, such as ``direct_costs``.

    Returns
    -------
    dict
        As `Terminals.play`, with ``open`` and the recorder's ``recording``.

    Raises
    ------
    InputError
        There is a log at `path` and `force` is false, or something in the plan cannot be played.
    WorkError
        The users or the recorder could not do their work.
    """
    options = {"play": {"users": plan.users, "hold_s": plan.hold_s, "interval_s": interval_s, "seed": plan.seed}}
    try:
        writer = LogWriter.open(
            path,
            "replace" if force else "create",
            source="linux",
            machine=_machine(),
            options=options,
            boot_id=_boot_id(),
        )
    except LogError as error:
        raise InputError(str(error)) from None
    with writer:
        for key, value in (facts or {}).items():
            writer.set(key, value)
        if interval_s is None:
            played = terminals.play(plan, prepared, writer, on_progress)
        else:
            raise WorkError("recording is not there yet")
    return played | {"open": plan.open}


def _machine() -> dict[str, Any]:
    return {
        "hostname": platform.node(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "cpus": os.cpu_count(),
    }


def _boot_id() -> str | None:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None
