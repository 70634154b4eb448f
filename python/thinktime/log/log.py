"""The log: what every source writes and every analysis reads.

A log is a folder: ``manifest.json`` and one folder of Parquet files a table. Any Parquet reader can
read it; this module adds the rows of the part that is still open, the columns' units, kinds and
roles, and the list of what went wrong while it was written.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, get_args

from thinktime import _native
from thinktime.errors import InputError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Column", "Finding", "Kind", "Log", "LogError", "LogWriter", "Role", "Type", "vocabulary"]

Type = Literal["u64", "i64", "f64", "bool", "text", "time"]
Kind = Literal["counter", "gauge", "time", "label"]
Role = Literal["system_time", "user_time", "idle_time", "request", "load", "throughput"]


class LogError(InputError):
    """A log cannot be read or written. The message names the file, the cause and the remedy."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Parameters
    ----------
    name : str
        Name, with the unit last where it is not plain from the noun: ``cpu_exact_s``.
    type : {"u64", "i64", "f64", "bool", "text", "time"}
        How values are stored; ``time`` is microseconds since 1970 UTC.
    unit : str
        Symbol or noun: ``s``, ``byte``, ``page``.
    kind : {"counter", "gauge", "time", "label"}
        Counters are amounts in the interval, gauges readings at its end.
    description : str
        What is counted, and where the figure comes from.
    role : str or None
        What an analysis uses the column for.
    """

    name: str
    type: Type
    unit: str
    kind: Kind
    description: str
    role: Role | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a log."""

    severity: Literal["note", "error"]
    file: str
    place: str
    item: str
    message: str
    remedy: str


def _columns(table: dict[str, Any]) -> tuple[Column, ...]:
    return tuple(Column(**column) for column in table["columns"])


@functools.cache
def _vocabulary() -> dict[str, tuple[Column, ...]]:
    return {table["name"]: _columns(table) for table in json.loads(_native.vocabulary())}


def tables() -> tuple[str, ...]:
    """Names of the tables that the vocabulary has columns for."""
    return tuple(_vocabulary())


def vocabulary(table: str) -> tuple[Column, ...]:
    """Columns that every source shares for `table`, in order.

    Raises
    ------
    LogError
        The vocabulary has no such table.
    """
    try:
        return _vocabulary()[table]
    except KeyError:
        raise LogError(f"there is no table {table!r}; the tables are {', '.join(_vocabulary())}") from None


def _polars_type(kind: Type) -> pl.DataType:
    import polars as pl

    types: dict[Type, pl.DataType] = {
        "u64": pl.UInt64(),
        "i64": pl.Int64(),
        "f64": pl.Float64(),
        "bool": pl.Boolean(),
        "text": pl.String(),
        "time": pl.Datetime("us", "UTC"),
    }
    return types[kind]


_Group = tuple[list[Path], dict[str, str]]
"""Parquet files with the same columns, and of an earlier version's columns among them the name of today."""


def _scan(files: list[Path], superseded: dict[str, str], schema: dict[str, pl.DataType]) -> pl.LazyFrame:
    import polars as pl

    frame = pl.scan_parquet([str(path) for path in files])
    if not superseded:
        return frame
    return frame.rename(superseded).with_columns(
        pl.col(name).cast(schema[name]) for name in superseded.values()
    )


