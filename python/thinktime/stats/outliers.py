"""Members of a group that do not belong to it, found so that one of them does not hide another."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinktime.errors import InputError
from thinktime.stats import arguments

_Array = NDArray[np.float64]

MEMBERS_LEAST = 8
"""Members below which a group does not tell how far its members usually lie from each other."""
CONSISTENT = 1.4826
"""Standard deviation of a normal distribution over its median absolute deviation."""
DEGREES, NARROWER = 0.38, 1.4
"""Degrees of freedom for each member, and n times the part by which the spread is reduced: see `outlying`."""


def outlying(values: ArrayLike, errors: ArrayLike | None = None) -> NDArray[np.float64]:
    r"""Probability of a value as far from the others as each is, if all were of one normal population.

    .. math:: t_i = \frac{x_i - \mathrm{med}(x)}{s_i}, \qquad
              s_i^2 = (1.4826\, c_n \mathrm{MAD}(x))^2 + \max(0, e_i^2 - \mathrm{med}(e^2))

    with median and median absolute deviation, which follow an outlier only where half of the members are
    outliers (Hampel 1974, Journal of the American Statistical Association 69, 383). The probability is that
    of Student's t with 0.38 n degrees of freedom and :math:`c_n = 1 - 1.4 / n`: with these the largest t of a
    normal group of 8 to 1000 members exceeds Bonferroni's limit in 2 to 5.5 % of 10,000 groups or more at 5
    %, and no more often than it should at 1 and 0.2 %. Adjust the probabilities for their number
    (`hypothesis.holm`).

    Parameters
    ----------
    values : array of shape (n,)
        At least 8.
    errors : array of shape (n,), optional
        Standard error of each value: one that is known less well than most must lie farther away.

    Raises
    ------
    InputError
        There are fewer than 8 values, one is not finite, or the errors do not fit or are negative.
    TypeError
        An argument is of the wrong kind.
    """
    from scipy import special

    found = arguments.sample(values, "values", least=MEMBERS_LEAST)
    n = len(found)
    error = np.zeros(n) if errors is None else arguments.sample(errors, "errors")
    if len(error) != n or (error < 0.0).any():
        raise InputError(
            f"errors has {len(error)} numbers for {n} values, or a negative one; give one from 0 up for each"
        )
    distance = found - np.median(found)
    spread = CONSISTENT * float(np.median(np.abs(distance)))
    squares = ((1.0 - NARROWER / n) * spread) ** 2 + np.maximum(error**2 - np.median(error**2), 0.0)
    # More than half of the values are equal: then any other is infinitely far from them.
    t = np.divide(np.abs(distance), np.sqrt(squares), out=np.zeros(n), where=squares > 0.0)
    t[(squares <= 0.0) & (distance != 0.0)] = np.inf
    p: _Array = np.minimum(2.0 * special.stdtr(DEGREES * n, -t), 1.0)
    return p
