"""The frontier of order alpha, from readings with and without errors."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from interval_coverage.registry import Hits, holds, kind
from thinktime.stats.frontier import order_alpha

XS = (0.0, 0.2, 0.4)


def loads(random: np.random.Generator, n: int, noise: float, saturated: float) -> np.ndarray:
    """Mixtures of two kinds of work under y = 100 (1 - x), a share of them on it, read with errors."""
    mixture, reached = random.random(n), random.beta(3, 1.5, n)
    reached[random.random(n) < saturated] = 1.0
    points = np.column_stack([mixture * reached, 100.0 * (1.0 - mixture) * reached])
    return points * (1.0 + noise * random.normal(size=points.shape))


@cache
def truth(saturated: float) -> tuple[float, ...]:
    """Quantiles of order 0.9 of two million exact loads."""
    points = loads(np.random.default_rng(1), 2_000_000, 0.0, saturated)
    return tuple(float(np.quantile(points[points[:, 0] >= x, 1], 0.9)) for x in XS)


def robust(n: int, noise: float, saturated: float, seed: int) -> Hits:
    """Height at several values of x."""
    points = loads(np.random.default_rng(seed), n, noise, saturated)
    pairs = zip(XS, truth(saturated), strict=True)
    return {f"with x of at least {x:g}": holds(order_alpha(points, x), height) for x, height in pairs}


for saturated in (0.0, 0.3):
    for n in (400, 2000):
        for noise in (0.0, 0.01, 0.03):
            kind(
                name=f"frontier-{saturated:g}-{n}-{noise:g}",
                interval="Frontier of order 0.9",
                data=f"{n} intervals, {saturated:.0%} on the true frontier, readings with {noise:.0%} error",
                most=0.99,
            )(partial(robust, n, noise, saturated))
