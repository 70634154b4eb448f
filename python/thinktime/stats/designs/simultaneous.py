"""Differences between means with simultaneous confidence intervals."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cache

from numpy.typing import ArrayLike

from thinktime.errors import InputError
from thinktime.stats import arguments, critical_values
from thinktime.stats.estimate import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Mean number `second` minus mean number `first`, with its simultaneous interval."""

    first: int
    second: int
    estimate: Estimate

    @property
    def significant(self) -> bool:
        """True if the interval excludes zero."""
        low, high = self.estimate.low, self.estimate.high
        return (low is not None and low > 0.0) or (high is not None and high < 0.0)


def tukey(
    means: ArrayLike,
    counts: ArrayLike,
    error_mean_square: float,
    error_degrees: int,
    *,
    unit: str = "",
    level: float = 0.95,
) -> tuple[Difference, ...]:
    r"""Pairwise differences by Tukey's honest significance, in Kramer's form for unequal counts.

    .. math:: \bar y_j - \bar y_i \pm \frac{q}{\sqrt 2} \sqrt{MS_E (1/n_i + 1/n_j)}

    with q the studentized range of all means. Exact for equal counts and independent normal errors of
    one variance, conservative for unequal ones (Hayter 1984, Annals of Statistics 12, 61).

    Parameters
    ----------
    means, counts : array of shape (k,)
        Two means or more, and the number of observations of each.
    error_mean_square : float
    error_degrees : int
        Of the error of one observation.
    unit : str
        Unit of the means.
    level : float
        Confidence that all intervals hold together.

    Raises
    ------
    InputError
        Means and counts do not fit, or a number is out of range.
    TypeError
        An argument is of the wrong kind.
    """
    mean, count = arguments.sample(means, "means", least=2), arguments.sample(counts, "counts")
    if len(count) != len(mean) or (count <= 0.0).any():
        raise InputError(
            f"counts is {arguments.shown(counts)}; give a positive number for each of {len(mean)} means"
        )
    error_mean_square = arguments.number(error_mean_square, "error_mean_square", low=0.0)
    error_degrees = arguments.whole(error_degrees, "error_degrees", least=1)
    level = arguments.level(level)
    q = studentized_range(level, len(mean), error_degrees)
    result = []
    for i, j in itertools.combinations(range(len(mean)), 2):
        error = math.sqrt(error_mean_square * (1.0 / count[i] + 1.0 / count[j]))
        value, reach = float(mean[j] - mean[i]), q / math.sqrt(2.0) * error
        estimate = Estimate(
            value=value,
            unit=unit,
            n=round(count[i] + count[j]),
            method="difference of means, Tukey",
            low=value - reach,
            high=value + reach,
            level=level,
        )
        result.append(Difference(first=i, second=j, estimate=estimate))
    return tuple(result)


def bonferroni(paired: ArrayLike, *, unit: str = "", level: float = 0.95) -> tuple[Difference, ...]:
    """Pairwise differences of the columns of `paired`: paired Student's t with Bonferroni's correction.

    Parameters
    ----------
    paired : ndarray, shape (blocks, means)
        One row per block, one column per mean; two or more of each. The errors of one block may be
        correlated and of unequal variance: blocks must be independent and each difference normal. Each
        pair has blocks - 1 degrees of freedom.
    unit : str
        Unit of the means.
    level : float
        Confidence that all intervals hold together, at least.

    Raises
    ------
    InputError
        There are fewer than two blocks or means, or `level` is out of range.
    TypeError
        An argument is of the wrong kind.
    """
    paired, level = arguments.table(paired, "paired"), arguments.level(level)
    rows, columns = paired.shape
    if rows < 2 or columns < 2:
        raise InputError(f"paired has the shape {paired.shape}; give two blocks or more of two means or more")
    pairs = list(itertools.combinations(range(columns), 2))
    t = critical_values.student_t(1.0 - (1.0 - level) / len(pairs), rows - 1)
    result = []
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
        result.append(Difference(first=i, second=j, estimate=estimate))
    return tuple(result)


@cache
def studentized_range(level: float, means: int, degrees: int) -> float:
    """Quantile of the range of `means` standard normal values over an estimate of their deviation."""
    from scipy import stats

    return float(stats.studentized_range.ppf(level, means, degrees))
