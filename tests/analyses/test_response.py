"""Response times and throughput, where sessions lie apart."""

import numpy as np
import pytest
from known_logs import EPOCH_US, frame, instants

from thinktime.analyses import response
from thinktime.log import Log, LogWriter, vocabulary

GAP_S = 36_000.0
"""Between two sessions, in which nobody plays."""
N, EVERY_S, RESPONSE_S = 400, 0.5, 0.3


def write_session(path, number):
    """One interaction each half second, of three users."""
    first = number * GAP_S
    start = EPOCH_US + round(first * 1e6)
    arrival = first + EVERY_S * np.arange(N)
    made = {
        "user": [f"user:{at % 3}" for at in range(N)],
        "population": [3] * N,
        "arrival": instants(arrival),
        "completion": instants(arrival + RESPONSE_S),
    }
    with LogWriter.open(path, "continue", source="test", machine={}, start_us=start) as writer:
        writer.write("interactions", frame(made, vocabulary("interactions")))
        writer.end_us = start + round(N * EVERY_S * 1e6)


@pytest.fixture
def log(tmp_path):
    for number in range(2):
        write_session(tmp_path / "log", number)
    return Log.open(tmp_path / "log")


def test_nobody_plays_between_two_sessions(log):
    (group,) = response.analyse(log).by_population
    assert group.throughput.value == pytest.approx(1 / EVERY_S, rel=0.01)
    assert group.response.mean.value == pytest.approx(RESPONSE_S, abs=1e-6)
    over_the_gap = 2 * N / (GAP_S + N * EVERY_S)
    assert group.throughput.value > 50 * over_the_gap
