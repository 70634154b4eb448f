"""Intervals into a log, a part at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thinktime.log import Column, LogWriter, vocabulary
from thinktime.sources.sar.interval import Interval, Row

__all__ = ["DISK_COLUMNS", "Parts"]

ROWS_MAX = 1 << 15
"""Rows of the longest table that are kept in memory before a part is written."""

DISK_COLUMNS = (
    *vocabulary("disks"),
    Column(
        "operations",
        "u64",
        "operation",
        "counter",
        "Reads, writes and discards completed, which sar does not tell apart",
    ),
)


class Parts:
    """Collects rows by table and writes them as parts.

    Parameters
    ----------
    open_writer : callable
        Opens the log, given the start of the first interval in microseconds; called when there is an
        interval, so that a file without one leaves no log behind.
    """

    def __init__(self, open_writer: Callable[[int], LogWriter]) -> None:
        self._open = open_writer
        self.writer: LogWriter | None = None
        self._rows: dict[str, list[Row]] = {"samples": [], "cpus": [], "disks": [], "interfaces": []}
        self.intervals = 0
        self.seconds = 0.0
        self.first_us = 0
        self.end_us = 0

    def add(self, interval: Interval) -> None:
        """Add one interval; writes a part when enough have come together."""
        if not self.intervals:
            self.first_us = interval.start_us
        self.intervals += 1
        self.seconds += interval.length_s
        self.end_us = interval.start_us + round(interval.length_s * 1e6)
        start = {"start": interval.start_us}
        self._rows["samples"].append({**start, "length_s": interval.length_s, **interval.samples})
        self._rows["cpus"].extend({**start, **row} for row in interval.cpus)
        self._rows["disks"].extend({**start, **row} for row in interval.disks)
        self._rows["interfaces"].extend({**start, **row} for row in interval.interfaces)
        if max(map(len, self._rows.values())) >= ROWS_MAX:
            self.flush()

    def flush(self) -> None:
        """Write what has come together, samples first."""
        if not self._rows["samples"]:
            return
        if self.writer is None:
            self.writer = self._open(self.first_us)
        for table, rows in self._rows.items():
            if rows:
                columns = DISK_COLUMNS if table == "disks" else vocabulary(table)
                self.writer.write(table, _frame(rows, columns), columns)
                rows.clear()


def _frame(rows: list[Row], columns: tuple[Column, ...]) -> Any:
    import polars as pl

    types: dict[str, Any] = {
        "u64": pl.UInt64,
        "i64": pl.Int64,
        "f64": pl.Float64,
        "text": pl.String,
        "time": pl.Datetime("us", "UTC"),
    }
    schema = {column.name: types[column.type] for column in columns}
    return pl.DataFrame(
        {name: [row.get(name) for row in rows] for name in schema}, schema=schema, strict=True
    )
