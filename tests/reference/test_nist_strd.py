"""Least squares and moments against the certified values of NIST's Statistical Reference Datasets."""

import math
from pathlib import Path

import numpy as np
import pytest

from thinktime.analyses.overhead import regression
from thinktime.analyses.overhead.design import Design, Target
from thinktime.log.observations import Observations, Quantity
from thinktime.stats.regression.iterative_refinement import refine
from thinktime.stats.regression.least_squares import LeastSquares
from thinktime.stats.series.batch_means import plain_mean
from thinktime.stats.series.moments import coefficient_of_variation, variance

DATA = Path(__file__).parent / "nist"

LONGLEY = [
    (-3482258.63459582, 890420.383607373),
    (15.0618722713733, 84.9149257747669),
    (-0.358191792925910e-01, 0.334910077722432e-01),
    (-2.02022980381683, 0.488399681651699),
    (-1.03322686717359, 0.214274163161675),
    (-0.511041056535807e-01, 0.226073200069370),
    (1829.15146461355, 455.478499142212),
]
FILIP = [
    (-1467.48961422980, 298.084530995537),
    (-2772.17959193342, 559.779865474950),
    (-2316.37108160893, 466.477572127796),
    (-1127.97394098372, 227.204274477751),
    (-354.478233703349, 71.6478660875927),
    (-75.1242017393757, 15.2897178747400),
    (-10.8753180355343, 2.23691159816033),
    (-1.06221498588947, 0.221624321934227),
    (-0.670191154593408e-01, 0.142363763154724e-01),
    (-0.246781078275479e-02, 0.535617408889821e-03),
    (-0.402962525080404e-04, 0.896632837373868e-05),
]
HALF = [759, -2048, 2048, -2048, 2523, -2048, 2048, -2048, 1838, -2048]
DEVIATIONS = np.array([*HALF, 2048, *reversed(HALF)])
WAMPLER_ERRORS = np.array(
    [
        2152.32624678170,
        2363.55173469681,
        779.343524331583,
        101.475507550350,
        5.64566512170752,
        0.112324854679312,
    ]
)


def digits(found: float, certified: float) -> float:
    """Number of correct significant digits (log relative error)."""
    if found == certified:
        return 15.0
    return -math.log10(abs(found - certified) / (abs(certified) or 1.0))


def least_digits(found, certified) -> float:
    return min(digits(a, b) for a, b in zip(found, certified, strict=True))


def fit(x, y, chunk=7):
    """Absorbed in small chunks, so that merging is part of what is certified."""
    rows = LeastSquares(x.shape[1])
    for first in range(0, len(y), chunk):
        part = LeastSquares(x.shape[1])
        part.absorb(x[first : first + chunk], y[first : first + chunk])
        rows.merge(part)
    return refine(rows, rows.solve(), lambda: [(x[:5], y[:5]), (x[5:], y[5:])])


def polynomial(x, degree):
    return np.column_stack([x**power for power in range(degree + 1)])


def errors(result):
    return np.sqrt(np.diagonal(result.covariance()))


def test_longley():
    data = np.loadtxt(DATA / "longley.csv", delimiter=",", skiprows=1)
    result = fit(np.column_stack([np.ones(16), data[:, 1:]]), data[:, 0])
    assert least_digits(result.coefficients, [value for value, _ in LONGLEY]) >= 12
    assert least_digits(errors(result), [error for _, error in LONGLEY]) >= 10
    assert digits(result.residual_deviation(), 304.854073561965) >= 12
    assert digits(result.r_squared, 0.995479004577296) >= 10


@pytest.mark.parametrize(
    ("scale", "r_squared"),
    [(0, 1.0), (1, 0.999995559025820), (100, 0.957478440825662), (10_000, 0.224668921574940e-2)],
)
def test_wampler_1_3_4_5(scale, r_squared):
    x = np.arange(21.0)
    y = polynomial(x, 5).sum(axis=1) + scale * DEVIATIONS
    result = fit(polynomial(x, 5), y)
    # Without refinement Wampler 5, whose standard errors are up to 2e7 times the values, has 6 digits.
    assert least_digits(result.coefficients, np.ones(6)) >= 12
    assert digits(result.r_squared, r_squared) >= 10
    if scale:
        assert least_digits(errors(result), scale * WAMPLER_ERRORS) >= 10


def test_wampler_2():
    x = np.arange(21.0)
    certified = 10.0 ** -np.arange(6)
    result = fit(polynomial(x, 5), np.round(polynomial(x, 5) @ certified, 5))
    assert least_digits(result.coefficients, certified) >= 8


