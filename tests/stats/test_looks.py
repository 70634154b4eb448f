"""Estimates of values in pieces are those of the functions of arrays."""

import numpy as np
import pytest

from thinktime.stats.series import quantiles
from thinktime.stats.series.batch_means import autocorrelation, batch_ratio
from thinktime.stats.series.looks import Fold, Following, Looks, Ratio, Total, mean, shared
from thinktime.stats.series.quantiles import Quantiles
from thinktime.stats.series.shares import quantile_in_time

QS = (0.0, 0.25, 0.5, 0.9, 0.99, 1.0)


def in_pieces(values, rows):
    return lambda: iter([values[at : at + rows] for at in range(0, max(len(values), 1), rows)])


def some_values(kind, n=3000):
    random = np.random.default_rng(n)
    return {
        "correlated": np.cumsum(random.standard_normal(n)),
        "ties": random.integers(0, 7, n).astype(float),
        "tail": random.pareto(1.1, n),
        "equal": np.full(n, 0.25),
        "signs": np.round(random.standard_normal(n), 1) * 0.0 + np.round(random.standard_normal(n)),
    }[kind]


@pytest.mark.parametrize("kept", [1, 40, 1 << 16])
@pytest.mark.parametrize("rows", [7, 999, 3000])
@pytest.mark.parametrize("kind", ["correlated", "ties", "tail", "equal", "signs"])
def test_quantiles_are_the_same_to_the_last_bit(monkeypatch, kind, rows, kept):
    """With few places on both sides that are kept, some ends of intervals are not among them."""
    monkeypatch.setattr(quantiles, "KEPT", kept)
    if kept < 3000:
        monkeypatch.setattr(quantiles, "REACHES", (8, 4))
    values = some_values(kind)
    found = Looks(in_pieces(values, rows)).ask(Quantiles(lambda piece: piece, QS, 0.95))()
    assert found == tuple(quantile_in_time(values, q, 0.95) for q in QS)


@pytest.mark.parametrize(("reaches", "most"), [((2_000,), 3), ((2,), 4)])
def test_quantiles_take_few_looks(monkeypatch, reaches, most):
    """To count and to keep; another one or two where the ends of intervals have to be searched."""
    monkeypatch.setattr(quantiles, "REACHES", reaches)
    values, begun = some_values("tail", 40_000), []

    def pieces():
        begun.append(1)
        return in_pieces(values, 1000)()

    found = Looks(pieces).ask(Quantiles(lambda piece: piece, (0.5, 0.9), 0.95))()
    assert found == tuple(quantile_in_time(values, q, 0.95) for q in (0.5, 0.9))
    # The first finds out that there are several pieces.
    assert len(begun) == most


def test_requests_share_their_looks():
    """Two looks for what needs two, however many ask; the function that they share is called once a piece."""
    values = some_values("correlated")
    begun, calls = [], []

    def pieces():
        begun.append(1)
        return in_pieces(values, 500)()

    doubled = shared(lambda piece: (calls.append(1), 2.0 * piece)[1])
    looks = Looks(pieces)
    ratio = looks.ask(Ratio(lambda piece: (doubled(piece), np.ones_like(piece)), 0.95))
    average, follows = looks.ask(mean(doubled, 0.95)), looks.ask(Following(doubled))
    total = looks.ask(Total(doubled))
    longest = looks.ask(Fold(lambda most, piece: max(most, len(piece)), 0))
    assert ratio().value == pytest.approx(batch_ratio(2.0 * values).value, rel=1e-12)
    # One more, which finds out that there are several pieces.
    assert len(begun) == 3
    assert len(calls) == 2 * 6
    expected = batch_ratio(2.0 * values)
    assert (average().low, average().high) == pytest.approx((expected.low, expected.high), rel=1e-9)
    assert follows() == pytest.approx(autocorrelation(2.0 * values)[0], rel=1e-9)
    assert total() == (pytest.approx(2.0 * values.sum()), 3000)
    assert longest() == 500
    assert len(begun) == 3


def test_without_values_there_is_no_estimate():
    for rows in (5, 0):
        looks = Looks(in_pieces(np.zeros(2 * rows), rows or 1))
        nothing = looks.ask(Quantiles(lambda piece: piece[:0], QS, 0.95))
        assert looks.ask(mean(lambda piece: piece[:0], 0.95))() is None
        assert nothing() == ()
