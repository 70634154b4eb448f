"""Intervals written into a log, one part at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from thinktime.log import Column, LogWriter, vocabulary
from thinktime.sources.importers.interval import Interval, Row

if TYPE_CHECKING:
    import polars as pl

ROWS_MAX = 1 << 12
"""Rows of the longest table that are kept as Python objects."""
PART_BYTES_MAX = 8 << 20
"""Columns in memory at which the parts are written."""

OPERATIONS = Column(
    name="operations",
    type="u64",
    unit="operation",
    kind="counter",
    description="Reads, writes and discards completed, which the source does not separate",
)
"""Column of `disks` for tools that count operations of all kinds together."""
WITHOUT_INTERVALS = ("interactions", "events")
"""Tables whose rows have times of their own."""


class Parts:
    """Collects rows by table and writes them as parts.

    Parameters
    ----------
    open_writer : callable
        Opens the log, given the start of the first interval in microseconds; called when there is an
        interval, so that a file without one leaves no log behind.
    columns : mapping of str to sequence of Column
        By table, columns that the source adds to those of the vocabulary.
    rows_max : int
        Rows of the longest table that are kept as Python objects.
    part_bytes_max : int
        Size of the columns in memory at which a part is written.
    """

    def __init__(
        self,
        open_writer: Callable[[int], LogWriter],
        columns: Mapping[str, Sequence[Column]] | None = None,
        *,
        rows_max: int = ROWS_MAX,
        part_bytes_max: int = PART_BYTES_MAX,
    ) -> None:
        self._open = open_writer
        self._rows_max = rows_max
        self._part_bytes_max = part_bytes_max
        self.writer: LogWriter | None = None
        self._added = {} if columns is None else columns
        self._rows: dict[str, list[Row]] = {"samples": []}
        self._frames: dict[str, list[pl.DataFrame]] = {"samples": []}
        self._bytes = 0
        self.intervals = 0
        self.seconds = 0.0
        self.rows = 0
        """Rows of the other tables."""
        self.first_us: int | None = None
        self.end_us = 0

    def add(self, interval: Interval) -> None:
        """Add an interval; write a part when there are enough."""
        if self.first_us is None or (interval.samples is None and interval.start_us < self.first_us):
            self.first_us = interval.start_us
        # The wall clock may have been set back since, and times of damaged records go anywhere.
        self.end_us = max(self.end_us, interval.start_us + round(interval.length_s * 1e6))
        start = {"start": interval.start_us}
        if interval.samples is not None:
            self.intervals += 1
            self.seconds += interval.length_s
            self._rows["samples"].append({**start, "length_s": interval.length_s, **interval.samples})
        for table, rows in interval.tables.items():
            self.rows += len(rows)
            place = self._rows.setdefault(table, [])
            place.extend(rows if table in WITHOUT_INTERVALS else ({**start, **row} for row in rows))
        for table, frame in interval.frames.items():
            self.rows += len(frame)
            whole = _completed(frame, self._columns(table))
            self._frames.setdefault(table, []).append(whole)
            self._bytes += int(whole.estimated_size())
        if max(map(len, self._rows.values())) >= self._rows_max:
            self._pack()
        if self._bytes >= self._part_bytes_max:
            self.flush()

    def _pack(self) -> None:
        """Convert rows into columns, which need a tenth of the memory."""
        for table, rows in self._rows.items():
            if rows:
                frame = _frame(rows, self._columns(table))
                self._frames.setdefault(table, []).append(frame)
                self._bytes += int(frame.estimated_size())
                rows.clear()

    def flush(self) -> None:
        """Write the collected rows, samples first."""
        import polars as pl

        self._pack()
        for table, frames in self._frames.items():
            if frames:
                if self.writer is None:
                    self.writer = self._open(self.first_us or 0)
                self.writer.write(table, pl.concat(frames), self._columns(table))
                frames.clear()
        self._bytes = 0

    def _columns(self, table: str) -> tuple[Column, ...]:
        return (*vocabulary(table), *self._added.get(table, ()))


def _types(columns: tuple[Column, ...]) -> dict[str, Any]:
    import polars as pl

    types: dict[str, Any] = {
        "u64": pl.UInt64,
        "i64": pl.Int64,
        "f64": pl.Float64,
        "text": pl.String,
        "bool": pl.Boolean,
        "time": pl.Datetime("us", "UTC"),
    }
    return {column.name: types[column.type] for column in columns}


def _frame(rows: list[Row], columns: tuple[Column, ...]) -> pl.DataFrame:
    import polars as pl

    schema = _types(columns)
    return pl.DataFrame(
        {name: [row.get(name) for row in rows] for name in schema}, schema=schema, strict=True
    )


def _completed(frame: pl.DataFrame, columns: tuple[Column, ...]) -> pl.DataFrame:
    """Columns of the vocabulary in their order; those that are not there are null."""
    import polars as pl

    return frame.select(
        (pl.col(name) if name in frame.columns else pl.lit(None)).cast(of).alias(name)
        for name, of in _types(columns).items()
    )
