"""The frontier of two kinds of work as a curve with a band, and what can be traded for what."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.observations import thinned
from thinktime.stats import bootstrap, frontier
from thinktime.stats.estimate import Estimate
from thinktime.stats.pareto import layers, maximal

__all__ = ["LIMITS", "Dimension", "FrontierPair", "Limit", "TradeOff", "pair"]

Array = NDArray[np.float64]

CLOUD_MAX = 1000
GRID = 25
LAYERS = 12
"""A resample's frontier lies in the first layers: before a deeper point all above would have to go."""
WELL_BELOW = 0.5
"""Part of the way from the origin to the curve, below which a point is passed over."""
NEAR_MAX = 2000
"""Points of which a resample is made: of more, every so many along the curve, and its corners."""
PIECES_MAX = 5
KNOWN_LEAST = 0.8


Limit = Literal["cpu", "disk", "memory", "none", "unknown"]
"""The resource that was used up at a point; ``none``: neither, ``unknown``: not measured."""

LIMITS: tuple[Limit, ...] = get_args(Limit)


@dataclass(frozen=True, slots=True)
class Dimension:
    """One kind of work per second."""

    name: str
    label: str
    unit: str


@dataclass(frozen=True, slots=True)
class TradeOff:
    """How much of one kind of work has to be given up for one more of another, on the frontier."""

    low: float
    """Range of x in which it holds."""
    high: float
    rate: Estimate
    """- dx/dy: amount of x for one unit of y (Bard 1971: 11 ms of problem state for a page)."""


@dataclass(frozen=True, slots=True)
class FrontierPair:
    """The frontier of two kinds of work; the others are left free."""

    x: Dimension
    y: Dimension
    points: tuple[tuple[float, float], ...]
    """Pareto-maximal pairs (x, y), x growing."""
    limits: tuple[Limit, ...]
    """One a point."""
    cloud: tuple[tuple[float, float], ...]
    """All observations, thinned evenly to at most 1000."""
    curve: tuple[tuple[float, float], ...]
    """Concave hull through the frontier, from the y axis to the x axis' end: vertices (x, y)."""
    band: tuple[tuple[float, float, float], ...]
    """(x, low, high) of the curve at 25 values of x, by block bootstrap."""
    trade_offs: tuple[TradeOff, ...]
    overall: TradeOff | None
    """Slope from end to end of the frontier; None where the frontier is one point."""


def pair(
    values: Array,
    dimensions: tuple[Dimension, Dimension],
    limits: NDArray[np.str_],
    *,
    replications: int,
    seed: int,
    level: float,
) -> FrontierPair:
    """Frontier of `values` (rows of x, y) with its band and trade-offs.

    Parameters
    ----------
    values : array of shape (n, 2)
    dimensions : pair of Dimension
        What x and y are.
    limits : array of str
        Resource used up in each row.
    replications, seed
        Of the block bootstrap.
    level : float
        Confidence of band and trade-offs.
    """
    on = maximal(values)
    on = on[np.argsort(values[on, 0], kind="stable")]
    hull = frontier.concave_hull(values[on])
    resampled = _resampled(values, hull, replications, seed)
    grid = np.linspace(0.0, float(hull[-1, 0]), GRID)
    tail = (1.0 - level) / 2.0
    low, high = np.quantile([frontier.height(item, grid) for item in resampled], [tail, 1.0 - tail], axis=0)
    return FrontierPair(
        *dimensions,
        points=_pairs(values[on]),
        limits=tuple(limit_named(str(name)) for name in limits[on]),
        cloud=_pairs(values[thinned(len(values), CLOUD_MAX)]),
        curve=_pairs(hull),
        band=tuple(zip(grid.tolist(), low.tolist(), high.tolist(), strict=True)),
        trade_offs=_trade_offs(hull, resampled, dimensions, len(values), level),
        overall=_overall(values[on], hull, resampled, dimensions, level),
    )


def limit_named(name: str) -> Limit:
    """Return the limit of that name."""
    return next(limit for limit in LIMITS if limit == name)


