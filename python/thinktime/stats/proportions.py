"""A part of a whole, with its interval."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from thinktime.stats import critical
from thinktime.stats.series import Interval

__all__ = ["in_blocks", "proportion"]


def proportion(hits: int, n: int, level: float = 0.95) -> Interval:
    """`hits` out of `n` independent trials, with Wilson's interval (1927, JASA 22, 209).

    Raises
    ------
    ValueError
        There are no trials, or more hits than trials.
    """
    if n < 1 or not 0 <= hits <= n:
        raise ValueError(f"{hits} of {n} is no proportion")
    low, high = _wilson(hits / n, n, level)
    return Interval(hits / n, low, high, n, "proportion, Wilson", level)


def in_blocks(hits: ArrayLike, trials: ArrayLike, level: float = 0.95) -> Interval:
    r"""Part of trials that are alike within their block, with an interval that allows for it.

    Wilson's interval for n / D trials, with the design effect

    .. math:: D = \max\Big(1, \frac{n}{p (1 - p)} \cdot
              \frac{B}{B - 1} \sum_b (h_b - p\, m_b)^2 / n^2\Big)

    of B blocks with h of m hits (Kish 1965, *Survey Sampling*, 8.2). Where all or no trials are hits, nothing
    tells how alike they are: then a block counts as one trial.

    Raises
    ------
    ValueError
        There are no trials.
    """
    h, m = np.asarray(hits, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    n = float(m.sum())
    if n < 1:
        raise ValueError("no trials have no proportion")
    p, blocks = float(h.sum()) / n, len(h)
    worth = float(blocks)
    if blocks > 1 and 0.0 < p < 1.0:
        spread = blocks / (blocks - 1) * float(np.sum((h - p * m) ** 2)) / n
        worth = n / max(1.0, spread / (p * (1.0 - p)))
    low, high = _wilson(p, worth, level)
    return Interval(p, low, high, int(n), "proportion, Wilson, blocks", level)


def _wilson(share: float, n: float, level: float) -> tuple[float, float]:
    z = critical.normal(level)
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    # At 0 and 1 the end is exactly 0 or 1; rounding must not move it across.
    return 0.0 if share == 0.0 else centre - reach, 1.0 if share == 1.0 else centre + reach
