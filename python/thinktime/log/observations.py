"""The samples of a log as arrays: one observation per interval."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

    from thinktime.log import Column, Log

Array = NDArray[np.float64]
Piece = TypeVar("Piece")

SUMS: dict[str, tuple[str, ...]] = {
    "page_faults": ("page_faults_minor", "page_faults_major"),
    "disk_operations": ("disk_reads", "disk_writes"),
    "net_packets": ("net_packets_in", "net_packets_out"),
}
"""Kinds of request that several columns count."""

JOIN = "+"
"""Between the names of kinds of request that are counted together."""
LABELS = {
    "page_faults_minor": "minor page faults",
    "page_faults_major": "major page faults",
    "net_packets": "network packets",
    "net_packets_in": "network packets in",
    "net_packets_out": "network packets out",
}
"""Names in words of columns whose identifiers are ordered for sorting."""

ROWS = 262_144
"""Largest number of rows in a piece: a column of it takes 2 MiB, and overhead per piece is negligible."""

GLANCE = 4096
"""Number of rows read first to find the columns that have values."""

LOW_PRIORITY = ("low_priority_s", "nice_s")
"""Columns of CPU time that gives way to other work: where the recorder saw the nice values, and elsewhere."""

GAP_S = 1.0
"""Distance above which two intervals are not consecutive, if it also exceeds one interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """Intervals of the samples, or of a piece of them, in order of writing; nan where not measured."""

    start_us: NDArray[np.int64]
    """Start of each interval, microseconds since 1970 UTC."""
    length_s: Array
    """Length of each interval, always positive."""
    segments: NDArray[np.int64]
    """Number of the segment of each interval; there is no gap within a segment."""
    columns: dict[str, Array]
    """Amounts in the interval (counters), or readings at its end (gauges)."""
    dropped: int
    """Number of rows omitted because their length is null or not positive."""
    absent: frozenset[str] = frozenset()
    """Columns without a value in the whole log, of which this may be a piece."""

    def __len__(self) -> int:
        return len(self.length_s)

    def total(self, names: Sequence[str]) -> Array:
        """Sum of columns in each interval; nan where none of them was measured.

        A column that was never measured is omitted from the sum; a column measured in only some intervals
        makes the sum unknown in the others.
        """
        present = [self.columns[name] for name in names if name not in self.absent]
        if not present:
            return np.full(len(self), np.nan)
        result: Array = np.sum(present, axis=0)
        return result

    def low_priority(self) -> Array:
        """CPU time in each interval that other work would get if it wanted it; needs `LOW_PRIORITY`.

        Of processes at nice 10 or more, where the recorder saw them. Elsewhere of all at a positive nice
        value, which the kernel counts as one: too much where work runs near nice 1.
        """
        seen, counted = (self.columns[name] for name in LOW_PRIORITY)
        result: Array = np.where(np.isfinite(seen), seen, counted)
        return result

    def rate(self, names: Sequence[str]) -> Array:
        """Sum of columns per second in each interval."""
        result: Array = self.total(names) / self.length_s
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """Kind of request or of work: one column, or the sum of several."""

    name: str
    label: str
    unit: str
    columns: tuple[str, ...]


def read(log: Log, names: Sequence[str]) -> Observations:
    """Columns `names` of all samples; nan throughout for a column that the log lacks."""
    pieces = list(chunks(log, names))
    if len(pieces) == 1:
        return pieces[0]
    absent = pieces[0].absent
    nothing = np.full(sum(map(len, pieces)), np.nan)
    columns = {
        name: nothing if name in absent else np.concatenate([piece.columns[name] for piece in pieces])
        for name in dict.fromkeys(names)
    }
    return Observations(
        start_us=np.concatenate([piece.start_us for piece in pieces]),
        length_s=np.concatenate([piece.length_s for piece in pieces]),
        segments=np.concatenate([piece.segments for piece in pieces]),
        columns=columns,
        dropped=sum(piece.dropped for piece in pieces),
        absent=absent,
    )


