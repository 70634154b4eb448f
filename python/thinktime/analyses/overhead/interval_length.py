"""Whether costs depend on the length of the interval: a test for a request that was left out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thinktime.stats import critical_values
from thinktime.stats.hypothesis import SignificanceTest, adjusted
from thinktime.stats.regression.least_squares import Fit, LeastSquares
from thinktime.stats.regression.long_run import LongRunErrors

Array = NDArray[np.float64]

JOINED = (2, 4, 8)
"""Numbers of successive intervals that are joined."""


class JoinedIntervals:
    r"""Costs of the regression on 2, 4 and 8 intervals joined, and tests that they are those on single ones.

    If everything that costs time is in the regression, joining m intervals changes the costs only by chance.
    A request that was left out changes them where it follows the others on another scale of time than the
    interval's. With :math:`\bar x_t` the mean over the m intervals that t is joined with,

    .. math:: b_m - b = \sum_t \Big(\Big(\sum \bar x \bar x'\Big)^{-1} \bar x_t - (X'X)^{-1} x_t\Big)
              \varepsilon_t

    whose variance is that of `LongRunErrors`: both costs are from the same intervals and the same errors.
    Only intervals of one unbroken stretch are joined; the last of a stretch may be fewer.

    Parameters
    ----------
    fit : Fit
        Of single intervals.
    """

    def __init__(self, fit: Fit) -> None:
        columns = len(fit.coefficients)
        self._fit = fit
        self._errors = LongRunErrors(fit, fit.n, further=len(JOINED) * columns)
        self._rows = [LeastSquares(columns) for _ in JOINED]
        self._waiting: tuple[Array, Array, NDArray[np.int64]] = (
            np.zeros((0, columns)),
            np.zeros(0),
            np.zeros(0, dtype=np.int64),
        )
        self._last: tuple[int, int] | None = None

    def absorb(self, x: Array, residuals: Array, segments: NDArray[np.int64]) -> None:
        """Add rows that were fitted, in the order of time."""
        if not len(residuals):
            return
        rows = np.arange(len(residuals))
        begins = np.concatenate([[True], np.diff(segments) != 0])
        places = rows - np.maximum.accumulate(np.where(begins, rows, 0))
        if self._last is not None and self._last[0] == int(segments[0]):
            places[segments == segments[0]] += self._last[1] + 1
        self._last = (int(segments[-1]), int(places[-1]))
        held_x, held_residuals, held_places = self._waiting
        x, residuals = np.vstack([held_x, x]), np.concatenate([held_residuals, residuals])
        places = np.concatenate([held_places, places])
        # Rows from the last start of a longest interval on wait for the others of it.
        end = int(np.flatnonzero(places % JOINED[-1] == 0)[-1])
        self._waiting = (x[end:], residuals[end:], places[end:])
        self._add(x[:end], residuals[:end], places[:end])

    def _add(self, x: Array, residuals: Array, places: NDArray[np.int64]) -> None:
        """Add rows of whole intervals, given their places in the stretch."""
        if not len(residuals):
            return
        means = [_means(x, np.flatnonzero(places % size == 0)) for size in JOINED]
        for rows, mean in zip(self._rows, means, strict=True):
            rows.absorb(mean, residuals)
        self._errors.absorb(x, residuals, further=np.hstack(means))

    def tests(self, hypotheses: list[str]) -> tuple[Array, tuple[SignificanceTest, ...]]:
        """Costs by number of joined intervals, and a test of each cost, when all rows have been added.

        The costs have the shape (columns, 3), nan where intervals joined do not determine them. p of a cost
        is three times the least of its three (Bonferroni), adjusted over all costs (Holm).
        """
        self._add(*self._waiting)
        columns = len(self._fit.coefficients)
        fits = [rows.solve() for rows in self._rows]
        bread = self._fit.unscaled_covariance
        changes, least = np.full((columns, len(JOINED)), np.nan), np.ones(columns)
        statistics = np.zeros(columns)
        for place, fit in enumerate(fits):
            if fit.aliased:
                continue
            weights = np.zeros(((1 + len(JOINED)) * columns, columns))
            weights[:columns] = -bread
            first = (1 + place) * columns
            weights[first : first + columns] = fit.unscaled_covariance
            covariance, degrees = self._errors.variance(weights)
            changes[:, place] = fit.coefficients
            for column, variance in enumerate(np.diagonal(covariance).tolist()):
                f = float(fit.coefficients[column]) ** 2 / variance if variance > 0.0 else 0.0
                p = critical_values.f_tail(f, 1.0, float(degrees[column]))
                if p < least[column]:
                    least[column], statistics[column] = p, f
        single = [
            SignificanceTest(
                hypothesis=hypothesis,
                statistic=float(f),
                p=min(1.0, len(JOINED) * float(p)),
                n=self._fit.n,
                method="F of the change in the cost with 2, 4 or 8 intervals joined, long-run variance",
            )
            for hypothesis, f, p in zip(hypotheses, statistics, least, strict=True)
        ]
        return self._fit.coefficients[:, None] + changes, tuple(adjusted(single))


def _means(x: Array, starts: NDArray[np.int64]) -> Array:
    """Each row's mean with the rows that it is joined with, which begin at `starts`."""
    counts = np.diff([*starts.tolist(), len(x)])
    means: Array = np.repeat(np.add.reduceat(x, starts, axis=0) / counts[:, None], counts, axis=0)
    return means
