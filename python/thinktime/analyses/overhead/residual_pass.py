"""Sums over the residuals of a regression, in bounded memory."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.overhead.design import Design, Rows
from thinktime.analyses.overhead.interval_length import JoinedIntervals
from thinktime.analyses.overhead.result import Point
from thinktime.log.observations import thinned
from thinktime.stats.regression.bootstrap import BlockBootstrap
from thinktime.stats.regression.least_squares import Fit, LeastSquares
from thinktime.stats.regression.long_run import LongRunErrors
from thinktime.stats.regression.robust import Trimmed
from thinktime.stats.series.batch_means import Autocorrelation, Batches

Array = NDArray[np.float64]

POINTS_MAX = 1000
"""Points of the chart of observed against fitted values, thinned evenly."""
CONCENTRATED_ROWS = 5
CORRELATION_LAGS = 24
SAMPLE_ROWS = 1 << 17
"""Rows for fits by repeated passes: their sampling error is far below that of the costs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsetFit:
    """A stretch of the log fitted by itself."""

    start_us: int
    """Start of its first interval, microseconds since 1970 UTC."""
    end_us: int
    """Start of its last interval."""
    fit: Fit
    covariance: Array
    """Of its coefficients, by `LongRunErrors`."""
    degrees: Array
    """Equivalent degrees of freedom of each variance of `covariance`."""
    determining: Array
    """Intervals that determine each coefficient, in effect."""
    cosines: int


@dataclass(slots=True)
class RowStretch:
    """Sums of one subset; `first` and `last` count the rows kept."""

    first: int
    last: int
    rows: LeastSquares
    start_us: int = 0
    end_us: int = 0


class ResidualPass:
    """Sums of the pass over the residuals of the second fit."""

    def __init__(self, trimmed: Trimmed, subsets: int) -> None:
        fit, columns = trimmed.fit, trimmed.rows.columns
        every = fit.n + trimmed.outliers
        self.long_run = LongRunErrors(fit, every)
        self.joined = JoinedIntervals(fit)
        self.bootstrap = BlockBootstrap(fit, trimmed.rows.triangle()[0], rows=every)
        self.means = Batches(fit.n, columns + 1)
        self.stretches = [
            RowStretch(first, last, LeastSquares(columns)) for first, last in _ends(fit.n, subsets)
        ]
        self._trimmed = trimmed
        self._follow = Autocorrelation(CORRELATION_LAGS)
        self._largest = 0.0
        self._most: Array = np.zeros((0, columns))
        self._weights = np.zeros(columns)
        self._shown = thinned(every, POINTS_MAX)
        self._drawn = thinned(every, SAMPLE_ROWS)
        self._points: list[Point] = []
        self._outliers = 0
        self._sample: list[tuple[Array, Array]] = []
        self._seen = 0
        self._used = 0

    def absorb(self, rows: Rows) -> None:
        """Add rows, outliers included."""
        kept = self._trimmed.kept(rows.x, rows.y)
        residuals = self._trimmed.residuals(rows.x, rows.y)
        self._show(rows, residuals, kept)
        drawn = _within(self._drawn, self._seen, len(kept))
        self._sample.append((rows.x[drawn], rows.y[drawn]))
        self._seen += len(kept)
        fitted, errors = rows.x * kept[:, None], residuals * kept
        carried = self._trimmed.carried(rows.x, rows.y)
        self.long_run.absorb(fitted, errors, carried)
        self.bootstrap.absorb(fitted, errors, carried)
        if not kept.all():
            rows = rows.where(kept)
            residuals = residuals[kept]
        if len(residuals):
            self._add(rows, residuals)

    def _add(self, rows: Rows, residuals: Array) -> None:
        x, y = rows.x, rows.y
        self.means.absorb(np.column_stack([x, y]))
        self._follow.absorb(residuals)
        self.joined.absorb(x, residuals, rows.segments)
        self._largest = max(self._largest, float(np.abs(y).max()))
        # Column j of X (X'X)^-1 is what each row adds to coefficient j, up to its residual.
        weights = (x @ self._trimmed.fit.unscaled_covariance) ** 2
        self._weights += weights.sum(axis=0)
        joined = np.vstack([self._most, weights])
        place = max(0, len(joined) - CONCENTRATED_ROWS)
        self._most = np.partition(joined, place, axis=0)[place:]
        for stretch in self.stretches:
            low, high = max(stretch.first - self._used, 0), min(stretch.last - self._used, len(y))
            if low < high:
                if not stretch.rows.n:
                    stretch.start_us = int(rows.start_us[low])
                stretch.end_us = int(rows.start_us[high - 1])
                stretch.rows.absorb(x[low:high], y[low:high])
        self._used += len(y)

    def _show(self, rows: Rows, residuals: Array, kept: NDArray[np.bool_]) -> None:
        late = np.flatnonzero(~kept)[: POINTS_MAX - self._outliers]
        self._outliers += len(late)
        wanted = np.union1d(_within(self._shown, self._seen, len(kept)), late)
        for index in wanted.tolist():
            observed = float(rows.y[index])
            self._points.append(
                Point(
                    start_us=int(rows.start_us[index]),
                    observed=observed,
                    fitted=observed - float(residuals[index]),
                    outlier=not kept[index],
                )
            )

    def concentration(self) -> Array:
        """Share of the five heaviest rows in the weights of each coefficient."""
        result: Array = self._most.sum(axis=0) / self._weights
        return result

    def correlations(self) -> Array:
        """Correlation of a residual with the later ones, by lag from 1."""
        return self._follow.values(self._largest)

    def points(self) -> tuple[Point, ...]:
        """Observed and fitted, thinned evenly, outliers kept."""
        return tuple(self._points)

    def sample(self) -> tuple[Array, Array]:
        """X and y of all rows, or of as many as fit into memory, evenly spread."""
        return np.vstack([x for x, _ in self._sample]), np.concatenate([y for _, y in self._sample])


