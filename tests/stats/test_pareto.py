"""Pareto-maximal points against the definition (Bard 1971, Figure 6), in one to five dimensions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from thinktime.stats import frontier
from thinktime.stats.frontier import ParetoSet, dominated, maximal


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
    for result in (streamed, merged):
        assert result.positions.tolist() == maximal(points).tolist()
        assert result.n == len(points)
        np.testing.assert_array_equal(result.points, points[result.positions])


def test_dominated_is_at_most_equal_everywhere():
    points = np.array([[1.0, 1.0], [2.0, 0.0], [0.0, 3.0]])
    assert dominated(points, np.array([[1.0, 2.0]])).tolist() == [True, False, False]


@pytest.mark.parametrize("points", [[[1.0, np.nan]], [1.0, 2.0]])
def test_points_that_cannot_be_compared_are_refused(points):
    with pytest.raises(ValueError, match=r"holds nan|one point per row"):
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


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 6).flatmap(tables), st.integers(0, 60))
def test_dominated_is_the_definition(points, cut):
    below, above = points[:cut], points[cut:]
    expected = [bool((above >= point).all(axis=1).any()) for point in below]
    assert dominated(below, above).tolist() == expected


@pytest.mark.parametrize(("dimensions", "expected"), [(2, 7.485), (3, 28.8), (4, 76.0)])
def test_the_number_of_maxima_is_that_of_independent_points(dimensions, expected):
    """Of n = 1000 points with independent coordinates E = sum over k of E' / k, H(n) in two dimensions.

    (Barndorff-Nielsen and Sobel 1966, Theory Prob. Appl. 11, 249.) Mean of 400 sets within four standard
    errors of the recursion: 6 false alarms in 100 000. In two dimensions one point too many would be seen.
    """
    number = np.ones(1000)
    for _ in range(dimensions - 1):
        number = np.cumsum(number / np.arange(1, 1001))
    assert number[-1] == pytest.approx(expected, rel=0.01)
    random = np.random.default_rng(dimensions)
    result = np.array([len(maximal(random.random((1000, dimensions)))) for _ in range(400)])
    error = result.std(ddof=1) / 20.0
    assert abs(result.mean() - number[-1]) < 4.0 * error
    assert dimensions > 2 or abs(result.mean() + 1.0 - number[-1]) > 4.0 * error


def test_one_dimension_one_point_and_none():
    assert maximal([[3.0], [7.0], [7.0], [1.0]]).tolist() == [1]
    assert maximal([[-np.inf, -np.inf]]).tolist() == [0]
    assert maximal(np.zeros((0, 3))).tolist() == []
    assert maximal(np.zeros((4, 0))).tolist() == [0]
    assert maximal([[0.0, 1.0], [-0.0, 1.0], [-0.0, 2.0]]).tolist() == [2]


def test_what_is_no_point_is_refused_and_what_came_before_it_stays():
    stream = ParetoSet(2)
    with pytest.raises(ValueError, match="point 2 holds nan"):
        stream.absorb([[1.0, 2.0], [0.0, 0.0], [np.nan, 9.0]])
    assert stream.n == 2
    assert stream.positions.tolist() == [0]
    with pytest.raises(ValueError, match="dimensions is 0"):
        ParetoSet(0)
    with pytest.raises(ValueError, match="give a set of 2"):
        stream.merge(ParetoSet(3))
    with pytest.raises(ValueError, match="as many columns"):
        dominated(np.zeros((1, 2)), np.zeros((1, 3)))


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 40), st.integers(0, 10**6))
def test_the_staircase_is_the_least_falling_curve_and_below_the_hull(n, seed):
    points = np.random.default_rng(seed).integers(0, 8, (n, 2)).astype(float)
    steps, hull = frontier.staircase(points), frontier.concave_hull(points)
    assert (np.diff(steps[:, 0]) >= 0).all()
    assert (np.diff(steps[:, 1]) <= 0).all()
    for x in np.unique(points[:, 0]):
        best = points[points[:, 0] >= x, 1].max()
        assert steps[np.searchsorted(steps[:, 0], x), 1] == best
    assert frontier.area(steps) <= frontier.area(hull) + 1e-9


def test_the_radius_and_the_chord_of_a_known_curve():
    hull = np.array([[0.0, 3.0], [1.0, 3.0], [4.0, 0.0]])
    angles = np.array([0.0, np.arctan2(2.0, 2.0), np.arctan2(3.0, 1.0), np.pi / 2])
    np.testing.assert_allclose(
        frontier.radius(hull, angles), [4.0, np.hypot(2, 2), np.hypot(1, 3), 3.0], rtol=1e-12
    )
    assert frontier.chord(hull, 1.0, 4.0) == 1.0
    assert frontier.chord(hull, 0.0, 1.0) == 0.0
    assert np.isnan(frontier.chord(hull, 3.5, 9.0))
    square = np.array([[0.0, 2.0], [2.0, 2.0]])
    np.testing.assert_allclose(
        frontier.radius(square, np.array([0.0, np.pi / 4, np.pi / 2])), [2.0, np.sqrt(8.0), 2.0]
    )
