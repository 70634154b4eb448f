"""Durations of a trace, from its events or from its histograms: one table for both."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.scheduling.result import Source
from thinktime.log.observations import ROWS
from thinktime.stats import samples
from thinktime.stats.estimate import Estimate
from thinktime.stats.series import long_run
from thinktime.stats.series.shares import Effective, effective

if TYPE_CHECKING:
    import polars as pl

    from thinktime.log import Log

Array = NDArray[np.float64]

BLOCKS_MAX = 256
"""Stretches of the trace whose sums are kept, for intervals and for the course over time."""
ROWS_MOST = 1 << 20
"""Rows from which those of one block and bucket are added up."""
EVENTS_MOST = 4_000_000
"""Events above which their durations are counted in buckets."""
BUCKET_BITS, BUCKET_BITS_LEAST = 8, 3
"""Bits of the fraction of a duration that buckets of events distinguish, at first and at least."""
FRACTION_BITS, EXPONENT_BITS = 52, 11
"""Bits of the fraction and of the exponent of a floating-point number."""
TEXTS = ("quantity", "reason", "command", "user")
"""What durations are told apart by."""
BLOCKS_LEAST_S = 1e-3
"""Shortest stretch [s]."""
QUANTITY_OF = {
    "dispatch": "run_queue_wait",
    "switch_out": "slice",
    "wake_up": "wait",
    "block_completion": "block_io",
    "page_fault": "page_fault",
}
"""Quantity that the amount of an event is a duration of, by its kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Durations of a trace in buckets; those of events are in buckets without width."""

    source: Source
    rows: pl.DataFrame
    """Columns ``block``, ``quantity``, ``reason``, ``command``, ``user``, ``low``, ``high`` [s], ``count``,
    ``total`` [s]."""
    lengths: Array
    """Length of each block [s], in the order of time."""
    starts: Array
    """Start of each, seconds since the beginning."""
    unseen: int
    """Dispatches whose wait is not known."""
    events: int | None = None
    """Number of events, where they are so many that their durations were counted in buckets."""
    width: float = 0.0
    """Width of these buckets, relative to the duration."""

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return len(self.lengths)

    @property
    def length_s(self) -> float:
        """Length of the trace."""
        return float(self.lengths.sum())

    def of(self, quantity: str) -> pl.DataFrame:
        """Rows of one quantity."""
        import polars as pl

        return self.rows.filter(pl.col("quantity") == quantity)

    def sums(self, rows: pl.DataFrame, column: str) -> Array:
        """Sum of a column in each block."""
        weights = rows[column].to_numpy().astype(np.float64)
        found: Array = np.bincount(rows["block"].to_numpy(), weights, self.blocks).astype(np.float64)
        return found


def read(log: Log) -> Trace | None:
    """Durations of the events of a scheduler, else of histograms; None without both."""
    return _of_events(log) or _of_histograms(log)


def _of_events(log: Log) -> Trace | None:
    import polars as pl

    if not log.has("events") or "reason" not in {column.name for column in log.schema("events")}:
        return None
    known = _Known.of(log)
    if known is None:
        return None
    first = known.first_us
    length = max((known.last_us - first) / 1e6, 1e-6)
    blocks = max(1, min(BLOCKS_MAX, int(length / BLOCKS_LEAST_S)))
    block = ((pl.col("time") - first) * (blocks / (length * 1e6))).cast(pl.Int64).clip(0, blocks - 1)
    parts = (_events(log, part).with_columns(block.alias("block")) for part in log.in_turn("events"))
    edges = np.linspace(0.0, length, blocks + 1)
    if known.n <= EVENTS_MOST:
        rows, width = pl.concat([part.collect() for part in parts]), None
    else:
        rows, width = _counted(parts, blocks)
    return Trace(
        source="events",
        rows=rows.select(
            "block", *(pl.col(name).cast(pl.Categorical) for name in TEXTS), "low", "high", "count", "total"
        ),
        lengths=np.diff(edges),
        starts=edges[:-1],
        unseen=known.unseen,
        events=None if width is None else known.n,
        width=width or 0.0,
    )


def _of_scheduler(part: pl.LazyFrame) -> pl.LazyFrame:
    """Events whose amounts are durations."""
    import polars as pl

    return part.filter(pl.col("kind").cast(pl.String).is_in(list(QUANTITY_OF))).with_columns(
        quantity=pl.col("kind").cast(pl.String).replace_strict(QUANTITY_OF, return_dtype=pl.String),
        total=pl.when(pl.col("unit") == "s").then("amount"),
    )


def _events(log: Log, part: pl.LazyFrame) -> pl.LazyFrame:
    """Durations of events, each in a bucket of its own."""
    import polars as pl

    return (
        _of_scheduler(part)
        .filter(pl.col("total") >= 0.0)
        .select(
            pl.col("time").dt.epoch("us"),
            "quantity",
            *(pl.col(name).cast(pl.String).fill_null("") for name in ("reason", "command")),
            _user(log, "events"),
            pl.col("total").alias("low"),
            pl.col("total").alias("high"),
            pl.lit(1, pl.Int64).alias("count"),
            "total",
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What a first look at the events gives."""

    n: int
    first_us: int
    last_us: int
    unseen: int

    @classmethod
    def of(cls, log: Log) -> _Known | None:
        """None where there is no dispatch."""
        import polars as pl

        dispatched = pl.col("quantity") == "run_queue_wait"
        time = pl.col("time").dt.epoch("us")
        rows = pl.concat(
            [
                _of_scheduler(part)
                .select(
                    n=pl.len(),
                    first=time.min(),
                    last=time.max(),
                    dispatches=dispatched.sum(),
                    unseen=(dispatched & pl.col("total").is_null()).sum(),
                )
                .collect()
                for part in log.in_turn("events")
            ]
        )
        if not rows["dispatches"].sum():
            return None
        first, last = rows["first"].min(), rows["last"].max()
        return cls(
            n=int(rows["n"].sum()),
            first_us=int(first),  # type: ignore[arg-type]
            last_us=int(last),  # type: ignore[arg-type]
            unseen=int(rows["unseen"].sum()),
        )


