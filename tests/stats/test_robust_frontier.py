"""The frontier of order alpha holds with readings that have errors, where the plain one is too high."""

import numpy as np
import pytest
from scipy import stats

from thinktime.errors import InputError
from thinktime.stats.frontier import concave_hull, height, order_alpha

FALSE_ALARM = 1e-4
XS = (0.0, 0.2)


def loads(random, n, noise):
    """Mixtures of two kinds of work under the true frontier y = 100 (1 - x), read with relative errors."""
    mixture, reached = random.random(n), random.beta(3, 1.5, n)
    points = np.column_stack([mixture * reached, 100.0 * (1.0 - mixture) * reached])
    return points * (1.0 + noise * random.normal(size=points.shape))


@pytest.fixture(scope="module")
def truth():
    """Quantiles of a million exact loads."""
    points = loads(np.random.default_rng(1), 1_000_000, 0.0)
    return [float(np.quantile(points[points[:, 0] >= x, 1], 0.9)) for x in XS]


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.03])
@pytest.mark.parametrize("n", [400, 2000])
def test_the_robust_frontier_is_covered_whatever_the_errors_of_readings(truth, n, noise):
    """H0: coverage is 0.95 at each of two places; false alarm 1e-4."""
    random, runs, hits = np.random.default_rng([2, n]), 150, np.zeros(2)
    for _ in range(runs):
        points = loads(random, n, noise)
        for place, x in enumerate(XS):
            found = order_alpha(points, x)
            hits[place] += found.low <= truth[place] and (found.high is None or truth[place] <= found.high)
    assert (hits >= stats.binom.ppf(FALSE_ALARM / 2, runs, 0.95)).all(), hits


def test_the_plain_frontier_is_too_high_and_grows():
    """The canary: with errors of 3 % the hull is beyond the truth everywhere, and more so in a longer log."""
    random, grid = np.random.default_rng(3), np.linspace(0.1, 0.9, 9)
    excess = []
    for n in (400, 4000):
        hulls = [height(concave_hull(loads(random, n, 0.03)), grid) for _ in range(20)]
        excess.append(np.mean(hulls, axis=0) / (100.0 * (1.0 - grid)) - 1.0)
    assert (excess[1] > 0.0).all()
    assert (excess[1] > excess[0]).all()


def test_too_few_points_have_no_such_frontier():
    points = loads(np.random.default_rng(4), 99, 0.0)
    assert order_alpha(points, 0.0) is None
    with pytest.raises(InputError, match="alpha"):
        order_alpha(points, 0.0, alpha=1.5)


def test_points_that_follow_each_other_have_a_wider_interval():
    random = np.random.default_rng(5)
    points = loads(random, 2000, 0.0)
    sorted_by_load = points[np.argsort(points[:, 1])]
    alone, following = order_alpha(points, 0.0), order_alpha(sorted_by_load, 0.0)
    assert following.value == alone.value
    assert following.low < alone.low
