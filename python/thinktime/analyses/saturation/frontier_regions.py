"""Regions along a frontier in which the same resource is used up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.stats import frontier
from thinktime.stats.estimate import Estimate

__all__ = ["Region", "near", "regions", "stretches"]

_Array = NDArray[np.float64]
_Labels = NDArray[np.int8]

NEAR = 0.95
"""Part of the way from the origin to the curve, from where on a point tells what limits there."""
PENALTY_LEAST = 2.0
KNOWN_LEAST = 0.8
"""Part of the resamples that must have the same regions for their borders to have an interval."""


@dataclass(frozen=True, slots=True)
class Region:
    """A stretch of the frontier along x (Bard 1971, Figure 7: paging below 40 % of problem state, ...)."""

    limit: str
    """Resource that most points near the curve had used up there; ``none``: nothing."""
    low: float
    high: float
    border: Estimate | None
    """Where the next region begins, with its interval; None at the end of the curve."""
    n: int
    """Intervals near the curve in this stretch."""
    agreeing: float
    """Part of them that had used up `limit`, 0 to 1."""


def near(values: _Array, hull: _Array) -> NDArray[np.bool_]:
    """Which of `values` have come within 5 % of the curve, on the way from the origin."""
    scale = np.array([hull[-1, 0], hull[0, 1]])
    scale = np.where(scale > 0, scale, 1.0)
    angles = np.arctan2(values[:, 1] / scale[1], values[:, 0] / scale[0])
    reach = frontier.radius(hull / scale, angles)
    found: NDArray[np.bool_] = np.hypot(*(values / scale).T) >= NEAR * reach
    return found


def stretches(labels: _Labels, penalty: float) -> list[tuple[int, int, int]]:
    r"""Cut a sequence of labels into stretches of one label each: rows (label, first, last), both included.

    Of all ways to do so, that with the least :math:`\text{disagreeing labels} + \lambda \cdot \text{borders}`
    (Viterbi 1967, IEEE Trans. Inf. Theory 13, 260), in O(n k) for k different labels.
    """
    if not len(labels):
        return []
    names = np.unique(labels)
    cost = (labels[0] != names).astype(np.float64)
    came = np.zeros((len(labels), len(names)), dtype=np.int64)
    for place in range(1, len(labels)):
        best = int(np.argmin(cost))
        stays = cost <= cost[best] + penalty
        came[place] = np.where(stays, np.arange(len(names)), best)
        cost = np.where(stays, cost, cost[best] + penalty) + (labels[place] != names)
    path = np.empty(len(labels), dtype=np.int64)
    path[-1] = int(np.argmin(cost))
    for place in range(len(labels) - 1, 0, -1):
        path[place - 1] = came[place, path[place]]
    firsts = np.concatenate([[0], np.flatnonzero(np.diff(path)) + 1])
    lasts = np.concatenate([firsts[1:] - 1, [len(path) - 1]])
    return [(int(names[path[a]]), int(a), int(b)) for a, b in zip(firsts, lasts, strict=True)]


def _cut(values: _Array, labels: _Labels, hull: _Array) -> tuple[_Array, _Labels, list[tuple[int, int, int]]]:
    """Points near the curve, x growing, their labels, and the stretches."""
    on = np.flatnonzero(near(values, hull))
    on = on[np.argsort(values[on, 0], kind="stable")]
    x, own = values[on, 0], labels[on]
    return x, own, stretches(own, max(PENALTY_LEAST, math.log(max(len(on), 1))))


def _borders(x: _Array, found: Sequence[tuple[int, int, int]]) -> list[float]:
    return [float(x[last] + x[last + 1]) / 2.0 for _, _, last in found[:-1]]


def regions(
    values: _Array,
    labels: _Labels,
    names: Sequence[str],
    hull: _Array,
    resampled: Sequence[tuple[NDArray[np.int64], _Array]],
    unit: str,
    level: float,
) -> tuple[Region, ...]:
    """Regions along the curve, with intervals of their borders.

    A region is a stretch in which most points near the curve had the same resource used up; a border has
    to spare more disagreeing points than ln n (at least 2), so that a stray one makes none.

    Parameters
    ----------
    values : array of shape (n, 2)
        Rows of x, y.
    labels : array of int
        Places in `names`.
    names : sequence of str
    hull : array
        The curve.
    resampled : sequence of (rows, curve)
        Which rows are in each resample, and its curve.
    unit : str
        Of x.
    level : float
    """
    x, own, found = _cut(values, labels, hull)
    kinds = [label for label, _, _ in found]
    drawn = []
    for rows, curve in resampled if len(found) > 1 else ():
        again_x, _, again = _cut(values[rows], labels[rows], curve)
        if [label for label, _, _ in again] == kinds:
            drawn.append(_borders(again_x, again))
    borders = [
        _border(value, [item[at] for item in drawn], len(resampled), unit, level, len(x))
        for at, value in enumerate(_borders(x, found))
    ]
    edges = [0.0, *(border.value for border in borders), float(hull[-1, 0])]
    return tuple(
        Region(
            names[label],
            edges[at],
            edges[at + 1],
            borders[at] if at < len(borders) else None,
            last - first + 1,
            float(np.mean(own[first : last + 1] == label)),
        )
        for at, (label, first, last) in enumerate(found)
    )


def _border(value: float, drawn: list[float], of: int, unit: str, level: float, n: int) -> Estimate:
    method = "change of the limit along the frontier, block bootstrap"
    if len(drawn) < KNOWN_LEAST * of:
        return Estimate(value=value, unit=unit, n=n, method=method, level=level)
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(drawn, [tail, 1.0 - tail])
    return Estimate(
        value=value,
        unit=unit,
        n=n,
        method=method,
        low=min(float(low), value),
        high=max(float(high), value),
        level=level,
    )
