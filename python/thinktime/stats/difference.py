"""Difference and ratio of two independent estimates."""

from __future__ import annotations

import math
from dataclasses import replace

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


def ratio(first: Estimate, second: Estimate) -> Estimate:
    r"""Second estimate over the first, of different and independent observations.

    Both are positive, and so are the ends of their intervals; its interval is that of the `difference` of
    their logarithms:

    .. math:: \log U = \log r + \sqrt{\log^2(u_2 / \hat\theta_2) + \log^2(\hat\theta_1 / l_1)}

    with :math:`r = \hat\theta_2 / \hat\theta_1`. The ratio has no interval where an end of either is missing
    or not positive.

    Parameters
    ----------
    first, second : Estimate
        Positive, in one unit, at one level.

    Raises
    ------
    InputError
        An estimate is not positive, or the units or the levels differ.
    """
    for name, item in (("first", first), ("second", second)):
        arguments.record(item, Estimate, name)
        if item.value <= 0.0:
            raise InputError(f"{name} is {item.value:g}; a ratio needs estimates above 0")
    change = difference(_logarithm(first), _logarithm(second))
    low, high = (None if end is None else math.exp(end) for end in (change.low, change.high))
    value = second.value / first.value
    return replace(change, value=value, unit="", low=low, high=high, method=f"ratio of {second.method}")


def _logarithm(estimate: Estimate) -> Estimate:
    low, high = (
        None if end is None or end <= 0.0 else math.log(end) for end in (estimate.low, estimate.high)
    )
    return replace(estimate, value=math.log(estimate.value), low=low, high=high)
