"""The writer of a log, for sources in Python."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, get_args

from thinktime import _native
from thinktime.errors import InputError
from thinktime.log.log import Column, LogError, Mode, check_path, vocabulary

if TYPE_CHECKING:
    import polars as pl


class LogWriter:
    """Writer of a log; a folder has at most one at a time.

    Use `LogWriter.open` as a context manager. Leaving it by an exception keeps the written rows and leaves
    the session without an end, as a killed recorder does.
    """

    def __init__(self, native: _native.NativeLogWriter) -> None:
        self.native = native
        self.end_us: int | None = None
        """End of a session in the past, microseconds since 1970 UTC; None for now."""

    @classmethod
    def open(
        cls,
        path: str | Path,
        mode: Mode = "create",
        *,
        source: str,
        machine: Mapping[str, object] | None = None,
        options: Mapping[str, object] | None = None,
        boot_id: str | None = None,
        start_us: int | None = None,
    ) -> LogWriter:
        """Writer of the log in folder `path`, with a new session.

        Parameters
        ----------
        path : str or Path
            Folder of the log.
        mode : {"create", "resume", "replace"}
            For a log that already exists: refuse it, append a session to it, or remove it first.
        source : str
            Name of the source: ``linux``, ``sar``, the name of a simulated system.
        machine, options : dict, optional
            Description of the machine, and options of the source, for the manifest.
        boot_id : str, optional
            Identity of the boot of the machine.
        start_us : int, optional
            Start of the session, microseconds since 1970 UTC; now by default.

        Raises
        ------
        LogError
            The folder is already a log (``create``), is not a log, or another writer has it.
        InputError
            There is no such mode.
        TypeError
            `path` is neither a string nor a path, or `machine` or `options` contain other than plain values.
        """
        check_path(path)
        if Path(path).is_file():
            raise LogError(f"{path}: is a file; name a folder that does not exist yet")
        if mode not in get_args(Mode):
            raise InputError(f"mode {mode!r} does not exist; the modes are {', '.join(get_args(Mode))}")
        session = {
            "source": source,
            "machine": machine or {},
            "options": options or {},
            "boot_id": boot_id,
            "start_us": time.time_ns() // 1000 if start_us is None else start_us,
        }
        try:
            return cls(_native.NativeLogWriter(str(path), mode, session))
        except ValueError as error:
            raise LogError(str(error)) from None

    def write(self, table: str, frame: pl.DataFrame, schema: Sequence[Column] | None = None) -> None:
        """Write `frame` as a complete part of `table`.

        Parameters
        ----------
        table : str
            Name of the table.
        frame : polars.DataFrame
            Rows; missing columns become null.
        schema : sequence of Column, optional
            Columns of the table; the vocabulary's by default.

        Raises
        ------
        LogError
            `frame` has a column that `schema` lacks, or values that do not fit its types.
        TypeError
            `frame` is not a data frame with an Arrow stream.
        """
        if not hasattr(frame, "__arrow_c_stream__"):
            raise TypeError(f"frame is a {type(frame).__name__}; a polars.DataFrame is needed")
        columns = vocabulary(table) if schema is None else schema
        description = {"name": table, "columns": [_described(column) for column in columns]}
        self._call(self.native.write, description, frame)

    def incident(
        self, kind: str, detail: str, *, count: int = 1, span_us: tuple[int, int] | None = None
    ) -> None:
        """Count an incident that readers of the log must know of.

        Parameters
        ----------
        kind, detail : str
            Description; incidents of the same kind and detail are counted together.
        count : int
            Number of times it happened.
        span_us : (int, int), optional
            First and last time, microseconds since 1970 UTC; now by default.
        """
        self._call(self.native.incident, kind, detail, count, span_us)

    def set(self, key: str, value: object) -> None:
        """Set a fact of this session under `key` in the manifest; plain dicts, lists, numbers and texts."""
        self._call(self.native.set, key, value)

    def finish(self) -> None:
        """Seal the open part and end the session cleanly, at `end_us` if that was set, or now."""
        self._call(self.native.finish, self.end_us)

    def __enter__(self) -> LogWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.finish()

    @staticmethod
    def _call(act: Any, *arguments: Any) -> None:
        try:
            act(*arguments)
        except ValueError as error:
            raise LogError(str(error)) from None


def _described(column: Column) -> dict[str, Any]:
    return {key: value for key, value in asdict(column).items() if value is not None}
