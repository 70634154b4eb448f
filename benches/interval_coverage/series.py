"""Means and ratios of correlated series."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.signal import lfilter

from interval_coverage.registry import Hits, holds, kind
from thinktime.stats.series import batch_means


def autoregressive(random: np.random.Generator, n: int, rho: float) -> np.ndarray:
    """AR(1) with mean zero and variance one."""
    noise = random.normal(size=n + 2000) * np.sqrt(1 - rho**2)
    return lfilter([1.0], [1.0, -rho], noise)[2000:]


def mean(n: int, rho: float, seed: int) -> Hits:
    """Mean of n intervals."""
    values = 10.0 + autoregressive(np.random.default_rng(seed), n, rho)
    return {"mean": holds(batch_means.batch_ratio(values), 10.0)}


AUTOREGRESSIVE = (
    (15, 0.5),
    (60, 0.5),
    (100, 0.9),
    (200, 0.0),
    (200, 0.7),
    (200, 0.9),
    (200, 0.97),
    (1000, 0.9),
)

for n, rho in AUTOREGRESSIVE:
    kind(
        name=f"mean-ar{rho:g}-{n}",
        interval="Means of intervals",
        data=f"AR(1) {rho:g}, {n} intervals",
        trials=1000,
    )(partial(mean, n, rho))