def chunks(log: Log, names: Sequence[str], rows: int = ROWS) -> Iterator[Observations]:
    """Columns `names` of the samples in pieces of at most `rows` rows, for a log of any length.

    The pieces end to end are the result of `read`: the numbers in `Observations.segments` continue from one
    piece to the next, and `Observations.absent` is about the whole log. There is at least one piece, which
    is empty if the log is. Memory holds a few pieces and the Parquet row groups they come from; reading
    stops when the caller stops.

    Raises
    ------
    ValueError
        `rows` is not positive.
    """
    if rows < 1:
        raise ValueError(f"rows: {rows}, which must be at least 1")
    schema = {column.name for column in log.schema("samples")}
    named = dict.fromkeys(names)
    wanted = _measured(log, [name for name in named if name in schema])
    absent = [name for name in named if name not in wanted]
    last: Observations | None = None
    dropped = 0
    for part in log.in_turn("samples"):
        for frame in _intervals(part, wanted).collect_batches(chunk_size=rows, maintain_order=True):
            piece = _piece(frame, wanted, absent)
            dropped += piece.dropped
            if len(piece):
                last = replace(piece, segments=_segments(piece, last), dropped=dropped)
                dropped = 0
                yield last
    if last is None or dropped:
        nothing = _intervals(log.samples(), wanted).head(0).collect()
        yield replace(_piece(nothing, wanted, absent), dropped=dropped)


def held(make: Callable[[], Iterator[Piece]], most: int = 1) -> Callable[[], Iterator[Piece]]:
    """Function that gives the pieces of a log from the start, each time: those of a short one are made once.

    Parameters
    ----------
    make : callable
        Makes the pieces, the same each time: ``lambda: chunks(log, names)``.
    most : int
        Pieces that are held; of a log with more, none is.
    """
    first = list(itertools.islice(make(), most + 1))
    return make if len(first) > most else lambda: iter(first)


