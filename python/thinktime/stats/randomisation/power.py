"""Power of an experiment of two treatments, and the smallest difference that it detects."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from thinktime.stats import arguments, critical_values
from thinktime.stats.randomisation.permutation import Reassignment

_Array = NDArray[np.float64]

SIMULATIONS = 2_000
OTHER_SIDE_MOST = 6.0
"""Shift from which the wrong side of a test has a probability below 1e-9."""
SHORTEST = 1e-9
ROWS_MAX = 2_000
"""Largest number of assignments that a simulated test compares: of more, a sample is drawn."""


def t_power(difference: float, deviation: float, length: float, degrees: int, alpha: float = 0.05) -> float:
    r"""Probability that Student's two-sided test detects `difference`.

    .. math:: 1 - \beta = P(|T_\nu(\delta)| > t_{\nu, 1 - \alpha/2}), \qquad
              \delta = \Delta \sqrt{z'Mz} / \sigma

    where T has the noncentral t distribution (Johnson, Kotz and Balakrishnan, *Continuous Univariate
    Distributions* 2, chapter 31).

    Parameters
    ----------
    difference : float
        True difference of the treatments.
    deviation : float
        Standard deviation of the units about their blocks, in the unit of `difference`.
    length : float
        :math:`\sqrt{z'Mz}` of the design (`Reassignment.length`): :math:`\sqrt{n}/2` where half of n units
        are treated.
    degrees : int
        Degrees of freedom of the error; the power is nan with less than one.
    alpha : float
        False-alarm rate.

    Raises
    ------
    InputError
        A number is out of range.
    TypeError
        An argument is no number.
    """
    difference = arguments.number(difference, "difference")
    deviation = arguments.number(deviation, "deviation", low=0.0)
    length = arguments.number(length, "length", low=0.0)
    degrees, alpha = arguments.whole(degrees, "degrees", least=-1), arguments.level(alpha, "alpha")
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
    """Smallest difference that Student's test detects with probability `power`; nan without degrees.

    Parameters and errors are those of `t_power`; `length` must be positive and `power` above `alpha`.
    """
    deviation = arguments.number(deviation, "deviation", low=0.0)
    length = arguments.number(length, "length", low=SHORTEST)
    degrees, alpha = arguments.whole(degrees, "degrees", least=-1), arguments.level(alpha, "alpha")
    power = arguments.level(power, "power")
    if degrees < 1:
        return math.nan

    def excess(difference: float) -> float:
        return t_power(difference, 1.0, length, degrees, alpha) - power

    high = 1.0
    while excess(high) < 0.0:
        high *= 2.0
    return critical_values.root(excess, 0.0, high) * deviation


@dataclass(frozen=True, slots=True, kw_only=True)
class PermutationPower:
    """Simulated randomisation tests of a design, with normal units of standard deviation one."""

    below: _Array
    """Distance from the estimate to the lower end of each simulated interval."""
    above: _Array
    """Distance from the estimate to the upper end of each simulated interval."""
    errors: _Array
    """Error of each simulated estimate."""

    def power(self, difference: float, deviation: float) -> float:
        """Probability of detecting `difference`; the standard error of simulation is at most 0.011."""
        if deviation <= 0.0:
            return 1.0 if difference and np.isfinite(self.below).any() else 0.0
        estimate = self.errors + abs(difference) / deviation
        detected = (estimate + self.below > 0.0) | (estimate + self.above < 0.0)
        return float(np.mean(detected))

    def detectable(self, deviation: float, power: float = 0.8) -> float | None:
        """Smallest difference that is detected with probability `power`; None where none can be."""
        needed = float(np.quantile(-(self.errors + self.below), power, method="higher"))
        return needed * deviation if math.isfinite(needed) else None


def permutation_power(
    design: Reassignment, *, alpha: float = 0.05, simulations: int = SIMULATIONS, seed: int = 1
) -> PermutationPower:
    r"""Power of the randomisation test under a design, by simulation.

    A difference :math:`\Delta` shifts estimate and interval alike, so that one simulation without any
    difference gives the power for all: :math:`\Delta` is detected if it exceeds the distance of the lower
    end of the interval below zero.

    Parameters
    ----------
    design : Reassignment
    alpha : float
        False-alarm rate.
    simulations : int
        Number of simulated experiments.
    seed : int
        Seed of the simulation.

    Raises
    ------
    InputError
        A number is out of range.
    TypeError
        An argument is of the wrong kind.
    """
    arguments.record(design, Reassignment, "design")
    alpha, seed = arguments.level(alpha, "alpha"), arguments.whole(seed, "seed")
    simulations = arguments.whole(simulations, "simulations", least=1)
    random = np.random.default_rng(seed)
    compared = np.arange(design.compared)
    if len(compared) > ROWS_MAX:
        compared = random.choice(len(compared), ROWS_MAX, replace=False)
    y = random.standard_normal((design.units, simulations))
    low, high = [], []
    step = max(1, 2_000_000 // len(compared))
    for first in range(0, simulations, step):
        below, above = design.ends(y[:, first : first + step], 1.0 - alpha, compared)
        low.append(below)
        high.append(above)
    errors = np.array([design.effect(column) for column in y.T])
    return PermutationPower(below=np.concatenate(low), above=np.concatenate(high), errors=errors)
