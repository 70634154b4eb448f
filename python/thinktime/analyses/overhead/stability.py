"""Whether parts of a log give the costs of the whole: Bard's test of the regression model."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from thinktime.analyses.overhead.result import Cost, CostSpread, Part, Stability
from thinktime.stats.critical_values import student_t
from thinktime.stats.estimate import Estimate
from thinktime.stats.hypothesis import adjusted
from thinktime.stats.regression.equality import same_coefficient, same_coefficients, same_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thinktime.analyses.overhead.regression import Regression
    from thinktime.analyses.overhead.residual_pass import Subset

__all__ = ["stability"]


def stability(regression: Regression, costs: Sequence[Cost]) -> Stability | None:
    """Compare the costs of the parts, each against its spread under two sets of assumptions.

    Bard (1971) split a data set and found that coefficients vary much more than the regression model
    says, which is why he printed no intervals. Here that is put as two tests. One takes the model at its
    word (independent errors of one variance): rejecting it says that textbook intervals are not to be
    believed. The other allows for correlated errors of any size: rejecting it says that the cost itself is
    not the same in all parts.
    """
    subsets = regression.subsets
    if not subsets:
        return None
    fits = [part.fit for part in subsets]
    single = [
        same_mean(
            [part.fit.coefficients[[at]] for part in subsets],
            [part.covariance[at : at + 1, at : at + 1] for part in subsets],
            [part.degrees for part in subsets],
            f"the cost of {cost.label} is the same in all parts",
        )
        for at, cost in enumerate(costs)
    ]
    spreads = []
    for at, (cost, robust) in enumerate(zip(costs, adjusted(single), strict=True)):
        values = np.array([fit.coefficients[at] for fit in fits])
        variances = [fit.covariance()[at, at] for fit in fits]
        spreads.append(
            CostSpread(
                request=cost.request,
                label=cost.label,
                seconds=tuple(_cost(part, at, cost, regression.level) for part in subsets),
                deviation=float(values.std(ddof=1)),
                nominal=math.sqrt(float(np.mean(variances))),
                independent=same_coefficient(fits, at, robust.hypothesis),
                robust=robust,
            )
        )
    every = "all costs are the same in all parts"
    return Stability(
        parts=tuple(Part(part.start_us, part.end_us, part.fit.n, part.fit.r_squared) for part in subsets),
        spreads=tuple(spreads),
        independent=same_coefficients(fits, regression.trimmed.fit, every),
        robust=same_mean(
            [part.fit.coefficients for part in subsets],
            [part.covariance for part in subsets],
            [part.degrees for part in subsets],
            every,
        ),
    )


def _cost(part: Subset, at: int, cost: Cost, level: float) -> Estimate:
    value = float(part.fit.coefficients[at])
    reach = student_t(level, part.degrees) * math.sqrt(max(float(part.covariance[at, at]), 0.0))
    method = f"least squares, Newey-West with {part.lags} lags, prewhitened, leverage, fixed-b"
    return Estimate(
        value=value,
        unit=cost.seconds.unit,
        n=part.fit.n,
        method=method,
        low=value - reach,
        high=value + reach,
        level=level,
    )
