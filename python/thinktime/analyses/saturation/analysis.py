"""What the machine can do at most, and which resource stops it (Bard 1971)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.saturation import frontier_blocks, resources
from thinktime.analyses.saturation.frontier_blocks import Blocks
from thinktime.analyses.saturation.frontier_growth import FILLING_LEAST, Filling, filling
from thinktime.analyses.saturation.frontier_pair import Dimension, FrontierPair, TradeOff, pair
from thinktime.analyses.saturation.frontier_regions import Region
from thinktime.analyses.saturation.resources import Ceiling, Thresholds
from thinktime.errors import InputError
from thinktime.log import observations
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.stats.frontier import maximal
from thinktime.stats.samples import in_blocks

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.log.observations import Quantity

__all__ = [
    "Ceiling",
    "Dimension",
    "Filling",
    "FrontierPair",
    "FrontierPoint",
    "Region",
    "Saturation",
    "Thresholds",
    "TradeOff",
    "analyse",
    "kinds_of_work",
]

DEFAULT = ("user_time", "page_faults", "disk_operations")
N_LEAST = 10
POINTS_MAX = 1000
HOLLOW = 0.25
"""Part of the area under a curve without support, from where on it is said."""


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """An interval in which no other did at least as much of everything."""

    start_us: int
    values: tuple[float, ...]
    """Work per second, in the order of `Saturation.dimensions`."""
    limit: str
    """``cpu``, ``disk``, ``memory``, the resource of a ceiling, ``none`` or ``unknown``."""
    idle: float | None
    """Idle part of the CPU capacity in that interval, 0 to 1."""
    disk_busy: float | None
    """Busy part of the busiest disk's time, 0 to 1."""
    memory_stall: float | None
    """Part of the time in which some task was stalled on memory, 0 to 1."""
    swapping: float | None
    """Pages swapped in and out per second."""
    ceilings: tuple[float | None, ...] = ()
    """Part of each of `Saturation.ceilings` that was reached."""


@dataclass(frozen=True, slots=True)
class Saturation:
    """The Pareto-maximal intervals, their limits and what can be traded for what."""

    dimensions: tuple[Dimension, ...]
    n: int
    points: tuple[FrontierPoint, ...]
    """By falling first dimension; evenly thinned where there are more than 1000."""
    limits: dict[str, int]
    """Number of frontier points that each resource limits."""
    saturated_share: dict[str, Estimate]
    """Part of all intervals in which each resource was used up, 0 to 1."""
    pairs: tuple[FrontierPair, ...]
    filling: Filling
    interval_s: float
    """Median length of an interval: shorter saturation cannot be seen."""
    block: int
    """Intervals in a block of the bootstrap."""
    blocks: int
    thresholds: Thresholds
    ceilings: tuple[Ceiling, ...]
    caveats: tuple[str, ...]


def analyse(
    log: Log,
    *,
    dimensions: Sequence[str] | None = None,
    ceilings: Mapping[str, float] | None = None,
    thresholds: Thresholds = Thresholds(),  # noqa: B008  (frozen)
    replications: int = 200,
    seed: int = 1,
    level: float = 0.95,
) -> Saturation | NotApplicable:
    r"""Find what the machine can do at most: the Pareto-maximal intervals (Bard 1971, Figures 6 to 9).

    Interval i is dominated by j if :math:`x_{ik} \le x_{jk}` for every kind of work k (Figure 6); what no
    other dominates is the frontier. The log is read once, in pieces, and only the frontier of each block
    of it is kept (`frontier_blocks`). Each point is labelled with the resource that was used up there.
    For each pair of kinds of work the curve that Bard drew by eye is the least concave one above the
    points (`stats.frontier`), with a band from a bootstrap of whole blocks; its negative slope is the
    trade-off, over all and in each region with a limit of its own. Two checks that it is saturation: the
    second half of the log must not push the frontier of the first outwards more than random halves
    do, by the volume below it, and a point without a used-up resource is no limit of the machine.

    Parameters
    ----------
    log : Log
    dimensions : sequence of str, optional
        Kinds of work: columns, sums of `observations.SUMS`, or ``user_time``; see `kinds_of_work`.
    ceilings : mapping of str to float, optional
        Greatest rates known from a device's build, per second, by column; the manifest's are used too.
    thresholds : Thresholds
        From where on a resource counts as used up. Without stall figures, any swapping in and out counts for
        memory.
    replications, seed
        Of the bootstrap.
    level : float
        Confidence of the intervals.

    Raises
    ------
    InputError
        A dimension or a ceiling is about a column that the log lacks, or a ceiling is not positive.
    """
    known = resources.ceilings(log, ceilings)
    work = kinds_of_work(log, dimensions, known)
    if isinstance(work, NotApplicable):
        return work
    blocks = frontier_blocks.read(log, work, resources.Meter(log, known), thresholds)
    if blocks.n < N_LEAST:
        return NotApplicable(
            f"{blocks.n} usable intervals are too few for a frontier: {N_LEAST} are needed", "record longer"
        )
    named = tuple(Dimension(item.name, item.label, f"{item.unit}/s") for item in work)
    on = maximal(blocks.values)
    on = on[np.argsort(-blocks.values[on, 0], kind="stable")]
    shown = on[observations.thinned(len(on), POINTS_MAX)]
    points = tuple(_point(blocks, at) for at in shown.tolist())
    pairs = tuple(
        pair(blocks, (a, b), (named[a], named[b]), replications=replications, seed=seed, level=level)
        for a, b in itertools.combinations(range(len(named)), 2)
    )
    filled = filling(blocks, seed, level)
    return Saturation(
        dimensions=named,
        n=blocks.n,
        points=points,
        limits={
            name: int(np.count_nonzero(blocks.limit[on] == place)) for place, name in enumerate(blocks.limits)
        },
        saturated_share=_shares(blocks, level),
        pairs=pairs,
        filling=filled,
        interval_s=blocks.interval_s,
        block=blocks.rows,
        blocks=blocks.count,
        thresholds=thresholds,
        ceilings=known,
        caveats=_caveats(blocks, points, pairs, filled),
    )


