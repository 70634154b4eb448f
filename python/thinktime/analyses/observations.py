"""The samples of a log as arrays: one observation an interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from thinktime.log import Column, Log

__all__ = ["SUMS", "Observations", "Quantity", "label", "quantities", "read", "role_columns", "thinned"]

Array = NDArray[np.float64]

SUMS: dict[str, tuple[str, ...]] = {
    "page_faults": ("page_faults_minor", "page_faults_major"),
    "disk_operations": ("disk_reads", "disk_writes"),
    "net_packets": ("net_packets_in", "net_packets_out"),
}
"""Kinds of request that are counted in several columns."""

LABELS = {
    "page_faults_minor": "minor page faults",
    "page_faults_major": "major page faults",
    "net_packets": "network packets",
    "net_packets_in": "network packets in",
    "net_packets_out": "network packets out",
}
"""Names in words where the column's own order of words is that of a sorted list."""

GAP_S = 1.0
"""Two intervals further apart than this, and than one interval, do not follow one another."""


@dataclass(frozen=True, slots=True)
class Observations:
    """Intervals of the samples, in order of writing; nan is not measured.

    Parameters
    ----------
    start_us : ndarray of int
        Start, microseconds since 1970 UTC.
    length_s : ndarray
        Length [s], all positive.
    segments : ndarray of int
        Intervals that follow one another without a gap share a number.
    columns : dict of str to ndarray
        Amounts in the interval, or readings at its end.
    dropped : int
        Rows left out because their length is null or not positive.
    """

    start_us: NDArray[np.int64]
    length_s: Array
    segments: NDArray[np.int64]
    columns: dict[str, Array]
    dropped: int

    def __len__(self) -> int:
        return len(self.length_s)

    def total(self, names: Sequence[str]) -> Array:
        """Sum of columns in each interval; nan where none of them was measured.

        A column that was never measured is left out of the sum; one that was measured in some intervals
        only makes the sum unknown in the others.
        """
        present = [self.columns[name] for name in names if not np.isnan(self.columns[name]).all()]
        if not present:
            return np.full(len(self), np.nan)
        result: Array = np.sum(present, axis=0)
        return result

    def rate(self, names: Sequence[str]) -> Array:
        """Sum of columns per second in each interval."""
        result: Array = self.total(names) / self.length_s
        return result


@dataclass(frozen=True, slots=True)
class Quantity:
    """A kind of request or of work: one column, or several added up."""

    name: str
    label: str
    unit: str
    columns: tuple[str, ...]


def read(log: Log, names: Sequence[str]) -> Observations:
    """Read columns `names` of the samples; one that the log lacks is nan throughout."""
    import polars as pl

    known = {column.name for column in log.schema("samples")}
    wanted = [name for name in dict.fromkeys(names) if name in known]
    frame = (
        log.samples()
        .select(
            pl.col("start").dt.epoch("us").alias("_start"),
            pl.col("length_s").cast(pl.Float64).alias("_length"),
            *(pl.col(name).cast(pl.Float64) for name in wanted),
        )
        .collect()
    )
    usable = frame.filter(
        pl.col("_length").is_finite() & (pl.col("_length") > 0) & pl.col("_start").is_not_null()
    )
    start = usable["_start"].to_numpy().astype(np.int64)
    length = usable["_length"].to_numpy()
    absent = {name: np.full(len(length), np.nan) for name in names if name not in known}
    # A null becomes nan; so does a value that is not finite, which no counter can be.
    present = {name: _finite(usable[name].to_numpy()) for name in wanted}
    return Observations(start, length, _segments(start, length), absent | present, len(frame) - len(usable))


def _finite(values: Array) -> Array:
    return np.where(np.isfinite(values), values, np.nan)


def _segments(start_us: NDArray[np.int64], length_s: Array) -> NDArray[np.int64]:
    if not len(start_us):
        return np.zeros(0, dtype=np.int64)
    gap = np.diff(start_us) / 1e6 - length_s[:-1]
    broken = np.abs(gap) > np.maximum(GAP_S, np.maximum(length_s[:-1], length_s[1:]))
    return np.concatenate([[0], np.cumsum(broken)]).astype(np.int64)


def role_columns(log: Log, role: str) -> tuple[str, ...]:
    """Columns of the samples that have `role`."""
    return tuple(column.name for column in log.schema("samples") if column.role == role)


def label(name: str) -> str:
    """Name of a column in words, without its unit: ``disk_busy_s`` is ``disk busy``."""
    if name in LABELS:
        return LABELS[name]
    for ending in ("_s", "_bytes"):
        name = name.removesuffix(ending)
    return name.replace("_", " ")


def quantities(log: Log, names: Sequence[str]) -> tuple[Quantity, ...]:
    """Kinds of request by name: ``user_time``, a sum of `SUMS`, or a column; those of a log that has them."""
    schema: dict[str, Column] = {column.name: column for column in log.schema("samples")}
    found = []
    for name in names:
        if name == "user_time":
            columns, unit, words = role_columns(log, "user_time"), "s", "user time"
        else:
            # A source may count in one column what others count in several.
            parts = (name,) if name in schema else SUMS.get(name, ())
            columns = tuple(column for column in parts if column in schema)
            unit = schema[columns[0]].unit if columns else ""
            words = label(name)
        if columns:
            found.append(Quantity(name, words, unit, columns))
    return tuple(found)


def thinned(count: int, most: int) -> NDArray[np.int64]:
    """At most `most` positions of `count`, evenly spread."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))
