"""Order statistics of values that are read in pieces are those of all values sorted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thinktime.errors import InputError
from thinktime.stats import ordered
from thinktime.stats.ordered import order_statistics

NUMBERS = st.lists(st.floats(allow_nan=False), min_size=1, max_size=60)


def in_pieces(values, rows):
    return lambda: (values[first : first + rows] for first in range(0, len(values), rows))


@settings(deadline=None)
@given(values=NUMBERS, rows=st.integers(1, 70), kept=st.sampled_from([0, 1, 5, 1 << 20]))
def test_every_place_has_its_value(values, rows, kept):
    """However few values may be kept: without any, they are counted to their last bit."""
    data = np.array(values)
    places = list(range(len(data)))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ordered, "KEPT_MOST", kept)
        assert order_statistics(in_pieces(data, rows), places) == np.sort(data).tolist()


def test_places_of_many_values_with_ties(monkeypatch):
    monkeypatch.setattr(ordered, "KEPT_MOST", 1000)
    data = np.random.default_rng(4).lognormal(0.0, 2.0, 50_000)
    data[::3] = 1.5
    places = [0, 24_999, 25_000, 49_499, 49_999, 25_000]
    assert order_statistics(in_pieces(data, 777), places) == np.sort(data)[places].tolist()


def test_memory_holds_no_more_than_some_of_the_values(monkeypatch):
    """The canary of the test above: with so few values kept, sorting all at once is not how it was done."""
    monkeypatch.setattr(ordered, "KEPT_MOST", 1000)
    sizes = []
    sort = np.sort
    monkeypatch.setattr(ordered.np, "sort", lambda values: sizes.append(len(values)) or sort(values))
    data = np.random.default_rng(5).random(100_000)
    assert order_statistics(in_pieces(data, 9_999), [50_000]) == [sort(data)[50_000]]
    assert sizes
    assert max(sizes) <= 1000


@pytest.mark.parametrize("place", [-1, 3])
def test_a_place_without_a_value_is_refused(place):
    with pytest.raises(InputError, match="places holds"):
        order_statistics(in_pieces(np.arange(3.0), 2), [place])
