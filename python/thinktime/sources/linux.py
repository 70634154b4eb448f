"""The Linux recorder, from Python: into its own log, or into one shared with other writers.

The recorder itself is Rust (`crates/recorder`) and runs in its own thread without the interpreter, so that
Python work during a recording loses only the CPU time of the samples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal

from thinktime.errors import InputError, WorkError

if TYPE_CHECKING:
    from thinktime._native import (
        NativeView,
        _Examination,
        _Progress,
        _RecordOptions,
        _RecordSummary,
        _Session,
    )
    from thinktime.log import LogWriter, Mode

By = Literal["uid", "session", "cgroup", "none"]
Method = Literal["auto", "procfs", "taskstats", "iterator"]
Attach = Literal["auto", "tp_btf", "raw_tracepoint", "tracepoint"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOptions:
    """Options of a recording."""

    interval_s: float = 5.0
    """Mean time between samples [s]; at least 0.1."""
    duration_s: float | None = None
    """Time after which the recording ends [s]; None to end it by `Recording.stop` or a signal. One shorter
    than the interval gives one sample."""
    jitter: float = 0.1
    """Share of the interval, 0 to 0.45, by which each sample is moved either way at random, so that samples
    are in step neither with the kernel's tick nor with the load."""
    seed: int = 0
    """Seed of the random numbers that move the samples."""
    by: By = "uid"
    """Identity of a user: user id, login session or control group; with ``session``, the active users are
    those at a terminal."""
    method: Method = "auto"
    """Source of the numbers by process; ``auto`` measures at the start which costs less."""
    commands: int = 20
    """Most commands with a row of their own in an interval; the others of each user have one row together."""
    arguments: bool = False
    """True to name commands by their whole line. Arguments may be private."""
    trace: bool = False
    """True to count in the kernel where the time of tasks goes, into table ``latencies``; needs root, or
    CAP_BPF and CAP_PERFMON."""
    trace_events: bool = False
    """True to trace and to write every event, into table ``events``."""
    trace_attach: Attach = "auto"
    """How the programs of a trace are attached: to tracepoints with typed arguments, to raw ones, or to those
    with fields alone, which tell least and need no debugging information of the kernel."""
    mode_sampling: bool = True
    """True to sample the modes of the CPUs out of step with the tick, where the kernel permits it."""
    gauges_every_s: float = 30.0
    """Time between two readings of what changes slowly: who is there, and the memory of users and control
    groups [s]; at least 1."""
    anonymous: bool = False
    """True to record pseudonyms instead of names and numbers of users, sessions and terminals."""
    anonymous_key: str | None = None
    """File with the key of the pseudonyms, so that several logs have the same; None for a key that is
    forgotten when the recording ends. A file makes the recording anonymous."""
    root: str = "/"
    """Root of the recorded file tree; other than ``/`` only in tests."""
    keep_bytes: int | None = None
    """Size of the log beyond which its oldest parts are removed [byte]."""
    keep_days: float | None = None
    """Age beyond which parts of the log are removed [day]."""
    listen: str | None = None
    """Address at which Prometheus finds the totals, ``HOST:PORT`` or a port of this machine alone."""
    textfile: str | None = None
    """File that has them for node_exporter's textfile collector; its name ends in ``.prom``."""

    def _given(self) -> _RecordOptions:
        return {
            "interval_s": self.interval_s,
            "duration_s": self.duration_s,
            "jitter": self.jitter,
            "seed": self.seed,
            "by": self.by,
            "method": self.method,
            "commands": self.commands,
            "arguments": self.arguments,
            "trace": self.trace,
            "trace_events": self.trace_events,
            "trace_attach": self.trace_attach,
            "mode_sampling": self.mode_sampling,
            "gauges_every_s": self.gauges_every_s,
            "anonymous": self.anonymous,
            "anonymous_key": self.anonymous_key,
            "root": self.root,
            "keep_bytes": self.keep_bytes,
            "keep_days": self.keep_days,
            "listen": self.listen,
            "textfile": self.textfile,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """Examination of the counters that this machine can measure."""

    text: str
    """Summary as text."""
    facts: _Examination
    """The same for programs: ``machine``, ``abilities``, ``costs``, ``processes``."""


def record(
    log: str | Path,
    options: RecordOptions | None = None,
    mode: Mode = "create",
    on_progress: Callable[[_Progress], None] | None = None,
    on_notice: Callable[[str], None] | None = None,
) -> _RecordSummary:
    """Summary of a recording of this machine into `log`.

    The recording ends after the duration, or by SIGINT or SIGTERM; SIGHUP starts a new part.

    Parameters
    ----------
    log : str or Path
        Folder of the log.
    options : RecordOptions, optional
        Extent and interval of the recording; by default, a sample every 5 s until a signal.
    mode : {"create", "resume", "replace"}
        For a log that already exists: refuse it, append a session to it, or remove it first.
    on_progress : callable, optional
        Called at the start and after every sample with ``samples``, ``elapsed_s``, ``busy``,
        ``active_users`` and ``written_bytes``. An exception that it raises ends the recording.
    on_notice : callable, optional
        Called at once with a sentence when the disk is full or another program changed the log.

    Returns
    -------
    dict
        ``samples_taken`` is the sum of ``samples`` (in the log), ``samples_lost`` and ``dropped_intervals``;
        ``missed_deadlines``; ``facts``, the content of the manifest under ``recorder``: cost of a sample,
        missing sources, exact and sampled CPU time.

    Raises
    ------
    InputError
        An option cannot be used, or the log cannot be written, for example because another recorder has it.
    WorkError
        Recording failed on the way. The message says how many samples the log holds, where it is now, and
        how many samples are lost.
    """
    from thinktime import _native

    if Path(log).is_file():
        raise InputError(f"{log}: is a file; name a folder that does not exist yet")
    try:
        summary = _native.record(
            str(log), mode, (options or RecordOptions())._given(), on_progress, on_notice
        )
    except ValueError as error:
        raise InputError(str(error)) from error
    except _native.NativeRecordError as error:
        raise WorkError(str(error)) from error
    return summary


def record_and_view(
    view: NativeView,
    log: Path | None,
    options: RecordOptions,
    mode: Mode,
    on_open: Callable[[Path], None],
) -> _RecordSummary:
    """Summary of a recording that is shown on the terminal meanwhile, until a key or a signal ends the view.

    Parameters
    ----------
    view : NativeView
        View, which other threads may tell how many users fit.
    log : Path or None
        Folder of the log; None for one that is removed at the end.
    options : RecordOptions
        Extent and interval of the recording.
    mode : {"create", "resume", "replace"}
        For a log that already exists: refuse it, append a session to it, or remove it first.
    on_open : callable
        Called with the folder of the log before the view begins.

    Raises
    ------
    InputError
        An option cannot be used, the log cannot be written, or standard output is no terminal.
    WorkError
        Recording or showing failed on the way.
    """
    if log is not None and log.is_file():
        raise InputError(f"{log}: is a file; name a folder that does not exist yet")
    try:
        return view.record(log, mode, options._given(), on_open)
    except ValueError as error:
        raise InputError(str(error)) from error
    except RuntimeError as error:
        raise WorkError(str(error)) from error


def session(options: RecordOptions) -> _Session:
    """Session with which to open a log that a `Recording` shares with other sources.

    Raises
    ------
    InputError
        An option cannot be used.
    """
    from thinktime import _native

    try:
        return _native.record_session(options._given())
    except ValueError as error:
        raise InputError(str(error)) from error


class Recording:
    """Recording in its own thread, into a log shared with other writers.

    When the constructor returns, the first sample has been taken. The process of the recorder does not make
    its user active, so that a driver in the same process does not count as a user.

    Parameters
    ----------
    writer : LogWriter
        Writer of the log, opened with `session`.
    options : RecordOptions
        Extent and interval of the recording.

    Raises
    ------
    InputError
        An option cannot be used.
    """

    def __init__(self, writer: LogWriter, options: RecordOptions) -> None:
        from thinktime import _native

        try:
            self._native = _native.NativeRecording(writer.native, options._given())
        except ValueError as error:
            raise InputError(str(error)) from error
        self.summary: _RecordSummary | None = None
        """Summary as `record` returns it; None before `stop`."""

    def new_part(self) -> None:
        """End the open part of the log and start a new one."""
        self._native.new_part()

    def stop(self) -> _RecordSummary:
        """Summary of the recording, which ends within a second; a second call returns the same.

        Raises
        ------
        WorkError
            Recording failed on the way.
        """
        from thinktime import _native

        if self.summary is None:
            try:
                self.summary = self._native.stop()
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
            # An error of the block itself is the cause that the caller needs.
            if error is None:
                raise


def examine() -> Examination:
    """Examination of this machine: measured, sampled and always-zero counters, and the cost of a sample.

    Takes about two seconds, most of them for a load that shows whether CPU time is sampled at the tick.

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
    return Examination(text=text.rstrip("\n"), facts=facts)
