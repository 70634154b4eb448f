"""What the engine draws against the distributions of the models: two implementations of one specification.

At a station at which nobody waits the response time is the service time.
"""

import math

import numpy as np
import pytest

from thinktime.models.distributions import distribution
from thinktime.sources.simulated import simulate

LIMIT = 4.5
"""Standard errors between figure and theory: a false-alarm rate of 7e-6 for each of 6 figures of 12 cases."""

FORMS = [
    "exponential(mean=20)",
    "erlang(shape=3, mean=1.5)",
    "hyperexponential(weights=[0.9, 0.1], means=[0.1, 5])",
    "lognormal(mean=2, sd=2)",
    "weibull(shape=0.7, scale=1)",
    "weibull(shape=3, scale=2)",
    "bounded_pareto(shape=1.5, low=0.1, high=20)",
    "uniform(low=1, high=4)",
    "discrete(values=[0.5, 1, 5], weights=[0.2, 0.5, 0.3])",
    {"kind": "empirical", "values": [0, 0, 1, 3, 10], "cumulative": [0, 0.2, 0.5, 0.5, 1]},
    "mixture(weights=[0.5, 0.25, 0.25], of=[exponential(mean=1), 2, uniform(low=1, high=3)])",
    "erlang(shape=40, mean=0.5)",
]
QUANTILES = {"median": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}


def distances(responses, theory):
    """Standard errors between the figures of all draws and a theory."""
    count = responses["completed"].to_numpy()
    n = count.sum()
    means, sds = responses["mean_response_s"].to_numpy(), responses["sd_response_s"].to_numpy()
    first = (means * count).sum() / n
    second = ((sds**2 * (count - 1)) + means**2 * count).sum() / n
    found = {
        "mean": abs(first - theory.mean) / math.sqrt(theory.variance / n),
        "second moment": abs(second - theory.moment(2))
        / math.sqrt((theory.moment(4) - theory.moment(2) ** 2) / n),
    }
    for name, q in QUANTILES.items():
        # Each replication's quantile is within 1 % of an observation; their mean is that of order statistics,
        # whose distribution function at the true quantile is q to within the binomial's standard error.
        value = responses[f"{name}_response_s"].to_numpy().mean()
        below, upto = theory.below(value * 0.99), theory.cumulative(value * 1.01)
        error = math.sqrt(q * (1 - q) / n)
        found[name] = float(max(below - q, q - upto, 0.0)) / error
    return found


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_draws_have_the_moments_and_quantiles_of_their_distribution(form):
    simulated = simulate(
        "network",
        {
            "arrivals": "exponential(mean=1)",
            "stations": [{"name": "away", "discipline": "delay", "service": form}],
            "length": 50_000.0,
            "warm_up": 1_000.0,
        },
        seed=1969,
        replications=8,
    )
    theory = distribution(form)
    far = distances(simulated.responses, theory)
    assert max(far.values()) < LIMIT, far
    # The canary: the same times, 3 % longer.
    longer = simulated.responses.with_columns(
        [simulated.responses[name] * 1.03 for name in simulated.responses.columns if name.endswith("_s")]
    )
    assert max(distances(longer, theory).values()) > LIMIT
    assert np.isfinite(list(far.values())).all()
