"""The log: the format that every source writes and every analysis reads.

A log is a folder: ``manifest.json`` and one folder of Parquet files per table. Any Parquet reader can
read it; this module adds the rows of the open part, the units, kinds and roles of the columns, and the
incidents that were counted while it was written.
"""

from __future__ import annotations

import fcntl
import functools
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from thinktime import _native
from thinktime.errors import InputError, offered

if TYPE_CHECKING:
    import polars as pl

Type = Literal["u64", "i64", "f64", "bool", "text", "time"]
Kind = Literal["counter", "gauge", "time", "label"]
Mode = Literal["create", "resume", "replace"]
"""Whether a writer makes a new log, appends to one that is there, or takes its place."""
Role = Literal["system_time", "user_time", "idle_time", "request", "load", "throughput"]


UNFINISHED = "unfinished"
"""File in the folder of a log with the number of replications asked for, until all are in the log."""


class LogError(InputError):
    """A log cannot be read or written; the message names the file, the cause and the remedy."""


class LogWarning(UserWarning):
    """A log is not the one that was written, and what is computed from it may be wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table."""

    name: str
    """Name, with the unit last where the noun does not imply it: ``cpu_exact_s``."""
    type: Type
    """Type in which values are stored; ``time`` is microseconds since 1970 UTC."""
    unit: str
    """Symbol or noun: ``s``, ``byte``, ``page``; empty for a label."""
    kind: Kind
    """Counters are amounts in the interval, gauges readings at its end."""
    description: str
    """What is counted, and where the number comes from."""
    role: Role | None = None
    """Use that analyses make of the column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """Defect of a log."""

    severity: Literal["note", "error"]
    """``error`` if rows are lost or wrong, otherwise ``note``."""
    law: str = ""
    """Name of the law of logs that the rows break; empty where the file itself is at fault."""
    file: str
    """File of the log."""
    place: str
    """Place in the file: a byte, a row; empty for the whole file."""
    item: str
    """Column, key of the manifest, or block."""
    message: str
    """Observation, and the correct state."""
    remedy: str
    """Remedy."""


def _columns(table: _native._Table | dict[str, Any]) -> tuple[Column, ...]:
    return tuple(Column(**column) for column in table["columns"])


def _check_folder(path: Path) -> None:
    """Refuse a path at which there can be no log, and name the logs next to it."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise LogError(
            f"{path}: its name is not UTF-8, so that its tables cannot be read; rename the folder"
        ) from None
    try:
        if path.is_dir():
            return
    except OSError:
        # The folder above may not be read: opening says so.
        return
    if path.exists():
        is_inside = (path.parent / "manifest.json").is_file()
        remedy = f"name the folder, {path.parent}" if is_inside else "name the folder of a log"
        raise LogError(f"{path}: is a file; {remedy}")
    here = sorted(found.parent.name for found in path.parent.glob("*/manifest.json"))
    hint = offered(path.name, here) if here else "`thinktime record -o run` makes one"
    raise LogError(f"{path}: there is no such log; {hint}")


@functools.cache
def _vocabulary() -> dict[str, tuple[Column, ...]]:
    return {table["name"]: _columns(table) for table in _native.vocabulary()}


def tables() -> tuple[str, ...]:
    """Names of the tables for which the vocabulary has columns."""
    return tuple(_vocabulary())


def machine_schema() -> dict[str, Any]:
    """JSON Schema of the ``machine`` of a session in the manifest, which `Log.check` enforces.

    A value marked with ``columnOf`` must name a column of that table; null is the same as an absent key.
    """
    return _native.machine_schema()


def vocabulary(table: str) -> tuple[Column, ...]:
    """Columns of `table` common to all sources, in order.

    Parameters
    ----------
    table : str
        Name of a table: ``samples``, ``users``, ``cpus``, ``disks``, ``interfaces``, ``interactions``,
        ``events``, ``commands``, ``presence``, ``groups`` or ``latencies``.

    Raises
    ------
    LogError
        The vocabulary has no such table.
    """
    columns = _vocabulary().get(table)
    if columns is None:
        raise LogError(f"table {table!r} does not exist; the tables are {', '.join(_vocabulary())}")
    return columns


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


