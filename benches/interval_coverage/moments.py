"""Coefficient of variation of skewed data: an interval that holds, or none."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from interval_coverage.registry import Hits, holds, kind
from thinktime.stats.series import moments

Draw = Callable[[np.random.Generator, int], np.ndarray]


def hyperexponential(random: np.random.Generator, n: int) -> np.ndarray:
    """Nine in ten short, one in ten fifty times as long."""
    return np.where(random.random(n) < 0.9, random.exponential(0.1, n), random.exponential(5.0, n))


# E X = .59, E X^2 = 5.018
VARIED = math.sqrt(5.018 / 0.59**2 - 1.0)
DRAWS: dict[str, tuple[Draw, float, float]] = {
    "normal": (lambda random, n: random.normal(5.0, 1.0, n), 0.2, 1.0),
    "exponential": (lambda random, n: random.exponential(1.0, n), 1.0, 1.0),
    "hyperexponential": (hyperexponential, VARIED, (VARIED * 0.59) ** 2),
    "lognormal, deviation of logarithms 0.5": (
        lambda random, n: random.lognormal(0.0, 0.5, n),
        math.sqrt(math.exp(0.25) - 1.0),
        (math.exp(0.25) - 1.0) * math.exp(0.25),
    ),
    "lognormal": (
        lambda random, n: random.lognormal(0.0, 1.0, n),
        math.sqrt(math.e - 1.0),
        (math.e - 1.0) * math.e,
    ),
}


def second(draw: Draw, variation: float, variance: float, n: int, *, seed: int) -> Hits:
    """Both figures of n values."""
    values = draw(np.random.default_rng(seed), n)
    return {
        "coefficient of variation": holds(moments.coefficient_of_variation(values), variation),
        "variance": holds(moments.variance(values), variance),
    }


def registered(name: str, n: int) -> None:
    """Kind of a distribution and a number of values."""
    trial = partial(second, *DRAWS[name], n)
    kind(
        name=f"moments-{name.replace(', deviation of logarithms ', '-')}-{n}",
        interval="Coefficient of variation and variance",
        data=f"{name}, {n} values",
        trials=500,
        least=0.90,
    )(lambda seed: trial(seed=seed))


for name in DRAWS:
    for n in (200, 1000, 4000):
        registered(name, n)
