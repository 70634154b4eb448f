"""Frontiers of several logs, compared at an equal number of observations."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.saturation import frontier_blocks, resources
from thinktime.analyses.saturation.analysis import N_LEAST, kinds_of_work
from thinktime.analyses.saturation.frontier_growth import growth
from thinktime.analyses.saturation.frontier_pair import Dimension, FrontierPair, Projection, pair
from thinktime.analyses.saturation.resources import Thresholds
from thinktime.questions.checks import check_level, check_logs
from thinktime.results import Result
from thinktime.stats import frontier
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable
from thinktime.stats.hypothesis import SignificanceTest, adjusted

if TYPE_CHECKING:
    from thinktime.analyses.saturation.frontier_blocks import Blocks
    from thinktime.log import Log
    from thinktime.log.observations import Quantity

_Array = NDArray[np.float64]
_Indices = NDArray[np.int64]

Verdict = Literal["outside", "inside", "crosses", "no difference"]
"""Position of the second log's frontier relative to the first one's."""

DIRECTIONS = 33
"""Directions from one axis to the other in which frontiers are compared: steps of less than 3 degrees."""
AVERAGED = 50
"""Draws of a longer log behind its mean frontier at the shorter one's length."""
ALIKE = 1.1
"""Ratio of interval lengths beyond which frontiers cannot be compared without a caveat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedPair:
    """The frontiers of two logs in two kinds of work."""

    x: Dimension
    y: Dimension
    before: str
    after: str
    verdict: Verdict
    further: Estimate
    """Ratio of the second frontier's distance from the origin to the first one's (geometric mean over all
    directions), minus one; 0.1 is 10 % more of both."""
    least: Estimate
    """`further` in the direction in which it is least; the interval holds for all directions together."""
    most: Estimate
    """`further` in the direction in which it is greatest."""
    gap: Estimate
    """Mean difference of y at equal x, over the range of x that both reach."""
    test: SignificanceTest
    """Hypothesis: both logs are samples of one; probabilities adjusted over all pairs (Holm)."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FrontierComparison(Result):
    """Frontiers of several logs, and the differences between each two of them."""

    MAIN = "pairs"

    names: tuple[str, ...]
    n: tuple[int, ...]
    frontiers: tuple[tuple[FrontierPair, ...], ...]
    """Frontier of each pair of kinds of work, in the same order for each log."""
    pairs: tuple[ComparedPair, ...]
    block: int
    """Number of intervals in a block of the resamples."""
    caveats: tuple[Caveat, ...]


