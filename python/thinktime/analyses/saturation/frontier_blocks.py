"""The frontier of each block of a log, from which frontiers of the log, resamples and halves follow."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.saturation.resources import LIMITS, Meter, Resources, Thresholds
from thinktime.log import observations
from thinktime.stats.frontier import maximal
from thinktime.stats.regression.bootstrap import block_length

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.log.observations import Observations, Quantity

_Array = NDArray[np.float64]
_Indices = NDArray[np.int64]

BLOCKS_MAX = 1000
"""Largest number of blocks of a log, so that memory does not grow with its length."""
CLOUD_MAX = 2000
"""Intervals in the sample of a log, so that memory does not grow with its length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """Intervals not dominated within their block, with totals over all other intervals.

    An interval that is maximal in a union of blocks is maximal in its own block. So the frontier of any
    choice of blocks, and of any choice of kinds of work, follows from the blocks' frontiers.
    """

    rows: int
    """Intervals in a block, rounded up."""
    count: int
    n: int
    """Intervals in which all kinds of work were measured."""
    values: _Array
    """Work per second: a row for each interval, a column for each kind of work."""
    block: _Indices
    start_us: _Indices
    state: Resources
    limit: NDArray[np.int8]
    """Index into `limits`."""
    limits: tuple[str, ...]
    """Resources that can have been exhausted."""
    used_up: _Array
    """Number of intervals in each block (row) that each of `limits` (column) limited."""
    cloud: _Array
    """Sample of intervals, evenly over the log, at most 2000, as `values`."""
    cloud_block: _Indices
    interval_s: float
    """Median length of the intervals of the cloud."""
    measured: dict[str, bool]
    """True for each resource that was measured at all."""


def block_rows(log: Log) -> int:
    """Intervals in a block of this log: 2 n^(1/3), or more to make no more than 1000 blocks."""
    n = _length(log)
    return max(block_length(n), math.ceil(n / BLOCKS_MAX))


def _length(log: Log) -> int:
    import polars as pl

    return int(log.samples().select(pl.len()).collect().item())


def read(
    log: Log,
    work: Sequence[Quantity],
    meter: Meter,
    thresholds: Thresholds,
    *,
    rows: int | None = None,
    piece_rows: int = observations.ROWS,
) -> Blocks:
    """Frontier of each of an even number of blocks; the log is read once, a piece at a time.

    Parameters
    ----------
    log : Log
    work : sequence of Quantity
        Kinds of work.
    meter : Meter
    thresholds : Thresholds
        Limits beyond which a resource counts as exhausted.
    rows : int, optional
        Approximate number of intervals in a block; `block_rows` by default.
    piece_rows : int
        Largest number of samples in memory at a time; the result does not depend on it.
    """
    n = _length(log)
    count = max(2, 2 * (n // (2 * (block_rows(log) if rows is None else rows))))
    gathered = _Gathered(n, count, (*LIMITS, *(ceiling.resource for ceiling in meter.ceilings)))
    columns = [column for item in work for column in item.columns]
    for chunk in observations.chunks(log, [*columns, *meter.columns], piece_rows):
        values = np.column_stack([chunk.rate(item.columns) for item in work])
        state = meter.read(chunk)
        gathered.add(chunk, values, state, state.limits(thresholds))
    return gathered.blocks(len(work), len(meter.ceilings))


class _Gathered:
    """Frontiers, counts and sample of the pieces read so far of a log with `length` samples."""

    def __init__(self, length: int, count: int, limits: tuple[str, ...]) -> None:
        self.length, self.count, self.limits = length, count, limits
        self.read = self.n = 0
        self.kept: list[tuple[_Array, _Indices, _Indices, Resources, NDArray[np.int8]]] = []
        self.used_up = np.zeros((count, len(limits)))
        self.clouds: list[tuple[_Array, _Indices, _Array]] = []
        self.every = 1
        self.measured: dict[str, bool] = {}

    def add(self, chunk: Observations, values: _Array, state: Resources, limits: NDArray[np.int8]) -> None:
        for name, measured in state.measured().items():
            self.measured[name] = self.measured.get(name, False) or measured
        usable = np.flatnonzero(~np.isnan(values).any(axis=1))
        place = self.read + usable
        self.read += len(chunk)
        if not len(usable):
            return
        values, limits = values[usable], limits[usable]
        block = np.minimum(place * self.count // self.length, self.count - 1)
        front = _fronts(values, block)
        rows = usable[front]
        self.kept.append(
            (values[front], block[front], chunk.start_us[rows], state.taken(rows), limits[front])
        )
        np.add.at(self.used_up, (block, limits), 1.0)
        sample = np.flatnonzero(place % self.every == 0)
        self.clouds.append((values[sample], place[sample], chunk.length_s[usable[sample]]))
        self.n += len(usable)
        self._thin()

    def _thin(self) -> None:
        """Drop every second interval of the cloud until it fits: it stays even over the log so far."""
        while sum(len(place) for _, place, _ in self.clouds) > CLOUD_MAX:
            self.every *= 2
            kept = [np.flatnonzero(place % self.every == 0) for _, place, _ in self.clouds]
            pairs = zip(self.clouds, kept, strict=True)
            self.clouds = [(values[on], place[on], length[on]) for (values, place, length), on in pairs]

    def blocks(self, dimensions: int, ceilings: int) -> Blocks:
        if not self.kept:
            reals, integers, empty = np.zeros(0), np.zeros(0, np.int64), np.zeros((0, dimensions))
            state = Resources(
                idle=reals,
                low_priority=reals,
                disk_busy=reals,
                memory_stall=reals,
                memory_free=reals,
                swapping=reals,
                ceilings=np.zeros((0, ceilings)),
            )
            self.kept.append((empty, integers, integers, state, np.zeros(0, np.int8)))
            self.clouds.append((empty, integers, reals))
        values, block, start, limit = (
            np.concatenate([item[index] for item in self.kept]) for index in (0, 1, 2, 4)
        )
        state = Resources.joined([item[3] for item in self.kept])
        on = _fronts(values, block)  # a block that was read in two pieces has a frontier of each
        cloud, place, length = (np.concatenate([item[index] for item in self.clouds]) for index in range(3))
        return Blocks(
            rows=math.ceil(self.length / self.count),
            count=self.count,
            n=self.n,
            values=values[on],
            block=block[on],
            start_us=start[on],
            state=state.taken(on),
            limit=limit[on],
            limits=self.limits,
            used_up=self.used_up,
            cloud=cloud,
            cloud_block=np.minimum(place * self.count // max(self.length, 1), self.count - 1),
            interval_s=float(np.median(length)) if len(length) else math.nan,
            measured=self.measured,
        )


def _fronts(values: _Array, block: _Indices) -> _Indices:
    """Rows that are maximal in their block; blocks are in order."""
    if not len(block):
        return np.zeros(0, dtype=np.int64)
    borders = np.concatenate([[0], np.flatnonzero(np.diff(block)) + 1, [len(block)]])
    return np.concatenate([low + maximal(values[low:high]) for low, high in itertools.pairwise(borders)])
