r"""Effect sizes of an analysis of variance, with confidence intervals.

Both sizes estimate the same fraction, variance of the effect over variance of effect and error:
:math:`\lambda / (\lambda + N)` with noncentrality :math:`\lambda` of F and N observations.
"""

from __future__ import annotations

import math

from scipy import special

from thinktime.errors import InputError
from thinktime.stats import arguments, critical_values
from thinktime.stats.estimate import Estimate

BEYOND = 1e8
"""Degrees times F from which the effect's chi-square is equal to its noncentrality in practice.

The time to sum the distribution function grows with the square root of that product: for an F of 1e22, which
responses without error give, it would not end.
"""


def partial_eta_squared(f: float, degrees: int, error_degrees: int, n: int, level: float = 0.95) -> Estimate:
    r"""Partial eta squared: sum of squares of the effect over that of effect and error.

    .. math:: \eta_p^2 = \frac{SS}{SS + SS_E} = \frac{\nu F}{\nu F + \nu_E}

    Biased upwards as an estimate for the population, see `partial_omega_squared`. Interval by the noncentral
    F (Steiger 2004, Psychological Methods 9, 164, equations 30 to 33), with N the number of observations.

    Parameters
    ----------
    f : float
        F of the effect.
    degrees, error_degrees : int
        Degrees of freedom of effect and error.
    n : int
        Number of observations.
    level : float
        Confidence of the interval.

    Raises
    ------
    InputError
        A number is out of range.
    TypeError
        An argument is of the wrong kind.
    """
    low, high = _ends(f, degrees, error_degrees, n, level)
    value = degrees * f / (degrees * f + error_degrees)
    return Estimate(
        value=value, unit="", n=n, method="partial eta squared, noncentral F", low=low, high=high, level=level
    )


def partial_omega_squared(
    f: float, degrees: int, error_degrees: int, n: int, level: float = 0.95
) -> Estimate:
    r"""Partial omega squared, nearly unbiased; may be negative where there is no effect.

    .. math:: \omega_p^2 = \frac{\nu (F - 1)}{\nu (F - 1) + N}

    (Olejnik and Algina 2003, Psychological Methods 8, 434). Arguments, interval and errors are those of
    `partial_eta_squared`.
    """
    low, high = _ends(f, degrees, error_degrees, n, level)
    value = degrees * (f - 1.0) / (degrees * (f - 1.0) + n)
    return Estimate(
        value=value,
        unit="",
        n=n,
        method="partial omega squared, noncentral F",
        low=low,
        high=high,
        level=level,
    )


def noncentrality_interval(
    f: float, degrees: int, error_degrees: int, level: float = 0.95
) -> tuple[float, float]:
    """Two-sided interval of the noncentrality of F; both ends are 0 where F is smaller than by chance.

    Parameters and errors are those of `partial_eta_squared`.
    """
    if not isinstance(f, float) or math.isnan(f):
        f = arguments.number(f, "f")
    if f < 0.0:
        raise InputError(f"f is {f:g}; give a number of at least 0")
    degrees = arguments.whole(degrees, "degrees", least=1)
    error_degrees = arguments.whole(error_degrees, "error_degrees", least=1)
    level = arguments.level(level)
    tail = (1.0 - level) / 2.0
    return tuple(_noncentrality(f, degrees, error_degrees, p) for p in (1.0 - tail, tail))  # type: ignore[return-value]


def _ends(f: float, degrees: int, error_degrees: int, n: int, level: float) -> tuple[float, float]:
    n = arguments.whole(n, "n", least=1)
    low, high = noncentrality_interval(f, degrees, error_degrees, level)
    return low / (low + n), high / (high + n)


def _noncentrality(f: float, degrees: int, error_degrees: int, p: float) -> float:
    """Noncentrality for which F is at most f with probability p; the probability falls as it grows."""
    if float(special.fdtr(degrees, error_degrees, f)) <= p:
        return 0.0
    if degrees * f > BEYOND:
        # F is lambda / nu over chi2 / nu_E, and F <= f where chi2 >= nu_E lambda / (nu f).
        return float(degrees * f * special.chdtri(error_degrees, p) / error_degrees)
    low, high = 0.0, max(1.0, degrees * f)
    while float(special.ncfdtr(degrees, error_degrees, high, f)) > p:
        low, high = high, 2.0 * high

    def excess(noncentrality: float) -> float:
        return float(special.ncfdtr(degrees, error_degrees, noncentrality, f)) - p

    return critical_values.root(excess, low, high)
