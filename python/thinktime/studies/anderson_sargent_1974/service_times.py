"""Service times by class, fitted to what the paper prints of them.

The paper samples service times from the measured cumulative distributions, which it does not give. It gives
the mean, variance and skewness of each class (Table 1), three percentages and the concentration of all inputs
(page 130, Figure 2), and it finds that the mean residual life increases everywhere, in each class too
(Figures 3 and 4). A mixture of exponential distributions has that property whatever its parameters are, so
each class gets one, with as few phases as the figures need: four for compute transactions, three for the
others.

`fit` minimises the sum of squares of (fitted - target) / width over the targets, by a trust-region search
from a stated start; it draws no random number and gives the same result each time. Weights of the phases
enter by their logarithms relative to the last one, means by their logarithms. A weak pull to the start (a
width of 20 in these logarithms) settles what no target does.

    python -m thinktime.studies.anderson_sargent_1974.service_times

prints the fit with its targets, and the specs that are the defaults of the simulated system.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from thinktime.studies.estimates import Array

CLASSES = ("compute", "command", "output_bound")
MOMENTS = {
    "compute": (0.826, 96.092, 33.69),
    "command": (0.741, 23.68, 25.61),
    "output_bound": (20.910, 4542.9, 6.22),
}
"""Mean [s], variance [s^2] and skewness (Table 1)."""
SHARES = {"compute": 0.833, "command": 0.114, "output_bound": 0.053}
"""Of the inputs of the simulation (page 134)."""
POOLED_OUTPUT_BOUND = 0.0621
"""Share of output-bound inputs with which the classes give Table 1's moments of all inputs."""
UPPER = 0.04
"""Part of the inputs that gives 90 per cent of the mean (Figure 2)."""
START = {
    "compute": ((0.75, 0.17, 0.07, 0.01), (0.035, 0.4, 4.0, 110.0)),
    "command": ((0.7, 0.28, 0.02), (0.05, 0.6, 41.0)),
    "output_bound": ((0.6, 0.28, 0.12), (0.7, 8.0, 147.0)),
}
"""Weights and means [s] at which the search begins: the last phase is the one exponential distribution that
has the second and third moment of its class."""
LONG_S = 2.0
LONG = {"compute": (0.022, 0.006), "output_bound": (0.6, 0.1)}
"""Part above 2 s, and width: chosen. No figure tells how the 6 per cent of all inputs divide among the
classes; output-bound ones have most of it if their class is near the fewest phases with its moments."""


