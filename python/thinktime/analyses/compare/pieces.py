"""Pieces of two logs, and the means of one quantity in them at equal covariates, with their errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.compare.effects import slopes_of
from thinktime.analyses.compare.unit_means import Cell
from thinktime.stats.series.long_run import independent, long_run
from thinktime.stats.series.standardised import Mean, difference

_Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """Pieces of a log in order of time."""

    cells: tuple[Cell, ...]
    parts: tuple[tuple[Cell, ...], ...]
    """Parts of each piece in order of time; none of days, which count as independent."""
    middles_us: NDArray[np.int64]
    piece_s: float
    span_us: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    r"""Means of pieces at equal covariates, with errors that allow for correlation between their parts.

    Of days, errors are the jackknife's (`adjusted_difference`). Of shorter stretches, which are correlated,
    they are the long-run variance (`long_run`) of the influences of the parts s of the pieces u of a log,

    .. math:: \frac{w_s}{B W_u} (\bar y_s - \bar y - (\bar x_s - \bar x)'b)
              - d' S_{xx}^{-1} \big(S_{xy,s} - S_{xx,s}\, b\big)

    with lengths w and W, the products S about the means of the pieces, and d the distance in the covariates
    over which the slopes b carry.
    """

    target: int
    chosen: list[int]
    inner: _Array
    """Products of the covariates within pieces."""
    slopes: _Array
    everywhere: _Array
    """Mean covariates of all pieces of both logs."""
    independent_pieces: bool
    """True if the pieces are."""

    @classmethod
    def of(cls, both: Sequence[Pieces], target: int, covariates: Sequence[int]) -> Line:
        """Line of a column of the cells against others, within the pieces of one or two logs."""
        chosen, cells = list(covariates), [cell for side in both for cell in side.cells]
        inner: _Array = np.sum([cell.products[np.ix_(chosen, chosen)] for cell in cells], axis=0)
        outer: _Array = np.sum([cell.products[chosen, target] for cell in cells], axis=0)
        return cls(
            target=target,
            chosen=chosen,
            inner=inner,
            slopes=slopes_of(inner, outer),
            everywhere=np.mean([cell.mean[chosen] for cell in cells], axis=0),
            independent_pieces=not any(side.parts for side in both),
        )

    @property
    def method(self) -> str:
        """How errors are computed."""
        return "jackknife over pieces" if self.independent_pieces else "long-run variance of their parts"

    def mean(self, values: _Array, side: Pieces) -> Mean:
        """Mean of the adjusted means `values` of a log's pieces."""
        n = len(values)
        if not side.parts:
            return Mean(value=float(values.mean()), error=spread(values), degrees=n - 1.0, n=n)
        distance = self._centre(side)[1] - self.everywhere
        return self._summed(float(values.mean()), side, distance)

    def difference(self, before: Pieces, after: Pieces) -> Mean:
        """Difference at equal covariates, after less before."""
        if self.independent_pieces:
            return adjusted_difference(before.cells, after.cells, self.target, self.chosen)
        (y1, x1), (y2, x2) = self._centre(before), self._centre(after)
        distance = x2 - x1
        found = difference(self._summed(0.0, before, -distance), self._summed(0.0, after, distance))
        return replace(found, value=float(y2 - y1 - distance @ self.slopes))

    def _centre(self, side: Pieces) -> tuple[float, _Array]:
        """Means of the target and the covariates over a log's pieces."""
        means = np.mean([cell.mean for cell in side.cells], axis=0)
        return float(means[self.target]), means[self.chosen]

    def _influences(self, side: Pieces, distance: _Array) -> _Array:
        """Influence of each part on the mean of a log, of which the slopes carry over a distance."""
        y, x = self._centre(side)
        square = np.ix_(self.chosen, self.chosen)
        carried = slopes_of(self.inner, distance)
        found = []
        for piece, parts in zip(side.cells, side.parts or [(cell,) for cell in side.cells], strict=True):
            for part in parts:
                weight = part.length_s / piece.length_s / len(side.cells)
                own = part.mean[self.target] - y - (part.mean[self.chosen] - x) @ self.slopes
                away = part.mean - piece.mean
                moved = away[self.chosen] * part.length_s
                products = part.products[square] + np.outer(moved, away[self.chosen])
                crossed = part.products[self.chosen, self.target] + moved * away[self.target]
                found.append(weight * own - float(carried @ (crossed - products @ self.slopes)))
        return np.array(found)

    def _summed(self, value: float, side: Pieces, distance: _Array) -> Mean:
        influences = self._influences(side, distance)
        influences -= influences.mean()
        variance = long_run(influences) if side.parts else independent(influences)
        return Mean(
            value=value,
            error=variance.error,
            degrees=variance.degrees,
            n=len(side.cells),
            caveat=variance.caveat,
        )


def spread(values: _Array) -> float:
    """Standard error of the mean of independent values."""
    return float(values.std(ddof=1)) / math.sqrt(len(values))


def adjusted_difference(
    before: Sequence[Cell], after: Sequence[Cell], target: int, covariates: Sequence[int]
) -> Mean:
    r"""Difference at equal covariates, after less before, with its error.

    .. math:: D = \bar y_2 - \bar y_1 - b'(\bar x_2 - \bar x_1), \qquad
              s^2 = \sum_{k=1,2} \frac{B_k - 1}{B_k} \sum_{u \in k} (D_{-u} - \bar D_{-\cdot})^2

    over the means of :math:`B_k` pieces of each log, with b the slopes within pieces. Each piece is left out
    in turn, of the means and of the slopes, so that the error of the slopes is included; degrees of
    freedom by Welch and Satterthwaite (Efron and Tibshirani, *An Introduction to the Bootstrap*,
    11.2 and 8.5).
    """
    chosen = list(covariates)
    sides = [
        (
            np.array([cell.mean[target] for cell in side]),
            np.array([cell.mean[chosen] for cell in side]).reshape(len(side), len(chosen)),
        )
        for side in (before, after)
    ]
    inner: _Array = np.sum([cell.products[np.ix_(chosen, chosen)] for cell in (*before, *after)], axis=0)
    outer: _Array = np.sum([cell.products[chosen, target] for cell in (*before, *after)], axis=0)
    (y1, x1), (y2, x2) = ((y.mean(), x.mean(axis=0)) for y, x in sides)
    value = float(y2 - y1 - (x2 - x1) @ slopes_of(inner, outer))
    variances, degrees = [], []
    for k, cells in enumerate((before, after)):
        (y, x), n = sides[k], len(cells)
        sign = 1.0 if k else -1.0
        other_y, other_x = (y1, x1) if k else (y2, x2)
        without = []
        for u, cell in enumerate(cells):
            b = slopes_of(
                inner - cell.products[np.ix_(chosen, chosen)], outer - cell.products[chosen, target]
            )
            mean_y, mean_x = (y.sum() - y[u]) / (n - 1), (x.sum(axis=0) - x[u]) / (n - 1)
            without.append(sign * (mean_y - other_y - (mean_x - other_x) @ b))
        variances.append((n - 1) / n * float(((np.array(without) - np.mean(without)) ** 2).sum()))
        degrees.append(n - 1)
    total = sum(variances)
    lost = sum(variance**2 / lone for variance, lone in zip(variances, degrees, strict=True))
    return Mean(
        value=value,
        error=math.sqrt(total),
        degrees=total**2 / lost if lost > 0.0 else float(sum(degrees)),
        n=len(before) + len(after),
    )
