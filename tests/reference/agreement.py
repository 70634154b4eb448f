"""When a simulated figure agrees with theory."""

import math

from scipy import stats

FALSE_ALARM = 1e-4
"""Chance that a comparison of a right simulation with a right theory fails, for a seed not tried before."""


def distance(simulated, response, expected, error=0.0):
    """How far the mean over replications is from what is expected, in units of what is allowed.

    H0: the replications are a sample of a distribution with the mean `expected`, which is itself known with
    the standard error `error`. Replications are so long that their means are about normal, hence Student's t:
    below 1 but for a false alarm of 1e-4.
    """
    values = simulated.responses[response].to_numpy()
    spread = math.hypot(values.std(ddof=1) / math.sqrt(len(values)), error)
    allowed = stats.t.isf(FALSE_ALARM / 2, len(values) - 1) * spread
    return abs(values.mean() - expected) / allowed


def assert_agrees(simulated, expected):
    """All responses in `expected` agree."""
    far = {name: distance(simulated, name, value) for name, value in expected.items()}
    assert max(far.values()) < 1.0, far


def assert_differs(simulated, expected):
    """The canary: a theory that is wrong must be noticed."""
    far = {name: distance(simulated, name, value) for name, value in expected.items()}
    assert max(far.values()) > 1.0, far
