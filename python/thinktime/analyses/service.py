"""What the interactions ask of the processor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = ["Concentration", "CurvePoint", "Service", "ServiceClass", "analyse"]


@dataclass(frozen=True, slots=True)
class ServiceClass:
    """Service times of one class (Anderson and Sargent 1974, Table 1)."""

    name: str
    n: int
    share: Estimate
    """Part of all interactions, 0 to 1."""
    service_share: Estimate
    """Part of all service time, 0 to 1."""
    mean: Estimate
    variance: Estimate
    standard_deviation: Estimate
    coefficient_of_variation: Estimate
    """Standard deviation over mean; 1 for an exponential distribution."""
    skewness: Estimate
    p50: Estimate
    p90: Estimate
    p99: Estimate


@dataclass(frozen=True, slots=True)
class Concentration:
    """The upper `upper` of the interactions give `share` of all service time."""

    upper: float
    """Part of the interactions, those with most service, 0 to 1."""
    share: Estimate
    """Part of all service time, 0 to 1."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One point of the concentration curve and of the mean residual life."""

    service_s: float
    """A service time t [s]."""
    fraction: float
    """F(t): part of the interactions with at most t."""
    concentration: float
    """Q(t): part of all service time given by them."""
    residual_s: float | None
    """Mean service still to come for an interaction that has received t [s]; None at the largest."""


@dataclass(frozen=True, slots=True)
class Service:
    """Service-time statistics."""

    overall: ServiceClass
    classes: tuple[ServiceClass, ...]
    """By falling share of service time; empty where there is one class only."""
    concentration: tuple[Concentration, ...]
    curve: tuple[CurvePoint, ...]
    """At most 100 points, equally spaced in F."""
    heavier_than_exponential: bool
    """Whether the interval of the coefficient of variation lies above 1."""
    unfinished: int
    caveats: tuple[str, ...]


def analyse(log: Log, *, level: float = 0.95) -> Service | NotApplicable:
    """Service-time statistics by class."""
    return NotApplicable("this analysis is not built yet")
