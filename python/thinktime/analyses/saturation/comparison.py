"""Which of several logs did more at most: their frontiers, compared at an equal number of observations."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.saturation import frontier_blocks, resources
from thinktime.analyses.saturation.analysis import N_LEAST, kinds_of_work
from thinktime.analyses.saturation.frontier_growth import filling
from thinktime.analyses.saturation.frontier_pair import Dimension, FrontierPair, Projection, pair
from thinktime.analyses.saturation.resources import Thresholds
from thinktime.stats import frontier
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.stats.hypothesis import SignificanceTest, adjusted

if TYPE_CHECKING:
    from thinktime.analyses.saturation.frontier_blocks import Blocks
    from thinktime.log import Log
    from thinktime.log.observations import Quantity

__all__ = ["ComparedPair", "FrontierComparison", "Verdict", "compare"]

_Array = NDArray[np.float64]
_Indices = NDArray[np.int64]

Verdict = Literal["outside", "inside", "crosses", "not told apart"]
"""Where the second log's frontier lies, seen from the first."""

DIRECTIONS = 33
AVERAGED = 50
"""Draws of a longer log that its mean frontier at the shorter one's length is from."""
ALIKE = 1.1
"""Ratio of interval lengths, beyond which frontiers are of different things."""


@dataclass(frozen=True, slots=True)
class ComparedPair:
    """The frontiers of two logs in two kinds of work."""

    x: Dimension
    y: Dimension
    before: str
    after: str
    verdict: Verdict
    further: Estimate
    """How much further out the second frontier lies: distances from the origin, over all directions
    (geometric mean) less one; 0.1 is 10 % more of both."""
    least: Estimate
    """The same in the direction in which it is least; the interval holds for all directions together."""
    most: Estimate
    """The same in the direction in which it is most."""
    gap: Estimate
    """Mean difference of y at equal x, over the x that both reach."""
    test: SignificanceTest
    """That both logs are samples of one; probabilities adjusted over all pairs (Holm)."""


@dataclass(frozen=True, slots=True)
class FrontierComparison:
    """Frontiers of several logs, and each two of them compared."""

    names: tuple[str, ...]
    n: tuple[int, ...]
    frontiers: tuple[tuple[FrontierPair, ...], ...]
    """For each log the frontier of each pair of kinds of work, in the same order."""
    pairs: tuple[ComparedPair, ...]
    block: int
    """Intervals in a block of the resamples."""
    caveats: tuple[str, ...]


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
    r"""Compare the frontiers of logs in each pair of kinds of work (Bard 1971: III's lies outside II's).

    A longer log reaches further out by chance alone. So both frontiers are those of the same number of
    blocks of as many intervals, half of the shorter log's, drawn with replacement from each (half, as for
    the band of one: `frontier_pair.Projection.resampled`). In direction
    :math:`\theta` (both axes scaled by the greatest) the second is further out by
    :math:`\ln r_2(\theta) / r_1(\theta)`; means over the draws are the estimates, their percentiles the
    intervals, and for least and most a band that holds for all directions together. The test that
    both are samples of one permutes blocks between the logs; its statistic is the mean over directions.

    Parameters
    ----------
    logs : sequence of Log
        Two or more.
    names : sequence of str
        What to call them.
    dimensions, ceilings, thresholds
        As of `saturation.analyse`; kinds of work must vary in all logs.
    replications, seed
        Of the bootstrap and of the test.
    level : float
        Confidence of the intervals.

    Raises
    ------
    InputError
        As of `saturation.analyse`.
    """
    known = [resources.ceilings(log, ceilings) for log in logs]
    works = [kinds_of_work(log, dimensions, own) for log, own in zip(logs, known, strict=True)]
    if refused := next((work for work in works if isinstance(work, NotApplicable)), None):
        return refused
    of_all = _in_all([work for work in works if not isinstance(work, NotApplicable)])
    if len(of_all[0]) < 2:
        return NotApplicable("fewer than two kinds of work vary in all the logs", "name them with --work")
    rows = max(frontier_blocks.block_rows(log) for log in logs)
    read = [
        frontier_blocks.read(log, work, resources.Meter(log, own), thresholds, rows)
        for log, work, own in zip(logs, of_all, known, strict=True)
    ]
    for name, blocks in zip(names, read, strict=True):
        if blocks.n < N_LEAST:
            few = f"{name}: {blocks.n} usable intervals are too few for a frontier: {N_LEAST} are needed"
            return NotApplicable(few, "record longer")
    named = tuple(Dimension(item.name, item.label, f"{item.unit}/s") for item in of_all[0])
    combinations = list(itertools.combinations(range(len(named)), 2))
    options = {"replications": replications, "seed": seed}
    compared = [
        _compared(
            (read[a], read[b]), (names[a], names[b]), (x, y), (named[x], named[y]), level=level, **options
        )
        for a, b in itertools.combinations(range(len(logs)), 2)
        for x, y in combinations
    ]
    tests = adjusted([item.test for item in compared])
    return FrontierComparison(
        tuple(names),
        tuple(blocks.n for blocks in read),
        tuple(
            tuple(
                pair(blocks, (x, y), (named[x], named[y]), replications=replications, seed=seed, level=level)
                for x, y in combinations
            )
            for blocks in read
        ),
        tuple(replace(item, test=test) for item, test in zip(compared, tests, strict=True)),
        rows,
        _caveats(names, read, seed, level),
    )


def _in_all(works: Sequence[tuple[Quantity, ...]]) -> list[tuple[Quantity, ...]]:
    """Kinds of work that all logs have, in the order of the first."""
    common = [
        item.name for item in works[0] if all(item.name in {one.name for one in work} for work in works)
    ]
    return [tuple({item.name: item for item in work}[name] for name in common) for work in works]


