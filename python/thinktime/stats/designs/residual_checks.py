"""Tests of the assumptions of an analysis of variance: normal errors of one variance."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thinktime.stats import arguments
from thinktime.stats.designs.anova import one_way
from thinktime.stats.designs.factorial import Responses
from thinktime.stats.estimate import NotApplicable
from thinktime.stats.hypothesis import SignificanceTest

Array = NDArray[np.float64]

SHAPIRO_MAX = 5000
"""Largest sample for which the probability of Shapiro and Wilk's W is known to hold."""


def normality(rest: Array) -> SignificanceTest | NotApplicable:
    """Test that residuals are normal: Shapiro-Wilk, or Anderson-Darling for more than 5000.

    Not applicable where they do not vary.

    Limitations: residuals of a fit are correlated and closer to normal than the errors; with few
    replications the test has little power.

    Parameters
    ----------
    rest : array of shape (n,)
        Residuals.

    Raises
    ------
    InputError
        A value is not finite.
    TypeError
        `rest` are not numbers.
    """
    from scipy import stats

    rest = arguments.sample(rest, "rest")

    if len(rest) < 3 or np.ptp(rest) == 0.0:
        return NotApplicable("the residuals do not vary", "replicate the cells")
    hypothesis = "errors are normal"
    if len(rest) <= SHAPIRO_MAX:
        w, p = stats.shapiro(rest)
        return SignificanceTest(
            hypothesis=hypothesis, statistic=float(w), p=float(p), n=len(rest), method="Shapiro and Wilk's W"
        )
    squared = _anderson_darling(rest)
    p = _anderson_darling_tail(squared)
    return SignificanceTest(
        hypothesis=hypothesis, statistic=squared, p=p, n=len(rest), method="Anderson and Darling's A²"
    )


def brown_forsythe(groups: Sequence[Array]) -> SignificanceTest | NotApplicable:
    """Test that groups have one variance: analysis of variance of absolute deviations from the medians.

    Levene's test with medians, which keeps its level when errors are not normal (Brown and Forsythe 1974,
    JASA 69, 364). Not applicable where groups have fewer than three values or do not vary.

    Parameters
    ----------
    groups : sequence of array of shape (n,)

    Raises
    ------
    InputError
        A value is not finite.
    TypeError
        A group is not made of numbers.
    """
    arrays = arguments.samples(groups, "groups", least=0, each=0)
    if len(arrays) < 2 or min(len(array) for array in arrays) < 3:
        return NotApplicable(
            "a cell has fewer than three replications, too few for its variance", "replicate more"
        )
    effect = one_way([np.abs(array - np.median(array)) for array in arrays]).effects[0]
    if effect.f is None or effect.p is None:
        return NotApplicable("the residuals do not vary", "replicate the cells")
    n = sum(len(array) for array in arrays)
    return SignificanceTest(
        hypothesis="errors have one variance",
        statistic=effect.f,
        p=effect.p,
        n=n,
        method="Brown and Forsythe's F",
    )


def equal_variances(responses: Responses, rest: Array | None = None) -> SignificanceTest | NotApplicable:
    """Brown and Forsythe's test on the residuals of each cell, by default those of the full model.

    Raises
    ------
    TypeError
        `responses` is no `Responses`.
    """
    arguments.record(responses, Responses, "responses")
    used = responses.residuals() if rest is None else rest
    cells = responses.cell_of()
    return brown_forsythe([used[cells == cell] for cell in np.unique(cells)])


def _anderson_darling(values: Array) -> float:
    """Statistic A² with the correction for estimated mean and variance, A² (1 + 0.75/n + 2.25/n²)."""
    from scipy import stats

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        squared = float(stats.anderson(values, "norm").statistic)
    return squared * (1.0 + 0.75 / len(values) + 2.25 / len(values) ** 2)


def _anderson_darling_tail(squared: float) -> float:
    """Probability by D'Agostino and Stephens (1986), *Goodness-of-Fit Techniques*, Table 4.9."""
    if squared >= 0.6:
        p = np.exp(1.2937 - 5.709 * squared + 0.0186 * squared**2)
    elif squared >= 0.34:
        p = np.exp(0.9177 - 4.279 * squared - 1.38 * squared**2)
    elif squared >= 0.2:
        p = 1.0 - np.exp(-8.318 + 42.796 * squared - 59.938 * squared**2)
    else:
        p = 1.0 - np.exp(-13.436 + 101.14 * squared - 223.73 * squared**2)
    return float(min(max(p, 0.0), 1.0))