@functools.cache
def _empty(columns: tuple[tuple[str, Type], ...]) -> tuple[dict[str, pl.DataType], pl.LazyFrame]:
    """Types of columns by name, and a frame of them without rows: a question joins it a hundred times."""
    import polars as pl

    schema = {name: _polars_type(kind) for name, kind in columns}
    return schema, pl.LazyFrame(schema=schema)


def _scan(files: Sequence[str], superseded: dict[str, str], schema: dict[str, pl.DataType]) -> pl.LazyFrame:
    """Rows of Parquet files; `superseded` maps columns of an older version of the format to today's names."""
    import polars as pl

    # A folder may be named `run[1]`: names are no patterns.
    frame = pl.scan_parquet(list(files), glob=False)
    if not superseded:
        return frame
    return frame.rename(superseded).with_columns(
        pl.col(name).cast(schema[name]) for name in superseded.values()
    )


def _inside(part: tuple[int, int], schema: dict[str, pl.DataType]) -> pl.Expr:
    """Condition that a row lies in a time; a table without instants has all its rows."""
    import polars as pl

    instant = next((name for name in ("start", "due", "time") if name in schema), None)
    if instant is None:
        return pl.lit(True)
    begins = pl.col(instant).dt.epoch("us")
    length_us = (pl.col("length_s") * 1e6).round().cast(pl.Int64) if "length_s" in schema else pl.lit(0)
    return (begins >= part[0]) & (begins + length_us <= part[1])


