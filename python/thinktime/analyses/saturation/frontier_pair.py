"""Frontier of two kinds of work: its curve with a band, its regions by limit, and its trade-offs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.saturation.frontier_blocks import Blocks
from thinktime.log.observations import thinned
from thinktime.stats import frontier
from thinktime.stats.estimate import Estimate
from thinktime.stats.frontier import maximal

_Array = NDArray[np.float64]
_Indices = NDArray[np.int64]
_Labels = NDArray[np.int8]

CLOUD_MAX = 1000
"""Observations drawn behind a frontier."""
POINTS_MAX = 1000
"""Points of a frontier in a result."""
ROBUST_STEPS = 10
"""Values of x at which the robust frontier is given."""
GRID = 25
"""Values of x at which the band of a curve is given."""
NEAR = 0.95
"""Share of the way from the origin to the curve beyond which a point shows what limits there."""
PENALTY_LEAST = 2.0
"""Disagreeing points that a border must remove at least, so that a single stray point makes none."""
KNOWN_LEAST = 0.8
"""Share of the resamples that must have a slope, or the same regions, to give it an interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """One kind of work per second."""

    name: str
    label: str
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A stretch of the frontier along x with one limit (Bard 1971, Figure 7)."""

    limit: str
    """Resource exhausted at most points near the curve; ``none``: no resource."""
    low: float
    high: float
    border: Estimate | None
    """Start of the next region, with its interval; None at the end of the curve."""
    n: int
    """Number of intervals near the curve in this stretch."""
    agreeing: float
    """Share of them at which `limit` was exhausted, 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeOff:
    """Amount of one kind of work given up for one more of another, on a stretch of the frontier."""

    low: float
    """Range of x in which it holds."""
    high: float
    limit: str
    """Resource exhausted there; empty for the whole frontier."""
    slope: Estimate
    """- dy/dx: amount of y given up for one more unit of x."""
    rate: Estimate
    """- dx/dy: amount of x for one unit of y (Bard 1971: 11 ms of problem state for a page)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierPair:
    """The frontier of two kinds of work; the others are left free."""

    x: Dimension
    y: Dimension
    points: tuple[tuple[float, float], ...]
    """Pareto-maximal pairs (x, y), x growing; evenly thinned where there are more than 1000."""
    limits: tuple[str, ...]
    """Limit at each point."""
    cloud: tuple[tuple[float, float], ...]
    """All observations, thinned evenly to at most 1000."""
    curve: tuple[tuple[float, float], ...]
    """Concave hull through the frontier, from the y axis to the x axis' end: vertices (x, y)."""
    staircase: tuple[tuple[float, float], ...]
    """Corners of the free disposal hull through `points`: work actually done, without mixtures of it."""
    hollow: float
    """Share of the area under `curve` that no point supports, 0 to 1.

    If it is large, the frontier is poorly known or not concave."""
    band: tuple[tuple[float, float, float], ...]
    """(x, low, high) of the curve at 25 values of x."""
    robust: tuple[tuple[float, Estimate], ...]
    """(x, height that y exceeds in a tenth of the intervals with at least x): quantiles of order 0.9, which
    neither errors of readings nor the length of the log raise. Up to 10 values of x; each interval holds by
    itself."""
    unlimited: float | None
    """Share of the intervals near the curve in which no resource was exhausted; None if none was measured.

    Where it is more than a half, the curve is the frontier of the load and not of the machine."""
    regions: tuple[Region, ...]
    """Stretches of x with the same limit."""
    trade_offs: tuple[TradeOff, ...]
    """Trade-off in each falling region, if there are several regions."""
    overall: TradeOff | None
    """Slope from end to end of the frontier; None if the frontier is one point."""


