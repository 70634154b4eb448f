"""Critical values: standard errors that an interval reaches to each side."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import special

from thinktime.stats import arguments


def normal(level: float) -> float:
    """Two-sided critical value of the normal distribution at confidence `level`.

    Raises
    ------
    InputError
        `level` is not between 0 and 1.
    """
    return float(special.ndtri((1.0 + arguments.level(level)) / 2.0))


def student_t(level: float, degrees: float) -> float:
    """Two-sided critical value of Student's t with `degrees` of freedom at confidence `level`.

    Raises
    ------
    InputError
        `level` is not between 0 and 1.
    """
    return float(special.stdtrit(degrees, (1.0 + arguments.level(level)) / 2.0))


def f_tail(f: float, numerator: float, denominator: float) -> float:
    """Probability of an F of at least `f` with these degrees of freedom under the null hypothesis."""
    return float(special.fdtrc(numerator, denominator, f))


def fixed_b(level: float, fraction: float, degrees: float) -> float:
    r"""Two-sided critical value for a Newey-West standard error with a long bandwidth.

    With a bandwidth that is a fraction b of the sample, the variance estimate stays random however long
    the sample, and the normal value is too small (Kiefer and Vogelsang 2005, Econometric Theory 21, 1130,
    Table 1). Their values for the Bartlett kernel are approximated by

    .. math:: c = t_{\nu} / \sqrt{1 - b + b^2/3}, \qquad \nu = \frac{3}{2b}

    with the kernel's equivalent degrees of freedom :math:`\nu`; the root is the mean loss by centring. The
    value is within 1.5 % up to b = 0.2, and too large beyond, by 5 % at b = 0.3 and 20 % at b = 0.5.

    Parameters
    ----------
    level : float
        Confidence, 0 to 1.
    fraction : float
        b: bandwidth over number of observations, 0 to 1.
    degrees : float
        Degrees of freedom of the residuals: a bound on those of the variance estimate.
    """
    if fraction <= 0.0:
        return student_t(level, degrees)
    return student_t(level, min(1.5 / fraction, degrees)) / math.sqrt(1.0 - fraction + fraction**2 / 3.0)


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """Zero of a function between `low` and `high`, where its signs differ, to the last digits (Brent)."""
    from scipy import optimize

    return float(optimize.brentq(function, low, high, xtol=1e-300, rtol=4 * np.finfo(float).eps))
