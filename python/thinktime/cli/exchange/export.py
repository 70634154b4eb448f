"""`thinktime export`: the rows of a log for other tools."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, Literal

import typer

from thinktime.cli import completion, destination, messages
from thinktime.cli.progress import counted
from thinktime.errors import InputError, WorkError, offered

if TYPE_CHECKING:
    import polars as pl

    from thinktime.log import Log

TableForm = Literal["csv", "arrow", "parquet", "jsonl"]
SUFFIXES: dict[str, TableForm] = {
    ".csv": "csv",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".parquet": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
WRITING = frozenset({errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Errors of the system that only writing has."""
ENDINGS: dict[TableForm, str] = {"csv": ".csv", "arrow": ".arrow", "parquet": ".parquet", "jsonl": ".jsonl"}


def command(
    log: Annotated[
        Path, typer.Argument(help="Folder of the log.", metavar="LOG", autocompletion=completion.logs)
    ],
    table: Annotated[
        str, typer.Argument(metavar="[TABLE]", help="Table; without it, every table that has rows.")
    ] = "",
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="File, whose ending chooses the format; a folder for several tables; - for standard output.",
        ),
    ] = None,
    form: Annotated[
        TableForm | None,
        typer.Option("--format", help="Format, where no ending says it.", show_default=False),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that already exist.")] = False,
) -> None:
    """Write the rows of a log for other tools: CSV, Arrow, Parquet or JSON lines.

    Each table becomes one file, with the rows that are not yet in the log's Parquet files. Rows are streamed:
    memory does not grow with the log. In CSV, texts that a spreadsheet would take for a formula are preceded
    by an apostrophe, as in reports. Arrow is the IPC file format (Feather).

    Examples:

      thinktime export run users -o users.csv

      thinktime export run samples -o samples.arrow

      thinktime export run -o exported --format parquet

      thinktime export run commands -o - --format jsonl | jq -r .command | sort -u
    """
    from thinktime.log import Log

    opened = Log.open(log)
    if output is None:
        raise InputError("--output: is missing; name a file, as in -o users.csv, or a folder with --format")
    chosen = _tables(opened, table)
    for name, path, written in _files(chosen, output, form, is_one=bool(table)):
        if destination.is_special(path):
            _stream(opened, name, path, written)
            continue
        destination.check_file(path, force)
        with counted(f"writing {path}"):
            _write(opened, name, path, written)
        messages.line(f"{path}")


def _tables(log: Log, table: str) -> list[str]:
    """Tables to write."""
    if table and table not in log.tables:
        raise InputError(f"{table}: {log.path} has no such table; {offered(table, list(log.tables))}")
    if table:
        return [table]
    found = [name for name in log.tables if log.has(name)]
    if not found:
        raise InputError(f"{log.path}: no table has a row: there is nothing to write")
    return found


def _files(
    tables: list[str], output: Path, form: TableForm | None, *, is_one: bool
) -> list[tuple[str, Path, TableForm]]:
    """Table, file and format of each file."""
    suffix = output.suffix.lower()
    if not is_one and destination.is_special(output):
        raise InputError(
            f"-o {output}: is one stream for {len(tables)} tables; name one of {', '.join(tables)}"
        )
    if is_one and not output.is_dir():
        if form is None and suffix not in SUFFIXES:
            was = f"ends in {suffix}, which is not a known format" if suffix else "has no ending"
            raise InputError(f"-o {output}: {was}; give one of {', '.join(SUFFIXES)}, or --format")
        return [(tables[0], output, form or SUFFIXES[suffix])]
    if not is_one and suffix in SUFFIXES:
        raise InputError(
            f"-o {output}: is one file for {len(tables)} tables; name one of {', '.join(tables)}, or a "
            "folder with --format"
        )
    if form is None:
        raise InputError(f"-o {output}: is a folder; say the format, as in --format csv")
    try:
        output.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"-o {output}: cannot be made: {error.strerror or error}") from None
    return [(name, output / f"{name}{ENDINGS[form]}", form) for name in tables]


def _write(log: Log, table: str, path: Path, form: TableForm) -> None:
    """Write all rows of a table, completely or not at all."""
    part = path.with_name(f".{path.name}.part")
    try:
        with open(part, "wb") as file:
            _sink(log, table, file, form, path)
        part.replace(path)
    except OSError as error:
        raise WorkError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        part.unlink(missing_ok=True)


def _stream(log: Log, table: str, path: Path, form: TableForm) -> None:
    """Write all rows of a table to standard output, a device or a pipe."""
    with contextlib.ExitStack() as stack:
        file = sys.stdout.buffer if str(path) == "-" else stack.enter_context(open(path, "wb"))
        _sink(log, table, file, form, path)


def _sink(log: Log, table: str, file: BinaryIO, form: TableForm, path: Path) -> None:
    import polars.exceptions

    from thinktime.log import border

    reader_is_gone = False
    with border.reading(log):
        rows = log.table(table)
        try:
            match form:
                case "csv":
                    _plain(rows).sink_csv(file, datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ")
                case "arrow":
                    rows.sink_ipc(file)
                case "parquet":
                    rows.sink_parquet(file)
                case "jsonl":
                    rows.sink_ndjson(file)
        except (OSError, polars.exceptions.ComputeError) as error:
            number = _number_of(error)
            reader_is_gone = number == errno.EPIPE
            # Another error of polars is one of the log that is read.
            if number not in WRITING and not isinstance(error, OSError):
                raise
            if not reader_is_gone:
                reason = os.strerror(number) if number else str(error)
                raise WorkError(f"{path}: cannot be written: {reason}") from None
    if reader_is_gone:
        # Not an error of the log: as with any command, `| head` has seen enough.
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def _number_of(error: Exception) -> int:
    """Number of an error of the system, which polars has in its words alone; 0 for none."""
    if isinstance(error, OSError) and error.errno:
        return error.errno
    found = re.search(r"\(os error (\d+)\)", str(error))
    return int(found[1]) if found else 0


def _plain(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Rows whose texts act on no program that reads them."""
    import polars as pl

    from thinktime.documents.render.csv import field

    def fields(texts: pl.Series) -> pl.Series:
        # Names recur in nearly every interval.
        known = texts.unique()
        shown = pl.Series([field(text) for text in known], dtype=pl.String)
        found: pl.Series = texts.replace_strict(known, shown)
        return found

    return rows.with_columns(
        pl.col(pl.String).map_batches(fields, return_dtype=pl.String, is_elementwise=True)
    )
