"""Difference of two independent estimates."""

from __future__ import annotations

import math

from thinktime.errors import InputError
from thinktime.stats import arguments
from thinktime.stats.estimate import Estimate


def difference(first: Estimate, second: Estimate) -> Estimate:
    r"""Second estimate minus the first, of different and independent observations.

    Distances to the ends of the intervals add as errors do, on each side by itself, so that intervals that
    are not symmetric are used as they are:

    .. math:: L = d - \sqrt{(\hat\theta_2 - l_2)^2 + (u_1 - \hat\theta_1)^2}, \qquad
              U = d + \sqrt{(u_2 - \hat\theta_2)^2 + (\hat\theta_1 - l_1)^2}

    with :math:`d = \hat\theta_2 - \hat\theta_1` (Zou and Donner 2008, *Statistics in Medicine* 27, 1693,
    equation 7). The difference has no interval where an end of either is missing.

    Parameters
    ----------
    first, second : Estimate
        In one unit, at one level.

    Raises
    ------
    InputError
        The units or the levels differ.
    TypeError
        An argument is no `Estimate`.
    """
    first = arguments.record(first, Estimate, "first")
    second = arguments.record(second, Estimate, "second")
    if (first.unit, first.level) != (second.unit, second.level):
        raise InputError(
            f"first is in {first.unit!r} at level {first.level:g}, second in {second.unit!r} at level "
            f"{second.level:g}; give two estimates of one unit and level"
        )
    value = second.value - first.value
    low = high = None
    ends = (first.low, first.high, second.low, second.high)
    if None not in ends:
        first_low, first_high, second_low, second_high = (float(end) for end in ends if end is not None)
        low = value - math.hypot(second.value - second_low, first_high - first.value)
        high = value + math.hypot(second_high - second.value, first.value - first_low)
    return Estimate(
        value=value,
        unit=second.unit,
        n=first.n + second.n,
        method=f"difference of {second.method}",
        low=low,
        high=high,
        level=second.level,
    )
