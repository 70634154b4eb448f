"""Power transformations of a response, and their choice by likelihood (Box and Cox 1964)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from thinktime.errors import InputError
from thinktime.stats import arguments, critical_values
from thinktime.stats.designs import linear_anova
from thinktime.stats.designs.factorial import Responses
from thinktime.stats.estimate import Estimate, NotApplicable

Array = NDArray[np.float64]

POWERS = {1.0: "none", 0.5: "sqrt", 0.0: "log10", -0.5: "reciprocal_sqrt", -1.0: "reciprocal"}
"""Powers that are easy to interpret, and their names."""
FORM = re.compile(r"(?P<name>\w+)(?:\(y(?: *\+ *(?P<shift>\d+(?:\.\d*)?))?\))?")
LAMBDA_MAX = 4.0
STEP = 0.05


@dataclass(frozen=True, slots=True)
class Transformation:
    r"""A power of a shifted response, :math:`(y + s)^\lambda`, or its logarithm to base ten for 0."""

    power: float
    shift: float = 0.0
    """In the response's unit; log10(R + 0.5 s) is that of Anderson and Sargent (1974, Table 3)."""

    @classmethod
    def parse(cls, text: str) -> Transformation:
        """Transformation named by ``log10``, ``sqrt(y)``, ``log10(y + 0.5)``, ``none``; see `POWERS`.

        Raises
        ------
        InputError
            The text is none of these.
        TypeError
            `text` is no text.
        """
        powers = {name: power for power, name in POWERS.items()}
        match = FORM.fullmatch(arguments.record(text, str, "text").strip())
        if match is None or match["name"] not in powers:
            raise InputError(
                f"no transformation is called {text!r}; there are {', '.join(powers)}, with a shift as in "
                "'log10(y + 0.5)'"
            )
        return cls(powers[match["name"]], float(match["shift"] or 0.0))

    @property
    def name(self) -> str:
        """Formula: ``log10(y + 0.5)``."""
        inner = f"y + {self.shift:g}" if self.shift else "y"
        if self.power == 1.0:
            return inner
        if self.power in POWERS and self.power >= 0.0:
            return f"{POWERS[self.power]}({inner})"
        return f"({inner})^{self.power:.2g}" if self.shift else f"y^{self.power:.2g}"

    def apply(self, y: Array) -> Array:
        """Transformed values; a negative power changes the sign too, so that order is kept.

        Raises
        ------
        InputError
            A value is not positive after the shift, and the transformation needs positive ones.
        TypeError
            `y` are not numbers.
        """
        y = arguments.numeric(y, "y")
        shifted = y + self.shift
        if self.power == 1.0:
            return shifted
        if not (shifted > 0.0).all():
            raise InputError(f"{self.name} needs positive values, and the least is {float(y.min()):g}")
        result: Array = (
            np.log10(shifted) if self.power == 0.0 else math.copysign(1.0, self.power) * shifted**self.power
        )
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxCox:
    """Power that makes the errors most nearly normal with one variance."""

    power: Estimate
    """Lambda with its likelihood interval; an open end lies beyond the powers that were tried."""
    offered: Transformation
    """Power 1 (none) if the interval includes 1; else the simplest power in the interval, or lambda."""