class Log:
    """A log as it stood when it was opened.

    Use `Log.open`. Tables are polars LazyFrames; `arrow` gives any other Arrow consumer the same
    rows with the columns' metadata.
    """

    def __init__(self, path: Path, native: _native.NativeLog) -> None:
        self.path = path
        self._native = native
        self.manifest = native.manifest()
        """Contents of ``manifest.json``, with the incidents of the open part."""
        self._schemas = {table["name"]: _columns(table) for table in self.manifest["tables"]}
        self._part: tuple[int, int] | None = None

    @classmethod
    def open(cls, path: str | Path) -> Log:
        """Log in folder `path`, which a writer may still have open.

        Parameters
        ----------
        path : str or Path
            Folder of the log.

        Raises
        ------
        LogError
            `path` is not a log, or a log of a newer format.
        TypeError
            `path` is neither a string nor a path.
        """
        check_path(path)
        _check_folder(Path(path))
        try:
            return cls(Path(path), _native.NativeLog(str(path)))
        except _native.NativeLogError as error:
            # Without a manifest there is nothing else that could be checked.
            text = re.sub(r" \(os error \d+\)", "", str(error)).replace(
                "`thinktime check` lists what can still be read",
                "restore it from a copy; the tables are Parquet files, which other programs can read",
            )
            raise LogError(text) from None

    def between(self, start_us: int, end_us: int) -> Log:
        """The same log, of whose tables only the rows of a time are read.

        An interval counts if all of it lies in that time, an interaction if it was due then, an event if it
        happened then. The manifest, `check` and `arrow` are those of the whole log.

        Parameters
        ----------
        start_us, end_us : int
            Ends of the time, microseconds since 1970 UTC.
        """
        part = Log(self.path, self._native)
        part._part = (start_us, end_us)
        return part

    @property
    def is_part(self) -> bool:
        """True if only the rows of a time are read (`between`)."""
        return self._part is not None

    def __repr__(self) -> str:
        return f"Log({str(self.path)!r}, tables={list(self._schemas)})"

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables that a source declared."""
        return tuple(self._schemas)

    def has(self, table: str) -> bool:
        """True if the log has a row of `table`."""
        if self._part is not None:
            return table in self._schemas and not self.table(table).head(1).collect().is_empty()
        return any(group["rows"] for group in self._part_groups(table)) or self._open_rows(table) is not None

    def schema(self, table: str) -> tuple[Column, ...]:
        """Columns of `table`: of this log, or of the vocabulary where the log has no such table."""
        return self._schemas.get(table) or vocabulary(table)

    def columns_with(self, role: Role, table: str = "samples") -> list[str]:
        """Names of the columns of `table` that have `role`, in order.

        Parameters
        ----------
        role : {"system_time", "user_time", "idle_time", "request", "load", "throughput"}
            Use that analyses make of a column.
        table : str
            Name of the table.

        Raises
        ------
        InputError
            There is no such role.
        """
        if role not in get_args(Role):
            raise InputError(f"role {role!r} does not exist; the roles are {', '.join(get_args(Role))}")
        return [column.name for column in self.schema(table) if column.role == role]

    def table(self, name: str) -> pl.LazyFrame:
        """Rows of table `name`, in the order in which they were written.

        Complete parts are scanned in place; only the rows of the open part are in memory. A table that
        the log does not have is empty, with the columns of the vocabulary.

        Raises
        ------
        LogError
            A part cannot be read, or neither the log nor the vocabulary has such a table.
        """
        return self._joined(name, self._part_groups(name), self._open_rows(name))

    def in_turn(self, name: str, bytes_max: int = 8 << 20) -> Iterator[pl.LazyFrame]:
        """Rows of table `name` in several frames, in order.

        Each frame covers at least one complete part, and as many as fit into `bytes_max` of Parquet, so that
        collecting one frame after another needs memory for a few parts, however long the log is.

        Parameters
        ----------
        name : str
            Name of the table.
        bytes_max : int
            Size of the Parquet files of one frame.

        Raises
        ------
        LogError
            A part cannot be read, or neither the log nor the vocabulary has such a table.
        """
        groups = self._part_groups(name)
        for group in groups:
            files: list[str] = []
            size = 0
            for path in group["files"]:
                bytes_more = os.stat(path).st_size
                if files and size + bytes_more > bytes_max:
                    yield self._joined(name, [{**group, "files": files}])
                    files, size = [], 0
                files.append(path)
                size += bytes_more
            yield self._joined(name, [{**group, "files": files}])
        open_rows = self._open_rows(name)
        if open_rows is not None or not groups:
            yield self._joined(name, [], open_rows)

    def _part_groups(self, name: str) -> list[_native._PartGroup]:
        """Files of the complete parts, in order; neighbours with the same columns together."""
        if name not in self._schemas:
            return []
        try:
            return self._native.part_groups(name)
        except _native.NativeLogError as error:
            raise LogError(str(error)) from None

    def _open_rows(self, name: str) -> _native.ArrowTable | None:
        """Rows of the open part; None if it has none."""
        if name not in self._schemas:
            return None
        try:
            return self._native.open_rows(name)
        except _native.NativeLogError as error:
            raise LogError(str(error)) from None

    def _joined(
        self, name: str, groups: Sequence[_native._PartGroup], open_rows: _native.ArrowTable | None = None
    ) -> pl.LazyFrame:
        """Rows of these files, and of the open part."""
        import polars as pl

        schema, empty = _empty(tuple((column.name, column.type) for column in self.schema(name)))
        frames = [_scan(group["files"], group["superseded"], schema) for group in groups]
        if open_rows is not None:
            frames.append(pl.DataFrame(open_rows).lazy())
        # An empty frame first gives the columns' order and the types of those that a part lacks.
        rows = pl.concat([empty, *frames], how="diagonal")
        return rows if self._part is None else rows.filter(_inside(self._part, schema))

    def samples(self) -> pl.LazyFrame:
        """Rows of `samples`: one per interval."""
        return self.table("samples")

    def users(self) -> pl.LazyFrame:
        """Rows of `users`: one per interval and active user."""
        return self.table("users")

    def commands(self) -> pl.LazyFrame:
        """Rows of `commands`: one per interval, user and command; the smaller ones of a user in one row."""
        return self.table("commands")

    def presence(self) -> pl.LazyFrame:
        """Rows of `presence`: one per user with a process, active or not, at a slow beat."""
        return self.table("presence")

    def groups(self) -> pl.LazyFrame:
        """Rows of `groups`: one per interval and control group that used something; memory at a slow beat."""
        return self.table("groups")

    def cpus(self) -> pl.LazyFrame:
        """Rows of `cpus`: one per interval and CPU."""
        return self.table("cpus")

    def disks(self) -> pl.LazyFrame:
        """Rows of `disks`: one per interval and active disk."""
        return self.table("disks")

    def interfaces(self) -> pl.LazyFrame:
        """Rows of `interfaces`: one per interval and active network interface."""
        return self.table("interfaces")

    def interactions(self) -> pl.LazyFrame:
        """Rows of `interactions`: one per input, with all the work that it requested."""
        return self.table("interactions")

    def events(self) -> pl.LazyFrame:
        """Rows of `events`: one per event of the trace."""
        return self.table("events")

    def latencies(self) -> pl.LazyFrame:
        """Rows of `latencies`: one per interval and bucket of a traced duration by user and command."""
        return self.table("latencies")

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

    def integrity(self) -> list[Defect]:
        """Differences between the log and what was written: parts missing, added or changed, damage.

        The bytes of every part are read and compared with the ledger; rows are not decoded. `check` finds
        these and more.

        Raises
        ------
        LogError
            A file of the log cannot be opened.
        """
        return self._defects(self._native.integrity)

    def check(self) -> list[Defect]:
        """Defects of the log, found by reading all of it; empty for a sound log.

        A note tells of a last session that has no end although no writer holds the log, and of a simulation
        that was interrupted.

        Raises
        ------
        LogError
            A file of the log cannot be opened.
        """
        return [*self._defects(self._native.check), *self._without_end(), *self._unfinished()]

    @property
    def asked(self) -> int | None:
        """Replications asked for, of a simulation of which not all are in the log; None if all are."""
        try:
            asked = int((Path(self.path) / UNFINISHED).read_text(encoding="ascii"))
        except (OSError, ValueError):
            return None
        return asked if asked > len(self.manifest["sessions"]) else None

    @property
    def unfinished(self) -> str:
        """Sentence on a simulation of which not all replications are in the log; empty if all are."""
        if (asked := self.asked) is None:
            return ""
        held = len(self.manifest["sessions"])
        return f"{held} of {asked} replications are in the log: the simulation was interrupted, or still runs"

    def _unfinished(self) -> list[Defect]:
        if not (sentence := self.unfinished):
            return []
        note = Defect(
            severity="note",
            file=str(Path(self.path) / UNFINISHED),
            place="",
            item="replications",
            message=sentence,
            remedy="simulate the others with --resume, and with --replications their number",
        )
        return [note]

    def _without_end(self) -> list[Defect]:
        sessions = self.manifest["sessions"]
        if not sessions or sessions[-1].get("end_us") is not None or _is_held(Path(self.path) / "lock"):
            return []
        note = Defect(
            severity="note",
            file=str(Path(self.path) / "manifest.json"),
            place=f"session {len(sessions)}",
            item="end_us",
            message="the session has no end, and nobody writes it: "
            "its writer was killed, or the disk was full",
            remedy="what was recorded last, and the incidents of that time, may be missing",
        )
        return [note]

    @staticmethod
    def _defects(find: Callable[[], list[_native._Defect]]) -> list[Defect]:
        try:
            return [Defect(**defect) for defect in find()]
        except _native.NativeLogError as error:
            raise LogError(str(error)) from None


def _is_held(lock: Path) -> bool:
    """True if a writer has the log, or nobody can know."""
    try:
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def check_path(path: object) -> None:
    """Refuse what is no path.

    Raises
    ------
    TypeError
        `path` is neither a string nor a path.
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path is a {type(path).__name__}; a text or a path is needed")
