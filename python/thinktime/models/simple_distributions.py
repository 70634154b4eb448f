"""Simple distributions, of which all others are mixtures: moments, truncated moments, quadrature."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]

FAR_S = 60.0
"""End of the panels: e^-60 is 1e-26."""
GRADED = np.concatenate(
    [[0.0], np.geomspace(2.0**-50, 1.0, 51), np.arange(1.5, 10.0, 0.5), np.arange(10.0, FAR_S + 1, 5.0)]
)
"""Panels for a density like e^-t, dense near 0, where another scale or a power may matter."""


class Part(ABC):
    """Distribution on the non-negative numbers whose density is smooth between `edges`."""

    @abstractmethod
    def moment(self, k: int) -> float:
        """Moment E[X^k]."""

    @abstractmethod
    def survival(self, x: Array) -> Array:
        """Survival function P(X > x)."""

    @abstractmethod
    def partial_moment(self, k: int, x: Array) -> Array:
        """Partial moment E[X^k; X <= x]."""

    @abstractmethod
    def edges(self) -> Array:
        """Points, growing, between which density and scale change little."""

    @abstractmethod
    def density(self, x: Array) -> Array:
        """Density dF / dt at x, where t is the coordinate."""

    def coordinate(self, x: Array) -> Array:
        """Coordinate t(x), in which the density is smooth."""
        return x

    def value(self, t: Array) -> Array:
        """Inverse x(t) of the coordinate."""
        return t


@dataclass(frozen=True, slots=True)
class Point(Part):
    """Constant."""

    at: float

    def moment(self, k: int) -> float:
        """Moment E[X^k]."""
        return self.at**k

    def survival(self, x: Array) -> Array:
        """Survival function P(X > x)."""
        return np.where(x < self.at, 1.0, 0.0)

    def partial_moment(self, k: int, x: Array) -> Array:
        """Partial moment E[X^k; X <= x]."""
        return np.where(x < self.at, 0.0, self.at**k)

    def edges(self) -> Array:
        """Edges: the value."""
        return np.array([self.at])

    def density(self, x: Array) -> Array:
        """Density, which a point does not have: 0."""
        return np.zeros_like(x)


@dataclass(frozen=True, slots=True)
class Uniform(Part):
    """Uniform distribution between `low` and `high`."""

    low: float
    high: float

    def moment(self, k: int) -> float:
        """Moment E[X^k]."""
        powers = (self.low ** (k - i) * self.high**i for i in range(k + 1))
        return math.fsum(powers) / (k + 1)

    def survival(self, x: Array) -> Array:
        """Survival function P(X > x)."""
        return np.clip((self.high - x) / (self.high - self.low), 0.0, 1.0)

    def partial_moment(self, k: int, x: Array) -> Array:
        """Partial moment E[X^k; X <= x]."""
        upto = np.clip(x, self.low, self.high)
        result: Array = (upto ** (k + 1) - self.low ** (k + 1)) / ((k + 1) * (self.high - self.low))
        return result

    def edges(self) -> Array:
        """Edges: low and high."""
        return np.array([self.low, self.high])

    def density(self, x: Array) -> Array:
        """Density 1 / (high - low)."""
        return np.full_like(x, 1.0 / (self.high - self.low))


@dataclass(frozen=True, slots=True, kw_only=True)
class Weibull(Part):
    """Weibull distribution: P(X > x) = exp(-(x / scale)^shape)."""

    shape: float
    scale: float

    def moment(self, k: int) -> float:
        """Moment E[X^k]."""
        return self.scale**k * math.gamma(1.0 + k / self.shape)

    def survival(self, x: Array) -> Array:
        """Survival function P(X > x)."""
        result: Array = np.exp(-self.coordinate(x))
        return result

    def partial_moment(self, k: int, x: Array) -> Array:
        """Partial moment E[X^k; X <= x]."""
        result: Array = self.moment(k) * special.gammainc(1.0 + k / self.shape, self.coordinate(x))
        return result

    def edges(self) -> Array:
        """Edges: the standard panels of t = (x / scale)^shape."""
        return self.value(GRADED)

    def density(self, x: Array) -> Array:
        """Density e^-t."""
        return self.survival(x)

    def coordinate(self, x: Array) -> Array:
        """Coordinate t = (x / scale)^shape."""
        result: Array = (x / self.scale) ** self.shape
        return result

    def value(self, t: Array) -> Array:
        """Inverse x(t) of the coordinate."""
        result: Array = self.scale * t ** (1.0 / self.shape)
        return result


def Exponential(mean: float) -> Weibull:  # noqa: N802  a distribution's name
    """Exponential distribution: P(X > x) = exp(-x / mean)."""
    return Weibull(shape=1.0, scale=mean)


@dataclass(frozen=True, slots=True, kw_only=True)
class Erlang(Part):
    """Sum of `shape` exponentials of one `scale`; a gamma distribution where `shape` is not whole."""

    shape: float
    scale: float

    def moment(self, k: int) -> float:
        """Moment E[X^k]."""
        return self.scale**k * math.prod(self.shape + i for i in range(k))

    def survival(self, x: Array) -> Array:
        """Survival function P(X > x)."""
        result: Array = special.gammaincc(self.shape, x / self.scale)
        return result

    def partial_moment(self, k: int, x: Array) -> Array:
        """Partial moment E[X^k; X <= x]."""
        result: Array = self.moment(k) * special.gammainc(self.shape + k, x / self.scale)
        return result

    def edges(self) -> Array:
        """Edges: the standard panels, and narrow ones about the mean."""
        spread = math.sqrt(self.shape)
        about = self.shape + spread * np.arange(-12.0, 20.0, 0.5)
        far = self.shape + spread * 20.0 + GRADED
        together = np.concatenate([GRADED, about[about > 0.0], far])
        return self.scale * np.unique(together)

    def density(self, x: Array) -> Array:
        """Density with respect to x."""
        t = x / self.scale
        log = special.xlogy(self.shape - 1.0, t) - t - special.gammaln(self.shape)
        result: Array = np.exp(log) / self.scale
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Lognormal(Part):
    """Lognormal distribution: the logarithm has mean `mu` and standard deviation `sigma`."""

    mu: float
    sigma: float

    def moment(self, k: int) -> float:
        """Moment E[X^k]."""
        return math.exp(k * self.mu + (k * self.sigma) ** 2 / 2.0)

    def survival(self, x: Array) -> Array:
        """Survival function P(X > x)."""
        result: Array = special.ndtr(-self.coordinate(x))
        return result

    def partial_moment(self, k: int, x: Array) -> Array:
        """Partial moment E[X^k; X <= x]."""
        result: Array = self.moment(k) * special.ndtr(self.coordinate(x) - k * self.sigma)
        return result

    def edges(self) -> Array:
        """Edges: panels of at most half a standard deviation, and of at most a factor of two."""
        high = 10.0 + 3.0 * self.sigma
        step = min(0.5, 0.7 / self.sigma)
        return self.value(np.linspace(-10.0, high, math.ceil((high + 10.0) / step) + 1))

    def density(self, x: Array) -> Array:
        """Density of the normal distribution."""
        result: Array = np.exp(-(self.coordinate(x) ** 2) / 2.0) / math.sqrt(2.0 * math.pi)
        return result

    def coordinate(self, x: Array) -> Array:
        """Coordinate: standard deviations of the logarithm from its mean."""
        with np.errstate(divide="ignore"):
            result: Array = (np.log(x) - self.mu) / self.sigma
        return result

    def value(self, t: Array) -> Array:
        """Inverse x(t) of the coordinate."""
        result: Array = np.exp(self.mu + self.sigma * t)
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedPareto(Part):
    """Bounded Pareto distribution: P(X > x) falls as x^-shape from `low` to `high`."""

    shape: float
    low: float
    high: float

    def moment(self, k: int) -> float:
        """Moment E[X^k]."""
        return float(self.partial_moment(k, np.array([self.high]))[0])

    @property
    def _factor(self) -> float:
        """Factor shape / (1 - (low / high)^shape)."""
        return -self.shape / math.expm1(-self.shape * math.log(self.high / self.low))

    def survival(self, x: Array) -> Array:
        """Survival function P(X > x)."""
        inside = np.clip(x, self.low, self.high)
        # (x^-a - h^-a) / (l^-a - h^-a), without cancellation or overflow at either end.
        above = np.expm1(-self.shape * np.log(self.high / inside))
        result: Array = (inside / self.low) ** -self.shape * above * (self._factor / -self.shape)
        return result

    def partial_moment(self, k: int, x: Array) -> Array:
        """Partial moment E[X^k; X <= x]."""
        rise = np.log(np.clip(x, self.low, self.high) / self.low)
        power = k - self.shape
        integral = rise if power == 0.0 else np.expm1(power * rise) / power
        result: Array = self._factor * self.low**k * integral
        return result

    def edges(self) -> Array:
        """Edges: panels of at most a factor of two, narrow at the low end for a large shape."""
        most = math.log(self.high / self.low)
        far = np.linspace(0.0, most, math.ceil(most / math.log(2.0)) + 1)
        close = GRADED / self.shape
        return self.value(math.log(self.low) + np.union1d(far, close[close < most]))

    def density(self, x: Array) -> Array:
        """Density with respect to log x."""
        result: Array = self._factor * (x / self.low) ** -self.shape
        return result

    def coordinate(self, x: Array) -> Array:
        """Coordinate log x."""
        result: Array = np.log(x)
        return result

    def value(self, t: Array) -> Array:
        """Inverse x(t) of the coordinate."""
        result: Array = np.exp(t)
        return result
