"""Means and ratios of correlated series."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from scipy.signal import lfilter
from scipy.special import ndtr

from interval_coverage.registry import Hits, holds, kind
from thinktime.stats.series import batch_means, ratio_regression
from thinktime.stats.series.shares import proportion_in_blocks, quantile_in_time


def autoregressive(random: np.random.Generator, n: int, rho: float) -> np.ndarray:
    """AR(1) with mean zero and variance one."""
    noise = random.normal(size=n + 2000) * np.sqrt(1 - rho**2)
    return lfilter([1.0], [1.0, -rho], noise)[2000:]


def mean(n: int, rho: float, seed: int) -> Hits:
    """Mean of n intervals."""
    values = 10.0 + autoregressive(np.random.default_rng(seed), n, rho)
    return {"mean": holds(batch_means.batch_ratio(values), 10.0)}


def mean_under_noise(n: int, seed: int) -> Hits:
    """Mean of n intervals of which 30 % of the variance is a slow swing, and the rest independent."""
    found = batch_means.batch_ratio(10.0 + swinging(np.random.default_rng(seed), n))
    held = holds(found, 10.0)
    return {"mean": held, "mean, where a caveat stands": None if found.caveat is None else held}


def swinging(random: np.random.Generator, n: int) -> np.ndarray:
    """Values of which 30 % of the variance is an AR(1) of 0.97, and the rest independent."""
    swing, noise = autoregressive(random, n, 0.97), random.normal(size=n)
    return math.sqrt(0.3) * swing + math.sqrt(0.7) * noise


def swing_found(n: int, rho: float | None, seed: int) -> Hits:
    """Whether there is a caveat where a swing lies under noise; without a swing, whether there is none."""
    random = np.random.default_rng(seed)
    values = 10.0 + (swinging(random, n) if rho is None else autoregressive(random, n, rho))
    found = batch_means.batch_ratio(values).caveat
    if rho is None:
        return {"caveat": found is not None}
    return {"no caveat of a swing": found is None or found.kind != "slow_swing"}


def shares(n: int, rho: float, seed: int) -> Hits:
    """Shares of two states of a processor, and a ratio to a count, as `capacity` has them."""
    random = np.random.default_rng(seed)
    busy = 0.5 + 0.1 * autoregressive(random, n, rho)
    length = 60.0 + random.random(n)
    user, events = 0.6 * busy * length, np.maximum(1.0, 50.0 + 10.0 * autoregressive(random, n, rho))
    per_event = 0.01 * events * (1.0 + 0.2 * autoregressive(random, n, rho))
    return {
        "share of user time": holds(batch_means.batch_ratio(user, length), 0.3),
        "time per event": holds(batch_means.batch_ratio(per_event, events), 0.01),
    }


def at_loads(n: int, rho: float, seed: int) -> Hits:
    """User time at three ranges of a load that wanders: the observations of each in their order."""
    random = np.random.default_rng(seed)
    load = np.clip(np.round(4.0 + 1.5 * autoregressive(random, n, 0.9)), 3, 5)
    error = 0.3 * autoregressive(random, n, rho)
    hits = {}
    for users in (3, 4, 5):
        inside = load == users
        values = users + error[inside]
        hits[f"load {users}"] = holds(batch_means.batch_ratio(values), float(users)) if inside.any() else None
    return hits


def line(n: int, rho: float, seed: int) -> Hits:
    """Line through the points of five numbers of users, n intervals each: `cpu-per-interaction`."""
    random = np.random.default_rng(seed)
    groups = []
    for users in range(1, 6):
        count = random.poisson(20.0, n).astype(float)
        events = count * (users + 0.3 * autoregressive(random, n, rho))
        times = 0.1 * count + 0.02 * events + 0.02 * count * autoregressive(random, n, rho)
        groups.append(ratio_regression.group_sums(events, times, count))
    found = ratio_regression.fit_line(groups)
    point = batch_means.batch_ratio(times, count)
    return {
        "slope": holds(found.slope, 0.02),
        "intercept": holds(found.intercept, 0.1),
        "point": holds(point, 0.1 + 0.02 * 5.0),
    }


def blocks(number: int, share: float, alike: float, seed: int) -> Hits:
    """Share of rows in blocks whose shares vary: beta with an intraclass correlation."""
    random = np.random.default_rng(seed)
    scale = 1.0 / alike - 1.0 if alike else 0.0
    shares = random.beta(share * scale, (1.0 - share) * scale, number) if alike else np.full(number, share)
    hits = random.binomial(30, shares).astype(float)
    return {"share": holds(proportion_in_blocks(hits, np.full(number, 30.0)), share)}


def quantiles(n: int, rho: float, seed: int) -> Hits:
    """Quantiles of exponential values with the order of an AR(1)."""
    values = -np.log(ndtr(-autoregressive(np.random.default_rng(seed), n, rho)))
    return {
        name: holds(quantile_in_time(values, q), -math.log(1.0 - q))
        for name, q in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99))
    }


AUTOREGRESSIVE = ((15, 0.5), (60, 0.5), (100, 0.9), (200, 0.0), (200, 0.7), (200, 0.9), (1000, 0.9))

for n, rho in AUTOREGRESSIVE:
    kind(
        name=f"mean-ar{rho:g}-{n}",
        interval="Means of intervals",
        data=f"AR(1) {rho:g}, {n} intervals",
        trials=1000,
    )(partial(mean, n, rho))
for rho, least in ((0.95, 0.92), (0.99, 0.90)):
    kind(
        name=f"mean-ar{rho:g}-200",
        interval="Means of intervals",
        data=f"AR(1) {rho:g}, 200 intervals",
        trials=1000,
        least=least,
        note="wider intervals, and the caveat that successive values are strongly correlated",
    )(partial(mean, 200, rho))
SWING = "AR(1) 0.97, 30 % of the variance, under independent noise"
for n in (60, 200, 2000):
    kind(
        name=f"mean-under-noise-{n}",
        interval="Means of intervals",
        data=f"{SWING}, {n} intervals",
        trials=1000,
        note="so few intervals cannot show the swing" if n == 60 else "",
    )(partial(mean_under_noise, n))
for n in (60, 100, 200):
    kind(
        name=f"swing-found-{n}",
        interval="Caveats of a slow swing",
        data=f"{SWING}, {n} intervals",
        trials=1000,
        least=0.8,
        most=1.0,
        note=f"no test finds more than {'51' if n == 60 else '75'} %" if n <= 100 else "",
    )(partial(swing_found, n, None))
for n, rho in ((60, 0.0), (200, 0.0), (2000, 0.0), (200, 0.5), (200, 0.9)):
    kind(
        name=f"swing-none-ar{rho:g}-{n}",
        interval="Caveats of a slow swing",
        data=f"AR(1) {rho:g}, {n} intervals",
        trials=1000,
        least=0.95,
        most=1.0,
    )(partial(swing_found, n, rho))
for n, rho in ((60, 0.5), (360, 0.0), (360, 0.7), (360, 0.95), (2000, 0.95), (2000, 0.99)):
    kind(
        name=f"share-ar{rho:g}-{n}",
        interval="Capacity, rates, costs of events",
        data=f"AR(1) {rho:g}, {n} intervals",
        trials=500,
    )(partial(shares, n, rho))
for n, rho in ((400, 0.0), (400, 0.7), (400, 0.95), (4000, 0.95)):
    kind(
        name=f"load-ar{rho:g}-{n}",
        interval="Throughput by load",
        data=f"AR(1) {rho:g}, {n} intervals",
        trials=500,
    )(partial(at_loads, n, rho))
for rho in (0.0, 0.7, 0.9):
    kind(
        name=f"line-ar{rho:g}",
        interval="Decomposition of the CPU time",
        data=f"AR(1) {rho:g}, 5 numbers of users, 60 intervals each",
        trials=500,
    )(partial(line, 60, rho))
for number, alike in ((8, 0.2), (20, 0.0), (20, 0.1), (20, 0.4)):
    kind(
        name=f"proportion-blocks-{number}" + (f"-{alike:g}" if alike != 0.1 else ""),
        interval="Proportions in blocks",
        data=f"{number} blocks, share 0.1, intraclass correlation {alike:g}",
        trials=1000,
    )(partial(blocks, number, 0.1, alike))
for n, rho in ((200, 0.0), (500, 0.3), (500, 0.6), (500, 0.9)):
    kind(
        name=f"quantile-ar{rho:g}-{n}",
        interval="Quantiles",
        data=f"exponential, order of AR(1) {rho:g}, {n} values",
        trials=500,
        least=0.90,
    )(partial(quantiles, n, rho))
