"""The Linux recorder, from Python: into a log of its own, or into one that others write too.

The recorder itself is Rust (`crates/recorder`), with its own thread and no need of the interpreter, so
that recording beside Python work costs that work nothing but the CPU time of the samples.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from thinktime.errors import InputError, WorkError

if TYPE_CHECKING:
    from thinktime._native import NativeLogWriter

__all__ = ["By", "Examination", "Method", "RecordOptions", "Recording", "examine", "record", "session"]

By = Literal["uid", "session", "cgroup", "none"]
Method = Literal["auto", "procfs", "taskstats"]


@dataclass(frozen=True)
class RecordOptions:
    """What a recording is asked to do.

    Attributes
    ----------
    interval_s : float
        Mean time between samples, s; at least 0.1.
    duration_s : float or None
        The recording ends by itself after this time, s.
    jitter : float
        Each sample is moved by up to this share of the interval either way, 0 to 0.45, so that it is
        in step neither with the kernel's tick nor with the load.
    seed : int
        Of the random numbers that move the samples.
    by : {"uid", "session", "cgroup", "none"}
        By what users are told apart. By session, the active users are those at a terminal.
    method : {"auto", "procfs", "taskstats"}
        How per-process figures are read; ``auto`` measures at start which costs less.
    root : str
        The file tree that is recorded; another one than ``/`` is for tests.
    keep_bytes : int or None
        The oldest parts of the log are removed so that it stays within this size, bytes.
    keep_days : float or None
        Parts older than this are removed, days.
    """

    interval_s: float = 5.0
    duration_s: float | None = None
    jitter: float = 0.1
    seed: int = 0
    by: By = "uid"
    method: Method = "auto"
    root: str = "/"
    keep_bytes: int | None = None
    keep_days: float | None = None

    def to_json(self) -> str:
        """Return the options as the native module reads them."""
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class Examination:
    """What this machine can measure.

    Attributes
    ----------
    text : str
        For people.
    facts : dict
        The same for programs: ``machine``, ``findings``, ``costs``, ``processes``.
    """

    text: str
    facts: dict[str, Any]


def record(
    log: Path,
    options: RecordOptions,
    mode: Literal["create", "continue", "replace"] = "create",
    on_progress: Callable[[dict[str, Any]], None] | None = None,
) -> dict[str, Any]:
    """Record this machine into `log` until SIGINT, SIGTERM or the duration; SIGHUP starts a new part.

    Parameters
    ----------
    log : Path
        Folder of the log.
    options : RecordOptions
        What to record, and how often.
    mode : {"create", "continue", "replace"}
        What to do when there is a log already: refuse, go on in it, or remove it first.
    on_progress : callable, optional
        Called when recording has begun and after every sample with ``samples``, ``elapsed_s``, ``busy``,
        ``active_users`` and ``written_bytes``. What it raises ends the recording and is raised here.

    Returns
    -------
    dict
        ``samples``, ``missed_deadlines``, ``dropped_intervals`` and ``facts``, which is what the manifest
        says under ``recorder``: the cost of a sample, sources that are missing, exact and sampled CPU time.

    Raises
    ------
    InputError
        An option cannot be used, or the log cannot be written, such as when another recorder does.
    WorkError
        Recording failed on the way. What was recorded before is in the log.
    """
    from thinktime import _native

    listener = None if on_progress is None else lambda text: on_progress(json.loads(text))
    try:
        summary: dict[str, Any] = json.loads(_native.record(str(log), mode, options.to_json(), listener))
    except ValueError as error:
        raise InputError(str(error)) from error
    except _native.NativeRecordError as error:
        raise WorkError(str(error)) from error
    return summary


def session(options: RecordOptions) -> dict[str, Any]:
    """Return the session with which to open a log that a `Recording` shares with other sources.

    Raises
    ------
    InputError
        An option cannot be used.
    """
    from thinktime import _native

    try:
        facts: dict[str, Any] = json.loads(_native.record_session(options.to_json()))
    except ValueError as error:
        raise InputError(str(error)) from error
    return facts


class Recording:
    """A recording in a thread of its own, into a log that others write too.

    It begins at once: when the constructor returns, the first sample has been taken. The recorder's own
    process makes no user active, so that a driver in it does not count as a user.

    Parameters
    ----------
    writer : NativeLogWriter
        The writer of the log, opened with `session`.
    options : RecordOptions
        What to record, and how often.
    """

    def __init__(self, writer: NativeLogWriter, options: RecordOptions) -> None:
        from thinktime import _native

        try:
            self._native = _native.NativeRecording(writer, options.to_json())
        except ValueError as error:
            raise InputError(str(error)) from error
        self.summary: dict[str, Any] | None = None

    def new_part(self) -> None:
        """End the open part of the log and start a new one."""
        self._native.new_part()

    def stop(self) -> dict[str, Any]:
        """End the recording within a second and return its summary, as `record` does; twice is once.

        Raises
        ------
        WorkError
            Recording failed on the way.
        """
        from thinktime import _native

        if self.summary is None:
            try:
                self.summary = json.loads(self._native.stop())
            except (ValueError, _native.NativeRecordError) as error:
                raise WorkError(str(error)) from error
        return self.summary

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, place: TracebackType | None
    ) -> None:
        del kind, place
        try:
            self.stop()
        except WorkError:
            # What went wrong inside is what the caller wants to hear of.
            if error is None:
                raise


def examine() -> Examination:
    """Find out what this machine can measure, what is only sampled or always zero, and what a sample costs.

    Takes about two seconds, most of them a load that tries whether CPU time is sampled at the tick.

    Raises
    ------
    WorkError
        There is no ``/proc`` to read.
    """
    from thinktime import _native

    try:
        text, facts = _native.examine_machine()
    except _native.NativeRecordError as error:
        raise WorkError(str(error)) from error
    return Examination(text.rstrip("\n"), json.loads(facts))