def subset_fits(
    design: Design, keep: Sequence[int], trimmed: Trimmed, stretches: Sequence[RowStretch]
) -> tuple[SubsetFit, ...]:
    """Fits of the subsets, by a pass over the residuals of each; empty where one has aliased columns."""
    fits = [stretch.rows.solve() for stretch in stretches]
    if any(fit.aliased or fit.degrees < 1 for fit in fits):
        return ()
    sums = [LongRunErrors(fit, fit.n) for fit in fits]
    used = 0
    for rows in design.rows(keep):
        kept = trimmed.kept(rows.x, rows.y)
        x, y = rows.x[kept], rows.y[kept]
        for stretch, fit, long_run in zip(stretches, fits, sums, strict=True):
            inside = slice(max(stretch.first - used, 0), max(min(stretch.last - used, len(y)), 0))
            long_run.absorb(x[inside], y[inside] - x[inside] @ fit.coefficients)
        used += len(y)
    return tuple(map(_subset_fit, stretches, fits, sums))


def _subset_fit(stretch: RowStretch, fit: Fit, long_run: LongRunErrors) -> SubsetFit:
    covariance, degrees = long_run.coefficients()
    return SubsetFit(
        start_us=stretch.start_us,
        end_us=stretch.end_us,
        fit=fit,
        covariance=covariance,
        degrees=degrees,
        determining=long_run.determining(),
        cosines=long_run.cosines,
    )


def _ends(n: int, subsets: int) -> list[tuple[int, int]]:
    """First row of each subset and the one after its last; sizes differ by one at most."""
    sizes = [n // subsets + (1 if number < n % subsets else 0) for number in range(subsets)]
    bounds = np.cumsum([0, *sizes]).tolist()
    return list(itertools.pairwise(bounds))


def _within(positions: NDArray[np.int64], first: int, count: int) -> NDArray[np.int64]:
    """Those of the positions among `count` rows from `first` on, counted from there."""
    low, high = np.searchsorted(positions, [first, first + count])
    inside: NDArray[np.int64] = positions[low:high] - first
    return inside
