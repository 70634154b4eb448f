"""What the machine can do at most, and which resource stops it (Bard 1971)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses import observations, resources
from thinktime.analyses.frontier_pair import (
    LIMITS,
    Dimension,
    FrontierPair,
    Limit,
    TradeOff,
    limit_named,
    pair,
)
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.stats.pareto import dominated, maximal
from thinktime.stats.proportions import proportion

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = [
    "Dimension",
    "Filling",
    "FrontierPair",
    "FrontierPoint",
    "Limit",
    "Saturation",
    "TradeOff",
    "analyse",
]

Array = NDArray[np.float64]

DEFAULT = ("user_time", "page_faults", "disk_operations")
N_LEAST = 10
FILLING_LEAST = 60
FILLING_BLOCKS = 20
FILLING_SPLITS = 100
FILLING_QUANTILE = 0.95
FILLING_POINTS = 2000
VOLUME_POINTS = 4000
POINTS_MAX = 1000


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """An interval in which no other did at least as much of everything."""

    start_us: int
    values: tuple[float, ...]
    """Work per second, in the order of `Saturation.dimensions`."""
    limit: Limit
    idle: float | None
    """Idle part of the CPU capacity in that interval, 0 to 1."""
    disk_busy: float | None
    """Busy part of the busiest disk's time, 0 to 1."""
    memory_stall: float | None
    """Part of the time in which some task was stalled on memory, 0 to 1."""
    swapping: float | None
    """Pages swapped in and out per second."""


@dataclass(frozen=True, slots=True)
class Filling:
    """Whether more data fill the frontier in or move it outwards (Bard 1971)."""

    growth: float
    """Volume under the frontier of all data over that of the first half, less one."""
    outside: Estimate
    """Part of the second half's observations that lie outside the first half's frontier, 0 to 1."""
    expected: float
    """The same part if both halves were one stationary sample (mean over random halves)."""
    settles: bool | None
    """True: it fills in. False: it still moves outwards, more than 95 % of random halves do. None: too
    little data to say."""
    expected_growth: float = 0.0
    """Mean `growth` over random halves."""


@dataclass(frozen=True, slots=True)
class Saturation:
    """The Pareto-maximal intervals, their limits and what can be traded for what."""

    dimensions: tuple[Dimension, ...]
    n: int
    points: tuple[FrontierPoint, ...]
    """By falling first dimension; evenly thinned where there are more than 1000."""
    limits: dict[Limit, int]
    """Number of frontier points that each resource limits."""
    saturated_share: dict[Limit, Estimate]
    """Part of all intervals in which each resource was used up, 0 to 1."""
    pairs: tuple[FrontierPair, ...]
    filling: Filling
    interval_s: float
    """Median length of an interval: shorter saturation cannot be seen."""
    idle_below: float
    """Idle part below which the CPU counts as used up."""
    disk_above: float
    """Busy part above which a disk counts as used up."""
    stall_above: float
    """Stalled part above which memory counts as used up."""
    caveats: tuple[str, ...]


def analyse(
    log: Log,
    *,
    dimensions: Sequence[str] | None = None,
    idle_below: float = 0.05,
    disk_above: float = 0.9,
    stall_above: float = 0.1,
    replications: int = 200,
    seed: int = 1,
    level: float = 0.95,
) -> Saturation | NotApplicable:
    r"""Find what the machine can do at most: the Pareto-maximal intervals (Bard 1971, Figures 6 to 9).

    Interval i is dominated by j if :math:`x_{ik} \le x_{jk}` for every kind of work k (Figure 6); what no
    other dominates is the frontier, found as a stream (`stats.pareto`). Each point is labelled with
    the resource that was used up there. For each pair of kinds of work the curve that Bard drew by
    eye is the least concave one above the points (`stats.frontier`), with a block-bootstrap band; its
    negative slope is the trade-off. Two checks that it is saturation: the second half of the log
    must not push the frontier of the first outwards more than random halves do, by the volume
    below it, and a point without a used-up resource is no limit of the machine.

    Parameters
    ----------
    log : Log
    dimensions : sequence of str, optional
        Kinds of work: columns, sums of `observations.SUMS`, or ``user_time``. By default user time, page
        faults and disk operations; where a log lacks those, user time and its first two requests.
    idle_below, disk_above, stall_above : float
        A CPU that is idle less, the busiest disk busy more, or memory stalled more than this part of the
        interval counts as used up. Without stall figures, any swapping in and out counts for memory.
    replications, seed
        Of the bootstrap.
    level : float
        Confidence of the intervals.
    """
    work, seen, problem = _work(log, dimensions)
    if problem:
        return problem
    values = np.column_stack([seen.rate(item.columns) for item in work])
    rows = np.flatnonzero(~np.isnan(values).any(axis=1))
    if len(rows) < N_LEAST:
        return NotApplicable(
            f"{len(rows)} usable intervals are too few for a frontier: {N_LEAST} are needed", "record longer"
        )
    values = values[rows]
    named = tuple(Dimension(item.name, item.label, f"{item.unit}/s") for item in work)
    state = resources.read(log, seen, rows)
    limits = state.limits(idle_below, disk_above, stall_above)
    on = maximal(values)
    on = on[np.argsort(-values[on, 0], kind="stable")]
    shown = on[observations.thinned(len(on), POINTS_MAX)]
    points = tuple(_point(seen, rows, values, state, limits, at) for at in shown.tolist())
    pairs = tuple(
        pair(
            values[:, [a, b]], (named[a], named[b]), limits, replications=replications, seed=seed, level=level
        )
        for a, b in itertools.combinations(range(len(named)), 2)
    )
    filling = _filling(values, seed, level)
    return Saturation(
        dimensions=named,
        n=len(rows),
        points=points,
        limits={name: int(np.count_nonzero(limits[on] == name)) for name in LIMITS},
        saturated_share={
            name: proportion(int(np.count_nonzero(limits == name)), len(rows), level).estimate("")
            for name in LIMITS
        },
        pairs=pairs,
        filling=filling,
        interval_s=float(np.median(seen.length_s[rows])),
        idle_below=idle_below,
        disk_above=disk_above,
        stall_above=stall_above,
        caveats=_caveats(points, filling, float(np.median(seen.length_s[rows])), state),
    )