def _counted(parts: Iterable[pl.LazyFrame], blocks: int) -> tuple[pl.DataFrame, float]:
    """Durations of many events in buckets, and the width of these relative to the durations.

    A bucket has the durations with as many equal bits after the first of their binary representation: all
    sums are exact. Buckets get wider until there are few rows.
    """
    import polars as pl

    sums = _Sums(TEXTS, blocks, bits_least=BUCKET_BITS_LEAST)
    shift = np.uint64(FRACTION_BITS - BUCKET_BITS)
    for part in parts:
        for frame in part.collect_batches(chunk_size=ROWS, maintain_order=True):
            sums.absorb(frame, frame["low"].to_numpy().view(np.uint64) >> shift)
    rows, bucket = sums.rows()
    shift = np.uint64(FRACTION_BITS - sums.bits)
    bounds = {"low": bucket << shift, "high": (bucket + np.uint64(1)) << shift}
    rows = rows.with_columns(pl.Series(name, at.view(np.float64)) for name, at in bounds.items())
    return rows, 2.0**-sums.bits


class _Sums:
    """Counts and totals of durations, added up by their labels, block and bucket.

    The three together are one whole number, a cell: a million cells take 24 MB.

    Parameters
    ----------
    names : sequence of str
        Columns of the labels: of `TEXTS`, ``low`` and ``high``.
    blocks : int
        Number of blocks.
    bits_least : int
        Bits of a bucket that are kept at least where there are too many cells.
    """

    _BUCKET_BITS = np.uint64(EXPONENT_BITS + BUCKET_BITS)
    _MASK = np.uint64((1 << (EXPONENT_BITS + BUCKET_BITS)) - 1)

    def __init__(self, names: Sequence[str], blocks: int, *, bits_least: int = BUCKET_BITS) -> None:
        import polars as pl

        self.bits = BUCKET_BITS
        """Bits of the fraction of a duration that buckets distinguish."""
        self._names, self._blocks, self._bits_least = list(names), blocks, bits_least
        self._labels = pl.DataFrame(
            schema={name: pl.String if name in TEXTS else pl.Float64 for name in names}
        )
        self._held = [(np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros(0))]
        self._height, self._most = 0, ROWS_MOST

    def absorb(self, rows: pl.DataFrame, bucket: NDArray[np.uint64] | None = None) -> None:
        """Add rows with labels, ``block``, ``count`` and ``total``; buckets have `BUCKET_BITS` bits."""
        cells = self._labelled(rows) * np.uint64(self._blocks) + rows["block"].to_numpy().astype(np.uint64)
        cells <<= self._BUCKET_BITS
        if bucket is not None:
            cells |= bucket >> np.uint64(BUCKET_BITS - self.bits)
        self._held.append((cells, rows["count"].to_numpy(), rows["total"].to_numpy()))
        self._height += len(cells)
        if self._height > self._most:
            self._add_up()
            self._most = max(ROWS_MOST, 2 * self._height)

    def rows(self) -> tuple[pl.DataFrame, NDArray[np.uint64]]:
        """Labels, ``block``, ``count`` and ``total`` of each cell, and its bucket."""
        import polars as pl

        self._add_up()
        ((cells, counts, totals),) = self._held
        of, block = np.divmod(cells >> self._BUCKET_BITS, np.uint64(self._blocks))
        labels = self._labels.select(pl.col(pl.String).cast(pl.Categorical), pl.col(pl.Float64))
        frame = labels[of.astype(np.int64)].with_columns(
            pl.Series("block", block.astype(np.int64)), pl.Series("count", counts), pl.Series("total", totals)
        )
        return frame, cells & self._MASK

    def _labelled(self, rows: pl.DataFrame) -> NDArray[np.uint64]:
        """Number of each row's labels, in the order in which they appear."""
        own = rows.select(self._names)
        new = own.unique(maintain_order=True).join(
            self._labels, on=self._names, how="anti", maintain_order="left"
        )
        self._labels = self._labels.vstack(new)
        numbered = own.join(
            self._labels.with_row_index("label"), on=self._names, how="left", maintain_order="left"
        )
        return numbered["label"].to_numpy().astype(np.uint64)

    def _add_up(self) -> None:
        """Make one row of those of one cell, with wider buckets where there are too many."""
        self._held = [_added(*map(np.concatenate, zip(*self._held, strict=True)))]
        while len(self._held[0][0]) > ROWS_MOST and self.bits > self._bits_least:
            self.bits -= 1
            cells, counts, totals = self._held[0]
            wider = cells & ~self._MASK | (cells & self._MASK) >> np.uint64(1)
            self._held = [_added(wider, counts, totals)]
        self._height = len(self._held[0][0])