@dataclass(frozen=True, slots=True)
class Phases:
    """A mixture of exponential distributions."""

    weights: Array
    means: Array

    def above(self, time_s: float) -> float:
        """P(T > t)."""
        return float(np.sum(self.weights * np.exp(-time_s / self.means)))

    def moments(self) -> tuple[float, float, float]:
        r"""Mean, variance and skewness, from :math:`E[T^k] = k! \sum_i w_i m_i^k`."""
        first, second, third = (
            factorial * float(np.sum(self.weights * self.means**k))
            for k, factorial in ((1, 1), (2, 2), (3, 6))
        )
        variance = second - first**2
        return first, variance, (third - 3.0 * first * variance - first**3) / variance**1.5

    def upper_part(self, share: float) -> float:
        """Part of the mean that the largest `share` of the values gives."""
        from scipy.optimize import brentq

        limit = brentq(lambda time_s: self.above(time_s) - share, 1e-6, 1e5)
        given = self.weights * (limit + self.means) * np.exp(-limit / self.means)
        return float(np.sum(given) / np.sum(self.weights * self.means))

    def spec(self, digits: int = 5) -> dict[str, Any]:
        """Spec of a distribution, rounded; the largest weight makes the sum 1 again."""
        weights = [float(f"{weight:.{digits}g}") for weight in self.weights]
        largest = weights.index(max(weights))
        weights[largest] = 0.0
        weights[largest] = round(1.0 - sum(weights), digits + 4)
        means = [float(f"{mean:.{digits}g}") for mean in self.means]
        return {"kind": "hyperexponential", "weights": weights, "means": means}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A number that the fit aims at."""

    name: str
    wanted: float
    fitted: float
    width: float
    """Difference that counts 1 in the sum of squares; of logarithms for moments."""
    relative: bool
    source: str

    @property
    def residual(self) -> float:
        """Difference over width."""
        difference = np.log(self.fitted / self.wanted) if self.relative else self.fitted - self.wanted
        return float(difference / self.width)


@dataclass(frozen=True, slots=True)
class Fit:
    """The fitted distributions, and how near they come."""

    classes: Mapping[str, Phases]
    targets: tuple[Target, ...]

    @property
    def specs(self) -> dict[str, dict[str, Any]]:
        """Distribution specs by class, as the simulated system takes them."""
        return {name: phases.spec() for name, phases in self.classes.items()}


def fit() -> Fit:
    """Fit of the three classes together.

    Raises
    ------
    WorkError
        The search does not converge.
    """
    from scipy.optimize import least_squares

    from thinktime.errors import WorkError

    start = np.concatenate([_packed(*map(np.array, START[name])) for name in CLASSES])

    def residuals(x: Array) -> Array:
        aims = [target.residual for target in _targets(_unpacked(x))]
        return np.concatenate([aims, 0.05 * (x - start)])

    result = least_squares(residuals, start, xtol=1e-13, ftol=1e-13)
    if not result.success:
        raise WorkError(f"the fit of the service times does not converge: {result.message}")
    classes = _unpacked(result.x)
    return Fit(classes, tuple(_targets(classes)))


def _packed(weights: Array, means: Array) -> Array:
    return np.concatenate([np.log(weights[:-1] / weights[-1]), np.log(means)])


def _unpacked(x: Array) -> dict[str, Phases]:
    classes, start = {}, 0
    for name in CLASSES:
        n = len(START[name][0])
        logarithms = np.append(x[start : start + n - 1], 0.0)
        weights = np.exp(logarithms - logarithms.max())
        classes[name] = Phases(weights / weights.sum(), np.exp(x[start + n - 1 : start + 2 * n - 1]))
        start += 2 * n - 1
    return classes


def _mixture(classes: Mapping[str, Phases], shares: Mapping[str, float]) -> Phases:
    weights = np.concatenate([shares[name] * classes[name].weights for name in CLASSES])
    return Phases(weights, np.concatenate([classes[name].means for name in CLASSES]))


def _targets(classes: Mapping[str, Phases]) -> Iterator[Target]:
    for name in CLASSES:
        labels = ("mean", "variance", "skewness")
        for label, wanted, fitted in zip(labels, MOMENTS[name], classes[name].moments(), strict=True):
            yield Target(
                name=f"{name}: {label}",
                wanted=wanted,
                fitted=fitted,
                width=0.01,
                relative=True,
                source="Table 1",
            )
    rest = (1.0 - POOLED_OUTPUT_BOUND) / (1.0 - SHARES["output_bound"])
    pooled = {name: share * rest for name, share in SHARES.items()} | {"output_bound": POOLED_OUTPUT_BOUND}
    for sample, shares, ease in (("all", pooled, 1.0), ("all simulated", SHARES, 2.0)):
        every = _mixture(classes, shares)
        for label, wanted, fitted, width, source in (
            ("at most 0.1 s", 0.70, 1.0 - every.above(0.1), 0.005, "page 130"),
            ("under 0.2 s", 0.778, 1.0 - every.above(0.2), 0.005, "page 130"),
            ("over 2 s", 0.06, every.above(LONG_S), 0.003, "page 130"),
            ("upper 4 % of the mean", 0.9, every.upper_part(UPPER), 0.005, "Figure 2"),
        ):
            yield Target(
                name=f"{sample}: {label}",
                wanted=wanted,
                fitted=fitted,
                width=ease * width,
                relative=False,
                source=source,
            )
    for name, (wanted, width) in LONG.items():
        fitted = classes[name].above(LONG_S)
        yield Target(
            name=f"{name}: over 2 s",
            wanted=wanted,
            fitted=fitted,
            width=width,
            relative=False,
            source="chosen",
        )


def main() -> None:
    """Print the fit."""
    fitted = fit()
    for target in fitted.targets:
        print(f"{target.name:40s} {target.wanted:10.4f} {target.fitted:10.4f}   {target.source}")
    print(json.dumps(fitted.specs, indent=2))


if __name__ == "__main__":
    main()
