"""Distributions fitted to a sample of times, and how well each fits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """One family, fitted by maximum likelihood."""

    spec: dict[str, Any]
    """Specification as a simulation takes it; times in s."""
    parameters: tuple[tuple[str, Estimate], ...]
    """What was estimated, with intervals by parametric bootstrap: they hold if the family does."""
    log_likelihood: float
    aic: float
    bic: float
    ks: float
    """Largest distance between the distribution functions (Kolmogorov and Smirnov)."""
    ad: float
    """Anderson and Darling's A2, which weighs the tails."""
    ks_p: float
    ad_p: float
    """Part of bootstrap samples from the fit, fitted anew, that lie as far from their fit."""
    replications: int
    mean: float
    coefficient_of_variation: float
    """Of the fitted distribution, to be held beside those of the sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fits:
    """Families fitted to one sample, best first by BIC."""

    n: int
    mean: float
    coefficient_of_variation: float
    fits: tuple[Fit, ...]
    refused: tuple[tuple[str, str], ...]
    """Families that cannot be fitted to this sample, and why."""
    empirical: dict[str, Any]
    """The sample itself as a piecewise linear distribution function."""

    def adequate(self, alpha: float = 0.05) -> bool:
        """Whether the best family is not rejected by Anderson and Darling's distance."""
        return bool(self.fits) and self.fits[0].ad_p >= alpha

    @property
    def chosen(self) -> dict[str, Any]:
        """Specification of the best family if it is not rejected, else the empirical one."""
        return self.fits[0].spec if self.adequate() else self.empirical


def fit(values: ArrayLike, *, level: float = 0.95, replications: int = REPLICATIONS, seed: int = 1) -> Fits:
    r"""Fit exponential, hyperexponential, Weibull, lognormal and bounded Pareto; compare them.

    Each by maximum likelihood; the hyperexponential with 2 to 5 phases, the number of least
    :math:`BIC = k \ln n - 2 \ln L` (Schwarz 1978). Distances: :math:`D = \sup |F_n - F|` and Anderson and
    Darling's A2, each with a p-value by parametric bootstrap: samples of n are drawn from the fit and
    fitted anew, :math:`p = (1 + \#\{D^* \ge D\}) / (B + 1)` (Stute, Manteiga and Quindimil 1993, Metrika
    40, 243). The same replications give the parameters' percentile intervals.

    Parameters
    ----------
    values : array
        Independent times, not negative [s].
    level : float
        Confidence of the intervals.
    replications : int
        B; with more than 5000 values fewer, but at least 49.
    seed : int
        Of the bootstrap: the same seed gives the same result.

    Raises
    ------
    ValueError
        Fewer than 30 values, all equal, or one that is not finite or negative; the message says what
        would help.
    """
    data = arguments.lifetimes(values, N_LEAST, "a fitted distribution", zeros=True)
    n = len(data)
    if data[0] == data[-1]:
        raise ValueError(f'all {n} values are {data[0]:g} s: use {{"kind": "deterministic"}}')
    count = max(49, min(replications, DRAWS_MAX // n)) if replications > 49 else replications
    found: list[Fit] = []
    refused: list[tuple[str, str]] = []
    for number, (name, first, again) in enumerate(_families()):
        try:
            best = first(data)
        except ValueError as error:
            refused.append((name, str(error)))
            continue
        found.append(_assessed(data, best, again(best), level, count, seed + number))
    found.sort(key=lambda item: item.bic)
    spread = float(data.std(ddof=1) / data.mean())
    return Fits(
        n=n,
        mean=float(data.mean()),
        coefficient_of_variation=spread,
        fits=tuple(found),
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
        # From the truth of the bootstrap a few steps suffice.
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
    """Free parameters: the weights of a mixture add to one."""
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
            continue  # a sample in which this family has no maximum says nothing of its distance
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
            (name, _estimate(name, value, n, None if ends is None else ends[:, at], level))
            for at, (name, value) in enumerate(best.parameters.items())
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
    if name in {"low", "high"}:
        # No resample reaches beyond the range of its fit: percentiles would lie to one side.
        return Estimate(
            value=value,
            unit=unit,
            n=n,
            method="least or greatest value seen",
            low=None,
            high=None,
            level=level,
        )
    low, high = (None, None) if ends is None else (float(ends[0]), float(ends[1]))
    return Estimate(
        value=value,
        unit=unit,
        n=n,
        method="maximum likelihood, parametric bootstrap",
        low=low,
        high=high,
        level=level,
    )


def distances(ordered: Array, family: Family) -> tuple[float, float]:
    """Kolmogorov and Smirnov's D and Anderson and Darling's A2 of sorted values from `family`."""
    n = len(ordered)
    # A bounded family puts its ends at 0 and 1, whose logarithms A2 has not.
    u = np.clip(family.cumulative(ordered), 1e-12, 1.0 - 1e-12)
    ranks = np.arange(1, n + 1)
    ks = float(max((ranks / n - u).max(), (u - (ranks - 1) / n).max()))
    weights = 2 * ranks - 1
    ad = -n - float((weights * (np.log(u) + np.log1p(-u[::-1]))).mean())
    return ks, ad


def empirical(values: ArrayLike, knots: int = KNOTS) -> dict[str, Any]:
    """Specify the sample as a piecewise linear distribution function with its mean.

    Knots are evenly spread over the bulk, and single observations at the top. Between two knots lie the
    observations there, uniformly: the mean of each piece is kept by moving the probability between its ends.

    Raises
    ------
    ValueError
        No values.
    """
    data = np.sort(np.asarray(values, dtype=np.float64))
    n = len(data)
    if not n:
        raise ValueError("no values")
    bulk = np.linspace(0, n - 1, knots)
    tail = n - np.geomspace(n, 1, knots)
    at = np.unique(data[np.unique(np.concatenate([bulk, tail]).round().astype(np.int64))])
    if len(at) == 1:
        return {"kind": "deterministic", "value": float(at[0])}
    share = _mass(data, at)
    cumulative = np.concatenate([[0.0], np.cumsum(share)])
    cumulative /= cumulative[-1]
    return {"kind": "empirical", "values": at.tolist(), "cumulative": cumulative.tolist()}


def _mass(data: Array, at: Array) -> Array:
    """Probability of each piece: observations on a knot belong to both its sides by half."""
    inside = np.searchsorted(data, at, side="left")
    upto = np.searchsorted(data, at, side="right")
    on = (upto - inside) / 2.0
    on[[0, -1]] *= 2.0
    share: Array = (inside[1:] - upto[:-1]) + on[:-1] + on[1:]
    share = share / share.sum()
    middle = (at[:-1] + at[1:]) / 2.0
    # Exponential tilting, a small one, brings the mean back to the sample's.
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