def _added(
    cells: NDArray[np.uint64], counts: NDArray[np.int64], totals: Array
) -> tuple[NDArray[np.uint64], NDArray[np.int64], Array]:
    """Sums of each cell, in the order of the rows, whatever the number of threads."""
    found, place = np.unique(cells, return_inverse=True)
    # Counts are exact as real numbers up to 2^53.
    number, total = (np.bincount(place, amounts, len(found)) for amounts in (counts, totals))
    return found, number.astype(np.int64), total.astype(np.float64)


def _user(log: Log, table: str) -> pl.Expr:
    """User of each row: the name where the log has it."""
    import polars as pl

    columns = [name for name in ("name", "user") if name in {column.name for column in log.schema(table)}]
    texts = [pl.col(name).cast(pl.String) for name in columns]
    return pl.coalesce(*texts, pl.lit("")).alias("user")


def _of_histograms(log: Log) -> Trace | None:
    import polars as pl

    if not log.has("latencies"):
        return None
    intervals = log.samples().select(pl.col("start").dt.epoch("us"), "length_s").collect().sort("start")
    if intervals.is_empty():
        return None
    starts = intervals["start"].to_numpy()
    blocks = min(BLOCKS_MAX, len(starts))
    rows = _merged(log, starts, blocks)
    if rows.is_empty():
        return None
    of_interval = np.arange(len(starts)) * blocks // len(starts)
    lengths = np.bincount(of_interval, intervals["length_s"].to_numpy(), blocks).astype(np.float64)
    first = np.searchsorted(of_interval, np.arange(blocks))
    return Trace(
        source="histograms",
        rows=rows,
        lengths=lengths,
        starts=(starts[first] - starts[0]) / 1e6,
        unseen=0,
    )


