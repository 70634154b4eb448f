"""Whether more data fill a frontier in or move it outwards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.saturation.frontier_blocks import Blocks
from thinktime.stats.estimate import Estimate
from thinktime.stats.frontier import dominated, maximal
from thinktime.stats.samples import proportion

__all__ = ["FILLING_LEAST", "Filling", "filling"]

FILLING_LEAST = 60
GROUPS = 20
SPLITS = 199
FALSE_ALARMS = 0.05
VOLUME_POINTS = 4000


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
    """True: it fills in. False: it still moves outwards. None: too little data to say."""
    expected_growth: float = 0.0
    """Mean `growth` over random halves."""
    p: float | None = None
    """Probability of so much growth if the order of the log did not matter."""


def filling(blocks: Blocks, seed: int, level: float) -> Filling:
    """Compare the halves in time with halves drawn at random: a permutation test of `growth`.

    The log is cut into up to 20 groups of blocks. If it is one stationary sample and a group is longer than
    what one interval tells of the next, each half of the groups could as well have been the first, so that
    `growth` is among the largest 5 % of random halves in 5 % of such logs.
    """
    count = min(blocks.count, GROUPS)  # both are even: half of the groups is half of the log
    group = blocks.block * count // blocks.count
    cloud_group = blocks.cloud_block * count // blocks.count
    top = np.maximum(blocks.values.max(axis=0), np.finfo(np.float64).tiny)
    random = np.random.default_rng(seed)
    cloud = random.random((VOLUME_POINTS, blocks.values.shape[1])) * top
    # What each group dominates, of the observations and of points that measure volume; what several groups
    # dominate is then the union.
    fronts = [blocks.values[group == number] for number in range(count)]
    fronts = [front[maximal(front)] for front in fronts]
    covered = np.array([dominated(cloud, front) for front in fronts])
    beaten = np.array([dominated(blocks.cloud, front) for front in fronts])

    def compare(inside: NDArray[np.bool_]) -> tuple[float, int, int]:
        before, whole = covered[inside].any(axis=0).sum(), covered.any(axis=0).sum()
        later = ~inside[cloud_group]
        out = np.count_nonzero(~beaten[inside].any(axis=0) & later)
        return float(whole / max(before, 1) - 1.0), int(out), int(later.sum())

    half = np.arange(count) < max(1, count // 2)
    growth, out, later = compare(half)
    drawn = [compare(random.permutation(half)) for _ in range(SPLITS)]
    p = (1 + sum(item[0] >= growth for item in drawn)) / (1 + len(drawn))
    enough = blocks.n >= FILLING_LEAST and count > 2
    return Filling(
        growth=growth,
        outside=proportion(out, max(later, 1), level),
        expected=float(np.mean([item[1] / max(item[2], 1) for item in drawn])),
        expected_growth=float(np.mean([item[0] for item in drawn])),
        settles=p > FALSE_ALARMS if enough else None,
        p=p if enough else None,
    )