class Projection:
    """Two kinds of work of a log's blocks, and its resamples in whole blocks.

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
        """Number of blocks with an observation."""
        self._block = np.repeat(np.arange(self.count), [len(part) for part in parts])
        # The curve above several blocks is the curve above the corners of theirs.
        hulls = [frontier.concave_hull(values[part]) for part in parts]
        self._corners: _Array = np.vstack(hulls)
        self._corner_block = np.repeat(np.arange(self.count), [len(hull) for hull in hulls])

    def inside(self, chosen: _Indices) -> _Indices:
        """Indices into `rows` of the blocks `chosen`, by number."""
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

        A resample of full size contains the greatest block in 63 % of the draws, so that its extremes vary
        too little; smaller resamples are consistent (Bickel, Götze and van Zwet 1997, Statistica Sinica 7, 1;
        blocks: Carlstein 1986, Annals of Statistics 14, 1171). Intervals are not scaled back to the full
        size, for the rate is unknown; they are wide rather than narrow.
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
        Names and units of x and y.
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
    parts = regions(
        values,
        labels,
        hull,
        resampled,
        names=blocks.limits,
        unit=dimensions[0].unit,
        level=level,
    )
    curves = [curve for _, curve in resampled]
    falling = frontier.slopes(hull)
    begin, end = (float(falling[0, 0]), float(falling[-1, 1])) if len(falling) else (0.0, 0.0)
    several = parts if len(parts) > 1 else ()
    spans = [(max(item.low, float(values[on[0], 0])), item.high, item.limit) for item in several]
    trade_offs = [
        _trade_off(hull, curves, stretch, dimensions, n=len(values), level=level)
        for stretch in [*spans, (begin, end, "")]
    ]
    cloud = blocks.cloud[:, list(columns)]
    area = frontier.area(hull)
    x, y = dimensions
    return FrontierPair(
        x=x,
        y=y,
        points=_pairs(values[shown]),
        limits=tuple(blocks.limits[label] for label in labels[shown]),
        cloud=_pairs(cloud[thinned(len(cloud), CLOUD_MAX)]),
        curve=_pairs(hull),
        staircase=_pairs(frontier.staircase(values[shown])),
        hollow=1.0 - frontier.area(steps) / area if area > 0 else 0.0,
        band=_band(hull, curves, level),
        robust=_robust(cloud, level),
        unlimited=_unlimited(values, labels, hull, blocks.limits),
        regions=parts,
        trade_offs=tuple(item for item in trade_offs[:-1] if item is not None),
        overall=trade_offs[-1],
    )


def _pairs(rows: _Array) -> tuple[tuple[float, float], ...]:
    return tuple((float(x), float(y)) for x, y in rows)


def _band(hull: _Array, curves: list[_Array], level: float) -> tuple[tuple[float, float, float], ...]:
    """Band of the curve, which extends as far above it as resamples fall below.

    Resamples lie on or below the curve, and the curve usually lies below the machine's true frontier by
    about as much: hence the reflection (the basic bootstrap: Davison and Hinkley 1997, *Bootstrap Methods*,
    5.2).
    """
    grid = np.linspace(0.0, float(hull[-1, 0]), GRID)
    tail = (1.0 - level) / 2.0
    height = frontier.height(hull, grid)
    low = np.quantile([frontier.height(curve, grid) for curve in curves], tail, axis=0)
    return tuple(zip(grid.tolist(), low.tolist(), (2.0 * height - low).tolist(), strict=True))


def _robust(cloud: _Array, level: float) -> tuple[tuple[float, Estimate], ...]:
    """Quantiles of order 0.9 over the values of x that enough intervals reach."""
    if len(cloud) < frontier.POINTS_LEAST:
        return ()
    last = float(np.sort(cloud[:, 0])[-frontier.POINTS_LEAST])
    steps = np.linspace(0.0, last, ROBUST_STEPS).tolist() if last > 0.0 else [0.0]
    heights = [(x, frontier.order_alpha(cloud, x, level=level)) for x in steps]
    return tuple((x, height) for x, height in heights if height is not None)


def _unlimited(values: _Array, labels: _Labels, hull: _Array, names: Sequence[str]) -> float | None:
    """Share of the points near the curve at which no resource was exhausted, of those that were measured."""
    near = labels[_near(values, hull)]
    measured = near[near != names.index("unknown")]
    return float(np.mean(measured == names.index("none"))) if len(measured) else None


def _trade_off(
    hull: _Array,
    curves: list[_Array],
    stretch: tuple[float, float, str],
    dimensions: tuple[Dimension, Dimension],
    *,
    n: int,
    level: float,
) -> TradeOff | None:
    """Trade-off between two values of x; None if the curve does not fall between them."""
    low, high, limit = stretch
    slope = frontier.chord(hull, low, high)
    if not slope > 0.0:
        return None
    x, y = (dimension.unit.removesuffix("/s") for dimension in dimensions)
    method = "slope of the concave frontier, block bootstrap"
    ends = _ends(slope, [frontier.chord(curve, low, high) for curve in curves], level)
    bottom, top = ends or (None, None)
    return TradeOff(
        low=low,
        high=high,
        limit=limit,
        slope=Estimate(value=slope, unit=f"{y}/{x}", n=n, method=method, low=bottom, high=top, level=level),
        rate=Estimate(
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
    """Ends of a slope's interval; None if too many resamples have no such slope."""
    slopes = np.array([slope for slope in drawn if not math.isnan(slope)])
    if len(slopes) < KNOWN_LEAST * len(drawn):
        return None
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(slopes, [tail, 1.0 - tail])
    return min(float(low), value), max(float(high), value)


