"""The frontier of two kinds of work as a curve with a band, and what can be traded for what."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.saturation.frontier_blocks import Blocks
from thinktime.analyses.saturation.frontier_regions import Region, regions
from thinktime.log.observations import thinned
from thinktime.stats import frontier
from thinktime.stats.estimate import Estimate
from thinktime.stats.frontier import maximal

__all__ = ["Dimension", "FrontierPair", "Projection", "TradeOff", "pair"]

_Array = NDArray[np.float64]
_Indices = NDArray[np.int64]

CLOUD_MAX = 1000
POINTS_MAX = 1000
GRID = 25
KNOWN_LEAST = 0.8


@dataclass(frozen=True, slots=True)
class Dimension:
    """One kind of work per second."""

    name: str
    label: str
    unit: str


@dataclass(frozen=True, slots=True)
class TradeOff:
    """How much of one kind of work has to be given up for more of another, on a stretch of the frontier."""

    low: float
    """Range of x in which it holds."""
    high: float
    limit: str
    """Resource used up there; empty for the whole frontier."""
    slope: Estimate
    """- dy/dx: amount of y given up for one more unit of x."""
    rate: Estimate
    """- dx/dy: amount of x for one unit of y (Bard 1971: 11 ms of problem state for a page)."""


@dataclass(frozen=True, slots=True)
class FrontierPair:
    """The frontier of two kinds of work; the others are left free."""

    x: Dimension
    y: Dimension
    points: tuple[tuple[float, float], ...]
    """Pareto-maximal pairs (x, y), x growing; evenly thinned where there are more than 1000."""
    limits: tuple[str, ...]
    """One a point."""
    cloud: tuple[tuple[float, float], ...]
    """All observations, thinned evenly to at most 1000."""
    curve: tuple[tuple[float, float], ...]
    """Concave hull through the frontier, from the y axis to the x axis' end: vertices (x, y)."""
    staircase: tuple[tuple[float, float], ...]
    """Corners of the free disposal hull through `points`: what was done, without mixtures of it."""
    hollow: float
    """Part of the area under `curve` that no point bears out, 0 to 1.

    Where it is large, the frontier is hardly known or not concave."""
    band: tuple[tuple[float, float, float], ...]
    """(x, low, high) of the curve at 25 values of x."""
    regions: tuple[Region, ...]
    """Stretches of x with the same limit."""
    trade_offs: tuple[TradeOff, ...]
    """One a region that falls, where there is more than one."""
    overall: TradeOff | None
    """Slope from end to end of the frontier; None where the frontier is one point."""


