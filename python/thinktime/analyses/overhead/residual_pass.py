"""What a pass over the residuals of a regression adds up, in bounded memory."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.overhead.design import Design, Rows
from thinktime.log.observations import thinned
from thinktime.stats import critical_values
from thinktime.stats.regression.bootstrap import BlockBootstrap
from thinktime.stats.regression.covariance import NeweyWest, default_lags
from thinktime.stats.regression.least_squares import Fit, LeastSquares
from thinktime.stats.regression.robust import Trimmed
from thinktime.stats.series.batch_means import Autocorrelation, Batches

__all__ = ["Accounts", "Point", "Subset", "accounts", "subsets"]

Array = NDArray[np.float64]

POINTS_MAX = 1000
CONCENTRATED_ROWS = 5
CORRELATION_LAGS = 24
SAMPLE_ROWS = 1 << 17
"""Rows that a fit by repeated passes is made on: their sampling error is far below that of the costs."""


@dataclass(frozen=True, slots=True)
class Point:
    """One observation: target per second, as it was and as the regression has it."""

    start_us: int
    observed: float
    fitted: float
    outlier: bool


@dataclass(frozen=True, slots=True)
class Subset:
    """A part of the log fitted by itself.

    Parameters
    ----------
    start_us, end_us : int
        Start of its first and of its last interval, microseconds since 1970 UTC.
    fit : Fit
    covariance : ndarray
        Of its coefficients, by Newey and West.
    degrees : float
        Equivalent degrees of freedom of `covariance`.
    lags : int
    """

    start_us: int
    end_us: int
    fit: Fit
    covariance: Array
    degrees: float
    lags: int


@dataclass(slots=True)
class _Part:
    """Rows of one subset while they are added up; `first` and `last` count the rows kept."""

    first: int
    last: int
    rows: LeastSquares
    start_us: int = 0
    end_us: int = 0


class Accounts:
    """Everything that is added up in the pass over the residuals of the second fit."""

    def __init__(self, trimmed: Trimmed, lags: int, parts: int) -> None:
        fit, columns = trimmed.fit, trimmed.rows.columns
        every = fit.n + trimmed.outliers
        self.newey_west = NeweyWest(fit, lags, leverage=True, prewhitened=True)
        self.bootstrap = BlockBootstrap(fit, trimmed.rows.triangle()[0], rows=every)
        self.means = Batches(fit.n, columns + 1)
        self.parts = [_Part(first, last, LeastSquares(columns)) for first, last in _ends(fit.n, parts)]
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
        """Add rows, outliers among them."""
        kept = self._trimmed.kept(rows.x, rows.y)
        residuals = self._trimmed.residuals(rows.x, rows.y)
        self._show(rows, residuals, kept)
        drawn = _within(self._drawn, self._seen, len(kept))
        self._sample.append((rows.x[drawn], rows.y[drawn]))
        self._seen += len(kept)
        fitted, errors = rows.x * kept[:, None], residuals * kept
        carried = self._trimmed.carried(rows.x, rows.y)
        self.newey_west.absorb(fitted, errors, rows.segments, carried)
        self.bootstrap.absorb(fitted, errors, carried)
        if not kept.all():
            rows = Rows(rows.start_us[kept], rows.segments[kept], rows.x[kept], rows.y[kept])
            residuals = residuals[kept]
        if len(residuals):
            self._add(rows, residuals)

    def _add(self, rows: Rows, residuals: Array) -> None:
        x, y = rows.x, rows.y
        self.means.absorb(np.column_stack([x, y]))
        self._follow.absorb(residuals)
        self._largest = max(self._largest, float(np.abs(y).max()))
        # Column j of X (X'X)^-1 is what each row adds to coefficient j, up to its residual.
        weights = (x @ self._trimmed.fit.unscaled_covariance) ** 2
        self._weights += weights.sum(axis=0)
        joined = np.vstack([self._most, weights])
        place = max(0, len(joined) - CONCENTRATED_ROWS)
        self._most = np.partition(joined, place, axis=0)[place:]
        for part in self.parts:
            low, high = max(part.first - self._used, 0), min(part.last - self._used, len(y))
            if low < high:
                if not part.rows.n:
                    part.start_us = int(rows.start_us[low])
                part.end_us = int(rows.start_us[high - 1])
                part.rows.absorb(x[low:high], y[low:high])
        self._used += len(y)

    def _show(self, rows: Rows, residuals: Array, kept: NDArray[np.bool_]) -> None:
        late = np.flatnonzero(~kept)[: POINTS_MAX - self._outliers]
        self._outliers += len(late)
        wanted = np.union1d(_within(self._shown, self._seen, len(kept)), late)
        for at in wanted.tolist():
            observed = float(rows.y[at])
            fitted = observed - float(residuals[at])
            self._points.append(Point(int(rows.start_us[at]), observed, fitted, not kept[at]))

    def concentration(self) -> Array:
        """Part of each coefficient's weights that the five rows with most have."""
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


def accounts(design: Design, keep: Sequence[int], trimmed: Trimmed, lags: int, parts: int) -> Accounts:
    """Make the pass over the residuals of `trimmed`."""
    found = Accounts(trimmed, lags, parts)
    for rows in design.rows(keep):
        found.absorb(rows)
    return found


def subsets(
    design: Design, keep: Sequence[int], trimmed: Trimmed, parts: Sequence[_Part]
) -> tuple[Subset, ...]:
    """Make the pass over the residuals of each part's own fit; empty where one has aliased columns."""
    fits = [part.rows.solve() for part in parts]
    if any(fit.aliased or fit.degrees < 1 for fit in fits):
        return ()
    sums = [NeweyWest(fit, default_lags(fit.n), leverage=True, prewhitened=True) for fit in fits]
    used = 0
    for rows in design.rows(keep):
        kept = trimmed.kept(rows.x, rows.y)
        x, y, segments = rows.x[kept], rows.y[kept], rows.segments[kept]
        for part, fit, own in zip(parts, fits, sums, strict=True):
            inside = slice(max(part.first - used, 0), max(min(part.last - used, len(y)), 0))
            own.absorb(x[inside], y[inside] - x[inside] @ fit.coefficients, segments[inside])
        used += len(y)
    return tuple(_subset(part, fit, own) for part, fit, own in zip(parts, fits, sums, strict=True))


def _subset(part: _Part, fit: Fit, own: NeweyWest) -> Subset:
    lags = default_lags(fit.n)
    degrees, factor = critical_values.long_run(lags / fit.n, fit.degrees)
    return Subset(part.start_us, part.end_us, fit, own.covariance() * factor, degrees, lags)


def _ends(n: int, parts: int) -> list[tuple[int, int]]:
    """First row and the one after the last of each of `parts` parts as equal as can be."""
    sizes = [n // parts + (1 if part < n % parts else 0) for part in range(parts)]
    bounds = np.cumsum([0, *sizes]).tolist()
    return list(itertools.pairwise(bounds))


def _within(positions: NDArray[np.int64], first: int, count: int) -> NDArray[np.int64]:
    """Positions that lie among `count` rows from `first` on, counted from there."""
    low, high = np.searchsorted(positions, [first, first + count])
    found: NDArray[np.int64] = positions[low:high] - first
    return found
