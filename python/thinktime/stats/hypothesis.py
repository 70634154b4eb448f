"""The outcome of a test, and what several tests together may claim."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

ALPHA = 0.05
"""False-alarm rate of a test where nothing else is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignificanceTest:
    """A hypothesis, and how likely data at least as far from it would be if it held."""

    hypothesis: str
    """What is tested, as a statement that may be wrong: ``service times are exponential``."""
    statistic: float
    p: float
    """Probability of a statistic at least as extreme under the hypothesis."""
    n: int
    method: str
    """Name and source of the test."""
    direction: int = 0
    """Where the data lie: 1 above, -1 below what the hypothesis says; 0 for a test that has no sides."""

    def rejected(self, alpha: float = ALPHA) -> bool:
        """Whether the hypothesis is given up at false-alarm rate `alpha`."""
        return self.p < alpha


def holm(p: Sequence[float]) -> NDArray[np.float64]:
    r"""Probabilities of several tests, adjusted so that one false alarm among all keeps its rate.

    .. math:: \tilde p_{(i)} = \max_{j \le i} \min\{1, (m - j + 1)\, p_{(j)}\}

    (Holm 1979, Scandinavian Journal of Statistics 6, 65); no independence is needed.
    """
    values = np.asarray(p, dtype=np.float64)
    order = np.argsort(values)
    steps = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    found = np.empty(len(values))
    found[order] = np.minimum(steps, 1.0)
    return found


def adjusted(tests: Sequence[SignificanceTest]) -> tuple[SignificanceTest, ...]:
    """Return the tests with their probabilities adjusted by `holm`."""
    return tuple(
        dataclasses.replace(test, p=float(p))
        for test, p in zip(tests, holm([test.p for test in tests]), strict=True)
    )


def combined(p: Sequence[float]) -> float:
    r"""One probability for the hypothesis that all of several independent tests' hypotheses hold.

    :math:`-2 \sum \ln p_i` is chi-square with 2m degrees of freedom (Fisher, *Statistical Methods for
    Research Workers*, 21.1).

    Raises
    ------
    ValueError
        There is no test.
    """
    if not len(p):
        raise ValueError("no tests to combine")
    total = -2.0 * float(np.log(np.maximum(np.asarray(p, dtype=np.float64), 1e-300)).sum())
    return float(special.chdtrc(2 * len(p), total))
