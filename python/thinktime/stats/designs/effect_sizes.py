r"""How large an effect is, beside whether there is one.

Both sizes estimate the same part of one: variance of the effect over variance of effect and error,
:math:`\lambda / (\lambda + N)` with noncentrality :math:`\lambda` of F and N observations.
"""

from __future__ import annotations

from scipy import special

from thinktime.stats.estimate import Estimate

HALVINGS = 80
BEYOND = 1e8
"""Degrees times F from which on the effect's chi-square is as good as its noncentrality.

The c.d.f. is summed in some square root of that many terms: an F of 1e22, as responses without error give,
would take for ever.
"""


def partial_eta_squared(f: float, degrees: int, error_degrees: int, n: int, level: float = 0.95) -> Estimate:
    r"""Partial eta squared: the effect's part of its own and the error's sum of squares.

    .. math:: \eta_p^2 = \frac{SS}{SS + SS_E} = \frac{\nu F}{\nu F + \nu_E}

    of this sample, hence too large for what a new one would show; see `partial_omega_squared`. Interval
    by the noncentral F (Steiger 2004, Psychological Methods 9, 164, equations 30 to 33), N being all `n`
    observations.
    """
    value = degrees * f / (degrees * f + error_degrees)
    low, high = _ends(f, degrees, error_degrees, n, level)
    return Estimate(
        value=value, unit="", n=n, method="partial eta squared, noncentral F", low=low, high=high, level=level
    )


def partial_omega_squared(
    f: float, degrees: int, error_degrees: int, n: int, level: float = 0.95
) -> Estimate:
    r"""Partial omega squared, nearly unbiased; may be negative where there is no effect.

    .. math:: \omega_p^2 = \frac{\nu (F - 1)}{\nu (F - 1) + N}

    (Olejnik and Algina 2003, Psychological Methods 8, 434), N as in `partial_eta_squared`, whose interval
    it shares.
    """
    value = degrees * (f - 1.0) / (degrees * (f - 1.0) + n)
    low, high = _ends(f, degrees, error_degrees, n, level)
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
    """Interval of the noncentrality of F, two-sided; both ends are 0 where f is smaller than chance gives."""
    tail = (1.0 - level) / 2.0
    return tuple(_noncentrality(f, degrees, error_degrees, p) for p in (1.0 - tail, tail))  # type: ignore[return-value]


def _ends(f: float, degrees: int, error_degrees: int, n: int, level: float) -> tuple[float, float]:
    low, high = noncentrality_interval(f, degrees, error_degrees, level)
    return low / (low + n), high / (high + n)


def _noncentrality(f: float, degrees: int, error_degrees: int, p: float) -> float:
    """Noncentrality with which F is at most f with probability p; that probability falls as it grows."""
    if float(special.fdtr(degrees, error_degrees, f)) <= p:
        return 0.0
    if degrees * f > BEYOND:
        # F is lambda / nu over chi2 / nu_E, and F <= f where chi2 >= nu_E lambda / (nu f).
        return float(degrees * f * special.chdtri(error_degrees, p) / error_degrees)
    low, high = 0.0, max(1.0, degrees * f)
    while float(special.ncfdtr(degrees, error_degrees, high, f)) > p:
        low, high = high, 2.0 * high
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        if float(special.ncfdtr(degrees, error_degrees, middle, f)) > p:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0
