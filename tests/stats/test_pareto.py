"""Pareto-maximal points against the definition (Bard 1971, Figure 6), in one to five dimensions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from thinktime.stats import frontier
from thinktime.stats.bootstrap import block_presence
from thinktime.stats.pareto import ParetoSet, dominated, layers, maximal


def tables(dimensions, most=60):
    # Few distinct values, so that equal points and equal coordinates are common.
    values = st.sampled_from([-1.5, 0.0, 1.0, 2.0, 3.0, 1e300, -np.inf, np.inf])
    return st.integers(0, most).flatmap(lambda n: arrays.arrays(np.float64, (n, dimensions), elements=values))


def by_definition(points):
    """Not dominated by another; of equal points the first."""
    kept = []
    for i, point in enumerate(points):
        over = [j for j, other in enumerate(points) if j != i and (other >= point).all()]
        if all((points[j] == point).all() and j > i for j in over):
            kept.append(i)
    return kept


def bards_algorithm(points):
    """Bard 1971, word for word: the stream of candidates."""
    candidates = []
    for i, point in enumerate(points):
        if any((points[c] >= point).all() for c in candidates):
            continue
        candidates = [c for c in candidates if not (point >= points[c]).all()] + [i]
    return sorted(candidates)


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 5).flatmap(tables))
def test_maximal_is_the_definition_and_bards_algorithm(points):
    expected = by_definition(points)
    assert maximal(points).tolist() == expected
    assert bards_algorithm(points) == expected


@pytest.mark.parametrize("dimensions", [2, 3, 4])
@pytest.mark.parametrize("rounded", [True, False])
def test_many_points_agree_with_the_stream_of_candidates(dimensions, rounded):
    """Enough points that the ones below a few large ones are dropped first."""
    points = np.random.default_rng(dimensions).normal(size=(3000, dimensions))
    points = points.round(1) if rounded else points
    assert maximal(points).tolist() == bards_algorithm(points)


@settings(max_examples=60, deadline=None)
@given(tables(3), st.lists(st.integers(0, 60), max_size=4))
def test_streamed_and_merged_sets_are_that_of_the_whole(points, cuts):
    parts = np.split(points, sorted(min(cut, len(points)) for cut in cuts))
    streamed, merged = ParetoSet(3), ParetoSet(3)
    for part in parts:
        streamed.absorb(part)
        single = ParetoSet(3)
        single.absorb(part)
        merged.merge(single)
    for found in (streamed, merged):
        assert found.positions.tolist() == maximal(points).tolist()
        assert found.n == len(points)
        np.testing.assert_array_equal(found.points, points[found.positions])


def test_layers_peel_off_one_frontier_after_another():
    points = np.random.default_rng(1).random((100, 2))
    expected, left = [], np.arange(100)
    for _ in range(3):
        on = by_definition(points[left])
        expected += left[on].tolist()
        left = np.delete(left, on)
    assert layers(points, 3).tolist() == sorted(expected)
    assert len(layers(points, 1000)) == 100


def test_dominated_is_at_most_equal_everywhere():
    points = np.array([[1.0, 1.0], [2.0, 0.0], [0.0, 3.0]])
    assert dominated(points, np.array([[1.0, 2.0]])).tolist() == [True, False, False]


@pytest.mark.parametrize("points", [[[1.0, np.nan]], [1.0, 2.0]])
def test_points_that_cannot_be_compared_are_refused(points):
    with pytest.raises(ValueError, match=r"nan|table of rows"):
        maximal(points)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 40), st.integers(0, 10**6), st.booleans())
def test_the_hull_is_concave_above_all_points_and_falls(n, seed, rounded):
    points = np.random.default_rng(seed).random((n, 2)) * 10
    points = points.round() if rounded else points
    hull = frontier.concave_hull(points)
    heights = frontier.height(hull, points[:, 0])
    assert (heights >= points[:, 1] - 1e-9).all()
    assert (np.diff(hull[:, 1]) <= 1e-12).all()
    steps = np.diff(hull, axis=0)
    slopes = steps[:, 1] / steps[:, 0]
    assert (np.diff(slopes) <= 1e-9).all()
    # Least: every vertex but the first is a point, so nothing can be cut off.
    assert all((points == vertex).all(axis=1).any() for vertex in hull[1:])


def test_slopes_are_those_of_the_falling_pieces():
    hull = frontier.concave_hull(np.array([[1.0, 10.0], [3.0, 8.0], [4.0, 2.0], [2.0, 2.0]]))
    assert frontier.slopes(hull).tolist() == [[1.0, 3.0, -1.0], [3.0, 4.0, -6.0]]
    with pytest.raises(ValueError, match="at least one point"):
        frontier.concave_hull(np.zeros((0, 2)))


def test_a_block_resample_holds_two_thirds_of_the_points():
    """P(in) = 1 - (1 - block/n)^(n/block), about 0.64; 200 resamples of 100 points, +-0.02 (six errors)."""
    random, n, block = np.random.default_rng(2), 1000, 10
    positions = np.arange(100, 900, 8)
    share = np.mean([block_presence(positions, n, block, random).mean() for _ in range(200)])
    starts = n - block + 1
    assert share == pytest.approx(1 - (1 - block / starts) ** (n // block), abs=0.02)
