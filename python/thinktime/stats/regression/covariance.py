"""Covariance of regression coefficients whose errors are correlated or of unequal variance."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from thinktime.stats import arguments
from thinktime.stats.regression.least_squares import Fit

Matrix = NDArray[np.float64]

LEFT_LEAST = 1e-6
"""A leverage within this distance of one is one but for rounding."""


def default_lags(n: int) -> int:
    """Number of lags for n rows: 1.3 sqrt(n), at most n - 1.

    The rule of Lazarus, Lewis, Stock and Watson (2018, Journal of Business and Economic Statistics 36,
    541, equation 4), longer than older rules and meant for `critical_values.fixed_b`: together they
    cover at nearly the nominal rate, where older rules cover too rarely.
    """
    return max(0, min(math.ceil(1.3 * math.sqrt(n)), n - 1)) if n else 0


class LongRunCovariance:
    r"""Sum of autocovariances of a vector series, streamed: memory of `lags` rows.

    .. math:: S = \Gamma_0 + \sum_{l=1}^{L} \left(1 - \frac{l}{L+1}\right)(\Gamma_l + \Gamma_l'),
              \qquad \Gamma_l = \sum_t u_t u_{t-l}'

    with Bartlett weights (Newey and West 1987, Econometrica 55, 703, equation 5), so that S is never
    negative. Computed as the sum over all windows of L + 1 rows, those that reach over the ends
    included, of the square of the window's sum, over L + 1: the same value, in time that does not depend
    on L. Products across a `gap` are left out.

    Parameters
    ----------
    columns : int
        Length of one vector.
    lags : int
        L.
    """

    def __init__(self, columns: int, lags: int) -> None:
        columns = arguments.whole(columns, "columns", least=1)
        self.lags = arguments.whole(lags, "lags")
        self._sum = np.zeros((columns, columns))
        self._tail = np.zeros((0, columns))

    def absorb(self, rows: Matrix) -> None:
        """Add rows that directly follow those before."""
        joined = np.vstack([self._tail, rows])
        running = np.vstack([np.zeros(joined.shape[1]), np.cumsum(joined, axis=0)])
        ends = np.arange(len(self._tail) + 1, len(joined) + 1)
        windows = running[ends] - running[np.maximum(ends - self.lags - 1, 0)]
        self._sum += windows.T @ windows / (self.lags + 1)
        self._tail = joined[max(0, len(joined) - self.lags) :]

    def gap(self) -> None:
        """Begin a new segment: the next rows do not directly follow those before."""
        self._sum += self._beyond()
        self._tail = self._tail[:0]

    def value(self) -> Matrix:
        """Matrix S of all rows so far."""
        result: Matrix = self._sum + self._beyond()
        return result

    def _beyond(self) -> Matrix:
        """Contribution of windows beyond the last row, which hold the last L, L - 1, ... 1 rows, or all."""
        suffixes = np.cumsum(self._tail[::-1], axis=0)
        result: Matrix = suffixes.T @ suffixes
        if len(suffixes):
            result = result + (self.lags - len(suffixes)) * np.outer(suffixes[-1], suffixes[-1])
        return result / (self.lags + 1)


class NeweyWest:
    r"""Covariance of coefficients under autocorrelation and unequal variances, streamed.

    .. math:: V = \frac{n}{n-k} (X'X)^{-1} S (X'X)^{-1}, \qquad u_t = x_t r_t

    Memory is that of `lags` rows. Rows come in the order of time.

    Parameters
    ----------
    fit : Fit
        Without aliased columns.
    lags : int
        Bandwidth L; see `default_lags`.
    leverage : bool
        Divide each residual by 1 - h, h its row's leverage, instead of the factor n / (n - k). A row
        that almost alone determines a coefficient has a residual near zero whatever its error; so scaled
        it is the residual of the fit without that row (HC3 of MacKinnon and White 1985, Journal of
        Econometrics 29, 305). For a row that alone determines one there is no such fit; its error is taken
        to be the standard deviation of the residuals.
    """

    def __init__(self, fit: Fit, lags: int, *, leverage: bool = False) -> None:
        columns = len(arguments.record(fit, Fit, "fit").coefficients)
        self._fit = fit
        self._leverage = leverage
        self._long_run = LongRunCovariance(columns, lags)
        self._segment: int | None = None

    def absorb(
        self,
        x: Matrix,
        residuals: Matrix,
        segments: NDArray[np.int64] | None = None,
        carried: Matrix | None = None,
    ) -> None:
        """Add rows that were fitted.

        Parameters
        ----------
        x : array of shape (rows, columns)
        residuals : array of shape (rows,)
        segments : array of shape (rows,), optional
            Rows of one unbroken stretch of time share a number, also from one call to the next; without
            it all rows are one stretch.
        carried : array of shape (rows, columns), optional
            Further contribution of each row to u; see `robust.Trimmed.carried`. Rows that were not fitted
            are zeros in x and residuals.
        """
        if not len(residuals):
            return
        numbers = np.zeros(len(residuals), dtype=np.int64) if segments is None else segments
        scores = x * self._scaled(x, residuals)[:, None]
        if carried is not None:
            scores = scores + carried
        breaks = (np.flatnonzero(np.diff(numbers)) + 1).tolist()
        for first, last in itertools.pairwise([0, *breaks, len(scores)]):
            if self._segment is not None and numbers[first] != self._segment:
                self._long_run.gap()
            self._long_run.absorb(scores[first:last])
            self._segment = int(numbers[first])

    def covariance(self) -> Matrix:
        """Covariance V of the coefficients from all rows so far."""
        bread = self._fit.unscaled_covariance
        factor = 1.0 if self._leverage else self._fit.n / self._fit.degrees
        result: Matrix = bread @ self._long_run.value() @ bread * factor
        return result

    def _scaled(self, x: Matrix, residuals: Matrix) -> Matrix:
        if not self._leverage:
            return residuals
        left = 1.0 - np.einsum("ij,ij->i", x @ self._fit.unscaled_covariance, x)
        alone = left < LEFT_LEAST
        scaled = residuals / np.where(alone, 1.0, left)
        result: Matrix = np.where(alone, self._fit.residual_deviation(), scaled)
        return result
