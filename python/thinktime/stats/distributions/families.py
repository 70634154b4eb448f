"""Families of distributions of times: likelihood, distribution function, and maximum-likelihood fit.

A simulation takes a distribution as a specification, a dict with ``kind`` and its parameters in
seconds: ``{"kind": "exponential", "mean": 20.0}``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinktime.errors import InputError

Array = NDArray[np.float64]
Spec = dict[str, Any]
"""Specification of a distribution: ``kind``, and its parameters in seconds."""

EM_STEPS = 3000
"""Largest number of steps of the EM algorithm."""
EM_STEPS_WARM = 200
"""Steps from a start near the maximum, as in a bootstrap."""
EM_TOLERANCE = 1e-10
"""Growth of the mean log-likelihood in a step below which the iteration ends."""
CELLS = 400
"""Cells into which a large sample is divided for the EM algorithm, each represented by its mean."""


@dataclass(frozen=True, slots=True)
class Exponential:
    """:math:`F(x) = 1 - e^{-x/m}`."""

    mean: float

    @property
    def spec(self) -> Spec:
        """Specification as a simulation takes it."""
        return {"kind": "exponential", "mean": self.mean}

    @property
    def parameters(self) -> dict[str, float]:
        """Estimated values by name."""
        return {"mean": self.mean}

    def log_density(self, x: Array) -> Array:
        """Logarithm of the density."""
        return -x / self.mean - math.log(self.mean)

    def cumulative(self, x: Array) -> Array:
        """Distribution function."""
        result: Array = -np.expm1(-x / self.mean)
        return result

    def draw(self, n: int, random: np.random.Generator) -> Array:
        """Sample of `n` values."""
        return random.exponential(self.mean, n)

    def moments(self) -> tuple[float, float]:
        """Mean and variance."""
        return self.mean, self.mean**2


@dataclass(frozen=True, slots=True, kw_only=True)
class Hyperexponential:
    """Mixture of exponentials, means growing."""

    weights: tuple[float, ...]
    means: tuple[float, ...]

    @property
    def spec(self) -> Spec:
        """Specification as a simulation takes it."""
        return {"kind": "hyperexponential", "weights": list(self.weights), "means": list(self.means)}

    @property
    def parameters(self) -> dict[str, float]:
        """Estimated values by name."""
        weights = {f"weight {number}": value for number, value in enumerate(self.weights, 1)}
        return weights | {f"mean {number}": value for number, value in enumerate(self.means, 1)}

    def _terms(self, x: Array) -> Array:
        means = np.array(self.means)
        terms: Array = np.log(np.array(self.weights) / means) - x[:, None] / means
        return terms

    def log_density(self, x: Array) -> Array:
        """Logarithm of the density."""
        return _log_sum(self._terms(x))

    def cumulative(self, x: Array) -> Array:
        """Distribution function."""
        result: Array = -np.expm1(-x[:, None] / np.array(self.means)) @ np.array(self.weights)
        return result

    def draw(self, n: int, random: np.random.Generator) -> Array:
        """Sample of `n` values."""
        phase = random.choice(len(self.means), size=n, p=np.array(self.weights) / sum(self.weights))
        result: Array = random.standard_exponential(n) * np.array(self.means)[phase]
        return result

    def moments(self) -> tuple[float, float]:
        """Mean and variance."""
        mean = math.fsum(w * m for w, m in zip(self.weights, self.means, strict=True))
        second = math.fsum(2 * w * m * m for w, m in zip(self.weights, self.means, strict=True))
        return mean, second - mean**2


@dataclass(frozen=True, slots=True, kw_only=True)
class Weibull:
    r""":math:`F(x) = 1 - e^{-(x/l)^k}`."""

    shape: float
    scale: float

    @property
    def spec(self) -> Spec:
        """Specification as a simulation takes it."""
        return {"kind": "weibull", "shape": self.shape, "scale": self.scale}

    @property
    def parameters(self) -> dict[str, float]:
        """Estimated values by name."""
        return {"shape": self.shape, "scale": self.scale}

    def log_density(self, x: Array) -> Array:
        """Logarithm of the density."""
        from scipy import stats

        result: Array = stats.weibull_min.logpdf(x, self.shape, scale=self.scale)
        return result

    def cumulative(self, x: Array) -> Array:
        """Distribution function."""
        from scipy import stats

        result: Array = stats.weibull_min.cdf(x, self.shape, scale=self.scale)
        return result

    def draw(self, n: int, random: np.random.Generator) -> Array:
        """Sample of `n` values."""
        return self.scale * random.weibull(self.shape, n)

    def moments(self) -> tuple[float, float]:
        """Mean and variance."""
        mean = self.scale * _gamma(1 + 1 / self.shape)
        return mean, self.scale**2 * _gamma(1 + 2 / self.shape) - mean**2


@dataclass(frozen=True, slots=True, kw_only=True)
class Lognormal:
    """The logarithm is normal with mean `mu` and standard deviation `sigma`."""

    mu: float
    sigma: float

    @property
    def spec(self) -> Spec:
        """Specification as a simulation takes it."""
        mean, variance = self.moments()
        return {"kind": "lognormal", "mean": mean, "sd": math.sqrt(variance)}

    @property
    def parameters(self) -> dict[str, float]:
        """Estimated values by name."""
        return {"mean of logarithm": self.mu, "sd of logarithm": self.sigma}

    def log_density(self, x: Array) -> Array:
        """Logarithm of the density."""
        from scipy import stats

        result: Array = stats.lognorm.logpdf(x, self.sigma, scale=math.exp(self.mu))
        return result

    def cumulative(self, x: Array) -> Array:
        """Distribution function."""
        from scipy import special

        result: Array = special.ndtr((np.log(x) - self.mu) / self.sigma)
        return result

    def draw(self, n: int, random: np.random.Generator) -> Array:
        """Sample of `n` values."""
        return random.lognormal(self.mu, self.sigma, n)

    def moments(self) -> tuple[float, float]:
        """Mean and variance."""
        spread = min(self.sigma**2, 300.0)
        mean = math.exp(min(self.mu + spread / 2, 300.0))
        return mean, mean**2 * math.expm1(spread)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedPareto:
    r""":math:`F(x) = (1 - (L/x)^a) / (1 - (L/H)^a)` from L to H."""

    shape: float
    low: float
    high: float

    @property
    def spec(self) -> Spec:
        """Specification as a simulation takes it."""
        return {"kind": "bounded_pareto", "shape": self.shape, "low": self.low, "high": self.high}

    @property
    def parameters(self) -> dict[str, float]:
        """Estimated values by name."""
        return {"shape": self.shape, "low": self.low, "high": self.high}

    def _mass(self) -> float:
        return -math.expm1(self.shape * math.log(self.low / self.high))

    def log_density(self, x: Array) -> Array:
        """Logarithm of the density."""
        start = math.log(self.shape / self._mass()) + self.shape * math.log(self.low)
        result: Array = start - (self.shape + 1) * np.log(x)
        return result

    def cumulative(self, x: Array) -> Array:
        """Distribution function."""
        inside = np.clip(x, self.low, self.high)
        result: Array = -np.expm1(self.shape * np.log(self.low / inside)) / self._mass()
        return result

    def draw(self, n: int, random: np.random.Generator) -> Array:
        """Sample of `n` values."""
        result: Array = self.low * (1 - random.random(n) * self._mass()) ** (-1 / self.shape)
        return np.minimum(result, self.high)

    def moments(self) -> tuple[float, float]:
        """Mean and variance."""
        mean = self._moment(1)
        return mean, self._moment(2) - mean**2

    def _moment(self, power: int) -> float:
        exponent = power - self.shape
        start = self.shape * self.low**power / self._mass()
        ratio = math.log(self.high / self.low)
        return start * (ratio if abs(exponent) < 1e-9 else math.expm1(exponent * ratio) / exponent)


Family = Exponential | Hyperexponential | Weibull | Lognormal | BoundedPareto


def exponential(x: Array) -> Exponential:
    """Maximum-likelihood fit: the mean."""
    return Exponential(float(x.mean()))


def weibull(x: Array) -> Weibull:
    r"""Maximum-likelihood fit: the shape solves :math:`\sum x^k \ln x / \sum x^k - 1/k = \overline{\ln x}`.

    Raises
    ------
    InputError
        A value is not positive, or all are equal.
    """
    logs = _logs(x)
    centre, top = float(logs.mean()), float(logs.max())

    def slope(shape: float) -> float:
        weights = np.exp(shape * (logs - top))
        return float(weights @ logs / weights.sum()) - 1 / shape - centre

    shape = _root(slope, 1e-3, 1e4)
    scale = math.exp(top) * float(np.exp(shape * (logs - top)).mean()) ** (1 / shape)
    return Weibull(shape=shape, scale=scale)


def lognormal(x: Array) -> Lognormal:
    """Maximum-likelihood fit: mean and standard deviation (divisor n) of the logarithms.

    Raises
    ------
    InputError
        A value is not positive, or all are equal.
    """
    logs = _logs(x)
    return Lognormal(mu=float(logs.mean()), sigma=float(logs.std()))


def bounded_pareto(x: Array) -> BoundedPareto:
    r"""Maximum-likelihood fit: the bounds are the least and the greatest value; one equation for the shape.

    .. math:: \frac1a + \frac{r^a \ln r}{1 - r^a} = \overline{\ln (x / L)}, \qquad r = L / H

    (Aban, Meerschaert and Panorska 2006, JASA 101, 270).

    Raises
    ------
    InputError
        A value is not positive, all are equal, or the logarithms lean to the upper bound.
    """
    logs = _logs(x)
    low, high = float(x.min()), float(x.max())
    ratio = math.log(high / low)
    centre = float(logs.mean()) - math.log(low)
    if centre >= ratio / 2:
        raise InputError("the values lean to their upper bound, which no bounded Pareto distribution does")

    def slope(shape: float) -> float:
        return centre - 1 / shape + ratio / math.expm1(min(shape * ratio, 700.0))

    return BoundedPareto(shape=_root(slope, 1e-6, 1e4), low=low, high=high)


def hyperexponential(x: Array, phases: int, start: Hyperexponential | None = None) -> Hyperexponential:
    r"""Maximum-likelihood fit by the EM algorithm, means growing.

    .. math:: \pi_{ij} \propto \frac{w_j}{m_j} e^{-x_i / m_j}, \qquad
              w_j = \overline{\pi_{ij}}, \qquad m_j = \sum_i \pi_{ij} x_i / \sum_i \pi_{ij}

    (Dempster, Laird and Rubin 1977; Asmussen, Nerman and Olsson 1996 for phase types), from means spread
    evenly in the logarithm between the sample's quantiles. Every step keeps the mean of the sample. More
    than 400 values enter as 400 cells of neighbouring values at their means.

    Parameters
    ----------
    x : array
        Values, not negative.
    phases : int
        Exponentials in the mixture.
    start : Hyperexponential, optional
        Start of the iteration.
    """
    points, sizes = _cells(x)
    floor = max(float(points[points > 0].min()) * 1e-2, 1e-300)
    if start is None:
        ends = np.quantile(x[x > 0], [0.2, 0.99])
        means = np.geomspace(max(ends[0], floor), max(ends[1], ends[0] * 1.5), phases)
        weights = np.full(phases, 1.0 / phases)
    else:
        means, weights = np.array(start.means), np.array(start.weights)
    total, before = float(sizes.sum()), -math.inf
    for _ in range(EM_STEPS if start is None else EM_STEPS_WARM):
        terms = np.log(weights / means) - points[:, None] / means
        logs = _log_sum(terms)
        likelihood = float(sizes @ logs)
        if likelihood - before < EM_TOLERANCE * total:
            break
        before = likelihood
        shares = np.exp(terms - logs[:, None]) * sizes[:, None]
        sums = np.maximum(shares.sum(axis=0), 1e-12 * total)
        weights = sums / sums.sum()
        means = np.maximum(points @ shares / sums, floor)
    order = np.argsort(means)
    return Hyperexponential(weights=tuple(weights[order].tolist()), means=tuple(means[order].tolist()))


def _cells(x: Array) -> tuple[Array, Array]:
    """Means and sizes of cells of neighbouring values, finer in the tail, where single values matter."""
    ordered = np.sort(x)
    n = len(ordered)
    if n <= CELLS:
        return ordered, np.ones(n)
    bulk = np.linspace(0, n, CELLS // 2 + 1)
    tail = n - np.geomspace(n, 1, CELLS // 2)
    edges = np.unique(np.concatenate([bulk, tail, [n]]).round().astype(np.int64))
    sizes = np.diff(edges).astype(np.float64)
    return np.add.reduceat(ordered, edges[:-1]) / sizes, sizes


def _log_sum(terms: Array) -> Array:
    top = terms.max(axis=1)
    result: Array = top + np.log(np.exp(terms - top[:, None]).sum(axis=1))
    return result


def _logs(x: Array) -> Array:
    if x.min() <= 0.0:
        zeros = int(np.count_nonzero(x <= 0))
        raise InputError(f"{zeros} of {len(x)} values are not positive; this distribution is positive")
    if x.min() == x.max():
        raise InputError("all values are equal")
    result: Array = np.log(x)
    return result


def _root(slope: Callable[[float], float], low: float, high: float) -> float:
    from scipy import optimize

    if not slope(low) < 0.0 < slope(high):
        raise InputError("the likelihood has no maximum for a shape within reason")
    return float(optimize.brentq(slope, low, high, xtol=1e-12, rtol=1e-10))


def _gamma(x: float) -> float:
    return math.gamma(x) if x < 170 else math.inf
