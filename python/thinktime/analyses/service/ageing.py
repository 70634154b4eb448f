"""Residual life: the service still to come, given the service received so far."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from thinktime.stats.distributions import lifetime_tests
from thinktime.stats.distributions.lifetime_tests import exponentiality
from thinktime.stats.distributions.residual_life import N_ABOVE, ResidualLife, residual_life
from thinktime.stats.estimate import Estimate
from thinktime.stats.hypothesis import SignificanceTest, adjusted

Array = NDArray[np.float64]
Direction = Literal["increasing", "decreasing", "not monotone", "undecided"]
Rule = Literal["least attained service", "first come, first served", "undecided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidualPoint:
    """Mean residual life at one service received."""

    service_s: float
    """Service received t [s]."""
    above: float
    """Fraction of the interactions that receive more than t."""
    residual: Estimate
    """Mean service still to come [s], with its interval at this point alone."""
    low_all: float | None
    high_all: float | None
    """Ends of the band that covers the whole curve; None where all that receive more receive as much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ageing:
    """Tests of one class against the exponential distribution, which does not age."""

    name: str
    n: int
    exponential: SignificanceTest
    hazard: SignificanceTest
    """Constant against monotone hazard rate."""
    residual: SignificanceTest
    """Constant against monotone mean residual life."""
    expectation: SignificanceTest
    """Test of equal means of new and used lives."""
    rises: bool
    falls: bool
    """True if the simultaneous band shows that the mean residual life rises or falls somewhere."""
    curve: tuple[ResidualPoint, ...]

    @property
    def direction(self) -> Direction:
        """Direction of the mean residual life: its test rejects, and no part of the band contradicts it."""
        if self.rises and self.falls:
            return "not monotone"
        if not self.residual.rejected():
            return "undecided"
        if self.residual.direction > 0:
            return "not monotone" if self.falls else "increasing"
        return "not monotone" if self.rises else "decreasing"

    @property
    def rule(self) -> Rule:
        """Scheduling rule for a short mean response without knowledge of service times.

        Serving those first that have received least (foreground-background) is optimal if and only if the
        hazard rate falls, first come, first served if and only if new jobs need more than
        used ones throughout (Aalto, Ayesta and Righter 2009, Queueing Systems 63, 437). An increasing
        mean residual life, the argument of Anderson and Sargent (1974), speaks for the former and is not
        enough to make it optimal (Aalto and Ayesta 2006, Journal of Applied Probability 43, 523).
        """
        if self.direction == "increasing":
            return "least attained service"
        new_needs_more = self.expectation.rejected() and self.expectation.direction < 0
        if self.direction == "decreasing" or (new_needs_more and not self.rises):
            return "first come, first served"
        return "undecided"

    @property
    def hazard_falls(self) -> bool:
        """True if a falling hazard rate is shown."""
        return self.hazard.rejected() and self.hazard.direction < 0


def analyse(samples: Mapping[str, Array], level: float = 0.95) -> tuple[Ageing, ...]:
    """Mean residual life and its tests for each of `samples` with at least 20 values.

    Four tests for each sample, each at a false-alarm rate of 5 % over all samples together (Holm): whether
    it is exponential (Anderson and Darling), and whether hazard rate (Klefsjö's A2), mean residual life
    (Hollander and Proschan's V*) and the mean life of used and new (K*) are constant.
    """
    usable = {name: values for name, values in samples.items() if _usable(values)}
    untested = [_one(name, values, level) for name, values in usable.items()]
    return tuple(
        dataclasses.replace(item, exponential=exponential, hazard=hazard, residual=residual, expectation=used)
        for item, exponential, hazard, residual, used in zip(
            untested,
            adjusted([item.exponential for item in untested]),
            adjusted([item.hazard for item in untested]),
            adjusted([item.residual for item in untested]),
            adjusted([item.expectation for item in untested]),
            strict=True,
        )
    )


def _usable(values: Array) -> bool:
    # A class with one service time only has no residual life worth a band, and zeros have no remaining time.
    return int(np.count_nonzero(values > 0.0)) >= N_ABOVE and float(np.ptp(values)) > 0.0


def _one(name: str, values: Array, level: float) -> Ageing:
    life = residual_life(values, level)
    curve = tuple(_point(life, k) for k in range(len(life.points)))
    return Ageing(
        name=name,
        n=len(values),
        exponential=exponentiality(values, "service times"),
        hazard=lifetime_tests.hazard_rate(values),
        residual=lifetime_tests.mean_residual_life(values),
        expectation=lifetime_tests.used_in_expectation(values),
        rises=life.rises,
        falls=life.falls,
        curve=curve,
    )


def _point(life: ResidualLife, k: int) -> ResidualPoint:
    low_all, high_all = (
        None if math.isnan(end) else float(end) for end in (life.low_all[k], life.high_all[k])
    )
    return ResidualPoint(
        service_s=float(life.points[k]),
        above=float(life.above[k]) / life.n,
        residual=life.estimate(k).with_unit("s"),
        low_all=low_all,
        high_all=high_all,
    )
