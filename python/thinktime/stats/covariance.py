"""Covariance of regression coefficients that holds when errors are correlated or of unequal size."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from thinktime.stats.least_squares import Fit

__all__ = ["LongRunCovariance", "default_lags", "newey_west"]

Matrix = NDArray[np.float64]

LEFT_LEAST = 1e-6
"""Leverage closer to one than this is rounding error."""


def default_lags(n: int) -> int:
    """Lags that are taken into account: 1.3 sqrt(n), at most n - 1.

    The rule of Lazarus, Lewis, Stock and Watson (2018, Journal of Business and Economic Statistics 36,
    541, equation 4), longer than older rules and meant for `critical.fixed_b`: the two together cover
    at nearly the nominal rate where older rules cover too rarely.
    """
    return max(0, min(math.ceil(1.3 * math.sqrt(n)), n - 1)) if n else 0


class LongRunCovariance:
    r"""Sum of autocovariances of a vector series, streamed: memory of `lags` rows.

    .. math:: S = \Gamma_0 + \sum_{l=1}^{L} \left(1 - \frac{l}{L+1}\right)(\Gamma_l + \Gamma_l'),
              \qquad \Gamma_l = \sum_t u_t u_{t-l}'

    with Bartlett weights (Newey and West 1987, Econometrica 55, 703, equation 5), so that S is never
    negative. Computed as the sum over all windows of L + 1 rows, those that reach over the ends
    included, of the square of the window's sum, over L + 1: the same number, in time that does not
    depend on L. Products across a `gap` are left out.

    Parameters
    ----------
    columns : int
        Length of one vector.
    lags : int
        L.
    """

    def __init__(self, columns: int, lags: int) -> None:
        self.lags = lags
        self._sum = np.zeros((columns, columns))
        self._tail = np.zeros((0, columns))

    def absorb(self, rows: Matrix) -> None:
        """Add rows that follow directly on those before."""
        joined = np.vstack([self._tail, rows])
        running = np.vstack([np.zeros(joined.shape[1]), np.cumsum(joined, axis=0)])
        ends = np.arange(len(self._tail) + 1, len(joined) + 1)
        windows = running[ends] - running[np.maximum(ends - self.lags - 1, 0)]
        self._sum += windows.T @ windows / (self.lags + 1)
        self._tail = joined[max(0, len(joined) - self.lags) :]

    def gap(self) -> None:
        """Say that what follows does not follow directly: another session, or dropped intervals."""
        self._sum += self._beyond()
        self._tail = self._tail[:0]

    def value(self) -> Matrix:
        """S of all rows so far."""
        result: Matrix = self._sum + self._beyond()
        return result

    def _beyond(self) -> Matrix:
        """Windows that reach beyond the last row: they hold the last L, L - 1, ... 1 rows, or all."""
        suffixes = np.cumsum(self._tail[::-1], axis=0)
        held = np.minimum(np.arange(1, self.lags + 1), len(self._tail)) - 1
        windows = suffixes[held] if len(self._tail) else self._tail
        result: Matrix = windows.T @ windows / (self.lags + 1)
        return result


def newey_west(
    fit: Fit,
    x: Matrix,
    residuals: Matrix,
    lags: int,
    segments: NDArray[np.int64] | None = None,
    *,
    leverage: bool = False,
) -> Matrix:
    r"""Covariance of the coefficients of `fit` under autocorrelation and unequal variances.

    .. math:: V = \frac{n}{n-k} (X'X)^{-1} S (X'X)^{-1}, \qquad u_t = x_t r_t

    Parameters
    ----------
    fit : Fit
        Without aliased columns.
    x : array of shape (n, columns)
    residuals : array of shape (n,)
    lags : int
        Bandwidth L; see `default_lags`.
    segments : array of shape (n,), optional
        Rows of one unbroken stretch of time share a number.
    leverage : bool
        Divide each residual by 1 - h, h its row's leverage, instead of the factor n / (n - k). A row
        that almost alone fixes a coefficient has a residual near zero whatever its error was; so scaled
        it is the residual of the fit without that row (HC3 of MacKinnon and White 1985, Journal of
        Econometrics 29, 305). A row that quite alone fixes one has no such fit; its error is taken to be
        as large as the others', the standard deviation of the residuals.
    """
    bread = fit.unscaled_covariance
    factor = fit.n / fit.degrees
    if leverage:
        left = 1.0 - np.einsum("ij,jk,ik->i", x, bread, x)
        alone = left < LEFT_LEAST
        scaled = residuals / np.where(alone, 1.0, left)
        residuals, factor = np.where(alone, fit.residual_deviation(), scaled), 1.0
    scores = x * residuals[:, None]
    long_run = LongRunCovariance(x.shape[1], lags)
    breaks = [] if segments is None else (np.flatnonzero(np.diff(segments)) + 1).tolist()
    for first, last in itertools.pairwise([0, *breaks, len(scores)]):
        long_run.gap()
        long_run.absorb(scores[first:last])
    result: Matrix = bread @ long_run.value() @ bread * factor
    return result