def extents(log: Log, names: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Least and greatest value of each column of the samples that has a value in an interval."""
    schema = {column.name for column in log.schema("samples")}
    wanted = [name for name in dict.fromkeys(names) if name in schema]
    ranges: dict[str, tuple[float, float]] = {}
    for part in log.in_turn("samples") if wanted else ():
        row = _intervals(part, wanted).filter(_usable()).select(_ends(wanted)).collect().row(0, named=True)
        for name in wanted:
            low, high = row[f"low {name}"], row[f"high {name}"]
            if low is not None:
                before = ranges.get(name, (low, high))
                ranges[name] = min(low, before[0]), max(high, before[1])
    return ranges


def _ends(names: Sequence[str]) -> Iterator[pl.Expr]:
    import polars as pl

    for name in names:
        finite = pl.when(pl.col(name).is_finite()).then(pl.col(name))
        yield finite.min().alias(f"low {name}")
        yield finite.max().alias(f"high {name}")


def measured_share(log: Log, name: str) -> float | None:
    """Share of the intervals in which a column of the samples has a value; None if it has none anywhere."""
    import polars as pl

    if name not in {column.name for column in log.schema("samples")}:
        return None
    intervals = measured = 0
    for part in log.in_turn("samples"):
        finite = pl.col(name).is_finite() & pl.col(name).is_not_null()
        row = _intervals(part, [name]).filter(_usable()).select(pl.len(), finite.sum().alias("n")).collect()
        intervals += int(row["len"][0])
        measured += int(row["n"][0])
    return measured / intervals if measured else None


def _measured(log: Log, names: Sequence[str]) -> list[str]:
    """Columns with a value in some interval; the first rows usually decide."""
    import polars as pl

    pending = list(names)
    for first in (True, False):
        for part in log.in_turn("samples"):
            if not pending:
                break
            rows = part.head(GLANCE) if first else part
            any_value = (
                _intervals(rows, pending)
                .filter(_usable())
                .select(pl.col(name).is_finite().any() for name in pending)
                .collect()
            )
            pending = [name for name in pending if not any_value[name][0]]
            if first:
                break
    return [name for name in names if name not in pending]


def _intervals(part: pl.LazyFrame, names: Sequence[str]) -> pl.LazyFrame:
    import polars as pl

    return part.select(
        pl.col("start").dt.epoch("us").alias("_start"),
        pl.col("length_s").cast(pl.Float64).alias("_length"),
        *(pl.col(name).cast(pl.Float64) for name in names),
    )


def _usable() -> pl.Expr:
    import polars as pl

    return pl.col("_length").is_finite() & (pl.col("_length") > 0) & pl.col("_start").is_not_null()


def _piece(frame: pl.DataFrame, wanted: Sequence[str], absent: Sequence[str]) -> Observations:
    """Rows of `frame` that are intervals, all in one segment."""
    usable = frame.filter(_usable())
    start = usable["_start"].to_numpy().astype(np.int64)
    # A null becomes nan; so does an infinite value, which no counter can have.
    columns = {name: _finite(usable[name].to_numpy()) for name in wanted}
    columns |= dict.fromkeys(absent, np.full(len(start), np.nan))
    segments = np.zeros(len(start), dtype=np.int64)
    return Observations(
        start_us=start,
        length_s=usable["_length"].to_numpy(),
        segments=segments,
        columns=columns,
        dropped=len(frame) - len(usable),
        absent=frozenset(absent),
    )


def _finite(values: Array) -> Array:
    return np.where(np.isfinite(values), values, np.nan)


def _segments(piece: Observations, before: Observations | None) -> NDArray[np.int64]:
    """Segment of each interval of `piece`, which continues where `before` ended."""
    start, length = piece.start_us, piece.length_s
    first = 0
    if before is not None:
        start = np.concatenate([before.start_us[-1:], start])
        length = np.concatenate([before.length_s[-1:], length])
        first = int(before.segments[-1])
    gap = np.diff(start) / 1e6 - length[:-1]
    broken = np.abs(gap) > np.maximum(GAP_S, np.maximum(length[:-1], length[1:]))
    numbers = first + np.concatenate([[0], np.cumsum(broken)]).astype(np.int64)
    return numbers if before is None else numbers[1:]


def role_columns(log: Log, role: str) -> tuple[str, ...]:
    """Columns of the samples with the role `role`."""
    return tuple(column.name for column in log.schema("samples") if column.role == role)


def label(name: str) -> str:
    """Name of a column in words, without its unit: ``disk_busy_s`` is ``disk busy``."""
    if name in LABELS:
        return LABELS[name]
    for ending in ("_s", "_bytes"):
        name = name.removesuffix(ending)
    return name.replace("_", " ")


def quantities(log: Log, names: Sequence[str]) -> tuple[Quantity, ...]:
    """Kinds of request that the log has, by name: ``user_time``, one of `SUMS`, a column, or their sum."""
    schema: dict[str, Column] = {column.name: column for column in log.schema("samples")}
    result: list[Quantity] = []
    for name in names:
        if JOIN in name:
            result += together(quantities(log, name.split(JOIN)), len(name.split(JOIN)))
            continue
        if name == "user_time":
            columns, unit, words = role_columns(log, "user_time"), "s", "user time"
        else:
            # A source may count in one column events that others count in several.
            parts = (name,) if name in schema else SUMS.get(name, ())
            columns = tuple(column for column in parts if column in schema)
            unit = schema[columns[0]].unit if columns else ""
            words = label(name)
        if columns:
            result.append(Quantity(name=name, label=words, unit=unit, columns=columns))
    return tuple(result)


def together(parts: Sequence[Quantity], expected: int) -> tuple[Quantity, ...]:
    """Sum of several kinds of request; nothing where one of the `expected` parts is absent."""
    if len(parts) != expected:
        return ()
    units = {part.unit for part in parts}
    return (
        Quantity(
            name=JOIN.join(part.name for part in parts),
            label=" and ".join(part.label for part in parts),
            unit=units.pop() if len(units) == 1 else "request",
            columns=tuple(dict.fromkeys(column for part in parts for column in part.columns)),
        ),
    )


def thinned(count: int, most: int) -> NDArray[np.int64]:
    """Indices of at most `most` of `count` items, evenly spread."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))
