"""Differences between means with intervals that all hold together at the stated confidence."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from thinktime.stats import critical_values
from thinktime.stats.estimate import Estimate

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Mean number `second` less mean number `first`, with its simultaneous interval."""

    first: int
    second: int
    estimate: Estimate

    @property
    def significant(self) -> bool:
        """Whether the interval leaves out zero."""
        low, high = self.estimate.low, self.estimate.high
        return (low is not None and low > 0.0) or (high is not None and high < 0.0)


def tukey(
    means: Sequence[float],
    counts: Sequence[float],
    error_mean_square: float,
    error_degrees: int,
    *,
    unit: str = "",
    level: float = 0.95,
) -> tuple[Difference, ...]:
    r"""All pairwise differences by Tukey's honest significance, Kramer's form for unequal counts.

    .. math:: \bar y_j - \bar y_i \pm \frac{q}{\sqrt 2} \sqrt{MS_E (1/n_i + 1/n_j)}

    with q the studentized range of all means. Exact for equal counts and independent normal errors of
    one variance, on the safe side for unequal ones (Hayter 1984, Annals of Statistics 12, 61).
    """
    q = studentized_range(level, len(means), error_degrees)
    found = []
    for i, j in itertools.combinations(range(len(means)), 2):
        error = math.sqrt(error_mean_square * (1.0 / counts[i] + 1.0 / counts[j]))
        value, reach = means[j] - means[i], q / math.sqrt(2.0) * error
        estimate = Estimate(
            value=value,
            unit=unit,
            n=round(counts[i] + counts[j]),
            method="difference of means, Tukey",
            low=value - reach,
            high=value + reach,
            level=level,
        )
        found.append(Difference(first=i, second=j, estimate=estimate))
    return tuple(found)


def bonferroni(paired: Array, *, unit: str = "", level: float = 0.95) -> tuple[Difference, ...]:
    """All pairwise differences of the columns of `paired`, by paired Student t shared out among them.

    Parameters
    ----------
    paired : ndarray, shape (blocks, means)
        A row a block. The errors of one block may be correlated and of unequal variance: nothing is
        asked of them but that blocks are independent and each difference is normal. Each pair pays for
        that with degrees of freedom of its own, blocks - 1.
    unit : str
    level : float
        Confidence that all intervals hold together, at least.
    """
    rows, columns = paired.shape
    if rows < 2:
        raise ValueError(f"{rows} block: differences between blocks cannot be seen")
    pairs = list(itertools.combinations(range(columns), 2))
    each = 1.0 - (1.0 - level) / len(pairs)
    t = critical_values.student_t(each, rows - 1)
    found = []
    for i, j in pairs:
        differences = paired[:, j] - paired[:, i]
        value, error = float(differences.mean()), float(differences.std(ddof=1)) / math.sqrt(rows)
        estimate = Estimate(
            value=value,
            unit=unit,
            n=rows,
            method="paired differences, Bonferroni",
            low=value - t * error,
            high=value + t * error,
            level=level,
        )
        found.append(Difference(first=i, second=j, estimate=estimate))
    return tuple(found)


@cache
def studentized_range(level: float, means: int, degrees: int) -> float:
    """Quantile of the range of `means` standard normal values over an estimate of their deviation."""
    from scipy import stats

    return float(stats.studentized_range.ppf(level, means, degrees))
