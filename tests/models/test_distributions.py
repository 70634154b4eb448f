"""Moments, truncated moments and expectations of every kind of distribution, against SciPy's quadrature."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats

from thinktime.errors import InputError
from thinktime.models.distributions import distribution

EMPIRICAL = {"kind": "empirical", "values": [0, 0, 1, 3, 10], "cumulative": [0, 0.2, 0.5, 0.5, 1]}
CONTINUOUS = {
    "exponential(mean=20)": stats.expon(scale=20),
    "erlang(shape=3, mean=1.5)": stats.gamma(3, scale=0.5),
    "erlang(shape=400, mean=2)": stats.gamma(400, scale=0.005),
    "lognormal(mean=2, sd=3)": stats.lognorm(math.sqrt(math.log(3.25)), scale=2 / math.sqrt(3.25)),
    "lognormal(mean=1, sd=0.01)": stats.lognorm(math.sqrt(math.log1p(1e-4)), scale=1 / math.sqrt(1 + 1e-4)),
    "weibull(shape=0.4, scale=1)": stats.weibull_min(0.4),
    "weibull(shape=3, scale=2)": stats.weibull_min(3, scale=2),
    "bounded_pareto(shape=1.1, low=0.1, high=1000)": stats.truncpareto(1.1, 1e4, scale=0.1),
    "bounded_pareto(shape=2, low=1, high=50)": stats.truncpareto(2.0, 50.0),
    "uniform(low=1, high=4)": stats.uniform(1, 3),
}
MIXED = [
    "bounded_pareto(shape=300, low=1, high=50)",
    "hyperexponential(weights=[0.9, 0.1], means=[0.1, 5])",
    "discrete(values=[0, 1, 5], weights=[0.2, 0.5, 0.3])",
    "mixture(weights=[0.5, 0.25, 0.25], of=[exponential(mean=1), 2, uniform(low=1, high=3)])",
    EMPIRICAL,
    2.5,
]


@pytest.mark.parametrize("form", CONTINUOUS)
def test_a_continuous_distribution_is_that_of_scipy(form):
    ours, theirs = distribution(form), CONTINUOUS[form]
    x = theirs.ppf([1e-6, 0.01, 0.3, 0.5, 0.9, 0.999, 1 - 1e-9])
    assert ours.cumulative(x) == pytest.approx(theirs.cdf(x), rel=1e-9)
    assert ours.survival(x) == pytest.approx(theirs.sf(x), rel=1e-6, abs=1e-15)
    assert ours.mean == pytest.approx(theirs.mean(), rel=1e-9)
    assert ours.variance == pytest.approx(theirs.var(), rel=1e-7)
    assert ours.moment(3) == pytest.approx(theirs.moment(3), rel=1e-6)
    for upto in x[1:5:3]:
        for k in (1, 2, 3):
            points = theirs.ppf(np.linspace(0, theirs.cdf(upto), 12))
            parts = [
                integrate.quad(lambda t, k=k: t**k * theirs.pdf(t), a, b, epsabs=0, epsrel=1e-9)[0]
                for a, b in pairwise(points)
            ]
            assert ours.partial_moment(k, upto) == pytest.approx(math.fsum(parts), rel=1e-6)


@pytest.mark.parametrize("form", [*CONTINUOUS, *MIXED], ids=str)
def test_expectations_are_the_moments(form):
    ours = distribution(form)
    for k in (0, 1, 2, 3):
        assert ours.expectation(lambda x, k=k: x**k) == pytest.approx(ours.moment(k), rel=1e-9)
    # E[min(X, a)] is the integral of P(X > t) to a: two quadratures and a closed form.
    upto = np.array([0.0, 0.3, 1.0, 2.0, 7.0]) * ours.mean
    assert ours.integral(ours.survival, upto) == pytest.approx(ours.limited_moment(1, upto), rel=1e-8)
    assert ours.moment(1) == pytest.approx(float(ours.limited_moment(1, 1e9)), rel=1e-9)


def test_points_count_up_to_themselves():
    ours = distribution("discrete(values=[1, 2], weights=[0.25, 0.75])")
    assert ours.cumulative([0.5, 1.0, 1.5, 2.0]).tolist() == [0.0, 0.25, 0.25, 1.0]
    assert ours.below([1.0, 2.0]).tolist() == [0.0, 0.25]
    assert ours.survival(1.0) == 0.75
    assert ours.partial_moment(1, 1.0) == 0.25


def test_a_short_form_is_the_table():
    nested = "mixture(weights=[0.5, 0.5], of=[exponential(mean=1), 2.5])"
    table = {"kind": "mixture", "weights": [0.5, 0.5], "of": [{"kind": "exponential", "mean": 1}, 2.5]}
    assert distribution(nested) == distribution(table)
    assert distribution("0.1") == distribution(0.1) == distribution("deterministic(value=0.1)")
    assert distribution(distribution(nested)) == distribution(table)


def test_without_spread_it_is_a_point():
    for form in ("lognormal(mean=2, sd=0)", "uniform(low=2, high=2)", "discrete(values=[2], weights=[1])"):
        assert distribution(form) == distribution(2)


def test_shape_figures():
    exponential = distribution("exponential(mean=3)")
    assert (exponential.variation, exponential.skewness) == pytest.approx((1.0, 2.0))
    assert exponential.exponential
    assert not distribution("erlang(shape=2, mean=3)").exponential
    assert not distribution(3.0).exponential
    assert (distribution(3.0).variation, distribution(3.0).skewness) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("exponentail(mean=1)", "kind is 'exponentail'; give one of bounded_pareto"),
        ("exponential(men=1)", "no parameter 'men'; it has mean"),
        ("weibull(shape=1)", "needs scale"),
        ("exponential(mean=0)", "mean is 0; give a finite number above 0"),
        ("exponential(mean=-1)", "mean is -1"),
        ({"kind": "exponential", "mean": math.nan}, "mean is nan"),
        ({"kind": "exponential", "mean": "1"}, "mean is '1'"),
        ("uniform(low=3, high=1)", "high is 1; give a number from low, 3, up"),
        ("bounded_pareto(shape=1, low=0, high=1)", "low is 0"),
        ("erlang(shape=2.5, mean=1)", "whole number of stages"),
        ("hyperexponential(weights=[0.5, 0.4], means=[1, 2])", "with the sum 1"),
        ("hyperexponential(weights=[1], means=[1, 2])", "give 2 of them"),
        ("discrete(values=[], weights=[])", "give a list of numbers"),
        ("discrete(values=[-1], weights=[1])", "values[0] is -1"),
        ("mixture(weights=[1], of=[exponential(mean=-2)])", "of[0]: exponential: mean is -2"),
        ("empirical(values=[0, 1], cumulative=[0, 0.9])", "from 0 to 1"),
        ("empirical(values=[0, 2, 1], cumulative=[0, 0.5, 1])", "values that do not fall"),
        ("exponential(mean=1", "give a number of seconds or a form like"),
        ("import os", "give a number"),
        ([1, 2], "give a number of seconds or a table"),
        (-1.0, "value is -1.0"),
        (True, "True"),
    ],
)
def test_what_is_no_distribution_is_refused_by_name(bad, words):
    with pytest.raises(InputError) as refused:
        distribution(bad, "service")
    assert words in str(refused.value)
    assert str(refused.value).startswith("service")


@pytest.mark.parametrize(
    "spec",
    [
        "lognormal(mean=1, sd=2)",
        "weibull(shape=0.5, scale=1)",
        "uniform(low=0.5, high=2)",
        "bounded_pareto(shape=1.1, low=0.1, high=100)",
        "erlang(shape=3, mean=1)",
        "hyperexponential(weights=[0.9, 0.1], means=[0.1, 5])",
        "discrete(values=[0.2, 3], weights=[0.3, 0.7])",
    ],
)
def test_the_transform_is_the_mean_of_the_exponential(spec):
    """At real arguments against the quadrature of expectations, at a complex one against its sine."""
    given = distribution(spec)
    for s in (0.01, 1.0, 20.0):
        exact = given.expectation(lambda x, s=s: np.exp(-s * x))
        assert given.transform(np.array([s + 0j])).real == pytest.approx(exact, rel=1e-9)
    turned = given.expectation(lambda x: np.exp(-0.5 * x) * np.sin(3.0 * x))
    assert given.transform(np.array([0.5 + 3.0j])).imag == pytest.approx(-turned, rel=1e-8)