def _near(values: _Array, hull: _Array) -> NDArray[np.bool_]:
    """True for those of `values` within 5 % of the curve, on the way from the origin."""
    scale = np.array([hull[-1, 0], hull[0, 1]])
    scale = np.where(scale > 0, scale, 1.0)
    angles = np.arctan2(values[:, 1] / scale[1], values[:, 0] / scale[0])
    reach = frontier.radius(hull / scale, angles)
    close: NDArray[np.bool_] = np.hypot(*(values / scale).T) >= NEAR * reach
    return close


def stretches(labels: _Labels, penalty: float) -> list[tuple[int, int, int]]:
    r"""Stretches of one label each in a sequence of labels: rows (label, first, last), both included.

    Of all ways to cut the sequence, the one with the least
    :math:`\text{disagreeing labels} + \lambda \cdot \text{borders}`
    (Viterbi 1967, IEEE Trans. Inf. Theory 13, 260), in O(n k) for k different labels.
    """
    if not len(labels):
        return []
    names, codes = np.unique(labels, return_inverse=True)
    first, *others = codes.tolist()
    # There are a few labels: lists are ten times as fast as arrays so short.
    cost = [0.0 if code == first else 1.0 for code in range(len(names))]
    came: list[list[int]] = []
    for label in others:
        least = min(cost)
        best, most = cost.index(least), least + penalty
        came.append([code if at <= most else best for code, at in enumerate(cost)])
        cost = [(at if at <= most else most) + (code != label) for code, at in enumerate(cost)]
    backwards = [cost.index(min(cost))]
    for before in reversed(came):
        backwards.append(before[backwards[-1]])
    path = np.array(backwards[::-1], dtype=np.int64)
    firsts = np.concatenate([[0], np.flatnonzero(np.diff(path)) + 1])
    lasts = np.concatenate([firsts[1:] - 1, [len(path) - 1]])
    return [(int(names[path[a]]), int(a), int(b)) for a, b in zip(firsts, lasts, strict=True)]


def _cut(values: _Array, labels: _Labels, hull: _Array) -> tuple[_Array, _Labels, list[tuple[int, int, int]]]:
    """Points near the curve, x growing, their labels, and the stretches."""
    on = np.flatnonzero(_near(values, hull))
    on = on[np.argsort(values[on, 0], kind="stable")]
    x, labels = values[on, 0], labels[on]
    return x, labels, stretches(labels, max(PENALTY_LEAST, math.log(max(len(on), 1))))


def _borders(x: _Array, cuts: Sequence[tuple[int, int, int]]) -> list[float]:
    return [float(x[last] + x[last + 1]) / 2.0 for _, _, last in cuts[:-1]]


def regions(
    values: _Array,
    labels: _Labels,
    hull: _Array,
    resampled: Sequence[tuple[_Indices, _Array]],
    *,
    names: Sequence[str],
    unit: str,
    level: float,
) -> tuple[Region, ...]:
    """Regions along the curve, with intervals of their borders.

    A region is a stretch in which the same resource was exhausted at most points near the curve. A border
    must remove more than ln n disagreeing points (at least 2), so that a single stray point does not create
    one.

    Parameters
    ----------
    values : array of shape (n, 2)
        Rows of x, y.
    labels : array of int
        Indices into `names`.
    hull : array
        The curve.
    resampled : sequence of (rows, curve)
        Rows in each resample, and its curve.
    names : sequence of str
        Limits.
    unit : str
        Of x.
    level : float
    """
    x, near_labels, cuts = _cut(values, labels, hull)
    kinds = [label for label, _, _ in cuts]
    drawn = []
    for rows, curve in resampled if len(cuts) > 1 else ():
        resample_x, _, resample_cuts = _cut(values[rows], labels[rows], curve)
        if [label for label, _, _ in resample_cuts] == kinds:
            drawn.append(_borders(resample_x, resample_cuts))
    bounded = len(drawn) >= KNOWN_LEAST * len(resampled)
    tail = (1.0 - level) / 2.0
    borders = []
    for index, value in enumerate(_borders(x, cuts)):
        low, high = (
            np.quantile([item[index] for item in drawn], [tail, 1.0 - tail]) if bounded else (None, None)
        )
        borders.append(
            Estimate(
                value=value,
                unit=unit,
                n=len(x),
                method="change of the limit along the frontier, block bootstrap",
                low=None if low is None else min(float(low), value),
                high=None if high is None else max(float(high), value),
                level=level,
            )
        )
    edges = [0.0, *(border.value for border in borders), float(hull[-1, 0])]
    return tuple(
        Region(
            limit=names[label],
            low=edges[index],
            high=edges[index + 1],
            border=borders[index] if index < len(borders) else None,
            n=last - first + 1,
            agreeing=float(np.mean(near_labels[first : last + 1] == label)),
        )
        for index, (label, first, last) in enumerate(cuts)
    )