def _merged(log: Log, starts: NDArray[np.int64], blocks: int) -> pl.DataFrame:
    """Rows of the histograms with their blocks; those of a long log are added up by block and bucket.

    Parameters
    ----------
    log : Log
    starts : array
        Starts of the intervals, ascending [us].
    blocks : int
        Number of blocks, each of whole intervals: no histogram is divided.
    """
    import polars as pl

    sums = _Sums((*TEXTS, "low", "high"), blocks)
    for part in log.in_turn("latencies"):
        counted = part.filter(pl.col("count") > 0)
        for frame in counted.collect_batches(chunk_size=ROWS, maintain_order=True):
            number = np.searchsorted(starts, frame["start"].dt.epoch("us").to_numpy(), side="right") - 1
            rows = frame.select(
                pl.Series("block", np.maximum(number, 0) * blocks // len(starts)),
                *(pl.col(name).cast(pl.String).fill_null("") for name in TEXTS if name != "user"),
                _user(log, "latencies"),
                pl.col("at_least_s").fill_null(0.0).alias("low"),
                pl.col("below_s").fill_null(math.inf).alias("high"),
                pl.col("count").cast(pl.Int64),
                pl.col("total_s").alias("total"),
            )
            sums.absorb(rows)
    return sums.rows()[0]


@dataclass(frozen=True, slots=True)
class Buckets:
    """Buckets of durations, from the shortest."""

    low: Array
    high: Array
    until: Array
    """Number of durations in this bucket and all before it."""
    frame: pl.DataFrame
    trace: Trace

    @classmethod
    def of(cls, trace: Trace, rows: pl.DataFrame) -> Buckets:
        """Buckets of the rows."""
        import polars as pl

        merged = rows.group_by("low", "high").agg(pl.col("count").sum()).sort("low", "high")
        low, high, count = (merged[name].to_numpy().astype(np.float64) for name in ("low", "high", "count"))
        return cls(low, high, np.cumsum(count), rows, trace)

    def at(self, place: float) -> int:
        """Number of the bucket with the duration at `place`, counted from 1."""
        return min(int(np.searchsorted(self.until, place - 1e-9)), len(self.low) - 1)

    def quantile(self, q: float, level: float) -> Estimate:
        r"""Quantile q, with an interval that allows for the correlation of the durations in time.

        The durations at most as long as the quantile are hits; the variance of their number, from its
        long-run variance over the stretches of the trace, gives the effective number of durations
        (`stats.series.shares.effective`), and this the order statistics between which the quantile lies.
        The interval reaches from the lower bound of the bucket of the first to the upper bound of that of
        the second, and the value is interpolated within its bucket: buckets without width have the
        durations themselves.
        """
        n = float(self.until[-1])
        bucket = self.at(max(q * n, 1.0))
        found = self._effective(bucket, n)
        number = n if found.n >= n else max(found.normal(level), 1.0)
        places = samples.order_statistics(number, q, level)
        ends: list[float | None] = [None, None]
        if places[0] is not None:
            ends[0] = float(self.low[self.at(max(1.0, math.floor(places[0] * n / number)))])
        if places[1] is not None:
            ends[1] = float(self.high[self.at(min(n, math.ceil(places[1] * n / number)))])
        value = self._inside(bucket, q * n)
        is_open = ends[1] is not None and not math.isfinite(ends[1])
        if is_open:
            ends[1] = None
        low, high = ends
        caveat = samples.open_end(number, q, level, (low, None if places[1] is None else 0.0)) or found.caveat
        return Estimate(
            value=value,
            unit="s",
            low=None if low is None else min(low, value),
            high=None if high is None else max(high, value),
            level=level,
            n=int(n),
            method=(
                "order statistics, effective number of durations"
                if self.trace.source == "events" and self.trace.events is None
                else "bounds of the buckets of order statistics, effective number of durations"
            ),
            caveat=samples.open_bucket(float(self.low[-1])) if is_open else caveat,
        )

    @property
    def longest(self) -> float | None:
        """Longest duration, or the upper bound of the last bucket; None if that is open."""
        return float(self.high[-1]) if math.isfinite(self.high[-1]) else None

    def _inside(self, bucket: int, place: float) -> float:
        low, high = float(self.low[bucket]), float(self.high[bucket])
        if not math.isfinite(high):
            return low
        before = float(self.until[bucket - 1]) if bucket else 0.0
        held = float(self.until[bucket]) - before
        return low + (high - low) * min(max((place - before) / held, 0.0), 1.0)

    def _effective(self, bucket: int, n: float) -> Effective:
        """Effective number of durations, by those in the buckets up to this one."""
        import polars as pl

        share = float(self.until[bucket]) / n
        found = Effective(n=n, degrees=math.inf)
        if self.trace.blocks < 2 or not 0.0 < share < 1.0:
            return found
        hits = self.frame.filter(
            (pl.col("low") < self.low[bucket])
            | ((pl.col("low") == self.low[bucket]) & (pl.col("high") <= self.high[bucket]))
        )
        influences = self.trace.sums(hits, "count") - share * self.trace.sums(self.frame, "count")
        return effective(n, share, long_run.long_run(influences))
