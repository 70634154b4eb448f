"""Means compared at equal load: direct standardisation, with errors that hold under autocorrelation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from thinktime.stats import critical_values
from thinktime.stats.estimate import Caveat, Estimate
from thinktime.stats.series.batch_means import join_batches
from thinktime.stats.series.long_run import long_run

_Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """Mean or difference of means, with its standard error and the degrees of freedom of that error."""

    value: float
    error: float
    degrees: float
    n: int
    caveat: Caveat | None = None
    """See `Estimate.caveat`."""

    @property
    def p(self) -> float:
        """Two-sided probability, by Student's t, of a value this far from zero if the true mean is zero."""
        if self.error <= 0.0:
            return 0.0 if self.value else 1.0
        return 2.0 * float(special.stdtr(self.degrees, -abs(self.value) / self.error))

    def estimate(self, unit: str, method: str, level: float) -> Estimate:
        """Estimate in `unit`, with Student's t interval."""
        reach = critical_values.student_t(level, self.degrees) * self.error
        return Estimate(
            value=self.value,
            unit=unit,
            n=self.n,
            method=method,
            low=self.value - reach,
            high=self.value + reach,
            level=level,
            caveat=self.caveat,
        )


def difference(first: Mean, second: Mean) -> Mean:
    r"""Second mean minus the first, of independent data.

    .. math:: s^2 = s_1^2 + s_2^2, \qquad \nu = s^4 / (s_1^4/\nu_1 + s_2^4/\nu_2)

    (Welch 1947, Biometrika 34, 28; Satterthwaite 1946, Biometrics 2, 110).
    """
    one, two = first.error**2, second.error**2
    parts = one**2 / first.degrees + two**2 / second.degrees
    degrees = (one + two) ** 2 / parts if parts > 0.0 else min(first.degrees, second.degrees)
    return Mean(
        value=second.value - first.value,
        error=math.sqrt(one + two),
        degrees=degrees,
        n=first.n + second.n,
        caveat=first.caveat or second.caveat,
    )


def effective(lengths: _Array) -> _Array:
    r"""Number of equal blocks that would hold each group as evenly: :math:`L^2 / \sum_b L_b^2`.

    Parameters
    ----------
    lengths : ndarray, shape (blocks, groups)
    """
    squares = (lengths**2).sum(axis=0)
    result: _Array = np.zeros(len(squares))
    np.divide(lengths.sum(axis=0) ** 2, squares, out=result, where=squares > 0.0)
    return result


def standardised(
    amounts: _Array,
    lengths: _Array,
    weights: _Array,
    n: int,
    per: _Array | None = None,
    *,
    stretches: int | None = None,
) -> Mean | None:
    r"""Mean at a given distribution of loads.

    .. math:: T = \sum_g w_g R_g, \quad R_g = \frac{\sum_b a_{gb}}{\sum_b l_{gb}}, \qquad
              s^2 = V(u), \quad u_b = \sum_g w_g \frac{a_{gb} - R_g l_{gb}}{\sum_b l_{gb}}

    over groups g of equal load with weights that add to 1 (direct standardisation: Fleiss, Levin and
    Paik, *Statistical Methods for Rates and Proportions*, 19.2), with the long-run variance V of the
    influences of the blocks of time b (`long_run.long_run`). The error includes the effect that a
    block has on all loads alike. The degrees of freedom are at most those of as many equal
    stretches as carry the mean (Satterthwaite), the fewer of two extremes: errors that are independent
    within a stretch, and one error for the whole stretch.

    Parameters
    ----------
    amounts, lengths : ndarray, shape (blocks, groups)
    weights : ndarray, shape (groups,)
        Adding to 1.
    n : int
        Number of observations, for the record.
    per : ndarray, optional
        Amounts of something else in the same lengths: T is then divided by the T of that.
    stretches : int, optional
        Stretches of time over which loads must be spread; the blocks by default.

    Returns
    -------
    Mean or None
        None where a group with a weight lies in one stretch only, or there is nothing to divide by.
    """
    used = weights > 0.0
    lengths, weights = lengths[:, used], weights[used]
    total = lengths.sum(axis=0)
    spread = join_batches(lengths[None], stretches or len(lengths))[0]
    if not used.any() or len(spread) < 2 or (total - spread <= 0.0).any():
        return None

    def mean(sums: _Array) -> tuple[float, _Array]:
        """Mean, and the influence of each block on it."""
        ratios = sums[:, used].sum(axis=0) / total
        return float(ratios @ weights), (sums[:, used] - ratios * lengths) @ (weights / total)

    value, influences = mean(amounts)
    if per is not None:
        below, of_below = mean(per)
        if below <= 0.0:
            return None
        value /= below
        influences = (influences - value * of_below) / below
    variance = long_run(influences)
    apart = (spread * (weights / total) ** 2).sum(axis=1)
    alike = (spread * (weights / total)).sum(axis=1) ** 2
    degrees = min(part.sum() ** 2 / (part**2).sum() for part in (apart, alike)) - 1.0
    return Mean(
        value=value,
        error=variance.error,
        degrees=max(1.0, min(variance.degrees, float(degrees))),
        n=n,
        caveat=variance.caveat,
    )