def test_filip():
    """Condition number 1.8e15: the rounding of x^10 to double precision alone leaves 7.6 digits."""
    data = np.loadtxt(DATA / "filip.csv", delimiter=",", skiprows=1)
    result = fit(polynomial(data[:, 1], 10), data[:, 0], chunk=100)
    assert result.aliased == ()
    assert least_digits(result.coefficients, [value for value, _ in FILIP]) >= 7
    assert least_digits(errors(result), [error for _, error in FILIP]) >= 7
    assert digits(result.residual_deviation(), 0.334801051324544e-2) >= 8


def analysed(x, y, rows=5):
    """Fit as the overhead analysis fits a log: in pieces of `rows` rows, pass after pass; no outlier rule."""
    names = [f"x{column}" for column in range(1, x.shape[1])]
    columns = dict(zip(["y", *names], np.column_stack([y, x[:, 1:]]).T, strict=True))

    def pieces(wanted):
        for part in np.array_split(np.arange(len(y)), math.ceil(len(y) / rows)):
            ones, own = np.ones(len(part)), {name: columns[name][part] for name in wanted}
            yield Observations(
                start_us=part,
                length_s=ones,
                segments=np.zeros(len(part), dtype=np.int64),
                columns=own,
                dropped=0,
            )

    terms = tuple(Quantity(name=name, label=name, unit="", columns=(name,)) for name in names)
    design = Design(pieces=pieces, target=Target(label="y", unit="", columns=("y",)), terms=terms)
    return regression.fit(design, regression.FitOptions(threshold=1e9), select=False).coefficients


def test_the_overhead_analysis_keeps_the_digits():
    """At least 8 digits on Longley and Wampler, and on Filip the 7 that its rounded powers leave."""
    data = np.loadtxt(DATA / "longley.csv", delimiter=",", skiprows=1)
    found = analysed(np.column_stack([np.ones(16), data[:, 1:]]), data[:, 0])
    assert least_digits(found, [value for value, _ in LONGLEY]) >= 12
    x = polynomial(np.arange(21.0), 5)
    for scale in (0, 1, 100, 10_000):
        assert least_digits(analysed(x, x.sum(axis=1) + scale * DEVIATIONS), np.ones(6)) >= 12
    assert least_digits(analysed(x, np.round(x @ 10.0 ** -np.arange(6), 5)), 10.0 ** -np.arange(6)) >= 8
    data = np.loadtxt(DATA / "filip.csv", delimiter=",", skiprows=1)
    found = analysed(polynomial(data[:, 1], 10), data[:, 0])
    assert least_digits(found, [value for value, _ in FILIP]) >= 7


def test_normal_equations_fail_where_this_does_not():
    """The canary: squaring the condition number loses what the certified digits prove is kept."""
    data = np.loadtxt(DATA / "filip.csv", delimiter=",", skiprows=1)
    x = polynomial(data[:, 1], 10)
    normal = np.linalg.solve(x.T @ x, x.T @ data[:, 0])
    assert least_digits(normal, [value for value, _ in FILIP]) < 3


def alternating(middle):
    """Numbers of NIST's NumAcc2, 3 and 4: `middle`, then 500 times 0.1 less and 0.1 more than it."""
    low, high = round(middle - 0.1, 1), round(middle + 0.1, 1)
    return np.array([middle, *([low, high] * 500)])


NUM_ACC = {
    "NumAcc1": (np.array([10000001.0, 10000003.0, 10000002.0]), 10000002.0, 1.0),
    "NumAcc2": (alternating(1.2), 1.2, 0.1),
    "NumAcc3": (alternating(1000000.2), 1000000.2, 0.1),
    "NumAcc4": (alternating(10000000.2), 10000000.2, 0.1),
}
"""Numbers, certified mean and certified standard deviation."""


@pytest.mark.parametrize(("numbers", "mean", "deviation"), NUM_ACC.values(), ids=NUM_ACC)
def test_moments_of_numbers_that_differ_little(numbers, mean, deviation):
    """8 digits are what the rounding of the numbers to double precision leaves of NumAcc4."""
    assert digits(plain_mean(numbers).value, mean) >= 15
    spread = variance(numbers).value
    assert digits(math.sqrt(spread), deviation) >= 8
    variation = coefficient_of_variation(numbers).value
    assert digits(variation, deviation / mean) >= 8
    # The canary: sums of the numbers over their mean, but about zero, keep at most 2 digits.
    x = numbers / mean
    about_zero = max(0.0, float(np.sum(x**2) - np.sum(x) ** 2 / len(x)))
    if mean > 1e6:
        assert digits(mean * math.sqrt(about_zero / (len(x) - 1)), deviation) < 4
