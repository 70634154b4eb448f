"""Spectrum of an autoregression with and without noise, and a test whether noise hides a slow swing."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SHORTEST = 24
"""Influences below which noise and a swing cannot be told apart."""
CORRELATIONS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99)
"""Correlations of the swing that are tried."""
SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0)
"""Shares of the variance, due to the swing, that are tried."""
CRITICAL = 2.71
"""Twice the logarithm of the likelihood ratio above which there is a swing: 5 % of chi-square halved."""
DEGREES = 4.0
"""Degrees of freedom of the variance of a sum with a swing: about as many of its turns are seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Swing:
    """Slow swing under a quick noise."""

    variance: float
    """Of the sum of the series."""
    ratio: float
    """Twice the logarithm of the likelihood ratio, the swing with noise over the swing alone."""


def powers(n: int, rho: float) -> Array:
    r"""Mean squares of the cosine coefficients 0 to n - 1 of an autoregression of variance one, exactly.

    .. math:: f_j - \frac{4 \rho}{n} (1 - (-1)^j \rho^n) \Big(\frac{(1 - \rho) \cos(\omega_j / 2)}
              {1 - 2 \rho \cos \omega_j + \rho^2}\Big)^2, \qquad
              f_j = \frac{1 - \rho^2}{1 - 2 \rho \cos \omega_j + \rho^2}, \qquad \omega_j = \frac{\pi j}{n}

    for the orthonormal transform and j from 1; with half the second term for j = 0, the sum over root n. The
    first term is the spectrum; the second is what the ends of the series lack of it.
    """
    places = np.arange(n)
    angle = math.pi / n * places
    below = 1.0 - 2.0 * rho * np.cos(angle) + rho**2
    ends = (1.0 - (-1.0) ** places * rho**n) * ((1.0 - rho) * np.cos(angle / 2.0) / below) ** 2
    ends[0] /= 2.0
    result: Array = (1.0 - rho**2) / below - 4.0 * rho / n * ends
    return result


def swing(influences: Array) -> Swing | None:
    r"""Slow swing that noise hides from the correlation of neighbours; None where the data show none.

    The coefficients :math:`\Lambda_j` of the cosine transform are nearly independent, with the mean squares
    of `powers`. Their likelihood (Whittle 1953, Arkiv för Matematik 2, 423) is compared between an
    autoregression alone and one with independent noise beside it,

    .. math:: \ell(g) = \frac{n - 1}{2} \log \sum_j \frac{\Lambda_j^2}{g_j}
              + \frac{1}{2} \sum_j \log g_j, \qquad g_j = 1 - s + s f_j(\rho)

    over the correlations :math:`\rho` and shares s of `CORRELATIONS` and `SHARES`. There is a swing if twice
    the difference exceeds 2.71, which about 5 % of series without noise do, or fewer, since no noise is the
    edge of what is possible (Self and Liang 1987, JASA 82, 605).

    The variance of the sum is the mean of that of all pairs, weighted by their likelihood: the data
    tell little of a swing that turns a few times only, and the most likely one is mostly too quick.

    Parameters
    ----------
    influences : ndarray of shape (n,)
        In the order of time; their sum is zero but for rounding.
    """
    from scipy import fft

    n = len(influences)
    if n < SHORTEST:
        return None
    power = fft.dct(influences, norm="ortho")[1:] ** 2
    if not float(power.sum()) > 0.0:
        return None
    inverse, logarithms, of_sum, alone = _mixtures(n)
    scales = inverse @ power / (n - 1)
    minus_twice = (n - 1) * np.log(scales) + logarithms
    ratio = float(minus_twice[alone].min() - minus_twice.min())
    if ratio <= CRITICAL:
        return None
    weights = np.exp(0.5 * (minus_twice.min() - minus_twice))
    variance = n * float(weights @ (scales * of_sum)) / float(weights.sum())
    return Swing(variance=variance, ratio=ratio)


@functools.lru_cache(maxsize=64)
def _mixtures(n: int) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
    """Of each pair: inverse powers, sum of their logarithms, power of the sum; whether it has no noise."""
    swings = np.array([powers(n, rho) for rho in CORRELATIONS])
    mixed = np.concatenate([share * swings + (1.0 - share) for share in SHARES])
    alone = np.repeat(np.array(SHARES) == 1.0, len(CORRELATIONS))
    return 1.0 / mixed[:, 1:], np.log(mixed[:, 1:]).sum(axis=1), mixed[:, 0], alone
