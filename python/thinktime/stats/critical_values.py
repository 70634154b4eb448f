"""Critical values: standard errors that an interval reaches to each side."""

from __future__ import annotations

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


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """Zero of a function between `low` and `high`, where its signs differ, to the last digits (Brent)."""
    from scipy import optimize

    return float(optimize.brentq(function, low, high, xtol=1e-300, rtol=4 * np.finfo(float).eps))
