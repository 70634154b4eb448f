"""Distributions of times: moments, truncated moments and expectations, from a specification.

A specification is a table with `kind` and its parameters in seconds, ``{"kind": "exponential", "mean": 20}``,
the short form of one, ``exponential(mean=20)``, or a number, which is deterministic.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from thinktime.errors import InputError
from thinktime.stats import arguments

Array = NDArray[np.float64]
Complex = NDArray[np.complexfloating[Any, Any]]
Specification = Mapping[str, Any] | str | float

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

    location: float

    def moment(self, k: int) -> float:
        """Moment E[X^k]."""
        return self.location**k

    def survival(self, x: Array) -> Array:
        """Survival function P(X > x)."""
        return np.where(x < self.location, 1.0, 0.0)

    def partial_moment(self, k: int, x: Array) -> Array:
        """Partial moment E[X^k; X <= x]."""
        return np.where(x < self.location, 0.0, self.location**k)

    def edges(self) -> Array:
        """Edges: the value."""
        return np.array([self.location])

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


Weighted = list[tuple[float, Part]]


@dataclass(frozen=True)
class Distribution:
    """Mixture of simple distributions on the non-negative numbers."""

    weights: tuple[float, ...]
    """Probability of each part; their sum is 1."""
    parts: tuple[Part, ...]
    """The simple distributions."""

    def moment(self, k: int) -> float:
        """Moment E[X^k] [s^k]."""
        return math.fsum(weight * part.moment(k) for weight, part in self._weighted())

    @property
    def mean(self) -> float:
        """Mean [s]."""
        return self.moment(1)

    @property
    def variance(self) -> float:
        """Variance [s^2]."""
        mean = self.mean
        return max(0.0, self.moment(2) - mean**2)

    @property
    def variation(self) -> float:
        """Coefficient of variation: standard deviation over mean."""
        return math.sqrt(self.variance) / self.mean if self.mean else 0.0

    @property
    def skewness(self) -> float:
        """Third central moment over the cube of the standard deviation; 0 when there is no spread."""
        mean, second, third = (self.moment(k) for k in (1, 2, 3))
        spread = self.variance
        return (third - 3 * mean * second + 2 * mean**3) / spread**1.5 if spread > 1e-14 * second else 0.0

    @property
    def exponential(self) -> bool:
        """True if this is an exponential distribution."""
        shapes = {(part.shape, part.scale) if isinstance(part, Weibull) else None for part in self.parts}
        return len(shapes) == 1 and None not in shapes and all(shape[0] == 1.0 for shape in shapes if shape)

    def cumulative(self, x: ArrayLike) -> Array:
        """Distribution function P(X <= x)."""
        return self.partial_moment(0, x)

    def survival(self, x: ArrayLike) -> Array:
        """Survival function P(X > x), without loss of accuracy in the tail."""
        x = np.asarray(x, dtype=np.float64)
        return np.asarray(sum(weight * part.survival(x) for weight, part in self._weighted()))

    def below(self, x: ArrayLike) -> Array:
        """Probability P(X < x)."""
        return self.cumulative(np.nextafter(np.asarray(x, dtype=np.float64), -np.inf))

    def partial_moment(self, k: int, x: ArrayLike) -> Array:
        """Partial moment E[X^k; X <= x]: the contribution of values up to x."""
        x = np.asarray(x, dtype=np.float64)
        return np.asarray(sum(weight * part.partial_moment(k, x) for weight, part in self._weighted()))

    def limited_moment(self, k: int, x: ArrayLike) -> Array:
        """Limited moment E[min(X, x)^k]."""
        x = np.asarray(x, dtype=np.float64)
        return self.partial_moment(k, x) + x**k * self.survival(x)

    @cached_property
    def edges(self) -> Array:
        """Zero, and the points between which every part is smooth."""
        return np.unique(np.concatenate([[0.0], *(part.edges() for part in self.parts)]))

    def expectation(self, function: Callable[[Array], Array]) -> float:
        """Expectation E[f(X)], for a function that is smooth where the distribution is."""
        total = 0.0
        for weight, part in self._weighted():
            if isinstance(part, Point):
                total += weight * float(function(np.array([part.location]))[0])
                continue
            edges = part.edges()
            shared = self.edges[(self.edges > edges[0]) & (self.edges < edges[-1])]
            nodes, weights = panels(part.coordinate(np.union1d(edges, shared)))
            x = part.value(nodes)
            total += weight * float(function(x) @ (weights * part.density(x)))
        return total

    def transform(self, s: Complex) -> Complex:
        """Laplace-Stieltjes transform E[exp(-s X)], for s with a positive real part."""
        total = np.zeros_like(s)
        for weight, part in self._weighted():
            total = total + weight * _transform(part, s)
        return total

    def integral(self, function: Callable[[Array], Array], x: ArrayLike) -> Array:
        """Integral of a function from 0 to each of x; the function is smooth where the distribution is."""
        return cumulative_integral(function, self.edges, np.asarray(x, dtype=np.float64))

    def _weighted(self) -> zip[tuple[float, Part]]:
        return zip(self.weights, self.parts, strict=True)


def _transform(part: Part, s: Complex) -> Complex:
    """Transform of a part: in closed form where there is one, else by quadrature."""
    if isinstance(part, Point):
        return np.asarray(np.exp(-s * part.location))
    if isinstance(part, Erlang) or (isinstance(part, Weibull) and part.shape == 1.0):
        return np.asarray(np.exp(-part.shape * np.log1p(s * part.scale)))
    nodes, weights = panels(part.coordinate(part.edges()))
    x = part.value(nodes)
    result: Complex = np.exp(-s[:, None] * x) @ (weights * part.density(x))
    return result


def distribution(specification: Specification | Distribution, item: str = "distribution") -> Distribution:
    """Distribution that a specification describes.

    Parameters
    ----------
    specification : mapping, str, float or Distribution
        Table, short form or number of seconds; a Distribution is returned as it is.
    item : str
        Name of the argument, for messages.

    Raises
    ------
    InputError
        No specification, an unknown kind or parameter, a missing one, or values out of range.
    """
    if isinstance(specification, Distribution):
        return specification
    weighted = [(weight, part) for weight, part in _read(specification, item) if weight > 0.0]
    return Distribution(
        weights=tuple(weight for weight, _ in weighted), parts=tuple(part for _, part in weighted)
    )


def _read(specification: Any, item: str) -> Weighted:
    if isinstance(specification, str):
        specification = _short_form(specification, item)
    if arguments.is_number(specification):
        specification = {"kind": "deterministic", "value": specification}
    if not isinstance(specification, Mapping):
        raise InputError(f"{item} is {specification!r}; give a number of seconds or a table with kind")
    kind = specification.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError(f"{item}: kind is {kind!r}; give one of {', '.join(sorted(KINDS))}")
    names, build = KINDS[kind]
    given = {name: value for name, value in specification.items() if name != "kind"}
    for name in given:
        if name not in names:
            raise InputError(f"{item}: {kind} has no parameter {name!r}; it has {', '.join(names)}")
    for name in names:
        if name not in given:
            raise InputError(f"{item}: {kind} needs {name}; it has {', '.join(names)}")
    return build(*(given[name] for name in names), f"{item}: {kind}")


def _short_form(text: str, item: str) -> Any:
    """Table that ``kind(name=value, ...)`` stands for, or the number."""
    from thinktime._native import expand_distribution

    try:
        return expand_distribution(text)
    except ValueError as error:
        example = "give a number of seconds or a form like exponential(mean=20)"
        raise InputError(f"{item} is {text!r}: {error}; {example}") from None


def _number(value: Any, name: str, item: str, *, zero: bool = False) -> float:
    good = arguments.is_number(value) and math.isfinite(value)
    if not good or value < 0.0 or (value == 0.0 and not zero):
        allowed = "a finite number of at least 0" if zero else "a finite number above 0"
        raise InputError(f"{item}: {name} is {value!r}; give {allowed}")
    return float(value)


def _numbers(values: Any, name: str, item: str) -> list[float]:
    values = values.tolist() if isinstance(values, np.ndarray) else values
    if isinstance(values, str) or not isinstance(values, Sequence) or not values:
        raise InputError(f"{item}: {name} is {values!r}; give a list of numbers")
    return [_number(value, f"{name}[{index}]", item, zero=True) for index, value in enumerate(values)]


def _probabilities(weights: Any, n: int, item: str) -> list[float]:
    """Weights normalised to the sum 1, which they must have but for rounding."""
    values = _numbers(weights, "weights", item)
    total = math.fsum(values)
    if len(values) != n or abs(total - 1.0) > 1e-6:
        raise InputError(f"{item}: weights are {list(weights)}; give {n} of them with the sum 1")
    return [value / total for value in values]


def _deterministic(value: Any, item: str) -> Weighted:
    return [(1.0, Point(_number(value, "value", item, zero=True)))]


def _exponential(mean: Any, item: str) -> Weighted:
    return [(1.0, Exponential(_number(mean, "mean", item)))]


def _hyperexponential(weights: Any, means: Any, item: str) -> Weighted:
    scales = [
        _number(mean, f"means[{index}]", item) for index, mean in enumerate(_numbers(means, "means", item))
    ]
    phases = map(Exponential, scales)
    return list(zip(_probabilities(weights, len(scales), item), phases, strict=True))


def _erlang(shape: Any, mean: Any, item: str) -> Weighted:
    stages = _number(shape, "shape", item)
    if stages != int(stages):
        raise InputError(f"{item}: shape is {shape!r}; give a whole number of stages")
    return [(1.0, Erlang(shape=stages, scale=_number(mean, "mean", item) / stages))]


def _lognormal(mean: Any, sd: Any, item: str) -> Weighted:
    m, s = _number(mean, "mean", item), _number(sd, "sd", item, zero=True)
    if s == 0.0:
        return [(1.0, Point(m))]
    sigma2 = math.log1p((s / m) ** 2)
    return [(1.0, Lognormal(mu=math.log(m) - sigma2 / 2.0, sigma=math.sqrt(sigma2)))]


def _weibull(shape: Any, scale: Any, item: str) -> Weighted:
    return [
        (
            1.0,
            Weibull(shape=_number(shape, "shape", item), scale=_number(scale, "scale", item)),
        )
    ]


def _bounded_pareto(shape: Any, low: Any, high: Any, item: str) -> Weighted:
    lowest, highest = _number(low, "low", item), _number(high, "high", item)
    if highest <= lowest:
        raise InputError(f"{item}: high is {high!r}; give a number above low, {low}")
    return [
        (
            1.0,
            BoundedPareto(shape=_number(shape, "shape", item), low=lowest, high=highest),
        )
    ]


def _uniform(low: Any, high: Any, item: str) -> Weighted:
    lowest, highest = _number(low, "low", item, zero=True), _number(high, "high", item, zero=True)
    if highest < lowest:
        raise InputError(f"{item}: high is {high!r}; give a number from low, {low}, up")
    return [(1.0, _between(lowest, highest))]


def _between(low: float, high: float) -> Part:
    return Uniform(low, high) if high > low else Point(low)


def _discrete(values: Any, weights: Any, item: str) -> Weighted:
    points = [Point(value) for value in _numbers(values, "values", item)]
    return list(zip(_probabilities(weights, len(points), item), points, strict=True))


def _empirical(values: Any, cumulative: Any, item: str) -> Weighted:
    x, upto = _numbers(values, "values", item), _numbers(cumulative, "cumulative", item)
    if len(x) != len(upto) or x != sorted(x) or upto != sorted(upto) or (upto[0], upto[-1]) != (0.0, 1.0):
        raise InputError(f"{item}: give values that do not fall, and for each its cumulative, from 0 to 1")
    ends = zip(pairwise(x), pairwise(upto), strict=True)
    return [(b - a, _between(low, high)) for (low, high), (a, b) in ends]


def _mixture(weights: Any, of: Any, item: str) -> Weighted:
    if isinstance(of, str) or not isinstance(of, Sequence) or not of:
        raise InputError(f"{item}: of is {of!r}; give a list of distributions")
    pairs = zip(_probabilities(weights, len(of), item), of, strict=True)
    components = [(weight, _read(inner, f"{item}: of[{k}]")) for k, (weight, inner) in enumerate(pairs)]
    return [(weight * inner, part) for weight, component in components for inner, part in component]


KINDS: dict[str, tuple[tuple[str, ...], Callable[..., Weighted]]] = {
    "bounded_pareto": (("shape", "low", "high"), _bounded_pareto),
    "deterministic": (("value",), _deterministic),
    "discrete": (("values", "weights"), _discrete),
    "empirical": (("values", "cumulative"), _empirical),
    "erlang": (("shape", "mean"), _erlang),
    "exponential": (("mean",), _exponential),
    "hyperexponential": (("weights", "means"), _hyperexponential),
    "lognormal": (("mean", "sd"), _lognormal),
    "mixture": (("weights", "of"), _mixture),
    "uniform": (("low", "high"), _uniform),
    "weibull": (("shape", "scale"), _weibull),
}
"""Parameters of each kind, and the function that builds it."""


NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)


def panels(edges: Array) -> tuple[Array, Array]:
    """Nodes and weights of the 16-point Gauss-Legendre rule on each panel between `edges`."""
    low, half = edges[:-1], np.diff(edges) / 2.0
    nodes = (low + half)[:, None] + half[:, None] * NODES
    return nodes.ravel(), (half[:, None] * WEIGHTS).ravel()


def cumulative_integral(function: Callable[[Array], Array], edges: Array, upto: Array) -> Array:
    r"""Integral :math:`\int_0^x f` at each x of `upto`; `f` is smooth between the `edges`, from 0 on."""
    nodes, weights = panels(edges)
    by_panel = (function(nodes) * weights).reshape(-1, len(NODES)).sum(axis=1)
    total = np.concatenate([[0.0], np.cumsum(by_panel)])
    panel = np.clip(np.searchsorted(edges, upto, side="right") - 1, 0, len(edges) - 1)
    half = (upto - edges[panel]) / 2.0
    inside = (edges[panel] + half)[:, None] + half[:, None] * NODES
    values = function(inside.ravel()).reshape(inside.shape)
    result: Array = total[panel] + half * (values @ WEIGHTS)
    return result