def _compared(
    read: tuple[Blocks, Blocks],
    names: tuple[str, str],
    columns: tuple[int, int],
    dimensions: tuple[Dimension, Dimension],
    *,
    replications: int,
    seed: int,
    level: float,
) -> ComparedPair:
    """Compare two logs in two kinds of work."""
    both = [Projection(blocks, columns) for blocks in read]
    scale = np.maximum(*(item.values.max(axis=0) for item in both))
    random = np.random.default_rng(seed)
    size = min(item.count for item in both)
    half = max(1, size // 2)
    drawn = [[item.curve(random.integers(0, item.count, half)) for item in both] for _ in range(replications)]
    ratios = np.array([_log_ratio(first, second, scale) for first, second in drawn])
    gaps = np.array([_gap(first, second) for first, second in drawn])
    n = min(blocks.n for blocks in read) // 2
    method = f"frontiers of {n} observations each, block bootstrap"
    mean, (least, most), band = ratios.mean(axis=0), _extremes(ratios.mean(axis=0)), _band(ratios, level)

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

    def single(at: int) -> Estimate:
        low, high = (float(np.expm1(mean[at] + sign * band[at])) for sign in (-1, 1))
        return Estimate(
            value=float(np.expm1(mean[at])), unit="", n=n, method=method, low=low, high=high, level=level
        )

    test = _test(both, scale, size, replications, random)
    return ComparedPair(
        *dimensions,
        *names,
        verdict=_verdict(mean - band, mean + band, test),
        further=estimate(np.expm1(ratios.mean(axis=1)), ""),
        least=single(least),
        most=single(most),
        gap=estimate(gaps, dimensions[1].unit),
        test=test,
    )


def _log_ratio(first: _Array, second: _Array, scale: _Array) -> _Array:
    angles = np.linspace(0.0, np.pi / 2.0, DIRECTIONS)
    ratio = frontier.radius(second / scale, angles) / frontier.radius(first / scale, angles)
    # Equal frontiers differ by rounding only.
    return np.asarray(np.log(ratio).round(12), dtype=np.float64)


def _gap(first: _Array, second: _Array) -> float:
    at = np.linspace(0.0, min(float(first[-1, 0]), float(second[-1, 0])), DIRECTIONS)
    return float(np.mean(frontier.height(second, at) - frontier.height(first, at)))


def _extremes(mean: _Array) -> tuple[int, int]:
    return int(np.argmin(mean)), int(np.argmax(mean))


def _band(ratios: _Array, level: float) -> _Array:
    """Half width of a band about the mean that holds all directions of a draw together at `level`."""
    spread = ratios.std(axis=0, ddof=1)
    spread = np.where(spread > 0, spread, np.finfo(np.float64).tiny)
    worst = np.max(np.abs(ratios - ratios.mean(axis=0)) / spread, axis=1)
    half: _Array = float(np.quantile(worst, level)) * spread
    return half


def _verdict(low: _Array, high: _Array, test: SignificanceTest) -> Verdict:
    if (low > 0).any() and (high < 0).any():
        return "crosses"
    if not test.rejected():
        return "not told apart"
    return "outside" if test.direction > 0 else "inside"


def _test(
    both: Sequence[Projection], scale: _Array, size: int, replications: int, random: np.random.Generator
) -> SignificanceTest:
    """Permute blocks between the logs: if both are samples of one, any might have been in either."""
    first, second = both

    def curve(chosen: _Indices) -> _Array:
        parts = (
            first.corners(chosen[chosen < first.count]),
            second.corners(chosen[chosen >= first.count] - first.count),
        )
        return frontier.concave_hull(np.vstack(parts))

    def statistic(order: _Indices) -> float:
        own, other = order[: first.count], order[first.count :]
        return float(np.mean(_log_ratio(curve(own[:size]), curve(other[:size]), scale)))

    def shuffled_within() -> _Indices:
        own, other = random.permutation(first.count), first.count + random.permutation(second.count)
        return np.concatenate([own, other])

    found = float(np.mean([statistic(shuffled_within()) for _ in range(AVERAGED)]))
    permuted = [statistic(random.permutation(first.count + second.count)) for _ in range(replications - 1)]
    p = (1 + sum(abs(one) >= abs(found) for one in permuted)) / replications
    return SignificanceTest(
        hypothesis="both frontiers are of samples of one",
        statistic=found,
        p=p,
        n=first.count + second.count,
        method="permutation of blocks, mean log distance",
        direction=int(np.sign(found)),
    )


def _caveats(names: Sequence[str], read: Sequence[Blocks], seed: int, level: float) -> tuple[str, ...]:
    caveats = []
    lengths = [blocks.interval_s for blocks in read]
    if max(lengths) > ALIKE * min(lengths):
        caveats.append(
            "The logs' intervals differ in length: shorter ones see shorter bursts, so their frontier lies "
            "further out for that reason alone."
        )
    moving = [
        name
        for name, blocks in zip(names, read, strict=True)
        if filling(blocks, seed, level).settles is not True
    ]
    if moving:
        caveats.append(
            f"The frontier of {', '.join(moving)} still moved outwards or is too short to say: more is "
            "possible than was seen."
        )
    for name, blocks in zip(names, read, strict=True):
        used_up = blocks.used_up.sum(axis=0)
        free = sum(used_up[blocks.limits.index(limit)] for limit in ("none", "unknown"))
        if free >= used_up.sum():
            caveats.append(f"In {name} no resource was ever used up: its frontier shows the load that came.")
    caveats.append(
        "The test takes blocks as exchangeable between the logs: days of other load count as a difference "
        "too."
    )
    return tuple(caveats)