def compare(
    logs: Sequence[Log],
    names: Sequence[str],
    *,
    dimensions: Sequence[str] | None = None,
    ceilings: Mapping[str, float] | None = None,
    thresholds: Thresholds = Thresholds(),  # noqa: B008  (frozen)
    replications: int = 200,
    seed: int = 1,
    level: float = 0.95,
) -> FrontierComparison | NotApplicable:
    r"""Differences between the frontiers of logs in each pair of kinds of work (Bard 1971, Figures 7 to 9).

    A longer log reaches further out by chance alone. So both frontiers are those of the same number of
    blocks of equal length, half as many as the shorter log has, drawn with replacement from each (half, as
    for the band of one frontier: `frontier_pair.Projection.resampled`). In direction
    :math:`\theta` (both axes scaled by the greatest) the second is further out by
    :math:`\ln r_2(\theta) / r_1(\theta)`; means over the draws are the estimates, their percentiles the
    intervals, and for least and most a band that holds for all directions together. The test that
    both are samples of one permutes blocks between the logs; its statistic is the mean over directions.

    Parameters
    ----------
    logs : sequence of Log
        Two or more.
    names : sequence of str
        Name of each log.
    dimensions, ceilings, thresholds
        As of `saturation.analyse`; kinds of work must vary in all logs.
    replications, seed
        Of the bootstrap and of the test.
    level : float
        Confidence of the intervals.

    Raises
    ------
    TypeError
        `logs` holds something else than logs.
    InputError
        There are fewer than two logs, or as for `saturation.analyse`.
    """
    check_logs(logs, names)
    check_level(level)
    rates = [resources.ceilings(log, ceilings) for log in logs]
    works = [kinds_of_work(log, dimensions, capped) for log, capped in zip(logs, rates, strict=True)]
    if refused := next((work for work in works if isinstance(work, NotApplicable)), None):
        return refused
    common = _in_all([work for work in works if not isinstance(work, NotApplicable)])
    if len(common[0]) < 2:
        return NotApplicable("fewer than two kinds of work vary in all the logs", "name them with --work")
    rows = max(frontier_blocks.block_rows(log) for log in logs)
    read = [
        frontier_blocks.read(log, work, resources.Meter(log, capped), thresholds, rows=rows)
        for log, work, capped in zip(logs, common, rates, strict=True)
    ]
    for name, blocks in zip(names, read, strict=True):
        if blocks.n < N_LEAST:
            few = f"{name}: a frontier needs {N_LEAST} usable intervals, not {blocks.n}"
            return NotApplicable(few, "record longer")
    axes = tuple(Dimension(name=item.name, label=item.label, unit=f"{item.unit}/s") for item in common[0])
    combinations = list(itertools.combinations(range(len(axes)), 2))
    options = {"replications": replications, "seed": seed}
    answers = [
        _compared(
            (read[a], read[b]), (names[a], names[b]), (x, y), (axes[x], axes[y]), level=level, **options
        )
        for a, b in itertools.combinations(range(len(logs)), 2)
        for x, y in combinations
    ]
    compared = [item for item in answers if isinstance(item, ComparedPair)]
    idle: list[Caveat] = []
    idle.extend(item for item in answers if isinstance(item, Caveat) and item not in idle)
    if not compared:
        values = idle[0].values
        few = f"too few intervals of {values['name']} have {values['work']} for its frontier to be compared"
        return NotApplicable(few, "compare logs of machines under load, or name other work with --work")
    tests = adjusted([item.test for item in compared])
    return FrontierComparison(
        names=tuple(names),
        n=tuple(blocks.n for blocks in read),
        frontiers=tuple(
            tuple(
                pair(blocks, (x, y), (axes[x], axes[y]), replications=replications, seed=seed, level=level)
                for x, y in combinations
            )
            for blocks in read
        ),
        pairs=tuple(replace(item, test=test) for item, test in zip(compared, tests, strict=True)),
        block=rows,
        caveats=(*idle, *_caveats(names, read, seed, level)),
    )


def _in_all(works: Sequence[tuple[Quantity, ...]]) -> list[tuple[Quantity, ...]]:
    """Kinds of work that all logs have, in the order of the first."""
    names = [item.name for item in works[0] if all(item.name in {one.name for one in work} for work in works)]
    return [tuple({item.name: item for item in work}[name] for name in names) for work in works]


