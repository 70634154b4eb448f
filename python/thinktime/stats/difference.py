"""Differences of two estimates from different observations."""

from __future__ import annotations

import math

from thinktime.stats.estimate import Estimate


def difference(first: Estimate, second: Estimate) -> Estimate:
    r"""Second estimate less the first, where neither knows anything of the other.

    Distances to the ends of the intervals add as errors do, on each side by itself, so that intervals that
    are not symmetric are used as they are:

    .. math:: L = d - \sqrt{(\hat\theta_2 - l_2)^2 + (u_1 - \hat\theta_1)^2}, \qquad
              U = d + \sqrt{(u_2 - \hat\theta_2)^2 + (\hat\theta_1 - l_1)^2}

    with :math:`d = \hat\theta_2 - \hat\theta_1` (Zou and Donner 2008, *Statistics in Medicine* 27, 1693,
    equation 7). Both intervals must be at one level; the difference has none where one of them has an end
    missing.
    """
    value = second.value - first.value
    low = high = None
    if (
        first.low is not None
        and first.high is not None
        and second.low is not None
        and second.high is not None
    ):
        low = value - math.hypot(second.value - second.low, first.high - first.value)
        high = value + math.hypot(second.high - second.value, first.value - first.low)
    return Estimate(
        value=value,
        unit=second.unit,
        n=first.n + second.n,
        method=f"difference of {second.method}",
        low=low,
        high=high,
        level=second.level,
    )
