"""What an experiment of two treatments can see: its power, and the least difference that it finds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from thinktime.stats import critical_values
from thinktime.stats.randomisation.permutation import Reassignment

_Array = NDArray[np.float64]

SIMULATIONS = 2_000
OTHER_SIDE_MOST = 6.0
"""Shift from which on the wrong side of a test has a probability below 1e-9."""
ROWS_MAX = 2_000
"""Assignments that a simulated test compares: of more, as many are drawn."""


def t_power(difference: float, deviation: float, length: float, degrees: int, alpha: float = 0.05) -> float:
    r"""Probability that Student's two-sided test finds `difference`.

    .. math:: 1 - \beta = P(|T_\nu(\delta)| > t_{\nu, 1 - \alpha/2}), \qquad
              \delta = \Delta \sqrt{z'Mz} / \sigma

    T having the noncentral t distribution (Johnson, Kotz and Balakrishnan, *Continuous Univariate
    Distributions* 2, chapter 31).

    Parameters
    ----------
    difference : float
        True difference of the treatments.
    deviation : float
        Standard deviation of the units about their blocks, in the same unit.
    length : float
        :math:`\sqrt{z'Mz}` of the design (`Reassignment.length`): :math:`\sqrt{n}/2` where half of n units
        are treated.
    degrees : int
        Degrees of freedom left for the error.
    alpha : float
        False-alarm rate.
    """
    if degrees < 1:
        return math.nan
    reach = critical_values.student_t(1.0 - alpha, degrees)
    shift = abs(difference) * length / deviation if deviation > 0.0 else math.inf
    if not math.isfinite(shift) or shift > 1e4 * reach:
        return 1.0 if difference else alpha
    above = 1.0 - float(special.nctdtr(degrees, shift, reach))
    # On the other side the probability is below that of a normal beyond -shift, and scipy's may be nan.
    below = float(special.nctdtr(degrees, shift, -reach)) if shift < OTHER_SIDE_MOST else 0.0
    return min(1.0, above + below)


def t_detectable(
    deviation: float, length: float, degrees: int, power: float = 0.8, alpha: float = 0.05
) -> float:
    """Least difference that Student's test finds with probability `power`; nan without degrees."""
    if degrees < 1:
        return math.nan
    low, high = 0.0, 1.0
    while t_power(high, 1.0, length, degrees, alpha) < power:
        high *= 2.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if t_power(middle, 1.0, length, degrees, alpha) < power else (low, middle)
    return high * deviation


@dataclass(frozen=True, slots=True, kw_only=True)
class PermutationPower:
    """What the randomisation test of a design finds, by simulation with normal units of deviation one."""

    below: _Array
    """Distance from its estimate to the lower end of each simulated interval."""
    above: _Array
    """The same of the upper end."""
    errors: _Array
    """What chance added to each estimate."""

    def power(self, difference: float, deviation: float) -> float:
        """Probability of finding `difference`; the error of simulation is at most 0.011."""
        if deviation <= 0.0:
            return 1.0 if difference and np.isfinite(self.below).any() else 0.0
        estimate = self.errors + abs(difference) / deviation
        found = (estimate + self.below > 0.0) | (estimate + self.above < 0.0)
        return float(np.mean(found))

    def detectable(self, deviation: float, power: float = 0.8) -> float | None:
        """Least difference that is found with probability `power`; None where none can be found."""
        needed = float(np.quantile(-(self.errors + self.below), power, method="higher"))
        return needed * deviation if math.isfinite(needed) else None


def permutation_power(
    design: Reassignment, *, alpha: float = 0.05, simulations: int = SIMULATIONS, seed: int = 1
) -> PermutationPower:
    r"""Simulate the randomisation test under the design as it was made.

    A difference :math:`\Delta` moves estimate and interval alike, so that one simulation without any
    difference tells the power of all: :math:`\Delta` is found if it is further from zero than the lower
    end of the interval was below.
    """
    random = np.random.default_rng(seed)
    rows = design.rows
    if len(rows) > ROWS_MAX:
        rows = rows[random.choice(len(rows), ROWS_MAX, replace=False)]
    y = random.standard_normal((design.rows.shape[1], simulations))
    low, high = [], []
    step = max(1, 2_000_000 // len(rows))
    for first in range(0, simulations, step):
        below, above = design.ends(y[:, first : first + step], 1.0 - alpha, rows)
        low.append(below)
        high.append(above)
    errors = np.array([design.effect(column) for column in y.T])
    return PermutationPower(below=np.concatenate(low), above=np.concatenate(high), errors=errors)
