"""Tests that coefficients estimated separately are equal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thinktime.errors import InputError
from thinktime.stats import arguments, critical_values
from thinktime.stats.hypothesis import SignificanceTest
from thinktime.stats.regression.least_squares import Fit

Matrix = NDArray[np.float64]


def same_mean(
    estimates: Sequence[Matrix], covariances: Sequence[Matrix], degrees: Sequence[float], hypothesis: str
) -> SignificanceTest:
    r"""Wald test that K independent vectors of p estimates have one expectation.

    .. math::

       T = \sum_k (b_k - \bar b)' W_k (b_k - \bar b), \qquad W_k = V_k^{-1}, \qquad
       \bar b = \Big(\sum W_k\Big)^{-1} \sum W_k b_k

    The covariances are themselves estimates, with degrees of freedom :math:`\nu_k`; T is
    compared with c times F of :math:`f_1 = p(K-1)` and :math:`f_2` degrees (Johansen 1980, Biometrika 67,
    85; with p = 1 Welch 1951, Biometrika 38, 330):

    .. math::

       A = \sum_k \frac{\operatorname{tr}(I - W^{-1} W_k)^2 + (\operatorname{tr}(I - W^{-1} W_k))^2}{2\nu_k},
       \qquad c = f_1 + 2A - \frac{6A}{f_1 + 2}, \qquad f_2 = \frac{f_1 (f_1 + 2)}{3A}

    Parameters
    ----------
    estimates : sequence of arrays of shape (p,)
    covariances : sequence of arrays of shape (p, p)
        Of the estimates; positive definite.
    degrees : sequence of float
        Equivalent degrees of freedom of each covariance.
    hypothesis : str
        Statement that is tested, for the result.

    Raises
    ------
    InputError
        There are fewer than two vectors, or their shapes do not fit.
    TypeError
        An argument is of the wrong kind.
    """
    estimates = arguments.samples(estimates, "estimates", least=2, each=1)
    covariances = arguments.sequence(covariances, "covariances", "a list of matrices")
    covariances = [arguments.table(item, "covariances") for item in covariances]
    degrees = arguments.sample(degrees, "degrees").tolist()
    size = len(estimates[0])
    shapes = {item.shape for item in covariances}
    if shapes != {(size, size)} or {len(item) for item in estimates} != {size}:
        raise InputError(f"covariances have the shapes {shapes}; give {(size, size)} for each estimate")
    if not len(estimates) == len(covariances) == len(degrees) or min(degrees) <= 0.0:
        raise InputError(
            "estimates, covariances and degrees differ in number, or degrees has 0; give one of each"
        )
    try:
        weights = [np.linalg.inv(covariance) for covariance in covariances]
        total = np.linalg.inv(np.sum(weights, axis=0))
    except np.linalg.LinAlgError:
        return _without_error(estimates, hypothesis)
    centre = total @ np.sum([w @ b for w, b in zip(weights, estimates, strict=True)], axis=0)
    statistic = float(sum((b - centre) @ w @ (b - centre) for b, w in zip(estimates, weights, strict=True)))
    lost = 0.0
    for weight, freedom in zip(weights, degrees, strict=True):
        rest = np.eye(size) - total @ weight
        lost += float(np.trace(rest @ rest) + np.trace(rest) ** 2) / (2.0 * freedom)
    first = float(size * (len(weights) - 1))
    scale = first + 2.0 * lost - 6.0 * lost / (first + 2.0)
    second = first * (first + 2.0) / (3.0 * lost) if lost > 0.0 else 1e12
    f = statistic / scale
    p = critical_values.f_tail(f, first, second)
    method = f"Wald test by Johansen (1980), F with {first:g} and {second:.3g} degrees of freedom"
    return SignificanceTest(hypothesis=hypothesis, statistic=f, p=p, n=len(weights), method=method)


def _without_error(estimates: Sequence[Matrix], hypothesis: str) -> SignificanceTest:
    """Comparison when one estimate has no error: a fit without residuals."""
    same = all(np.allclose(estimate, estimates[0], rtol=1e-9, atol=0.0) for estimate in estimates)
    statistic, p = (0.0, 1.0) if same else (float("inf"), 0.0)
    return SignificanceTest(
        hypothesis=hypothesis,
        statistic=statistic,
        p=p,
        n=len(estimates),
        method="compared: there is no error to test by",
    )


def same_coefficients(fits: Sequence[Fit], pooled: Fit, hypothesis: str) -> SignificanceTest:
    r"""Test that subsets of the rows have one set of coefficients, for independent errors of one variance.

    .. math:: F = \frac{(S - \sum S_k) / ((K-1) p)}{\sum S_k / (n - K p)}

    with S the residual squares of all rows and :math:`S_k` those of subset k (Chow 1960, Econometrica 28,
    591).

    Limitations: rejects too often where errors are correlated; it tests the regression model as much as the
    coefficients.

    Parameters
    ----------
    fits : sequence of Fit
        Fits of the subsets.
    pooled : Fit
        Fit of all their rows.
    hypothesis : str
        Statement that is tested, for the result.
    """
    fits = arguments.records(fits, Fit, "fits", least=2)
    columns = len(arguments.record(pooled, Fit, "pooled").coefficients)
    if not columns or min(fit.degrees for fit in fits) < 1:
        raise InputError("a fit has no coefficients or no degrees of freedom; give fits of more rows")
    separate = sum(fit.residual_squares for fit in fits)
    first = (len(fits) - 1) * columns
    second = sum(fit.degrees for fit in fits)
    f = _ratio(max(pooled.residual_squares - separate, 0.0) / first, separate / second)
    p = critical_values.f_tail(f, first, second)
    return SignificanceTest(
        hypothesis=hypothesis,
        statistic=f,
        p=p,
        n=pooled.n,
        method="F test by Chow (1960), independent errors",
    )


def same_coefficient(fits: Sequence[Fit], index: int, hypothesis: str) -> SignificanceTest:
    r"""Test that subsets of the rows have the same coefficient `index`, for independent errors.

    .. math:: F = \frac{1}{K-1} \sum_k \frac{(b_k - \bar b)^2}{s^2 c_k}, \qquad
              \bar b = \sum_k \frac{b_k}{c_k} \Big/ \sum_k \frac{1}{c_k}

    with :math:`c_k` the diagonal of :math:`(X_k'X_k)^{-1}` and :math:`s^2` pooled over the subsets: the
    spread of the coefficients against their nominal standard error.
    """
    fits = arguments.records(fits, Fit, "fits", least=2)
    index = arguments.whole(index, "index", most=min(len(fit.coefficients) for fit in fits) - 1)
    degrees = sum(fit.degrees for fit in fits)
    if degrees < 1:
        raise InputError("fits have no degrees of freedom; give fits of more rows")
    variance = sum(fit.residual_squares for fit in fits) / degrees
    values = np.array([fit.coefficients[index] for fit in fits])
    weights = np.array([1.0 / fit.unscaled_covariance[index, index] for fit in fits])
    centre = float(weights @ values / weights.sum())
    f = _ratio(float(weights @ (values - centre) ** 2) / (len(fits) - 1), variance)
    p = critical_values.f_tail(f, len(fits) - 1, degrees)
    n = sum(fit.n for fit in fits)
    return SignificanceTest(
        hypothesis=hypothesis, statistic=f, p=p, n=n, method="F test of the spread, independent errors"
    )


def _ratio(above: float, below: float) -> float:
    return above / below if below > 0.0 else float("inf") if above > 0.0 else 0.0
