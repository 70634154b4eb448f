"""Estimates as studies make them: over replications, by printed numbers, in other units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from thinktime.stats.estimate import Estimate
from thinktime.stats.series.batch_means import plain_mean
from thinktime.studies.published import Printed

Array = NDArray[np.float64]


def interval(values: Array, unit: str = "", factor: float = 1.0) -> Estimate:
    """Mean over replications, times `factor`, with the interval of Student's t.

    Replications without a figure (NaN) are left out; n is 0 where none has one.
    """
    present = values[~np.isnan(values)]
    if not len(present):
        return Estimate(value=float("nan"), unit=unit, n=0, method="none")
    return plain_mean(factor * present).with_unit(unit)


def scaled(estimate: Estimate, factor: float, unit: str = "") -> Estimate:
    """Estimate in another unit: times `factor`."""
    low, high = (None if end is None else end * factor for end in (estimate.low, estimate.high))
    if factor < 0.0:
        low, high = high, low
    return replace(estimate, value=estimate.value * factor, unit=unit, low=low, high=high)


def given(value: float) -> Estimate:
    """Value of a parameter of the simulated system, without an interval."""
    return Estimate(value=value, n=1, method="parameter of the simulated system")


def exact(value: float, unit: str, inputs: int) -> Estimate:
    """Value that follows from `inputs` printed numbers as their digits stand, without an interval."""
    return Estimate(value=value, unit=unit, n=inputs, method="recomputed from printed numbers")


def rounded(work: Callable[..., float], inputs: Sequence[Printed], unit: str = "") -> Estimate:
    r"""Value computed with printed inputs, with the range that their rounding allows.

    .. math:: f(x) \pm \sum_i \max |f(x \pm h_i e_i) - f(x)|

    with :math:`h_i` half a unit of the last printed digit: the first-order bound of interval arithmetic.

    Parameters
    ----------
    work : callable
        Takes the inputs as numbers, one argument each.
    inputs : sequence of Printed
    unit : str
        Of the result.
    """
    values = [item.value for item in inputs]
    result = work(*values)
    reach = 0.0
    for index, item in enumerate(inputs):
        moved = [
            abs(work(*values[:index], item.value + sign * item.half, *values[index + 1 :]) - result)
            for sign in (-1.0, 1.0)
        ]
        reach += float(np.max(moved))
    return replace(exact(result, unit, len(values)), low=result - reach, high=result + reach)
