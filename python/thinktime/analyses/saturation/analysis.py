"""Pareto frontier of kinds of work per second, and the resource that limits it (Bard 1971)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.saturation import frontier_blocks, resources
from thinktime.analyses.saturation.frontier_blocks import Blocks
from thinktime.analyses.saturation.frontier_growth import INTERVALS_LEAST, Growth, growth
from thinktime.analyses.saturation.frontier_pair import Dimension, FrontierPair, pair
from thinktime.analyses.saturation.resources import Ceiling, Thresholds
from thinktime.errors import InputError, offered
from thinktime.log import facts, observations
from thinktime.questions.checks import check_level, check_log
from thinktime.results import Result
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable
from thinktime.stats.frontier import maximal
from thinktime.stats.series.shares import proportion_in_blocks

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.log.observations import Quantity

DEFAULT = ("user_time", "page_faults", "disk_operations")
"""Kinds of work of a log that has them, unless the user names others."""
N_LEAST = 10
"""Intervals that a frontier needs: of ten, five are maximal by chance in three independent kinds of work."""
POINTS_MAX = 1000
"""Points in a result: more are thinned evenly, for nobody reads them and each takes room in a page."""
HOLLOW = 0.25
"""Share of the area under a curve without support beyond which a caveat says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierPoint:
    """An interval that no other dominates: none did at least as much of every kind of work."""

    start_us: int
    values: tuple[float, ...]
    """Work per second, in the order of `Saturation.dimensions`."""
    limit: str
    """``cpu``, ``disk``, ``memory``, the resource of a ceiling, ``none`` or ``unknown``."""
    idle: float | None
    """Idle share of the CPU capacity in that interval, 0 to 1."""
    disk_busy: float | None
    """Busy share of the busiest disk's time, 0 to 1."""
    memory_stall: float | None
    """Share of the time in which some task was stalled on memory, 0 to 1."""
    swapping: float | None
    """Pages swapped in and out per second."""
    ceilings: tuple[float | None, ...] = ()
    """Share of each of `Saturation.ceilings` that was reached."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Saturation(Result):
    """Pareto-maximal intervals, their limits, and the trade-offs between kinds of work."""

    MAIN = "points"

    dimensions: tuple[Dimension, ...]
    n: int
    points: tuple[FrontierPoint, ...]
    """By falling first dimension; evenly thinned where there are more than 1000."""
    limits: dict[str, int]
    """Number of frontier points that each resource limits."""
    saturated_share: dict[str, Estimate]
    """Share of all intervals in which each resource was exhausted, 0 to 1."""
    pairs: tuple[FrontierPair, ...]
    growth: Growth
    interval_s: float
    """Median length of an interval: shorter saturation cannot be seen."""
    block: int
    """Number of intervals in a block of the bootstrap."""
    blocks: int
    thresholds: Thresholds
    ceilings: tuple[Ceiling, ...]
    caveats: tuple[Caveat, ...]

    @property
    def is_cpu_measured(self) -> bool:
        """False if no interval tells whether the CPU was exhausted: then nothing says that it was not."""
        missing = (item.values["resources"] for item in self.caveats if item.kind == "not_measured")
        return all(resources.CPU_MEASURED not in names for names in missing if isinstance(names, list))

    def _records(self) -> list[dict[str, object]]:
        """Points, with a separate column for each kind of work and each ceiling."""
        names = [item.name for item in self.dimensions]
        capped = [f"ceiling_{item.resource}" for item in self.ceilings]
        return [
            {
                "start_us": point.start_us,
                **dict(zip(names, point.values, strict=True)),
                "limit": point.limit,
                "idle": point.idle,
                "disk_busy": point.disk_busy,
                "memory_stall": point.memory_stall,
                "swapping": point.swapping,
                **dict(zip(capped, point.ceilings, strict=True)),
            }
            for point in self.points
        ]


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
    r"""Pareto frontier of a log: the most work of each kind that the machine did (Bard 1971, Figures 6 to 9).

    Interval i is dominated by j if :math:`x_{ik} \le x_{jk}` for every kind of work k (Figure 6); the
    intervals that no other dominates are the frontier. The log is read once, in pieces, and only the
    frontier of each block is kept (`frontier_blocks`). Each point is labelled with the resource that was
    exhausted there. For each pair of kinds of work the curve that Bard drew by eye is the least concave one
    above the points (`stats.frontier`), with a band from a bootstrap of whole blocks; its negative slope is
    the trade-off, over the whole frontier and in each region with a limit of its own. Two checks show
    whether it is saturation: the second half of the log must not push the frontier of the first outwards
    more than random halves do, by the volume below it; and a point at which no resource is exhausted is no
    limit of the machine.

    Parameters
    ----------
    log : Log
    dimensions : sequence of str, optional
        Kinds of work: columns, sums of `observations.SUMS`, or ``user_time``; see `kinds_of_work`.
    ceilings : mapping of str to float, optional
        Greatest rates per second by column, known from a device's construction; those of the manifest are
        used too.
    thresholds : Thresholds
        Limits beyond which a resource counts as exhausted. Without stall times, swapping both in and out
        counts as a shortage of memory.
    replications, seed
        Of the bootstrap.
    level : float
        Confidence of the intervals.

    Raises
    ------
    TypeError
        `log` is not a `Log`.
    InputError
        The log lacks the column of a dimension or ceiling, a ceiling is not positive, or `level` is no
        confidence.
    """
    check_log(log)
    check_level(level)
    rates = resources.ceilings(log, ceilings)
    work = kinds_of_work(log, dimensions, rates)
    if isinstance(work, NotApplicable):
        return work
    blocks = frontier_blocks.read(log, work, resources.Meter(log, rates), thresholds)
    if blocks.n < N_LEAST:
        return NotApplicable(f"a frontier needs {N_LEAST} usable intervals, not {blocks.n}", "record longer")
    axes = tuple(Dimension(name=item.name, label=item.label, unit=f"{item.unit}/s") for item in work)
    on = maximal(blocks.values)
    on = on[np.argsort(-blocks.values[on, 0], kind="stable")]
    points = tuple(_point(blocks, row) for row in on[observations.thinned(len(on), POINTS_MAX)].tolist())
    pairs = tuple(
        pair(blocks, (a, b), (axes[a], axes[b]), replications=replications, seed=seed, level=level)
        for a, b in itertools.combinations(range(len(axes)), 2)
    )
    trend = growth(blocks, seed, level)
    chosen = facts.chosen_loads(log)
    return Saturation(
        dimensions=axes,
        n=blocks.n,
        points=points,
        limits={
            name: int(np.count_nonzero(blocks.limit[on] == place)) for place, name in enumerate(blocks.limits)
        },
        saturated_share=_shares(blocks, level, chosen),
        pairs=pairs,
        growth=trend,
        interval_s=blocks.interval_s,
        block=blocks.rows,
        blocks=blocks.count,
        thresholds=thresholds,
        ceilings=rates,
        caveats=(
            *_caveats(blocks, points, pairs, trend),
            *_gives_way(log, points, thresholds),
            *([] if chosen is None else [Caveat("loads_chosen", users=chosen)]),
        ),
    )


def kinds_of_work(
    log: Log, asked: Sequence[str] | None, ceilings: Sequence[Ceiling] = ()
) -> tuple[Quantity, ...] | NotApplicable:
    """Kinds of work that vary in this log, two or more.

    By default user time, page faults and disk operations; if a log lacks these, user time, columns with a
    ceiling, and requests, up to three.

    Raises
    ------
    InputError
        The log lacks one of those `asked` for.
    """
    capped = [name for ceiling in ceilings for name in ceiling.columns]
    names = list(asked or [*DEFAULT, *capped, *observations.role_columns(log, "request")])
    available = {item.name: item for item in observations.quantities(log, list(dict.fromkeys(names)))}
    if asked is not None and (lacking := [name for name in asked if name not in available]):
        counters = [column.name for column in log.schema("samples") if column.kind == "counter"]
        hint = offered(lacking[0], ["user_time", *counters])
        raise InputError(f"{lacking[0]}: {log.path} has no such kind of work; {hint}")
    varying = _varying(log, tuple(available.values()))
    chosen = [item for item in varying if item.name in (asked or DEFAULT)]
    if asked is None and (len(chosen) < 2 or (capped and len(chosen) < 3)):
        parts = {column for name in DEFAULT for column in observations.SUMS.get(name, ())}
        chosen = [item for item in varying if item.name not in parts][:3]
    if len(chosen) < 2:
        return _too_little(
            log, [item for name, item in available.items() if name in (asked or DEFAULT)], varying
        )
    return tuple(chosen)


def _too_little(log: Log, wanted: Sequence[Quantity], varying: Sequence[Quantity]) -> NotApplicable:
    """Which kinds of work were not measured, and which were not done."""
    measured = observations.extents(log, [column for item in wanted for column in item.columns])
    absent = [item.label for item in wanted if not any(name in measured for name in item.columns)]
    idle = [item.label for item in wanted if item not in varying and item.label not in absent]
    said = []
    for names, what in ((absent, "null"), (idle, "0")):
        if names:
            first = f"{', '.join(names[:-1])} and " if len(names) > 1 else ""
            verb = "are" if first else "is"
            said.append(f"{first}{names[-1]} {verb} {what} in every interval of this log")
    return NotApplicable(
        "; ".join([*said, "a frontier needs two kinds of work that were done"]),
        "name two such kinds (--work), or record with a source that measures them"
        if absent
        else "name two such kinds (--work), or record for longer",
    )


def _varying(log: Log, available: Sequence[Quantity]) -> list[Quantity]:
    """Kinds of work with a positive amount in the log."""
    import polars as pl

    columns = list(dict.fromkeys(column for item in available for column in item.columns))
    if not columns:
        return []
    value = {name: pl.col(name).cast(pl.Float64) for name in columns}
    some = [(value[name].is_finite() & (value[name] > 0)).any().alias(name) for name in columns]
    usable = pl.col("length_s").cast(pl.Float64)
    positive = (
        log.samples().filter(usable.is_finite() & (usable > 0)).select(some).collect(engine="streaming")
    )
    return [item for item in available if any(positive[name][0] for name in item.columns)]


def _point(blocks: Blocks, row: int) -> FrontierPoint:
    def measured(series: NDArray[np.float64]) -> float | None:
        return None if np.isnan(series[row]) else float(series[row])

    state = blocks.state
    return FrontierPoint(
        start_us=int(blocks.start_us[row]),
        values=tuple(blocks.values[row].tolist()),
        limit=blocks.limits[blocks.limit[row]],
        idle=measured(state.idle),
        disk_busy=measured(state.disk_busy),
        memory_stall=measured(state.memory_stall),
        swapping=measured(state.swapping),
        ceilings=tuple(measured(column) for column in state.ceilings.T),
    )


def _shares(blocks: Blocks, level: float, chosen: str | None) -> dict[str, Estimate]:
    """Share of the intervals by limit; without an interval if how long each load lasted was `chosen`."""
    sizes = blocks.used_up.sum(axis=1)
    shares = {
        name: proportion_in_blocks(blocks.used_up[:, place], sizes, level)
        for place, name in enumerate(blocks.limits)
    }
    if chosen is None:
        return shares
    method = f"share of a play of {chosen} users"
    return {name: share.without_interval(method) for name, share in shares.items()}


def _gives_way(log: Log, points: tuple[FrontierPoint, ...], thresholds: Thresholds) -> tuple[Caveat, ...]:
    """Caveat on points at which the CPU was full, but not of work that others had to wait for."""
    full = [point for point in points if point.idle is not None and point.idle < thresholds.idle_below]
    free = sum(point.limit not in {"cpu", "memory"} for point in full)
    if not free:
        return ()
    seen = observations.measured_share(log, observations.LOW_PRIORITY[0]) == 1.0
    return (Caveat("low_priority", free=free, points=len(points), seen=seen),)


def _caveats(
    blocks: Blocks, points: tuple[FrontierPoint, ...], pairs: tuple[FrontierPair, ...], trend: Growth
) -> tuple[Caveat, ...]:
    caveats = []
    free = sum(point.limit == "none" for point in points)
    if free > len(points) / 2:
        caveats.append(Caveat("mostly_unlimited", free=free, points=len(points)))
    if trend.settled is False:
        caveats.append(Caveat("still_growing"))
    if trend.settled is None:
        caveats.append(Caveat("too_few_to_settle", least=INTERVALS_LEAST))
    if missing := [name for name, measured in blocks.measured.items() if not measured]:
        caveats.append(Caveat("not_measured", resources=missing))
    caveats += [
        Caveat("hollow", x=item.x.label, y=item.y.label, share=item.hollow)
        for item in pairs
        if item.hollow > HOLLOW
    ]
    return (*caveats, Caveat("resolution", interval_s=blocks.interval_s))