def _work(
    log: Log, asked: Sequence[str] | None
) -> tuple[tuple[observations.Quantity, ...], observations.Observations, NotApplicable | None]:
    """Kinds of work that vary in this log, and the observations."""
    names = list(asked or DEFAULT)
    if asked is None:
        names += list(observations.role_columns(log, "request"))
    offered = observations.quantities(log, list(dict.fromkeys(names)))
    columns = [column for item in offered for column in item.columns]
    seen = observations.read(log, [*columns, *resources.columns(log)])
    varying = [
        item for item in offered if len(seen) and np.nanmax(np.append(seen.rate(item.columns), 0.0)) > 0.0
    ]
    preferred = [item for item in varying if item.name in (asked or DEFAULT)]
    if len(preferred) < 2 and asked is None:
        parts = {column for name in DEFAULT for column in observations.SUMS.get(name, ())}
        preferred = [item for item in varying if item.name not in parts][:3]
    if len(preferred) < 2:
        reason = "fewer than two kinds of work vary in this log: a frontier needs two"
        return (
            (),
            seen,
            NotApplicable(reason, "name columns as dimensions, or record with `thinktime record`"),
        )
    return tuple(preferred), seen, None


def _point(
    seen: observations.Observations,
    rows: NDArray[np.int64],
    values: Array,
    state: resources.Resources,
    limits: NDArray[np.str_],
    at: int,
) -> FrontierPoint:
    def known(series: Array) -> float | None:
        return None if np.isnan(series[at]) else float(series[at])

    return FrontierPoint(
        int(seen.start_us[rows[at]]),
        tuple(values[at].tolist()),
        limit_named(str(limits[at])),
        known(state.idle),
        known(state.disk_busy),
        known(state.memory_stall),
        known(state.swapping),
    )


def _filling(values: Array, seed: int, level: float) -> Filling:
    """Compare the halves in time with halves of blocks drawn at random."""
    n = len(values)
    scaled = values / np.maximum(values.max(axis=0), np.finfo(np.float64).tiny)
    random = np.random.default_rng(seed)
    cloud = random.random((VOLUME_POINTS, values.shape[1]))
    blocks = np.array_split(np.arange(n), min(n, FILLING_BLOCKS))
    shown = observations.thinned(n, FILLING_POINTS)
    # What each block dominates, of the observations and of points that measure volume; what several
    # blocks dominate is then the union.
    fronts = [_edge(scaled[rows]) for rows in blocks]
    covered = np.array([dominated(cloud, front) for front in fronts])
    beaten = np.array([dominated(scaled[shown], front) for front in fronts])
    block_of = np.repeat(np.arange(len(blocks)), [len(rows) for rows in blocks])[shown]

    def compare(inside: NDArray[np.bool_]) -> tuple[float, int, int]:
        before, whole = covered[inside].any(axis=0).sum(), covered.any(axis=0).sum()
        later = ~inside[block_of]
        out = np.count_nonzero(~beaten[inside].any(axis=0) & later)
        return whole / max(before, 1) - 1.0, int(out), int(later.sum())

    half = np.arange(len(blocks)) < len(blocks) // 2
    growth, out, later = compare(half)
    drawn = [compare(random.permutation(half)) for _ in range(FILLING_SPLITS)]
    limit = float(np.quantile([item[0] for item in drawn], FILLING_QUANTILE))
    return Filling(
        growth=float(growth),
        outside=proportion(out, later, level).estimate(""),
        expected=float(np.mean([item[1] / item[2] for item in drawn])),
        expected_growth=float(np.mean([item[0] for item in drawn])),
        settles=None if n < FILLING_LEAST else bool(growth <= limit),
    )


def _edge(points: Array) -> Array:
    """Maximal points, evenly thinned where there are more than a volume needs."""
    edge = points[maximal(points)]
    return edge[observations.thinned(len(edge), FILLING_POINTS)]


def _caveats(
    points: tuple[FrontierPoint, ...], filling: Filling, interval_s: float, state: resources.Resources
) -> tuple[str, ...]:
    caveats = []
    free = sum(point.limit == "none" for point in points)
    if free > len(points) / 2:
        caveats.append(
            f"At {free} of {len(points)} frontier points no resource was used up: there the frontier shows "
            "the load that came, not the most that the machine can do."
        )
    if filling.settles is False:
        caveats.append("The frontier still moved outwards in the second half: more than this is possible.")
    if filling.settles is None:
        caveats.append(
            f"Fewer than {FILLING_LEAST} intervals: too few to say whether the frontier has settled."
        )
    if missing := state.missing():
        caveats.append(f"Not measured: {', '.join(missing)}; points that they limit are labelled otherwise.")
    caveats.append(
        f"Saturation shorter than an interval ({interval_s:.3g} s) cannot be seen, and the band of a "
        "frontier only says how much it hangs on single intervals: resampling never goes beyond the data."
    )
    return tuple(caveats)