def _compared(
    read: tuple[Blocks, Blocks],
    names: tuple[str, str],
    columns: tuple[int, int],
    dimensions: tuple[Dimension, Dimension],
    *,
    replications: int,
    seed: int,
    level: float,
) -> ComparedPair | Caveat:
    """Difference between two logs in two kinds of work; a caveat if one of them may have done none of it."""
    both = [Projection(blocks, columns) for blocks in read]
    scale = np.maximum(*(item.values.max(axis=0) for item in both))
    random = np.random.default_rng(seed)
    size = min(item.count for item in both)
    half = max(1, size // 2)
    drawn = [[item.curve(random.integers(0, item.count, half)) for item in both] for _ in range(replications)]
    idle = _idle(drawn, names, dimensions)
    if idle is not None:
        return idle
    ratios = np.array([_log_ratio(first, second, scale) for first, second in drawn])
    gaps = np.array([_gap(first, second) for first, second in drawn])
    n = min(blocks.n for blocks in read) // 2
    method = f"frontiers of {n} observations each, block bootstrap"
    mean, band = ratios.mean(axis=0), _band(ratios, level)

    def estimate(values: _Array, unit: str) -> Estimate:
        low, high = np.quantile(values, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
        return Estimate(
            value=float(values.mean()),
            unit=unit,
            n=n,
            method=method,
            low=float(low),
            high=float(high),
            level=level,
        )

    def single(direction: int) -> Estimate:
        low, high = (float(np.expm1(mean[direction] + sign * band[direction])) for sign in (-1, 1))
        return Estimate(
            value=float(np.expm1(mean[direction])),
            unit="",
            n=n,
            method=method,
            low=low,
            high=high,
            level=level,
        )

    test = _test(both, scale, size, replications, random)
    return ComparedPair(
        x=dimensions[0],
        y=dimensions[1],
        before=names[0],
        after=names[1],
        verdict=_verdict(mean - band, mean + band, test),
        further=estimate(np.expm1(ratios.mean(axis=1)), ""),
        least=single(int(np.argmin(mean))),
        most=single(int(np.argmax(mean))),
        gap=estimate(gaps, dimensions[1].unit),
        test=test,
    )


def _idle(
    drawn: Sequence[Sequence[_Array]], names: tuple[str, str], dimensions: tuple[Dimension, Dimension]
) -> Caveat | None:
    """Log and kind of work of which a resample has none: along that axis its frontier is the origin."""
    for place, name in enumerate(names):
        curves = [pair[place] for pair in drawn]
        ends = ([curve[-1, 0] for curve in curves], [curve[0, 1] for curve in curves])
        for dimension, reached in zip(dimensions, ends, strict=True):
            if min(reached) <= 0.0:
                return Caveat("idle", name=name, work=dimension.label)
    return None


def _log_ratio(first: _Array, second: _Array, scale: _Array) -> _Array:
    angles = np.linspace(0.0, np.pi / 2.0, DIRECTIONS)
    ratio = frontier.radius(second / scale, angles) / frontier.radius(first / scale, angles)
    # Equal frontiers differ by rounding only.
    return np.asarray(np.log(ratio).round(12), dtype=np.float64)


def _gap(first: _Array, second: _Array) -> float:
    x = np.linspace(0.0, min(float(first[-1, 0]), float(second[-1, 0])), DIRECTIONS)
    return float(np.mean(frontier.height(second, x) - frontier.height(first, x)))


def _band(ratios: _Array, level: float) -> _Array:
    """Half width of a band about the mean that holds for all directions together at `level`."""
    spread = ratios.std(axis=0, ddof=1)
    spread = np.where(spread > 0, spread, np.finfo(np.float64).tiny)
    worst = np.max(np.abs(ratios - ratios.mean(axis=0)) / spread, axis=1)
    half: _Array = float(np.quantile(worst, level)) * spread
    return half


def _verdict(low: _Array, high: _Array, test: SignificanceTest) -> Verdict:
    if (low > 0).any() and (high < 0).any():
        return "crosses"
    if not test.rejected():
        return "no difference"
    return "outside" if test.direction > 0 else "inside"


def _test(
    both: Sequence[Projection], scale: _Array, size: int, replications: int, random: np.random.Generator
) -> SignificanceTest:
    """Permutation test: if both logs are samples of one, any block could have been in either."""
    first, second = both

    def curve(chosen: _Indices) -> _Array:
        parts = (
            first.corners(chosen[chosen < first.count]),
            second.corners(chosen[chosen >= first.count] - first.count),
        )
        return frontier.concave_hull(np.vstack(parts))

    def statistic(order: _Indices) -> float:
        one, other = curve(order[: first.count][:size]), curve(order[first.count :][:size])
        if min(one[-1, 0], one[0, 1], other[-1, 0], other[0, 1]) <= 0.0:
            # No difference is greater than that from a frontier without any of the work.
            return float("inf")
        return float(np.mean(_log_ratio(one, other, scale)))

    def shuffled_within() -> _Indices:
        one, other = random.permutation(first.count), first.count + random.permutation(second.count)
        return np.concatenate([one, other])

    observed = float(np.mean([statistic(shuffled_within()) for _ in range(AVERAGED)]))
    permuted = [statistic(random.permutation(first.count + second.count)) for _ in range(replications - 1)]
    p = (1 + sum(abs(item) >= abs(observed) for item in permuted)) / replications
    return SignificanceTest(
        hypothesis="both frontiers are of samples of the same machine",
        statistic=observed,
        p=p,
        n=first.count + second.count,
        method="permutation of blocks, mean log distance",
        direction=int(np.sign(observed)),
    )


def _caveats(names: Sequence[str], read: Sequence[Blocks], seed: int, level: float) -> tuple[Caveat, ...]:
    caveats = []
    lengths = [blocks.interval_s for blocks in read]
    if max(lengths) > ALIKE * min(lengths):
        caveats.append(Caveat("unequal_intervals"))
    moving = [
        name
        for name, blocks in zip(names, read, strict=True)
        if growth(blocks, seed, level).settled is not True
    ]
    if moving:
        caveats.append(Caveat("not_settled", names=moving))
    for name, blocks in zip(names, read, strict=True):
        used_up = blocks.used_up.sum(axis=0)
        free = sum(used_up[blocks.limits.index(limit)] for limit in ("none", "unknown"))
        if free >= used_up.sum():
            caveats.append(Caveat("never_limited", name=name))
    return (*caveats, Caveat("exchangeable_blocks"))