class Projection:
    """Two kinds of work of a log's blocks, and resamples of it in whole blocks.

    Parameters
    ----------
    blocks : Blocks
    columns : pair of int
        Columns of `Blocks.values`.
    """

    def __init__(self, blocks: Blocks, columns: tuple[int, int]) -> None:
        values = np.ascontiguousarray(blocks.values[:, list(columns)])
        borders = np.concatenate([[0], np.flatnonzero(np.diff(blocks.block)) + 1, [len(values)]])
        parts = [low + maximal(values[low:high]) for low, high in itertools.pairwise(borders)]
        self.rows: _Indices = np.concatenate(parts)
        """Rows of `Blocks.values` that are maximal in these two, in their block."""
        self.values: _Array = values[self.rows]
        self.count = len(parts)
        """Blocks that hold any."""
        self._block = np.repeat(np.arange(self.count), [len(part) for part in parts])
        # The curve above several blocks is that above the corners of their curves.
        hulls = [frontier.concave_hull(values[part]) for part in parts]
        self._corners: _Array = np.vstack(hulls)
        self._corner_block = np.repeat(np.arange(self.count), [len(hull) for hull in hulls])

    def inside(self, chosen: _Indices) -> _Indices:
        """Places in `rows` of the blocks `chosen`, by number."""
        return np.flatnonzero(self._marked(chosen)[self._block])

    def curve(self, chosen: _Indices | None = None) -> _Array:
        """Concave curve above the blocks `chosen`, by number; above all by default."""
        if chosen is None:
            return frontier.concave_hull(self._corners)
        return frontier.concave_hull(self.corners(chosen))

    def corners(self, chosen: _Indices) -> _Array:
        """Corners of the curves above the blocks `chosen`, by number."""
        return self._corners[self._marked(chosen)[self._corner_block]]

    def _marked(self, chosen: _Indices) -> NDArray[np.bool_]:
        marked = np.zeros(self.count, dtype=np.bool_)
        marked[chosen] = True
        return marked

    def resampled(self, replications: int, seed: int) -> Iterator[tuple[_Indices, _Array]]:
        """Rows and curve of resamples: half as many blocks as there are, drawn with replacement.

        A resample of as many as there are has the greatest of them in 63 % of the draws, and tells too little
        of an extreme; one of fewer tells enough (Bickel, Götze and van Zwet 1997, Statistica Sinica 7, 1;
        blocks: Carlstein 1986, Annals of Statistics 14, 1171). Intervals are not scaled back to the whole,
        whose rate is not known, and so are wide rather than narrow.
        """
        random = np.random.default_rng(seed)
        for _ in range(replications):
            chosen = random.integers(0, self.count, max(1, self.count // 2))
            yield self.inside(chosen), self.curve(chosen)


def pair(
    blocks: Blocks,
    columns: tuple[int, int],
    dimensions: tuple[Dimension, Dimension],
    *,
    replications: int,
    seed: int,
    level: float,
) -> FrontierPair:
    """Frontier of two kinds of work with its band, regions and trade-offs.

    Parameters
    ----------
    blocks : Blocks
    columns : pair of int
        Columns of x and y.
    dimensions : pair of Dimension
        What they are.
    replications, seed
        Of the block bootstrap.
    level : float
        Confidence of band, borders and trade-offs.
    """
    projection = Projection(blocks, columns)
    values, labels = projection.values, blocks.limit[projection.rows]
    hull = projection.curve()
    resampled = list(projection.resampled(replications, seed))
    on = maximal(values)
    on = on[np.argsort(values[on, 0], kind="stable")]
    shown = on[thinned(len(on), POINTS_MAX)]
    steps = frontier.staircase(values)
    found = regions(values, labels, blocks.limits, hull, resampled, dimensions[0].unit, level)
    curves = [curve for _, curve in resampled]
    falling = frontier.slopes(hull)
    begin, end = (float(falling[0, 0]), float(falling[-1, 1])) if len(falling) else (0.0, 0.0)
    several = found if len(found) > 1 else ()
    stretches = [(max(item.low, float(values[on[0], 0])), item.high, item.limit) for item in several]
    trade_offs = [
        _trade_off(hull, curves, stretch, dimensions, len(values), level)
        for stretch in [*stretches, (begin, end, "")]
    ]
    cloud = blocks.cloud[:, list(columns)]
    whole = frontier.area(hull)
    return FrontierPair(
        *dimensions,
        points=_pairs(values[shown]),
        limits=tuple(blocks.limits[label] for label in labels[shown]),
        cloud=_pairs(cloud[thinned(len(cloud), CLOUD_MAX)]),
        curve=_pairs(hull),
        staircase=_pairs(frontier.staircase(values[shown])),
        hollow=1.0 - frontier.area(steps) / whole if whole > 0 else 0.0,
        band=_band(hull, curves, level),
        regions=found,
        trade_offs=tuple(item for item in trade_offs[:-1] if item is not None),
        overall=trade_offs[-1],
    )


def _pairs(rows: _Array) -> tuple[tuple[float, float], ...]:
    return tuple((float(x), float(y)) for x, y in rows)


def _band(hull: _Array, curves: list[_Array], level: float) -> tuple[tuple[float, float, float], ...]:
    """Band of the curve: as far above it as resamples fall below.

    Resamples lie on or below the curve, and the curve as a rule below the frontier of all that the machine
    can do, by about as much: hence the reflection (the basic bootstrap: Davison and Hinkley 1997,
    *Bootstrap Methods*, 5.2).
    """
    grid = np.linspace(0.0, float(hull[-1, 0]), GRID)
    tail = (1.0 - level) / 2.0
    own = frontier.height(hull, grid)
    low = np.quantile([frontier.height(curve, grid) for curve in curves], tail, axis=0)
    return tuple(zip(grid.tolist(), low.tolist(), (2.0 * own - low).tolist(), strict=True))


def _trade_off(
    hull: _Array,
    curves: list[_Array],
    stretch: tuple[float, float, str],
    dimensions: tuple[Dimension, Dimension],
    n: int,
    level: float,
) -> TradeOff | None:
    """Trade-off between two values of x; None where the curve does not fall from one to the other."""
    low, high, limit = stretch
    slope = frontier.chord(hull, low, high)
    if not slope > 0.0:
        return None
    x, y = (dimension.unit.removesuffix("/s") for dimension in dimensions)
    method = "slope of the concave frontier, block bootstrap"
    ends = _ends(slope, [frontier.chord(curve, low, high) for curve in curves], level)
    bottom, top = ends or (None, None)
    return TradeOff(
        low,
        high,
        limit,
        Estimate(value=slope, unit=f"{y}/{x}", n=n, method=method, low=bottom, high=top, level=level),
        Estimate(
            value=1.0 / slope,
            unit=f"{x}/{y}",
            n=n,
            method=method,
            low=1.0 / top if top and bottom else None,
            high=1.0 / bottom if top and bottom else None,
            level=level,
        ),
    )


def _ends(value: float, drawn: list[float], level: float) -> tuple[float, float] | None:
    """Find the ends of a slope's interval; none where resamples often have no such slope."""
    known = np.array([slope for slope in drawn if not math.isnan(slope)])
    if len(known) < KNOWN_LEAST * len(drawn):
        return None
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(known, [tail, 1.0 - tail])
    return min(float(low), value), max(float(high), value)
