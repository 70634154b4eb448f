"""Distributions fitted to a sample of times, with their goodness of fit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinktime.errors import InputError
from thinktime.stats import arguments
from thinktime.stats.distributions import families
from thinktime.stats.distributions.families import Family, Hyperexponential
from thinktime.stats.estimate import Estimate

Array = NDArray[np.float64]

N_LEAST = 30
"""Values below which a fit is refused: bootstrap and choice of phases would be guesses."""
PHASES = (2, 3, 4, 5)
REPLICATIONS = 199
DRAWS_MAX = 1_000_000
"""Bound on replications times values: beyond 5000 values there are fewer replications, not under 49."""
KNOTS = 100
"""Knots over the bulk, one a percent, and as many over the tail."""
KNOTS_MAX = 100_000
"""Bound that keeps a mistyped number from filling memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Family of distributions, fitted by maximum likelihood."""

    spec: dict[str, Any]
    """Specification, as a simulation takes it; times in seconds."""
    parameters: tuple[tuple[str, Estimate], ...]
    """Parameters with intervals by parametric bootstrap, valid if the family is adequate."""
    log_likelihood: float
    aic: float
    bic: float
    ks: float
    """Largest distance between the distribution functions (Kolmogorov and Smirnov)."""
    ad: float
    """Anderson and Darling's A2, which gives weight to the tails."""
    ks_p: float
    ad_p: float
    """Fraction of bootstrap samples from the fit, fitted anew, that lie as far from their fit."""
    replications: int
    mean: float
    coefficient_of_variation: float
    """Of the fitted distribution, to compare with those of the sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fits:
    """Families fitted to one sample, best first by BIC."""

    n: int
    mean: float
    coefficient_of_variation: float
    fits: tuple[Fit, ...]
    refused: tuple[tuple[str, str], ...]
    """Families that cannot be fitted to this sample, with the reason."""
    empirical: dict[str, Any]
    """The sample itself as a piecewise linear distribution function."""

    def adequate(self, alpha: float = 0.05) -> bool:
        """True if the best family is not rejected by Anderson and Darling's distance."""
        return bool(self.fits) and self.fits[0].ad_p >= alpha

    @property
    def chosen(self) -> dict[str, Any]:
        """Specification of the best family if it is not rejected, else the empirical one."""
        return self.fits[0].spec if self.adequate() else self.empirical


