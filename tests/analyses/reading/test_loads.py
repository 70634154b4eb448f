"""Gaps in the samples, ranges of load, and interactions by interval."""

import numpy as np
import pytest
from known_logs import instants, starts, steady

from thinktime.log import interactions, loads, observations


def test_gaps_part_the_samples_into_segments(log_of):
    made = steady(20)
    later = starts(made["length_s"][10:], first_s=1e5)
    made["start"] = made["start"][:10].append(later)
    made["length_s"][4] = 0.0
    seen = observations.read(log_of(made), ["forks", "no_such_column"])
    assert seen.dropped == 1
    # The row without a length leaves a hole as long as itself: nothing; the jump is a gap.
    assert seen.segments.tolist() == [0] * 9 + [1] * 10
    assert np.isnan(seen.columns["no_such_column"]).all()


@pytest.mark.parametrize(
    ("values", "width", "expected"),
    [
        ([1, 2, 3, 0], None, [(0, 0), (1, 1), (2, 2), (3, 3)]),
        ([1, 2, 3, 4, 27, 28], 2, [(1, 2), (3, 4), (27, 28)]),
        # They are named after the loads that occurred in them, unless a width is asked for.
        ([1, 30], None, [(1, 1), (30, 30)]),
        ([1, 2, 99, 100], None, [(1, 2), (99, 100)]),
        ([1, 1000], 50, [(1, 50), (951, 1000)]),
    ],
)
def test_ranges_of_load_start_at_one_and_number_twenty_at_most(values, width, expected):
    found = loads.ranges(np.array(values, dtype=float), width)
    assert [(part.low, part.high) for part in found] == expected
    assert sorted(row for part in found for row in part.rows) == list(range(len(values)))


def test_unknown_loads_belong_to_no_range():
    found = loads.ranges(np.array([np.nan, 2.0]))
    assert [part.rows.tolist() for part in found] == [[1]]
    assert loads.ranges(np.array([np.nan])) == ()


def test_interactions_fall_into_the_intervals_in_which_they_ended(log_of):
    length = np.full(5, 10.0)
    samples = {"start": starts(length), "length_s": length, "user_s": length}
    arrivals = np.array([12.0, 14.0, 18.0, 31.0])
    made = {
        "user": ["a"] * 4,
        "class": ["x"] * 4,
        "population": [1, 1, 2, 3],
        "due": instants(arrivals),
        "completion": instants(arrivals + np.array([1.0, 7.0, 12.5, np.nan])),
    }
    log = log_of(samples, made)
    seen, found = observations.read(log, []), interactions.read(log)
    done = found.completed_in(seen)
    assert np.isnan(done[[0, 4]]).all()
    assert done[1:4].tolist() == [1.0, 1.0, 1.0]
    population = found.population_in(seen)
    assert np.isnan(population[0])
    assert population[1:3].tolist() == [1.0, 2.0]
