"""Growth of a frontier with more data: a test of whether it still moves outwards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.saturation.frontier_blocks import Blocks
from thinktime.stats.estimate import Estimate
from thinktime.stats.frontier import dominated, maximal
from thinktime.stats.samples import proportion

INTERVALS_LEAST = 60
"""Intervals below which nothing is said about growth: a half would have fewer than 30."""
GROUPS = 20
"""Groups of blocks that are permuted: long enough to be nearly independent, and 184,756 halves of them."""
SPLITS = 199
"""Random halves; with the observed one 200, so that 5 % of them is a whole number."""
FALSE_ALARMS = 0.05
"""Share of stationary logs that are reported to be still growing."""
VOLUME_POINTS = 4000
"""Random points by which a volume is measured: the error of a share is at most 0.8 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Growth of the frontier from the first half of a log to all of it (Bard 1971)."""

    volume: float
    """Volume under the frontier of all data over that of the first half, minus one."""
    outside: Estimate
    """Share of the second half's observations that lie outside the first half's frontier, 0 to 1."""
    expected_outside: float
    """Mean of `outside` over random halves: its value if both halves were one stationary sample."""
    settled: bool | None
    """True if more data only fill the frontier in; False if it still moves outwards; None if unknown."""
    expected_volume: float = 0.0
    """Mean of `volume` over random halves."""
    p: float | None = None
    """Probability of at least this `volume` if the order of the log did not matter."""


def growth(blocks: Blocks, seed: int, level: float) -> Growth:
    """Growth from the first half in time, tested against random halves (a permutation test of `volume`).

    The log is cut into up to 20 groups of blocks. If it is one stationary sample and a group is longer than
    the autocorrelation of the intervals, any half of the groups could equally have been the first. Then
    `volume` is among the largest 5 % of random halves in 5 % of such logs.
    """
    count = min(blocks.count, GROUPS)  # both are even: half of the groups is half of the log
    group = blocks.block * count // blocks.count
    cloud_group = blocks.cloud_block * count // blocks.count
    top = np.maximum(blocks.values.max(axis=0), np.finfo(np.float64).tiny)
    random = np.random.default_rng(seed)
    cloud = random.random((VOLUME_POINTS, blocks.values.shape[1])) * top
    # Points that each group dominates, among the observations and among random ones that measure volume;
    # several groups dominate the union.
    fronts = [blocks.values[group == number] for number in range(count)]
    fronts = [front[maximal(front)] for front in fronts]
    covered = np.array([dominated(cloud, front) for front in fronts])
    beaten = np.array([dominated(blocks.cloud, front) for front in fronts])

    def compare(inside: NDArray[np.bool_]) -> tuple[float, int, int]:
        before, total = covered[inside].any(axis=0).sum(), covered.any(axis=0).sum()
        later = ~inside[cloud_group]
        out = np.count_nonzero(~beaten[inside].any(axis=0) & later)
        return float(total / max(before, 1) - 1.0), int(out), int(later.sum())

    half = np.arange(count) < max(1, count // 2)
    volume, out, later = compare(half)
    drawn = [compare(random.permutation(half)) for _ in range(SPLITS)]
    p = (1 + sum(item[0] >= volume for item in drawn)) / (1 + len(drawn))
    enough = blocks.n >= INTERVALS_LEAST and count > 2
    return Growth(
        volume=volume,
        outside=proportion(out, max(later, 1), level),
        expected_outside=float(np.mean([item[1] / max(item[2], 1) for item in drawn])),
        expected_volume=float(np.mean([item[0] for item in drawn])),
        settled=p > FALSE_ALARMS if enough else None,
        p=p if enough else None,
    )