def kinds_of_work(
    log: Log, asked: Sequence[str] | None, ceilings: Sequence[Ceiling] = ()
) -> tuple[Quantity, ...] | NotApplicable:
    """Kinds of work that vary in this log, two or more.

    By default user time, page faults and disk operations; where a log lacks those, user time, what has a
    ceiling, and requests, three in all.

    Raises
    ------
    InputError
        One that is asked for is not in the log.
    """
    capped = [name for ceiling in ceilings for name in ceiling.columns]
    names = list(asked or [*DEFAULT, *capped, *observations.role_columns(log, "request")])
    offered = {item.name: item for item in observations.quantities(log, list(dict.fromkeys(names)))}
    if asked is not None and (lacking := [name for name in asked if name not in offered]):
        known = ", ".join(column.name for column in log.schema("samples") if column.kind == "counter")
        raise InputError(f"{lacking[0]}: {log.path} has no such kind of work; it has user_time, {known}")
    varying = _varying(log, tuple(offered.values()))
    chosen = [item for item in varying if item.name in (asked or DEFAULT)]
    if asked is None and (len(chosen) < 2 or (capped and len(chosen) < 3)):
        parts = {column for name in DEFAULT for column in observations.SUMS.get(name, ())}
        chosen = [item for item in varying if item.name not in parts][:3]
    if len(chosen) < 2:
        reason = "fewer than two kinds of work vary in this log: a frontier needs two"
        return NotApplicable(reason, "name columns as dimensions, or record with `thinktime record`")
    return tuple(chosen)


def _varying(log: Log, offered: Sequence[Quantity]) -> list[Quantity]:
    """Those of which there is any in the log."""
    import polars as pl

    columns = list(dict.fromkeys(column for item in offered for column in item.columns))
    if not columns:
        return []
    value = {name: pl.col(name).cast(pl.Float64) for name in columns}
    some = [(value[name].is_finite() & (value[name] > 0)).any().alias(name) for name in columns]
    usable = pl.col("length_s").cast(pl.Float64)
    found = log.samples().filter(usable.is_finite() & (usable > 0)).select(some).collect(engine="streaming")
    return [item for item in offered if any(found[name][0] for name in item.columns)]


def _point(blocks: Blocks, at: int) -> FrontierPoint:
    def known(series: NDArray[np.float64]) -> float | None:
        return None if np.isnan(series[at]) else float(series[at])

    state = blocks.state
    return FrontierPoint(
        int(blocks.start_us[at]),
        tuple(blocks.values[at].tolist()),
        blocks.limits[blocks.limit[at]],
        known(state.idle),
        known(state.disk_busy),
        known(state.memory_stall),
        known(state.swapping),
        tuple(known(column) for column in state.ceilings.T),
    )


def _shares(blocks: Blocks, level: float) -> dict[str, Estimate]:
    sizes = blocks.used_up.sum(axis=1)
    return {
        name: in_blocks(blocks.used_up[:, place], sizes, level) for place, name in enumerate(blocks.limits)
    }


def _caveats(
    blocks: Blocks, points: tuple[FrontierPoint, ...], pairs: tuple[FrontierPair, ...], filled: Filling
) -> tuple[str, ...]:
    caveats = []
    free = sum(point.limit == "none" for point in points)
    if free > len(points) / 2:
        caveats.append(
            f"At {free} of {len(points)} frontier points no resource was used up: there the frontier shows "
            "the load that came, not the most that the machine can do."
        )
    if filled.settles is False:
        caveats.append("The frontier still moved outwards in the second half: more than this is possible.")
    if filled.settles is None:
        caveats.append(
            f"Fewer than {FILLING_LEAST} intervals: too few to say whether the frontier has settled."
        )
    if missing := [name for name, known in blocks.measured.items() if not known]:
        caveats.append(f"Not measured: {', '.join(missing)}; points that they limit are labelled otherwise.")
    caveats += [
        f"Of the area below the curve of {item.x.label} and {item.y.label}, {item.hollow:.0%} is a mixture "
        "of what was done and was not done itself: the curve takes the frontier for concave."
        for item in pairs
        if item.hollow > HOLLOW
    ]
    caveats.append(
        f"Saturation shorter than an interval ({blocks.interval_s:.3g} s) cannot be seen. The band of a "
        "frontier tells how much it hangs on single blocks of the log, and nothing of a load that never came."
    )
    return tuple(caveats)