def fit(values: ArrayLike, *, level: float = 0.95, replications: int = REPLICATIONS, seed: int = 1) -> Fits:
    r"""Fits of exponential, hyperexponential, Weibull, lognormal and bounded Pareto, compared.

    Each by maximum likelihood; the hyperexponential with 2 to 5 phases, the number with the smallest
    :math:`BIC = k \ln n - 2 \ln L` (Schwarz 1978). Distances: :math:`D = \sup |F_n - F|` and Anderson and
    Darling's A2, each with a p-value by parametric bootstrap: samples of n are drawn from the fit and
    fitted anew, :math:`p = (1 + \#\{D^* \ge D\}) / (B + 1)` (Stute, Manteiga and Quindimil 1993, Metrika
    40, 243). The same replications give the parameters' percentile intervals.

    Parameters
    ----------
    values : array of shape (n,)
        Independent times, not negative; 30 or more [s].
    level : float
        Confidence of the intervals.
    replications : int
        B; with more than 5000 values fewer, but at least 49.
    seed : int
        Seed of the bootstrap: the same seed gives the same result.

    Raises
    ------
    InputError
        Fewer than 30 values, all equal, one that is not finite or negative, or a number out of range.
    TypeError
        An argument is of the wrong kind.
    """
    level, seed = arguments.level(level), arguments.whole(seed, "seed")
    replications = arguments.whole(replications, "replications", least=1)
    data = arguments.lifetimes(values, N_LEAST, "a fitted distribution", zeros=True)
    n = len(data)
    if data[0] == data[-1]:
        raise InputError(f'all {n} values are {data[0]:g} s: use {{"kind": "deterministic"}}')
    count = max(49, min(replications, DRAWS_MAX // n)) if replications > 49 else replications
    fits: list[Fit] = []
    refused: list[tuple[str, str]] = []
    for number, (name, first, again) in enumerate(_families()):
        try:
            best = first(data)
        except ValueError as error:
            refused.append((name, str(error)))
            continue
        fits.append(_assessed(data, best, again(best), level, count, seed + number))
    fits.sort(key=lambda item: item.bic)
    spread = float(data.std(ddof=1) / data.mean())
    return Fits(
        n=n,
        mean=float(data.mean()),
        coefficient_of_variation=spread,
        fits=tuple(fits),
        refused=tuple(refused),
        empirical=empirical(data),
    )


Fitter = Callable[[Array], Family]
Named = tuple[str, Fitter, Callable[[Family], Fitter]]


def _families() -> tuple[Named, ...]:
    def by_itself(fitter: Fitter) -> Callable[[Family], Fitter]:
        return lambda _: fitter

    def phases(values: Array) -> Family:
        tried = [families.hyperexponential(values, count) for count in PHASES]
        return min(tried, key=lambda item: _bic(item, values))

    def warm(best: Family) -> Fitter:
        # From the distribution that the bootstrap draws from a few steps suffice.
        assert isinstance(best, Hyperexponential)
        return lambda sample: families.hyperexponential(sample, len(best.means), best)

    return (
        ("exponential", families.exponential, by_itself(families.exponential)),
        ("hyperexponential", phases, warm),
        ("weibull", families.weibull, by_itself(families.weibull)),
        ("lognormal", families.lognormal, by_itself(families.lognormal)),
        ("bounded_pareto", families.bounded_pareto, by_itself(families.bounded_pareto)),
    )


def _free(family: Family) -> int:
    """Number of free parameters: the weights of a mixture add to one."""
    return len(family.parameters) - isinstance(family, Hyperexponential)


def _bic(family: Family, data: Array) -> float:
    return _free(family) * math.log(len(data)) - 2.0 * float(family.log_density(data).sum())


def _assessed(data: Array, best: Family, again: Fitter, level: float, count: int, seed: int) -> Fit:
    random = np.random.default_rng(seed)
    n = len(data)
    ks, ad = distances(data, best)
    drawn, parameters = [], []
    for _ in range(count):
        sample = np.sort(best.draw(n, random))
        try:
            other = again(sample)
        except ValueError:
            continue  # the family has no maximum for this sample
        drawn.append(distances(sample, other))
        parameters.append(list(other.parameters.values()))
    further = np.array(drawn).reshape(-1, 2) >= (ks, ad)
    p = (1.0 + further.sum(axis=0)) / (len(drawn) + 1.0)
    tail = (1.0 - level) / 2.0
    ends = np.quantile(np.array(parameters), [tail, 1.0 - tail], axis=0) if parameters else None
    likelihood = float(best.log_density(data).sum())
    mean, variance = best.moments()
    return Fit(
        spec=best.spec,
        parameters=tuple(
            (name, _estimate(name, value, n, None if ends is None else ends[:, index], level))
            for index, (name, value) in enumerate(best.parameters.items())
        ),
        log_likelihood=likelihood,
        aic=2.0 * _free(best) - 2.0 * likelihood,
        bic=_bic(best, data),
        ks=ks,
        ad=ad,
        ks_p=float(p[0]),
        ad_p=float(p[1]),
        replications=len(drawn),
        mean=mean,
        coefficient_of_variation=math.sqrt(max(variance, 0.0)) / mean,
    )


def _estimate(name: str, value: float, n: int, ends: Array | None, level: float) -> Estimate:
    unit = "s" if name.split()[0] in {"mean", "scale", "low", "high"} and "logarithm" not in name else ""
    method, low, high = "maximum likelihood, parametric bootstrap", None, None
    if name in {"low", "high"}:
        # No resample extends beyond the range of its fit: percentiles would be biased.
        method = "least or greatest value seen"
    elif ends is not None:
        low, high = float(ends[0]), float(ends[1])
    return Estimate(value=value, unit=unit, n=n, method=method, low=low, high=high, level=level)


def distances(ordered: Array, family: Family) -> tuple[float, float]:
    """Distances of sorted values from `family`: Kolmogorov and Smirnov's D, Anderson and Darling's A2."""
    n = len(ordered)
    # A bounded family has its ends at 0 and 1, whose logarithms are infinite.
    u = np.clip(family.cumulative(ordered), 1e-12, 1.0 - 1e-12)
    ranks = np.arange(1, n + 1)
    ks = float(max((ranks / n - u).max(), (u - (ranks - 1) / n).max()))
    weights = 2 * ranks - 1
    ad = -n - float((weights * (np.log(u) + np.log1p(-u[::-1]))).mean())
    return ks, ad


def empirical(values: ArrayLike, knots: int = KNOTS) -> dict[str, Any]:
    """Specification of the sample as a piecewise linear distribution function that keeps its mean.

    Knots are evenly spread over the bulk, and single observations at the top. Observations between two
    knots are taken as uniform; a small tilt of the probabilities restores the mean.

    Parameters
    ----------
    values : array of shape (n,)
        Times, at least one [s].
    knots : int
        Number of knots over the bulk, and as many over the tail.

    Raises
    ------
    InputError
        No values, one that is not finite, or fewer than two knots.
    TypeError
        An argument is of the wrong kind.
    """
    data = np.sort(arguments.sample(values, least=1))
    knots = arguments.whole(knots, "knots", least=2, most=KNOTS_MAX)
    n = len(data)
    bulk = np.linspace(0, n - 1, knots)
    tail = n - np.geomspace(n, 1, knots)
    knot = np.unique(data[np.unique(np.concatenate([bulk, tail]).round().astype(np.int64))])
    if len(knot) == 1:
        return {"kind": "deterministic", "value": float(knot[0])}
    share = _mass(data, knot)
    cumulative = np.concatenate([[0.0], np.cumsum(share)])
    cumulative /= cumulative[-1]
    return {"kind": "empirical", "values": knot.tolist(), "cumulative": cumulative.tolist()}


def _mass(data: Array, knots: Array) -> Array:
    """Probability of each piece: half of the observations on a knot belongs to each side."""
    inside = np.searchsorted(data, knots, side="left")
    upto = np.searchsorted(data, knots, side="right")
    on = (upto - inside) / 2.0
    on[[0, -1]] *= 2.0
    share: Array = (inside[1:] - upto[:-1]) + on[:-1] + on[1:]
    share = share / share.sum()
    middle = (knots[:-1] + knots[1:]) / 2.0
    # A small exponential tilt restores the mean of the sample.
    return _tilted(share, middle, float(data.mean()))


def _tilted(share: Array, middle: Array, mean: float) -> Array:
    from scipy import optimize

    scale = float(middle.max())

    def excess(tilt: float) -> float:
        weights = share * np.exp(tilt * middle / scale)
        return float(weights @ middle / weights.sum()) - mean

    if not excess(-50.0) < 0.0 < excess(50.0):
        return share
    tilt = float(optimize.brentq(excess, -50.0, 50.0))
    weights = share * np.exp(tilt * middle / scale)
    result: Array = weights / weights.sum()
    return result