class Log:
    """A log as it stood when it was opened.

    Use `Log.open`. Tables are polars LazyFrames; `arrow` gives any other Arrow consumer the same
    rows with the columns' metadata.
    """

    def __init__(self, path: Path, native: _native.NativeLog) -> None:
        self.path = path
        self._native = native
        self.manifest: dict[str, Any] = json.loads(native.manifest())
        self._schemas = {table["name"]: _columns(table) for table in self.manifest["tables"]}

    @classmethod
    def open(cls, path: str | Path) -> Log:
        """Open the log in folder `path`, also while it is being written.

        Raises
        ------
        LogError
            `path` is no log, or a log of a newer format.
        """
        try:
            return cls(Path(path), _native.NativeLog(str(path)))
        except _native.NativeLogError as error:
            raise LogError(str(error)) from None

    def __repr__(self) -> str:
        return f"Log({str(self.path)!r}, tables={list(self._schemas)})"

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables that some source declared."""
        return tuple(self._schemas)

    def has(self, table: str) -> bool:
        """Whether the log has any row of `table`."""
        return table in self._schemas and not self.table(table).head(1).collect().is_empty()

    def schema(self, table: str) -> tuple[Column, ...]:
        """Columns of `table`: of this log, or of the vocabulary where the log has no such table."""
        return self._schemas.get(table) or vocabulary(table)

    def columns_with(self, role: Role, table: str = "samples") -> list[str]:
        """Names of the columns of `table` that have `role`, in order.

        Raises
        ------
        ValueError
            There is no such role.
        """
        if role not in get_args(Role):
            raise ValueError(f"there is no role {role!r}; the roles are {', '.join(get_args(Role))}")
        return [column.name for column in self.schema(table) if column.role == role]

    def table(self, name: str) -> pl.LazyFrame:
        """Rows of table `name`, in the order in which they were written.

        Complete parts are scanned where they lie; only the rows of the open part are in memory. A
        table that the log has not is empty, with the columns of the vocabulary.

        Raises
        ------
        LogError
            A part cannot be read, or there is no such table anywhere.
        """
        return self._joined(name, self._parts(name), open_part=True)

    def in_turn(self, name: str, bytes_max: int = 8 << 20) -> Iterator[pl.LazyFrame]:
        """Rows of table `name` as `table` gives them, in several frames one after another.

        Each frame covers complete parts of together at most `bytes_max` of Parquet, one part at least, so
        that who collects one after another needs the memory of a few parts, however long the log.

        Raises
        ------
        LogError
            A part cannot be read, or there is no such table anywhere.
        """
        for files, superseded in self._parts(name):
            some: list[Path] = []
            size = 0
            for path in files:
                bytes_more = path.stat().st_size
                if some and size + bytes_more > bytes_max:
                    yield self._joined(name, [(some, superseded)])
                    some, size = [], 0
                some.append(path)
                size += bytes_more
            yield self._joined(name, [(some, superseded)])
        yield self._joined(name, [], open_part=True)

    def _parts(self, name: str) -> list[_Group]:
        """Files of the complete parts, in order, those with the same columns together."""
        if name not in self._schemas:
            return []
        try:
            return self._native.part_groups(name)
        except _native.NativeLogError as error:
            raise LogError(str(error)) from None

    def _joined(self, name: str, groups: Sequence[_Group], *, open_part: bool = False) -> pl.LazyFrame:
        """Rows of these files, and of the open part."""
        import polars as pl

        schema = {column.name: _polars_type(column.type) for column in self.schema(name)}
        frames = [_scan(files, superseded, schema) for files, superseded in groups]
        if open_part and name in self._schemas:
            try:
                open_rows = self._native.open_rows(name)
            except _native.NativeLogError as error:
                raise LogError(str(error)) from None
            if open_rows is not None:
                frames.append(pl.DataFrame(open_rows).lazy())
        # An empty frame first gives the columns' order and the types of those that a part lacks.
        return pl.concat([pl.LazyFrame(schema=schema), *frames], how="diagonal")

    def samples(self) -> pl.LazyFrame:
        """Rows of `samples`: one an interval."""
        return self.table("samples")

    def users(self) -> pl.LazyFrame:
        """Rows of `users`: one an interval and user who did anything."""
        return self.table("users")

    def cpus(self) -> pl.LazyFrame:
        """Rows of `cpus`: one an interval and CPU."""
        return self.table("cpus")

    def disks(self) -> pl.LazyFrame:
        """Rows of `disks`: one an interval and disk that did anything."""
        return self.table("disks")

    def interfaces(self) -> pl.LazyFrame:
        """Rows of `interfaces`: one an interval and network interface that did anything."""
        return self.table("interfaces")

    def interactions(self) -> pl.LazyFrame:
        """Rows of `interactions`: one an input and all the work that it asked for."""
        return self.table("interactions")

    def events(self) -> pl.LazyFrame:
        """Rows of `events`: one an event of the trace."""
        return self.table("events")

    def arrow(self, table: str) -> _native.ArrowTable:
        """Rows of `table` for any consumer of the Arrow PyCapsule interface, all in memory.

        The fields carry ``unit``, ``kind``, ``role`` and ``description`` as metadata.

        Raises
        ------
        LogError
            The log has no such table, or a part cannot be read.
        """
        try:
            rows = self._native.read(table)
        except _native.NativeLogError as error:
            raise LogError(str(error)) from None
        if rows is None:
            raise LogError(f"{self.path} has no table {table!r}; it has {', '.join(self._schemas) or 'none'}")
        return rows

    def check(self) -> list[Finding]:
        """Read everything and list what is wrong, and where; empty when all is well."""
        try:
            return [Finding(**finding) for finding in json.loads(self._native.check())]
        except _native.NativeLogError as error:
            raise LogError(str(error)) from None


class LogWriter:
    """Writes a log; at most one writer at a time for a folder.

    Use `LogWriter.open` as a context manager. Leaving it after an exception keeps what was written
    and leaves the session without an end, as a killed recorder does.
    """

    def __init__(self, native: _native.NativeLogWriter) -> None:
        self.native = native
        self.end_us: int | None = None
        """When the session ended, for one of another time; microseconds since 1970 UTC."""

    @classmethod
    def open(
        cls,
        path: str | Path,
        mode: Literal["create", "continue", "replace"] = "create",
        *,
        source: str,
        machine: dict[str, Any] | None = None,
        options: dict[str, Any] | None = None,
        boot_id: str | None = None,
        start_us: int | None = None,
    ) -> LogWriter:
        """Open the log in folder `path` for writing and begin a session.

        Parameters
        ----------
        path : str or Path
            Folder of the log.
        mode : {"create", "continue", "replace"}
            Whether a log that is there already is refused, gone on with, or removed first.
        source : str
            What writes it: ``linux``, ``sar``, the name of a simulated system.
        machine, options : dict, optional
            What is measured and what was asked for, for the manifest.
        boot_id : str, optional
            Identity of the machine's boot.
        start_us : int, optional
            Start of the session, microseconds since 1970 UTC; now by default.

        Raises
        ------
        LogError
            The folder is a log already (``create``), is something else, or another writer has it.
        """
        session = {
            "source": source,
            "machine": machine or {},
            "options": options or {},
            "boot_id": boot_id,
            "start_us": time.time_ns() // 1000 if start_us is None else start_us,
        }
        try:
            return cls(_native.NativeLogWriter(str(path), mode, json.dumps(session)))
        except _native.NativeLogError as error:
            raise LogError(str(error)) from None

    def write(self, table: str, frame: pl.DataFrame, schema: Sequence[Column] | None = None) -> None:
        """Write `frame` as one complete part of `table`.

        Parameters
        ----------
        table : str
            Name of the table.
        frame : polars.DataFrame
            Rows; columns that it lacks become null.
        schema : sequence of Column, optional
            Columns of the table; the vocabulary's by default.

        Raises
        ------
        LogError
            `frame` has a column that `schema` lacks, or values that do not fit its types.
        """
        columns = vocabulary(table) if schema is None else schema
        description = {"name": table, "columns": [_described(column) for column in columns]}
        self._call(self.native.write, json.dumps(description), frame)

    def incident(
        self, kind: str, detail: str, *, count: int = 1, span_us: tuple[int, int] | None = None
    ) -> None:
        """Count something that a reader of the log must know.

        Parameters
        ----------
        kind, detail : str
            What happened: incidents of the same kind and detail are counted together.
        count : int
            How often.
        span_us : (int, int), optional
            When it happened first and last, microseconds since 1970 UTC; now by default.
        """
        self._call(self.native.incident, kind, detail, count, span_us)

    def set(self, key: str, value: Any) -> None:
        """Say a fact of this session under `key` in the manifest."""
        self._call(self.native.set, key, json.dumps(value))

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
        except _native.NativeLogError as error:
            raise LogError(str(error)) from None


def _described(column: Column) -> dict[str, Any]:
    return {key: value for key, value in asdict(column).items() if value is not None}