def _pairs(rows: Array) -> tuple[tuple[float, float], ...]:
    return tuple((float(x), float(y)) for x, y in rows)


def _resampled(values: Array, hull: Array, replications: int, seed: int) -> list[Array]:
    """Curves of resamples in blocks, from the points that can be on one."""
    n = len(values)
    # What lies well below the curve is on no resample's.
    upper = np.flatnonzero(values[:, 1] >= WELL_BELOW * frontier.height(hull, values[:, 0] / WELL_BELOW))
    near = upper[layers(values[upper], LAYERS)]
    if len(near) > NEAR_MAX:
        along = near[np.argsort(values[near, 0], kind="stable")]
        corners = upper[maximal(values[upper])]
        corners = corners[np.isin(values[corners, 0], hull[:, 0])]
        near = np.unique(np.concatenate([along[thinned(len(along), NEAR_MAX)], corners]))
    random = np.random.default_rng(seed)
    block = bootstrap.block_length(n)
    curves = []
    for _ in range(replications):
        present = near[bootstrap.block_presence(near, n, block, random)]
        # All near points can be missing from one resample of a very small log; then the frontier is that
        # of deeper layers, for which the lowest near point stands.
        inside = values[present] if len(present) else values[near].min(axis=0)[None, :]
        curves.append(frontier.concave_hull(inside))
    return curves


def _trade_offs(
    hull: Array, resampled: list[Array], dimensions: tuple[Dimension, Dimension], n: int, level: float
) -> tuple[TradeOff, ...]:
    """Trade-off on the widest falling pieces of the curve."""
    pieces = frontier.slopes(hull)
    widest = np.sort(np.argsort(-(pieces[:, 1] - pieces[:, 0]), kind="stable")[:PIECES_MAX])
    found = []
    for first, last, slope in pieces[widest].tolist():
        middle = np.array([(first + last) / 2.0])
        rates = [_rate_at(curve, middle) for curve in resampled]
        found.append(TradeOff(first, last, _estimate(-1.0 / slope, rates, dimensions, n, level)))
    return tuple(found)


def _rate_at(curve: Array, x: Array) -> float:
    """- dx/dy of the curve at x; nan where it has no falling piece there."""
    for first, last, slope in frontier.slopes(curve).tolist():
        if first <= float(x[0]) <= last:
            return -1.0 / float(slope)
    return math.nan


def _overall(
    points: Array, hull: Array, resampled: list[Array], dimensions: tuple[Dimension, Dimension], level: float
) -> TradeOff | None:
    """Trade-off from the end with most y to the end with most x."""
    ends = _chord(hull)
    if math.isnan(ends):
        return None
    rates = [_chord(curve) for curve in resampled]
    estimate = _estimate(ends, rates, dimensions, len(points), level)
    return TradeOff(float(points[0, 0]), float(points[-1, 0]), estimate)


def _chord(curve: Array) -> float:
    pieces = frontier.slopes(curve)
    if not len(pieces):
        return math.nan
    fall = float(np.sum((pieces[:, 1] - pieces[:, 0]) * pieces[:, 2]))
    return -(float(pieces[-1, 1]) - float(pieces[0, 0])) / fall


def _estimate(
    value: float, rates: list[float], dimensions: tuple[Dimension, Dimension], n: int, level: float
) -> Estimate:
    """Trade-off in units of x for one of y; no interval where resamples often have no such slope."""
    x, y = (dimension.unit.removesuffix("/s") for dimension in dimensions)
    known = np.array([rate for rate in rates if not math.isnan(rate)])
    method = "slope of the concave frontier, block bootstrap"
    if len(known) < KNOWN_LEAST * len(rates):
        return Estimate(value, f"{x}/{y}", n, method, level=level)
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(known, [tail, 1.0 - tail])
    # Resamples lie on or below the curve, so that the estimate can lie outside their percentiles.
    return Estimate(value, f"{x}/{y}", n, method, min(float(low), value), max(float(high), value), level)
