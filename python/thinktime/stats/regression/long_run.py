"""Errors of regression coefficients when the errors of rows are correlated and of unequal size."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from thinktime import _native
from thinktime.errors import InputError
from thinktime.stats import arguments
from thinktime.stats.estimate import Caveat, Estimate
from thinktime.stats.regression.least_squares import Fit
from thinktime.stats.series import spectrum

Matrix = NDArray[np.float64]

COSINES_MOST = 40
"""More cosines would narrow an interval by at most 3 %, and reach into frequencies of less interest."""
REFERENCE_ROWS = 1 << 14
"""Rows up to which the calibration is computed; with more it would change little."""
BLOCK_ROWS = 512
"""Rows whose cosines are turned from those of one block to those of the next."""
CORRELATIONS = (*np.linspace(0.0, 0.9, 10).tolist(), 0.93, 0.95, 0.97, 0.98)
"""Correlations of successive errors among which that of the reference is interpolated."""
SIZE_LEAST, SIZE_MOST = 0.25, 4.0
"""Bounds of the relative size of an error in the reference."""
SEEN_MOST = 0.9999
"""Largest correlation of successive residuals that is allowed for where there is no reference."""
SWING_SUMS = 256
"""Sums of successive residuals in which a slow swing is looked for."""
LEFT_LEAST = 1e-6
"""A leverage within this distance of one is one but for rounding."""
DETERMINING_LEAST = 4.5
"""Rows that must determine a coefficient, in effect, for it to have an interval.

