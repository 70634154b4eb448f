"""Intervals of 95 % hold the true value in 93 to 97 % of experiments, measured against a known mean."""

import numpy as np
import pytest
from scipy import stats

from thinktime.models.queueing.networks import machine_repairman
from thinktime.sources.simulated import simulate
from thinktime.stats.series.batch_means import batch_ratio, plain_mean

EXPERIMENTS = 1500
"""A true coverage of 95 % is then measured outside 93 to 97 % with a probability of 4e-4 (binomial)."""
LOW, HIGH = 0.93, 0.97
NORMAL_LEVEL = 1.0 - 2.0 * stats.t.sf(1.96, 5)
TRUE = machine_repairman(35, 20.0, 0.5)


def repairmen(length, replications, seed):
    return simulate(
        "network",
        {
            "users": 35,
            "think": {"kind": "exponential", "mean": 20.0},
            "stations": [
                {"name": "cpu", "discipline": "fcfs", "service": {"kind": "exponential", "mean": 0.5}}
            ],
            "length": length,
            "warm_up": 200.0,
        },
        seed=seed,
        replications=replications,
    )


def coverage(intervals, value):
    """Share of the intervals that hold the value."""
    return np.mean([interval.low <= value <= interval.high for interval in intervals])


@pytest.fixture(scope="module")
def replicated():
    """As many experiments of six replications each."""
    return repairmen(1000.0, 6 * EXPERIMENTS, seed=95).responses


@pytest.mark.parametrize(
    ("response", "figure"),
    [("mean_response_s", "response_s"), ("mean_present", "number"), ("throughput_per_s", "throughput_per_s")],
)
def test_intervals_by_replications_cover(replicated, response, figure):
    experiments = replicated[response].to_numpy().reshape(EXPERIMENTS, 6)
    assert LOW <= coverage(map(plain_mean, experiments), TRUE[figure]) <= HIGH
    # The canary: 1.96 standard errors are too few with six replications.
    normal = (plain_mean(one, NORMAL_LEVEL) for one in experiments)
    assert not LOW <= coverage(normal, TRUE[figure]) <= HIGH


def test_intervals_by_batch_means_cover():
    runs = repairmen(8_000.0, EXPERIMENTS, seed=96)
    series = [runs.batch_means(index) for index in range(EXPERIMENTS)]
    assert LOW <= coverage(map(batch_ratio, series), TRUE["response_s"]) <= HIGH
    # The canary: the same observations as if each were independent of the one before.
    assert not LOW <= coverage(map(plain_mean, series), TRUE["response_s"]) <= HIGH