def box_cox(
    responses: Responses,
    *,
    order: int | None = None,
    blocks_out: bool = True,
    shift: float = 0.0,
    level: float = 0.95,
) -> BoxCox | NotApplicable:
    r"""Maximum-likelihood power for the errors of a model (Box and Cox 1964, JRSS B 26, 211).

    .. math:: \ell(\lambda) = -\frac{\nu}{2} \ln SS_E\!\left(\frac{y^\lambda - 1}
              {\lambda\, \dot y^{\lambda - 1}}\right), \qquad
              \{\lambda : \ell(\lambda) \ge \ell(\hat\lambda) - \chi^2_1 / 2\}

    with :math:`\dot y` the geometric mean and :math:`\nu` the error's degrees of freedom in place of n
    (their equation 18), without which the interval of a design of many cells is too short. Not applicable
    where a response is not positive after the shift, there is no error, or a cell does not vary.

    Parameters
    ----------
    responses : Responses
    order : int, optional
        Largest number of factors of an interaction in the model; all by default.
    blocks_out : bool
        Include blocks in the model.
    shift : float
        Number added to the responses first.
    level : float
        Confidence of the interval.

    Raises
    ------
    InputError
        A number is out of range.
    TypeError
        An argument is of the wrong kind.
    """
    arguments.record(responses, Responses, "responses")
    shift, level = arguments.number(shift, "shift"), arguments.level(level)
    if order is not None:
        order = arguments.whole(order, "order", least=1)
    y = responses.y + shift
    if not (y > 0.0).all():
        least = float(responses.y.min())
        return NotApplicable(
            f"the least response is {least:g}, and powers need positive ones",
            f"give a shift of more than {max(-least, 0.0):g}",
        )
    errors = linear_anova.errors(responses, order, blocks_out=blocks_out)
    if errors.degrees < 1:
        return NotApplicable("there are no degrees of freedom for the error", "replicate the cells")
    likelihood = _likelihood(errors, y)
    grid = np.arange(-LAMBDA_MAX, LAMBDA_MAX + STEP / 2, STEP)
    values = np.array([likelihood(float(power)) for power in grid])
    if not np.isfinite(values).all():
        return NotApplicable("the responses of a cell do not vary", "replicate the cells")
    best = _highest(likelihood, grid, values)
    bound = likelihood(best) - float(special.chdtri(1.0, 1.0 - level)) / 2.0
    low = _crossing(likelihood, bound, best, grid[grid < best][::-1])
    high = _crossing(likelihood, bound, best, grid[grid > best])
    estimate = Estimate(
        value=best,
        unit="",
        n=responses.n,
        method="Box-Cox, likelihood interval",
        low=low,
        high=high,
        level=level,
    )
    return BoxCox(power=estimate, offered=Transformation(_offered(estimate), shift))


def _likelihood(errors: linear_anova.Errors, y: Array) -> Callable[[float], float]:
    """Profile likelihood as a function of the power."""
    log = np.log(y)
    logs = log - log.mean()

    def value(power: float) -> float:
        # In units of the geometric mean, so that no power can overflow.
        rest = errors.of(logs if abs(power) < 1e-9 else np.expm1(power * logs) / power)
        squares = float(rest @ rest)
        return -errors.degrees / 2.0 * math.log(squares) if squares > 0.0 else math.inf

    return value


def _highest(likelihood: Callable[[float], float], grid: Array, values: Array) -> float:
    """Power of the maximum about the best point of the grid."""
    from scipy import optimize

    best = int(values.argmax())
    bounds = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, len(grid) - 1)])
    result = optimize.minimize_scalar(
        lambda power: -likelihood(power), bounds=bounds, method="bounded", options={"xatol": 1e-12}
    )
    return float(result.x)


def _crossing(
    likelihood: Callable[[float], float], bound: float, best: float, outward: Array
) -> float | None:
    """Power between `best` and the first of `outward` below the bound; None if none is."""
    inside = best
    for outside in map(float, outward):
        if likelihood(outside) < bound:
            return critical_values.root(lambda power: likelihood(power) - bound, inside, outside)
        inside = outside
    return None


def _offered(power: Estimate) -> float:
    """Power 1 if the interval includes it; else the simple power in it nearest to lambda."""
    low = -math.inf if power.low is None else power.low
    high = math.inf if power.high is None else power.high
    if low <= 1.0 <= high:
        return 1.0
    simple = [candidate for candidate in (*POWERS, 2.0) if low <= candidate <= high]
    return min(simple, key=lambda candidate: abs(candidate - power.value)) if simple else power.value