Fewer do not show how large their errors are: where 2 or 3 of 80 determine one, its interval held in 84 to
92 % of samples, from 5 on in 92 to 98 %.
"""


def estimated(
    value: float, reach: float, determining: float, *, unit: str, n: int, method: str, level: float
) -> Estimate:
    """Estimate of a coefficient; without an interval where too few rows determine it.

    Parameters
    ----------
    value, reach : float
        Coefficient, and half width of its interval.
    determining : float
        See `LongRunErrors.determining`.
    unit, n, method, level
        As in `Estimate`.
    """
    if determining < DETERMINING_LEAST:
        return Estimate(
            value=value,
            unit=unit,
            n=n,
            method="least squares; no interval, for too few observations determine it",
            level=level,
            caveat=Caveat("few_determine", effective=determining),
        )
    return Estimate(
        value=value, unit=unit, n=n, method=method, level=level, low=value - reach, high=value + reach
    )


def cosines_for(n: int, columns: int = 1) -> int:
    """Number of cosines for n rows: 0.41 n^(2/3), at least two a column, at most 40 or n - 1.

    The rule of Lazarus, Lewis, Stock and Watson (2018, Journal of Business and Economic Statistics 36, 541,
    equation 5), with bounds: fewer cosines than columns would make the covariance of all coefficients
    singular.
    """
    least = 2 * columns
    return max(1, min(max(round(0.41 * math.pow(n, 2.0 / 3.0)), least), max(COSINES_MOST, least), n - 1))


class LongRunErrors:
    r"""Variances of sums of a regression's errors with given weights, streamed.

    The estimate of a coefficient is off by :math:`\sum_t w_t \varepsilon_t`, with weights that are linear in
    the columns, :math:`w_t = z_t'a`. Its variance under correlation is estimated by equally weighted
    cosines,

    .. math:: \hat V = \frac{1}{B} \sum_{b=1}^{B} \Big(\sqrt{2} \sum_t \cos\big(\pi b (t - 1/2) / n\big)\,
              w_t\, r_t / (1 - h_t)\Big)^2

    with r the residuals and h the leverages, and has about B degrees of freedom (Müller 2007, Journal of
    Econometrics 141, 1331; Lazarus, Lewis, Stock and Watson 2018, Journal of Business and Economic Statistics
    36, 541). Nothing depends on the basis or the origin of the columns.

    **Calibration.** Residuals vary less than errors do, the more so the stronger errors and columns are
    correlated. So :math:`\hat V` is multiplied by :math:`V / E[\hat V]`, and its degrees of freedom are
    :math:`2 E[\hat V]^2 / \mathrm{var}(\hat V)`, all three computed for the weights and columns at hand under
    errors of a reference: a first-order autoregression (as Bell and McCaffrey 2002, Survey Methodology 28,
    169, and Imbens and Kolesár 2016, Review of Economics and Statistics 98, 701, for independent and grouped
    errors). Its correlation is the one at which residuals would have the observed correlation, at most 0.98;
    its size is a straight line in the fitted value, by regression of the residuals' sizes over the root of
    1 - h on it.
    The estimate itself does not assume that model. Above 16384 rows only the share of the variance that the
    cosines see of an autoregression with the correlation of the residuals is allowed for: leverages are small
    then, and a reference would take as much memory as the rows.

    Memory is that of B sums per column, and of at most 16384 rows.

    Parameters
    ----------
    fit : Fit
        Without aliased columns.
    rows : int
        Number of rows to come, those that were not fitted included.
    further : int
        Number of columns of z beyond those of x.

    Raises
    ------
    InputError
        A number is out of range.
    TypeError
        An argument is of the wrong kind.
    """

    def __init__(self, fit: Fit, rows: int, further: int = 0) -> None:
        columns = len(arguments.record(fit, Fit, "fit").coefficients)
        further = arguments.whole(further, "further")
        self._fit = fit
        self._rows = arguments.whole(rows, "rows", least=2)
        self.cosines = cosines_for(self._rows, columns)
        self._sums = np.zeros((self.cosines, columns + further))
        self._seen = 0
        self._kept: list[tuple[Matrix, Matrix, Matrix]] = []
        self._reference: _Reference | None = None
        self._last, self._products, self._squares = 0.0, 0.0, 0.0
        self._weights = np.zeros((2, columns))

    def absorb(
        self, x: Matrix, residuals: Matrix, carried: Matrix | None = None, further: Matrix | None = None
    ) -> None:
        """Add rows, in the order of time.

        Parameters
        ----------
        x : array of shape (rows, columns)
            Zeros in rows that were not fitted.
        residuals : array of shape (rows,)
            Zeros there.
        carried : array of shape (rows, columns), optional
            Further contribution of each row to :math:`x_t r_t`; see `robust.Trimmed.carried`.
        further : array of shape (rows, further), optional
            Columns of z beyond those of x.

        Raises
        ------
        InputError
            There are more rows than were announced.
        """
        if self._seen + len(residuals) > self._rows:
            raise InputError(f"{self._seen + len(residuals)} rows for the {self._rows} that were announced")
        if not len(residuals):
            return
        z = x if further is None else np.column_stack([x, further])
        weights = x @ self._fit.unscaled_covariance
        left = 1.0 - np.einsum("ij,ij->i", weights, x)
        squares = weights * weights
        self._weights += [squares.sum(axis=0), (squares * squares).sum(axis=0)]
        alone = left < LEFT_LEAST
        scaled = residuals / np.where(alone, 1.0, left)
        # A row that alone determines a coefficient leaves no residual: its error is assumed of usual size.
        scaled = np.where(alone, self._fit.residual_deviation(), scaled)
        scores = z * scaled[:, None]
        if carried is not None:
            scores[:, : x.shape[1]] += carried
        self._sums += self._turned(self._seen, scores)
        self._seen += len(residuals)
        self._products += float(residuals[0]) * self._last + float(residuals[1:] @ residuals[:-1])
        self._squares += float(residuals @ residuals)
        self._last = float(residuals[-1])
        if self._rows <= REFERENCE_ROWS:
            self._kept.append((x, z, np.column_stack([residuals, left])))
            self._reference = None

    def _waves(self) -> Matrix:
        """Cosines at the rows so far: array of shape (rows, cosines)."""
        phase = (np.arange(self._seen) + 0.5) * (math.pi / self._rows)
        waves: Matrix = math.sqrt(2.0) * np.cos(np.outer(phase, np.arange(1, self.cosines + 1)))
        return waves

    def _turned(self, first: int, scores: Matrix) -> Matrix:
        r"""Cosines times the scores of the rows `first` and later: array of shape (cosines, columns).

        .. math:: \sqrt{2} \sum_t \cos(b \theta_t)\, s_t, \qquad \theta_t = \pi (t + 1/2) / n

        A row's angle is that of the first of its block and that of its place in it, so that the cosines are
        taken of as many angles as a block has rows, and then of one for each block.
        """
        step = np.arange(1, self.cosines + 1) * (math.pi / self._rows)
        inside = np.outer(step, np.arange(min(BLOCK_ROWS, len(scores))))
        cosines, sines = np.cos(inside), np.sin(inside)
        whole = len(scores) // BLOCK_ROWS * BLOCK_ROWS
        total = np.zeros((self.cosines, scores.shape[1]))
        for blocks, start in (
            (scores[:whole].reshape(-1, BLOCK_ROWS, scores.shape[1]), first),
            (scores[None, whole:], first + whole),
        ):
            rows = blocks.shape[1]
            if blocks.size:
                angles = np.outer(start + 0.5 + BLOCK_ROWS * np.arange(len(blocks)), step)[:, :, None]
                total += (np.cos(angles) * (cosines[:, :rows] @ blocks)).sum(axis=0)
                total -= (np.sin(angles) * (sines[:, :rows] @ blocks)).sum(axis=0)
        return math.sqrt(2.0) * total

    def correlation(self) -> float | None:
        """Correlation of successive errors in the reference, 0 to 0.98; None without calibration."""
        reference = self._calibration()
        return None if reference is None else reference.correlation

    def swings(self) -> bool:
        """True if the residuals show a slow swing under a quick noise; False above 16384 rows.

        The reference has no noise beside its autoregression, so that variances are then too small, above all
        that of the constant (`series.spectrum.swing`).
        """
        if not self._kept:
            return False
        residuals = np.concatenate([rest[:, 0] for _, _, rest in self._kept])
        starts = np.linspace(0, len(residuals), min(len(residuals), SWING_SUMS) + 1).astype(np.int64)[:-1]
        return spectrum.swing(np.add.reduceat(residuals, starts)) is not None

    def variance(self, weights: Matrix, *, calibrated: bool = True) -> tuple[Matrix, Matrix]:
        """Covariance of several sums, and the degrees of freedom of each variance.

        Parameters
        ----------
        weights : array of shape (columns of z, sums)
            Each column is one a.
        calibrated : bool
            False for a first look at many sums, which costs less.
        """
        projected = self._sums @ weights
        plain: Matrix = projected.T @ projected / self.cosines
        reference = self._calibration() if calibrated else None
        bound = float(min(self.cosines, self._fit.degrees))
        if reference is None:
            return plain / self._share(), np.full(len(plain), bound)
        each = [reference.moments(weight) for weight in weights.T]
        factors = np.sqrt([factor for factor, _ in each])
        return plain * np.outer(factors, factors), np.array([min(degrees, bound) for _, degrees in each])

    def _share(self) -> float:
        """Share of the variance that the cosines see of an autoregression like the residuals, of many rows.

        The mean of its spectrum at their frequencies over that at 0.
        """
        if self._rows <= REFERENCE_ROWS or self._squares <= 0.0:
            return 1.0
        rho = min(max(0.0, self._products / self._squares), SEEN_MOST)
        frequencies = np.arange(1, self.cosines + 1) * (math.pi / self._rows)
        spectrum = (1.0 - rho) ** 2 / (1.0 - 2.0 * rho * np.cos(frequencies) + rho**2)
        return float(spectrum.mean())

    def coefficients(self) -> tuple[Matrix, Matrix]:
        """Covariance of the coefficients of the fit, and the degrees of freedom of each variance."""
        weights = np.zeros((self._sums.shape[1], len(self._fit.coefficients)))
        weights[: weights.shape[1]] = self._fit.unscaled_covariance
        return self.variance(weights)

    def determining(self) -> Matrix:
        r"""Number of rows that would determine each coefficient as evenly.

        .. math:: \Big(\sum_t w_t^2\Big)^2 \Big/ \sum_t w_t^4

        with the weight w of a row's error in the coefficient.
        """
        squares, fourths = self._weights
        result: Matrix = squares**2 / np.where(fourths > 0.0, fourths, 1.0)
        return result

    def modelled(self) -> Matrix | None:
        """Variances of the coefficients if errors were those of the reference; None without calibration.

        They vary less from sample to sample than those of `coefficients`, which assume no model, and serve
        decisions that must not depend on the chance that made an interval short.
        """
        reference = self._calibration()
        if reference is None:
            return None
        return np.array([reference.modelled(weight) for weight in self._fit.unscaled_covariance.T])

    def _calibration(self) -> _Reference | None:
        if self._reference is None and self._kept:
            x, z, rest = (np.concatenate(parts) for parts in zip(*self._kept, strict=True))
            self._kept = [(x, z, rest)]
            # A residual is smaller than its error by the root of what its row leaves.
            errors = rest[:, 0] / np.sqrt(np.maximum(rest[:, 1], LEFT_LEAST))
            sizes = _sizes(x @ self._fit.coefficients, errors, (x != 0.0).any(axis=1))
            waves = self._waves()
            self._reference = _Reference(
                x, z, rest, sizes=sizes, bread=self._fit.unscaled_covariance, waves=waves
            )
        return self._reference


class _Reference:
    """Autoregression whose residuals would be correlated as the observed ones are."""

    def __init__(
        self, x: Matrix, z: Matrix, rest: Matrix, *, sizes: Matrix, bread: Matrix, waves: Matrix
    ) -> None:
        self._x, self._z, self._bread, self._sizes, self._waves = x, z, bread, sizes, waves
        residuals, left = rest.T
        self._alone = left < LEFT_LEAST
        self._scale = np.where(self._alone, 1.0, 1.0 / np.where(self._alone, 1.0, left))
        self._fitted = (x != 0.0).any(axis=1)
        self.correlation = self._matching(residuals)
        sizes = np.where(self._fitted, self._sizes, 0.0)
        self._squares = float(np.sum(residuals**2 * self._scale)) / float(np.sum(sizes**2))

    def _matching(self, residuals: Matrix) -> float:
        squares = float(residuals @ residuals)
        if squares <= 0.0:
            return 0.0
        observed = float(residuals[1:] @ residuals[:-1]) / squares
        expected: list[float] = []
        for correlation in CORRELATIONS:
            expected.append(self._expected(correlation))
            # What is beyond the first that leaves more than was observed changes nothing, and costs most.
            if expected[-1] > observed:
                break
        return float(np.interp(observed, np.maximum.accumulate(expected), CORRELATIONS[: len(expected)]))

    def _expected(self, correlation: float) -> float:
        """Correlation of successive residuals that errors of this correlation leave, by expected sums."""
        x, bread = self._x, self._bread
        smoothed = _correlated(x, correlation)
        whole = bread @ (x.T @ smoothed)
        follow = x[1:].T @ x[:-1]
        both = self._fitted[1:] & self._fitted[:-1]
        crossed = x[1:].T @ (smoothed[:-1] * both[:, None]) + x[:-1].T @ (smoothed[1:] * both[:, None])
        products = correlation * np.count_nonzero(both)
        products += float(np.trace(bread @ follow @ whole) - np.trace(bread @ crossed))
        return float(products / (np.count_nonzero(self._fitted) - float(np.trace(whole))))

    def moments(self, weight: Matrix) -> tuple[float, float]:
        """Variance of the sum over the expected estimate, and degrees of freedom of the estimate."""
        values = self._z @ weight
        direct = values * self._scale
        through = np.where(self._alone, 0.0, direct)
        # The errors reach the residuals directly and through the coefficients.
        coefficients = self._bread @ ((self._x * through[:, None]).T @ self._waves)
        reached = self._waves * (direct * self._sizes)[:, None]
        reached -= (self._x * self._sizes[:, None]) @ coefficients
        root = _rooted(reached, self.correlation)
        products = root.T @ root
        variance = self._variance(values)
        mean = float(np.trace(products)) / len(products)
        if mean <= 0.0:
            return 1.0, 1.0
        spread = 2.0 * float(np.sum(products**2)) / len(products) ** 2
        return variance / mean, max(1.0, 2.0 * mean**2 / spread)

    def modelled(self, weight: Matrix) -> float:
        """Variance of the sum under errors of the model that are as large as the residuals say."""
        return self._squares * self._variance(self._x @ weight)

    def _variance(self, values: Matrix) -> float:
        """Variance of the sum with these weights of rows, of errors of relative size."""
        return float(np.sum(_rooted((values * self._sizes)[:, None], self.correlation) ** 2))


def _sizes(fitted: Matrix, errors: Matrix, used: NDArray[np.bool_]) -> Matrix:
    """Relative size of each row's error: a straight line in its fitted value, where one is seen."""
    size, mean = np.abs(errors[used]), float(np.mean(np.abs(errors[used])))
    spread = fitted[used] - fitted[used].mean()
    squares = float(spread @ spread)
    if mean <= 0.0 or squares <= 0.0:
        return np.ones(len(fitted))
    line = 1.0 + float(spread @ size) / squares / mean * (fitted - fitted[used].mean())
    result: Matrix = np.clip(line, SIZE_LEAST, SIZE_MOST)
    return result


def _correlated(columns: Matrix, correlation: float) -> Matrix:
    """Product of the correlation matrix of a first-order autoregression with some columns."""
    if correlation == 0.0:
        return columns
    before, after = _recursion(columns, correlation), _recursion(columns[::-1], correlation)[::-1]
    result: Matrix = before + after - columns
    return result


def _rooted(columns: Matrix, correlation: float) -> Matrix:
    """Product of the transposed Cholesky root of the same matrix with some columns, its rows in reverse.

    A row is what the innovation at its time moves: sqrt(1 - r^2) times the sum of the column's values from
    there on, each times r for every row in between; the first innovation is the first error itself.
    """
    if correlation == 0.0:
        return columns
    sums = _recursion(columns[::-1], correlation)
    sums[:-1] *= math.sqrt(1.0 - correlation**2)
    return sums


def _recursion(columns: Matrix, correlation: float) -> Matrix:
    """Rows of some columns, each with `correlation` times the row of the result before it.

    `scipy.signal.lfilter` gives the same bits, and takes longer to load than a short log to analyse.
    """
    sums = _native.recursion(columns.shape[1], correlation, columns.astype(np.float64).tobytes())
    return np.frombuffer(bytearray(sums), dtype=np.float64).reshape(columns.shape)
