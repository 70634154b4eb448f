"""Long-run variance: how far the sum of a correlated series strays from its mean.

The one way in which intervals allow for correlation in time: for means, ratios, proportions, quantiles, lines
through groups, and means at equal load. Each is a sum of *influences*, one for each observation or batch of
adjoining observations, and its error is that of the sum.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.stats import critical_values
from thinktime.stats.estimate import Caveat
from thinktime.stats.series import spectrum

Array = NDArray[np.float64]

SHORTEST = 12
"""Influences below which correlation cannot be seen: they are then taken as independent."""
COSINES_MIN, COSINES_MAX = 4, 30
"""With fewer cosines Student's t is wide, with more it hardly narrows."""
LOSS_MOST = 0.2
"""Share of the variance that the cosines may miss before fewer of them are taken."""
FACTOR_MOST = 16.0
"""Bound on the factor for the variance that the cosines miss: beyond, it is hardly known."""
PERSISTENT = 3.0
"""Factor above which there is a caveat: most of the variance is inferred, not seen."""
SCALE_LEAST = 24
"""Fewest batches in which the correlation is looked for at a coarser scale."""
CORRELATION_MOST = 0.995
"""Correlation that is assumed of adjoining sums whose estimate is higher."""
CAUTION = 0.7
"""Part of its standard error, times itself, by which a correlation is raised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LongRun:
    """Variance of the sum of a series of influences with mean zero."""

    variance: float
    """Of the sum."""
    degrees: float
    """Degrees of freedom of `variance`."""
    factor: float = 1.0
    """Part of `variance` that was inferred from the correlation: 1 where the cosines see all of it."""
    swing: bool = False
    """True if a slow swing was found under a quick noise (`spectrum.swing`)."""
    method: str
    """In a few words: ``12 cosines``."""

    @property
    def error(self) -> float:
        """Standard error of the sum."""
        return math.sqrt(self.variance)

    @property
    def caveat(self) -> Caveat | None:
        """Caveat where the series is too short for its correlation."""
        if self.swing:
            return Caveat("slow_swing", factor=math.sqrt(self.factor))
        return Caveat("persistent", factor=math.sqrt(self.factor)) if self.factor > PERSISTENT else None

    def reach(self, level: float) -> float:
        """Distance from the value to the ends of its interval, by Student's t."""
        return critical_values.student_t(level, self.degrees) * self.error


def long_run(influences: Array, *, summed: bool = False) -> LongRun:
    r"""Variance of the sum of `influences`, with its degrees of freedom.

    .. math:: V = \frac{n}{B} \sum_{j=1}^{B} \Lambda_j^2, \qquad
              \Lambda_j = \sqrt{\frac{2}{n}} \sum_{t=1}^{n} e_t \cos \frac{\pi j (t - 1/2)}{n}

    with B degrees of freedom: equally weighted cosines (Müller 2007, J. Econometrics 141, 1331; Lazarus,
    Lewis, Stock and Watson 2018, J. Business and Economic Statistics 36, 541). The number of cosines, 4 to
    30, is the largest that misses at most a fifth of the variance of an autoregressive series with the
    correlation of these influences; V is then divided by the share of the variance that B cosines see of
    that series, at least by 1/16. The correlation is that of the influences and of their sums in twos,
    fours and so on, while there are 24, each corrected for its bias (Marriott and Pope 1954, Biometrika 41,
    390), and the most unfavourable counts: so slow swings under a quick noise are found too. A correlation
    :math:`\rho` of k sums is raised by :math:`0.7 \rho \sqrt{(1 - \rho^2) / k}`: one that is estimated too
    low makes the interval shorter by more than one too high makes it longer.

    Where a quick noise hides a slow swing from these correlations (`spectrum.swing`), V is at least the
    variance of a series with both, and has at most 4 degrees of freedom.

    Fewer than 12 influences are taken as independent: correlation cannot be seen in them.

    Parameters
    ----------
    influences : ndarray of shape (n,)
        In the order of time, at least two; their sum is zero but for rounding.
    summed : bool
        True if the variance is added to those of other independent series: correlations are then not
        raised, since those that are estimated too low and too high balance.
    """
    n = len(influences)
    if n < SHORTEST:
        variance = n / (n - 1) * float(influences @ influences)
        return LongRun(variance=variance, degrees=n - 1.0, method="too short for correlation")
    scales = correlations(influences, 0.0 if summed else CAUTION)
    most = min(COSINES_MAX, (n - 1) // 2)
    cosines = min([most, *(_cosines(count, rho) for count, rho in scales)])
    factor = max([1.0, *(1.0 / _seen(count, rho)[min(cosines, count - 1) - 1] for count, rho in scales)])
    factor = min(factor, FACTOR_MOST)
    seen = n * float((_transform(influences, cosines) ** 2).mean())
    found = spectrum.swing(influences)
    if found is None or seen <= 0.0:
        return LongRun(
            variance=seen * factor, degrees=float(cosines), factor=factor, method=f"{cosines} cosines"
        )
    variance = max(seen * factor, found.variance)
    return LongRun(
        variance=variance,
        degrees=min(float(cosines), spectrum.DEGREES),
        factor=variance / seen,
        swing=True,
        method=f"{cosines} cosines, slow swing",
    )


def independent(influences: Array) -> LongRun:
    """Variance of the sum of independent influences with mean zero, at least two, such as replications."""
    n = len(influences)
    variance = n / (n - 1) * float(influences @ influences)
    return LongRun(variance=variance, degrees=n - 1.0, method=f"{n} independent parts")


def correlations(influences: Array, caution: float = CAUTION) -> list[tuple[int, float]]:
    """Number of sums at each scale, and the correlation of adjoining ones, where that is positive.

    Each is raised by `caution` times itself and its standard error.
    """
    found = []
    sums = influences - influences.mean()
    while True:
        count = len(sums)
        squares = float(sums @ sums)
        if squares > 0.0:
            raw = float(sums[1:] @ sums[:-1]) / squares
            rho = min((raw * count + 1.0) / (count - 3.0), CORRELATION_MOST)
            rho = round(rho * (1.0 + caution * math.sqrt((1.0 - rho**2) / count)), 2) if rho > 0.0 else 0.0
            if rho > 0.0:
                found.append((count, min(rho, CORRELATION_MOST)))
        if count // 2 < SCALE_LEAST:
            return found
        pairs = sums[: count // 2 * 2].reshape(-1, 2).sum(axis=1)
        sums = pairs - pairs.mean()


def _transform(influences: Array, cosines: int) -> Array:
    """Coefficients of the cosine transform, the constant left out."""
    from scipy import fft

    result: Array = fft.dct(influences, norm="ortho")[1 : cosines + 1]
    return result


def _cosines(count: int, rho: float) -> int:
    """Largest number of cosines that misses little of the variance of an AR(1) series."""
    enough = np.flatnonzero(_seen(count, rho) >= 1.0 - LOSS_MOST)
    return max(min(COSINES_MIN, (count - 1) // 2), int(enough[-1]) + 1 if len(enough) else 0)


@functools.lru_cache(maxsize=1024)
def _seen(n: int, rho: float) -> Array:
    """Share of the variance of a sum that the first 1, 2, ... cosines see.

    For an AR(1) series of length n with correlation `rho`, exactly: `spectrum.powers`.
    """
    every = spectrum.powers(n, rho)
    power = every[1 : COSINES_MAX + 1] / every[0]
    result: Array = np.cumsum(power) / np.arange(1, len(power) + 1)
    return result
