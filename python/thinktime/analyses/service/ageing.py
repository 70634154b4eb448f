"""What the service received so far says about the service still to come."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from thinktime.stats.distributions import lifetime_tests
from thinktime.stats.distributions.lifetime_tests import exponentiality
from thinktime.stats.distributions.residual_life import N_ABOVE, residual_life
from thinktime.stats.estimate import Estimate
from thinktime.stats.hypothesis import SignificanceTest, adjusted

__all__ = ["Ageing", "Direction", "ResidualPoint", "Rule", "analyse"]

Array = NDArray[np.float64]
Direction = Literal["increasing", "decreasing", "not monotone", "undecided"]
Rule = Literal["least attained service", "first come, first served", "undecided"]


@dataclass(frozen=True, slots=True)
class ResidualPoint:
    """Mean residual life at one service received."""

    service_s: float
    """Service received t [s]."""
    above: float
    """Part of the interactions that receive more than t."""
    residual: Estimate
    """Mean service still to come [s], with its interval at this point alone."""
    low_all: float
    high_all: float
    """Ends of the band that holds the whole curve."""


@dataclass(frozen=True, slots=True)
class Ageing:
    """Service times of one class against the exponential distribution, which does not age."""

    name: str
    n: int
    exponential: SignificanceTest
    hazard: SignificanceTest
    """Constant against monotone hazard rate."""
    residual: SignificanceTest
    """Constant against monotone mean residual life."""
    expectation: SignificanceTest
    """Whether what has been served needs as much again as what is new."""
    rises: bool
    falls: bool
    """Whether the simultaneous band shows that the mean residual life rises or falls somewhere."""
    curve: tuple[ResidualPoint, ...]

    @property
    def direction(self) -> Direction:
        """Of the mean residual life: its test rejects, and the simultaneous band shows nothing against it."""
        if self.rises and self.falls:
            return "not monotone"
        if not self.residual.rejected():
            return "undecided"
        if self.residual.direction > 0:
            return "not monotone" if self.falls else "increasing"
        return "not monotone" if self.rises else "decreasing"

    @property
    def rule(self) -> Rule:
        """What it says about scheduling without knowledge of service times, for a short mean response.

        Serving first those that have received least (foreground-background) is optimal if and only if the
        hazard rate falls, first come, first served if and only if what is new needs more than what has
        been served throughout (Aalto, Ayesta and Righter 2009, Queueing Systems 63, 437). An increasing
        mean residual life, the argument of Anderson and Sargent (1974), speaks for the former and is not
        enough to make it optimal (Aalto and Ayesta 2006, Journal of Applied Probability 43, 523).
        """
        if self.direction == "increasing":
            return "least attained service"
        newcomers_need_more = self.expectation.rejected() and self.expectation.direction < 0
        if self.direction == "decreasing" or (newcomers_need_more and not self.rises):
            return "first come, first served"
        return "undecided"

    @property
    def hazard_falls(self) -> bool:
        """Whether a falling hazard rate is shown."""
        return self.hazard.rejected() and self.hazard.direction < 0


def analyse(samples: Mapping[str, Array], level: float = 0.95) -> tuple[Ageing, ...]:
    """Test and draw the mean residual life of each of `samples`; those of fewer than 20 values are left out.

    Four tests a sample, each at a false-alarm rate of 5 % over all samples together (Holm): whether it is
    exponential (Anderson and Darling), and whether hazard rate (Klefsjö's A2), mean residual life
    (Hollander and Proschan's V*) and the mean life of used and new (K*) are constant.
    """
    usable = {name: values for name, values in samples.items() if _usable(values)}
    found = [_one(name, values, level) for name, values in usable.items()]
    return tuple(
        dataclasses.replace(item, exponential=exponential, hazard=hazard, residual=residual, expectation=used)
        for item, exponential, hazard, residual, used in zip(
            found,
            adjusted([item.exponential for item in found]),
            adjusted([item.hazard for item in found]),
            adjusted([item.residual for item in found]),
            adjusted([item.expectation for item in found]),
            strict=True,
        )
    )


def _usable(values: Array) -> bool:
    # A class that always asks for the same has no residual life worth a band.
    return len(values) >= N_ABOVE and float(np.ptp(values)) > 0.0


def _one(name: str, values: Array, level: float) -> Ageing:
    life = residual_life(values, level)
    curve = tuple(
        ResidualPoint(
            float(life.at[k]),
            float(life.above[k]) / life.n,
            Estimate(
                value=float(life.mean[k]),
                unit="s",
                n=int(life.above[k]),
                method="mean of what is beyond, delta method on its logarithm",
                low=float(life.low[k]),
                high=float(life.high[k]),
                level=level,
            ),
            float(life.low_all[k]),
            float(life.high_all[k]),
        )
        for k in range(len(life.at))
    )
    return Ageing(
        name,
        len(values),
        exponentiality(values, "service times"),
        lifetime_tests.hazard_rate(values),
        lifetime_tests.mean_residual_life(values),
        lifetime_tests.used_in_expectation(values),
        life.rises,
        life.falls,
        curve,
    )
